"""The offsets of connectors: their form in the REST API, and their changes (KIP-875)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from console.embedded.connect.groups import group_of
from console.embedded.connect.state import STOPPED, Connector, Refused
from console.embedded.context import Cluster
from console.embedded.groups import Committed, Group

Place = tuple[str, int]
"""A topic and the number of a partition."""
_TOPIC, _PARTITION, _OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
_FILE, _POSITION = "filename", "position"


def require_stopped(connector: Connector) -> None:
    """Raise Refused unless the connector is stopped, as changes of its offsets require."""
    if connector.target != STOPPED:
        raise Refused(
            400,
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
            f"specified connector by issuing a 'PUT' request to the '/connectors/{connector.name}/stop' endpoint",
        )


def shown_offsets(cluster: Cluster, connector: Connector, kind: str) -> list[dict[str, Any]]:
    """Return the offsets of a source, or those of a sink's group, in the form of the REST API; empty if a sink has no
    group.
    """
    if kind != "sink":
        return [{"partition": dict(partition), "offset": dict(offset)} for partition, offset in connector.offsets]
    group = cluster.state.groups.get(group_of(connector))
    committed = group.offsets.items() if group else ()
    return [
        {"partition": {_PARTITION: partition, _TOPIC: topic}, "offset": {_OFFSET: each.offset}}
        for (topic, partition), each in sorted(committed)
    ]


# -- sources -----------------------------------------------------------------------------------------------------------


def altered_source(connector: Connector, asked: Sequence[Mapping[str, Any]]) -> Connector:
    """Return a source connector with these offsets changed; null as an offset removes it. Raises Refused for offsets
    that the file connector refuses.
    """
    if not connector.config.get("file"):
        raise Refused(
            500,
            "Offsets cannot be modified if the 'file' configuration is unspecified. This is because stdin is used for "
            "input and offsets are not tracked.",
        )
    offsets = list(connector.offsets)
    for each in asked:
        partition, offset = each.get("partition"), each.get("offset")
        if offset is not None:
            _check_source(partition, offset)
        offsets = [one for one in offsets if one[0] != partition]
        if offset is not None:
            offsets.append((partition or {}, offset))
    return replace(connector, offsets=tuple(offsets))


def _check_source(partition: Mapping[str, Any] | None, offset: Mapping[str, Any]) -> None:
    text = ""
    if _POSITION not in offset:
        text = f"Offset objects should either be null or contain the key '{_POSITION}'"
    elif not isinstance(offset[_POSITION], int) or isinstance(offset[_POSITION], bool):
        text = f"The value for the '{_POSITION}' key in the offset is expected to be a Long value"
    elif offset[_POSITION] < 0:
        text = f"The value for the '{_POSITION}' key in the offset should be a non-negative value"
    elif partition is None:
        text = "Partition objects cannot be null"
    elif _FILE not in partition:
        text = f"Partition objects should contain the key '{_FILE}'"
    if text:
        raise Refused(500, text)


# -- sinks -------------------------------------------------------------------------------------------------------------


def alter_sink(cluster: Cluster, connector: Connector, asked: Sequence[Mapping[str, Any]]) -> None:
    """Commit these offsets for a sink's group; null as an offset deletes it. Raises Refused."""
    offsets = dict(_sink_offset(each.get("partition"), each.get("offset")) for each in asked)
    if any(_is_unknown(cluster, place) for place, offset in offsets.items() if offset is not None):
        raise Refused(500, f"Failed to alter consumer group offsets for connector {connector.name}")
    name = group_of(connector)
    group = cluster.state.groups.setdefault(name, Group(name, written=True))
    for place, offset in offsets.items():
        if offset is None:
            group.offsets.pop(place, None)
        else:
            group.offsets[place] = Committed(offset, at=cluster.clock.time())
    cluster.state.touch()


def _is_unknown(cluster: Cluster, place: Place) -> bool:
    topic = cluster.state.topics.get(place[0])
    return topic is None or not 0 <= place[1] < len(topic.partitions)


def _sink_offset(partition: Any, offset: Any) -> tuple[Place, int | None]:
    """Parse one offset in a request for a sink: return topic and partition number, and the offset, None for null
    (SinkUtils.parseSinkConnectorOffsets). Raises Refused.
    """
    if partition is None:
        raise Refused(400, "The partition for a sink connector offset cannot be null or missing")
    if _TOPIC not in partition or _PARTITION not in partition:
        text = f"The partition for a sink connector offset must contain the keys '{_TOPIC}' and '{_PARTITION}'"
        raise Refused(400, text)
    if partition[_TOPIC] is None:
        raise Refused(400, "Kafka topic names must be valid strings and may not be null")
    if partition[_PARTITION] is None:
        raise Refused(400, "Kafka partitions must be valid numbers and may not be null")
    place = str(partition[_TOPIC]), _number(partition[_PARTITION], "partition", "Partition")
    if offset is None:
        return place, None
    if _OFFSET not in offset:
        raise Refused(400, f"The offset for a sink connector should either be null or contain the key '{_OFFSET}'")
    return place, _number(offset[_OFFSET], "offset", "Offset")


def _number(value: Any, what: str, title: str) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise Refused(
            400,
            f"Failed to parse the following Kafka {what} value in the provided offsets: '{value}'. {title} values for "
            "sink connectors need to be integers.",
        ) from None


def reset_sink(cluster: Cluster, connector: Connector) -> None:
    """Delete a sink's group with its offsets."""
    cluster.state.groups.pop(group_of(connector), None)
    cluster.state.touch()
