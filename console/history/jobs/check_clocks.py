"""Whether the times of request logs are those of the metadata log; a wrong time zone is refused with one that fits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.compute as pc

from console.history.jobs.plan_build import run_of
from console.history.jobs.record import UnreadableInput
from console.history.schema import ALTER_REQUEST, KRAFT_RECORD, Table
from console.history.store import parquet_files
from console.history.transforms.change_event import about, records_of
from console.history.transforms.kraft_changes import Placed, placed_facts
from console.history.transforms.rows import ENTITY, rows_of

from ..requests.zone import FURTHEST, QUARTER, fitting_zones, wrong_steps
from ..store.partitions import partition_values
from ..store.write import Write
from .inputs import RequestLog

_AROUND = range(-2, 3)
"""Days in which a record may be of a request: zones are 26 hours apart at most."""
_NAMED = 3
_SLACK = timedelta(seconds=2)
"""How far the clocks of brokers may be apart."""
_SAMPLE = 500
MOST_ENTITIES = 1_000
_FORMER = "It was taken in so by a former run: build the lake again from the start."
_Ends = dict[int, list[datetime]]
"""When requests ended, by the number of quarters."""


def check_clocks(write: Write, logs: Sequence[RequestLog]) -> tuple[str, ...]:
    """Compares what this run has taken in, and what was there of those days. Gives notes of brokers whose requests were
    taken in by former runs with a wrong zone: those are in the lake.

    UnreadableInput: the zone of a log of this run is wrong; nothing of the run is to hold.
    """
    new = _days(write, ALTER_REQUEST)
    around = {day + timedelta(days=each) for day in new | _days(write, KRAFT_RECORD) for each in _AROUND}
    requests, records = _partitions(write, ALTER_REQUEST, around), _partitions(write, KRAFT_RECORD, around)
    if not requests or not records:
        return ()
    steps_of = clock_steps(write, _read(write, ALTER_REQUEST, requests), records)
    zones = {(log.cluster_id, log.broker_id): log.time_zone for log in logs}
    ids = {cluster_id for cluster_id, _ in steps_of}
    notes = []
    for (cluster_id, broker_id), ends in sorted(steps_of.items()):
        steps = wrong_steps({step: len(times) for step, times in ends.items()})
        if steps is None:
            continue
        count = len(ends[steps])
        of_only = zones.get(("", broker_id)) if len(ids) == 1 else None
        zone = zones.get((cluster_id, broker_id), of_only)
        if zone is None or not new:
            notes.append(_text(cluster_id, broker_id, steps, count, _FORMER))
        else:
            advice = _advice(zone, fitting_zones(zone, ends[steps][:_SAMPLE], steps))
            raise UnreadableInput(_text(cluster_id, broker_id, steps, count, advice))
    return tuple(notes)


def clock_steps(write: Write, requests: pa.Table, records: Sequence[str]) -> dict[tuple[str, int], _Ends]:
    """How many quarters of an hour requests were made before their records, by cluster and broker. A change that fits
    several numbers of quarters, as one that is made each hour, is left out. records: the partitions in which the
    records are looked for; of the entities that were asked for last, `MOST_ENTITIES`."""
    done = requests.filter(pc.and_(pc.equal(requests["error_code"], 0), pc.invert(requests["validate_only"])))
    last = done.group_by(ENTITY).aggregate([("end_ts", "max")]).sort_by([("end_ts_max", "descending")])
    wanted = set(rows_of(last.slice(0, MOST_ENTITIES), *ENTITY))
    facts: dict[tuple[str, ...], list[Placed]] = defaultdict(list)
    for cluster_id in {each[0] for each in wanted}:
        of_cluster = [each for each in records if partition_values(each)["cluster_id"] == cluster_id]
        found = about(
            [each for each in wanted if each[0] == cluster_id],
            lambda where, of=of_cluster: _read(write, KRAFT_RECORD, of, where),  # type: ignore[misc]
        )
        for entity, placed in placed_facts(records_of(found).get(cluster_id, ())).items():
            for fact in placed:
                if not fact.in_snapshot:
                    facts[(cluster_id, *entity, fact.attr)].append(fact)
    made: dict[tuple[str, int], dict[int, set[tuple[int, int, str]]]] = defaultdict(lambda: defaultdict(set))
    names = ("broker_id", "correlation_id", "client_id", "start_ts", "end_ts", "op", "value")
    for *attribute, broker_id, number, client_id, start, end, op, value in rows_of(done, *ENTITY, "attr", *names):
        steps = {
            step for fact in facts.get(tuple(attribute), ()) if (step := _step(fact, op, value, start, end)) is not None
        }
        if len(steps) == 1:
            made[attribute[0], broker_id][steps.pop()].add((end, number, client_id or ""))
    return {
        key: {
            step: [datetime.fromtimestamp(end // 1_000_000, timezone.utc) for end, *_ in sorted(each)]
            for step, each in by_step.items()
        }
        for key, by_step in made.items()
    }


def _step(fact: Placed, op: str, value: str | None, start: int, end: int) -> int | None:
    """By how many quarters of an hour a request has to be shifted to have made a fact; None: it has not."""
    unknown = value is None or fact.value is None or op in ("append", "subtract")
    if fact.is_set is (op == "delete") or not (op == "delete" or unknown or value == fact.value):
        return None
    quarter, slack = (int(each.total_seconds() * 1e6) for each in (QUARTER, _SLACK))
    step = round((fact.ts - end) / quarter)
    in_time = start + quarter * step - slack <= fact.ts <= end + quarter * step + slack
    return step if abs(step) <= FURTHEST and in_time else None


def _read(write: Write, table: Table, partitions: Sequence[str], where: pc.Expression | None = None) -> pa.Table:
    files = write.lake.files(write.draft, table, partitions)
    return parquet_files.read(write.lake.filesystem, files, table, where=where)


def _text(cluster_id: str, broker_id: int, steps: int, count: int, advice: str) -> str:
    off = abs(steps) * QUARTER
    hours, minutes = divmod(int(off.total_seconds()) // 60, 60)
    way = "later" if steps > 0 else "earlier"
    return (
        f"The time zone of the request log of broker {broker_id} of {cluster_id} is wrong: the metadata log has "
        f"what {count} of its requests changed {hours}:{minutes:02} h {way}. {advice}"
    )


def _advice(zone: str, fitting: Sequence[str]) -> str:
    if not fitting:
        return (
            f"It was read as {zone}, and no other zone fits: look at the clocks of the brokers. Nothing was taken in."
        )
    first, *others = fitting[:_NAMED]
    more = f" ({' or '.join(others)} would fit, too)" if others else ""
    return f"Nothing was taken in. It was read as {zone}; pass --timezone {first}, or timezone: in sources.yaml{more}."


def _days(write: Write, table: Table) -> set[date]:
    """The days that this run has written to."""
    files = write.draft.table(table).files
    new = (file.partition for path, file in files.items() if run_of(path) == write.run_id)
    return {day for each in new if (day := _day(each))}


def _partitions(write: Write, table: Table, days: set[date]) -> list[str]:
    return [each for each in write.draft.table(table).partitions if _day(each) in days]


def _day(partition: str) -> date | None:
    text = partition_values(partition).get("day")
    return None if text is None else date.fromisoformat(text)
