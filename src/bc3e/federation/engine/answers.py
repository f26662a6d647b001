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

# Their texts are written to be read by others: they hold no label, id or value.
SAFE = (CallRefused, InputError, KeyRefused, MaskingError, RunFailed, RunInterrupted)


def answered(work: Callable[[], bytes]) -> bytes:
    """Do what a call asks for; the answer, or the reason why there is none."""
    try:
        return b"A" + work()
    except SAFE as refusal:
        logger.warning("call refused: %s", refusal)
        return b"E" + str(refusal).encode()
    except Exception as error:
        logger.exception("a call failed")  # stays in this machine's own log
        return b"E" + f"{type(error).__name__}; the log of this machine says more".encode()


def read_answer(told: bytes, node: str) -> bytes:
    """What a machine answered, or :class:`CallRefused` with its reason."""
    if told[:1] == b"A":
        return told[1:]
    reason = told[1:501].decode(errors="replace") if told[:1] == b"E" else "its answer cannot be read"
    raise CallRefused(f"{node}: {reason}")
