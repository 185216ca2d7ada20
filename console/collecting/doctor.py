"""Checks whether this machine can run a lake, with a remedy for each problem. Does not start Spark."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from console.answers.checks import Check, Health
from console.collecting import java as collecting_java
from console.collecting.gateway import java_options
from console.collecting.spark_session import LEAST_MEMORY, MIB, Machine, spark_log, this_machine
from console.contexts.lake_files import lake_files
from console.extras import how_to_add
from console.lake.files import LakeError
from console.lake.lake import Lake, NoLake
from console.lake.reader import Tables, gone_lines
from console.lake.schema import TABLES
from console.plan.amounts import size
from console.present.names import plural

TESTED = {"pyspark": "4.2.0"}
"""Package -> the version that kac was tested with."""
OF_EXECUTORS = ("pyarrow", "crc32c", "msgspec")
"""Packages that Spark's executors need and that the zip for a Spark cluster can't include, because they have C
extensions.
"""
TESTED_JAVA = (17, 21, 25)
_JARS_FOR = {
    collecting_java.Group.DELTA: "tables",
    collecting_java.Group.S3: "lakes in S3",
    collecting_java.Group.KAFKA: "topics",
}
MOST_FILES = 3
"""Maximum number of files that a check's line names."""
LEAST_ROOM = 5 * 1024 * MIB
"""Minimum number of free bytes on the disk on which Spark sorts; with fewer, a day of a busy cluster may not fit."""


def checks(environ: Mapping[str, str], lake: str | None) -> Iterator[Check]:
    """Yield the results of all checks. lake: the path of the lake; None to skip the checks of a lake."""
    python = f"{sys.version.split()[0]} ({sys.executable})"
    of_executors = f"executors of a cluster need 3.10 or newer, with {', '.join(OF_EXECUTORS)}"
    yield Check("Python", Health.OK, f"{python}; {of_executors}")
    javas = list(collecting_java.candidates(environ))
    yield from _java(javas)
    yield from _jars(environ, lake, javas)
    yield from _archive(environ, javas)
    for name in ("pyspark", "duckdb", *OF_EXECUTORS):
        yield _package(name, needed=True)
    yield _package("obstore", needed=False)
    if environ.get("SPARK_HOME"):
        found = f"{environ['SPARK_HOME']}: not used on this machine, used with --master for a cluster"
        yield Check("SPARK_HOME", Health.NOTE, found, "on a cluster its Spark has to be the version of pyspark above")
    machine = this_machine()
    yield _memory(machine)
    yield Check("processors", Health.OK, f"{machine.cores}: --master local[*] takes all of them")
    yield _room("temporary files", Path(tempfile.gettempdir()), "set TMPDIR to a folder with more room")
    yield Check("Spark's log", Health.OK, str(spark_log(environ)))
    if lake is not None:
        yield from _lake(lake)


def _java(javas: list[collecting_java.Java]) -> Iterator[Check]:
    taken = next((each for each in javas if each.works), None)
    if taken is None:
        tried = "; ".join(f"{each.place}: {each.problem}" for each in javas) or "none"
        remedy = (
            f"install Java 17 or newer, or {how_to_add('lake')}, which brings one; only builds of many rows need it"
        )
        yield Check("Java", Health.BAD, tried, remedy)
        return
    for each in javas[: javas.index(taken)]:  # the user preferred these
        yield Check("Java", Health.NOTE, f"not taken: {each.place}: {each.problem}", "set it to Java 17 or newer")
    found = f"{taken.version} of {taken.place} ({taken.program})"
    if collecting_java.major(taken.version) in TESTED_JAVA:
        yield Check("Java", Health.OK, found)
    else:
        yield Check("Java", Health.NOTE, found, "if Spark fails, set JAVA_HOME to Java 17, 21 or 25, which are tested")


def _jars(environ: Mapping[str, str], lake: str | None, javas: list[collecting_java.Java]) -> Iterator[Check]:
    """Yield the result of a check of the jars that the lake needs, and of each other group of jars that is in the
    cache. If needed jars are missing, one is fetched to test the connection.
    """
    java = next((each.program for each in javas if each.works), Path("java"))
    why: str | None = None
    needed = collecting_java.groups_of(lake or "", topics=False)
    for group in collecting_java.Group:
        lacking, count = collecting_java.lacking_jars(environ, {group}), len(collecting_java.jars_of({group}))
        there = f"{count - len(lacking)} of {count} in {collecting_java.jar_folder(environ)}"
        name = f"jars for {_JARS_FOR[group]}"
        if not lacking:
            yield Check(name, Health.OK, f"{there}; executors of a cluster need them too: spark-submit --jars")
        elif group in needed:
            remedy = f"without a network: {collecting_java.FOLDER} names a folder with those of {collecting_java.TABLE}"
            why = collecting_java.fetched_to_try(environ, lacking[0], java) if why is None else why
            if why:
                yield Check(name, Health.BAD, f"{there}; {why}", remedy)
            else:
                tried = f"{there}; {lacking[0].file} was fetched to try the way"
                yield Check(name, Health.NOTE, tried, f"the next update fetches them; {remedy}")


def _archive(environ: Mapping[str, str], javas: list[collecting_java.Java]) -> Iterator[Check]:
    java = next((each for each in javas if each.works), None)
    if java is None or find_spec("pyspark") is None:
        return
    jars = [
        collecting_java.jar_folder(environ) / each.file
        for each in collecting_java.jars_of({collecting_java.Group.DELTA})
    ]
    archive = collecting_java.archive_of(environ, java, java_options(jars))
    if collecting_java.usable(archive):
        found = f"{archive.file}: {size(archive.file.stat().st_size)}; Spark starts in half the time"
        yield Check("class archive", Health.OK, found)
    elif archive.failure.exists():
        said = archive.failure.read_text(encoding="utf-8", errors="replace").strip()
        yield Check(
            "class archive", Health.NOTE, f"could not be made: {said}", f"delete {archive.failure} to try again"
        )
    else:
        yield Check("class archive", Health.OK, "none yet: made in the background after the next update")


def _package(name: str, needed: bool) -> Check:
    try:
        found = version(name)
    except PackageNotFoundError:
        what = Health.BAD if needed else Health.NOTE
        return Check(name, what, "not installed", how_to_add("lake"))
    wanted = TESTED.get(name)
    if wanted is not None and found != wanted:
        return Check(name, Health.NOTE, found, f"{name} {wanted} is tested: {how_to_add('lake')}")
    return Check(name, Health.OK, found)


def _memory(machine: Machine) -> Check:
    found = f"{size(machine.memory)}, {size(machine.free)} free; Spark gets {size(machine.for_spark)}"
    if machine.free < 2 * LEAST_MEMORY:
        return Check("memory", Health.NOTE, found, f"free {size(2 * LEAST_MEMORY)}, or run it on another machine")
    return Check("memory", Health.OK, found)


def _room(name: str, folder: Path, remedy: str) -> Check:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check(name, Health.BAD, f"{folder}: {error.strerror or error}", remedy)
    found = f"{folder}: {size(free)} free"
    if not os.access(folder, os.W_OK):
        return Check(name, Health.BAD, f"{folder}: not writable", remedy)
    return Check(name, Health.OK if free >= LEAST_ROOM else Health.NOTE, found, "" if free >= LEAST_ROOM else remedy)


def _lake(where: str) -> Iterator[Check]:
    try:
        files = lake_files(where)
        lake = Lake.open(where, files)
        tables = [lake.table(table) for table in TABLES.values()]
    except NoLake:
        yield Check(
            "lake", Health.NOTE, f"there is none at {where}", "kac lake collect makes one; --lake names another"
        )
        return
    except LakeError as error:
        remedy = "put that file back from a copy; gold is made again without its tables and checkpoints/gold"
        yield Check("lake", Health.BAD, str(error), remedy)
        return
    rows = sum(table.rows for table in tables)
    if not rows:
        yield Check("lake", Health.NOTE, f"{lake.where}: empty", "kac lake collect, then kac lake update")
    else:
        held = sum(table.bytes for table in tables)
        yield Check("lake", Health.OK, f"{lake.where}: {rows:,} rows, {size(held)}")
        yield from _gone(lake)
    if files is None:
        yield _room("room for the lake", Path(lake.where), "free some, or keep less: kac lake update --keep 30d")


def _gone(lake: Lake) -> Iterator[Check]:
    """Yield a check that lists the files of brokers' logs, each with its cluster, of which kac lost parts because
    they were deleted before it read them; at most `MOST_FILES` files, those with the most lost parts. No check if
    no part was lost.
    """
    lost: Counter[tuple[str, str]] = Counter()
    # Ignore a missing DuckDB and damaged files: other checks report them.
    with suppress(ModuleNotFoundError, LakeError), closing(Tables(lake.where, lake.files)) as tables:
        lost.update((each.file, each.cluster_id) for each in gone_lines(tables))
    if lost:
        most = lost.most_common(MOST_FILES)
        files = ", ".join(f"{file} of {of} ({plural(count, 'time')})" for (file, of), count in most)
        more = f" and {len(lost) - MOST_FILES:,} files more" if len(lost) > MOST_FILES else ""
        remedy = "keep them longer, or run kac lake update more often; kac lake status says what"
        yield Check("request logs", Health.NOTE, f"lines were deleted before they were read: {files}{more}", remedy)
