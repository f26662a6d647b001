"""``bc3e demo``: digits after a knock to the camera, and files to play with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from bc3e.cli.options import WRITING
from bc3e.cli.session import Session

EXAMPLES = """
[bold]Examples[/bold]

bc3e demo

bc3e demo --write .
"""
TRY = """Try them:
  bc3e refine {labels} --votes '*:*' --clusters 'k*' --id id --truth y -o refined.csv
  bc3e adapt --train {train} --target {target} --label y --truth y --id id -o adapted.csv
  bc3e compare {labels} --votes '*:*' --clusters 'k*' --id id --truth y --methods SoftVote,BC3E,BGCM
  bc3e drift --train {train} --target {target} --label y --id id
  bc3e validate {labels} --votes '*:*' --clusters 'k*' --id id"""


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What the demo leaves behind."""

    write: Annotated[
        str | None,
        Option(
            help="Write the tables of the demo to this directory, to try the other commands on.",
            rich_help_panel=WRITING,
        ),
    ] = None


GROUPS = (Demo,)


def run(session: Session, options: Demo) -> int:
    """Digits, drifted: classifiers, soft vote and BC3E in one table."""
    session.plan([])
    names = {part: f"digits-{part}.csv" for part in ("train", "target", "labels")}
    paths = {part: str(Path(options.write or ".") / name) for part, name in names.items()}
    if options.write is not None:
        for path in paths.values():
            session.outputs.plan("--write", path)
    with session.stage("demo", "Training on digits, knocking the camera, refining"):
        from bc3e.estimator import BC3E
        from bc3e.experiments import demo as digits

        target = digits.build()
        model = BC3E(random_state=0).fit(target.votes, target.clusters)
    if options.write is not None:
        from bc3e.cli.writers import write_table

        for part, table in _tables(target).items():
            fill = partial(write_table, table, format="csv", packed=False, escape=False)
            session.outputs.write("--write", paths[part], fill)
    accuracies = _accuracies(target, model)
    lines = [f"{len(target.truth)} objects, trust in the clusterings {model.trust_:.2f} of 1."]
    if options.write is not None:
        lines += [f"Written: {', '.join(paths.values())}.", TRY.format(**paths)]
    else:
        lines.append("bc3e demo --write . puts the tables behind it here, to try the commands on.")
    result = {"accuracy": accuracies, "files": paths if options.write is not None else {}}
    return session.finish(result, _summary(target, accuracies), lines)


def _accuracies(target: Any, model: Any) -> dict[str, float]:
    import numpy as np

    said = {
        **target.votes,
        "soft vote of the three": np.mean(list(target.votes.values()), axis=0),
        f"BC3E: votes + {target.clusters.shape[1]} clusterings": model.probabilities_,
    }
    return {name: float(np.mean(p.argmax(axis=1) == target.truth)) for name, p in said.items()}


def _summary(target: Any, accuracies: dict[str, float]) -> Any:
    from bc3e.summary import Section, Summary

    before = {name: f"{share:.1%}" for name, share in target.source_accuracy.items()}
    rows = tuple((name, before.get(name, ""), f"{share:.1%}") for name, share in accuracies.items())
    title = "Digits after a knock to the camera: accuracy without a single new label"
    return Summary((Section(title, ("", "before the drift", "on the drifted target"), rows),))


def _tables(target: Any) -> dict[str, Any]:
    """Training images, drifted images, and votes with clusterings, as tables."""
    import numpy as np
    import pyarrow as pa
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from bc3e.experiments.demo import drifted

    images, labels = load_digits(return_X_y=True)
    source, moved, y, _ = train_test_split(
        images, labels, test_size=0.5, stratify=labels, random_state=0
    )
    moved = drifted(moved, np.random.default_rng(0))
    ids = [f"digit-{i}" for i in range(1, len(moved) + 1)]
    pixels = [f"pixel_{i}" for i in range(images.shape[1])]
    short = {"random forest": "forest", "linear discriminant": "lda", "logistic regression": "logit"}
    votes = {
        f"{short[name]}:{digit}": np.round(said[:, digit], 6)
        for name, said in target.votes.items()
        for digit in range(10)
    }
    clusters = {f"k{column.max() + 1}": column for column in target.clusters.T}
    truth = target.truth
    return {
        "train": pa.table({"y": y, **dict(zip(pixels, source.T, strict=True))}),
        "target": pa.table(
            {"id": ids, "y": truth, **dict(zip(pixels, np.round(moved, 3).T, strict=True))}
        ),
        "labels": pa.table({"id": ids, **votes, **clusters, "y": truth}),
    }
