"""The auxiliary server of a row block: vote totals and posteriors of its objects, no labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bc3e.agreement import guarded_answer, leading_class
from bc3e.errors import InputError
from bc3e.federation.defaults import ballot_names
from bc3e.federation.messages import Message
from bc3e.federation.planning import SERVER, RowBlock, client
from bc3e.federation.privacy import FEWEST
from bc3e.federation.roles import Arrays, Keyring, Letter, Role, Run, add_up, by_site
from bc3e.labels import soft_vote
from bc3e.model.calibration import blended, confidences, second_opinion, softmax, tempered
from bc3e.model.evidence import FloatArray
from bc3e.model.inference import State
from bc3e.model.parameters import Parameters
from bc3e.model.split import PosteriorHolder, exact_sum
from bc3e.model.starts import vote_responsibilities


class AuxiliaryServer(Role):
    """Sums votes and shares over the clients of a block and moves the posteriors."""

    fixed = frozenset({"votes", "given", "winners", "label_weight"})

    def __init__(self, block: RowBlock, run: Run, keyring: Keyring | None = None) -> None:
        super().__init__(block.address, run)
        self.block, self.keyring = block, keyring
        self.vote_sum, self.label_sum = run.policy.votes(block), run.policy.labels(block)
        self.labellers = [client(site) for site in block.labellers]
        self.winners: FloatArray | None = None
        self.votes: FloatArray | None = None
        self.given: FloatArray
        self.holder: PosteriorHolder
        self.parameters: Parameters
        self.reports = 0
        self._answer: FloatArray | None = None
        if not block.voters:
            self.votes = np.zeros((block.size, run.settings.n_classes))
            self.winners = self.given = self.votes

    def start(self) -> list[Letter]:
        return []

    def ready_for(self, message: Message) -> bool:
        return message.sender != SERVER or self.votes is not None

    def expected(self, message: Message) -> tuple[bool, dict[str, tuple[int, ...]]]:
        size, k = self.block.size, self.run.settings.n_classes
        if message.kind == "votes":
            return self.vote_sum.masked, dict.fromkeys(ballot_names(self.run.settings), (size, k))
        shapes: dict[str, dict[str, tuple[int, ...]]] = {
            "shares": {"shares": (size, k)},
            "presence": {"weight": (size,)},
            "evidence": {"bound": (1,)},
            "ready": {"informative": (2,)},
        }
        if message.kind in shapes:
            return self.label_sum.masked, shapes[message.kind]
        if message.kind == "parameters":
            return False, {"mean": (k,), "variance": (k,), "scalars": (2,), "control": (4,)}
        if message.kind == "weights":
            return False, {"weight": (1,), "equal": (1,)}
        if message.kind == "finish":
            return False, {"exponent": (1,), "classes": (k,)}
        return False, {"exponent": (1,)}

    def handle(self, message: Message) -> list[Letter]:
        answer: list[Letter] = getattr(self, f"_on_{message.kind}")(message)
        return answer

    # Before the first iteration.

    def _on_votes(self, message: Message) -> list[Letter]:
        parts = self.collect(message, [client(site) for site in self.block.voters])
        if parts is not None:
            sums = add_up(self.vote_sum, by_site(parts))
            self.winners = sums.get("winners")
            self.given = sums.get("given", sums["ballots"])
            self.votes = self._scaled(sums["ballots"])
        return []

    def _scaled(self, votes: FloatArray) -> FloatArray:
        """Votes of an object as so many in all."""
        if self.run.settings.vote_weight is None:
            return votes
        total = votes.sum(axis=1, keepdims=True)
        return votes * (self.run.settings.vote_weight / np.where(total > 0, total, 1.0))

    def _on_question(self, message: Message) -> list[Letter]:
        assert self.votes is not None
        about, exponent = message.text["about"], float(message.arrays["exponent"][0])
        if about == "agreement":
            assert self.winners is not None
            chosen = self.winners
            voted = chosen.sum(axis=1)
            same = (chosen * (chosen - 1.0)).sum(axis=1)
            pairs: FloatArray = np.stack([same, voted * (voted - 1.0)], axis=1)
            return self._report(exact_sum(0.5 * pairs))
        if about == "classes":
            return self._report(
                exact_sum(soft_vote(self.given) * np.any(self.given, axis=1, keepdims=True))
            )
        shown = self._shares() if about == "answer" else self.votes
        if about == "given":
            shown = self._scaled(self.given)
        return self._report(exact_sum(confidences(shown, exponent)))

    def _on_begin(self, message: Message) -> list[Letter]:
        assert self.votes is not None
        self.votes = tempered(self.votes, float(message.arrays["exponent"][0]))
        shares = {"shares": vote_responsibilities(self.votes)}
        if not self.labellers:
            return self._report(np.zeros(1))
        return self._to_labellers("responsibilities", shares)

    def _on_ready(self, message: Message) -> list[Letter]:
        parts = self.collect(message, self.labellers)
        if parts is None:
            return []
        informative, speaking = add_up(self.label_sum, by_site(parts))["informative"]
        self._check_speakers(round(speaking))
        return self._report(np.array([informative]))

    def _check_speakers(self, speaking: int) -> None:
        """Refuse sums over cluster labels to which fewer than three sites add anything but zeros."""
        policy = self.run.policy
        if self.label_sum.masked and not policy.allow_two and 0 < speaking < FEWEST:
            raise InputError(
                "sites",
                f"of the clusterings of {self.block.size} objects only those of {speaking} site(s) "
                "predict the votes, and a sum of theirs alone shows a site's part to others",
                "Give every clustering a weight (evidence_weight=0.3, say), leave those columns "
                "out, or pass allow_two=True if all sites agree to that.",
            )

    def _on_weights(self, message: Message) -> list[Letter]:
        equal = float(message.arrays["equal"][0])
        if equal > 0:  # no clustering is heard: every classifier counts alike
            self.votes = tempered(self._scaled(self.given), equal)
        if not self.labellers:
            return self._hold(np.zeros(self.block.size))
        return self._to_labellers("weights", dict(message.arrays))

    def _on_presence(self, message: Message) -> list[Letter]:
        parts = self.collect(message, self.labellers)
        return [] if parts is None else self._hold(add_up(self.label_sum, by_site(parts))["weight"])

    def _hold(self, label_weight: FloatArray) -> list[Letter]:
        assert self.votes is not None
        # Masked sums of zeros can come back as -0.0 or as rounding: no label is no weight.
        weight = np.where(label_weight > 1e-12, label_weight, 0.0)
        self.holder = self._holder(self.votes, weight)
        self.finished = 0
        return self._report(np.zeros(1))

    def _holder(self, votes: FloatArray, label_weight: FloatArray) -> PosteriorHolder:
        # A block of several sites is moved while they all wait: with every core.
        n_jobs = None if self.block.private else -1
        return PosteriorHolder(votes, label_weight, self.run.settings.structured, n_jobs)

    # Every iteration.

    def _on_parameters(self, message: Message) -> list[Letter]:
        arrays = message.arrays
        nothing = np.empty((0, self.run.settings.n_classes))
        delta2, self.settled = (float(value) for value in arrays["scalars"])
        self.version, self.sweeps, cold, self.final = (int(value) for value in arrays["control"])
        mean, variance = arrays["mean"].copy(), arrays["variance"].copy()
        self.parameters = Parameters(mean, variance, delta2, nothing)
        self.iteration, self.sweep, self._answer = message.iteration, 0, None
        if cold:
            self.holder.begin(self.parameters)
        self.holder.start_sweeps()
        if not self.labellers:
            return self._sweep_alone()
        if self.block.private:  # votes and posteriors as they are: they stay in this place
            told = {**arrays, "mean": mean, "variance": variance, "votes": self.holder.votes}
            told |= {f"state.{name}": value for name, value in vars(self.holder.state).items()}
            return self._to_labellers("objects", told)
        return self._ask("tendency")

    def _ask(self, kind: str) -> list[Letter]:
        self.sweep += kind == "tendency"
        means = {"means": self.holder.state.tendency.copy()}
        return self._to_labellers(kind, means | {"control": np.array([self.version, self.final])})

    def _on_shares(self, message: Message) -> list[Letter]:
        parts = self.collect(message, self.labellers)
        if parts is None:
            return []
        shares = add_up(self.label_sum, by_site(parts))["shares"]
        moving = self.holder.step(shares, self.parameters, self.settled)
        return self._ask("tendency" if moving and self.sweep < self.sweeps else "settled")

    def _sweep_alone(self) -> list[Letter]:
        shares = np.zeros_like(self.holder.votes)
        for _ in range(self.sweeps):
            if not self.holder.step(shares, self.parameters, self.settled):
                break
        return self._finish_iteration(0.0)

    def _on_evidence(self, message: Message) -> list[Letter]:
        parts = self.collect(message, self.labellers)
        if parts is None:
            return []
        return self._finish_iteration(float(add_up(self.label_sum, by_site(parts))["bound"][0]))

    def _finish_iteration(self, label_bound: float) -> list[Letter]:
        found = self.holder.statistics(self.parameters, label_bound)
        totals = [found.weight, found.gap, found.bound]
        return self._report_iteration(np.concatenate([totals, found.first, found.second]))

    def _on_moved(self, message: Message) -> list[Letter]:
        return self._report_iteration(message.arrays["values"])

    def _report_iteration(self, sums: FloatArray) -> list[Letter]:
        letters = self._report(sums)
        if not self.final:
            self.finished = self.iteration
        return letters

    # After the last iteration.

    def _shares(self) -> FloatArray:
        if self._answer is None:
            self._answer = softmax(self.holder.state.mean)
        return self._answer

    def _on_finish(self, message: Message) -> list[Letter]:
        answer = self._shares()
        if self.run.settings.calibrated:
            labels = leading_class(answer)
            refined = tempered(answer, float(message.arrays["exponent"][0]))
            frequencies = message.arrays["classes"]
            if frequencies.any():
                assert self.winners is not None
                second = second_opinion(refined, self.holder.state, frequencies)
                answer = guarded_answer(self.winners, self.given, refined, second, labels)
            else:
                answer = blended(self.given, refined, labels)
        self.done = True
        return [
            Letter("answer", self.address, client(site), {"probabilities": answer})
            for site in self.block.sites
        ]

    def _to_labellers(self, kind: str, arrays: Arrays) -> list[Letter]:
        iteration, sweep = getattr(self, "iteration", 0), getattr(self, "sweep", 0)
        return [
            Letter(kind, self.address, address, arrays, iteration=iteration, sweep=sweep)
            for address in self.labellers
        ]

    def _report(self, values: FloatArray) -> list[Letter]:
        """Sums over the objects of the block, to the server; masked if one site has them all."""
        total = self.run.policy.reports()
        iteration = getattr(self, "iteration", 0)
        arrays: Arrays = {"values": values}
        self.reports += 1
        masked = total.masked and self.block.private
        if masked:
            assert self.keyring is not None
            arrays = self.keyring.mask(total, "report", arrays, iteration, self.reports)
        return [
            Letter(
                "report", self.address, SERVER, arrays,
                iteration=iteration, sweep=self.reports, masked=masked,
            )
        ]  # fmt: skip

    def state(self) -> dict[str, Any]:
        holder = self.holder
        saved: dict[str, Any] = {
            "votes": holder.votes,
            "given": self.given,
            "label_weight": holder.label_weight,
        }
        if self.run.settings.guarded:
            saved["winners"] = self.winners
        if hasattr(holder, "state"):
            saved |= {f"state.{name}": value for name, value in vars(holder.state).items()}
        return saved

    def restore(self, state: Mapping[str, Any]) -> None:
        self.votes, self.given = state["votes"], state["given"]
        self.winners = state.get("winners")
        self.holder = self._holder(self.votes, state["label_weight"])
        if "state.mean" in state:
            parts = ("mean", "tendency", "a", "d", "g")
            self.holder.state = State(*(state[f"state.{name}"].copy() for name in parts))
