"""The ``bc3e`` command: every subcommand in its own file, heavy imports only when it is run."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from bc3e.cli import adapt, compare, demo, drift, refine, reproduce, validate
from bc3e.cli.command import StopError, add_command
from bc3e.cli.errors import CommandError, explain, one_line
from bc3e.cli.federate import federate_app
from bc3e.errors import InputError

USAGE, FAULT, PIPE = 2, 3, 141
DEBUG = "BC3E_DEBUG"  # set it to see where an unexpected error came from

app = typer.Typer(
    name="bc3e",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def _version(value: bool) -> None:
    if value:
        from bc3e import __version__

        print(f"bc3e {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Refine what trained classifiers say about drifted, unlabelled data with clusterings of it.

    Exit codes: 0 all is well, 1 a --fail-on threshold was met, 2 bad usage or input, 3 a fault of bc3e,
    4 a federated run was interrupted and can be resumed.
    """


for _name, _module in {
    "refine": refine,
    "adapt": adapt,
    "compare": compare,
    "drift": drift,
    "validate": validate,
    "demo": demo,
    "reproduce": reproduce,
}.items():
    add_command(app, _name, _module.run, _module.GROUPS, _module.EXAMPLES)
app.add_typer(federate_app)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; errors are one line on standard error."""
    command = typer.main.get_command(app)
    names = list(getattr(command, "commands", {}))
    who = f"bc3e {arguments[0]}" if arguments and arguments[0] in names else "bc3e"
    try:
        with _one_line_warnings(who), _stoppable():
            with command.make_context("bc3e", list(arguments), obj=list(arguments)) as context:
                command.invoke(context)
            return 0
    except typer.Exit as done:
        return done.exit_code
    except StopError as stopped:
        _say(who, "interrupted" if stopped.committed else "interrupted; nothing was written")
        return 130
    except KeyboardInterrupt:
        _say(who, "interrupted; nothing was written")
        return 130
    except BrokenPipeError:
        return _hang_up()
    except SystemExit:  # how rich, which draws the help, leaves when the reader has gone
        return PIPE
    except UsageError as error:
        return _explain_usage(who, error)
    except (CommandError, InputError, OSError) as error:
        _say(who, f"error: {explain(error)}")
        return USAGE
    except MemoryError:
        _say(who, "error: out of memory. Use fewer rows or columns, or a larger machine.")
        return FAULT
    except Exception as error:
        if os.environ.get(DEBUG):
            traceback.print_exc()
        _say(who, f"internal error: {type(error).__name__}: {error}. Set {DEBUG}=1 for details.")
        return FAULT


def main() -> None:
    """Entry point of the ``bc3e`` script."""
    if any(name.startswith("_BC3E_COMPLETE") for name in os.environ):
        app()
    if sys.stderr is None:  # closed by the caller: nobody reads, nothing breaks
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    code = run(sys.argv[1:])
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        code = _hang_up()
    except OSError as error:
        _say("bc3e", f"error: standard output: {error.strerror}. Free some space.")
        code = _hang_up() and USAGE
    sys.stderr.flush()
    os._exit(code)  # all is written: taking millions of objects apart would only cost time


def _say(who: str, text: str) -> None:
    print(f"{who}: {one_line(text)}", file=sys.stderr)


def _explain_usage(who: str, error: Any) -> int:
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message, file=sys.stderr)
        return USAGE
    hint = "Separate columns by commas, and quote globs. " if "extra argument" in message else ""
    end = "" if message.endswith("?") else "."
    _say(who, f"error: {message.rstrip('.')}{end} {hint}See '{who} --help'.")
    return USAGE


def _hang_up() -> int:
    """The reader of standard output has gone: leave without a word, and without Python's."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE


@contextmanager
def _one_line_warnings(who: str) -> Iterator[None]:
    """Warnings of libraries as one line each, once."""
    seen: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = one_line(str(message))
        if text not in seen:
            seen.add(text)
            _say(who, f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=PendingDeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", category=ResourceWarning)  # a file that a signal fell upon
        warnings.showwarning = show
        yield


@contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C, termination and hang-up all end in the same cleaning up; once, a second one waits."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = {number: signal.getsignal(number) for number in numbers}

    def stop(number: int, frame: Any) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in numbers:
        if before[number] is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
