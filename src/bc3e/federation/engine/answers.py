"""Answers to calls: a refusal travels as its reason, never as a trace of what happened here."""

from __future__ import annotations

import logging
from collections.abc import Callable

from bc3e.errors import InputError
from bc3e.federation.engine.exchange import CallRefused
from bc3e.federation.keys import KeyRefused
from bc3e.federation.masking import MaskingError
from bc3e.federation.processes import RunFailed, RunInterrupted

logger = logging.getLogger("bc3e.federation")

# Their texts are written to be read by others: they hold no label, id or value. Those of InputError
# are for whoever holds the data, and may quote it.
SAFE = (CallRefused, KeyRefused, MaskingError, RunFailed, RunInterrupted)


def answered(work: Callable[[], bytes]) -> bytes:
    """Do what a call asks for; the answer, or the reason why there is none."""
    try:
        return b"A" + work()
    except (*SAFE, InputError) as refusal:
        logger.warning("call refused: %s", refusal)
        return b"E" + reason(refusal).encode()
    except Exception as error:
        logger.exception("a call failed")  # stays in this machine's own log
        return b"E" + reason(error).encode()


def reason(error: Exception) -> str:
    """What other machines may know of an error.

    >>> reason(InputError("votes", "unknown class 'ann'", "Add it to classes=."))
    'InputError (votes); the log of this machine says more'
    """
    if isinstance(error, SAFE):
        return str(error)
    argument = f" ({error.argument})" if isinstance(error, InputError) else ""
    return f"{type(error).__name__}{argument}; the log of this machine says more"


def read_answer(told: bytes, node: str) -> bytes:
    """What a machine answered, or :class:`CallRefused` with its reason."""
    if told[:1] == b"A":
        return told[1:]
    why = told[1:501].decode(errors="replace") if told[:1] == b"E" else "its answer cannot be read"
    raise CallRefused(f"{node}: {why}")
