"""Nearest titles by the words they share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from bc3e.errors import InputError
from bc3e.experiments.domains import FloatArray, IntArray
from bc3e.settings import whole_number

BLOCK = 500  # titles that are asked at once
ANALYSERS: dict[str, dict[str, Any]] = {
    "words": {},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 4)},
}


class TitleNeighbours:
    """A k-nearest-neighbour classifier of titles.

    Titles are weighted words (tf-idf), their similarity is the cosine. The product
    of sparse matrices is an inverted index: a title meets only those training
    titles that share a word with it. Each of the nearest titles votes for its
    class with its similarity; a title without a known word gets the class shares.

    Parameters
    ----------
    n_neighbours : int
    features : {"words", "characters"}
        What titles consist of: words, or their pieces of two to four characters.

    Attributes
    ----------
    classes_ : (k,) array

    Examples
    --------
    >>> model = TitleNeighbours(n_neighbours=2)
    >>> model = model.fit(["red shoe", "blue shoe", "red shirt"], ["shoe", "shoe", "shirt"])
    >>> model.predict(["green shoe", "shirt"]).tolist()
    ['shoe', 'shirt']
    """

    def __init__(self, n_neighbours: int = 10, features: str = "words") -> None:
        self.n_neighbours = n_neighbours
        self.features = features

    def fit(self, titles: Any, labels: Any) -> Self:
        """Index the titles of the training period."""
        count = whole_number("n_neighbours", self.n_neighbours)
        if self.features not in ANALYSERS:
            known = ", ".join(ANALYSERS)
            raise InputError("features", f"{self.features!r}", f"Use one of {known}.")
        self.classes_, codes = np.unique(np.asarray(labels), return_inverse=True)
        self._codes = codes.astype(np.int64)
        self._shares = np.bincount(codes) / len(codes)
        rare = 2 if len(codes) > 20 else 1
        self._words = TfidfVectorizer(sublinear_tf=True, min_df=rare, **ANALYSERS[self.features])
        self._index = self._words.fit_transform(titles).T.tocsr()
        self._count = min(count, len(codes))
        return self

    def nearest(self, titles: Any) -> tuple[IntArray, FloatArray]:
        """Class numbers and similarities of the nearest titles, nearest first; (N, n_neighbours)."""
        rows = self._words.transform(titles)
        numbers, similarities = [], []
        for first in range(0, rows.shape[0], BLOCK):
            dense = (rows[first : first + BLOCK] @ self._index).toarray()
            near = np.argsort(-dense, axis=1, kind="stable")[:, : self._count]
            numbers.append(self._codes[near])
            similarities.append(np.take_along_axis(dense, near, axis=1))
        return np.vstack(numbers), np.vstack(similarities)

    def predict_proba(self, titles: Any) -> FloatArray:
        """Similarity of the nearest titles of each class, as shares."""
        return self.shares(*self.nearest(titles))

    def shares(self, numbers: IntArray, similarities: FloatArray) -> FloatArray:
        """Class shares of neighbours that were found before."""
        votes = np.zeros((len(numbers), len(self.classes_)))
        rows = np.broadcast_to(np.arange(len(numbers))[:, None], numbers.shape)
        np.add.at(votes, (rows, numbers), similarities)
        votes += 1e-3 * self._shares  # breaks ties, and is all there is for a title of unknown words
        shares: FloatArray = votes / votes.sum(axis=1, keepdims=True)
        return shares

    def predict(self, titles: Any) -> NDArray[Any]:
        """The class with the largest share."""
        found: NDArray[Any] = self.classes_[self.predict_proba(titles).argmax(axis=1)]
        return found
