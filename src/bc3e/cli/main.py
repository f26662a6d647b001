"""The ``bc3e`` command: every subcommand in its own file, imported when it is run."""

from __future__ import annotations

import typer

from bc3e.cli.federate import federate_app

app = typer.Typer(
    name="bc3e",
    help="Refine what trained classifiers say about drifted, unlabelled data with clusterings of it.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

app.add_typer(federate_app)


@app.callback()
def root() -> None:
    """Refine what trained classifiers say about drifted, unlabelled data with clusterings of it."""


@app.command()
def demo() -> None:
    """Digits, drifted: classifiers, soft vote and BC3E in one table."""
    from bc3e.experiments import demo as digits

    digits.main()


def main() -> None:
    """Run the command line."""
    app()
