"""Who plays which role, from hashed object ids and column names alone.

Objects that the same sites hold form a row block, with an auxiliary server that keeps their
posteriors. Columns that the same sites count form a column group, with an auxiliary client
that keeps their profiles. A role whose sums come from one site is played by that site: such a sum
never leaves it. All other roles are played by the server's host, a party without labels.

Where several sites hold the same cell (object and column), the first of them in the order of names
that has a label there counts it and the others leave it out. Only for such cells the planner
is told whether there is a label.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bc3e.federation.picture import Description

SERVER = "server"  # address of the server, and name of the host of all roles without labels


@dataclass(frozen=True)
class Holding:
    """What a site tells the planner: hashed ids (N,) of dtype S16 and names of its columns."""

    ids: NDArray[np.bytes_]
    votes: tuple[str, ...]
    clusters: tuple[str, ...]


@dataclass(frozen=True)
class RowBlock:
    """Objects that the same sites hold.

    Attributes
    ----------
    number : int
        1 for the first block.
    sites : tuple of str
        Sites that hold these objects.
    size : int
        How many objects.
    votes, clusters : tuple of (site, column names)
        Which site counts which columns for these objects; sites without any are left out.
    host : str
        Who plays the auxiliary server: a site, or "server".
    """

    number: int
    sites: tuple[str, ...]
    size: int
    votes: tuple[tuple[str, tuple[str, ...]], ...]
    clusters: tuple[tuple[str, tuple[str, ...]], ...]
    host: str

    @property
    def address(self) -> str:
        return f"auxiliary-server:{self.number}"

    @property
    def voters(self) -> tuple[str, ...]:
        """Sites in the sum of votes."""
        return tuple(site for site, _ in self.votes)

    @property
    def labellers(self) -> tuple[str, ...]:
        """Sites in the sums over cluster labels."""
        return tuple(site for site, _ in self.clusters)

    @property
    def private(self) -> bool:
        """Whether one site has everything about these objects."""
        return len(self.sites) == 1


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that the same sites count; see :class:`RowBlock` for the attributes."""

    number: int
    sites: tuple[str, ...]
    votes: tuple[str, ...]
    clusters: tuple[str, ...]
    host: str

    @property
    def address(self) -> str:
        return f"auxiliary-client:{self.number}"


@dataclass(frozen=True)
class Edge:
    """A direction in which messages of the learning go."""

    sender: str
    recipient: str
    crosses: bool


@dataclass(frozen=True)
class Plan:
    """Row blocks, column groups and roles of a federation.

    Examples
    --------
    Two branches hold records, one bureau holds columns of all of them.

    >>> import pandas as pd
    >>> from bc3e import federation
    >>> a = federation.Site("a", votes=pd.DataFrame({"svm": [0, 1]}, index=["ann", "bob"]))
    >>> b = federation.Site("b", votes=pd.DataFrame({"svm": [1]}, index=["eve"]))
    >>> c = federation.Site("c", clusters=pd.DataFrame({"k": [0, 1, 1]}, index=["ann", "bob", "eve"]))
    >>> found = federation.plan([a, b, c])
    >>> [(block.sites, block.size) for block in found.blocks]
    [(('a', 'c'), 2), (('b', 'c'), 1)]
    >>> [(group.sites, group.clusters, group.host) for group in found.groups]
    [(('a', 'b'), (), 'server'), (('c',), ('k',), 'c')]
    """

    sites: tuple[str, ...]
    n_objects: int
    blocks: tuple[RowBlock, ...]
    groups: tuple[ColumnGroup, ...]

    @cached_property
    def hosts(self) -> dict[str, str]:
        """Who plays each role: a site, or "server"."""
        roles = {client(site): site for site in self.sites} | {SERVER: SERVER}
        roles |= {block.address: block.host for block in self.blocks}
        return roles | {group.address: group.host for group in self.groups if group.clusters}

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Every direction in which messages go while the model is learned."""
        pairs: list[tuple[str, str]] = []
        for block in self.blocks:
            pairs += _both_ways(SERVER, block.address)
        for block in self.blocks:
            for site in block.sites:
                pairs += _both_ways(client(site), block.address)
        for group in self.groups:
            for site in group.sites if group.clusters else ():
                pairs += _both_ways(client(site), group.address)
        return tuple(Edge(a, b, self.hosts[a] != self.hosts[b]) for a, b in pairs)

    @cached_property
    def private_sites(self) -> tuple[str, ...]:
        """Sites that have objects of their own: they report sums over these to the server."""
        return tuple(sorted(block.host for block in self.blocks if block.private))

    def neighbours(self, address: str) -> frozenset[str]:
        """Roles that may write to a role, keys and plans included."""
        met = {edge.sender for edge in self.edges if edge.recipient == address}
        if address == SERVER:
            met |= {client(site) for site in self.sites}
        if address.startswith("client:"):
            met.add(SERVER)
        return frozenset(met)

    def blocks_of(self, site: str) -> Iterator[RowBlock]:
        return (block for block in self.blocks if site in block.sites)

    def groups_of(self, site: str) -> Iterator[ColumnGroup]:
        """Groups of clusterings that a site counts labels of."""
        return (group for group in self.groups if site in group.sites and group.clusters)

    def describe(self) -> Description:
        """Roles and edges as text and as a picture (SVG)."""
        from bc3e.federation.picture import Description

        return Description(self)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        found: dict[str, Any] = json.loads(text)

        def pairs(given: list[Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
            return tuple((site, tuple(names)) for site, names in given)

        return cls(
            tuple(found["sites"]),
            int(found["n_objects"]),
            tuple(
                RowBlock(
                    b["number"], tuple(b["sites"]), b["size"], pairs(b["votes"]), pairs(b["clusters"]),
                    b["host"],
                )
                for b in found["blocks"]
            ),
            tuple(
                ColumnGroup(
                    g["number"], tuple(g["sites"]), tuple(g["votes"]), tuple(g["clusters"]), g["host"]
                )
                for g in found["groups"]
            ),
        )  # fmt: skip


def client(site: str) -> str:
    """Address of a site's client."""
    return f"client:{site}"


Cells = dict[tuple[str, str], NDArray[np.bool_]]  # by kind and name of a column: some of a site's rows
Claim = Callable[[str, Cells], Cells]  # of a site's contested cells those that have a label


@dataclass(frozen=True)
class Seating:
    """What the planner tells a site: the number of each object's block, and the cells to leave out."""

    blocks: NDArray[np.int64]
    silent: Cells


def make_plan(holdings: Mapping[str, Holding]) -> tuple[Plan, dict[str, NDArray[np.int64]]]:
    """The plan if no label is missing, and the number of the block of each object of each site."""
    found, seats = seat_sites(holdings, lambda _, cells: cells)
    return found, {site: seating.blocks for site, seating in seats.items()}


def seat_sites(holdings: Mapping[str, Holding], claim: Claim) -> tuple[Plan, dict[str, Seating]]:
    """The plan, and what each site is told beside it.

    Parameters
    ----------
    holdings : mapping from sites to Holding
    claim : callable
        Asks a site which of its contested cells have a label. Cells are contested that
        several sites hold; nothing else is asked.
    """
    names = tuple(sorted(holdings))
    sets, numbers, n_objects = _row_blocks(names, holdings)
    holders = [_holders(sites, holdings) for sites in sets]
    contested = {site: _contested(site, holdings[site], numbers[site], holders) for site in names}
    claims = {site: claim(site, cells) for site, cells in contested.items() if cells}
    awards = _award(holdings, claims)
    blocks = []
    for number, sites in enumerate(sets, start=1):
        counted: dict[str, dict[str, list[str]]] = {"votes": {}, "clusters": {}}
        for (kind, column), of_column in holders[number - 1].items():
            for site in of_column:
                cells = awards.get(site, {}).get((kind, column))
                if len(of_column) == 1 or (cells is not None and cells[numbers[site] == number].any()):
                    counted[kind].setdefault(site, []).append(column)
        votes, clusters = _sorted_pairs(counted["votes"]), _sorted_pairs(counted["clusters"])
        size = int((numbers[sites[0]] == number).sum())
        host = _block_host(sites, [s for s, _ in votes], [s for s, _ in clusters])
        blocks.append(RowBlock(number, sites, size, votes, clusters, host))
    found = Plan(names, n_objects, tuple(blocks), _column_groups(blocks))
    return found, {
        site: Seating(
            numbers[site],
            {column: cells & ~awards[site][column] for column, cells in contested[site].items()},
        )
        for site in names
    }


def _row_blocks(
    names: tuple[str, ...], holdings: Mapping[str, Holding]
) -> tuple[list[tuple[str, ...]], dict[str, NDArray[np.int64]], int]:
    """Sites of each block, the block of each object of each site, and the number of objects."""
    every = np.concatenate([holdings[name].ids for name in names])
    # With the index: that sorts by merging, and the ids of a site come in order.
    distinct, _, position = np.unique(every, return_index=True, return_inverse=True)
    edges = np.cumsum([0, *(len(holdings[name].ids) for name in names)])
    held = np.zeros((len(distinct), len(names)), dtype=bool)
    for i, (first, last) in enumerate(pairwise(edges)):
        held[position[first:last], i] = True
    block_of = _equal_rows(held)
    example = np.empty(block_of.max(initial=-1) + 1, dtype=np.int64)
    example[block_of] = np.arange(len(held))
    sets = [tuple(names[i] for i in np.flatnonzero(row)) for row in held[example]]
    order = sorted(range(len(sets)), key=lambda i: sets[i])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    number = rank[block_of]
    numbers = {
        name: number[position[first:last]]
        for name, (first, last) in zip(names, pairwise(edges), strict=True)
    }
    return [sets[i] for i in order], numbers, len(distinct)


def _equal_rows(held: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Numbers 0, 1, ... of the distinct rows, one per row; no sort of all rows is needed for that."""
    found = np.zeros(len(held), dtype=np.int64)
    for column in held.T:
        found = 2 * found + column
        used = np.bincount(found) > 0
        found = (np.cumsum(used) - 1)[found]
    return found


def _holders(
    sites: tuple[str, ...], holdings: Mapping[str, Holding]
) -> dict[tuple[str, str], list[str]]:
    """Sites of a block that hold each column, by kind and name of the column."""
    found: dict[tuple[str, str], list[str]] = {}
    for site in sites:
        for kind in ("votes", "clusters"):
            for column in getattr(holdings[site], kind):
                found.setdefault((kind, column), []).append(site)
    return dict(sorted(found.items()))


def _contested(
    site: str,
    holding: Holding,
    numbers: NDArray[np.int64],
    holders: Sequence[Mapping[tuple[str, str], list[str]]],
) -> Cells:
    """Cells of a site that another site holds too."""
    found = {}
    for kind in ("votes", "clusters"):
        for column in getattr(holding, kind):
            shared = [site in h.get((kind, column), ()) and len(h[kind, column]) > 1 for h in holders]
            cells = np.array([False, *shared])[numbers]
            if cells.any():
                found[kind, column] = cells
    return found


def _award(holdings: Mapping[str, Holding], claims: Mapping[str, Cells]) -> dict[str, Cells]:
    """Each claimed cell goes to the first site that claims it."""
    taken: dict[tuple[str, str], NDArray[np.bytes_]] = {}
    awards: dict[str, Cells] = {}
    for site in sorted(claims):
        awards[site] = {}
        for column, cells in claims[site].items():
            ids = holdings[site].ids
            gone = taken.get(column, ids[:0])
            mine = cells & ~np.isin(ids, gone)
            awards[site][column] = mine
            taken[column] = np.concatenate([gone, ids[mine]])
    return awards


def _sorted_pairs(counted: Mapping[str, list[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((site, tuple(sorted(columns))) for site, columns in sorted(counted.items()))


def _block_host(sites: tuple[str, ...], voters: list[str], labellers: list[str]) -> str:
    """The auxiliary server of a block: where no sum over a single site has to leave it."""
    if len(sites) == 1:
        return sites[0]
    for members in (voters, labellers):
        if len(members) == 1:
            return members[0]
    return SERVER


def _column_groups(blocks: Sequence[RowBlock]) -> tuple[ColumnGroup, ...]:
    holders: dict[tuple[str, str], set[str]] = {}
    for block in blocks:
        for kind, counted in (("votes", block.votes), ("clusters", block.clusters)):
            for site, columns in counted:
                for column in columns:
                    holders.setdefault((kind, column), set()).add(site)
    sets: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for (kind, column), sites in sorted(holders.items()):
        of_set = sets.setdefault(tuple(sorted(sites)), {"votes": [], "clusters": []})
        of_set[kind].append(column)
    return tuple(
        ColumnGroup(
            number,
            sites,
            tuple(columns["votes"]),
            tuple(columns["clusters"]),
            sites[0] if len(sites) == 1 else SERVER,
        )
        for number, (sites, columns) in enumerate(sorted(sets.items()), start=1)
    )


def _both_ways(a: str, b: str) -> list[tuple[str, str]]:
    return [(a, b), (b, a)]
