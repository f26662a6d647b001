"""Time and memory of every consensus method on a million objects.

Each method runs in a process of its own, so that the peak of its resident set
(ru_maxrss) is its own too. Run from the repository's root:

    python -m benchmarks.rivals_at_scale [--objects 1000000] [--methods BGCM LWE ...]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from time import perf_counter
from typing import Any

import numpy as np

from bc3e.summary import Section, Summary

N_CLASSES, N_CLASSIFIERS, N_CLUSTERINGS = 5, 3, 8
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "MajorityVote": ("MajorityVote", {}),
    "SoftVote": ("SoftVote", {}),
    "BC3E": ("BC3E", {}),
    "BGCM": ("BGCM", {}),
    "LWE": ("LWE", {}),
    "C3E": ("C3E", {}),
    "C3E, alpha per object": ("C3E", {"alpha": 1.0, "scaling": "object"}),
    "C3E, KL": ("C3E", {"loss": "kl"}),
    "DawidSkene": ("DawidSkene", {}),
    "BayesianClusterEnsemble": ("BayesianClusterEnsemble", {"random_state": 0}),
}


def label_table(n_objects: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """True classes, votes that are right in 7 of 10 cases, and clusterings of 10 to 50 clusters.

    A cluster label goes with the class in 6 of 10 cases and is drawn at random in
    the others: hardly two objects have the same labels, so grouping saves little.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(N_CLASSES, size=n_objects, dtype=np.int16)
    votes = np.empty((n_objects, N_CLASSIFIERS), dtype=np.int16)
    for column in votes.T:
        right = rng.random(n_objects) < 0.7
        column[:] = np.where(right, truth, rng.integers(N_CLASSES, size=n_objects))
    clusters = np.empty((n_objects, N_CLUSTERINGS), dtype=np.int16)
    for column, size in zip(clusters.T, np.linspace(10, 50, N_CLUSTERINGS).astype(int), strict=True):
        own = truth + N_CLASSES * rng.integers(size // N_CLASSES, size=n_objects)
        column[:] = np.where(rng.random(n_objects) < 0.6, own, rng.integers(size, size=n_objects))
    return truth, votes, clusters


def peak_gigabytes() -> float:
    """Largest resident set of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def run_one(name: str, n_objects: int) -> dict[str, Any]:
    """Fit one method in this process."""
    import bc3e
    import bc3e.rivals

    word, parameters = METHODS[name]
    model = getattr(bc3e if word == "BC3E" else bc3e.rivals, word)(**parameters)
    _, votes, clusters = label_table(200)
    model.fit(votes, clusters)  # loads and compiles what the method needs
    truth, votes, clusters = label_table(n_objects)
    before = peak_gigabytes()
    begin = perf_counter()
    model.fit(votes, clusters)
    seconds = perf_counter() - begin
    peak = peak_gigabytes()
    accuracy = float(np.mean(model.labels_ == truth))
    iterations = getattr(model, "n_iter_", None)
    return {
        "seconds": seconds, "before": before, "peak": peak,
        "accuracy": accuracy, "iterations": iterations,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(run_one(options.only, options.objects)))
        return
    rows = []
    for name in options.methods:
        command = [sys.executable, "-m", "benchmarks.rivals_at_scale", "--only", name]
        done = subprocess.run(
            [*command, "--objects", str(options.objects)], check=True, capture_output=True, text=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
        rows.append(
            (
                name,
                f"{found['seconds']:.1f} s",
                "" if found["iterations"] is None else str(found["iterations"]),
                f"{found['peak']:.2f} GB",
                f"{found['peak'] - found['before']:.2f} GB",
                f"{found['accuracy']:.2%}",
            )
        )
        print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    title = f"{options.objects:,} objects, {N_CLASSIFIERS} + {N_CLUSTERINGS} hard columns"
    header = ("method", "time", "iterations", "peak memory", "added by fit", "accuracy")
    print(Summary((Section(title, header, tuple(rows)),)))


if __name__ == "__main__":
    main()
