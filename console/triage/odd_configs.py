"""Config keys whose value on one broker differs from that on all others. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from console.model.config import broker_resource
from console.model.numbers import long_number
from console.model.snapshot import Snapshot

LESS = frozenset(
    {
        "num.replica.fetchers",
        "replica.fetch.max.bytes",
        "replica.fetch.response.max.bytes",
        "replica.socket.timeout.ms",
        "replica.socket.receive.buffer.bytes",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.threads",
        "follower.replication.throttled.rate",
    }
)
"""Keys of which a lower value makes a broker slower."""
MORE = frozenset({"replica.fetch.backoff.ms", "replica.fetch.wait.max.ms", "log.cleaner.backoff.ms"})
"""Keys of which a higher value makes a broker slower."""
OFF = frozenset({"log.cleaner.enable"})
"""Keys that disable a function if they are false."""


def odd_keys(snapshot: Snapshot, broker: int) -> Mapping[str, tuple[str, str]]:
    """Return key -> the value of this broker and the value of most others, for keys whose value is worse here than on
    all other brokers; empty with fewer than three known brokers, as of two either may be the wrong one.
    """
    found_sets = ((each.id, snapshot.configs.get(broker_resource(each.id))) for each in snapshot.cluster.brokers)
    sets = {id_: configs for id_, configs in found_sets if configs is not None}
    if broker not in sets or len(sets) < 3:
        return {}
    found: dict[str, tuple[str, str]] = {}
    for key in sorted(LESS | MORE | OFF):
        values = {id_: entry.value for id_, configs in sets.items() if (entry := configs.get(key)) is not None}
        mine = values.pop(broker, None)
        others = [each for each in values.values() if each is not None]
        # All values must be known: a hidden value may be equal.
        if mine is not None and len(others) + 1 == len(sets) and all(_is_worse(key, mine, each) for each in others):
            found[key] = mine, Counter(others).most_common(1)[0][0]
    return found


def _is_worse(key: str, mine: str, other: str) -> bool:
    if key in OFF:
        return (mine, other) == ("false", "true")
    left, right = long_number(mine), long_number(other)
    if left is None or right is None:
        return False
    return left < right if key in LESS else left > right
