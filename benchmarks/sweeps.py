"""How many sweeps of the E-step a posterior takes: ``python -m benchmarks.sweeps``.

Sweeps of the readable reference, from the cold state until no mean of any object moves by more than
1e-12 any more, for the plain step, for means and precisions together, with s following by a fifth, and by
the share that it was seen to follow; then the largest change of any class tendency per sweep of the kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np

import bc3e
from bc3e.labels import LabelTable
from bc3e.model import reference
from bc3e.model.evidence import Evidence
from bc3e.model.inference import State, Workers, cold_state, e_step
from bc3e.model.parameters import Parameters
from bc3e.objects import Objects

OBJECTS, MOST, SETTLED = 400, 200, 1e-12
SHOWN = (1, 2, 4, 8, 12, 16, 20)


def planted(n: int, k: int, r2: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(k, size=n)
    votes = np.where(rng.random((n, 3)) < 0.4, rng.integers(k, size=(n, 3)), truth[:, None])
    fine = truth[:, None] * 2 + rng.integers(2, size=(n, r2))
    return votes, np.where(rng.random((n, r2)) < 0.8, fine, rng.integers(2 * k, size=(n, r2)))


def problem(k: int, r2: int, total: float, **setting: object) -> tuple[Evidence, Parameters, bool]:
    votes, clusters = planted(4000, k, r2)
    model = bc3e.BC3E(evidence_weight=total / r2, **setting).fit(votes, clusters)
    evidence = (
        Objects.of(LabelTable.read(votes, clusters))
        .table.take(np.arange(OBJECTS))
        .evidence(
            evidence_weights=model.evidence_weights_,
            classifier_weights=model.classifier_weights_,
            vote_weight=model.vote_weight,
            vote_exponent=model.vote_exponent_,
        )
    )
    return evidence, model._learned, model.posterior == "structured"


@contextmanager
def step(kind: str) -> Iterator[None]:
    """Only the plain step, or the coupled one with s following by a fixed share, or as it is."""
    if kind == "plain":

        def refused(*arguments: object) -> tuple[float, float, float]:
            return np.nan, np.nan, np.nan  # no step: the plain one is taken

        with mock.patch.object(reference, "coupled_step", refused):
            yield
    else:

        def unlearned(last: reference.Last, e: object, s: object) -> np.ndarray:
            return last.followed

        share = 0.0 if kind == "together" else reference.UNSEEN
        learned = reference.Last.learned if kind == "kept" else unlearned
        with (
            mock.patch.object(reference, "UNSEEN", share),
            mock.patch.object(reference.Last, "learned", learned),
        ):
            yield


def sweeps_needed(evidence: Evidence, parameters: Parameters, structured: bool) -> int:
    q, last = reference.Gaussian.of(cold_state(evidence, parameters), structured), None
    for count in range(1, MOST + 1):
        after, last = reference.sweep(evidence, parameters, q, structured, last)
        moved = max(float(np.abs(after.m - q.m).max()), float(np.abs(after.e - q.e).max()))
        if moved <= SETTLED:
            return count
        q = after
    return MOST


def changes(evidence: Evidence, parameters: Parameters, structured: bool) -> list[float]:
    def after(sweeps: int) -> np.ndarray:
        state = State.room(evidence.n_patterns, evidence.n_classes)
        e_step(
            evidence, parameters, state, structured=structured, sweeps=sweeps, workers=Workers(1), fresh=True
        )  # fmt: skip
        return state.mean

    return [float(np.abs(after(i) - after(i - 1)).max()) for i in SHOWN]


def main() -> None:
    settings = [(k, 8, total, {}) for k in (2, 5, 10) for total in (0.25, 1.0, 3.0)]
    settings += [(5, 8, 3.0, {"delta2": 0.1}), (5, 8, 3.0, {"delta2": 10.0})]
    settings += [(5, 8, 8.0, {"posterior": "factorized", "profile_prior": None, "max_iter": 20})]
    print(
        f"sweeps until no mean of {OBJECTS} objects moves by {SETTLED:g} (at most {MOST}); changes per sweep"
    )
    print("classes  labels  setting                       plain  together  fifth   kept   " + "".join(
        f"{i:>7}" for i in SHOWN))  # fmt: skip
    for k, r2, total, setting in settings:
        given = problem(k, r2, total, **setting)
        counts = []
        for kind in ("plain", "together", "fifth", "kept"):
            with step(kind), np.errstate(invalid="ignore"):
                counts.append(sweeps_needed(*given))
        told = ", ".join(f"{name} {value}" for name, value in setting.items() if name != "max_iter")
        shown = "".join(f"{change:7.0e}" for change in changes(*given))
        print(
            f"{k:7}  {total:6g}  {told:<28}{counts[0]:7}{counts[1]:10}{counts[2]:7}{counts[3]:7}   {shown}"
        )


if __name__ == "__main__":
    main()
