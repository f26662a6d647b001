"""Anything as short text or a finite number: what a summary may hold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from bc3e.columns import plain_value

LABEL = 48  # longest label, id or column name, in characters
VALUE = 240  # longest value of a setting
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def text(value: Any, limit: int = LABEL) -> str:
    r"""A value as one line of printable text, cut where it is too long.

    >>> text("two\nlines"), text(3), text("x" * 99, limit=5)
    ('two lines', '3', 'xxxx…')
    """
    if hasattr(value, "as_py"):  # a scalar of pyarrow's
        value = value.as_py()
    found = value if isinstance(value, str) else str(plain_value(value))
    found = _UNPRINTABLE.sub(" ", found[: limit + 1])
    return found if len(found) <= limit else found[: limit - 1] + "…"


def number(value: Any) -> float | None:
    """A finite float, or None."""
    found = float(value)
    return found if math.isfinite(found) else None


def numbers(values: Iterable[Any]) -> list[float | None]:
    """Finite floats, None in place of others."""
    return [number(value) for value in values]
