"""Spark in this process: the same answers as the fit on one machine, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bc3e
from bc3e import selection
from bc3e.engines import spark as engine
from tests.engines.spark.tables import CLASSES, expected, frame_of, planted, same, scores

VOTES = ["clf_0", "clf_1", "clf_2"]
CLUSTERS = ["clu_0", "clu_1", "clu_2", "clu_3"]


def fitted(model: bc3e.BC3E, table: pd.DataFrame) -> tuple[bc3e.BC3E, pd.DataFrame]:
    """The fit on one machine, and the columns it leads to."""
    votes = {name: table[name].to_numpy() for name in VOTES}
    local = clone(model).fit(votes, {name: table[name].to_numpy() for name in CLUSTERS})
    return local, expected(local, votes)


def added(outcome: engine.Outcome, table: pd.DataFrame) -> pd.DataFrame:
    """The columns that were added, in the order of the table."""
    found = outcome.frame.toArrow().to_pandas().sort_values("id", ignore_index=True)
    pd.testing.assert_frame_equal(found[list(table.columns)], table, check_dtype=False)
    return found.drop(columns=list(table.columns))


def resident(spark: Any) -> int:
    """Tables that Spark keeps for somebody."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


@pytest.mark.parametrize(
    "model",
    [bc3e.BC3E(random_state=0), bc3e.BC3E(evidence_weight=0.3, init=["votes", "diffusion"])],
    ids=["default", "diffusion"],
)
def test_patterns_give_the_local_fit(spark: Any, model: bc3e.BC3E) -> None:
    table = planted(23_000)  # more than the choice of the weights looks at
    frame = frame_of(spark, table).repartition(3)
    # One way of Spark to join is tried in each of the two cases.
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1 if model.random_state is None else "10MB")
    outcome = engine.refine(frame, ["clf_*"], ["clu_*"], model=model)
    local, wanted = fitted(model, table)
    same(added(outcome, table), wanted, within=1e-12)
    assert outcome.model.trust_ == local.trust_
    assert outcome.model.lower_bound_ == local.lower_bound_
    assert len(outcome.model.labels_) == 0
    assert not hasattr(model, "classes_"), "the model that was passed has been changed"
    some = table.head(50)
    assert (
        outcome.model.predict(some[VOTES], some[CLUSTERS]) == local.predict(some[VOTES], some[CLUSTERS])
    ).all()


@pytest.mark.parametrize("witnessed", [True, False])
def test_rows_that_stay_where_they_are_give_the_local_fit(
    spark: Any, witnessed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "support", lambda sides: 1.0 if witnessed else -1.0)
    table = planted(4_000)
    frame = frame_of(spark, table).repartition(3)
    outcome = engine.refine(
        frame, ["clf_*"], ["clu_*"], model=bc3e.BC3E(random_state=0), pattern_limit=100
    )
    local, wanted = fitted(bc3e.BC3E(random_state=0), table)
    same(added(outcome, table), wanted)
    told = outcome.model
    assert told.evidence_weights_ == pytest.approx(local.evidence_weights_, abs=1e-12)
    assert told.trust_ == pytest.approx(local.trust_, abs=1e-9)
    assert told.clusterer_trust_ == pytest.approx(local.clusterer_trust_, abs=1e-9)
    assert told.lower_bounds_ == pytest.approx(local.lower_bounds_, rel=1e-12)
    assert told.vote_exponent_ == pytest.approx(local.vote_exponent_, abs=1e-10)
    assert told.answer_exponent_ == pytest.approx(local.answer_exponent_, abs=1e-10)
    assert np.allclose(told._shares[0], local._shares[0])
    assert np.allclose(told._shares[1], local._shares[1])
    if witnessed:
        assert told._frequencies is None
    else:
        assert told._frequencies == pytest.approx(local._frequencies, abs=1e-12)
    assert str(told.summary()).count("4,000") >= 1
    assert resident(spark) == 0


def test_everything_learned_over_many_iterations(spark: Any) -> None:
    table = planted(3_000, seed=1)
    model = bc3e.BC3E.as_published(max_iter=6)
    frame = frame_of(spark, table).repartition(2)
    outcome = engine.refine(frame, VOTES, CLUSTERS, model=model, pattern_limit=1, prefix="new_")
    local, wanted = fitted(model, table)
    same(added(outcome, table), wanted.add_prefix("new_"))
    assert outcome.model.delta2_ == pytest.approx(local.delta2_, rel=1e-11)
    assert outcome.model.n_iter_ == local.n_iter_ == 6


def test_soft_labels_in_all_their_forms(spark: Any) -> None:
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql.functions import col

    n = 23_000
    base = planted(n, seed=2)
    tree, logit = (scores(base[name].to_numpy(), CLASSES, i) for i, name in enumerate(VOTES[:2]))
    logit[np.isnan(logit)] = 1 / 3  # a vector cannot be missing in part, this one is not at all
    member = scores(base["clu_0"].to_numpy(), list(range(7)), 7).astype(np.float32)
    table = pd.DataFrame({"id": base["id"], "clf": base["clf_2"], "clu": base["clu_3"]})
    for i, name in enumerate(CLASSES):
        table[f"tree:{name}"] = tree[:, i]
    lists = [None if np.isnan(row[0]) else row.tolist() for row in member]
    frame = frame_of(spark, table.assign(logit=logit.tolist(), member=lists))
    frame = frame.withColumn("logit", array_to_vector("logit"))
    frame = frame.withColumn("member", col("member").cast("array<float>")).repartition(3).persist()
    outcome = engine.refine(
        frame, ["tree:*", "logit", "clf"], ["member", "clu"], model=bc3e.BC3E(random_state=3)
    )
    found = outcome.frame.drop("logit", "member").toArrow().to_pandas()
    order = found["id"].to_numpy()
    named = pd.DataFrame(tree[order], columns=CLASSES)
    votes = {"tree": named, "logit": logit[order], "clf": table["clf"].to_numpy()[order]}
    clusters = {"member": member[order], "clu": table["clu"].to_numpy()[order]}
    local = bc3e.BC3E(random_state=3).fit(votes, clusters)
    frame.unpersist()
    wanted = np.asarray(local.probabilities_)
    assert np.abs(found[[f"p_{name}" for name in CLASSES]].to_numpy() - wanted).max() <= 1e-9
    assert found["label"].tolist() == np.asarray(local.labels_).tolist()
    assert outcome.model.evidence_weights_ == pytest.approx(local.evidence_weights_, abs=1e-12)


def test_names_and_types_that_are_nobodys_business_stay(spark: Any) -> None:
    rows = [(i, {"k": i}, "ab"[i % 2], "ab"[i % 2], i % 3, None) for i in range(40)]
    schema = "`a.b` int, extra map<string,int>, `x``y` string, clf string, clu int, nothing string"
    frame = spark.createDataFrame(rows, schema)
    for limit in (1000, 1):
        outcome = engine.refine(frame, ["x`y", "clf"], ["clu"], pattern_limit=limit)
        assert outcome.frame.columns[:6] == frame.columns
        assert outcome.frame.columns[6:] == ["label", "confidence", "p_a", "p_b", "changed", "entropy"]
        found = sorted(outcome.frame.collect())
        assert [tuple(row[:6]) for row in found] == rows
        assert [row["label"] for row in found] == ["ab"[i % 2] for i in range(40)]
        assert not any(row["changed"] for row in found)


@pytest.mark.parametrize("limit", [1000, 1])
def test_objects_without_votes_have_changed_nothing(spark: Any, limit: int) -> None:
    rows = [(i, None if i < 10 else i % 2 == 0, i % 2) for i in range(200)]
    frame = spark.createDataFrame(rows, "id int, clf boolean, clu int")
    model = bc3e.BC3E(evidence_weight=1.0)
    outcome = engine.refine(frame, ["clf"], ["clu"], model=model, pattern_limit=limit)
    found = outcome.frame.orderBy("id").collect()
    assert [row["changed"] for row in found] == [None] * 10 + [False] * 190
    assert [row["label"] for row in found] == [i % 2 == 0 for i in range(200)]


def test_a_single_column(spark: Any) -> None:
    rows = [(i, [0.2, 0.8] if i % 2 else None) for i in range(20)]
    frame = spark.createDataFrame(rows, "id int, soft array<double>")
    model = bc3e.BC3E(classes=["no", "yes"])
    found = engine.refine(frame, ["soft"], model=model).frame.orderBy("id").collect()
    assert [row["changed"] for row in found] == [False if i % 2 else None for i in range(20)]
    assert {row["label"] for row in found[1::2]} == {"yes"}
    assert found[0]["p_yes"] == pytest.approx(0.5)


def test_a_sample_comes_from_all_blocks_in_order(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from bc3e.engines.spark import refining
    from bc3e.engines.spark.blocks import Blocks
    from bc3e.engines.spark.columns import Sources

    frame = spark.range(0, 1000, 1, 3).selectExpr("id % 7 as clf", "id as clu")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
    sources, shell = refining._shell(frame, Sources.of(frame, ["clf"], ["clu"]), bc3e.BC3E())
    blocks = Blocks.pack(frame, sources, shell)
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert blocks.n_objects == 1000
    rows = np.array([0, 1, 332, 333, 334, 500, 999])
    taken = blocks.take(rows)
    assert taken.clusters[0].codes.tolist() == rows.tolist()  # type: ignore[union-attr]
    assert taken.votes[0].codes.tolist() == (rows % 7).tolist()  # type: ignore[union-attr]
    blocks.release()
