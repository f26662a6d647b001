"""Work in a thread of its own, so that the main thread can hear Ctrl-C at any moment.

A signal makes Python raise in the main thread, wherever that is. DuckDB, called there, would turn it
into an error of its own or lose it; an Event, made of Python code, can be left locked by it, and a
thread on its way to start leaves open whether it will. So there is one thread, started once, and what
is waited for are locks and a queue whose methods are single steps of the interpreter.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

POLL = 0.1  # seconds between two looks at the work
PATIENCE = 10.0  # seconds that work which was told to stop is waited for


class Background:
    """A thread that does one thing after the other.

    Attributes
    ----------
    stuck : bool
        Whether work was told to stop and did not. DuckDB can wait for ever for a task that was given
        up; what it holds is lost then, and nothing more can be done in this thread.
    """

    def __init__(self) -> None:
        self.stuck = False
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=_serve, args=(self._tasks,), name="duckdb", daemon=True).start()

    def __del__(self) -> None:
        self._tasks.put(None)  # the thread, which knows the queue only, ends

    def run(self, work: Callable[[], Any], look: Callable[[], None], stop: Callable[[], None]) -> Any:
        """What `work` returns or raises.

        Parameters
        ----------
        work : callable
            Called in the thread.
        look : callable
            Called here, now and then, until the work is done.
        stop : callable
            Makes the work end early. It is called until it has if an exception is raised
            here, which goes on only then, or after :data:`PATIENCE` seconds.
        """
        if self.stuck:
            raise RuntimeError("work that was told to stop has not ended")
        result: list[Any] = []
        faults: list[BaseException] = []

        def task() -> None:
            try:
                result.append(work())
            except BaseException as error:
                faults.append(error)

        try:
            done = self._after(task)
            while not done.acquire(timeout=POLL):
                look()
        except BaseException:
            self.settle(stop)
            raise
        if faults:
            raise faults[0]
        return result[0]

    def settle(self, stop: Callable[[], None]) -> None:
        """Make the work end early, if there is any, and wait until it has, or is `stuck`."""
        idle, end = self._after(lambda: None), time.monotonic() + PATIENCE
        while not self.stuck and not idle.acquire(timeout=POLL):
            stop()
            self.stuck = time.monotonic() > end

    def _after(self, task: Callable[[], None]) -> threading.Lock:
        """A lock that is released when the task, and all before it, are done."""
        done = threading.Lock()
        done.acquire()

        def told() -> None:
            task()
            done.release()

        self._tasks.put(told)
        return done


def _serve(tasks: SimpleQueue[Callable[[], None] | None]) -> None:
    while (task := tasks.get()) is not None:
        task()
