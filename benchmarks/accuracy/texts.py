"""Titles and posts: real text whose vocabulary and class mix drift."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from bc3e.experiments.data import read
from bc3e.experiments.domains import Domains, known_classes, labelled_rows, pick
from benchmarks.accuracy.tables import data_folder


def _frame(name: str, columns: list[str]) -> Any:
    return read(name, data_folder()).select(columns).to_pandas()


def _domains(early: Any, late: Any, rng: np.random.Generator, count: int, size: int | None) -> Domains:
    """Train on `count` rows of one frame, label `size` rows of the other, of known classes only."""
    early = early.iloc[labelled_rows(early["label"], count, rng)]
    late = late[late["label"].isin(set(early["label"]))]
    late = late.iloc[pick(len(late), size, rng)]
    return known_classes(
        early["text"].to_numpy(dtype=object),
        early["label"].to_numpy(dtype=str),
        late["text"].to_numpy(dtype=object),
        late["label"].to_numpy(dtype=str),
    )


def _most_frequent(frame: Any, classes: int) -> Any:
    """The rows of the most frequent classes; of equals the first in the alphabet."""
    counts = frame["label"].value_counts()
    order = sorted(counts.index, key=lambda label: (-counts[label], label))
    return frame[frame["label"].isin(order[:classes])]


@cache
def _arxiv() -> Any:
    frame = _frame("arxiv", ["date", "title", "label"])
    frame["year"] = frame["date"].astype(str).str[:4].astype(int)
    return frame.rename(columns={"title": "text"})


def arxiv(
    rng: np.random.Generator,
    *,
    until: int,
    years: tuple[int, ...],
    count: int,
    size: int,
    classes: int | tuple[str, ...],
) -> Domains:
    """Titles of computer science: train on papers up to a year, label those of later years.

    `classes` is how many of the most frequent categories (at training time), or which.
    """
    frame = _arxiv()
    early = frame[frame["year"] <= until]
    if isinstance(classes, int):
        early = _most_frequent(early, classes)
    else:
        early = early[early["label"].isin(classes)]
    return _domains(early, frame[frame["year"].isin(years)], rng, count, size)


@cache
def _myntra() -> Any:
    columns = ["title", "label", "subCategory", "masterCategory", "year"]
    frame = _frame("myntra", columns)
    return frame.dropna(subset=["year", "title"]).rename(columns={"title": "text"})


def myntra(
    rng: np.random.Generator,
    *,
    until: int = 2011,
    years: tuple[int, ...],
    count: int,
    size: int,
    classes: int | tuple[str, ...],
    level: str = "label",
) -> Domains:
    """Titles of fashion products across years.

    Only classes with at least 20 products in the training years are kept: most
    of what was sold in 2016 and 2017 did not exist before, which is not drift.
    """
    frame = _myntra()
    frame = frame.assign(label=frame[level].astype(str))
    early = frame[frame["year"] <= until]
    counts = early["label"].value_counts()
    early = early[early["label"].isin(counts[counts >= 20].index)]
    if isinstance(classes, int):
        early = _most_frequent(early, classes)
    else:
        early = early[early["label"].isin(classes)]
    return _domains(early, frame[frame["year"].isin(years)], rng, count, size)


@cache
def _pricerunner() -> Any:
    columns = ["title", "label", "merchant_id", "cluster_id"]
    frame = _frame("pricerunner", columns)
    return frame.rename(columns={"title": "text"})


def pricerunner(
    rng: np.random.Generator,
    *,
    train: tuple[int, ...],
    count: int,
    size: int,
    target: tuple[int, ...] | None = None,
    classes: tuple[str, ...] | None = None,
    new_products: bool = False,
) -> Domains:
    """Product titles of some merchants, read by classifiers of others.

    Near-identical titles share a product, so domains are split by merchant
    and, with `new_products`, products of the training merchants are left out
    of the target as well.
    """
    frame = _pricerunner()
    if classes is not None:
        frame = frame[frame["label"].isin(classes)]
    ours = frame["merchant_id"].isin(train)
    early = frame[ours]
    late = frame[~ours if target is None else frame["merchant_id"].isin(target)]
    if new_products:
        late = late[~late["cluster_id"].isin(set(early["cluster_id"]))]
    return _domains(early, late, rng, count, size)


@cache
def _newsgroups() -> Any:
    columns = ["split", "subject", "text", "label"]
    frame = _frame("newsgroups", columns)
    # a few posts hold uuencoded files; the first pages of a post say what it is about
    text = frame["subject"].fillna("") + "\n" + frame["text"].fillna("").str[:4000]
    return frame.assign(text=text)


def newsgroups(
    rng: np.random.Generator,
    *,
    count: int,
    size: int,
    groups: tuple[str, ...] | None = None,
    subject_only: bool = False,
) -> Domains:
    """Posts of 20 newsgroups: train on the earlier ones, label the later ones."""
    frame = _newsgroups()
    if subject_only:
        frame = frame.assign(text=frame["subject"].fillna(""))
    if groups is not None:
        frame = frame[frame["label"].isin(groups)]
    return _domains(frame[frame["split"] == "train"], frame[frame["split"] == "test"], rng, count, size)
