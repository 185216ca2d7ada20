"""Causes in the members of groups: processes that replace each other again and again, and partitions that no member
has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches

from console.model.cluster import Group, Topic
from console.model.numbers import commas, first_few, plural, time_of_day
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.triage import cause, symptoms
from console.triage.folding import FEW
from console.triage.group_beginnings import CLASSIC, Growth
from console.triage.memberships import NOT_READY
from console.triage.observations import Observations
from console.triage.share_beginnings import RESET

OFTEN, LATELY = 3, timedelta(seconds=60)
"""Minimum number of times that an instance id changes hands, and the time for them: a restart or a deployment changes
hands once."""

CREATED = timedelta(seconds=30)
"""The time within which a deployment may create the topics of a service that runs already."""
SLIP = 0.8
"""Minimum similarity of two names, 0 to 1 (difflib's ratio), at which one may be a misspelling of the other."""
COMPARED = 100
"""Maximum number of topics with whose names a missing topic's name is compared."""
LEARNED = timedelta(minutes=6)
"""The time after which consumers have found new partitions: metadata.max.age.ms, 5 minutes by default, and a
rebalance.
"""


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
    """Yield a claim for each group that reads a topic which was given more partitions, and reads none of the
    new ones.
    """
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
    """Return sorted partition numbers as text: ``partition 3``, ``partitions 3 to 5``, ``partitions 3,5``."""
    if len(some) == 1:
        return f"partition {some[0]}"
    is_row = some[-1] - some[0] == len(some) - 1
    return f"partitions {some[0]} to {some[-1]}" if is_row else f"partitions {commas(some)}"


def _began_late(observations: Observations) -> Iterator[tuple[str, str]]:
    """Yield a possibility for each topic with new partitions: groups did not read the records before their first
    commits there. kac can't check that; with each possibility it yields the place to look.
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
    """Yield a claim for each group whose members subscribe to no existing topic, and that has records to read."""
    for group, left, since in _idle(observations):
        # A group that has read nothing yet may have started before its topics were created.
        if left and group.state != NOT_READY:
            claim = _without_partitions(group, observations.last.snapshot.topics, left, since)
            yield from () if claim is None else (claim,)


def _missing_topology(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each streams group that lacks topics of its topology."""
    for group, left, since in _idle(observations):
        if group.state == NOT_READY:
            yield _not_ready(group, observations.last.snapshot.topics, left, since)


def _idle(observations: Observations) -> Iterator[tuple[Group, Sequence[str], datetime]]:
    """Yield (group, topics, since) for groups whose members have had no partition for a while: the topics of its
    offsets in which records wait, and the beginning of that state, UTC.
    """
    poll = observations.last
    snapshot = poll.snapshot
    if Part.TOPICS not in snapshot.read_at:
        return
    for name, since in sorted(observations.past.members.idle.items()):
        if poll.at < since + CREATED:
            continue
        group, lag = snapshot.groups[name], snapshot.lags.get(name)
        left = sorted({row.topic for row in (lag.partitions if lag is not None else ()) if row.lag > 0})
        yield group, left, since


def _without_partitions(
    group: Group, topics: Mapping[str, Topic], left: Sequence[str], since: datetime
) -> cause.Claim | None:
    """Return the claim that a group's members subscribe to no existing topic; None if they subscribe to one that
    exists.

    Args:
        left: the topics for which the group has offsets, with records that it has not read.
        since: the time since which no member has a partition, UTC.
    """
    members = group.members or ()
    wanted = sorted({topic for each in members for topic in each.topics})
    patterns = sorted({each.regex for each in members if each.regex})
    if any(topic in topics for topic in wanted):
        return None
    if not patterns:
        return _not_there(group.name, wanted, left, since)
    there = [each for each in left if each in topics]
    return _fits_none(group.name, patterns, there, since) if there and all(each.regex for each in members) else None


def _fits_none(group: str, patterns: Sequence[str], left: Sequence[str], since: datetime) -> cause.Claim:
    """Return the claim that no topic matches the patterns to which a group's members subscribe. left, since: as for
    `_not_there`.
    """
    shown = first_few(patterns, FEW)
    return cause.Claim(
        cause="subscription-missing",
        subject=symptoms.Subject(group=group),
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        title=f"group {group} subscribes to the pattern {shown}, and gets no partition",
        since=since,
        evidence=(
            cause.Evidence(
                f"its members subscribe to {shown}; none of them has a partition since {time_of_day(since)}",
                "ConsumerGroupDescribe",
            ),
            cause.Evidence("brokers match the whole name of a topic: ^orders fits the topic orders alone", "KIP-848"),
            cause.Evidence(f"it has offsets of {first_few(left, FEW)}, where records wait", "OffsetFetch, ListOffsets"),
        ),
        predicted=_of_idle(group),
        next=(
            cause.Next(
                f"correct the pattern in its settings, so that it fits the whole name of {first_few(left, FEW)} (as "
                "^orders.* for names that begin so); if it does, look at the ACLs: topics that its user may not "
                "describe do not count"
            ),
        ),
    )


def _of_idle(group: str) -> tuple[cause.Prediction, ...]:
    return cause.predict(symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL, symptoms.COMMITS_LATER, group=group)


def _not_ready(group: Group, topics: Mapping[str, Topic], left: Sequence[str], since: datetime) -> cause.Claim:
    """Return the claim that a streams group can't run because topics are missing or have wrong numbers of partitions.

    Args:
        left: the topics for which the group has offsets, with records that it has not read.
        since: the time since which the group is not ready, UTC.
    """
    why, step, certainty = _needed(group, topics)
    return cause.Claim(
        cause="topology-not-ready",
        subject=symptoms.Subject(group=group.name),
        severity=Severity.HIGH if left else Severity.WARNING,
        certainty=certainty,
        title=f"streams group {group.name} is not ready{why}",
        since=since,
        evidence=cause.given(
            cause.Evidence(
                f"it is {NOT_READY} since {time_of_day(since)}, and its {plural(len(group.members or ()), 'member')} "
                "process nothing",
                "ListGroups, StreamsGroupDescribe",
            ),
            cause.Evidence(f"records wait in {first_few(left, FEW)}", "OffsetFetch, ListOffsets") if left else None,
        ),
        predicted=_of_idle(group.name),
        next=(cause.Next(step),),
    )


def _needed(group: Group, topics: Mapping[str, Topic]) -> tuple[str, str, Certainty]:
    """Return what a streams group lacks, as the end of a title; the step; and the certainty. A topic that is not listed
    may exist without being visible to kac, so its absence is no proof.
    """
    parts = group.topology or ()
    sources = sorted({topic for part in parts for topic in part.sources if topic not in topics})
    inner = sorted({topic for part in parts for topic in part.repartition_sources if topic not in topics})
    if sources:
        # Brokers create the internal topics once all sources exist: without them either may be what lacks.
        names, both = first_few(sources, FEW), f", nor does its internal topic {first_few(inner, FEW)}" if inner else ""
        makes = (
            "; if it is there, look at the log of the brokers, which create the internal topics with the rights of the "
            "user of its members"
            if inner
            else ""
        )
        return (
            f": {names}, which it reads, {'do' if sources[1:] else 'does'} not exist or is hidden from kac{both}",
            f"look whether {names} exists, with a user that may describe it. If not, create it, or correct the name in "
            f"the application and its last release{makes}",
            Certainty.LIKELY,
        )
    for part in parts:
        counts = {topic: len(topics[topic].partitions) for topic in part.sources if topic in topics}
        if len(set(counts.values())) > 1:
            some = first_few([f"{topic} ({count})" for topic, count in sorted(counts.items())], FEW)
            return (
                f": topics that it joins may have different numbers of partitions, {some}",
                "give topics that the application joins the same number of partitions: repartition one of them in the "
                "application, or make the smaller one again with more, as keys go to other partitions then",
                Certainty.LIKELY,
            )
    if inner:
        return (
            f": its internal topic {first_few(inner, FEW)} does not exist or is hidden from kac",
            "look at the log of the brokers: they create the internal topics of a streams group with the rights of "
            "the user of its members",
            Certainty.LIKELY,
        )
    return "", "look at the log of its members: its coordinator sends them the reason", Certainty.CERTAIN


def _not_there(group: str, wanted: Sequence[str], left: Sequence[str], since: datetime) -> cause.Claim:
    """Return the claim that the members of a group subscribe to topics that do not exist.

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
        predicted=_of_idle(group),
        next=(
            cause.Next(
                f"correct the name in its settings: it is probably {first_few(meant, FEW)}"
                if meant
                else "look at the name in its settings, and at its last release; or create the topic"
            ),
        ),
    )


def _from_the_end(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each share group that began at the end of a topic whose earlier records no group reads."""
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
            "which the group has offsets; likely if they subscribe to a pattern, and none of them has a partition"
        ),
    ),
    cause.CauseRule(
        "topology-not-ready",
        _missing_topology,
        reads="ListGroups, StreamsGroupDescribe over time, Metadata",
        takes=(
            "certain: a streams group is NotReady for 30 s. The reason is likely: kac does not see a topic that it "
            "reads, or an internal one, or topics of one subtopology have different numbers of partitions. "
            "A warning if no records wait"
        ),
        since="4.1",
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
