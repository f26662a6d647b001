"""Equal keys are put together the same way by sorting and by hashing."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e import grouping


@pytest.mark.parametrize("different", [1, 5, 3000, 200_000])
def test_both_ways_find_the_same(different: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(different)
    keys = rng.integers(-(2**62), 2**62, size=different)[rng.integers(different, size=100_000)]
    values, places, numbers = np.unique(keys, return_index=True, return_inverse=True)
    for share in (0.0, np.inf):  # always by sorting, always by hashing
        monkeypatch.setattr(grouping, "FEW", share)
        found, coded = grouping.distinct(keys)
        assert np.array_equal(keys[found], values)
        assert np.array_equal(found, places)
        assert np.array_equal(coded, numbers)


def test_the_number_of_different_keys_is_estimated() -> None:
    rng = np.random.default_rng(0)
    for different in (300_000, 3_000_000):
        found = grouping._estimate(rng.integers(different, size=grouping.LOOKED_AT))
        assert found == pytest.approx(different, rel=0.2)
    assert grouping._estimate(np.arange(grouping.LOOKED_AT)) > 1e9
