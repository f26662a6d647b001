"""Machines that die, hang, or answer too late: the run resumes to the same result or says why it stopped."""

from __future__ import annotations

import os
import signal
import time

import pytest

from bc3e.federation.engine import launching
from bc3e.federation.engine.job import Job
from bc3e.federation.processes import RunInterrupted
from tests.federation_engine.conftest import ENGINE, Federation

pytestmark = ENGINE


def same_result(federation: Federation, job: Job) -> None:
    probabilities, bound = federation.gaps(job)
    assert probabilities <= 1e-6
    assert bound <= 1e-6


def send(pids: list[int], sent: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, sent)


def test_call_that_is_delivered_after_its_time_out_is_carried_out_once(federation: Federation) -> None:
    sites = federation.hand_out("column", 3)
    federation.misbehave("site-2", kind="hold", at=12, seconds=6.0)
    job = federation.propose(sites)
    federation.run(job)
    same_result(federation, job)
    assert "site-2 did not answer a call" in federation.log_of("server")
    deadline = time.monotonic() + 20.0  # the late call may be answered after the run has ended
    while not any(
        told in federation.log_of("site-2") for told in ("has the same answer", "seen before")
    ):
        assert time.monotonic() < deadline, "the late call was not noticed"
        time.sleep(0.2)


def test_site_that_is_stopped_for_ten_seconds(federation: Federation) -> None:
    sites = federation.hand_out("column", 3)
    federation.misbehave("site-2", kind="hold", at=12, seconds=0.5)
    job = federation.propose(sites)
    ticket = federation.submit(job)
    federation.wait_for_hit("site-2")
    pid = launching.running(federation.made.sites["site-2"].kit)
    assert pid is not None
    stopped = launching.family(pid)
    send(stopped, signal.SIGSTOP)
    time.sleep(10.0)
    send(stopped, signal.SIGCONT)
    federation.follow(job, ticket)
    same_result(federation, job)


def test_site_that_is_killed_in_a_round_and_restarted(federation: Federation) -> None:
    sites = federation.hand_out("column", 3)
    federation.misbehave("site-2", kind="hold", at=20, seconds=5.0)
    job = federation.propose(sites)
    ticket = federation.submit(job)
    federation.wait_for_hit("site-2")
    config = federation.made.sites["site-2"]
    pid = launching.running(config.kit)
    assert pid is not None
    send(launching.family(pid), signal.SIGKILL)
    with pytest.raises(RunInterrupted, match=r"site-2 has not answered for 14 s\. Nothing was summed"):
        federation.follow(job, ticket)
    launching.end(pid)
    config.path.with_suffix(".fault").unlink()
    launching.start_site(config, federation.made.environment)
    federation.made.control.wait_for_sites(federation.link, job.sites, 60.0)
    again = federation.made.control.next_attempt(federation.link, job.name)
    began: list[int] = []
    federation.run(again, lambda e: began.append(e["iteration"]) if e["event"] == "began" else None)
    assert began[0] > 0, "the run began anew instead of going on"
    same_result(federation, again)


def test_server_that_is_killed_and_restarted(federation: Federation) -> None:
    sites = federation.hand_out("column", 3)
    federation.misbehave("site-2", kind="hold", at=20, seconds=2.0)
    job = federation.propose(sites)
    ticket = federation.submit(job)
    federation.wait_for_hit("site-2")
    control = federation.made.control
    pid = launching.running(control.server)
    assert pid is not None
    send(launching.family(pid), signal.SIGKILL)
    with pytest.raises(RunInterrupted, match="the server does not run any more"):
        federation.follow(job, ticket)
    federation.link.close()
    launching.end(pid)
    config = federation.made.sites["site-2"]
    config.path.with_suffix(".fault").unlink()
    control.serve(federation.made.environment)
    federation.link = control.connect()
    control.wait_for_sites(federation.link, job.sites, 90.0)
    again = control.next_attempt(federation.link, job.name)
    federation.run(again)
    same_result(federation, again)
