"""Options in a TOML file: one section per command, one key per option."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from bc3e.cli.errors import CommandError, explain_os, fault, shown

NOT_SAVED = ("config", "save_config", "help")


def load_config(ctx: typer.Context, value: str | None) -> str | None:
    """Callback of ``--config``: options of the file become the defaults of this run."""
    if value is not None and not ctx.resilient_parsing:
        section = read_section(value, str(ctx.info_name))
        parameters = {str(p.name): p for p in ctx.command.params if p.name not in NOT_SAVED}
        ctx.default_map = {
            name: coerced(value, name, given, parameters[name])
            for name, given in known_options(value, section, list(parameters)).items()
        }
    return value


def read_section(path: str, command: str) -> dict[str, Any]:
    """The options of one command."""
    import tomllib

    where = f"--config {path}"
    try:
        content = tomllib.loads(Path(path).read_bytes().decode())
    except OSError as error:
        raise CommandError(explain_os(error, where)) from None
    except UnicodeDecodeError:
        raise fault(where, "the file is not UTF-8 text", "Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise fault(
            where, f"not TOML: {error}", "Correct the line, or write it with --save-config."
        ) from None
    section = content.get(command)
    if not isinstance(section, dict):
        known = ", ".join(f"[{name}]" for name, part in content.items() if isinstance(part, dict))
        raise fault(
            where,
            f"there is no section [{command}] (found: {known or 'none'})",
            f"Put the options below a line [{command}].",
        )
    return section


def known_options(path: str, section: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """The section with names as Python writes them; unknown ones are refused."""
    found = {}
    for key, given in section.items():
        name = key.replace("-", "_")
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known are {', '.join(names)}."
            raise fault(f"--config {path}", f"unknown option {key!r}", hint)
        found[name] = given
    return found


def coerced(path: str, name: str, given: Any, parameter: Any) -> Any:
    """A TOML value as the command line would have given it."""
    where = f"--config {path}, {name}"
    several = bool(getattr(parameter, "multiple", False))
    flag = bool(getattr(parameter, "is_flag", False))
    if isinstance(given, list):
        if not all(isinstance(item, str | int | float) for item in given):
            raise fault(where, "a nested list", "Write a list of texts or numbers.")
        words = [str(item) for item in given]
        return words if several else ",".join(words)
    if isinstance(given, bool) != flag or not isinstance(given, str | int | float):
        remedy = "Write true or false." if flag else "Write a text, a number or a list."
        raise fault(where, f"{shown(given)} does not fit", remedy)
    if flag:
        return given
    return [str(given)] if several else str(given)


def config_text(command: str, params: Mapping[str, Any], given: frozenset[str]) -> str:
    """A TOML file with the options of a run; those left at their default are comments.

    Examples
    --------
    >>> print(config_text("refine", {"votes": ["clf_*"], "seed": 0}, frozenset({"votes"})), end="")
    [refine]
    votes = ["clf_*"]
    # seed = 0
    """
    lines = [f"[{command}]"]
    for name, value in params.items():
        if name in NOT_SAVED:
            continue
        if value is None or value == []:
            lines.append(f"# {name} =")
        else:
            lines.append(f"{'' if name in given else '# '}{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    escaped = "".join(_escaped(c) for c in str(value))
    return f'"{escaped}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    code = ord(character)
    return f"\\u{code:04X}" if code < 32 or code == 127 else character
