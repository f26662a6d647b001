"""What a run is, as the coordinator proposes it and every site can read it before it takes part."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bc3e.errors import InputError
from bc3e.federation.engine.exchange import Patience
from bc3e.selection import CAUTIOUS

if TYPE_CHECKING:
    from bc3e.estimator import BC3E

NAME_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")


@dataclass(frozen=True)
class Job:
    """A run of the protocol, or a further attempt at one.

    Attributes
    ----------
    name : str
        What the coordinator calls it: the name of its folder.
    run : str
        Its id, 32 hexadecimal digits.
    attempt : int
        How often it was resumed before.
    sites : tuple of str
        All sites; the run needs every one of them.
    classes : list, optional
        Class names in order; by default those that the sites' votes name.
    masked, allow_two : bool
    model : mapping
        Parameters of :class:`bc3e.BC3E` that are not the default.
    total_evidence : float
    classifier_weights : mapping
    patience : Patience
    """

    name: str
    run: str
    attempt: int
    sites: tuple[str, ...]
    classes: tuple[Any, ...] | None = None
    masked: bool = True
    allow_two: bool = False
    model: Mapping[str, Any] = field(default_factory=dict)
    total_evidence: float = CAUTIOUS
    classifier_weights: Mapping[str, float] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        if not NAME_FORM.match(self.name):
            raise InputError(
                "name", f"{self.name!r} cannot name a run", "Use letters, digits, '_', '-'."
            )
        if not re.fullmatch(r"[0-9a-f]{32}", self.run):
            raise InputError("run", "its id is not 32 hexadecimal digits", "Start the run anew.")

    def again(self) -> Job:
        """The next attempt."""
        return replace(self, attempt=self.attempt + 1)

    def estimator(self) -> BC3E:
        """The model whose settings the run has."""
        from bc3e.estimator import BC3E

        try:
            return BC3E(**self.model)
        except TypeError as error:
            raise InputError("model", f"{error}", "See the parameters of BC3E.") from error

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Job:
        try:
            told: dict[str, Any] = json.loads(text)
            told["sites"] = tuple(told["sites"])
            told["classes"] = None if told["classes"] is None else tuple(told["classes"])
            told["patience"] = Patience(**told["patience"])
            return cls(**told)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError("job", "it cannot be read", "Use the same version of bc3e.") from error
