"""Which sums are masked, which may not be formed at all, and why."""

from __future__ import annotations

from dataclasses import dataclass

from bc3e.errors import InputError
from bc3e.federation.planning import ColumnGroup, Plan, RowBlock

FEWEST = 3  # sites in a sum that shows nobody's part
FEW = 4  # clusterings of shared objects that totals and answers alone may tell apart: measured for 3


@dataclass(frozen=True)
class Sum:
    """A sum over sites.

    Attributes
    ----------
    group : str
        Its name among all sums of the run.
    members : tuple of str
        Sites that add to it.
    masked : bool
        Parts travel masked.
    revealed : bool
        A part crosses a border and can be told apart: fewer than three sites add to the sum.
    """

    group: str
    members: tuple[str, ...]
    masked: bool
    revealed: bool


@dataclass(frozen=True)
class Policy:
    """How the sums of a plan are formed: masked or in the clear, and with whose consent."""

    plan: Plan
    masked: bool
    allow_two: bool

    def votes(self, block: RowBlock) -> Sum:
        return self._sum(f"votes:{block.number}", block.voters, block.host)

    def labels(self, block: RowBlock) -> Sum:
        return self._sum(f"labels:{block.number}", block.labellers, block.host)

    def columns(self, group: ColumnGroup) -> Sum:
        return self._sum(f"columns:{group.number}", group.sites, group.host)

    def reports(self) -> Sum:
        """Sums over the objects that single sites hold alone.

        They are neither per object nor per column, so they may be sent for fewer
        than three sites too, in the clear.
        """
        members = self.plan.private_sites
        masked = self.masked and len(members) >= FEWEST
        return Sum("reports", members, masked, revealed=not masked)

    def _sum(self, group: str, members: tuple[str, ...], host: str) -> Sum:
        stays = members in ((), (host,))
        masked = self.masked and not stays and len(members) > 1
        return Sum(group, members, masked, revealed=not stays and (len(members) < FEWEST or not masked))

    @property
    def needs_keys(self) -> bool:
        sums = [self.votes(block) for block in self.plan.blocks]
        sums += [self.labels(block) for block in self.plan.blocks]
        sums += [self.columns(group) for group in self.plan.groups if group.clusters]
        return any(found.masked for found in (*sums, self.reports()))

    def check(self) -> None:
        """Refuse a plan in which a masked run would show one site's part to another party."""
        if not self.masked or self.allow_two:
            return
        for block in self.plan.blocks:
            for noun, found in (("votes", self.votes(block)), ("clusters", self.labels(block))):
                if found.revealed:
                    raise _refusal(f"{noun} of {block.size} objects", found)
        for group in self.plan.groups:
            if group.clusters and self.columns(group).revealed:
                raise _refusal(f"clustering {group.clusters[0]!r}", self.columns(group))


def few_clusterings(plan: Plan) -> list[str]:
    """What to say of shared objects whose clusterings no mask can hide, one line per row block.

    Totals and answers of many objects are equations for few profiles:
    :mod:`bc3e.federation.one_total` solves them.
    """
    lines = []
    for block in plan.blocks:
        count = sum(len(columns) for _, columns in block.clusters)
        if len(block.labellers) > 1 and count <= FEW:
            lines.append(
                f"{block.address}: the {count} clusterings of its {block.size:,} objects may be told "
                "apart from totals and from answers, masked or not; more of them, or noise=, help"
            )
    return lines


def _refusal(what: str, found: Sum) -> InputError:
    members = " and ".join(repr(site) for site in found.members)
    return InputError(
        "sites",
        f"only {members} add up the {what}, and a sum over fewer than {FEWEST} sites shows a "
        "site's part to others",
        "Find a third site for it, leave these objects or columns out, or pass allow_two=True if "
        "all sites agree to that.",
    )
