"""Imitates a mirror between two clusters, like MirrorMaker 2, whose source and target are the same cluster.

It creates topic ``ALIAS.name`` for each topic ``name`` that has no such copy, and copies records into it. It commits no
offsets. ``python -m benchmarks.nights.programs.mirror BOOTSTRAP ALIAS SECONDS [--knows-its-own]``
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

HEARTBEATS = "heartbeats"


class Mirror:
    """Copies topics to topics with the alias before their names.

    Attributes:
        knows_its_own: whether it does not copy topics that begin with its own alias, as a mirror does to prevent
            cycles.
    """

    def __init__(self, bootstrap: str, alias: str, *, knows_its_own: bool) -> None:
        settings: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, "client.id": f"mirror-{alias}"}
        self.knows_its_own = knows_its_own
        self._alias = alias
        self._admin = AdminClient(settings)
        self._producer = Producer(settings)
        self._consumer = Consumer(settings | {"group.id": "-", "enable.auto.commit": False})
        self._places: set[tuple[str, int]] = set()

    def refresh(self) -> None:
        """Create copies of topics that have none, and begin to copy new partitions."""
        found = self._admin.list_topics(timeout=10).topics
        if HEARTBEATS not in found:
            self._create(HEARTBEATS, 1)
            found = self._admin.list_topics(timeout=10).topics
        for name, topic in found.items():
            is_own = name.startswith(f"{self._alias}.")
            if name.startswith("__") or (is_own and self.knows_its_own):
                continue
            if f"{self._alias}.{name}" not in found:
                self._create(f"{self._alias}.{name}", len(topic.partitions))
            new = {(name, number) for number in topic.partitions} - self._places
            self._places |= new
            if new:
                self._consumer.incremental_assign([TopicPartition(*place, OFFSET_BEGINNING) for place in new])

    def copy(self, seconds: float) -> None:
        """Copy new records for `seconds` seconds, and write a heartbeat each second."""
        until = time.monotonic() + seconds
        beat = 0.0
        while (now := time.monotonic()) < until:
            if now - beat > 1:
                beat = now
                self._producer.produce(HEARTBEATS, b"beat")
            for message in self._consumer.consume(500, 0.2):
                if message.error() is None:
                    name, partition = f"{self._alias}.{message.topic()}", message.partition()
                    assert partition is not None
                    self._producer.produce(name, message.value(), message.key(), partition)
            self._producer.poll(0)

    def _create(self, name: str, partitions: int) -> None:
        """Create a topic. Print the error if it exists already, or can't be created."""
        try:
            replicas = min(3, len(self._admin.list_topics(timeout=10).brokers))
            self._admin.create_topics([NewTopic(name, partitions, replicas)])[name].result(10)
        except KafkaException as error:
            print(f"{name}: {error}", flush=True)


def main() -> None:
    """Copy records, and look for new topics and partitions every SECONDS, until the process is ended."""
    bootstrap, alias, seconds = sys.argv[1:4]
    mirror = Mirror(bootstrap, alias, knows_its_own="--knows-its-own" in sys.argv)
    while True:
        mirror.refresh()
        mirror.copy(float(seconds))


if __name__ == "__main__":
    main()
