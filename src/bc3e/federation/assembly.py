"""From a plan to hosts with roles in them: the same for every transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bc3e.federation.auxiliary_client import AuxiliaryClient
from bc3e.federation.auxiliary_server import AuxiliaryServer
from bc3e.federation.checkpoint import Checkpoints
from bc3e.federation.client import Client
from bc3e.federation.planning import SERVER, Plan
from bc3e.federation.roles import Keyring, Role, Run
from bc3e.federation.server import Server
from bc3e.federation.sites import SiteData
from bc3e.model.parameters import Rules

if TYPE_CHECKING:
    from bc3e.federation.keys import Identity


@dataclass(frozen=True)
class Seat:
    """What a site brings to a run: labels, the block of each object, who it is."""

    data: SiteData
    blocks: NDArray[np.int64]
    identity: Identity | None


def places(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Where roles live: all roles of a site together, every other role by itself."""
    found: dict[str, list[str]] = {}
    for address, host in plan.hosts.items():
        found.setdefault(address if host == SERVER else host, []).append(address)
    return {place: tuple(addresses) for place, addresses in found.items()}


def build_roles(
    addresses: Sequence[str],
    run: Run,
    *,
    seat: Seat | None = None,
    identities: Mapping[str, bytes] | None = None,
    rules: Rules | None = None,
) -> list[Role]:
    """The roles of one place."""
    keyring = None
    if seat is not None and seat.identity is not None and identities:
        keyring = Keyring(seat.identity, identities, run)
    roles: list[Role] = []
    for address in addresses:
        kind, _, rest = address.partition(":")
        if kind == "client":
            assert seat is not None
            roles.append(Client(seat.data, seat.blocks, run, keyring))
        elif kind == "auxiliary-server":
            roles.append(AuxiliaryServer(run.plan.blocks[int(rest) - 1], run, keyring))
        elif kind == "auxiliary-client":
            roles.append(AuxiliaryClient(run.plan.groups[int(rest) - 1], run))
        else:
            assert rules is not None
            roles.append(Server(run, rules))
    return roles


def keepers(plan: Plan) -> list[str]:
    """Addresses of the roles that have anything to keep: a client without clusterings has not."""
    silent = {f"client:{site}" for site in plan.sites if not any(plan.groups_of(site))}
    return [address for address in plan.hosts if address not in silent]


def resume(roles: Sequence[Role], checkpoints: Checkpoints, number: int) -> None:
    """Bring roles to the state after iteration `number`; -1 is the very beginning."""
    if number < 0:
        return
    for role in roles:
        if role.address in keepers(role.run.plan):
            role.restore(checkpoints.load(role.address, number))
        role.finished = number
