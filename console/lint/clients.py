"""Rules on the time for which brokers remember clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from console.lint.places import broker_values, on_brokers, set_on, whose
from console.lint.rule import Found, Seen, rule
from console.model.codes import BROKER
from console.model.numbers import long_number
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.plan.amounts import duration
from console.plan.limit_risks import OFFSETS_KEPT

_MINUTE = 60_000


class _Limit(NamedTuple):
    """A time after which brokers forget what a client did."""

    key: str
    least: int
    """The lowest value that covers usual pauses of clients."""
    wanted: int
    """Kafka's default, to which the remedy sets the key."""
    says: str
    """The effect, with the time as ``{}``."""
    unit_ms: int = 1
    """The unit of the values, in milliseconds."""


_FORGETS = (
    _Limit(
        OFFSETS_KEPT,
        24 * 60,
        7 * 24 * 60,
        "the offsets of a group that has no member for {} are dropped, and it begins at auto.offset.reset then",
        _MINUTE,
    ),
    _Limit(
        "transactional.id.expiration.ms",
        60 * _MINUTE,
        7 * 24 * 60 * _MINUTE,
        "a transactional producer that begins nothing for {} is forgotten, and can't go on (InvalidPidMapping)",
    ),
    _Limit(
        "producer.id.expiration.ms",
        60 * _MINUTE,
        24 * 60 * _MINUTE,
        "the sequence numbers of a producer that writes nothing for {} are forgotten: a record that it sends again "
        "after that time is written twice",
    ),
)


@rule(
    name="clients-forgotten",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="brokers that forget offsets within a day, or producers within an hour",
    why="A client that pauses for longer may begin elsewhere, end, or write a record twice",
    needs=(Part.CLUSTER, BROKER),
    source="brokerconfigs_offsets.retention.minutes",
)
def _forgetting(seen: Seen) -> Iterator[Found]:
    for limit in _FORGETS:
        for value, brokers, entry in broker_values(seen, limit.key):
            number = long_number(value)
            if number is not None and 0 < number < limit.least:
                says = limit.says.format(duration(number * limit.unit_ms))
                what = f"{limit.key}={value} on {on_brokers(seen, brokers)}: {says}"
                edits, advice = set_on(seen, limit.key, str(limit.wanted), brokers, entry)
                yield Found(whose(seen, brokers), what, limit.key, edits, advice=advice)
