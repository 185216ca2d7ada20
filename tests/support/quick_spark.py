"""Settings that make Spark faster on the small data of tests."""

import os
from collections.abc import Sequence
from pathlib import Path

from console.collecting.gateway import java_options as session_options
from console.collecting.java import Java, archive_of, start_options

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Interpret plans instead of compiling them: for small tables and large plans compiling takes longer than running. The
tests that start `kac lake` compile them, as users do.
"""


def java_options() -> tuple[str, ...]:
    """Return options for a short-lived Java: no second compiler, one thread for garbage collection."""
    return ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def of_archive(java: Java, jars: Sequence[Path]) -> list[str]:
    """Return Java's options to read classes from the archive that `kac lake` has made; empty without an archive.
    With it, a session starts with half of the CPU time.
    """
    return start_options(archive_of(os.environ, java, session_options(jars)), None)
