"""What the results page says of accuracy against privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bc3e.experiments import figures, privacy
from bc3e.experiments.markdown import TITLES, listed, table
from bc3e.experiments.reproduce import Part
from bc3e.experiments.scores import Exposure, exposures


def told(parts: list[Part], images: dict[str, bytes]) -> dict[str, Any]:
    """Tables and verdicts for the template; figures go into `images`."""
    rows = exposures(parts[0])
    images["privacy"] = figures.privacy(rows, TITLES)
    central = {row.family: row.accuracy for row in rows if row.split == "central"}
    split = [row for row in rows if row.split != "central"]
    moved = max(abs(row.accuracy - central[row.family]) for row in split)
    masked = [row for row in split if row.messages == "masked"]
    beyond = max(a["success"] - a["ideal"] for row in masked for a in row.attacks.values())
    return {
        "runs": len(parts[0].units) // len(rows),
        "objects": privacy.OBJECTS,
        "columns": privacy.COLUMNS,
        "table": _exposure_table(rows),
        "moved": moved,
        "weighed": _weighed(parts[0], central),
        "same": moved < 0.005,
        "beyond": beyond,
        "nothing_beyond": beyond < 1e-9,
        "worse": _more_hidden(split),
    }


def _exposure_table(rows: Sequence[Exposure]) -> str:
    lines = []
    for row in rows:
        cells: list[str] = []
        for attack in ("votes", "clusters", "membership"):
            found = row.attacks.get(attack)
            if found is not None:
                cells.append(f"{found['success']:.2f} ({found['ideal']:.2f}, {found['chance']:.2f})")
                cells.append(f"{found['perplexity']:.2f} of {found['chance_perplexity']:.2f}")
            elif row.split == "central" and attack != "membership":
                cells += ["1.00", "1.00"]
            else:
                cells += ["", ""]
        key = f"privacy-{row.family}-{row.split}-{row.sites}-{row.messages}"
        name = f'<a id="{key}"></a>{TITLES[row.family]}'
        messages = "" if row.split == "central" else row.messages
        lines.append((name, row.split, str(row.sites), messages, f"{row.accuracy:.2f}", *cells))
    return table(
        (
            "data",
            "split",
            "sites",
            "messages",
            "accuracy",
            "votes: attack (ideal, chance)",
            "perplexity",
            "cluster labels: attack (ideal, chance)",
            "perplexity",
            "membership: attack (ideal, chance)",
            "perplexity",
        ),
        lines,
    )


def _more_hidden(rows: Sequence[Exposure]) -> dict[str, str]:
    """For votes and clusterings: mean share of the uncertainty that is left, plain and masked."""
    found = {}
    for attack in ("votes", "clusters"):
        for messages in privacy.MESSAGES:
            kept = [
                k for row in rows if row.messages == messages and (k := row.kept(attack)) is not None
            ]
            found[f"{attack}_{messages}"] = f"{100 * sum(kept) / len(kept):.0f}%" if kept else "-"
    return found


def _weighed(part: Part, central: Mapping[str, float]) -> str:
    """Accuracy in one place with classifiers weighed by their agreement, beside that without."""
    told = []
    for family, accuracy in central.items():
        found = [
            result["weighed"]
            for unit, result in zip(part.units, part.results, strict=True)
            if unit.arguments["name"] == family and unit.arguments["split"] == "central"
        ]
        told.append(f"{TITLES[family]} {sum(found) / len(found):.2f} instead of {accuracy:.2f}")
    return listed(told)
