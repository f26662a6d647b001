"""All experiments of the paper: which units they have, and their results in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bc3e.experiments import privacy, semi_supervised, transfer
from bc3e.experiments.units import Advance, Result, Store, Unit, finished, run

PARTS = ("table2", "table3", "privacy")


@dataclass(frozen=True)
class Scale:
    """How much of the experiments is run.

    Attributes
    ----------
    trials, seeds, runs : int
        Of each data set in Table 2, of each group in Table 3, of each setting of privacy.
    tables, titles, shared : tuple of str
        Data sets of Table 2, of Table 3, of privacy.
    sites : dict
        Numbers of sites for each split.
    """

    trials: int
    seeds: int
    runs: int
    tables: tuple[str, ...]
    titles: tuple[str, ...]
    shared: tuple[str, ...]
    sites: dict[str, tuple[int, ...]]


FULL = Scale(
    trials=semi_supervised.TRIALS,
    seeds=transfer.SEEDS,
    runs=privacy.RUNS,
    tables=tuple(setting.name for setting in semi_supervised.SETTINGS),
    titles=("myntra", "arxiv", "pricerunner"),
    shared=privacy.DATASETS,
    sites=privacy.SITES,
)
QUICK = Scale(
    trials=2,
    seeds=2,
    runs=1,
    tables=("moons", "wine"),
    titles=("generated",),
    shared=("wine",),
    sites={"row": (2,), "column": (3,), "arbitrary": (4,)},
)
"""A minute of work on data that come with scikit-learn or are generated: it only shows that all runs."""


@dataclass(frozen=True)
class Part:
    """Units of an experiment with their results, in the order of the units."""

    units: Sequence[Unit]
    results: Sequence[Result]


@dataclass(frozen=True)
class Plan:
    """What is to be run, and how.

    Attributes
    ----------
    scale : Scale
    seed : int
        Of everything random.
    data : str or None
        The data folder.
    store : Store
    jobs : int
        Processes.
    """

    scale: Scale
    seed: int
    data: str | None
    store: Store
    jobs: int = 1

    def compute(self, part: str, advance: Advance | None = None) -> list[Part]:
        """Run an experiment, or what is missing of it."""
        parts: list[Part] = []
        while (units := self._units(part, parts)) is not None:
            results = run(units, self.store, jobs=self.jobs, advance=advance)
            parts.append(Part(units, results))
        return parts

    def stored(self, part: str) -> list[Part] | None:
        """An experiment if all of it was run before."""
        parts: list[Part] = []
        while (units := self._units(part, parts)) is not None:
            results = finished(units, self.store)
            if results is None:
                return None
            parts.append(Part(units, results))
        return parts

    def _units(self, part: str, before: Sequence[Part]) -> list[Unit] | None:
        """The next step of an experiment, after those `before`; None after the last."""
        scale, seed, data = self.scale, self.seed, self.data
        if part == "table3":
            if not before:
                return transfer.group_units(seed=seed, names=scale.titles, data=data)
            if len(before) == 1:
                found = [result["groups"] for result in before[0].results]
                groups = dict(zip(scale.titles, found, strict=True))
                return transfer.units(seed=seed, groups=groups, seeds=scale.seeds, data=data)
            return None
        if before:
            return None
        if part == "table2":
            return semi_supervised.units(seed=seed, trials=scale.trials, names=scale.tables, data=data)
        return privacy.units(
            seed=seed, runs=scale.runs, names=scale.shared, sites=scale.sites, data=data
        )
