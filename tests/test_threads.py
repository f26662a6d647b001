"""A fit with one thread uses one: libraries of linear algebra are not woken."""

from __future__ import annotations

import os
import subprocess
import sys

FITS = """
import time
import numpy as np
import bc3e

rng = np.random.default_rng(0)
truth = rng.integers(4, size=60_000)
votes = np.where(rng.random((60_000, 3)) < 0.3, rng.integers(4, size=(60_000, 3)), truth[:, None])
clusters = truth[:, None] * 3 + rng.integers(3, size=(60_000, 6))
bc3e.BC3E().fit(votes[:100], clusters[:100])
used, clock = time.process_time(), time.perf_counter()
for _ in range(5):
    bc3e.BC3E().fit(votes, clusters)
print((time.process_time() - used) / (time.perf_counter() - clock))
"""


def test_a_fit_with_one_thread_keeps_one_core_busy() -> None:
    settings = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", FITS],
        env=settings | {"OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) <= 1.1
