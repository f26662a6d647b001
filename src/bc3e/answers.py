"""The columns that a refinement adds to a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.errors import InputError
from bc3e.model.evidence import FloatArray


@dataclass(frozen=True)
class Refined:
    """Refined answers, one row per distinct label pattern, and the pattern of each object.

    Attributes
    ----------
    classes : list
    probabilities : (P, k) array
    before : (P,) array
        Class number by soft vote, -1 where nobody voted.
    inverse : (N,) array or None
        Pattern of each object; None if every object is its own.
    """

    classes: list[Any]
    probabilities: FloatArray
    before: NDArray[np.intp]
    inverse: NDArray[np.intp] | None

    @classmethod
    def of(cls, model: Any, votes: Mapping[str, Any]) -> Refined:
        """Answers of a fitted BC3E and the soft vote of what it was fitted on."""
        from bc3e.agreement import leading_class
        from bc3e.labels import LabelTable

        answer = model._answer
        rows = None
        if answer.inverse is not None:  # one object for each pattern is enough
            rows = np.empty(len(answer.probabilities), dtype=np.intp)
            rows[answer.inverse] = np.arange(len(answer.inverse))
        classes = model.classes_.tolist()
        if not votes:
            nobody = np.full(len(answer.probabilities), -1)
            return cls(classes, answer.probabilities, nobody, answer.inverse)
        chosen = {
            name: _positions(column if rows is None else _take(column, rows), classes)
            for name, column in votes.items()
        }
        said = LabelTable.read(chosen, None, classes=range(len(classes))).votes_per_class()
        before = np.where(said.any(axis=1), leading_class(said), -1)
        return cls(classes, answer.probabilities, before, answer.inverse)

    @property
    def winners(self) -> NDArray[np.intp]:
        """Class number of each object."""
        return self._each(np.argmax(self.probabilities, axis=1))

    @property
    def soft_vote(self) -> NDArray[np.intp]:
        """Class number of each object by soft vote, -1 where nobody voted."""
        return self._each(self.before)

    def confidence(self) -> FloatArray:
        """Probability of each object's label."""
        return self._each(self.probabilities.max(axis=1))

    def entropy(self) -> FloatArray:
        """Entropy of each object's probabilities, in nats."""
        from scipy.special import xlogy

        return self._each(np.maximum(-xlogy(self.probabilities, self.probabilities).sum(axis=1), 0.0))

    def changed(self) -> NDArray[np.bool_]:
        """Whether the label differs from the soft vote; False where nobody voted."""
        after = np.argmax(self.probabilities, axis=1)
        return self._each((self.before >= 0) & (self.before != after))

    def _each(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.inverse is None else values[self.inverse]

    def table(self, kept: Mapping[str, Any], prefix: str, digits: int | None = None) -> Any:
        """The output: kept columns (or the row), then what the refinement adds.

        With `digits`, probabilities and entropy have so many decimals.
        """
        import pyarrow as pa

        def cut(values: FloatArray) -> FloatArray:
            return np.ascontiguousarray(values) if digits is None else np.round(values, digits)

        winners = pa.array(self.winners.astype(np.int32))
        voted = self._each(self.before >= 0)
        columns = [
            pa.DictionaryArray.from_arrays(winners, pa.array(self.classes)),
            cut(self.confidence()),
            *(self._each(cut(self.probabilities[:, i])) for i in range(len(self.classes))),
            pa.array(self.changed(), mask=None if voted.all() else ~voted),
            cut(self.entropy()),
        ]
        first = dict(kept) or {"row": pa.array(np.arange(1, len(winners) + 1))}
        added = added_names(self.classes, prefix)
        check_names(list(first), added)
        return pa.table(first | dict(zip(added, columns, strict=True)))


def added_names(classes: Sequence[Any], prefix: str) -> list[str]:
    """Names of the columns that a refinement adds.

    Examples
    --------
    >>> added_names(["cat", "dog"], "")
    ['label', 'confidence', 'p_cat', 'p_dog', 'changed', 'entropy']
    """
    names = ["label", "confidence", *(f"p_{label}" for label in classes), "changed", "entropy"]
    return [prefix + name for name in names]


def check_names(kept: list[str], added: list[str]) -> None:
    """Refuse a column that would be there twice."""
    for name in added:
        if name in kept or added.count(name) > 1:
            raise InputError(
                "output",
                f"two columns would be called {name!r}",
                "Pass prefix='refined_' to rename those that are added.",
            )


def _take(column: Any, rows: NDArray[np.intp]) -> Any:
    return column[rows] if isinstance(column, np.ndarray) else column.take(rows)


def _positions(column: Any, classes: list[Any]) -> Any:
    """Labels as class numbers, -1 where missing; probabilities as they are."""
    import pyarrow as pa

    if isinstance(column, np.ndarray) and column.ndim == 2:
        return column
    position = {label: i for i, label in enumerate(classes)}
    if isinstance(column, np.ndarray) and column.dtype == object:
        return np.array([position.get(label, -1) for label in column.tolist()])
    if isinstance(column, np.ndarray):
        order = np.argsort(np.array(classes))
        known = np.array(classes)[order]
        place = np.minimum(np.searchsorted(known, column), len(known) - 1)
        return np.where(known[place] == column, order[place], -1)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    table = np.array([*(position[label] for label in column.dictionary.to_pylist()), -1])
    return table[column.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
