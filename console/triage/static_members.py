"""Static members (KIP-345) whose instance id changes hands: each member that joins fences the former one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.snapshot import Snapshot

Instance = tuple[str, str]
"""A group and an instance id."""
KEPT = timedelta(minutes=5)
"""The period for which changes of hands are kept."""
MOST = 20
"""Maximum number of changes that are kept of an instance id, the latest ones."""


class Joined(NamedTuple):
    """A member that took over an instance id."""

    member_id: str
    client: str
    at: datetime
    """The time of the first poll with the new member, UTC."""


def joined_after(
    known: Mapping[Instance, tuple[Joined, ...]], before: Snapshot, now: Snapshot, at: datetime
) -> Mapping[Instance, tuple[Joined, ...]]:
    """Return the known members that took over instance ids, and those that did since the last poll.

    Args:
        known: the known members, which stay unchanged; an instance id without a takeover in the last 5 minutes (`KEPT`)
            is dropped.
        before, now: the snapshots of the last poll and of this one.

    Returns:
        Group and instance id -> the members that took the id over, the earliest first, without the member that was seen
        first. The same object if nothing changed.
    """
    found = {key: mine for key, mine in known.items() if mine[-1].at > at - KEPT}
    if now.groups is not before.groups:
        for name, group in now.groups.items():
            was = before.groups.get(name)
            if was is None or was is group or not was.members or not group.members:
                continue
            held = {each.instance_id: each.member_id for each in was.members if each.instance_id}
            for each in group.members if held else ():
                if each.instance_id and held.get(each.instance_id, each.member_id) != each.member_id:
                    joined = Joined(each.member_id, f"{each.client_id}@{each.host.removeprefix('/')}", at)
                    found[name, each.instance_id] = (*found.get((name, each.instance_id), ()), joined)[-MOST:]
    return known if found == known else found
