"""Fits that the tests of the report look at."""

from __future__ import annotations

from typing import Any

import numpy as np

import bc3e

HOSTILE = "<script>alert(1)</script>"
NAMES = np.array([HOSTILE, "$x^2$ \" ' & </svg>", "{{ 7 * 7 }} 漢字 עברית"], dtype=object)


def hostile_case(n: int = 600) -> tuple[bc3e.BC3E, dict[str, Any]]:
    """A model with hostile names everywhere, and the arguments of its report."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=n)
    votes = {}
    for name in (f"tree {HOSTILE}", "logit $\\frac{1}{2}$", "plain"):
        said = np.where(rng.random(n) < 0.6, truth, rng.integers(3, size=n))
        column = NAMES[said]
        column[rng.random(n) < 0.1] = None
        votes[name] = column
    clusters = {
        name: NAMES[np.where(rng.random(n) < 0.9, truth, rng.integers(3, size=n))]
        for name in (f"k-means {HOSTILE}", "ward & co", "<!-- dbscan")
    }
    drift = {
        "verdict": "drift with possible new class", "sentence": f"Drift in {HOSTILE}.", "p_value": 0.003, "level": 0.05,
        "by_score": {f"confidence of {HOSTILE}": 0.003, "predicted class": 0.4},
        "class_shares": {"source": [0.4, 0.3, 0.3]},
        "disagreement": {"source": 0.1, "target": 0.3},
        "candidates": [{"clustering": HOSTILE, "cluster": 3, "size": 20, "unsure": 0.8, "claimed_as": [[HOSTILE, 0.7]]}],
    }  # fmt: skip
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    ids = [f"{HOSTILE} {i}" for i in range(n)]
    arguments = {
        "votes": votes, "clusters": clusters, "ids": ids, "truth": NAMES[truth], "drift": drift,
        "context": {"input": f"{HOSTILE}.csv", "sha256": "0" * 64, "seconds": {"fit": 1.5}},
    }  # fmt: skip
    return model, arguments
