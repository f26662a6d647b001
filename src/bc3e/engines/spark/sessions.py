"""A Spark session, after a look at what it needs: PySpark, and Java 17 or newer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST = 17
INSTALL_JAVA = (
    f"Install Java {OLDEST} (Debian: apt-get install openjdk-17-jre-headless) and set JAVA_HOME to it."
)
INSTALL_SPARK = 'Install it: pip install "bc3e[spark]"'


class EngineError(RuntimeError):
    """Something that Spark needs and that is not there."""


def session(master: str = "local[*]", config: Mapping[str, Any] | None = None) -> SparkSession:
    """A Spark session, the running one if there is one.

    Parameters
    ----------
    master : str
        Where Spark runs: ``local[2]`` for two threads of this machine, or the
        address of a cluster.
    config : mapping, optional
        Settings of Spark, by their names.

    Raises
    ------
    EngineError
        PySpark or Java is missing, or Java is too old.
    """
    check_spark()
    check_java()
    from pyspark.sql import SparkSession

    if master.startswith("local"):  # workers are this machine's: they need the packages of this Python
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("bc3e")
    for name, value in (config or {}).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def check_spark() -> None:
    """Refuse to go on without PySpark."""
    if find_spec("pyspark") is None:
        raise EngineError(f"PySpark is not installed. {INSTALL_SPARK}")


def check_java() -> None:
    """Refuse to go on without a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else shutil.which("java")
    if program is None:
        raise EngineError(f"Java was not found: no JAVA_HOME, no java on the PATH. {INSTALL_JAVA}")
    try:
        # "java -version" writes to the standard error
        told = subprocess.run([program, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        where = f"JAVA_HOME is {home}, but {program}" if home else str(program)
        raise EngineError(f"{where} does not run. {INSTALL_JAVA}") from None
    found = java_version(told)
    if found is not None and found < OLDEST:
        raise EngineError(f"{program} is Java {found}; Spark needs {OLDEST} or newer. {INSTALL_JAVA}")


def java_version(told: str) -> int | None:
    """The major version in what ``java -version`` prints; None if there is none.

    Examples
    --------
    >>> java_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> java_version('java version "1.8.0_401"')
    8
    """
    match = re.search(r'version "(?:1\.)?(\d+)', told)
    return None if match is None else int(match.group(1))


@contextmanager
def understood() -> Iterator[None]:
    """Say in one line what is wrong if a worker lacks a package."""
    from pyspark.errors import PythonException

    try:
        yield
    except PythonException as error:
        missing = re.search(r"ModuleNotFoundError: No module named '([^'.]+)", str(error))
        if missing is None:
            raise
        raise EngineError(
            f"The Python of the workers has no {missing.group(1)}. Install bc3e there "
            '(pip install "bc3e[spark]") and let PYSPARK_PYTHON name that Python.'
        ) from None
