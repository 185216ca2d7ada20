"""The times that brokers take to answer probes, over several polls, and the brokers that answer far later than the
others. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

PROBES = 8
"""Number of probes, the first and the last ones, whose times are kept for each broker."""
SLOW, SLOWER, RISE = 0.1, 5.0, 4.0
"""Limits for a broker that becomes slow: minimum seconds; minimum factors of the median time of the other brokers, and
of the broker's own time at first. A broker that is only far away is slow from the first probe on."""
STAYS = 0.5
"""Factor of the limits below which a broker that was slow does not count as slow any more."""


class Took(NamedTuple):
    """The seconds that a broker took to answer probes, each on a new connection."""

    first: tuple[float, ...]
    """The times of the first `PROBES` probes that kac observed, or of the first ones after the broker's return."""
    last: tuple[float, ...]
    """The times of the last `PROBES` probes, the earliest first."""


def took_after(known: Mapping[int, Took], now: Mapping[int, float]) -> Mapping[int, Took]:
    """Return broker -> its times after another round of probes. For a broker that did not answer in the round before,
    the times begin again, because it may have been restarted. now: broker -> seconds, for the brokers that answered.
    """
    return {
        broker: Took((*was.first, seconds)[:PROBES], (*was.last, seconds)[-PROBES:])
        for broker, seconds in now.items()
        for was in (known.get(broker, Took((), ())),)
    }


class Late(NamedTuple):
    """A broker that answers late. All times are medians in seconds."""

    seconds: float
    """The time of its last answers."""
    first: float
    """The time of its first answers."""
    others: float
    """The time of the last answers of all other brokers."""


def late_after(known: Mapping[int, Late], took: Mapping[int, Took]) -> Mapping[int, Late]:
    """Return the brokers that answer late; empty with fewer than three brokers that have answered `PROBES` times.

    Args:
        known: the result for the former poll. A broker in it remains until it is much faster, so that a broker near a
            limit does not appear and disappear.
        took: broker -> its times.
    """
    usual = {broker: middle(each.last) for broker, each in took.items() if len(each.last) == PROBES}
    found: dict[int, Late] = {}
    for broker, seconds in usual.items() if len(usual) > 2 else ():  # of two brokers either may be the unusual one
        others = middle(each for other, each in usual.items() if other != broker)
        first = middle(took[broker].first)
        limit = max(SLOW, SLOWER * others, RISE * first)
        if seconds >= (STAYS * limit if broker in known else limit):
            found[broker] = Late(seconds, first, others)
    return found


def middle(values: Iterable[float]) -> float:
    """Return the median of some values; of an even number, the lower one of the two in the middle."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]
