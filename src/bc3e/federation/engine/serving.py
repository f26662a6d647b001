"""The server's process: ``python -m bc3e.federation.engine.serving`` with the engine's own arguments."""

from __future__ import annotations

from bc3e.federation.engine import flare

if __name__ == "__main__":
    flare.serve()
