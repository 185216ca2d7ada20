"""Decoder of the topics in Metadata responses into the model, without an object for each field.

Most partitions have the same bytes as another partition, so the decoder decodes each distinct sequence of bytes once.
It needs less than half the time of kio's decoder, and almost no memory apart from the result; Python's memory pools
would keep the memory of temporary objects. kio decodes the rare cases: topics with errors, tagged fields, versions
before 9.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from struct import Struct, error
from sys import intern

from console.model.cluster import Partition, Topic
from console.wire.tagged_fields import read_count, read_varint, skip_tags

VERSIONS = range(9, 14)
"""The versions of Metadata that this module decodes; all are flexible."""
_IDS_SINCE, _ERROR_SINCE = 10, 13
_WITH_OPERATIONS = range(8, 11)
_HEAD = Struct(">hiii")
_ONE_BYTE = 0x80
"""The smallest value whose varint takes more than one byte."""
_LISTS_KEPT = 4_096
"""Maximum number of distinct lists of partitions that are kept for reuse."""
_NO_ID = bytes(16)
_URL_SAFE = bytes.maketrans(b"+/", b"-_")

ErrorName = Callable[[int], str]


class _Seldom(Exception):
    """Raised for a rare case, which kio has to decode."""


def decode_topics(version: int, body: bytes, error_name: ErrorName) -> dict[str, Topic] | None:
    """Return topic name -> topic, from a Metadata response; equal partitions and equal lists of replicas share one
    object.

    Args:
        version: the version of Metadata.
        body: the bytes after the response header.
        error_name: function that returns Kafka's name of a nonzero error code.

    Returns:
        None for a response that kio has to decode: one of another version, one with a rare case, one without brokers,
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
    """Skip the brokers, the cluster id and the controller; return the offset of the topics. Raises _Seldom, so that kio
    decodes the response, if it has no brokers, or a broker has no host.
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
    """Skip a string that may be null and return the offset after it. Raises UnicodeDecodeError for a string that is not
    UTF-8.
    """
    size, at = read_varint(body, at)
    end = at + max(size - 1, 0)
    body[at:end].decode()
    return end


def _id_text(topic_id: bytes) -> str | None:
    """Return a topic id as text, in the form of `model.identity.uuid_text`; None for the id of zeros, which means no
    id.
    """
    if topic_id == _NO_ID:
        return None
    return b2a_base64(topic_id, newline=False)[:22].translate(_URL_SAFE).decode()


class _Partitions:
    """A decoder of the partitions of one response, which decodes each distinct sequence of bytes once."""

    def __init__(self, body: bytes, error_name: ErrorName) -> None:
        self._body = body
        self._error_name = error_name
        self._partitions: dict[bytes, Partition] = {}
        self._of_topics: dict[tuple[Partition, ...], tuple[Partition, ...]] = {}
        self._nodes: dict[bytes, tuple[int, ...]] = {}
        self._lists: dict[bytes, tuple[Partition, ...]] = {}
        self._sizes: dict[int, int] = {}

    def at(self, at: int) -> tuple[tuple[Partition, ...], int]:
        """Decode the list of partitions at an offset. Return its partitions, sorted by number, and the offset after the
        list.
        """
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
        """Decode the bytes of one partition. isr, offline: the offsets, in `data`, of the lists of in-sync and of
        offline replicas. Raises _Seldom.
        """
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
        """Decode a list of node ids, which begins with its length. Raises _Seldom."""
        known = self._nodes.get(data)
        if known is None:
            if not 0 < data[0] < _ONE_BYTE or len(data) != 4 * data[0] - 3:
                raise _Seldom  # it is null, has more than 126 replicas, or is cut off
            known = self._nodes[data] = Struct(f">{data[0] - 1}i").unpack_from(data, 1)
        return known
