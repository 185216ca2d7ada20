"""Spark's session: started with settings that hold wherever the pipeline runs, and ended with the Java that it began.

Settings are those of Spark 4 (its configuration page). What `spark-submit` or a cluster's own files say of the master,
memory and executors stands: only what is given here is set.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

SECONDS_TO_END = 20
"""How long Java may take to end before it is killed."""

_SECRETS = r"(?i)secret|password|token|hmac|access[.]?key|credential"
"""Options with such names are shown as stars in Spark's logs, pages and explanations."""

_EVERYWHERE = {
    "spark.sql.session.timeZone": "UTC",
    "spark.redaction.regex": _SECRETS,
    "spark.sql.redaction.options.regex": _SECRETS,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@dataclass(frozen=True)
class Settings:
    """How Spark is started.

    master: None takes what `spark-submit` says. memory: the driver's, as Spark spells it (`2g`); where the master is
    local it is all there is. java_options: for the driver's Java. more: any other of Spark's settings.
    """

    name: str = "kac lake"
    master: str | None = None
    memory: str | None = None
    shuffle_partitions: int | None = None
    java_options: tuple[str, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def local(self) -> bool:
        """Whether all of it is on this machine."""
        return self.master is not None and self.master.startswith("local")


def spark_settings(settings: Settings) -> dict[str, str]:
    """The same in Spark's own words."""
    made = dict(_EVERYWHERE)
    if settings.master is not None:
        made["spark.master"] = settings.master
    if settings.local:
        made |= _ON_THIS_MACHINE
    if settings.memory is not None:
        made["spark.driver.memory"] = settings.memory
    if settings.shuffle_partitions is not None:
        made["spark.sql.shuffle.partitions"] = str(settings.shuffle_partitions)
    if settings.java_options:
        made["spark.driver.extraJavaOptions"] = " ".join(settings.java_options)
    return made | dict(settings.more)


@contextmanager
def session(settings: Settings, log: IO[bytes] | None = None) -> Iterator[SparkSession]:
    """A session; afterwards Spark is stopped, and the Java that was begun for it has ended, whatever happened.

    log: where Java writes what it would write to the terminal. Under `spark-submit` Java is there already, and stays.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf(loadDefaults=False).setAppName(settings.name)
    conf.setAll(list(spark_settings(settings).items()))
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        spark = SparkSession.builder.config(conf=conf).getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
        return
    gateway: Any = launch_gateway(conf, popen_kwargs={"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    try:
        spark = SparkSession(SparkContext(gateway=gateway, conf=conf))
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        _end(gateway)


def _end(gateway: Any) -> None:
    """Java ends when its standard input does."""
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    process: subprocess.Popen[bytes] = gateway.proc
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
