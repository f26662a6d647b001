"""Learning from objects that are blocks of a Spark frame: the same questions, asked of the blocks."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.interpolate import BarycentricInterpolator

from bc3e.agreement import (
    COMPANY,
    agreeing_pairs,
    choices_in_company,
    class_votes,
    weights_in_company,
)
from bc3e.engines.spark.blocks import Blocks
from bc3e.engines.spark.placement import ONE, SparkPlacement, View
from bc3e.errors import InputError
from bc3e.inquiry import Inquiry
from bc3e.model.calibration import EXPONENTS, confidence_sums, mean_of, solve_exponent
from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State
from bc3e.model.parameters import Parameters, Rules
from bc3e.model.schedule import PASSING, Fit, Progress, alternate, settle
from bc3e.model.shrinkage import Shrinkage, choose_strengths, prediction_gains
from bc3e.model.starts import cluster_counts, vote_responsibilities
from bc3e.objects import Objects, drawn_rows

WIDE, CLOSE = 32, 8  # powers that are asked about at a time
REACH = 0.01  # in logarithms of powers


@dataclass(frozen=True)
class SparkObjects(Objects):
    """Objects that are blocks of a Spark frame; the table here has no rows."""

    blocks: Blocks

    @classmethod
    def in_blocks(cls, blocks: Blocks) -> SparkObjects:
        return cls(blocks.shell, np.empty(0), np.empty(0), None, blocks)

    @property
    def n_objects(self) -> int:
        return self.blocks.n_objects

    @property
    def unit(self) -> float:
        return 1.0

    def sample(self, size: int, seed: int) -> Objects:
        """That many objects, brought to this machine: the rows that a fit on one machine would draw.

        That is so if every object is its own pattern, as with soft labels.
        """
        rows = np.arange(self.n_objects)
        if self.n_objects > size:
            rows = drawn_rows(np.ones(self.n_objects), size, seed)[0]
        return Objects.of(self.blocks.take(rows))


class SparkInquiry(Inquiry):
    """Questions to :class:`SparkObjects`."""

    def __init__(self, structured: bool, blocks: Blocks) -> None:
        super().__init__(structured, ONE)
        self.blocks = blocks
        self.placement: SparkPlacement | None = None  # the one that has settled
        self._known: dict[Hashable, FloatArray] = {}

    def classifier_weights(self, objects: Objects) -> FloatArray:
        if len(objects.table.votes) < COMPANY:
            return np.ones(len(objects.table.votes))
        asked = partial(self.blocks.ask, lambda part: choices_in_company(part.table, part.weights))
        return weights_in_company(self._once("company", asked))

    def agreement_rate(self, objects: Objects) -> float | None:
        asked = partial(self.blocks.ask, lambda part: agreeing_pairs(part.table, part.weights))
        same, both = self._once("agreement", asked)
        return float(same / both) if both > 0 else None

    def class_votes(self, objects: Objects) -> FloatArray:
        return self.blocks.ask(lambda part: class_votes(part.table, part.weights))

    def evidence(self, objects: Objects, counted: FloatArray, vote_weight: float | None) -> Evidence:
        table, layout = objects.table, objects.table.layout
        return View(
            ballots=np.empty((0, len(table.classes))),
            labels=np.empty((0, len(layout.hard_columns)), dtype=layout.label_type),
            memberships=(),
            weights=np.empty(0),
            evidence_weights=np.ones(len(table.clusters)),
            layout=layout,
            counted=counted,
            vote_weight=vote_weight,
        )

    def voted(self, evidence: Evidence) -> bool:
        return bool(self._confidences(evidence, np.ones(1))[0, 1] > 0)

    def confidence(self, evidence: Evidence) -> float:
        return mean_of(self._confidences(evidence, np.ones(1))[0], evidence.n_classes)

    def exponent(self, evidence: Evidence, confidence: float) -> float:
        return solved(lambda powers: self._confidences(evidence, powers), evidence.n_classes, confidence)

    def tempered(self, evidence: Evidence, exponent: float) -> Evidence:
        return replace(_view(evidence), exponent=exponent)

    def vote_counts(self, evidence: Evidence) -> FloatArray:
        view = _view(evidence)

        def count(part: Objects) -> FloatArray:
            own = view.of(part)
            return cluster_counts(own, vote_responsibilities(own.votes))

        return self.blocks.ask(count)

    def shrinkage(self, evidence: Evidence, counts: FloatArray, unit: float) -> Shrinkage:
        if evidence.layout.n_clusterings == 0:
            return Shrinkage(np.empty(0), np.empty(0))
        view = _view(evidence)

        def gains(part: Objects) -> FloatArray:
            own = view.of(part)
            return prediction_gains(own, vote_responsibilities(own.votes), counts, unit, ONE)

        return choose_strengths(self.blocks.ask(gains), self.blocks.n_objects / unit)

    def diffused_counts(self, evidence: Evidence) -> FloatArray:
        raise unreachable_start("'diffusion'")

    def random_counts(
        self, evidence: Evidence, draws: np.random.Generator, unit: float | None
    ) -> tuple[FloatArray, Shrinkage | None]:
        raise unreachable_start("'random', which every fit without votes needs,")

    def climb(
        self,
        evidence: Evidence,
        start: Parameters,
        rules: Rules,
        *,
        max_iter: int,
        tol: float,
        name: str,
        observe: Callable[[Progress], bool],
        passing: float = PASSING,
    ) -> Fit:
        placement = SparkPlacement(self.blocks, _view(evidence), self.structured)
        beginning = Fit(start, (), (), False, name)
        try:
            return alternate(
                placement, beginning, rules, max_iter=max_iter, tol=tol, observe=observe, passing=passing
            )
        finally:
            placement.release()

    def settle(self, evidence: Evidence, parameters: Parameters, settled: float) -> tuple[State, float]:
        self.placement = SparkPlacement(self.blocks, _view(evidence), self.structured)
        bound = settle(self.placement, parameters, settled)
        return no_state(evidence.n_classes), bound

    def release(self) -> None:
        """Let Spark forget blocks and posteriors."""
        if self.placement is not None:
            self.placement.release()
        self.blocks.release()

    def _confidences(self, evidence: Evidence, powers: FloatArray) -> FloatArray:
        """Sums of :func:`bc3e.model.calibration.confidence_sums` at some powers, (powers, 2)."""
        view = _view(evidence)

        def confidences(part: Objects) -> FloatArray:
            own = view.of(part)
            mass = own.ballot_weights()
            return np.array([confidence_sums(own.ballots, mass, power) for power in powers])

        return self._once(
            f"confidences {view.counted} {view.exponent!r} {powers}",
            lambda: self.blocks.ask(confidences),
        )

    def _once(self, what: Hashable, ask: Callable[[], FloatArray]) -> FloatArray:
        """Ask if it was not asked before: a question is a job, and studies share some of them."""
        if what not in self._known:
            self._known[what] = ask()
        return self._known[what]


def no_state(k: int) -> State:
    """Posteriors of no object."""
    nothing = np.empty((0, k))
    return State(nothing, nothing, nothing, nothing, np.empty(0))


def solved(sums_at: Callable[[FloatArray], FloatArray], k: int, confidence: float) -> float:
    """The power at which a mean confidence is `confidence`; 1 if nobody voted.

    Every question to the blocks is a job of Spark's, so instead of one power after the
    other many are asked about at a time: first over the whole range, then close to where the curve
    through them has its solution. There the curve through eight points is exact to rounding.

    Parameters
    ----------
    sums_at : callable
        :func:`bc3e.model.calibration.confidence_sums` at several powers, (powers, 2).
    k : int
        Number of classes.
    confidence : float
    """
    low, high = (float(np.log(power)) for power in EXPONENTS)
    wide = _curve(sums_at, k, low, high, WIDE)
    if wide is None:
        return 1.0
    near = float(np.log(solve_exponent(wide, confidence)))
    if near in (low, high):
        return float(np.exp(near))
    close = _curve(sums_at, k, max(low, near - REACH), min(high, near + REACH), CLOSE)
    assert close is not None

    def mean_confidence_at(power: float) -> float:
        return (close if abs(np.log(power) - near) <= REACH else wide)(power)

    return solve_exponent(mean_confidence_at, confidence)


def _curve(
    sums_at: Callable[[FloatArray], FloatArray], k: int, low: float, high: float, points: int
) -> Callable[[float], float] | None:
    """Mean confidence as a function of the power, through Chebyshev points; None without votes."""
    at = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * np.arange(points) / (points - 1))
    at[0], at[-1] = low, high
    sums = sums_at(np.exp(at))
    if sums[0, 1] <= 0:
        return None
    through = BarycentricInterpolator(at, [mean_of(each, k) for each in sums])
    return lambda power: float(through(np.log(power)))


def _view(evidence: Evidence) -> View:
    assert isinstance(evidence, View)
    return evidence


def unreachable_start(start: str) -> InputError:
    """A start of the EM that looks at all objects at once."""
    return InputError(
        "init",
        f"the start {start} needs all objects in one place, and they stay where they are",
        "Use init='votes', or a larger pattern_limit if the labels are hard.",
    )
