"""Whether the times of request logs are those of the metadata log; a wrong time zone is refused with one that fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from pyspark.sql import Row, SparkSession

from console.history.jobs.record import UnreadableInput
from console.history.jobs.tables import read_table
from console.history.schema import ALTER_REQUEST, KRAFT_RECORD, Table
from console.history.transforms.kraft_facts import facts
from console.history.transforms.request_logs import clock_steps

from ..requests.zone import QUARTER, fitting_zones, wrong_steps
from ..store.partitions import partition_values
from ..store.write import Write
from .inputs import RequestLog

_AROUND = timedelta(days=2)
"""Days in which a record may be of a request: zones are 26 hours apart at most."""
_NAMED = 3


def check_clocks(spark: SparkSession, write: Write, logs: Sequence[RequestLog]) -> tuple[str, ...]:
    """Compares what this run has taken in, and what was there of those days. Gives notes of brokers whose requests were
    taken in by former runs with a wrong zone: those are in the lake.

    UnreadableInput: the zone of a log of this run is wrong; nothing of the run is to hold.
    """
    days = {*_days(write, ALTER_REQUEST), *_days(write, KRAFT_RECORD)}
    around = {day + timedelta(days=each) for day in days for each in range(-_AROUND.days, _AROUND.days + 1)}
    requests, records = _partitions(write, ALTER_REQUEST, around), _partitions(write, KRAFT_RECORD, around)
    if not requests or not records:
        return ()
    read = read_table(spark, write.lake, write.draft, KRAFT_RECORD, records)
    asked = read_table(spark, write.lake, write.draft, ALTER_REQUEST, requests)
    found: dict[tuple[str, int], list[Row]] = {}
    for row in clock_steps(facts(read), asked).collect():
        found.setdefault((row["cluster_id"], row["broker_id"]), []).append(row)
    zones = {(log.cluster_id, log.broker_id): log.time_zone for log in logs}
    ids = {cluster_id for cluster_id, _ in found}
    notes = []
    for (cluster_id, broker_id), rows in sorted(found.items()):
        steps = wrong_steps({row["steps"]: row["requests"] for row in rows})
        if steps is None:
            continue
        row = next(row for row in rows if row["steps"] == steps)
        of_only = zones.get(("", broker_id)) if len(ids) == 1 else None
        zone = zones.get((cluster_id, broker_id), of_only)
        if zone is None or not any(_is_new(write, folder) for folder in _folders(write, ALTER_REQUEST)):
            notes.append(
                _text(
                    cluster_id,
                    broker_id,
                    row,
                    "It was taken in so by a former run: build the lake again from the start.",
                )
            )
            continue
        fitting = fitting_zones(zone, row["ends"], steps)
        raise UnreadableInput(_text(cluster_id, broker_id, row, _advice(zone, fitting)))
    return tuple(notes)


def _text(cluster_id: str, broker_id: int, row: Row, advice: str) -> str:
    off = abs(row["steps"]) * QUARTER
    hours, minutes = divmod(int(off.total_seconds()) // 60, 60)
    way = "later" if row["steps"] > 0 else "earlier"
    return (
        f"The time zone of the request log of broker {broker_id} of {cluster_id} is wrong: the metadata log has "
        f"what {row['requests']} of its requests changed {hours}:{minutes:02} h {way}. {advice}"
    )


def _advice(zone: str, fitting: Sequence[str]) -> str:
    if not fitting:
        return (
            f"It was read as {zone}, and no other zone fits: look at the clocks of the brokers. Nothing was taken in."
        )
    first, *others = fitting[:_NAMED]
    more = f" ({' or '.join(others)} would fit, too)" if others else ""
    return f"Nothing was taken in. It was read as {zone}; pass --timezone {first}, or timezone: in sources.yaml{more}."


def _folders(write: Write, table: Table) -> Iterable[str]:
    return (folder for folders in write.draft.table(table).partitions.values() for folder in folders)


def _is_new(write: Write, folder: str) -> bool:
    return f"/v={write.run_id}/" in folder


def _days(write: Write, table: Table) -> set[date]:
    """The days that this run has written to."""
    partitions = write.draft.table(table).partitions
    return {
        day
        for partition, folders in partitions.items()
        if (day := _day(partition)) and any(_is_new(write, folder) for folder in folders)
    }


def _partitions(write: Write, table: Table, days: set[date]) -> list[str]:
    return [each for each in write.draft.table(table).partitions if _day(each) in days]


def _day(partition: str) -> date | None:
    text = partition_values(partition).get("day")
    return None if text is None else date.fromisoformat(text)
