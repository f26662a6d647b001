"""What a site finds out from its answers alone, beside its own labels and profiles.

Answers are read backwards (:mod:`bc3e.federation.answer_reading`), the site's own evidence is taken off,
and the rest is taken apart (:mod:`bc3e.federation.one_total`). With the profiles found, every way to
vote and to label is run forwards, and each object gets the way that leads to its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import softmax

from bc3e.federation.answer_reading import Powers, answers_of, behind, vote_totals
from bc3e.federation.one_total import STARTS, TOLERANCE, Solution, taken_apart
from bc3e.federation.scoring import Labels, codes
from bc3e.model.evidence import FloatArray
from bc3e.model.parameters import Parameters

MATCH = 1e-7  # an answer that was run forwards is the object's own
AMPLIFIED = 300.0  # error of the totals behind rounded answers, for an error of one of these
MOST_WAYS = 100_000


@dataclass(frozen=True)
class OwnColumn:
    """A clustering of the attacker: labels (n,) as rows of its log profile (k_m, k)."""

    labels: Labels
    profile: FloatArray


@dataclass(frozen=True)
class Known:
    """What a site knows in the end besides its answers.

    Attributes
    ----------
    own : sequence of OwnColumn
    classifiers, clusterings : int
        Columns of all sites that count, the own ones among them.
    weight : float
        What a cluster label counts.
    """

    own: Sequence[OwnColumn]
    classifiers: int
    clusterings: int
    weight: float
    parameters: Parameters
    powers: Powers


@dataclass(frozen=True)
class Reading:
    """Partitions by the other sites' clusterings, and votes per class (n, k)."""

    partitions: list[Labels]
    votes: FloatArray


def read_answers(
    answer: FloatArray, known: Known, starts: int = STARTS, digits: int | None = None
) -> Reading | None:
    """The clusterings and votes behind answers (n, k); None if they could not be found.

    `starts` are the random starts of the search, `digits` the decimal digits of the answers if they
    have been rounded.
    """
    rounded = 0.0 if digits is None else 0.5 * 10.0**-digits
    label_weight = known.weight * known.clusterings
    found = behind(answer, known.classifiers, label_weight, known.parameters, known.powers)
    others = known.clusterings - len(known.own)
    if found is None or found.read.sum() < 2:
        return None
    rest = found.totals.copy()
    for column in known.own:
        told = column.profile[column.labels[found.read]]
        rest -= known.weight * softmax(found.tendency + told, axis=1)
    solution = taken_apart(
        found.tendency,
        rest,
        others,
        known.weight,
        starts=starts,
        tolerance=max(TOLERANCE, AMPLIFIED * rounded),
    )
    if solution is None:
        return None
    return _matched(answer, known, solution, max(MATCH, 10.0 * rounded), found.frequencies)


def _matched(
    answer: FloatArray, known: Known, solution: Solution, tolerance: float, frequencies: FloatArray
) -> Reading | None:
    """Labels and votes of every object, by running all of them forwards."""
    ways = vote_totals(known.classifiers, answer.shape[1])
    own = [np.arange(len(column.profile)) for column in known.own]
    choices = [np.arange(len(ways)), *own, *(np.arange(len(p)) for p in solution.profiles)]
    if np.prod([len(choice) for choice in choices]) > MOST_WAYS:
        return None
    chosen = np.array(list(product(*choices)), dtype=np.intp)
    profiles = [*(column.profile for column in known.own), *solution.profiles]
    evidence = [p[rows] for p, rows in zip(profiles, chosen[:, 1:].T, strict=True)]
    told = answers_of(
        ways[chosen[:, 0]], evidence, known.weight * known.clusterings, known.weight,
        known.parameters, known.powers, frequencies,
    )  # fmt: skip
    labels = np.empty((len(answer), len(solution.profiles)), dtype=np.intp)
    votes = np.empty_like(answer)
    for n in range(len(answer)):
        off = np.abs(told - answer[n]).max(axis=1)
        for at, column in enumerate(known.own):
            off = np.where(chosen[:, 1 + at] == column.labels[n], off, np.inf)
        way = int(off.argmin())
        alone = off[way] > tolerance
        labels[n] = len(chosen) + n if alone else chosen[way, 1 + len(known.own) :]
        votes[n] = ways[chosen[way, 0]]
    return Reading([codes(part) for part in labels.T], votes)
