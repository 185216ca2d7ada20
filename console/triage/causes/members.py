"""Members of groups as a cause: processes that replace each other again and again, and partitions that no member has
yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches

from console.model.numbers import commas, first_few, plural, time_of_day
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.triage import cause, symptoms
from console.triage.folding import FEW
from console.triage.group_beginnings import CLASSIC, Growth
from console.triage.observations import Observations
from console.triage.share_beginnings import RESET

OFTEN, LATELY = 3, timedelta(seconds=60)
"""Minimum number of times that an instance id changes hands, and the time for them: a restart or a deployment changes
hands once."""

CREATED = timedelta(seconds=30)
"""The time in which a deployment creates the topics of a service that is running already."""
SLIP = 0.8
"""Minimum similarity (difflib's ratio) of two names to suspect that one is a slip of the other."""
COMPARED = 100
"""Maximum number of topics with which a missing one is compared."""
LEARNED = timedelta(minutes=6)
"""The time after which consumers have found new partitions: metadata.max.age.ms, 5 minutes by default, and a
rebalance."""


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
    for each in observations.past.without_new:
        # The coordinator assigns the partitions of groups of the newer types, and knows new ones at once.
        may_come = each.group.type == CLASSIC and poll.at < each.growth.at + LEARNED
        yield _not_noticed(each.group.name, each.growth, each.waiting, may_come=may_come)


def _not_noticed(group: str, growth: Growth, waiting: int, *, may_come: bool) -> cause.Claim:
    topic, new = growth.topic, growth.new
    subject = symptoms.Subject(group=group, topic=topic)
    yet = " yet" if may_come else ""
    return cause.Claim(
        cause="partitions-unread",
        subject=subject,
        severity=Severity.WARNING if may_come else Severity.HIGH,
        certainty=Certainty.POSSIBLE if may_come else Certainty.CERTAIN,
        title=f"group {group} reads none of the new partitions of {topic}{yet}",
        since=growth.at,
        evidence=cause.given(
            cause.Evidence(
                f"{topic} grew from {new.start} to {new.stop} partitions at {time_of_day(growth.at)}", "Metadata"
            ),
            cause.Evidence(
                f"no member has {_numbers(new)}, where {plural(waiting, 'record waits', 'records wait')}",
                "DescribeGroups, OffsetFetch, ListOffsets",
            ),
            cause.Evidence(
                "its members find new partitions within 5 minutes, unless they set metadata.max.age.ms",
                "Kafka's documentation",
            )
            if may_come
            else None,
        ),
        predicted=cause.predict(symptoms.NEW_UNREAD, subject=subject),
        next=(
            cause.Next(
                "restart a member: else its consumers find new partitions after metadata.max.age.ms, 5 minutes by "
                "default, and those with auto.offset.reset=latest begin at their ends and never read these records"
            ),
        ),
    )


def _numbers(some: Sequence[int]) -> str:
    """Return sorted partitions as text: ``partition 3``, ``partitions 3 to 5``, ``partitions 3,5``."""
    if len(some) == 1:
        return f"partition {some[0]}"
    is_row = some[-1] - some[0] == len(some) - 1
    return f"partitions {some[0]} to {some[-1]}" if is_row else f"partitions {commas(some)}"


def _began_late(observations: Observations) -> Iterator[tuple[str, str]]:
    """Yield a possibility for each topic with new partitions: groups did not read the records before their first
    commits there. kac can't check that; each possibility has the place to look.
    """
    groups: dict[str, list[str]] = {}
    for group, topic in sorted(observations.past.begun):
        groups.setdefault(topic, []).append(group)
    for topic, (group, *others) in groups.items():
        begun = observations.past.begun[group, topic]
        new = sorted(begun.records)
        also = f", and {plural(len(others), 'more group')} such records" if others else ""
        yield (
            f"whether group {group} read the {sum(begun.records.values()):,} records before its first commits in the "
            f"new {_numbers(new)} of {topic}, seen at {time_of_day(begun.at)}{also}",
            "auto.offset.reset in the settings of its consumers: with latest they began at the ends, and never read "
            "these records. If they are needed, stop its members, set each of these partitions to its beginning "
            f"(reset group {group} topic {topic} partition {new[0]} to earliest), and start them: they also read again "
            "what they read since",
        )


def _missing(observations: Observations) -> Iterator[cause.Claim]:
    """Yield the groups whose members have waited for a while for topics of which none exists, and that have records to
    read in the topics of their offsets.
    """
    poll = observations.last
    snapshot = poll.snapshot
    if Part.TOPICS not in snapshot.read_at:
        return
    for name, since in sorted(observations.past.members.idle.items()):
        members = snapshot.groups[name].members or ()
        wanted = sorted({topic for each in members for topic in each.topics})
        if poll.at < since + CREATED or any(topic in snapshot.topics for topic in wanted):
            continue
        lag = snapshot.lags.get(name)
        left = sorted({row.topic for row in (lag.partitions if lag is not None else ()) if row.lag > 0})
        # A group that has read nothing yet may have started before its topics were created.
        if left:
            yield _not_there(name, wanted, left, since)


def _not_there(group: str, wanted: Sequence[str], left: Sequence[str], since: datetime) -> cause.Claim:
    """Return the claim that a group subscribes to topics that do not exist.

    Args:
        wanted: the topics that do not exist.
        left: the topics for which the group has offsets, with records that it has not read.
        since: the time since which no member has a partition of the missing topics, UTC.
    """
    # Compare few names: clients choose them, and comparing thousands would take minutes.
    meant = [other for each in wanted[:FEW] for other in get_close_matches(each, left[:COMPARED], 1, SLIP)]
    names = first_few(wanted, FEW)
    return cause.Claim(
        cause="subscription-missing",
        subject=symptoms.Subject(group=group),
        severity=Severity.HIGH,
        certainty=Certainty.CERTAIN,
        title=f"group {group} subscribes to {names}, which {'do' if wanted[1:] else 'does'} not exist",
        since=since,
        evidence=(
            cause.Evidence(
                f"its members name {names}; none of them has a partition since {time_of_day(since)}", "DescribeGroups"
            ),
            cause.Evidence("no such topic, or none that this console may see", "Metadata"),
            cause.Evidence(f"it has offsets of {first_few(left, FEW)}, where records wait", "OffsetFetch, ListOffsets"),
        ),
        predicted=cause.predict(symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL, symptoms.COMMITS_LATER, group=group),
        next=(
            cause.Next(
                f"correct the name in its settings: it is probably {first_few(meant, FEW)}"
                if meant
                else "look at the name in its settings, and at its last release; or create the topic"
            ),
        ),
    )


def _from_the_end(observations: Observations) -> Iterator[cause.Claim]:
    """Yield the share groups that began at the end of a topic with records that no group reads."""
    for each in observations.past.passed:
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
        "subscription-missing",
        _missing,
        reads="DescribeGroups over time, Metadata, OffsetFetch",
        takes=(
            "certain: for 30 s all members subscribe to topics that do not exist, and records wait in topics for "
            "which the group has offsets"
        ),
    ),
    cause.CauseRule(
        "instance-contested",
        _contested,
        reads="DescribeGroups over time",
        takes="likely: other members take over a group.instance.id at least 3 times in a minute",
    ),
    cause.CauseRule(
        "share-group-from-the-end",
        _from_the_end,
        reads="ListGroups over time, DescribeConfigs of the group, ListOffsets, OffsetFetch",
        takes=(
            "possible: while kac watched, a share group without share.auto.offset.reset came to a topic with records "
            "that no other group reads"
        ),
        since="4.1",
    ),
    cause.CauseRule(
        "partitions-unread",
        _unread,
        hides=_began_late,
        reads="Metadata over time, DescribeGroups, OffsetFetch, ListOffsets",
        takes=(
            "certain: a topic got more partitions at least 6 minutes ago, and a group that reads the topic has none of "
            "the new partitions, in which records wait. After 15 s it is possible, as consumers look for new "
            "partitions every 5 minutes; it is certain if brokers assign the group's partitions. No API shows whether "
            "a group read the records before its first commit"
        ),
    ),
)
