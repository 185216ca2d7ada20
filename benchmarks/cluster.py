"""A real broker with 4,000 topics and 20,000 quota entities, for the other benchmarks.

``python -m benchmarks.cluster`` prints its address when it is filled, and stops on Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from console.admin import changes
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.model import changes as model_changes
from console.model.codes import SET
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from tests.support.kafka_cluster import KafkaCluster

TOPICS = 4_000
QUOTAS = 20_000
AT_ONCE = 1_000
OVERRIDDEN = 50
"""One topic in this many overrides some configs, so that not all topics have equal configs."""

JVM = ("-Xms256m", "-Xmx1g", "-XX:+UseSerialGC")


def topic_name(number: int) -> str:
    """Return the name of the topic with this number."""
    return f"team-{number % 40:02d}.service-{number:04d}.events"


def requests() -> Iterator[model_changes.ChangeRequest]:
    """Yield the change requests that fill an empty cluster."""
    for start in range(0, TOPICS, AT_ONCE):
        names = map(topic_name, range(start, start + AT_ONCE))
        yield model_changes.CreateTopics(
            tuple(model_changes.NewTopic(name, partitions=1, replication=1) for name in names), timeout_ms=120_000
        )
    yield model_changes.AlterConfigs(
        {
            topic_resource(topic_name(number)): (
                model_changes.ConfigOp("retention.ms", SET, str(3_600_000 * (1 + number % 7))),
                model_changes.ConfigOp("cleanup.policy", SET, "compact,delete"),
            )
            for number in range(0, TOPICS, OVERRIDDEN)
        }
    )
    for start in range(0, QUOTAS, AT_ONCE):
        yield model_changes.AlterQuotas(
            {
                QuotaEntity.of({"user": f"user-{number % 500:03d}", "client-id": f"client-{number:05d}"}): {
                    "producer_byte_rate": float(1_048_576 * (1 + number % 9)),
                    "consumer_byte_rate": float(2_097_152 * (1 + number % 5)),
                }
                for number in range(start, start + AT_ONCE)
            }
        )


def fill(addresses: tuple[tuple[str, int], ...]) -> None:
    """Fill a running cluster with topics and quotas. addresses: (host, port) of brokers. Raises RuntimeError if the
    broker refuses a change.
    """
    client = AdminClient(ConnectionSettings(addresses, request_timeout=120.0))
    client.start()
    try:
        for request in requests():
            outcomes = client.submit(changes.send, request, validate_only=False).result(300)
            failed = [outcome for outcome in outcomes if not outcome.ok]
            if failed:
                raise RuntimeError(f"could not fill the broker: {failed[0]}")
    finally:
        client.close()


@contextmanager
def filled_broker() -> Iterator[str]:
    """Run a filled broker until the end of the block, and yield its address."""
    with KafkaCluster(brokers=1, jvm_options=JVM) as cluster:
        fill(cluster.addresses)
        yield cluster.bootstrap


def main() -> None:
    """Run a filled broker until Ctrl-C or SIGTERM; print its address."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with filled_broker() as bootstrap:
        print(bootstrap, flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
