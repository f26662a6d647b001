"""A Spark session in this process, for one file of tests after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from bc3e.engines import spark as engine
from tests.engines.spark.tables import CONFIG


@pytest.fixture(autouse=True, scope="session")
def at_home() -> Iterator[None]:
    """Spark talks to 127.0.0.1 only, and its workers run this Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "SPARK_LOCAL_IP", "127.0.0.1")
        patch.setitem(os.environ, "PYSPARK_PYTHON", sys.executable)
        # Java compiles a little instead of much: these processes live for seconds.
        patch.setitem(os.environ, "JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    session = engine.session("local[2]", CONFIG)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
