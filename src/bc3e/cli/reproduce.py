"""``bc3e reproduce``: the paper's experiments, run again, as a page with tables and figures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from typer import Argument, Option

from bc3e.cli.errors import fault
from bc3e.cli.options import READING, RUNNING, WRITING
from bc3e.cli.session import Session

PARTS = ("table2", "table3", "privacy")
WHAT = {
    "table2": "Table 2, semi-supervised learning",
    "table3": "Table 3, titles",
    "privacy": "Accuracy against privacy",
}
CACHE = "BC3E_CACHE"
EXAMPLES = """
[bold]Examples[/bold]

bc3e reproduce all --data data

bc3e reproduce table2 --data data --out results --jobs 2

bc3e reproduce all --quick --out /tmp
"""


@dataclass(frozen=True, kw_only=True)
class Reproducing:
    """Which experiments, on which data, and where the page goes."""

    part: Annotated[str, Argument(help="table2, table3, privacy or all.", metavar="PART")]
    data: Annotated[
        str | None,
        Option(help="Folder with the data files; BC3E_DATA by default.", rich_help_panel=READING),
    ] = None
    out: Annotated[
        str,
        Option(help="Folder for results.md and its images/; must be there.", rich_help_panel=WRITING),
    ] = "docs"
    quick: Annotated[
        bool,
        Option(
            "--quick",
            help="A minute of it, on data that need no files; writes results-quick.md.",
            rich_help_panel=RUNNING,
        ),
    ] = False
    seed: Annotated[int, Option(help="Seed of everything random.", rich_help_panel=RUNNING)] = 0
    jobs: Annotated[
        int, Option(help="Processes; -1 is all cores. Changes no figure.", rich_help_panel=RUNNING)
    ] = -1


GROUPS = (Reproducing,)


def run(session: Session, options: Reproducing) -> int:
    """Run the paper's experiments again and write a page with the paper's figures beside ours.

    What is finished is kept below .cache (or BC3E_CACHE): a run that was stopped
    goes on where it was, and a second one only writes the page. Parts that were
    run before are on the page, too. A page that this command wrote is replaced
    without --force.
    """
    asked = _parts(options)
    page = Path(options.out) / f"{'results-quick' if options.quick else 'results'}.md"
    _plan(session, options, page)
    with session.stage("data", "Looking at the data"):
        plan = _prepared(options, asked)
    parts: dict[str, Any] = {}
    for part in PARTS:
        if part in asked:
            parts[part] = _computed(session, plan, part)
        else:
            parts[part] = plan.stored(part)
    from bc3e.experiments.page import render

    text, images = render(parts, seed=options.seed, quick=options.quick, name=page.stem)
    files = {page: text.encode()} | {_image(page, part): svg for part, svg in images.items()}
    for path, content in files.items():
        session.outputs.write("--out", str(path), partial(_put, content))
    lines = [f"Written: {', '.join(str(path) for path in files)}."]
    return session.finish({"page": str(page), "parts": list(asked)}, None, lines)


def _parts(options: Reproducing) -> tuple[str, ...]:
    if options.part not in (*PARTS, "all"):
        raise fault(f"PART '{options.part}'", "no such experiment", f"Use {', '.join(PARTS)} or all.")
    if options.seed < 0:
        raise fault("--seed", f"{options.seed} is out of range", "Pass a whole number from 0.")
    if options.jobs == 0 or options.jobs < -1:
        raise fault("--jobs", f"{options.jobs}", "Pass a whole number from 1, or -1 for all cores.")
    if options.data is not None and not Path(options.data).is_dir():
        raise fault(f"--data {options.data}", "no such folder", "Name the folder with the data files.")
    return PARTS if options.part == "all" else (options.part,)


def _plan(session: Session, options: Reproducing, page: Path) -> None:
    """Refuse what cannot be written before any work; our own page may be replaced."""
    from bc3e.experiments.page import MARK

    if not Path(options.out).is_dir():
        raise fault(f"--out {options.out}", "no such folder", "Create it, or name another one.")
    if page.is_file() and page.read_bytes().startswith(MARK.encode()):
        session.outputs.force = True
    session.plan([])
    session.outputs.plan("--out", str(page))
    (page.parent / "images").mkdir(exist_ok=True)
    for part in PARTS:
        session.outputs.plan("--out", str(_image(page, part)))


def _image(page: Path, part: str) -> Path:
    return page.parent / "images" / f"{page.stem}-{part}.svg"


def _prepared(options: Reproducing, asked: tuple[str, ...]) -> Any:
    """What is to be run; every data set is looked at first, so that none is missed later."""
    from bc3e.experiments.data import available
    from bc3e.experiments.reproduce import FULL, QUICK, Plan
    from bc3e.experiments.units import Store

    scale = QUICK if options.quick else FULL
    if "privacy" in asked:
        _need_cryptography()
    names = {"table2": scale.tables, "table3": scale.titles, "privacy": scale.shared}
    for part in asked:
        for name in names[part]:
            if name != "generated":
                available(name, options.data)
    folder = Path(os.environ.get(CACHE) or ".cache") / "reproduce"
    return Plan(scale, options.seed, options.data, Store(folder), options.jobs)


def _need_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        remedy = "Install it: pip install 'bc3e[federated]'"
        raise fault("privacy", "the package cryptography is not installed", remedy) from None


def _computed(session: Session, plan: Any, part: str) -> Any:
    with session.stage(part, WHAT[part]) as advance:
        try:
            return plan.compute(part, advance)
        except KeyboardInterrupt:
            session.note(
                f"what is finished is kept in {plan.store.folder}; the same command goes on there"
            )
            raise


def _put(content: bytes, stream: BinaryIO) -> None:
    stream.write(content)
