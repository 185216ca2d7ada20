"""A real MirrorMaker 2 that copies from a real cluster, east, to another real cluster, west.

``python -m tests.support.mirror_maker`` runs all three until Ctrl-C, and prints the addresses.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Self

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support import connect_cluster, kafka_jars, patience, reaper
from tests.support.kafka_cluster import KafkaCluster, run_in_foreground

SOURCE, TARGET = "east", "west"
NAME = f"{SOURCE}->{TARGET}"
TOPIC, GROUP = "orders", "billing"
_JARS = ("connect-mirror", "connect-runtime", "connect-file", "connect-json")
_KEPT = ("checkpoints.topic", "heartbeats.topic", "offset-syncs.topic", "offset.storage", "config.storage")
_OFTEN = ("emit.checkpoints.interval", "emit.heartbeats.interval", "sync.group.offsets.interval")
ONE_BROKER = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


def mirror_jars(version: str) -> Path:
    """Return the folder with MirrorMaker's jars. Raises as `kafka_jars.fetched`."""
    wanted = tuple(f"org.apache.kafka:{each}:{version}" for each in _JARS)
    logging = connect_cluster.LOGGING.get(kafka_jars.major(version), connect_cluster.LOGGING[3])
    return kafka_jars.fetched(f"{version}-mirror", wanted + logging)


def often(topics: str, groups: str, source: str = SOURCE, target: str = TARGET) -> dict[str, str]:
    """Return MirrorMaker's settings for copying topics and groups each second instead of each minute; its own topics
    have one replica. source, target: aliases of the clusters.
    """
    properties = {f"{each}.replication.factor": "1" for each in (*_KEPT, "status.storage")} | {
        "replication.factor": "1"
    }
    properties |= {f"{each}.seconds": "1" for each in (*_OFTEN, "refresh.topics.interval", "refresh.groups.interval")}
    properties |= {"clusters": f"{source}, {target}", f"{target}->{source}.enabled": "false", "offset.lag.max": "0"}
    flow = f"{source}->{target}"
    return properties | {f"{flow}.enabled": "true", f"{flow}.topics": topics, f"{flow}.groups": groups}


class MirrorMaker:
    """A MirrorMaker process that copies from one single-broker cluster to another; a context manager that starts it.

    source, target: bootstrap addresses. more: further settings. written: records in each partition of the source's
    topic.
    """

    def __init__(self, version: str, source: str, target: str, more: Mapping[str, str] | None = None) -> None:
        self._path = f"{mirror_jars(version)}/*"
        self.source, self.target = source, target
        self._more = dict(more or {})
        self.directory = Path(tempfile.mkdtemp(prefix="kac-mirror-"))
        self._reaper = reaper.Reaper(self.directory)
        self._process: subprocess.Popen[bytes] | None = None
        self.written = 0
        """The number of records in each partition."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._reaper.close()

    def start(self) -> None:
        """Start the MirrorMaker process; return without waiting until it copies."""
        properties = often(TOPIC, GROUP) | {
            f"{SOURCE}.bootstrap.servers": self.source,
            f"{TARGET}.bootstrap.servers": self.target,
        }
        main = "org.apache.kafka.connect.mirror.MirrorMaker"
        self._process = connect_cluster.started(self._path, self.directory, main, properties | self._more)
        self._reaper.watch(self._process.pid)

    def stop(self) -> None:
        """Kill MirrorMaker."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            self._reaper.forget(process.pid)

    def log(self) -> str:
        """Return the text of MirrorMaker's log."""
        return (self.directory / "out").read_text(errors="replace")

    def write(self, count: int) -> None:
        """Write `count` records into each of the two partitions of the source's topic."""
        self.written += count
        producer = Producer({"bootstrap.servers": self.source})
        for number in range(count):
            for partition in (0, 1):
                producer.produce(TOPIC, f"{number}", partition=partition)
        assert not producer.flush(patience.PATIENCE)

    def commit(self, offset: int) -> None:
        """Commit an offset of the group `GROUP` for both partitions of the source's topic."""
        consumer = Consumer({"bootstrap.servers": self.source, "group.id": GROUP, "enable.auto.commit": False})
        consumer.commit(offsets=[TopicPartition(TOPIC, each, offset) for each in (0, 1)], asynchronous=False)
        consumer.close()


@contextmanager
def with_clusters(version: str = kafka_jars.KAFKA_4_3, more: Mapping[str, str] | None = None) -> Iterator[MirrorMaker]:
    """Run two clusters of one broker each, and MirrorMaker between them. more: further settings of MirrorMaker."""
    with KafkaCluster(version, brokers=1, properties=ONE_BROKER) as source:
        make_topic(source.bootstrap)
        with (
            KafkaCluster(version, brokers=1, properties=ONE_BROKER) as target,
            MirrorMaker(version, source.bootstrap, target.bootstrap, more) as mirror,
        ):
            yield mirror


def make_topic(bootstrap: str) -> None:
    """Create `TOPIC` with two partitions on the source cluster."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, 2, 1)])[TOPIC].result(patience.PATIENCE)


def main() -> int:
    """Run both clusters and MirrorMaker until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.mirror_maker", description=main.__doc__)
    parser.add_argument("--version", default=kafka_jars.KAFKA_4_3)
    given = parser.parse_args()
    with ExitStack() as running:

        def addresses(source: KafkaCluster) -> Iterator[str]:
            make_topic(source.bootstrap)
            target = running.enter_context(KafkaCluster(given.version, brokers=1, properties=ONE_BROKER))
            mirror = running.enter_context(MirrorMaker(given.version, source.bootstrap, target.bootstrap))
            mirror.write(10)
            mirror.commit(5)
            yield f"{SOURCE} {mirror.source}"
            yield f"{TARGET} {mirror.target}"

        return run_in_foreground(partial(KafkaCluster, given.version, brokers=1, properties=ONE_BROKER), addresses)


if __name__ == "__main__":
    sys.exit(main())
