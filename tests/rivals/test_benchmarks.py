"""The benchmarks of the rivals run, on a small scale."""

from __future__ import annotations

import numpy as np
from benchmarks.rivals_at_scale import METHODS, label_table, run_one


def test_the_generated_table_is_what_it_says() -> None:
    truth, votes, clusters = label_table(20_000)
    assert votes.shape == (20_000, 3)
    assert clusters.shape == (20_000, 8)
    right = 0.7 + 0.3 / 5
    assert np.abs(np.mean(votes == truth[:, None], axis=0) - right).max() < 0.02
    sizes = [len(np.unique(column)) for column in clusters.T]
    assert (sizes[0], sizes[-1]) == (10, 50)


def test_every_method_of_the_scale_table_runs() -> None:
    for name in METHODS:
        found = run_one(name, 1000)
        assert found["accuracy"] > 0.8, name
        assert found["peak"] >= found["before"] > 0
        assert found["seconds"] > 0
