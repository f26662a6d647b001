"""How fast the sweeps of the E-step settle: largest change of any class tendency per sweep."""

from __future__ import annotations

import numpy as np

import bc3e
from bc3e.labels import LabelTable
from bc3e.model.inference import Workers, cold_state, e_step


def planted(n: int, k: int, r2: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(k, size=n)
    votes = np.where(rng.random((n, 3)) < 0.4, rng.integers(k, size=(n, 3)), truth[:, None])
    fine = truth[:, None] * 2 + rng.integers(2, size=(n, r2))
    return votes, np.where(rng.random((n, r2)) < 0.8, fine, rng.integers(2 * k, size=(n, r2)))


def main() -> None:
    votes, clusters = planted(4000, 5, 8)
    print(
        "setting                    sweep:  " + "".join(f"{i:>8}" for i in (1, 2, 4, 8, 12, 16, 20, 30))
    )
    for setting in ({}, {"delta2": 0.1}, {"delta2": 10.0}, {"evidence_weight": 1.0}):
        model = bc3e.BC3E(**setting).fit(votes, clusters)
        evidence = LabelTable.read(votes, clusters).evidence(
            evidence_weights=model.evidence_weights_, vote_weight=3.0
        )
        state = cold_state(evidence, model._learned)
        changes = []
        for _ in range(30):
            before = state.mean.copy()
            e_step(evidence, model._learned, state, structured=True, sweeps=1, workers=Workers(1))
            changes.append(np.abs(state.mean - before).max())
        shown = "".join(f"{changes[i - 1]:8.0e}" for i in (1, 2, 4, 8, 12, 16, 20, 30))
        print(f"{setting!s:<35}{shown}")


if __name__ == "__main__":
    main()
