"""``bc3e adapt``: train on one table, refine the predictions for another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bc3e.cli.options import FailOn, Model, Reading, Reports, Training, Writing
from bc3e.cli.refine import check_outputs, id_values, result_of, sentences, write_answers
from bc3e.cli.session import Session
from bc3e.cli.thresholds import read_thresholds

if TYPE_CHECKING:
    from bc3e.answers import Refined
    from bc3e.cli.training import TrainingInput

GROUPS = (Training, Writing, Reports, Model, Reading, FailOn)
FIGURES = ("changed", "trust", "confidence", "entropy", "p")
TRUE_FIGURES = ("accuracy", "gain")
VERDICTS = ("drift", "new-class")
EXAMPLES = """
[bold]Examples[/bold]

bc3e adapt --train train.csv --target target.csv --label y --id id -o refined.csv

bc3e adapt --train train.parquet --target target.parquet --label y --drop 'note_*' --report report.html

bc3e adapt --train old.csv --target new.csv --label category --text title -o refined.csv
"""


def run(
    session: Session,
    training: Training,
    writing: Writing,
    reports: Reports,
    options: Model,
    reading: Reading,
    fail_on: FailOn,
) -> int:
    """Train a default ensemble, then refine its predictions on drifted, unlabelled data.

    Numbers and categories: a random forest, a logistic regression and a linear
    discriminant. One column of prose: naive Bayes, a logistic regression and
    nearest neighbours on weighted words. The target is clustered, the
    predictions are refined; the output is that of bc3e refine.
    """
    figures = FIGURES + (TRUE_FIGURES if training.truth is not None else ())
    thresholds = read_thresholds(fail_on.fail_on, figures, VERDICTS)
    check_outputs(session, writing, reports, [training.train, training.target])
    data, model = train_and_adapt(session, training, options, reading, writing.keep)
    refined = answers(model)
    write_answers(session, writing, refined, data.kept)
    report(session, reports, training, data, model)
    told = told_figures(refined, data, model)
    result = result_of(model.consensus_, told, writing.output) | {"drift": model.drift_.to_dict()}
    lines = [
        *sentences(told, len(refined.winners), writing.output, reports.report),
        model.drift_.sentence(),
    ]
    return session.finish(result, model.consensus_.summary(), lines, thresholds, told | verdicts(model))


def train_and_adapt(
    session: Session, training: Training, options: Model, reading: Reading, keep: list[str] | None
) -> tuple[TrainingInput, Any]:
    """Read both tables, train on one, adapt to the other."""
    with session.stage("read", f"Reading {training.train} and {training.target}"):
        from bc3e.cli.training import default_ensemble, load_training

        data = load_training(session, training, reading, keep)
    with session.stage("imports", "Loading"):
        from bc3e.adapt import ConsensusClassifier
        from bc3e.cli.settings import build_model
        from bc3e.ensembles import ClusterEnsemble

        model = ConsensusClassifier(
            default_ensemble(data.is_text, options.seed),
            clusterings=ClusterEnsemble(n_clusterings=training.clusterings),
            consensus=build_model(options, session.given, None, None),
            level=training.level,
            random_state=options.seed,
            n_jobs=options.jobs,
        )
    with session.stage("train", f"Training on {len(data.y):,} objects"):
        model.fit(data.X, data.y)
    model.set_params(verbose=session.shows_progress)
    with session.stage("adapt", f"Adapting to {len(data.X_target):,} objects", live=False):
        model.adapt(data.X_target)
    return data, model


def answers(model: Any) -> Refined:
    """Refined answers and the soft vote of the target."""
    import numpy as np

    from bc3e.answers import Refined

    probabilities = model.probabilities_
    before = np.argmax(probabilities, axis=1)
    before[model.drift_.changed] = model.drift_._before
    return Refined(model.classes_.tolist(), probabilities, before, None)


def report(
    session: Session, reports: Reports, training: Training, data: TrainingInput, model: Any
) -> None:
    """The page, if one was asked for; only then are the classifiers asked once more."""
    from bc3e.cli.reporting import wanted, write_reports

    if not wanted(reports):
        return
    import numpy as np

    from bc3e.classifiers import votes_of

    _, votes = votes_of(model._members, data.X_target, model.classes_.tolist())
    ensemble = model.clusterings_
    truth = None
    if data.truth is not None:
        labels = np.array([*model.classes_.tolist(), None, None], dtype=object)
        truth = labels[data.truth]
    write_reports(
        session,
        reports,
        model,
        {"train": data.train.source, "target": data.target.source},
        votes=votes,
        clusters=dict(zip(ensemble.names_, ensemble.labels_.T, strict=True)),
        ids=id_values(data.kept, training.id),
        truth=truth,
        drift=model.drift_,
    )


def told_figures(refined: Refined, data: TrainingInput, model: Any) -> dict[str, float]:
    """The figures of the refinement, with accuracy if the truth is known."""
    from bc3e.cli.refine import figures_of

    told = figures_of(refined, model.consensus_, None, None)
    if data.truth is not None:
        from bc3e.rivals.truth import accuracy

        told["accuracy"] = accuracy(refined.winners, data.truth)
        told["soft_vote_accuracy"] = accuracy(refined.soft_vote, data.truth)
        told["gain"] = told["accuracy"] - told["soft_vote_accuracy"]
    return told


def verdicts(model: Any) -> dict[str, float | None]:
    """The drift verdict as figures."""
    from bc3e.drift import NEW_CLASS, NO_DRIFT

    drift = model.drift_
    known = drift.p_value is not None
    return {
        "p": drift.p_value,
        "drift": float(drift.verdict != NO_DRIFT) if known else None,
        "new-class": float(drift.verdict == NEW_CLASS) if known else None,
    }
