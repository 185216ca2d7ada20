"""The times in which brokers answer probes, over polls, and the brokers that answer far later than the others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

PROBES = 8
"""Number of probes whose times are kept."""
SLOW, SLOWER, RISE = 0.1, 5.0, 4.0
"""Limits for a broker that becomes slow: minimum seconds; minimum factors of the median time of the other brokers, and
of the broker's own time at first. A broker that is only far away is slow from the first probe on."""
STAYS = 0.5
"""Share of these limits below which a slow broker is no longer slow."""


class Took(NamedTuple):
    """The seconds from probes of a broker, on new connections, to its answers."""

    first: tuple[float, ...]
    """Those of the first probes (`PROBES`) that were observed, or of the first ones after the broker's return."""
    last: tuple[float, ...]
    """Those of the last probes, the earliest first."""


def took_after(known: Mapping[int, Took], now: Mapping[int, float]) -> Mapping[int, Took]:
    """Return the times after another round of probes. A broker that did not answer begins again: it may have been
    restarted. now: broker -> seconds.
    """
    return {
        broker: Took((*was.first, seconds)[:PROBES], (*was.last, seconds)[-PROBES:])
        for broker, seconds in now.items()
        for was in (known.get(broker, Took((), ())),)
    }


class Late(NamedTuple):
    """A broker that answers late, with medians in seconds."""

    seconds: float
    """Its last answers."""
    first: float
    """Its first answers."""
    others: float
    """The last answers of the other brokers."""


def late_after(known: Mapping[int, Late], took: Mapping[int, Took]) -> Mapping[int, Late]:
    """Return the brokers that answer late. known: those of the former poll, which stay until they are much faster, so
    that a broker near a limit does not come and go.
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
    """Return the median of some values, the lower one of two."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]
