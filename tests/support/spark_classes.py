"""A class archive (CDS) of Spark with Delta for Java, in the place where `kac lake` looks for one. ``python -m
tests.support.spark_classes`` makes it if it is missing; all tests also run without it.

An archive reduces the CPU time of starting a session to 60 %. kac makes an archive itself in the background after the
first whole update, in 45 s of CPU time, for each set of jars; for most tests that is too late, and slows them down.
"""

import os
import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

from console.collecting import gateway, java
from console.safe_files import PRIVATE, write_whole

DUMP_SECONDS = 200.0
"""Seconds that Java may take to write the archive when it ends."""


def make() -> None:
    """Make the archive from the classes of a session that writes and reads a table. Sessions that also read topics use
    a copy of the archive, because Java accepts an archive whose jars are the first ones of its class path.

    Raises NoSpark, NotStarted and OSError.
    """
    found = java.find_java(os.environ)
    delta, topics = (
        java.spark_jars(os.environ, {java.Group.DELTA, *more}, found.program) for more in ((), (java.Group.KAFKA,))
    )
    archive, copy = (java.archive_of(os.environ, found, gateway.java_options(jars)) for jars in (delta, topics))
    with tempfile.TemporaryDirectory(dir=java.own_folder(archive.folder)) as folder:
        if not java.usable(archive):
            _record(found, delta, Path(folder), archive)
        if not java.usable(copy):
            _keep(Path(shutil.copy(archive.file, folder)), copy)


def _record(found: java.Java, jars: tuple[Path, ...], folder: Path, archive: java.Archive) -> None:
    """Write and read a table in a new session, and let Java write an archive of the loaded classes when the session
    ends.
    """
    scratch, table = folder / "classes", str(folder / "table")
    options = [f"-XX:ArchiveClassesAtExit={scratch}", "-Xlog:disable"]
    settings = {"spark.master": "local[1]", "spark.local.dir": str(folder)}
    with (
        (folder / "spark.log").open("wb") as log,
        patch.object(gateway, "SECONDS_TO_END", DUMP_SECONDS),
        gateway.session(settings, java=found.program, jars=jars, options=options, log=log) as spark,
    ):
        spark.range(3).write.format("delta").save(table)
        spark.read.format("delta").load(table).count()
    _keep(scratch, archive)


def _keep(file: Path, archive: java.Archive) -> None:
    """Move a file to the path of an archive."""
    file.chmod(PRIVATE)
    write_whole(archive.digest, java.digest_of(file), PRIVATE)
    file.replace(archive.file)


def main() -> None:
    """Make the archive if it is missing."""
    try:
        make()
    except (java.NoSpark, gateway.NotStarted, OSError) as reason:
        print(f"Spark: no class archive: {reason}")


if __name__ == "__main__":
    main()
