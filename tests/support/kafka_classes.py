"""Class archives (CDS) of Kafka for Java: a broker or tool that uses one starts with 60 % of the CPU time. ``python -m
tests.support.kafka_classes`` makes the missing archives; all tests also run without them.
"""

import hashlib
import os
from pathlib import Path

from tests.support import kafka_jars
from tests.support.cached_folder import cache_home, cached_folder

_FILE = "classes.jsa"


def class_path(version: str) -> str:
    """Return a class path of every jar of a version, sorted, because Java uses an archive only with the class path with
    which the archive was made.
    """
    return os.pathsep.join(map(str, sorted(kafka_jars.jars(version).glob("*.jar"))))


def archive_options(version: str, program: str) -> tuple[str, ...]:
    """Return Java's options that use this version's class archive; empty if there is no archive. Java ignores an
    archive that does not fit, without a message in a tool's output.

    program: path of the Java program.
    """
    file = _folder(version, program) / _FILE
    return (f"-XX:SharedArchiveFile={file}", "-Xlog:disable") if file.exists() else ()


def make(version: str) -> None:
    """Make a version's class archive: start a broker, shut it down, and let Java write the classes that it loaded.
    Raises RuntimeError if Java writes no archive.
    """
    # A local import: clusters import this module.
    from tests.support.kafka_cluster import JVM, KafkaCluster

    def fill(folder: Path) -> None:
        options = (*JVM, f"-XX:ArchiveClassesAtExit={folder / _FILE}", "-Xlog:disable")
        with KafkaCluster(version, brokers=1, request_log=True, jvm_options=options) as cluster:
            cluster.stop(1)
        if not (folder / _FILE).exists():
            raise RuntimeError("Java wrote none")

    cached_folder(_folder(version, kafka_jars.java()), fill)


def _folder(version: str, program: str) -> Path:
    """Return the folder of a class archive. Its name depends on the Java program and on the jars."""
    place = Path(program).resolve()
    told = f"{place} {place.stat().st_mtime_ns} {kafka_jars.jars(version)}"
    return cache_home() / "kafka-classes" / f"{version}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"


def main() -> None:
    """Make the archives of the versions that tests start often."""
    for version in (kafka_jars.KAFKA_4_3, kafka_jars.KAFKA_3_9, kafka_jars.RELEASES[kafka_jars.NEWEST]):
        try:
            make(version)
        except (kafka_jars.BrokersUnavailableError, OSError, RuntimeError) as reason:
            print(f"Kafka {version}: no class archive: {reason}")


if __name__ == "__main__":
    main()
