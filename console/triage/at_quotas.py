"""Finds topics that producers write to about as fast as a quota allows, and how fast over a minute. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from types import MappingProxyType

from console.model.grouping import grouped
from console.model.quota import PRODUCER_BYTE_RATE, QuotaEntity, QuotaPart, QuotaValues, level_of
from console.model.rates import Counter, count
from console.model.snapshot import Snapshot
from console.triage.remembered import remembered
from console.triage.written import written

LASTS = 60.0
"""Seconds over which the mean rate is that of a limited producer: brokers let a batch through at once, and are silent
then.
"""
NEAR = (0.85, 2.0)
"""Shares of a quota between which a rate over less than a minute may be that of one or two limited producers."""
AT = (0.85, 1.35)
"""Shares of a quota between which a mean over a minute is at it; one batch may come in addition."""
BATCH = 1 << 20
"""Bytes of the largest batch that brokers take by default."""
MOST_QUOTAS, MOST_PLACES = 1_000, 1_000
"""Maximum number of quotas that are compared with rates, and of topics that are observed."""

Place = tuple[str, int]
"""A topic, and the leader of some of its partitions."""
AtQuotas = Mapping[Place, Counter]
"""(topic, leader) -> the bytes that producers wrote there since the rate came near a quota."""
NOTHING: AtQuotas = MappingProxyType({})


class Limited:
    """The quotas of producers in the order of their values.

    Attributes:
        entities: the entities with such a quota, the lowest quota first.
        values: the quotas of these entities, bytes per second.
        of: named component -> the entities with it.
    """

    def __init__(self, quotas: Mapping[QuotaEntity, QuotaValues]) -> None:
        known = [(value, entity) for entity, values in quotas.items() if (value := values.get(PRODUCER_BYTE_RATE))]
        known = [] if len(known) > MOST_QUOTAS else sorted(known, key=lambda each: each[0])
        self.entities: Sequence[QuotaEntity] = [entity for _, entity in known]
        self.values: Sequence[float] = [value for value, _ in known]
        self.of: Mapping[QuotaPart, Sequence[QuotaEntity]] = grouped(
            (part, entity) for entity in self.entities for part in entity.parts if part.name is not None
        )

    def near(self, rate: float, shares: tuple[float, float] = NEAR, more: float = 0.0) -> QuotaEntity | None:
        """Return the entity whose quota a rate is near; None if there is none.

        Args:
            rate: bytes per second.
            shares: the lowest and the highest share of the quota that is near it.
            more: bytes per second that may come in addition.
        """
        least, most = shares
        first = bisect_left(self.values, max(0.0, rate - more) / most)
        return self.entities[first] if first < bisect_right(self.values, rate / least) else None


limited = remembered(Limited)


def at_quotas_after(known: AtQuotas, before: Snapshot, snapshot: Snapshot) -> AtQuotas:
    """Return, as of this poll, what producers write near a quota. A place stays for a minute, and then for as long as
    its mean rate over a minute, or its present one, is near a quota.

    Args:
        known: the result for the last poll.
        before, snapshot: the snapshots of the last poll and of this one.
    """
    if all(getattr(before, part) is getattr(snapshot, part) for part in ("rates", "quotas", "topics")):
        return known
    if not snapshot.quotas or not (quotas := limited(snapshot.quotas)).values:
        return NOTHING if known else known
    rates = written(snapshot.rates, snapshot.topics)
    found = {place: _counted(place, known[place], snapshot) for place in known if place in rates}
    found = {place: each for place, each in found.items() if _stays(each, rates[place], quotas)}
    new = (place for place, rate in rates.items() if place not in found and quotas.near(rate) is not None)
    found |= {place: _counted(place, None, snapshot) for place in islice(new, MOST_PLACES - len(found))}
    return found if found != known else known


def _stays(each: Counter, rate: float, quotas: Limited) -> bool:
    return not is_long(each) or quotas.near(rate) is not None or near_over_a_minute(each, quotas) is not None


def _counted(place: Place, known: Counter | None, snapshot: Snapshot) -> Counter:
    """Return the counter of a place with the present sizes. The first one begins with the sizes with which the rates
    begin, if these are of one time.
    """
    topic, leader = place
    numbers = [each.number for each in snapshot.topics[topic].partitions if each.leader == leader]
    sizes = [size for number in numbers if (size := snapshot.rates.sizes.get((topic, number))) is not None]
    at, value = max(each.at for each in sizes), sum(each.value for each in sizes)
    if known is None and len({each.base_at for each in sizes}) == 1:
        known = count(None, sum(each.base for each in sizes), sizes[0].base_at)
    return count(known, value, at, window=LASTS)


def is_long(each: Counter) -> bool:
    """Return whether a counter has the bytes of a minute."""
    return each.at - each.base_at >= LASTS


def near_over_a_minute(each: Counter, quotas: Limited) -> QuotaEntity | None:
    """Return the entity whose quota the mean rate over a minute is at; None if there is none."""
    if not is_long(each) or each.rate is None:
        return None
    return quotas.near(each.rate, AT, BATCH / (each.at - each.base_at))


class MinuteRates:
    """The mean rates of places over a minute.

    Args:
        places: the places that are observed.
        since: the time from which on the minute has to begin, Unix seconds.
    """

    def __init__(self, places: AtQuotas, since: float) -> None:
        self._known = sorted(
            (
                (rate, topic, each.at - each.base_at)
                for (topic, _), each in places.items()
                if is_long(each) and each.base_at >= since and (rate := each.rate) is not None
            ),
            key=itemgetter(0),
        )
        self._rates = [rate for rate, *_ in self._known]

    def at(self, quota: float) -> Sequence[str]:
        """Return the topics that were written to through a broker as fast as a quota allows, sorted. quota: bytes per
        second.
        """
        least, most = AT
        first, end = bisect_left(self._rates, least * quota), bisect_right(self._rates, most * quota + BATCH / LASTS)
        near = self._known[first:end]
        return sorted({topic for rate, topic, seconds in near if rate <= most * quota + BATCH / seconds})


def preceding(
    entity: QuotaEntity, limit: float, quotas: Mapping[QuotaEntity, QuotaValues]
) -> Iterator[tuple[QuotaEntity, float]]:
    """Yield the entities whose lower quota of producers precedes that of a user or a client, each with its quota.

    Args:
        entity: a user, a client id, or both; nothing is yielded for one of defaults only.
        limit: its quota, bytes per second.
        quotas: all quotas; nothing is yielded if there are more than `MOST_QUOTAS`.
    """
    with_part = limited(quotas).of
    named = [with_part.get(part, ()) for part in entity.parts if part.name is not None]
    for other in min(named, key=len, default=()):
        value = quotas[other][PRODUCER_BYTE_RATE]
        if value < limit and len(other) >= len(entity) and is_more_specific(other, entity):
            yield other, value


def is_more_specific(other: QuotaEntity, entity: QuotaEntity) -> bool:
    """Return whether the quota of `other` precedes that of `entity` for clients to which both apply, and every client
    of `other` is one of `entity`.
    """
    own = other.as_dict()
    is_of_it = all(part.type in own and part.name in (None, own[part.type]) for part in entity.parts)
    return is_of_it and level_of(other) < level_of(entity)
