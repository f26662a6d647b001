"""States of roles come back as they were, or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bc3e.federation.checkpoint import FIXED, KEPT, Checkpoints

STATE = {
    "mean": np.arange(6.0).reshape(3, 2),
    "used": np.arange(5, dtype=np.uint8),
    "none": np.empty((0, 2)),
}
LASTING = {"votes": np.eye(3), "version": np.int64(7)}


def test_a_state_comes_back_with_what_all_states_have_in_common(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    kept.save("client:a", 0, STATE, LASTING)
    for number in range(1, 6):
        kept.save("client:a", number, STATE | {"mean": STATE["mean"] + number})
    assert kept.latest("client:a") == 5
    assert len(list((tmp_path / "client-a").glob("*.state"))) == KEPT
    found = kept.load("client:a", 4)
    assert found.keys() == STATE.keys() | LASTING.keys()
    for name, value in {**STATE, **LASTING, "mean": STATE["mean"] + 4}.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value)
        assert found[name].flags.writeable


@pytest.mark.parametrize("file", ["000000.state", FIXED])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.99])
def test_a_damaged_state_is_refused(tmp_path: Path, file: str, place: float) -> None:
    kept = Checkpoints(tmp_path)
    kept.save("server", 0, STATE, LASTING)
    path = tmp_path / "server" / file
    whole = path.read_bytes()
    at = int(place * len(whole))
    for broken in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="is damaged"):
            kept.load("server", 0)
