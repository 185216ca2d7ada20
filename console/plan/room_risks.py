"""Warnings about topics that may keep more bytes than the disks of their replicas have. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from console.model.cluster import LogDir
from console.model.config import topic_resource
from console.model.disk_trend import SOON
from console.model.numbers import plural
from console.model.snapshot import Snapshot
from console.plan import edits
from console.plan.amounts import measured_time, size
from console.plan.risk_rules import Judged
from console.plan.topic_risks import BY_SIZE, FOREVER, KEEPING, changes, kept, topic_key


class _Growth(NamedTuple):
    """The maximum growth, in bytes, of some replicas in a directory."""

    replicas: int = 0
    """The number of replicas that still grow."""
    size: float = 0.0
    rate: float = 0.0
    """The growth in bytes per second at present."""

    def fills(self, log_dir: LogDir) -> bool:
        """Return whether the growth exceeds the free bytes of a directory, and at its present rate fills them within
        `SOON`. Slower growth gives False, because a rate that was measured over half a minute can't forecast
        weeks.
        """
        return self.size > log_dir.usable_bytes and log_dir.usable_bytes < self.rate * SOON


def no_room(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning for the directory with the largest shortage, if an edit of a retention lets topics outgrow
    directories at their present write rates. A directory that the topics outgrow without the edit as well causes
    no warning, nor do topics whose write rate is unknown.
    """
    key = topic_key(edit)
    if key not in KEEPING or not judged.before.log_dirs:
        return
    topics = [each.topic for each in changes(edit, judged)]
    worst: tuple[float, str] | None = None
    for broker, dirs in judged.before.log_dirs.items():
        for log_dir in dirs:
            if log_dir.usable_bytes < 0:
                continue
            then = _growth(judged.before, judged.after, log_dir, topics)
            if not then.fills(log_dir) or _growth(judged.before, judged.before, log_dir, topics).fills(log_dir):
                continue
            each = f"; {edit.key} is for each partition" if key == BY_SIZE else ""
            text = (
                f"{plural(then.replicas, 'replica')} on broker {broker} may grow by {size(round(then.size))} until "
                f"records are deleted, and {size(log_dir.usable_bytes)} are left on the disk of {log_dir.path}, which "
                f"is full in {measured_time(log_dir.usable_bytes / then.rate)} at the present rate{each}"
            )
            if worst is None or then.size - log_dir.usable_bytes > worst[0]:
                worst = then.size - log_dir.usable_bytes, text
    if worst is not None:
        yield worst[1]


def _growth(now: Snapshot, configured: Snapshot, log_dir: LogDir, topics: Iterable[str]) -> _Growth:
    """Return the growth of topics' replicas in a directory until the retention deletes their oldest records.

    Args:
        now: a snapshot with the sizes and the rates.
        configured: a snapshot with the topics' configs.
    """
    limits: dict[str, tuple[int, int]] = {}
    for name in topics:
        configs = configured.configs.get(topic_resource(name))
        if configs is not None:
            known = kept(configs)
            limits[name] = (known.ms, known.size) if known.deletes else (FOREVER, FOREVER)
    found = _Growth()
    for each in log_dir.replicas.of(limits):
        ms, most = limits[each.topic]
        rate = _written(now, each.topic, each.partition, each.size)
        # A topic whose records are never deleted fills any disk some day, with or without the edit.
        if rate <= 0 or each.is_future or (ms >= FOREVER and most >= FOREVER):
            continue
        more = min(float(most), rate * ms / 1000) - each.size
        if more > 0:
            found = _Growth(found.replicas + 1, found.size + more, found.rate + rate)
    return found


def _written(now: Snapshot, topic: str, number: int, size: int) -> float:
    """Return the bytes per second that clients write to a partition; 0 if that is unknown. The log of a partition that
    has reached its limit does not grow, so the records per second times the mean size of a record are used there.
    """
    rate = now.rates.of(topic, number)
    log = now.log_ranges.get((topic, number))
    records = log.end - log.start if log is not None else 0
    by_records = rate.records * size / records if rate.records is not None and records > 0 else 0.0
    return max(rate.bytes or 0.0, by_records)
