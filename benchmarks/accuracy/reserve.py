"""Cases of the reserve: about twelve of every stored set, in ensembles that rotate over the sets.

Their tags tell of what kind they are: ``ordinary``, or ``natural`` if the set has a target domain of its
own; ``moved`` (another class mix, another half of a feature) and ``sensors`` (aged ones) for simulated
drift; ``other`` for ensembles unlike those of the harness.
"""

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
SENSORS = [
    Template("sensors-trio", "tree lda knn", "kmeans:10", per_class=20, drift="sensors"),
    Template("sensors-five", "tree lda knn logreg gnb", "mixed:10", per_class=20, drift="sensors"),
    Template("sensors-linear", "logreg gnb lda", "spread:10", per_class=30, drift="sensors"),
    Template("sensors-forest", "forest logreg knn", "fine:10", per_class=30, drift="sensors"),
    Template("sensors-hard", "forest! lda! knn!", "kmeans:10", per_class=20, drift="sensors"),
]
OTHER = [
    Template("bootstrapped", "tree tree tree tree tree", "kmeans:10", per_class=20),
    Template("two-linear", "logreg lda", "spread:10", per_class=20),
    Template("five-hard", "tree! lda! knn! logreg! gnb!", "kmeans:10", per_class=15),
    Template("many-labels", "forest knn logreg", "kmeans:10", per_class=60),
    Template("forest-gnb", "forest gnb", "mixed:12", per_class=30),
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


SPOILT, SILENT = (1, 3, 5), (0, 2, 4, 6, 7)
"""Places in `SPECIAL` of the cases whose clusterings are spoilt, and of those that say nothing."""


@cache
def _templates(name: str) -> list[tuple[Template, str]]:
    """Templates of a set with their kinds; another file in the folder changes nothing for this one."""
    X, _, domain = read(name)
    own = "ordinary" if domain is None else "natural"
    if X.dtype == object:
        return [(template, own) for template in TEXT]  # text is rare in the reserve: every template
    turn = zlib.crc32(name.encode())
    found = [(ORDINARY[(turn + place) % len(ORDINARY)], own) for place in (0, 2, 4)]
    found += [(VARIED[(turn // 7 + place) % len(VARIED)], own) for place in (0, 2, 4)]
    found.append((SPECIAL[SPOILT[turn // 11 % len(SPOILT)]], own))
    if domain is None:
        found.append((DRIFT[turn % len(DRIFT)], "moved"))
    found += [(SENSORS[(turn // 13 + place) % len(SENSORS)], "sensors") for place in (0, 2)]
    found += [(OTHER[(turn // 17 + place) % len(OTHER)], "other") for place in (0, 2)]
    if turn % 4 == 0:
        found.append((SPECIAL[SILENT[turn // 19 % len(SILENT)]], own))
    return found


def reserve_specs() -> list[Spec]:
    """Specs on every file of the folder that BC3E_RESERVE names; none if it names none."""
    folder = reserve_folder()
    if folder is None:
        return []
    found = []
    for name in sorted(path.stem for path in folder.glob("*.npz")):
        _, y, domain = read(name)
        many = "many-class" if len(np.unique(y)) >= 20 else ""
        for template, kind in _templates(name):
            drifted = "drift" if domain is not None or template.drift else ""
            found.append(
                spec(
                    name,
                    template.label,
                    template.classifiers,
                    template.clusterings,
                    spoil=template.spoil,
                    tags=f"{kind} {many} {drifted}",
                    source="stored",
                    split="reserve",
                    name=name,
                    per_class=template.per_class,
                    size=template.size,
                    drift=template.drift,
                )
            )
    return found
