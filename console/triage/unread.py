"""Which parts of a cluster a poll knows nothing of. Pure."""

from __future__ import annotations

from console.triage.symptoms import Poll

VITAL = ("cluster", "silent", "topics")
"""Parts without which nothing can be said, not even that nothing is wrong: the brokers, whether each answers, and the
partitions."""


OF_CONTROLLERS = ("cluster", "silent", "quorum", "configs")
"""Parts that controllers know, where they are asked in place of brokers."""


def vital_parts(poll: Poll) -> tuple[str, ...]:
    """Return the parts without which nothing can be said here."""
    return OF_CONTROLLERS[:3] if poll.snapshot.cluster.controllers else VITAL


def unread_parts(poll: Poll) -> frozenset[str]:
    """Return the parts of which nothing is known now: never read, or their last read failed as a whole. A part of which
    some members could not be read is not one of them.
    """
    snapshot = poll.snapshot
    whole = {each.part for each in snapshot.failures if each.entity in ("", each.part)}
    asked = {each.part for each in snapshot.failures}
    nothing = {"log_dirs": not snapshot.log_dirs, "configs": not snapshot.configs}
    return frozenset(
        {*poll.unread, *whole, *(part for part, is_empty in nothing.items() if is_empty and part in asked)}
    )
