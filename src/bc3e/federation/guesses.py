"""From what a node saw of a block to guesses at the labels of another site.

`..._from_totals` use nothing but sums over sites, parameters and posteriors: what the node must be
given for its role. `..._from_parts` add what messages of single sites show: everything if they are
plain, nothing if they are masked well. To find out whether they are, masked words are tried as they
are, as differences to the first sweep (a mask used twice would cancel) and added to those of other
sites (masks that cancel early would show).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import NDArray

from bc3e.federation.additive import additive_parts
from bc3e.federation.kinds import MEANINGS
from bc3e.federation.recovery import by_known_profiles, by_profile, equal_rows
from bc3e.federation.scoring import Labels
from bc3e.federation.views import Parts, Step, Summed, View
from bc3e.model.evidence import FloatArray
from bc3e.model.parameters import Parameters
from bc3e.model.split import PosteriorHolder

Belief = tuple[Labels, FloatArray | None]
INVERTING, NUDGE = 25, 1e-6  # steps of an inversion, and the difference that slopes are taken by
PLAUSIBLE = 2.0**12  # no share or vote count of an object is larger; a masked word nearly always is
MOST_STEPS, MOST_SUBSETS = 40, 64


def clusters_from_totals(view: View, parameters: Parameters | None = None) -> list[Labels]:
    """Partitions of the objects that sums and posteriors suggest."""
    stream = [(step, step.shares.total) for step in view.steps if step.shares is not None]
    columns = [name for _, names in view.block.clusters for name in names]
    guesses = _from_stream(view, stream, columns)
    if view.answer is not None:
        guesses.append(equal_rows(view.answer))
    if view.steps:
        guesses.append(equal_rows(view.steps[-1].tendency))
    if not stream and parameters is not None and view.responsibilities is not None:
        guesses += _from_tendencies(view, view.responsibilities, parameters)
    return guesses


def clusters_from_parts(view: View, target: str) -> list[Labels]:
    """Partitions that the messages of one site suggest."""
    columns = dict(view.block.clusters).get(target, ())
    steps = [step for step in view.steps if step.shares is not None and target in step.shares.parts]
    guesses: list[Labels] = []
    for series in opened([step.shares for step in steps if step.shares], target, "shares"):
        stream = [
            (step, shares) for step, shares in zip(steps, series, strict=True) if shares is not None
        ]
        guesses += _from_stream(view, stream, columns)
    return guesses


def votes_from_totals(view: View, own: Labels | None = None) -> list[Belief]:
    """Beliefs about any classifier's votes from the totals of the objects.

    `own` are the node's own votes, which it can tell apart from those of others.
    """
    beliefs: list[Belief] = []
    for seen in (view.votes, view.winners):
        if seen is not None:
            beliefs.append(belief(seen.total, own))
    for shown in (view.responsibilities, view.answer):
        if shown is not None:
            beliefs.append(belief(shown, own))
    return beliefs


def votes_from_parts(view: View, target: str) -> list[Belief]:
    """Beliefs about a site's votes from its own messages."""
    beliefs = []
    for seen in (view.votes, view.winners):
        if seen is not None and target in seen.parts:
            for (part,) in opened([seen], target, "votes"):
                if part is not None:
                    beliefs.append(belief(part, None))
    return beliefs


def belief(totals: FloatArray, own: Labels | None) -> Belief:
    """Shares of summed votes as a prior, and groups of objects with the same votes."""
    groups = equal_rows(totals)
    if own is not None:
        groups = np.unique(np.stack([groups, own], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    positive = np.maximum(totals, 0.0) + 1e-3
    return groups.astype(np.intp), positive / positive.sum(axis=1, keepdims=True)


def _from_stream(
    view: View, stream: Sequence[tuple[Step, FloatArray]], columns: Sequence[str]
) -> list[Labels]:
    """All attacks on cluster evidence whose sweeps are known."""
    stream = [(step, shares) for step, shares in stream if shares.any()]
    if not stream:
        return []
    cold = [shares for step, shares in stream if np.ptp(step.tendency, axis=0).max() < 1e-9]
    guesses = []
    for shares in [*cold, np.hstack(cold)] if len(cold) > 1 else cold:
        guesses += [equal_rows(shares), *additive_parts(shares)]
    for step, shares in (stream[0], stream[-1]):
        guesses.append(by_profile(shares, step.tendency))
    step, shares = stream[-1]
    known = [view.profiles.get((column, step.version)) for column in columns]
    weights = [view.weights.get(column, 1.0) for column in columns]
    found = [profile for profile in known if profile is not None]
    if columns and len(found) == len(columns):
        guesses += by_known_profiles(shares, step.tendency, found, weights)
    return guesses


def _from_tendencies(view: View, responsibilities: FloatArray, parameters: Parameters) -> list[Labels]:
    """A client sees no shares, but how tendencies move in the first sweep tells them.

    The votes are known from their shares and the step is public, so it can be asked which shares
    lead to the tendencies that were seen.
    """
    steps = [step for step in view.steps if step.iteration == view.steps[0].iteration][:2]
    if len(steps) < 2 or np.ptp(steps[0].tendency, axis=0).max() > 1e-9:
        return []
    k = responsibilities.shape[1]
    cast = float(sum(len(names) for _, names in view.block.votes))
    labels = float(sum(len(names) for _, names in view.block.clusters))
    guesses: list[Labels] = []
    counted = view.weight * labels
    for total in {cast, 3.0}:  # how much the votes of an object count: public, one each or three
        votes = np.maximum(responsibilities * (total + 0.5) - 0.5 / k, 0.0)
        guesses += additive_parts(shares_behind(votes, counted, parameters, steps[1].tendency))
    return guesses


def shares_behind(
    votes: FloatArray, counted: float, parameters: Parameters, tendency: FloatArray
) -> FloatArray:
    """Shares of the clusters that lead from the cold state to `tendency` in one sweep, (n, k).

    Newton's method with slopes by differences, for every object by itself. `counted` is the weight of
    all labels of an object.
    """
    n, k = votes.shape

    def after(shares: FloatArray) -> FloatArray:
        holder = PosteriorHolder(votes, np.full(n, counted), structured=True)
        holder.begin(parameters)
        holder.start_sweeps()
        holder.step(shares, parameters, 0.0)
        return holder.state.tendency

    shares = np.full((n, k), counted / k)
    for _ in range(INVERTING):
        missed = after(shares) - tendency
        slopes = np.stack(
            [(after(shares + NUDGE * e) - tendency - missed) / NUDGE for e in np.eye(k)], -1
        )
        step = (np.linalg.pinv(slopes) @ missed[..., None])[..., 0]
        shares = np.clip(shares - step, counted * 1e-6, counted)
    return shares


def opened(
    sums: Sequence[Summed], target: str, kind: str, limit: float = PLAUSIBLE
) -> Iterator[list[FloatArray | None]]:
    """Numbers of the target's parts, one series per way to read them; None where one makes no sense.

    Masked words make sense if none of the numbers that they would stand for exceeds `limit`.
    """
    if not sums:
        return
    if not any(seen.masked for seen in sums):
        yield [np.asarray(seen.parts[target], dtype=np.float64) for seen in sums]
        return
    bits = MEANINGS[kind].bits
    tried = sums[:MOST_STEPS]
    rest: list[FloatArray | None] = [None] * (len(sums) - len(tried))
    others = [site for site in sums[0].parts if site != target]
    # All others together would be the total.
    sizes = range(max(1, len(others)))
    subsets = chain.from_iterable(combinations(others, size) for size in sizes)
    for chosen in islice(subsets, MOST_SUBSETS):
        series = [_plausible(_added(seen.parts, (target, *chosen)), bits, limit) for seen in tried]
        if any(values is not None for values in series):
            yield series + rest
    words = [seen.parts[target] for seen in tried]
    steps = [_plausible(later - words[0], bits, limit) for later in words[1:]]
    if any(values is not None for values in steps):
        yield [None, *steps, *rest]


def _added(parts: Parts, sites: Sequence[str]) -> NDArray[np.uint64]:
    total = np.zeros_like(parts[sites[0]])
    for site in sites:
        total = total + parts[site]
    return total


def _plausible(words: NDArray[np.uint64], bits: int, limit: float) -> FloatArray | None:
    values = np.ldexp(words.view(np.int64).astype(np.float64), -bits)
    return values if values.size and np.abs(values).max() < limit else None
