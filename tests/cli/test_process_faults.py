"""What befalls a process: full disks, read-only places, closed pipes, signals."""

from __future__ import annotations

import os
import pty
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SCRIPT = str(Path(sys.executable).with_name("bc3e"))
OPTIONS = ("--votes", "clf_*", "--clusters", "clu_*", "--id", "id")
PATIENCE = 240


def write_labels(path: Path, rows: int, classes: int = 3) -> Path:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, rows)
    columns: dict[str, Any] = {"id": np.arange(rows)}
    for i in range(3):
        columns[f"clf_{i}"] = np.where(rng.random(rows) < 0.7, truth, rng.integers(0, classes, rows))
    for i in range(4):
        columns[f"clu_{i}"] = truth * 5 + rng.integers(0, 5, rows)
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_labels(tmp_path_factory.mktemp("labels") / "labels.parquet", 5000)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_labels(tmp_path_factory.mktemp("many") / "many.parquet", 200_000, 8)


def one_line(err: bytes, *parts: str) -> None:
    (line,) = err.decode().splitlines()
    for part in parts:
        assert part in line, line


def can_mount() -> bool:
    """Whether a process may have mounts of its own."""
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    return done.returncode == 0


def in_own_mount(tmp_path: Path, options: str, command: list[str]) -> tuple[int, bytes, list[str]]:
    """Run with a tmpfs at tmp_path/disk that only this process sees; exit code, stderr, what is left."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = (
        f"mount -t tmpfs -o {options} tmpfs {shlex.quote(str(disk))} || exit 99\n"
        f"{shlex.join(command)} > {shlex.quote(str(tmp_path / 'stdout'))}\n"
        f"code=$?; ls -A {shlex.quote(str(disk))}; exit $code\n"
    )
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], capture_output=True, check=False, timeout=PATIENCE
    )
    return done.returncode, done.stderr, done.stdout.decode().split()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.jsonl"])
def test_full_disk(name: str, labels: Path, tmp_path: Path) -> None:
    target = tmp_path / "disk" / name
    command = [SCRIPT, "refine", str(labels), *OPTIONS, "-o", str(target)]
    if can_mount():
        code, err, left = in_own_mount(tmp_path, "size=16k", command)
        cause, remedy = "no space left on device", "Free some space"
    else:  # the nearest thing: files may not grow

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))

        target.parent.mkdir()
        done = subprocess.run(command, capture_output=True, check=False, preexec_fn=limit)
        code, err, left = done.returncode, done.stderr, os.listdir(target.parent)
        cause, remedy = "file too large", "limit on file sizes"
    assert code == 2, err
    one_line(err, f"bc3e refine: error: --output {target}: {cause}", remedy)
    assert left == []


def test_limit_on_file_sizes(labels: Path, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))

    done = subprocess.run(
        [SCRIPT, "refine", str(labels), *OPTIONS, "-o", str(tmp_path / "out.csv")],
        capture_output=True,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 2
    one_line(done.stderr, "file too large", "Raise the limit on file sizes (ulimit -f)")
    assert os.listdir(tmp_path) == []


def test_read_only_directory(labels: Path, tmp_path: Path) -> None:
    target = tmp_path / "disk" / "out.csv"
    command = [SCRIPT, "refine", str(labels), *OPTIONS, "-o", str(target)]
    if can_mount():
        code, err, left = in_own_mount(tmp_path, "ro", command)
        remedy = "Choose a directory you can write to."
    else:  # root writes anywhere, but below a file there is nothing to write in
        target.parent.write_text("")
        done = subprocess.run(command, capture_output=True, check=False)
        code, err, left = done.returncode, done.stderr, []
        remedy = "Choose another place."
    assert code == 2, err
    one_line(err, f"bc3e refine: error: --output {target}: ", remedy)
    assert left == []


def test_a_full_device(labels: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [SCRIPT, "refine", str(labels), *OPTIONS, "-o", "/dev/full"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    one_line(done.stderr, "--output /dev/full: no space left on device", "Free some space")


def test_standard_output_is_full(labels: Path, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [SCRIPT, "refine", str(labels), *OPTIONS, "-o", "-", "--quiet"],
            stdout=full, stderr=subprocess.PIPE, check=False, cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == 2
    one_line(done.stderr, "standard output: no space left on device", "Free some space")


def test_broken_pipe_is_quiet(labels: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [SCRIPT, "refine", str(labels), *OPTIONS, "-o", "-", "--quiet"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"id,label,")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(PATIENCE) == 141  # as of any program that a closed pipe ends
    assert err == b""
    assert os.listdir(tmp_path) == []


def test_help_into_a_closed_pipe_is_quiet() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [SCRIPT, "refine", "--help"], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_writing(number: signal.Signals, many: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv.gz"  # slow to write
    process = subprocess.Popen(
        [SCRIPT, "refine", str(many), *OPTIONS, "-o", str(target), "--max-iter", "1", "--evidence-weight", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    end = time.monotonic() + PATIENCE
    while not any(name.endswith(".part") for name in os.listdir(tmp_path)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == b""
    assert err == b"bc3e refine: interrupted; nothing was written\n"
    assert os.listdir(tmp_path) == []


def test_stopped_while_fitting(many: Path, tmp_path: Path) -> None:
    """On a terminal: the bar shows up, Ctrl-C ends it, and nothing is left."""
    main, other = pty.openpty()
    process = subprocess.Popen(
        [SCRIPT, "refine", str(many), *OPTIONS, "-o", str(tmp_path / "out.csv"), "--init", "random"],
        stdout=subprocess.PIPE, stderr=other, env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(other)
    shown = read_until(main, b"Refining 200,000 objects", process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    shown += drained(main)
    os.close(main)
    assert process.returncode == 130
    assert out == b""
    assert b"bc3e refine: interrupted; nothing was written" in shown
    assert b"Traceback" not in shown
    assert os.listdir(tmp_path) == []


def read_until(terminal: int, text: bytes, process: subprocess.Popen[bytes]) -> bytes:
    shown, end = b"", time.monotonic() + PATIENCE
    while text not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 65536)
        else:
            assert process.poll() is None, shown
    return shown


def drained(terminal: int) -> bytes:
    shown = b""
    while select.select([terminal], [], [], 0.2)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end has gone
            break
        if not piece:
            break
        shown += piece
    return shown


def test_stopped_while_waiting_for_input(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [SCRIPT, "refine", "-", *OPTIONS, "-o", str(tmp_path / "out.csv")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b"id,clf_a\n")
    process.stdin.flush()
    wait_until_reading(process.pid)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err == b"bc3e refine: interrupted; nothing was written\n"
    assert os.listdir(tmp_path) == []


def wait_until_reading(pid: int) -> None:
    """Until the process has emptied its standard input and sleeps there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        where = Path(f"/proc/{pid}/syscall")
        if where.exists():
            try:
                if where.read_text().split()[:2] == ["0", "0x0"]:  # read(0, ...)
                    return
            except OSError:
                time.sleep(1.0)
                return
        time.sleep(0.05)


def test_empty_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [SCRIPT, "refine", "-", *OPTIONS],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    one_line(done.stderr, "bc3e refine: error: standard input: the file is empty", "Pass a table")


def test_closed_standard_input(tmp_path: Path) -> None:
    command = shlex.join([SCRIPT, "refine", "-", *OPTIONS]) + " <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    one_line(done.stderr, "bc3e refine: error: -: standard input is closed", "Pipe a table")


def test_closed_standard_output(labels: Path, tmp_path: Path) -> None:
    command = shlex.join([SCRIPT, "refine", str(labels), *OPTIONS, "-o", "-"]) + " >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    one_line(done.stderr, "--output -: standard output is closed", "name a file")


def test_missing_file_as_a_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [SCRIPT, "validate", "gone.csv", *OPTIONS], capture_output=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert b"gone.csv: no such file or directory. Check the name" in done.stdout
    assert os.listdir(tmp_path) == []
