"""Traffic, equality and masking time of federated fits at N = 10,000: ``python -m benchmarks.federation``."""

from __future__ import annotations

import platform
import time

import numpy as np
import pandas as pd

import bc3e
from bc3e import federation
from bc3e.federation.traffic import Traffic, iteration_traffic

N, CLASSES, CLASSIFIERS, CLUSTERINGS, CLUSTERS = 10_000, 5, 6, 6, 10
# Row parts and column groups of the paper's six sites.
SIX = {
    "C1": ("1", "1"),
    "C2": ("12", "23"),
    "C3": ("23", "1"),
    "C4": ("3", "23"),
    "C5": ("4", "12"),
    "C6": ("4", "3"),
}


def label_table() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    truth = rng.integers(CLASSES, size=N)
    ids = [f"object-{i}" for i in range(N)]
    wrong = rng.random((N, CLASSIFIERS)) < 0.35
    votes = np.where(wrong, rng.integers(CLASSES, size=(N, CLASSIFIERS)), truth[:, None])
    fine = truth[:, None] + CLASSES * rng.integers(CLUSTERS // CLASSES, size=(N, CLUSTERINGS))
    noisy = rng.random((N, CLUSTERINGS)) < 0.3
    clusters = np.where(noisy, rng.integers(CLUSTERS, size=(N, CLUSTERINGS)), fine)
    return (
        pd.DataFrame(votes, index=ids).add_prefix("classifier_"),
        pd.DataFrame(clusters, index=ids).add_prefix("clustering_"),
    )


def splits(votes: pd.DataFrame, clusters: pd.DataFrame) -> dict[str, list[federation.Site]]:
    rows = np.array_split(np.arange(N), 3)
    row = [
        federation.Site(s, votes.iloc[part], clusters.iloc[part])
        for s, part in zip("abc", rows, strict=True)
    ]
    column = [
        federation.Site(s, votes.iloc[:, i::3], clusters.iloc[:, i::3]) for i, s in enumerate("abc")
    ]
    parts, six = np.array_split(np.arange(N), 4), []
    for name, (row_parts, groups) in SIX.items():
        at = np.concatenate([parts[int(p) - 1] for p in row_parts])
        own = [c for g in groups for c in (int(g) - 1, int(g) + 2)]
        six.append(federation.Site(name, votes.iloc[at, own], clusters.iloc[at, own]))
    return {"row, 3 sites": row, "column, 3 sites": column, "arbitrary, the paper's 6 sites": six}


def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    print(
        f"N = {N:,}, k = {CLASSES}, r1 = {CLASSIFIERS}, r2 = {CLUSTERINGS} of {CLUSTERS} clusters, default settings but evidence_weight = 1/6\n"
    )
    votes, clusters = label_table()
    model = bc3e.BC3E(evidence_weight=1 / 6)
    central = model.fit(votes, clusters)
    began = time.perf_counter()
    central = bc3e.BC3E(evidence_weight=1 / 6).fit(votes, clusters)
    print(f"fit in one place: {time.perf_counter() - began:.2f} s")
    names = dict.fromkeys(clusters.columns, CLUSTERS)
    weights = dict(zip(votes.columns, central.classifier_weights_.tolist(), strict=True))
    for how, sites in splits(votes, clusters).items():
        print(f"\n{how}")
        federation.fit(sites, model=model, masked=False)
        for masked in (False, True):
            began = time.perf_counter()
            result = federation.fit(
                sites, model=model, masked=masked, allow_two=True, classifier_weights=weights
            )
            seconds = time.perf_counter() - began
            worst = max(
                float(np.abs(s.values - central.probabilities_.loc[s.ids].to_numpy()).max())
                for s in result.sites.values()
            )
            bound = float(np.abs(result.lower_bounds - central.lower_bounds_).max())
            share = f", masking {result.masking_seconds / seconds:.1%} of it" if masked else ""
            print(
                f"  {'masked' if masked else 'plain ':6} {seconds:6.2f} s{share}; probabilities within {worst:.1e}, bound within {bound:.1e} of {abs(central.lower_bound_):.1e}"
            )
        learn = result.ledger.select(stage="learn", iteration=1)
        sweeps = {b.number: 0 for b in result.plan.blocks}
        for entry in learn.select(kind="shares"):
            number = int(entry.recipient.rpartition(":")[2])
            sweeps[number] = max(sweeps[number], entry.sweep)
        formula = iteration_traffic(result.plan, CLASSES, names, sweeps)
        assert formula == Traffic(len(learn), learn.numbers), "the formula and the ledger disagree"
        once = [e for e in result.ledger if e.stage in ("plan", "setup")]
        last = [e for e in result.ledger if e.stage == "answer"]
        print(
            f"  per iteration {len(learn):,} messages, {learn.numbers:,} bytes of numbers (formula: the same), {learn.bytes:,} on the wire"
        )
        print(
            f"  once before   {len(once):,} messages, {sum(e.bytes for e in once):,} bytes; answer {len(last):,} messages, {sum(e.bytes for e in last):,} bytes"
        )


if __name__ == "__main__":
    main()
