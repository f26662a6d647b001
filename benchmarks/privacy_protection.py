"""What protects labels in a federation and what does not; behind docs/method-privacy.md.

python -m benchmarks.privacy_protection            # all tables, about ten minutes on one core
python -m benchmarks.privacy_protection --quick    # the same with few runs
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Sequence

import numpy as np

from bc3e import BC3E, federation
from bc3e.federation.additive import additive_parts
from bc3e.federation.answer_reading import Powers
from bc3e.federation.end_view import own_columns
from bc3e.federation.from_answers import Known, read_answers
from bc3e.federation.noise import scrambled
from bc3e.federation.one_total import taken_apart
from bc3e.federation.result import Result
from bc3e.federation.scoring import Labels, best_rand, clustering_score, codes
from bc3e.federation.sites import Site, SiteData
from bc3e.federation.views import View, nodes, view
from bc3e.model.parameters import Parameters
from benchmarks.privacy import COUNTED, by_column, table

OBJECTS = 120
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


def runs(count: int) -> Iterator[tuple[list[Site], Result]]:
    for seed in range(count):
        sites = by_column(seed, OBJECTS)
        yield sites, federation.fit(sites, model=COUNTED, record=True)


def seen_by(name: str, result: Result) -> View:
    node = next(node for node in nodes(result.plan) if node.name == name)
    return view(node, result.plan.blocks[0], result.plan, node.transcript(result.transcript))


def in_block_order(sites: Sequence[Site], result: Result) -> list[Labels]:
    """Labels of each site's clustering, in the order in which the auxiliary server has the objects."""
    return [
        codes(site.clusters.to_numpy()[np.argsort(result.hashes[site.name], kind="stable"), 0])
        for site in sites
    ]


def one_sweep(count: int) -> None:
    """How much a single sweep tells, whichever it is: other starts and fewer sweeps do not help."""
    found: dict[str, list[float]] = {"second": [], "tenth": [], "last": [], "last, by object": []}
    for sites, result in runs(count):
        shown = seen_by("auxiliary-server:1", result)
        truth = in_block_order(sites, result)
        for name, at in (("second", 1), ("tenth", 9), ("last", -1)):
            step = shown.steps[at]
            assert step.shares is not None
            solved = taken_apart(step.tendency, step.shares.total, 3, shown.weight)
            parts = [] if solved is None else solved.partitions
            found[name] += [best_rand(parts, labels) for labels in truth]
        rows = [codes(site.clusters.to_numpy()[:, 0]) for site in sites]
        found["last, by object"] += [best_rand(parts, labels) for labels in rows]
    print("\n| sweep that the auxiliary server is shown | adjusted Rand |\n|---|---|")
    for name, values in found.items():
        print(f"| {name} | {np.mean(values):.2f} |", flush=True)


def rounded_answers(count: int) -> None:
    """What a site would find out from its answers alone if they were rounded."""
    print("\n| digits of the answers | clusterings found | adjusted Rand |\n|---|---|---|")
    recorded = list(runs(count))
    for digits in (None, 10, 8, 7, 6, 5, 4, 3):
        found = []
        for sites, result in recorded:
            truth = in_block_order(sites, result)
            shown = seen_by("s0", result)
            assert shown.answer is not None
            answer = shown.answer if digits is None else np.round(shown.answer, digits)
            read = read_answers(answer, _known(shown, sites, result), digits=digits)
            parts = [] if read is None else read.partitions
            found += [best_rand(parts, labels) for labels in truth[1:]]
        name = "all" if digits is None else str(digits)
        share = np.mean(np.array(found) > 0.9)
        print(f"| {name} | {share:.0%} | {np.mean(found):.2f} |", flush=True)


def _known(shown: View, sites: Sequence[Site], result: Result) -> Known:
    own = in_block_order(sites, result)[0]
    node = next(node for node in nodes(result.plan) if node.name == "s0")
    columns = own_columns(
        shown, result.plan, node.transcript(result.transcript), lambda block, column: own
    )
    assert columns is not None
    nothing = np.empty((0, len(result.classes)))
    parameters = Parameters(result.class_mean, result.class_variance, result.delta2, nothing)
    powers = Powers(result.vote_exponent, result.answer_exponent, float(COUNTED.vote_weight), True)
    return Known(columns, 3, 3, result.evidence_weight, parameters, powers)


def noise_on_sums(count: int) -> None:
    """Noise that every total of an object carries, the same in all sweeps: it cancels in differences."""
    print("\n| noise on totals | one total | difference of two |\n|---|---|---|")
    recorded = list(runs(count))
    for scale in (0.01, 0.05, 0.2):
        single, difference = [], []
        for seed, (sites, result) in enumerate(recorded):
            steps = seen_by("auxiliary-server:1", result).steps
            # Two sweeps in which all objects have the same tendency: the first, and that of the answer.
            cold = [
                s.shares.total for s in steps if s.shares and np.ptp(s.tendency, axis=0).max() < 1e-9
            ]
            noise = np.random.default_rng(seed).normal(scale=scale, size=cold[0].shape)
            one = additive_parts(cold[0] + noise)
            two = additive_parts((cold[-1] + noise) - (cold[0] + noise))
            for labels in in_block_order(sites, result):
                single.append(best_rand(one, labels))
                difference.append(best_rand(two, labels))
        print(f"| {scale} | {np.mean(single):.2f} | {np.mean(difference):.2f} |", flush=True)


def scrambled_labels(count: int) -> None:
    """What the best possible attacker finds, and accuracy, by the share of scrambled cluster labels.

    Nothing in a run depends on more than the scrambled labels: whoever reads all of them has
    the most that any attack can find.
    """
    print("\n| noise | epsilon | adjusted Rand, best possible | perplexity | by chance "
          "| accuracy, weight 1 | default settings |\n" + "|---" * 7 + "|")  # fmt: skip
    for share in SHARES:
        noise = federation.Noise(clusters=share)
        told = []
        for seed in range(count):
            site = by_column(seed, 1000)[0]
            data = SiteData.of(site, site.table(np.arange(3)), bytes(32), "")
            truth = codes(data.clusters["clustering-0"])
            read = codes(scrambled(data, noise, bytes([seed]) * 32).clusters["clustering-0"])
            found, nothing = clustering_score([read], truth), clustering_score([], truth)
            told.append((found.success, found.perplexity, nothing.perplexity))
        rand, known, chance = np.mean(told, axis=0)
        right = [np.mean([accuracy(seed, model, noise) for seed in range(count)])
                 for model in (COUNTED, BC3E())]  # fmt: skip
        print(
            f"| {share:.0%} | {noise.epsilon('clusters', 4):.1f} | {rand:.2f} | {known:.2f} "
            f"| {chance:.2f} | {right[0]:.1%} | {right[1]:.1%} |",
            flush=True,
        )
    alone = []
    for seed in range(count):
        votes = table(seed, 1000)[0].to_numpy()
        majority = np.stack([(votes == i).sum(axis=1) for i in range(3)], axis=1).argmax(axis=1)
        alone.append(np.mean(majority == true_classes(seed, 1000)))
    print(f"\nMajority of the votes: {np.mean(alone):.1%}.")


def true_classes(seed: int, n: int) -> Labels:
    """Classes of the objects of :func:`benchmarks.privacy.table`: the first that it draws."""
    return np.random.default_rng([seed, 2026]).integers(3, size=n)


def accuracy(seed: int, model: BC3E, noise: federation.Noise, n: int = 1000) -> float:
    """Share of right labels of a fit across three sites; plain, since masks change no label."""
    truth = true_classes(seed, n)
    result = federation.fit(by_column(seed, n), model=model, masked=False, noise=noise)
    return float(np.mean(np.asarray(result.for_site("s0").labels) == truth))


def main() -> None:
    logging.getLogger("bc3e.federation").setLevel(logging.ERROR)  # few clusterings are the point here
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few runs")
    quick = parser.parse_args().quick
    one_sweep(2 if quick else 10)
    rounded_answers(2 if quick else 10)
    noise_on_sums(2 if quick else 10)
    scrambled_labels(2 if quick else 5)


if __name__ == "__main__":
    main()
