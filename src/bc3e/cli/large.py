"""``bc3e refine --engine duckdb``: tables of hard labels that need not fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bc3e.cli.errors import fault
from bc3e.cli.options import Engine, Labels, Model, Reading, Writing
from bc3e.cli.selection import by_commas
from bc3e.cli.session import Session
from bc3e.cli.thresholds import Threshold

if TYPE_CHECKING:
    from bc3e.engines.refinement import Request
    from bc3e.engines.tables import Source

FORMATS = ("parquet", "csv", "tsv")
# What needs every row in memory, or is done to rows that DuckDB writes.
REFUSED = {
    "weight": "objects are not weighed",
    "truth": "labels are not judged",
    "report": "there is no report",
    "report_json": "there is no report",
    "escape_formulas": "formulas are not escaped",
    "decimal": "numbers have a decimal point",
}


def refine_large(
    session: Session,
    labels: Labels,
    writing: Writing,
    options: Model,
    reading: Reading,
    engine: Engine,
    thresholds: Sequence[Threshold],
) -> int:
    """Check, group, fit and write; each is a stage of the session."""
    output, format = _possible(session, labels, writing, reading)
    session.plan([labels.table])
    with session.stage("imports", "Loading"):
        from bc3e.cli.delimited import missing_words
        from bc3e.cli.refine import result_of, sentences
        from bc3e.cli.settings import build_model
        from bc3e.engines.connection import Database
        from bc3e.engines.refinement import Refinement
        from bc3e.engines.tables import open_table
        from bc3e.engines.text import TextForm

        build_model(options, session.given, None, None)  # refuses bad settings before any work
    with Database(engine.memory_limit, engine.threads, engine.temp_directory) as db:
        form = TextForm(reading.delimiter, reading.encoding, frozenset(missing_words(reading)))
        source = open_table(db, labels.table, form, reading.format)
        source = replace(source, spelled=True, missing=source.missing or frozenset({""}))
        run = Refinement(db, source, _request(source, labels, writing), session)
        classes = _listed(labels.classes)
        patterns = run.group(classes)
        model = build_model(options, session.given, patterns.classes, None)
        run.fit(model, writing.prefix)
        packed = output.lower().endswith(".gz")
        session.outputs.write(
            "--output",
            output,
            lambda f: run.write(f.name, format, writing.prefix, packed=packed, ordered=engine.ordered),
        )
        told = run.figures() | {"trust": float(model.trust_)}
    lines = sentences(told, run.objects, output, None)
    return session.finish(result_of(model, told, output), model.summary(), lines, thresholds, told)


def _possible(session: Session, labels: Labels, writing: Writing, reading: Reading) -> tuple[str, str]:
    """The output and its format; what this engine cannot do is refused."""
    for name, reason in REFUSED.items():
        if session.params[name] not in (None, False, "."):
            raise fault(
                f"--{name.replace('_', '-')}", f"with the duckdb engine {reason}", "Use --engine memory."
            )
    if labels.table == "-" or writing.output in (None, "-"):
        raise fault(
            "--engine duckdb", "it reads and writes files", "Name the table, and -o refined.parquet."
        )
    from bc3e.cli.writers import output_format

    assert writing.output is not None
    format = output_format(writing.output, writing.output_format)
    for option, found in (("--output-format", format), ("--format", reading.format)):
        if found is not None and found not in FORMATS:
            raise fault(option, f"the duckdb engine has no {found}", f"Use one of {', '.join(FORMATS)}.")
    return writing.output, format


def _listed(classes: str | None) -> list[str] | None:
    found = [name.strip() for name in (classes or "").split(",") if name.strip()]
    return found or None


def _request(source: Source, labels: Labels, writing: Writing) -> Request:
    """Which columns are meant."""
    from bc3e.engines.refinement import Request

    header = source.header
    votes = by_commas("--votes", labels.votes, header)
    clusters = by_commas("--clusters", labels.clusters, header)
    keep = by_commas("--keep", writing.keep, header) if writing.keep else ()
    return Request.of(header, votes, clusters, labels.id, keep)
