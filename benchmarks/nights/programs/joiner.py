"""A service that joins two topics by key, partition by partition. If their numbers of partitions differ, it fails and
is started again, as a container would be.

``python -m benchmarks.nights.programs.joiner BOOTSTRAP GROUP LEFT RIGHT``
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, KafkaException

_AGAIN = 4.0
"""Seconds until the service is started again."""
_REFRESH_MS = 5_000
"""Milliseconds between two requests for the topics' numbers of partitions; the default is five minutes."""


class NotJoinableError(RuntimeError):
    """The topics do not have the same number of partitions."""


def _join(bootstrap: str, group: str, topics: list[str]) -> None:
    """Run a member of the group until an error. Raises NotJoinableError if the topics differ in their number of
    partitions, KafkaException for a fatal error.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": f"{group}-StreamThread-1-consumer",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": _REFRESH_MS,
        }
    )

    def check(*_: object) -> None:
        found = consumer.list_topics(timeout=10).topics
        counts = {name: len(found[name].partitions) for name in topics}
        print(f"assigned partitions of {counts}", flush=True)
        if len(set(counts.values())) > 1:
            raise NotJoinableError(f"the topics do not have the same number of partitions: {counts}")

    try:
        consumer.subscribe(topics, on_assign=check)
        while True:
            for message in consumer.consume(100, 1.0):
                if (error := message.error()) is not None and error.fatal():
                    raise KafkaException(error)
    finally:
        consumer.close()


def main() -> None:
    """Run a member of the group until the process is ended. After an error, print it, and start the member again after
    `_AGAIN` seconds.
    """
    bootstrap, group, *topics = sys.argv[1:5]
    while True:
        try:
            _join(bootstrap, group, topics)
        except (KafkaException, NotJoinableError) as error:
            print(f"{group}: {error}", flush=True)
            time.sleep(_AGAIN)


if __name__ == "__main__":
    main()
