"""Means, paired intervals and verdicts: what the page says follows from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from bc3e.experiments import semi_supervised, transfer
from bc3e.experiments.page import render
from bc3e.experiments.reproduce import Part
from bc3e.experiments.scores import Row, averages, by_family, exposures, table2_rows
from bc3e.experiments.units import Unit
from bc3e.intervals import student_interval

METHODS2 = (
    "Ensemble", "Majority", "Best", "BGCM", "C3E", "default", *semi_supervised.CLASSIFIERS, *semi_supervised.TRIED,
)  # fmt: skip
METHODS3 = ("k-NN", "BGCM", "LWE", "C3E", "C3E-Ideal", "published", "BC3E", *transfer.TRIED)


def nothing(**_: Any) -> dict[str, Any]:
    raise AssertionError("results are given")


def row(**accuracy: Any) -> Row:
    values = {name: np.array(found, dtype=float) for name, found in accuracy.items()}
    return Row("key", "title", "family", 10, values)


def test_paired_intervals_are_students() -> None:
    rng = np.random.default_rng(0)
    for count in (2, 5, 20):
        values = rng.normal(1.0, 2.0, count)
        expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
        assert student_interval(values) == pytest.approx((expected.low, expected.high))
    assert student_interval(np.array([3.0])) == (-np.inf, np.inf)
    assert student_interval(np.zeros(5)) == (0.0, 0.0)


def test_paired_intervals_cover() -> None:
    rng = np.random.default_rng(1)
    inside = [
        low <= 0.5 <= high
        for low, high in (student_interval(rng.normal(0.5, 1, 8)) for _ in range(2000))
    ]
    assert 0.93 < np.mean(inside) < 0.97


def test_a_difference_is_paired_by_trial() -> None:
    shared = np.array([60.0, 90.0, 75.0, 80.0])
    found = row(a=shared + np.array([1.0, 1.2, 0.8, 1.0]), b=shared).difference("a", "b")
    assert found.mean == pytest.approx(1.0)
    assert 0.7 < found.low < found.high < 1.3  # unpaired it would be tens of points wide


def test_errors_removed_and_averages() -> None:
    one, other = row(a=[80, 82], b=[60, 64]), row(a=[95, 95], b=[96, 96])
    assert one.removed("a", "b") == pytest.approx(100 * 19 / 38)
    assert other.removed("a", "b") == pytest.approx(-25)
    both = averages([one, other], "key", "both")
    assert both.accuracy["a"].tolist() == [87.5, 88.5]
    assert [r.title for r in by_family([one, other], {"family": "F"})] == ["F", "all groups"]


def table2(gains: dict[str, float], evidence: float = 0.25) -> Part:
    """Three trials of every data set in which the default gains this much."""
    units, results = [], []
    for setting in semi_supervised.SETTINGS:
        for trial in range(3):
            base = 70.0 + trial
            accuracy = dict.fromkeys(METHODS2, base) | {"default": base + gains.get(setting.name, 0.0)}
            units.append(Unit(f"{setting.name}/{trial}", nothing, {"name": setting.name}))
            results.append(
                {"accuracy": accuracy, "labelled": 9, "target": setting.target, "evidence": evidence,
                 "linear_agreement": 90.0}
            )  # fmt: skip
    return Part(units, results)


def verdicts(page: str) -> dict[str, str]:
    """The last cell of each goal."""
    goals = [line for line in page.splitlines() if line.startswith(("| Table ", "| Privacy:"))]
    return {line.split("|")[1].strip(): line.split("|")[3].strip() for line in goals}


def test_verdicts_on_table_2_follow_the_numbers() -> None:
    paper = {s.name: s.paper[4][0] - s.paper[0][0] for s in semi_supervised.SETTINGS}
    good, _ = render({"table2": [table2(paper)]}, seed=0, quick=False)
    assert set(verdicts(good).values()) == {"yes"}
    short = {
        name: gain if name in ("moons", "circles", "pima") else gain - 0.5
        for name, gain in paper.items()
    }
    page, _ = render({"table2": [table2(short)]}, seed=0, quick=False)
    assert list(verdicts(page).values()) == ["**no**", "yes"]
    assert "3 of 6 (Half-moon, Circles and Pima)" in page
    page, _ = render({"table2": [table2(paper | {"wine": -0.1})]}, seed=0, quick=False)
    assert list(verdicts(page).values()) == ["yes", "**no**"]
    assert "negative: Wine" in page
    assert "the interval is below zero: Wine" in page


def table3(better: float, rival: float = 0.0, groups: int = 2) -> list[Part]:
    names = [[f"{i}{letter}" for letter in "abcd"] for i in range(groups)]
    found = {
        "groups": names, "classes": 9, "early": 100, "late": 50, "too_few": 0, "new_words": 20.0,
        "development": {str(k): 70.0 for k in transfer.NEIGHBOURS_TRIED},
        "views": {"words": 0.0, "characters": 0.1}, "milliseconds": 2.0,
    }  # fmt: skip
    accuracy = dict.fromkeys(METHODS3, 60.0) | {"BC3E": 60 + better, "C3E": 60 + rival}
    units = [
        Unit(f"{i}/{draw}", nothing, {"name": "myntra", "group": group})
        for i, group in enumerate(names)
        for draw in (0, 1)
    ]
    return [
        Part([Unit("groups", nothing, {"name": "myntra"})], [found]),
        Part(units, [{"accuracy": accuracy, "late": 50} for _ in units]),
    ]


def test_verdicts_on_table_3_follow_the_numbers() -> None:
    page, images = render({"table3": table3(10.0)}, seed=0, quick=False)
    assert set(verdicts(page).values()) == {"yes"}
    assert "| 25.0% |" in page
    assert images["table3"].startswith(b"<?xml")
    page, _ = render({"table3": table3(-0.6, rival=1.0)}, seed=0, quick=False)
    assert list(verdicts(page).values()) == ["**no**"] * 4 + ["yes"]
    assert "BGCM, LWE and C3E on Myntra" in page
    assert "table3-myntra-1 (-0.60)" in page


def exposure(success: float, accuracy: float) -> Part:
    attack = {
        "success": success,
        "perplexity": 2.0,
        "ideal": 0.4,
        "chance": 0.1,
        "chance_perplexity": 4.0,
    }
    settings = [("central", 1, "plain"), ("column", 3, "plain"), ("column", 3, "masked")]
    units = [
        Unit(
            "/".join(map(str, s)),
            nothing,
            {"name": "wine", "split": s[0], "count": s[1], "messages": s[2]},
        )
        for s in settings
    ]
    results = [
        {"accuracy": 90.0, "attacks": {}, "weighed": 91.0},
        *({"accuracy": accuracy, "attacks": {"votes": attack}},) * 2,
    ]
    return Part(units, results)


def test_verdicts_on_privacy_follow_the_numbers() -> None:
    page, _ = render({"privacy": [exposure(0.4, 90.0)]}, seed=0, quick=False)
    assert list(verdicts(page).values()) == ["yes", "yes"]
    page, _ = render({"privacy": [exposure(0.5, 89.0)]}, seed=0, quick=False)
    assert list(verdicts(page).values()) == ["**no**", "**no**"]
    rows = exposures(exposure(0.4, 90.0))
    assert [found.kept("votes") for found in rows] == [0.0, 0.5, 0.5]


def test_what_was_not_run_is_said() -> None:
    page, images = render({}, seed=3, quick=True)
    assert page.count("Not run: `bc3e reproduce") == 3
    assert "figures mean nothing" in page
    assert "seed 3" in page
    assert not images


def test_the_same_numbers_make_the_same_page_and_figures() -> None:
    parts: Any = {
        "table2": [table2({"moons": 1.0})],
        "table3": table3(1.0),
        "privacy": [exposure(0.4, 90.0)],
    }
    assert render(parts, seed=0, quick=False) == render(parts, seed=0, quick=False)


def test_a_data_set_that_was_not_run_has_no_row() -> None:
    part = table2({})
    rows = table2_rows(Part(part.units[:3], part.results[:3]))
    assert [found.title for found in rows] == ["Half-moon"]
