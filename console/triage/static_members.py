"""Finds static members (KIP-345) whose instance id is taken over by other members: each member that joins with the id
fences the former one. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.snapshot import Snapshot

Instance = tuple[str, str]
"""A group's name and an instance id."""
KEPT = timedelta(minutes=5)
"""The period for which takeovers of an instance id are kept after the latest one."""
MOST = 20
"""Maximum number of takeovers that are kept for an instance id, the latest ones."""


class Joined(NamedTuple):
    """A member that took over an instance id. `client` is its client id and host, as ``id@host``."""

    member_id: str
    client: str
    at: datetime
    """The time of the first poll that showed the member with the instance id, UTC."""


def joined_after(
    known: Mapping[Instance, tuple[Joined, ...]], before: Snapshot, now: Snapshot, at: datetime
) -> Mapping[Instance, tuple[Joined, ...]]:
    """Return the members that took over instance ids, as of this poll.

    Args:
        known: the result for the last poll; it is not changed. An instance id without a takeover in the last 5 minutes
            (`KEPT`) is dropped.
        before, now: the snapshots of the last poll and of this one.
        at: the time of this poll, UTC.

    Returns:
        (group, instance id) -> the members that took the id over, the earliest first, without the member that kac saw
        first. The same object as `known` if nothing changed.
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
