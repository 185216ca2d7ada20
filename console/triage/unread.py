"""The parts of a cluster that a poll lacks. Pure."""

from __future__ import annotations

from console.model.parts import Part
from console.triage.symptoms import SILENT_SECONDS, Poll, quorum_silence

VITAL = tuple(part for part in Part if part.about.is_vital)
"""Parts that every verdict needs, even one without problems: the brokers, their responses, and the partitions."""


def vital_parts(poll: Poll) -> tuple[str, ...]:
    """Return the parts that every verdict needs here."""
    if poll.snapshot.cluster.controllers:
        return (*(part for part in VITAL if part.about.at_controllers), Part.QUORUM)
    return (*VITAL, Part.QUORUM) if _wait_for_leader(poll) else VITAL


def _wait_for_leader(poll: Poll) -> bool:
    """Return whether brokers do not answer requests about the quorum: they wait for its leader, which may be gone.
    Brokers without a quorum, or that refuse to describe it, do answer.
    """
    return poll.snapshot.quorum_asked is not None or quorum_silence(poll) > SILENT_SECONDS


def unread_parts(poll: Poll) -> frozenset[str]:
    """Return the parts without a present state: never read, or their last read failed as a whole. A part with only some
    unread members is not included.
    """
    snapshot = poll.snapshot
    whole = {each.part for each in snapshot.failures if each.entity in ("", each.part)}
    asked = {each.part for each in snapshot.failures}
    nothing = {Part.LOG_DIRS: not snapshot.log_dirs, Part.CONFIGS: not snapshot.configs}
    return frozenset(
        {
            *poll.unread,
            *whole,
            *(part for part, is_empty in nothing.items() if is_empty and part in asked),
            *((Part.QUORUM,) if _wait_for_leader(poll) else ()),
        }
    )
