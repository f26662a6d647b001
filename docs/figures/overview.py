"""Draw the picture of the README: votes, clusterings, refined labels on a drifted target."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import bc3e

CENTRES = np.array([[-2.2, -1.2], [2.2, -1.2], [0.0, 2.4]])
COLOURS = np.array(["#0072B2", "#E69F00", "#009E73"])  # told apart by colour-blind readers
OUT = Path(__file__).resolve().parents[1] / "images" / "overview.svg"


def main() -> None:
    source, labels = make_blobs([60, 60, 60], centers=CENTRES, cluster_std=0.9, random_state=0)
    target, truth = make_blobs([200, 200, 200], centers=CENTRES, cluster_std=0.75, random_state=1)
    target = target @ np.array([[0.75, 0.66], [-0.66, 0.75]]) + np.array([0.4, -0.3])  # turned and moved
    models = (GaussianNB(), LogisticRegression(), DecisionTreeClassifier(max_depth=4, random_state=0))
    votes = [model.fit(source, labels).predict_proba(target) for model in models]
    clusters = np.stack(
        [KMeans(k, n_init=2, random_state=k).fit_predict(target) for k in (3, 4, 5, 6, 8, 10)], axis=1
    )
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    soft = np.mean(votes, axis=0).argmax(axis=1)

    plt.rcParams.update({"svg.hashsalt": "bc3e", "font.size": 10, "svg.fonttype": "none"})
    figure, axes = plt.subplots(1, 4, figsize=(12.5, 3.4), constrained_layout=True)
    panels = (
        ("1  labelled source: train classifiers", source, COLOURS[labels], None),
        (f"2  target has drifted: soft vote {np.mean(soft == truth):.0%}", target, COLOURS[soft], soft != truth),
        ("3  clusterings of the target (one of 6)", target, plt.get_cmap("Greys")(0.3 + 0.12 * clusters[:, 3]), None),
        (f"4  bc3e combines 2 and 3: {np.mean(model.labels_ == truth):.0%}", target, COLOURS[model.labels_], model.labels_ != truth),
    )  # fmt: skip
    for axis, (title, points, colours, wrong) in zip(axes, panels, strict=True):
        axis.scatter(*points.T, c=colours, s=9, linewidths=0)
        if wrong is not None:
            axis.scatter(*points[wrong].T, s=22, facecolors="none", edgecolors="#B00020", linewidths=0.7)
        axis.set(title=title, xticks=[], yticks=[], xlim=(-5.5, 5.5), ylim=(-5.5, 5.5), aspect="equal")
        axis.title.set_fontsize(10)
    figure.supxlabel("each dot is an object; red rings are wrong labels", fontsize=9)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    main()
