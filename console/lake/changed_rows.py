"""What a look adds to what is known of a cluster: only the resources that are not as they were. Pure.

Applying the rows of every look in turn (`applied`) gives back what each of them saw.
"""

from __future__ import annotations

from collections.abc import Iterable

from console.lake.snapshot_rows import Observation, Resource, Row, State, Value, state_rows, word_rows


def changed_rows(last: State, seen: Observation) -> tuple[list[Row], State]:
    """The rows to write, and what is known then.

    A resource that was there and is not named is gone only where all of its type could be listed; where that failed,
    or reading its configs did, it stays as it was known.
    """
    now: dict[Resource, tuple[Value, ...]] = {}
    for entity, values in seen.state.items():
        now[entity] = _carried(last.get(entity, ()), values) if entity in seen.partial else values
    changed = {entity: values for entity, values in now.items() if last.get(entity) != values}
    gone: list[Row] = []
    for entity, values in last.items():
        if entity in now:
            continue
        if entity.entity_type in seen.listed and entity not in seen.failed:
            gone.append(Row("absent", *entity))
        else:
            now[entity] = values
    return [*state_rows(changed), *gone, *word_rows(seen)], now


def _carried(before: tuple[Value, ...], facts: tuple[Value, ...]) -> tuple[Value, ...]:
    """What is known of the resource itself, with the configs that it had."""
    return tuple(sorted((*facts, *(value for value in before if not value.attr.startswith(":")))))


def applied(state: State, rows: Iterable[Row]) -> State:
    """What is known after a look, from what was known before and the look's rows."""
    now = dict(state)
    fresh: dict[Resource, list[Value]] = {}
    for row in rows:
        if row.kind == "absent":
            now.pop(Resource(row.entity_type, row.entity_key or ""), None)
        elif row.kind == "state":
            entity = Resource(row.entity_type, row.entity_key or "")
            value = Value(row.attr or "", row.value, row.source, row.is_sensitive)
            fresh.setdefault(entity, []).append(value)
    return now | {entity: tuple(sorted(values)) for entity, values in fresh.items()}
