"""A client of a night: a process that produces or consumes with librdkafka, and continues after any refusal.

The first line on its standard input is its order as JSON: produce or consume, its topic, its settings. Each further
line is a JSON object with settings to change while it runs. At the end of the input it ends; a consumer first leaves
its group. It prints ``ready`` once, and writes its errors and assignments into a file, as an object on each line.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

TICK = 0.05
"""Seconds between two batches of a producer."""
AGAIN = 1.0
"""Seconds until a new client replaces one with a fatal error, as if its service restarted."""
TRANSACTION = 1.0
"""Seconds after which a producer ends its transaction and begins the next one."""
HOT = b"hot"


class Life:
    """The settings of the client, which the parent process may change by further lines, and whether the input has
    ended.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.told: dict[str, Any] = dict(order["told"])
        self.ended = threading.Event()
        self._notes = Path(order["output"]).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115 - for its life
        self._fatal = False
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            self.told.update(json.loads(line))
        self.ended.set()

    def note(self, **what: Any) -> None:
        """Write an object with these fields, and the time as ``at`` in seconds since 1970, as a line of the output
        file.
        """
        self._notes.write(json.dumps({"at": round(time.time(), 3), **what}) + "\n")

    def failed(self, error: KafkaError) -> None:
        """Note an error in the output file, and remember whether it is fatal, for `fatal`."""
        self._fatal |= error.fatal() or error.code() == KafkaError._FATAL
        self.note(error=error.name(), text=error.str())

    def fatal(self) -> bool:
        """Return whether a fatal error occurred since the last call."""
        was, self._fatal = self._fatal, False
        return was


def produce(life: Life) -> None:
    """Write records at the current rate until the input ends. After a fatal error, continue with a new producer."""
    settings = life.order["settings"] | {"error_cb": life.failed}
    while not life.ended.is_set():
        client = Producer(settings)
        try:
            _write(client, life, transactional="transactional.id" in settings)
        except KafkaException as error:
            life.failed(error.args[0])
            life.ended.wait(AGAIN)
        finally:
            with suppress(KafkaException):
                client.flush(3)


def _write(client: Producer, life: Life, *, transactional: bool) -> None:
    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            life.failed(error)

    if transactional:
        client.init_transactions(30)
    sent, began, opened = 0, time.monotonic(), 0.0
    rate = life.told["rate"]
    while not life.ended.wait(TICK) and not life.fatal():
        now = time.monotonic()
        if rate != life.told["rate"] or (now - began) * rate - sent > 10 * rate:  # changed, or this process had to wait
            rate, sent, began = life.told["rate"], 0, now
        due = int((now - began) * rate) - sent
        if transactional and due and not opened:
            client.begin_transaction()
            opened = now
        for _ in range(due):
            sent += 1
            _produce(client, life, sent, delivered)
        client.poll(0)
        if opened and now - opened >= TRANSACTION and not life.told["hold"]:
            opened = 0.0
            _commit(client, life)


def _produce(client: Producer, life: Life, number: int, delivered: Any) -> None:
    told = life.told
    more = {} if told["partition"] is None else {"partition": told["partition"]}
    if told["ahead_ms"]:
        more["timestamp"] = int(time.time() * 1000 + told["ahead_ms"])
    key = {"one": HOT, "spread": f"key-{number % 10_000}".encode()}.get(told["key"] or "")
    try:
        client.produce(life.order["topic"], b"v" * told["value_bytes"], key, on_delivery=delivered, **more)
    except BufferError:
        client.poll(TICK)  # the record can't be sent and is lost, as with a service that does not wait
    except KafkaException as error:
        life.failed(error.args[0])


def _commit(client: Producer, life: Life) -> None:
    """Commit the transaction, or abort it if the broker requires that. Raises KafkaException if neither is possible."""
    try:
        client.commit_transaction(30)
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            raise
        life.failed(error.args[0])
        client.abort_transaction(30)


def consume(life: Life) -> None:
    """Read as a member of a group and commit processed records, until the input ends. After a fatal error, join again
    with a new consumer.
    """
    settings = life.order["settings"] | {"error_cb": life.failed, "on_commit": lambda error, _: _note(life, error)}
    while not life.ended.is_set():
        client = Consumer(settings)
        try:
            client.subscribe(
                [life.order["topic"]], on_assign=_noting(life, "assigned"), on_revoke=_noting(life, "revoked")
            )
            _read(client, life)
        except KafkaException as error:
            life.failed(error.args[0])
            life.ended.wait(AGAIN)
        finally:
            client.close()


def _note(life: Life, error: KafkaError | None) -> None:
    if error is not None and error.code() != KafkaError._NO_OFFSET:
        life.failed(error)


def _noting(life: Life, what: str) -> Any:
    return lambda _client, places: life.note(**{what: [place.partition for place in places]})


def _read(client: Consumer, life: Life) -> None:
    while not life.ended.is_set() and not life.fatal():
        done: list[Message] = []
        stuck: set[int] = set()
        for message in client.consume(life.order["batch"], 0.25):
            if (error := message.error()) is not None:
                life.failed(error)
                continue
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            if partition in stuck:
                continue
            if _is_stuck(life, partition, offset):
                stuck.add(partition)
                with suppress(KafkaException):  # the partition may already belong to another member
                    client.seek(TopicPartition(life.order["topic"], partition, offset))
                continue
            life.ended.wait(life.told["work_ms"] / 1000)
            done.append(message)
        for message in done:
            try:
                client.store_offsets(message)
            except KafkaException as error:
                life.failed(error.args[0])
        if stuck:
            life.ended.wait(0.2)


def _is_stuck(life: Life, partition: int, offset: int) -> bool:
    """Return whether the record at an offset can't be processed, because the offset is at or above the setting
    `stuck_at`. The setting is an offset for every partition, offsets by partition, ``next`` for the next record that
    is read, or None if all records can be processed.
    """
    at = life.told["stuck_at"]
    if at == "next":
        at = life.told["stuck_at"] = {str(partition): offset}
    if isinstance(at, dict):
        at = at.get(str(partition))
    return at is not None and offset >= at


def main() -> None:
    """Read the order in the first line of the input, and produce or consume."""
    life = Life(json.loads(sys.stdin.readline()))
    print("ready", flush=True)
    {"produce": produce, "consume": consume}[life.order["do"]](life)


if __name__ == "__main__":
    main()
