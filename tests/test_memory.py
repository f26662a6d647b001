"""Memory of a large fit, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, resource, sys
import numpy as np
import bc3e
from bc3e import BC3E
dtype, unique = sys.argv[1], sys.argv[2] == "unique"
rng = np.random.default_rng(0)
n = 1_000_000
BC3E().fit(rng.integers(5, size=(50, 3)), rng.integers(10, size=(50, 8)))  # compile and load
pick = np.arange(n) if unique else rng.integers(n // 10, size=n)
truth = rng.integers(5, size=n)
table = np.empty((n, 11), dtype=dtype)
for j in range(11):
    table[:, j] = (truth * (1 if j < 3 else 2) + rng.integers(1 if j < 3 else 3, size=n))[pick]
    wrong = (rng.random(n) < 0.3)[pick]
    table[wrong, j] = rng.integers(5 if j < 3 else 12, size=n).astype(dtype)[pick][wrong]
del pick, truth, wrong
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
# What was touched before the fit is the baseline; the fit may add to it.
before = peak()
current = int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
ballast = np.ones(int(max(before - current - 5, 0) * 2**20 / 8))  # so that the peak can only rise
before = peak()
model = BC3E().fit(table[:, :3], table[:, 3:])
model.labels_
print(json.dumps({"input": table.nbytes / 2**20, "added": peak() - before, "patterns": model._sizes[1]}))
"""


@pytest.mark.parametrize("dtype", ["uint8", "int64"])
@pytest.mark.parametrize("variety", ["grouped", "unique"])
def test_a_million_objects_stay_small(dtype: str, variety: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, dtype, variety], capture_output=True, text=True, check=True
    )
    figures = json.loads(run.stdout)
    assert figures["added"] + figures["input"] <= 4 * figures["input"] + 300, figures
