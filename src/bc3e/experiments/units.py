"""Experiments in units, each stored when it is done: a stopped run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import cpu_count
from joblib.externals.loky import as_completed, get_reusable_executor

from bc3e.errors import InputError

Result = dict[str, Any]
Advance = Callable[[int, int], None]

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
SHOWING = ("page", "section_", "markdown", "figures", "scores", "reproduce", "units")
NOT_COUNTED = ("cli/", "report/", *(f"experiments/{name}" for name in SHOWING))
"""Parts of the package that change no figure, only how it is asked for or shown."""


@dataclass(frozen=True)
class Unit:
    """One piece of an experiment, computed by ``make(**arguments)``.

    Attributes
    ----------
    name : str
        Such as ``table2/moons/3``.
    make : callable
        A function of a module, so that another process can call it. It returns
        plain JSON and draws all that is random from its arguments.
    arguments : mapping
        Plain values: they are part of the key under which the result is stored.
    data : str or None
        The data folder, handed to `make` as ``data``; not part of the key,
        because files are known by their checksums.
    """

    name: str
    make: Callable[..., Result]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = None

    @property
    def key(self) -> str:
        """Changes with the arguments, the code of the package, Python and the libraries."""
        told = [
            self.make.__module__,
            self.make.__name__,
            dict(self.arguments),
            code_digest(),
            versions(),
        ]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def compute(self) -> Result:
        """The result, on one thread: sums in another order could move an object to another cluster."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            made = self.make(data=self.data, **self.arguments)
        loaded: Result = json.loads(json.dumps(made))  # as it will be read from the store
        return loaded


@dataclass(frozen=True)
class Store:
    """A folder of finished units, one JSON file each."""

    folder: Path

    def path(self, unit: Unit) -> Path:
        plain = re.sub(r"[^A-Za-z0-9.-]+", "_", unit.name)
        return self.folder / f"{plain}.{unit.key[:16]}.json"

    def get(self, unit: Unit) -> Result | None:
        """The result of a unit if it is there and whole."""
        try:
            stored = json.loads(self.path(unit).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        found = (
            stored.get("result") if isinstance(stored, dict) and stored.get("key") == unit.key else None
        )
        return found if isinstance(found, dict) else None

    def put(self, unit: Unit, result: Result) -> None:
        """Write beside, then rename: a reader never sees half a file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {"unit": unit.name, "key": unit.key, "result": result}
        with tempfile.NamedTemporaryFile(
            "w", dir=self.folder, suffix=".part", delete=False, encoding="utf-8"
        ) as file:
            json.dump(told, file)
        os.replace(file.name, self.path(unit))


def finished(units: Sequence[Unit], store: Store) -> list[Result] | None:
    """The results of all units, in order, if all of them are stored."""
    found = [store.get(unit) for unit in units]
    return None if any(result is None for result in found) else [r for r in found if r is not None]


def run(
    units: Sequence[Unit], store: Store, *, jobs: int = 1, advance: Advance | None = None
) -> list[Result]:
    """Results of all units in their order; those that are stored are not computed again.

    Parameters
    ----------
    units : sequence of Unit
    store : Store
    jobs : int
        Processes. Neither their number nor the order changes a result.
    advance : callable, optional
        Told after each unit how many are done, and how many there are.
    """
    if len({unit.name for unit in units}) != len(units):
        raise InputError("units", "two units of one name", "Give each its own name.")
    missing = [unit for unit in units if store.get(unit) is None]
    done = len(units) - len(missing)
    for _ in _started(missing, store, jobs):
        done += 1
        if advance is not None:
            advance(done, len(units))
    found = finished(units, store)
    assert found is not None
    return found


def _started(units: Sequence[Unit], store: Store, jobs: int) -> Iterator[None]:
    """Compute and store units; nothing is told of each but that it is done."""
    count = min(cpu_count() if jobs == -1 else jobs, len(units))
    if count <= 1:
        for unit in units:
            _one(unit, store)
            yield
        return
    # Not the standard library's pool: its new processes run the caller's script again.
    pool = get_reusable_executor(count, initializer=_leave_signals)
    finished_all = False
    try:
        waiting = [pool.submit(_one, unit, store) for unit in units]
        for done in as_completed(waiting):
            done.result()
            yield
        finished_all = True
    finally:
        pool.shutdown(wait=True, kill_workers=not finished_all)


def _leave_signals() -> None:
    """Ctrl-C reaches all processes of a terminal; the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one(unit: Unit, store: Store) -> None:
    store.put(unit, unit.compute())


@cache
def code_digest() -> str:
    """SHA-256 of the package's code, without what only asks and shows."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(NOT_COUNTED):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def versions() -> tuple[str, ...]:
    """Python and the libraries that figures depend on."""
    python = f"Python {platform.python_version()}"
    return (python, *(f"{name} {version(name)}" for name in LIBRARIES))
