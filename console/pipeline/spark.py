"""Spark's session with Delta: Java started at once and directly, settings that hold wherever the pipeline runs, and an
end that leaves no process.

Settings are those of Spark 4 (its configuration page) and of Delta. Executors import this module too: pyspark, py4j and
the standard library are all it may import, and what takes time is imported while Java starts.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_stack
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from console.programs import Program

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by `spark-submit`: Java runs already."""
_SHARED = "DATABRICKS_RUNTIME_VERSION"
"""Set where the platform's own session must not be stopped."""

# -- settings --------------------------------------------------------------------------------------------------------

_SECRETS = r"(?i)secret|password|token|hmac|access[.]?key|credential|jaas"
"""Options with such names are shown as stars in Spark's logs, pages and explanations."""

_EVERYWHERE = {
    "spark.app.name": "kac lake",
    "spark.sql.session.timeZone": "UTC",
    "spark.redaction.regex": _SECRETS,
    "spark.sql.redaction.options.regex": _SECRETS,
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
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    # Each task makes its code again: one for what is small.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": "65536",
    # Each sort and each aggregation of a task takes a page at least: of a heap of some GB by default one of 64 MB.
    "spark.buffer.pageSize": "4m",
}
_HERE: Mapping[str, str | None] = {
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_HOME": None,  # may be of another Spark than the installed one
}
"""What Java and its Python workers read of the environment, on this machine; on others Python is where they say."""
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


class NotStarted(Exception):
    """Java did not start, or ended before Spark was there; its log says why."""


@contextmanager
def session(
    settings: Mapping[str, str],
    *,
    java: Path = Path("java"),
    jars: Sequence[Path] = (),
    options: Sequence[str] = (),
    log: IO[bytes] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[SparkSession]:
    """Yield a session with Delta; afterwards Spark is stopped, and the Java that was begun for it has ended, whatever
    happened.

    Under `spark-submit` Java is there already: its session gets the settings, the other arguments count for nothing,
    and what was submitted of the master, memory and executors stands. A session that a platform or the caller's program
    began is used, and goes on.

    Args:
        settings: in Spark's words, over those of this module. Java gets them through its authenticated socket: none is
            in a command line, the environment or a file.
        java: the program.
        jars: what Java gets beside Spark's own, Delta's among them.
        options: Java's own, for all to see.
        log: where Java writes what it would write to the terminal.
        meanwhile: called while Java starts, to import what is needed next.

    Raises:
        NotStarted: Java or Spark did not start; the log says why.
    """
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it has a line for each call
    pyspark: Any = sys.modules.get("pyspark")  # where it was never imported, there is no session
    shared = _SHARED in os.environ or (pyspark is not None and pyspark.SparkContext._active_spark_context is not None)
    has_java = _SUBMITTED in os.environ or (pyspark is not None and pyspark.SparkContext._gateway is not None)
    with heard():
        if shared or has_java:
            spark = _made({**_EVERYWHERE, **settings})
            with nullcontext() if shared else stopping(spark):
                yield spark
            return
        here = is_local(settings.get("spark.master", ""))
        of_place = _ON_THIS_MACHINE if here else {"spark.jars": ",".join(map(str, jars))}
        chosen = {**_EVERYWHERE, **of_place, **settings}
        heap = f"-Xmx{chosen.get('spark.driver.memory', '1g')}"
        command = [str(java), *java_options(jars, () if here else _conf_folders()), heap, *options, _SUBMIT]
        variables = _HERE if here else {}
        with _running(command, variables, _scratch(chosen), log, defaults=not here) as gateway:
            meanwhile()
            with environment({**variables, **gateway()}):
                try:
                    spark = _made(chosen)
                except _failures() as error:
                    raise NotStarted(str(error)) from error
            with stopping(spark):
                yield spark


def is_local(master: str | None) -> bool:
    """Return whether tasks run in the driver's own Java; None: where kac runs them by itself."""
    return master is None or master.startswith("local")


def set_properties(spark: SparkSession, properties: Mapping[str, str]) -> None:
    """Set system properties of the driver's Java."""
    java: Any = spark._jvm
    for name, value in properties.items():
        java.java.lang.System.setProperty(name, value)


def _made(settings: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll([*settings.items()])
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    listen()  # the context has a handler of its own
    return spark


def _failures() -> tuple[type[Exception], ...]:
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
        with suppress(*_failures()):
            spark.stop()
        raise
    spark.stop()


@contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables of the environment for the context, or unset them: None."""
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
"""How long Java may take to end before it is killed."""
_SECONDS_BETWEEN_CHECKS = 0.01

_OPENED = (
    *(f"java.base/java.{name}" for name in ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")),
    *("java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref"),
    *("java.base/sun.nio.ch", "java.base/sun.nio.cs", "java.base/sun.security.action"),
    *("java.base/sun.util.calendar", "java.security.jgss/sun.security.krb5"),
)
"""Packages of Java that Spark looks into; its own launcher opens the same."""
_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",  # some of these are of newer Javas
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    *("--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"),
    *("-Dio.netty.tryReflectionSetAccessible=true", "-Dio.netty.allocator.type=pooled"),
    # Half of the processor's time of a start, and more, is saved by these two.
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    # With the first of them Java keeps 48 MB of compiled code, and Spark has more after some batches: what does not fit
    # is thrown away, looked for by a thread of its own, and compiled again.
    "-XX:ReservedCodeCacheSize=240m",
    # Otherwise the heap grows to twice of what it holds; collecting more often takes no more of the processor.
    *("-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=25"),
)

_SUBMIT = "org.apache.spark.deploy.SparkSubmit"


def java_options(jars: Sequence[Path], folders: Sequence[Path] = ()) -> list[str]:
    """Return Java's options for Spark: its class path, and what Spark needs to be open. A class archive fits where they
    are the same; with folders in the class path none does."""
    [spark] = find_spec("pyspark").submodule_search_locations  # type: ignore[union-attr,misc]
    own = sorted(Path(spark, "jars").glob("*.jar"))
    path = os.pathsep.join(map(str, (*folders, *own, *jars)))
    return ["-cp", path, *_OPTIONS]


def _conf_folders() -> list[Path]:
    """Return the folders of a cluster's own files, as Spark's launcher has them."""
    named = (os.environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"))
    return [Path(each).absolute() for each in named if each]


def _scratch(settings: Mapping[str, str]) -> str | None:
    """Return Spark's own folder for temporary files, if it is set and exists."""
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
) -> Iterator[Callable[[], Mapping[str, str]]]:
    """Run Java for the context. Yields what waits for it and returns the variables by which pyspark finds it.

    defaults: whether the settings count that `spark-defaults.conf` has for all programs.
    """
    from console.programs import interpreter, own_modules  # executors have no such module, and start no Java

    begun: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="kac-java-", dir=scratch, ignore_cleanup_errors=True) as folder:
        told, empty = Path(folder, "gateway"), Path(folder, "empty.properties")
        empty.touch()
        rest = ("pyspark-shell",) if defaults else ("--properties-file", str(empty), "pyspark-shell")
        # Its Python workers find what this Python finds; those of other machines get what they need from the master.
        modules = {} if defaults else own_modules()
        own = {**modules, **variables, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told)}
        try:
            _begin_java(begun, interpreter([*command, *rest], Path(folder), own), log)
            yield lambda: _gateway(begun[0], told)
        finally:
            for process in begun:
                _end(process)


def _begin_java(
    begun: list[subprocess.Popen[bytes]],
    program: Program,
    log: IO[bytes] | None,
) -> None:
    """Start Java, for the list. No interrupt is raised in here: it would be of a process that is in no list."""
    from console.programs import started

    try:
        begun.append(
            started(
                program,
                stdin=subprocess.PIPE,  # Java ends when it is closed: with this process, whatever becomes of it
                stdout=log,
                stderr=log,
                preexec_fn=_ignore_interrupts,
            )
        )
    except OSError as error:
        raise NotStarted(f"{program.words[0]}: {error.strerror or error}") from error


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _gateway(process: subprocess.Popen[bytes], told: Path) -> Mapping[str, str]:
    """Wait for Java to tell its port and secret: 4 bytes, 4 bytes of the secret's length, the secret."""
    while not told.exists():
        if process.poll() is not None:
            raise NotStarted(f"Java ended with {process.returncode} before Spark was there")
        time.sleep(_SECONDS_BETWEEN_CHECKS)
    data = told.read_bytes()
    return {
        _SUBMITTED: str(int.from_bytes(data[:4], "big")),
        "PYSPARK_GATEWAY_SECRET": data[8 : 8 + int.from_bytes(data[4:8], "big")].decode(),
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for Java, which ends when its standard input does; it is killed where it takes too long or the run was
    interrupted.
    """
    pyspark: Any = sys.modules.get("pyspark")
    if pyspark is not None:
        gateway = pyspark.SparkContext._gateway
        pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
        if gateway is not None:
            with suppress(*_failures()):
                gateway.shutdown()
    try:
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=SECONDS_TO_END)  # closes it
    finally:
        process.kill()
        process.wait()


# -- Ctrl-C while Spark works: raised where it is heard --------------------------------------------------------------

# What is raised inside of a finalizer is lost, and what is raised inside of `logging` may leave its lock held for ever;
# py4j logs in its finalizers. There the interrupt waits a moment, and comes again.

SECONDS_LATER = 0.02
_DEAF = frozenset({"__del__", "_garbage_collect_object", _begin_java.__name__})
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
