"""Settings that make Spark faster on the small data of tests."""

import os
from collections.abc import Sequence
from pathlib import Path

from console.collecting.gateway import java_options as session_options
from console.collecting.java import Java, archive_of, start_options

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Spark's configs to interpret plans instead of compiling them: for small tables and large plans compiling takes longer
than running. Tests that start `kac lake` let Spark compile, as users do.
"""


def java_options() -> tuple[str, ...]:
    """Return options for a Java that runs for a short time: no optimizing compiler, one thread for garbage
    collection.
    """
    return ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def of_archive(java: Java, jars: Sequence[Path]) -> list[str]:
    """Return Java's options to read classes from the class archive that `kac lake` has made; empty without an archive.
    The archive halves the CPU time in which a session starts.
    """
    return start_options(archive_of(os.environ, java, session_options(jars)), None)
