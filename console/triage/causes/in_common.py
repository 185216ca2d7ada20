"""Causes that the stuck partitions of several groups have in common: the broker that leads them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from console.model.cluster import Topic, partition_in
from console.model.numbers import first_few, plural
from console.model.severity import Certainty, Severity
from console.triage import cause, symptoms
from console.triage.observations import Observations, earliest
from console.triage.readers import Reading
from console.triage.remembered import remembered

FEWEST, SEVERAL = 3, 2
"""Minimum number of partitions that stand still; and minimum numbers of their topics, of their groups, and of
partitions of other leaders in which the same groups get on."""
NEARLY_ALL, NEARLY_NONE = 0.8, 0.1
"""Minimum share of a leader's partitions that stand still, and maximum share of the other leaders' partitions, among
those that the groups read."""


def _of_one_leader(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for a broker that answers kac, and leads nearly all partitions in which several groups do not make
    progress.
    """
    still = observations.of(symptoms.COMMIT_STANDS_STILL)
    if len(still) < FEWEST:
        return
    snapshot = observations.last.snapshot
    leaders = _leaders(still, snapshot.topics)
    leader, count = leaders.most_common(1)[0]
    silent = observations.last.silent | symptoms.gone(snapshot)
    if leader < 0 or leader in silent or count < FEWEST or len(still) - count > NEARLY_NONE * len(still):
        return
    mine = [each for each in still if _leader(each, snapshot.topics) == leader]
    readings = symptoms.readings(snapshot)
    of_groups = {each.subject.group for each in mine if each.subject.group is not None}
    # A member that stands still in all of its partitions, or a host of such members, is the reason itself.
    groups = {group for group in of_groups if _get_on_elsewhere(readings.get(group), mine)}
    mine = [each for each in mine if each.subject.group in groups]
    topics = {each.subject.topic for each in mine if each.subject.topic is not None}
    count = len(mine)
    moving = _moving(groups, readings, snapshot.topics)
    elsewhere = moving.total() - moving[leader]
    if min(len(groups), len(topics), elsewhere) < SEVERAL or count < NEARLY_ALL * (count + moving[leader]):
        return
    broker = next((each for each in snapshot.cluster.brokers if each.id == leader), None)
    where = f"broker {leader} ({broker.host}:{broker.port})" if broker is not None else f"broker {leader}"
    yield cause.Claim(
        cause="leader-not-read",
        subject=symptoms.Subject(broker=leader),
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        title=f"{plural(len(groups), 'group')} stand still in the partitions that broker {leader} leads",
        since=earliest(observations.since(each) for each in mine),
        evidence=(
            cause.Evidence(
                f"broker {leader} leads {plural(count, 'partition')} of {first_few(sorted(topics))} without a commit, "
                f"and {moving[leader]} with one; of other leaders the groups read {elsewhere}",
                "OffsetFetch, Metadata",
            ),
            cause.Evidence(f"groups {first_few(sorted(groups))}; broker {leader} answers this console", "ApiVersions"),
        ),
        predicted=(
            *cause.predict_each((each.subject for each in mine), symptoms.COMMIT_STANDS_STILL),
            *(cause.Prediction(frozenset({symptoms.LAG_GROWS}), group=group) for group in sorted(groups)),
        ),
        next=(
            cause.Next(
                f"look at the way of clients to {where}: its other listeners and their certificates, its limits of "
                "connections, a firewall, its disk"
            ),
        ),
    )


@remembered
def _leaders(still: Sequence[symptoms.Symptom], topics: Mapping[str, Topic]) -> Counter[int]:
    return Counter(_leader(each, topics) for each in still)


def _leader(each: symptoms.Symptom, topics: Mapping[str, Topic]) -> int:
    """Return the id of the leader of a symptom's partition; -1 if it has none."""
    topic, number = each.subject.topic, each.subject.partition
    found = partition_in(topics.get(topic or ""), number if number is not None else -1)
    return found.leader if found is not None else -1


def _get_on_elsewhere(reading: Reading | None, still: Sequence[symptoms.Symptom]) -> bool:
    """Return whether a member of a group that is stuck in one of these partitions has committed in another partition
    meanwhile.

    Args:
        reading: the group's offsets; None if they are unknown.
        still: the symptoms of the stuck partitions.
    """
    if reading is None or reading.trend is None or reading.lag is None:
        return False
    places, moving = {(each.subject.topic, each.subject.partition) for each in still}, {*reading.trend.moving}
    holders = {each.member for each in reading.lag.partitions if (each.topic, each.partition) in places and each.member}
    return any(each.member in holders and (each.topic, each.partition) in moving for each in reading.lag.partitions)


def _moving(groups: set[str], known: Mapping[str, Reading], topics: Mapping[str, Topic]) -> Counter[int]:
    """Return leader -> the number of partitions in which one of these groups has committed lately."""
    found: Counter[int] = Counter()
    for group in groups:
        reading = known.get(group)
        trend = reading.trend if reading is not None else None
        for topic, number in trend.moving if trend is not None else ():
            partition = partition_in(topics.get(topic), number)
            if partition is not None:
                found[partition.leader] += 1
    return found


CAUSES = (
    cause.CauseRule(
        "leader-not-read",
        _of_one_leader,
        reads="OffsetFetch over time, Metadata, ApiVersions",
        takes=(
            "likely: of the partitions in which several groups of several topics do not get on, nine of ten are led by "
            "one broker that answers, and the same members get on in the partitions of other leaders"
        ),
    ),
)
