"""A small process that starts the others: it has loaded everything once and forks per place.

Run as ``python -m bc3e.federation.nursery FD`` with one end of a socket pair. Each request is a path
to a job with the descriptor of a connection; the answer is the id of the new process.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from multiprocessing.connection import Connection
from pathlib import Path

PATH_BYTES = 4096


def warm_up() -> None:
    """Load what every place needs, compiled kernels included, before the first fork."""
    from bc3e.estimator import BC3E
    from bc3e.federation import worker
    from bc3e.federation.running import fit
    from bc3e.federation.sites import Site

    assert worker is not None
    votes, clusters = {"v": [0, 1, 0, 1]}, {"c": [0, 1, 0, 1]}
    fit([Site("warm", votes, clusters, ids=[1, 2, 3, 4])], model=BC3E(max_iter=1), masked=False)


def serve(door: socket.socket) -> None:
    """Fork a process for each request until the other end closes."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(door, PATH_BYTES, 1)
        if not request:
            return
        (descriptor,) = descriptors
        child = os.fork()
        if child == 0:
            door.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _play(Path(request.decode()), descriptor)
        os.close(descriptor)
        door.sendall(child.to_bytes(8, "little"))


def _play(job: Path, descriptor: int) -> None:
    """Life of a forked process; it never returns to the caller's code."""
    from bc3e.federation.worker import work

    status = 1
    try:
        work(job, Connection(descriptor))
        status = 0
    finally:
        os._exit(status)


def main() -> None:
    """Get ready, say so, and serve."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system clears away ended children
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    door = socket.socket(fileno=int(sys.argv[1]))
    warm_up()
    gc.freeze()  # what is loaded is shared by all children: leave its pages alone
    door.sendall(b"ready...")
    serve(door)


if __name__ == "__main__":
    main()
