"""Finds the parts of a cluster's state that were not read for a poll. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.parts import Part
from console.model.snapshot import GONE, OF_GROUPS, ReadFailure, Snapshot
from console.triage.symptoms import SILENT_SECONDS, Poll, quorum_silence

TIMED_OUT, UNSUPPORTED = "TIMED_OUT", "UNSUPPORTED"
"""The names of a failure to answer in time, and of the failure of a server that lacks an API."""
VITAL = tuple(part for part in Part if part.about.is_vital)
"""Parts without which there is no verdict at all, not even one without problems: the brokers, whether they answer, and
the partitions.
"""


def vital_parts(poll: Poll) -> tuple[str, ...]:
    """Return the names of the parts without which there is no verdict on this cluster. If kac is connected only to
    controllers, or brokers wait for the quorum's leader, the quorum is one of them.
    """
    if poll.snapshot.cluster.controllers:
        return (*(part for part in VITAL if part.about.at_controllers), Part.QUORUM)
    return (*VITAL, Part.QUORUM) if _wait_for_leader(poll) else VITAL


def _wait_for_leader(poll: Poll) -> bool:
    """Return whether brokers leave requests about the quorum unanswered: they wait for its leader, which may be gone.
    Brokers that have no quorum, or that refuse to describe it, do answer.
    """
    return poll.snapshot.quorum_asked is not None or quorum_silence(poll) > SILENT_SECONDS


def present_failures(snapshot: Snapshot) -> Iterator[ReadFailure]:
    """Yield the failed reads of entities that still exist: a group or topic that was deleted need not be read."""
    return (each for each in snapshot.failures if not _is_gone(each, snapshot))


def _is_gone(failed: ReadFailure, snapshot: Snapshot) -> bool:
    is_of_topic = failed.part == Part.CONFIGS and failed.entity.startswith("topic ")
    return (
        failed.failure.name in GONE
        or (failed.part in OF_GROUPS and failed.entity not in snapshot.groups)
        or (is_of_topic and failed.entity.removeprefix("topic ") not in snapshot.topics)
    )


def in_order(parts: frozenset[str]) -> tuple[str, ...]:
    """Return the parts in the order of `Part`. Names that are not parts, such as that of a group, are left out."""
    return tuple(part for part in Part if part in parts)


def _is_no_gap(failed: ReadFailure, snapshot: Snapshot) -> bool:
    """Return whether a failed read does not count: the server does not have such a part, or the part was read before
    and only its last answer took too long.
    """
    name = failed.failure.name
    return name == UNSUPPORTED or (name == TIMED_OUT and failed.part in snapshot.read_at)


def unread_parts(poll: Poll) -> frozenset[str]:
    """Return the names of the parts whose present state is unknown: they were never read, were read longer ago than
    their interval allows, or their last read failed as a whole. A part of which only some entities were not read is
    not among them. Neither is a part whose last answer took too long, until its former state is too old.
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
