"""A command from groups of options: their fields become the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

import typer

from bc3e.cli.options import Running
from bc3e.cli.outputs import Outputs
from bc3e.cli.session import Session

Run = Callable[..., int]


class StopError(Exception):
    """The user or the system has asked to stop; `committed` tells whether files were finished."""

    def __init__(self, committed: bool) -> None:
        super().__init__("stopped")
        self.committed = committed


def add_command(app: typer.Typer, name: str, run: Run, groups: tuple[type, ...], examples: str) -> None:
    """Make ``run(session, *groups)`` a command.

    Parameters
    ----------
    app : Typer
    name : str
    run : callable
        Takes the session and one instance of each group; returns the exit code.
        Its docstring is the help.
    groups : tuple of dataclasses
        Their fields are the options, annotated for Typer.
    examples : str
        Shown below the help.
    """

    def call(ctx: typer.Context, **values: Any) -> None:
        running = Running(**{f.name: values[f.name] for f in fields(Running)})
        with Outputs(running.force) as outputs:
            session = Session(name, dict(values), _given(ctx), list(ctx.obj), running, outputs)
            parts = [group(**{f.name: values[f.name] for f in fields(group)}) for group in groups]
            try:
                code = run(session, *parts)
            except KeyboardInterrupt:
                raise StopError(outputs.committed) from None
        raise typer.Exit(code)

    parameters = [
        inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    ]
    parameters += [parameter for group in (*groups, Running) for parameter in _parameters(group)]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    call.__doc__ = run.__doc__
    app.command(name, epilog=examples)(call)


def _parameters(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=hints[f.name],
        )
        for f in fields(group)
    ]


def _given(ctx: typer.Context) -> frozenset[str]:
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    return frozenset(
        name for name, source in sources.items() if source is not None and source.name != "DEFAULT"
    )
