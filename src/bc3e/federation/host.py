"""A host: the roles that live in one place, behind one door.

Messages between roles of one host never leave it. All others are encoded, numbered, written
to the ledger and handed to whoever carries them; what comes in passes the role's inbox first.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection, Iterable, Sequence

from bc3e.federation.checkpoint import Checkpoints
from bc3e.federation.kinds import KINDS
from bc3e.federation.ledger import Entry, Ledger
from bc3e.federation.messages import Inbox, Message, MessageRefused, encode
from bc3e.federation.privacy import Policy
from bc3e.federation.roles import Letter, Role, Run

logger = logging.getLogger("bc3e.federation")

# What a place keeps of messages between its own roles in a record: profiles that it knows in the end.
HELD = frozenset({"codes", "profiles"})
Parcel = tuple[str, bytes]  # address of the recipient, encoded message


class Host:
    """Drives the roles of one place.

    Parameters
    ----------
    roles : sequence of Role
    run : Run
    ledger : Ledger
    checkpoints : Checkpoints, optional
        Where states go after each iteration.
    record : list of Message, optional
        Receives every message that is let in, for the audit, and of messages between the roles of this
        host those that it holds on to.
    """

    def __init__(
        self,
        roles: Sequence[Role],
        run: Run,
        ledger: Ledger,
        checkpoints: Checkpoints | None = None,
        record: list[Message] | None = None,
    ) -> None:
        self.roles = {role.address: role for role in roles}
        self.run, self.ledger, self.checkpoints, self.record = run, ledger, checkpoints, record
        self.inboxes = {
            address: Inbox(address, run.id, KINDS, run.plan.neighbours(address))
            for address in self.roles
        }
        for inbox in self.inboxes.values():
            inbox.require_attempt(run.attempt)
        self._sequences: dict[tuple[str, str], int] = {}
        self._inside: deque[Message] = deque()
        self._waiting: list[Message] = []
        self._fixed: set[str] = set()  # roles whose lasting part is on the disk
        self._saved = {address: role.finished for address, role in self.roles.items()}

    @property
    def done(self) -> bool:
        return all(role.done for role in self.roles.values())

    def start(self) -> list[Parcel]:
        """First messages of all roles."""
        parcels: list[Parcel] = []
        for role in list(self.roles.values()):
            parcels += self._post(role.start())
        return parcels + self._work()

    def receive(
        self, data: bytes, recipient: str, residents: Collection[str] | None = None
    ) -> list[Parcel]:
        """Let a message in, and return what the roles have to say to that.

        A message that the inbox or the role refuses is logged and changes nothing. `residents` are
        the addresses that live where it came from, if that is known.
        """
        inbox = self.inboxes.get(recipient)
        if inbox is None:
            logger.warning("message refused: there is no role %s here", recipient)
            return []
        try:
            message = inbox.accept(data, residents)
        except MessageRefused:
            return []
        fault = self.roles[recipient].fault(message)
        if fault is not None:
            logger.warning("message to %s refused: %s", recipient, fault)
            return []
        if self.record is not None:
            self.record.append(message)
        self._inside.append(message)
        return self._work()

    def send(self, letters: Iterable[Letter]) -> list[Parcel]:
        """Post letters of a role that acts by itself."""
        return self._post(letters) + self._work()

    def _work(self) -> list[Parcel]:
        """Handle what is there, and what becomes possible by it, until nothing is left."""
        parcels: list[Parcel] = []
        while self._inside:
            message = self._inside.popleft()
            role = self.roles[message.recipient]
            if not role.ready_for(message):
                self._waiting.append(message)
                continue
            letters = role.handle(message)
            self.keep(role)
            parcels += self._post(letters)
            self._inside.extend(self._waiting)
            self._waiting.clear()
        return parcels

    def keep(self, role: Role) -> None:
        """Save the state of a role that has finished another iteration."""
        if self.checkpoints is not None and role.finished > self._saved[role.address]:
            state = role.state()
            fixed = {name: state.pop(name) for name in role.fixed if name in state}
            first = role.address not in self._fixed
            self.checkpoints.save(role.address, role.finished, state, fixed if fixed and first else None)
            self._fixed.add(role.address)
            self._saved[role.address] = role.finished

    def _post(self, letters: Iterable[Letter]) -> list[Parcel]:
        parcels = []
        for letter in letters:
            inside = letter.recipient in self.roles
            way = (letter.sender, letter.recipient)
            number = 0 if inside else self._sequences.get(way, -1) + 1
            message = Message(
                self.run.id, letter.kind, letter.sender, letter.recipient, letter.iteration,
                letter.sweep, self.run.attempt, number, letter.masked, letter.arrays, letter.text,
            )  # fmt: skip
            if inside:
                self._inside.append(message)
                if self.record is not None and message.kind in HELD:
                    self.record.append(message)
                continue
            self._sequences[way] = number
            data = encode(message)
            entry = Entry.of(
                message, len(data),
                final=message.iteration > self.run.settings.max_iter,
                revealed=_is_revealed(message, self.run.policy),
            )  # fmt: skip
            self.ledger.add(entry)
            logger.debug(
                "%s to %s: %s, iteration %d, sweep %d, %d bytes", letter.sender, letter.recipient,
                letter.kind, letter.iteration, letter.sweep, len(data),
            )  # fmt: skip
            parcels.append((letter.recipient, data))
        return parcels


def _is_revealed(message: Message, policy: Policy) -> bool:
    """Whether a part of a sum can be told apart although it is masked: the sum has two members."""
    if not message.masked:
        return False
    role, _, number = message.recipient.partition(":")
    if role == "auxiliary-client":
        return policy.columns(policy.plan.groups[int(number) - 1]).revealed
    if role == "auxiliary-server":
        block = policy.plan.blocks[int(number) - 1]
        total = policy.votes(block) if message.kind == "votes" else policy.labels(block)
        return total.revealed
    return False
