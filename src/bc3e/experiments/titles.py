"""Titles that are classified in an early period and asked about in a later one.

The material of the paper's Table 3 on public data: products of Myntra by year,
papers of arXiv by year, products of PriceRunner by merchant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bc3e.experiments.data import read

Texts = NDArray[Any]
FEWEST = 20  # titles of a class in the early period


@dataclass(frozen=True)
class Titles:
    """Titles of two periods.

    Attributes
    ----------
    early, late : (N,) arrays of str
    early_labels, late_labels : (N,) arrays of str
        Every class of the late period is known in the early one.
    early_items : (N,) array
        Titles with the same number are the same thing and must not be torn
        apart: one of them in training would tell the class of the others.
    """

    early: Texts
    early_labels: Texts
    early_items: NDArray[Any]
    late: Texts
    late_labels: Texts


def myntra(data: str | None) -> Titles:
    """Fashion products: up to 2011, and in 2012.

    Most of what was sold later did not exist before, which is not drift.
    """
    table = read("myntra", data)
    table = table.filter(pc.and_(pc.is_valid(table["year"]), pc.is_valid(table["title"])))
    year = table["year"].to_numpy()
    return _two_periods(table, year <= 2011, year == 2012)


def arxiv(data: str | None) -> Titles:
    """Papers in computer science: up to 2012, and from 2013 to 2018."""
    table = read("arxiv", data)
    dates = pc.cast(table["date"], pa.string())
    year = pc.cast(pc.utf8_slice_codeunits(dates, 0, 4), pa.int64()).to_numpy()
    return _two_periods(table, year <= 2012, year >= 2013)


def pricerunner(data: str | None) -> Titles:
    """Offers of merchants with even numbers, and those of the others of products that are new."""
    table = read("pricerunner", data)
    product = table["cluster_id"].to_numpy()
    ours = table["merchant_id"].to_numpy() % 2 == 0
    return _two_periods(table, ours, ~ours & ~np.isin(product, product[ours]), product)


def generated(data: str | None) -> Titles:
    """Titles made of words of their class, of a confused one, and of nobody's; for quick runs."""
    rng = np.random.default_rng(7)
    kinds = 8
    labels = np.array([f"kind {i}" for i in range(kinds)])

    def draw(count: int, fresh: int) -> tuple[Texts, Texts]:
        own = rng.integers(kinds, size=count)
        other = (own // 4) * 4 + rng.integers(4, size=count)  # confused within fours
        source = np.where(rng.random((5, count)) < 0.45, own, other)
        words = rng.integers(12 + fresh, size=(5, count))
        told = [" ".join(f"w{s}x{w}" for s, w in zip(*pair, strict=True)) for pair in
                zip(source.T, words.T, strict=True)]  # fmt: skip
        return np.array(told, dtype=object), labels[own]

    early, early_labels = draw(900, 0)
    late, late_labels = draw(700, 4)
    return Titles(early, early_labels, np.arange(len(early)), late, late_labels)


def _two_periods(
    table: pa.Table, early: NDArray[np.bool_], late: NDArray[np.bool_], items: Any = None
) -> Titles:
    titles = table["title"].to_numpy(zero_copy_only=False).astype(object)
    labels = table["label"].to_numpy(zero_copy_only=False).astype(str)
    items = np.arange(len(titles)) if items is None else items
    classes, counts = np.unique(labels[early], return_counts=True)
    known = np.isin(labels, classes[counts >= FEWEST])
    early, late = early & known, late & known
    return Titles(titles[early], labels[early], items[early], titles[late], labels[late])


READERS: dict[str, Callable[[str | None], Titles]] = {
    "myntra": myntra,
    "arxiv": arxiv,
    "pricerunner": pricerunner,
    "generated": generated,
}


@cache
def titles_of(name: str, data: str | None) -> Titles:
    """Titles of a data set; read once in each process."""
    return READERS[name](data)
