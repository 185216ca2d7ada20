"""Spark's session with Delta in a Java that runs already: settings that hold wherever the application runs, and an
interrupt that is raised where it is heard.

Settings are those of Spark 4 (its configuration page) and of Delta. Executors import this module too: pyspark, py4j and
the standard library are all that it imports.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from traceback import walk_stack
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by `spark-submit`: Java runs already."""
_SHARED = "DATABRICKS_RUNTIME_VERSION"
"""Set where the platform's own session must not be stopped."""

# -- settings --------------------------------------------------------------------------------------------------------

SECRETS = r"(?i)secret|password|token|hmac|access[.]?key|credential|jaas"
"""Options with such names are shown as stars in Spark's logs, pages and explanations."""

EVERYWHERE = {
    "spark.app.name": "kac lake",
    "spark.sql.session.timeZone": "UTC",
    "spark.redaction.regex": SECRETS,
    "spark.sql.redaction.options.regex": SECRETS,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Most of a small batch is the planning of its large expressions: a third of that is for these.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # The logs of these tables are small; by default their state is computed by 50 tasks.
    "spark.databricks.delta.snapshotPartitions": "1",
    # VACUUM lists a table's folders in as many tasks, whatever there is: by default in 10,000.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    # With 10, tables that are written by the same batches have their checkpoints in the same ones: +5 s.
    "spark.databricks.delta.properties.defaults.checkpointInterval": "100",
    # The least and the most of each column are found by code that each task makes again. Readers ask for a file's
    # cluster, entity and time, which are among the first.
    "spark.databricks.delta.properties.defaults.dataSkippingNumIndexedCols": "9",
    # DuckDB reads the files as they are: it would see deleted rows, or names that stand for others.
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    "spark.databricks.delta.properties.defaults.columnMapping.mode": "none",
}
_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
_MANY_ROWS = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}


def for_few_rows(spark: SparkSession) -> None:
    """Set a session for batches of up to some thousands of rows: plans are interpreted, since compiling them takes
    longer than running them. A stream's batch has a session of its own: `batch.sparkSession`."""
    _apply(spark, _FEW_ROWS)


def for_many_rows(spark: SparkSession) -> None:
    """Set a session for more rows than that: plans are compiled, and adapted to what their stages give."""
    cores = str(spark.sparkContext.defaultParallelism)
    _apply(spark, {**_MANY_ROWS, "spark.sql.shuffle.partitions": cores})


def _apply(spark: SparkSession, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        spark.conf.set(name, value)


# -- the session -----------------------------------------------------------------------------------------------------


@contextmanager
def session(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Yield a session with Delta in the Java that is there. One that `spark-submit` began for this program is stopped
    afterwards; one that a platform or the caller's program began goes on.

    Args:
        settings: in Spark's words, over those of this module. What was submitted of the master, memory and executors
            stands.
    """
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it has a line for each call
    is_shared = _is_shared()
    with heard():
        spark = made({**EVERYWHERE, **settings})
        with nullcontext() if is_shared else stopping(spark):
            yield spark


def is_there() -> bool:
    """Return whether this process has a Java with Spark already."""
    pyspark: Any = sys.modules.get("pyspark")  # where it was never imported, there is no session
    return _is_shared() or SUBMITTED in os.environ or (pyspark and pyspark.SparkContext._gateway) is not None


def _is_shared() -> bool:
    pyspark: Any = sys.modules.get("pyspark")
    return _SHARED in os.environ or (pyspark and pyspark.SparkContext._active_spark_context) is not None


def set_properties(spark: SparkSession, properties: Mapping[str, str]) -> None:
    """Set system properties of the driver's Java."""
    java: Any = spark._jvm
    for name, value in properties.items():
        java.java.lang.System.setProperty(name, value)


def made(settings: Mapping[str, str]) -> SparkSession:
    """Make the session, or give these settings to the one that is there."""
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll([*settings.items()])
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    listen()  # the context has a handler of its own
    return spark


def failures() -> tuple[type[Exception], ...]:
    """Return what is raised where Java is gone, or refuses."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException, OSError


@contextmanager
def stopping(spark: SparkSession) -> Iterator[None]:
    """Stop Spark afterwards. An interrupt may have broken the connection to Java: what that raises is not raised in
    place of the interrupt."""
    try:
        yield
    except BaseException:
        with suppress(*failures()):
            spark.stop()
        raise
    spark.stop()


# -- Ctrl-C while Spark works: raised where it is heard --------------------------------------------------------------

# What is raised inside of a finalizer is lost, and what is raised inside of `logging` may leave its lock held for ever;
# py4j logs in its finalizers. There the interrupt waits a moment, and comes again.

SECONDS_LATER = 0.02
BEGINS_JAVA = "begin_java"
"""The function that begins Java: an interrupt inside of it would leave a process without an owner."""
_DEAF = frozenset({"__del__", "_garbage_collect_object", BEGINS_JAVA})
"""Names of functions that Python or py4j calls when something is collected; and the one that begins Java."""


@contextmanager
def heard() -> Iterator[None]:
    """Raise an interrupt as KeyboardInterrupt in the main thread, for the context; afterwards it does what it did
    before.

    `listen` again after something that takes the interrupt for itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        listen()
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def listen() -> None:
    """Take the interrupt; elsewhere than in the main thread nothing happens."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def interrupted(error: BaseException | None) -> bool:
    """Return whether an interrupt was under way when the error was raised: it may have broken what failed then."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _interrupt(_: int, frame: FrameType | None) -> None:
    codes = (each.f_code for each, _ in walk_stack(frame))
    if not any(code.co_name in _DEAF or code.co_filename == logging.__file__ for code in codes):
        raise KeyboardInterrupt
    later = threading.Timer(SECONDS_LATER, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    later.daemon = True
    later.start()
