"""Learning across sites that may not share records.

Sites hold rows, columns or arbitrary blocks of one label table and learn one model without
showing each other their labels. See ``docs/federation.md`` for how to use it and
``docs/method-federation.md`` for the protocol.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bc3e.federation.auditing import audit
    from bc3e.federation.ledger import Ledger
    from bc3e.federation.noise import Noise
    from bc3e.federation.planning import Plan
    from bc3e.federation.preview import exposure
    from bc3e.federation.result import Result
    from bc3e.federation.running import fit, plan
    from bc3e.federation.sites import Site

# Names are loaded when first used: cryptography is not needed to import bc3e.
_HOME = {
    "Ledger": "bc3e.federation.ledger",
    "Noise": "bc3e.federation.noise",
    "Plan": "bc3e.federation.planning",
    "Result": "bc3e.federation.result",
    "Site": "bc3e.federation.sites",
    "audit": "bc3e.federation.auditing",
    "exposure": "bc3e.federation.preview",
    "fit": "bc3e.federation.running",
    "plan": "bc3e.federation.running",
}

__all__ = ["Ledger", "Noise", "Plan", "Result", "Site", "audit", "exposure", "fit", "plan"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bc3e.federation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
