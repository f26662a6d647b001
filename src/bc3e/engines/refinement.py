"""The steps of a refinement by DuckDB: check, group, fit, write."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bc3e.answers import Refined, added_names, check_names
from bc3e.column_choice import Header, Voter, chosen_voters
from bc3e.engines.checks import check_labels
from bc3e.engines.connection import Advance, Database
from bc3e.engines.patterns import Patterns, group
from bc3e.engines.tables import Source, staged
from bc3e.engines.writing import DIGITS, write
from bc3e.errors import InputError

if TYPE_CHECKING:
    from bc3e.estimator import BC3E


class Stages(Protocol):
    """Tells the parts of a run as they come."""

    def stage(self, name: str, text: str) -> AbstractContextManager[Advance]:
        """A part with a name, and what it does in words."""


@dataclass(frozen=True)
class Request:
    """Which column of a table is what."""

    votes: list[str]
    clusters: list[str]
    id: str | None
    keep: list[str]

    @classmethod
    def of(cls, header: Header, votes: Any, clusters: Any, id: str | None, keep: Any) -> Request:
        """Names for names and globs."""
        skip = [] if id is None else [header.one("id", id)]
        found = chosen_voters(header, votes, clusters, skip)
        kept = header.matching("keep", keep or ())
        return cls(
            _hard("votes", found[0]), _hard("clusters", found[1]), id, [n for n in kept if n != id]
        )

    @property
    def labels(self) -> list[str]:
        return [*self.votes, *self.clusters]

    @property
    def kept(self) -> list[str]:
        return [*([] if self.id is None else [self.id]), *self.keep]


def _hard(argument: str, voters: Sequence[Voter]) -> list[str]:
    """The columns of voters that give labels; others are refused."""
    for voter in voters:
        if voter.members:
            raise InputError(
                argument,
                f"the columns {voter.name}:* are probabilities, not labels",
                "Choose columns of labels, by which DuckDB groups the rows; "
                "probabilities and memberships need BC3E().fit in memory.",
            )
    return [voter.name for voter in voters]


class Refinement:
    """One table on its way through DuckDB.

    Attributes
    ----------
    objects : int
        Rows of the table, after :meth:`group`.
    patterns : Patterns
    refined : Refined
        Answers for the patterns, after :meth:`fit`.
    """

    def __init__(self, db: Database, source: Source, request: Request, stages: Stages) -> None:
        self.db, self.source, self.request, self.stages = db, source, request, stages
        self.objects = 0
        self.patterns: Patterns
        self.refined: Refined

    def group(self, classes: Sequence[Any] | None, n_classes: int | None = None) -> Patterns:
        """Check the labels and put objects with the same ones together."""
        db, request = self.db, self.request
        known = classes is not None or n_classes is not None
        with self.stages.stage("check", f"Checking {self.source.name}") as advance:
            columns = list(dict.fromkeys([*request.kept, *request.labels]))
            self.source = staged(db, self.source, columns, advance)
            checked = check_labels(
                db, self.source, request.votes, request.clusters, request.id, known, advance
            )
        self.objects = checked.rows
        with self.stages.stage("group", f"Grouping {checked.rows:,} rows") as advance:
            self.patterns = group(db, self.source, checked, classes, n_classes, advance)
        return self.patterns

    def fit(self, model: BC3E, prefix: str) -> Refined:
        """Fit the model to the patterns."""
        patterns = self.patterns
        self.db.leave(self.db.memory)  # as little as can be: the fit needs the rest
        with self.stages.stage("fit", f"Refining {len(patterns):,} patterns") as advance:
            before = model.callback

            def told(step: Any) -> bool | None:
                advance(step.iteration, model.max_iter)
                return None if before is None else before(step)

            model.callback = told
            try:
                model.fit(patterns.votes or None, patterns.clusters or None, counts=patterns.counts)
            finally:
                model.callback = before
            self.refined = Refined.of(model, patterns.votes)
        check_names(self.request.kept or ["row"], added_names(self.refined.classes, prefix))
        return self.refined

    def write(self, path: str, format: str, prefix: str, *, packed: bool, ordered: bool) -> None:
        """Write the answers beside the kept columns of every row."""
        request, patterns = self.request, self.patterns
        with self.stages.stage("write", f"Writing {self.objects:,} rows") as advance:
            digits = None if format == "parquet" else DIGITS
            answers = self.refined.table(patterns.keys, prefix, digits)
            count = write(
                self.db, self.source, patterns.words, request.kept, answers, path, format, packed,
                ordered, advance,
            )  # fmt: skip
        if count != self.objects:
            raise InputError(
                "table",
                f"{count:,} rows were written of {self.objects:,}: it changed meanwhile",
                "Run again, on a copy if need be.",
            )

    def figures(self) -> dict[str, float]:
        """Shares and means over the objects."""
        counts = self.patterns.counts
        return {
            "changed": float(np.average(self.refined.changed(), weights=counts)),
            "confidence": float(np.average(self.refined.confidence(), weights=counts)),
            "entropy": float(np.average(self.refined.entropy(), weights=counts)),
        }
