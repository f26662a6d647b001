"""Whole numbers as codes: the short ways give what sorting gives."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e.whole_numbers import ROWS, code_type, factorize_integers

KINDS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def by_sorting(values, keep):
    """The same, as one would write it."""
    labels = sorted({int(value) for value in values} - (set() if keep else {-1}))
    place = {label: code for code, label in enumerate(labels)}
    return tuple(labels), [place.get(int(value), -1) for value in values]


def samples(kind):
    """Dense and gappy numbers, at the ends of the type, with -1, constant, as a column of a table."""
    rng, ends = np.random.default_rng(3), np.iinfo(kind)
    dense = rng.integers(3, 9, size=200).astype(kind)
    yield dense
    yield np.stack([dense, dense], axis=1)[:, 1]
    yield dense[:1]
    yield np.where(rng.random(200) < 0.2, dense, np.array(100, dtype=kind))
    yield np.where(rng.random(200) < 0.2, dense, np.array(ends.max, dtype=kind))
    yield rng.integers(ends.min, ends.max, size=300, dtype=kind, endpoint=True)
    if ends.min < 0:
        yield np.where(rng.random(200) < 0.2, dense, np.array(ends.min, dtype=kind))
        yield np.where(rng.random(200) < 0.2, dense, np.array(-1, dtype=kind))
        yield rng.integers(-1, 4, size=200).astype(kind)
        yield rng.integers(-5, 4, size=200).astype(kind)
        yield np.full(5, -1, dtype=kind)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_the_places_among_the_sorted_labels(kind, keep):
    for values in samples(kind):
        before = values.copy()
        labels, codes, dropped = factorize_integers(values, keep)
        expected, places = by_sorting(values, keep)
        assert labels == expected
        assert all(type(label) is int for label in labels)
        assert codes.tolist() == places
        assert codes.dtype == code_type(len(labels))
        assert dropped == (not keep and np.issubdtype(kind, np.signedinteger) and -1 in values)
        assert np.array_equal(values, before)  # the caller's array stays as it is
        assert not np.shares_memory(codes, values)


def test_a_label_of_the_last_row_alone_is_found():
    values = np.zeros(2 * ROWS + 5, dtype=np.int32)
    values[-1], values[-2] = 7, -3
    labels, codes, _ = factorize_integers(values, False)
    assert labels == (-3, 0, 7)
    assert codes[-2:].tolist() == [0, 2]
    assert (codes[:-2] == 1).all()


def test_no_number_at_all():
    labels, codes, dropped = factorize_integers(np.empty(0, dtype=np.int64), False)
    assert (labels, len(codes), dropped) == ((), 0, False)
