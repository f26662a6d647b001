"""Other ways to combine votes and clusterings, all with BC3E's interface.

Swap BC3E for any of them by changing one word::

    from bc3e.rivals import BGCM
    BGCM().fit(votes, clusters).labels_
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bc3e.rivals.bayesian_cluster_ensemble import BayesianClusterEnsemble
    from bc3e.rivals.bgcm import BGCM
    from bc3e.rivals.c3e import C3E
    from bc3e.rivals.dawid_skene import DawidSkene
    from bc3e.rivals.lwe import LWE
    from bc3e.rivals.majority import MajorityVote
    from bc3e.rivals.soft_vote import SoftVote

_HOME = {
    "BGCM": "bc3e.rivals.bgcm",
    "BayesianClusterEnsemble": "bc3e.rivals.bayesian_cluster_ensemble",
    "C3E": "bc3e.rivals.c3e",
    "DawidSkene": "bc3e.rivals.dawid_skene",
    "LWE": "bc3e.rivals.lwe",
    "MajorityVote": "bc3e.rivals.majority",
    "SoftVote": "bc3e.rivals.soft_vote",
}

__all__ = [
    "BGCM",
    "C3E",
    "LWE",
    "BayesianClusterEnsemble",
    "DawidSkene",
    "MajorityVote",
    "SoftVote",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bc3e.rivals' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
