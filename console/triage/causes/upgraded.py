"""The cause that brokers went back to an older release, and evidence that upgraded brokers refuse old clients."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta

from console.model.feature_levels import METADATA_VERSION, newest_levels
from console.model.numbers import first_few, time_of_day
from console.model.severity import Certainty, Severity
from console.triage import cause
from console.triage.folding import FEW
from console.triage.observations import Observations
from console.triage.symptoms import Subject
from console.triage.upgrades import KEPT, Upgrade, returned

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
    found = [each for each in known if each.refuses_old_clients and since - within <= each.at <= since + SETTLES]
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


def _returned(observations: Observations) -> Iterator[cause.Claim]:
    versions = observations.last.snapshot.versions
    older, newest = returned(observations.past.upgrades, versions) if observations.past.upgrades else ((), "")
    # If several brokers went back, an operator rolls the upgrade back.
    for each in older if len(older) == 1 else ():
        holds_up = _holds_up(each.broker, observations)
        yield cause.Claim(
            cause="older-release",
            subject=Subject(broker=each.broker),
            severity=Severity.WARNING,
            certainty=Certainty.POSSIBLE,
            title=f"broker {each.broker} came back with the older release {each.became}, and others run {newest}",
            since=each.at,
            evidence=cause.given(
                cause.Evidence(
                    f"broker {each.broker} runs {each.became} since {time_of_day(each.at)}, before that {each.was}",
                    "ApiVersions over time",
                ),
                cause.Evidence(holds_up, "ApiVersions of all brokers") if holds_up else None,
            ),
            next=(
                cause.Next(
                    f"upgrade broker {each.broker} to {newest} again: look which package, image or path its process "
                    "was started from. If you roll an upgrade back, go on with the other brokers"
                ),
            ),
            alone=True,
        )


def _holds_up(broker: int, observations: Observations) -> str:
    """Return a text which says that a broker alone does not support a higher metadata version; ``""`` if other brokers
    do not support it either.
    """
    versions = observations.last.snapshot.versions
    most = {id_: each.supported_features.get(METADATA_VERSION, (0, 0))[1] for id_, each in versions.items()}
    level, others = most.get(broker, 0), [each for id_, each in most.items() if id_ != broker]
    if not level or not others or min(others) <= level:
        return ""
    now = newest_levels(versions.values()).get(METADATA_VERSION, 0)
    return (
        f"{METADATA_VERSION} is {now}: broker {broker} supports only {level}, the others {min(others)}, so the "
        "controllers refuse to raise it further"
    )


CAUSE = cause.CauseRule(
    "older-release",
    _returned,
    reads="ApiVersions over time",
    takes="possible: one broker came back with an older release than it had, and others still run the newer one",
)
