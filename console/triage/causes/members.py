"""Members of groups as a cause: processes that take the place of each other, and partitions that no member has yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import timedelta

from console.model.changes import TopicTarget
from console.model.numbers import plural, time_of_day
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage import cause, symptoms
from console.triage.events import ID
from console.triage.judged_changes import JudgedChange
from console.triage.observations import Observations
from console.triage.share_beginnings import RESET, passed_over

OFTEN, LATELY = 3, timedelta(seconds=60)
"""Fewest times that an instance id changes hands within this time: a restart, or a deployment, is one."""

NOTICED = timedelta(seconds=15)
"""The time in which a group that looks for new partitions often has found and assigned them."""


def _contested(observations: Observations) -> Iterator[cause.Claim]:
    now = observations.last.at
    for (group, instance), joined in sorted(observations.past.joined.items()):
        recent = [each for each in joined if each.at > now - LATELY]
        if len(recent) < OFTEN or group not in observations.last.snapshot.groups:
            continue
        yield cause.Claim(
            cause="instance-contested",
            subject=symptoms.Subject(group=group),
            severity=Severity.HIGH,
            certainty=Certainty.LIKELY,
            title=f"group {group}: two processes seem to share the instance id {instance}",
            since=joined[0].at,
            times=len(joined),
            evidence=(
                cause.Evidence(
                    f"another member took the instance id {instance} {len(recent)} times within "
                    f"{LATELY.total_seconds():.0f} s, the last one as {recent[-1].client}",
                    "DescribeGroups, many looks",
                ),
                cause.Evidence(
                    "each member that joins fences the former one with the same group.instance.id", "KIP-345"
                ),
            ),
            predicted=cause.predict(
                symptoms.REBALANCING, symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL, group=group
            ),
            next=(
                cause.Next(
                    "stop the second process, or give each one a group.instance.id of its own; a single process that "
                    "starts again and again does the same"
                ),
            ),
        )


def _unread(observations: Observations) -> Iterator[cause.Claim]:
    """Yield the groups that read a topic which grew, and none of its new partitions."""
    poll = observations.last
    for change in observations.past.judged:
        about, was, became = change.place.about, change.was, change.became
        if (
            not isinstance(about, TopicTarget)
            or change.place.key == ID
            or was is None
            or became is None
            or poll.at < change.at + NOTICED
        ):
            continue
        new = range(int(was), int(became))
        logs = (poll.facts.logs.logs.get((about.name, number)) for number in new)
        waiting = sum(log.last.end - log.last.start for log in logs if log is not None)
        for name in _without(poll.snapshot, about.name, new) if waiting else ():
            yield _not_noticed(name, about.name, new, waiting, change)


def _without(snapshot: Snapshot, topic: str, new: Collection[int]) -> Iterator[str]:
    """Yield the groups whose members have partitions of a topic, but none of the new ones, and no offsets in them."""
    for name, group in snapshot.groups.items():
        held = {number for each in group.members or () for place, number in each.assignment if place == topic}
        lag = snapshot.lags.get(name)
        if not held or not held.isdisjoint(new) or lag is None:
            continue
        if not any(row.topic == topic and row.partition in new and row.committed >= 0 for row in lag.partitions):
            yield name


def _not_noticed(group: str, topic: str, new: range, waiting: int, change: JudgedChange) -> cause.Claim:
    numbers = f"partition {new[0]}" if len(new) == 1 else f"partitions {new[0]} to {new[-1]}"
    return cause.Claim(
        cause="partitions-unread",
        subject=symptoms.Subject(group=group, topic=topic),
        severity=Severity.HIGH,
        certainty=Certainty.CERTAIN,
        title=f"group {group} reads none of the new partitions of {topic}",
        since=change.at,
        evidence=(
            cause.Evidence(
                f"{topic} grew from {change.was} to {change.became} partitions at {time_of_day(change.at)}", "Metadata"
            ),
            cause.Evidence(
                f"no member has {numbers}, where {plural(waiting, 'record waits', 'records wait')}",
                "DescribeGroups, OffsetFetch, ListOffsets",
            ),
        ),
        next=(
            cause.Next(
                "restart a member: else its consumers find new partitions after metadata.max.age.ms, 5 minutes by "
                "default, and those with auto.offset.reset=latest begin at their ends and never read these records"
            ),
        ),
    )


def _from_the_end(observations: Observations) -> Iterator[cause.Claim]:
    """Yield the share groups that began at the end of a topic with records that no group reads."""
    past, last = observations.past, observations.last
    for each in passed_over(past.shares, last.snapshot, last.facts.logs) if past.shares else ():
        subject = symptoms.Subject(group=each.group, topic=each.topic)
        yield cause.Claim(
            cause="share-group-from-the-end",
            subject=subject,
            severity=Severity.WARNING,
            certainty=Certainty.POSSIBLE,
            title=f"share group {each.group} began at the end of {each.topic}: {each.records:,} records from before "
            "are not delivered",
            since=each.at,
            evidence=(
                cause.Evidence(
                    f"its {RESET} is not set, and Kafka's default is latest; its clients have no such setting",
                    "DescribeConfigs",
                ),
                cause.Evidence(
                    f"it came at {time_of_day(each.at)}; {each.topic} had {each.records:,} records then, and no other "
                    "group reads it",
                    "ListGroups, ListOffsets, OffsetFetch",
                ),
            ),
            predicted=cause.predict(symptoms.BEGAN_AT_END, subject=subject),
            next=(
                cause.Next(
                    "if it is to work on these as well, stop its members, set it back, and start them again",
                    f"reset group {each.group} topic {each.topic} to earliest",
                ),
                cause.Next(f"set {RESET}=earliest on such a group before its first member comes"),
            ),
        )


CAUSES = (
    cause.CauseRule(
        "instance-contested",
        _contested,
        reads="DescribeGroups over time",
        takes="likely: other members take a group.instance.id at least 3 times in a minute",
    ),
    cause.CauseRule(
        "share-group-from-the-end",
        _from_the_end,
        reads="ListGroups over time, DescribeConfigs of the group, ListOffsets, OffsetFetch",
        takes=(
            "possible: a share group without share.auto.offset.reset came while kac watched, to a topic with records "
            "that no other group reads"
        ),
        since="4.1",
    ),
    cause.CauseRule(
        "partitions-unread",
        _unread,
        reads="Metadata over time, DescribeGroups, OffsetFetch, ListOffsets",
        takes=(
            "certain: a topic grew at least 15 s ago, and a group that reads it has none of the new "
            "partitions, where records wait"
        ),
    ),
)
