"""Causes in the load: one partition gets the load that all partitions of its topic should share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.model.coordinators import OFFSETS, TRANSACTIONS, partition_of
from console.model.numbers import first_few, time_of_day
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan.amounts import size
from console.triage import cause
from console.triage.folding import FEW
from console.triage.hot_partitions import LASTS, hot
from console.triage.observations import Observations
from console.triage.symptoms import Subject


def _hot(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    # `keys-collapsed` names these, with the shares before.
    collapsed = {(each.topic, each.number) for each in observations.past.collapsed}
    for each in hot(snapshot):
        since = observations.past.hot.get(each.place)
        if since is None or each.place in collapsed or observations.last.at - since < LASTS:
            continue
        name, number = each.place
        groups = _groups_there(snapshot, number) if name == OFFSETS else []
        whose = f", which has the offsets of group {groups[0]}," if len(groups) == 1 else ""
        yield cause.Claim(
            cause="hot-partition",
            subject=Subject(topic=name, partition=number),
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"{name}/{number}{whose} takes {size(round(each.taken))}/s, its topic's median is "
            f"{size(round(each.middle))}/s",
            since=since if since > observations.began else None,
            evidence=(
                cause.Evidence(
                    f"{size(round(each.taken))}/s of {size(round(each.led))}/s that are written to leader "
                    f"{each.leader}, since {time_of_day(since)} or before",
                    "DescribeLogDirs, many looks",
                ),
                cause.Evidence(f"the median of the topic's partitions is {size(round(each.middle))}/s", "the same"),
            ),
            next=(_next(name, groups),),
        )


def _groups_there(snapshot: Snapshot, partition: int) -> list[str]:
    """Return the groups that commit offsets into a partition of the offsets' topic, sorted."""
    count = len(snapshot.topics[OFFSETS].partitions)
    trends = snapshot.lag_trends.items()
    return sorted(name for name, trend in trends if trend.moving and partition_of(name, count) == partition)


def _next(topic: str, groups: Sequence[str]) -> cause.Next:
    """Return the step against an uneven load. groups: for the offsets' topic, the groups that commit into the
    partition.
    """
    if topic == OFFSETS:
        whose = f": {first_few(groups, FEW)}" if groups else ""
        return cause.Next(
            f"look at the groups with their offsets there{whose}. One of them commits too often, as after each record"
        )
    if topic == TRANSACTIONS:
        return cause.Next("look at the producers with a transactional.id: one of them begins transactions too often")
    return cause.Next("look at the producer: records of one key all go to one partition")


CAUSES = (
    cause.CauseRule(
        "hot-partition",
        _hot,
        reads="DescribeLogDirs for a minute",
        takes=(
            "likely: for a minute the partition gets five times the median of its topic, half of its leader's bytes, "
            "and at least 1 MiB/s. Not if keys-collapsed names the partition"
        ),
    ),
)
