"""Measures the CPU time of a verdict at 40,000 partitions and 10,000 groups: the observations of a poll and their
diagnosis.

``python -m benchmarks.triage_cost [--rounds 10]``: for a healthy cluster; a cluster with one of six brokers down; and a
cluster on which all groups lag and each poll reads as many of them as triage does, also right after changes by other
clients, and with a quota for all readers. No requests are sent to brokers. All polls of a case do the same work, so the
least time counts: other processes on the machine only add to it. Fails above 100 ms of CPU time for a verdict. Finally,
without a limit, all groups are read at once, which no poll does.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from benchmarks.figures import load
from console.admin.gc_pause import gc_paused
from console.model import cluster as model_cluster
from console.model.codes import ConfigSource
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigSet, broker_resource, topic_resource
from console.model.lag_trend import LagTrend
from console.model.observed_logs import LogOffsets, Newest, ObservedLogs, logs_after
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot, trends_after
from console.session.triage_polls import MOST_GROUPS
from console.terminal import put
from console.triage.diagnosis import Verdict, diagnose
from console.triage.facts import Facts
from console.triage.observations import after, begin
from console.triage.symptoms import Poll

TOPICS, PARTITIONS, GROUPS, BROKERS = 5_000, 8, 10_000, 6
LIMIT = 0.1
"""Maximum CPU seconds for a verdict."""
START = datetime(2026, 3, 1, tzinfo=UTC)
PARTS = ("cluster", "topics", "quorum", "groups", "reassignments", "log_dirs", "configs", "quotas")
DOWN, FIRST = 3, 3
"""The id of the broker that is down, and the number of polls before the measured ones."""
Change = Callable[[Snapshot, int], Snapshot]


def cluster() -> Snapshot:
    """Return the snapshot of a healthy cluster."""
    ids = tuple(range(1, BROKERS + 1))
    spread = [tuple(ids[(start + each) % BROKERS] for each in range(3)) for start in range(BROKERS)]
    names = [f"topic-{number:05}" for number in range(TOPICS)]
    topics = {
        name: model_cluster.Topic(
            name,
            tuple(
                model_cluster.Partition(n, replicas[0], replicas, replicas, leader_epoch=3)
                for n in range(PARTITIONS)
                for replicas in (spread[(place + n) % BROKERS],)
            ),
            topic_id=name,
        )
        for place, name in enumerate(names)
    }
    values = {
        "cleanup.policy": "delete",
        "min.insync.replicas": "2",
        "retention.bytes": "-1",
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
    }
    own = ConfigSet(tuple(ConfigEntry(key, value, ConfigSource(5)) for key, value in values.items()))
    dirs = {broker: (model_cluster.LogDir("/data", _replicas(topics, broker), 10**13, 9 * 10**12),) for broker in ids}
    for ((log_dir,),) in zip(dirs.values()):
        _ = log_dir.sizes
    places = [(name, number) for name in names for number in range(PARTITIONS)]
    each = len(places) // GROUPS
    groups, lags = {}, {}
    for number in range(GROUPS):
        name = f"group-{number:05}"
        mine = places[number * each : (number + 1) * each]
        groups[name] = model_cluster.Group(
            name, "Stable", "consumer", coordinator=1, members=(model_cluster.GroupMember("m", "c", "/", tuple(mine)),)
        )
        lags[name] = model_cluster.GroupLag(
            tuple(model_cluster.PartitionLag(*place, 1_000, 1_000, 0, "m") for place in mine)
        )
    return Snapshot(
        cluster=model_cluster.ClusterInfo(
            "c", 1, tuple(model_cluster.Broker(i, "127.0.0.1", 9000 + i, f"rack-{i % 3}") for i in ids)
        ),
        quorum=model_cluster.Quorum(
            1, 7, 100, tuple(model_cluster.QuorumReplica(i, 100, 0, 1, 1) for i in ids[:3]), ()
        ),
        topics=topics,
        configs={topic_resource(name): own for name in names}
        | {broker_resource(id_): own for id_ in ids}
        | {CLUSTER_DEFAULT: ConfigSet(())},
        groups=groups,
        lags=lags,
        log_dirs=dirs,
        read_at=dict.fromkeys(PARTS, START),
    )


def _replicas(topics: dict[str, model_cluster.Topic], broker: int) -> model_cluster.ReplicaSizes:
    return model_cluster.ReplicaSizes(
        model_cluster.ReplicaSize(name, partition.number, 1_000_000, 0, False)
        for name, topic in topics.items()
        for partition in topic.partitions
        if broker in partition.replicas
    )


def without_broker(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot of a poll in which a broker is fenced and its leaders are moved, from the second poll on.
    tick: the poll's number.
    """
    if not tick:
        return snapshot
    topics = {}
    for name, topic in snapshot.topics.items():
        partitions = []
        for each in topic.partitions:
            isr = tuple(broker for broker in each.isr if broker != DOWN)
            partitions.append(each._replace(isr=isr, leader=isr[0], offline=(DOWN,) if len(isr) < 3 else ()))
        topics[name] = replace(topic, partitions=tuple(partitions))
    brokers = tuple(replace(each, fenced=each.id == DOWN) for each in snapshot.cluster.brokers)
    return replace(snapshot, topics=topics, cluster=replace(snapshot.cluster, brokers=brokers))


def lagging(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot of a poll in which groups have advanced and lag more each time that they are read: all groups
    in the first polls, then as many as triage reads in a poll. tick: the poll's number.
    """
    names = list(snapshot.lags)
    start = tick * MOST_GROUPS % len(names)
    return _behind(snapshot, tick, names if tick <= FIRST else (names + names)[start : start + MOST_GROUPS])


def lagging_below_a_quota(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot as `lagging` does, with a quota that no reader reaches."""
    if tick == 1:
        default = QuotaEntity.of({"client-id": None})
        snapshot = replace(snapshot, quotas={default: {"consumer_byte_rate": 1e9}})
    return lagging(snapshot, tick)


def lagging_at_a_quota(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot as `lagging` does, with a quota for all readers that allows less than is written."""
    if tick == 1:
        default = QuotaEntity.of({"client-id": None})
        snapshot = replace(snapshot, quotas={default: {"consumer_byte_rate": 1e5}})
    return lagging(snapshot, tick)


def lagging_at_once(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot as `lagging` does, with all groups read in each poll."""
    return _behind(snapshot, tick, snapshot.lags)


def lagging_after_changes(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot as `lagging` does, after another client changed the default of all brokers and a config of
    100 topics.
    """
    if tick == 1:
        own = ConfigSet((ConfigEntry("max.message.bytes", "500000", ConfigSource(1)),))
        default = ConfigSet((ConfigEntry("message.max.bytes", "500000", ConfigSource(3)),))
        names = [f"topic-{number:05}" for number in range(100)]
        changed = {**dict.fromkeys(map(topic_resource, names), own), CLUSTER_DEFAULT: default}
        snapshot = replace(snapshot, configs={**snapshot.configs, **changed})
    return lagging(snapshot, tick)


def _behind(snapshot: Snapshot, tick: int, read: Iterable[str]) -> Snapshot:
    behind = 10_000 * tick
    lags = {
        name: model_cluster.GroupLag(
            tuple(
                row._replace(committed=row.committed + tick, end=row.end + tick + behind, lag=behind)
                for row in lag.partitions
            )
        )
        for name in read
        for lag in (snapshot.lags[name],)
    }
    return replace(snapshot, lags={**snapshot.lags, **lags})


LAGGING = (lagging, lagging_at_once, lagging_after_changes, lagging_below_a_quota, lagging_at_a_quota)


def facts(snapshot: Snapshot) -> Facts:
    """Return facts with the logs of all partitions and their newest records."""
    places = [(name, each.number) for name, topic in snapshot.topics.items() for each in topic.partitions]
    logs = logs_after(ObservedLogs(), dict.fromkeys(places, LogOffsets(0, 1_000, 1_000)), START.timestamp())
    return Facts(logs, newest=dict.fromkeys(places, Newest(int(START.timestamp() * 1000), 999)))


def measure(change: Change, rounds: int) -> list[float]:
    """Return the CPU seconds of the verdict of each of `rounds` polls, after three polls that are not counted. change:
    returns the snapshot of a poll.
    """
    base = cluster()
    known = facts(base)
    trends: Mapping[str, LagTrend] = trends_after({}, base.lags, START)
    observations = begin(Poll(START, replace(base, lag_trends=trends), facts=known))
    took: list[float] = []
    verdict: Verdict | None = None
    now, made = base, -1
    for tick in range(1, rounds + FIRST + 1):
        at = START + tick * timedelta(seconds=5)
        if change in LAGGING:
            before, now = now.lags, change(now, tick)
            read = {name: lag for name, lag in now.lags.items() if before[name] is not lag}
            trends = {**trends, **trends_after(trends, read, at)}
        elif made != min(tick, FIRST):
            now, made = change(base, tick), min(tick, FIRST)
        poll = Poll(at, replace(now, lag_trends=trends), facts=known)
        with gc_paused():  # freezes the objects that were read, as after each decode
            pass
        began = time.thread_time()
        observations = after(observations, poll)
        verdict = diagnose(observations, before=verdict)
        if tick > FIRST:
            took.append(time.thread_time() - began)
    return took


def main() -> int:
    """Measure the verdicts of each case, and print a line with their CPU milliseconds. Return 1 if the least time of
    a case with a limit is above `LIMIT`, else 0.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    put(f"{TOPICS * PARTITIONS:,} partitions, {GROUPS:,} groups, {BROKERS} brokers; {load()}\n")
    worst = 0.0
    cases: tuple[tuple[str, Change], ...] = (
        ("well", lambda snapshot, _: snapshot),
        ("a broker is down", without_broker),
        ("all groups lag", lagging),
        ("after 101 changes", lagging_after_changes),
        ("below a quota", lagging_below_a_quota),
        ("at a quota", lagging_at_a_quota),
        ("all, all at once", lagging_at_once),
    )
    for name, change in cases:
        took = measure(change, rounds)
        least, middle = min(took), statistics.median(took)
        worst = max(worst, least if change is not lagging_at_once else 0)
        put(
            f"{name:<18} {least * 1000:6.0f} ms of the processor for a verdict, {middle * 1000:.0f} in the median, "
            f"at most {max(took) * 1000:.0f}\n"
        )
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
