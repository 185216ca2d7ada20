"""Decoder of the topics of Metadata responses into the model, without an object for each field.

Most partitions repeat the bytes of another one, so each distinct one is decoded once. That takes less than half the
time of kio's decoder, and almost no memory apart from the result: Python's pools do not return the memory of temporary
objects. kio decodes the rare cases: topics that can't be described, tagged fields, versions before 9.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from struct import Struct, error
from sys import intern

from console.model.cluster import Partition, Topic
from console.wire.tagged_fields import read_count, read_varint, skip_tags

VERSIONS = range(9, 14)
"""The supported versions, all flexible."""
_IDS_SINCE, _ERROR_SINCE = 10, 13
_WITH_OPERATIONS = range(8, 11)
_HEAD = Struct(">hiii")
_ONE_BYTE = 0x80
"""Bound below which a varint takes one byte."""
_LISTS_KEPT = 4_096
"""Maximum number of distinct lists of partitions in the cache."""
_NO_ID = bytes(16)
_URL_SAFE = bytes.maketrans(b"+/", b"-_")

ErrorName = Callable[[int], str]


class _Seldom(Exception):
    """A rare case, left to kio."""


def decode_topics(version: int, body: bytes, error_name: ErrorName) -> dict[str, Topic] | None:
    """Return name -> topic, from a Metadata response; equal partitions and lists of replicas share one object.

    Args:
        version: version of the API.
        body: bytes after the response header.
        error_name: function that returns Kafka's name of a nonzero error code.

    Returns:
        None for a response that kio has to decode: one of another version, a rare case, one without brokers,
        or a malformed one.
    """
    if version not in VERSIONS:
        return None
    try:
        return _topics(version, body, _Partitions(body, error_name))
    except (_Seldom, IndexError, ValueError, error):
        return None


def _topics(version: int, body: bytes, partitions: _Partitions) -> dict[str, Topic]:
    with_ids = version >= _IDS_SINCE
    count, at = read_count(body, _after_cluster(body))
    topics: dict[str, Topic] = {}
    for _ in range(count):
        if body[at] or body[at + 1]:
            raise _Seldom
        size, at = body[at + 2], at + 3
        if size >= _ONE_BYTE:
            size, at = read_varint(body, at - 1)
        end = at + size - 1
        name = body[at:end].decode()
        if not name:
            raise _Seldom
        at, topic_id = end, None
        if with_ids:
            at = end + 16
            topic_id = _id_text(body[end:at])
        internal = body[at]
        mine, at = partitions.at(at + 1)
        if internal > 1 or body[at + 4]:  # the topic has tagged fields, which follow its authorized operations
            raise _Seldom
        at += 5
        name = intern(name)  # other responses repeat it
        topics[name] = Topic(name, mine, bool(internal), topic_id)
    if version in _WITH_OPERATIONS:
        at += 4
    if version >= _ERROR_SINCE:
        if body[at] or body[at + 1]:
            raise _Seldom
        at += 2
    if body[at] or at + 1 != len(body):
        raise _Seldom
    return topics


def _after_cluster(body: bytes) -> int:
    """Return the offset of the topics: after brokers, cluster id and controller. Raises _Seldom without brokers, and
    for one without a host.
    """
    brokers, at = read_count(body, 4)  # the throttle time precedes the brokers
    if not brokers:
        raise _Seldom
    for _ in range(brokers):
        if not body[at + 4]:
            raise _Seldom
        at = _after_text(body, at + 4)
        at = skip_tags(body, _after_text(body, at + 4))
    return _after_text(body, at) + 4


def _after_text(body: bytes, at: int) -> int:
    """Return the offset after a string that may be null. Raises UnicodeDecodeError."""
    size, at = read_varint(body, at)
    end = at + max(size - 1, 0)
    body[at:end].decode()
    return end


def _id_text(topic_id: bytes) -> str | None:
    """Return an id as `model.identity.uuid_text` does; None for the zero id."""
    if topic_id == _NO_ID:
        return None
    return b2a_base64(topic_id, newline=False)[:22].translate(_URL_SAFE).decode()


class _Partitions:
    """The partitions of one response; each distinct one is decoded once."""

    def __init__(self, body: bytes, error_name: ErrorName) -> None:
        self._body = body
        self._error_name = error_name
        self._partitions: dict[bytes, Partition] = {}
        self._of_topics: dict[tuple[Partition, ...], tuple[Partition, ...]] = {}
        self._nodes: dict[bytes, tuple[int, ...]] = {}
        self._lists: dict[bytes, tuple[Partition, ...]] = {}
        self._sizes: dict[int, int] = {}

    def at(self, at: int) -> tuple[tuple[Partition, ...], int]:
        """Return the partitions of the topic at an offset, by number, and the offset after them."""
        body, known, first = self._body, self._partitions, at
        # Most topics of a large cluster have the same partitions as another topic. A list is self-delimiting, so equal
        # bytes are equal lists; the size of the last list with the same first byte is a guess.
        end = at + self._sizes.get(body[at], 0)
        if (list_before := self._lists.get(body[at:end])) is not None:
            return list_before, end
        count, at = read_count(body, at)
        found = []
        for _ in range(count):
            # After the head follow three lists of nodes and an empty section of tagged fields.
            isr = at + _HEAD.size + 4 * body[at + _HEAD.size] - 3
            offline = isr + 4 * body[isr] - 3
            end = offline + 4 * body[offline] - 2
            data = body[at:end]
            partition = known.get(data)
            if partition is None:
                partition = known[data] = self._decoded(data, isr - at, offline - at)
            found.append(partition)
            at = end
        if count > 1:
            found.sort()
        mine = tuple(found)
        mine = self._of_topics.setdefault(mine, mine)
        self._sizes[body[first]] = at - first
        if len(self._lists) < _LISTS_KEPT:
            self._lists[body[first:at]] = mine
        return mine, at

    def _decoded(self, data: bytes, isr: int, offline: int) -> Partition:
        """Decode the bytes of a partition. isr, offline: the offsets of these lists in `data`. Raises _Seldom."""
        if data[-1]:
            raise _Seldom
        code, number, leader, epoch = _HEAD.unpack_from(data)
        return Partition(
            number,
            leader,
            self._nodes_of(data[_HEAD.size : isr]),
            self._nodes_of(data[isr:offline]),
            self._nodes_of(data[offline:-1]),
            epoch,
            self._error_name(code) if code else "",
        )

    def _nodes_of(self, data: bytes) -> tuple[int, ...]:
        """Return a list of nodes from its bytes, which begin with its length. Raises _Seldom."""
        known = self._nodes.get(data)
        if known is None:
            if not 0 < data[0] < _ONE_BYTE or len(data) != 4 * data[0] - 3:
                raise _Seldom  # it is null, has more than 126 replicas, or is cut off
            known = self._nodes[data] = Struct(f">{data[0] - 1}i").unpack_from(data, 1)
        return known
