"""Majority vote: the class that most classifiers name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bc3e.consensus import Answer, ConsensusEstimator
from bc3e.labels import LabelTable, soft_vote
from bc3e.model.evidence import FloatArray
from bc3e.rivals.base import need_votes
from bc3e.rivals.groups import read_patterns


class MajorityVote(ConsensusEstimator):
    """The class that most classifiers name; clusterings are ignored.

    **Model.** Classifier l names one class for object n: its label, or the class
    to which it gives the highest probability. The answer is the share of the
    classifiers that name class i,

        p_ni = (classifiers that name i for n) / (classifiers that name any class for n).

    **Objective and update.** None: one pass over the votes. A tie goes to the
    class that comes first in ``classes_``; an object without votes has equal
    probabilities.

    Parameters
    ----------
    classes : sequence, optional
        The class list and its order. Found in the votes by default.
    n_classes : int, optional
        Number of classes, as a check.

    Attributes
    ----------
    labels_, probabilities_, classes_
        As in :class:`bc3e.BC3E`.

    References
    ----------
    Kittler, Hatef, Duin, Matas: On Combining Classifiers, IEEE Transactions on
    Pattern Analysis and Machine Intelligence 20(3), 1998.

    Examples
    --------
    >>> from bc3e.rivals import MajorityVote
    >>> votes = [["a", "a", "b"], ["b", None, "b"], ["a", "b", "b"]]
    >>> MajorityVote().fit(votes).labels_.tolist()
    ['a', 'b', 'b']
    """

    def __init__(self, *, classes: Sequence[Any] | None = None, n_classes: int | None = None) -> None:
        self.classes = classes
        self.n_classes = n_classes

    def _consensus(self, table: LabelTable, weights: FloatArray | None) -> Answer:
        need_votes(table, "MajorityVote")
        patterns = read_patterns(table, weights)
        named = replace(patterns, votes=tuple(block.hardened() for block in patterns.votes))
        return Answer(soft_vote(named.vote_totals()), patterns.inverse)
