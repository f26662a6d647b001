"""``--fail-on``: figures of a run that must not be met."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bc3e.cli.errors import CommandError, fault

CONDITION = re.compile(r"([a-z][a-z0-9-]*)\s*(?:(<=|>=|<|>)\s*([-+.\deE]+)\s*(%?))?")


@dataclass(frozen=True)
class Threshold:
    """A condition such as ``changed>0.1``, or the name of a verdict such as ``drift``."""

    text: str
    name: str
    operator: str | None
    limit: float

    def holds(self, value: float) -> bool:
        """Whether the figure meets the condition."""
        if self.operator is None:
            return bool(value)
        if self.operator.startswith("<"):
            return value < self.limit or (self.operator == "<=" and value == self.limit)
        return value > self.limit or (self.operator == ">=" and value == self.limit)


def read_thresholds(
    given: Sequence[str] | None, figures: Sequence[str], verdicts: Sequence[str] = ()
) -> list[Threshold]:
    """Parse conditions and refuse names that the command does not know.

    Examples
    --------
    >>> read_thresholds(["changed>10%"], ["changed", "trust"])
    [Threshold(text='changed>10%', name='changed', operator='>', limit=0.1)]
    """
    items = [item.strip() for text in given or () for item in text.split(",") if item.strip()]
    return [_read(item, figures, verdicts) for item in items]


def _read(item: str, figures: Sequence[str], verdicts: Sequence[str]) -> Threshold:
    match = CONDITION.fullmatch(item)
    known = ", ".join([*verdicts, *(f"{name}<NUMBER or {name}>NUMBER" for name in figures)])
    if match is None or match[1] not in (*figures, *verdicts):
        raise fault("--fail-on", f"{item!r} is not known here", f"Use one of: {known}.")
    name, operator, number, percent = match.groups()
    if (operator is None) != (name in verdicts):
        raise fault("--fail-on", f"{item!r} cannot be checked", f"Use one of: {known}.")
    try:
        limit = float(number or 0) / (100 if percent else 1)
    except ValueError:
        raise fault(
            "--fail-on", f"{number!r} in {item!r} is not a number", "Write 0.1, or 10%."
        ) from None
    return Threshold(item, name, operator, limit)


def met(thresholds: Sequence[Threshold], figures: Mapping[str, float | None]) -> list[str]:
    """A line for each condition that holds."""
    lines = []
    for threshold in thresholds:
        value = figures.get(threshold.name)
        if value is None:
            raise CommandError(
                f"--fail-on: there is no {threshold.name!r} in this run. Leave the condition out."
            )
        if threshold.holds(value):
            lines.append(
                f"{threshold.text} holds"
                if threshold.operator is None
                else f"{threshold.text} holds: {threshold.name} is {value:.4g}"
            )
    return lines
