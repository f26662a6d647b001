"""Who is not let in, and what sites do not do: each refusal with a line in a log that says why."""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from bc3e.federation.engine import flare, kits, launching
from bc3e.federation.processes import RunFailed, RunInterrupted
from tests.federation_engine.conftest import ENGINE, Federation

pytestmark = ENGINE


def wait_for_line(federation: Federation, name: str, *texts: str, seconds: float = 30.0) -> str:
    deadline = time.monotonic() + seconds
    while True:
        for line in federation.log_of(name).splitlines():
            if all(text in line for text in texts):
                return line
        assert time.monotonic() < deadline, f"{name} has not logged {texts}"
        time.sleep(0.2)


def knock(federation: Federation, certificate: Path | None, key: Path | None) -> None:
    """Open a TLS connection to the server and wait for its first word."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    with (
        socket.create_connection(flare.address(federation.made.control.person), timeout=10) as raw,
        context.wrap_socket(raw) as door,
    ):
        door.settimeout(3.0)
        door.sendall(b"\0" * 16)
        if not door.recv(1):
            raise ConnectionResetError("closed by the server")


def refused(federation: Federation, certificate: Path | None, key: Path | None) -> str:
    with pytest.raises((ssl.SSLError, ConnectionResetError, BrokenPipeError)) as found:
        knock(federation, certificate, key)
    assert not isinstance(found.value, TimeoutError)
    return str(found.value)


def test_no_certificate(federation: Federation) -> None:
    refused(federation, None, None)
    wait_for_line(federation, "server", "from 127.0.0.1 refused", "PEER_DID_NOT_RETURN_A_CERTIFICATE")


def test_caller_who_says_nothing_keeps_nobody_out(federation: Federation) -> None:
    place = flare.address(federation.made.control.person)
    with socket.create_connection(place), socket.create_connection(place):
        link = federation.made.control.connect(20.0)
        assert "site-1" in link.sites()
        link.close()


def test_certificate_of_a_foreign_authority(federation: Federation, tmp_path: Path) -> None:
    there = kits.provision(
        kits.Project("foreign", "localhost", 1, ("site-1",), "them@example.org"), tmp_path / "kits"
    )
    startup = there["site-1"] / "startup"
    refused(federation, startup / "client.crt", startup / "client.key")
    wait_for_line(federation, "server", "from 127.0.0.1 refused", "CERTIFICATE_VERIFY_FAILED")


def test_expired_certificate(federation: Federation, tmp_path: Path) -> None:
    startup = federation.made.sites["site-6"].kit / "startup"
    state = next((federation.made.control.folder / "authority").glob("**/cert.json"))
    root_key = serialization.load_pem_private_key(
        json.loads(state.read_text())["root_pri_key"].encode(), password=None
    )
    old = x509.load_pem_x509_certificate((startup / "client.crt").read_bytes())
    day, now = datetime.timedelta(days=1), datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(
        old.issuer, old.subject, old.public_key(), x509.random_serial_number(), now - 9 * day, now - day
    )
    expired = builder.sign(root_key, hashes.SHA256())
    (tmp_path / "old.crt").write_bytes(expired.public_bytes(serialization.Encoding.PEM))
    refused(federation, tmp_path / "old.crt", startup / "client.key")
    wait_for_line(federation, "server", "from 127.0.0.1 refused", "certificate has expired")


def test_valid_certificate_with_another_sites_name(federation: Federation) -> None:
    """The kit of site-6, started as site-5."""
    config = federation.made.sites["site-6"]
    launching.stop(config.kit)
    process = launching._start(
        config.kit, flare.command(config.kit.resolve(), "site-5"), federation.made.environment
    )
    try:
        wait_for_line(federation, "server", "authenticated as 'site-6' but claimed endpoint 'site-5'")
    finally:
        launching.end(process.pid)
    launching.start_site(config, federation.made.environment)


def test_call_that_is_replayed(federation: Federation) -> None:
    sites = federation.hand_out("column", 3)
    federation.misbehave("site-2", kind="replay", at=15)
    job = federation.propose(sites)
    federation.run(job)
    told = federation.made.sites["site-2"].path.with_suffix(".told").read_bytes()
    assert told == b"Ecall refused: it was seen before"
    assert "call of server refused: it was seen before" in federation.log_of("site-2")
    assert max(federation.gaps(job)) <= 1e-6


def test_job_with_code_in_it(federation: Federation, tmp_path: Path) -> None:
    job = federation.propose(federation.hand_out("row", 3))
    folder = flare.write_job(tmp_path / "job", job)
    code = folder / "app_site" / "custom" / "pushed.py"
    code.parent.mkdir()
    code.write_text(f"open({str(tmp_path / 'was-run')!r}, 'w')\n")
    ticket = federation.link.submit(folder)
    with pytest.raises((RunFailed, RunInterrupted)) as found:
        federation.follow(job, ticket)
    assert "site-1: NVFLARE_ERROR: BYOC not permitted" in str(found.value)
    assert not (tmp_path / "was-run").exists()


def test_job_with_an_installed_class_that_is_not_on_the_list(
    federation: Federation, tmp_path: Path
) -> None:
    job = federation.propose(federation.hand_out("row", 3))
    folder = flare.write_job(tmp_path / "job", job, site_agent="subprocess.Popen")
    ticket = federation.link.submit(folder)
    with pytest.raises((RunFailed, RunInterrupted)):
        federation.follow(job, ticket)
    wait_for_line(federation, "site-1", "subprocess.Popen", "not in allow_list")


def test_sum_over_two_sites_without_their_consent(federation: Federation) -> None:
    sites = federation.hand_out("column", 3)
    config = federation.made.sites["site-3"]
    lines = [line for line in config.path.read_text().splitlines() if not line.startswith("votes")]
    config.path.write_text("\n".join([*lines, "votes = []"]) + "\n")
    job = federation.propose(sites, allow_two=True)
    with pytest.raises(RunFailed, match=r"site-.: sites: only 'site-1' and 'site-2' add up the votes"):
        federation.run(job)
    logs = "".join(federation.log_of(site) for site in sites)
    assert "call refused: sites: only 'site-1' and 'site-2' add up the votes" in logs
