"""Messages of the planning between machines: typed and checked like all others."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.federation.engine.exchange import CallRefused
from bc3e.federation.kinds import KINDS
from bc3e.federation.messages import Message, MessageRefused, decode, encode
from bc3e.federation.roles import Arrays


def write(run: str, kind: str, sender: str, recipient: str, arrays: Arrays) -> bytes:
    """A message of the planning, encoded."""
    return encode(Message(run, kind, sender, recipient, 0, 0, 0, 0, False, arrays))


def read(data: bytes, run: str, kind: str, sender: str, recipient: str) -> Arrays:
    """Arrays of a message that must be of this run, kind, sender and recipient."""
    try:
        found = decode(data, KINDS)
    except MessageRefused as refusal:
        raise CallRefused(f"message {kind!r} refused: {refusal.reason}") from refusal
    if (found.run, found.kind, found.sender, found.recipient) != (run, kind, sender, recipient):
        raise CallRefused(f"message {kind!r} refused: it is another message than the one asked for")
    return found.arrays


def as_octets(value: object) -> NDArray[np.uint8]:
    """A plain value as an array of bytes."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def as_value(octets: NDArray[np.uint8]) -> Any:
    """The plain value that :func:`as_octets` wrote."""
    return json.loads(octets.tobytes())
