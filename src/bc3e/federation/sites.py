"""Data sites: what a user hands over, and the arrays that a site's roles work on."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from bc3e.alignment import class_list, cluster_values, distinct_names, given_classes
from bc3e.columns import Column, Frame, LabelColumn, ScoreColumn, plain_value, read_columns
from bc3e.errors import InputError, InputTypeError
from bc3e.federation.planning import SERVER, Cells, Holding
from bc3e.labels import LabelTable
from bc3e.model.evidence import FloatArray

if TYPE_CHECKING:
    from bc3e.federation.keys import Identity

NAME_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


@dataclass(frozen=True)
class Site:
    """A data site: a block of the label table.

    Parameters
    ----------
    name : str
        Letters, digits, dots, dashes and underscores.
    votes, clusters : data frame, mapping or None
        What :meth:`bc3e.BC3E.fit` takes, for the objects of this site. Columns of
        one name at several sites are one column.
    ids : sequence or str, optional
        Object ids (text, whole numbers or bytes), or the name of the column that has them. By
        default the index of a pandas object.
    identity : bc3e.federation.keys.Identity, optional
        Signs this site's masking keys. A fresh one is made for the run by default.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"svm": ["yes", "no"]}, index=["ann", "bob"])
    >>> Site("bank-a", votes=votes)
    Site('bank-a', 2 objects)
    """

    name: str
    votes: Any = None
    clusters: Any = None
    ids: Sequence[Any] | str | None = None
    identity: Identity | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME_FORM.match(self.name) or self.name == SERVER:
            raise InputError(
                "name",
                f"{self.name!r} cannot be the name of a site",
                f"Use 1 to 64 letters, digits, '.', '_' or '-', and not {SERVER!r}.",
            )

    def __repr__(self) -> str:
        return f"Site({self.name!r}, {len(self.object_ids)} objects)"

    @cached_property
    def _told(self) -> dict[tuple[bytes, str], Holding]:
        """The last answer of :meth:`holding`."""
        return {}

    @cached_property
    def _parts(self) -> tuple[Any, Any, list[Any]]:
        """Votes and clusters without the id column, and the ids."""
        if isinstance(self.ids, str):
            votes, of_votes = _without_ids("votes", self.votes, self.ids)
            clusters, of_clusters = _without_ids("clusters", self.clusters, self.ids)
            if of_votes is not None and of_clusters is not None and of_votes != of_clusters:
                raise self._error("ids", "votes and clusters have different objects, or another order",
                                  "Bring both into one order of rows first.")  # fmt: skip
            found = of_votes if of_votes is not None else of_clusters
            if found is None:
                raise self._error("ids", f"no table has a column {self.ids!r}", "Name the id column.")
            return votes, clusters, found
        if self.ids is not None:
            return self.votes, self.clusters, list(self.ids)
        index = _index_of(self.votes)
        index = _index_of(self.clusters) if index is None else index
        if index is None:
            raise self._error(
                "ids",
                "there are no object ids",
                "Pass pandas objects indexed by object id, or ids= with the ids or their column's name.",
            )
        return self.votes, self.clusters, [plain_value(value) for value in index]

    @property
    def object_ids(self) -> list[Any]:
        """Ids of the site's objects, in the order of its rows."""
        return self._parts[2]

    @cached_property
    def column_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the classifiers and of the clusterings."""
        votes, clusters = self._columns("votes"), self._columns("clusters")
        return tuple(c.name for c in votes), tuple(c.name for c in clusters)

    def _columns(self, argument: str) -> list[Column]:
        given = self._parts[0 if argument == "votes" else 1]
        noun = "classifier" if argument == "votes" else "clustering"
        columns, frame = read_columns(argument, given, noun=noun, keep_minus_one=True)
        if columns and frame is None and not isinstance(given, Mapping):
            raise self._error(argument, "columns without names",
                              "Pass a data frame or a mapping: names say what is shared.")  # fmt: skip
        distinct_names(argument, columns)
        return columns

    def holding(self, key: bytes, context: str) -> Holding:
        """What the planner is told of this site; the answer for one run is kept."""
        from bc3e.federation.keys import hash_ids

        known = self._told.get((key, context))
        if known is not None:
            return known
        ids = self.object_ids
        if len(set(ids)) < len(ids):
            seen: set[Any] = set()
            row = next(i for i, value in enumerate(ids) if value in seen or seen.add(value))  # type: ignore[func-returns-value]
            raise self._error(
                "ids", "an object is listed twice", "Give every object one row.", f"row {row}"
            )
        self._told.clear()
        self._told[key, context] = Holding(hash_ids(ids, key, context), *self.column_names)
        return self._told[key, context]

    def present(self, kind: str, column: str) -> NDArray[np.bool_]:
        """Which objects have a label in a column, as far as that can be told without a class list."""
        given = self._parts[0 if kind == "votes" else 1]
        columns, _ = read_columns(kind, given, noun="column")
        return _present(_array_of(next(found for found in columns if found.name == column)))

    def table(self, classes: NDArray[Any]) -> LabelTable:
        """The site's labels, checked and coded by the common class list."""
        votes, clusters, ids = self._parts
        table = LabelTable.read(votes, clusters, classes=classes.tolist())
        if table.n_objects != len(ids):
            raise self._error(
                "ids", f"{len(ids)} ids for {table.n_objects} objects", "Pass one per row."
            )
        return table

    def _error(self, argument: str, found: str, remedy: str, place: str = "") -> InputError:
        where = f"site {self.name!r}" + (f", {place}" if place else "")
        return InputError(argument, found, remedy, place=where)


def common_classes(sites: Sequence[Site], given: Sequence[Any] | None) -> NDArray[Any]:
    """The class list of all sites: given, or what their votes name together."""
    listed = given_classes(given)
    keep = listed is not None and -1 in listed.tolist()
    columns: list[Column] = []
    for site in sites:
        columns += read_columns("votes", site._parts[0], noun="classifier", keep_minus_one=keep)[0]
    if not columns:
        raise InputError(
            "sites", "no site has votes", "A federation starts from votes: one site must have some."
        )
    return class_list(columns, listed, None)


@dataclass(frozen=True)
class SiteData:
    """A site's labels as arrays, in the order of its rows.

    Attributes
    ----------
    name : str
    ids : (N,) array of dtype S16
        Keyed hashes of the object ids.
    votes : mapping from names to (N,) codes or (N, k) scores
    clusters : mapping from names to (N,) codes or (N, k_m) memberships
        Codes and columns count in the order of `cluster_names`.
    cluster_names : mapping from names to (k_m,) arrays of dtype S16
        Keyed hashes of the names of the clusters.
    n_classes : int
    """

    name: str
    ids: NDArray[np.bytes_]
    votes: Mapping[str, NDArray[Any]]
    clusters: Mapping[str, NDArray[Any]]
    cluster_names: Mapping[str, NDArray[np.bytes_]]
    n_classes: int

    @classmethod
    def of(cls, site: Site, table: LabelTable, key: bytes, context: str) -> SiteData:
        """Arrays of a checked table."""
        from bc3e.federation.keys import hash_ids

        names = {
            column.name: hash_ids(_labelled(column), key, f"{context} clusters {column.name}")
            for column in table.clusters
        }
        return cls(
            site.name,
            site.holding(key, context).ids,
            {column.name: _array_of(column) for column in table.votes},
            {column.name: _array_of(column) for column in table.clusters},
            names,
            len(table.classes),
        )

    def present(self, kind: str, column: str) -> NDArray[np.bool_]:
        """Which objects have a label in a column."""
        return _present(getattr(self, kind)[column])

    def without(self, silent: Cells) -> SiteData:
        """The same labels less the cells that other sites count."""
        kept: dict[str, dict[str, NDArray[Any]]] = {}
        for kind in ("votes", "clusters"):
            kept[kind] = dict(getattr(self, kind))
            for column, given in kept[kind].items():
                cells = silent.get((kind, column))
                if cells is not None and cells.any():
                    kept[kind][column] = given.copy()
                    kept[kind][column][cells] = 0 if given.ndim == 2 else -1
        return replace(self, votes=kept["votes"], clusters=kept["clusters"])

    def to_bytes(self) -> bytes:
        """A file for the site's own process: plain arrays, nothing pickled."""
        arrays: dict[str, Any] = {"ids": _octets(self.ids)}
        for kind in ("votes", "clusters"):
            for i, values in enumerate(getattr(self, kind).values()):
                arrays[f"{kind}{i}"] = values
        for i, hashes in enumerate(self.cluster_names.values()):
            arrays[f"names{i}"] = _octets(hashes)
        about = {
            "name": self.name,
            "votes": list(self.votes),
            "clusters": list(self.clusters),
            "n_classes": self.n_classes,
        }
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> SiteData:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            about = json.loads(arrays["about"].tobytes())
            return cls(
                about["name"],
                hashes_of(arrays["ids"]),
                {name: arrays[f"votes{i}"] for i, name in enumerate(about["votes"])},
                {name: arrays[f"clusters{i}"] for i, name in enumerate(about["clusters"])},
                {name: hashes_of(arrays[f"names{i}"]) for i, name in enumerate(about["clusters"])},
                about["n_classes"],
            )


@dataclass(frozen=True)
class Answers:
    """How a site's results are written: its class list, ids and data frame library."""

    classes: NDArray[Any]
    ids: list[Any]
    frame: Frame | None

    def table(self, values: FloatArray) -> Any:
        return values if self.frame is None else self.frame.table(values, self.classes.tolist())

    def labels(self, winners: NDArray[np.intp]) -> Any:
        labels = self.classes[winners]
        return labels if self.frame is None else self.frame.labels(labels)


def _present(given: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(given.any(axis=1) if given.ndim == 2 else given >= 0)


def _octets(hashes: NDArray[np.bytes_]) -> NDArray[np.uint8]:
    return np.frombuffer(hashes.tobytes(), dtype=np.uint8).reshape(-1, 16)


def hashes_of(octets: NDArray[np.uint8]) -> NDArray[np.bytes_]:
    """(N, 16) bytes as (N,) hashes."""
    return np.frombuffer(np.ascontiguousarray(octets).tobytes(), dtype="S16")


def octets_of(hashes: NDArray[np.bytes_]) -> NDArray[np.uint8]:
    """(N,) hashes as (N, 16) bytes, their form in a message."""
    return _octets(hashes)


def _labelled(column: Column) -> Iterable[str]:
    """Names of clusters with their type, so that 1 and "1" differ."""
    family = column.family if isinstance(column, LabelColumn) else "column"
    values = cluster_values(column)
    if isinstance(column, ScoreColumn) and column.labels is None:
        family = "number"  # memberships without names count their clusters, as labels may do
    return [f"{family} {value!r}" for value in values]


def _array_of(column: Column) -> NDArray[Any]:
    return column.codes if isinstance(column, LabelColumn) else column.scores


def _index_of(given: Any) -> Any:
    if isinstance(given, Mapping):
        return next((i for i in map(_index_of, given.values()) if i is not None), None)
    return given.index if hasattr(given, "iloc") else None


def _without_ids(argument: str, given: Any, name: str) -> tuple[Any, list[Any] | None]:
    """A table without its id column, and the ids."""
    if given is None:
        return None, None
    if isinstance(given, Mapping):
        rest = {key: value for key, value in given.items() if key != name}
        return rest, list(given[name]) if name in given else None
    frame = nw.from_native(given, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise InputTypeError(
            argument, "not a data frame", "Name an id column only of data frames and mappings."
        )
    if name not in frame.columns:
        raise InputError(argument, f"no column {name!r}", "Name the column that has the object ids.")
    return frame.drop(name).to_native(), frame[name].to_list()
