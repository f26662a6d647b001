"""A site that misbehaves at a given call, for tests with real processes.

The kits of the tests allow this class beside the installed ones. What it does stands in a file beside the
site's configuration: {"kind", "at", "seconds"}; without the file it is an ordinary site.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from nvflare.collab import collab

from bc3e.federation.engine.flare import SiteAgent

PATH = "tests.federation_engine.faults.FaultySite"


class FaultySite(SiteAgent):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.old: bytes | None = None

    @collab.publish
    def ask(self, topic: str, data: bytes) -> bytes:
        caller = str(collab.caller)
        if topic != "deliver" or self.member is None:
            return self.answer(caller, topic, data)
        self.calls += 1
        number, path = self.calls, self.member.config.path
        fault = _fault(path)
        if fault is None or number < fault["at"]:
            self.old = self.old or data
        elif number == fault["at"]:
            path.with_suffix(".hit").write_text(str(number))
            if fault["kind"] == "hold":  # late for the caller, and time to be killed in a round
                time.sleep(fault["seconds"])
            elif fault["kind"] == "replay":  # somebody sends an old call again
                told = self.answer(caller, topic, self.old or b"")
                path.with_suffix(".told").write_bytes(told)
        return self.answer(caller, topic, data)


def _fault(config: Path) -> dict | None:
    path = config.with_suffix(".fault")
    return json.loads(path.read_text()) if path.exists() else None
