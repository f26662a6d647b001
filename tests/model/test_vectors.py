"""Lanes against NumPy: every lane by itself, to the last bit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bc3e.model.compiled import kernel
from bc3e.model.evidence import LANES
from bc3e.model.vectors import (
    alike,
    any_of,
    at_least,
    get,
    get_row,
    larger,
    magnitude,
    put,
    smaller,
    where,
)


@kernel
def arithmetic(left, right, result):
    a, b = get(left, 0), get(right, 0)
    for at, value in enumerate((a + b, a - b, a * b, a / b, 2.0 + a, 2.0 - a, a * 3.0, 1.0 / b)):
        put(result, at * LANES, value)


@kernel
def products(left, right, more, result):
    a, b, c = get(left, 0), get(right, 0), get(more, 0)
    for at, value in enumerate((c + a * b, a * b + c, c - a * b, a * b - c, 2.0 + a * b)):
        put(result, at * LANES, value)


@kernel
def comparisons(left, right, result):
    a, b = get(left, 0), get(right, 0)
    flags = at_least(a, b)
    put(result, 0, flags)
    put(result, LANES, larger(a, b))
    put(result, 2 * LANES, smaller(a, b))
    put(result, 3 * LANES, where(flags, a, -1.0))
    put(result, 4 * LANES, magnitude(a) + alike(0.5))
    return any_of(flags)


@kernel
def row_of(table, row, at, result):
    put(result, 0, get_row(table, row, at))


def test_operators_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    a, b, result = rng.normal(size=LANES), rng.normal(size=LANES), np.empty(8 * LANES)
    arithmetic(a, b, result)
    expected = [a + b, a - b, a * b, a / b, 2.0 + a, 2.0 - a, a * 3.0, 1.0 / b]
    assert (result.reshape(8, LANES) == expected).all()


def test_a_product_is_not_rounded_before_it_is_added_to_something() -> None:
    rng = np.random.default_rng(2)
    a, b, result = rng.normal(size=LANES), rng.normal(size=LANES), np.empty(5 * LANES)
    c = -(a * b) * (1.0 + 1e-15)  # most of it cancels, and what is left is rounding
    products(a, b, c, result)
    exact = [Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)]
    plus = [float(product + Fraction(z)) for product, z in zip(exact, c, strict=True)]
    minus = [float(Fraction(z) - product) for product, z in zip(exact, c, strict=True)]
    expected = [plus, plus, minus, [-x for x in minus], [float(2 + product) for product in exact]]
    assert (result.reshape(5, LANES) == expected).all()
    assert (result[:LANES] != a * b + c).any()


def test_comparisons_never_hold_for_what_is_not_a_number() -> None:
    rng = np.random.default_rng(1)
    a, b, result = rng.normal(size=LANES), rng.normal(size=LANES), np.empty(5 * LANES)
    a[3], b[5] = np.nan, np.nan
    a[7] = b[7]
    some = comparisons(a, b, result)
    flags, most, least, chosen, size = result.reshape(5, LANES)
    holds = a >= b
    assert some == holds.any()
    assert (flags == holds).all()
    assert not flags[[3, 5]].any()
    number = np.isfinite(a) & np.isfinite(b)
    assert (most[number] == np.maximum(a, b)[number]).all()
    assert (least[number] == np.minimum(a, b)[number]).all()
    assert np.isnan(most[3])  # the first operand stays: a number that went wrong is not hidden
    assert (chosen == np.where(holds, a, -1.0)).all()
    assert ((size == np.abs(a) + 0.5) | np.isnan(a)).all()


def test_no_lane_is_any_lane_only_if_all_are_out() -> None:
    result = np.empty(5 * LANES)
    assert not comparisons(np.zeros(LANES), np.ones(LANES), result)
    for lane in range(LANES):
        assert comparisons(np.eye(LANES)[lane], np.full(LANES, 0.5), result)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_of_a_part_of_a_table_are_read(kind: type) -> None:
    table = np.random.default_rng(2).random((6, 5 * LANES)).astype(kind)
    result = np.empty(LANES)
    row_of(table[::2, 3:], 2, 4, result)
    assert (result == table[4, 7 : 7 + LANES]).all()
