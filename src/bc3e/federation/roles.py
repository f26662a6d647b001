"""What all roles share: letters, sums over sites, and how a role is driven.

A role knows no transport. It is handed messages one at a time and answers with letters; whoever
drives it delivers them. The order in which messages of different senders arrive does not matter:
sums are formed in the order of names, and only once they are complete.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bc3e.federation.defaults import Settings
from bc3e.federation.kinds import MEANINGS, WAYS
from bc3e.federation.messages import Message
from bc3e.federation.planning import Plan
from bc3e.federation.privacy import Policy, Sum

if TYPE_CHECKING:
    from bc3e.federation.keys import Identity
    from bc3e.federation.masking import Masker

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Letter:
    """A message before it is numbered and sent."""

    kind: str
    sender: str
    recipient: str
    arrays: Arrays = field(default_factory=dict)
    text: Mapping[str, str] = field(default_factory=dict)
    iteration: int = 0
    sweep: int = 0
    masked: bool = False


@dataclass(frozen=True)
class Run:
    """What every role of a run knows."""

    id: str
    attempt: int
    plan: Plan
    policy: Policy
    settings: Settings


class Keyring:
    """A site's keys: its identity, its masking key of this attempt, and the peers' once they came.

    ``seconds`` adds up the time spent on masks, for the benchmark.
    """

    def __init__(self, identity: Identity, identities: Mapping[str, bytes], run: Run) -> None:
        from bc3e.federation.keys import MaskingKey

        self.identity, self.identities, self.run = identity, identities, run
        self.key = MaskingKey.generate()
        self.used: Mapping[str, Any] | None = None
        self.masker: Masker | None = None
        self.seconds = 0.0

    def signed(self) -> Arrays:
        """The masking key for the others."""
        key = self.identity.sign_key(self.key, self.run.id)
        return {"public": _octets(key.public), "signature": _octets(key.signature)}

    def meet(self, arrays: Arrays) -> None:
        """Check the keys of all sites (in the order of names) and agree on pair secrets."""
        from bc3e.federation.keys import SignedKey
        from bc3e.federation.masking import Masker

        began = time.perf_counter()
        peers = {
            site: SignedKey(site, self.run.id, public.tobytes(), signature.tobytes())
            for site, public, signature in zip(
                self.run.plan.sites, arrays["public"], arrays["signature"], strict=True
            )
        }
        self.masker = Masker(
            self.identity.site, self.run.id, self.key, peers, self.identities,
            allow_two=self.run.policy.allow_two,
        )  # fmt: skip
        if self.used is not None:
            self.masker.restore(self.used)
        self.seconds += time.perf_counter() - began

    def mask(self, total: Sum, kind: str, arrays: Arrays, iteration: int, sweep: int) -> Arrays:
        """Parts of a sum, hidden from everybody but the sum."""
        from bc3e.federation.masking import MaskTag

        assert self.masker is not None, "keys come before sums"
        began = time.perf_counter()
        hidden = {}
        for name, values in arrays.items():
            tag = MaskTag(self.run.id, f"{kind}.{name}", iteration, sweep, self.run.attempt, total.group)
            bits = MEANINGS[kind].bits
            hidden[name] = self.masker.mask(values, tag, total.members, bits=bits)
        self.seconds += time.perf_counter() - began
        return hidden


def _octets(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)


class Unmasking:
    """Time spent on taking masks off, for the benchmark."""

    seconds = 0.0


def add_up(total: Sum, parts: Mapping[str, Message]) -> dict[str, NDArray[np.float64]]:
    """The sums of all arrays over the parts of all sites (by site name)."""
    messages = [parts[site] for site in sorted(parts)]
    if tuple(sorted(parts)) != total.members or any(m.masked != total.masked for m in messages):
        raise ValueError(f"sum {total.group!r}: parts are missing, foreign, or masked differently.")
    names = messages[0].arrays
    if not total.masked:
        return {name: _ordered_sum([m.arrays[name] for m in messages]) for name in names}
    from bc3e.federation.masking import unmask_sum

    began = time.perf_counter()
    bits = MEANINGS[messages[0].kind].bits
    sums = {name: unmask_sum([m.arrays[name] for m in messages], bits=bits) for name in names}
    Unmasking.seconds += time.perf_counter() - began
    return sums


def _ordered_sum(parts: list[NDArray[Any]]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = parts[0].astype(np.float64)
    for part in parts[1:]:
        total += part
    return total


class Role(ABC):
    """A role of the protocol, driven by messages.

    Attributes
    ----------
    address : str
    finished : int
        Iterations after which the role was last in order: what it may go on from.
    done : bool
        Nothing more is expected of it.
    fixed : frozenset of str
        Parts of its state that are the same in every saved state.
    """

    fixed: frozenset[str] = frozenset()

    def __init__(self, address: str, run: Run) -> None:
        self.address, self.run = address, run
        self.finished = -1
        self.done = False
        self._parts: dict[str, dict[str, Message]] = {}

    @abstractmethod
    def start(self) -> list[Letter]:
        """What the role says first."""

    @abstractmethod
    def handle(self, message: Message) -> list[Letter]:
        """Answer a message."""

    def fault(self, message: Message) -> str | None:
        """Why a message must not be handled, in words fit for a log; None if there is no reason."""
        ways = WAYS.get(message.kind, frozenset())
        if (_role(message.sender), _role(self.address)) not in ways:
            return "its sender may not send this kind"
        if message.sender in self._parts.get(message.kind, {}):
            return "there is one of this kind from this sender already"
        masked, shapes = self.expected(message)
        if message.masked != masked:
            return "it is masked and should not be" if message.masked else "it should be masked"
        arrays = message.arrays
        if any(name not in arrays or arrays[name].shape != shape for name, shape in shapes.items()):
            return "an array does not have the shape that belongs here"
        return None

    def expected(self, message: Message) -> tuple[bool, dict[str, tuple[int, ...]]]:
        """Whether a message should be masked, and what shapes some of its arrays should have."""
        return False, {}

    def ready_for(self, message: Message) -> bool:
        """Whether the message can be handled now; else it waits until others have come."""
        return True

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Arrays and plain values that the role needs to go on from here."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a saved state."""

    def collect(self, message: Message, senders: Iterable[str]) -> dict[str, Message] | None:
        """Parts of a sum by sender, once all are there."""
        parts = self._parts.setdefault(message.kind, {})
        parts[message.sender] = message
        if set(parts) != set(senders):
            return None
        return self._parts.pop(message.kind)


def _role(address: str) -> str:
    return address.partition(":")[0]


def site_of(address: str) -> str:
    """Site of a client's address."""
    return address.removeprefix("client:")


def by_site(parts: Mapping[str, Message]) -> dict[str, Message]:
    """Messages of clients under the names of their sites."""
    return {site_of(sender): message for sender, message in parts.items()}
