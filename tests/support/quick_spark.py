"""Settings with which Spark is done sooner with the little data of tests."""

from __future__ import annotations

import os

from console.lake.java import class_archive, find_java
from tests.support.cached_folder import cache_home

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Plans are not compiled: for small tables and large plans that takes longer than running them. The tests that start
`kac lake` compile them, as users do."""


def java_options() -> tuple[str, ...]:
    """For a Java that ends soon: no second compiler, one thread for garbage, and Spark's classes from their archive if
    an earlier run of tests/history/test_lake_command.py has built it."""
    archive = class_archive(find_java(os.environ, cache_home()), cache_home())
    return ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *(archive.java_options if archive.there else ()))
