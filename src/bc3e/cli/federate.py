"""``bc3e federate``: learn across machines."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bc3e.cli.errors import one_line

if TYPE_CHECKING:
    from bc3e.federation.engine.control import Control, Event
    from bc3e.federation.engine.job import Job

federate_app = typer.Typer(
    name="federate", help="Learn across sites that may not share records.", no_args_is_help=True
)
# Names, paths and reasons come from outside: brackets in them are no markup.
console = Console(markup=False, emoji=False, highlight=False)
DAY = 86_400.0
REFUSED, RESUMABLE, INTERRUPTED = 2, 4, 130  # exit codes
NOT_BEGUN = "no attempt is under way, the server goes on. 'bc3e federate stop --server' ends it."

Kits = Annotated[Path, typer.Option(help="Folder with the kits 'server' and 'coordinator'.")]
Name = Annotated[str, typer.Option(help="Name of the run.")]
Listed = Annotated[str, typer.Option(help="Column names, separated by commas.")]


@contextmanager
def _clear_errors() -> Iterator[None]:
    """One line on the screen for what a user can do something about."""
    try:
        from bc3e.errors import InputError
        from bc3e.federation.engine.exchange import CallRefused
        from bc3e.federation.keys import KeyRefused
        from bc3e.federation.processes import RunFailed, RunInterrupted
    except ImportError as missing:
        message = f"{missing.name} is not installed. Install it: pip install 'bc3e[federated]'"
        raise typer.BadParameter(message) from None
    try:
        yield
    except (InputError, KeyRefused, CallRefused, RunFailed, RunInterrupted) as error:
        _complain(f"error: {error}")
        raise typer.Exit(RESUMABLE if isinstance(error, RunInterrupted) else REFUSED) from None


def _say(text: str) -> None:
    console.print(one_line(text), soft_wrap=True)


def _complain(text: str) -> None:
    print(f"bc3e federate: {one_line(text)}", file=sys.stderr)


@contextmanager
def _interruptible(consequence: str) -> Iterator[None]:
    """Ctrl-C ends this command only: say what goes on elsewhere."""
    try:
        yield
    except KeyboardInterrupt:
        _complain(f"interrupted; {consequence}")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits until this is done."""
    pending: list[int] = []
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if callable(handler := signal.getsignal(number)):  # else it is ignored, or ends all at once
            before[number] = handler
            signal.signal(number, lambda number, _: pending.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if pending:
        raise KeyboardInterrupt


@federate_app.command()
def provision(
    project: Annotated[Path, typer.Argument(help="Project file: name, server, sites, coordinator.")],
    out: Annotated[Path, typer.Option(help="New folder for the kits.")] = Path("kits"),
) -> None:
    """Write start-up kits with certificates for the server, the coordinator and every site."""
    with _clear_errors():
        from bc3e.federation.engine import kits

        made = kits.provision(kits.Project.read(project), out)
    for role, kit in made.items():
        console.print(f"{role:>12}  {one_line(str(kit))}", soft_wrap=True)
    _say(f"{out / 'authority'}: it can let anybody in. Move it off this machine before 'start'.")


@federate_app.command()
def key(file: Annotated[Path, typer.Argument(help="New file.")]) -> None:
    """Make the key that hides object ids. One site makes it and hands it to the other sites."""
    with _clear_errors():
        from bc3e.federation.engine.site_config import write_key

        write_key(file)
    _say(f"{file}: give it to the other sites, never to the server.")


@federate_app.command()
def site(
    config: Annotated[Path, typer.Option(help="The site's file (TOML).")],
    check: Annotated[bool, typer.Option(help="Only look whether everything is there.")] = False,
) -> None:
    """Take part: keep this site connected until it is interrupted."""
    with _clear_errors():
        from bc3e.federation.engine import launching
        from bc3e.federation.engine.site_config import SiteConfig

        told = SiteConfig.read(config)
        told.read_key()
        _say(f"{told.name}: {told.read_site()!r}, {len(told.votes)} classifiers, "
             f"{len(told.clusters)} clusterings")  # fmt: skip
        if check:
            return
        process = launching.start_site(told)
        try:
            _say(f"connected while this runs; log: {told.kit / 'log.txt'}")
            code = process.wait()
            _complain(f"error: the site's process ended ({code}); see {told.kit / 'console.log'}")
            raise typer.Exit(1)
        except KeyboardInterrupt:  # a signal to end, too
            _say("leaving")
        finally:
            launching.end(process.pid)


@federate_app.command()
def start(
    kits: Kits = Path("kits"),
    name: Name = "run",
    sites: Annotated[str, typer.Option(help="Sites, by commas; all that have a certificate.")] = "",
    classes: Annotated[str, typer.Option(help="Class names in order; else what votes name.")] = "",
    settings: Annotated[Path | None, typer.Option(help="TOML file with settings of BC3E.")] = None,
    masked: Annotated[bool, typer.Option(help="Hide what each site adds to sums.")] = True,
    allow_two: Annotated[bool, typer.Option(help="Form sums over two sites too.")] = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the sites.")] = 600.0,
    retries: Annotated[int, typer.Option(help="How often to resume by itself.")] = 0,
) -> None:
    """Start the server and a run, and show how it goes."""
    with _clear_errors(), _interruptible(NOT_BEGUN):
        from bc3e.federation.engine.control import Control

        control = Control(kits)
        control.serve()
        link = control.connect()
        try:
            wanted = tuple(sites.split(",")) if sites else control.sites()
            control.wait_for_sites(link, wanted, wait)
            job = control.new_job(
                name, wanted, masked=masked, allow_two=allow_two, model=_model(settings),
                classes=tuple(classes.split(",")) if classes else None,
            )  # fmt: skip
            _run(control, link, job, wait, retries)
        finally:
            link.close()


@federate_app.command()
def resume(
    kits: Kits = Path("kits"),
    name: Name = "run",
    wait: Annotated[float, typer.Option(help="Seconds to wait for the sites.")] = 600.0,
    retries: Annotated[int, typer.Option(help="How often to resume by itself.")] = 0,
) -> None:
    """Go on with a run from the last iteration that all sites have finished."""
    with _clear_errors(), _interruptible(NOT_BEGUN):
        from bc3e.federation.engine.control import Control

        control = Control(kits)
        wanted = control.job(name).sites
        control.serve()
        link = control.connect()
        try:
            control.wait_for_sites(link, wanted, wait)
            _run(control, link, control.next_attempt(link, name), wait, retries)
        finally:
            link.close()


def _run(control: Control, link: Any, job: Job, wait: float, retries: int) -> None:
    """Follow a run; resume it if it was interrupted and there are retries left."""
    from bc3e.federation.processes import RunInterrupted

    while True:
        try:
            with _interruptible(f"the run goes on. 'bc3e federate stop --name {job.name}' stops it."):
                with _undisturbed():  # or the run would go on with nobody knowing its number
                    ticket = control.submit(link, job)
                with _LiveTable(job.sites) as table:
                    control.follow(link, job, ticket, table.show, DAY)
            break
        except RunInterrupted as error:
            if retries <= 0:
                raise
            _say(f"{error} Resuming.")
            retries -= 1
            control.wait_for_sites(link, job.sites, wait)
            job = control.next_attempt(link, job.name)
    folder = control.run_folder(job.name)
    _say(f"model: {folder / 'model.json'}")
    _say(f"page: {folder / 'run.html'}")


@federate_app.command()
def status(kits: Kits = Path("kits")) -> None:
    """Which sites are connected, and how far every run is."""
    with _clear_errors():
        from bc3e.federation.engine import launching
        from bc3e.federation.engine.control import Control

        control = Control(kits)
        if launching.running(control.server) is None:
            _say("server: does not run")
        else:
            link = control.connect()
            _say(f"server: runs; connected: {', '.join(link.sites()) or 'nobody'}")
            link.close()
        table = Table("run", "attempt", "iteration", "bound", "state")
        for run in control.runs():
            table.add_row(*map(one_line, control.standing(run)))
        console.print(table)


@federate_app.command()
def stop(
    kits: Kits = Path("kits"),
    name: Name = "run",
    server: Annotated[bool, typer.Option(help="End the server, too.")] = False,
) -> None:
    """Stop a run; it can be resumed."""
    with _clear_errors():
        from bc3e.errors import InputError
        from bc3e.federation.engine import launching
        from bc3e.federation.engine.control import Control
        from bc3e.federation.processes import RunFailed

        control = Control(kits)
        if launching.running(control.server) is not None:
            try:
                _stop_run(control, name)
            except (InputError, RunFailed) as error:
                if not server:
                    raise
                _complain(f"no run was stopped: {error}")
        if server:
            gone = launching.stop(control.server)
            _say("server: ended" if gone else "server: did not run")


def _stop_run(control: Control, name: str) -> None:
    link = control.connect()
    try:
        control.stop_run(link, name)
    finally:
        link.close()
    _say(f"{name}: stopped; 'bc3e federate resume --name {name}' goes on")


@federate_app.command()
def rehearse(
    data: Annotated[Path, typer.Argument(help="Table with labels, .csv or .parquet.")],
    votes: Listed,
    clusters: Listed,
    id: Annotated[str, typer.Option(help="Column with object ids.")] = "id",
    sites: Annotated[int, typer.Option(help="How many sites.")] = 3,
    split: Annotated[str, typer.Option(help="row, column or arbitrary.")] = "row",
    masked: Annotated[bool, typer.Option(help="Hide what each site adds to sums.")] = True,
    allow_two: Annotated[bool, typer.Option(help="Form sums over two sites too.")] = False,
    settings: Annotated[Path | None, typer.Option(help="TOML file with settings of BC3E.")] = None,
    out: Annotated[Path | None, typer.Option(help="New folder that keeps everything.")] = None,
) -> None:
    """Try a federation on this machine: real processes, certificates and calls."""
    with _clear_errors(), tempfile.TemporaryDirectory(prefix="bc3e-") as place:
        from bc3e.federation.engine.rehearsal import rehearse as run

        names = (tuple(votes.split(",")), tuple(clusters.split(",")))
        table = _LiveTable(tuple(f"site-{i + 1}" for i in range(sites)))
        with table:
            found = run(
                data, out or Path(place) / "rehearsal", id, *names, sites, split, table.show,
                masked=masked, allow_two=allow_two, model=_model(settings),
            )  # fmt: skip
    _say(f"ready to run after {found.start_seconds:.1f} s, run {found.run_seconds:.1f} s")
    _say(f"largest difference from the protocol in one process: {found.probability_gap:.1e} in "
         f"probabilities, {found.bound_gap:.1e} in the bound")  # fmt: skip
    if out is not None:
        _say(f"everything is in {out}")
    if found.probability_gap > (1e-6 if masked else 1e-9):
        raise typer.Exit(1)


def _model(settings: Path | None) -> dict[str, Any]:
    if settings is None:
        return {}
    import tomllib

    from bc3e.errors import InputError

    try:
        return tomllib.loads(settings.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError("settings", f"{settings.name}: {error}", "Pass a TOML file.") from error


class _LiveTable:
    """A table on the screen that grows with every iteration."""

    def __init__(self, sites: tuple[str, ...]) -> None:
        from rich.live import Live

        self.sites = len(sites)
        self.table = Table("round", "bound", "delta2", "sites", "bytes")
        self._live = Live(self.table, console=console, refresh_per_second=4)

    def __enter__(self) -> _LiveTable:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()
        if not console.is_terminal:  # there the table ends without a line feed
            console.print()

    def show(self, event: Event) -> None:
        if event["event"] == "iteration":
            bound = "-" if event["bound"] is None else f"{event['bound']:.6f}"
            self.table.add_row(str(event["iteration"]), bound, f"{event['delta2']:.4g}",
                               str(self.sites), f"{event['bytes']:,}")  # fmt: skip
            self._live.refresh()
