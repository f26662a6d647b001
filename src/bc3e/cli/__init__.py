"""What people type: one file per command, put together in :mod:`bc3e.cli.main`."""
