"""The ledger: every message that left a role, what it weighed and what it can reveal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any

from bc3e.federation.kinds import MEANINGS
from bc3e.federation.messages import Message
from bc3e.summary import Section, Summary


@dataclass(frozen=True)
class Entry:
    """One message.

    Attributes
    ----------
    sender, recipient : str
        Addresses of the roles.
    kind, stage : str
        What it is, and when in the run: plan, setup, learn or answer.
    shape : str
        Names and shapes of its arrays.
    numbers : int
        Bytes of its arrays; the documented formula counts these.
    bytes : int
        Bytes on the wire.
    iteration, sweep, attempt : int
    masked : bool
    reveals : str
        What its reader can learn from it.
    """

    sender: str
    recipient: str
    kind: str
    stage: str
    shape: str
    numbers: int
    bytes: int
    iteration: int
    sweep: int
    attempt: int
    masked: bool
    reveals: str

    @classmethod
    def of(cls, message: Message, size: int, *, final: bool, revealed: bool) -> Entry:
        """The entry of a message of `size` bytes on the wire."""
        meaning = MEANINGS[message.kind]
        shapes = (f"{name} {'x'.join(map(str, a.shape))}" for name, a in sorted(message.arrays.items()))
        reveals = meaning.masked if message.masked else meaning.plain
        if message.masked and revealed:
            reveals += ", and these are two: each learns the other's part"
        return cls(
            message.sender,
            message.recipient,
            message.kind,
            "answer" if final else meaning.stage,
            ", ".join(shapes),
            sum(array.nbytes for array in message.arrays.values()),
            size,
            message.iteration,
            message.sweep,
            message.attempt,
            message.masked,
            reveals,
        )

    def place(self) -> tuple[Any, ...]:
        """Where the entry stands in a ledger: the same whatever carried the messages."""
        stage = STAGES.index(self.stage)
        return (self.attempt, stage, self.iteration, self.sweep, self.kind, self.sender, self.recipient)


STAGES = ("plan", "setup", "learn", "answer")


class Ledger:
    """All messages of a run, attempt by attempt and iteration by iteration.

    Iterate over it for the entries. With a `path` the entries are also appended to that file, so
    that they outlive a crash.
    """

    def __init__(self, entries: Iterable[Entry] = (), path: Path | None = None) -> None:
        self.entries = list(entries)
        self._file: IO[str] | None = None
        if path is not None:
            self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 - open as long as the run

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        if self._file is not None:
            self._file.write(json.dumps(asdict(entry)) + "\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def select(self, **wanted: Any) -> Ledger:
        """Entries whose fields have the given values: ``ledger.select(kind="shares")``."""
        return Ledger(e for e in self if all(getattr(e, name) == v for name, v in wanted.items()))

    @property
    def bytes(self) -> int:
        """Bytes on the wire of all messages."""
        return sum(entry.bytes for entry in self)

    @property
    def numbers(self) -> int:
        """Bytes of the arrays of all messages."""
        return sum(entry.numbers for entry in self)

    def columns(self) -> dict[str, list[Any]]:
        """One list per field: ``pandas.DataFrame(ledger.columns())``."""
        return {f.name: [getattr(entry, f.name) for entry in self] for f in fields(Entry)}

    def summary(self) -> Summary:
        """Messages and bytes of each kind, and what they can reveal."""
        rows: dict[tuple[str, str, str, bool, str], list[int]] = {}
        for e in self:
            key = (
                e.kind,
                e.sender.partition(":")[0],
                e.recipient.partition(":")[0],
                e.masked,
                e.reveals,
            )
            found = rows.setdefault(key, [0, 0])
            found[0] += 1
            found[1] += e.bytes
        body = tuple(
            (kind, sender, recipient, f"{count:,}", f"{size:,}", "yes" if masked else "no", reveals)
            for (kind, sender, recipient, masked, reveals), (count, size) in rows.items()
        )
        heads = ("kind", "from", "to", "messages", "bytes", "masked", "can reveal")
        return Summary((Section("Messages", heads, body),))

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def read_folder(folder: Path) -> list[Entry]:
    """Entries of all ledger files of a run, whoever wrote them."""
    return [entry for path in sorted(folder.glob("ledger*.jsonl")) for entry in read_entries(path)]


def read_entries(path: Path) -> list[Entry]:
    """Entries of a ledger file; a last line that a crash cut short is left out."""
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entries.append(Entry(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return entries
