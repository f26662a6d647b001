"""Equal keys are put together the same way by sorting and by hashing."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e import grouping
from bc3e.columns import LabelColumn
from bc3e.labels import LabelTable
from bc3e.objects import Objects


@pytest.mark.parametrize("different", [1, 5, 3000, 200_000])
def test_both_ways_find_the_same(different: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(different)
    keys = rng.integers(-(2**62), 2**62, size=different)[rng.integers(different, size=100_000)]
    values, numbers = np.unique(keys, return_inverse=True)
    for share in (0.0, np.inf):  # always by sorting, always by hashing
        monkeypatch.setattr(grouping, "FEW", share)
        found, coded = grouping.distinct(keys)
        assert np.array_equal(keys[found], values)
        assert np.array_equal(coded, numbers)


def test_the_number_of_different_keys_is_estimated() -> None:
    rng = np.random.default_rng(0)
    for different in (300_000, 3_000_000):
        found = grouping._estimate(rng.integers(different, size=grouping.LOOKED_AT))
        assert found == pytest.approx(different, rel=0.2)
    assert grouping._estimate(np.arange(grouping.LOOKED_AT)) > 1e9


def test_rows_that_all_differ_are_not_copied_and_drawn_alike_in_any_order() -> None:
    rng = np.random.default_rng(0)
    number = np.arange(3000)
    clusters = np.stack([number % 60, number // 60], axis=1)
    votes = rng.integers(3, size=(3000, 2))
    order = rng.permutation(3000)
    table, shuffled = LabelTable.read(votes, clusters), LabelTable.read(votes[order], clusters[order])
    objects, others = Objects.of(table), Objects.of(shuffled)
    assert objects.inverse is None
    assert objects.table is table
    drawn, again = objects.sample(500, 7), others.sample(500, 7)
    for one, two in zip(drawn.table.clusters, again.table.clusters, strict=True):
        assert isinstance(one, LabelColumn)
        assert isinstance(two, LabelColumn)
        assert np.array_equal(one.codes, two.codes)
    grouped = Objects.of(LabelTable.read(np.tile(votes, (2, 1)), np.tile(clusters, (2, 1))))
    assert grouped.inverse is not None
    assert grouped.table.n_objects == 3000


def test_keys_tell_labels_apart_in_their_order() -> None:
    rng = np.random.default_rng(8)
    codes = [rng.integers(-1, size, size=3000) for size in (3, 40, 1000, 70_000, 2, 9)]
    columns = [
        LabelColumn(str(at), tuple(range(size)), column.astype(np.int32), "number")
        for at, (size, column) in enumerate(zip((3, 40, 1000, 70_000, 2, 9), codes, strict=True))
    ]
    keys = np.zeros(3000, dtype=np.int64)
    grouping.pack(keys, columns)
    order = np.lexsort(codes[::-1])
    assert (np.diff(keys[order]) >= 0).all()
    rows = np.column_stack(codes)
    assert len(np.unique(keys)) == len(np.unique(rows, axis=0))


@pytest.mark.parametrize(("low", "high"), [(-(2**63), 2**63), (-3, 2), (0, 2**16), (2**40, 2**40 + 9)])
def test_keys_are_put_in_order(low: int, high: int) -> None:
    keys = np.random.default_rng(2).integers(low, high, size=4000)
    assert np.array_equal(grouping._order(keys), np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("lowest", [-(2**63), -70, 0, 2**62])
def test_keys_that_lie_close_together_are_found_without_sorting(lowest: int) -> None:
    keys = lowest + np.random.default_rng(4).integers(90, size=500) // 7 * 7
    values, numbers = np.unique(keys, return_inverse=True)
    found, coded = grouping.distinct(keys)
    assert np.array_equal(keys[found], values)
    assert np.array_equal(coded, numbers)
    assert grouping.distinct(keys[:0])[0].tolist() == []


def test_more_different_keys_than_expected_are_found() -> None:
    rng = np.random.default_rng(6)
    rare = rng.integers(2**62, size=60_000)
    keys = np.concatenate([np.full(300_000, 7), rare])[rng.permutation(360_000)]
    values, numbers = np.unique(keys, return_inverse=True)
    found, coded = grouping._hashed(keys, 100)
    assert np.array_equal(keys[found], values)
    assert np.array_equal(coded, numbers)
