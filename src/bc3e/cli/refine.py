"""``bc3e refine``: a table of votes and clusterings in, refined labels out."""

from __future__ import annotations

import os
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from bc3e.cli.errors import Problems, fault
from bc3e.cli.options import Engine, FailOn, Labels, Model, Reading, Reports, Writing
from bc3e.cli.session import Session
from bc3e.cli.thresholds import read_thresholds

if TYPE_CHECKING:
    from bc3e.answers import Refined
    from bc3e.cli.loading import LabelInput

GROUPS = (Labels, Writing, Reports, Model, Reading, Engine, FailOn)
ENGINES = ("memory", "duckdb")
LARGE = 500_000_000  # bytes of a file from which on the other engine is worth a word
FIGURES = ("changed", "trust", "confidence", "entropy")
TRUE_FIGURES = ("accuracy", "gain")
EXAMPLES = """
[bold]Examples[/bold]

bc3e refine labels.parquet --votes 'clf_*' --clusters 'clu_*' --id id -o refined.parquet

bc3e refine labels.csv --votes 'tree:*,logit:*' --clusters k5,k10 -o refined.csv --report report.html

cat labels.jsonl | bc3e refine - --votes 'clf_*' --clusters 'clu_*' -o - > refined.csv

bc3e refine big.parquet --votes 'v*' --clusters 'c*' -o new.parquet --engine duckdb --memory-limit 3GB
"""


def run(
    session: Session,
    labels: Labels,
    writing: Writing,
    reports: Reports,
    options: Model,
    reading: Reading,
    engine: Engine,
    fail_on: FailOn,
) -> int:
    """Refine the votes of classifiers with clusterings of the same objects.

    The table has one row per object, a column per classifier and a column per
    clustering. The output keeps the id and adds label, confidence, p_CLASS for
    every class, changed (from the soft vote) and entropy.
    """
    figures = FIGURES + (TRUE_FIGURES if labels.truth is not None else ())
    thresholds = read_thresholds(fail_on.fail_on, figures)
    check_engine(engine)
    if engine.engine == "duckdb":
        from bc3e.cli.large import refine_large

        return refine_large(session, labels, writing, options, reading, engine, thresholds)
    tell_of_duckdb(session, labels.table)
    check_outputs(session, writing, reports, [labels.table])
    with session.stage("read", f"Reading {labels.table}"):
        from bc3e.cli.loading import load_labels

        meanwhile = partial(session.preload, "bc3e.estimator")
        data = load_labels(labels, reading, writing.keep, Problems(), meanwhile)
    model = fit(session, options, data)
    with session.stage("answer", "Collecting the answers"):
        from bc3e.answers import Refined

        refined = Refined.of(model, data.votes)
    write_answers(session, writing, refined, data.kept)
    if reports.report or reports.report_json:
        from bc3e.cli.reporting import write_reports

        parts = {"votes": data.votes, "clusters": data.clusters, "truth": data.truth}
        ids = id_values(data.kept, labels.id)
        write_reports(session, reports, model, {"table": data.table.source}, ids=ids, **parts)
    told = figures_of(refined, model, data.truth, data.weights)
    result = result_of(model, told, writing.output)
    lines = sentences(told, len(refined.winners), writing.output, reports.report)
    return session.finish(result, model.summary(), lines, thresholds, told)


def check_engine(engine: Engine) -> None:
    """Refuse an unknown engine, and limits of the one that is not used."""
    if engine.engine not in ENGINES:
        raise fault(
            "--engine", f"{engine.engine!r} is not an engine", f"Use one of {', '.join(ENGINES)}."
        )
    if engine.engine == "memory":
        for option in fields(engine):  # what is set as it is anyway does no harm
            if getattr(engine, option.name) != option.default:
                name = f"--{option.name.replace('_', '-')}"
                raise fault(name, "only the duckdb engine heeds it", "Add --engine duckdb.")


def tell_of_duckdb(session: Session, table: str) -> None:
    """A word on the engine for large files, where the file is large."""
    try:
        size = os.path.getsize(table)
    except OSError:  # standard input, or no file at all
        return
    if size >= LARGE:
        session.note(
            f"{table} has {size / 1e9:.1f} GB; --engine duckdb refines what memory does not hold"
        )


def check_outputs(session: Session, writing: Writing, reports: Reports, inputs: list[str]) -> None:
    """Refuse impossible outputs before any work is done."""
    session.plan(inputs)
    if writing.output is not None:
        from bc3e.cli.writers import output_format

        output_format(writing.output, writing.output_format)
    if reports.report or reports.report_json:
        from bc3e.cli.reporting import check_reports

        check_reports(reports)


def fit(session: Session, options: Model, data: LabelInput) -> Any:
    """Fit BC3E, telling how far it is."""
    text = f"Refining {data.n_objects:,} objects"
    with session.stage("imports", "Loading"):
        from bc3e.cli.settings import build_model

        model = build_model(options, session.given, data.classes, None)
    with session.stage("fit", text) as advance:
        model.callback = lambda step: advance(step.iteration, model.max_iter)
        model.fit(data.votes, data.clusters, sample_weight=data.weights)
        model.callback = None
    return model


def write_answers(session: Session, writing: Writing, refined: Refined, kept: dict[str, Any]) -> None:
    """The refined table, if one was asked for."""
    if writing.output is None:
        return
    from bc3e.cli.writers import DIGITS, TEXT_FORMATS, output_format, write_table

    format = output_format(writing.output, writing.output_format)
    with session.stage("write", f"Writing {writing.output}"):
        table = refined.table(kept, writing.prefix, DIGITS if format in TEXT_FORMATS else None)
        packed = writing.output.lower().endswith(".gz")
        session.outputs.write(
            "--output",
            writing.output,
            lambda f: write_table(
                table, f, format=format, packed=packed, escape=writing.escape_formulas
            ),
        )


def id_values(kept: dict[str, Any], name: str | None) -> Any:
    """Ids as an array, for the report."""
    return None if name is None else kept[name].to_numpy(zero_copy_only=False)


def figures_of(refined: Refined, model: Any, truth: Any, weights: Any) -> dict[str, float]:
    """The figures of a refinement that thresholds can be set on."""
    import numpy as np

    def mean(values: Any) -> float:
        return float(np.average(values, weights=weights))

    told = {
        "changed": mean(refined.changed()),
        "trust": float(model.trust_),
        "confidence": mean(refined.confidence()),
        "entropy": mean(refined.entropy()),
    }
    if truth is not None:
        from bc3e.rivals.truth import accuracy, check_truth

        codes = check_truth(truth, np.asarray(model.classes_), len(refined.winners))
        told["accuracy"] = accuracy(refined.winners, codes, weights)
        told["soft_vote_accuracy"] = accuracy(refined.soft_vote, codes, weights)
        told["gain"] = told["accuracy"] - told["soft_vote_accuracy"]
    return told


def result_of(model: Any, told: dict[str, float], output: str | None) -> dict[str, Any]:
    """What ``--json`` prints."""
    objects, patterns = model._sizes
    before, after, _ = model._shares
    return {
        "objects": objects,
        "patterns": patterns,
        "classes": model.classes_.tolist(),
        "class_shares": {"before": before, "after": after},
        "classifiers": list(model.classifier_names_),
        "clusterings": dict(zip(model.clusterer_names_, model.clusterer_trust_.tolist(), strict=True)),
        "delta2": float(model.delta2_),
        "lower_bound": float(model.lower_bound_),
        "iterations": int(model.n_iter_),
        **told,
        "output": output,
    }


def sentences(told: dict[str, float], objects: int, output: str | None, report: str | None) -> list[str]:
    """The result in words."""
    lines = [
        f"{round(told['changed'] * objects):,} of {objects:,} labels differ from the soft vote; "
        f"the mean confidence is {told['confidence']:.1%}."
    ]
    if "accuracy" in told:
        lines.append(
            f"Accuracy {told['accuracy']:.2%}, soft vote {told['soft_vote_accuracy']:.2%} "
            f"({100 * told['gain']:+.2f} points)."
        )
    if output is None:
        lines.append("Nothing was written: add -o refined.csv to keep the labels.")
    elif output != "-":
        lines.append(f"Written to {output}.")
    if report is not None:
        lines.append(f"The report is {report}.")
    return lines
