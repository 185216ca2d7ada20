"""Finds brokers that came back with another release while kac watched. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import BrokerVersion
from console.model.releases import release_number

KEPT = timedelta(hours=1)
"""The period after which an upgrade is dropped. A return to an older release is kept while the broker runs it."""
REFUSES = (4, 0)
"""The first release that refuses requests of clients older than 2.1 (KIP-896), as (major, minor)."""


class Upgrade(NamedTuple):
    """A broker's change to another release: an upgrade, or the return to an older release."""

    broker: int
    was: str
    """The release before the change."""
    became: str
    """The release after the change."""
    at: datetime
    """The time of the first poll that showed the new release, UTC."""

    @property
    def refuses_old_clients(self) -> bool:
        """Whether the new release refuses old clients that the former one answered."""
        return release_number(self.was) < REFUSES <= release_number(self.became)

    @property
    def is_return(self) -> bool:
        """Whether the new release is older than the former one."""
        return release_number(self.became) < release_number(self.was)


def releases_after(known: Mapping[int, str], versions: Mapping[int, BrokerVersion]) -> Mapping[int, str]:
    """Return broker id -> its last known release, because a broker that restarts has none; the same object as `known`
    if nothing changed. versions: broker id -> its versions now.
    """
    found = {broker: each.release for broker, each in versions.items() if each.release}
    return known if found.items() <= known.items() else {**known, **found}


def upgrades_after(
    known: Sequence[Upgrade], before: Mapping[int, str], now: Mapping[int, BrokerVersion], at: datetime
) -> Sequence[Upgrade]:
    """Return the changes of releases as of this poll: those of the last hour (`KEPT`), and returns to an older release
    that the broker still runs; the same object as `known` if nothing changed.

    Args:
        known: the result for the last poll.
        before: broker id -> its last known release before this poll.
        now: broker id -> its versions at this poll.
        at: the time of this poll, UTC.
    """
    new = [
        Upgrade(broker, was, version.release, at)
        for broker, version in now.items()
        if (was := before.get(broker, "")) and version.release not in ("", was)
    ]
    kept = [each for each in known if each.at > at - KEPT or (each.is_return and _runs(each, now))]
    return known if not new and len(kept) == len(known) else (*kept, *new)


def _runs(change: Upgrade, versions: Mapping[int, BrokerVersion]) -> bool:
    version = versions.get(change.broker)
    return version is not None and version.release == change.became


def returned(known: Sequence[Upgrade], versions: Mapping[int, BrokerVersion]) -> tuple[Sequence[Upgrade], str]:
    """Return the brokers that went back to a release below the newest one that runs now, and that newest release; empty
    if there is no such broker.

    Args:
        known: the changes of releases so far.
        versions: broker id -> its versions now.
    """
    newest = max((each.release for each in versions.values() if each.release), key=release_number, default="")
    older = {
        each.broker: each
        for each in known
        if each.is_return and _runs(each, versions) and release_number(each.became) < release_number(newest)
    }
    return tuple(older.values()), newest if older else ""
