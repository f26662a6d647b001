"""Accuracy against privacy: one label table, learned in one place and split over sites.

Every setting is run and attacked: how right are the labels, and what can the
party that learns most find out about the labels of others?
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bc3e.ensembles import ClusterEnsemble
from bc3e.estimator import BC3E
from bc3e.experiments.data import load
from bc3e.experiments.domains import IntArray
from bc3e.experiments.units import Result, Unit

if TYPE_CHECKING:
    from bc3e.federation import Site

RUNS = 5
DATASETS = ("pima", "heart", "wine")
COLUMNS = 12  # classifiers, and as many clusterings: one of each for twelve sites
OBJECTS = 120  # of the target; the attacks look at every one
LABELLED = 50
EVIDENCE = 0.25  # of each clustering: three labels in all, as much as the votes
SITES = {"row": (2, 3, 6, 12), "column": (2, 3, 6, 12), "arbitrary": (4, 6, 12)}
MESSAGES = ("plain", "masked")


@dataclass(frozen=True)
class Labels:
    """Hard votes and cluster labels of one target, a column per classifier and clustering."""

    votes: IntArray
    clusters: IntArray
    truth: IntArray

    def part(self, name: str, rows: slice, columns: slice) -> Site:
        """The site that holds some rows of some columns."""
        from bc3e.federation import Site

        numbers = range(COLUMNS)[columns]
        return Site(
            name,
            votes={f"vote-{i}": self.votes[rows, i] for i in numbers},
            clusters={f"clustering-{i}": self.clusters[rows, i] for i in numbers},
            ids=list(range(len(self.truth)))[rows],
        )


def units(
    *, seed: int, runs: int, names: Sequence[str], sites: dict[str, tuple[int, ...]], data: str | None
) -> list[Unit]:
    """Every data set and run, in one place and in every split."""
    return [
        Unit(
            f"privacy/{name}/{split}-{count}-{messages}/{run}",
            one_setting,
            {
                "name": name,
                "split": split,
                "count": count,
                "messages": messages,
                "run": run,
                "seed": seed,
            },
            data,
        )
        for name in names
        for split, counts in ({"central": (1,)} | sites).items()
        for count in counts
        for messages in (MESSAGES[:1] if split == "central" else MESSAGES)
        for run in range(runs)
    ]


def one_setting(
    name: str, split: str, count: int, messages: str, run: int, seed: int, data: str | None
) -> Result:
    """Accuracy in percent, and per attack what the most knowing party finds out."""
    labels = _labels(name, np.random.default_rng([seed, 5, run]), data)
    classes = list(range(int(labels.truth.max()) + 1))
    model = BC3E(classes=classes, evidence_weight=EVIDENCE)
    from bc3e import federation

    logging.getLogger("bc3e.federation").setLevel(logging.ERROR)  # two sites and few rows are the point
    sites = list(SPLITS[split](labels, count))
    result = federation.fit(sites, model=model, masked=messages == "masked", record=True, allow_two=True)
    said = np.empty(len(labels.truth), dtype=np.int64)
    for site in sites:
        said[list(site.ids or ())] = np.asarray(result.for_site(site.name).labels)
    told: Result = {"accuracy": _share(said, labels.truth), "attacks": {}}
    if split == "central":  # there classifiers can be compared with each other, too
        weighed = np.asarray(model.fit(labels.votes, labels.clusters).labels_)
        return told | {"weighed": _share(weighed, labels.truth)}
    return told | {"attacks": _attacks(federation.audit(result, sites, model=model))}


def _labels(name: str, rng: np.random.Generator, data: str | None) -> Labels:
    """Twelve classifiers, trees and logistic regressions of bootstrap samples; twelve clusterings."""
    X, y = load(name, data)
    _, codes = np.unique(y, return_inverse=True)
    order = rng.permutation(len(codes))
    target, source = order[:OBJECTS], order[OBJECTS : OBJECTS + LABELLED]
    votes = []
    for number in range(COLUMNS):
        while True:
            rows = rng.choice(source, len(source))
            if len(np.unique(codes[rows])) == codes.max() + 1:
                break
        state = int(rng.integers(2**31 - 1))
        model = (
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            if number % 2
            else DecisionTreeClassifier(criterion="entropy", random_state=state)
        )
        votes.append(model.fit(X[rows], codes[rows]).predict(X[target]))
    ensemble = ClusterEnsemble(
        n_clusterings=COLUMNS, n_classes=int(codes.max()) + 1, random_state=int(rng.integers(2**31 - 1))
    )
    clusters = np.asarray(ensemble.fit_predict(X[target]), dtype=np.int64)
    return Labels(np.stack(votes, axis=1).astype(np.int64), clusters, codes[target])


def by_row(labels: Labels, count: int) -> Iterator[Site]:
    """Each site has all columns of some objects."""
    for i in range(count):
        yield labels.part(f"s{i}", slice(i, None, count), slice(None))


def by_column(labels: Labels, count: int) -> Iterator[Site]:
    """Each site has some columns of all objects."""
    for j in range(count):
        yield labels.part(f"s{j}", slice(None), slice(j, None, count))


def by_block(labels: Labels, count: int) -> Iterator[Site]:
    """Half of the objects each, and the columns dealt out within each half."""
    for i in range(2):
        for j in range(count // 2):
            yield labels.part(f"s{i}-{j}", slice(i, None, 2), slice(j, None, count // 2))


SPLITS: dict[str, Callable[[Labels, int], Iterator[Site]]] = {
    "central": by_row,  # one site with everything
    "row": by_row,
    "column": by_column,
    "arbitrary": by_block,
}


def _share(said: Any, truth: IntArray) -> float:
    return 100.0 * float(np.mean(said == truth))


def _attacks(found: Any) -> dict[str, dict[str, float]]:
    """For each column of a site the party that learns most; means over columns, by attack.

    To nine digits: objects come in the order of their hashes, which no run has in common.
    """
    columns: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for finding in found.findings:
        columns[finding.attack, finding.site, finding.column].append(finding)
    by_attack: dict[str, list[dict[str, float]]] = defaultdict(list)
    for (attack, _, _), same in columns.items():
        by_attack[attack].append(
            {
                "success": max(f.success for f in same),
                "perplexity": min(f.perplexity for f in same),
                "ideal": max(f.ideal for f in same),
                # The Rand index is adjusted for chance; what shuffled labels gave depends on the masks.
                "chance": 0.0 if attack == "clusters" else float(np.mean([f.chance for f in same])),
                "chance_perplexity": float(np.mean([f.chance_perplexity for f in same])),
            }
        )
    return {
        attack: {key: round(float(np.mean([column[key] for column in rows])), 9) for key in rows[0]}
        for attack, rows in sorted(by_attack.items())
    }
