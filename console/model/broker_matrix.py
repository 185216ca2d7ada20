"""The keys in which the configs of brokers differ, and the brokers with unusual values. Pure."""

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
    """Broker -> its entry of the key; None if the broker does not list the key."""
    odd: frozenset[int]
    """The brokers with another value than the most frequent one; empty if two or more values are the most frequent."""


_Held = tuple[str | None, bool] | None
"""The value of a broker's key and whether the broker hides it; None if the broker does not list the key."""


def broker_matrix(sets: Mapping[int, ConfigSet], every: bool = False) -> tuple[BrokerRow, ...]:
    """Return the keys in which brokers differ, sorted by key; empty if they do not differ.

    Args:
        sets: broker id -> the configs of the broker; brokers that were not read are missing.
        every: whether to include keys that always differ between brokers, such as ``broker.id``.
    """
    keys = sorted({entry.name for entries in sets.values() for entry in entries})
    ordered = sorted(sets.items())
    rows = []
    for key in keys:
        entries = {broker: mine.get(key) for broker, mine in ordered}
        # Nearly all keys end here, and comparing whole entries is the cheapest comparison.
        first, *others = entries.values()
        if all(entry == first for entry in others) or (is_of_each_broker(key) and not every):
            continue
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
