"""Identities, signed masking keys, pair secrets and keyed hashes of ids."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from bc3e.errors import InputError, InputTypeError
from bc3e.federation.keys import (
    Identity,
    KeyRefused,
    MaskingKey,
    SignedKey,
    framed,
    hash_ids,
    new_id_key,
    pair_secret,
    verify,
)

RUN, OTHER_RUN = "0" * 32, "1" * 32
KEY = bytes(range(32))


def test_an_identity_survives_its_file(tmp_path: Path) -> None:
    identity = Identity.generate("a")
    identity.save(tmp_path / "a.pem")
    assert (tmp_path / "a.pem").stat().st_mode & 0o777 == 0o600
    assert Identity.load(tmp_path / "a.pem", "a").public == identity.public


def test_an_identity_file_is_never_overwritten(tmp_path: Path) -> None:
    Identity.generate("a").save(tmp_path / "a.pem")
    before = (tmp_path / "a.pem").read_bytes()
    with pytest.raises(FileExistsError):
        Identity.generate("a").save(tmp_path / "a.pem")
    assert (tmp_path / "a.pem").read_bytes() == before


def test_an_identity_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        Identity.generate("a").save(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o666])
def test_an_identity_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    Identity.generate("a").save(tmp_path / "a.pem")
    os.chmod(tmp_path / "a.pem", mode)
    with pytest.raises(KeyRefused, match="chmod 600"):
        Identity.load(tmp_path / "a.pem", "a")


def test_files_without_an_ed25519_key_are_refused(tmp_path: Path) -> None:
    other = X25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for content in (b"", b"no key at all", other):
        path = tmp_path / "x.pem"
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(KeyRefused, match=r"x\.pem"):
            Identity.load(path, "a")


def test_private_halves_do_not_print() -> None:
    key = MaskingKey.generate()
    for shown in (repr(Identity.generate("a")), repr(key), str(key)):
        assert "rivate" not in shown
        assert key.export().hex() not in shown


def test_a_signed_key_is_accepted_for_its_site_and_run_only() -> None:
    a, b = Identity.generate("a"), Identity.generate("b")
    public = {"a": a.public, "b": b.public}
    signed = a.sign_key(MaskingKey.generate(), RUN)
    assert verify(signed, public, RUN) == signed.public
    flipped = bytes([signed.signature[0] ^ 1]) + signed.signature[1:]
    wrong: list[tuple[SignedKey, dict[str, bytes], str, str]] = [
        (signed, public, OTHER_RUN, "another run"),
        (replace(signed, run=OTHER_RUN), public, OTHER_RUN, "signature"),
        (replace(signed, site="b"), public, RUN, "signature"),
        (replace(signed, public=MaskingKey.generate().public), public, RUN, "signature"),
        (replace(signed, signature=flipped), public, RUN, "signature"),
        (replace(signed, signature=b""), public, RUN, "signature"),
        (replace(signed, signature=bytes(64)), public, RUN, "signature"),
        (signed, {"b": b.public}, RUN, "not known"),
        (signed, {"a": b.public}, RUN, "signature"),
        (signed, {"a": b"short"}, RUN, "signature"),
    ]
    for forged, identities, run, reason in wrong:
        with pytest.raises(KeyRefused, match=reason):
            verify(forged, identities, run)


def _pair() -> tuple[MaskingKey, MaskingKey, SignedKey, SignedKey]:
    a, b = MaskingKey.generate(), MaskingKey.generate()
    return a, b, Identity.generate("a").sign_key(a, RUN), Identity.generate("b").sign_key(b, RUN)


def test_both_ends_of_a_pair_have_the_same_secret_and_nobody_else() -> None:
    a, b, signed_a, signed_b = _pair()
    secret = pair_secret(a, "a", signed_b)
    assert secret == pair_secret(b, "b", signed_a)
    assert len(secret) == 32
    others = [
        pair_secret(MaskingKey.generate(), "a", signed_b),
        pair_secret(a, "x", signed_b),
        pair_secret(a, "a", replace(signed_b, site="x")),
        pair_secret(a, "a", replace(signed_b, run=OTHER_RUN)),
    ]
    assert len({secret, *others}) == 5


def test_a_restored_key_gives_the_same_secret() -> None:
    a, _, _, signed_b = _pair()
    assert pair_secret(MaskingKey.restore(a.export()), "a", signed_b) == pair_secret(a, "a", signed_b)


@pytest.mark.parametrize("public", [bytes(32), b"\x01" + bytes(31), b"short", b""])
def test_keys_that_force_a_known_secret_are_refused(public: bytes) -> None:
    a, _, _, signed_b = _pair()
    with pytest.raises(KeyRefused, match="X25519"):
        pair_secret(a, "a", replace(signed_b, public=public))


def test_framing_is_unambiguous() -> None:
    assert len({framed(b"ab", b"c"), framed(b"a", b"bc"), framed(b"abc"), framed(b"abc", b"")}) == 4


def test_hashes_agree_between_sites_and_hide_everything_else() -> None:
    hashes = hash_ids(["ann", "bob", "ann"], KEY)
    assert hashes.dtype == np.dtype("S16")
    assert hashes.shape == (3,)
    assert hashes[0] == hashes[2] != hashes[1]
    assert (hash_ids(iter(["ann", "bob", "ann"]), KEY) == hashes).all()
    assert not np.isin(hash_ids(["ann"], new_id_key()), hashes).any()
    assert not np.isin(hash_ids(["ann"], KEY, context=RUN), hashes).any()


def test_ids_of_different_types_differ_and_numpy_ones_equal_plain_ones() -> None:
    assert len(np.unique(hash_ids([1, "1", b"1", -1], KEY))) == 4
    assert (hash_ids(np.array([1, 2], dtype=np.int32), KEY) == hash_ids([1, 2], KEY)).all()
    assert (hash_ids(np.array(["x"]), KEY) == hash_ids(["x"], KEY)).all()


def test_no_ids_no_hashes() -> None:
    assert hash_ids([], KEY).shape == (0,)


def test_ten_thousand_ids_have_ten_thousand_hashes() -> None:
    wire = hash_ids(range(10_000), KEY).view(np.uint8).reshape(-1, 16)
    assert len(np.unique(wire, axis=0)) == 10_000


@pytest.mark.parametrize("bad", [1.5, None, True, float("nan"), ("a", 1)])
def test_ids_of_other_types_are_refused_by_place_not_by_value(bad: Any) -> None:
    with pytest.raises(InputTypeError, match="ids, position 1: an id of type"):
        hash_ids(["ann", bad], KEY)


@pytest.mark.parametrize("bad", [b"", b"short", "k" * 32, bytearray(32)])
def test_weak_hash_keys_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="key"):
        hash_ids(["ann"], bad)
