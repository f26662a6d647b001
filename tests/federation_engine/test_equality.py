"""A federation of real processes ends where the protocol in one process ends."""

from __future__ import annotations

import json
import os

import pytest

from bc3e.federation.ledger import read_entries
from bc3e.federation.running import fit
from tests.federation_engine.conftest import ENGINE, Federation

pytestmark = ENGINE
SPLITS = ("row", "column", "arbitrary")
CASES = [(how, 3, True) for how in ("row", "column")] + [(how, 6, False) for how in SPLITS]
if os.environ.get("BC3E_ENGINE_ALL"):
    CASES += [(how, 3, False) for how in SPLITS] + [(how, 6, True) for how in SPLITS]


@pytest.mark.parametrize(("how", "count", "masked"), CASES)
def test_same_model_as_in_one_process(
    federation: Federation, how: str, count: int, masked: bool
) -> None:
    sites = federation.hand_out(how, count, masked=masked)
    job = federation.propose(sites, masked=masked)
    last = federation.run(job)
    assert last["iterations"] == 5
    probabilities, bound = federation.gaps(job)
    assert probabilities <= (1e-6 if masked else 1e-9)
    assert bound <= (1e-6 if masked else 1e-9)


def test_every_site_has_its_answers_and_the_server_its_records(federation: Federation) -> None:
    sites = federation.hand_out("arbitrary", 3)
    job = federation.propose(sites)
    federation.run(job)
    assert max(federation.gaps(job)) <= 1e-6
    expected = fit([federation.made.sites[s].read_site() for s in sites], model=job.estimator())
    folder = federation.made.control.run_folder(job.name)
    model = json.loads((folder / "model.json").read_text())
    assert model["class_mean"] == expected.class_mean.tolist()
    assert model["delta2"] == expected.delta2
    assert model["lower_bounds"] == expected.lower_bounds.tolist()
    told = read_entries(folder / "messages.jsonl")

    def content(entries):  # the order and the secret names of objects differ from run to run
        return sorted((e.kind, e.sender, e.recipient, e.iteration, e.sweep, e.bytes) for e in entries)

    assert content(told) == content(expected.ledger)
    page = (folder / "run.html").read_text()
    assert "<svg" in page
    assert all(site in page for site in sites)
    for site in sites:
        config = federation.made.sites[site]
        assert config.answers.stat().st_mode & 0o077 == 0
        assert config.answers.read_text().startswith('"id","label","p_no","p_so","p_yes"')
        assert not list(folder.glob("**/*refined*"))
