"""Speed of a federation of real processes, beside the same traffic over bare mutual-TLS gRPC.

``python -m benchmarks.federation_engine`` starts a server and three sites on this machine and prints:

- column-distributed and masked, N = 100,000, k = 5, 30 iterations of three sweeps: seconds of the run, of the same run
  with bare gRPC in place of the engine, and of the same messages (sizes and order from the run's own
  ledger) between processes that compute nothing and only send bytes;
- row-distributed, N = 1,000,000: seconds of the run, and of the fit in one place.

Both of a pair run one after the other on the same machine, so their ratio says more than the seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import numpy as np
import pyarrow as pa

import bc3e
from bc3e.federation.engine.answers import answered, read_answer
from bc3e.federation.engine.leading import Leader
from bc3e.federation.engine.member import Member
from bc3e.federation.engine.rehearsal import Rehearsal, deal, free_port
from bc3e.federation.engine.site_config import SiteConfig

VOTES = [f"v{i}" for i in range(6)]
CLUSTERS = [f"c{i}" for i in range(6)]
SAME = {"evidence_weight": 0.3}  # by default a fit in one place also compares classifiers
LIMITS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


def table(n: int, k: int = 5) -> pa.Table:
    rng = np.random.default_rng(0)
    truth = rng.integers(k, size=n)

    def noisy(share: float) -> np.ndarray:
        return np.where(rng.random(n) < share, rng.integers(k, size=n), truth)

    columns = {"id": np.arange(n).astype(str)}
    columns |= {name: noisy(0.4) for name in VOTES}
    columns |= {name: noisy(0.3) + k * rng.integers(2, size=n) for name in CLUSTERS}
    return pa.table(columns)


def federated(folder: Path, data: pa.Table, how: str, model: dict) -> tuple[Rehearsal, dict[str, float]]:
    """Run it; seconds of starting the processes, of starting the job, and of the run."""
    made = Rehearsal.prepare(folder, deal(data, 3, how, VOTES, CLUSTERS, "id"), "id", VOTES, CLUSTERS)
    began = time.monotonic()
    with made.running() as link:
        started = time.monotonic() - began
        submitted = time.time()
        made.run(link, "speed", lambda _: None, model=model, seconds=3000)
    events = {e["event"]: e for e in made.control.events("speed")}
    return made, {
        "processes": started,
        "job": events["attempt"]["time"] - submitted,
        "planning": events["began"]["time"] - events["attempt"]["time"],
        "run": events["finished"]["time"] - events["began"]["time"],
    }


# The same traffic over bare gRPC: sites listen, the server calls them.


def _bytes(data: bytes) -> bytes:
    return data


def _echo(request: bytes) -> bytes:
    """As many bytes as the call asks for."""
    return bytes(int.from_bytes(request[:8], "little"))


def _site(port: int, config: str, learns: bool, ready: multiprocessing.Event) -> None:
    """A site that takes part in a run, or only sends bytes."""
    told = SiteConfig.read(config)
    member = Member(told, lambda *_: b"")

    def learn(request: bytes) -> bytes:
        topic, _, data = request.partition(b"\n")
        return answered(lambda: member.answer("server", topic.decode(), data))

    work = learn if learns else _echo
    handler = grpc.unary_unary_rpc_method_handler(lambda request, _: work(request), _bytes, _bytes)
    server = grpc.server(ThreadPoolExecutor(2), options=LIMITS)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("b", {"call": handler})])
    kit = told.kit / "startup"
    pair = ((kit / "client.key").read_bytes(), (kit / "client.crt").read_bytes())
    root = (kit / "rootCA.pem").read_bytes()
    server.add_secure_port(
        f"127.0.0.1:{port}", grpc.ssl_server_credentials([pair], root, require_client_auth=True)
    )
    server.start()
    ready.set()
    server.wait_for_termination()


def rounds_of(messages: Path) -> list[dict[str, tuple[int, int]]]:
    """Bytes to and from each site, round by round, in the order of the run."""
    found: dict[tuple, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for line in messages.read_text().splitlines():
        entry = json.loads(line)
        ends = [entry["sender"], entry["recipient"]]
        sites = [end.partition(":")[2] for end in ends if end.startswith("client:")]
        if entry["stage"] == "plan" or len(sites) != 1:
            continue
        stage = ("setup", "learn", "answer").index(entry["stage"])
        # A round of learning is one exchange; before and after every kind is one.
        step = (stage, entry["iteration"], entry["sweep"], entry["kind"] if stage != 1 else "")
        if entry["kind"] in ("settled", "evidence", "counts", "profiles"):
            step = (stage, entry["iteration"], 1 << 20, "settled")
        if stage == 2 and entry["kind"] in ("tendency", "shares"):
            step = (stage, entry["iteration"], entry["sweep"], "")
        found[step][sites[0]][int(ends[0].startswith("client:"))] += entry["bytes"]
    return [{s: (down, up) for s, (down, up) in found[step].items()} for step in sorted(found)]


@contextlib.contextmanager
def bare_sites(made: Rehearsal, learns: bool) -> Iterator[dict[str, Callable[..., bytes]]]:
    """Ways to call sites that listen for gRPC."""
    context = multiprocessing.get_context("spawn")
    stubs, processes = {}, []
    server = made.control.server / "startup"
    credentials = grpc.ssl_channel_credentials(
        (server / "rootCA.pem").read_bytes(),
        (server / "server.key").read_bytes(),
        (server / "server.crt").read_bytes(),
    )
    try:
        for site, config in made.sites.items():
            port, ready = free_port(), context.Event()
            given = (port, str(config.path), learns, ready)
            processes.append(context.Process(target=_site, args=given, daemon=True))
            processes[-1].start()
            assert ready.wait(120)
            named = [*LIMITS, ("grpc.ssl_target_name_override", site)]
            channel = grpc.secure_channel(f"127.0.0.1:{port}", credentials, named)
            stubs[site] = channel.unary_unary("/b/call", _bytes, _bytes)
        yield stubs
    finally:
        for process in processes:
            process.kill()
            process.join()


def bare_traffic(made: Rehearsal) -> tuple[float, int, int]:
    """Seconds, rounds and bytes of the same traffic between processes that only send bytes."""
    rounds, total = rounds_of(made.control.run_folder("speed") / "messages.jsonl"), 0
    with bare_sites(made, learns=False) as stubs, ThreadPoolExecutor(len(made.sites)) as pool:
        began = time.monotonic()
        for one in rounds:
            calls = [
                pool.submit(stubs[site], up.to_bytes(8, "little") + bytes(max(0, down - 8)))
                for site, (down, up) in one.items()
            ]
            total += sum(len(call.result()) for call in calls) + sum(d for d, _ in one.values())
        return time.monotonic() - began, len(rounds), total


def bare_run(made: Rehearsal) -> float:
    """Seconds of the same run with gRPC in place of the engine."""
    job = made.control.new_job("bare", tuple(made.sites), model=made.control.job("speed").model)
    with bare_sites(made, learns=True) as stubs:

        def call(node: str, topic: str, data: bytes, seconds: float) -> bytes:
            told = stubs[node](topic.encode() + b"\n" + data, timeout=seconds)
            return read_answer(told, node)

        folder = made.control.run_folder("bare")
        Leader(job, folder, call, lambda: False).lead()
    events = {e["event"]: e["time"] for e in made.control.events("bare")}
    return events["finished"] - events["began"]


def column(n: int, iterations: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bc3e-") as place:
        model = {"max_iter": iterations, "tol": 0.0}
        made, seconds = federated(Path(place) / "here", table(n), "column", model)
        carried = bare_run(made)
        plain, rounds, size = bare_traffic(made)
    print(f"column, masked, N = {n:,}, {iterations} iterations: {_words(seconds)}")
    print(f"  {rounds} rounds, {size / 1e6:,.0f} MB: {rounds / seconds['run']:.1f} rounds/s")
    print(f"  the same run over bare gRPC: {carried:.1f} s; ratio {seconds['run'] / carried:.2f}")
    print(f"  its bytes alone over bare gRPC: {plain:.1f} s; ratio {seconds['run'] / plain:.2f}")


def row(n: int) -> None:
    data = table(n)
    with tempfile.TemporaryDirectory(prefix="bc3e-") as place:
        made, seconds = federated(Path(place) / "here", data, "row", SAME)
        del made
    frame = data.to_pandas().set_index("id")
    bc3e.BC3E(max_iter=1).fit(frame[VOTES][:100], frame[CLUSTERS][:100])  # compiled kernels are loaded
    began = time.monotonic()
    bc3e.BC3E(**SAME).fit(frame[VOTES], frame[CLUSTERS])
    central = time.monotonic() - began
    start = seconds["processes"] + seconds["job"]
    whole = start + seconds["planning"] + seconds["run"]
    print(f"row, masked, N = {n:,}: {_words(seconds)}")
    print(f"  in one place: {central:.1f} s; engine start {start:.1f} s")
    print(f"  {whole:.1f} s against 1.5 x {central:.1f} + {start:.1f} = {1.5 * central + start:.1f} s")


def _words(seconds: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a hundredth of the objects")
    parser.add_argument("--only", choices=["column", "row"])
    given = parser.parse_args()
    if given.only != "row":
        column(1_000 if given.small else 100_000, 30)
    if given.only != "column":
        row(10_000 if given.small else 1_000_000)
