"""What labels could choose at best, and what each part of the default is worth.

    python -m benchmarks.accuracy.study ceiling --split all
    python -m benchmarks.accuracy.study parts --split development reserve --every 4 --out parts.md

`ceiling` fits every case at fixed settings and then takes the best of them per
case by the true labels: a bound, not a method. `parts` changes one constant or
one part of the default at a time: gain, share of cases that lose, worst case and
share with a better log-loss on each split, in one table. The reserve is what
BC3E_RESERVE names.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

import bc3e
from benchmarks.accuracy.cases import Case, load, prepare, specs
from benchmarks.accuracy.methods import Outcome, fit
from benchmarks.accuracy.run import rich_table
from benchmarks.accuracy.scores import Row, score
from benchmarks.accuracy.specs import Spec
from benchmarks.accuracy.summary import Table, summarize, tables


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
    return 0.0


def never(*asked: Any) -> bool:
    return False


def fixed_settings() -> dict[str, Variant]:
    """Total evidence, iterations, start and delta2, without any choice."""
    found = {f"{total:g}": Variant(total=total) for total in (0.25, 0.5, 1.0, 3.0, 8.0)}
    for total in (1.0, 3.0, 8.0):
        found[f"{total:g}, 6 iterations"] = Variant({"max_iter": 6}, total)
        found[f"{total:g}, 6, diffusion"] = Variant({"max_iter": 6, "init": "diffusion"}, total)
    for total in (1.0, 3.0):
        found[f"{total:g}, 6, delta2 0.1"] = Variant({"max_iter": 6, "delta2": 0.1}, total)
    return found


VARIED: dict[str, tuple[Any, ...]] = {
    "selection.CAUTIOUS": (0.1, 0.5),
    "selection.STEPS": ((1.0,), (3.0, 2.5, 2.0, 1.5, 1.0)),
    "selection.WITNESSED": (0.5, 2.0),
    "selection.ASKED": (1.0, 3.0),
    "selection.UNOPPOSED": (1.0, 8.0),
    "selection.SAMPLE": (2_500, 20_000),
    "selection.LEAD": (0.0, 0.2),
    "selection.MISTAKEN": (0.1, 0.001),
    "selection.UNEXPLAINED": (0.4, 0.6),
    "selection.ALIKE": (-1.0, 0.1),
    "selection.REST": (0.25, 0.75),
    "selection.WITHOUT": (0.4, 0.6),
    "selection.WITH_TWO": (0.0, 0.2),
    "selection.ERRORS": (0.0, 2.0),
    "selection.ACCORD": (1.0, 5.0),
    "selection.SURE": (0.4, 0.6),
    "selection.EVEN": (0.4, 0.6),
    "selection.SURPRISE": (0.45, 0.65),
    "screening.ENOUGH": (15.0, 60.0),
    "screening.MET": (0.25, 0.75),
    "agreement.WITNESSES": (3, 12),
    "agreement.COMPANY": (2, 4),
    "agreement.LEAST_WEIGHT": (0.005, 0.1),
    "ballots.TRACE": (0.03, 0.3),
    "model.calibration.EXPONENTS": ((0.3, 3.0), (0.05, 20.0)),
    "model.calibration.CERTAIN": (0.95, 0.995),
    "model.calibration.FLOOR": (1e-4, 1e-2),
    "model.calibration.GIVEN": (0.6, 0.9),
    "model.calibration.ALONE": (2.0, 4.0),
    "model.shrinkage.EMPTY_CLUSTER": (1e-4, 1e-2),
    "model.shrinkage.STRENGTHS": (np.geomspace(1.0, 1e4, 5), np.geomspace(1.0, 1e4, 25)),
}
"""The constants that answers depend on, beyond rounding, and values on either side of each."""

GIVEN: dict[str, tuple[Any, ...]] = {
    "vote_weight": (2.0, 4.0),
    "vote_calibration": (None,),
    "profile_prior": (None,),
    "max_iter": (1, 3),
    "delta2": (0.5, 2.0),
    "class_variance": (0.5, 2.0),
}
"""Constructor parameters that stand for constants of the default."""

ALSO_IN = {"selection.CAUTIOUS": "learning", "selection.UNOPPOSED": "learning"}
ONLY_IN = {"agreement.COMPANY": "selection"}  # elsewhere it says from when on classifiers are weighed


def parts() -> dict[str, Variant]:
    """The default, and the default with one thing changed."""
    found = {"default": Variant()}
    for constant, values in VARIED.items():
        module, name = constant.rsplit(".", 1)
        places = {ONLY_IN.get(constant, module), ALSO_IN.get(constant, module)}
        for value in values:
            changed = dict.fromkeys((f"bc3e.{place}.{name}" for place in places), value)
            found[f"{name} {_shown(value)}"] = Variant(changed=changed)
    for name, values in GIVEN.items():
        for value in values:
            found[f"{name} {_shown(value)}"] = Variant({name: value})
    other: dict[str, dict[str, Any]] = {
        "classifiers alike always": {"bc3e.inquiry.classifier_weights": every_classifier_alike},
        "no witness asked": {"bc3e.selection.witnessed_total": never_more},
        "nothing but witnesses": {"bc3e.selection.unwitnessed_total": never_more},
        "never unsure or unequal": {"bc3e.selection.profiles_of_errors": never},
        "never surprised": {"bc3e.selection.surprised": never},
        "nothing supports more": {
            "bc3e.selection.witnessed_total": never_more,
            "bc3e.selection.unwitnessed_total": never_more,
        },
    }
    return found | {name: Variant(changed=changed) for name, changed in other.items()}


def _shown(value: Any) -> str:
    if value is None or np.ndim(value) == 0:
        return "none" if value is None else f"{value:g}"
    return f"{value[0]:g}" if len(value) == 1 else f"{value[0]:g} to {value[-1]:g}, {len(value)} values"


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


def side_by_side(rows: Sequence[Row]) -> Table:
    """A line for each variant, a column for each split."""
    splits, names = dict.fromkeys(r.split for r in rows), dict.fromkeys(r.method for r in rows)
    lines = [
        (name, *(_cell([r for r in rows if (r.split, r.method) == (split, name)]) for split in splits))
        for name in names
    ]
    return Table("gain, losing, worst, log-loss better", ("", *splits), lines)


def _cell(rows: Sequence[Row]) -> str:
    found = summarize(rows)
    silent = f", no-signal {found.no_signal:.1f}" if found.no_signal >= 0.05 else ""
    return (
        f"{found.gain:+.2f}, {found.losing:.1%}, {found.worst:.1f}, {found.better_log_loss:.0%}{silent}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.study", description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument(
        "--split", choices=("all", "development", "check", "reserve"), nargs="+", default=["development"]
    )
    parser.add_argument("--families", nargs="+", help="data sources; all by default")
    parser.add_argument("--every", type=int, default=1, help="of the reserve one case in so many")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, help="also write the tables as .md")
    options = parser.parse_args(arguments)
    wanted = [
        spec
        for split in options.split
        for spec in specs(split, options.families)[:: options.every if split == "reserve" else 1]
    ]
    prepare(wanted, n_jobs=options.jobs)
    with ProcessPoolExecutor(options.jobs) as pool:
        found = pool.map(_scores, [(spec, options.study) for spec in wanted])
        done = track(found, "cases", len(wanted), transient=True, console=Console(stderr=True))
        rows = [row for of_case in done for row in of_case]
    if options.study == "ceiling":
        totals = [row for row in rows if "," not in row.method]
        rows += best_rows(totals, "best total by the labels") + best_rows(rows, "best by the labels")
        shown = [
            table
            for table in tables(rows)
            if table.title.endswith("methods") or "by the labels" in table.title
        ]
    else:
        shown = [side_by_side(rows)]
    console = Console(width=150)
    for table in shown:
        console.print(rich_table(table))
    if options.out:
        options.out.write_text("\n".join(table.markdown() for table in shown))


if __name__ == "__main__":
    main()
