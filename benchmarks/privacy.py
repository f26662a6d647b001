"""What each role of a federation can find out, plain and masked; behind docs/method-privacy.md.

python -m benchmarks.privacy            # all tables, 50 runs: about half an hour on one core
python -m benchmarks.privacy --quick    # the same with few runs
"""

from __future__ import annotations

import argparse
import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, permutations
from time import perf_counter

import numpy as np
import pandas as pd

from bc3e import BC3E, federation
from bc3e.errors import InputError
from bc3e.federation.auditing import Audit, audit
from bc3e.federation.keys import Identity, MaskingKey
from bc3e.federation.masking import Masker, MaskTag, unmask_sum
from bc3e.federation.preview import exposure
from bc3e.federation.recovery import by_sweeps
from bc3e.federation.sites import Site
from bc3e.federation.views import nodes, view

COUNTED = BC3E(evidence_weight=1.0)  # every clustering counts, so every one can show
FIELDS = ("success", "ideal", "answer", "chance")


def table(seed: int, n: int, r1: int = 3, r2: int = 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three classes; votes right for 73%, labels of four clusters that go with the class for 77%."""
    rng = np.random.default_rng([seed, 2026])
    truth = rng.integers(3, size=(n, 1))
    votes = np.where(rng.random((n, r1)) < 0.6, truth, rng.integers(3, size=(n, r1)))
    clusters = np.where(rng.random((n, r2)) < 0.7, truth, rng.integers(4, size=(n, r2)))
    return (
        pd.DataFrame(votes, columns=[f"vote-{i}" for i in range(r1)]),
        pd.DataFrame(clusters, columns=[f"clustering-{i}" for i in range(r2)]),
    )


def by_column(seed: int, n: int, r2: int = 3) -> list[Site]:
    votes, clusters = table(seed, n, r2=r2)
    return [Site(f"s{i}", votes=votes.iloc[:, i::3], clusters=clusters.iloc[:, i::3]) for i in range(3)]


def by_row(seed: int, n: int) -> list[Site]:
    votes, clusters = table(seed, n)
    return [Site(f"s{i}", votes=votes.iloc[i::3], clusters=clusters.iloc[i::3]) for i in range(3)]


def by_both(seed: int, n: int) -> list[Site]:
    votes, clusters = table(seed, n)
    return [
        Site(f"s{i}{j}", votes=votes.iloc[i::3, j::3], clusters=clusters.iloc[i::3, j::3])
        for i in range(3)
        for j in range(3)
    ]


def audited(sites: list[Site], masked: bool, model: BC3E = COUNTED, effort: int = 100) -> Audit:
    result = federation.fit(sites, model=model, masked=masked, record=True)
    return audit(result, sites, model=model, effort=effort)


HEADER = (
    "| split | messages | role | attack | success | ideal | answer | chance "
    "| perplexity | ideal | answer | chance | largest gain over ideal | gain over answer |\n"
    + "|---" * 14
    + "|"
)


def by_role(
    split: Callable[[int, int], list[Site]],
    n: int,
    runs: int,
    model: BC3E = COUNTED,
    effort: int = 100,
    first: int = 0,
    messages: tuple[bool, ...] = (False, True),
) -> None:
    """Mean success and perplexity of every role, over runs and columns, plain and masked."""
    for masked in messages:
        found: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
        gain: dict[tuple[str, str], list[float]] = defaultdict(list)
        beyond: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        refused = 0
        for seed in range(first, first + runs):
            try:
                findings = audited(split(seed, n), masked, model, effort).findings
            except InputError:  # too few sites with a clustering that counts
                refused += 1
                continue
            for f in findings:
                key = (f.node.split(":")[0] if not f.node[1:].isdigit() else "site", f.attack)
                told = [getattr(f, name) for name in FIELDS]
                told += [f.perplexity, f.ideal_perplexity, f.answer_perplexity, f.chance_perplexity]
                found[key].append(told)
                gain[key].append(f.success - f.ideal)
                beyond[key][seed].append(f.success - f.answer)
        for (role, attack), values in sorted(found.items()):
            cells = " | ".join(f"{value:.2f}" for value in np.mean(values, axis=0))
            name = split.__name__.removeprefix("by_").replace("both", "arbitrary")
            most = max(gain[role, attack])
            sent = "masked" if masked else "plain"
            print(
                f"| {name} | {sent} | {role} | {attack} | {cells} | {most:.2f} "
                f"| {spread(list(beyond[role, attack].values()))} |",
                flush=True,
            )
        if refused:
            print(f"\n{refused} of {runs} runs were refused: fewer than three sites in a sum.")


def spread(runs: list[list[float]]) -> str:
    """Mean over runs with its standard error; the columns of a run are not independent."""
    means = [float(np.mean(columns)) for columns in runs]
    error = np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else float("nan")
    return f"{np.mean(means):.3f} ± {error:.3f}"


def cover(runs: int) -> None:
    """What totals alone give away, by the number of clusterings at each of three sites."""
    print("\n| clusterings per site | objects | seen from | ideal ARI | answer ARI | ideal perplexity "
          "| by chance |\n" + "|---" * 7 + "|")  # fmt: skip
    for per_site in (1, 2, 3):
        for n in (100, 300):
            told: dict[str, list[tuple[float, ...]]] = defaultdict(list)
            for seed in range(runs):
                found = audited(by_column(seed, n, 3 * per_site), True, effort=0)
                for f in found.select(attack="clusters").findings:
                    values = (f.ideal, f.answer, f.ideal_perplexity, f.chance_perplexity)
                    told["site" if f.node.startswith("s") else f.node.split(":")[0]].append(values)
            for role in ("auxiliary-server", "site"):
                cells = " | ".join(f"{value:.2f}" for value in np.mean(told[role], axis=0))
                print(f"| {per_site} | {n} | {role} | {cells} |", flush=True)


def one_object(objects: int) -> None:
    """How often one object's masked totals over the sweeps give the evidence of each clustering."""
    print("\n| clusterings per site | objects tried | taken apart to 1e-3 | median error |")
    print("|---|---|---|---|")
    for per_site in (1, 2):
        sites = by_column(0, 60, 3 * per_site)
        seen = {}
        for masked in (False, True):
            result = federation.fit(sites, model=COUNTED, masked=masked, record=True, id_key=bytes(32))
            node = next(n for n in nodes(result.plan) if n.name == "auxiliary-server:1")
            messages = node.transcript(result.transcript)
            steps = view(node, result.plan.blocks[0], result.plan, messages).steps
            seen[masked] = [step for step in steps if step.iteration == steps[-1].iteration]
        order = [np.argsort(steps[0].shares.total @ [1.0, 2.0, 4.0]) for steps in seen.values()]
        errors = []
        for plain_row, row in zip(order[0][:objects], order[1][:objects], strict=True):
            totals = np.array([step.shares.total[row] for step in seen[True][:8]])
            path = np.array([step.tendency[row] for step in seen[True][:8]])
            found = by_sweeps(totals, path, 3 * per_site, starts=6)
            # The truth, as far as plain parts show it: the evidence of each site.
            parts = np.array([part[plain_row] for part in seen[False][0].shares.parts.values()])
            errors.append(best_match(found, parts))
        share = np.mean(np.array(errors) < 1e-3)
        print(f"| {per_site} | {objects} | {share:.0%} | {np.median(errors):.0e} |")


def best_match(atoms: np.ndarray, parts: np.ndarray) -> float:
    """Error of the sites' evidence, for the best way to deal the atoms out to them."""
    per_site = len(atoms) // len(parts)
    sums = {c: atoms[list(c)].sum(axis=0) for c in combinations(range(len(atoms)), per_site)}
    errors = []
    for dealt in permutations(sums, len(parts)):
        if len(set().union(*dealt)) == len(atoms):
            errors.append(
                max(np.abs(sums[c] - part).max() for c, part in zip(dealt, parts, strict=True))
            )
    return min(errors)


def previews() -> None:
    """What a site would be shown before it joins."""
    votes, clusters = table(0, 500, r1=1, r2=1)
    site = Site("s0", votes=votes, clusters=clusters)
    print(
        "\n| others | agreement | unanimous | known 95% | votes, perplexity | clusters, ARI | perplexity |"
    )
    print("|---|---|---|---|---|---|---|")
    for others in (2, 5, 10):
        for agreement in (0.5, 0.7, 0.9):
            seen = exposure(site, other_votes=others, other_clusterings=others, agreement=agreement)
            v, c = seen["vote-0"], seen["clustering-0"]
            assert v.unanimous is not None
            assert v.revealed is not None
            print(
                f"| {others} | {agreement:.0%} | {v.unanimous:.0%} | {v.revealed:.0%} | "
                f"{v.perplexity:.2f} of {v.chance:.2f} | {c.recovered:.2f} | "
                f"{c.perplexity:.2f} of {c.chance:.2f} |"
            )


def masking_time() -> None:
    """Milliseconds to mask 100,000 x 5 numbers, the best of ten, and the error of the sum."""
    run, tag = "0" * 32, MaskTag("0" * 32, "shares", 0, 0, 0, "all")
    values = np.random.default_rng(0).random((100_000, 5))
    print("\n| sites | mask one part, ms | add up and unmask, ms | error at 30 bits | at 44 bits |")
    print("|---|---|---|---|---|")
    for size in (3, 6):
        names = [f"s{i}" for i in range(size)]
        owners = {name: Identity.generate(name) for name in names}
        keys = {name: MaskingKey.generate() for name in names}
        signed = {name: owners[name].sign_key(keys[name], run) for name in names}
        public = {name: owners[name].public for name in names}
        maskers = [Masker(name, run, keys[name], signed, public) for name in names]
        times = []
        for sweep in range(1, 11):
            begin = perf_counter()
            maskers[0].mask(values, replace(tag, sweep=sweep), names)
            times.append(perf_counter() - begin)
        errors = []
        for bits in (30, 44):
            parts = [m.mask(values, replace(tag, iteration=bits), names, bits=bits) for m in maskers]
            begin = perf_counter()
            total = unmask_sum(parts, bits=bits)
            took = perf_counter() - begin
            errors.append(np.abs(total - size * values).max())
        print(
            f"| {size} | {1e3 * min(times):.0f} | {1e3 * took:.0f} | {errors[0]:.0e} | {errors[1]:.0e} |"
        )


def main() -> None:
    logging.getLogger("bc3e.federation").setLevel(logging.ERROR)  # few clusterings are the point here
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few runs")
    quick = parser.parse_args().quick
    runs = 2 if quick else 50
    print(HEADER)
    by_role(by_column, 120, runs)
    by_role(by_row, 60, runs)
    by_role(by_both, 180, 1 if quick else 2, effort=0)
    print(
        f"\nArbitrary blocks of 120 objects, on tables that the attacks were not developed on\n\n{HEADER}"
    )
    by_role(by_both, 360, runs, effort=300, first=100, messages=(True,))
    print(f"\nThe column split with the default settings\n\n{HEADER}")
    by_role(by_column, 120, 2 if quick else 12, BC3E(), effort=0)
    print(f"\nThe same with {10_000:,} objects\n\n{HEADER}")
    by_role(by_column, 10_000, 1, effort=20)
    cover(1)
    one_object(2 if quick else 6)
    previews()
    masking_time()


if __name__ == "__main__":
    main()
