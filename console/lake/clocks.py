"""The check of request logs' times against the metadata log. If a log's configured time zone is wrong, the error names
zones that fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa
from pyspark.sql import functions as F

from console.lake.inputs import UnreadableInput
from console.lake.requests.log_files import QUARTER
from console.lake.schema import ALTER_REQUEST, ENTITY, KRAFT_RECORD, REQUEST
from console.lake.tables import Tables, keyed, taken
from console.lake.transforms.change_event import NAMING, records_of
from console.lake.transforms.kraft_changes import Placed, placed_facts
from console.lake.transforms.rows import arrow_of, parted, rows_of

MOST_ENTITIES = 1_000
"""Maximum number of entities to compare, the latest changed ones first."""
MOST_ROWS = 100_000
BUCKETS = 4
_DAYS = 2
"""Days before and after a request in which its record is searched: time zones are at most 26 hours apart."""
_NAMED = 3
_SLACK = timedelta(seconds=2)
"""Maximum difference between the clocks of brokers."""
_SAMPLE = 500
_STEPS = "cluster_id STRING, broker_id INT, step INT, end BIGINT, correlation_id BIGINT, client_id STRING"
_SCHEMA = pa.schema(
    [
        *(("cluster_id", pa.string()), ("broker_id", pa.int32()), ("step", pa.int32()), ("end", pa.int64())),
        *(("correlation_id", pa.int64()), ("client_id", pa.string())),
    ]
)
FURTHEST = 26 * 4
"""Maximum difference between two time zones, in quarters of an hour: 26 hours."""
LEAST_REQUESTS = 2
"""Minimum number of requests that have to agree that a zone is wrong."""
_MOST_ASKED_FOR = (
    "UTC",
    *("Europe/Berlin", "Europe/London", "Europe/Helsinki", "Europe/Moscow", "America/New_York", "America/Chicago"),
    *("America/Denver", "America/Los_Angeles", "America/Sao_Paulo", "Asia/Dubai", "Asia/Kolkata", "Asia/Singapore"),
    *("Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland"),
)
"""Time zones in much use; among several zones that fit, these are named before all others."""
Zones = Mapping[tuple[str, int], str]
"""Time zones of the logs, by cluster and broker."""


def check_clocks(tables: Tables, first: datetime, last: datetime, zones: Zones) -> None:
    """Compare the change requests between `first` and `last` (UTC), and two days (`_DAYS`) before and after, with the
    records in the metadata log. Raises UnreadableInput: the time zone of a log is wrong.

    Args:
        zones: the configured time zones of the logs to judge.
    """
    days = tuple((at + timedelta(days=by)).strftime("%Y-%m-%d") for at, by in ((first, -_DAYS), (last, _DAYS)))
    near = F.col("in_day").between(*days)
    clusters = {cluster for cluster, _ in zones}
    alters = tables.read(REQUEST, clusters).where(near).where("alter IS NOT NULL").select("alter.*")
    done = alters.where("error_code = 0 AND NOT validate_only")
    latest = done.groupBy(*ENTITY).agg(F.max("end_ts").alias("latest")).orderBy(F.desc("latest")).limit(MOST_ENTITIES)
    asked = done.join(F.broadcast(latest.drop("latest")), [*ENTITY], "left_semi").withColumn("of", F.lit("alter"))
    records = tables.read(KRAFT_RECORD, clusters).where("entity_type IS NOT NULL")
    naming = F.col("record_type").isin(*NAMING)
    names = records.where(naming).select("cluster_id", "entity_id", F.col("entity_key").alias("name")).distinct()
    written = keyed(records.where(naming | near), names).withColumn("of", F.lit("record"))
    rows = written.unionByName(asked, allowMissingColumns=True)
    place = F.pmod(F.xxhash64("entity_type", "entity_key"), F.lit(BUCKETS)).alias("place")
    steps = rows.groupBy("cluster_id", place).applyInArrow(_steps, _STEPS).distinct()
    counted = steps.groupBy("cluster_id", "broker_id", "step").agg(
        F.count("*"), F.slice(F.array_sort(F.collect_set("end")), 1, _SAMPLE)
    )
    found: dict[tuple[str, int], dict[int, tuple[int, list[int]]]] = defaultdict(dict)
    for cluster, broker, step, count, ends in taken(counted, MOST_ROWS):
        found[cluster, broker][step] = count, ends
    for (cluster, broker), by_step in sorted(found.items()):
        wrong = wrong_steps({step: count for step, (count, _) in by_step.items()})
        zone = zones.get((cluster, broker))
        if wrong is not None and zone is not None:
            count, ends = by_step[wrong]
            times = [datetime.fromtimestamp(end // 1_000_000, timezone.utc) for end in ends]
            raise UnreadableInput(
                _text(cluster, broker, wrong, count, _advice(zone, fitting_zones(zone, times, wrong)))
            )


def _steps(rows: pa.Table) -> pa.Table:
    """Return a row for each change request for which exactly one time shift is possible: the number of quarters of an
    hour by which the request precedes its record. A request that fits several shifts, such as an hourly one, is left
    out.

    Args:
        rows: requests and records of the metadata log about the same entities.
    """
    records, asked = parted(rows, "record", "alter")
    facts: dict[tuple[str, ...], list[Placed]] = defaultdict(list)
    for cluster_id, of_cluster in records_of(records).items():
        for entity, placed in placed_facts(of_cluster).items():
            for fact in placed:
                if not fact.in_snapshot:
                    facts[(cluster_id, *entity, fact.attr)].append(fact)
    made = []
    names = ("broker_id", "correlation_id", "client_id", "start_ts", "end_ts", "op", "value")
    assert set(names) <= set(ALTER_REQUEST.names)
    for *attribute, broker_id, number, client_id, start, end, op, value in rows_of(asked, *ENTITY, "attr", *names):
        of_attribute = facts.get(tuple(attribute), ())
        steps = {step for fact in of_attribute if (step := _step(fact, op, value, start, end)) is not None}
        if len(steps) == 1:
            made.append((attribute[0], broker_id, steps.pop(), end, number, client_id or ""))
    return arrow_of(_SCHEMA, made)


def _step(fact: Placed, op: str, value: str | None, start: int, end: int) -> int | None:
    """Return the number of quarters of an hour by which a request must be shifted to be the cause of a fact in the
    metadata log; None if no shift of at most 26 hours fits, or if the request sets another value.
    """
    unknown = value is None or fact.value is None or op in ("append", "subtract")
    if fact.is_set is (op == "delete") or not (op == "delete" or unknown or value == fact.value):
        return None
    quarter, slack = (int(each.total_seconds() * 1e6) for each in (QUARTER, _SLACK))
    step = round((fact.ts - end) / quarter)
    in_time = start + quarter * step - slack <= fact.ts <= end + quarter * step + slack
    return step if abs(step) <= FURTHEST and in_time else None


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
    return f"Nothing was taken in. It was read as {zone}; write timezone: {first} in sources.yaml{more}."


def wrong_steps(requests: Mapping[int, int]) -> int | None:
    """Return the quarters of an hour by which a zone is wrong; None if it does not seem wrong. Pure.

    A zone is wrong by a shift if at least 2 requests (`LEAST_REQUESTS`) have this shift, and more than four times as
    many as have the shift 0.

    Args:
        requests: the quarters of an hour by which requests precede their records -> the number of such requests.
    """
    best = max(requests, key=lambda steps: (requests[steps], steps == 0), default=0)
    is_wrong = best != 0 and requests[best] >= LEAST_REQUESTS and requests[best] > 4 * requests.get(0, 0)
    return best if is_wrong else None


def fitting_zones(zone: str, ends: Iterable[datetime], steps: int) -> list[str]:
    """Return the names of the zones with which all these lines agree with the metadata log, the most used first.

    Args:
        zone: the configured zone.
        ends: the times of lines in UTC, as computed with `zone`.
        steps: the quarters of an hour by which these times are too early.
    """
    given = ZoneInfo(zone)
    moments = [(each.astimezone(given).replace(tzinfo=None), each + steps * QUARTER) for each in ends]

    def fits(name: str) -> bool:
        clock = ZoneInfo(name)
        return all(moment.astimezone(clock).replace(tzinfo=None) == shown for shown, moment in moments)

    others = sorted(each for each in available_timezones() if "/" in each and not each.startswith("Etc/"))
    return [name for name in dict.fromkeys((*_MOST_ASKED_FOR, *others)) if fits(name)]
