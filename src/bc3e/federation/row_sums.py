"""Membership attack on a transcript: whose objects are in the sums that sites report.

A site that holds objects alone reports sums over them in every iteration: moments of the posteriors to
the server, class counts per cluster to the auxiliary clients. Who plays these roles knows all
parameters, so it can tell what any object with known labels would add
(:mod:`bc3e.federation.membership`). The question is always the same: is an object one of this site's?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bc3e.alignment import cluster_values
from bc3e.columns import LabelColumn
from bc3e.estimator import BC3E
from bc3e.federation.guesses import opened
from bc3e.federation.membership import contributions, likelihood_ratios
from bc3e.federation.messages import Message
from bc3e.federation.planning import SERVER, Plan
from bc3e.federation.scoring import Score, leave_one_out, membership_score, perplexity
from bc3e.federation.views import Node, Summed, sums_of
from bc3e.labels import LabelTable
from bc3e.model.calibration import tempered
from bc3e.model.evidence import Evidence, FloatArray, Layout
from bc3e.model.parameters import Parameters

FEWEST = 6  # objects inside, and outside, that an attack is measured on
PLAUSIBLE = 2.0**24  # a sum over objects is smaller, a masked word nearly always larger


@dataclass(frozen=True)
class Membership:
    """How well a node can tell a site's objects from others."""

    site: str
    n_objects: int
    masked: bool
    seen: Score
    ideal: Score
    answer: Score
    chance: Score


def attack(
    node: Node,
    plan: Plan,
    seen: Sequence[Message],
    tables: Mapping[str, LabelTable],
    model: BC3E,
) -> Iterator[Membership]:
    """Attack every site whose reports the node reads; nothing if it reads none.

    It must know all profiles to tell what an object would add, and sites must report nothing
    but objects that they hold alone (a row-distributed table).
    """
    sites = plan.private_sites
    by_rows = all(len(list(plan.blocks_of(site))) == 1 for site in sites) and sites == plan.sites
    groups = {group.address for group in plan.groups if group.clusters}
    hard = all(isinstance(c, LabelColumn) for site in sites for c in tables[site].clusters)
    if not (hard and by_rows and {SERVER, *groups} <= node.addresses and len(sites) > 1):
        return
    series = _series(plan, seen)
    if not series:
        return
    each = contributions(*_candidates(plan, seen, tables, model), model.posterior == "structured")
    each = each[:, : len(series)]
    home = np.repeat(np.arange(len(sites)), [tables[site].n_objects for site in sites])
    for number, site in enumerate(sites):
        member = home == number
        if min(member.sum(), (~member).sum()) >= FEWEST:
            yield _attack_site(site, member, each, series)


def _attack_site(
    site: str, member: NDArray[np.bool_], each: FloatArray, series: list[list[Summed]]
) -> Membership:
    """Compare the site's own sums, the totals, and the last totals."""
    outside = np.flatnonzero(~member)
    reference, strangers = outside[1::2], outside[::2]
    tried = np.concatenate([np.flatnonzero(member), strangers])

    def score(sums: FloatArray, size: int, iterations: slice) -> Score:
        parts = each[:, iterations].reshape(len(each), -1)
        ratio = likelihood_ratios(sums.ravel(), size, parts[tried], parts[reference])
        return membership_score(ratio, member[tried])

    whole = slice(0, len(series))
    totals = np.array([np.concatenate([seen.total.ravel() for seen in sums]) for sums in series])
    ideal = score(totals, len(member), whole)
    masked = any(seen.masked for sums in series for seen in sums)
    own = _own_sums(site, series)
    best = ideal if own is None else score(own, int(member.sum()), whole)
    answer = score(totals[-1:], len(member), slice(len(series) - 1, len(series)))
    nothing = np.zeros(len(tried), dtype=np.intp)
    known = member[tried].astype(np.intp)
    chance = Score(0.5, perplexity(leave_one_out(nothing, known), known))
    return Membership(site, len(tried), masked, best, ideal, answer, chance)


def _own_sums(site: str, series: list[list[Summed]]) -> FloatArray | None:
    """Sums over the site's own objects, (iterations, sums), if its messages can be read."""
    read = []
    for kind, column in zip(
        ("report", *["counts"] * (len(series[0]) - 1)), zip(*series, strict=True), strict=True
    ):
        found = next(opened(list(column), site, kind, PLAUSIBLE), None)
        if found is None or any(values is None for values in found):
            return None
        read.append([values.ravel() for values in found if values is not None])
    return np.array([np.concatenate(parts) for parts in zip(*read, strict=True)])


def _series(plan: Plan, seen: Sequence[Message]) -> list[list[Summed]]:
    """Per iteration: the moments S1, S2, D and the counts of each column group, as sums over sites."""
    homes = {block.address: f"client:{block.host}" for block in plan.blocks}
    k = next((len(m.arrays["mean"]) for m in seen if m.kind == "parameters"), 0)
    reports: dict[int, list[Message]] = {}
    final = {m.iteration for m in seen if m.kind == "parameters" and m.arrays["control"][3]}
    for m in seen:
        if m.kind == "report" and m.arrays["values"].shape == (3 + 2 * k,) and m.iteration not in final:
            reports.setdefault(m.iteration, []).append(m)
    found = []
    for iteration in sorted(reports):
        renamed = [_as_moments(m, homes[m.sender], k) for m in reports[iteration]]
        sums = [next(iter(sums_of(renamed, "report", "values").values()))]
        for group in plan.groups:
            of_group = [m for m in seen if m.recipient == group.address and m.iteration == iteration]
            counted = sums_of(of_group, "counts", "counts")
            sums += list(counted.values())
        found.append(sums)
    widths = {len(sums) for sums in found}
    return found if len(widths) == 1 else [sums for sums in found if len(sums) == max(widths)]


def _as_moments(message: Message, sender: str, k: int) -> Message:
    """A report cut down to S1, S2 and D, in the order of :func:`contributions`."""
    values = message.arrays["values"]
    kept = np.concatenate([values[3 : 3 + k], values[3 + k :], values[1:2]])
    return replace(message, sender=sender, sweep=0, arrays={"values": kept})


def _candidates(
    plan: Plan, seen: Sequence[Message], tables: Mapping[str, LabelTable], model: BC3E
) -> tuple[Evidence, list[Parameters]]:
    """All objects as the protocol sees them, in the order of sites, and the parameters over time."""
    groups = [group for group in plan.groups if group.clusters]
    columns = [name for group in groups for name in group.clusters]
    numbers = {name: _numbering(name, plan.private_sites, tables) for name in columns}
    layout = Layout(tuple(max(1, len(numbers[name])) for name in columns), (False,) * len(columns))
    votes, labels = [], []
    for site in plan.private_sites:
        votes.append(tables[site].votes_per_class())
        by_name = {column.name: column for column in tables[site].clusters}
        coded = [_coded(by_name.get(name), numbers[name], tables[site].n_objects) for name in columns]
        first = layout.offsets[:-1]
        stacked = np.full((tables[site].n_objects, len(columns)), -1, dtype=np.int32)
        for at, (codes, offset) in enumerate(zip(coded, first, strict=True)):
            stacked[:, at] = np.where(codes >= 0, codes + offset, -1)
        labels.append(stacked)
    total = np.concatenate(votes)
    if model.vote_weight is not None:
        cast = total.sum(axis=1, keepdims=True)
        total = total * (float(model.vote_weight) / np.where(cast > 0, cast, 1.0))
    exponent = next((float(m.arrays["exponent"][0]) for m in seen if m.kind == "begin"), 1.0)
    weight = next((float(m.arrays["weight"][0]) for m in seen if m.kind == "weights"), 1.0)
    told = {(m.sender, m.iteration): m.arrays for m in seen if m.kind == "profiles"}
    informative = [told[group.address, 0]["informative"] for group in groups]
    evidence = Evidence(
        tempered(total, exponent),
        np.concatenate(labels),
        (),
        np.ones(len(total)),
        weight * np.concatenate([*informative, np.empty(0)]),
        layout,
    )
    parameters: list[Parameters] = []
    for m in sorted(
        (m for m in seen if m.kind == "parameters" and not m.arrays["control"][3]),
        key=lambda m: m.iteration,
    ):
        version = int(m.arrays["control"][0])
        if len(parameters) < m.iteration:
            blocks = [told[group.address, version]["profiles"] for group in groups]
            profiles = np.concatenate([np.empty((0, total.shape[1])), *blocks])
            mean, variance = m.arrays["mean"], m.arrays["variance"]
            parameters.append(Parameters(mean, variance, float(m.arrays["scalars"][0]), profiles))
    return evidence, parameters


def _numbering(
    column: str, sites: Sequence[str], tables: Mapping[str, LabelTable]
) -> dict[tuple[str, object], int]:
    """Numbers of the clusters as the auxiliary client gives them: by site, and there by code."""
    numbers: dict[tuple[str, object], int] = {}
    for site in sites:
        for found in tables[site].clusters:
            if found.name == column and isinstance(found, LabelColumn):
                values = cluster_values(found)
                for code in np.unique(found.codes[found.codes >= 0]):
                    numbers.setdefault((found.family, values[code]), len(numbers))
    return numbers


def _coded(column: object, numbers: Mapping[tuple[str, object], int], n: int) -> NDArray[np.int64]:
    if not isinstance(column, LabelColumn):
        return np.full(n, -1, dtype=np.int64)
    values = cluster_values(column)
    table = np.array([numbers.get((column.family, value), -1) for value in values] + [-1])
    found: NDArray[np.int64] = table[column.codes].astype(np.int64)
    return found
