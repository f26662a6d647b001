"""Every kind of message of the protocol: what it may hold, and what it can reveal."""

from __future__ import annotations

from dataclasses import dataclass

from bc3e.federation.messages import ArraySpec, Kind

OBJECTS, CLASSES, ROWS, COLUMNS, STRENGTHS = 1 << 26, 1 << 12, 1 << 20, 1 << 14, 64
SITES, NAMES = 1 << 10, 1 << 22


@dataclass(frozen=True)
class Meaning:
    """What a kind of message is for.

    Attributes
    ----------
    stage : {"plan", "setup", "learn", "answer"}
        When it is sent; only "learn" comes once per iteration.
    plain : str
        What its reader can learn from one that is not masked.
    masked : str
        What the readers of all masked parts of the sum can learn together; empty if the
        kind is never masked.
    bits : int
        Binary digits after the point when it is masked. Fixed beforehand: per-object sums are
        small and afford many, sums over objects grow with their number.
    """

    stage: str
    plain: str
    masked: str = ""
    bits: int = 30


def _array(dtype: str, *shape: int, maskable: bool = False, optional: bool = False) -> ArraySpec:
    return ArraySpec(dtype, shape, maskable=maskable, optional=optional)


KINDS: dict[str, Kind] = {
    # Before the run: who has what.
    "holdings": Kind({"ids": _array("uint8", OBJECTS, 16), "columns": _array("uint8", NAMES)}),
    "contest": Kind({"columns": _array("uint8", NAMES), "cells": _array("uint8", COLUMNS, OBJECTS)}),
    "claims": Kind({"cells": _array("uint8", COLUMNS, OBJECTS)}),
    "awards": Kind({"cells": _array("uint8", COLUMNS, OBJECTS)}),
    "placement": Kind({"blocks": _array("int64", OBJECTS), "plan": _array("uint8", NAMES)}),
    # Once, before the first iteration.
    "key": Kind({"public": _array("uint8", 32), "signature": _array("uint8", 64)}),
    "keys": Kind({"public": _array("uint8", SITES, 32), "signature": _array("uint8", SITES, 64)}),
    "clusters": Kind({"names": _array("uint8", ROWS, 16), "sizes": _array("int64", COLUMNS)}),
    "codes": Kind({"codes": _array("int64", ROWS), "sizes": _array("int64", COLUMNS)}),
    "votes": Kind(
        {
            "ballots": _array("float64", OBJECTS, CLASSES, maskable=True),
            "winners": _array("float64", OBJECTS, CLASSES, maskable=True, optional=True),
            "given": _array("float64", OBJECTS, CLASSES, maskable=True, optional=True),
        }
    ),
    "question": Kind({"exponent": _array("float64", 1)}, {"about": 16}),
    "begin": Kind({"exponent": _array("float64", 1)}),
    "responsibilities": Kind({"shares": _array("float64", OBJECTS, CLASSES)}),
    "start_counts": Kind({"counts": _array("float64", ROWS, CLASSES, maskable=True)}),
    "start_totals": Kind({"counts": _array("float64", ROWS, CLASSES)}),
    "gains": Kind({"sums": _array("float64", 2, COLUMNS, STRENGTHS, maskable=True)}),
    "ready": Kind({"informative": _array("float64", 2, maskable=True)}),
    "weights": Kind({"weight": _array("float64", 1), "equal": _array("float64", 1)}),
    "presence": Kind({"weight": _array("float64", OBJECTS, maskable=True)}),
    # Every iteration.
    "parameters": Kind(
        {
            "mean": _array("float64", CLASSES),
            "variance": _array("float64", CLASSES),
            "scalars": _array("float64", 2),
            "control": _array("int64", 4),
        }
    ),
    "tendency": Kind({"means": _array("float64", OBJECTS, CLASSES), "control": _array("int64", 2)}),
    "shares": Kind({"shares": _array("float64", OBJECTS, CLASSES, maskable=True)}),
    "settled": Kind({"means": _array("float64", OBJECTS, CLASSES), "control": _array("int64", 2)}),
    "evidence": Kind({"bound": _array("float64", 1, maskable=True)}),
    "counts": Kind({"counts": _array("float64", ROWS, CLASSES, maskable=True)}),
    "profiles": Kind(
        {
            "profiles": _array("float64", ROWS, CLASSES),
            "log_prior": _array("float64", COLUMNS),
            "informative": _array("uint8", COLUMNS),
            "version": _array("int64", 1),
        }
    ),
    "report": Kind({"values": _array("float64", 3 + 2 * CLASSES, maskable=True)}),
    # Once, after the last iteration.
    "finish": Kind({"exponent": _array("float64", 1), "classes": _array("float64", CLASSES)}),
    "answer": Kind({"probabilities": _array("float64", OBJECTS, CLASSES)}),
}

_TOTALS = "only the total over the sites of the sum"
# With few clusterings in a sum, its total at a known tendency takes only so many values, and can be
# taken apart: docs/method-privacy.md has the attack and how far it goes.
_PARTED = "the total over the sites of the sum, from which few clusterings can be told apart"
_RETURNED = "refined tendencies of the reader's objects, from which few clusterings can be told apart"
MEANINGS: dict[str, Meaning] = {
    "holdings": Meaning("plan", "how many objects and which columns; equal ids, not the ids"),
    "contest": Meaning("plan", "which of the reader's columns others have for its objects"),
    "claims": Meaning("plan", "which labels of columns that several sites hold are missing"),
    "awards": Meaning("plan", "for which objects an earlier site has a label of the column"),
    "placement": Meaning("plan", "which sites share how many of the reader's objects"),
    "key": Meaning("setup", "nothing: a public key"),
    "keys": Meaning("setup", "nothing: public keys"),
    "clusters": Meaning("setup", "how many clusters a column has; equal names, not the names"),
    "codes": Meaning("setup", "how many clusters the column has at all sites together"),
    "votes": Meaning("setup", "every vote of a site with one classifier", _TOTALS, 44),
    "question": Meaning("setup", "nothing"),
    "begin": Meaning("setup", "how confident votes are compared with how often they agree"),
    "responsibilities": Meaning("setup", "the summed votes of each object over all sites"),
    "start_counts": Meaning("setup", "votes per cluster of one site", _TOTALS, 36),
    "start_totals": Meaning("setup", "votes per cluster over all sites of the column"),
    "gains": Meaning("setup", "how well one site's clusters predict votes", _TOTALS),
    "ready": Meaning("setup", "how many columns predict votes", _TOTALS),
    "weights": Meaning("setup", "how many columns of all sites predict votes"),
    "presence": Meaning("setup", "which labels a site misses", _TOTALS, 44),
    "parameters": Meaning("learn", "class mean, class variance and delta2"),
    "tendency": Meaning("learn", _RETURNED),
    "shares": Meaning("learn", "the clustering of a site with one, up to names", _PARTED, 44),
    "settled": Meaning("learn", _RETURNED),
    "evidence": Meaning("learn", "fit of one site's clusters, a single number", _TOTALS),
    "counts": Meaning("learn", "expected class counts per cluster of one site", _TOTALS, 36),
    "profiles": Meaning("learn", "class profiles of clusters the reader has itself"),
    "report": Meaning("learn", "sums over the objects of a block", "sums over objects of all sites"),
    "finish": Meaning("answer", "how confident answers are, how often all votes choose each class"),
    "answer": Meaning(
        "answer", "the result for the reader's objects, from which few clusterings can be told apart"
    ),
}

_CLIENT, _AUXILIARY_SERVER, _AUXILIARY_CLIENT, _SERVER = (
    "client",
    "auxiliary-server",
    "auxiliary-client",
    "server",
)
# Which role may send a kind to which: anything else is refused.
WAYS: dict[str, frozenset[tuple[str, str]]] = {
    kind: frozenset(ways)
    for ways, kinds in (
        ([(_CLIENT, _SERVER)], ("holdings", "claims", "key")),
        ([(_SERVER, _CLIENT)], ("contest", "awards", "placement", "keys")),
        ([(_CLIENT, _AUXILIARY_CLIENT)], ("clusters", "start_counts", "gains", "counts")),
        ([(_AUXILIARY_CLIENT, _CLIENT)], ("codes", "start_totals", "profiles")),
        ([(_CLIENT, _AUXILIARY_SERVER)], ("votes", "ready", "presence", "shares", "evidence")),
        ([(_AUXILIARY_SERVER, _CLIENT)], ("responsibilities", "tendency", "settled", "answer")),
        ([(_SERVER, _AUXILIARY_SERVER)], ("question", "begin", "parameters", "finish")),
        ([(_SERVER, _AUXILIARY_SERVER), (_AUXILIARY_SERVER, _CLIENT)], ("weights",)),
        ([(_AUXILIARY_SERVER, _SERVER)], ("report",)),
    )
    for kind in kinds
}
