"""What a run gives back: to each site its own objects, to everybody the parameters and the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.errors import InputError
from bc3e.federation.ledger import Entry, Ledger
from bc3e.federation.messages import Message
from bc3e.federation.planning import Plan
from bc3e.federation.server import Learned
from bc3e.federation.sites import Answers
from bc3e.model.evidence import FloatArray


@dataclass(frozen=True)
class Outcome:
    """What a transport brings back from a run."""

    learned: Learned
    answers: Mapping[str, FloatArray]
    entries: Sequence[Entry]
    transcript: Sequence[Message] = ()
    masking_seconds: float = 0.0


@dataclass(frozen=True)
class SiteResult:
    """Answers for the objects of one site, in the order of its rows.

    Attributes
    ----------
    site : str
    values : (N, k) array
        Class probabilities; :attr:`probabilities` has them in the site's data frame library.
    """

    site: str
    values: FloatArray
    _answers: Answers = field(repr=False)

    @property
    def probabilities(self) -> Any:
        """Class probabilities, (N, k)."""
        return self._answers.table(self.values)

    @property
    def labels(self) -> Any:
        """Most probable class of each object."""
        return self._answers.labels(np.argmax(self.values, axis=1))

    @property
    def ids(self) -> list[Any]:
        """Object ids."""
        return list(self._answers.ids)


@dataclass(frozen=True)
class Result:
    """Outcome of :func:`bc3e.federation.fit`.

    Attributes
    ----------
    plan : Plan
    ledger : Ledger
        Every message of the run.
    classes : list
        The class list.
    lower_bounds : (n_iter,) array
        The bound at each iteration; it never falls.
    lower_bound : float
        The bound at the returned posterior.
    n_iter, converged
        Iterations, and whether `tol` was reached.
    class_mean, class_variance, delta2
        Parameters that the server learned.
    evidence_weight : float
        How much a cluster label counts that counts at all.
    vote_exponent, answer_exponent : float
        Powers of the calibration.
    transcript : tuple of Message
        Every message that was let in, if the run was recorded.
    hashes : mapping from sites to (N,) arrays
        Hashed ids of each site's rows, if the run was recorded: the audit holds guesses against labels
        by them. No role has those of all sites beside their rows.
    """

    plan: Plan
    ledger: Ledger
    classes: list[Any]
    lower_bounds: FloatArray
    lower_bound: float
    n_iter: int
    converged: bool
    class_mean: FloatArray
    class_variance: FloatArray
    delta2: float
    evidence_weight: float
    vote_exponent: float
    answer_exponent: float
    sites: Mapping[str, SiteResult] = field(repr=False)
    transcript: tuple[Message, ...] = field(repr=False, default=())
    masking_seconds: float = field(repr=False, default=0.0)
    hashes: Mapping[str, NDArray[np.bytes_]] = field(repr=False, default_factory=dict)

    @classmethod
    def of(
        cls,
        plan: Plan,
        ledger: Ledger,
        learned: Learned,
        sites: Mapping[str, SiteResult],
        classes: list[Any],
        **more: Any,
    ) -> Result:
        fit = learned.fit
        return cls(
            plan, ledger, classes, np.array(fit.lower_bounds), learned.bound, len(fit.lower_bounds),
            fit.converged, fit.parameters.class_mean, fit.parameters.class_variance,
            fit.parameters.delta2, learned.evidence_weight, learned.vote_exponent,
            learned.answer_exponent, sites, **more,
        )  # fmt: skip

    def for_site(self, name: str) -> SiteResult:
        """Answers for the objects of one site: what that site gets, and nobody else."""
        if name not in self.sites:
            known = ", ".join(repr(site) for site in self.sites)
            raise InputError("name", f"no site {name!r}", f"The sites are {known}.")
        return self.sites[name]
