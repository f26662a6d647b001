"""bc3e: refine what trained classifiers say about drifted data with clusterings of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bc3e.adapt import ConsensusClassifier
    from bc3e.comparison import Comparison, compare
    from bc3e.ensembles import ClusterEnsemble
    from bc3e.errors import InputError, InputTypeError
    from bc3e.estimator import BC3E
    from bc3e.labels import LabelTable
    from bc3e.model.parameters import InverseGamma, Normal
    from bc3e.model.schedule import Progress
    from bc3e.results import LearnedParameters, Posterior

__version__ = "0.1.0"

# Names are loaded when first used: importing bc3e is cheap.
_HOME = {
    "BC3E": "bc3e.estimator",
    "ClusterEnsemble": "bc3e.ensembles",
    "Comparison": "bc3e.comparison",
    "ConsensusClassifier": "bc3e.adapt",
    "InputError": "bc3e.errors",
    "InputTypeError": "bc3e.errors",
    "InverseGamma": "bc3e.model.parameters",
    "LabelTable": "bc3e.labels",
    "LearnedParameters": "bc3e.results",
    "Normal": "bc3e.model.parameters",
    "Posterior": "bc3e.results",
    "Progress": "bc3e.model.schedule",
    "compare": "bc3e.comparison",
}

__all__ = [
    "BC3E",
    "ClusterEnsemble",
    "Comparison",
    "ConsensusClassifier",
    "InputError",
    "InputTypeError",
    "InverseGamma",
    "LabelTable",
    "LearnedParameters",
    "Normal",
    "Posterior",
    "Progress",
    "compare",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bc3e' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
