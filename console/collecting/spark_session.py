"""Spark sessions for `kac lake`: with the Java and the memory of this machine, without output on the terminal, and with
all temporary files deleted afterwards.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

from console.collecting import java as collecting_java
from console.collecting.executor_package import write_package
from console.collecting.gateway import NotStarted, is_local, java_options, session
from console.collecting.operator_settings import settings_of_file
from console.extras import how_to_add
from console.log_file import state_directory
from console.safe_files import open_private, private_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# -- memory and processors of this machine, or of its container ------------------------------------------------------

MIB = 1 << 20
LEAST_MEMORY = 1024 * MIB
MOST_MEMORY = 16 * 1024 * MIB
"""Maximum size in bytes of Java's heap: a larger heap would not make Spark faster on one machine."""


@dataclass(frozen=True)
class Machine:
    """The memory and the processors that a process may use on a machine."""

    memory: int
    """The maximum memory of a process, in bytes."""
    free: int
    """The bytes of `memory` that are unused."""
    cores: int
    """The number of processors that the process may use."""

    @property
    def for_spark(self) -> int:
        """The size in bytes of the heap of Spark's Java: half of the free memory, but at least `LEAST_MEMORY` and at
        most `MOST_MEMORY`. Python, Arrow and the file cache need the rest.
        """
        return max(LEAST_MEMORY, min(self.free // 2, MOST_MEMORY)) // MIB * MIB


def this_machine(root: Path = Path("/")) -> Machine:
    """Return the memory of this machine, or of its container if that has less, and the number of processors that this
    process may use. root: the folder that contains `proc` and `sys`.
    """
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines) if rest}
        memory, free = sizes["MemTotal"], sizes["MemAvailable"]
    except (OSError, KeyError, ValueError, IndexError):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        free = memory // 2
    # Read the limits of control groups: version 2, then version 1.
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):  # the file is missing, or has "max"
            most, taken = (int((root / "sys/fs/cgroup" / name).read_text()) for name in (limit, used))
            memory, free = min(memory, most), min(free, max(0, most - taken))
    return Machine(
        memory, free, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


# -- the session -----------------------------------------------------------------------------------------------------

MOST_LOG = 2 * MIB


def spark_log(environ: Mapping[str, str]) -> Path:
    """Return the path of Spark's log."""
    return state_directory(environ) / "spark.log"


def ready(
    environ: Mapping[str, str], groups: Collection[collecting_java.Group], say: Callable[[str], None] = lambda _: None
) -> tuple[collecting_java.Java, tuple[Path, ...]]:
    """Return the first Java that can run Spark, and the paths of the jars for these purposes; missing jars are fetched.

    Args:
        say: called with a line when jars are fetched.

    Raises:
        NoSpark: a requirement is missing; the text has a remedy.
    """
    if find_spec("pyspark") is None:
        raise collecting_java.NoSpark(f"Spark is not installed: {how_to_add('lake')}, then run this again")
    java = collecting_java.find_java(environ)
    return java, collecting_java.spark_jars(environ, groups, java.program, say)


@contextmanager
def lake_session(
    environ: Mapping[str, str],
    *,
    master: str | None = None,
    groups: Collection[collecting_java.Group] = (collecting_java.Group.DELTA,),
    settings: Mapping[str, str] = MappingProxyType({}),
    conf: Mapping[str, str] = MappingProxyType({}),
    is_whole: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[SparkSession]:
    """Yield a session with Delta. At the end of the ``with`` block all its files are deleted except for Spark's log.

    Args:
        master: the master of Spark, such as `spark://…` or `yarn`; None for `local[*]`, this machine.
        groups: the purposes of the jars: `groups_of` returns those of a lake.
        settings: Spark's settings for the lake; may contain secrets.
        conf: the operator's settings, which override those in Spark's own file; neither may contain a setting that kac
            makes itself (`operator_settings`).
        is_whole: whether the session does all the work of an update, so that its loaded classes may become a class
            archive.
        say: called with a line when jars are fetched, and when Spark starts.

    Raises:
        NoSpark: a requirement is missing, or Spark did not start; the text has the error.
    """
    java, jars = ready(environ, groups, say)
    where = master or "local[*]"
    here = is_local(where)
    # On a cluster, Java reads Spark's file of defaults itself.
    given = {**(settings_of_file(environ) if here else {}), **conf}
    with scratch_folder(Path(tempfile.gettempdir())) as scratch, _log(environ) as log:
        own = {"spark.master": where, **(_on_this_machine(scratch) if here else {})}
        # Spark creates folders in the directory for temporary files, and a killed run does not remove them.
        options = [f"-Djava.io.tmpdir={scratch}"]
        recording = scratch / "classes"
        archive = collecting_java.archive_of(environ, java, java_options(jars))
        if here:
            options += collecting_java.start_options(archive, recording if is_whole else None)
        say("starting Spark")
        start = log.tell()
        try:
            told = {**own, **given, **settings}
            with session(told, java=java.program, jars=jars, options=options, log=log) as spark:
                if not here:
                    # Executors on other machines need kac; local ones find the installed package.
                    spark.sparkContext.addPyFile(str(write_package(scratch / "kac-lake.zip")[0]))
                yield spark
            if recording.exists() and collecting_java.begin(archive, recording) is not None:
                say("in the background for a minute: an archive of Java's classes, by which the next start is faster")
        except NotStarted as error:
            path = spark_log(environ)
            said = _first_error(path, start) or error
            raise collecting_java.NoSpark(
                f"Spark did not start: {said}; {path} has the whole log; run kac lake doctor"
            ) from None


def _on_this_machine(scratch: Path) -> dict[str, str]:
    """Return Spark's settings for a session whose tasks run in its own Java. scratch: the folder for its temporary
    files.
    """
    machine = this_machine()
    return {
        "spark.driver.memory": f"{machine.for_spark // MIB}m",
        "spark.sql.shuffle.partitions": str(machine.cores),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        # S3A keeps its uploads in this folder; by default it is in /tmp, where other users can read it.
        "spark.hadoop.hadoop.tmp.dir": str(scratch),
    }


@contextmanager
def scratch_folder(base: Path) -> Iterator[Path]:
    """Yield a folder for Spark's temporary files, which is deleted at the end of the ``with`` block. The folders of
    killed runs are also deleted.

    All folders of a user are in ``kac-spark-UID`` in `base`: a folder ``run-…`` for each run, which holds a lock on it
    while it runs. Nothing else is deleted. Raises NoSpark: the folder can't be created.
    """
    home = base / f"kac-spark-{os.getuid()}"
    try:
        home.mkdir(mode=0o700, exist_ok=True)
        found = home.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise collecting_java.NoSpark(
                f"{home} is not a folder that only this user can access: delete it, or set TMPDIR to another folder"
            )
        with ExitStack() as held:
            with collecting_java.locked(home):  # the new folder of another run is locked within this lock
                for each in home.glob("run-*"):
                    with suppress(OSError), collecting_java.locked(each, wait=False):  # free only if its run is dead
                        shutil.rmtree(each, ignore_errors=True)
                made = tempfile.TemporaryDirectory(prefix="run-", dir=home, ignore_cleanup_errors=True)
                folder = Path(held.enter_context(made))
                held.enter_context(collecting_java.locked(folder))
            yield folder
    except OSError as error:
        if error.filename is None or not str(error.filename).startswith(str(home)):
            raise
        raise collecting_java.NoSpark(f"no folder for Spark: {error.strerror or error} ({error.filename})") from None


def _first_error(path: Path, start: int) -> str:
    with path.open("rb") as file:
        file.seek(start)
        lines = [line.strip() for line in file.read(64 * 1024).decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "Exception" in line]
    return (telling or lines or [""])[0][:300]


@contextmanager
def _log(environ: Mapping[str, str]) -> Iterator[IO[bytes]]:
    """Yield Spark's log, opened to append and readable only by its owner (0600). If it has more than `MOST_LOG`
    bytes, it is first renamed, and replaces the log that was renamed before. Raises NoSpark: the log can't be
    written.
    """
    path = spark_log(environ)
    try:
        private_folder(path.parent)
        if path.exists() and path.stat().st_size > MOST_LOG:
            path.replace(path.with_suffix(".log.1"))
        descriptor = open_private(path, os.O_APPEND | os.O_WRONLY)
    except OSError as error:
        raise collecting_java.NoSpark(f"no log file for Spark: {error.strerror or error} ({path})") from None
    with os.fdopen(descriptor, "ab") as log:
        yield log
