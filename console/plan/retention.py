"""The effect of a shorter retention: the topics that keep fewer records, and the range of bytes that is deleted. Pure.

A broker deletes whole segments, the oldest first (UnifiedLog.deleteOldSegments): by time while the newest record of a
segment is too old, by size while the remaining log is no smaller than the limit. No API shows where segments begin, so
the result is a range of bytes, which is about one segment wide for each replica.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from console.model.broker_keys import TOPIC_SYNONYMS
from console.model.cluster import LogRange, LogSpan
from console.model.codes import TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigSet
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.plan import topic_risks
from console.plan.compile import predict
from console.plan.edits import ConfigEdit, Slot
from console.plan.plan import Plan
from console.plan.staged import Staged

_KEYS = (topic_risks.POLICY, topic_risks.BY_TIME, topic_risks.BY_SIZE)
_BROKER_KEYS = {broker_key.name: key for key in _KEYS for broker_key in TOPIC_SYNONYMS.get(key, ())}
SEGMENT_BYTES, _SEGMENT_MS = 2**30, 604_800_000
"""Kafka's defaults of segment.bytes and segment.ms."""
SOON_MS = 300_000
"""The default of log.retention.check.interval.ms: the milliseconds between a broker's checks for segments to delete."""


class RetentionCut(NamedTuple):
    """A topic whose retention becomes shorter, with the new limits."""

    slot: Slot
    """The slot of the edit that shortens the retention."""
    topic: str
    ms: int
    """The new limit of age in milliseconds; -1 for unlimited."""
    size: int
    """The new limit of a partition's size in bytes; -1 for unlimited."""
    segment_bytes: int
    """The size in bytes at which the broker begins a new segment."""
    segment_ms: int
    """The age in milliseconds at which the broker begins a new segment."""


class Range(NamedTuple):
    """The minimum and the maximum of a number of bytes."""

    least: int
    most: int


NONE = Range(0, 0)


class Deletion(NamedTuple):
    """The bytes that an edit deletes, as a range, and the number of partitions for which they are known."""

    least: int = 0
    """The minimum number of bytes that are deleted, over all replicas."""
    most: int = 0
    """The maximum number of bytes that are deleted, over all replicas."""
    partitions: int = 0
    """The number of partitions for which the bytes are known."""
    unknown: int = 0
    """The number of partitions for which the bytes are unknown."""
    why: Failure | None = None
    """The first failure to read one of the unknown partitions; None if there was no failure."""

    def __add__(self, other: object) -> Deletion:
        if not isinstance(other, Deletion):
            return NotImplemented
        return Deletion(
            self.least + other.least,
            self.most + other.most,
            self.partitions + other.partitions,
            self.unknown + other.unknown,
            self.why or other.why,
        )


def shortens_default(staged: Iterable[Staged]) -> bool:
    """Return whether an edit changes a default of retention that topics inherit. The new value is not compared, so
    the result is True for a longer one as well.
    """
    return any(_broker_key(each) for each in staged)


def retention_cuts(staged: Iterable[Staged], snapshot: Snapshot) -> tuple[RetentionCut, ...]:
    """Return the topics whose retention is shorter after these edits, each once, in the order of the edits; topics
    whose configs were not read are left out.
    """
    edits = tuple(each for each in staged if _topic_key(each) or _broker_key(each))
    if not edits:
        return ()
    # Predict all edits together: a limit that one lowers and another raises deletes nothing.
    after = predict(snapshot, Plan(edits)).configs
    inherited = {key: each.edit.slot for each in reversed(edits) if (key := _broker_key(each))}
    own: dict[Slot, Slot] = {each.edit.slot: each.edit.slot for each in edits}
    found = []
    for resource, wanted in after.items():
        known = snapshot.configs.get(resource)
        # The prediction keeps unchanged sets as the same objects: each of 40,000 topics costs one comparison.
        if resource.type != TOPIC or known is None or known is wanted:
            continue
        shorter = _shorter(topic_risks.kept(known), topic_risks.kept(wanted))
        slots = (own.get(Slot(resource, key), inherited.get(key)) for key in shorter)
        slot = next((slot for slot in slots if slot is not None), None)
        if slot is not None:
            found.append(_cut(slot, resource.name, known, wanted))
    order = {each.edit.slot: place for place, each in enumerate(edits)}
    return tuple(sorted(found, key=lambda cut: order[cut.slot]))


def by_slot(cuts: Iterable[RetentionCut], known: Mapping[RetentionCut, Deletion]) -> dict[Slot, Deletion]:
    """Return slot of an edit -> what it deletes, summed over its cuts that are in `known`."""
    found: dict[Slot, Deletion] = {}
    for cut in cuts:
        if cut in known:
            found[cut.slot] = found.get(cut.slot, Deletion()) + known[cut]
    return found


def deleted_bytes(span: LogSpan, sizes: Sequence[int], cut: RetentionCut) -> Range:
    """Return the number of bytes that brokers delete of one partition, over all replicas.

    Args:
        span: the log's offsets; its `since` is the offset of the first record that is not older than `cut.ms`.
        sizes: the bytes of each replica.
    """
    each = [_replica_range(span, size, cut) for size in sizes if size > 0]
    return Range(sum(found.least for found in each), sum(found.most for found in each))


def bytes_freed(before: int, log: LogRange, sizes: Sequence[int], segment_bytes: int) -> Range:
    """Return the number of bytes that brokers delete of one partition, over all replicas, if the records before an
    offset are deleted. Brokers delete only whole segments, and never the active one
    (UnifiedLog.deleteLogStartOffsetBreachedSegments).

    Args:
        before: the first offset that stays.
        sizes: the bytes of each replica.
    """
    # Each replica has segments of its own, so replicas may delete different amounts.
    each = [bytes_before(before, log.start, log.end, size) for size in sizes if size > 0]
    return Range(sum(max(0, found.least - segment_bytes) for found in each), sum(found.most for found in each))


def _replica_range(span: LogSpan, size: int, cut: RetentionCut) -> Range:
    """Return the bytes that one replica deletes: the larger of what it deletes by time and by size, because both
    deletions start at the beginning of the log.
    """
    by_time, by_size = _by_time(span, size, cut), _by_size(size, cut)
    return Range(max(by_time.least, by_size.least), max(by_time.most, by_size.most))


def _by_time(span: LogSpan, size: int, cut: RetentionCut) -> Range:
    """Return the bytes of all segments before the one that contains `span.since`, the first record that is young enough
    to stay. Brokers decide for each segment by its newest timestamp, whatever the order of its records.
    """
    if cut.ms < 0 or span.latest <= span.earliest:
        return NONE
    if span.since >= span.latest:  # this includes the active segment, after which the broker begins a new one
        return Range(size, size)
    old = bytes_before(span.since, span.earliest, span.latest, size)
    # The segment with the offset `since` begins at most a full segment before it, and not before its time limit.
    began = bytes_before(span.began, span.earliest, span.latest, size)
    least = max(0, old.least - cut.segment_bytes, began.least)
    # Records that are about to expire are deleted in the next run of the broker's retention check.
    most = size if 0 <= cut.ms <= SOON_MS else old.most
    return Range(min(least, most), most)


def _by_size(size: int, cut: RetentionCut) -> Range:
    """Return the bytes that a replica deletes by size. The broker deletes segments while the remaining log is no
    smaller than the limit, so less than one segment above the limit stays.
    """
    if cut.size < 0 or size < cut.size:
        return NONE
    if cut.size == 0:
        return Range(size, size)
    most = size - cut.size
    return Range(max(0, most - cut.segment_bytes), most)


def bytes_before(offset: int, start: int, end: int, size: int) -> Range:
    """Return an estimate of the bytes before an offset, for a log of `size` bytes with the offsets `start` to `end`. It
    is a range, because no API shows the bytes.

    The range extends to each side of the mean by three standard deviations, for record sizes that deviate as far as
    their mean, and by 10 % of the smaller part of the log, for sizes that change over time.
    """
    records = end - start
    if offset <= start:
        return NONE
    if offset >= end:
        return Range(size, size)
    part = (offset - start) / records
    off = size * (3 * math.sqrt(part * (1 - part) / records) + 0.1 * min(part, 1 - part))
    return Range(max(0, math.floor(size * part - off)), min(size, math.ceil(size * part + off)))


def _shorter(before: topic_risks.Kept, after: topic_risks.Kept) -> tuple[str, ...]:
    """Return the keys that shorten the retention: all keys if the topic deletes records under the new cleanup.policy
    but not under the old one; empty if it does not delete records under the new one.
    """
    if not after.deletes:
        return ()
    if not before.deletes:
        return _KEYS
    return tuple(key for key, old, new in zip(_KEYS[1:], before[1:], after[1:], strict=True) if new < old)


def _cut(slot: Slot, topic: str, known: ConfigSet, wanted: ConfigSet) -> RetentionCut:
    return RetentionCut(
        slot,
        topic,
        topic_risks.config_number(wanted, topic_risks.BY_TIME, -1),
        topic_risks.config_number(wanted, topic_risks.BY_SIZE, -1),
        # Take the larger limit: the present segments were made with the present configs.
        max(topic_risks.config_number(configs, "segment.bytes", SEGMENT_BYTES) for configs in (known, wanted)),
        max(topic_risks.config_number(configs, "segment.ms", _SEGMENT_MS) for configs in (known, wanted)),
    )


def _topic_key(staged: Staged) -> bool:
    edit = staged.edit
    return isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC and edit.key in _KEYS


def _broker_key(staged: Staged) -> str:
    """Return the topics' key whose default an edit changes for all brokers; ``""`` for any other edit."""
    edit = staged.edit
    if not isinstance(edit, ConfigEdit) or edit.resource != CLUSTER_DEFAULT:
        return ""
    return _BROKER_KEYS.get(edit.key, "")
