"""Soft vote: the mean probability that the classifiers give to each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bc3e.consensus import Answer, ConsensusEstimator
from bc3e.labels import LabelTable, soft_vote
from bc3e.model.evidence import FloatArray
from bc3e.rivals.base import need_votes
from bc3e.rivals.groups import read_patterns


class SoftVote(ConsensusEstimator):
    """The mean of the classifiers' probabilities; clusterings are ignored.

    **Model.** Classifier l gives class i of object n the probability p_lni (1 for
    its label and 0 elsewhere, if it hands over labels). The answer is

        p_ni = mean of p_lni over the classifiers l that voted on n.

    **Objective and update.** The mean minimises sum_l ||p_n - p_ln||^2; one pass
    over the votes. An object without votes has equal probabilities. This is the
    reference from which :func:`bc3e.compare` counts gains and losses.

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
    Pattern Analysis and Machine Intelligence 20(3), 1998 (the sum rule).

    Examples
    --------
    >>> import numpy as np
    >>> from bc3e.rivals import SoftVote
    >>> sure, torn = np.array([[0.9, 0.1]]), np.array([[0.4, 0.6]])
    >>> SoftVote().fit([sure, torn, torn]).probabilities_.round(3).tolist()
    [[0.567, 0.433]]
    """

    def __init__(self, *, classes: Sequence[Any] | None = None, n_classes: int | None = None) -> None:
        self.classes = classes
        self.n_classes = n_classes

    def _consensus(self, table: LabelTable, weights: FloatArray | None) -> Answer:
        need_votes(table, "SoftVote")
        patterns = read_patterns(table, weights)
        return Answer(soft_vote(patterns.vote_totals()), patterns.inverse)
