"""Java's class archives of Kafka. Brokers and tools that load their classes from an archive start with three fifths of
the CPU time. ``python -m tests.support.kafka_classes`` makes the missing ones; all tests also run without them.
"""

import hashlib
import os
from pathlib import Path

from tests.support import kafka_jars
from tests.support.cached_folder import cache_home, cached_folder

_FILE = "classes.jsa"


def class_path(version: str) -> str:
    """Return a class path of every jar of a version, sorted: Java uses an archive only with the class path of its
    making.
    """
    return os.pathsep.join(map(str, sorted(kafka_jars.jars(version).glob("*.jar"))))


def archive_options(version: str, program: str) -> tuple[str, ...]:
    """Return Java's options for the archive of this version; empty without an archive. Java ignores an archive that
    does not fit, without a message in a tool's output.
    """
    file = _folder(version, program) / _FILE
    return (f"-XX:SharedArchiveFile={file}", "-Xlog:disable") if file.exists() else ()


def make(version: str) -> None:
    """Make a version's archive from the classes that a broker loads until it is up and shut down. Raises RuntimeError
    if Java writes none.
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
    """Return the folder of an archive; it depends on the Java program and on the jars."""
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
