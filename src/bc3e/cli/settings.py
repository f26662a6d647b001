"""The options of the refinement as an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bc3e.cli.errors import fault
from bc3e.cli.options import Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from bc3e.estimator import BC3E

NOT_OF_THE_PAPER = ("calibration", "delta2", "evidence_weight", "vote_weight", "posterior", "max_iter")


def build_model(
    options: Model, given: frozenset[str], classes: Any, callback: Callable[[Any], None] | None
) -> BC3E:
    """A BC3E with the options; with ``--published``, only those that were given."""
    from bc3e.estimator import BC3E

    settings = model_settings(options)
    if options.published:
        renamed = {"vote_calibration": "calibration"}
        settings = {
            name: value
            for name, value in settings.items()
            if renamed.get(name, name) in given or renamed.get(name, name) not in NOT_OF_THE_PAPER
        }
    make = BC3E.as_published if options.published else BC3E
    model = make(
        classes=classes, random_state=options.seed, n_jobs=options.jobs, callback=callback, **settings
    )
    model._check_parameters()
    return model


def model_settings(options: Model) -> dict[str, Any]:
    """Arguments of BC3E."""
    if not 0 <= options.seed < 2**32:
        raise fault(
            "--seed", f"{options.seed} is out of range", "Pass a whole number from 0 to 2**32-1."
        )
    weights = options.evidence_weight
    several = [_number("--evidence-weight", part, ("auto",)) for part in weights.split(",")]
    starts = tuple(part.strip() for part in options.init.split(","))
    return {
        "delta2": _number("--delta2", options.delta2, ("learn",)),
        "evidence_weight": several[0] if len(several) == 1 else several,
        "vote_weight": _number("--vote-weight", options.vote_weight, ("none",)),
        "vote_calibration": "agreement" if options.calibration else None,
        "posterior": options.posterior,
        "init": starts[0] if len(starts) == 1 else starts,
        "max_iter": options.max_iter,
        "tol": options.tol,
    }


def _number(option: str, text: str, words: tuple[str, ...]) -> Any:
    """A number or one of the words; "none" is None."""
    word = text.strip().lower()
    if word in words:
        return None if word == "none" else word
    try:
        return float(word)
    except ValueError:
        raise fault(
            option, f"{text!r} is neither a number nor {' or '.join(words)}", "Pass one of them."
        ) from None
