"""Masked parts add up to the sum, and show nothing by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, kstest

from bc3e.federation.keys import Identity, KeyRefused, MaskingKey, SignedKey
from bc3e.federation.masking import Masker, MaskingError, MaskTag, unmask_sum

RUN = "0123456789abcdef" * 2
TAG = MaskTag(RUN, "evidence", iteration=1, sweep=2, attempt=0, group="rows-1")


@dataclass
class Ring:
    """Sites that have exchanged signed keys."""

    names: list[str]
    keys: dict[str, MaskingKey]
    signed: dict[str, SignedKey]
    identities: dict[str, bytes]

    def masker(self, site: str, **options: Any) -> Masker:
        return Masker(site, RUN, self.keys[site], self.signed, self.identities, **options)


def ring(size: int = 3) -> Ring:
    names = [f"site-{i}" for i in range(size)]
    owners = {name: Identity.generate(name) for name in names}
    keys = {name: MaskingKey.generate() for name in names}
    signed = {name: owners[name].sign_key(keys[name], RUN) for name in names}
    return Ring(names, keys, signed, {name: owners[name].public for name in names})


def masked_parts(
    values: Sequence[np.ndarray], tag: MaskTag = TAG, *, bits: int = 30, sites: Ring | None = None
) -> list[np.ndarray]:
    sites = sites or ring(len(values))
    return [
        sites.masker(name, allow_two=True).mask(value, tag, sites.names, bits=bits)
        for name, value in zip(sites.names, values, strict=True)
    ]


@given(
    st.integers(2, 6),
    st.sampled_from([0, 10, 30, 45]),
    st.sampled_from([(), (0,), (7,), (4, 3), (2, 0, 3), (2, 3, 2)]),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=60)
def test_the_sum_of_masked_parts_is_the_sum(
    members: int, bits: int, shape: tuple[int, ...], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    values = [rng.normal(scale=1000.0, size=shape) for _ in range(members)]
    total = unmask_sum(masked_parts(values, bits=bits), bits=bits)
    assert total.shape == shape
    bound = members * 2.0 ** -(bits + 1) + 1e-11  # rounding to fixed point, and of the float sum
    assert np.all(np.abs(total - np.sum(values, axis=0)) <= bound)


def test_the_error_at_thirty_bits_is_far_below_what_probabilities_need() -> None:
    values = [np.random.default_rng(i).random((1000, 5)) for i in range(5)]
    error = np.abs(unmask_sum(masked_parts(values)) - np.sum(values, axis=0)).max()
    assert error <= 5 * 2.0**-31


def test_whole_numbers_add_up_exactly() -> None:
    values = [
        np.array([-3.0, 2.0**31, 0.0]),
        np.array([1.0, -(2.0**31), 0.0]),
        np.array([1.0, 0.0, 0.0]),
    ]
    assert unmask_sum(masked_parts(values)).tolist() == [-1.0, 0.0, 0.0]


def test_each_part_looks_uniform() -> None:
    parts = masked_parts([np.zeros((20_000, 4))] * 3)
    for part in parts:
        counts = np.bincount(np.ascontiguousarray(part).view(np.uint8).ravel(), minlength=256)
        expected = counts.sum() / 256
        statistic = np.sum((counts - expected) ** 2) / expected
        assert 1e-6 < chi2.sf(statistic, 255) < 1 - 1e-6
        words = np.sort(part.ravel().astype(np.float64) / 2.0**64)
        assert kstest(words, "uniform").pvalue > 1e-6


def test_a_part_tells_nothing_of_its_value() -> None:
    """Over fresh keys the words for value 0 and for value 1 have the same distribution."""
    words = np.array(
        [[masked_parts([np.full(8, value)] * 3)[1] for value in (0.0, 1.0)] for _ in range(60)]
    )
    zero, one = (words[:, i].ravel() for i in range(2))
    assert kstest(zero.astype(np.float64), one.astype(np.float64)).pvalue > 1e-6
    # Bit by bit, too: in the fixed point of 1.0 exactly one bit is set.
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=-1).reshape(60, 2, 8, 64)
    shift = np.abs(bits[:, 1].mean(axis=(0, 1)) - bits[:, 0].mean(axis=(0, 1)))
    assert shift.max() < 6 * np.sqrt(2 * 0.25 / (60 * 8))


def test_any_other_tag_or_key_gives_another_mask() -> None:
    sites = ring(3)
    tags = [
        TAG,
        replace(TAG, kind="votes"),
        replace(TAG, iteration=2),
        replace(TAG, sweep=3),
        replace(TAG, attempt=1),
        replace(TAG, group="rows-2"),
    ]
    zero = np.zeros(2)
    parts = [sites.masker("site-0").mask(zero, tag, sites.names) for tag in tags]
    parts.append(sites.masker("site-0").mask(zero, TAG, sites.names, bits=31))
    parts.append(sites.masker("site-0").mask(np.zeros(3), TAG, sites.names)[:2])
    parts.append(ring(3).masker("site-0").mask(zero, TAG, sites.names))
    assert len({part.tobytes() for part in parts}) == len(parts)
    again = sites.masker("site-0").mask(zero, TAG, sites.names)
    assert again.tobytes() == parts[0].tobytes()


def test_without_one_member_the_total_is_noise() -> None:
    values = [np.ones(2000)] * 4
    parts = masked_parts(values)
    assert np.allclose(unmask_sum(parts), 4.0)
    for left_out in range(4):
        rest = unmask_sum([part for i, part in enumerate(parts) if i != left_out])
        spread = rest / 2.0**33
        assert kstest(spread, "uniform", args=(-1.0, 2.0)).pvalue > 1e-6


def test_members_who_disagree_about_the_sum_get_noise() -> None:
    sites = ring(4)
    values = np.ones(1000)
    good = [sites.masker(name).mask(values, TAG, sites.names) for name in sites.names[:3]]
    other_tag = sites.masker("site-3").mask(values, replace(TAG, sweep=9), sites.names)
    other_members = sites.masker("site-3").mask(values, TAG, sites.names[1:])
    for part in (other_tag, other_members):
        assert np.abs(unmask_sum([*good, part])).max() > 1e6


def test_a_tag_is_used_once() -> None:
    sites = ring(3)
    masker = sites.masker("site-0")
    masker.mask(np.ones(3), TAG, sites.names)
    before = masker.export_used()
    for old in (TAG, replace(TAG, sweep=1), replace(TAG, iteration=0, sweep=9)):
        with pytest.raises(MaskingError, match="used before or is older"):
            masker.mask(np.zeros(3), old, sites.names)
    assert masker.export_used() == before
    masker.mask(np.ones(3), replace(TAG, kind="votes"), sites.names)
    masker.mask(np.ones(3), replace(TAG, group="rows-2"), sites.names)
    masker.mask(np.ones(3), replace(TAG, sweep=3), sites.names)
    masker.mask(np.ones(3), replace(TAG, iteration=2, sweep=0), sites.names)
    masker.mask(np.ones(3), replace(TAG, attempt=1, iteration=0, sweep=0), sites.names)
    with pytest.raises(MaskingError, match="older attempt"):
        masker.mask(np.ones(3), replace(TAG, kind="never used"), sites.names)


def test_a_used_tag_is_refused_after_a_restart_and_so_is_its_whole_attempt() -> None:
    sites = ring(3)
    masker = sites.masker("site-0")
    masker.mask(np.ones(3), TAG, sites.names)
    saved = msgpack.unpackb(msgpack.packb(masker.export_used()))
    fresh = sites.masker("site-0")
    fresh.restore(saved)
    for lost in (
        TAG,
        replace(TAG, iteration=7),
        replace(TAG, kind="votes"),
        replace(TAG, group="rows-2"),
    ):
        with pytest.raises(MaskingError, match="older attempt"):
            fresh.mask(np.zeros(3), lost, sites.names)
    resumed = replace(TAG, attempt=1)
    assert fresh.mask(np.ones(3), resumed, sites.names).shape == (3,)
    with pytest.raises(MaskingError, match="used before"):
        fresh.mask(np.zeros(3), resumed, sites.names)


def test_a_group_never_loses_or_gains_a_member() -> None:
    sites = ring(4)
    masker = sites.masker("site-0")
    masker.mask(np.ones(3), TAG, sites.names)
    later = replace(TAG, attempt=1)
    with pytest.raises(MaskingError, match="members of its group have changed"):
        masker.mask(np.ones(3), later, sites.names[:3])
    fresh = sites.masker("site-0")
    fresh.restore(masker.export_used())
    with pytest.raises(MaskingError, match="members of its group have changed"):
        fresh.mask(np.ones(3), later, sites.names[:3])


def test_sums_over_fewer_than_three_sites_need_consent() -> None:
    sites = ring(3)
    with pytest.raises(MaskingError, match="fewer than three"):
        sites.masker("site-0").mask(np.ones(3), TAG, sites.names[:2])
    assert sites.masker("site-0", allow_two=True).mask(np.ones(3), TAG, sites.names[:2]).shape == (3,)
    for consent in (False, True):
        with pytest.raises(MaskingError, match="fewer than three"):
            sites.masker("site-0", allow_two=consent).mask(np.ones(3), TAG, sites.names[:1])


@pytest.mark.parametrize(
    "members",
    [
        ["site-1", "site-0", "site-2"],
        ["site-0", "site-0", "site-1", "site-2"],
        ["site-1", "site-2", "site-3"],
        [],
    ],
)
def test_members_must_be_sorted_distinct_and_include_the_site(members: list[str]) -> None:
    with pytest.raises(MaskingError, match="sorted, distinct"):
        ring(4).masker("site-0").mask(np.ones(3), TAG, members)


@pytest.mark.parametrize("bad", [2.0**33, -(2.0**33), 2.0**33 / 3, 1e300, np.inf, -np.inf, np.nan])
def test_what_does_not_fit_is_refused_not_clipped_and_not_told(bad: float) -> None:
    sites = ring(3)
    masker = sites.masker("site-0")
    before = masker.export_used()
    with pytest.raises(MaskingError, match="'evidence'") as caught:
        masker.mask(np.array([0.0, bad]), TAG, sites.names)
    assert f"{bad}" not in str(caught.value)
    assert masker.export_used() == before
    masker.mask(np.array([0.0, 1.0]), TAG, sites.names)  # nothing left the site: the tag is unused


def test_the_largest_values_that_fit_add_up() -> None:
    largest = np.nextafter(2.0**33 / 3, 0.0)
    total = unmask_sum(masked_parts([np.array([largest, -largest])] * 3))
    assert np.allclose(total, [3 * largest, -3 * largest], rtol=0, atol=2e-6)  # one ulp of a float64


@pytest.mark.parametrize("bits", [-1, 63, 64])
def test_other_fixed_points_are_refused(bits: int) -> None:
    with pytest.raises(MaskingError, match="binary digits"):
        ring(3).masker("site-0").mask(np.ones(1), TAG, ["site-0", "site-1", "site-2"], bits=bits)


def test_a_tag_of_another_run_is_refused() -> None:
    sites = ring(3)
    with pytest.raises(MaskingError, match="another run"):
        sites.masker("site-0").mask(np.ones(1), replace(TAG, run="f" * 32), sites.names)


@pytest.mark.parametrize("field", ["attempt", "iteration", "sweep"])
def test_negative_counters_are_refused(field: str) -> None:
    sites = ring(3)
    with pytest.raises(MaskingError, match="older"):
        sites.masker("site-0").mask(np.ones(1), replace(TAG, **{field: -1}), sites.names)


def test_a_missing_key_is_refused() -> None:
    sites = ring(4)
    del sites.signed["site-2"]
    with pytest.raises(MaskingError, match="no verified masking key of 'site-2'"):
        sites.masker("site-0").mask(np.ones(1), TAG, sites.names)


def test_forged_swapped_and_copied_keys_are_refused() -> None:
    def refuse(sites: Ring, reason: str) -> None:
        with pytest.raises(KeyRefused, match=reason):
            sites.masker("site-0")

    forged = ring()
    forged.signed["site-1"] = Identity.generate("site-1").sign_key(MaskingKey.generate(), RUN)
    refuse(forged, "signature")
    swapped = ring()
    s = swapped.signed
    s["site-1"], s["site-2"] = s["site-2"], s["site-1"]
    refuse(swapped, "belongs to 'site-2'")
    renamed = ring()
    s = renamed.signed
    s["site-1"], s["site-2"] = replace(s["site-2"], site="site-1"), replace(s["site-1"], site="site-2")
    refuse(renamed, "signature")
    stale = ring()
    owner = Identity.generate("site-1")
    stale.identities["site-1"] = owner.public
    stale.signed["site-1"] = owner.sign_key(MaskingKey.generate(), "f" * 32)
    refuse(stale, "another run")
    for source in ("site-0", "site-2"):
        copied = ring()
        copied.identities["site-1"] = owner.public
        copied.signed["site-1"] = owner.sign_key(copied.keys[source], RUN)
        refuse(copied, "another site has the same")
    unknown = ring()
    del unknown.identities["site-1"]
    refuse(unknown, "not known")


def test_a_wrong_peer_key_gives_noise_not_a_leak() -> None:
    """A site whose peers hold another key of it: nothing cancels, nothing shows."""
    sites = ring(3)
    values = np.ones(1000)
    parts = [sites.masker(name).mask(values, TAG, sites.names) for name in sites.names[:2]]
    sites.keys["site-2"] = MaskingKey.generate()
    parts.append(sites.masker("site-2").mask(values, TAG, sites.names))
    assert np.abs(unmask_sum(parts)).max() > 1e6


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [np.zeros(2, dtype=np.uint64), np.zeros(3, dtype=np.uint64)],
        [np.zeros(2)],
        [np.zeros(2, dtype=np.int64)],
    ],
)
def test_parts_that_are_no_parts_are_refused(parts: list[Any]) -> None:
    with pytest.raises(MaskingError, match="parts of a sum"):
        unmask_sum(parts)


def test_masking_is_quick() -> None:
    """100,000 x 5 numbers among three sites: 48 to 84 ms were measured; the limit allows a busy machine."""
    sites = ring(3)
    masker = sites.masker("site-0")
    values = np.random.default_rng(0).random((100_000, 5))
    times = []
    for sweep in range(5):
        begin = perf_counter()
        masker.mask(values, replace(TAG, sweep=2 + sweep), sites.names)
        times.append(perf_counter() - begin)
    assert min(times) < 0.5
