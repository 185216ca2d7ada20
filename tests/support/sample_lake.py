"""A small lake, made without Spark, for tests and pictures of the programs that read it. Its content is always the same
but for the id of the run.

``python -m tests.support.sample_lake FOLDER`` makes a lake in a folder.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from console.lake.files import Filesystem, new_run_id
from console.lake.lake import Lake
from console.lake.schema import TABLES, arrow_schema
from tests.support import delta_lake

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
CLUSTER = "model-cluster"
OTHER = "other-cluster"
EVIL = "evil\x1b[31m\u202e[bold]"
_MINUTE = timedelta(minutes=1)


def make_lake(
    where: str,
    cluster_id: str = CLUSTER,
    at: datetime = NOON,
    *,
    prefix: str = "",
    hostile: bool = True,
    files: Filesystem | None = None,
) -> Lake:
    """Make a lake of two clusters; `cluster_id` has most of the rows.

    where: folder or URL. at: the time of the last poll. prefix: the beginning of the topics' names. hostile: whether to
    include names and values with control characters. files: the filesystem of a lake that is not on this machine; None
    for a local folder.
    """
    lake = Lake.create(where, files)
    run = new_run_id()
    for table, rows in {
        "snapshot": snapshots(cluster_id, at),
        "history": [row for row in history(cluster_id, at, prefix) if hostile or EVIL not in row],
        "drift": [row for row in drift(cluster_id, at, prefix) if hostile or EVIL not in row[2]],
        "quota_usage": usage(cluster_id, at),
        "quota_suggestion": suggestions(cluster_id),
        "policy_violation": violations(cluster_id, at),
        "access": access(cluster_id, at),
    }.items():
        delta_lake.put(lake, TABLES[table], arrow(table, rows), run=run)
    return lake


def access(cluster_id: str, at: datetime) -> list[tuple[Any, ...]]:
    """Return rows of authorization decisions in the hour of the last poll."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    first, last = hour, at
    read = ("READ", "TOPIC", "LITERAL", "orders")
    return [
        (cluster_id, hour, "User:mallory", "10.0.0.66", *read, False, 12, first, last, "FETCH", "DefaultDeny"),
        (cluster_id, hour, "User:alice", "10.0.0.7", *read, True, 4200, hour, last, "FETCH", None),
    ]


def arrow(table: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    named = [dict(zip(TABLES[table].names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(named, schema=arrow_schema(TABLES[table]))


def snapshots(cluster: str, at: datetime) -> list[tuple[Any, ...]]:
    """Return rows of hourly polls of the first cluster, and of one poll of the second cluster."""
    polls = [(cluster, at - timedelta(hours=hours)) for hours in range(6)] + [(OTHER, at - timedelta(hours=2))]
    return [(each, when, "heartbeat", "topic", None, None, None, None, False) for each, when in polls]


def history(cluster: str, at: datetime, prefix: str = "") -> list[tuple[Any, ...]]:
    """Return rows of changes of every sort: with a known, an ambiguous or no author; with hidden values; deletions;
    changes that no poll observed.
    """

    def row(
        minutes: float,
        type_: str,
        key: str,
        attr: str,
        old: str | None,
        new: str | None,
        who: str | None = None,
        how: str = "none",
        *,
        until: float | None = None,
        deleted: bool = False,
        of: str = cluster,
    ) -> tuple[Any, ...]:
        since = at - minutes * _MINUTE
        ended = None if until is None else at - until * _MINUTE
        source = {"request": "kraft_log", "journal": "journal"}.get(how, "snapshot")
        return (of, type_, key, attr, old, new, since, ended, ended is None, deleted, who, how, source)

    checkout = "user=alice,client-id=checkout"
    return [
        row(9, "topic", f"{prefix}orders", "retention.ms", "86400000", "604800000", "User:bob", "journal"),
        row(95, "topic", f"{prefix}orders", "retention.ms", None, "86400000", "User:alice", "request", until=9),
        row(
            12,
            "topic",
            f"{prefix}orders",
            "cleanup.policy",
            "delete",
            "compact,delete",
            "User:alice, User:bob",
            "several",
        ),
        row(31, "topic", f"{prefix}payments", "min.insync.replicas", "2", None, deleted=True),
        row(40, "topic", f"{prefix}orders", ":partitions", "1", "3", "User:alice", "request"),
        row(42, "topic", f"{prefix}old-orders", ":topic_id", "x1", None, "User:alice", "request", deleted=True),
        row(55, "broker", "<default>", "log.retention.ms", None, "259200000", "User:bob", "request"),
        row(61, "broker", "2", "log.cleaner.threads", "1", "4", "User:bob", "request"),
        row(62, "broker", "1", "listener.name.external.ssl.keystore.password", None, None, "User:bob", "request"),
        row(70, "quota", "user=alice", "consumer_byte_rate", "20000000", "50000000", "User:bob", "request"),
        row(75, "quota", checkout, "producer_byte_rate", None, "5000000", "User:bob", "request"),
        row(
            80,
            "acl",
            f"TOPIC:LITERAL:{prefix}orders",
            "ALLOW READ User:carol from *",
            None,
            "set",
            "User:bob",
            "request",
        ),
        row(85, "scram", "alice", "SCRAM-SHA-512", None, "iterations=8192", "User:bob", "request"),
        row(90, "topic", EVIL, "retention.ms", "\x1b[2J", "[red]1[/]", "User:\x07mallory", "request"),
        row(180, "cluster", cluster, ":unobserved", None, None, until=120),
        row(30, "topic", f"{prefix}orders", "retention.ms", None, "3600000", "User:dave", "request", of=OTHER),
    ]


def drift(cluster: str, at: datetime, prefix: str = "") -> list[tuple[Any, ...]]:
    """Return rows of deviations, at least one of each scope."""
    return [
        (cluster, "broker", "broker:2", "log.cleaner.threads", "1", "4", 3, 1, at - 61 * _MINUTE, "medium"),
        (cluster, "broker", "broker:3", "log.dirs", "/data/kafka", "/mnt/kafka", 3, 1, None, "low"),
        (cluster, "broker", "broker:1", "log.retention.ms", None, "3600000", 3, 1, at - 500 * _MINUTE, "high"),
        (
            cluster,
            "cluster",
            f"topic:{prefix}orders",
            "retention.ms",
            "3600000",
            "604800000",
            3,
            1,
            at - 9 * _MINUTE,
            "high",
        ),
        (OTHER, "cluster", f"topic:{prefix}audit", "cleanup.policy", "delete", "compact", 3, 1, None, "low"),
        (
            cluster,
            "baseline",
            f"topic:{prefix}payments",
            "min.insync.replicas",
            "2",
            None,
            1,
            1,
            at - 31 * _MINUTE,
            "high",
        ),
        (cluster, "baseline", f"topic:{EVIL}", "retention.ms", "1", "\x1b[2J", 1, 1, None, "low"),
    ]


PAIRS: Sequence[tuple[str | None, str | None, str, float | None, int | None, float, float | None, str]] = (
    ("alice", "checkout", "producer_byte_rate", 5e6, 1, 4.9e6, 8e6, "throttled in 40 of 60 minutes"),
    ("alice", None, "consumer_byte_rate", 50e6, 3, 21e6, None, "fits"),
    ("svc-8", None, "producer_byte_rate", 10e6, 6, 9.1e6, 12e6, "near its limit"),
    ("bob", "batch", "request_percentage", None, None, 42.0, None, "no limit"),
    (None, "mirror", "consumer_byte_rate", 80e6, 7, 30e6, None, "fits"),
)
"""User, client id, quota key, limit, level of the quota; the mean rate; the suggested limit and its reason."""


def usage(cluster: str, at: datetime) -> list[tuple[Any, ...]]:
    """Return rows of quota usage in two hours: five pairs of user and client id on two brokers."""
    return list(_usage_rows(cluster, at))


def suggestions(cluster: str) -> list[tuple[Any, ...]]:
    """Return a suggested limit for each of `PAIRS`, and an older suggestion for a former limit of the first pair."""
    found = [
        (cluster, key, user, client, limit, level, better, why)
        for user, client, key, limit, level, _, better, why in PAIRS
    ]
    before = (cluster, "producer_byte_rate", "alice", "checkout", 1e6, 1, 2e6, "it was throttled")
    return [before, *found]


def _usage_rows(cluster: str, at: datetime) -> Iterator[tuple[Any, ...]]:
    for number, (user, client, key, limit, level, mean, *_) in enumerate(PAIRS):
        for minute in range(120):
            for broker in (1, 2):
                rate = mean * (1 + 0.25 * math.sin(minute / (4 + number))) * (1.0 if broker == 1 else 0.6)
                waited = int(max(0.0, rate / limit - 1) * 60_000) if limit else 0
                top = min(rate * 1.1, limit * 1.2) if limit else rate * 1.1
                yield (
                    *(cluster, broker, at - (119 - minute) * _MINUTE, user, client, key, limit, level),
                    *(rate, rate * 1.05, top, top / limit if limit else None, waited, waited // 100),
                    limit - top if limit else None,
                )


def violations(cluster: str, at: datetime) -> list[tuple[Any, ...]]:
    """Return two quota violations: one that goes on, and one that has ended."""
    since = at - timedelta(hours=3)
    return [
        (cluster, "min-isr", "topic:payments", "min.insync.replicas", None, "at least 2", "high", since, None),
        (cluster, "retention", "topic:orders", "retention.ms", "1", "a day or more", "low", since, at - 9 * _MINUTE),
    ]


if __name__ == "__main__":
    print(make_lake(sys.argv[1]).where)
