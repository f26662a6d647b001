"""Draw the roles of the paper's six sites for the documentation: ``python docs/figures/federation.py``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bc3e import federation

# Which parts of the rows and which groups of columns each site holds.
SIX = {
    "C1": ("1", "1"),
    "C2": ("12", "23"),
    "C3": ("23", "1"),
    "C4": ("3", "23"),
    "C5": ("4", "12"),
    "C6": ("4", "3"),
}
OUT = Path(__file__).resolve().parents[1] / "images" / "federation-six-sites.svg"


def main() -> None:
    sites = []
    for name, (rows, groups) in SIX.items():
        ids = [f"{row}-{i}" for row in rows for i in range(250)]
        votes = pd.DataFrame({f"classifier {g}": [0] * len(ids) for g in groups}, index=ids)
        clusters = pd.DataFrame({f"clustering {g}": [0] * len(ids) for g in groups}, index=ids)
        sites.append(federation.Site(name, votes, clusters))
    federation.plan(sites).describe().save(OUT)


if __name__ == "__main__":
    main()
