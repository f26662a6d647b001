"""Draw trust against gain, one dot per case of the accuracy harness.

python docs/figures/trust.py            # scores the default on all cases, some minutes
python docs/figures/trust.py rows.json  # takes the rows that benchmarks.accuracy.run --out wrote
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs" / "images" / "trust.svg"
COLOURS = {"ordinary": "#0072B2", "spoilt": "#E69F00", "no-signal": "#009E73", "misleading": "#CC79A7"}


def scored() -> list[dict[str, Any]]:
    """Rows of the default on every development and check case."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.accuracy.cases import specs
    from benchmarks.accuracy.scores import score_all

    return [asdict(row) for row in score_all(specs("all"), ["BC3E"])]


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]]
    rows = [row for path in paths for row in json.loads(path.read_text())] if paths else scored()
    rows = [row for row in rows if row["method"] == "BC3E"]
    plt.rcParams.update({"svg.hashsalt": "bc3e", "font.size": 10, "svg.fonttype": "none"})
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), sharey=True, constrained_layout=True)
    for axis, split in zip(axes, ("development", "check"), strict=True):
        here = [row for row in rows if row["split"] == split]
        trust, gain = (np.array([row[name] for row in here]) for name in ("trust", "gain"))
        for group, colour in COLOURS.items():
            members = np.array([row["group"] == group for row in here])
            axis.scatter(trust[members], gain[members], s=18, c=colour, alpha=0.8, label=group, lw=0)
        axis.axhline(0.0, color="#888888", lw=0.8)
        axis.set_yscale("symlog", linthresh=1.0)
        axis.set_xscale("symlog", linthresh=0.01)
        axis.set_xlim(-0.001, 1.0)
        axis.set_xticks([0, 0.01, 0.1, 1.0], ["0", "1%", "10%", "100%"])
        axis.set_yticks([-1, 0, 1, 3, 10, 30], ["-1", "0", "+1", "+3", "+10", "+30"])
        axis.minorticks_off()
        axis.set_xlabel("trust_: labels decided by the clusterings")
        axis.set_title(f"{split}: rank correlation {spearmanr(trust, gain).statistic:.2f}")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("gain over the soft vote, points")
    names = axes[0].get_legend_handles_labels()
    figure.legend(*names, frameon=False, loc="outside lower center", ncols=len(COLOURS))
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    main()
