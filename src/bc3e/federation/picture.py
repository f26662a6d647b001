"""A plan as text and as a picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from bc3e.federation.planning import SERVER, ColumnGroup, Plan, RowBlock, client
from bc3e.federation.privacy import FEWEST, few_clusterings
from bc3e.summary import Section, Summary

BOX, GAP, HIGH, MARGIN, LABEL = 148, 22, 46, 18, 150
LEVELS = (
    ("server", "#44546a", "mean, variance, delta2"),
    ("auxiliary servers", "#2f6f8f", "posteriors of a row block"),
    ("clients", "#7a5195", "labels of a site"),
    ("auxiliary clients", "#b0632e", "profiles of a column group"),
)
LEVEL_GAP = 74


@dataclass(frozen=True)
class Description:
    """Who plays which role: ``print`` it, save the picture, or show it in a notebook."""

    plan: Plan

    def summary(self) -> Summary:
        """Row blocks and column groups as tables."""
        blocks = tuple(
            (
                block.address,
                f"{block.size:,}",
                ", ".join(block.sites),
                block.host,
                _parts(block.voters, block.host),
                _parts(block.labellers, block.host),
            )
            for block in self.plan.blocks
        )
        groups = tuple(
            (
                group.address if group.clusters else "none needed",
                ", ".join((*group.votes, *group.clusters)),
                ", ".join(group.sites),
                group.host if group.clusters else "-",
                _parts(group.sites, group.host) if group.clusters else "-",
            )
            for group in self.plan.groups
        )
        heads = ("role", "objects", "sites", "played by", "sum of votes", "sums of labels")
        more = ("role", "columns", "sites", "played by", "sums of counts")
        return Summary((Section("Row blocks", heads, blocks), Section("Column groups", more, groups)))

    def __str__(self) -> str:
        crossing = sum(edge.crosses for edge in self.plan.edges)
        head = (
            f"{len(self.plan.sites)} sites, {self.plan.n_objects:,} objects, "
            f"{len(self.plan.edges)} message edges, {crossing} of them across borders"
        )
        return "\n".join([head, str(self.summary()), *few_clusterings(self.plan)])

    __repr__ = __str__

    @property
    def svg(self) -> str:
        """The graph of roles and messages."""
        return draw(self.plan)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg


def _parts(members: Sequence[str], host: str) -> str:
    """What a sum is, privacy-wise."""
    if not members:
        return "none"
    if tuple(members) == (host,):
        return "stays inside"
    if len(members) < FEWEST:
        return f"of {len(members)}: allow_two"
    return f"of {len(members)}, masked"


def draw(plan: Plan) -> str:
    """The graph as SVG: one level per kind of role, a line for each pair that talks."""
    groups = [group for group in plan.groups if group.clusters]
    rows: list[list[tuple[str, str, str]]] = [
        [(SERVER, "server", f"{plan.n_objects:,} objects in all")],
        [_block_text(block) for block in plan.blocks],
        [(client(site), site, _site_text(plan, site)) for site in plan.sites],
        [_group_text(group) for group in groups],
    ]
    widest = max(len(row) for row in rows)
    width = LABEL + 2 * MARGIN + widest * BOX + (widest - 1) * GAP
    height = 2 * MARGIN + 4 * HIGH + 3 * LEVEL_GAP + 24
    place: dict[str, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        span = len(row) * BOX + (len(row) - 1) * GAP
        left = LABEL + MARGIN + (width - LABEL - 2 * MARGIN - span) / 2
        for i, (address, _, _) in enumerate(row):
            place[address] = (left + i * (BOX + GAP), MARGIN + level * (HIGH + LEVEL_GAP))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" role="img">',
        "<title>Roles and messages of the federation</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_lines(plan, place),
        *_boxes(rows, place),
        f'<text x="{MARGIN}" y="{height - MARGIN + 2}" font-size="11" fill="#555">Each line is a pair '
        "of edges, one per direction. Solid: crosses a site's border; dotted: stays inside a site or on "
        "the server's host.</text>",
        "</svg>",
    ]
    return "\n".join(parts)


def _lines(plan: Plan, place: dict[str, tuple[float, float]]) -> list[str]:
    found = []
    for edge in plan.edges:
        upper, lower = edge.sender, edge.recipient
        if place[upper][1] > place[lower][1]:
            continue  # the other direction of the same line
        (x1, y1), (x2, y2) = place[upper], place[lower]
        style = "" if edge.crosses else ' stroke-dasharray="2 4"'
        found.append(
            f'<line x1="{x1 + BOX / 2:.1f}" y1="{y1 + HIGH}" x2="{x2 + BOX / 2:.1f}" y2="{y2}" '
            f'stroke="#8a8f98" stroke-width="1.4"{style}/>'
        )
    return found


def _boxes(rows: list[list[tuple[str, str, str]]], place: dict[str, tuple[float, float]]) -> list[str]:
    found = []
    for (name, colour, about), row in zip(LEVELS, rows, strict=True):
        if not row:
            continue
        y = place[row[0][0]][1]
        found.append(
            f'<text x="{MARGIN}" y="{y + 18}" font-size="12" font-weight="bold" fill="{colour}">{name}'
            f'</text><text x="{MARGIN}" y="{y + 33}" font-size="10" fill="#555">{about}</text>'
        )
        for address, title, text in row:
            x, y = place[address]
            found.append(
                f'<g><title>{escape(address)}</title><rect x="{x:.1f}" y="{y}" width="{BOX}" '
                f'height="{HIGH}" rx="7" fill="{colour}"/>{_line(x, y + 19, title, 13, True)}'
                f"{_line(x, y + 36, text, 10.5, False)}</g>"
            )
    return found


def _line(x: float, y: float, text: str, size: float, bold: bool) -> str:
    longest = int(BOX / (size * 0.56))
    shown = text if len(text) <= longest else text[: longest - 1] + "…"
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x + BOX / 2:.1f}" y="{y}" font-size="{size}"{weight} fill="#ffffff" '
        f'text-anchor="middle">{escape(shown)}</text>'
    )


def _block_text(block: RowBlock) -> tuple[str, str, str]:
    at = "" if block.host == SERVER else f" at {block.host}"
    return block.address, f"rows {block.number}{at}", f"{block.size:,} objects"


def _group_text(group: ColumnGroup) -> tuple[str, str, str]:
    at = "" if group.host == SERVER else f" at {group.host}"
    return group.address, f"columns {group.number}{at}", ", ".join(group.clusters)


def _site_text(plan: Plan, site: str) -> str:
    size = sum(block.size for block in plan.blocks_of(site))
    columns = {
        c for b in plan.blocks for s, names in (*b.votes, *b.clusters) if s == site for c in names
    }
    return f"{size:,} objects, {len(columns)} columns"
