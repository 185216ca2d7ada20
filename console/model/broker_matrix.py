"""The keys in which the brokers of a cluster differ, and the brokers with unusual values. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from console.model.config import ConfigEntry, ConfigSet
from console.model.drift_rules import is_of_each_broker
from console.model.unordered import as_it_counts


class BrokerRow(NamedTuple):
    """A key that differs between brokers."""

    key: str
    values: Mapping[int, ConfigEntry | None]
    """Broker -> its value; None if the broker does not list the key."""
    odd: frozenset[int]
    """The brokers without the most frequent value; empty if several values are equally frequent."""


_Held = tuple[str | None, bool] | None
"""A value and whether it is hidden; None if a broker does not list the key."""


def broker_matrix(sets: Mapping[int, ConfigSet], every: bool = False) -> tuple[BrokerRow, ...]:
    """Return the keys in which brokers differ, sorted by key.

    Args:
        sets: the configs of each broker that was read, by broker id.
        every: whether to include keys that differ between brokers by nature.
    """
    keys = sorted({entry.name for entries in sets.values() for entry in entries})
    rows = []
    for key in keys:
        if is_of_each_broker(key) and not every:
            continue
        entries = {broker: mine.get(key) for broker, mine in sorted(sets.items())}
        held = {broker: _held(entry) for broker, entry in entries.items()}
        if len(set(held.values())) > 1:
            rows.append(BrokerRow(key, entries, _odd(held)))
    return tuple(rows)


def _held(entry: ConfigEntry | None) -> _Held:
    return None if entry is None else (as_it_counts(entry.name, entry.value or ""), entry.hidden)


def _odd(held: Mapping[int, _Held]) -> frozenset[int]:
    (most, count), *others = Counter(held.values()).most_common()
    if any(other == count for _, other in others):
        return frozenset()
    return frozenset(broker for broker, value in held.items() if value != most)
