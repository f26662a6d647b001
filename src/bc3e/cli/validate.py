"""``bc3e validate``: everything that would be refused, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bc3e.cli.errors import CommandError, Problems, explain, fault
from bc3e.cli.options import FailOn, Labels, Reading
from bc3e.cli.session import Session
from bc3e.cli.thresholds import read_thresholds

if TYPE_CHECKING:
    from bc3e.cli.loading import LabelInput

GROUPS = (Labels, Reading, FailOn)
FIGURES = ("missing-votes", "missing-clusters")
VERDICTS = ("notes",)
EXAMPLES = """
[bold]Examples[/bold]

bc3e validate labels.csv --votes 'clf_*' --clusters 'clu_*' --id id

bc3e validate labels.csv --votes 'clf_*' --clusters 'clu_*' --json --fail-on 'missing-votes>5%'
"""


def run(session: Session, labels: Labels, reading: Reading, fail_on: FailOn) -> int:
    """Check a table of labels: what would be refused, every problem at once.

    Exit code 2 if there is a problem. Notes are no problems, but worth knowing.
    """
    thresholds = read_thresholds(fail_on.fail_on, FIGURES, VERDICTS)
    session.plan([labels.table])
    problems = Problems(collect=True)
    with session.stage("read", f"Reading {labels.table}"):
        from bc3e.cli.loading import load_labels

        data: LabelInput | None = None
        try:
            data = load_labels(labels, reading, None, problems)
        except CommandError as error:  # nothing behind it can be looked at
            problems.found.append(explain(error))
    with session.stage("check", "Checking"):
        shares = check(data, problems) if data is not None else {}
    told: dict[str, float | None] = {
        "missing-votes": shares.get("votes", 0.0),
        "missing-clusters": shares.get("clusters", 0.0),
        "notes": float(bool(problems.notes)),
    }
    result: dict[str, Any] = {
        "valid": not problems.found,
        "problems": problems.found,
        "notes": problems.notes,
        "objects": 0 if data is None else data.n_objects,
        "classifiers": [] if data is None else list(data.votes),
        "clusterings": [] if data is None else list(data.clusters),
        "missing": shares,
    }
    lines = [f"problem {i}: {text}" for i, text in enumerate(problems.found, 1)]
    lines += [f"note: {text}" for text in problems.notes]
    lines.append(_verdict(labels.table, data, problems))
    code = session.finish(result, None, lines, thresholds, told)
    return 2 if problems.found else code


def _verdict(name: str, data: LabelInput | None, problems: Problems) -> str:
    if problems.found:
        count = len(problems.found)
        return f"{name}: {count} problem{'s' if count > 1 else ''}; refine would refuse the table."
    assert data is not None
    return (
        f"{name}: no problem. Objects: {data.n_objects:,}, classifiers: {len(data.votes)}, "
        f"clusterings: {len(data.clusters)}."
    )


def check(data: LabelInput, problems: Problems) -> dict[str, float]:
    """Look at every column of probabilities, then at all columns together; shares of missing labels."""
    import numpy as np

    from bc3e.labels import LabelTable, check_sample_weight

    for option, columns in (("--votes", data.votes), ("--clusters", data.clusters)):
        for name, column in columns.items():
            if isinstance(column, np.ndarray) and column.ndim == 2:
                _check_scores(f"{option}, column {name!r}", column, problems)
    with problems.here():
        check_sample_weight(data.weights, data.n_objects)
    shares: dict[str, float] = {}
    if problems.found or not data.n_objects:
        return shares
    with problems.here():
        table = LabelTable.read(data.votes, data.clusters, classes=data.classes)
        if data.truth is not None:
            from bc3e.rivals.truth import check_truth

            check_truth(data.truth, table.classes, table.n_objects)
        for noun, coded in (("votes", table.votes), ("clusters", table.clusters)):
            gaps = {column.name: _missing(column) for column in coded}
            shares[noun] = float(np.mean(list(gaps.values())))
            for name, gap in gaps.items():
                if gap:
                    problems.note(f"column {name!r}: {gap:.1%} of the labels are missing")
    return shares


def _missing(column: Any) -> float:
    codes = getattr(column, "codes", None)
    gaps = codes < 0 if codes is not None else ~column.scores.any(axis=1)
    return float(gaps.mean())


def _check_scores(where: str, scores: Any, problems: Problems) -> None:
    """Every kind of wrong row in a table of probabilities, with its first place and how many."""
    import numpy as np

    gap = np.isnan(scores)
    gap[sorted(problems.unread)] = True  # told already
    gone, part = gap.all(axis=1), gap.any(axis=1) & ~gap.all(axis=1)
    infinite = np.isinf(scores).any(axis=1)
    negative = (scores < -1e-9).any(axis=1)
    fine = ~(part | gone | infinite | negative)
    total = np.where(fine, np.where(gap | np.isinf(scores), 0.0, scores).sum(axis=1), 1.0)
    kinds = (
        (part, "some probabilities are missing", "Fill the row, or leave all its cells empty."),
        (infinite, "an infinite probability", "Write numbers from 0 to 1."),
        (negative, "a negative probability", "Write numbers from 0 to 1."),
        (np.abs(total - 1.0) > 1e-4, "probabilities do not sum to 1", "Divide each row by its sum."),
    )
    for bad, found, remedy in kinds:
        if bad.any():
            row, count = problems.row(np.flatnonzero(bad)[0]), int(bad.sum())
            more = f" ({count:,} such rows)" if count > 1 else ""
            problems.add(fault(f"{where}, row {row}", found + more, remedy))
