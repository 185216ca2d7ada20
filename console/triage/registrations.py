"""The brokers that were unregistered between polls. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import ClusterInfo

NEAR = timedelta(seconds=10)
"""Maximum time between two polls that show whether a broker ran until it was unregistered: one that is stopped first is
fenced in between."""


class Unregistered(NamedTuple):
    """A broker that the cluster does not list any more."""

    at: datetime
    """The time of the first listing without it, UTC."""
    ran: bool
    """Whether it was listed as running, and answered, until then. A broker that is stopped is fenced first."""


def unregistered_after(
    known: Mapping[int, Unregistered],
    before: ClusterInfo,
    now: ClusterInfo,
    silent: Collection[int],
    gap: timedelta,
    at: datetime,
) -> Mapping[int, Unregistered]:
    """Return broker -> its end, for brokers that are not registered any more after a poll.

    Args:
        before, now: the cluster at the last poll and at this one. Only lists that show fenced brokers (since Kafka 4.0)
            count.
        silent: the brokers that did not answer at the last poll.
        gap: the time between the two polls.
        at: the time of this poll, UTC.
    """
    if before is now or not (before.shows_fenced and now.shows_fenced and now.brokers):
        return known
    listed = {each.id for each in now.brokers}
    left = [each for each in before.brokers if each.id not in listed]
    if not left and listed.isdisjoint(known):
        return known
    kept = {id_: each for id_, each in known.items() if id_ not in listed}
    ran = {each.id for each in left if gap <= NEAR and not each.fenced and each.id not in silent}
    return {**kept, **{each.id: Unregistered(at, each.id in ran) for each in left}}
