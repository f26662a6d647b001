"""Labels that sites scramble before the run: how many, by whose secret, and what attacks find then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bc3e
from bc3e import BC3E, federation
from bc3e.federation import running
from bc3e.federation.auditing import audit
from bc3e.federation.noise import Noise, scrambled
from bc3e.federation.scoring import adjusted_rand
from bc3e.federation.sites import SiteData
from tests.federation.test_end_view import COUNTED, by_column, table
from tests.federation.test_processes import fingerprint

HALF = Noise(clusters=0.5)


def data_of(n: int = 4000, q: int = 4) -> SiteData:
    rng = np.random.default_rng(0)
    labels = rng.integers(q, size=n)
    labels[:100] = -1
    names = np.array([f"{i:016d}" for i in range(q)], dtype="S16")
    votes = rng.integers(3, size=n)
    return SiteData(
        "a",
        np.zeros(n, dtype="S16"),
        {"v": votes},
        {"c": labels, "d": labels},
        {"c": names, "d": names},
        3,
    )


def test_as_many_labels_change_as_asked_for() -> None:
    data = data_of()
    found = scrambled(data, HALF, b"s" * 32)
    there = data.clusters["c"] >= 0
    changed = np.mean(found.clusters["c"][there] != data.clusters["c"][there])
    assert abs(changed - 0.5 * 3 / 4) < 0.03
    assert np.all(found.clusters["c"][~there] == -1)
    assert np.array_equal(found.votes["v"], data.votes["v"])
    drawn = found.clusters["c"][there][found.clusters["c"][there] != data.clusters["c"][there]]
    assert np.bincount(drawn, minlength=4).min() > 0.2 * len(drawn)
    voted = scrambled(data, Noise(votes=0.9), b"s" * 32)
    assert abs(np.mean(voted.votes["v"] != data.votes["v"]) - 0.9 * 2 / 3) < 0.03


def test_the_secret_decides_and_columns_differ() -> None:
    data = data_of()
    one, same, other = (scrambled(data, HALF, secret * 32).clusters for secret in (b"s", b"s", b"t"))
    assert np.array_equal(one["c"], same["c"])
    assert np.mean(one["c"] != other["c"]) > 0.3
    assert np.mean(one["c"] != one["d"]) > 0.3


def test_what_is_promised_is_the_ratio_of_probabilities() -> None:
    kept, shown = 0.5 + 0.5 / 4, 0.5 / 4
    assert HALF.epsilon("clusters", 4) == pytest.approx(np.log(kept / shown))
    assert HALF.epsilon("votes", 3) == np.inf
    assert not Noise()


def test_the_answer_is_that_of_the_scrambled_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "noise_secret", lambda site, folder: site.encode() * 16)
    model = BC3E(evidence_weight=0.5, delta2=0.5, vote_calibration=None)
    sites = by_column(3, 40)
    classes = np.arange(3)
    result = federation.fit(sites, model=model, noise=HALF)
    columns = {}
    for site in sites:
        data = SiteData.of(site, site.table(classes), b"k" * 32, "")
        for name, labels in scrambled(data, HALF, site.name.encode() * 16).clusters.items():
            columns[name] = labels
    central = model.fit(table(3, 40)[0], pd.DataFrame(columns))
    assert np.abs(result.for_site("s1").values - np.asarray(central.probabilities_)).max() < 1e-6
    plain = federation.fit(sites, model=model)
    assert np.abs(result.for_site("s1").values - plain.for_site("s1").values).max() > 1e-3


def test_a_resumed_run_has_the_same_noise(tmp_path: Path) -> None:
    sites = by_column(0, 20)
    model = BC3E(evidence_weight=0.5, max_iter=3)
    first = federation.fit(sites, model=model, noise=HALF, checkpoint=tmp_path)
    secrets = sorted(tmp_path.glob("noise-*"))
    assert [path.name for path in secrets] == ["noise-s0", "noise-s1", "noise-s2"]
    assert len({path.read_bytes() for path in secrets}) == 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in secrets)
    for role in tmp_path.glob("*/"):  # as if the run had stopped after its second iteration
        for state in role.glob("000003.state"):
            state.unlink()
    again = federation.fit(sites, model=model, noise=HALF, checkpoint=tmp_path)
    assert fingerprint(again) == fingerprint(first)
    with pytest.raises(bc3e.InputError, match="checkpoint"):
        federation.fit(sites, model=model, noise=Noise(clusters=0.6), checkpoint=tmp_path)


def test_processes_scramble_alike(tmp_path: Path) -> None:
    sites, model = by_column(0, 20), BC3E(evidence_weight=0.5, max_iter=2)
    for name in ("one", "many"):
        (tmp_path / name).mkdir(mode=0o700)
        for site in sites:
            (tmp_path / name / f"noise-{site.name}").write_bytes(site.name.encode() * 16)
    one = federation.fit(sites, model=model, noise=HALF, checkpoint=tmp_path / "one")
    many = federation.fit(sites, model=model, noise=HALF, checkpoint=tmp_path / "many", processes=True)
    assert fingerprint(one) == fingerprint(many)


def test_attacks_find_scrambled_labels_and_no_others() -> None:
    """Not even plain messages tell more than what was put in."""
    sites = by_column(1)
    for masked in (True, False):
        result = federation.fit(sites, model=COUNTED, masked=masked, noise=HALF, record=True)
        found = audit(result, sites, model=COUNTED, effort=8).select(attack="clusters").findings
        assert found
        assert max(f.success for f in found) < 0.5
        assert min(f.perplexity for f in found) > 1.8


def test_half_of_the_labels_scrambled_is_a_quarter_of_the_rand_index() -> None:
    data = data_of()
    there = data.clusters["c"] >= 0
    shown = scrambled(data, HALF, b"s" * 32).clusters["c"][there]
    reached = adjusted_rand(data.clusters["c"][there].astype(np.intp), shown.astype(np.intp))
    assert reached == pytest.approx(0.25, abs=0.03)


def test_bad_noise_is_refused() -> None:
    for share in (-0.1, 1.5, "some", True):
        with pytest.raises(bc3e.InputError, match="noise"):
            Noise(clusters=share)  # type: ignore[arg-type]
    votes, _ = table(0, 20)
    soft = np.full((20, 2), 0.5)
    sites = [
        federation.Site(f"s{i}", votes=votes.iloc[:, [i]], clusters={f"c{i}": pd.DataFrame(soft)})
        for i in range(3)
    ]
    with pytest.raises(bc3e.InputError, match="scores"):
        federation.fit(sites, model=COUNTED, noise=HALF)
