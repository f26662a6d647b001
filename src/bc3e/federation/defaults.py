"""What the default settings of BC3E need to know of all sites, and how it is asked for.

Everything here is a sum over objects or over sites, which the protocol can mask:

- How often two classifiers agree: per object, from the number of classifiers that choose each
  class, sum_i C(n_i, 2) of C(n, 2) pairs.
- The powers that make votes and answers as confident as they should be: the mean confidence at a
  trial power is a sum over objects, asked for a dozen times.
- Strength and significance of a clustering: leave-one-out gains, sums over its objects.
- The weight of each clustering: a given total shared by the columns that are significant.
- Which labels equally many classifiers choose: again the number that choose each class.
- How often the votes choose each class: a sum over objects, where the clusters speak for themselves.

Two things are no sums. How much the clusterings may say in total is found, centrally, by hiding one
classifier after the other, and how much each classifier counts by comparing it with all the
others; a total with and without one classifier shows that classifier. So the sites give these
numbers themselves: `total_evidence` and `classifier_weights`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bc3e.errors import InputError
from bc3e.model.calibration import solve_exponent
from bc3e.model.evidence import FloatArray
from bc3e.model.parameters import MeanRule, Parameters, Rules, VarianceRule
from bc3e.selection import CAUTIOUS, share_of_one

# Sites follow settings and need no estimator: what only it needs is loaded when it is used.
if TYPE_CHECKING:
    from bc3e.estimator import BC3E

# Sums over all objects: "agreement", "classes", or confidences of "votes" or "answer" at a power.
Ask = Callable[[str, float], FloatArray]


@dataclass(frozen=True)
class Settings:
    """What all roles must know of the model; see :class:`bc3e.BC3E` for the meaning."""

    n_classes: int
    structured: bool
    vote_weight: float | None
    calibrated: bool
    classifier_weights: dict[str, float]  # 1 for a classifier that is not named
    evidence_weight: float | None  # None: shared by the informative columns
    total_evidence: float
    profile_prior: float | None  # None: no prior
    learned_prior: bool
    max_iter: int
    tol: float

    @property
    def weighted(self) -> bool:
        """Whether some classifier counts more than another."""
        return any(weight != 1.0 for weight in self.classifier_weights.values())

    @property
    def guarded(self) -> bool:
        """Whether labels move only between equally chosen classes, as without the word of a witness."""
        asked = self.evidence_weight is None and 0.0 < self.total_evidence <= CAUTIOUS
        return self.calibrated and asked and not self.weighted

    @property
    def needs_gains(self) -> bool:
        """Whether the clusterings are put to the test before the first iteration."""
        return self.learned_prior or self.evidence_weight is None

    def to_json(self) -> str:
        return json.dumps(self.__dict__, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        return cls(**json.loads(text))


def settings_of(
    model: BC3E,
    n_classes: int,
    total_evidence: float,
    classifier_weights: Mapping[str, float] | None = None,
) -> Settings:
    """The settings of an estimator, as far as sites can follow them."""
    from bc3e.settings import check_constructor

    check_constructor(model)
    if model.init not in ("votes", ["votes"], ("votes",)):
        raise InputError(
            "init", f"{model.init!r}", "Sites start from the votes: other starts need the whole table."
        )
    if model.callback is not None:
        raise InputError("callback", "a callback", "Read result.lower_bounds after the run instead.")
    if not isinstance(model.evidence_weight, str) and np.ndim(model.evidence_weight):
        raise InputError(
            "evidence_weight", "one weight per clustering", "Pass one number for all, or 'auto'."
        )
    if not 0.0 <= float(total_evidence) <= 1e6:
        raise InputError("total_evidence", f"{total_evidence!r}", "Pass a number of labels, 0 or more.")
    counted = {} if classifier_weights is None else dict(classifier_weights)
    for name, weight in counted.items():
        if not 0.0 < float(weight) <= 1e6:
            raise InputError(
                "classifier_weights",
                f"{weight!r}",
                "Pass positive numbers.",
                place=f"classifier {name!r}",
            )
    shared = isinstance(model.evidence_weight, str)
    learned = isinstance(model.profile_prior, str)
    given: Any = model.evidence_weight
    prior: Any = model.profile_prior
    return Settings(
        n_classes=n_classes,
        structured=model.posterior == "structured",
        vote_weight=None if model.vote_weight is None else float(model.vote_weight),
        calibrated=model.vote_calibration is not None,
        classifier_weights={name: float(weight) for name, weight in counted.items()},
        evidence_weight=None if shared else float(given),
        total_evidence=float(total_evidence),
        profile_prior=None if learned or prior is None else float(prior),
        learned_prior=learned,
        max_iter=int(model.max_iter),
        tol=float(model.tol),
    )


def ballot_names(settings: Settings) -> list[str]:
    """Which tables a site sends of its votes."""
    names = ["ballots"]
    if settings.calibrated:
        names.append("winners")
        if settings.weighted:  # the answer is blended with the votes as they were given
            names.append("given")
    return names


def rules_of(model: BC3E, k: int) -> Rules:
    """Rules of the server's parameters; profiles live with the auxiliary clients."""
    from bc3e.settings import mean_rule, variance_rule

    return Rules(
        mean_rule(model.class_mean, k),
        variance_rule("class_variance", model.class_variance, k),
        variance_rule("delta2", model.delta2, 1),
        np.empty((0, k)),
    )


def first_parameters(rules: Rules) -> Parameters:
    """Where the server begins: what is given, and 1 for variances to be learned."""
    k = len(rules.class_mean.mean)
    return Parameters(
        rules.class_mean.mean,
        np.ones(k) if rules.class_variance.fixed is None else rules.class_variance.fixed,
        1.0 if rules.delta2.fixed is None else float(rules.delta2.fixed[0]),
        np.empty((0, k)),
    )


def rules_to_json(rules: Rules) -> str:
    """Rules as text, for the server's own process."""

    def variance(rule: VarianceRule) -> dict[str, Any]:
        return {
            "fixed": None if rule.fixed is None else rule.fixed.tolist(),
            "shape": rule.shape,
            "scale": rule.scale,
        }

    return json.dumps(
        {
            "mean": [rules.class_mean.mean.tolist(), rules.class_mean.precision],
            "variance": variance(rules.class_variance),
            "delta2": variance(rules.delta2),
        }
    )


def rules_from_json(text: str) -> Rules:
    """What :func:`rules_to_json` wrote."""
    found = json.loads(text)

    def variance(given: dict[str, Any]) -> VarianceRule:
        fixed = None if given["fixed"] is None else np.array(given["fixed"])
        return VarianceRule(fixed, given["shape"], given["scale"])

    mean = MeanRule(np.array(found["mean"][0]), found["mean"][1])
    k = len(mean.mean)
    return Rules(mean, variance(found["variance"]), variance(found["delta2"]), np.empty((0, k)))


def vote_exponent(ask: Ask, settings: Settings, about: str = "votes") -> tuple[float, float]:
    """Power that makes the votes as confident as the classifiers agree, and what they were before.

    The power is 1 if nothing is known of the agreement. `about` is "votes", or
    "given" for the votes as if every classifier counted alike.
    """
    if not settings.calibrated:
        return 1.0, 0.0
    strength, mass = ask(about, 1.0)
    confidence = float(strength / mass) if mass > 0 else 0.0
    same, both = ask("agreement", 1.0)
    return 1.0 if both <= 0 else _exponent(ask, about, float(same / both)), confidence


def answer_exponent(ask: Ask, settings: Settings, before: float, guarded: bool) -> float:
    """Power that makes the answers half as changed in confidence as the votes were, or as they came.

    `before` is the mean confidence of the votes as they came; a `guarded` answer has that.
    """
    if not settings.calibrated:
        return 1.0
    strength, mass = ask("votes", 1.0)
    if mass <= 0:
        return 1.0
    return _exponent(ask, "answer", before if guarded else (before + float(strength / mass)) / 2)


def _exponent(ask: Ask, about: str, confidence: float) -> float:
    def mean_confidence(exponent: float) -> float:
        strength, mass = ask(about, exponent)
        return float(strength / mass) if mass > 0 else 0.0

    if ask(about, 1.0)[1] <= 0:
        return 1.0
    return solve_exponent(mean_confidence, confidence)


def evidence_weight(settings: Settings, informative: float) -> float:
    """How much a label counts that counts at all."""
    if settings.evidence_weight is not None:
        return settings.evidence_weight
    return share_of_one(settings.total_evidence, round(informative))
