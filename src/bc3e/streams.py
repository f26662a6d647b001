"""Going on with the next objects of a stream, from what was learned before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bc3e.consensus import Answer
from bc3e.errors import InputError
from bc3e.labels import LabelTable, check_sample_weight
from bc3e.model.schedule import infer, run_em
from bc3e.model.shrinkage import shrinkage_counts
from bc3e.model.trust import trust_shares
from bc3e.results import class_shares

if TYPE_CHECKING:
    from bc3e.estimator import BC3E


def go_on(model: BC3E, votes: Any, clusters: Any, sample_weight: Any, forgetting: float) -> BC3E:
    """Update a fitted model with new objects; see :meth:`bc3e.BC3E.partial_fit`.

    A profile that was learned from W_i objects of class i stands for
    W_i beta[i, j] objects of the class in cluster j: these are the pseudo-counts
    that it leaves behind.
    """
    if (
        isinstance(forgetting, bool)
        or not isinstance(forgetting, int | float)
        or not 0 <= forgetting <= 1
    ):
        raise InputError("forgetting", f"{forgetting!r}", "Pass a number from 0 to 1.")
    table = LabelTable.read_like(votes, clusters, model._schema)
    weights = check_sample_weight(sample_weight, table.n_objects, table.frame)
    evidence, inverse = table.evidence(
        evidence_weights=model.evidence_weights_,
        sample_weight=weights,
        vote_weight=model._vote_weight,
        vote_exponent=model.vote_exponent_,
    )
    workers = model._workers()
    mass = (1.0 - forgetting) * model._class_mass
    past = model._learned.profiles * mass
    prior = shrinkage_counts(evidence, past, model.profile_strengths_) if mass.any() else 0.0
    rules = replace(model._priors(len(table.classes)), profile_counts=past + prior)
    fit = run_em(
        evidence,
        model._learned,
        rules,
        structured=model._structured,
        max_iter=model.max_iter,
        tol=model.tol,
        workers=workers,
        name="stream",
    )
    state, bound = infer(evidence, fit.parameters, structured=model._structured, workers=workers)
    row_weights = evidence.layout.per_row(evidence.evidence_weights)
    model._learned, model._state = fit.parameters, state
    model._profiles = evidence.layout.split(fit.parameters.profiles)
    model._sizes = (table.n_objects, evidence.n_patterns)
    model._shares = class_shares(evidence.votes, state.mean, evidence.weights)
    model.delta2_ = fit.parameters.delta2
    model.lower_bounds_ = np.array(fit.lower_bounds)
    model.delta2_path_ = np.array(fit.delta2_path)
    model.lower_bound_ = bound + rules.log_prior(fit.parameters, row_weights)
    model.n_iter_, model.converged_, model.start_ = len(fit.lower_bounds), fit.converged, fit.start
    model.trust_, model.clusterer_trust_ = trust_shares(evidence, fit.parameters, state, workers)
    answer = model._answer_of(state)
    model._class_mass = mass + evidence.weights @ answer
    model._answer = Answer(answer, inverse)
    model._shell = replace(table.take(np.empty(0, dtype=np.intp)), frame=table.frame)
    return model
