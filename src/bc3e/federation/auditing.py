"""Privacy measured: attack the transcript of every node, and compare with what it had to be told.

For each node and each column of another site three attackers are compared. The first has the whole
transcript of the node. The second, the *ideal* baseline, has only what its role must be
given: totals, parameters and refined posteriors. The third has only what is left in the end: the
last totals and the answer. Masks are good if the first does no better than the second; what the
second learns, no mask can hide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bc3e.columns import Column, LabelColumn
from bc3e.errors import InputError
from bc3e.estimator import BC3E
from bc3e.federation import end_view, guesses, row_sums
from bc3e.federation.findings import Audit, Finding
from bc3e.federation.messages import Message
from bc3e.federation.planning import Holding, Plan, RowBlock, make_plan
from bc3e.federation.result import Result
from bc3e.federation.scoring import (
    Labels,
    Score,
    best_rand,
    clustering_score,
    codes,
    distinct,
    vote_score,
)
from bc3e.federation.sites import Site, common_classes
from bc3e.federation.views import Node, View, nodes, view
from bc3e.labels import LabelTable
from bc3e.model.parameters import Parameters

FEWEST_OBJECTS = 10  # of a block that is worth an attack
PERMUTATIONS = 5


def audit(result: Result, truth: Sequence[Site], *, model: BC3E | None = None, effort: int = 0) -> Audit:
    """Attack every node of a recorded run and measure what it can find out.

    Parameters
    ----------
    result : Result
        Of ``fit(..., record=True)``.
    truth : sequence of Site
        The sites of the run, with their labels: what the guesses are held against.
    model : BC3E, optional
        The settings of the run, if they are not the default ones: they are public.
    effort : int
        Random starts of the attacks of :mod:`bc3e.federation.end_view`, which take a tenth of a second
        each; 0 leaves them out. They show what the last totals and the answers tell an attacker who
        makes the most of them: without them the answer baseline is too low. 100 are enough for three
        clusterings of a hundred objects.

    Returns
    -------
    Audit

    Examples
    --------
    Three sites hold one vote each on the same objects. Without masks the auxiliary server reads
    every vote.

    >>> import numpy as np, pandas as pd
    >>> from bc3e import federation
    >>> truth = np.random.default_rng(0).integers(2, size=40)
    >>> votes = pd.DataFrame({name: np.roll(truth, i) for i, name in enumerate("abc")})
    >>> sites = [federation.Site(name, votes=votes[[name]]) for name in "abc"]
    >>> result = federation.fit(sites, masked=False, record=True)
    >>> found = audit(result, sites).select(node="auxiliary-server:1", attack="votes")
    >>> [finding.success for finding in found.findings]
    [1.0, 1.0, 1.0]

    Notes
    -----
    Attacks are as strong as we could write them; others may be stronger. A finding near chance is no
    proof. A finding far from it is one.
    """
    if not result.transcript:
        raise InputError("result", "its run was not recorded", "Pass record=True to federation.fit.")
    secrets = _Secrets.of(result, truth)
    model = BC3E() if model is None else model
    findings: list[Finding] = []
    for node in nodes(result.plan):
        seen = node.transcript(result.transcript)
        for block in result.plan.blocks:
            if block.size >= FEWEST_OBJECTS and not block.private:
                told = view(node, block, result.plan, seen)
                ending = (
                    _ending(told, result, seen, secrets, (model, effort)) if effort else _Ending([], [])
                )
                findings += _attack_block(told, result, secrets, ending)
        findings += _attack_rows(node, result.plan, seen, secrets, model)
    return Audit(tuple(findings))


@dataclass(frozen=True)
class _Secrets:
    """The true labels, and where the objects of each block are at each site."""

    tables: Mapping[str, LabelTable]
    rows: Mapping[tuple[int, str], NDArray[np.intp]]

    @classmethod
    def of(cls, result: Result, truth: Sequence[Site]) -> _Secrets:
        if sorted(site.name for site in truth) != sorted(result.plan.sites):
            raise InputError("truth", "other sites than those of the run", "Pass the sites of the run.")
        holdings = {site.name: Holding(result.hashes[site.name], *site.column_names) for site in truth}
        if any(len(holdings[site.name].ids) != len(site.object_ids) for site in truth):
            raise InputError(
                "truth", "other objects than those of the run", "Pass the sites of the run."
            )
        plan, seats = make_plan(holdings)
        rows = {}
        for block in plan.blocks:
            for name in block.sites:
                mine = np.flatnonzero(seats[name] == block.number)
                rows[block.number, name] = mine[np.argsort(holdings[name].ids[mine], kind="stable")]
        classes = common_classes(truth, result.classes)
        return cls({site.name: site.table(classes) for site in truth}, rows)

    def labels(self, block: RowBlock, site: str, kind: str, column: str) -> Labels:
        """True labels of a block's objects, -1 where missing."""
        columns: dict[str, Column] = {c.name: c for c in getattr(self.tables[site], kind)}
        return hard_labels(columns[column])[self.rows[block.number, site]]


def hard_labels(column: Column) -> Labels:
    """Codes of a column; of scores the largest."""
    if isinstance(column, LabelColumn):
        return column.codes.astype(np.intp)
    return np.where(column.scores.any(axis=1), column.scores.argmax(axis=1), -1).astype(np.intp)


@dataclass(frozen=True)
class _Ending:
    """Guesses at clusterings and votes from what is left in the end."""

    clusters: list[Labels]
    votes: list[guesses.Belief]


def _ending(
    shown: View, result: Result, seen: Sequence[Message], secrets: _Secrets, how: tuple[BC3E, int]
) -> _Ending:
    (model, effort), site, block = how, shown.node.site, shown.block
    found = end_view.from_last_totals(shown, effort)
    if site is None or site not in block.sites or shown.answer is None:
        return _Ending(found, [])

    def labels(where: RowBlock, column: str) -> Labels:
        assert site is not None
        return secrets.labels(where, site, "clusters", column)

    own = end_view.own_columns(shown, result.plan, seen, labels)
    read = None if own is None else end_view.from_answers(shown, result, model, own, effort)
    if read is None:
        return _Ending(found, [])
    belief = guesses.belief(read.votes, _own_votes(site, block, secrets))
    return _Ending([*found, *read.partitions], [belief])


def _attack_block(shown: View, result: Result, secrets: _Secrets, ending: _Ending) -> Iterator[Finding]:
    """Attacks of a node on the labels that other sites have for the objects of a block."""
    node, block = shown.node, shown.block
    if block.address not in node.addresses and node.site not in block.sites:
        return
    totals = guesses.clusters_from_totals(shown, _first_parameters(result))
    last = [*guesses.clusters_from_totals(shown.last_only), *ending.clusters]
    for site, columns in block.clusters:
        if site == node.site:
            continue
        parts = guesses.clusters_from_parts(shown, site)
        for column in columns:
            truth = secrets.labels(block, site, "clusters", column)
            yield _cluster_finding(shown, site, column, truth, (parts, totals, last))
    own = None if node.site is None else _own_votes(node.site, block, secrets)
    believed = guesses.votes_from_totals(shown, own)
    later = [*guesses.votes_from_totals(shown.last_only, own), *ending.votes]
    for site, columns in block.votes:
        if site == node.site:
            continue
        parts_of_votes = guesses.votes_from_parts(shown, site)
        for column in columns:
            truth = secrets.labels(block, site, "votes", column)
            yield _vote_finding(shown, site, column, truth, (parts_of_votes, believed, later))


def _first_parameters(result: Result) -> Parameters | None:
    """Parameters of the first iteration; unless they are learned they are public settings."""
    for m in result.transcript:
        if m.kind == "parameters":
            arrays, nothing = m.arrays, np.empty((0, len(m.arrays["mean"])))
            return Parameters(arrays["mean"], arrays["variance"], float(arrays["scalars"][0]), nothing)
    return None


def _own_votes(site: str, block: RowBlock, secrets: _Secrets) -> Labels | None:
    columns = dict(block.votes).get(site, ())
    if not columns:
        return None
    table = np.stack([secrets.labels(block, site, "votes", column) for column in columns], axis=1)
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp)


def _cluster_finding(
    shown: View,
    site: str,
    column: str,
    truth: Labels,
    partitions: tuple[list[Labels], list[Labels], list[Labels]],
) -> Finding:
    present = truth >= 0
    known = codes(truth[present])
    parts, totals, last = ([groups[present] for groups in some] for some in partitions)
    everything = distinct([*parts, *totals, *last])
    scores = (
        clustering_score(everything, known),
        clustering_score(distinct([*totals, *last]), known),
        clustering_score(last, known),
    )
    rng = np.random.default_rng(0)
    luck = [best_rand(everything, rng.permutation(known)) for _ in range(PERMUTATIONS)]
    chance = Score(float(np.mean(luck)), clustering_score([], known).perplexity)
    masked = any(step.shares is not None and step.shares.masked for step in shown.steps)
    return _finding(shown, "clusters", site, column, len(known), masked, scores, chance)


def _vote_finding(
    shown: View,
    site: str,
    column: str,
    truth: Labels,
    beliefs: tuple[list[guesses.Belief], list[guesses.Belief], list[guesses.Belief]],
) -> Finding:
    present = truth >= 0
    kept, known = np.unique(truth[present], return_inverse=True)
    known = known.reshape(-1).astype(np.intp)
    parts, totals, last = (
        [(groups[present], None if p is None else _shares(p[present][:, kept])) for groups, p in some]
        for some in beliefs
    )
    scores = (
        vote_score([*parts, *totals, *last], known),
        vote_score([*totals, *last], known),
        vote_score(last, known),
    )
    masked = shown.votes is not None and shown.votes.masked
    return _finding(shown, "votes", site, column, len(known), masked, scores, vote_score([], known))


def _shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = values / values.sum(axis=1, keepdims=True)
    return shares


def _finding(
    shown: View,
    attack: str,
    site: str,
    column: str,
    n_objects: int,
    masked: bool,
    scores: tuple[Score, Score, Score],
    chance: Score,
) -> Finding:
    told = [value for score in (*scores, chance) for value in (score.success, score.perplexity)]
    return Finding(shown.node.name, attack, site, column, n_objects, masked, *told)


def _attack_rows(
    node: Node, plan: Plan, seen: Sequence[Message], secrets: _Secrets, model: BC3E
) -> Iterator[Finding]:
    """Membership of objects in the sums that sites report of objects they hold alone."""
    for found in row_sums.attack(node, plan, seen, secrets.tables, model):
        scores = (found.seen, found.ideal, found.answer)
        told = [
            value for score in (*scores, found.chance) for value in (score.success, score.perplexity)
        ]
        yield Finding(node.name, "membership", found.site, "", found.n_objects, found.masked, *told)


__all__ = ["Audit", "Finding", "audit"]
