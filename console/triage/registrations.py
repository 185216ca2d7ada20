"""Finds brokers that were unregistered between two polls. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import ClusterInfo

NEAR = timedelta(seconds=10)
"""Maximum time between two polls for them to show whether a broker ran until it was unregistered. If it was stopped
first, polls this close together show it fenced before.
"""


class Unregistered(NamedTuple):
    """A broker that was registered and is not any more."""

    at: datetime
    """The time of the first poll without the broker, UTC."""
    ran: bool
    """Whether the broker was listed as running, and answered, at a poll at most `NEAR` before. A broker that is stopped
    first is fenced by then.
    """


def unregistered_after(
    known: Mapping[int, Unregistered],
    before: ClusterInfo,
    now: ClusterInfo,
    silent: Collection[int],
    gap: timedelta,
    at: datetime,
) -> Mapping[int, Unregistered]:
    """Return broker id -> its end, for the brokers that are not registered any more as of this poll.

    Args:
        known: the result for the last poll.
        before, now: the cluster at the last poll and at this one. Only listings that show fenced brokers (since Kafka
            4.0) count.
        silent: the ids of the brokers that did not answer at the last poll.
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
