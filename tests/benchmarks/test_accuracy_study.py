"""The study of the default's constants: none is left out, and the page names them all."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from benchmarks.accuracy import study
from benchmarks.accuracy.scores import Row

from bc3e.estimator import BC3E

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("selection", "screening", "agreement", "ballots", "model.calibration", "model.shrinkage")
ROUNDING = {  # what is equal, when a search ends, how much memory is taken: no part of the rule
    "screening.ALONE",
    "screening.NOTHING",
    "agreement.DIGITS",
    "ballots.LEAST",
    "model.calibration.EXACT",
    "model.calibration.NEAR",
    "model.calibration.EACH",
    "model.calibration.MANY",
    "model.calibration.STEPS",
    "model.calibration.BLOCK",
    "model.calibration.AHEAD",
}


def own_constants(module: ModuleType) -> set[str]:
    source = Path(str(module.__file__)).read_text()
    return set(re.findall(r"^([A-Z][A-Z_]+) = ", source, flags=re.MULTILINE))


@pytest.mark.parametrize("name", MODULES)
def test_no_constant_of_the_rule_is_left_out(name: str) -> None:
    found = {f"{name}.{constant}" for constant in own_constants(importlib.import_module(f"bc3e.{name}"))}
    assert found
    varied = {constant for constant in study.VARIED if constant.rsplit(".", 1)[0] == name}
    assert found - ROUNDING == varied


def test_the_values_tried_lie_on_either_side() -> None:
    for constant, values in study.VARIED.items():
        module, name = constant.rsplit(".", 1)
        now = getattr(importlib.import_module(f"bc3e.{module}"), name)
        assert all(np.shape(value) != np.shape(now) or np.any(value != now) for value in values), name
        if np.ndim(now) == 0:
            assert min(values) < now < max(values), name
    now = BC3E().get_params()
    assert all(value != now[name] for name, values in study.GIVEN.items() for value in values)


@pytest.mark.parametrize("constant", sorted(study.VARIED))
def test_the_page_has_each_constant(constant: str) -> None:
    """With its present value, where that is one number."""
    module, name = constant.rsplit(".", 1)
    page = (ROOT / "docs/method-safe-default.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line]
    assert lines, name
    now = getattr(importlib.import_module(f"bc3e.{module}"), name)
    if np.ndim(now) == 0:
        shown = {cell.strip() for line in lines for cell in line.split("|")}
        assert shown & {f"{now:g}", f"{now:,}"}, (name, now, lines)


def test_splits_stand_side_by_side() -> None:
    def row(split: str, method: str, gain: float) -> Row:
        return Row(
            case=f"{split}/{gain}", family=split, split=split, group="ordinary", tags=(), method=method, gain=gain,
            n_objects=10, n_classes=2, accuracy=0.9, changed=0.1, log_loss=0.5, log_loss_before=0.6,
            calibration_error=0.1, calibration_error_before=0.1, trust=0.1, seconds=1.0,
        )  # fmt: skip

    rows = [
        row(split, method, gain)
        for split, method, gains in (
            ("development", "default", (2.0, -1.0)),
            ("development", "other", (3.0, 1.0)),
            ("reserve", "default", (0.0, 0.0)),
            ("reserve", "other", (-4.0, 0.0)),
        )
        for gain in gains
    ]
    table = study.side_by_side(rows)
    assert table.header == ("", "development", "reserve")
    assert list(table.rows) == [
        ("default", "+0.50, 50.0%, -1.0, 100%", "+0.00, 0.0%, 0.0, 100%"),
        ("other", "+2.00, 0.0%, 0.0, 100%", "-2.00, 50.0%, -4.0, 100%"),
    ]
