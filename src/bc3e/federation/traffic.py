r"""How many messages an iteration takes, and how many bytes of numbers they carry.

With k classes and, for each row block b, n_b objects, q_b sweeps (at most five) and c_b sites that count
cluster labels and are not its auxiliary server themselves; for each column group g that
several sites share, s_g sites, m_g clusterings and R_g clusters in all of these together:

    messages = sum_b [2 + c_b (2 q_b + 2)] + sum_g 2 s_g

    bytes    = 8 sum_b [4 k + 9 + c_b ((2 q_b + 1) n_b k + 2 q_b + 3)]
             + 8 sum_g s_g (2 R_g k + m_g + 1) + sum_g s_g m_g

Masked numbers are as long as plain ones. A message has a header of 200
to 300 bytes besides, and more if sites have long names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bc3e.federation.planning import Plan


@dataclass(frozen=True)
class Traffic:
    """Messages, and bytes of the arrays in them."""

    messages: int
    numbers: int


def iteration_traffic(
    plan: Plan, n_classes: int, clusters: Mapping[str, int], sweeps: int | Mapping[int, int] = 5
) -> Traffic:
    """Messages of one EM iteration that leave a site or role.

    Parameters
    ----------
    plan : Plan
    n_classes : int
    clusters : mapping from names of clusterings to numbers of clusters
    sweeps : int or mapping from block numbers to int
        Sweeps of each row block: five, or fewer if all its objects come to rest before.

    Examples
    --------
    >>> import pandas as pd
    >>> from bc3e import federation
    >>> column = {name: pd.DataFrame({name: [0, 1, 1]}) for name in "abc"}
    >>> sites = [federation.Site(name, column[name], column[name]) for name in "abc"]
    >>> iteration_traffic(federation.plan(sites), 2, {"a": 2, "b": 2, "c": 2})
    Traffic(messages=38, numbers=2032)
    """
    messages = numbers = 0
    for block in plan.blocks:
        q = sweeps if isinstance(sweeps, int) else sweeps[block.number]
        away = sum(site != block.host for site in block.labellers)
        messages += 2 + away * (2 * q + 2)
        per_site = (2 * q + 1) * block.size * n_classes + 2 * q + 3
        numbers += 8 * (4 * n_classes + 9 + away * per_site)
    for group in plan.groups:
        if len(group.sites) < 2:
            continue
        rows, columns = sum(clusters[name] for name in group.clusters), len(group.clusters)
        if columns:
            messages += 2 * len(group.sites)
            numbers += len(group.sites) * (8 * (2 * rows * n_classes + columns + 1) + columns)
    return Traffic(messages, numbers)
