"""Imitates a Connect worker with one sink: it starts only if the topic of the connectors' configurations has one
partition.

``python -m benchmarks.nights.programs.connect_worker BOOTSTRAP CONFIGS STATUS TOPIC GROUP``: CONFIGS and STATUS are
Connect's internal topics, TOPIC and GROUP those of the sink.
"""

from __future__ import annotations

import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

_AGAIN = 4.0
"""Seconds until the worker is started again after an error, as a container would be."""


class BadConfigError(RuntimeError):
    """The worker can't start, because its internal topic is wrong."""


def _work(bootstrap: str, configs: str, status: str, topic: str, group: str) -> None:
    """Check the internal topic, then run the sink until an error. Raises BadConfigError and KafkaException."""
    settings: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, "client.id": f"{group}-worker"}
    found = len(AdminClient(settings).list_topics(configs, timeout=10).topics[configs].partitions)
    if found != 1:
        raise BadConfigError(f"topic {configs} has to have one partition, and has {found}")
    producer = Producer(settings)
    producer.produce(configs, b'{"tasks.max": 1}', f"connector-{group}")
    producer.produce(status, b'{"state": "RUNNING"}', f"status-connector-{group}")
    producer.flush(10)
    consumer = Consumer(settings | {"group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 10_000})
    try:
        consumer.subscribe([topic])
        print(f"{group}: started", flush=True)
        while True:
            for message in consumer.consume(100, 0.5):
                if (error := message.error()) is not None and error.fatal():
                    raise KafkaException(error)
    finally:
        consumer.close()


def _end(*_: object) -> None:
    raise SystemExit(0)


def main() -> None:
    """Run the worker until the process is killed; after an error, start it again."""
    bootstrap, configs, status, topic, group = sys.argv[1:6]
    signal.signal(signal.SIGTERM, _end)
    while True:
        try:
            _work(bootstrap, configs, status, topic, group)
        except (BadConfigError, KafkaException) as error:
            print(f"{group}: {error}", flush=True)
            time.sleep(_AGAIN)


if __name__ == "__main__":
    main()
