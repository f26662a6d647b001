"""The coordinator's line to the server, in a process of its own.

The engine's client keeps threads that go on for ever when the server is gone, and prints to the screen.
In a process of its own it can simply be ended. Questions and answers are lines of JSON.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bc3e.federation.processes import RunFailed

QUESTIONS = ("sites", "submit", "status", "explain", "abort")


class Line:
    """Ask the server's engine: which sites are connected, how a job is; hand in jobs and stop them.

    Parameters
    ----------
    kit : Path
        The coordinator's kit.
    seconds : float
        How long to wait for any answer.
    """

    def __init__(self, kit: Path, seconds: float = 30.0) -> None:
        self.seconds = seconds
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bc3e.federation.engine.line", str(kit.resolve())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONSAFEPATH": "1"}, start_new_session=True,
        )  # fmt: skip
        self._rest = b""
        try:
            self._answer()
        except RunFailed:
            self.close()
            raise

    def sites(self) -> list[str]:
        """Names of the sites that are connected."""
        return list(self._ask("sites"))

    def submit(self, job: Path) -> str:
        """Hand in a job; its id."""
        return str(self._ask("submit", str(job)))

    def status(self, job: str) -> str:
        """How the engine sees a job: SUBMITTED, RUNNING, FINISHED:COMPLETED, ..."""
        return str(self._ask("status", job))

    def explain(self, job: str) -> str:
        """What the engine noted about a job that did not run."""
        return str(self._ask("explain", job))

    def abort(self, job: str) -> None:
        """Stop a job."""
        self._ask("abort", job)

    def close(self) -> None:
        """End the process; the server notices by itself."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _ask(self, what: str, *given: str) -> Any:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([what, *given]).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise RunFailed("the line to the server is closed.") from error
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        descriptor, deadline = self._process.stdout.fileno(), time.monotonic() + self.seconds
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise RunFailed(f"the server has not answered the coordinator for {self.seconds:.0f} s.")
            read = os.read(descriptor, 1 << 16)
            if not read:
                raise RunFailed("the server does not let the coordinator in, or is not there.")
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        told = json.loads(line)
        if "error" in told:
            raise RunFailed(f"the server refuses: {told['error']}")
        return told["answer"]


def main() -> None:
    """Answer the lines of standard input until it closes."""
    from bc3e.federation.engine import flare

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the engine prints is no answer

    def say(**told: Any) -> None:
        out.write(json.dumps(told) + "\n")
        out.flush()

    link = flare.Link(Path(sys.argv[1]))
    say(answer="ready")
    for line in sys.stdin:
        what, *given = json.loads(line)
        try:
            say(answer=getattr(link, what)(*given) if what in QUESTIONS else None)
        except Exception as error:  # the engine's own errors, whatever they are
            say(error=str(error) or type(error).__name__)
    os._exit(0)


if __name__ == "__main__":
    main()
