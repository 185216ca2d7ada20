"""Settings with which Spark is done sooner with the little data of tests."""

import os
from collections.abc import Sequence
from pathlib import Path

from console.collecting.gateway import java_options as session_options
from console.collecting.java import Java, archive_of, start_options

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Plans are not compiled: for small tables and large plans that takes longer than running them. The tests that start
`kac lake` compile them, as users do."""


def java_options() -> tuple[str, ...]:
    """For a Java that ends soon: no second compiler, one thread for garbage."""
    return ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def of_archive(java: Java, jars: Sequence[Path]) -> list[str]:
    """Java's options of a session that reads its classes from the archive that `kac lake` has made, if there is one: it
    starts with half of the CPU time.
    """
    return start_options(archive_of(os.environ, java, session_options(jars)), None)
