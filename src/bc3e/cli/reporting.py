"""``--report`` and ``--report-json``: hand a fitted model to :mod:`bc3e.report`."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from bc3e.cli.errors import fault
from bc3e.cli.options import Reports
from bc3e.cli.session import Session
from bc3e.cli.sources import Source


def wanted(options: Reports) -> bool:
    """Whether any report was asked for."""
    return options.report is not None or options.report_json is not None


def check_reports(options: Reports) -> None:
    """Refuse early if reports are asked for and this installation cannot make them."""
    if wanted(options):
        _module()


def _module() -> Any:
    try:
        return import_module("bc3e.report")
    except ImportError as error:
        raise fault(
            "--report", f"reports cannot be made here ({error})", "Install bc3e again, or leave it out."
        ) from None


def write_reports(
    session: Session, options: Reports, model: Any, inputs: dict[str, Source], **parts: Any
) -> None:
    """Summarize the model and write what was asked for.

    Parameters
    ----------
    inputs : mapping from roles, such as "table" or "target", to sources
    parts : votes, clusters, ids, truth, drift
        As :func:`bc3e.report.summarize` takes them.
    """
    if not wanted(options):
        return
    maker = _module()
    context = {
        "command": session.command,
        "command_line": ["bc3e", *session.arguments],
        "inputs": {
            role: {"name": source.name, "sha256": source.sha256()} for role, source in inputs.items()
        },
        "timings": dict(session.timings),
    }
    with session.stage("report", "Making the report"):
        summary = maker.summarize(model, context=context, **parts)
        if options.report_json is not None:
            text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False).encode()
            session.outputs.write("--report-json", options.report_json, lambda f: _put(f, text))
        if options.report is not None:
            page = maker.render(summary).encode()
            session.outputs.write("--report", options.report, lambda f: _put(f, page))


def _put(stream: Any, content: bytes) -> None:
    stream.write(content)
