"""A verdict of triage and its cluster as metrics in the text format of Prometheus, for a textfile collector or for a
scrape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from console.model.parts import Part
from console.model.severity import Severity
from console.model.time_lag import NOT_BEHIND, UNSEEN, longest
from console.model.topic_counts import TopicCounts
from console.present.text import clean
from console.present.triage import subject_text

if TYPE_CHECKING:
    from console.model.cluster import LogDir
    from console.model.lag_trend import LagTrend
    from console.model.snapshot import Snapshot
    from console.model.time_lag import Behind
    from console.triage.diagnosis import Verdict

MOST = 1_000
"""Maximum number of samples of a metric, since the clients of a cluster can create any number of groups. The samples
with the highest values are kept, and `kac_truncated` counts the others. Several metrics of the same disks or groups
keep the same samples: those of the fullest disks, and of the groups with the longest waits.
"""
LONGEST = 300
"""Maximum length in characters of a label's value. The name of a topic has up to 249."""

T = TypeVar("T")
Labels = tuple[tuple[str, str], ...]


class Metric(NamedTuple):
    """A metric: its name without ``kac_``, its type, its help text, and its samples."""

    name: str
    type: str
    help: str
    samples: Iterable[tuple[Labels, float]]
    kept: Collection[Labels] | None = None
    """The labels of the samples to keep if there are too many; None to keep the samples with the highest values."""


class Health(NamedTuple):
    """The state of a kac process that watches a cluster."""

    polls: int = 0
    """The number of polls since the start."""
    failed: int = 0
    """The number of polls to which no node responded."""
    verdict_seconds: float = 0.0
    """The seconds that the last diagnosis took."""
    receivers: Mapping[str, Mapping[str, int]] = {}
    """Name of a receiver of messages -> outcome -> number of events."""


def metrics_text(verdict: Verdict | None, snapshot: Snapshot | None = None, health: Health | None = None) -> str:
    """Return the metrics as text.

    Args:
        verdict: the verdict; None if no node responds. The text then has no metrics of the cluster except that no node
            responds.
        snapshot: the snapshot of the verdict's poll; None if there is none.
        health: the state of a kac process that watches; None for a single verdict.
    """
    metrics = [*_of_verdict(verdict)]
    if verdict is not None and snapshot is not None:
        metrics += (*_of_cluster(snapshot), *_of_groups(snapshot.lag_trends))
    if health is not None:
        metrics += _of_health(health, snapshot, None if verdict is None else verdict.at)
    lines: list[str] = []
    truncated: list[tuple[Labels, float]] = []
    for each in metrics:
        mine, left = _lines(each)
        lines += mine
        truncated += [((("metric", f"kac_{each.name}"),), left)] if left else []
    left_out = Metric("truncated", "gauge", f"Samples of a metric beyond its {MOST:,} highest.", truncated)
    return "\n".join([*lines, *_lines(left_out)[0]]) + "\n"


def _of_verdict(verdict: Verdict | None) -> Iterator[Metric]:
    yield _one("triage_up", "1 if any broker answers.", verdict is not None)
    if verdict is None:
        return
    yield _one("triage_healthy", "1 if nothing is wrong, and all was read.", verdict.is_healthy)
    counted = Counter(each.claim.severity for each in verdict.causes if each.claim.counts)
    yield Metric(
        "triage_causes",
        "gauge",
        "Causes that are sure, by severity.",
        [((("severity", each.value),), counted[each]) for each in Severity if each is not Severity.INFO],
    )
    yield Metric(
        "triage_cause",
        "gauge",
        "A cause that was named, by its severity and certainty.",
        [
            (
                (
                    ("cause", each.claim.cause),
                    ("subject", subject_text(each.claim.subject)),
                    ("severity", each.claim.severity.value),
                    ("certainty", each.claim.certainty.value),
                ),
                1,
            )
            for each in verdict.causes  # the worst come first
        ],
    )
    unexplained = [((("symptom", each.symptom),), each.count) for each in verdict.unexplained]
    yield Metric("triage_unexplained", "gauge", "Symptoms without a cause.", unexplained)
    unread = [((("part", each),), 1) for each in verdict.unread]
    yield Metric("triage_unread", "gauge", "A part that could not be read, and may hide a cause.", unread)
    yield _one("triage_time_seconds", "When it was looked, in seconds since 1970.", verdict.at.timestamp())


def _of_cluster(snapshot: Snapshot) -> Iterator[Metric]:
    cluster = snapshot.cluster
    if Part.CLUSTER in snapshot.read_at:
        yield _one("brokers", "Brokers that the cluster counts on.", sum(not each.fenced for each in cluster.brokers))
        # In KRaft, brokers name any broker as the controller, so use the quorum's leader.
        leader = cluster.controller_id if snapshot.quorum is None else snapshot.quorum.leader_id
        yield _one("controller_id", "The active controller; -1 without one.", leader)
    if Part.TOPICS in snapshot.read_at:
        counts = TopicCounts().after(snapshot.topics)
        under, none = counts.under_replicated, counts.offline
        yield _one("partitions_under_replicated", "Partitions with fewer replicas in sync than they have.", under)
        yield _one("partitions_offline", "Partitions without a leader.", none)
    dirs = [
        ((("broker", str(broker)), ("dir", each.path)), each)
        for broker, mine in sorted(snapshot.log_dirs.items())
        for each in mine
    ]
    kept = _most(dict(dirs), _fullness)
    used = [(labels, each.size) for labels, each in dirs if each.failure is None]
    total = [(labels, each.total_bytes) for labels, each in dirs if each.total_bytes >= 0]
    usable = [(labels, each.usable_bytes) for labels, each in dirs if each.usable_bytes >= 0]
    yield Metric("disk_replica_bytes", "gauge", "Bytes of the replicas in a log directory.", used, kept)
    yield Metric("disk_total_bytes", "gauge", "Size of the disk of a log directory.", total, kept)
    yield Metric("disk_usable_bytes", "gauge", "Bytes that are free on the disk of a log directory.", usable, kept)
    failed = [(labels, int(each.failure is not None)) for labels, each in dirs]
    yield Metric("disk_failed", "gauge", "1 if a broker reports an error of a log directory.", failed, kept)


def _fullness(log_dir: LogDir) -> tuple[bool, float]:
    """Return the sort key of a disk: disks with an error are the highest, then the fullest ones."""
    total, usable = log_dir.total_bytes, log_dir.usable_bytes
    return log_dir.failure is not None, 1 - usable / total if total > 0 and usable >= 0 else -1.0


def _most(known: Mapping[Labels, T], rank: Callable[[T], Any]) -> frozenset[Labels]:
    """Return the labels with the highest ranks, at most `MOST`."""
    return frozenset(known if len(known) <= MOST else nlargest(MOST, known, key=lambda labels: rank(known[labels])))


def _of_groups(trends: Mapping[str, LagTrend]) -> Iterator[Metric]:
    records: Counter[Labels] = Counter()
    waits: dict[Labels, list[Behind]] = {}
    for group, trend in trends.items():
        for each in trend.last.lag.partitions:
            labels = ("group", group), ("topic", each.topic)
            is_known = each.lag >= 0
            if is_known:
                records[labels] += each.lag
            behind_by = trend.behind.get((each.topic, each.partition), NOT_BEHIND if is_known else UNSEEN)
            waits.setdefault(labels, []).append(behind_by)
    behind = {labels: longest(found) for labels, found in waits.items()}
    known = {labels: each for labels, each in behind.items() if each.seconds is not None}
    ranks = {labels: (each.seconds or 0, records.get(labels, 0)) for labels, each in behind.items()}
    kept = _most(ranks, lambda rank: rank)
    yield Metric("group_lag_records", "gauge", "Records of a topic that wait for a group.", records.items(), kept)
    yield Metric(
        "group_lag_seconds",
        "gauge",
        "For how long the next record of a topic has waited for a group, as far as that was seen.",
        [(labels, round(each.seconds or 0)) for labels, each in known.items()],
        kept,
    )
    yield Metric(
        "group_lag_seconds_exact",
        "gauge",
        "1 if it has waited no longer, 0 if it may have.",
        [(labels, int(not each.least)) for labels, each in known.items()],
        kept,
    )


def _of_health(health: Health, snapshot: Snapshot | None, at: datetime | None) -> Iterator[Metric]:
    yield _one("polls_total", "Polls of the cluster.", health.polls, "counter")
    yield _one("polls_failed_total", "Polls that no node answered.", health.failed, "counter")
    yield _one("verdict_seconds", "Seconds that the last diagnosis took.", health.verdict_seconds)
    if snapshot is not None and at is not None:
        ages = [((("part", part),), (at - read).total_seconds()) for part, read in snapshot.read_at.items()]
        yield Metric("read_age_seconds", "gauge", "Age of a part at the last poll.", ages)
        failures = Counter((("part", each.part),) for each in snapshot.failures)
        yield Metric("read_failures", "gauge", "Reads of a part that failed the last time.", failures.items())
    told = [
        ((("receiver", name), ("outcome", outcome)), count)
        for name, counts in health.receivers.items()
        for outcome, count in counts.items()
    ]
    yield Metric("notifications_total", "counter", "Events for a receiver, by outcome.", told)


def _one(name: str, help_: str, value: float, type_: str = "gauge") -> Metric:
    return Metric(name, type_, help_, [((), value)])


def _lines(metric: Metric) -> tuple[list[str], int]:
    """Return the lines of a metric, empty if it has no samples, and the number of samples that were left out."""
    # Merge samples whose names differ only in characters that are not shown: Prometheus would refuse a scrape that
    # contains both as a whole.
    found: dict[str, float] = {}
    left = 0
    for labels, value in metric.samples:
        if metric.kept is not None and labels not in metric.kept:
            left += 1
            continue
        text = ",".join(f"{name}={prometheus_label(each)}" for name, each in labels)
        found[text] = max(value, found.get(text, value))
    if not found:
        return [], left
    # The sort is stable, so of samples with equal values the first stay: causes come with the worst first.
    kept = sorted(found.items(), key=lambda item: -item[1])[:MOST] if len(found) > MOST else found.items()
    name = f"kac_{metric.name}"
    lines = [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.type}"]
    lines += (
        f"{name}{{{labels}}} {_number(value)}" if labels else f"{name} {_number(value)}" for labels, value in kept
    )
    return lines, left + len(found) - len(kept)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.3f}"


def prometheus_label(value: str) -> str:
    """Return a label's value in double quotes, with special characters escaped."""
    escaped = clean(value, LONGEST).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
