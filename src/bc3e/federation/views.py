"""What a node saw of the objects of a row block, put together from its messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.federation.assembly import places
from bc3e.federation.kinds import MEANINGS
from bc3e.federation.masking import unmask_sum
from bc3e.federation.messages import Message
from bc3e.federation.planning import Plan, RowBlock
from bc3e.model.evidence import FloatArray

TOGETHER = "all roles without labels"
Parts = Mapping[str, NDArray[Any]]  # of a sum, by site: numbers, or masked words


@dataclass(frozen=True)
class Summed:
    """A sum over sites as its reader saw it."""

    parts: Parts
    total: FloatArray
    masked: bool


@dataclass(frozen=True)
class Step:
    """One sweep: the tendencies that went out, and the shares that came back (None at a client)."""

    iteration: int
    sweep: int
    version: int
    tendency: FloatArray
    shares: Summed | None


@dataclass(frozen=True)
class Node:
    """Roles whose messages one party reads.

    Attributes
    ----------
    name : str
    addresses : frozenset of str
    site : str or None
        The site whose labels it knows.
    """

    name: str
    addresses: frozenset[str]
    site: str | None = None

    def transcript(self, messages: Iterable[Message]) -> list[Message]:
        """Messages that the node sent or received."""
        return [m for m in messages if m.sender in self.addresses or m.recipient in self.addresses]


def nodes(plan: Plan) -> list[Node]:
    """Every site with its roles, every other role by itself, and these together as one party."""
    found = []
    for place, addresses in places(plan).items():
        found.append(Node(place, frozenset(addresses), place if place in plan.sites else None))
    others = [node for node in found if node.site is None]
    if len(others) > 1:
        found.append(Node(TOGETHER, frozenset().union(*(node.addresses for node in others))))
    return found


@dataclass(frozen=True)
class View:
    """Everything that a node saw of one row block.

    Attributes
    ----------
    node : Node
    block : RowBlock
    steps : tuple of Step
    votes, winners : Summed or None
        Votes per object and class, if the node adds them up.
    responsibilities : (n, k) or None
        Shares of the summed votes, if the node is a client.
    answer : (n, k) or None
        Final class probabilities.
    profiles : mapping from (column, version) to (k_m, k)
        Profiles of clusterings that the node knows.
    weights : mapping from columns to evidence weights
        Of the clusterings whose profiles it knows.
    weight : float
        Evidence weight of a clustering that counts.
    """

    node: Node
    block: RowBlock
    steps: tuple[Step, ...]
    votes: Summed | None
    winners: Summed | None
    responsibilities: FloatArray | None
    answer: FloatArray | None
    profiles: Mapping[tuple[str, int], FloatArray]
    weights: Mapping[str, float]
    weight: float

    @property
    def last_only(self) -> View:
        """What is left in the end: the last sweep and the answer."""
        return replace(self, steps=self.steps[-1:], responsibilities=None)


def view(node: Node, block: RowBlock, plan: Plan, messages: Sequence[Message]) -> View:
    """Put together what the node's messages say of a block."""
    own = [m for m in messages if block.address in (m.sender, m.recipient)]
    adds_up = block.address in node.addresses
    shares = sums_of(own, "shares", "shares") if adds_up else {}
    steps = {}
    for m in own:
        if m.kind == "tendency":
            at = (m.iteration, m.sweep)
            steps[at] = Step(*at, int(m.arrays["control"][0]), m.arrays["means"], shares.get(at))
    ordered = tuple(steps[at] for at in sorted(steps))
    votes = sums_of(own, "votes", "ballots") if adds_up else {}
    winners = sums_of(own, "votes", "winners") if adds_up else {}
    told = [m.arrays["shares"] for m in own if m.kind == "responsibilities" and not adds_up]
    answers = [m.arrays["probabilities"] for m in own if m.kind == "answer"]
    return View(
        node,
        block,
        ordered,
        next(iter(votes.values()), None),
        next(iter(winners.values()), None),
        told[0] if told else None,
        answers[0] if answers else None,
        *_profiles(plan, messages),
        _weight(messages),
    )


def sums_of(messages: Sequence[Message], kind: str, array: str) -> dict[tuple[int, int], Summed]:
    """Sums of one array of one kind of message, by iteration and sweep."""
    found: dict[tuple[int, int], dict[str, Message]] = {}
    for m in messages:
        if m.kind == kind and array in m.arrays:
            found.setdefault((m.iteration, m.sweep), {})[m.sender.partition(":")[2]] = m
    sums = {}
    for at, by_site in found.items():
        parts = {site: m.arrays[array] for site, m in sorted(by_site.items())}
        masked = any(m.masked for m in by_site.values())
        listed = list(parts.values())
        total = unmask_sum(listed, bits=MEANINGS[kind].bits) if masked else np.sum(listed, axis=0)
        sums[at] = Summed(parts, total, masked)
    return sums


def _profiles(
    plan: Plan, messages: Sequence[Message]
) -> tuple[dict[tuple[str, int], FloatArray], dict[str, float]]:
    """Profiles by column and version, and the weights of the columns."""
    groups = {group.address: group for group in plan.groups}
    sizes = {m.sender: m.arrays["sizes"] for m in messages if m.kind == "codes"}
    weight = _weight(messages)
    profiles: dict[tuple[str, int], FloatArray] = {}
    weights: dict[str, float] = {}
    for m in messages:
        if m.kind != "profiles":
            continue
        version = int(m.arrays["version"][0])
        columns = groups[m.sender].clusters
        blocks = np.split(m.arrays["profiles"], np.cumsum(sizes[m.sender])[:-1])
        for column, block, told in zip(columns, blocks, m.arrays["informative"], strict=True):
            profiles[column, version] = block
            if version == 0:
                weights[column] = weight * float(told)
    return profiles, weights


def _weight(messages: Sequence[Message]) -> float:
    return next((float(m.arrays["weight"][0]) for m in messages if m.kind == "weights"), 1.0)
