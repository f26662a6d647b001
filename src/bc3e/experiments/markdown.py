"""Numbers and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bc3e.experiments.scores import Difference, Row

TITLES = {
    "myntra": "Myntra",
    "arxiv": "arXiv",
    "pricerunner": "PriceRunner",
    "generated": "generated titles",
    "pima": "Pima",
    "heart": "Heart",
    "wine": "Wine",
}


def points(value: float) -> str:
    """A difference in points, with its sign.

    >>> points(1.239), points(-0.001)
    ('+1.24', '0.00')
    """
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def anchor(row: Row) -> str:
    """The title of a row, which can be linked to by its key."""
    return f'<a id="{row.key}"></a>{row.title}'


def cell(row: Row, method: str) -> str:
    """Mean and standard deviation of an accuracy."""
    return f"{row.mean(method):.2f} ± {row.deviation(method):.2f}"


def interval(found: Difference) -> str:
    """A mean difference with its interval."""
    return f"{points(found.mean)} ({points(found.low)} to {points(found.high)})"


def listed(names: Sequence[str]) -> str:
    """Names as English has them.

    >>> listed(["a", "b", "c"]), listed([])
    ('a, b and c', 'none')
    """
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
