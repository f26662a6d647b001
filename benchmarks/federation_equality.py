"""How far federated fits are from the fit in one place, on the 200 random tables of the tests.

``python -m benchmarks.federation_equality``
"""

from __future__ import annotations

import numpy as np
from tests.federation.tables import SPLITS, counted, difference, model_for, random_table, split

from bc3e import federation

TABLES, ITERATIONS = 200, 3


def main() -> None:
    worst: dict[tuple[str, bool], list[float]] = {}
    for seed in range(TABLES):
        how = SPLITS[seed % len(SPLITS)]
        table = random_table(seed)
        sites = split(table, how, seed)
        for max_iter in range(1, ITERATIONS + 1):
            central = model_for(seed, table, max_iter).fit(table.votes, table.clusters)
            for masked in (False, True):
                found = federation.fit(
                    sites,
                    model=model_for(seed, table, max_iter),
                    masked=masked,
                    allow_two=True,
                    classifier_weights=counted(central),
                )
                falls = found.lower_bounds[:-1] - found.lower_bounds[1:]
                seen = (
                    difference(found, central),
                    float(np.abs(found.lower_bounds - central.lower_bounds_).max()),
                    float(falls.max(initial=-np.inf)),
                )
                before = worst.get((how, masked), [0.0, 0.0, -np.inf])
                worst[how, masked] = [max(a, b) for a, b in zip(before, seen, strict=True)]
    print(
        f"largest over {TABLES} tables, 1 to {ITERATIONS} iterations each (a negative fall is a rise)\n"
    )
    print("| split | masked | probabilities | bound | fall of the bound |\n|---|---|---|---|---|")
    for (how, masked), (probability, bound, fall) in sorted(worst.items()):
        print(f"| {how} | {'yes' if masked else 'no'} | {probability:.1e} | {bound:.1e} | {fall:.1e} |")


if __name__ == "__main__":
    main()
