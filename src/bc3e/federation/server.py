"""The server: class mean, class variance and delta2, and the one who drives the schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bc3e.federation.defaults import answer_exponent, evidence_weight, first_parameters, vote_exponent
from bc3e.federation.messages import Message
from bc3e.federation.planning import SERVER, client
from bc3e.federation.roles import Letter, Role, Run, add_up
from bc3e.model.evidence import FloatArray, Layout
from bc3e.model.parameters import Parameters, Rules
from bc3e.model.schedule import Fit, alternate, settle
from bc3e.model.statistics import Statistics, m_step

NO_PROFILES = Layout((), ())


@dataclass(frozen=True)
class Learned:
    """What the server knows at the end."""

    fit: Fit
    bound: float
    vote_exponent: float
    answer_exponent: float
    evidence_weight: float


class Server(Role):
    """A :class:`bc3e.model.schedule.Placement` whose objects and profiles are elsewhere."""

    row_weights: FloatArray = np.empty(0)

    def __init__(self, run: Run, rules: Rules) -> None:
        super().__init__(SERVER, run)
        self.rules = rules
        self.arrived: dict[tuple[str, str], list[Message]] = {}
        self.fit = Fit(first_parameters(rules), (), (), False, "votes")
        self.exponent, self.weight, self.version, self.iteration = 1.0, 0.0, 0, 0
        self.confidence = 0.0  # of the votes before their calibration
        self._cold = False

    def start(self) -> list[Letter]:
        return []

    def expected(self, message: Message) -> tuple[bool, dict[str, tuple[int, ...]]]:
        if message.kind == "key":
            return False, {"public": (32,), "signature": (64,)}
        block = next(b for b in self.run.plan.blocks if b.address == message.sender)
        return block.private and self.run.policy.reports().masked, {}

    def handle(self, message: Message) -> list[Letter]:
        self.arrived.setdefault((message.kind, message.sender), []).append(message)
        return []

    def drive(
        self,
        send: Callable[[list[Letter]], None],
        wait: Callable[[], None],
        keep: Callable[[], None],
    ) -> Learned:
        """Run the schedule from where this server is.

        Parameters
        ----------
        send : callable
            Posts letters.
        wait : callable
            Returns after at least one more message has come.
        keep : callable
            Saves the state.
        """
        self._send, self._wait, self._save = send, wait, keep
        if self.run.policy.needs_keys:
            self._pass_on_keys()
        if self.finished < 0:
            self._prepare()
            self.finished = 0
            keep()
        fit = alternate(
            self, self.fit, self.rules,
            max_iter=self.run.settings.max_iter, tol=self.run.settings.tol, keep=self._keep,
        )  # fmt: skip
        bound = settle(self, fit.parameters) + self.rules.log_prior(fit.parameters, self.row_weights)
        guarded = self.run.settings.guarded and self.weight > 0
        power = answer_exponent(self._ask, self.run.settings, self.confidence, guarded)
        classes = self._ask("classes", 1.0) if guarded else np.zeros(len(fit.parameters.class_mean))
        shares = classes / classes.sum() if guarded else classes  # all 0: nothing has to be guarded
        self._tell("finish", {"exponent": np.array([power]), "classes": shares})
        self.done = True
        return Learned(fit, bound, self.exponent, power, self.weight)

    def _pass_on_keys(self) -> None:
        sites = self.run.plan.sites
        found = self._gather("key", [client(site) for site in sites])
        keys = [found[client(site)].arrays for site in sites]
        arrays = {name: np.stack([key[name] for key in keys]) for name in ("public", "signature")}
        self._send([Letter("keys", SERVER, client(site), arrays) for site in sites])

    def _prepare(self) -> None:
        """Calibrate the votes, put the clusterings to the test, share out their weight."""
        settings = self.run.settings
        self.exponent, self.confidence = vote_exponent(self._ask, settings)
        self._tell("begin", {"exponent": np.array([self.exponent])})
        informative = self._reports()
        self.weight = evidence_weight(settings, float(np.rint(informative[0])))
        equal = 0.0
        if settings.evidence_weight is None and informative[0] < 0.5:  # no clustering is heard
            self.weight = 0.0
            if settings.weighted and settings.calibrated:
                self.exponent, self.confidence = vote_exponent(self._ask, settings, "given")
                equal = self.exponent
        self._tell("weights", {"weight": np.array([self.weight]), "equal": np.array([equal])})
        self._reports()

    def _ask(self, about: str, exponent: float) -> FloatArray:
        self._tell("question", {"exponent": np.array([exponent])}, {"about": about})
        return self._reports()

    # The placement: everything happens elsewhere.

    def begin(self, parameters: Parameters) -> None:
        self._cold = True

    def e_step(self, parameters: Parameters, *, sweeps: int, settled: float, final: bool) -> Statistics:
        self.iteration = self.run.settings.max_iter + 1 if final else self.iteration + 1
        self._tell(
            "parameters",
            {
                "mean": parameters.class_mean,
                "variance": parameters.class_variance,
                "scalars": np.array([parameters.delta2, settled]),
                "control": np.array([self.version, sweeps, self._cold, final], dtype=np.int64),
            },
        )
        self._cold = False
        sums, k = self._reports(), self.run.settings.n_classes
        weight, gap, bound = (float(value) for value in sums[:3])
        return Statistics(weight, sums[3 : 3 + k], sums[3 + k :], gap, np.empty((0, k)), bound)

    def m_step(self, statistics: Statistics, parameters: Parameters, rules: Rules) -> Parameters:
        self.version += 1
        return m_step(statistics, parameters, rules, NO_PROFILES)

    def _keep(self, fit: Fit) -> None:
        self.fit, self.finished = fit, len(fit.lower_bounds)
        self._save()

    # Letters.

    def _tell(self, kind: str, arrays: Mapping[str, Any], text: Mapping[str, str] | None = None) -> None:
        self._send(
            [
                Letter(kind, SERVER, block.address, arrays, text or {}, iteration=self.iteration)
                for block in self.run.plan.blocks
            ]
        )

    def _reports(self) -> FloatArray:
        """Sums over all objects, from the reports of all auxiliary servers."""
        blocks = self.run.plan.blocks
        found = self._gather("report", [block.address for block in blocks])
        total = self.run.policy.reports()
        hidden = {b.host: found[b.address] for b in blocks if b.private and total.masked}
        parts = [add_up(total, hidden)["values"]] if hidden else []
        parts += [
            found[b.address].arrays["values"] for b in blocks if b.host not in hidden or not b.private
        ]
        sums: FloatArray = np.sum(parts, axis=0)
        return sums

    def _gather(self, kind: str, senders: list[str]) -> dict[str, Message]:
        """One message of a kind from each sender."""
        while any(not self.arrived.get((kind, sender)) for sender in senders):
            self._wait()
        return {sender: self.arrived[kind, sender].pop(0) for sender in senders}

    def state(self) -> dict[str, Any]:
        parameters = self.fit.parameters
        scalars = [
            parameters.delta2,
            self.exponent,
            self.weight,
            self.confidence,
            self.version,
            self.fit.converged,
        ]
        return {
            "mean": parameters.class_mean,
            "variance": parameters.class_variance,
            "scalars": np.array(scalars, dtype=np.float64),
            "bounds": np.array(self.fit.lower_bounds),
            "path": np.array(self.fit.delta2_path),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        delta2, self.exponent, self.weight, self.confidence, version, converged = state[
            "scalars"
        ].tolist()
        self.version = int(version)
        nothing = np.empty((0, len(state["mean"])))
        self.fit = Fit(
            Parameters(state["mean"], state["variance"], delta2, nothing),
            tuple(state["bounds"].tolist()),
            tuple(state["path"].tolist()),
            bool(converged),
            "votes",
        )
        self.iteration = len(self.fit.lower_bounds)
