"""How clusterings see the features of the target: numbers on one scale, nothing missing.

Classifiers bring their own preprocessing; clusterings have none. Tables are turned into
numbers here, holes are filled with medians, columns of different units are put on one
scale, texts become weighted words, and many columns become a few directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from bc3e.columns import plain_value
from bc3e.errors import InputError, InputTypeError
from bc3e.model.evidence import FloatArray

LEVELS = 20  # a text column with more distinct values is prose or a key, not a category
ONE_SCALE = 4.0  # columns whose ranges differ less than this much have the same unit


def as_features(X: Any, argument: str = "X") -> Any:
    """X as something with rows: a data frame, a sparse matrix, an array, or an array of texts.

    Raises
    ------
    InputError
        If there is no row, or no column.
    """
    if is_sparse(X):
        X = X.tocsr()
    elif not is_frame(X):
        X = np.asarray(X)
        if X.ndim == 0 or X.ndim > 2:
            raise InputError(
                argument,
                f"an array with {X.ndim} dimensions",
                "Expected 2D array instead: one row per object. Reshape your data.",
            )
        if X.ndim == 1 and not is_text(X):
            raise InputError(
                argument,
                "one row of numbers",
                "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(-1, 1) or "
                "X.reshape(1, -1).",
            )
    if X.shape[0] == 0:
        raise InputError(argument, "Found array with 0 sample(s)", "Pass at least one object.")
    if len(X.shape) == 2 and X.shape[1] == 0:
        raise InputError(
            argument,
            f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.",
            "Pass at least one column.",
        )
    return X


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array."""
    return bool(sparse.issparse(X))


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars data frame."""
    return hasattr(X, "columns") and hasattr(X, "shape") and hasattr(X, "__len__")


def is_text(X: Any) -> bool:
    """Whether X is a row of texts, one per object."""
    if getattr(X, "ndim", 0) != 1 or len(X) == 0:
        return False
    return X.dtype.kind in "UT" or (X.dtype.kind == "O" and all(isinstance(x, str) for x in X))


def n_columns(X: Any) -> int:
    """How many features an object has; 1 for a text."""
    return int(X.shape[1]) if len(X.shape) == 2 else 1


def take_rows(X: Any, chosen: NDArray[np.bool_]) -> Any:
    """The chosen rows of an array, sparse matrix or data frame."""
    if is_frame(X):
        return X.loc[chosen] if hasattr(X, "loc") else X.filter(chosen)
    return X[np.flatnonzero(chosen)]


@dataclass(frozen=True)
class Column:
    """What is remembered of a data frame's column: its name and, if it is one, its categories."""

    name: str
    levels: tuple[Any, ...] | None


class FeatureView(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn features as users have them into a dense matrix for clustering.

    Parameters
    ----------
    scale : {"auto", True, False}
        Divide each column by its standard deviation. "auto" does so unless the
        columns have one scale already (pixels, shares, standardised columns):
        three quarters of the ranges are within a factor of 4 of the largest. Dividing
        pixels would blow up margins that are nearly empty.
    max_dimensions : int or None
        More columns than this are replaced by this many principal directions.
    random_state : int
        Seed of the directions of large or sparse matrices.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 1000.0], [2.0, np.nan], [3.0, 3000.0]])
    >>> FeatureView().fit_transform(X).round(2).tolist()
    [[-1.22, -1.22], [0.0, 0.0], [1.22, 1.22]]
    """

    def __init__(
        self, scale: bool | str = "auto", max_dimensions: int | None = 50, random_state: int = 0
    ) -> None:
        self.scale = scale
        self.max_dimensions = max_dimensions
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn categories, medians, scales and directions from the target."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> FloatArray:
        """Learn the view and return the matrix of X."""
        X = as_features(X)
        self._columns = [read_column(X, name) for name in X.columns] if is_frame(X) else None
        self._words = None
        if is_text(X):
            self._words = _learn_words(X)
            X = self._words.transform(X)
        self._sparse = is_sparse(X) and X.shape[1] > (self.max_dimensions or 0)
        self._directions: Any = None
        if self._sparse:
            return self._fit_sparse(X)
        matrix, names = self._numbers(X)
        self.medians_ = hole_fillers(matrix)
        matrix = fill_holes(matrix, self.medians_)
        self._center(matrix, names)
        moved: FloatArray = (matrix - self.mean_) / self.scale_
        if self.max_dimensions is not None and moved.shape[1] > self.max_dimensions < len(moved):
            self._directions = PCA(self.max_dimensions, random_state=self.random_state)
            return np.asarray(self._directions.fit_transform(moved))
        return moved

    def transform(self, X: Any) -> FloatArray:
        """The matrix of new objects."""
        X = as_features(X)
        if self._words is not None:
            if not is_text(X):
                raise InputError("X", "not a list of texts", "The model was adapted to texts.")
            X = self._words.transform(X)
        if self._sparse:
            return np.asarray(normalize(self._directions.transform(normalize(X))))
        matrix, _ = self._numbers(X)
        moved: FloatArray = (fill_holes(matrix, self.medians_) - self.mean_) / self.scale_
        return moved if self._directions is None else np.asarray(self._directions.transform(moved))

    def _fit_sparse(self, X: Any) -> FloatArray:
        """Rows of unit length in the main directions: k-means there is spherical k-means."""
        X = normalize(X.astype(np.float64))
        if X.nnz == 0:
            raise InputError("X", "no entry differs from zero", "Nothing can be clustered.")
        dimensions = min(self.max_dimensions or 50, X.shape[1] - 1, max(1, X.shape[0] - 1))
        self._directions = TruncatedSVD(dimensions, random_state=self.random_state)
        return np.asarray(normalize(self._directions.fit_transform(X)))

    def _numbers(self, X: Any) -> tuple[FloatArray, list[str]]:
        """X as float columns with NaN where missing, and their names for messages."""
        if self._columns is not None:
            if not is_frame(X):
                raise InputError("X", "not a data frame", "The model was adapted to a data frame.")
            return frame_numbers(X, self._columns)
        if is_sparse(X):
            X = X.toarray()
        if np.iscomplexobj(X):
            raise InputTypeError("X", "Complex data not supported", "Pass real numbers.")
        try:
            matrix = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputTypeError(
                "X",
                "features that are not numbers (argument must be a string or a number)",
                "Pass numbers, a data frame, or texts as one list of strings.",
            ) from None
        names = [f"column {i}" for i in range(matrix.shape[1])]
        _refuse_infinite(matrix, names)
        return matrix, names

    def _center(self, matrix: FloatArray, names: list[str]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            spread = matrix.std(axis=0)
        ranges = np.ptp(matrix, axis=0)
        if not np.isfinite(spread).all():
            column = int(np.flatnonzero(~np.isfinite(spread))[0])
            raise InputError(
                "X", "values too large to be added up", "Rescale the column.", place=names[column]
            )
        varies = spread > 1e-12 * np.abs(matrix).max(axis=0)
        if len(matrix) > 1 and not varies.any():
            raise InputError(
                "X",
                "every feature is constant",
                "There is nothing to cluster: check that the right columns were passed.",
                place=f"{len(names)} columns",
            )
        self.mean_ = matrix.mean(axis=0)
        self.scale_ = np.ones(matrix.shape[1])
        if not varies.any():
            return
        wide = np.sort(ranges[varies])
        one_scale = self.scale == "auto" and wide[(len(wide) - 1) // 4] * ONE_SCALE >= wide[-1]
        if self.scale is False or one_scale:
            self.scale_[:] = float(np.sqrt(np.mean(spread[varies] ** 2)))
        else:
            self.scale_[varies] = spread[varies]


def _learn_words(texts: Any) -> TfidfVectorizer:
    rare = 2 if len(texts) > 20 else 1
    words = TfidfVectorizer(sublinear_tf=True, min_df=rare, max_df=0.5 if len(texts) > 20 else 1.0)
    try:
        return words.fit(texts)
    except ValueError:  # no word occurs twice
        return TfidfVectorizer(sublinear_tf=True).fit(texts)


def read_column(X: Any, name: Any) -> Column:
    """Numeric, or categorical with its levels; anything else is refused by name."""
    values = _values(X[name])
    if values.dtype.kind in "biuf":
        return Column(str(name), None)
    present = [plain_value(x) for x in values.tolist() if not _is_missing(x)]
    place = f"column {str(name)!r}"
    if any(not isinstance(x, str | bool | int | float) for x in present):
        raise InputTypeError(
            "X",
            f"values of type {_strange_type(present)}, which cannot be clustered",
            "Turn them into numbers, drop the column, or pass `view=` with a transformer of your own.",
            place=place,
        )
    if all(isinstance(x, bool | int | float) for x in present):
        return Column(str(name), None)
    levels = tuple(sorted({str(x) for x in present}))
    if len(levels) > LEVELS:
        raise InputError(
            "X",
            f"text with {len(levels)} distinct values, which is neither a number nor a category",
            "Drop the column, or pass `view=` with a transformer (TfidfVectorizer for prose).",
            place=place,
        )
    return Column(str(name), levels)


def _strange_type(values: list[Any]) -> str:
    return next(type(x).__name__ for x in values if not isinstance(x, str | bool | int | float))


def _values(series: Any) -> NDArray[Any]:
    if hasattr(series, "to_numpy"):
        values = series.to_numpy()
        if values.dtype.kind == "O" and hasattr(series, "dtype") and "Int" in str(series.dtype):
            values = np.asarray([np.nan if _is_missing(x) else x for x in values], dtype=np.float64)
        return np.asarray(values)
    return np.asarray(series)


def _is_missing(x: Any) -> bool:
    return (
        x is None or (isinstance(x, float) and np.isnan(x)) or type(x).__name__ in ("NAType", "NaTType")
    )


def frame_numbers(X: Any, columns: list[Column]) -> tuple[FloatArray, list[str]]:
    """The columns of a data frame as numbers, NaN where missing, and their names for messages."""
    known = {str(name): name for name in X.columns}
    missing = [column.name for column in columns if column.name not in known]
    if missing:
        raise InputError(
            "X",
            f"{len(missing)} columns are not there, the first is {missing[0]!r}",
            "Pass the columns that the model was adapted to.",
        )
    blocks: list[FloatArray] = []
    names: list[str] = []
    for column in columns:
        values = _values(X[known[column.name]])
        place = f"column {column.name!r}"
        if column.levels is None:
            blocks.append(_numeric(values, place)[:, None])
            names.append(place)
        else:
            found = np.array([None if _is_missing(x) else str(x) for x in values.tolist()], dtype=object)
            blocks.append(np.stack([found == level for level in column.levels], axis=1).astype(float))
            names.extend([place] * len(column.levels))
    matrix = np.hstack(blocks)
    _refuse_infinite(matrix, names)
    return matrix, names


def _numeric(values: NDArray[Any], place: str) -> FloatArray:
    if values.dtype.kind == "O":
        values = np.array([np.nan if _is_missing(x) else x for x in values.tolist()], dtype=object)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(
            "X", "values that are not numbers", "The column held numbers before.", place=place
        ) from None


def _refuse_infinite(matrix: FloatArray, names: list[str]) -> None:
    bad = np.isinf(matrix)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            "X",
            "an infinite value (infinity)",
            "Replace it with a number, or with NaN if it is unknown.",
            place=f"row {row}, {names[column]}",
        )


def hole_fillers(matrix: FloatArray) -> FloatArray:
    """What fills the holes of each column: its median, or its mean if it has no hole yet."""
    if not np.isnan(matrix).any():
        means: FloatArray = matrix.mean(axis=0)
        return means
    medians = np.zeros(matrix.shape[1])
    for i, column in enumerate(matrix.T):
        present = column[~np.isnan(column)]
        medians[i] = np.median(present) if len(present) else 0.0
    return medians


def fill_holes(matrix: FloatArray, medians: FloatArray) -> FloatArray:
    """The matrix with a value in place of every NaN."""
    holes = np.isnan(matrix)
    return np.where(holes, medians, matrix) if holes.any() else matrix
