"""How many clusterings, and with how many clusters? Measured on the development sources only.

OMP_NUM_THREADS=1 python -m benchmarks.cluster_rule      # about ten minutes; a line per setting
python -m benchmarks.cluster_rule "5 clusterings" ...    # these settings and the default only

With two threads on a busy machine it took most of an hour: k-means waits for its threads.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from bc3e import BC3E, ClusterEnsemble, ensembles
from benchmarks.accuracy.cases import domains, load, prepare, specs

OTHER = {"no-signal", "misleading", "spoilt", "missing", "large"}


@dataclass(frozen=True)
class Setting:
    """One rule for building the ensemble."""

    name: str
    clusterers: object = "kmeans"
    count: int = ensembles.CLUSTERINGS
    finest: int = ensembles.FINEST


SETTINGS = (
    Setting("default"),
    Setting("5 clusterings", count=5),
    Setting("20 clusterings", count=20),
    Setting("finest: 3 clusters per class", finest=3),
    Setting("finest: 6 clusters per class", finest=6),
    Setting("finest: 20 clusters per class", finest=20),
    Setting("k-means and subspaces", ("kmeans", "subspace")),
    Setting("subspaces", ("subspace",)),
    Setting("projections", ("projection",)),
    Setting("mixtures", ("mixture",)),
    Setting("agglomerative", ("agglomerative",)),
    Setting("spherical", ("spherical",)),
    Setting("all kinds in turn", tuple(ensembles.KINDS), count=12),
)


def gain(data: object, case: object, setting: Setting) -> float:
    """Points of accuracy over the soft vote."""
    rows, k = len(case.truth), case.n_classes
    ensembles.FINEST = setting.finest
    sizes = ensembles.spread_of_clusters(rows, k, setting.count)
    names = setting.clusterers if isinstance(setting.clusterers, str) else list(setting.clusterers)
    made = ClusterEnsemble(names, n_clusterings=setting.count, n_clusters=sizes, random_state=0)
    clusters = made.fit_predict(data.target)
    answer = BC3E(classes=range(k), random_state=0).fit(case.votes, clusters).labels_
    votes = np.mean([v if v.ndim == 2 else np.eye(k)[v] for v in case.votes], axis=0)
    return 100 * float(np.mean(answer == case.truth) - np.mean(votes.argmax(axis=1) == case.truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", nargs="*", help="all by default")
    parser.add_argument("--split", default="development")
    asked = parser.parse_args()
    named = {setting.name: setting for setting in SETTINGS}
    settings = [named[name] for name in dict.fromkeys(["default", *(asked.settings or named)])]
    wanted = [spec for spec in specs(asked.split) if not spec.tags & OTHER]
    prepare(wanted)
    gains: dict[str, list[float]] = {setting.name: [] for setting in settings}
    families = []
    for spec in wanted:
        data, case = domains(spec), load(spec)
        families.append(spec.family)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # mixtures that stop early
            for setting in settings:
                gains[setting.name].append(gain(data, case, setting))
    table = Table(title=f"{len(wanted)} cases of {len(set(families))} sources: gain over the soft vote")
    for heading in ("ensemble", "mean gain", "mean over sources", "losing > 0.5", "worst"):
        table.add_column(heading, justify="left" if heading == "ensemble" else "right")
    for name, found in gains.items():
        each = np.array(found)
        by_source = np.mean([each[np.array(families) == f].mean() for f in sorted(set(families))])
        table.add_row(
            name,
            f"{each.mean():+.2f}",
            f"{by_source:+.2f}",
            f"{np.mean(each < -0.5):.0%}",
            f"{each.min():.1f}",
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
