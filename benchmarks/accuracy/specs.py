"""Spec: a case described, not yet built."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bc3e.experiments.domains import Domains
from benchmarks.accuracy import generators, stored, tables, texts
from benchmarks.accuracy.ensembles import NO_SIGNAL, Recipe

FAMILIES = {
    "pima": "development",
    "german": "development",
    "gas": "development",
    "mnist_usps": "development",
    "myntra": "development",
    "newsgroups": "development",
    "moons": "development",
    "circles": "development",
    "classification": "development",
    "heart": "check",
    "wine": "check",
    "breast_cancer": "check",
    "iris": "check",
    "digits": "check",
    "arxiv": "check",
    "pricerunner": "check",
    "blobs": "check",
    "quantiles": "check",
}
"""Which split each family is in: a data source serves development or check, never both."""

SOURCES: dict[str, Callable[..., Domains]] = {
    "uci": tables.uci,
    "gas": tables.gas,
    "mnist_usps": tables.mnist_usps,
    "digits": tables.digits,
    "myntra": texts.myntra,
    "arxiv": texts.arxiv,
    "pricerunner": texts.pricerunner,
    "newsgroups": texts.newsgroups,
    "moons": generators.moons,
    "circles": generators.circles,
    "blobs": generators.blobs,
    "quantiles": generators.quantiles,
    "classification": generators.classification,
    "stored": stored.stored,
}

NEED_FILES = frozenset(
    {"pima", "german", "heart", "gas", "mnist_usps", "myntra", "newsgroups", "arxiv", "pricerunner"}
)
"""Families that read the data folder; the others come with scikit-learn."""


@dataclass(frozen=True)
class Spec:
    """Everything that determines a case.

    Attributes
    ----------
    name : str
        ``family/label``; the seed of all that is random in the case.
    family, split : str
    tags : frozenset of str
        What is special: hard, mixed, single, calibrated, tiny, large,
        many-class, drift, spoilt, missing, no-signal, misleading.
    source : str
        A key of `SOURCES`.
    options : tuple of pairs
        Arguments of the source.
    recipe : Recipe
    """

    name: str
    family: str
    split: str
    tags: frozenset[str]
    source: str
    options: tuple[tuple[str, Any], ...]
    recipe: Recipe

    @property
    def seed(self) -> int:
        """The same on every machine and in every process, unlike hash()."""
        return zlib.crc32(self.name.encode())

    @property
    def fingerprint(self) -> int:
        """Changes whenever the description does, so that no stale build is taken for this case."""
        described = (self.name, self.source, sorted(self.options), self.recipe)
        return zlib.crc32(repr(described).encode())


def spec(
    family: str,
    label: str,
    classifiers: str,
    clusterings: str,
    *,
    spoil: str = "",
    tags: str = "",
    source: str | None = None,
    split: str | None = None,
    **options: Any,
) -> Spec:
    """A spec whose tags follow from its recipe; `tags` adds what only the author knows."""
    recipe = Recipe(classifiers, clusterings, spoil)
    return Spec(
        name=f"{family}/{label}",
        family=family,
        split=FAMILIES[family] if split is None else split,
        tags=_tags(recipe, options) | set(tags.split()),
        source=family if source is None else source,
        options=tuple(options.items()),
        recipe=recipe,
    )


def _tags(recipe: Recipe, options: dict[str, Any]) -> frozenset[str]:
    words = recipe.classifiers.split()
    size = options.get("size") or 0
    classes = options.get("classes", 0)
    if isinstance(classes, tuple):
        classes = len(classes)
    facts = {
        "hard": all("!" in word for word in words),
        "mixed": any("!" in word for word in words) and not all("!" in word for word in words),
        "calibrated": any("~" in word for word in words),
        "single": len(words) == 1,
        "tiny": 0 < size <= 100,
        "large": size >= 10_000,
        "many-class": classes >= 20,
        "no-signal": recipe.plan in NO_SIGNAL,
        "misleading": recipe.plan == "misleading",
        "spoilt": bool(recipe.spoil),
        "missing": "missing" in recipe.spoil,
    }
    return frozenset(name for name, holds in facts.items() if holds)
