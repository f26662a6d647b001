"""The parts of the engine's side that need no process: passports, numbered calls, files, consent."""

from __future__ import annotations

import datetime
import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from typer.testing import CliRunner

from bc3e.cli.main import app
from bc3e.errors import InputError
from bc3e.federation.engine import exchange, kits, passport
from bc3e.federation.engine.answers import answered, read_answer
from bc3e.federation.engine.exchange import (
    BUSY,
    CallRefused,
    Exchange,
    Patience,
    Unanswered,
    insist,
    pack,
)
from bc3e.federation.engine.job import Job
from bc3e.federation.engine.member import Member
from bc3e.federation.engine.rehearsal import Rehearsal, deal
from bc3e.federation.engine.site_config import SiteConfig
from bc3e.federation.keys import Identity, KeyRefused
from bc3e.federation.processes import RunInterrupted
from tests.federation_engine.conftest import CLUSTERS, VOTES, label_table

RUN = "0" * 32


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    tables = deal(label_table(30), 3, "row", VOTES, CLUSTERS, "id")
    return Rehearsal.prepare(tmp_path_factory.mktemp("kits") / "here", tables, "id", VOTES, CLUSTERS)


def startup(made: Rehearsal, site: str = "site-1") -> Path:
    return made.sites[site].kit / "startup"


def test_passport(made: Rehearsal) -> None:
    identity = Identity.generate("site-1")
    root = (startup(made, "site-2") / "rootCA.pem").read_bytes()
    own = passport.issue(startup(made), "site-1", RUN, 3, identity.public)
    told = passport.Passport.from_plain(json.loads(json.dumps(own.to_plain())))
    assert passport.check(told, "site-1", RUN, 3, root) == identity.public
    other = Identity.generate("site-1").public
    cases = {
        "not signed by this site": (replace(told, public=other), "site-1", RUN, 3),
        "not signed by this site for this run": (told, "site-1", "1" * 32, 3),
        "for this run": (told, "site-1", RUN, 4),
        "made out to another name": (told, "site-2", RUN, 3),
    }
    for reason, (shown, site, run, attempt) in cases.items():
        with pytest.raises(KeyRefused, match=reason):
            passport.check(shown, site, run, attempt, root)
    # A relay with a valid certificate of its own puts its key in the place of another site's.
    swapped = passport.issue(startup(made, "site-2"), "site-1", RUN, 3, other)
    with pytest.raises(KeyRefused, match="made out to another name"):
        passport.check(swapped, "site-1", RUN, 3, root)


def test_passport_of_a_foreign_authority_or_out_of_date(made: Rehearsal, tmp_path: Path) -> None:
    project = kits.Project("foreign", "localhost", 1, ("site-1",), "them@example.org")
    there = kits.provision(project, tmp_path / "kits")
    identity = Identity.generate("site-1")
    root = (startup(made) / "rootCA.pem").read_bytes()
    foreign = passport.issue(there["site-1"] / "startup", "site-1", RUN, 0, identity.public)
    with pytest.raises(KeyRefused, match="not issued by the root of this federation"):
        passport.check(foreign, "site-1", RUN, 0, root)
    state = next((made.control.folder / "authority").glob("**/cert.json"))
    key = serialization.load_pem_private_key(
        json.loads(state.read_text())["root_pri_key"].encode(), password=None
    )
    good = passport.issue(startup(made), "site-1", RUN, 0, identity.public)
    old = x509.load_pem_x509_certificate(good.certificate.encode())
    day, now = datetime.timedelta(days=1), datetime.datetime.now(datetime.UTC)
    expired = x509.CertificateBuilder(
        old.issuer, old.subject, old.public_key(), x509.random_serial_number(), now - 9 * day, now - day
    ).sign(key, hashes.SHA256())
    text = expired.public_bytes(serialization.Encoding.PEM).decode()
    with pytest.raises(KeyRefused, match="expired"):
        passport.check(replace(good, certificate=text), "site-1", RUN, 0, root)


def test_kits_close_every_door(made: Rehearsal) -> None:
    for kit in (made.control.server, made.sites["site-1"].kit):
        resources = json.loads((kit / "local" / "resources.json").read_text())
        assert resources["class_list_enforcement_mode"] == "enforce"
        assert resources["class_allow_list"] == list(kits.ALLOWED)
        parts = {component["id"] for component in resources["components"]}
        assert not parts & {"site_log_streamer", "log_receiver"}
        rights = json.loads((kit / "local" / "authorization.json").read_text())["permissions"]
        assert list(rights) == ["lead"]
        assert rights["lead"]["byoc"] == rights["lead"]["shell_commands"] == "none"
        assert all(key.stat().st_mode & 0o077 == 0 for key in (kit / "startup").glob("*.key"))
    resources = json.loads((made.sites["site-1"].kit / "local" / "resources.json").read_text())
    assert resources["allow_log_streaming"] is False
    client = json.loads((startup(made) / "fed_client.json").read_text())
    assert client["require_signed_jobs"] is True
    assert client["client"]["connection_security"] == "mtls"


def test_site_agrees_to_what_its_file_says_and_to_nothing_else(made: Rehearsal) -> None:
    def silent(*_: object) -> bytes:
        raise Unanswered("nobody")

    member = Member(made.sites["site-1"], silent)
    job = Job("try", RUN, 1, tuple(made.sites), masked=False)
    ask = member.answer
    with pytest.raises(CallRefused, match="may not ask"):
        ask("site-2", "join", job.to_json().encode())
    with pytest.raises(CallRefused, match="has not joined"):
        ask("server", "seat", b"")
    with pytest.raises(CallRefused, match="no masks"):
        ask("server", "join", job.to_json().encode())
    with pytest.raises(CallRefused, match="not among the sites"):
        ask("server", "join", replace(job, masked=True, sites=("a", "b", "c")).to_json().encode())
    good = replace(job, masked=True).to_json().encode()
    assert ask("server", "join", good) == ask("server", "join", good), "a repeated call has one answer"
    with pytest.raises(CallRefused, match="attempt 0 of this run has been here before"):
        ask("server", "join", replace(job, masked=True, attempt=0).to_json().encode())


def test_calls_are_numbered_and_carried_out_once() -> None:
    desk = Exchange("b", [], {"x": "a", "y": "b"}, 2, lambda *_: b"", Patience(0.3, 1.0), lambda _: None)
    first = desk.deliver("a", pack(2, 0, []))
    assert desk.deliver("a", pack(2, 0, [])) == first
    assert desk.deliver("a", pack(2, 1, [])) == pack(2, 1, [])
    for batch, reason in (
        (pack(2, 0, []), "seen before"),
        (pack(2, 3, []), "an earlier one is missing"),
        (pack(1, 2, []), "attempt 1"),
        (b"\xc1", "cannot be read"),
    ):
        with pytest.raises(CallRefused, match=reason):
            desk.deliver("a", batch)
    with desk._lock:
        assert desk.deliver("a", pack(2, 2, [])) == BUSY
    desk.close()


def test_silence_is_absence_but_work_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "PAUSE", 0.02)
    told = iter([BUSY] * 20 + [b"done"])
    assert insist(lambda *_: next(told), "a", "deliver", b"", Patience(1.0, 0.1)) == b"done"

    with pytest.raises(RunInterrupted, match="a has been at work on one call"):
        insist(lambda *_: BUSY, "a", "deliver", b"", Patience(1.0, 1.0, work=0.1))

    def silent(*_: object) -> bytes:
        raise Unanswered("time-out")

    with pytest.raises(RunInterrupted, match=r"a has not answered for 0 s\. Nothing was summed"):
        insist(silent, "a", "deliver", b"", Patience(1.0, 0.1))
    assert threading.active_count() < 50


def test_failures_travel_as_reasons_without_values() -> None:
    def leak() -> bytes:
        raise KeyError("the label of ann")

    with pytest.raises(CallRefused, match="a: KeyError; the log of this machine says more") as found:
        read_answer(answered(leak), "a")
    assert "ann" not in str(found.value)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('kit = "kit', "is no TOML"),
        ('colour = "red"', "colour: an unknown key"),
        ("votes = 3", "votes: 3"),
        ("allow_two = 1", "allow_two: 1"),
        ("id = 3", "id: 3"),
    ],
)
def test_mistakes_in_a_sites_file(made: Rehearsal, tmp_path: Path, line: str, reason: str) -> None:
    text = made.sites["site-1"].path.read_text().splitlines()
    rest = [old for old in text if old.split(" = ")[0] != line.split(" = ")[0]]
    (tmp_path / "site.toml").write_text("\n".join([*rest, line]))
    with pytest.raises(InputError, match=reason):
        SiteConfig.read(tmp_path / "site.toml")


def test_commands_say_in_one_line_what_is_wrong(tmp_path: Path) -> None:
    runner = CliRunner()
    (tmp_path / "project.yml").write_text(
        "name: x\nserver: localhost:8002\nsites: [a, a]\ncoordinator: me@x.org\n"
    )
    told = runner.invoke(
        app, ["federate", "provision", str(tmp_path / "project.yml"), "--out", str(tmp_path / "k")]
    )
    assert told.exit_code == 2
    assert "two of one name" in told.output
    told = runner.invoke(app, ["federate", "status", "--kits", str(tmp_path)])
    assert told.exit_code == 2
    assert "no kit 'server'" in told.output
    told = runner.invoke(app, ["federate", "key", str(tmp_path / "ids.key")])
    assert told.exit_code == 0
    assert (tmp_path / "ids.key").stat().st_mode & 0o077 == 0
