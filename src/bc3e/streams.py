"""Going on with the next objects of a stream, from what was learned before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bc3e.inquiry import Inquiry
from bc3e.labels import LabelTable, check_sample_weight
from bc3e.learning import Learner
from bc3e.model.schedule import SETTLED
from bc3e.model.shrinkage import prior_counts
from bc3e.objects import Objects
from bc3e.settings import share

if TYPE_CHECKING:
    from bc3e.estimator import BC3E


def go_on(model: BC3E, votes: Any, clusters: Any, sample_weight: Any, forgetting: float) -> BC3E:
    """Update a fitted model with new objects; see :meth:`bc3e.BC3E.partial_fit`.

    A profile that was learned from W_i objects of class i stands for
    W_i beta[i, j] objects of the class in cluster j: these are the pseudo-counts
    that it leaves behind.
    """
    kept = 1.0 - share("forgetting", forgetting)
    table = LabelTable.read_like(votes, clusters, model._schema)
    weights = check_sample_weight(sample_weight, table.n_objects, table.frame)
    objects = Objects.of(table, weights)
    evidence = objects.table.evidence(
        evidence_weights=model.evidence_weights_,
        weights=objects.weights,
        classifier_weights=model.classifier_weights_,
        vote_weight=model._vote_weight,
        vote_exponent=model.vote_exponent_,
    )
    asked = Inquiry(model._structured, model._workers())
    mass = kept * model._class_mass
    past = model._learned.profiles * mass
    strengths = model.profile_strengths_
    unit = objects.unit if isinstance(model.profile_prior, str) else 1.0
    prior = prior_counts(evidence.layout, past, strengths, unit) if mass.any() else 0.0
    rules = replace(Learner(model).priors(len(table.classes)), profile_counts=past + prior)
    fit = asked.climb(
        evidence,
        model._learned,
        rules,
        max_iter=model.max_iter,
        tol=model.tol,
        name="stream",
        observe=lambda step: False,
    )
    state, bound = asked.settle(evidence, fit.parameters, SETTLED)
    bound += rules.log_prior(fit.parameters, evidence.layout.per_row(evidence.evidence_weights))
    model._keep(objects, evidence, fit, state, bound)
    model._answer = model._answer_for(objects, state)
    model._state = state.lighter()
    model._class_mass += mass
    model._counts = None
    model._shell = replace(table.take(np.empty(0, dtype=np.intp)), frame=table.frame)
    return model
