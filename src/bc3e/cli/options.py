"""Every option, in groups that commands share. A group is a frozen dataclass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from bc3e.cli.config import load_config

READING = "Reading tables"
COLUMNS = "Columns"
MODEL = "Model"
WRITING = "Writing"
RUNNING = "Running"

DEFAULT_MISSING = ",NA,N/A,NaN,nan,null,NULL,None"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How tables are read."""

    format: Annotated[
        str | None,
        Option(
            help="csv, tsv, parquet, arrow or jsonl; told by extension or content.",
            rich_help_panel=READING,
        ),
    ] = None
    encoding: Annotated[
        str, Option(help="Of text files, such as latin-1 or utf-16.", rich_help_panel=READING)
    ] = "utf-8"
    delimiter: Annotated[
        str | None,
        Option(help="Between cells; told from the header: , ; tab or |.", rich_help_panel=READING),
    ] = None
    decimal: Annotated[
        str, Option(help="Decimal point of numbers in text files.", rich_help_panel=READING)
    ] = "."
    missing: Annotated[
        str,
        Option(help="Words for a missing cell of a text file, by commas.", rich_help_panel=READING),
    ] = DEFAULT_MISSING


@dataclass(frozen=True, kw_only=True)
class Labels:
    """A table of votes and clusterings, and which columns are which."""

    table: Annotated[str, Argument(help="Table of labels; - is standard input.", metavar="TABLE")]
    votes: Annotated[
        list[str],
        Option(
            help="Columns of classifiers: names or globs, by commas or repeated. 'a:*' are the class "
            "probabilities of one classifier, a.",
            rich_help_panel=COLUMNS,
        ),
    ]
    clusters: Annotated[
        list[str],
        Option(help="Columns of clusterings, in the same way.", rich_help_panel=COLUMNS),
    ]
    id: Annotated[str | None, Option(help="Column that names the objects.", rich_help_panel=COLUMNS)] = (
        None
    )
    weight: Annotated[
        str | None, Option(help="Column with the weight of each object.", rich_help_panel=COLUMNS)
    ] = None
    truth: Annotated[
        str | None,
        Option(help="Column of true labels, to judge by; never learned from.", rich_help_panel=COLUMNS),
    ] = None
    classes: Annotated[
        str | None,
        Option(help="The classes in order, by commas; found by default.", rich_help_panel=COLUMNS),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Training:
    """A labelled table to train on and a target to adapt to."""

    train: Annotated[
        str, Option(help="Labelled table that the classifiers are trained on.", rich_help_panel=COLUMNS)
    ]
    target: Annotated[
        str, Option(help="Table of today, without labels; - is standard input.", rich_help_panel=COLUMNS)
    ]
    label: Annotated[str, Option(help="Column of classes in --train.", rich_help_panel=COLUMNS)]
    id: Annotated[
        str | None, Option(help="Column that names the objects of --target.", rich_help_panel=COLUMNS)
    ] = None
    features: Annotated[
        list[str] | None,
        Option(
            help="Columns to learn from: names or globs; all but label and id by default.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        Option(help="Columns to leave out: names or globs.", rich_help_panel=COLUMNS),
    ] = None
    text: Annotated[
        str | None,
        Option(help="Learn from the words of this column, and of it alone.", rich_help_panel=COLUMNS),
    ] = None
    truth: Annotated[
        str | None,
        Option(
            help="Column of true labels in --target, to judge by; never learned from.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    level: Annotated[
        float, Option(help="Rate of false alarms of the drift test.", rich_help_panel=MODEL)
    ] = 0.05
    clusterings: Annotated[
        int, Option(help="How many clusterings of the target are made.", rich_help_panel=MODEL)
    ] = 10


@dataclass(frozen=True, kw_only=True)
class Model:
    """Settings of the refinement."""

    seed: Annotated[int, Option(help="Seed of everything random.", rich_help_panel=MODEL)] = 0
    jobs: Annotated[
        int, Option(help="Threads; -1 is all cores. Does not change the result.", rich_help_panel=MODEL)
    ] = -1
    delta2: Annotated[
        str,
        Option(
            help="How far clusterings may stray from classifiers: a number, or learn.",
            rich_help_panel=MODEL,
        ),
    ] = "1.0"
    evidence_weight: Annotated[
        str,
        Option(
            help="How much a cluster label counts: auto, a number, or one per clustering by commas.",
            rich_help_panel=MODEL,
        ),
    ] = "auto"
    vote_weight: Annotated[
        str,
        Option(
            help="The votes of an object count as this many in all; none counts each as one.",
            rich_help_panel=MODEL,
        ),
    ] = "3.0"
    calibration: Annotated[
        bool,
        Option(help="Weigh and calibrate votes by how far they agree.", rich_help_panel=MODEL),
    ] = True
    posterior: Annotated[str, Option(help="structured or factorized.", rich_help_panel=MODEL)] = (
        "structured"
    )
    init: Annotated[
        str,
        Option(help="Starts of the fit: votes, diffusion, random, by commas.", rich_help_panel=MODEL),
    ] = "votes"
    max_iter: Annotated[int, Option(help="EM iterations at most.", rich_help_panel=MODEL)] = 2
    tol: Annotated[
        float, Option(help="Stop when the bound rises less per object.", rich_help_panel=MODEL)
    ] = 1e-6
    published: Annotated[
        bool,
        Option(
            "--published",
            help="The model of the paper; settings given beside it still count.",
            rich_help_panel=MODEL,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Where the refined table goes."""

    output: Annotated[
        str | None,
        Option("--output", "-o", help="Refined table; - is standard output.", rich_help_panel=WRITING),
    ] = None
    output_format: Annotated[
        str | None,
        Option(help="csv, tsv, parquet, arrow or jsonl; told by extension.", rich_help_panel=WRITING),
    ] = None
    keep: Annotated[
        list[str] | None,
        Option(help="Further columns to copy to the output: names or globs.", rich_help_panel=WRITING),
    ] = None
    prefix: Annotated[
        str, Option(help="Put before the name of every column that is added.", rich_help_panel=WRITING)
    ] = ""
    escape_formulas: Annotated[
        bool,
        Option(
            "--escape-formulas",
            help="In CSV and TSV, put ' before text that a spreadsheet would run (= + - @).",
            rich_help_panel=WRITING,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Reports:
    """A page for people and its content for machines."""

    report: Annotated[
        str | None, Option(help="One HTML file about the result.", rich_help_panel=WRITING)
    ] = None
    report_json: Annotated[
        str | None, Option(help="What the report shows, as JSON.", rich_help_panel=WRITING)
    ] = None


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What computes, and within which limits."""

    engine: Annotated[
        str,
        Option(
            help="memory, or duckdb for tables of hard labels that do not fit in memory.",
            rich_help_panel=RUNNING,
        ),
    ] = "memory"
    memory_limit: Annotated[
        str, Option(help="Of the duckdb engine, such as 800MB or 3GB.", rich_help_panel=RUNNING)
    ] = "3GB"
    threads: Annotated[
        int | None, Option(help="Of the duckdb engine; all cores by default.", rich_help_panel=RUNNING)
    ] = None
    ordered: Annotated[
        bool,
        Option(
            "--ordered",
            help="The duckdb engine keeps the order of the rows, which takes longer.",
            rich_help_panel=RUNNING,
        ),
    ] = False
    temp_directory: Annotated[
        str | None,
        Option(
            help="Where the duckdb engine puts what does not fit in memory.", rich_help_panel=RUNNING
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class FailOn:
    """Thresholds that make the command fail."""

    fail_on: Annotated[
        list[str] | None,
        Option(
            help="End with exit code 1 if this holds, such as 'changed>10%'; by commas or repeated.",
            rich_help_panel=RUNNING,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Running:
    """What every command has."""

    force: Annotated[
        bool, Option("--force", help="Overwrite existing files.", rich_help_panel=RUNNING)
    ] = False
    json: Annotated[
        bool, Option("--json", help="JSON on standard output, for machines.", rich_help_panel=RUNNING)
    ] = False
    quiet: Annotated[
        bool,
        Option("--quiet", "-q", help="No tables, no progress, errors only.", rich_help_panel=RUNNING),
    ] = False
    config: Annotated[
        str | None,
        Option(
            help="TOML file with options; the command line wins.",
            rich_help_panel=RUNNING,
            callback=load_config,
            is_eager=True,
        ),
    ] = None
    save_config: Annotated[
        str | None,
        Option(help="Write the options of this run to a TOML file.", rich_help_panel=RUNNING),
    ] = None
