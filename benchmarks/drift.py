"""The drift verdict: false alarms, detection, new classes; and accuracy before and after.

python -m benchmarks.drift alarms | detection | novelty | all
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bc3e import BC3E, ClusterEnsemble, ConsensusClassifier
from bc3e.drift import NEW_CLASS, NO_DRIFT
from benchmarks.accuracy import tables, texts

# The verdict needs no refinement: what is not measured is kept cheap.
FEW, PLAIN = ClusterEnsemble(n_clusterings=2), BC3E(evidence_weight=1.0)


def generated(seed: int) -> tuple[Any, Any, Any]:
    """Source features, labels and a target from one distribution, whose kind varies with the seed."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    n, m = (int(x) for x in np.exp(rng.uniform(np.log(200), np.log(1500), 2)))
    X, y = make_classification(
        n + m,
        n_features=8,
        n_informative=6,
        n_redundant=0,
        n_classes=k,
        n_clusters_per_class=2,
        class_sep=float(rng.uniform(0.5, 2.0)),
        weights=rng.dirichlet(np.full(k, 5.0)).tolist(),
        flip_y=0.05,
        random_state=seed,
    )
    return X[:n], y[:n], X[n:]


def small_ensemble(seed: int) -> list[tuple[str, Any]]:
    every = [
        ("tree", DecisionTreeClassifier(max_depth=6, random_state=0)),
        ("logit", LogisticRegression(max_iter=200)),
        ("bayes", GaussianNB()),
        ("neighbours", KNeighborsClassifier(7)),
    ]
    return every[seed % 3 : seed % 3 + 1 + seed % 3]


def false_alarms(runs: int = 400) -> float:
    """Share of runs in which a target from the training distribution raises an alarm at 0.05."""
    alarms = 0
    for seed in range(runs):
        X, y, target = generated(seed)
        model = ConsensusClassifier(
            small_ensemble(seed), clusterings=FEW, consensus=PLAIN, random_state=seed
        )
        model.fit(X, y)
        alarms += model.check_drift(target).verdict != NO_DRIFT
    return alarms / runs


def table_ensemble() -> list[tuple[str, Any]]:
    return [
        ("forest", RandomForestClassifier(100, random_state=0)),
        (
            "discriminant",
            make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
        ),
        ("neighbours", make_pipeline(StandardScaler(), KNeighborsClassifier(5))),
    ]


def image_ensemble() -> list[tuple[str, Any]]:
    """Pixels have one scale already; dividing each by its spread would blow up empty margins."""
    return [
        ("forest", RandomForestClassifier(100, random_state=0)),
        ("discriminant", LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
        ("neighbours", KNeighborsClassifier(5)),
    ]


def text_ensemble() -> list[tuple[str, Any]]:
    def words() -> TfidfVectorizer:
        return TfidfVectorizer(sublinear_tf=True, min_df=2)

    return [
        ("bayes", make_pipeline(words(), MultinomialNB(alpha=0.1))),
        ("logit", make_pipeline(words(), LogisticRegression(C=5, max_iter=60, tol=1e-3))),
        ("neighbours", make_pipeline(words(), KNeighborsClassifier(7, metric="cosine"))),
    ]


def drifted_cases() -> Iterator[tuple[str, Any, list[tuple[str, Any]]]]:
    """Name, data and classifiers of targets that have drifted for certain."""
    rng = np.random.default_rng(0)
    for batch in (3, 4, 5, 6, 8, 9):
        yield f"gas, batch 1 -> {batch}", tables.gas(rng, train=(1,), target=batch), table_ensemble()
    for train, target in (("mnist", "usps"), ("usps", "mnist")):
        yield (
            f"{train.upper()} -> {target.upper()}",
            tables.mnist_usps(rng, train=train, target=target),
            image_ensemble(),
        )
    for year in (2012, 2013, 2014, 2015, 2016):
        data = texts.myntra(rng, years=(year,), count=6000, size=4000, classes=38)
        yield f"Myntra, to 2011 -> {year}", data, text_ensemble()


def detection() -> list[dict[str, Any]]:
    """Verdict, accuracy and seconds of each drifted case."""
    rows = []
    for name, data, classifiers in drifted_cases():
        model = ConsensusClassifier(classifiers, random_state=0)
        model.fit(data.train, data.train_labels).adapt(data.target)
        votes = np.mean(list(model._votes(data.target).values()), axis=0)
        rows.append(
            {
                "case": name,
                "objects": len(data.truth),
                "verdict": model.drift_.verdict,
                "p": model.drift_.p_value,
                "source": model.source_summary_.accuracy,
                "before": float(np.mean(votes.argmax(axis=1) == data.truth)),
                "after": float(np.mean(model.labels_ == data.truth)),
                "trust": float(model.consensus_.trust_),
                "seconds": model.timings_,
            }
        )
    return rows


def novelty(seeds: int = 5) -> tuple[float, float, float]:
    """Digits: share of runs that name the removed class, that raise a false candidate, and purity.

    Each digit in turn is removed from training; the target holds it at 10%.
    A class counts as named if most objects of some candidate belong to it. In
    the runs for false candidates nothing is removed.
    """
    X, y = load_digits(return_X_y=True)
    named, false, purity = [], [], []
    for seed in range(seeds):
        source, target, y_source, truth = train_test_split(
            X, y, test_size=0.5, stratify=y, random_state=seed
        )
        for removed in (*range(10), None):
            kept = y_source != removed
            model = ConsensusClassifier(table_ensemble(), consensus=PLAIN, random_state=seed)
            model.fit(source[kept], y_source[kept]).adapt(target)
            found = model.drift_.candidates
            if removed is None:
                false.append(model.drift_.verdict == NEW_CLASS)
                continue
            shares = [float(np.mean(truth[c.rows] == removed)) for c in found]
            named.append(any(share > 0.5 for share in shares))
            purity.extend(shares)
    return float(np.mean(named)), float(np.mean(false)), float(np.mean(purity)) if purity else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", choices=["alarms", "detection", "novelty", "all"], nargs="?", default="all"
    )
    what = parser.parse_args().what
    console = Console(width=120)
    warnings.simplefilter("ignore")  # classifiers that stop early
    if what in ("alarms", "all"):
        console.print(f"false alarms at level 0.05, 400 runs: {false_alarms():.2%}")
    if what in ("novelty", "all"):
        named, false, purity = novelty()
        console.print(f"digits, a class removed: named in {named:.0%} of 50 runs, purity {purity:.0%};")
        console.print(f"nothing removed: a candidate in {false:.0%} of 5 runs")
    if what in ("detection", "all"):
        table = Table(title="Targets that have drifted")
        for heading in (
            "case",
            "objects",
            "verdict",
            "p",
            "source",
            "before",
            "after",
            "trust",
            "seconds",
        ):
            table.add_column(heading, justify="left" if heading in ("case", "verdict") else "right")
        for row in detection():
            table.add_row(
                row["case"],
                f"{row['objects']:,}",
                row["verdict"],
                f"{row['p']:.3f}",
                f"{row['source']:.1%}",
                f"{row['before']:.1%}",
                f"{row['after']:.1%}",
                f"{row['trust']:.2f}",
                " ".join(f"{part} {seconds:.1f}" for part, seconds in row["seconds"].items()),
            )
        console.print(table)


if __name__ == "__main__":
    main()
