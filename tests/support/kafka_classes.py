"""Java's class archives of Kafka: brokers and tools that read their classes from one start with three fifths of the CPU
time. ``python -m tests.support.kafka_classes`` makes those that are missing; without them everything runs the same.
"""

import hashlib
import os
from pathlib import Path

from tests.support import kafka_jars
from tests.support.cached_folder import cache_home, cached_folder

_FILE = "classes.jsa"


def class_path(version: str) -> str:
    """Every jar of a version, in an order of its own: Java uses an archive only with the class path that it is of."""
    return os.pathsep.join(map(str, sorted(kafka_jars.jars(version).glob("*.jar"))))


def archive_options(version: str, program: str) -> tuple[str, ...]:
    """Java's options by which a JVM of this version uses its archive: none where there is none. One that does not fit
    is passed over, without a word on what may be a tool's output."""
    file = _folder(version, program) / _FILE
    return (f"-XX:SharedArchiveFile={file}", "-Xlog:disable") if file.exists() else ()


def make(version: str) -> None:
    """Make a version's archive, of the classes that a broker has loaded when it is up and stopped in order."""
    # Clusters use what stands above.
    from tests.support.kafka_cluster import JVM, KafkaCluster

    def fill(folder: Path) -> None:
        options = (*JVM, f"-XX:ArchiveClassesAtExit={folder / _FILE}", "-Xlog:disable")
        with KafkaCluster(version, brokers=1, request_log=True, jvm_options=options) as cluster:
            cluster.stop(1)
        if not (folder / _FILE).exists():
            raise RuntimeError("Java wrote none")

    cached_folder(_folder(version, kafka_jars.java()), fill)


def _folder(version: str, program: str) -> Path:
    """Another Java, and other jars, have another."""
    place = Path(program).resolve()
    told = f"{place} {place.stat().st_mtime_ns} {kafka_jars.jars(version)}"
    return cache_home() / "kafka-classes" / f"{version}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"


def main() -> None:
    """Make those of the versions of which tests start many."""
    for version in (kafka_jars.KAFKA_4_3, kafka_jars.KAFKA_3_9, kafka_jars.RELEASES[kafka_jars.NEWEST]):
        try:
            make(version)
        except (kafka_jars.BrokersUnavailableError, OSError, RuntimeError) as reason:
            print(f"Kafka {version}: no class archive: {reason}")


if __name__ == "__main__":
    main()
