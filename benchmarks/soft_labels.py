"""Soft labels: one EM iteration against a bare loop, and the memory of a fit: ``python -m benchmarks.soft_labels``.

2,000,000 objects with 95 float32 columns: three classifiers with probabilities of five classes and
eight clusterings with memberships in ten clusters. The bare loop does what an E-step of five sweeps cannot do
without, and nothing else: the likelihood of the memberships per class (a multiply-add per membership and
class, an exponential per clustering and class), the sweeps of :mod:`benchmarks.kernel`, and the counts
(again a multiply-add per membership and class), object by object on the same arrays.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

import numpy as np

from bc3e.labels import LabelTable
from bc3e.model.compiled import kernel
from bc3e.model.inference import Workers, cold_state, e_step
from bc3e.model.parameters import Parameters, normalize_profiles
from bc3e.model.starts import cluster_counts, vote_responsibilities
from benchmarks.kernel import seconds

K, CLASSIFIERS, CLUSTERINGS, SIZE, SWEEPS = 5, 3, 8, 10, 5

MEMORY = """
import json, resource, sys
import numpy as np
import bc3e
from benchmarks.soft_labels import soft_table
n = int(sys.argv[1])
bc3e.BC3E().fit(*soft_table(50))  # compile and load
votes, clusters = soft_table(n)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
current = int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
ballast = np.ones(int(max(peak() - current - 5, 0) * 2**20 / 8))  # so that the peak can only rise
before = peak()
model = bc3e.BC3E().fit(votes, clusters)
model.labels_
print(json.dumps({"input": sum(block.nbytes for block in votes + clusters) / 2**20, "added": peak() - before}))
"""


@kernel
def bare_loop(votes, memberships, log_profiles, means, tendencies, sweeps, counts):
    """What five sweeps over soft labels need at least; see the top of the file."""
    k, size = votes.shape[1], log_profiles.shape[0] // CLUSTERINGS
    x, s = np.empty(k), np.empty(k)
    likelihood = np.empty((CLUSTERINGS, k))
    result = 0.0
    for n in range(votes.shape[0]):
        for h in range(CLUSTERINGS):
            likelihood[h, :] = 0.0
            for c in range(size):
                w = float(memberships[n, h * size + c])
                for i in range(k):
                    likelihood[h, i] += w * log_profiles[h * size + c, i]
            for i in range(k):
                likelihood[h, i] = np.exp(likelihood[h, i])
        for _ in range(sweeps):
            for i in range(k):
                x[i] = np.exp(tendencies[n, i])
                s[i] = 0.0
            for h in range(CLUSTERINGS):
                total = 0.0
                for i in range(k):
                    total += x[i] * likelihood[h, i]
                inverse = 1.0 / total
                for i in range(k):
                    s[i] += x[i] * likelihood[h, i] * inverse
            p = t = 0.0
            for i in range(k):
                p += np.exp(means[n, i])
                t += np.exp(tendencies[n, i] + s[i])
                result += np.log(1.0 + s[i])
            result += np.log(p) + np.log(t)
        for h in range(CLUSTERINGS):
            for c in range(size):
                w = float(memberships[n, h * size + c])
                for i in range(k):
                    counts[h * size + c, i] += w * likelihood[h, i]
    return result


def soft_table(n: int, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Probabilities of three classifiers and memberships in eight clusterings, float32."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n)

    def shares(columns: int, right: np.ndarray) -> np.ndarray:
        scores = rng.standard_exponential((n, columns), dtype=np.float32)
        scores[np.arange(n), right] += np.float32(2.0)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores

    votes = [shares(K, truth) for _ in range(CLASSIFIERS)]
    return votes, [shares(SIZE, (2 * truth + rng.integers(2, size=n))) for _ in range(CLUSTERINGS)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=2_000_000)
    n = options.parse_args().rows
    votes, clusters = soft_table(n)
    table = LabelTable.read(votes, clusters)
    evidence = table.evidence(evidence_weights=np.full(CLUSTERINGS, 1 / CLUSTERINGS), vote_weight=3.0)
    counts = cluster_counts(evidence, vote_responsibilities(evidence.votes))
    profiles = normalize_profiles(counts + 1.0, evidence.layout)
    parameters = Parameters(np.zeros(K), np.ones(K), 1.0, profiles)
    state = cold_state(evidence, parameters)
    whole, log_profiles, added = np.hstack(clusters), np.log(profiles), np.zeros_like(counts)

    def iteration(threads: int) -> object:
        fresh = cold_state(evidence, parameters)
        return e_step(
            evidence, parameters, fresh, structured=True, sweeps=SWEEPS, workers=Workers(threads)
        )

    def bare() -> object:
        return bare_loop(evidence.votes, whole, log_profiles, state.mean, state.tendency, SWEEPS, added)

    iteration(1), bare()  # compile
    one, two, floor = seconds(lambda: iteration(1)), seconds(lambda: iteration(2)), seconds(bare)
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, str(n)], capture_output=True, text=True, check=True
    )
    memory = json.loads(run.stdout)
    print(f"{n:,} objects, {CLASSIFIERS} x {K} votes, {CLUSTERINGS} x {SIZE} memberships, float32")
    print(f"  one EM iteration of five sweeps    {one * 1e9 / n:7.0f} ns per object, one thread")
    print(f"  bare loop                          {floor * 1e9 / n:7.0f} ns")
    print(f"  ratio                              {one / floor:7.2f}")
    print(f"  two threads against one            {one / two:7.2f} times as fast")
    print(
        f"  a default fit adds {memory['added']:,.0f} MB to an input of {memory['input']:,.0f} MB: "
        f"{memory['added'] / memory['input']:.2f} times"
    )


if __name__ == "__main__":
    main()
