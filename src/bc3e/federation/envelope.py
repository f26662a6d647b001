"""The typed message that roles exchange, and what each kind of message may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


class MessageRefused(ValueError):  # noqa: N818 - the name says what happened to the message
    """A message that is not let in.

    Attributes
    ----------
    reason : str
        Fit for a log: it never holds a value, an object id or text of the message.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class ArraySpec:
    """What an array of a message may be.

    Attributes
    ----------
    dtype : str
        "float64", "uint64", "int64" or "uint8".
    max_shape : tuple of int
        Largest extent of each dimension; an array has exactly these many dimensions.
    maskable : bool
        In a masked message the array holds masked words, so its dtype is uint64.
    finite : bool
        Floating-point values must be finite.
    optional : bool
        The message may come without it.
    """

    dtype: str
    max_shape: tuple[int, ...]
    maskable: bool = False
    finite: bool = True
    optional: bool = False


@dataclass(frozen=True)
class Kind:
    """A registered kind of message: what it may hold.

    Attributes
    ----------
    arrays : mapping from names to ArraySpec
    text : mapping from names to the largest number of UTF-8 bytes
        Every text of the mapping must be there; it may be empty.
    """

    arrays: Mapping[str, ArraySpec] = field(default_factory=dict)
    text: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Message:
    """One message from one role to another.

    Attributes
    ----------
    run : str
        Id of the run, 32 hexadecimal digits.
    kind : str
        Name of a registered :class:`Kind`.
    sender, recipient : str
        Addresses of roles, such as "client:bank-a" or "server".
    iteration, sweep : int
        Where in the schedule the message belongs.
    attempt : int
        How often the run was resumed before.
    sequence : int
        0, 1, 2, ... for the messages of this sender to this recipient in this attempt.
    masked : bool
    arrays : mapping from names to arrays
        float64, uint64, int64 or uint8; those of a decoded message are read-only.
    text : mapping from names to short strings
    """

    run: str
    kind: str
    sender: str
    recipient: str
    iteration: int
    sweep: int
    attempt: int
    sequence: int
    masked: bool
    arrays: Mapping[str, Array] = field(default_factory=dict)
    text: Mapping[str, str] = field(default_factory=dict)
