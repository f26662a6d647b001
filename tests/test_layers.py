"""The library does not know the command line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import bc3e

HOME = Path(bc3e.__file__).parent
COMMAND_LINE = HOME / "cli"
LIBRARY = sorted(p for p in HOME.rglob("*.py") if COMMAND_LINE not in p.parents)


def imported(code: str, package: str) -> Iterator[str]:
    """Modules, and names in them, that a module of a package imports, wherever it does so."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{source}.{alias.name}" for alias in node.names)


def of_command_line(code: str, package: str = "bc3e") -> list[str]:
    return [name for name in imported(code, package) if f"{name}.".startswith("bc3e.cli.")]


@pytest.mark.parametrize("path", LIBRARY, ids=[str(path.relative_to(HOME)) for path in LIBRARY])
def test_no_import_of_the_command_line(path: Path) -> None:
    package = ".".join(["bc3e", *path.relative_to(HOME).parent.parts])
    assert of_command_line(path.read_text(encoding="utf-8"), package) == []


@pytest.mark.parametrize(
    ("code", "package"),
    [
        ("import bc3e.cli", "bc3e"),
        ("import bc3e.cli.errors as errors", "bc3e"),
        ("from bc3e import cli", "bc3e"),
        ("from bc3e.cli.errors import fault", "bc3e"),
        ("def late():\n    from bc3e.cli import errors", "bc3e"),
        ("from . import cli", "bc3e"),
        ("from .cli import errors", "bc3e"),
        ("from ...cli.errors import fault", "bc3e.engines.spark"),
    ],
)
def test_every_way_to_import_it_is_seen(code: str, package: str) -> None:
    assert of_command_line(code, package)


def test_other_names_are_not_taken_for_it() -> None:
    assert not of_command_line("import bc3e.client\nfrom bc3e.federation import client, cli\nimport cli")
