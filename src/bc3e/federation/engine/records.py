"""What the server keeps of a run: how it goes, what it learned, who sent what, and a page to look at."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bc3e.federation.checkpoint import write_safely
from bc3e.federation.engine.page import run_page
from bc3e.federation.ledger import Entry, Ledger, read_folder
from bc3e.federation.planning import Plan
from bc3e.federation.server import Learned, Server

if TYPE_CHECKING:
    from bc3e.federation.engine.exchange import Exchange


class Records:
    """Files of a run in its folder at the server.

    ``progress.jsonl`` has one line per event, ``model.json`` what the server learned,
    ``messages.jsonl`` every message, ``run.html`` all of it for a person.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.began_at = time.time()
        self.plan: Plan | None = None

    def tell(self, event: str, **more: Any) -> None:
        """Append an event to the progress of the run."""
        line = json.dumps({"event": event, "time": time.time(), **more})
        with open(self.folder / "progress.jsonl", "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def began(self, plan: Plan, classes: list[Any], number: int) -> None:
        self.plan = plan
        self.tell("began", sites=list(plan.sites), objects=plan.n_objects, classes=classes,
                  iteration=max(number, 0))  # fmt: skip

    def iterated(self, server: Server, exchange: Exchange) -> None:
        fit = server.fit
        self.tell(
            "iteration",
            iteration=len(fit.lower_bounds),
            bound=fit.lower_bounds[-1] if fit.lower_bounds else None,
            delta2=fit.parameters.delta2,
            bytes=exchange.bytes,
            calls=exchange.calls,
        )

    def finished(self, learned: Learned, classes: list[Any], planned: Ledger) -> None:
        """Write the model, the whole ledger and the page."""
        assert self.plan is not None
        entries = [*planned, *sorted(read_folder(self.folder), key=Entry.place)]
        ledger = Ledger(entries)
        lines = "\n".join(json.dumps(entry.__dict__) for entry in entries)
        write_safely(self.folder / "messages.jsonl", lines.encode())
        model = model_of(learned, classes)
        write_safely(self.folder / "model.json", json.dumps(model, indent=1).encode())
        page = run_page(self.folder.name, model, self.plan, ledger, time.time() - self.began_at)
        write_safely(self.folder / "run.html", page.encode())
        self.tell("finished", iterations=len(model["lower_bounds"]), bound=model["lower_bound"],
                  converged=model["converged"], bytes=ledger.bytes, messages=len(ledger))  # fmt: skip


def model_of(learned: Learned, classes: list[Any]) -> dict[str, Any]:
    """What the server may know, as plain values."""
    parameters = learned.fit.parameters
    return {
        "classes": classes,
        "class_mean": parameters.class_mean.tolist(),
        "class_variance": parameters.class_variance.tolist(),
        "delta2": float(parameters.delta2),
        "lower_bounds": [float(value) for value in learned.fit.lower_bounds],
        "delta2_path": [float(value) for value in learned.fit.delta2_path],
        "lower_bound": float(learned.bound),
        "converged": bool(learned.fit.converged),
        "vote_exponent": float(learned.vote_exponent),
        "answer_exponent": float(learned.answer_exponent),
        "evidence_weight": float(learned.evidence_weight),
    }


def read_progress(folder: Path) -> list[dict[str, Any]]:
    """All events of a run so far; a line that is being written is left out."""
    path = folder / "progress.jsonl"
    if not path.exists():
        return []
    events = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    return events
