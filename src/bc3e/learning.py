"""What a fit learns from a table of votes and clusterings.

A table is first *studied*: classifiers are weighed, votes calibrated, and for each clustering the
strength of its prior and its significance are found. Then the clusterings get their weights, and EM
runs from one or several starts. The study does not depend on the weights of the clusterings, so
trial fits at several weights share one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bc3e.agreement import leading_class
from bc3e.inquiry import Inquiry
from bc3e.labels import soft_vote
from bc3e.model.calibration import softmax
from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State, Workers
from bc3e.model.parameters import Parameters, Rules, VarianceRule, normalize_profiles
from bc3e.model.schedule import PASSING, ROUGHLY, SETTLED, Fit, Progress
from bc3e.model.shrinkage import prior_counts
from bc3e.objects import Objects
from bc3e.progress import FitProgress
from bc3e.selection import (
    CAUTIOUS,
    UNOPPOSED,
    cautious_total,
    choose_total,
    shared_weights,
    significant,
)
from bc3e.settings import given_weights, mean_rule, random_source, variance_rule


class Settings(Protocol):
    """What the constructor of :class:`bc3e.BC3E` was told."""

    posterior: str
    delta2: Any
    class_mean: Any
    class_variance: Any
    vote_weight: float | None
    vote_calibration: str | None
    evidence_weight: Any
    profile_prior: float | str | None
    init: str | Sequence[str]
    n_init: int
    max_iter: int
    tol: float
    random_state: Any
    n_jobs: int | None
    verbose: bool
    callback: Callable[[Progress], bool | None] | None


@dataclass(frozen=True)
class Studied:
    """A table before its clusterings are weighed.

    Attributes
    ----------
    evidence : Evidence
        Votes, calibrated, and cluster labels of the patterns.
    voted : bool
        Whether there is any vote.
    vote_confidence, confidence : float
        How confident the votes are on average, and how confident the answer shall be.
    unit : float
        Mean weight of an object: what leaving one out takes away.
    classifier_weights : (r1,) array
    vote_exponent : float
    counts : (n_rows, k) array
        Votes in each cluster: where the profiles start.
    strengths : (r2,) array
        Strength of the profile prior of each clustering, 0 if it was not asked for.
    heard : (r2,) array
        Which clusterings predict the votes significantly.
    """

    evidence: Evidence
    voted: bool
    vote_confidence: float
    confidence: float
    unit: float
    classifier_weights: FloatArray
    vote_exponent: float
    counts: FloatArray
    strengths: FloatArray
    heard: NDArray[np.bool_]


@dataclass(frozen=True)
class Learned:
    """A fit: the study it rests on, with weighed clusterings, and what EM made of it.

    With `frequencies` of the classes by the votes, (k,), the fit is guarded: labels shall move only
    between classes that as many classifiers choose.
    """

    study: Studied
    profile_strengths: FloatArray
    fit: Fit
    state: State
    bound: float
    frequencies: FloatArray | None = None


class Learner:
    """Fits label tables by the settings of an estimator.

    `inquiry` is how the objects are asked; on this machine by default.
    """

    def __init__(self, settings: Settings, inquiry: Inquiry | None = None) -> None:
        self.settings = settings
        self.inquiry = inquiry or Inquiry(settings.posterior == "structured", Workers(settings.n_jobs))

    def learn(self, objects: Objects) -> Learned:
        """Fit objects; the clusterings get the weights of the settings, or those that hold up.

        While the clusterings count no more than :data:`bc3e.selection.CAUTIOUS` classifiers count
        alike, and the fit is guarded: labels move only between classes that as many of them choose.
        """
        table = objects.table
        self.priors(len(table.classes))  # refuses what does not fit the classes before any work
        given = given_weights(self.settings.evidence_weight, len(table.clusters))
        calibrated = self.settings.vote_calibration is not None
        guarded = False
        if given is not None:
            study = self.study(objects, weighed=True)
        else:
            total = self._advised_total(objects) if table.clusters else 0.0
            study = self.study(objects, weighed=total > CAUTIOUS)
            if calibrated and study.voted and total > CAUTIOUS and not study.heard.any():
                del study  # as large as the one that follows
                study, total = self.study(objects, weighed=False), cautious_total(table)  # heard only so
            heard = study.heard
            if not study.voted:  # nothing to be significant about: all clusterings share
                heard, total = np.ones_like(heard), UNOPPOSED
            elif not heard.any():
                total = 0.0
            guarded = calibrated and 0.0 < total <= CAUTIOUS
            given = shared_weights(total, heard)
        frequencies = None
        if guarded:  # the votes decide, and nobody has shown that they are too bold or too timid
            study = replace(study, confidence=study.vote_confidence)
            frequencies = self.inquiry.class_frequencies(objects)
        settings = self.settings
        found = self._fit(_with_weights(study, given), settings.verbose, settings.callback)
        return replace(found, frequencies=frequencies)

    def study(self, objects: Objects, *, weighed: bool) -> Studied:
        """Calibrate the votes and find out what each clustering is worth.

        If `weighed`, classifiers count by their agreement with the others, unless no clustering
        is worth anything: then, too, they count alike.
        """
        table = objects.table
        alike = np.ones(len(table.votes))
        weighed = weighed and self.settings.vote_calibration is not None
        counted = self.inquiry.classifier_weights(objects) if weighed else alike
        study = self._calibrated(objects, counted)
        chosen = isinstance(self.settings.evidence_weight, str)
        if chosen or self.settings.profile_prior == "marginal":
            found = self.inquiry.shrinkage(study.evidence, study.counts, study.unit)
            heard = found.significance > significant(len(table.clusters))
            if chosen and weighed and not heard.any():
                del study
                study = self._calibrated(objects, alike)
            study = replace(study, strengths=found.strengths, heard=heard)
        return study

    def priors(self, k: int) -> Rules:
        """Rules of all parameters but the profiles, which need the data."""
        settings = self.settings
        return Rules(
            class_mean=mean_rule(settings.class_mean, k),
            class_variance=variance_rule("class_variance", settings.class_variance, k),
            delta2=variance_rule("delta2", settings.delta2, 1),
            profile_counts=np.empty((0, k)),
        )

    def _calibrated(self, objects: Objects, counted: FloatArray) -> Studied:
        """Votes and labels for the model, with classifiers counting as given.

        The votes are made as confident as the classifiers agree. The answer goes
        only half that way: the confidence of votes and classifiers is a second opinion.
        """
        asked = self.inquiry
        evidence = asked.evidence(objects, counted, self.settings.vote_weight)
        exponent, before = 1.0, asked.confidence(evidence)
        confidence = before
        agreed = self.settings.vote_calibration == "agreement"
        rate = asked.agreement_rate(objects) if agreed else None
        if rate is not None:
            exponent = asked.exponent(evidence, rate)
            evidence = asked.tempered(evidence, exponent)
            confidence = (before + asked.confidence(evidence)) / 2
        r2 = len(objects.table.clusters)
        return Studied(
            evidence=evidence,
            voted=asked.voted(evidence),
            vote_confidence=before,
            confidence=confidence,
            unit=objects.unit,
            classifier_weights=counted,
            vote_exponent=exponent,
            counts=asked.vote_counts(evidence),
            strengths=np.zeros(r2),
            heard=np.zeros(r2, dtype=np.bool_),
        )

    def _advised_total(self, objects: Objects) -> float:
        """Evidence of all clusterings together, by what they explain and by hidden classifiers."""
        here = Learner(self.settings)  # wherever the objects are, their sample is on this machine

        def refine(others: Objects, total: float) -> NDArray[np.intp]:
            study = here.study(others, weighed=True)
            return here._trial(study, shared_weights(total, study.heard))

        def hear(asked: Objects) -> NDArray[np.bool_]:
            return here.study(asked, weighed=False).heard

        seed = int(random_source(self.settings.random_state).randint(2**31 - 1))
        return choose_total(objects, refine, hear, seed, self.settings.vote_weight)

    def _trial(self, study: Studied, given: FloatArray) -> NDArray[np.intp]:
        """Refined labels, and nothing else, at the given weights of the clusterings."""
        if not given.any():
            return study.evidence.per_object(leading_class(soft_vote(study.evidence.ballots)))
        found = self._fit(_with_weights(study, given), False, None, settled=ROUGHLY)
        return leading_class(softmax(found.state.mean))

    def _fit(
        self,
        study: Studied,
        verbose: bool,
        callback: Callable[[Progress], bool | None] | None,
        settled: float = SETTLED,
    ) -> Learned:
        """One EM run per start; the one that ends highest is kept.

        Ends are compared by the bound of the answer itself, after the last
        inference under frozen parameters.
        """
        evidence, settings = study.evidence, self.settings
        rules, strengths, starts = self._starts(study)
        row_weights = evidence.layout.per_row(evidence.evidence_weights)
        best: Learned | None = None
        stopped = False
        with FitProgress(settings.max_iter) if verbose else nullcontext() as bar:

            def observe(step: Progress) -> bool:
                nonlocal stopped
                if bar is not None:
                    bar.show(step)
                stopped = callback is not None and bool(callback(step))
                return stopped

            for name, counts in starts.items():
                fit = self.inquiry.climb(
                    evidence,
                    _first_parameters(evidence, rules, counts),
                    rules,
                    max_iter=settings.max_iter,
                    tol=settings.tol,
                    name=name,
                    observe=observe,
                    passing=max(PASSING, settled),
                )
                state, value = self.inquiry.settle(evidence, fit.parameters, settled)
                value += rules.log_prior(fit.parameters, row_weights)
                # Starts that end in the same place differ by rounding: the first of them stays.
                if best is None or value > best.bound + 1e-6 * abs(best.bound):
                    best = Learned(study, strengths, fit, state, value)
                if stopped:
                    break
        assert best is not None
        return best

    def _starts(self, study: Studied) -> tuple[Rules, FloatArray, dict[str, FloatArray]]:
        """Rules of the M-step, strengths of the profile prior, and the cluster counts of each start.

        Responsibilities live only as long as they are needed: they are as large
        as the votes. Without votes every start is random, and the profile prior
        is fitted to the first of them.
        """
        evidence, settings = study.evidence, self.settings
        names = [settings.init] if isinstance(settings.init, str) else list(settings.init)
        rng = random_source(settings.random_state)
        starts: dict[str, FloatArray] = {}
        anchor, strengths = study.counts, self._strengths(study.strengths)
        for name in names if study.voted else ["random"]:
            if name == "votes":
                starts[name] = study.counts
            elif name == "diffusion":
                starts[name] = self.inquiry.diffused_counts(evidence)
            else:
                for i in range(settings.n_init):
                    draws = np.random.default_rng(rng.randint(2**31 - 1))
                    unit = study.unit if not study.voted and i == 0 else None
                    counts, found = self.inquiry.random_counts(evidence, draws, unit)
                    if found is not None:
                        anchor, strengths = counts, self._strengths(found.strengths)
                    starts[f"random {i + 1}"] = counts
        prior = np.zeros_like(anchor)
        if settings.profile_prior is not None:
            # Strengths are learned in objects, and given in weights.
            unit = study.unit if isinstance(settings.profile_prior, str) else 1.0
            prior = prior_counts(evidence.layout, anchor, strengths, unit)
        rules = replace(self.priors(evidence.n_classes), profile_counts=prior)
        return rules, strengths, starts

    def _strengths(self, found: FloatArray) -> FloatArray:
        """Strength of the profile prior per clustering: found by empirical Bayes, given, or none."""
        prior = self.settings.profile_prior
        return found if isinstance(prior, str) else np.full(len(found), 0.0 if prior is None else prior)


def _with_weights(study: Studied, given: FloatArray) -> Studied:
    return replace(study, evidence=replace(study.evidence, evidence_weights=given))


def _first_parameters(evidence: Evidence, rules: Rules, counts: FloatArray) -> Parameters:
    """Where EM begins: the profiles that some cluster counts imply."""
    return Parameters(
        class_mean=rules.class_mean.mean,
        class_variance=_initial_variance(rules.class_variance, evidence.n_classes),
        delta2=float(_initial_variance(rules.delta2, 1)[0]),
        profiles=normalize_profiles(counts + rules.profile_counts, evidence.layout),
    )


def _initial_variance(rule: VarianceRule, size: int) -> FloatArray:
    return np.ones(size) if rule.fixed is None else rule.fixed
