"""Start-up kits: what the engine provisions, with every door closed that a run does not need."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bc3e.errors import InputError
from bc3e.federation.checkpoint import write_safely
from bc3e.federation.engine import flare
from bc3e.federation.sites import NAME_FORM

ALLOWED = (flare.CONTROLLER, flare.EXECUTOR, flare.COORDINATOR, flare.SITE_AGENT)
# The coordinator may hand in jobs without code, look at them and stop its own.
RIGHTS = {
    "submit_job": "any",
    "clone_job": "none",
    "manage_job": "n:submitter",
    "download_job": "none",
    "view": "any",
    "operate": "none",
    "shell_commands": "none",
    "byoc": "none",
}


@dataclass(frozen=True)
class Project:
    """A federation: where its server is, and which sites belong to it.

    Attributes
    ----------
    name : str
    host : str
        Name or address by which the sites reach the server.
    port : int
    sites : tuple of str
    coordinator : str
        E-mail address of the person who starts runs.
    """

    name: str
    host: str
    port: int
    sites: tuple[str, ...]
    coordinator: str

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Project:
        """Read a project file (YAML)."""
        file = Path(path)
        try:
            told = flare.read_yaml(file)
        except Exception as error:  # the engine's reader raises what its YAML library raises
            raise InputError("project", f"{file.name} cannot be read", "Pass a YAML file.") from error
        if not isinstance(told, dict):
            raise InputError("project", f"{file.name} is empty", "See docs/federation-engine.md.")
        known = {"name", "server", "sites", "coordinator"}
        for key in sorted(known ^ set(told)):
            found = "nothing" if key in known else "an unknown key"
            raise InputError("project", found, f"The keys are {', '.join(sorted(known))}.", place=key)
        host, _, port = str(told["server"]).partition(":")
        if not host or not (port or "8002").isdigit():
            raise InputError("project", f"{told['server']!r}", "Write host:port.", place="server")
        if not isinstance(told["sites"], list) or not all(isinstance(s, str) for s in told["sites"]):
            raise InputError("project", "no list of names", "Write [bank-a, bank-b].", place="sites")
        return cls(str(told["name"]), host, int(port or 8002), tuple(told["sites"]),
                   str(told["coordinator"]))  # fmt: skip

    def __post_init__(self) -> None:
        if len(set(self.sites)) < len(self.sites) or not self.sites:
            raise InputError("project", "no sites, or two of one name", "Name each once.", place="sites")
        for name in (self.name, *self.sites):
            if not NAME_FORM.match(name) or name == "server":
                raise InputError("project", f"{name!r} cannot be a name",
                                 "Use letters, digits, '.', '_' and '-'.")  # fmt: skip


def provision(project: Project, out: Path, allowed: Sequence[str] = ALLOWED) -> dict[str, Path]:
    """Write kits: ``server``, ``coordinator`` and one per site below `out`.

    The authority that can make further certificates is in ``authority``: whoever holds it can let
    anybody in. Keep it away from the server.
    """
    if out.exists() and any(out.iterdir()):
        raise InputError("out", f"{out.name} is not empty", "Name a new folder.")
    new = not out.exists()
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return _provision(project, out, allowed)
    except BaseException:  # half a federation is of no use, and holds keys
        for left in out.iterdir():
            shutil.rmtree(left)
        if new:
            out.rmdir()
        raise


def _provision(project: Project, out: Path, allowed: Sequence[str]) -> dict[str, Path]:
    authority = out / "authority"
    authority.mkdir(mode=0o700)
    made = flare.provision(authority, project.name, project.host, project.port, project.sites,
                           project.coordinator)  # fmt: skip
    kits = {"server": out / "server", "coordinator": out / "coordinator"}
    kits |= {site: out / site for site in project.sites}
    names = {"server": project.host, "coordinator": project.coordinator}
    for role, kit in kits.items():
        shutil.move(made / names.get(role, role), kit)
        (kit / "transfer").mkdir(exist_ok=True)
        if role != "coordinator":
            close_doors(kit, allowed)
        for key in (kit / "startup").glob("*.key"):
            key.chmod(0o600)
    listed = kits["server"] / "local" / "bc3e_sites.json"
    listed.write_text(json.dumps({"sites": project.sites}))
    shutil.rmtree(made)
    for state in authority.glob("*/state/cert.json"):
        _forget_keys(state)
    return kits


def _forget_keys(state: Path) -> None:
    """Leave the root's key, which issues certificates, and no key of a participant."""
    told = json.loads(state.read_text())
    # The whole entry: the engine cannot read one that has a certificate and no key.
    kept = {name: value for name, value in told.items() if not isinstance(value, dict)}
    write_safely(state, json.dumps(kept).encode())


def close_doors(kit: Path, allowed: Sequence[str]) -> None:
    """Installed classes of this list only, no code in jobs, no logs to others, everything in the kit."""
    local = kit / "local"
    resources = json.loads((local / "resources.json.default").read_text())
    resources["class_list_enforcement_mode"] = "enforce"
    resources["class_allow_list"] = list(allowed)
    unwanted = {"site_log_streamer", "log_receiver"}
    resources["components"] = [c for c in resources["components"] if c["id"] not in unwanted]
    if "allow_log_streaming" in resources:
        resources["allow_log_streaming"] = False
    if "snapshot_persistor" in resources:
        _keep_inside(resources, kit)
    (local / "resources.json").write_text(json.dumps(resources, indent=1))
    rights = {"format_version": "1.0", "permissions": {"lead": RIGHTS}}
    (local / "authorization.json").write_text(json.dumps(rights, indent=1))


def _keep_inside(resources: dict[str, Any], kit: Path) -> None:
    """The server's jobs and snapshots go to its kit; the engine's default is a shared place."""
    storage = resources["snapshot_persistor"]["args"]["storage"]["args"]
    storage["root_dir"] = str(kit.resolve() / "snapshots")
    for component in resources["components"]:
        if component["id"] == "job_manager":
            component["args"]["uri_root"] = str(kit.resolve() / "jobs")
        if component["id"] == "job_scheduler":
            # An attempt may begin while the engine still clears the one before away.
            component["args"] = {"max_jobs": 2, "min_schedule_interval": 1.0}


def prepare(kit: Path) -> None:
    """Bring a kit that was moved to another machine or folder up to its place."""
    path = kit / "local" / "resources.json"
    resources = json.loads(path.read_text())
    if "snapshot_persistor" in resources:
        _keep_inside(resources, kit)
        path.write_text(json.dumps(resources, indent=1))
    (kit / "transfer").mkdir(exist_ok=True)


def note(kit: Path, told: Mapping[str, str]) -> None:
    """Leave word for the processes of a kit: where the site's configuration file is."""
    (kit / "local" / flare.SITE_NOTE).write_text(json.dumps(dict(told)))
