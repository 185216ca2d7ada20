"""Neighbours (healthy clusters that resemble a fault) of the faults of disks and of logs. Each function returns the
snapshot at a tick (the number of the poll) of the healthy cluster or, with `ill`, of the one with the fault.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from benchmarks.faults.fault import cause
from benchmarks.faults.neighbours import Neighbour, modelled
from console.model.cluster import GroupLag, LogDir, PartitionLag, ReplicaSize, ReplicaSizes
from console.model.codes import ConfigSource
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigSet, topic_resource
from console.model.failure import Failure
from console.model.observed_logs import LogOffsets, Newest
from console.model.snapshot import Snapshot
from console.triage.facts import Facts
from tests.unit.test_triage import DAY_MS, healthy, kept_for, logs_at, now_ms
from tests.unit.test_triage_retention import ORDERS, Own, configured

LARGE = 10**9
NO_SIZES = ReplicaSizes()


def _with_dir(snapshot: Snapshot, broker: int, log_dir: LogDir) -> Snapshot:
    return replace(snapshot, log_dirs={**snapshot.log_dirs, broker: (log_dir,)})


def _cordoned(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: a log directory is cordoned, so it gets no new replicas. If `ill` is true, its disk has
    failed.
    """
    failure = Failure("KAFKA_STORAGE_ERROR", "disk error") if ill else None
    return _with_dir(snapshot, 2, LogDir("/data", NO_SIZES, 1_000, 900, failure, cordoned=not ill))


def _saw(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a disk's usable bytes fall, and rise again when segments are deleted.
    If `ill` is true, they only fall.
    """
    falls = 25 * (tick if ill else tick % 4)
    return _with_dir(snapshot, 2, LogDir("/data", NO_SIZES, 1_000, 600 - falls))


def _came_back(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a disk's usable bytes fall, rise again nearly as far, and fall as far
    again. If `ill` is true, they do not rise.
    """
    falls = 25 * tick if ill or tick < 6 else 10 + 19 * (tick - 6)
    return _with_dir(snapshot, 2, LogDir("/data", NO_SIZES, 1_000, 600 - falls))


CUT: Own = {CLUSTER_DEFAULT: {"log.retention.ms": "1000"}}
OWN: Own = {ORDERS: {"retention.ms": str(DAY_MS)}}


def _default_cut(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: the default retention of all brokers is shortened, but the topic has a
    retention of its own. If `ill` is true, the topic uses the default.
    """
    own: Own = {} if ill else OWN
    return configured(snapshot, {**own, **CUT} if tick >= 3 else own)


def _cut_and_mended(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a topic's retention is shortened, and restored before the broker
    deletes records. If `ill` is true, it is not restored.
    """
    cut: Own = {ORDERS: {"retention.ms": "60000"}}
    return configured(snapshot, cut if tick >= 2 and (ill or tick < 4) else {})


def _deletes_at(when: int) -> Callable[[int, bool], Facts]:
    return lambda tick, _ill: Facts(logs_at(tick, {0: LogOffsets(0, 900, 900), when: LogOffsets(700, 900, 900)}))


def _read(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: a program deletes the records that it has read. If `ill` is true, its group has not read
    that far.
    """
    committed = 40 if ill else 95
    lag = GroupLag((PartitionLag("orders", 0, committed, 100, 100 - committed, "m1"),))
    return replace(kept_for(snapshot, DAY_MS), lags={"billing": lag})


def _deleted(tick: int, _ill: bool) -> Facts:
    logs = logs_at(tick, {0: LogOffsets(0, 100, 100), 4: LogOffsets(90, 100, 100)})
    return Facts(logs, newest={("orders", 0): Newest(now_ms(0) - 60_000, 80)})


def _compacted(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: a replica of a compacted partition is several times as large as the others, but by less than
    two segments, which the cleaner does not clean yet. If `ill` is true, the difference is larger.
    """
    entries = (("cleanup.policy", "compact"), ("segment.bytes", "1000000"))
    values = tuple(ConfigEntry(key, value, ConfigSource(1)) for key, value in entries)
    large = 9_000_000 if ill else 900_000
    dirs = {
        broker: (LogDir("/data", ReplicaSizes([ReplicaSize("orders", 0, size, 0, False)]), LARGE, LARGE * 9 // 10),)
        for broker, size in ((1, 100_000), (2, large), (3, 110_000))
    }
    return replace(snapshot, configs={topic_resource("orders"): ConfigSet(values)}, log_dirs=dirs)


def _ahead(tick: int, ill: bool) -> Facts:
    """Return facts at poll number `tick`: the clock of a producer is ahead by half an hour; if `ill` is true, by two
    days.
    """
    minutes = 2 * 24 * 60 if ill else 30
    newest = {("orders", 0): Newest(now_ms(0) + minutes * 60_000, 7)}
    return Facts(logs_at(tick, {0: LogOffsets(0, 100, 100)}), newest=newest)


NEIGHBOURS = (
    Neighbour(
        name="a cordoned directory",
        fault="log directory unreadable",
        how="a log directory takes no new replicas",
        decides="its disk fails",
        ill=cause("log-dir-failed", broker=2, dir="first"),
        polls=modelled(_cordoned),
    ),
    Neighbour(
        name="a disk that is emptied again",
        fault="disk filled",
        how="the usable bytes of a disk fall, and rise when segments are deleted",
        decides="they only fall",
        ill=cause("disk-filling", broker=2, dir="first"),
        polls=modelled(_saw, ticks=12),
    ),
    Neighbour(
        name="a disk that was emptied once",
        fault="disk filled",
        how="the usable bytes of a disk fall, nearly all comes back, and they fall as far again",
        decides="nothing came back",
        ill=cause("disk-filling", broker=2, dir="first"),
        polls=modelled(_came_back, ticks=12),
    ),
    Neighbour(
        name="a default that the topic does not take",
        fault="retention cut",
        how="log.retention.ms of all brokers is cut, and the beginning of a topic's log moves",
        decides="the topic has no retention of its own",
        ill=cause("records-deleted", entity="broker default", key="log.retention.ms"),
        polls=modelled(_default_cut, facts=_deletes_at(5)),
    ),
    Neighbour(
        name="a cut that was mended in time",
        fault="unread retention cut",
        how="a topic's retention is cut; later the beginning of its log moves",
        decides="it was not put back before",
        ill=cause("records-deleted", topic="orders", key="retention.ms"),
        polls=modelled(_cut_and_mended, facts=_deletes_at(7)),
    ),
    Neighbour(
        name="records that are deleted once read",
        fault="unread records deleted",
        how="records are deleted by a request, long before their time",
        decides="a group has not read them",
        ill=cause("records-deleted", topic="orders"),
        polls=modelled(_read, facts=_deleted),
    ),
    Neighbour(
        name="an active segment that waits for its cleaner",
        fault="cleaner stopped",
        how="a replica of a compacted topic is nine times as large as the others",
        decides="by more than two segments",
        ill=cause("cleaner-stopped", broker=2),
        polls=modelled(_compacted),
    ),
    Neighbour(
        name="a producer's clock that is somewhat ahead",
        fault="future timestamps",
        how="the newest record is of half an hour ahead",
        decides="of days ahead",
        ill=cause("future-records", topic="orders"),
        polls=modelled(
            lambda snapshot, _tick, _ill: snapshot, facts=_ahead, before=lambda: kept_for(healthy(), DAY_MS)
        ),
    ),
)
