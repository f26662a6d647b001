"""What stays at home, what is cleaned up, and what the commands say: all without a federation that runs."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from bc3e.cli.main import run
from bc3e.errors import InputError
from bc3e.federation.engine import control as controlling
from bc3e.federation.engine import flare, kits, launching
from bc3e.federation.engine.answers import answered, reason
from bc3e.federation.engine.control import Control
from bc3e.federation.engine.job import Job
from bc3e.federation.engine.member import Member
from bc3e.federation.engine.records import Records
from bc3e.federation.engine.site_config import SiteConfig, write_key
from bc3e.federation.masking import MaskingError
from bc3e.federation.processes import RunInterrupted

RUN = "0" * 32
SECRET = "ann-of-green-gables"
SITES = ("a", "b", "c")


@pytest.fixture(scope="module")
def provisioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quiet") / "kits"
    kits.provision(kits.Project("quiet", "localhost", 8002, SITES, "you@example.org"), folder)
    return folder


def write_site(folder: Path, kit: Path, rows: str, **more: str) -> Path:
    (folder / "labels.csv").write_text(rows)
    if not (folder / "ids.key").exists():
        write_key(folder / "ids.key")
    told = {"kit": str(kit), "labels": "labels.csv", "id": "id", "id_key": "ids.key"} | more
    lines = [f'{key} = "{value}"' for key, value in told.items()] + ['votes = ["v"]', 'clusters = ["c"]']
    (folder / "site.toml").write_text("\n".join(lines))
    return folder / "site.toml"


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (f"id,v,c\n1,no,1\n2,{SECRET},1,1\n", "InputError (labels)"),
        (f"id,v,c\n1,no,1\n2,{SECRET},1\n", "InputError ("),
    ],
    ids=["ragged", "unknown class"],
)
def test_no_record_leaves_with_an_error(provisioned: Path, tmp_path: Path, rows: str, kind: str) -> None:
    config = SiteConfig.read(write_site(tmp_path, provisioned / "a", rows))
    member = Member(config, lambda *_: b"")
    job = Job("try", RUN, 0, SITES, classes=("no", "yes"))

    def work() -> bytes:
        member.answer("server", "join", job.to_json().encode())
        return member.answer("server", "holdings", json.dumps(["no", "yes"]).encode())

    told = answered(work)
    assert told.startswith(b"E" + kind.encode()), told
    assert SECRET.encode() not in told


def test_ragged_table_is_refused_without_its_row(provisioned: Path, tmp_path: Path) -> None:
    rows = f"id,v,c\n1,no,1\n2,{SECRET},1,1\n"
    config = SiteConfig.read(write_site(tmp_path, provisioned / "a", rows))
    with pytest.raises(InputError, match=r"labels.csv is no table") as found:
        config.read_site()
    assert SECRET not in str(found.value)
    assert found.value.__suppress_context__


def test_trouble_travels_without_values(provisioned: Path, tmp_path: Path) -> None:
    config = SiteConfig.read(write_site(tmp_path, provisioned / "a", "id,v,c\n1,no,1\n2,yes,1\n"))
    sent: list[bytes] = []

    def call(node: str, topic: str, data: bytes, seconds: float) -> bytes:
        sent.append(data)
        return b""

    member = Member(config, call)
    member.answer("server", "join", Job("try", RUN, 0, SITES).to_json().encode())
    member._trouble(ValueError(SECRET))
    member._trouble(RunInterrupted("b has not answered for 300 s."))
    assert sent == [b"ValueError; the log of this machine says more", b"b has not answered for 300 s."]
    assert reason(MaskingError("sum 'x': its tag was used before.")).startswith("sum 'x'")


def test_authority_keeps_the_root_alone(provisioned: Path) -> None:
    authority = provisioned / "authority"
    assert authority.stat().st_mode & 0o077 == 0
    holders = [f for f in authority.rglob("*") if f.is_file() and b"PRIVATE KEY" in f.read_bytes()]
    assert [file.name for file in holders] == ["cert.json"]
    assert holders[0].stat().st_mode & 0o077 == 0
    assert holders[0].read_text().count("BEGIN RSA PRIVATE KEY") == 1
    assert set(json.loads(holders[0].read_text())) == {"root_cert", "root_pri_key"}
    # It can still make certificates: for a new site, and anew for an old one.
    made = flare.provision(authority, "quiet", "localhost", 8002, ("a", "late"), "you@example.org")
    root = (provisioned / "server" / "startup" / "rootCA.pem").read_bytes()
    assert (made / "late" / "startup" / "rootCA.pem").read_bytes() == root
    assert (made / "a" / "startup" / "client.crt").exists()


@pytest.mark.parametrize("there", [True, False])
def test_interrupted_provisioning_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], there: bool
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kits, "close_doors", interrupt)
    project = tmp_path / "project.yml"
    project.write_text("name: x\nserver: localhost:8002\nsites: [a, b]\ncoordinator: me@x.org\n")
    out = tmp_path / "kits"
    if there:
        out.mkdir()
    assert run(["federate", "provision", str(project), "--out", str(out)]) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert out.exists() == there
    assert not there or not list(out.iterdir())


class FakeLine:
    """A line to a server that says of every job the same."""

    def __init__(self, status: str = "RUNNING") -> None:
        self.told, self.closed = status, False

    def status(self, ticket: str) -> str:
        return self.told

    def sites(self) -> list[str]:
        return list(SITES)

    def submit(self, job: Path) -> str:
        return "ticket"

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Control:
    """A federation whose server seems to run: its process is this one."""
    for kit in ("server", "coordinator"):
        (tmp_path / "kits" / kit / "startup").mkdir(parents=True)
    found = Control(tmp_path / "kits")
    (found.server / "local").mkdir()
    (found.server / "local" / "bc3e_sites.json").write_text(json.dumps({"sites": SITES}))
    pose(found, "here")
    monkeypatch.setattr(launching, "_born", lambda pid: json.loads(_pid(found))["born"])
    monkeypatch.setattr(controlling, "ENDING", 0.0)
    return found


def pose(control: Control, born: str) -> None:
    told = {"pid": os.getpid(), "born": born}
    (control.server / launching.PID_FILE).write_text(json.dumps(told))


def _pid(control: Control) -> str:
    return (control.server / launching.PID_FILE).read_text()


def test_resume_refuses_what_still_runs(control: Control) -> None:
    line: Any = FakeLine()
    job = control.new_job("one", SITES)
    control.submit(line, job)
    with pytest.raises(InputError, match=r"run 'one' runs\. Stop it first"):
        control.next_attempt(line, "one")
    assert control.job("one").attempt == 0
    line.told = "FINISHED:ABORTED"
    assert control.next_attempt(line, "one").attempt == 1


def test_resume_goes_on_after_a_stop_or_a_lost_server(control: Control) -> None:
    line: Any = FakeLine()
    job = control.new_job("one", SITES)
    control.submit(line, job)
    records = Records(control.run_folder("one"))
    records.tell("attempt", attempt=0, sites=SITES)
    records.tell("stopped", reason="b is silent", resumable=True)
    again = control.next_attempt(line, "one")  # the engine may still clear the first attempt away
    control.submit(line, again)
    pose(control, "later")  # the server was killed, and another process is in its place
    assert control.next_attempt(line, "one").attempt == 2
    line.told = "SUBMITTED"  # which the new one would begin
    with pytest.raises(InputError, match="Stop it first"):
        control.next_attempt(line, "one")
    records.tell("attempt", attempt=2, sites=SITES)
    records.tell("finished")
    with pytest.raises(InputError, match="has finished"):
        control.next_attempt(line, "one")


def federate_with(control: Control, *words: str) -> int:
    return run(["federate", *words, "--kits", str(control.folder)])


def test_interrupt_says_what_goes_on(
    control: Control, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = FakeLine()
    monkeypatch.setattr(Control, "connect", lambda self: line)

    def follow(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([], 5.0)

    monkeypatch.setattr(Control, "follow", follow)
    assert federate_with(control, "start", "--name", "one") == 130
    said = capsys.readouterr().err
    assert "the run goes on. 'bc3e federate stop --name one' stops it" in said
    assert "nothing was written" not in said
    assert line.closed

    def submit(self: FakeLine, job: Path) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "late"

    monkeypatch.setattr(FakeLine, "submit", submit)
    assert federate_with(control, "start", "--name", "two") == 130
    assert "the run goes on" in capsys.readouterr().err
    ticket = json.loads((control.run_folder("two") / "ticket.json").read_text())
    assert ticket["ticket"] == "late", "the run is under way, and could not be stopped"

    monkeypatch.setattr(Control, "wait_for_sites", follow)
    assert federate_with(control, "resume", "--name", "two") == 130
    assert "no attempt is under way, the server goes on" in capsys.readouterr().err


def test_interrupted_run_has_a_code_of_its_own_and_one_plain_line(
    control: Control, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object) -> None:
        raise RunInterrupted("not connected: [red]b[/red]\n\x1b[2J. Start them.")

    monkeypatch.setattr(Control, "connect", lambda self: FakeLine())
    monkeypatch.setattr(Control, "wait_for_sites", missing)
    assert federate_with(control, "start") == 4
    told = capsys.readouterr()
    assert told.err == "bc3e federate: error: not connected: [red]b[/red] \\x1b[2J. Start them.\n"
    assert told.out == ""


def test_tables_show_outside_text_as_it_is(
    control: Control, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(Control, "connect", lambda self: FakeLine())
    control.new_job("one", SITES)
    records = Records(control.run_folder("one"))
    records.tell("attempt", attempt=0, sites=SITES)
    records.tell("stopped", reason="[bold]loud[/bold] :smile: [/]\x1b[2J", resumable=True)
    assert federate_with(control, "status") == 0
    assert "stopped: [bold]loud[/bold] :smile: [/]\\x1b[2J" in capsys.readouterr().out


def test_stop_ends_a_server_without_a_run(
    control: Control, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(launching, "end", ended.append)
    monkeypatch.setattr(Control, "connect", lambda self: FakeLine())
    assert federate_with(control, "stop") == 2
    assert "there is no run 'run'" in capsys.readouterr().err
    assert ended == []
    assert federate_with(control, "stop", "--server") == 0
    assert "server: ended" in capsys.readouterr().out
    assert ended == [os.getpid()]


def test_site_that_is_told_to_leave_ends_well(
    provisioned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_site(tmp_path, provisioned / "a", "id,v,c\n1,no,1\n2,yes,1\n")
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(flare, "command", lambda *_: sleep)
    began = launching.start_site

    def start(told: SiteConfig) -> Any:
        process = began(told)
        wait = process.wait
        first = iter([True])

        def interrupted(timeout: float | None = None) -> int:
            if next(first, False):
                os.kill(os.getpid(), signal.SIGTERM)
            return wait(timeout)

        monkeypatch.setattr(process, "wait", interrupted)
        return process

    monkeypatch.setattr(launching, "start_site", start)
    assert run(["federate", "site", "--config", str(config)]) == 0
    assert launching.running(provisioned / "a") is None


@pytest.mark.parametrize("name", ["labels.csv", "ids.key", "site.toml", "sub/../labels.csv", "link.csv"])
def test_answers_never_replace_what_the_site_needs(provisioned: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "labels.csv")
    config = write_site(tmp_path, provisioned / "a", "id,v,c\n1,no,1\n", answers=name)
    with pytest.raises(InputError, match=r"answers: .* is the file of"):
        SiteConfig.read(config)
