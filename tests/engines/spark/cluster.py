"""A standalone Spark cluster on 127.0.0.1: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 300.0  # seconds until a process must have done what it was started for


@dataclass
class Cluster:
    """Processes of a cluster, all started here."""

    address: str
    workers: list[subprocess.Popen[bytes]]
    start_worker: Callable[[], subprocess.Popen[bytes]]

    def lose_worker(self) -> list[int]:
        """Kill the first worker and its executors with SIGKILL; their process ids."""
        worker = self.workers.pop(0)
        lost = [worker.pid, *_executors(worker.pid)]
        for pid in lost:
            os.kill(pid, signal.SIGKILL)
        worker.wait()
        return lost

    def add_worker(self) -> None:
        """Put another worker in the place of one that was lost."""
        self.workers.append(self.start_worker())


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start a master and two workers with a core each, and end them."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []

    def start(role: str, log: str, *options: str) -> subprocess.Popen[bytes]:
        import pyspark

        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        options = ("--host", "127.0.0.1", "--webui-port", str(free_port()), *options)
        settings = {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with (folder / log).open("wb") as sink:
            process = subprocess.Popen(
                [program, f"org.apache.spark.deploy.{role}", *options],
                env=os.environ | settings, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        started.append(process)
        return process

    try:
        master = start("master.Master", "master.log", "--port", str(port))
        _wait_for(folder / "master.log", "I have been elected leader", master)

        def start_worker() -> subprocess.Popen[bytes]:
            name = f"worker{len(started)}"
            options = ("-c", "1", "-m", "1g", "-d", str(folder / name), address)
            return start("worker.Worker", f"{name}.log", *options)

        workers = [start_worker(), start_worker()]
        for number, worker in enumerate(workers, 1):
            _wait_for(folder / f"worker{number}.log", "Successfully registered", worker)
        yield Cluster(address, workers, start_worker)
    finally:
        for process in reversed(started):
            if process.poll() is None:
                process.terminate()
        for process in started:
            process.wait(PATIENCE)


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _executors(worker: int) -> list[int]:
    """The executors that a worker has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            command = stat.with_name("cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
        if parent == worker and b"executor.CoarseGrainedExecutorBackend" in command:
            found.append(int(stat.parent.name))
    return found


def _wait_for(log: Path, words: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while words not in log.read_text(errors="replace"):
        assert process.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < until, log.read_text(errors="replace")
        time.sleep(0.1)
