"""Tables of the model itself, whose clusterings err apart from each other: ``python -m benchmarks.independent``.

Objects of 2 to 10 classes, three classifiers, 4 to 14 clusterings. Each clustering puts an object into one
of the three clusters of its class or, at its own random choice, anywhere. k-means runs of one set of
features, which all other sources have, err alike. Accuracy of the soft vote, of the default and of fixed
amounts of evidence, and what the default chose; labels are looked at only to tell that.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

import bc3e
from bc3e.rivals import SoftVote

TABLES = 60
TOTALS = (1.0, 2.0, 3.0, 8.0)


def one(seed: int) -> tuple[int, float, list[float]]:
    """Classes of a table, the evidence that the default chose, and accuracies in percent."""
    rng = np.random.default_rng([seed, 11])
    k, r2 = int(rng.choice([2, 3, 5, 10])), int(rng.integers(4, 15))
    n, strays, right = int(rng.choice([500, 2000])), rng.uniform(0.2, 0.6), rng.uniform(0.3, 0.7)
    truth = rng.integers(k, size=n)
    votes = np.where(rng.random((n, 3)) < right, truth[:, None], rng.integers(k, size=(n, 3)))
    home = 3 * truth[:, None] + rng.integers(3, size=(n, r2))
    clusters = np.where(rng.random((n, r2)) < strays, rng.integers(3 * k, size=(n, r2)), home)
    with threadpool_limits(1):
        make = {"classes": range(k), "random_state": 0, "n_jobs": 1}
        chosen = bc3e.BC3E(**make).fit(votes, clusters)
        fits = [SoftVote(classes=range(k)).fit(votes), chosen]
        fits += [
            bc3e.BC3E(evidence_weight=min(1.0, t / r2), **make).fit(votes, clusters) for t in TOTALS
        ]
    accuracy = [100.0 * float(np.mean(np.asarray(fit.labels_) == truth)) for fit in fits]
    return k, float(chosen.evidence_weights_.sum()), accuracy


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tables", type=int, default=TABLES)
    options.add_argument("--jobs", type=int, default=2)
    given = options.parse_args()
    with ProcessPoolExecutor(given.jobs) as pool:
        found = list(pool.map(one, range(given.tables)))
    names = ["soft vote", "default", *(f"{total:g} labels" for total in TOTALS)]
    for title, rows in {
        "all": found,
        "two classes": [row for row in found if row[0] == 2],
        "more": [row for row in found if row[0] > 2],
    }.items():
        means = np.mean([row[2] for row in rows], axis=0)
        shown = ", ".join(f"{name} {mean:.1f}" for name, mean in zip(names, means, strict=True))
        print(f"{title} ({len(rows)} tables): {shown}")
    gains = np.array([row[2][1] - row[2][0] for row in found])
    print(
        f"default: gain {gains.mean():+.1f}, worst {gains.min():+.1f}, losing {np.mean(gains < -0.5):.0%}"
    )
    amounts = Counter("0" if row[1] == 0 else "0.25" if row[1] < 1 else "1 or more" for row in found)
    print(f"evidence that it chose, in labels: {dict(sorted(amounts.items()))}")


if __name__ == "__main__":
    main()
