"""Settings with which Spark is done sooner with the little data of tests."""

from __future__ import annotations

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Plans are not compiled: for small tables and large plans that takes longer than running them. The tests that start
`kac lake` compile them, as users do."""


def java_options() -> tuple[str, ...]:
    """For a Java that ends soon: no second compiler, one thread for garbage."""
    return ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
