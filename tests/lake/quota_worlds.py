"""Quotas that change over time, as rows of the table `history`, and as the quotas in force at a moment."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from console.lake.entities import quota_key, quota_parts, quota_value
from console.lake.schema import HISTORY, USAGE_KEYS, arrow_schema
from console.model.quota import QuotaEntity

START = datetime(2026, 3, 1, 0, 58, tzinfo=UTC)
"""The time of second 0, shortly before the end of an hour."""
NAMES = ("a", "b", "<default>", "x,client-id=y", "50%", "ü + *", "a:b=c")


@dataclass(frozen=True)
class Limit:
    """The limit of a quota key of an entity from second `since` to second `until`. value: None if the limit was
    deleted. until: None if it is the current one.
    """

    cluster: str
    entity: str
    key: str
    value: float | None
    since: int
    until: int | None


def at(second: int) -> datetime:
    """Return the time that is `second` seconds after `START`."""
    return START + timedelta(seconds=second)


def random_limits(chosen: random.Random, cluster: str, entities: int, seconds: int) -> list[Limit]:
    """Return limits for `entities` random entities of all types, each changed a few times within `seconds` seconds."""
    made: list[Limit] = []
    for _ in range(entities):
        parts: dict[str, str | None] = {}
        while not parts:
            # Brokers have no limit for the empty client id, but a source may have one.
            names = {"user": [None, *NAMES], "client-id": [None, "", *NAMES]}
            parts = {each: chosen.choice(some) for each, some in names.items() if chosen.random() < 0.6}
        if chosen.random() < 0.1:
            # A limit of an IP address is no limit of clients, whatever its key.
            parts = {"ip": chosen.choice([None, "10.0.0.1"])}
        entity = quota_key(parts)
        if any(each.entity == entity for each in made):
            continue
        for key in chosen.sample(USAGE_KEYS, chosen.randint(1, 3)):
            times = sorted(chosen.sample(range(seconds), chosen.randint(1, 4)))
            for number, (since, until) in enumerate(zip(times, [*times[1:], None], strict=True)):
                gone = number > 0 and chosen.random() < 0.3
                value = None if gone else float(chosen.choice([1024, 2**20, 12.5, 1e9]))
                made.append(Limit(cluster, entity, key, value, since, until))
    return made


def holding(limits: Sequence[Limit], cluster: str, second: int) -> dict[QuotaEntity, dict[str, float]]:
    found: dict[QuotaEntity, dict[str, float]] = {}
    for each in limits:
        begun = each.cluster == cluster and each.since <= second
        if begun and each.value is not None and (each.until is None or second < each.until):
            found.setdefault(QuotaEntity.of(quota_parts(each.entity)), {})[each.key] = each.value
    return found


def history_rows(limits: Sequence[Limit], source: str = "kraft_log") -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "cluster_id": each.cluster,
                "entity_type": "quota",
                "entity_key": each.entity,
                "attr": each.key,
                "new_value": None if each.value is None else quota_value(each.value),
                "valid_from": at(each.since),
                "valid_to": None if each.until is None else at(each.until),
                "is_current": each.until is None,
                "is_deleted": each.value is None,
                "attribution": "none",
                "source": source,
            }
            for each in limits
        ],
        schema=arrow_schema(HISTORY),
    )
