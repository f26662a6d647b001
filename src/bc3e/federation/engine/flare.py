"""The only module that knows NVIDIA FLARE: kits, processes, jobs, and calls between machines.

Calls go through FLARE's Collab API. Its ``CollabRecipe`` is not used: it copies the classes of a run
into the job, and sites here run installed code only. The job names installed classes instead, which the
sites' allow-list contains, and has no code in it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nvflare.collab import collab
from nvflare.collab.api.exceptions import CollabCallError, RunAborted
from nvflare.fuel.f3.drivers import tcp_driver
from nvflare.fuel.flare_api.flare_api import new_secure_session
from nvflare.fuel.utils.buffer_list import ConsumableBufferList
from nvflare.lighter.prov_utils import prepare_builders, prepare_packager
from nvflare.lighter.provision import prepare_project
from nvflare.lighter.provisioner import Provisioner
from nvflare.lighter.utils import load_yaml

from bc3e.errors import InputError
from bc3e.federation.engine.answers import answered, read_answer
from bc3e.federation.engine.exchange import Call, CallRefused, Unanswered
from bc3e.federation.engine.job import Job
from bc3e.federation.engine.leading import Leader
from bc3e.federation.engine.member import Member
from bc3e.federation.engine.records import Records
from bc3e.federation.engine.site_config import SiteConfig
from bc3e.federation.planning import SERVER
from bc3e.federation.processes import RunInterrupted

CONTROLLER = "nvflare.collab.runtime.controller.CollabController"
EXECUTOR = "nvflare.collab.runtime.executor.CollabExecutor"
COORDINATOR = "bc3e.federation.engine.flare.Coordinator"
SITE_AGENT = "bc3e.federation.engine.flare.SiteAgent"
SITE_NOTE = "bc3e_site.json"  # in the kit's local folder: where the site's configuration file is
SYNC_SECONDS = 120
HANDSHAKE_SECONDS = 10.0

logger = logging.getLogger("bc3e.federation")


# Calls: what runs inside the engine's job processes.


def _short(buffers: list[Any]) -> str:
    return f"<{len(buffers)} buffers>"


# The engine writes every message that it receives out as text, for a log line that nobody asked for:
# 30 ms for 4 MB, more than a site needs to work on them.
ConsumableBufferList.__repr__ = _short


def _caller_of(proxies: dict[str, Any], own: str) -> Call:
    """A function that carries calls; between sites they are encrypted from end to end."""
    for proxy in proxies.values():
        proxy.backend.logger.setLevel(logging.WARNING)  # two lines per call are too many

    def call(node: str, topic: str, data: bytes, seconds: float) -> bytes:
        between_sites = SERVER not in (node, own)
        try:
            told = proxies[node](timeout=seconds, secure=between_sites).ask(topic, data)
        except RunAborted as stop:
            raise RunInterrupted("the run was stopped. Resume it when all sites are ready.") from stop
        except CollabCallError as error:
            raise Unanswered(str(error.cause)) from error
        return read_answer(told, node)

    return call


def _load_kernels() -> None:
    """Load compiled code while the engine starts, not in the first round."""
    for name in ("federation.word_kernels", "model.kernels", "model.split_kernels"):
        importlib.import_module(f"bc3e.{name}")


class SiteAgent:
    """What a site publishes to the others of a run: one way to ask it something."""

    def __init__(self) -> None:
        self.member: Member | None = None

    @collab.init  # type: ignore[untyped-decorator]
    def begin(self) -> None:
        """Read the site's own configuration; nothing of it comes with the job."""
        _load_kernels()
        note = Path(collab.workspace.get_site_config_dir()) / SITE_NOTE
        config = SiteConfig.read(json.loads(note.read_text())["config"])
        proxies = {proxy.name: proxy for proxy in collab.context.clients} | {SERVER: collab.server}
        self.member = Member(config, _caller_of(proxies, config.name))

    @collab.publish  # type: ignore[untyped-decorator]
    def ask(self, topic: str, data: bytes) -> bytes:
        """Answer the server or another site; who asks is what its certificate says."""
        return self.answer(str(collab.caller), topic, data)

    def answer(self, caller: str, topic: str, data: bytes) -> bytes:
        member = self.member
        assert member is not None
        return answered(lambda: member.answer(caller, topic, data))

    @collab.final  # type: ignore[untyped-decorator]
    def end(self) -> None:
        if self.member is not None:
            self.member.close()


class Coordinator:
    """The server's part of a run.

    Parameters
    ----------
    job : str
        A :class:`bc3e.federation.engine.job.Job` as JSON.
    """

    def __init__(self, job: str) -> None:
        _load_kernels()
        self.job = Job.from_json(job)
        self.leader: Leader | None = None

    @collab.main  # type: ignore[untyped-decorator]
    def lead(self) -> None:
        """Lead the run; how it ended is written to its folder, whatever happens."""
        folder = run_folder(Path(collab.workspace.get_root_dir()), self.job.name)
        records, context = Records(folder), collab.context
        proxies = {proxy.name: proxy for proxy in context.clients}
        call = _caller_of(proxies, SERVER)
        records.tell("attempt", attempt=self.job.attempt, sites=sorted(proxies))
        try:
            missing = sorted(set(self.job.sites) - set(proxies))
            if missing:
                raise RunInterrupted(
                    f"{', '.join(missing)} did not take part. Resume when all are there."
                )
            self.leader = Leader(self.job, folder, call, lambda: bool(context.is_aborted()))
            self.leader.lead()
        except BaseException as error:
            resumable = isinstance(error, RunInterrupted)
            records.tell("stopped", reason=f"{error}" or type(error).__name__, resumable=resumable)
            raise

    @collab.publish  # type: ignore[untyped-decorator]
    def ask(self, topic: str, data: bytes) -> bytes:
        """Take messages of a site, or its word that it cannot go on."""
        return answered(lambda: self._answer(str(collab.caller), topic, data))

    def _answer(self, caller: str, topic: str, data: bytes) -> bytes:
        exchange = None if self.leader is None else self.leader.exchange
        if exchange is None:
            raise CallRefused("the run has not begun")
        if topic == "deliver":
            return exchange.deliver(caller, data)
        if topic == "trouble":
            reason = data[:500].decode(errors="replace")
            exchange.waiting.put(RunInterrupted(f"{caller} cannot go on: {reason}"))
            return b"noted"
        raise CallRefused(f"there is no {topic!r} here")


# Jobs.


def run_folder(kit: Path, name: str) -> Path:
    """Folder of a run at the server."""
    folder = kit / "runs" / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def write_job(folder: Path, job: Job, site_agent: str = SITE_AGENT) -> Path:
    """A job for the engine: names of installed classes and the settings of the run, no code."""
    server = {
        "format_version": 2,
        "workflows": [
            {"id": "controller", "path": CONTROLLER,
             "args": {"server_obj_id": "coordinator", "sync_task_timeout": SYNC_SECONDS}}
        ],
        "components": [{"id": "coordinator", "path": COORDINATOR, "args": {"job": job.to_json()}}],
    }  # fmt: skip
    client = {
        "format_version": 2,
        "executors": [
            {"tasks": ["*"], "executor": {"path": EXECUTOR, "args": {"client_obj_id": "agent"}}}
        ],
        "components": [{"id": "agent", "path": site_agent, "args": {}}],
    }
    meta = {
        "name": job.name,
        "resource_spec": {},
        "min_clients": len(job.sites),
        "mandatory_clients": list(job.sites),
        "deploy_map": {"app_server": ["server"], "app_site": list(job.sites)},
    }
    for app, config, file in (
        ("app_server", server, "config_fed_server.json"),
        ("app_site", client, "config_fed_client.json"),
    ):
        place = folder / app / "config"
        place.mkdir(parents=True, exist_ok=True)
        (place / file).write_text(json.dumps(config, indent=1))
    (folder / "meta.json").write_text(json.dumps(meta, indent=1))
    return folder


def address(kit: Path) -> tuple[str, int]:
    """Where the coordinator's kit says that the server is."""
    admin = json.loads((kit / "startup" / "fed_admin.json").read_text())["admin"]
    return str(admin["host"]), int(admin["port"])


class Link:
    """The engine's own client: :class:`bc3e.federation.engine.line.Line` runs it in a process."""

    def __init__(self, kit: Path, seconds: float = 15.0) -> None:
        admin = json.loads((kit / "startup" / "fed_admin.json").read_text())["admin"]
        self._session = new_secure_session(admin["username"], str(kit), timeout=seconds)

    def sites(self) -> list[str]:
        return sorted(client.name for client in self._session.get_connected_client_list())

    def submit(self, job: str) -> str:
        return str(self._session.submit_job(job))

    def status(self, job: str) -> str:
        return str(self._session.get_job_status(job))

    def explain(self, job: str) -> str:
        meta = self._session.get_job_meta(job)
        return json.dumps(
            {key: meta.get(key) for key in ("status", "job_deploy_detail", "schedule_history")}
        )

    def abort(self, job: str) -> None:
        self._session.abort_job(job)


# Kits and processes.


class GuardedServer(tcp_driver.TcpStreamServer):  # type: ignore[misc]
    """The engine's listener, with handshakes that are logged when they fail and block nobody else.

    The engine's own shakes hands while it accepts: who connects and says nothing keeps all others out,
    and who is refused leaves no line in the log.
    """

    def server_activate(self) -> None:
        super().server_activate()
        if self.ssl_context:
            self.socket.do_handshake_on_connect = False

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.ssl_context:
            try:
                request.settimeout(HANDSHAKE_SECONDS)
                request.do_handshake()
                request.settimeout(None)
            except OSError as error:
                logger.warning("connection from %s refused: %s", client_address[0], error)
                return
        super().finish_request(request, client_address)


def serve() -> None:
    """Be the server's process."""
    tcp_driver.TcpStreamServer = GuardedServer
    runpy.run_module("nvflare.private.fed.app.server.server_train", run_name="__main__", alter_sys=True)


def provision(folder: Path, name: str, host: str, port: int, sites: Sequence[str], person: str) -> Path:
    """Certificates and start-up kits; the folder that holds one kit per participant."""
    participants: list[dict[str, Any]] = [
        {"name": host, "type": "server", "org": "bc3e", "fed_learn_port": port, "admin_port": port}
    ]
    participants += [{"name": site, "type": "client", "org": "bc3e"} for site in sites]
    participants.append({"name": person, "type": "admin", "org": "bc3e", "role": "lead"})
    static = {"config_folder": "config", "scheme": "tcp", "require_signed_jobs": True}
    project = {
        "api_version": 3,
        "name": name,
        "description": name,
        "participants": participants,
        "builders": [
            {"path": "nvflare.lighter.impl.workspace.WorkspaceBuilder",
             "args": {"template_file": ["master_template.yml"]}},
            {"path": "nvflare.lighter.impl.static_file.StaticFileBuilder", "args": static},
            {"path": "nvflare.lighter.impl.cert.CertBuilder"},
            {"path": "nvflare.lighter.impl.signature.SignatureBuilder"},
        ],
    }  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()):  # the engine prints
        builders = prepare_builders(project)
        context = Provisioner(str(folder), builders, prepare_packager(project)).provision(
            prepare_project(project)
        )
    if context.get("__build_error__") or context.get("__errors__"):
        raise InputError("project", f"{context.get('__errors__')}", "Correct it.")
    return max((folder / name).glob("prod_*"))


def read_yaml(path: Path) -> Any:
    """A YAML file as plain values."""
    return load_yaml(str(path))


def command(kit: Path, name: str | None = None) -> list[str]:
    """How the process of a kit is started: the server's, or that of the named site."""
    kind = "server" if name is None else "client"
    module = (
        "bc3e.federation.engine.serving"
        if name is None
        else "nvflare.private.fed.app.client.client_train"
    )
    given = ["secure_train=true", "org=bc3e", "config_folder=config"]
    given += [] if name is None else [f"uid={name}"]
    return [
        sys.executable,
        "-u",
        "-m",
        module,
        "-m",
        str(kit),
        "-s",
        f"fed_{kind}.json",
        "--set",
        *given,
    ]
