"""Where the figures come from: settings, seed, versions, and a fingerprint of the input."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from bc3e import __version__
from bc3e.columns import LabelColumn
from bc3e.labels import LabelTable
from bc3e.report.plain import VALUE, text

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "matplotlib", "jinja2")
SETTINGS = 80  # lines of settings, or of context, shown


def settings(model: Any) -> list[dict[str, str]]:
    """Constructor parameters of a model, and of the parts it has built."""
    parts = {type(model).__name__: model}
    for name in ("clusterings_", "consensus_"):
        if hasattr(model, name):
            parts[type(getattr(model, name)).__name__] = getattr(model, name)
    found = [
        {"part": part, "name": name, "value": _shown(value)}
        for part, owner in parts.items()
        for name, value in owner.get_params(deep=False).items()
    ]
    return found[:SETTINGS]


def seed(model: Any) -> str:
    """The random seed, in words."""
    given = model.random_state
    return "not set" if given is None else text(repr(given), VALUE)


def versions() -> dict[str, str]:
    """bc3e, Python, libraries and platform."""
    found = {"bc3e": __version__, "Python": platform.python_version()}
    found |= {name: version(name) for name in LIBRARIES}
    return found | {"platform": f"{platform.system()} {platform.machine()}"}


def fingerprint(table: LabelTable) -> str:
    """SHA-256 of the coded labels with their names: equal for equal input in the same order."""
    digest = hashlib.sha256(repr((table.schema.classes.tolist(), table.n_objects)).encode())
    for column in (*table.votes, *table.clusters):
        if isinstance(column, LabelColumn):
            digest.update(repr((column.name, column.values)).encode())
            digest.update(np.ascontiguousarray(column.codes).data)
        else:
            digest.update(repr((column.name, column.labels, column.scores.shape)).encode())
            digest.update(np.ascontiguousarray(column.scores).data)
    return digest.hexdigest()


def context_lines(context: Mapping[str, Any]) -> list[dict[str, str]]:
    """What the caller says of the run (file, command, timings) as lines of text."""
    lines = []
    for name, value in context.items():
        if isinstance(value, Mapping):
            lines += [{"name": f"{text(name)}: {text(k)}", "value": _shown(v)} for k, v in value.items()]
        else:
            lines.append({"name": text(name), "value": _shown(value)})
    return lines[:SETTINGS]


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return text(value, VALUE)
    if isinstance(value, float):
        return f"{value:.6g}"
    if callable(value) and hasattr(value, "__qualname__"):
        return text(value.__qualname__, VALUE)
    return text(" ".join(repr(value).split()), VALUE)
