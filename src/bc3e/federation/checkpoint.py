"""Checkpoints of roles: whole or not there, and on the disk before the run goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bc3e.federation.codec import checksum

# Roles are at most two iterations apart. The server begins iteration t + 2 after every auxiliary server
# has reported t + 1, for which every client had to have the profiles of t; a client may
# wait for the profiles of t + 1 while another site has already finished t + 2.
KEPT = 3


FIXED = "fixed"  # name of the file with what stays the same in all states of a role


def write_safely(path: Path, data: bytes, *more: Any) -> None:
    """Replace a file so that a crash leaves the old one or the new one, readable by its owner only.

    The file holds the bytes of `data` and of any further buffers, one after the other.
    """
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for part in (data, *more):
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Checkpoints:
    """Numbered states of the roles of a run, in one directory per role."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def folder(self, address: str) -> Path:
        folder = self.directory / address.replace(":", "-")
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def save(
        self,
        address: str,
        number: int,
        state: Mapping[str, Any],
        fixed: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a state and forget all but the last three.

        `fixed` is what all states of the role have in common; it is written first and once is enough.
        """
        folder = self.folder(address)
        if fixed is not None:
            _write(folder / FIXED, fixed)
        _write(folder / f"{number:06d}.state", state)
        for old in sorted(folder.glob("*.state"))[:-KEPT]:
            old.unlink()

    def load(self, address: str, number: int) -> dict[str, Any]:
        folder = self.folder(address)
        files = [folder / f"{number:06d}.state"]
        files += [folder / FIXED] if (folder / FIXED).exists() else []
        try:
            return {name: value for file in files for name, value in _read(file).items()}
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"checkpoint {number} of {address} is damaged.") from None

    def latest(self, address: str) -> int:
        """Number of the last state of a role, -1 without any."""
        found = sorted(self.folder(address).glob("*.state"))
        return int(found[-1].stem) if found else -1

    def common(self, addresses: Iterable[str]) -> int:
        """The last number from which all of the roles can go on, -1 if there is none."""
        return min((self.latest(address) for address in addresses), default=-1)


# A file of arrays: length of the index, 8 bytes | index, JSON | arrays | SHA-256 of index and checksums.
# Written every iteration, so without the copies and the second checksum of NumPy's own format.


def _write(path: Path, arrays: Mapping[str, Any]) -> None:
    kept = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    described = {name: [value.dtype.str, list(value.shape)] for name, value in kept.items()}
    index = json.dumps(described).encode()
    octets = [value.reshape(-1).view(np.uint8) for value in kept.values()]
    write_safely(path, len(index).to_bytes(8, "little"), index, *octets, _mark(index, octets))


def _read(path: Path) -> dict[str, Any]:
    data = np.fromfile(path, dtype=np.uint8)
    at = 8 + int.from_bytes(data[:8].tobytes(), "little")
    index = data[8:at].tobytes()
    found, octets = {}, []
    for name, (dtype, shape) in json.loads(index).items():
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        octets.append(data[at : at + size].copy())
        found[name] = octets[-1].view(np.dtype(dtype)).reshape(shape)
        at += size
    if data[at:].tobytes() != _mark(index, octets):
        raise ValueError("the checksum does not match")
    return found


def _mark(index: bytes, octets: Iterable[Any]) -> bytes:
    return hashlib.sha256(index + b"".join(checksum(part.data) for part in octets)).digest()
