"""Evidence that brokers were upgraded to a release that refuses old clients, and the step for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from console.model.numbers import first_few, time_of_day
from console.triage import cause
from console.triage.folding import FEW
from console.triage.upgrades import KEPT, Upgrade

SETTLES = timedelta(seconds=90)
"""Time for which an upgraded broker may already refuse clients before kac has read its version: it reads versions twice
a minute, once all brokers answer.
"""


AT_ONCE = timedelta(minutes=2)
"""Maximum time from the upgrade of a partition's leader to the last record of clients that it refuses."""


def upgraded(
    known: Sequence[Upgrade], since: datetime, within: timedelta = KEPT, leaders: Collection[int] | None = None
) -> cause.Evidence | None:
    """Return, as evidence, the upgrades shortly before clients stopped; None if there are none.

    Args:
        known: the upgrades that kac saw.
        since: the time at which the clients stopped, UTC.
        within: the maximum time from an upgrade to `since`.
        leaders: brokers of which at least one must be among the upgraded ones; None for no such condition.
    """
    found = [each for each in known if since - within <= each.at <= since + SETTLES]
    if not found or not (leaders is None or any(each.broker in leaders for each in found)):
        return None
    first = found[0]
    who = f"broker {first.broker} runs" if len(found) == 1 else f"brokers {_numbers(found)} run"
    return cause.Evidence(
        f"{who} {first.became} since {time_of_day(first.at)}, before that {first.was}: 4.0 and later refuse clients "
        "older than 2.1",
        "ApiVersions over time, KIP-896",
    )


def _numbers(some: Sequence[Upgrade]) -> str:
    return first_few([str(each.broker) for each in some], FEW)


LOOK = cause.Next(
    "upgrade the clients if their library is older than Kafka 2.1 (of 2018 or before): the brokers' request logs name "
    "them"
)
