"""Finds brokers that were upgraded, while kac watched, to a release that refuses old clients. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import BrokerVersion
from console.model.releases import release_number

KEPT = timedelta(hours=1)
"""The period after which an upgrade is dropped."""
REFUSES = (4, 0)
"""The first release that refuses requests of clients older than 2.1 (KIP-896), as (major, minor)."""


class Upgrade(NamedTuple):
    """An upgrade of a broker to a release that refuses old clients."""

    broker: int
    was: str
    """The release before the upgrade."""
    became: str
    """The release after the upgrade."""
    at: datetime
    """The time of the first poll that showed the new release, UTC."""


def upgrades_after(
    known: Sequence[Upgrade], before: Mapping[int, BrokerVersion], now: Mapping[int, BrokerVersion], at: datetime
) -> Sequence[Upgrade]:
    """Return the upgrades as of this poll, of the last hour (`KEPT`); the same object as `known` if nothing changed.

    Args:
        known: the result for the last poll.
        before, now: broker id -> its versions, at the last poll and at this one.
        at: the time of this poll, UTC.
    """
    if before is now and not (known and known[0].at <= at - KEPT):
        return known
    new = [
        Upgrade(broker, was, version.release, at)
        for broker, version in now.items()
        # The release of a broker may be unknown.
        if broker in before and (was := before[broker].release)
        if release_number(was) < REFUSES <= release_number(version.release)
    ]
    return (*(each for each in known if each.at > at - KEPT), *new)
