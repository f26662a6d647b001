"""LWE: the locally weighted ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.consensus import Answer, ConsensusEstimator
from bc3e.labels import LabelTable, soft_vote
from bc3e.model.evidence import FloatArray
from bc3e.rivals.base import check_choice, check_number, need_votes
from bc3e.rivals.groups import Block, Patterns, read_patterns


class LWE(ConsensusEstimator):
    """Classifiers weighted at each object by how well they fit the clusters there.

    **Model.** Two graphs over the objects: in that of classifier l, objects with
    the same predicted class are neighbours; in that of clustering m, objects of
    the same cluster. A(n) and B(n) are the neighbours of object n in the two,
    n included. The classifier fits the clustering at n as far as the two
    neighbourhoods agree,

        s_lm(n) = 2 |A and B| / (|A| + |B|)   (Dice, default)
        s_lm(n) = |A and B| / |A or B|        (Jaccard).

    The formula printed in the paper, |A and B| / (|A| + |B|), peaks at 1/2 for
    equal neighbourhoods. Dice is twice that: the same weights after scaling,
    with 1 for perfect agreement, so that `delta` can be read as a share. Jaccard
    is a monotone function of it that punishes small overlaps more.

    **Objective.** None; the rule is

        p_nm = sum_l s_lm(n) p_ln / sum_l s_lm(n)          if mean_l s_lm(n) >= delta
        p_nm = mean of p_n'm over the trusted members n' of n's cluster   otherwise

    and the answer is the mean of p_nm over the clusterings m that have a label
    for n (over the classifiers, if none has). A member is trusted if its own mean
    similarity reaches delta; in a cluster without any, all members count. An
    object without votes takes the answer of its clusters.

    **Update.** One pass: |A|, |B| and |A and B| are margins and cells of the
    contingency table of classifier and clustering, so the cost is linear in the
    number of objects, and in the pairs of classifier and clustering. Memberships
    count in part; probabilities enter p_ln, while the graph of a classifier uses
    its most probable class.

    Parameters
    ----------
    classes : sequence, optional
        The class list and its order. Found in the votes by default.
    n_classes : int, optional
        Number of classes, as a check.
    similarity : {"dice", "jaccard"}
        How neighbourhoods are compared, see above.
    delta : float
        Threshold of the mean similarity, from 0 (never ask the cluster) to 1. The
        default, 1/2, is the middle of the range and is tuned on nothing. A pure
        cluster that is much smaller than its class stays below it: clusterings
        much finer than the classes are decided by their clusters.

    Attributes
    ----------
    labels_, probabilities_, classes_
        As in :class:`bc3e.BC3E`.
    adjusted_share_ : (r2,) array
        Share of the objects whose answer came from their cluster, per clustering.

    References
    ----------
    Gao, Fan, Jiang, Han: Knowledge Transfer via Multiple Model Local Structure
    Mapping, KDD 2008. The paper has one clustering; averaging over several is
    ours.

    Examples
    --------
    >>> from bc3e.rivals import LWE
    >>> votes = [["a", "a"], ["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"], ["b", "a"]]
    >>> clusters = [[0], [0], [0], [1], [1], [1]]
    >>> LWE().fit(votes, clusters).labels_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        n_classes: int | None = None,
        similarity: str = "dice",
        delta: float = 0.5,
    ) -> None:
        self.classes = classes
        self.n_classes = n_classes
        self.similarity = similarity
        self.delta = delta

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("similarity", self.similarity, ("dice", "jaccard"))
        check_number("delta", self.delta)

    def _consensus(self, table: LabelTable, weights: FloatArray | None) -> Answer:
        need_votes(table, "LWE")
        patterns = read_patterns(table, weights)
        total = np.zeros((patterns.n_patterns, patterns.n_classes))
        count = np.zeros((patterns.n_patterns, 1))
        named = [block.hardened() for block in patterns.votes]
        shares = []
        for clustering in patterns.clusters:
            answer, unsure = self._answer_of(clustering, patterns, named)
            present = clustering.present
            total[present] += answer[present]
            count[present] += 1.0
            among = float(patterns.weights[present].sum())
            asked = float(patterns.weights[present & unsure].sum())
            shares.append(asked / among if among > 0 else 0.0)
        self.adjusted_share_ = np.array(shares)
        alone = soft_vote(patterns.vote_totals())
        return Answer(np.where(count > 0, total / np.maximum(count, 1.0), alone), patterns.inverse)

    def _answer_of(
        self, clustering: Block, patterns: Patterns, named: Sequence[Block]
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Class probabilities by one clustering, and where they came from the cluster."""
        blended = np.zeros((patterns.n_patterns, patterns.n_classes))
        fit = np.zeros(patterns.n_patterns)
        voters = np.zeros(patterns.n_patterns)
        for classifier, graph in zip(patterns.votes, named, strict=True):
            near = self._similarities(graph, clustering, patterns.weights)
            classifier.add_shares(blended, near)
            fit += near
            voters += classifier.present
        own = soft_vote(blended)
        unsure = (voters == 0) | (fit < self.delta * voters)
        own[unsure] = _cluster_answers(clustering, own, unsure, voters > 0, patterns.weights)[unsure]
        return own, unsure

    def _similarities(self, graph: Block, clustering: Block, weights: FloatArray) -> FloatArray:
        """s_lm(n) of every pattern n; 0 where a label is missing."""
        assert graph.codes is not None
        both = clustering.table_with(graph, weights)
        in_class = np.bincount(graph.codes + 1, weights=weights, minlength=graph.n_groups + 1)[1:]
        in_cluster = clustering.totals(weights[:, None])
        here = np.maximum(graph.codes, 0)
        if clustering.codes is not None:
            shared = both[clustering.codes, here]
        else:
            shared = np.take_along_axis(clustering.spread(both), here[:, None], axis=1)[:, 0]
        sizes = in_class[here] + clustering.spread(in_cluster)[:, 0]
        if self.similarity == "jaccard":
            part, whole = shared, sizes - shared
        else:
            part, whole = 2.0 * shared, sizes
        near = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
        return np.where(graph.present & clustering.present, near, 0.0)


def _cluster_answers(
    clustering: Block,
    own: FloatArray,
    unsure: NDArray[np.bool_],
    voted: NDArray[np.bool_],
    weights: FloatArray,
) -> FloatArray:
    """For every pattern the mean answer of the trusted members of its clusters."""

    def means(members: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        counted = (weights * members)[:, None]
        size = clustering.totals(counted)
        return clustering.totals(counted * own) / np.where(size > 0, size, 1.0), size

    trusted, size = means(~unsure)
    everyone, voters = means(voted)
    fallback = np.where(voters > 0, everyone, 1.0 / own.shape[1])
    return soft_vote(clustering.spread(np.where(size > 0, trusted, fallback)))
