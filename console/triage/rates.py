"""How much groups read from brokers, from what they commit and from the size of records. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from console.model.cluster import PartitionLag
from console.model.elections import partition_in
from console.triage.symptoms import Look


def read_rates(look: Look, group: str) -> Mapping[int, float]:
    """Broker -> about how many bytes a second a group reads from it as the leader, over the window of the group's
    trend. Empty where that is unknown."""
    return _rates(look, group, lambda each: each.committed)


def write_rates(look: Look, group: str) -> Mapping[int, float]:
    """Broker -> about how many bytes a second are written to it, as the leader, of what a group reads."""
    return _rates(look, group, lambda each: each.end)


def _rates(look: Look, group: str, offset: Callable[[PartitionLag], int]) -> Mapping[int, float]:
    trend = look.snapshot.lag_trends.get(group)
    if trend is None or trend.last.at <= trend.base.at:
        return {}
    seconds = trend.last.at - trend.base.at
    before = {(each.topic, each.partition): offset(each) for each in trend.base.lag.partitions}
    sizes: dict[str, float | None] = {}
    found: dict[int, float] = {}
    for each in trend.last.lag.partitions:
        was = before.get((each.topic, each.partition), -1)
        partition = partition_in(look.snapshot.topics.get(each.topic), each.partition)
        if was < 0 or offset(each) <= was or partition is None or partition.leader < 0:
            continue
        if each.topic not in sizes:
            sizes[each.topic] = record_size(look, each.topic)
        size = sizes[each.topic]
        if size is None:
            return {}
        found[partition.leader] = found.get(partition.leader, 0.0) + (offset(each) - was) * size / seconds
    return found


def record_size(look: Look, topic: str) -> float | None:
    """The mean bytes of a record on disk, which are about those that are sent; None if unknown."""
    known = look.snapshot.topics.get(topic)
    if known is None or not known.partitions:
        return None
    replicas = sum(len(each.replicas) for each in known.partitions)
    held = sum(log_dir.sizes.get(topic, 0) for dirs in look.snapshot.log_dirs.values() for log_dir in dirs)
    logs = [look.facts.logs.logs.get((topic, each.number)) for each in known.partitions]
    records = sum(log.last.end - log.last.start for log in logs if log is not None)
    if held <= 0 or records <= 0 or None in logs:
        return None
    return held * len(known.partitions) / replicas / records
