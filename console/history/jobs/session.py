"""Spark's session: started with settings that hold wherever the pipeline runs, and ended with the Java that it began.

Settings are those of Spark 4 (its configuration page). What `spark-submit` or a cluster's own files say of the master,
memory and executors stands: only what is given here is set.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from .interrupts import heard, listen

SECONDS_TO_END = 20.0
"""How long Java may take to end before it is killed."""

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by `spark-submit`: Java runs already."""
_SHARED = "DATABRICKS_RUNTIME_VERSION"
"""Set where the platform's own session must not be stopped."""

_SECRETS = r"(?i)secret|password|token|hmac|access[.]?key|credential"
"""Options with such names are shown as stars in Spark's logs, pages and explanations."""

_EVERYWHERE = {
    "spark.app.name": "kac lake",
    "spark.sql.session.timeZone": "UTC",
    "spark.redaction.regex": _SECRETS,
    "spark.sql.redaction.options.regex": _SECRETS,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Most of a small build is the planning of its large expressions: a third of that is for these.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
}
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_VARIABLES = {
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_DRIVER_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
    # For the short Java that only says how the long one is to be started.
    "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""What Java and its Python workers read of the environment, on this machine."""


class NotStarted(Exception):
    """Java did not start, or ended before Spark was there; its log says why."""


@contextmanager
def session(settings: Mapping[str, str], log: IO[bytes] | None = None) -> Iterator[SparkSession]:
    """A session; afterwards Spark is stopped, and the Java that was begun for it has ended, whatever happened.

    settings: in Spark's own words. log: where Java writes what it would write to the terminal. Under `spark-submit`
    Java is there already, and stays; a session that the caller's program began is used and goes on.

    Raises:
        NotStarted: the log says why.
    """
    is_local = settings.get("spark.master", "").startswith("local")
    conf = SparkConf(loadDefaults=False)
    conf.setAll([*{**_EVERYWHERE, **(_ON_THIS_MACHINE if is_local else {}), **settings}.items()])
    # On other machines Python is where their settings say.
    missing = {name: value for name, value in _VARIABLES.items() if is_local and name not in os.environ}
    with environment(missing), heard():
        shared = SparkContext._active_spark_context is not None or _SHARED in os.environ
        if shared or _SUBMITTED in os.environ:
            spark = SparkSession.builder.config(conf=conf).getOrCreate()
            with nullcontext() if shared else stopping(spark):
                yield spark
            return
        gateway = _java(conf, log)
        try:
            try:
                spark = SparkSession(SparkContext(gateway=gateway, conf=conf))
            except Py4JError as error:
                raise NotStarted(str(error)) from error
            listen()  # the context has a handler of its own
            with stopping(spark):
                yield spark
        finally:
            _end(gateway)


@contextmanager
def stopping(spark: SparkSession) -> Iterator[None]:
    """Stop Spark afterwards. An interrupt may have broken the connection to Java: what that raises is not raised in
    place of the interrupt."""
    try:
        yield
    except BaseException:
        with suppress(Py4JError, OSError):
            spark.stop()
        raise
    spark.stop()


def _java(conf: SparkConf, log: IO[bytes] | None) -> Any:
    others = _children()
    try:
        return launch_gateway(conf, popen_kwargs={"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    except BaseException as error:
        # Of a start that was interrupted nothing is returned by which Java could be ended.
        for process in _children() - others:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if isinstance(error, (PySparkRuntimeError, OSError)):
            raise NotStarted(str(error)) from error
        raise


def _children() -> set[int]:
    """The processes that this one has begun."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found.update(map(int, thread.read_text().split()))
    return found


@contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Sets variables of the environment for the context, or unsets them: None."""
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set(variables)
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def _end(gateway: Any) -> None:
    """Java ends when its standard input does; it is killed where it takes too long or the run was interrupted."""
    SparkContext._gateway = SparkContext._jvm = None
    process: subprocess.Popen[bytes] = gateway.proc
    try:
        with suppress(Py4JError, OSError):
            gateway.shutdown()
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=SECONDS_TO_END)  # closes it
    finally:
        process.kill()
        process.wait()
