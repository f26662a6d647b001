"""The client of a site: the only role that sees its labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.federation.defaults import ballot_names
from bc3e.federation.label_blocks import LabelBlock, label_blocks, used_clusters, vote_tables
from bc3e.federation.messages import Message
from bc3e.federation.planning import SERVER, ColumnGroup, RowBlock, client
from bc3e.federation.privacy import Sum
from bc3e.federation.roles import Arrays, Keyring, Letter, Role, Run
from bc3e.federation.sites import SiteData, octets_of
from bc3e.model.evidence import FloatArray
from bc3e.model.inference import State, Workers, e_step, label_weights
from bc3e.model.parameters import Parameters
from bc3e.model.shrinkage import prediction_gains
from bc3e.model.starts import cluster_counts

ONE = Workers(1)
STATE = ("mean", "tendency", "a", "d", "g")  # parts of a posterior
PER_OBJECT = {
    "responsibilities": "shares",
    "tendency": "means",
    "settled": "means",
    "answer": "probabilities",
}


class Client(Role):
    """Answers tendencies with shares of s and counts the classes of its clusters."""

    def __init__(
        self, data: SiteData, seats: NDArray[np.int64], run: Run, keyring: Keyring | None = None
    ) -> None:
        super().__init__(client(data.name), run)
        self.data, self.seats, self.keyring = data, seats, keyring
        self.blocks = list(run.plan.blocks_of(data.name))
        self.labelled = [block for block in self.blocks if data.name in block.labellers]
        self.groups = list(run.plan.groups_of(data.name))
        self.columns = [name for group in self.groups for name in group.clusters]
        self._order: dict[int, NDArray[np.intp]] = {}
        self.codes: dict[str, Message] = {}
        self.responsibilities: dict[int, FloatArray] = {}
        self.holders: dict[int, LabelBlock] = {}
        self.arriving: dict[int, dict[str, Message]] = {}  # profiles by version and group
        self.profiles: dict[int, FloatArray] = {}
        self.log_prior: dict[int, FloatArray] = {}
        self.informative: FloatArray = np.ones(len(self.columns))
        self.weights: FloatArray | None = None
        self.counts: dict[int, FloatArray] = {}
        self.answer = np.full((len(data.ids), run.settings.n_classes), np.nan)
        self.answered: set[int] = set()

    @property
    def keeps_state(self) -> bool:
        return bool(self.groups)

    @property
    def _needs_keys(self) -> bool:
        return self.run.policy.needs_keys and (self.keyring is None or self.keyring.masker is None)

    def start(self) -> list[Letter]:
        if self._needs_keys:
            assert self.keyring is not None
            return [Letter("key", self.address, SERVER, self.keyring.signed())]
        return self._announce()

    def ready_for(self, message: Message) -> bool:
        if message.kind in ("tendency", "settled", "objects"):
            return not self._needs_keys and int(message.arrays["control"][0]) in self.profiles
        return message.kind == "keys" or not self._needs_keys

    def expected(self, message: Message) -> tuple[bool, dict[str, tuple[int, ...]]]:
        k, per_object = self.run.settings.n_classes, PER_OBJECT.get(message.kind)
        if per_object is not None:
            return False, {per_object: (self._block(message).size, k)}
        if message.kind in ("start_totals", "profiles"):
            known = self.codes.get(message.sender)
            rows = -1 if known is None else int(known.arrays["sizes"].sum())
            return False, {"counts" if message.kind == "start_totals" else "profiles": (rows, k)}
        if message.kind == "keys":
            sites = len(self.run.plan.sites)
            return False, {"public": (sites, 32), "signature": (sites, 64)}
        return False, {}

    def handle(self, message: Message) -> list[Letter]:
        answer: list[Letter] = getattr(self, f"_on_{message.kind}")(message)
        return answer

    # Before the first iteration.

    def _on_keys(self, message: Message) -> list[Letter]:
        assert self.keyring is not None
        self.keyring.meet(message.arrays)
        return self._announce()

    def _announce(self) -> list[Letter]:
        """Names of clusters to the auxiliary clients, votes to the auxiliary servers."""
        if self.finished >= 0:  # resumed: all that has been said
            return []
        letters = []
        for group in self.groups:
            names = [used_clusters(self.data, self.run.plan, self.seats, c) for c in group.clusters]
            letters.append(
                Letter(
                    "clusters", self.address, group.address,
                    {
                        "names": octets_of(np.concatenate(names)),
                        "sizes": np.array([len(found) for found in names], dtype=np.int64),
                    },
                )
            )  # fmt: skip
        for block in self.blocks:
            if self.data.name in block.voters:
                rows = self._rows(block)
                settings, columns = self.run.settings, dict(block.votes)[self.data.name]
                tables = vote_tables(self.data, columns, rows, settings.classifier_weights)
                arrays = {name: tables[name] for name in ballot_names(settings)}
                total = self.run.policy.votes(block)
                letters.append(self._part("votes", block.address, total, arrays))
        return letters

    def _rows(self, block: RowBlock) -> NDArray[np.intp]:
        """Rows of a block's objects, in the order of their hashes: the same at all its sites.

        Those of a block of this site alone stay in its own order.
        """
        if block.number not in self._order:
            rows = np.flatnonzero(self.seats == block.number)
            order = slice(None) if block.private else np.argsort(self.data.ids[rows], kind="stable")
            self._order[block.number] = rows[order]
        return self._order[block.number]

    def _on_codes(self, message: Message) -> list[Letter]:
        self.codes[message.sender] = message
        return self._count_votes()

    def _on_responsibilities(self, message: Message) -> list[Letter]:
        self.responsibilities[_number(message.sender)] = message.arrays["shares"]
        return self._count_votes()

    def _count_votes(self) -> list[Letter]:
        """Votes per cluster, once every column is numbered and every object's votes are summed."""
        if len(self.codes) < len(self.groups) or len(self.responsibilities) < len(self.labelled):
            return []
        self._hold()
        counts = None
        for block in self.labelled:
            holder = self.holders[block.number]
            part = cluster_counts(holder.evidence, holder.own(self.responsibilities[block.number]))
            counts = part if counts is None else counts + part
        assert counts is not None
        return [
            self._part("start_counts", group.address, self.run.policy.columns(group), {"counts": part})
            for group, part in zip(self.groups, self._by_group(counts), strict=True)
        ]

    def _hold(self) -> None:
        tables = {
            group.address: (self.codes[group.address].arrays["codes"],
                            self.codes[group.address].arrays["sizes"])
            for group in self.groups
        }  # fmt: skip
        order = {block.number: self._rows(block) for block in self.labelled}
        self.holders = label_blocks(self.data, self.run.plan, self.seats, self.groups, tables, order)

    def _by_group(self, stacked: FloatArray) -> list[FloatArray]:
        """Rows of the stacked profiles that belong to each group."""
        sizes = [int(self.codes[group.address].arrays["sizes"].sum()) for group in self.groups]
        return np.split(stacked, np.cumsum(sizes)[:-1])

    def _on_start_totals(self, message: Message) -> list[Letter]:
        """How well the group's clusters predict votes, leaving each object out."""
        at = [group.address for group in self.groups].index(message.sender)
        group = self.groups[at]
        columns = [self.columns.index(name) for name in group.clusters]
        any_holder = self.holders[self.labelled[0].number]
        stacked = np.ones((any_holder.evidence.layout.n_rows, self.run.settings.n_classes))
        self._by_group(stacked)[at][:] = message.arrays["counts"]
        sums = None
        for block in self.labelled:
            holder = self.holders[block.number]
            shares = holder.own(self.responsibilities[block.number])
            part = prediction_gains(holder.evidence, shares, stacked, 1.0, ONE)[:, columns]
            sums = part if sums is None else sums + part
        assert sums is not None
        total = self.run.policy.columns(group)
        return [self._part("gains", group.address, total, {"sums": np.ascontiguousarray(sums)})]

    def _on_profiles(self, message: Message) -> list[Letter]:
        version = int(message.arrays["version"][0])
        arrived = self.arriving.setdefault(version, {})
        arrived[message.sender] = message
        if len(arrived) < len(self.groups):
            return []
        parts = [arrived[group.address].arrays for group in self.groups]
        del self.arriving[version]
        self.profiles = {v: p for v, p in self.profiles.items() if v == version - 1}
        self.log_prior = {v: p for v, p in self.log_prior.items() if v == version - 1}
        self.profiles[version] = np.concatenate([part["profiles"] for part in parts])
        self.log_prior[version] = np.concatenate([part["log_prior"] for part in parts])
        if version > 0:
            self.finished = version
            return []
        self.informative = np.concatenate([part["informative"] for part in parts]).astype(np.float64)
        self.responsibilities.clear()
        return [
            self._part("ready", block.address, self.run.policy.labels(block),
                       {"informative": np.array([self._spoken_for(self.informative, block),
                                                 self._speaks(block)])})
            for block in self.labelled
        ]  # fmt: skip

    def _spoken_for(self, values: FloatArray, block: RowBlock) -> float:
        """Sum of a value per column over the columns that this client reports in this block.

        Each column is reported once: by the first site of its group, in that site's first block.
        """
        if block is not self.labelled[0]:
            return 0.0
        first = [group.sites[0] == self.data.name for group in self.groups for _ in group.clusters]
        return float(values @ np.array(first, dtype=np.float64))

    def _speaks(self, block: RowBlock) -> float:
        """Whether any clustering of the block is informative: 1 or 0."""
        own = dict(block.clusters)[self.data.name]
        weights = zip(self.columns, self.informative, strict=True)
        return float(any(weight > 0 for name, weight in weights if name in own))

    def _on_weights(self, message: Message) -> list[Letter]:
        block = self._block(message)
        if self.weights is None:
            self._weigh(self.informative * float(message.arrays["weight"][0]))
            self.finished = 0
        holder = self.holders[block.number]
        present = holder.common(label_weights(holder.evidence))
        total = self.run.policy.labels(block)
        return [self._part("presence", block.address, total, {"weight": present})]

    def _weigh(self, weights: FloatArray) -> None:
        self.weights = weights
        for number, holder in self.holders.items():
            evidence = replace(holder.evidence, evidence_weights=weights)
            self.holders[number] = replace(holder, evidence=evidence)

    # Every iteration.

    def _on_tendency(self, message: Message) -> list[Letter]:
        block, holder = self._block(message), self._holder(message)
        profiles = self.profiles[int(message.arrays["control"][0])]
        shares = holder.common_side.shares(profiles, message.arrays["means"])
        total = self.run.policy.labels(block)
        return [
            self._part("shares", block.address, total, {"shares": shares},
                       message.iteration, message.sweep)
        ]  # fmt: skip

    def _on_settled(self, message: Message) -> list[Letter]:
        block, holder = self._block(message), self._holder(message)
        version, final = (int(value) for value in message.arrays["control"])
        profiles = self.profiles[version]
        value, counts = holder.side.settle(profiles, holder.own(message.arrays["means"]))
        value += self._prior_of(version, block)
        total = self.run.policy.labels(block)
        letters = [
            self._part("evidence", block.address, total, {"bound": np.array([value])},
                       message.iteration)
        ]  # fmt: skip
        return letters + self._counted(block, counts, message.iteration, bool(final))

    def _on_objects(self, message: Message) -> list[Letter]:
        """All sweeps over objects of this site alone, in one go: nobody else has a part in them.

        The message never leaves the site; the posteriors in it are moved in place.
        """
        block, given = self._block(message), message.arrays
        version, sweeps, final = (int(value) for value in given["control"][[0, 1, 3]])
        delta2, settled = (float(value) for value in given["scalars"])
        profiles = self.profiles[version]
        found = e_step(
            replace(self._holder(message).evidence, ballots=given["votes"]),
            Parameters(given["mean"], given["variance"], delta2, profiles),
            State(*(given[f"state.{name}"] for name in STATE)),
            structured=self.run.settings.structured, sweeps=sweeps, workers=ONE, settled=settled,
        )  # fmt: skip
        bound = found.bound + self._prior_of(version, block)
        sums = np.concatenate([[found.weight, found.gap, bound], found.first, found.second])
        moved = Letter("moved", self.address, block.address, {"values": sums},
                       iteration=message.iteration)  # fmt: skip
        return [moved, *self._counted(block, found.counts, message.iteration, bool(final))]

    def _prior_of(self, version: int, block: RowBlock) -> float:
        assert self.weights is not None
        return self._spoken_for(self.weights * self.log_prior[version], block)

    def _counted(self, block: RowBlock, counts: FloatArray, iteration: int, final: bool) -> list[Letter]:
        if final:
            return []
        self.counts[block.number] = counts
        return self._send_counts(iteration)

    def _send_counts(self, iteration: int) -> list[Letter]:
        if len(self.counts) < len(self.labelled):
            return []
        total: FloatArray = sum(self.counts[b.number] for b in self.labelled)  # type: ignore[assignment]
        self.counts.clear()
        return [
            self._part(
                "counts", group.address, self.run.policy.columns(group), {"counts": part}, iteration
            )
            for group, part in zip(self.groups, self._by_group(total), strict=True)
        ]

    # After the last iteration.

    def _on_answer(self, message: Message) -> list[Letter]:
        block = self._block(message)
        self.answer[self._rows(block)] = message.arrays["probabilities"]
        self.answered.add(block.number)
        self.done = len(self.answered) == len(self.blocks)
        return []

    def _block(self, message: Message) -> RowBlock:
        return self.run.plan.blocks[_number(message.sender) - 1]

    def _holder(self, message: Message) -> LabelBlock:
        return self.holders[_number(message.sender)]

    def _part(
        self, kind: str, recipient: str, total: Sum, arrays: Arrays, iteration: int = 0, sweep: int = 0
    ) -> Letter:
        """The part of a sum that this site gives, masked if the sum is."""
        if total.masked:
            assert self.keyring is not None
            arrays = self.keyring.mask(total, kind, arrays, iteration, sweep)
        return Letter(
            kind, self.address, recipient, arrays,
            iteration=iteration, sweep=sweep, masked=total.masked,
        )  # fmt: skip

    def state(self) -> dict[str, Any]:
        assert self.weights is not None
        saved: dict[str, Any] = {"weights": self.weights, "informative": self.informative}
        for version in self.profiles:
            saved[f"profiles.{version}"] = self.profiles[version]
            saved[f"log_prior.{version}"] = self.log_prior[version]
        for group in self.groups:
            arrays = self.codes[group.address].arrays
            saved[f"codes.{group.number}"] = arrays["codes"]
            saved[f"sizes.{group.number}"] = arrays["sizes"]
        if self.keyring is not None and self.keyring.masker is not None:
            used = json.dumps(self.keyring.masker.export_used()).encode()
            saved["used"] = np.frombuffer(used, dtype=np.uint8)
        return saved

    def restore(self, state: Mapping[str, Any]) -> None:
        for group in self.groups:
            arrays = {"codes": state[f"codes.{group.number}"], "sizes": state[f"sizes.{group.number}"]}
            self.codes[group.address] = _remembered(group, self.address, self.run, arrays)
        for name, value in state.items():
            if name.startswith("profiles."):
                self.profiles[int(name.removeprefix("profiles."))] = value
            if name.startswith("log_prior."):
                self.log_prior[int(name.removeprefix("log_prior."))] = value
        self.informative = state["informative"]
        self._hold()
        self._weigh(state["weights"])
        if self.keyring is not None and "used" in state:
            self.keyring.used = json.loads(state["used"].tobytes())


def _number(address: str) -> int:
    return int(address.rpartition(":")[2])


def _remembered(group: ColumnGroup, recipient: str, run: Run, arrays: Arrays) -> Message:
    return Message(run.id, "codes", group.address, recipient, 0, 0, run.attempt, 0, False, arrays)
