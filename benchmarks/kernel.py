"""The E-step against bare loops: ``python -m benchmarks.kernel`` prints ratios, medians of five.

A bare loop does what a sweep cannot do without, and nothing else: per pattern and class the three
exponentials, k + 2 logarithms, and per label the multiply-adds of phi and s, on the same arrays,
object by object as one would write it down. The kernel takes sixteen objects at a time, so it can be ahead of it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from bc3e.labels import LabelTable
from bc3e.model.compiled import kernel
from bc3e.model.evidence import Evidence
from bc3e.model.inference import Workers, cold_state, e_step
from bc3e.model.parameters import Parameters, normalize_profiles
from bc3e.model.starts import cluster_counts, vote_responsibilities
from benchmarks.speed import label_table

SWEEPS, ROUNDS = 20, 5


@kernel
def bare_loop(votes, labels, profiles, means, tendencies, sweeps):
    """exp, log and multiply-adds of `sweeps` sweeps, without steps, line search or statistics."""
    k = votes.shape[1]
    x, s = np.empty(k), np.empty(k)
    result = 0.0
    for n in range(votes.shape[0]):
        for _ in range(sweeps):
            for i in range(k):
                x[i] = np.exp(tendencies[n, i])
                s[i] = 0.0
            for h in range(labels.shape[1]):
                at = labels[n, h]
                total = 0.0
                for i in range(k):
                    total += x[i] * profiles[at, i]
                inverse = 1.0 / total
                for i in range(k):
                    s[i] += x[i] * profiles[at, i] * inverse
            p = t = 0.0
            for i in range(k):
                p += np.exp(means[n, i])
                t += np.exp(tendencies[n, i] + s[i])
                result += np.log(1.0 + s[i])
            result += np.log(p) + np.log(t)
    return result


def seconds(run: Callable[[], object]) -> float:
    """Median seconds by the clock."""
    found = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return statistics.median(found)


def problem(patterns: int) -> tuple[Evidence, Parameters]:
    votes, clusters = label_table(patterns, patterns)
    table = LabelTable.read(votes, clusters)
    evidence = table.evidence(evidence_weights=np.full(8, 1 / 8), vote_weight=3.0)
    counts = cluster_counts(evidence, vote_responsibilities(evidence.votes))
    profiles = normalize_profiles(counts + 1.0, evidence.layout)
    return evidence, Parameters(np.zeros(5), np.ones(5), 1.0, profiles)


def main() -> None:
    evidence, parameters = problem(100_000)

    def swept(sweeps: int, threads: int) -> Callable[[], object]:
        def run() -> object:
            state = cold_state(evidence, parameters)
            return e_step(
                evidence, parameters, state, structured=True, sweeps=sweeps, workers=Workers(threads)
            )

        return run

    state = cold_state(evidence, parameters)

    def bare() -> object:
        return bare_loop(
            evidence.votes, evidence.labels, parameters.profiles, state.mean, state.tendency, SWEEPS
        )

    swept(1, 1)()  # compile
    bare()
    none, one, two, floor = (
        seconds(run) for run in (swept(0, 1), swept(SWEEPS, 1), swept(SWEEPS, 2), bare)
    )
    per = 1e9 / SWEEPS / evidence.n_patterns
    print(
        f"{evidence.n_patterns:,} patterns, 5 classes, 8 clusterings, {SWEEPS} sweeps, medians of {ROUNDS}"
    )
    print(f"  one sweep of one pattern        {(one - none) * per:6.0f} ns")
    print(f"  bare loop                       {floor * per:6.0f} ns")
    print(f"  ratio                           {(one - none) / floor:6.2f}")
    print(f"  statistics, once per E-step     {none * 1e9 / evidence.n_patterns:6.0f} ns per pattern")
    print(f"  two threads against one         {one / two:6.2f} times as fast")


if __name__ == "__main__":
    main()
