"""Messages between roles, all names in one place, and the inbox that guards a role.

:mod:`bc3e.federation.envelope` has the types and :mod:`bc3e.federation.codec` the binary form.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from bc3e.federation.codec import MAX_MESSAGE_BYTES, decode, encode
from bc3e.federation.envelope import ArraySpec, Kind, Message, MessageRefused

__all__ = ["ArraySpec", "Inbox", "Kind", "Message", "MessageRefused", "decode", "encode"]

logger = logging.getLogger("bc3e.federation")


class Inbox:
    """The door of one role: lets a message in once, in order, from a known peer of this run.

    Parameters
    ----------
    address : str
        Address of the role.
    run : str
    kinds : mapping from names to Kind
        What this role may be sent.
    peers : iterable of str
        Addresses that may send to it.
    max_bytes : int
        Longest message looked at.

    Notes
    -----
    Each sender numbers its messages to this role 0, 1, 2, ... and begins again with 0
    in a later attempt. Anything else is a replay, or a message got lost. A message that is
    refused leaves one line in the log "bc3e.federation" and changes nothing.
    """

    def __init__(
        self,
        address: str,
        run: str,
        kinds: Mapping[str, Kind],
        peers: Iterable[str],
        *,
        max_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        self.address, self.run, self.kinds, self.max_bytes = address, run, kinds, max_bytes
        self.peers = frozenset(peers)
        self._attempt = 0
        self._last: dict[str, tuple[int, int]] = {}

    def accept(self, data: bytes, residents: Collection[str] | None = None) -> Message:
        """Decode and let in, or log the reason and raise :class:`MessageRefused`.

        `residents` are the addresses that live where the message came from, if the carrier knows
        who that was: nobody can then write in the name of another.
        """
        try:
            message = decode(data, self.kinds, max_bytes=self.max_bytes)
            if residents is not None and message.sender not in residents:
                raise MessageRefused("its sender does not live where it came from")
            self._check(message)
        except MessageRefused as refusal:
            logger.warning("message to %s refused: %s", self.address, refusal.reason)
            raise
        self._last[message.sender] = (message.attempt, message.sequence)
        return message

    def _check(self, message: Message) -> None:
        if message.run != self.run:
            raise MessageRefused("it belongs to another run")
        if message.recipient != self.address:
            raise MessageRefused("it is meant for another recipient")
        if message.sender not in self.peers:
            raise MessageRefused("the sender is unknown")
        attempt, sequence = self._last.get(message.sender, (self._attempt, -1))
        if message.attempt < max(attempt, self._attempt):
            raise MessageRefused("it belongs to an older attempt")
        expected = sequence + 1 if message.attempt == attempt else 0
        if message.sequence < expected:
            raise MessageRefused("it was seen before")
        if message.sequence > expected:
            raise MessageRefused("it is out of order: an earlier message is missing")

    def require_attempt(self, attempt: int) -> None:
        """From now on refuse messages of attempts before this one."""
        self._attempt = max(self._attempt, attempt)

    def export(self) -> dict[str, Any]:
        """What was let in, as plain values for a checkpoint."""
        last = {sender: list(seen) for sender, seen in sorted(self._last.items())}
        return {"attempt": self._attempt, "last": last}

    def restore(self, exported: Mapping[str, Any]) -> None:
        """Take up the state of an :meth:`export`."""
        self._attempt = int(exported["attempt"])
        self._last = {
            str(sender): (int(seen[0]), int(seen[1])) for sender, seen in exported["last"].items()
        }
