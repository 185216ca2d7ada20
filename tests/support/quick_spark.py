"""Settings with which Spark is done sooner with the little data of tests."""

from __future__ import annotations

from collections.abc import Mapping

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Plans are not compiled: for small tables and large plans that takes longer than running them. The tests that start
`kac lake` compile them, as users do."""


def java_options() -> tuple[str, ...]:
    """For a Java that ends soon: no second compiler, one thread for garbage."""
    return ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def quick(more: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session on two cores of this machine, with two partitions after a shuffle."""
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": " ".join(java_options()),
        **INTERPRETED,
        **more,
    }
