"""The summary: its figures are those of the fit, whatever the input."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score
from sklearn.naive_bayes import GaussianNB

import bc3e
from bc3e.comparison import compare
from bc3e.intervals import wilson
from bc3e.report import render, summarize
from bc3e.report.association import explained
from tests.generation import HOSTILE, planted_table, random_input


@pytest.fixture(scope="module")
def planted() -> Any:
    votes, clusters, truth = planted_table(0, n=800, vote_noise=0.55)
    votes = votes.astype(float)
    votes[::7, 1] = np.nan
    votes[5] = np.nan
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    return model, votes, clusters, truth, summarize(model, votes=votes, clusters=clusters, truth=truth)


def test_figures_are_those_of_the_fit(planted: Any) -> None:
    model, votes, _, _, found = planted
    soft = np.array(
        [np.bincount(row[~np.isnan(row)].astype(int), minlength=3).argmax() for row in votes]
    )
    voted = ~np.isnan(votes).all(axis=1)
    assert found["changed"]["objects"] == np.sum((soft != model.labels_) & voted) > 0
    assert found["changed"]["without_votes"] == 1
    assert found["trust"]["overall"] == model.trust_
    assert sorted(row["trust"] for row in found["trust"]["clusterings"]) == pytest.approx(
        sorted(model.clusterer_trust_)
    )
    for row in found["shares"]:
        assert row["after"] == pytest.approx(np.mean(model.labels_ == int(row["name"])))
        assert row["before"] == pytest.approx(np.mean(soft[voted] == int(row["name"])))
    assert sum(move["objects"] for move in found["moves"]) == found["changed"]["objects"]
    assert found["learning"]["bounds"] == model.lower_bounds_.tolist()
    missing = {row["name"]: row["missing"] for row in found["missing"]["columns"]}
    assert missing["classifier_1"] == np.isnan(votes[:, 1]).sum()
    assert found["missing"]["without_votes"] == 1
    p = model.probabilities_
    assert found["entropy"]["mean_after"] == pytest.approx(-(p * np.log(p)).sum(axis=1).mean())
    assert sum(found["entropy"]["after"]) == pytest.approx(1.0)


def test_accuracy_is_that_of_compare(planted: Any) -> None:
    model, votes, clusters, truth, found = planted
    table = compare(votes, clusters, truth, methods={"SoftVote": bc3e.rivals.SoftVote(), "BC3E": model})
    assert found["truth"]["refined"]["accuracy"] == pytest.approx(table["BC3E"].accuracy)
    assert found["truth"]["soft_vote"]["accuracy"] == pytest.approx(
        table["SoftVote"].accuracy, abs=1 / 800
    )
    gain = found["truth"]["gain"]
    assert gain["low"] < gain["gain"] < gain["high"]
    assert gain["low"] == pytest.approx(table["BC3E"].gain_low, abs=0.01)
    assert found["verdict"]["tone"] == "better"
    assert f"{100 * gain['gain']:.1f} points gained" in found["verdict"]["sentence"]
    refined = found["truth"]["reliability"]["refined"]
    assert sum(one["objects"] for one in refined["bins"]) == 800
    confidence, right = model.probabilities_.max(axis=1), model.labels_ == truth
    one = next(one for one in refined["bins"] if 0.6 <= one["confidence"] < 0.7)
    inside = (confidence >= 0.6) & (confidence < 0.7)
    assert one["right"] == pytest.approx(right[inside].mean())
    assert one["interval"] == pytest.approx(wilson(right[inside].sum(), inside.sum()))


def test_objects_that_changed_most_say_who_said_what(planted: Any) -> None:
    model, votes, clusters, _, found = planted
    assert found["changed_most"]
    moved = [row["moved"] for row in found["changed_most"]]
    assert moved == sorted(moved, reverse=True)
    for row in found["changed_most"]:
        i = int(row["id"])
        assert row["after"] == str(model.labels_[i]) != row["before"]
        assert row["confidence_after"] == pytest.approx(model.probabilities_[i].max())
        said = [None if np.isnan(v) else str(int(v)) for v in votes[i]]
        assert [vote["label"] for vote in row["votes"]] == said
        assert {c["name"]: c["label"] for c in row["clusters"]} == {
            f"clustering_{m}": str(c) for m, c in enumerate(clusters[i])
        }
        same = (np.nan_to_num(votes, nan=-1) == np.nan_to_num(votes[i], nan=-1)).all(axis=1) & (
            clusters == clusters[i]
        ).all(axis=1)
        assert row["alike"] == same.sum()
        profiles = model.parameters_.cluster_profiles
        sided = sum(
            p[int(row["after"]), np.unique(clusters[:, m]).searchsorted(clusters[i, m])]
            > p[int(row["before"]), np.unique(clusters[:, m]).searchsorted(clusters[i, m])]
            for m, p in enumerate(profiles)
        )
        assert row["sided"] == sided


def test_soft_labels_and_hard_labels_give_the_same_figures(planted: Any) -> None:
    """One-hot probabilities are the same votes; objects are then no longer grouped."""
    _, votes, clusters, truth, found = planted
    soft = [
        np.where(np.isnan(v)[:, None], np.nan, np.eye(3)[np.nan_to_num(v).astype(int)]) for v in votes.T
    ]
    other = bc3e.BC3E(random_state=0, classes=[0, 1, 2]).fit(soft, clusters)
    again = summarize(other, votes=soft, clusters=clusters, truth=truth)
    assert again["n_patterns"] == 800 > found["n_patterns"]
    for part in ("changed", "shares", "moves", "missing", "truth", "agreement"):
        assert (
            json.dumps(again[part], sort_keys=True)[:200]
            == json.dumps(found[part], sort_keys=True)[:200]
        ), part
    assert again["entropy"]["mean_after"] == pytest.approx(found["entropy"]["mean_after"], abs=1e-6)


@pytest.mark.parametrize("seed", range(2 * len(HOSTILE)))
def test_every_odd_input_has_a_page(seed: int) -> None:
    """One object, one class, nothing but gaps: a summary in plain JSON and a page."""
    given = random_input(seed)
    model = bc3e.BC3E(random_state=0, classes=given.classes).fit(given.votes, given.clusters)
    found = summarize(model, votes=given.votes, clusters=given.clusters)
    page = render(json.loads(json.dumps(found, allow_nan=False)))
    assert page == render(found)
    assert page.count("<svg") >= 2


def test_without_votes_and_without_clusters() -> None:
    votes, clusters, truth = planted_table(1, n=200)
    grouped = bc3e.BC3E(n_classes=3, random_state=0).fit(None, clusters)
    found = summarize(grouped, clusters=clusters, truth=truth)
    assert found["verdict"]["sentence"].startswith("There were no votes")
    assert found["truth"]["gain"] is None
    assert "soft vote" not in render(found).split('<h2 id="picture">')[0]
    voted = bc3e.BC3E().fit(votes)
    assert "no clusterings" in summarize(voted, votes=votes)["verdict"]["sentence"]
    noise = np.random.default_rng(0).integers(4, size=(200, 3))
    ignored = bc3e.BC3E().fit(votes, noise)
    assert (
        "No clustering predicted the votes"
        in summarize(ignored, votes=votes, clusters=noise)["verdict"]["sentence"]
    )


def test_without_the_labels_of_the_fit(planted: Any) -> None:
    """What the model knows by itself: shares, but no objects and no counts."""
    model, *_, found = planted
    alone = summarize(model)
    assert alone["changed"]["objects"] is None
    assert alone["changed"]["share"] == pytest.approx(found["changed"]["share"], abs=2 / 800)
    assert alone["trust"]["overall"] == found["trust"]["overall"]
    assert alone["changed_most"] == []
    assert alone["missing"] is None
    page = render(json.loads(json.dumps(alone, allow_nan=False)))
    assert f"The clusterings changed {alone['changed']['share']:.1%} of 800 labels" in page
    assert "model.report(votes, clusters)" in page


def test_labels_of_another_fit_are_refused(planted: Any) -> None:
    model, votes, clusters, truth, _ = planted
    with pytest.raises(bc3e.InputError, match="700 objects, but the fit had 800"):
        summarize(model, votes=votes[:700], clusters=clusters[:700])
    with pytest.raises(
        bc3e.InputError, match=r"votes, column 'classifier_0', row \d+: not a label of the fit"
    ):
        summarize(model, votes=votes[::-1], clusters=clusters[::-1])
    with pytest.raises(bc3e.InputError, match="truth: given without the labels"):
        summarize(model, truth=truth)
    with pytest.raises(bc3e.InputError, match="ids: 3 ids for 800 objects"):
        summarize(model, votes=votes, clusters=clusters, ids=[1, 2, 3])
    with pytest.raises(bc3e.InputTypeError, match="drift: a list"):
        summarize(model, drift=[1])
    with pytest.raises(bc3e.InputTypeError, match="model: a GaussianNB"):
        summarize(GaussianNB())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["pandas", "index", "polars", "arrow", "numpy", "list"])
def test_ids_of_any_kind(kind: str) -> None:
    votes, clusters, _ = planted_table(0, n=300, vote_noise=0.55)
    names = [f"id-{i}" for i in range(300)]
    frame: Any = pd.DataFrame(votes, index=names)
    model = bc3e.BC3E(evidence_weight=0.5).fit(frame, pd.DataFrame(clusters, index=names))
    ids = {
        "pandas": pd.Series(names, index=range(300, 0, -1)), "index": None, "polars": pl.Series(names),
        "arrow": pl.Series(names).to_arrow(), "numpy": np.array(names), "list": names,
    }[kind]  # fmt: skip
    found = summarize(model, votes=frame, clusters=pd.DataFrame(clusters, index=names), ids=ids)
    assert found["changed_most"]
    for row in found["changed_most"]:
        assert str(model.labels_.loc[row["id"]]) == row["after"]


def test_explained_share_is_zero_by_chance_and_one_for_pure_clusters() -> None:
    rng = np.random.default_rng(1)
    votes = rng.integers(4, size=3000)
    noise = [explained(votes, rng.integers(c, size=3000)) for c in (2, 20, 200)]
    assert max(abs(value) for value in noise if value is not None) < 0.02
    fine = votes * 10 + rng.integers(10, size=3000)
    assert explained(votes, fine) == pytest.approx(1.0)
    assert adjusted_mutual_info_score(votes, fine) < 0.6  # why it is not used: fine is no fault
    half = np.where(rng.random(3000) < 0.5, votes, rng.integers(4, size=3000))
    assert explained(votes, half) == pytest.approx(normalized_mutual_info_score(votes, half), abs=0.01)
    assert explained(np.zeros(50, dtype=int), rng.integers(3, size=50)) is None
    assert explained(np.full(50, -1), rng.integers(3, size=50)) is None


def test_a_consensus_classifier_knows_its_last_target() -> None:
    X, y = make_blobs(600, centers=3, cluster_std=2.0, random_state=0)
    names = np.array(["a", "b", "c"])
    model = bc3e.ConsensusClassifier(
        [("logit", LogisticRegression()), ("bayes", GaussianNB())], random_state=0
    )
    model.fit(X[:300], names[y[:300]]).adapt(X[300:] + 1.5)
    report = model.report(truth=names[y[300:]])
    found = report.summary
    assert found["drift"]["verdict"] == model.drift_.verdict == "drift"
    assert found["changed"]["objects"] == len(model.drift_.changed)
    assert found["truth"]["refined"]["accuracy"] == pytest.approx(
        np.mean(model.labels_ == names[y[300:]])
    )
    assert found["shares"][0]["source"] is not None
    assert {row["part"] for row in found["settings"]} == {
        "ConsensusClassifier",
        "ClusterEnsemble",
        "BC3E",
    }
    assert any(row["name"] == "seconds: consensus" for row in found["context"])
    assert "What changed since training" in report.html
    shown = model._repr_mimebundle_()
    assert "srcdoc" in shown["text/html"]
    assert "Drift" in shown["text/plain"]
    with pytest.raises(Exception, match="has not met a target"):
        bc3e.ConsensusClassifier().report()
