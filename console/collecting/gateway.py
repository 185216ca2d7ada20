"""Java with Spark, started by kac itself for a session, and stopped with it."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from console import programs
from console.lake import spark as lake_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    # Each task compiles its code again, so small data are split into few tasks.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": "65536",
    # A row of requests takes 16 bytes: by default eight million rows would be one task, for one core.
    "spark.sql.files.maxPartitionBytes": "4m",
    # Each sort and each aggregation in a task takes at least one page, which by default has 64 MB if the heap has some
    # GB.
    "spark.buffer.pageSize": "4m",
}
_HERE: Mapping[str, str | None] = {
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_HOME": None,  # the variable may be set for another Spark than the installed one
}
"""Environment variables for a Java and its Python workers on this machine; None removes a variable. Other machines have
their own settings for Python.
"""


class NotStarted(Exception):
    """Java did not start, or ended before Spark was ready; its log has the reason."""


@contextmanager
def session(
    settings: Mapping[str, str],
    *,
    java: Path = Path("java"),
    jars: Sequence[Path] = (),
    options: Sequence[str] = (),
    log: IO[bytes] | None = None,
) -> Iterator[SparkSession]:
    """Yield a session with Delta. At the end, Spark is stopped, and the Java started for it has ended or was killed. If
    Java already runs in this process, its session is used with these settings (`console.lake.spark.session`), and
    all other arguments are ignored.

    Args:
        settings: Spark's settings, which override those of `console.lake.spark`. Java gets them through its
            authenticated socket: they appear in no command line, environment or file.
        java: the program of Java.
        jars: the jars to load in addition to Spark's own, including Delta's.
        options: Java's command-line options, visible to all users of the machine.
        log: receives Java's standard output and error; None to inherit those of this process.

    Raises:
        NotStarted: Java or Spark did not start; the log has the reason.
    """
    if lake_spark.is_there():
        with lake_spark.session(settings) as spark:
            yield spark
        return
    here = is_local(settings.get("spark.master", ""))
    of_place = _ON_THIS_MACHINE if here else {"spark.jars": ",".join(map(str, jars))}
    chosen = {**lake_spark.EVERYWHERE, **of_place, **settings}
    heap = f"-Xmx{chosen.get('spark.driver.memory', '1g')}"
    command = [str(java), *java_options(jars, () if here else _conf_folders()), heap, *options, _SUBMIT]
    variables = _HERE if here else {}
    logging.getLogger("py4j").setLevel(logging.WARNING)  # py4j logs each call
    with lake_spark.heard(), _running(command, variables, _scratch(chosen), log, defaults=not here) as gateway:
        with environment({**variables, **gateway}):
            try:
                spark = lake_spark.made(chosen)
            except lake_spark.failures() as error:
                raise NotStarted(str(error)) from error
        with lake_spark.stopping(spark):
            yield spark


def is_local(master: str | None) -> bool:
    """Return whether Spark's tasks run in the driver's own Java. master: Spark's master, such as `yarn`; None for
    `local[*]`.
    """
    return master is None or master.startswith("local")


@contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables until the end of the ``with`` block; None unsets a variable."""
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


# -- Java ------------------------------------------------------------------------------------------------------------

SECONDS_TO_END = 20.0
"""Seconds after which Java is killed if it has not ended by itself."""
_SECONDS_BETWEEN_CHECKS = 0.01

_OPENED = (
    *(f"java.base/java.{name}" for name in ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")),
    *("java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref"),
    *("java.base/sun.nio.ch", "java.base/sun.nio.cs", "java.base/sun.security.action"),
    *("java.base/sun.util.calendar", "java.security.jgss/sun.security.krb5"),
)
"""Packages of Java that Spark accesses by reflection; Spark's own launcher opens the same packages."""
_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",  # older Javas do not have all of these
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    *("--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"),
    *("-Dio.netty.tryReflectionSetAccessible=true", "-Dio.netty.allocator.type=pooled"),
    # These two options save more than half of the processor time of a start.
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    # With the option TieredStopAtLevel=1, Java reserves only 48 MB for compiled code. Spark's code is larger after some
    # batches: a thread of Java then looks for code to discard, which has to be compiled again later.
    "-XX:ReservedCodeCacheSize=240m",
    # Without these options, the heap grows to twice the size of its content; the more frequent collections take no more
    # processor time.
    *("-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=25"),
)

_SUBMIT = "org.apache.spark.deploy.SparkSubmit"


def java_options(jars: Sequence[Path], folders: Sequence[Path] = ()) -> list[str]:
    """Return Java's options for Spark: its class path with `jars` and `folders`, and the options in `_OPTIONS`. A
    class archive is valid only for the options with which it was dumped, and only if the class path has no
    folders.
    """
    [spark] = find_spec("pyspark").submodule_search_locations  # type: ignore[union-attr,misc]
    own = sorted(Path(spark, "jars").glob("*.jar"))
    path = os.pathsep.join(map(str, (*folders, *own, *jars)))
    return ["-cp", path, *_OPTIONS]


def _conf_folders() -> list[Path]:
    """Return the folders with configuration files of a Hadoop or Spark cluster, which Spark's launcher also adds to the
    class path; empty if the environment names none.
    """
    named = (os.environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"))
    return [Path(each).absolute() for each in named if each]


def _scratch(settings: Mapping[str, str]) -> str | None:
    """Return the folder for temporary files in Spark's settings (`spark.local.dir`); None if it is not set or does not
    exist.
    """
    named = settings.get("spark.local.dir")
    return named if named and Path(named).is_dir() else None


@contextmanager
def _running(
    command: Sequence[str],
    variables: Mapping[str, str | None],
    scratch: str | None,
    log: IO[bytes] | None,
    *,
    defaults: bool,
) -> Iterator[Mapping[str, str]]:
    """Run Java inside the ``with`` block. Yield the environment variables by which pyspark finds it. Raises NotStarted.

    Args:
        command: the words of the command line.
        variables: environment variables to set for Java; None removes one.
        scratch: the folder for temporary files; None for the system's.
        log: receives Java's standard output and error; None to inherit those of this process.
        defaults: whether Java reads `spark-defaults.conf` itself.
    """
    begun: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="kac-java-", dir=scratch, ignore_cleanup_errors=True) as folder:
        told, empty = Path(folder, "gateway"), Path(folder, "empty.properties")
        empty.touch()
        rest = ("pyspark-shell",) if defaults else ("--properties-file", str(empty), "pyspark-shell")
        # Java's Python workers on this machine get the modules of this Python; workers on other machines get theirs
        # from the master.
        modules = {} if defaults else programs.own_modules()
        own = {**modules, **variables, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told)}
        try:
            begin_java(begun, programs.interpreter([*command, *rest], Path(folder), own), log)
            yield _gateway(begun[0], told)
        finally:
            for process in begun:
                _end(process)


def begin_java(
    begun: list[subprocess.Popen[bytes]],
    program: programs.Program,
    log: IO[bytes] | None,
) -> None:
    """Start Java and append its process to `begun`. No interrupt is raised inside this function (`console.lake.spark`):
    the started process would not be in the list. Raises NotStarted: the program can't be run.
    """
    try:
        begun.append(
            programs.started(
                program,
                stdin=subprocess.PIPE,  # Java ends when this pipe is closed, even if this process is killed
                stdout=log,
                stderr=log,
                preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_IGN),
            )
        )
    except OSError as error:
        raise NotStarted(f"{program.words[0]}: {error.strerror or error}") from error


def _gateway(process: subprocess.Popen[bytes], told: Path) -> Mapping[str, str]:
    """Wait until Java has written its port and secret into the file `told` (4 bytes of port, 4 bytes of the secret's
    length, the secret), and return them as environment variables. Raises NotStarted: Java ended before.
    """
    while not told.exists():
        if process.poll() is not None:
            raise NotStarted(f"Java ended with {process.returncode} before Spark was there")
        time.sleep(_SECONDS_BETWEEN_CHECKS)
    data = told.read_bytes()
    return {
        lake_spark.SUBMITTED: str(int.from_bytes(data[:4], "big")),
        "PYSPARK_GATEWAY_SECRET": data[8 : 8 + int.from_bytes(data[4:8], "big")].decode(),
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for Java, which ends when its standard input is closed. Kill it if it takes more than 20 s
    (`SECONDS_TO_END`), or if the run was interrupted.
    """
    pyspark: Any = sys.modules.get("pyspark")
    if pyspark is not None:
        gateway = pyspark.SparkContext._gateway
        pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
        if gateway is not None:
            with suppress(*lake_spark.failures()):
                gateway.shutdown()
    try:
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=SECONDS_TO_END)  # closes Java's input
    finally:
        process.kill()
        process.wait()
