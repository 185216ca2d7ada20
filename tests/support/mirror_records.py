"""Records of a flow from east to west, encoded as MirrorMaker 2 writes them."""

import struct
from collections.abc import Iterable

from confluent_kafka import Producer

from console.model.mirror import Checkpoint, Heartbeat, MirrorRecord, OffsetSync
from tests.support.patience import PATIENCE

BEAT = Heartbeat("east", "west")
TOPICS = {
    Heartbeat: "heartbeats",
    Checkpoint: "east.checkpoints.internal",
    OffsetSync: "mm2-offset-syncs.east.internal",
}
COPIED = "east.heartbeats"


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def encoded(record: MirrorRecord, at_ms: int) -> tuple[bytes, bytes]:
    """Return the key and value of a MirrorMaker record as bytes. at_ms: timestamp in the value of a heartbeat, ms since
    1970.
    """
    match record:
        case Heartbeat(source, target):
            return _text(source) + _text(target), struct.pack(">hq", 0, at_ms)
        case Checkpoint(group, topic, partition, upstream, downstream):
            key = _text(group) + _text(topic) + struct.pack(">i", partition)
            return key, struct.pack(">hqq", 0, upstream, downstream) + _text("")
        case OffsetSync(topic, partition, upstream, downstream):
            return _text(topic) + struct.pack(">i", partition), struct.pack(">qq", upstream, downstream)


def write(bootstrap: str, records: Iterable[tuple[MirrorRecord, int]], topic: str = "") -> None:
    """Write records, each with its timestamp in ms since 1970. topic: the topic for all records; ``""`` writes each
    record to the topic that MirrorMaker uses for its type.
    """
    producer = Producer({"bootstrap.servers": bootstrap})
    for record, at_ms in records:
        key, value = encoded(record, at_ms)
        producer.produce(topic or TOPICS[type(record)], value, key, timestamp=at_ms)
    assert not producer.flush(PATIENCE)
