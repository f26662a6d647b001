"""Case: votes, clusterings and truth of one target; built once, then read from the cache.

from benchmarks.accuracy import load_cases
for case in load_cases(split="development", families=["gas"]):
    bc3e.BC3E(classes=range(case.n_classes)).fit(case.votes, case.clusters)
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Collection, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bc3e.experiments.domains import Domains, IntArray
from benchmarks.accuracy.ensembles import ensemble
from benchmarks.accuracy.registry import all_specs
from benchmarks.accuracy.reserve import reserve_specs
from benchmarks.accuracy.specs import NEED_FILES, SOURCES, Spec
from benchmarks.accuracy.stored import checksum
from benchmarks.accuracy.tables import REPOSITORY, data_folder

VERSION = "4"
"""Part of every cache key: raise it when a source or an ensemble is built differently."""


@dataclass(frozen=True)
class Case:
    """One target with its votes, clusterings and truth.

    Attributes
    ----------
    name, family, split : str
    tags : frozenset of str
        See `benchmarks.accuracy.specs.Spec`.
    votes : list of arrays
        Per classifier: (N, k) probabilities, a row of NaN if it did not vote,
        or (N,) hard labels, -1 if it did not vote.
    clusters : (N, r2) ints
        -1 where missing.
    truth : (N,) ints
    n_classes : int
        Classes known in training; votes and truth are among 0..k-1.
    """

    name: str
    family: str
    split: str
    tags: frozenset[str]
    votes: list[Any]
    clusters: IntArray
    truth: IntArray
    n_classes: int


def cache_folder() -> Path:
    return Path(os.environ.get("BC3E_CACHE", REPOSITORY / ".cache" / "accuracy"))


def specs(
    split: str = "all", families: Collection[str] | None = None, tags: Collection[str] = ()
) -> list[Spec]:
    """Specs of a split (``all``: development and check), of some families, with all of some tags.

    Cases whose data files are not there are left out with a warning. The
    reserve is had only by its name.
    """
    wanted = [
        spec
        for spec in (reserve_specs() if split == "reserve" else all_specs())
        if split in ("all", spec.split)
        and (families is None or spec.family in families)
        and spec.tags.issuperset(tags)
    ]
    if not data_folder().is_dir() and any(spec.family in NEED_FILES for spec in wanted):
        warnings.warn(f"no folder {data_folder()}: set BC3E_DATA to build all cases", stacklevel=2)
        wanted = [spec for spec in wanted if spec.family not in NEED_FILES]
    return wanted


def domains(spec: Spec) -> Domains:
    """The data of a case before any ensemble is built on it."""
    return SOURCES[spec.source](np.random.default_rng([spec.seed, 0]), **dict(spec.options))


def assemble(spec: Spec, data: Domains) -> Case:
    """The case of a spec on the given data."""
    # one thread: sums in another order could move an object to another cluster
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # classifiers that stop early are part of the picture
        rng = np.random.default_rng([spec.seed, 1])
        made = ensemble(data.train, data.train_labels, data.target, spec.recipe, rng, images=data.images)
    return Case(
        name=spec.name,
        family=spec.family,
        split=spec.split,
        tags=spec.tags,
        votes=made.votes,
        clusters=made.clusters,
        truth=data.truth,
        n_classes=data.n_classes,
    )


def build(spec: Spec) -> Case:
    """Build a case from its data, without the cache."""
    return assemble(spec, domains(spec))


def load(spec: Spec) -> Case:
    """The case of a spec, from the cache if it is there."""
    path = cached_file(spec)
    if not path.exists():
        _store(build(spec), path)
    with np.load(path, allow_pickle=False) as stored:
        return Case(
            name=spec.name,
            family=spec.family,
            split=spec.split,
            tags=spec.tags,
            votes=[stored[f"votes_{i}"] for i in range(int(stored["n_classifiers"]))],
            clusters=stored["clusters"].astype(np.int64),
            truth=stored["truth"],
            n_classes=int(stored["n_classes"]),
        )


def load_cases(
    split: str = "all",
    families: Collection[str] | None = None,
    tags: Collection[str] = (),
    *,
    n_jobs: int = 2,
) -> list[Case]:
    """Cases of a split, of some families, with some tags; built in parallel where not cached."""
    wanted = specs(split, families, tags)
    prepare(wanted, n_jobs=n_jobs)
    return [load(spec) for spec in wanted]


def prepare(wanted: Iterable[Spec], *, n_jobs: int = 2) -> None:
    """Put the cases of the specs into the cache."""
    missing = [spec for spec in wanted if not cached_file(spec).exists()]
    if not missing:
        return
    if n_jobs == 1:
        for spec in missing:
            _fill(spec)
        return
    with ProcessPoolExecutor(n_jobs) as pool:
        for _ in pool.map(_fill, missing):
            pass


def cached_file(spec: Spec) -> Path:
    """Name, version and description make the key, and the file of a stored set."""
    plain = spec.name.replace("/", "__").replace("%", "pc")
    key = spec.fingerprint ^ (checksum(spec.family) if spec.source == "stored" else 0)
    return cache_folder() / f"{plain}.v{VERSION}.{key:08x}.npz"


def _fill(spec: Spec) -> None:
    load(spec)


def _store(case: Case, path: Path) -> None:
    """Write beside, then rename: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {f"votes_{i}": column for i, column in enumerate(case.votes)}
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        np.savez_compressed(
            file,
            n_classifiers=len(case.votes),
            clusters=case.clusters.astype(np.int32),
            truth=case.truth,
            n_classes=case.n_classes,
            **arrays,
        )
    os.replace(file.name, path)
