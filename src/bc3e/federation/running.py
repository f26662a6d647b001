"""Planning and fitting: what a user calls."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from bc3e.errors import InputError, InputTypeError
from bc3e.estimator import BC3E
from bc3e.federation.assembly import Seat, build_roles, keepers, places, resume
from bc3e.federation.checkpoint import Checkpoints, write_safely
from bc3e.federation.client import Client
from bc3e.federation.defaults import rules_of, settings_of
from bc3e.federation.host import Host
from bc3e.federation.keys import Identity, new_id_key
from bc3e.federation.ledger import Entry, Ledger, read_folder
from bc3e.federation.memory import Choose, MemoryTransport
from bc3e.federation.messages import Message
from bc3e.federation.noise import Noise, noise_secret, scrambled
from bc3e.federation.planning import Plan, client
from bc3e.federation.planning_post import PlanningPost, seat_by_post
from bc3e.federation.privacy import Policy, few_clusterings
from bc3e.federation.result import Outcome, Result, SiteResult
from bc3e.federation.roles import Run, Unmasking
from bc3e.federation.sites import Answers, Site, SiteData, common_classes
from bc3e.model.parameters import Rules
from bc3e.selection import CAUTIOUS

logger = logging.getLogger("bc3e.federation")


def plan(sites: Sequence[Site]) -> Plan:
    """Who would play which role, from object ids and column names alone.

    Nothing else of the sites is looked at. The plan says how many objects which sites share:
    a site can look at it before it joins.
    """
    _check_sites(sites)
    by_name = {site.name: site for site in sites}
    post = PlanningPost(secrets.token_hex(16))
    return seat_by_post(
        sites, new_id_key(), post, lambda site, kind, column: by_name[site].present(kind, column)
    )[0]


def fit(
    sites: Sequence[Site],
    *,
    model: BC3E | None = None,
    masked: bool = True,
    allow_two: bool = False,
    total_evidence: float = CAUTIOUS,
    classifier_weights: Mapping[str, float] | None = None,
    processes: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    id_key: bytes | None = None,
    noise: Noise | None = None,
    record: bool = False,
) -> Result:
    """Learn one model from the blocks that the sites hold.

    Parameters
    ----------
    sites : sequence of Site
    model : BC3E, optional
        Its parameters are the settings of the run; the default settings otherwise.
    masked : bool
        Hide what each site adds to sums. Without it every role can read the parts: for tests, and for
        sites that trust all roles.
    allow_two : bool
        Form sums over two sites too, although each learns the other's part. Needs the consent
        of the sites.
    total_evidence : float
        What all clusterings together count, in labels, where `model.evidence_weight` is "auto".
        A fit in one place finds it out by comparing classifiers object by object and hiding them one
        by one, which sums over sites would not survive; the sites agree on a number instead. The
        default is a quarter of a label, as for a single classifier in one place.
    classifier_weights : mapping from column names to numbers, optional
        What a vote of each classifier counts, 1 by default. A fit in one place finds it out by
        comparing classifiers, which sites may not.
    processes : bool
        Every site and every other role in a process of its own, instead of all in this one. The
        results have the same bytes.
    checkpoint : path, optional
        Directory for the states of the roles after each iteration. A run that was interrupted
        goes on from there when it is started again with the same sites and settings.
    id_key : bytes, optional
        Key of the hashes of object ids, 32 bytes or more; a fresh one by default.
    noise : Noise, optional
        How many labels every site scrambles before the run; none by default. Masks hide parts of sums;
        only noise hides what sums and answers tell. The answer is then that of the scrambled labels.
    record : bool
        Keep every message in ``result.transcript``, for the audit (not with `processes`).

    Returns
    -------
    Result

    Examples
    --------
    Three branches have each some of the records, and the same classifiers and clusterings.

    >>> import numpy as np, pandas as pd
    >>> from bc3e import federation
    >>> truth = np.tile([0, 1], 30)
    >>> votes = pd.DataFrame({"svm": truth, "tree": np.roll(truth, 1), "knn": truth})
    >>> clusters = pd.DataFrame({"k-means": truth + 2 * (np.arange(60) % 3 == 0)})
    >>> sites = [federation.Site(name, votes.iloc[rows], clusters.iloc[rows])
    ...          for name, rows in (("a", slice(0, 20)), ("b", slice(20, 40)), ("c", slice(40, 60)))]
    >>> result = federation.fit(sites)
    >>> result.for_site("b").probabilities.shape
    (20, 2)
    >>> sorted({entry.masked for entry in result.ledger.select(kind="counts")})
    [True]
    """
    _check_sites(sites)
    if processes and record:
        raise InputError("record", "True with processes=True", "Record a run in one process.")
    model = BC3E() if model is None else model
    classes = common_classes(sites, model.classes)
    settings = settings_of(model, len(classes), total_evidence, classifier_weights)
    tables = {site.name: site.table(classes) for site in sites}
    folder = None if checkpoint is None else _Folder(Path(checkpoint))
    path = None if folder is None else folder.path
    run_id, key, attempt = _begin(folder, id_key)
    post = PlanningPost(run_id)
    data = {site.name: SiteData.of(site, tables[site.name], key, run_id) for site in sites}
    if noise:
        data = {name: scrambled(d, noise, noise_secret(name, path)) for name, d in data.items()}
    found, seats = seat_by_post(
        sites, key, post, lambda site, kind, column: data[site].present(kind, column)
    )
    policy = Policy(found, masked, allow_two)
    policy.check()
    for line in few_clusterings(found) if masked and not noise else ():
        logger.warning(line)
    run = Run(run_id, attempt, found, policy, settings)
    rules = rules_of(model, len(classes))
    identities = (
        {s.name: s.identity or Identity.generate(s.name) for s in sites} if policy.needs_keys else {}
    )
    brought = {
        name: Seat(data[name].without(seating.silent), seating.blocks, identities.get(name))
        for name, seating in seats.items()
    }
    number = -1 if folder is None else folder.enter(run, brought, rules)
    if processes:
        from bc3e.federation.processes import run_processes

        outcome = run_processes(run, brought, rules, path, number)
    else:
        outcome = run_in_memory(run, brought, rules, path, number, record=record)
    results = {
        site.name: SiteResult(
            site.name,
            outcome.answers[site.name],
            Answers(classes, site.object_ids, tables[site.name].frame),
        )
        for site in sites
    }
    everything = Ledger([*post.ledger, *sorted(outcome.entries, key=Entry.place)])
    transcript = (*post.transcript, *outcome.transcript) if record else ()
    return Result.of(
        found, everything, outcome.learned, results, classes.tolist(),
        transcript=transcript, masking_seconds=outcome.masking_seconds,
        hashes={name: d.ids for name, d in data.items()} if record else {},
    )  # fmt: skip


def run_in_memory(
    run: Run,
    seats: Mapping[str, Seat],
    rules: Rules,
    folder: Path | None = None,
    number: int = -1,
    *,
    record: bool = False,
    choose: Choose | None = None,
) -> Outcome:
    """All roles in this process, from the state after iteration `number`."""
    checkpoints = None if folder is None else Checkpoints(folder)
    transcript: list[Message] | None = [] if record else None
    public = {name: seat.identity.public for name, seat in seats.items() if seat.identity}
    hosts = {}
    began = Unmasking.seconds
    with closing(Ledger(path=None if folder is None else folder / "ledger.jsonl")) as ledger:
        for place, addresses in places(run.plan).items():
            seat = seats.get(place)
            roles = build_roles(addresses, run, seat=seat, identities=public, rules=rules)
            if checkpoints is not None:
                resume(roles, checkpoints, number)
            hosts[place] = Host(roles, run, ledger, checkpoints, transcript)
        learned = MemoryTransport(hosts, choose).run()
    clients = {site: hosts[site].roles[client(site)] for site in run.plan.sites}
    answers, seconds = {}, Unmasking.seconds - began
    for site, role in clients.items():
        assert isinstance(role, Client)
        answers[site] = role.answer
        seconds += role.keyring.seconds if role.keyring is not None else 0.0
    entries = ledger.entries if folder is None else read_folder(folder)
    return Outcome(learned, answers, entries, transcript or (), seconds)


def _check_sites(sites: Sequence[Site]) -> None:
    if not isinstance(sites, list | tuple) or not all(isinstance(site, Site) for site in sites):
        raise InputTypeError("sites", f"a {type(sites).__name__}", "Pass a list of federation.Site.")
    if not sites:
        raise InputError("sites", "no site", "Pass at least one.")
    names = [site.name for site in sites]
    for name in names:
        if names.count(name) > 1:
            raise InputError("sites", f"two sites are called {name!r}", "Give every site its own name.")


class _Folder:
    """The checkpoint directory of a run: its identity, its key, how often it was started."""

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path
        self.about = path / "run.json"

    def begin(self, id_key: bytes | None) -> tuple[str, bytes, int]:
        """Id, id key and number of this attempt, which is on the disk before anything is sent."""
        if self.about.exists():
            known = json.loads(self.about.read_text())
            known["attempt"] += 1
        else:
            key = new_id_key() if id_key is None else id_key
            known = {"run": secrets.token_hex(16), "key": key.hex(), "attempt": 0, "digest": None}
        if id_key is not None and id_key.hex() != known["key"]:
            raise self._foreign("another id_key")
        self.known = known
        self._write()
        return known["run"], bytes.fromhex(known["key"]), known["attempt"]

    def enter(self, run: Run, seats: Mapping[str, Seat], rules: Rules) -> int:
        """The iteration to go on from; refuses a directory of another run."""
        digest = _digest(run, seats, rules)
        if self.known["digest"] not in (None, digest):
            raise self._foreign("other sites, labels or settings")
        self.known["digest"] = digest
        self._write()
        return Checkpoints(self.path).common(keepers(run.plan))

    def _write(self) -> None:
        write_safely(self.about, json.dumps(self.known).encode())

    def _foreign(self, what: str) -> InputError:
        return InputError(
            "checkpoint",
            f"the directory belongs to a run with {what}",
            "Pass an empty directory for a new run, or the sites and settings of that one.",
        )


def _begin(folder: _Folder | None, id_key: bytes | None) -> tuple[str, bytes, int]:
    if folder is not None:
        return folder.begin(id_key)
    return secrets.token_hex(16), new_id_key() if id_key is None else id_key, 0


def _digest(run: Run, seats: Mapping[str, Seat], rules: Rules) -> str:
    """Everything that decides the result: going on with anything else would mix two runs."""
    from bc3e.federation.defaults import rules_to_json

    mark = hashlib.sha256()
    policy = [run.policy.masked, run.policy.allow_two]
    for text in (run.plan.to_json(), run.settings.to_json(), rules_to_json(rules), json.dumps(policy)):
        mark.update(text.encode())
    for name in sorted(seats):
        mark.update(hashlib.sha256(seats[name].data.to_bytes()).digest())
    return mark.hexdigest()
