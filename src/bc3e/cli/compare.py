"""``bc3e compare``: every consensus method on one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from bc3e.cli.errors import Problems, fault
from bc3e.cli.options import COLUMNS, MODEL, WRITING, FailOn, Labels, Reading
from bc3e.cli.session import Session
from bc3e.cli.thresholds import read_thresholds

FIGURES = ("seconds", "entropy", "agreement")
TRUE_FIGURES = ("accuracy", "gain")
EXAMPLES = """
[bold]Examples[/bold]

bc3e compare labels.csv --votes 'clf_*' --clusters 'clu_*' --truth y

bc3e compare labels.csv --votes 'clf_*' --clusters 'clu_*' --methods SoftVote,BC3E --json

bc3e compare labels.csv --votes 'clf_*' --clusters 'clu_*' --truth y --fail-on 'gain<0'
"""


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """What is compared."""

    methods: Annotated[
        str | None,
        Option(help="Methods by commas; all by default.", rich_help_panel=COLUMNS),
    ] = None
    bootstrap: Annotated[int, Option(help="Resamples behind each interval.", rich_help_panel=MODEL)] = (
        1000
    )
    seed: Annotated[int, Option(help="Seed of everything random.", rich_help_panel=MODEL)] = 0
    output: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            help="The figures as a table; - is standard output.",
            rich_help_panel=WRITING,
        ),
    ] = None
    output_format: Annotated[
        str | None,
        Option(help="csv, tsv, parquet, arrow or jsonl; told by extension.", rich_help_panel=WRITING),
    ] = None


GROUPS = (Labels, Comparing, Reading, FailOn)


def run(
    session: Session, labels: Labels, comparing: Comparing, reading: Reading, fail_on: FailOn
) -> int:
    """Run all consensus methods on the same votes and clusterings, in one table.

    With --truth it shows accuracy and the gain over the soft vote with a 95%
    interval; without, how many labels equal the soft vote's. Thresholds of
    --fail-on are about BC3E.
    """
    figures = FIGURES + (TRUE_FIGURES if labels.truth is not None else ())
    thresholds = read_thresholds(fail_on.fail_on, figures)
    session.plan([labels.table])
    if comparing.output is not None:
        from bc3e.cli.writers import output_format

        output_format(comparing.output, comparing.output_format)
    with session.stage("read", f"Reading {labels.table}"):
        from bc3e.cli.loading import load_labels

        data = load_labels(labels, reading, None, Problems())
    with session.stage("compare", f"Comparing methods on {data.n_objects:,} objects"):
        from bc3e.comparison import METHODS, compare

        names = _methods(comparing.methods, METHODS, needs_bc3e=bool(thresholds))
        found = compare(
            data.votes,
            data.clusters,
            data.truth,
            methods=names,
            sample_weight=data.weights,
            classes=data.classes,
            n_bootstrap=comparing.bootstrap,
            random_state=comparing.seed,
        )
    _write(session, comparing, found)
    told = _figures(found, names)
    return session.finish(found.to_dict(), found.summary(), [], thresholds, told)


def _methods(given: str | None, known: tuple[str, ...], needs_bc3e: bool) -> list[str]:
    """Names of methods, whatever their case."""
    if given is None:
        return list(known)
    by_case = {name.lower(): name for name in known}
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name.lower() not in by_case:
            raise fault("--methods", f"{name!r} is not a method", f"Use {', '.join(known)}.")
    found = list(dict.fromkeys(by_case[name.lower()] for name in names))
    if not found:
        raise fault("--methods", "no method is named", f"Use {', '.join(known)}.")
    if needs_bc3e and "BC3E" not in found:
        raise fault("--fail-on", "BC3E is not among --methods", "Add it: thresholds are about BC3E.")
    return found


def _figures(found: Any, names: list[str]) -> dict[str, float | None]:
    if "BC3E" not in names:
        return {}
    score = found["BC3E"]
    return {
        "accuracy": score.accuracy,
        "gain": score.gain,
        "seconds": score.seconds,
        "entropy": score.mean_entropy,
        "agreement": score.agreement,
    }


def _write(session: Session, comparing: Comparing, found: Any) -> None:
    if comparing.output is None:
        return
    import pyarrow as pa

    from bc3e.cli.writers import output_format, write_table

    format = output_format(comparing.output, comparing.output_format)
    packed = comparing.output.lower().endswith(".gz")
    table = pa.Table.from_pylist(found.records())
    session.outputs.write(
        "--output",
        comparing.output,
        lambda f: write_table(table, f, format=format, packed=packed, escape=False),
    )
