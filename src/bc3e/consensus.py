"""What every consensus method shares: read votes and clusters, answer in kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from bc3e.errors import InputError
from bc3e.labels import LabelTable, check_sample_weight
from bc3e.model.evidence import FloatArray


@dataclass(frozen=True)
class Answer:
    """Class probabilities of the patterns, and which pattern each object is."""

    probabilities: FloatArray
    inverse: NDArray[np.intp] | None

    def expand(self, values: NDArray[Any]) -> NDArray[Any]:
        """One row per object instead of one per pattern."""
        return values.copy() if self.inverse is None else values[self.inverse]


class ConsensusEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all methods that combine votes and clusterings.

    Subclasses take `classes` and `n_classes` among their parameters and
    implement :meth:`_consensus`.
    """

    classes: Any
    n_classes: int | None

    def fit(self, votes: Any, clusters: Any = None, *, sample_weight: Any = None) -> Self:
        """Combine the votes and clusterings of a set of objects.

        Parameters
        ----------
        votes : array, data frame, list, mapping or None
            Class labels (N, r1) of any type; or a list with one item per
            classifier, each labels (N,) or probabilities (N, k); or a mapping
            from names to such items. Missing: None, NaN, NA, a row of NaN
            probabilities, and -1 among whole numbers.
        clusters : array, data frame, list, mapping or None
            Cluster labels (N, r2) or memberships, in the same forms.
        sample_weight : (N,) array, optional
            How much each object counts.

        Returns
        -------
        self
        """
        return self._fit(votes, clusters, sample_weight, self._consensus)

    def _fit(
        self,
        votes: Any,
        clusters: Any,
        sample_weight: Any,
        consensus: Callable[[LabelTable, FloatArray | None], Answer],
    ) -> Self:
        """Read the table, have it answered, and keep what is needed to say the answer in kind."""
        self._check_parameters()
        table = LabelTable.read(votes, clusters, classes=self.classes, n_classes=self.n_classes)
        weights = check_sample_weight(sample_weight, table.n_objects, table.frame)
        self._answer = consensus(table, weights)
        # Only what is needed to answer in kind is kept: no row of the table.
        self._shell = replace(table.take(np.empty(0, dtype=np.intp)), frame=table.frame)
        self.classes_ = table.classes
        self.classifier_names_ = tuple(column.name for column in table.votes)
        self.clusterer_names_ = tuple(column.name for column in table.clusters)
        return self

    def fit_predict(self, votes: Any, clusters: Any = None, *, sample_weight: Any = None) -> Any:
        """Fit and return ``labels_``."""
        return self.fit(votes, clusters, sample_weight=sample_weight).labels_

    @property
    def labels_(self) -> Any:
        """Consensus label of each object of the fit."""
        answer = self._fitted_answer()
        return self._shell.answer_labels(answer.expand(np.argmax(answer.probabilities, axis=1)))

    @property
    def probabilities_(self) -> Any:
        """Class probabilities of each object of the fit, (N, k)."""
        answer = self._fitted_answer()
        return self._shell.answer_table(answer.expand(answer.probabilities))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_answer")

    def _fitted_answer(self) -> Answer:
        if not hasattr(self, "_answer"):
            raise NotFittedError(
                f"This {type(self).__name__} has not been fitted: call fit(votes, clusters) first."
            )
        return self._answer

    def _check_parameters(self) -> None:
        """Refuse constructor parameters that make no sense, before any work."""
        k = self.n_classes
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise InputError("n_classes", f"{k!r} is not a number of classes", "Pass a whole number.")

    @abstractmethod
    def _consensus(self, table: LabelTable, weights: FloatArray | None) -> Answer:
        """Class probabilities for the objects of the table."""
