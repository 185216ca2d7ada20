"""Spark's session with Delta in a running Java: the settings for all platforms, and the handling of interrupts, which
are raised only where that is safe.

The settings are documented in Spark 4's configuration page and in Delta's documentation. Executors also import this
module: it imports only pyspark, py4j and the standard library.
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
"""The environment variable that `spark-submit` sets. If it is set, Java runs already."""
_SHARED = "DATABRICKS_RUNTIME_VERSION"
"""The environment variable of a platform whose shared session must not be stopped."""

# -- settings --------------------------------------------------------------------------------------------------------

SECRETS = r"(?i)secret|password|token|hmac|access[.]?key|credential|jaas"
"""Matches the names of options whose values Spark hides in its logs, web pages and query plans."""

EVERYWHERE = {
    "spark.app.name": "kac lake",
    "spark.sql.session.timeZone": "UTC",
    "spark.redaction.regex": SECRETS,
    "spark.sql.redaction.options.regex": SECRETS,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Most of a small batch's time goes into the planning of its large expressions; these two took a third of it.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # The logs of these tables are small; by default 50 tasks compute their state.
    "spark.databricks.delta.snapshotPartitions": "1",
    # VACUUM lists a table's folders in this number of tasks, by default 10,000.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    # With 10, tables that the same batches write would checkpoint in the same batches, which then take 5 s longer.
    "spark.databricks.delta.properties.defaults.checkpointInterval": "100",
    # For each column with statistics, each task compiles code for its minimum and maximum. Readers filter by a file's
    # cluster, entity and time, which are among the first columns.
    "spark.databricks.delta.properties.defaults.dataSkippingNumIndexedCols": "9",
    # Writing size statistics takes a twentieth of the time of a row, and no reader of these tables uses them.
    "spark.hadoop.parquet.size.statistics.enabled": "false",
    # A task writes few partitions of a table: with an open file for each, Spark need not sort the rows by partition.
    "spark.sql.maxConcurrentOutputFileWriters": "8",
    # DuckDB reads the Parquet files without Delta's log: it would see deleted rows, and mapped column names.
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
    """Configure a session for batches of at most some thousands of rows: Spark interprets query plans, since their
    compilation would take longer than their execution. A stream's batch has its own session, `batch.sparkSession`.
    """
    _apply(spark, _FEW_ROWS)


def for_many_rows(spark: SparkSession) -> None:
    """Configure a session for larger batches: Spark compiles query plans, and adapts them to the results of their
    stages.
    """
    cores = str(spark.sparkContext.defaultParallelism)
    _apply(spark, {**_MANY_ROWS, "spark.sql.shuffle.partitions": cores})


def _apply(spark: SparkSession, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        spark.conf.set(name, value)


# -- the session -----------------------------------------------------------------------------------------------------


@contextmanager
def session(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Yield a session with Delta in the running Java. At the end it is stopped if `spark-submit` started Java for this
    program; it continues if a platform or the caller started it.

    Args:
        settings: Spark's settings, which override those of this module. Submitted settings of the master, memory and
            executors take precedence.
    """
    logging.getLogger("py4j").setLevel(logging.WARNING)  # py4j logs each call
    is_shared = _is_shared()
    with heard():
        spark = made({**EVERYWHERE, **settings})
        with nullcontext() if is_shared else stopping(spark):
            yield spark


def is_there() -> bool:
    """Return whether this process already has a Java with Spark."""
    pyspark: Any = sys.modules.get("pyspark")  # if it was never imported, there is no session
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
    """Create the session with these settings, or apply them to the existing session; return it."""
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll([*settings.items()])
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    listen()  # again, as SparkContext installs its own handler
    return spark


def failures() -> tuple[type[Exception], ...]:
    """Return the classes of exceptions that py4j raises if Java has ended, or refuses a call."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException, OSError


@contextmanager
def stopping(spark: SparkSession) -> Iterator[None]:
    """Stop Spark at the end of the ``with`` block. If the block raised an error, errors of the stop are suppressed: an
    interrupt may have broken the connection to Java.
    """
    try:
        yield
    except BaseException:
        with suppress(*failures()):
            spark.stop()
        raise
    spark.stop()


# -- Ctrl-C while Spark works: raised only where it is safe ------------------------------------------------------------

# An exception raised inside a finalizer is lost, and one raised inside `logging` may leave its lock held forever; py4j
# logs in its finalizers. There the interrupt is repeated a moment later.

SECONDS_LATER = 0.02
BEGINS_JAVA = "begin_java"
"""The name of the function that starts Java: an interrupt inside it would leave a Java process that kac does
not end.
"""
_DEAF = frozenset({"__del__", "_garbage_collect_object", BEGINS_JAVA})
"""Names of the functions in which no interrupt is raised: those that Python or py4j calls for garbage collection, and
the function that starts Java.
"""


@contextmanager
def heard() -> Iterator[None]:
    """Raise interrupts (SIGINT) as KeyboardInterrupt inside the ``with`` block, except inside functions where that is
    unsafe; restore the former handler afterwards. Does nothing in other threads than the main thread.

    Call `listen` again after code that installs its own handler.
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
    """Install the handler of interrupts. Does nothing outside of the main thread, or if the process ignores
    interrupts.
    """
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def interrupted(error: BaseException | None) -> bool:
    """Return whether an interrupt came before this error, so that it may have caused the error; `error` may be None."""
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
