"""How much the clusterings may say, decided without a label.

Only clusterings that predict the votes significantly are heard, and only if their clusters explain
half of what the classifiers have in common (:mod:`bc3e.screening`): clusters that mix what classifiers
keep apart are no judge of them. Clusterings are judged one by one, unless they err apart from each
other: then by what they say together. Those heard count a quarter of a label in all beside a single
classifier, and beside several a quarter over their number: enough to settle what the votes leave nearly
open, and only between two labels that equally many classifiers choose
(:func:`bc3e.agreement.kept_labels`). If classifiers say themselves that they cannot tell the classes,
or choose some much more often than others, clusters count no more, unless drift has surprised the
classifiers: profiles of rare classes are made of errors. Where there are only two and they agree so
little, one of them may just be bad, and clusters count nothing. Else, to count more, clusters have to
leave so little of what classifiers have in common that differences inside them are mostly noise; they
never count more than that noise warrants. One label they may have with witnesses: a classifier is
hidden, the others are refined with clusterings that count two, and each label that this changes is put
to the hidden classifier: does it side with the new label or with the old one? One label is allowed if
the new labels win this vote clearly, also among those that overturn a majority of the other
classifiers, and there whoever is left out of the count: one witness is none. Classifiers that share
errors side with the old label too often, so the rule errs on the side of leaving the votes alone. A
single classifier has nobody to be compared with: its clusterings count the quarter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bc3e.agreement import (
    COMPANY,
    agreement_rate,
    independent_witnesses,
    leading_class,
    outvoted,
    times_chosen,
    usual_confidence,
    winners,
)
from bc3e.ballots import counted
from bc3e.labels import LabelTable
from bc3e.model.evidence import FloatArray
from bc3e.model.rows import weighed_sum
from bc3e.objects import Objects
from bc3e.screening import NOTHING, Screening, screenings

CAUTIOUS = 0.25  # evidence of all clusterings together, in labels, beside a single classifier, where
# nothing supports more; beside several it is divided by their number, as a vote of each is
STEPS = (2.0, 1.75, 1.5, 1.25, 1.0)  # labels where clusters leave little: less than the votes, which
# count three, unless clusterings err apart from each other: then one label each
WITNESSED = 1.0  # labels where witnesses support what more labels change
ASKED = 2.0  # labels whose changes they are asked about
UNOPPOSED = 3.0  # where nobody votes
SAMPLE = 10_000  # objects that the choice looks at
LEAD = 0.1  # how far the new labels must be ahead, as a share of the votes of the witnesses
MISTAKEN = 0.01  # chance that any of several worthless clusterings is heard
UNEXPLAINED = 0.5  # share of what classifiers have in common that clusters may leave, to count at all
ALIKE = 0.05  # correlation of their errors up to which clusterings err apart from each other
REST = 0.5  # what those may leave together, as a share of what each leaves
WITHOUT = 0.5  # like UNEXPLAINED, to count one label without a witness, with very many classes
WITH_TWO = 0.125  # and with two classes, of what any two classifiers have in common
ERRORS = 1.0  # standard errors by which the latter two must hold
ACCORD = 3.0  # standard errors by which two classifiers agree beyond chance that know something
SURE = 0.5  # confidence below which classifiers say themselves that they cannot tell the classes
EVEN = 0.5  # share of the classes that as many equally frequent ones would be, for these to be alike
SURPRISE = 0.55  # of what they are sure of, what classifiers agree on that drift has surprised


Refine = Callable[[Objects, float], NDArray[np.intp]]


def significant(count: int) -> float:
    """Standard errors by which one of `count` clusterings must beat the plain frequencies."""
    return float(-ndtri(MISTAKEN / max(count, 1)))


def shared_weights(total: float, heard: NDArray[np.bool_]) -> FloatArray:
    """Equal shares of the total evidence for the clusterings that are heard, at most one label each."""
    return np.where(heard, share_of_one(total, int(heard.sum())), 0.0)


def share_of_one(total: float, count: int) -> float:
    """What one of `count` clusterings gets of the total evidence: an equal share, at most one label."""
    return min(1.0, total / max(count, 1))


def choose_total(
    objects: Objects,
    refine: Refine,
    hear: Callable[[Objects], NDArray[np.bool_]],
    seed: int,
    vote_weight: float | None = None,
) -> float:
    """Evidence that the clusterings get together, in labels: 0, a little, or more if there is reason to.

    Parameters
    ----------
    objects : Objects
        With votes and clusterings.
    refine : callable
        Refined labels of objects, at a total of evidence.
    hear : callable
        For objects: which clusterings are heard.
    seed : int
        Seed of the sample that is used of a large table.
    vote_weight : float, optional
        Labels that all votes of an object count; by default each vote counts one.
    """
    little = cautious_total(objects.table)
    if len(objects.table.votes) < 2:  # nobody to compare with
        return little
    objects = objects.sample(SAMPLE, seed)
    seen = screenings(objects, hear(objects))
    each, together = seen.each, seen.together
    if each is None or together is None:
        return little
    apart = seen.apart(ALIKE, REST)
    found = together if apart else each
    surprise = surprised(objects)
    torn = surprise and voting(objects) < COMPANY  # by drift, or is one of the two just bad?
    if torn or not found.leaves(UNEXPLAINED):
        silent = (winners(objects.table) < 0).all(axis=1) & (objects.weights > 0)
        return little if silent.any() else 0.0  # who has no vote has nothing but clusters
    if not surprise and profiles_of_errors(objects):
        return little
    votes = found.votes if vote_weight is None else vote_weight
    total = unwitnessed_total(found, votes, seen.different if apart else 0)
    if total < WITNESSED and (each.warrants(ASKED, votes) or together.warrants(ASKED, votes)):
        total = max(total, witnessed_total(objects, refine))
    return max(total, little)


def cautious_total(table: LabelTable) -> float:
    """Evidence of the clusterings where nothing supports more: little beside one classifier's vote."""
    return CAUTIOUS / max(len(table.votes), 1)


def voting(objects: Objects) -> int:
    """Classifiers that more than a trace of the votes is from."""
    cast = weighed_sum(objects.weights / objects.unit, (winners(objects.table) >= 0).astype(np.float64))
    return int(np.count_nonzero(counted(cast)))


def surprised(objects: Objects) -> bool:
    """Whether classifiers agree far less often than they are sure, as drift makes them.

    Where all votes are hard nobody tells how sure he is.
    """
    table, weights = objects.table, objects.weights
    confidence, rate = usual_confidence(table, weights), agreement_rate(table, weights)
    return confidence is not None and rate is not None and rate < SURPRISE * confidence


def profiles_of_errors(objects: Objects) -> bool:
    """Whether votes make profiles of errors: of classes that they cannot tell, or that are rare.

    Where features do not tell the classes, trained classifiers know it, and clusters of the same
    features cannot tell more. Where some classes are chosen far more often than others, votes for rare
    ones are mostly errors; profiles are those of classes, whatever their frequency, and draw
    more objects there. Drift is another matter: it makes votes wrong about classes and frequencies, so
    this is for classifiers that it has not :func:`surprised`. Where all votes are hard
    only the frequencies are asked. Two classes are never so unequal, and nobody is less than half sure
    of one of them.
    """
    table, weights = objects.table, objects.weights
    confidence = usual_confidence(table, weights)
    if confidence is not None and confidence < SURE:
        return True
    chosen = weighed_sum(weights / objects.unit, times_chosen(table))
    even = chosen.sum() ** 2 / max(np.sum(chosen**2), NOTHING)  # so many equally frequent classes
    return bool(even < EVEN * np.count_nonzero(counted(chosen)))


def unwitnessed_total(found: Screening, vote_weight: float, apart: int = 0) -> float:
    """Evidence that needs no witness, as clusters leave little but noise; 0 if they leave more.

    They count as many labels as they are worth, from 1 to 2, and the more the less they leave: two if
    that is half of what they may leave to count one. Several clusterings that err `apart` from each
    other, as the model assumes them to do, may count one each.
    """
    left = may_be_left(found)
    if left <= 0.0 or not found.leaves(left, ERRORS):
        return 0.0
    for each in range(apart, int(STEPS[0]), -1):
        if found.warrants(each, vote_weight, ERRORS):
            return float(each)
    for total in STEPS:
        if found.leaves(left / total, ERRORS) and found.warrants(total, vote_weight, ERRORS):
            return total
    return 0.0


def may_be_left(found: Screening) -> float:
    """Share of what classifiers have in common that clusters may leave, to count one label unwitnessed.

    Inside clusters that stand for what classifiers see, the class that most votes are for is the right
    one if each wrong class gets fewer. With many classes errors spread over all of them, and the right
    one leads even where most votes are wrong: what may be left falls with the number of classes. With
    two, all errors are for the same class, and two classifiers that err alike everywhere, such as two
    lines drawn through a ring, look like two that know. So little may be left, of what any two of the
    classifiers have in common, and any two must have something.
    """
    if found.classes > 2:
        return WITHOUT * (1.0 - 2.0 / found.classes)
    known = found.classes == 2 and found.accord > ACCORD and found.worst < WITH_TWO
    return WITH_TWO if known else 0.0


def witnessed_total(objects: Objects, refine: Refine) -> float:
    """One label, if hidden classifiers support what two labels change; else 0."""
    return WITNESSED if support(Witnesses(objects, refine).sides()) > 0.0 else 0.0


class Witnesses:
    """The classifiers that are hidden in turn, and what the others say without them."""

    def __init__(self, objects: Objects, refine: Refine) -> None:
        self.objects, self.refine = objects, refine
        self.mass = objects.weights / objects.unit
        self.chosen = winners(objects.table)
        self.hidden = independent_witnesses(self.chosen, objects.counts)

    def sides(self) -> FloatArray:
        """Votes of each for new and for old labels; see :func:`support`."""
        sides = np.zeros((len(self.hidden), 2, 2))
        for place, hidden in enumerate(self.hidden):
            new, old = sides[:, :, 0].sum(axis=0)  # where a majority is overturned
            if hidden == self.hidden[-1] and new <= old:
                break  # its word cannot help: there all the others must lead
            sides[place] = self._sides_of(hidden)
        return sides

    def _sides_of(self, hidden: int) -> FloatArray:
        others = self.objects.without_vote(hidden)
        before, after = leading_class(others.table.soft_vote()), self.refine(others, ASKED)
        against = outvoted(times_chosen(others.table), before, after)
        return _sides(
            others.expand(before), others.expand(after), others.expand(against),
            self.chosen[:, hidden], self.mass,
        )  # fmt: skip


def support(sides: FloatArray) -> float:
    """By how much the witnesses support the new labels, in votes beyond what is asked for.

    New labels must lead by a standard error and by a tenth of the votes cast:
    with one classifier hidden the others are weaker than all of them together,
    and what helps them may not help all. Where the others contradict each other
    it takes little to be right, so the lead must also hold among the changes
    that overturn a majority of them, and there it must not hang on one witness:
    without any one of them the others still lead. One witness is none: of three
    classifiers two may say the same and be wrong together, and then the third one's word on the few
    labels that leave the two undecided says nothing about the many it is outvoted on. Nor may two that
    say the same outshout the others: more witnesses must lead for the new labels than for the old.

    Parameters
    ----------
    sides : (witnesses, 2, 2) array
        Votes of each for the new and for the old label, where the new one
        overturns a majority of the other classifiers and where it does not.
    """

    def lead(new: float, old: float) -> float:
        return float(new - old - LEAD * (new + old) - np.sqrt(new + old + 1.0))

    together, overturning = sides.sum(axis=(0, 2)), sides[:, :, 0].sum(axis=0)
    rest = overturning - sides[:, :, 0]  # without each of the witnesses
    new, old = sides.sum(axis=2).T
    if (rest[:, 0] <= rest[:, 1]).any() or np.sign(new - old).sum() <= 0.0:
        return -np.inf
    return min(lead(*together), lead(*overturning))


def _sides(
    before: NDArray[np.intp],
    after: NDArray[np.intp],
    against: NDArray[np.bool_],
    witness: NDArray[np.intp],
    mass: FloatArray,
) -> FloatArray:
    """The witness's votes for new and for old labels, where the new ones overturn a majority or not."""
    found = np.empty((2, 2))
    for side, label in enumerate((after, before)):
        cast = (before != after) & (witness == label)
        found[side] = mass[cast & against].sum(), mass[cast & ~against].sum()
    return found
