"""Compiled sums of :mod:`bc3e.model.trust`: the information of votes and of each clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel, part
from bc3e.model.evidence import FloatArray
from bc3e.model.label_kernels import gather
from bc3e.model.lanes import LANES as L
from bc3e.model.lanes import OBJECT, exp
from bc3e.model.step_kernels import take_rows
from bc3e.model.vectors import alike, at_least, get, larger, put, where

LEAST = 1e-300  # a likelihood below this in every class tells nothing


@part
def softmax(k: int, shares: FloatArray) -> None:
    """Turn numbers (k * LANES,) into shares in proportion to exp."""
    top, total = get(shares, 0), alike(0.0)
    for i in range(1, k):
        top = larger(top, get(shares, i * L))
    for i in range(k):
        put(shares, i * L, exp(get(shares, i * L) - top))
        total = total + get(shares, i * L)
    for i in range(k):
        put(shares, i * L, get(shares, i * L) / total)


@part
def informed(
    k: int, slots: int, heft: FloatArray, delta2: float, likelihood: FloatArray, weight: FloatArray,
    t: FloatArray, sums: FloatArray,
) -> None:  # fmt: skip
    """Add what each clustering tells of the lanes, of weights ``heft``, to the sums behind the first."""
    for h in range(slots):
        total = squares = alike(0.0)
        for i in range(k):
            total = total + get(t, i * L) * get(likelihood, (h * k + i) * L)
        speaks = at_least(total, LEAST)
        inverse = 1.0 / where(speaks, total, 1.0)
        for i in range(k):
            off = get(t, i * L) * get(likelihood, (h * k + i) * L) * inverse - get(t, i * L)
            squares = squares + off * off
        told = where(speaks, get(weight, h * L) * squares, 0.0)
        at = (1 + h) * L
        put(sums, at, get(sums, at) + get(heft, 0) * (told / (1.0 + delta2 * told)))


@kernel
def information_block(
    labels: NDArray[np.signedinteger[Any]],
    hard_weight: FloatArray,
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    soft_row: NDArray[np.int64],
    soft_weight: FloatArray,
    voted: FloatArray,
    weights: FloatArray,
    profiles: FloatArray,
    log_profiles: FloatArray,
    delta2: float,
    means: FloatArray,
    tendencies: FloatArray,
    sums: FloatArray,
) -> None:
    """Add up the information of the votes, ``voted`` many for each object, and of each clustering.

    ``sums`` ((1 + slots) * LANES,) has a place for each lane, first the votes, then hard clusterings,
    then soft ones.
    """
    k = means.shape[1]
    slots = labels.shape[1] + soft_row.shape[0]
    rows, places = np.empty(L, dtype=np.int64), np.empty(labels.shape[1] * L, dtype=np.int64)
    single, heft, r1 = np.empty(OBJECT), np.zeros(L), np.zeros(L)
    likelihood, weight = np.empty(slots * k * L), np.empty(slots * L)
    p, t = np.empty(k * L), np.empty(k * L)
    for start in range(0, means.shape[0], L):
        count = take_rows(start, means.shape[0], rows)
        for j in range(L):
            heft[j] = weights[rows[j]] if j < count else 0.0
            r1[j] = voted[rows[j]]
            for i in range(k):
                p[i * L + j], t[i * L + j] = means[rows[j], i], tendencies[rows[j], i]
        gather(
            rows, labels, hard_weight, memberships, soft_start, soft_row, soft_weight, profiles,
            log_profiles, places, likelihood, weight, single,
        )  # fmt: skip
        softmax(k, p)
        softmax(k, t)
        open_votes = alike(0.0)
        for i in range(k):
            open_votes = open_votes + get(p, i * L) * (1.0 - get(p, i * L))
        put(sums, 0, get(sums, 0) + get(heft, 0) * get(r1, 0) * open_votes)
        informed(k, slots, heft, delta2, likelihood, weight, t, sums)
