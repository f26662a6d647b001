"""From the results of units to the rows of the tables: means, deviations, paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bc3e.experiments import semi_supervised
from bc3e.experiments.domains import FloatArray
from bc3e.experiments.reproduce import Part
from bc3e.intervals import student_interval


@dataclass(frozen=True)
class Difference:
    """A mean difference over trials with its 95% interval, in points."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: FloatArray) -> Difference:
        return cls(float(np.mean(values)), *student_interval(values))


@dataclass(frozen=True)
class Row:
    """Accuracy of every method on one data set or group, per trial, in percent.

    Attributes
    ----------
    key, title : str
        For links, and for people.
    family : str
        The data set that a group belongs to.
    size : int
        Objects that were asked, on average.
    accuracy : mapping from method to (trials,) array
    """

    key: str
    title: str
    family: str
    size: int
    accuracy: Mapping[str, FloatArray]

    def mean(self, method: str) -> float:
        return float(np.mean(self.accuracy[method]))

    def deviation(self, method: str) -> float:
        values = self.accuracy[method]
        return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0

    def difference(self, method: str, reference: str) -> Difference:
        return Difference.of(self.accuracy[method] - self.accuracy[reference])

    def removed(self, method: str, reference: str) -> float:
        """Share of the reference's errors that a method removes, in percent."""
        wrong = 100.0 - self.mean(reference)
        return 100.0 * (self.mean(method) - self.mean(reference)) / wrong if wrong > 0 else 0.0


def _accuracies(results: Sequence[Any]) -> dict[str, FloatArray]:
    methods = results[0]["accuracy"]
    return {method: np.array([r["accuracy"][method] for r in results]) for method in methods}


def table2_rows(part: Part) -> list[Row]:
    """One row per data set."""
    rows = []
    for setting in semi_supervised.SETTINGS:
        mine = [
            result
            for unit, result in zip(part.units, part.results, strict=True)
            if unit.arguments["name"] == setting.name
        ]
        if mine:
            size = mine[0]["target"]
            key = f"table2-{setting.name}"
            rows.append(Row(key, setting.title, setting.name, size, _accuracies(mine)))
    return rows


def table3_rows(groups: Part, trials: Part) -> list[Row]:
    """One row per group."""
    rows = []
    for unit, found in zip(groups.units, groups.results, strict=True):
        name = unit.arguments["name"]
        for number, group in enumerate(found["groups"]):
            mine = [
                result
                for trial, result in zip(trials.units, trials.results, strict=True)
                if trial.arguments["name"] == name and trial.arguments["group"] == group
            ]
            size = round(float(np.mean([result["late"] for result in mine])))
            title = ", ".join(group)
            rows.append(Row(f"table3-{name}-{number + 1}", title, name, size, _accuracies(mine)))
    return rows


def averages(rows: Sequence[Row], key: str, title: str) -> Row:
    """The mean over rows, trial by trial: every row counts alike."""
    methods = rows[0].accuracy
    accuracy = {m: np.mean([row.accuracy[m] for row in rows], axis=0) for m in methods}
    return Row(key, title, "", round(float(np.mean([row.size for row in rows]))), accuracy)


def by_family(rows: Sequence[Row], titles: Mapping[str, str]) -> list[Row]:
    """Averages of the groups of each data set, then of all groups."""
    families = list(dict.fromkeys(row.family for row in rows))
    return [
        *(
            averages([r for r in rows if r.family == name], f"table3-{name}", titles.get(name, name))
            for name in families
        ),
        averages(rows, "table3-all", "all groups"),
    ]


@dataclass(frozen=True)
class Exposure:
    """A setting of the privacy experiment: means over runs.

    Attributes
    ----------
    family, split, messages : str
    sites : int
    accuracy : float
        In percent.
    attacks : mapping from attack to its figures
        Success, perplexity, ideal and what chance gives.
    """

    family: str
    split: str
    sites: int
    messages: str
    accuracy: float
    attacks: Mapping[str, Mapping[str, float]]

    def kept(self, attack: str) -> float | None:
        """Share of the uncertainty about labels that is left: 0 all known, 1 nothing learned."""
        if self.split == "central":
            return 0.0
        found = self.attacks.get(attack)
        if found is None:
            return None
        return float(np.log(found["perplexity"]) / np.log(found["chance_perplexity"]))


def exposures(part: Part) -> list[Exposure]:
    """One row per data set, split, number of sites and kind of messages."""
    together: dict[tuple[str, str, int, str], list[Any]] = {}
    for unit, result in zip(part.units, part.results, strict=True):
        a = unit.arguments
        together.setdefault((a["name"], a["split"], a["count"], a["messages"]), []).append(result)
    rows = []
    for (name, split, count, messages), results in together.items():
        attacks = {
            attack: {
                figure: float(np.mean([r["attacks"][attack][figure] for r in results]))
                for figure in results[0]["attacks"][attack]
            }
            for attack in results[0]["attacks"]
        }
        accuracy = float(np.mean([r["accuracy"] for r in results]))
        rows.append(Exposure(name, split, count, messages, accuracy, attacks))
    return rows
