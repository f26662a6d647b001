"""Checkpoints of roles: whole or not there, and on the disk before the run goes on."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

# Roles are at most two iterations apart. The server begins iteration t + 2 after every auxiliary server
# has reported t + 1, for which every client had to have the profiles of t; a client may
# wait for the profiles of t + 1 while another site has already finished t + 2.
KEPT = 3


def write_safely(path: Path, data: bytes) -> None:
    """Replace a file so that a crash leaves the old one or the new one, readable by its owner only."""
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
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

    def save(self, address: str, number: int, state: Mapping[str, Any]) -> None:
        """Write a state and forget all but the last three."""
        file = io.BytesIO()
        np.savez(file, **state)
        data = file.getvalue()
        folder = self.folder(address)
        write_safely(folder / f"{number:06d}.state", hashlib.sha256(data).digest() + data)
        for old in sorted(folder.glob("*.state"))[:-KEPT]:
            old.unlink()

    def load(self, address: str, number: int) -> dict[str, Any]:
        raw = (self.folder(address) / f"{number:06d}.state").read_bytes()
        data = raw[32:]
        if hashlib.sha256(data).digest() != raw[:32]:
            raise ValueError(f"checkpoint {number} of {address} is damaged.")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}

    def latest(self, address: str) -> int:
        """Number of the last state of a role, -1 without any."""
        found = sorted(self.folder(address).glob("*.state"))
        return int(found[-1].stem) if found else -1

    def common(self, addresses: Iterable[str]) -> int:
        """The last number from which all of the roles can go on, -1 if there is none."""
        return min((self.latest(address) for address in addresses), default=-1)
