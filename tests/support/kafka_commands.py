"""Runs Kafka's own command classes one after another in one Java process, and returns the output and exit code of
each.
"""

import base64
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.support import compiled_java, kafka_classes, kafka_jars, real_clusters

SOURCE = Path(__file__).parents[1] / "broker" / "KafkaCommands.java"
CONFIGS, TOPICS, ACLS = (
    "kafka.admin.ConfigCommand",
    "org.apache.kafka.tools.TopicCommand",
    "org.apache.kafka.tools.AclCommand",
)
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
ELECTION, DELETE_RECORDS, TRANSACTIONS, FEATURES, CLUSTER = (
    f"org.apache.kafka.tools.{name}"
    for name in (
        "LeaderElectionCommand",
        "DeleteRecordsCommand",
        "TransactionsCommand",
        "FeatureCommand",
        "ClusterTool",
    )
)


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


class KafkaCommands:
    """The Java process that runs command classes; a context manager. Without a Java that has a compiler, the test is
    skipped, or fails if KAC_REQUIRE_BROKERS is 1.
    """

    def __init__(self, version: str = kafka_jars.KAFKA_4_3) -> None:
        options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF")
        with real_clusters.or_skip():
            kafka_jars.compiler()  # before any jar is fetched
            path = os.pathsep.join((kafka_classes.class_path(version), str(compiled_java.compiled(SOURCE, version))))
            program = kafka_jars.java()
            command = [program, *options, *kafka_classes.archive_options(version, program), "-cp", path, SOURCE.stem]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, main_class: str, arguments: Sequence[str]) -> Ran:
        """Run a command class to its end. Arguments may be empty, and may contain all characters but lone surrogates.
        Raises RuntimeError if the Java process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        words = (f"={base64.b64encode(word.encode()).decode()}" for word in (main_class, *arguments))
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            said = self._process.stderr.read() if self._process.stderr is not None else ""
            raise RuntimeError(said)
        code, out, err = answer.rstrip("\n").split(" ")
        return Ran(int(code), _decoded(out), _decoded(err))


def _decoded(text: str) -> str:
    return base64.b64decode(text.removeprefix("=")).decode(errors="replace")
