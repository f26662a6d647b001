"""Random label tables, ways to split them over sites, and the fit in one place to compare with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import bc3e
from bc3e import federation

SPLITS = ("one", "row", "column", "arbitrary", "overlapping")


@dataclass(frozen=True)
class Table:
    """Named columns of labels of named objects; soft columns are frames of probabilities."""

    votes: dict[str, Any]
    clusters: dict[str, Any]
    classes: list[str]
    ids: list[str]

    def part(self, ids: Iterable[str], votes: Iterable[str], clusters: Iterable[str]) -> tuple[Any, Any]:
        rows = list(ids)
        return (
            {name: self.votes[name].loc[rows] for name in votes},
            {name: self.clusters[name].loc[rows] for name in clusters},
        )


def random_table(seed: int, *, n: int | None = None, hard: bool = False, missing: float = 0.15) -> Table:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 22)) if n is None else n
    k = int(rng.integers(2, 5))
    truth = rng.integers(k, size=n)
    ids = [f"object-{seed}-{i}" for i in range(n)]
    classes = [f"class-{i}" for i in range(k)]
    votes: dict[str, Any] = {}
    for i in range(int(rng.integers(1, 5))):
        said = np.where(rng.random(n) < 0.35, rng.integers(k, size=n), truth)
        gaps = rng.random(n) < (0 if i == 0 else missing)
        if not hard and rng.random() < 0.3:
            scores = 0.4 * rng.dirichlet(np.ones(k), size=n) + 0.6 * np.eye(k)[said]
            scores[gaps] = np.nan
            votes[f"classifier-{i}"] = pd.DataFrame(scores, index=ids, columns=classes)
        else:
            labels = np.array(classes, dtype=object)[said]
            labels[gaps] = None
            votes[f"classifier-{i}"] = pd.Series(labels, index=ids)
    clusters: dict[str, Any] = {}
    for i in range(int(rng.integers(1, 5))):
        size = int(rng.integers(2, 6))
        found = np.where(rng.random(n) < 0.3, rng.integers(size, size=n), truth % size)
        gaps = rng.random(n) < missing
        if not hard and rng.random() < 0.25:
            scores = 0.3 * rng.dirichlet(np.ones(size), size=n) + 0.7 * np.eye(size)[found]
            scores[gaps] = np.nan
            names = [f"cluster-{j}" for j in range(size)]
            clusters[f"clustering-{i}"] = pd.DataFrame(scores, index=ids, columns=names)
        else:
            labels = np.array([f"cluster-{j}" for j in found], dtype=object)
            labels[gaps] = None
            clusters[f"clustering-{i}"] = pd.Series(labels, index=ids)
    return Table(votes, clusters, classes, ids)


def split(table: Table, how: str, seed: int) -> list[federation.Site]:
    """Sites that hold the table in blocks; together they hold all of it."""
    rng = np.random.default_rng(10_000 + seed)
    columns = [("votes", name) for name in table.votes] + [("clusters", name) for name in table.clusters]
    count = 1 if how == "one" else int(rng.integers(2, 5))
    held = np.zeros((count, len(table.ids), len(columns)), dtype=bool)
    if how == "one":
        held[:] = True
    elif how == "row":
        held[rng.integers(count, size=len(table.ids)), np.arange(len(table.ids))] = True
    elif how == "column":
        held[rng.integers(count, size=len(columns)), :, np.arange(len(columns))] = True
    else:  # each of some stripes of rows gives its columns to sites in its own way
        stripes = rng.integers(3, size=len(table.ids))
        for stripe in range(3):
            rows = np.flatnonzero(stripes == stripe)
            for column in range(len(columns)):
                holders = [int(rng.integers(count))]
                if how == "overlapping":
                    holders = rng.choice(count, size=int(rng.integers(1, count + 1)), replace=False)
                for site in holders:
                    held[site, rows, column] = True
    sites = []
    for site in range(count):
        rows, wanted = held[site].any(axis=1), held[site].any(axis=0)
        if not rows.any():
            continue
        ids = [name for name, there in zip(table.ids, rows, strict=True) if there]
        parts: dict[str, dict[str, Any]] = {"votes": {}, "clusters": {}}
        for at, (kind, name) in enumerate(columns):
            if wanted[at]:
                column = getattr(table, kind)[name].loc[ids].copy()
                away = ~held[site][rows][:, at]
                column[away] = np.nan if isinstance(column, pd.DataFrame) else None
                parts[kind][name] = column
        sites.append(federation.Site(f"site-{site}", parts["votes"] or None, parts["clusters"] or None))
    return sites


SETTINGS: tuple[dict[str, Any], ...] = (
    {"delta2": 0.5, "evidence_weight": 0.5, "profile_prior": 2.0},
    {"delta2": "learn", "class_variance": "learn", "evidence_weight": 1.0, "profile_prior": 1.0},
    {"delta2": bc3e.InverseGamma(2.0, 1.0), "evidence_weight": 0.3, "vote_weight": None},
    {"class_mean": "learn", "class_variance": bc3e.InverseGamma(2.0, 1.0), "evidence_weight": 0.7},
    {"posterior": "factorized", "delta2": "learn", "evidence_weight": 1.0, "profile_prior": 0.5},
    {"class_mean": bc3e.Normal(0.0, 0.5), "evidence_weight": 0.2, "vote_calibration": None},
)


def model_for(seed: int, table: Table, max_iter: int) -> bc3e.BC3E:
    chosen = SETTINGS[(seed // len(SPLITS)) % len(SETTINGS)]
    return bc3e.BC3E(classes=table.classes, max_iter=max_iter, tol=1e-9, **chosen)


def counted(central: bc3e.BC3E) -> dict[str, float]:
    """Weights of the classifiers, which sites must be told: they cannot compare classifiers."""
    names, weights = central.classifier_names_, central.classifier_weights_.tolist()
    return dict(zip(names, weights, strict=True))


def difference(result: federation.Result, central: bc3e.BC3E) -> float:
    """Largest difference of a probability, over all sites."""
    whole = central.probabilities_
    return max(
        float(np.abs(site.values - whole.loc[site.ids].to_numpy()).max())
        for site in result.sites.values()
    )
