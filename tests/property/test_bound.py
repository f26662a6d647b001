"""The bound never falls, nothing is ever NaN, rows sum to one: on 10,000 inputs, both families."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bc3e
from tests.generation import HOSTILE, random_input

N_INPUTS = 10_000
BATCHES = 20


def settings_for(seed: int, family: str) -> bc3e.BC3E:
    """The published model and others in turn: priors, starts, weights."""
    shared = {"max_iter": 15, "tol": 0.0, "posterior": family, "random_state": seed}
    variants = (
        lambda: bc3e.BC3E.as_published(**shared),
        lambda: bc3e.BC3E(**shared),
        lambda: bc3e.BC3E.as_published(
            delta2=bc3e.InverseGamma(2.0, 0.5),
            class_variance=bc3e.InverseGamma(1.0, 1.0),
            class_mean=bc3e.Normal(0.0, 0.5),
            profile_prior=3.0,
            init="diffusion",
            **shared,
        ),
        lambda: bc3e.BC3E(
            delta2="learn", class_variance="learn", evidence_weight=0.3, init="random", **shared
        ),
        lambda: bc3e.BC3E.as_published(delta2=1e-6, class_variance=100.0, vote_weight=50.0, **shared),
    )
    return variants[(seed // len(HOSTILE)) % len(variants)]()


def check(seed: int, family: str) -> float:
    """Fit one random input; the largest relative fall of its bound."""
    data = random_input(seed)
    model = settings_for(seed, family)
    model.set_params(classes=data.classes)
    model.fit(data.votes, data.clusters, sample_weight=data.sample_weight)
    bounds, probabilities = model.lower_bounds_, model.probabilities_
    assert np.isfinite(bounds).all(), (seed, data.kind)
    assert np.isfinite(probabilities).all(), (seed, data.kind)
    assert np.abs(probabilities.sum(axis=1) - 1.0).max() <= 1e-12, (seed, data.kind)
    for part in vars(model.posterior_).values():
        assert np.isfinite(part).all(), (seed, data.kind)
    assert 0.0 <= model.trust_ <= 1.0
    # An object without any label has the bound 0: measure its rounding against its weight.
    weight = len(probabilities) if data.sample_weight is None else data.sample_weight.sum()
    falls = (bounds[:-1] - bounds[1:]) / np.maximum(np.abs(bounds[:-1]), 1e-3 * weight)
    return float(falls.max(initial=-np.inf))


@pytest.mark.parametrize("family", ["structured", "factorized"])
@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_bound_never_falls(batch: int, family: str) -> None:
    seeds = range(batch, N_INPUTS, BATCHES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        worst = max((check(seed, family), seed) for seed in seeds)
    assert worst[0] <= 1e-9, worst


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    kind=st.sampled_from(HOSTILE),
    delta2=st.floats(1e-8, 1e8),
    variance=st.floats(1e-6, 1e6),
    weight=st.floats(1e-3, 50),
    family=st.sampled_from(["structured", "factorized"]),
)
def test_any_given_variance_is_survived(
    seed: int, kind: str, delta2: float, variance: float, weight: float, family: str
) -> None:
    data = random_input(seed, kind)
    model = bc3e.BC3E(
        delta2=delta2,
        class_variance=variance,
        evidence_weight=weight,
        posterior=family,
        classes=data.classes,
        max_iter=8,
        tol=0.0,
    ).fit(data.votes, data.clusters, sample_weight=data.sample_weight)
    assert np.isfinite(model.probabilities_).all()
    weight = len(model.probabilities_) if data.sample_weight is None else data.sample_weight.sum()
    before, after = model.lower_bounds_[:-1], model.lower_bounds_[1:]
    assert (before - after <= 1e-9 * np.maximum(np.abs(before), 1e-3 * weight)).all()
