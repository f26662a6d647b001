"""How time and memory of a fit grow with the table: ``python -m benchmarks.growth``.

Each fit runs in a process of its own, by default with one thread. *Saturated*: rows repeat 30,000 patterns,
however many rows there are. *Worst*: every row is a pattern of its own, and the clusterings count three labels: what
they count by default depends on the table, and what it costs depends on that. *Beyond grouping* is the CPU time
of the fit less that of reading, coding and grouping the table, measured within it. Memory is
what the fit adds to the peak of the process, in sizes of the input.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

SCRIPT = """
import json, resource, sys, time
import numpy as np
import bc3e
from bc3e.labels import LabelTable
from bc3e.objects import Objects
from benchmarks.speed import label_table
n, kind, dtype = int(sys.argv[1]), sys.argv[2], sys.argv[3]
bc3e.BC3E().fit(*label_table(70_000, 30_000))  # compile and load
if kind == "worst":
    votes, clusters = label_table(n, n)
    number = np.arange(n)
    for column in range(6):  # a number in base 10 makes every row another one
        clusters[:, column + 2] = number // 10**column % 10
    votes[:, 2] = np.where(number // 10**6 % 10 < 5, number // 10**6 % 5, votes[:, 2])
    clusters[:, 1] = number // 10**6 % 15
else:
    votes, clusters = label_table(n, 30_000)
votes, clusters = votes.astype(dtype), clusters.astype(dtype)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
current = int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
ballast = np.ones(int(max(peak() - current - 5, 0) * 2**20 / 8))  # so that the peak can only rise
before = peak()
grouping = []

def timed(function):
    def run(*arguments, **options):
        began = time.process_time()
        result = function(*arguments, **options)
        grouping.append(time.process_time() - began)
        return result
    return run

LabelTable.read, Objects.of = timed(LabelTable.read), timed(Objects.of)
began = time.process_time()
settings = {"evidence_weight": 3 / 8} if kind == "worst" else {"random_state": 0}
model = bc3e.BC3E(**settings).fit(votes, clusters)
whole = time.process_time() - began
added = peak() - before
grouping = grouping[0] + grouping[1]  # of the table; the others are of samples
size = (votes.nbytes + clusters.nbytes) / 2**20
print(json.dumps({"patterns": model._sizes[1], "fit": whole, "grouping": grouping, "added": added, "input": size}))
"""


def measured(n: int, kind: str, dtype: str, rounds: int) -> dict[str, float]:
    """The run of the median time."""
    runs = []
    for _ in range(rounds):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(n), kind, dtype],
            capture_output=True,
            text=True,
            check=True,
        )
        runs.append(json.loads(run.stdout))
    return sorted(runs, key=lambda found: found["fit"])[len(runs) // 2]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--dtype", default="int64")
    given = options.parse_args()
    for kind in ("saturated", "worst"):
        print(f"{kind}, {given.dtype}; CPU seconds")
        print("        rows   patterns     fit  grouping  beyond  against the row above  memory added")
        last = None
        for n in given.rows:
            found = measured(n, kind, given.dtype, given.rounds)
            beyond = found["fit"] - found["grouping"]
            growth = "" if last is None else f"{beyond / last:5.2f} times"
            print(
                f"{n:12,} {found['patterns']:10,} {found['fit']:7.2f} {found['grouping']:9.2f} {beyond:7.2f}"
                f"  {growth:>21}  {found['added'] / found['input']:5.2f} x {found['input']:,.0f} MB"
            )
            last = beyond


if __name__ == "__main__":
    main()
