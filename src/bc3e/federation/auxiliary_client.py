"""The auxiliary client of a column group: profiles of its clusterings, no labels and no objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bc3e.federation.messages import Message
from bc3e.federation.planning import ColumnGroup, client
from bc3e.federation.roles import Letter, Role, Run, add_up, by_site
from bc3e.federation.sites import hashes_of
from bc3e.model.evidence import FloatArray, Layout
from bc3e.model.shrinkage import STRENGTHS, Shrinkage, choose_strengths, prior_counts
from bc3e.model.statistics import profile_step
from bc3e.selection import significant


class AuxiliaryClient(Role):
    """Sums the counts of its columns over the clients and turns them into profiles."""

    def __init__(self, group: ColumnGroup, run: Run) -> None:
        super().__init__(group.address, run)
        self.group, self.total = group, run.policy.columns(group)
        self.members = [client(site) for site in group.sites]
        self.layout = Layout((), ())  # until the clusters are numbered
        self.start_counts: FloatArray
        self.prior: FloatArray
        self.informative = np.ones(len(group.clusters), dtype=np.uint8)

    def start(self) -> list[Letter]:
        return []

    def expected(self, message: Message) -> tuple[bool, dict[str, tuple[int, ...]]]:
        columns = len(self.group.clusters)
        if message.kind == "clusters":
            sizes = message.arrays["sizes"]
            fits = bool((sizes >= 0).all()) and int(sizes.sum()) == len(message.arrays["names"])
            return False, {"sizes": (columns if fits else -1,)}
        if message.kind == "gains":
            return self.total.masked, {"sums": (2, columns, len(STRENGTHS))}
        return self.total.masked, {"counts": (self.layout.n_rows, self.run.settings.n_classes)}

    def handle(self, message: Message) -> list[Letter]:
        parts = self.collect(message, self.members)
        if parts is None:
            return []
        answer: list[Letter] = getattr(self, f"_all_{message.kind}")(parts)
        return answer

    def _all_clusters(self, parts: Mapping[str, Message]) -> list[Letter]:
        """Number the clusters of each column: in the order of sites, and within a site in its own."""
        numbers: list[dict[bytes, int]] = [{} for _ in self.group.clusters]
        codes: dict[str, list[int]] = {}
        for sender in sorted(parts):
            names = hashes_of(parts[sender].arrays["names"]).tolist()
            sizes = parts[sender].arrays["sizes"]
            codes[sender] = []
            for known, last, size in zip(numbers, np.cumsum(sizes), sizes, strict=True):
                for name in names[last - size : last]:
                    codes[sender].append(known.setdefault(name, len(known)))
        sizes = np.array([max(1, len(known)) for known in numbers], dtype=np.int64)
        self.layout = Layout(tuple(int(size) for size in sizes), (False,) * len(sizes))
        return [
            Letter(
                "codes", self.address, sender,
                {"codes": np.array(codes[sender], dtype=np.int64), "sizes": sizes},
            )
            for sender in sorted(parts)
        ]  # fmt: skip

    def _all_start_counts(self, parts: Mapping[str, Message]) -> list[Letter]:
        self.start_counts = add_up(self.total, by_site(parts))["counts"]
        if self.run.settings.needs_gains:
            totals = {"counts": self.start_counts}
            return [Letter("start_totals", self.address, member, totals) for member in self.members]
        return self._begin(None)

    def _all_gains(self, parts: Mapping[str, Message]) -> list[Letter]:
        sums = add_up(self.total, by_site(parts))["sums"]
        return self._begin(choose_strengths(sums, float(self.run.plan.n_objects)))

    def _begin(self, found: Shrinkage | None) -> list[Letter]:
        """Prior and first profiles, from the votes per cluster."""
        settings, columns = self.run.settings, len(self.group.clusters)
        if settings.learned_prior:
            assert found is not None
            self.prior = prior_counts(self.layout, self.start_counts, found.strengths)
        elif settings.profile_prior is not None:
            strengths = np.full(columns, settings.profile_prior)
            self.prior = prior_counts(self.layout, self.start_counts, strengths)
        else:
            self.prior = np.zeros_like(self.start_counts)
        if settings.evidence_weight is None:
            assert found is not None
            count = sum(len(group.clusters) for group in self.run.plan.groups)
            self.informative = (found.significance > significant(count)).astype(np.uint8)
        return self._publish(self.start_counts, 0)

    def _all_counts(self, parts: Mapping[str, Message]) -> list[Letter]:
        iteration = next(iter(parts.values())).iteration
        return self._publish(add_up(self.total, by_site(parts))["counts"], iteration)

    def _publish(self, counts: FloatArray, version: int) -> list[Letter]:
        profiles = profile_step(counts, self.prior, self.layout)
        each = (self.prior * np.log(profiles)).sum(axis=1)
        arrays = {
            "profiles": profiles,
            "log_prior": np.array([block.sum() for block in self.layout.split(each)]),
            "informative": self.informative,
            "version": np.array([version], dtype=np.int64),
        }
        self.finished = version
        return [
            Letter("profiles", self.address, member, arrays, iteration=version)
            for member in self.members
        ]

    def state(self) -> dict[str, Any]:
        sizes = np.array(self.layout.n_clusters, dtype=np.int64)
        return {"sizes": sizes, "prior": self.prior, "informative": self.informative}

    def restore(self, state: Mapping[str, Any]) -> None:
        sizes = tuple(int(size) for size in state["sizes"])
        self.layout = Layout(sizes, (False,) * len(sizes))
        self.prior, self.informative = state["prior"], state["informative"]
