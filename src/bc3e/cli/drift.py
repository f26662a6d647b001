"""``bc3e drift``: what changed between a training table and a target."""

from __future__ import annotations

from bc3e.cli.adapt import FIGURES, VERDICTS, answers, report, told_figures, train_and_adapt, verdicts
from bc3e.cli.options import FailOn, Model, Reading, Reports, Training
from bc3e.cli.session import Session
from bc3e.cli.thresholds import read_thresholds

GROUPS = (Training, Reports, Model, Reading, FailOn)
EXAMPLES = """
[bold]Examples[/bold]

bc3e drift --train train.csv --target target.csv --label y

bc3e drift --train train.csv --target target.csv --label y --fail-on drift --quiet

bc3e drift --train train.csv --target target.csv --label y --fail-on new-class,changed>20% --json
"""


def run(
    session: Session,
    training: Training,
    reports: Reports,
    options: Model,
    reading: Reading,
    fail_on: FailOn,
) -> int:
    """Tell whether a target has drifted from the training data, and how.

    Trains the ensemble of bc3e adapt and compares how it speaks about training
    data it has not seen and about the target. The verdict is no drift, drift,
    or drift with possible new class.
    """
    thresholds = read_thresholds(fail_on.fail_on, FIGURES, VERDICTS)
    session.plan([training.train, training.target])
    if reports.report or reports.report_json:
        from bc3e.cli.reporting import check_reports

        check_reports(reports)
    data, model = train_and_adapt(session, training, options, reading, None)
    report(session, reports, training, data, model)
    told = told_figures(answers(model), data, model)
    found = model.drift_
    figures = told | verdicts(model)
    return session.finish(found.to_dict(), found.summary(), [found.sentence()], thresholds, figures)
