"""A table of labels from a file: votes, clusterings, ids, weights and truth, ready to be fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.cli.coding import Coded, as_labels, coded, in_common, refuse_fractions
from bc3e.cli.errors import Problems, fault, shown
from bc3e.cli.options import Labels, Reading
from bc3e.cli.selection import by_commas
from bc3e.cli.tables import LABEL, NUMBER, TEXT, Table, open_table
from bc3e.column_choice import Voter, refuse_overlap


@dataclass
class LabelInput:
    """What a file of labels holds.

    Attributes
    ----------
    table : Table
    votes, clusters : dict
        By name, as :meth:`bc3e.BC3E.fit` takes them.
    classes : list or None
        The class list, if it was given or stands in column names.
    kept : dict
        Columns that go to the output as they are; the id is the first.
    weights : (N,) array or None
    truth : labels or None
    n_objects : int
    """

    table: Table
    votes: dict[str, Any] = field(default_factory=dict)
    clusters: dict[str, Any] = field(default_factory=dict)
    classes: list[Any] | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None
    truth: Any = None
    n_objects: int = 0


@dataclass(frozen=True)
class _Plan:
    """Which column is what."""

    votes: list[Voter]
    clusters: list[Voter]
    id: str | None
    weight: str | None
    truth: str | None
    keep: list[str]

    def kinds(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for voter in (*self.votes, *self.clusters):
            found.update(dict.fromkeys(voter.columns, NUMBER if voter.members else LABEL))
        for name, kind in ((self.truth, LABEL), (self.weight, NUMBER)):
            if name is not None:
                found[name] = kind
        for name in ([] if self.id is None else [self.id]) + self.keep:
            found.setdefault(name, TEXT)
        return found


def load_labels(
    labels: Labels,
    reading: Reading,
    keep: Sequence[str] | None,
    problems: Problems,
    before_reading: Callable[[], None] = lambda: None,
) -> LabelInput:
    """Open the table, find the columns, read and check them.

    `before_reading` is called when all columns were found, before the long part.
    """
    opened = open_table(labels.table, reading)
    plan = _planned(opened, labels, keep, problems)
    found = LabelInput(opened)
    kinds = plan.kinds()
    if not kinds:
        return found
    before_reading()
    columns = opened.read(kinds, problems)
    found.n_objects = columns.num_rows
    with problems.here():
        _add_votes(found, plan, columns, labels.classes, problems)
    for voter in plan.clusters:
        with problems.here():
            found.clusters[voter.name] = _clustering(opened, voter, columns, problems)
    if plan.truth is not None:
        with problems.here():
            found.truth = _truth(found, plan.truth, columns)
    if plan.weight is not None:
        found.weights = columns.column(plan.weight).to_numpy()
    if plan.id is not None:
        found.kept[plan.id] = columns.column(plan.id)
        with problems.here():
            check_ids(opened.name, plan.id, columns.column(plan.id), problems)
    found.kept.update({name: columns.column(name) for name in plan.keep})
    return found


def _planned(table: Table, labels: Labels, keep: Sequence[str] | None, problems: Problems) -> _Plan:
    header = table.header
    singles: dict[str, str | None] = {"id": None, "weight": None, "truth": None}
    for name in singles:
        given = getattr(labels, name)
        if given is not None:
            with problems.here():
                singles[name] = header.one(name, given)
    skip = [name for name in singles.values() if name is not None]
    chosen: dict[str, list[Voter]] = {"votes": [], "clusters": []}
    for name in chosen:
        with problems.here():
            given = by_commas(f"--{name}", getattr(labels, name), header)
            chosen[name] = header.voters(name, given, skip)
    with problems.here():
        refuse_overlap(chosen["votes"], chosen["clusters"])
    kept: list[str] = []
    if keep:
        with problems.here():
            kept = header.matching("keep", by_commas("--keep", keep, header))
    kept = [name for name in kept if name != singles["id"]]
    plan = _Plan(chosen["votes"], chosen["clusters"], **singles, keep=kept)
    with problems.here():
        _refuse_two_uses(plan)
    return plan


def _refuse_two_uses(plan: _Plan) -> None:
    """A kept column that is also a label would be read as something else."""
    labels = {c: "--votes" for voter in plan.votes for c in voter.columns}
    labels |= {c: "--clusters" for voter in plan.clusters for c in voter.columns}
    if plan.truth is not None and labels.get(plan.truth) == "--votes":
        raise fault("--truth", f"column {plan.truth!r} is also in --votes", "A vote is not the truth.")
    if plan.id is not None and plan.id in labels:
        raise fault("--id", f"column {plan.id!r} is also in {labels[plan.id]}", "Choose another.")
    if plan.weight is not None and plan.weight in (*labels, plan.id, plan.truth):
        raise fault("--weight", f"column {plan.weight!r} has another use too", "Choose another.")


def _add_votes(
    found: LabelInput, plan: _Plan, columns: Any, given: str | None, problems: Problems
) -> None:
    """Votes in one kind of label, probabilities in the order of the classes."""
    table = found.table
    hard: list[Coded] = []
    for voter in plan.votes:
        if not voter.members:
            with problems.here():
                column = coded(columns.column(voter.name), voter.name, table.name, table.missing)
                refuse_fractions(column, table.name, problems, grouped=True)
                hard.append(column)
    soft = [voter for voter in plan.votes if voter.members]
    listed = [] if given is None else [name.strip() for name in given.split(",") if name.strip()]
    names = list(dict.fromkeys([*listed, *(name for voter in soft for name in voter.members)]))
    hard, typed = in_common(hard, names)
    kind = dict(zip(names, typed, strict=True))
    if listed:
        found.classes = [kind[name] for name in listed]
    elif soft:
        found.classes = sorted(kind[name] for name in soft[0].members)
    keep = -1 in (found.classes or ())
    for column in hard:
        found.votes[column.name] = as_labels(column, keep)
        _note_minus_one(column, keep, problems)
    if found.classes is not None:
        order = [next(name for name in names if kind[name] == label) for label in found.classes]
        for column in hard:
            with problems.here():
                _refuse_strangers(table.name, column, found.classes, bool(listed), problems)
        for voter in soft:
            with problems.here():
                found.votes[voter.name] = _probabilities(table.name, voter, columns, order)


def _note_minus_one(column: Coded, keep: bool, problems: Problems) -> None:
    if -1 in column.values and not keep:
        problems.note(f"column {column.name!r}: -1 is read as missing")


def _refuse_strangers(
    where: str, column: Coded, classes: list[Any], listed: bool, problems: Problems
) -> None:
    """Votes for a class that is not in the list; -1 is missing unless it is."""
    known = {*classes, -1}
    for i, value in enumerate(column.values):
        if value not in known:
            row = problems.row(np.flatnonzero(column.codes == i)[0])
            remedy = "Add it to --classes." if listed else "Add a column of probabilities for it."
            raise fault(
                f"{where}, column {column.name!r}, row {row}",
                f"{shown(value)} is not one of the {len(classes)} classes",
                f"{remedy} Or leave the cell empty if it is missing.",
            )


def _probabilities(where: str, voter: Voter, columns: Any, order: list[str]) -> Any:
    """Class probabilities of one classifier, (N, k)."""
    position = dict(zip(voter.members, voter.columns, strict=True))
    lacking = [name for name in order if name not in position]
    foreign = [name for name in voter.members if name not in order]
    if lacking:
        raise fault(
            f"{where}, group {voter.name}:*",
            f"no column for the class {lacking[0]!r}",
            f"Add {voter.name}:{lacking[0]}, with 0 if the classifier does not know the class.",
        )
    if foreign:
        raise fault(
            f"{where}, column {position[foreign[0]]!r}",
            f"{foreign[0]!r} is not in --classes",
            "Add it there.",
        )
    return np.stack([columns.column(position[name]).to_numpy() for name in order], axis=1)


def _clustering(table: Table, voter: Voter, columns: Any, problems: Problems) -> Any:
    if voter.members:
        return np.stack([columns.column(name).to_numpy() for name in voter.columns], axis=1)
    column = coded(columns.column(voter.name), voter.name, table.name, table.missing)
    refuse_fractions(column, table.name, problems, grouped=True)
    (column,), _ = in_common([column])
    if len(column.values) < 2:
        problems.note(f"column {voter.name!r}: one cluster only, which tells nothing")
    if len(column.codes) > 20 and len(column.values) > len(column.codes) // 2:
        problems.note(f"column {voter.name!r}: {len(column.values):,} clusters, nearly one per object")
    _note_minus_one(column, False, problems)
    return as_labels(column)


def _truth(found: LabelInput, name: str, columns: Any) -> Any:
    """True labels in the kind of the votes."""
    table = found.table
    column = coded(columns.column(name), name, table.name, table.missing)
    whole = all(isinstance(votes, np.ndarray) for votes in found.votes.values())
    if found.classes is not None:
        whole = all(isinstance(label, int) for label in found.classes)
    (column,), _ = in_common([column], () if whole else ["text"])
    if whole and column.values and not all(isinstance(value, int) for value in column.values):
        raise fault(
            f"{table.name}, column {name!r}",
            f"{shown(column.values[0])} is text, but the votes are whole numbers",
            "Write the classes in the same way in both.",
        )
    return as_labels(column, -1 in (found.classes or ()))


def check_ids(where: str, name: str, column: Any, problems: Problems) -> None:
    """Ids are there and differ; the message tells rows, never an id."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = f"{where}, column {name!r}"
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    empty = pc.or_kleene(pc.is_null(column), pc.equal(column, "")) if text else pc.is_null(column)
    gaps = pc.indices_nonzero(pc.fill_null(empty, True))
    if len(gaps):
        raise fault(
            f"{place}, row {problems.row(gaps[0].as_py())}",
            f"the id is missing ({len(gaps):,} in all)",
            "Fill it in, or leave out --id.",
        )
    if len(pc.unique(column)) == len(column):
        return
    codes = pc.dictionary_encode(column).unify_dictionaries().combine_chunks().indices.to_numpy()
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(codes)))
    earlier = problems.row(first[inverse[again[0]]])
    raise fault(
        f"{place}, row {problems.row(again[0])}",
        f"the same id as in row {earlier} ({len(again):,} repeated in all)",
        f"Make ids unique, or leave out --id and copy the column with --keep {name!r}.",
    )
