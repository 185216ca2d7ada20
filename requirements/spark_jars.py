"""Makes console/collecting/spark_jars.txt, the list of additional jars for Spark: `python -m requirements.spark_jars`.
Needs pyspark and Maven.

Artifacts that Spark itself contains are left out, in any version.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from console.collecting.java import TABLE, Group, pom_of

HEAD = "# Made by `python -m requirements.spark_jars`: what a jar is for, its coordinates, its SHA-256.\n"


@dataclass(frozen=True)
class Roots:
    """The artifacts for one purpose. coordinates: Maven coordinates of the required artifacts. left_out: names of their
    dependencies that kac does not need.
    """

    coordinates: tuple[str, ...]
    left_out: tuple[str, ...]


_AWS = "2.35.4"
"""The version of Amazon's SDK that Hadoop 3.5.0 is built with."""
ROOTS = {
    Group.DELTA: Roots(
        ("io.delta:delta-spark_4.2_2.13:4.4.0",),
        # Credentials of a Unity Catalog; what Spark has under other names, and annotations.
        ("unitycatalog-hadoop", "commons-logging", "javax.annotation-api", "jackson-datatype-jdk8", "shims"),
    ),
    Group.S3: Roots(
        (
            "org.apache.hadoop:hadoop-aws:3.5.0",
            "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
            *(f"software.amazon.awssdk:{name}:{_AWS}" for name in ("s3", "s3-transfer-manager", "sts")),
        ),
        # All of Amazon's services (686 MB); what Spark has under another name; another TLS than Java's.
        ("bundle", "commons-logging", "wildfly-openssl"),
    ),
    Group.KAFKA: Roots(("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",), ()),
}


def main() -> None:
    """Write the list."""
    lines = [line for group, roots in ROOTS.items() for line in jar_lines(group, roots)]
    TABLE.write_text(HEAD + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def jar_lines(group: Group, roots: Roots) -> list[str]:
    """Return the lines of the list for one purpose: group, Maven coordinates and SHA-256 of each jar. Raises
    CalledProcessError if Maven fails.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        pom, listed = folder / "pom.xml", folder / "list.txt"
        pom.write_text(pom_of(roots.coordinates, alone=False, left_out=roots.left_out))
        maven = [str(shutil.which("mvn")), "-q", "-B", "-f", str(pom), "-DincludeScope=runtime"]
        goals = [
            "dependency:list",
            f"-DoutputFile={listed}",
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}",
        ]
        subprocess.run([*maven, *goals], check=True)
        found = re.findall(
            r"^\s*([\w.-]+):([\w.-]+):jar:([\w.-]+):(?:compile|runtime)", listed.read_text(), re.MULTILINE
        )
        return sorted(
            f"{group} {where}:{name}:{version} {sha256((folder / f'{name}-{version}.jar').read_bytes()).hexdigest()}"
            for where, name, version in found
            if name not in of_spark()
        )


def of_spark() -> frozenset[str]:
    """Return the names of the artifacts whose jars come with pyspark."""
    [spark] = find_spec("pyspark").submodule_search_locations  # type: ignore[union-attr,misc]
    return frozenset(re.sub(r"-\d[^-]*(-.*)?$", "", path.stem) for path in Path(spark, "jars").glob("*.jar"))


if __name__ == "__main__":
    main()
