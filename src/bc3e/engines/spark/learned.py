"""A fitted BC3E from objects that never came to the driver."""

from __future__ import annotations

from copy import copy

import numpy as np

from bc3e.consensus import Answer
from bc3e.engines.spark.blocks import Blocks
from bc3e.engines.spark.inquiry import SparkInquiry, SparkObjects, no_state, solved
from bc3e.engines.spark.placement import ONE, SparkPlacement
from bc3e.estimator import BC3E
from bc3e.labels import LabelTable
from bc3e.learning import Learner, Studied
from bc3e.model.calibration import confidence_sums, softmax
from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State
from bc3e.model.trust import decided_share, information, shares_alone
from bc3e.objects import Objects
from bc3e.results import class_shares


def learn(model: BC3E, blocks: Blocks) -> None:
    """Fit a model to blocks; :meth:`bc3e.BC3E.fit` does the same for objects at hand."""
    inquiry = SparkInquiry(model.posterior == "structured", blocks)
    try:
        found = Learner(model, inquiry).learn(SparkObjects.in_blocks(blocks))
        assert inquiry.placement is not None
        model._adopt(blocks.shell, found)
        model._remember(found.study.evidence, found.fit, found.state, found.bound)
        model.answer_exponent_ = _answer_exponent(model, inquiry.placement, found.study)
        _sum_up(model, inquiry.placement, blocks.n_objects)
    finally:
        inquiry.release()
    model._counts = None
    named(model, blocks.shell)


def named(model: BC3E, table: LabelTable) -> None:
    """Give a model the names of a table and no object: the answers are in the frame."""
    model.classes_ = table.classes
    model.classifier_names_ = tuple(column.name for column in table.votes)
    model.clusterer_names_ = tuple(column.name for column in table.clusters)
    k = len(table.classes)
    model._answer = Answer(np.empty((0, k)), None)
    model._state = no_state(k)
    model._shell = table


def light(model: BC3E) -> BC3E:
    """A copy that can travel to workers: no callback, no progress bar, one thread."""
    found = copy(model)
    found.callback, found.verbose, found.n_jobs = None, False, None
    return found


def _answer_exponent(model: BC3E, placement: SparkPlacement, study: Studied) -> float:
    if model.vote_calibration is None or not study.voted:
        return 1.0

    def sums_at(powers: FloatArray) -> FloatArray:
        def confidences(part: Objects, _: Evidence, state: State) -> FloatArray:
            shares = softmax(state.mean)
            return np.array([confidence_sums(shares, part.weights, power) for power in powers])

        return placement.ask(confidences)

    return solved(sums_at, placement.view.n_classes, study.confidence)


def _sum_up(model: BC3E, placement: SparkPlacement, n_objects: int) -> None:
    """Trust, class shares and class mass: what a fit says of all its objects."""
    asked, k = light(model), placement.view.n_classes

    def sums(part: Objects, own: Evidence, state: State) -> FloatArray:
        decided = decided_share(own, state, asked._kept_patterns(part.table, state))
        answer = Answer(asked._answer_of(state, part.table), part.inverse)
        before, after, changed = class_shares(part.table, answer, part.weights)
        mass = part.weights @ answer.probabilities
        shares = np.concatenate([[decided, changed], before, after]) * part.weights.sum()
        told = information(own, asked._learned, state, ONE)
        return np.concatenate([[own.n_patterns], shares, mass, told])

    found = placement.ask(sums)
    model._sizes = (n_objects, int(found[0]))
    decided, changed, *shares = (found[1 : 3 + 2 * k] / n_objects).tolist()
    model.trust_ = decided
    model._shares = (shares[:k], shares[k:], changed)
    model._class_mass = found[3 + 2 * k : 3 + 3 * k]
    model.clusterer_trust_ = shares_alone(found[3 + 3 * k :])
