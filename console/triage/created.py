"""The topics that were created while kac watched. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from console.model.parts import Part
from console.model.snapshot import Snapshot

MOST, NEW_EPOCH = 50, 2
"""Maximum number of topics that are remembered, and of new topics in one poll. If more topics are new, kac only read
all of them again. And the maximum leader epoch of a new topic's partitions: an older topic may be one that the login
may describe only now.
"""


def created_after(
    known: Mapping[str, datetime], old: Snapshot, new: Snapshot, at: datetime, oldest: datetime
) -> Mapping[str, datetime]:
    """Return topic -> the time of the first poll that showed it, UTC, for topics that came while kac watched and still
    exist. The same object if nothing changed.

    Args:
        known: the result for the last poll.
        at: the time of this poll, UTC.
        oldest: the time before which topics are forgotten, UTC.
    """
    if old.topics is new.topics and all(since > oldest for since in known.values()):
        return known
    kept = {name: since for name, since in known.items() if since > oldest and name in new.topics}
    if Part.TOPICS in old.read_at and old.topics is not new.topics:
        denied = {each.entity for each in old.failures if each.part == Part.TOPICS}
        came = sorted(
            name
            for name in (new.topics.keys() - old.topics.keys()) - denied
            if all(each.leader_epoch <= NEW_EPOCH for each in new.topics[name].partitions)
        )
        if len(came) <= MOST:
            kept |= dict.fromkeys(came, at)
    return known if kept == known else dict([*kept.items()][-MOST:])
