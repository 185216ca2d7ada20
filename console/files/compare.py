"""Compares two wanted states, or the configs of brokers, and returns the differences as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from console.answers.results import Column, Row, Table
from console.files.subjects import values_of
from console.files.wanted import HIDDEN, Value, Wanted, WantedConnector, WantedTopic
from console.model.acl import Acl
from console.model.broker_matrix import BrokerRow
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, topic_resource
from console.model.quota import QuotaEntity
from console.model.unordered import UNORDERED, as_it_counts
from console.plan.values import LIST, as_compared
from console.present import names
from console.sensitive import holds_a_secret

# The comparison of two wanted states, and of brokers.

Entity = ConfigResource | QuotaEntity | Acl


class Difference(NamedTuple):
    """A difference between two wanted states: in one key, or in whether an entity exists."""

    entity: Entity
    key: str
    """The key whose values differ; ``""`` if only one side has the entity."""
    left: Value | None
    """The value on the left; None if that side has none, HIDDEN for a secret."""
    right: Value | None
    """The value on the right; None if that side has none, HIDDEN for a secret."""


THERE = "there"


def compare(left: Wanted, right: Wanted) -> tuple[Difference, ...]:
    """Return all differences: first of topics, then of other entities.

    Two secrets count as equal, since they can't be compared. A key that one side omits is ignored if that side lists
    only some keys of the entity. Configs that belong to a running move on either side are ignored, too.
    """
    return tuple(each for each in _all(left, right) if not _is_open(each, left, right))


def _is_open(each: Difference, left: Wanted, right: Wanted) -> bool:
    if not each.key:
        return False
    if (each.entity, each.key) in left.owned or (each.entity, each.key) in right.owned:
        return True
    return (each.left is None and each.entity in left.partial) or (each.right is None and each.entity in right.partial)


def _all(left: Wanted, right: Wanted) -> Iterator[Difference]:
    for name in sorted({*left.topics, *right.topics}):
        mine, theirs = _topic(left.topics.get(name)), _topic(right.topics.get(name))
        yield from differing(topic_resource(name), mine, theirs)
    for resource in sorted({*left.configs, *right.configs}):
        yield from differing(resource, left.configs.get(resource, {}), right.configs.get(resource, {}))
    for entity in sorted({*left.quotas, *right.quotas}, key=repr):
        yield from differing(entity, _numbers(left.quotas.get(entity, {})), _numbers(right.quotas.get(entity, {})))
    for resource in sorted({*left.connectors, *right.connectors}):
        yield from differing(resource, *_connectors(left.connectors.get(resource), right.connectors.get(resource)))
    for resource in sorted({*left.schemas, *right.schemas}):
        yield from differing(resource, *values_of(left.schemas.get(resource), right.schemas.get(resource)))
    for acl in sorted(left.acls ^ right.acls):
        yield Difference(acl, "", THERE if acl in left.acls else None, THERE if acl in right.acls else None)


def differing(
    entity: Entity, left: Mapping[str, Value] | None, right: Mapping[str, Value] | None
) -> Iterator[Difference]:
    """Yield a difference for each key with different values; a single one if a side lacks the entity. left, right: key
    -> value; None if the side lacks the entity.
    """
    if left is None or right is None:
        yield Difference(entity, "", None if left is None else THERE, None if right is None else THERE)
        return
    for key in sorted({*left, *right}):
        mine, theirs = left.get(key), right.get(key)
        if mine != theirs and not _same_list(key, mine, theirs):
            yield Difference(entity, key, mine, theirs)


def _same_list(key: str, one: Value | None, other: Value | None) -> bool:
    """Return whether two values of a list without order have the same items; False for other keys."""
    if key not in UNORDERED or not isinstance(one, str) or not isinstance(other, str):
        return False
    return as_compared(key, LIST, one) == as_compared(key, LIST, other)


def _topic(topic: WantedTopic | None) -> dict[str, Value] | None:
    if topic is None:
        return None
    counts = {"partitions": topic.partitions, "replication": topic.replication}
    known = {name: str(count) for name, count in counts.items() if count is not None}
    return {**known, **(topic.configs or {})}


def _connectors(
    left: WantedConnector | None, right: WantedConnector | None
) -> tuple[dict[str, Value] | None, dict[str, Value] | None]:
    """Return the values of a connector on both sides, None for a side without it. The state is left out if a side does
    not give it. A value that either side hides, or that may be a secret, is HIDDEN on both.
    """
    sides = [each for each in (left, right) if each is not None]
    hidden = {key for each in sides for key, value in each.config.items() if _is_secret(key, value)}
    with_state = all(each.state is not None for each in sides)

    def values(of: WantedConnector | None) -> dict[str, Value] | None:
        if of is None:
            return None
        found: dict[str, Value] = {key: HIDDEN if key in hidden else value for key, value in of.config.items()}
        return found | ({"state": of.state.lower()} if with_state and of.state is not None else {})

    return values(left), values(right)


def _is_secret(key: str, value: Value) -> bool:
    return value is HIDDEN or holds_a_secret(key, str(value), is_password=False)


def _numbers(limits: Mapping[str, float]) -> dict[str, Value]:
    return {key: f"{value + 0.0:.17g}" for key, value in limits.items()}  # + 0.0 turns -0.0 into 0


# The differences as tables.

NONE = "–"
ALIKE = "they are alike"
ODD = "!"


def difference_table(found: Sequence[Difference], left: str, right: str) -> Table:
    """Return a table with a row for each key that differs.

    Args:
        left: the title of the left side's column.
        right: the title of the right side's column.
    """
    rows = tuple(
        Row(
            (names.target(each.entity), each.key, _shown(each.left), _shown(each.right)),
            {
                "entity": names.target(each.entity),
                "key": each.key,
                "left": _data(each.left),
                "right": _data(each.right),
            },
        )
        for each in found
    )
    columns = (Column("Entity"), Column("Key"), Column(left), Column(right))
    return Table("differences", columns, rows, empty=ALIKE)


def entity_table(left: ConfigSet, right: ConfigSet, left_name: str, right_name: str) -> Table:
    """Return a table of the keys whose effective values differ between two entities, with the sources of the values."""
    rows = []
    for key in sorted({entry.name for entries in (left, right) for entry in entries}):
        mine, theirs = left.get(key), right.get(key)
        if _effective(mine) != _effective(theirs):
            cells = (key, _with_source(mine), _with_source(theirs))
            rows.append(Row(cells, {"key": key, "left": _entry_data(mine), "right": _entry_data(theirs)}))
    return Table("differences", (Column("Key"), Column(left_name), Column(right_name)), tuple(rows), empty=ALIKE)


def broker_table(rows: Sequence[BrokerRow], brokers: Sequence[int]) -> Table:
    """Return a table with a row for each key and a column for each broker; values that differ from the most frequent
    one are marked.
    """
    table = []
    for row in rows:
        values = {broker: _value(row.values[broker]) for broker in brokers}
        cells = tuple(f"{ODD} {_shown(values[b])}" if b in row.odd else _shown(values[b]) for b in brokers)
        data = {str(broker): _data(values[broker]) for broker in brokers}
        table.append(Row((row.key, *cells), {"key": row.key, "values": data, "odd": sorted(row.odd)}))
    columns = (Column("Key"), *(Column(f"broker {broker}") for broker in brokers))
    notes = (f"{ODD} has another value than most",) if any(row.odd for row in rows) else ()
    return Table("differences", columns, tuple(table), empty=ALIKE, notes=notes)


def _value(entry: ConfigEntry | None) -> Value | None:
    if entry is None:
        return None
    return HIDDEN if entry.hidden else entry.value if entry.value is not None else ""


def _shown(value: Value | None) -> str:
    return NONE if value is None else names.HIDDEN if value is HIDDEN else str(value) or '""'


def _data(value: Value | None) -> str | None:
    return None if value is None else "hidden" if value is HIDDEN else str(value)


def _effective(entry: ConfigEntry | None) -> tuple[str | None, bool] | None:
    if entry is None:
        return None
    return entry.value and as_it_counts(entry.name, entry.value), entry.sensitive


def _with_source(entry: ConfigEntry | None) -> str:
    if entry is None:
        return NONE
    return f"{_shown(HIDDEN if entry.hidden else entry.value)} ({names.source(entry.source)})"


def _entry_data(entry: ConfigEntry | None) -> dict[str, str | None] | None:
    return None if entry is None else {"value": entry.value, "source": entry.source.name}
