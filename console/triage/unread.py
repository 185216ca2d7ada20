"""The parts of a cluster that a poll lacks. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.parts import Part
from console.model.snapshot import GONE, OF_GROUPS, ReadFailure, Snapshot
from console.triage.symptoms import SILENT_SECONDS, Poll, quorum_silence

TIMED_OUT, UNSUPPORTED = "TIMED_OUT", "UNSUPPORTED"
"""The names of a failure to answer in time, and of the failure of a server that lacks an API."""
VITAL = tuple(part for part in Part if part.about.is_vital)
"""Parts that every verdict needs, even a verdict without problems: the brokers, their responses, and the partitions."""


def vital_parts(poll: Poll) -> tuple[str, ...]:
    """Return the parts that every verdict on this cluster needs."""
    if poll.snapshot.cluster.controllers:
        return (*(part for part in VITAL if part.about.at_controllers), Part.QUORUM)
    return (*VITAL, Part.QUORUM) if _wait_for_leader(poll) else VITAL


def _wait_for_leader(poll: Poll) -> bool:
    """Return whether brokers do not answer requests about the quorum: they wait for its leader, which may be gone.
    Brokers without a quorum, or that refuse to describe it, do answer.
    """
    return poll.snapshot.quorum_asked is not None or quorum_silence(poll) > SILENT_SECONDS


def present_failures(snapshot: Snapshot) -> Iterator[ReadFailure]:
    """Yield the failed reads of entities that still exist; a group or a topic that is gone needs no read."""
    return (each for each in snapshot.failures if not _is_gone(each, snapshot))


def _is_gone(failed: ReadFailure, snapshot: Snapshot) -> bool:
    is_of_topic = failed.part == Part.CONFIGS and failed.entity.startswith("topic ")
    return (
        failed.failure.name in GONE
        or (failed.part in OF_GROUPS and failed.entity not in snapshot.groups)
        or (is_of_topic and failed.entity.removeprefix("topic ") not in snapshot.topics)
    )


def in_order(parts: frozenset[str]) -> tuple[str, ...]:
    """Return parts in the order of `Part`; names that are not parts, such as that of a single group, are left out."""
    return tuple(part for part in Part if part in parts)


def _is_no_gap(failed: ReadFailure, snapshot: Snapshot) -> bool:
    """Return whether a failed read leaves no gap: the part was read before and its last answer was only slow, or the
    server has no such part.
    """
    name = failed.failure.name
    return name == UNSUPPORTED or (name == TIMED_OUT and failed.part in snapshot.read_at)


def unread_parts(poll: Poll) -> frozenset[str]:
    """Return the parts without a present state: never read, read longer ago than their interval allows, or their last
    read failed as a whole. A part with only some unread members is not included, and neither is one whose last answer
    was slow: its state before counts until it is late.
    """
    snapshot = poll.snapshot
    gaps = [each for each in snapshot.failures if each.part in VITAL or not _is_no_gap(each, snapshot)]
    whole = {each.part for each in gaps if each.entity in ("", each.part)}
    asked = {each.part for each in gaps}
    # Each Connect cluster counts as a whole: without an answer, nothing is known of its connectors.
    nothing = {Part.LOG_DIRS: not snapshot.log_dirs, Part.CONFIGS: not snapshot.configs, Part.CONNECT: True}
    return frozenset(
        {
            *poll.unread,
            *poll.late,
            *whole,
            *(part for part, is_empty in nothing.items() if is_empty and part in asked),
            *((Part.QUORUM,) if _wait_for_leader(poll) else ()),
        }
    )
