"""Errors that say which argument, where in it, what was found and what to do."""

from __future__ import annotations


def _message(argument: str, place: str, found: str, remedy: str) -> str:
    where = f"{argument}, {place}" if place else argument
    return f"{where}: {found}. {remedy}"


class InputError(ValueError):
    """A value that cannot be used.

    Parameters
    ----------
    argument : str
        Name of the argument as the caller wrote it.
    found : str
        What is wrong with it.
    remedy : str
        What the caller can do.
    place : str
        Column and row, if the problem has a place.
    """

    def __init__(self, argument: str, found: str, remedy: str, place: str = "") -> None:
        super().__init__(_message(argument, place, found, remedy))
        self.argument, self.found, self.remedy, self.place = argument, found, remedy, place

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        return type(self), (self.argument, self.found, self.remedy, self.place)


class InputTypeError(InputError, TypeError):
    """A value of a type that cannot be used; a ValueError and a TypeError."""
