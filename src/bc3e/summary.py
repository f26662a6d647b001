"""A fitted model in one table, for a terminal and for a notebook."""

from __future__ import annotations

import io
from dataclasses import dataclass
from html import escape

from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True)
class Section:
    """A titled table of text cells."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Summary:
    """Tables that print well: ``print(summary)``, or the last line of a notebook cell."""

    sections: tuple[Section, ...]

    def __str__(self) -> str:
        console = Console(file=io.StringIO(), width=100, no_color=True, highlight=False)
        for section in self.sections:
            table = Table(title=section.title, title_justify="left", title_style="bold")
            for i, name in enumerate(section.header):
                table.add_column(name, justify="left" if i == 0 else "right")
            for row in section.rows:
                table.add_row(*(Text(cell, overflow="fold") for cell in row))
            console.print(table)
        out = console.file
        assert isinstance(out, io.StringIO)
        return out.getvalue().rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = []
        for section in self.sections:
            head = "".join(f"<th>{escape(name)}</th>" for name in section.header)
            body = "".join(
                "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
                for row in section.rows
            )
            parts.append(
                f"<table><caption>{escape(section.title)}</caption>"
                f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            )
        return "\n".join(parts)
