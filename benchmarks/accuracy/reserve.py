"""Cases of the reserve: four of every stored set, in ensembles that rotate over the sets."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.accuracy.specs import Spec, spec
from benchmarks.accuracy.stored import read, reserve_folder


@dataclass(frozen=True)
class Template:
    """A case for any data set: ensemble, labels per class, size, drift."""

    label: str
    classifiers: str
    clusterings: str
    per_class: int = 10
    size: int = 1500
    drift: str = ""
    spoil: str = ""


ORDINARY = [
    Template("trio", "tree lda knn", "kmeans:10"),
    Template("five", "tree lda knn logreg gnb", "mixed:15", per_class=20),
    Template("few", "logreg gnb lda", "spread:20", per_class=5),
    Template("fine", "tree knn forest", "fine:10", per_class=15, size=2000),
    Template("subspace", "lda knn", "subspace:20", per_class=20, size=3000),
    Template("coarse", "tree logreg knn", "coarse:5"),
]
VARIED = [
    Template("hard", "tree! lda! knn!", "kmeans:10", per_class=15),
    Template("single", "gnb", "kmeans:5", per_class=15),
    Template("calibrated", "tree~ lda~ gnb~", "spread:10", per_class=20),
    Template("tiny", "logreg knn", "kmeans:5", size=100),
    Template("mixed", "forest! logreg knn tree!", "spread:15", per_class=15),
    Template("tree", "tree", "fine:10", per_class=20),
]
DRIFT = [
    Template("feature", "tree lda knn", "kmeans:10", per_class=20, drift="feature"),
    Template("mix", "forest logreg gnb", "spread:10", per_class=20, drift="mix"),
    Template("feature-five", "tree lda knn logreg gnb", "mixed:10", per_class=15, drift="feature"),
]
SPECIAL = [
    Template("random", "tree lda knn", "random:10"),
    Template("half-random", "tree lda knn", "kmeans:10", spoil="half-random"),
    Template("permuted", "tree! lda! knn!", "permuted:10"),
    Template("copied", "tree lda knn", "kmeans:8", spoil="random-copied constant"),
    Template("noise", "logreg gnb lda", "noise:10"),
    Template("missing", "tree lda knn logreg", "spread:10", spoil="missing-clusters missing-votes"),
    Template("nuisance", "tree logreg knn", "nuisance:10"),
    Template("random-single", "gnb", "random:20"),
]
TEXT = [
    Template("trio", "nb logreg knn", "spread:10", per_class=40),
    Template("few", "nb sgd", "kmeans:10", per_class=15, size=3000),
    Template("hard", "nb! sgd! knn!", "fine:10", per_class=30),
    Template("calibrated", "nb~ logreg~", "mixed:15", per_class=40),
    Template("single", "logreg", "subspace:20", per_class=40),
    Template("tiny", "nb knn", "kmeans:5", size=100, per_class=40),
    Template("random", "nb logreg", "random:10", per_class=30),
    Template("permuted", "nb! sgd! knn!", "permuted:10", per_class=30),
    Template("half-random", "nb logreg", "spread:10", spoil="half-random", per_class=30),
    Template("missing", "nb sgd knn", "spread:10", spoil="missing-clusters missing-votes", per_class=30),
]


@cache
def _templates(name: str) -> list[Template]:
    X, _, domain = read(name)
    if X.dtype == object:
        return TEXT  # text is rare in the reserve: every template
    turn = zlib.crc32(name.encode())  # another file in the folder changes nothing for this one
    third = ORDINARY[(turn + 3) % len(ORDINARY)] if domain is not None else DRIFT[turn % len(DRIFT)]
    return [
        ORDINARY[turn % len(ORDINARY)],
        VARIED[turn // 7 % len(VARIED)],
        third,
        SPECIAL[turn // 11 % len(SPECIAL)],
    ]


def reserve_specs() -> list[Spec]:
    """Specs on every file of the folder that BC3E_RESERVE names; none if it names none."""
    folder = reserve_folder()
    if folder is None:
        return []
    found = []
    for name in sorted(path.stem for path in folder.glob("*.npz")):
        _, y, domain = read(name)
        tags = "many-class" if len(np.unique(y)) >= 20 else ""
        for template in _templates(name):
            drifted = domain is not None or template.drift
            found.append(
                spec(
                    name,
                    template.label,
                    template.classifiers,
                    template.clusterings,
                    spoil=template.spoil,
                    tags=f"{tags} drift" if drifted else tags,
                    source="stored",
                    split="reserve",
                    name=name,
                    per_class=template.per_class,
                    size=template.size,
                    drift=template.drift,
                )
            )
    return found
