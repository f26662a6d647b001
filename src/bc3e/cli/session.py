"""One run of a command: what it tells, where it writes, how it ends."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bc3e.cli.config import config_text
from bc3e.cli.errors import fault, one_line
from bc3e.cli.options import Running
from bc3e.cli.outputs import STDOUT, Outputs
from bc3e.cli.thresholds import Threshold, met

if TYPE_CHECKING:
    from bc3e.summary import Summary

Advance = Callable[[int, int], None]


@dataclass
class Session:
    """What a command needs besides its own options.

    Attributes
    ----------
    command : str
    params : dict
        All options by name.
    given : frozenset of str
        Names of the options that were given, on the command line or in a file.
    arguments : list of str
        The command line.
    running : Running
    outputs : Outputs
    timings : dict of str to float
        Seconds per stage.
    """

    command: str
    params: dict[str, Any]
    given: frozenset[str]
    arguments: list[str]
    running: Running
    outputs: Outputs
    timings: dict[str, float] = field(default_factory=dict)

    @property
    def shows_progress(self) -> bool:
        return not self.running.quiet and sys.stderr.isatty()

    @property
    def writes_stdout(self) -> bool:
        """Whether standard output is taken by the table."""
        return self.params.get("output") == STDOUT

    def plan(self, inputs: Sequence[str]) -> None:
        """Check every output file before any work."""
        if self.writes_stdout and self.running.json:
            raise fault("--json", "standard output is taken by -o -", "Write the table to a file.")
        if self.writes_stdout and sys.stdout is None:
            raise fault("--output -", "standard output is closed", "Open it, or name a file.")
        for name in ("report", "report_json", "save_config"):
            if self.params.get(name) == STDOUT:
                raise fault(f"--{name.replace('_', '-')}", "- is not a file", "Name a file.")
        for name in ("output", "report", "report_json", "save_config"):
            self.outputs.plan(f"--{name.replace('_', '-')}", self.params.get(name), inputs)

    @contextmanager
    def stage(self, name: str, text: str, *, live: bool = True) -> Iterator[Advance]:
        """Time a part of the run and show that it goes on, on standard error.

        The stage is handed a function that takes the steps done and the steps in
        all, for an estimate of the time left. `live` is False where the work
        draws bars of its own.
        """
        begin = time.perf_counter()
        try:
            if live and self.shows_progress:
                with _bar(text) as advance:
                    yield advance
            else:
                yield lambda done, total: None
        finally:
            self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - begin

    def preload(self, module: str) -> None:
        """Import a heavy module in the background, while pyarrow reads a file on other threads."""
        threading.Thread(target=import_module, args=(module,), name=f"import {module}").start()

    def note(self, text: str) -> None:
        """Something worth knowing, on standard error."""
        if not self.running.quiet:
            print(f"bc3e {self.command}: note: {one_line(text)}", file=sys.stderr)

    def finish(
        self,
        result: Mapping[str, Any],
        summary: Summary | None,
        lines: Sequence[str] = (),
        thresholds: Sequence[Threshold] = (),
        figures: Mapping[str, float | None] | None = None,
    ) -> int:
        """Bring all files to their places, tell the result, and return the exit code."""
        held = met(thresholds, figures or {})
        if self.running.save_config is not None:
            saved = config_text(self.command, self.params, self.given).encode()
            self.outputs.write("--save-config", self.running.save_config, lambda f: _put(f, saved))
        self.outputs.commit()
        if self.running.json:
            told = {"command": self.command, **result, "failed": held, "seconds": self.timings}
            print(json.dumps(plain(told), indent=2, ensure_ascii=False))
        elif not self.running.quiet:
            stream = sys.stderr if self.writes_stdout else sys.stdout
            for text in [*([] if summary is None else [str(summary)]), *lines]:
                print(tame(text), file=stream)
        for line in held:
            print(f"bc3e {self.command}: --fail-on: {one_line(line)}.", file=sys.stderr)
        return 1 if held else 0


def _put(stream: Any, content: bytes) -> None:
    stream.write(content)


def plain(value: Any) -> Any:
    """A value as JSON has it: plain types, None for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def tame(text: str) -> str:
    """Text without characters that could play tricks on a terminal."""
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in text)


@contextmanager
def _bar(text: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed
    from rich.progress import TimeRemainingColumn as Remaining

    text_column = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), text_column, BarColumn(), Elapsed(), Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(one_line(text), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
