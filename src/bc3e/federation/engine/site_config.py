"""What a site says about itself, in a file of its own: labels, columns, keys, consent."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from cryptography import x509
from pyarrow import csv, parquet

from bc3e.errors import InputError
from bc3e.federation.keys import KEY_BYTES, new_id_key
from bc3e.federation.sites import Site
from bc3e.model.evidence import FloatArray


@dataclass(frozen=True)
class SiteConfig:
    """A site's configuration file, read and checked.

    Attributes
    ----------
    path : Path
        The file; relative paths in it start from its folder.
    kit : Path
        Folder of the site's start-up kit.
    labels : Path
        Table with the labels, .csv or .parquet.
    id : str
        Column with the object ids; they are compared as text.
    votes, clusters : tuple of str
        Columns of class labels and of cluster labels.
    id_key : Path
        Key of the hashes of object ids: shared by the sites, unknown to the server.
    answers : Path
        Where the refined probabilities go, .csv or .parquet; a new run replaces them.
    state : Path
        Folder for what the site needs to go on after a crash.
    allow_two : bool
        Consent to sums over two sites.
    allow_plain : bool
        Consent to runs without masks.
    """

    path: Path
    kit: Path
    labels: Path
    id: str
    votes: tuple[str, ...]
    clusters: tuple[str, ...]
    id_key: Path
    answers: Path
    state: Path
    allow_two: bool = False
    allow_plain: bool = False

    @cached_property
    def name(self) -> str:
        """Name of the site: the one to which its certificate is made out."""
        try:
            data = (self.kit / "startup" / "client.crt").read_bytes()
            subject = x509.load_pem_x509_certificate(data).subject
        except (OSError, ValueError) as error:
            raise _mistake(self.path, "kit", f"{self.kit.name} is no start-up kit of a site",
                           "'bc3e federate provision' makes one.") from error  # fmt: skip
        return str(subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SiteConfig:
        """Read a configuration file; every mistake in it is an error that names the line's key."""
        file = Path(path).resolve()
        try:
            told = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError("config", f"{file.name} cannot be read ({error.strerror})",
                             "Pass the path of the site's file.") from error  # fmt: skip
        except tomllib.TOMLDecodeError as error:
            raise InputError("config", f"{file.name} is no TOML: {error}", "Correct it.") from error
        known = {field.name for field in fields(cls)} - {"path"}
        for key in sorted(set(told) - known):
            raise _mistake(file, key, "an unknown key", f"The keys are {', '.join(sorted(known))}.")
        told.setdefault("state", "state")
        told.setdefault("answers", "refined.csv")
        values: dict[str, Any] = {"path": file}
        for key in ("kit", "labels", "id_key", "answers", "state"):
            values[key] = file.parent / _text(file, told, key)
        for key, other in (("labels", values["labels"]), ("id_key", values["id_key"]), ("config", file)):
            if values["answers"].resolve() == other.resolve():
                raise _mistake(file, "answers", f"{other.name} is the file of {key}", "Name another.")
        values["id"] = _text(file, told, "id")
        for key in ("votes", "clusters"):
            values[key] = _names(file, told, key)
        for key in ("allow_two", "allow_plain"):
            values[key] = told.get(key, False)
            if not isinstance(values[key], bool):
                raise _mistake(file, key, f"{values[key]!r}", "Write true or false.")
        return cls(**values)

    def read_key(self) -> bytes:
        """The key of the id hashes; a file that others can read is refused."""
        try:
            data, mode = self.id_key.read_bytes(), self.id_key.stat().st_mode
        except OSError as error:
            raise _mistake(self.path, "id_key", f"{self.id_key.name} cannot be read",
                           "One site makes it with 'bc3e federate key FILE' and hands it "
                           "to the others.") from error  # fmt: skip
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise _mistake(self.path, "id_key", f"others may read {self.id_key.name}", "Use chmod 600.")
        try:
            key = bytes.fromhex(data.decode().strip())
        except ValueError:
            key = b""
        if len(key) < KEY_BYTES:
            raise _mistake(self.path, "id_key", f"{self.id_key.name} holds no key",
                           "One site makes it with 'bc3e federate key FILE'.")  # fmt: skip
        return key

    def read_site(self) -> Site:
        """The site with its labels."""
        table = read_table(self.labels, self.id)
        for key in ("votes", "clusters"):
            for column in getattr(self, key):
                if column not in table.column_names:
                    raise _mistake(self.path, key, f"{self.labels.name} has no column {column!r}",
                                   f"It has {', '.join(table.column_names)}.")  # fmt: skip
        parts = [table.select([self.id, *names]) if names else None
                 for names in (self.votes, self.clusters)]  # fmt: skip
        return Site(self.name, parts[0], parts[1], ids=self.id)

    def write_answers(self, ids: list[Any], classes: list[Any], values: FloatArray) -> None:
        """Write refined probabilities and labels, whole or not at all."""
        winners = [str(classes[i]) for i in np.argmax(values, axis=1)]
        columns: dict[str, Any] = {self.id: ids, "label": winners}
        columns |= {f"p_{name}": values[:, i] for i, name in enumerate(classes)}
        self.answers.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.answers.with_name(self.answers.name + ".new")
        write_table(pa.table(columns), temporary, self.answers.suffix)
        os.replace(temporary, self.answers)


def read_table(path: Path, id_column: str) -> pa.Table:
    """A table of labels; ids are text, whatever they look like, so that all sites compare alike."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(
            "labels", f"{path.name} is neither .csv nor .parquet", "Save it as one of them."
        )
    try:
        if path.suffix == ".csv":
            options = csv.ConvertOptions(
                column_types={id_column: pa.string()}, strings_can_be_null=True, null_values=["", "NA"]
            )
            table = csv.read_csv(path, convert_options=options)
        else:
            table = parquet.read_table(path)
    except OSError as error:
        raise InputError("labels", f"{path.name} cannot be read", "Check the path.") from error
    except pa.ArrowInvalid as error:  # its text quotes the row
        row = re.search(r"Row #(\d+)", str(error))
        raise InputError("labels", f"{path.name} is no table", "Give all rows the same columns.",
                         place=f"line {row[1]}" if row else "") from None  # fmt: skip
    if id_column not in table.column_names:
        raise InputError("id", f"{path.name} has no column {id_column!r}",
                         f"It has {', '.join(table.column_names)}.")  # fmt: skip
    at = table.column_names.index(id_column)
    return table.set_column(at, id_column, table.column(id_column).cast(pa.string()))


def write_table(table: pa.Table, path: Path, suffix: str) -> None:
    """Write a table, readable by its owner only."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    if suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        csv.write_csv(table, path)


def write_key(path: Path) -> None:
    """A fresh key for the hashes of object ids, in a new file that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError("file", f"{path.name} exists", "Name a new file.") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(new_id_key().hex() + "\n")


def _mistake(file: Path, key: str, found: str, remedy: str) -> InputError:
    return InputError("config", found, remedy, place=f"{file.name}, {key}")


def _text(file: Path, told: dict[str, Any], key: str) -> str:
    value = told.get(key)
    if not isinstance(value, str) or not value:
        raise _mistake(file, key, "nothing" if value is None else f"{value!r}", f'Write {key} = "...".')
    return value


def _names(file: Path, told: dict[str, Any], key: str) -> tuple[str, ...]:
    value = told.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _mistake(file, key, f"{value!r}", 'Write a list of column names: ["a", "b"].')
    return tuple(value)
