"""Sums and maxima of tables with many rows and few columns.

NumPy's own go through such a table row by row; here columns are taken one after the other, several
times as fast. The result of a row depends on nothing but the row, to the last bit, which is why sums are
not products with a vector of ones.

Sums over rows are not left to a library of linear algebra either: one that has threads wakes them for
a vector of ten thousand numbers, and they spin for as long as a whole fit takes; and the sum
would depend on how many they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.model.evidence import FloatArray

WIDE = 32  # columns from which on NumPy's own are as fast


def row_sum(values: FloatArray) -> FloatArray:
    """Sum of each row, (N,).

    Examples
    --------
    >>> import numpy as np
    >>> row_sum(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [3.0, 7.0]
    """
    return _along(np.add, values)


def row_max(values: FloatArray) -> FloatArray:
    """Largest of each row, (N,)."""
    return _along(np.maximum, values)


def row_argmax(values: FloatArray) -> NDArray[np.intp]:
    """Column of the largest of each row, of equals the first, (N,)."""
    if values.shape[1] > WIDE:
        return np.asarray(np.argmax(values, axis=1), dtype=np.intp)
    return first_largest(by_class(values))


def weighed_sum(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Sum of the rows, each times its weight: of values (N,) one number, of values (N, k) k of them.

    Examples
    --------
    >>> import numpy as np
    >>> weighed_sum(np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [31.0, 42.0]
    """
    return np.asarray(np.einsum("n,n...->...", weights, values), dtype=np.float64)


def by_class(values: FloatArray) -> FloatArray:
    """A copy with a row for each column, (k, N), in which whole columns are worked on faster.

    Maxima over its first axis are those of :func:`row_max`; sums are for :func:`class_sum`.
    """
    return np.array(values.T, dtype=np.float64, order="C")


def class_sum(values: FloatArray) -> FloatArray:
    """Sum over the classes of values (k, N), one class after the other, (N,).

    NumPy's own adds up a single object in another order than one among several.
    """
    found = np.zeros(values.shape[1])
    for of_class in values:
        found += of_class
    return found


def of_class(values: FloatArray, classes: NDArray[np.intp]) -> FloatArray:
    """Each object's value of its own class, from values (k, N) that lie row after row, (N,)."""
    return values.reshape(-1).take(classes * len(classes) + np.arange(len(classes)))


def first_largest(values: FloatArray) -> NDArray[np.intp]:
    """The class of the largest of values (k, N), of equals the first, (N,).

    Examples
    --------
    >>> import numpy as np
    >>> first_largest(np.array([[1.0, 2.0, 0.0], [1.0, 3.0, 0.0], [0.0, 1.0, 4.0]])).tolist()
    [0, 1, 2]
    """
    # Later classes have larger numbers: each that is larger than all before it takes over.
    found, largest = np.zeros(values.shape[1], dtype=np.min_scalar_type(len(values))), values[0].copy()
    for at, of_class in enumerate(values[1:], start=1):
        np.maximum(found, np.multiply(of_class > largest, at, dtype=found.dtype), out=found)
        np.maximum(largest, of_class, out=largest)
    return found.astype(np.intp)


def _along(combine: np.ufunc, values: FloatArray) -> FloatArray:
    if values.shape[1] == 0 or values.shape[1] > WIDE:
        return np.asarray(combine.reduce(values, axis=1), dtype=np.float64)
    found = values[:, 0].astype(np.float64)
    for column in values.T[1:]:
        combine(found, column, out=found)
    return found
