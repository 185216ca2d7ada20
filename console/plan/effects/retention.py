"""What a shorter retention deletes: which topics keep less, and roughly how many bytes of them go. Pure.

A broker deletes whole segments, from the oldest (UnifiedLog.deleteOldSegments): by time while a segment's newest record
is too old, by size while what is left is still no less than the limit. How segments are cut is not told, so what a part
of a segment would be is left out, and offsets stand for bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from console.model.broker_layers import TOPIC_SYNONYMS
from console.model.codes import TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigSet
from console.model.failure import Failure
from console.model.log_span import LogSpan
from console.model.numbers import long_number
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, Slot
from console.plan.plan import Plan
from console.plan.predict import predict
from console.plan.staged import Staged

POLICY, BY_TIME, BY_SIZE = "cleanup.policy", "retention.ms", "retention.bytes"
_KEYS = (POLICY, BY_TIME, BY_SIZE)
_BROKER_KEYS = {broker_key.name: key for key in _KEYS for broker_key in TOPIC_SYNONYMS.get(key, ())}
_SEGMENT_BYTES, _SEGMENT_MS = 2**30, 604_800_000
"""Kafka's defaults."""
FOREVER = 2**63


class RetentionCut(NamedTuple):
    """A topic that is going to keep less. slot: the edit that does it. ms, size: the limits from then on, -1 for none;
    size in bytes of one partition. segment_bytes, segment_ms: when a segment is full."""

    slot: Slot
    topic: str
    ms: int
    size: int
    segment_bytes: int
    segment_ms: int


class Deletion(NamedTuple):
    """What goes. size: bytes on all replicas, roughly; partitions: how many were looked at; unknown: how many were not;
    why: what kept one from being looked at."""

    size: int = 0
    partitions: int = 0
    unknown: int = 0
    why: Failure | None = None

    def __add__(self, other: object) -> Deletion:
        if not isinstance(other, Deletion):
            return NotImplemented
        return Deletion(
            self.size + other.size,
            self.partitions + other.partitions,
            self.unknown + other.unknown,
            self.why or other.why,
        )


class Kept(NamedTuple):
    """What a topic keeps. deletes: whether it deletes at all; then limits in ms and bytes, `FOREVER` for none."""

    deletes: bool
    ms: int
    size: int


def shortens_default(staged: Iterable[Staged]) -> bool:
    """Whether an edit is of a retention that topics inherit."""
    return any(_broker_key(each) for each in staged)


def retention_cuts(staged: Iterable[Staged], snapshot: Snapshot) -> tuple[RetentionCut, ...]:
    """The topics whose configs were read that keep less after these edits, each once, in the order of the edits."""
    edits = tuple(each for each in staged if _topic_key(each) or _broker_key(each))
    if not edits:
        return ()
    after = predict(snapshot, Plan(edits)).configs
    inherited = {key: each.edit.slot for each in reversed(edits) if (key := _broker_key(each))}
    own: dict[Slot, Slot] = {each.edit.slot: each.edit.slot for each in edits}
    found = []
    for resource, wanted in after.items():
        known = snapshot.configs.get(resource)
        if resource.type != TOPIC or known is None or known is wanted:
            continue
        shorter = _shorter(kept(known), kept(wanted))
        slots = (own.get(Slot(resource, key), inherited.get(key)) for key in shorter)
        slot = next((slot for slot in slots if slot is not None), None)
        if slot is not None:
            found.append(_cut(slot, resource.name, wanted))
    order = {each.edit.slot: place for place, each in enumerate(edits)}
    return tuple(sorted(found, key=lambda cut: order[cut.slot]))


def by_slot(cuts: Iterable[RetentionCut], known: Mapping[RetentionCut, Deletion]) -> dict[Slot, Deletion]:
    """What each edit deletes, of the cuts that were looked at."""
    found: dict[Slot, Deletion] = {}
    for cut in cuts:
        if cut in known:
            found[cut.slot] = found.get(cut.slot, Deletion()) + known[cut]
    return found


def deleted_bytes(span: LogSpan, sizes: Sequence[int], cut: RetentionCut) -> int:
    """Roughly what goes of one partition. span: since the moment `cut.ms` ago; sizes: bytes of each replica."""
    return sum(max(_by_time(span, size, cut), _by_size(span, size, cut)) for size in sizes)


def _by_time(span: LogSpan, size: int, cut: RetentionCut) -> int:
    if cut.ms < 0 or span.latest <= span.earliest:
        return 0
    if span.since >= span.latest:  # the active segment too: a new one is begun
        return size
    old = size * _old_part(span)
    segment = _segment(size - old, cut)
    return int(old // segment * segment)


def _by_size(span: LogSpan, size: int, cut: RetentionCut) -> int:
    if cut.size < 0 or size <= cut.size:
        return 0
    if cut.size == 0:
        return size
    segment = _segment(size * (1 - _old_part(span)), cut)
    return int((size - cut.size) // segment * segment)


def _old_part(span: LogSpan) -> float:
    return max(0, span.since - span.earliest) / max(1, span.latest - span.earliest)


def _segment(young: float, cut: RetentionCut) -> float:
    """Bytes of a segment: where little is written (`young` bytes in `cut.ms`), time ends it and not its size."""
    if cut.ms <= 0:
        return max(1, cut.segment_bytes)
    return max(1.0, min(cut.segment_bytes, young / cut.ms * cut.segment_ms))


def _shorter(before: Kept, after: Kept) -> tuple[str, ...]:
    """The keys by which less is kept."""
    if not after.deletes:
        return ()
    if not before.deletes:
        return _KEYS
    return tuple(key for key, old, new in zip(_KEYS[1:], before[1:], after[1:], strict=True) if new < old)


def kept(configs: ConfigSet) -> Kept:
    """What a topic of these configs keeps."""
    entry = configs.get(POLICY)
    policy = entry.value if entry is not None and entry.value is not None else "delete"
    limits = (_number(configs, key, -1) for key in (BY_TIME, BY_SIZE))
    return Kept("delete" in policy.split(","), *(FOREVER if limit < 0 else limit for limit in limits))


def _cut(slot: Slot, topic: str, wanted: ConfigSet) -> RetentionCut:
    return RetentionCut(
        slot,
        topic,
        _number(wanted, BY_TIME, -1),
        _number(wanted, BY_SIZE, -1),
        _number(wanted, "segment.bytes", _SEGMENT_BYTES),
        _number(wanted, "segment.ms", _SEGMENT_MS),
    )


def _number(configs: ConfigSet, key: str, otherwise: int) -> int:
    entry = configs.get(key)
    number = long_number(entry.value) if entry is not None else None
    return otherwise if number is None else number  # what is no number the brokers are going to refuse


def _topic_key(staged: Staged) -> bool:
    edit = staged.edit
    return isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC and edit.key in _KEYS


def _broker_key(staged: Staged) -> str:
    """The topics' key that an edit of the brokers' default stands for, ``""`` for any other edit."""
    edit = staged.edit
    if not isinstance(edit, ConfigEdit) or edit.resource != CLUSTER_DEFAULT:
        return ""
    return _BROKER_KEYS.get(edit.key, "")
