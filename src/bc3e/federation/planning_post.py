"""The planning as messages: hashed ids and columns go up, blocks come down.

Sites send their hashes in the order of the hashes, never in that of their rows. The order of the rows
can name objects, a table sorted by customer for example; that of keyed hashes is as good as drawn at
random by somebody who does not tell the server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bc3e.federation.kinds import KINDS
from bc3e.federation.ledger import Entry, Ledger
from bc3e.federation.messages import Message, decode, encode
from bc3e.federation.planning import SERVER, Cells, Holding, Plan, Seating, client, seat_sites
from bc3e.federation.roles import Arrays
from bc3e.federation.sites import Site, hashes_of, octets_of

Present = Callable[[str, str, str], NDArray[np.bool_]]  # labels that a site has in a column of a kind
Orders = dict[str, NDArray[np.intp]]  # rows of each site in the order of their hashes


def seat_by_post(
    sites: Sequence[Site], key: bytes, post: PlanningPost, present: Present
) -> tuple[Plan, dict[str, Seating]]:
    """Every site tells the server its hashed ids and columns, and is told its blocks."""
    holdings, orders = {}, {}
    for site in sites:
        told = site.holding(key, post.run_id)
        orders[site.name] = np.argsort(told.ids, kind="stable")
        ids = octets_of(told.ids[orders[site.name]])
        arrays = {"ids": ids, "columns": _json([told.votes, told.clusters])}
        read = post.up("holdings", site.name, arrays)
        votes, clusters = json.loads(read["columns"].tobytes())
        holdings[site.name] = Holding(hashes_of(read["ids"]), tuple(votes), tuple(clusters))

    def claim(site: str, cells: Cells) -> Cells:
        columns = list(cells)
        stacked = np.stack([cells[column] for column in columns]).astype(np.uint8)
        read = post.down("contest", site, {"columns": _json(columns), "cells": stacked})
        asked = [(kind, name) for kind, name in json.loads(read["columns"].tobytes())]
        labels = np.stack([present(site, kind, name)[orders[site]] for kind, name in asked])
        answer = post.up("claims", site, {"cells": read["cells"] & labels})["cells"]
        return {column: row.astype(bool) for column, row in zip(columns, answer, strict=True)}

    found, seats = seat_sites(holdings, claim)
    text = np.frombuffer(found.to_json().encode(), dtype=np.uint8)
    return Plan.from_json(text.tobytes().decode()), {
        name: _seated(post, name, seating, text, orders[name]) for name, seating in seats.items()
    }


def _seated(
    post: PlanningPost, name: str, seating: Seating, text: NDArray[np.uint8], order: NDArray[np.intp]
) -> Seating:
    """What a site is told of its seats, back in the order of its rows."""
    back = np.argsort(order)
    blocks = post.down("placement", name, {"blocks": seating.blocks, "plan": text})["blocks"]
    silent = seating.silent
    if silent:
        awards = {"cells": ~np.stack(list(silent.values())).astype(np.uint8) & 1}
        rows = post.down("awards", name, awards)["cells"]
        silent = {column: row[back] == 0 for column, row in zip(silent, rows, strict=True)}
    return Seating(blocks[back], silent)


def _json(value: object) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


class PlanningPost:
    """Carries the messages of the planning, encoded and entered in the ledger like all others."""

    def __init__(self, run_id: str) -> None:
        self.run_id, self.ledger = run_id, Ledger()
        self.transcript: list[Message] = []

    def up(self, kind: str, site: str, arrays: Arrays) -> Arrays:
        return self._carry(kind, client(site), SERVER, arrays)

    def down(self, kind: str, site: str, arrays: Arrays) -> Arrays:
        return self._carry(kind, SERVER, client(site), arrays)

    def _carry(self, kind: str, sender: str, recipient: str, arrays: Arrays) -> Arrays:
        message = Message(self.run_id, kind, sender, recipient, 0, 0, 0, 0, False, arrays)
        data = encode(message)
        self.ledger.add(Entry.of(message, len(data), final=False, revealed=False))
        read = decode(data, KINDS)
        self.transcript.append(read)
        return read.arrays
