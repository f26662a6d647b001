"""What labels could choose at best, and what each part of the default is worth.

    python -m benchmarks.accuracy.study ceiling --split all
    python -m benchmarks.accuracy.study parts --split development

`ceiling` fits every case at fixed settings and then takes the best of them per
case by the true labels: a bound, not a method. `parts` changes one constant or
one part of the default at a time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

import bc3e
from bc3e.selection import CAUTIOUS
from benchmarks.accuracy.cases import Case, load, prepare, specs
from benchmarks.accuracy.methods import Outcome, fit
from benchmarks.accuracy.run import rich_table
from benchmarks.accuracy.scores import Row, score
from benchmarks.accuracy.specs import Spec
from benchmarks.accuracy.summary import tables


@dataclass(frozen=True)
class Variant:
    """BC3E with some settings, with an evidence of all clusterings in labels, or with parts changed.

    Attributes
    ----------
    settings : dict
        Constructor parameters.
    total : float or None
        Evidence that all clusterings share; None leaves it to the default.
    changed : dict
        New values of names such as ``bc3e.selection.LEAD``.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    total: float | None = None
    changed: dict[str, Any] = field(default_factory=dict)

    def __call__(self, case: Case) -> Outcome:
        given = dict(self.settings)
        if self.total is not None:
            given["evidence_weight"] = min(1.0, self.total / case.clusters.shape[1])
        with ExitStack() as stack:
            for name, value in self.changed.items():
                stack.enter_context(mock.patch(name, value))
            return fit(partial(bc3e.BC3E, **given), case)


def every_classifier_alike(table: Any, weights: Any) -> Any:
    return np.ones(len(table.votes))


def never_more(*asked: Any) -> float:
    return CAUTIOUS


def fixed_settings() -> dict[str, Variant]:
    """Total evidence, iterations, start and delta2, without any choice."""
    found = {f"{total:g}": Variant(total=total) for total in (0.25, 0.5, 1.0, 3.0, 8.0)}
    for total in (1.0, 3.0, 8.0):
        found[f"{total:g}, 6 iterations"] = Variant({"max_iter": 6}, total)
        found[f"{total:g}, 6, diffusion"] = Variant({"max_iter": 6, "init": "diffusion"}, total)
    for total in (1.0, 3.0):
        found[f"{total:g}, 6, delta2 0.1"] = Variant({"max_iter": 6, "delta2": 0.1}, total)
    return found


def parts() -> dict[str, Variant]:
    """The default, and the default with one thing changed."""
    found = {"default": Variant()}
    for names, values in {
        ("bc3e.selection.CAUTIOUS", "bc3e.learning.CAUTIOUS"): (0.1, 0.5),
        ("bc3e.selection.LEAD",): (0.0, 0.05, 0.2),
        ("bc3e.selection.MISTAKEN",): (0.1, 0.001),
        ("bc3e.selection.UNEXPLAINED",): (0.3, 0.7),
        ("bc3e.selection.ERRORS",): (0.0, 2.0),
        ("bc3e.selection.WITHOUT",): (0.4, 0.6),
        ("bc3e.selection.WITH_TWO",): (0.0, 0.2),
        ("bc3e.selection.SURE",): (0.0, 0.6),
        ("bc3e.selection.EVEN",): (0.3, 0.7),
        ("bc3e.selection.SURPRISE",): (0.45, 0.65),
        ("bc3e.selection.ALIKE",): (-1.0, 0.1),
        ("bc3e.ballots.TRACE",): (0.0, 0.5),
        ("bc3e.model.calibration.GIVEN",): (0.5, 0.9),
        ("bc3e.model.calibration.ALONE",): (1.0, 6.0),
    }.items():
        for value in values:
            changed = dict.fromkeys(names, value)
            found[f"{names[0].rsplit('.', 1)[1]} {value:g}"] = Variant(changed=changed)
    alike = {"bc3e.inquiry.classifier_weights": every_classifier_alike}
    found["every classifier alike"] = Variant(changed=alike)
    found["no witness asked"] = Variant(changed={"bc3e.selection.witnessed_total": never_more})
    return found


STUDIES = {"ceiling": fixed_settings, "parts": parts}


def best_rows(rows: Iterable[Row], name: str) -> list[Row]:
    """Per case the row with the highest accuracy, the soft vote among them."""
    best: dict[str, Row] = {}
    for row in rows:
        gain = max(row.gain, 0.0)
        if row.case not in best or gain > best[row.case].gain:
            best[row.case] = replace(row, method=name, gain=gain)
    return list(best.values())


def _scores(job: tuple[Spec, str]) -> list[Row]:
    spec, study = job
    case = load(spec)
    with threadpool_limits(1):
        return [score(case, name, variant) for name, variant in STUDIES[study]().items()]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.study", description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--split", choices=("all", "development", "check"), default="development")
    parser.add_argument("--families", nargs="+", help="data sources; all by default")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args(arguments)
    wanted = specs(options.split, options.families)
    prepare(wanted, n_jobs=options.jobs)
    with ProcessPoolExecutor(options.jobs) as pool:
        found = pool.map(_scores, [(spec, options.study) for spec in wanted])
        rows = [row for of_case in found for row in of_case]
    if options.study == "ceiling":
        totals = [row for row in rows if "," not in row.method]
        rows += best_rows(totals, "best total by the labels") + best_rows(rows, "best by the labels")
    console = Console(width=150)
    for table in tables(rows):
        if table.title.endswith("methods") or "by the labels" in table.title:
            console.print(rich_table(table))


if __name__ == "__main__":
    main()
