"""The records that workers write to Connect's internal topics, as JSON (KafkaConfigBackingStore,
KafkaOffsetBackingStore, KafkaStatusBackingStore).
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from console.embedded.connect.herder import Herder
from console.embedded.connect.state import PAUSED, STOPPED, UNASSIGNED, Connector
from console.embedded.context import Cluster
from console.embedded.record_batch import read_batch
from console.embedded.scenarios.seed import batch_of
from console.model.numbers import json_text
from console.model.partitioners import java_partition

CONFIGS, OFFSETS, STATUS = "connect-configs", "connect-offsets", "connect-status"
_GENERATION = 1
_KEY_BYTES = 32


class Entry(NamedTuple):
    """A record for an internal topic."""

    topic: str
    key: str
    value: Mapping[str, Any] | None
    """The JSON of the record's value; None for a tombstone."""


Address = Callable[[int], str]
"""Function that returns ``host:port`` of the worker with a number."""


def session_key(now: int) -> Entry:
    """Return the record with the key by which workers sign requests to each other. Nothing in this process uses the
    key.

    Args:
        now: the present time, milliseconds since 1970.
    """
    key = base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()
    return Entry(CONFIGS, "session-key", {"key": key, "algorithm": "HmacSHA256", "creation-timestamp": now})


def changed(
    former: Connector | None, connector: Connector, herder: Herder, address: Address, now: int
) -> Iterator[Entry]:
    """Yield the records to write for a new or changed connector.

    Args:
        former: the connector before the change; None if it is new.
        now: the present time, milliseconds since 1970.
    """
    name = connector.name
    if former is None or former.config != connector.config:
        yield Entry(CONFIGS, f"connector-{name}", {"properties": dict(connector.config)})
    numbers = [each.number for each in connector.tasks]
    if former is None or former.config != connector.config or numbers != [each.number for each in former.tasks]:
        for number in numbers:
            yield Entry(CONFIGS, f"task-{name}-{number}", {"properties": herder.task_config(connector)})
        yield Entry(CONFIGS, f"commit-{name}", {"tasks": len(numbers)})
    if former is None or former.target != connector.target:
        # Workers older than 3.5 do not know the state STOPPED, and read PAUSED from the field `state`.
        older = PAUSED if connector.target == STOPPED else connector.target
        yield Entry(CONFIGS, f"target-state-{name}", {"state": older, "state.v2": connector.target})
    yield from _statuses(former, connector, herder, address)
    for topic in connector.topics if former is None else set(connector.topics) - set(former.topics):
        told = {"name": topic, "connector": name, "task": 0, "discoverTimestamp": now}
        yield Entry(STATUS, _topic_key(topic, name), {"topic": told})
    for topic in set(former.topics) - set(connector.topics) if former else ():
        yield Entry(STATUS, _topic_key(topic, name), None)
    yield from _offsets(former, connector)


def removed(connector: Connector) -> Iterator[Entry]:
    """Yield the tombstones to write for a deleted connector."""
    name = connector.name
    yield Entry(CONFIGS, f"connector-{name}", None)
    yield Entry(CONFIGS, f"target-state-{name}", None)
    yield Entry(STATUS, f"status-connector-{name}", None)
    for task in connector.tasks:
        yield Entry(STATUS, f"status-task-{name}-{task.number}", None)
    for topic in connector.topics:
        yield Entry(STATUS, _topic_key(topic, name), None)


def _topic_key(topic: str, name: str) -> str:
    return f"status-topic-{topic}:connector-{name}"


def _statuses(former: Connector | None, connector: Connector, herder: Herder, address: Address) -> Iterator[Entry]:
    plugin = herder.plugin(connector)

    def status(state: str, worker: int, trace: str | None) -> dict[str, Any]:
        told = {"state": state, "trace": trace, "worker_id": address(worker), "generation": _GENERATION}
        if "version" in herder.release.task_fields:
            told["version"] = plugin.version if plugin and state != UNASSIGNED else None
        return told

    name = connector.name
    if former is None or (former.state, former.worker) != (connector.state, connector.worker):
        yield Entry(STATUS, f"status-connector-{name}", status(connector.state, connector.worker, None))
    before = {each.number: each for each in former.tasks} if former else {}
    for task in connector.tasks:
        if before.pop(task.number, None) != task:
            yield Entry(STATUS, f"status-task-{name}-{task.number}", status(task.state, task.worker, task.trace))
    for number in before:
        yield Entry(STATUS, f"status-task-{name}-{number}", None)


def _offsets(former: Connector | None, connector: Connector) -> Iterator[Entry]:
    before = {_offset_key(connector.name, partition): offset for partition, offset in former.offsets} if former else {}
    for partition, offset in connector.offsets:
        key = _offset_key(connector.name, partition)
        if before.pop(key, None) != offset:
            yield Entry(OFFSETS, key, offset)
    for key in before:
        yield Entry(OFFSETS, key, None)


def _offset_key(name: str, partition: Mapping[str, Any]) -> str:
    return json_text([name, partition], separators=(",", ":"))


def write(cluster: Cluster, entries: Iterator[Entry]) -> None:
    """Append records to the internal topics; ignore records for topics that do not exist."""
    now = int(cluster.clock.time() * 1000)
    for entry in entries:
        topic = cluster.state.topics.get(entry.topic)
        if topic is None:
            continue
        key = entry.key.encode()
        partition = java_partition(key, len(topic.partitions))
        log = cluster.state.logs.get((entry.topic, partition))
        if log is not None:
            value = None if entry.value is None else json_text(entry.value, separators=(",", ":")).encode()
            batch = read_batch(batch_of([value], now, key), 0)
            log.append(batch, topic.partitions[partition].leader_epoch)
