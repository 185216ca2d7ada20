"""A reader in an image that lacks the library for zstd: it reads plain records and gzip, as many small images do.

``python -m benchmarks.nights.programs.reader_without_codec BOOTSTRAP TOPIC GROUP``
"""

from __future__ import annotations

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, codec  # type: ignore[import-untyped]

AGAIN = 2.0
"""Seconds until the reader is started again after an error."""


async def _read(bootstrap: str, topic: str, group: str) -> None:
    """Read as a member of a group, without end. Raises the client's exceptions."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        client_id=f"{group}-reader",
        auto_offset_reset="earliest",
        auto_commit_interval_ms=1000,
    )
    await consumer.start()
    try:
        async for _ in consumer:
            pass
    finally:
        await consumer.stop()


def main() -> None:
    """Read until the process is ended, and print a line for each failure."""
    bootstrap, topic, group = sys.argv[1:4]
    codec.cramjam = None
    while True:
        try:
            asyncio.run(_read(bootstrap, topic, group))
        except Exception as error:  # noqa: BLE001 - whatever it is, the container is started again
            print(f"{group}: {type(error).__name__}: {error}", flush=True)
            asyncio.run(asyncio.sleep(AGAIN))


if __name__ == "__main__":
    main()
