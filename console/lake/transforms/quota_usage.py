"""Rows of `quota_usage`: the usage of each quota by users and clients, from request logs. It is an estimate of the
usage that brokers compute.

Bytes are those of record batches; a broker also counts headers. A request's processing time is `local_ms`; a broker
adds the time of its network threads. A broker logs how long a request is throttled, but not by which quota. kac
assumes: Produce and Fetch are throttled by their byte rate if there is such a limit, otherwise, like all other
requests, by `request_percentage`; requests that change topics are throttled by `controller_mutation_rate`, which is not
in this table.

A row is about one minute of the users and clients that share a limit; each second counts for the limit in effect at
that time. If the value of a limit changed within the minute, the row has the last one. A user without a limit has a row
for each pair with a client id. Pure; times are microseconds since 1970.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from operator import add
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from console.lake.entities import POLL_SOURCES, quota_parts
from console.lake.schema import QUOTA_SUGGESTION, QUOTA_USAGE, USAGE_KEYS
from console.lake.transforms.rows import Row, rows_of, table_of
from console.model import quota

SECOND = 1_000_000
HOUR = 3600
_MINUTE = 60
"""A minute in seconds."""
PART_MINUTES = 10
"""Number of minutes whose usage one task computes."""
PART_SECONDS = PART_MINUTES * _MINUTE
_BEGINNING = -(1 << 62)

# -- limits over time ------------------------------------------------------------------------------------------------


class _Held(NamedTuple):
    """A value of a quota key, from the time `since` until the time `until` (None if it still holds)."""

    since: int
    until: int | None
    value: float | None
    """The limit; None if the key has no value in that time."""


LIMITING = ("entity_key", "attr", "new_value", "valid_from", "valid_to", "is_deleted", "source")
"""The columns of HISTORY that determine the limits of a user and a client id."""


_OverTime = tuple[list[int], list[dict[str, quota.Effective]]]


class Limits:
    """The limits of a cluster's users and client ids over time.

    Attributes:
        history: the rows of HISTORY for its quotas, with the columns LIMITING.
        first_poll: the time at which a poll, or a snapshot of the log, first showed the cluster: values from then were
            set before, at an unknown time.
    """

    def __init__(self, history: pa.Table, first_poll: int | None) -> None:
        self._held: dict[quota.QuotaEntity, dict[str, list[_Held]]] = {}
        for entity, attr, text, since, until, is_deleted, source in rows_of(history, *LIMITING):
            if attr in USAGE_KEYS:
                begins = _BEGINNING if source in POLL_SOURCES and since == first_poll else since
                of_entity = self._held.setdefault(quota.QuotaEntity.of(quota_parts(entity)), {})
                of_entity.setdefault(attr, []).append(_Held(begins, until, None if is_deleted else _number(text)))
        parts = [part for entity in self._held for part in entity.parts]
        self._named = {type_: {name for of, name in parts if of == type_} for type_ in (quota.USER, quota.CLIENT_ID)}
        # A name that no limit has, as it is longer than the names of all limits.
        self._other = "\0" * (1 + max((len(name or "") for names in self._named.values() for name in names), default=0))
        self._known: dict[tuple[str, str], _OverTime] = {}

    def of(self, user: str, client: str) -> _OverTime:
        """Return the times from which on the limits of a user with a client id differ, in microseconds since 1970, and
        for each time the limits by quota key. An empty text means: without a user, without a client id.
        """
        # Limits name few users and clients; all others share the default limits, and one entry.
        pair = (
            user if user in self._named[quota.USER] else self._other,
            client if not client or client in self._named[quota.CLIENT_ID] else self._other,
        )
        if pair not in self._known:
            self._known[pair] = self._of(*pair)
        return self._known[pair]

    def _of(self, user: str, client: str) -> _OverTime:
        held = {entity: self._held[entity] for entity in quota.levels(user, client) if entity in self._held}
        of_all = [each for by_key in held.values() for rows in by_key.values() for each in rows]
        times = sorted({_BEGINNING, *(each.since for each in of_all), *(each.until for each in of_all if each.until)})
        made = []
        for at in times:
            quotas = {entity: _values_at(by_key, at) for entity, by_key in held.items()}
            of_keys = ((key, quota.effective(quotas, user, client, key)) for key in USAGE_KEYS if quotas)
            made.append({key: limit for key, limit in of_keys if limit is not None})
        return times, made


def _values_at(by_key: Mapping[str, Iterable[_Held]], at: int) -> dict[str, float]:
    made = {}
    for key, rows in by_key.items():
        now = [each for each in rows if each.since <= at and (each.until is None or at < each.until)]
        value = max(now, key=lambda each: each.since).value if now else None
        if value is not None:
            made[key] = value
    return made


def _number(text: str | None) -> float | None:
    """Return the number in a text; None if the text is None, not a number, or not finite."""
    try:
        value = math.nan if text is None else float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# -- the usage that counts for a limit --------------------------------------------------------------------------------

_BYTES_KEYS = {"PRODUCE": quota.PRODUCER_BYTE_RATE, "FETCH": quota.CONSUMER_BYTE_RATE}
_MUTATIONS = ("CREATE_TOPICS", "DELETE_TOPICS", "CREATE_PARTITIONS")
_PERCENT_SECONDS_PER_MS = 0.1


_Scope = tuple[int, str, str | None, str | None]
"""The users and clients that share a limit, on one broker: broker id, quota key, user and client id; None for all
users, or for all client ids.
"""


_NO_AMOUNTS = array("d", [0.0] * _MINUTE)
"""The amounts of a minute without usage, an element for each second. An array of floats takes a quarter of the memory
of a list.
"""


class _Minute:
    """The usage of a scope in a minute.

    Attributes:
        amounts: the usage of each second: bytes, or percent of a request handler's time.
        first, last: the first and the last second with usage, 0 to 59.
        limit: the limit in effect in the last second with usage; None without a limit.
        throttle_ms: the milliseconds for which requests were throttled.
        throttled_requests: a lower bound of the number of throttled requests.
    """

    __slots__ = ("amounts", "first", "last", "limit", "throttle_ms", "throttled_requests")

    def __init__(self) -> None:
        self.amounts = _NO_AMOUNTS[:]
        self.first, self.last = _MINUTE, -1
        self.limit: quota.Effective | None = None
        self.throttle_ms = self.throttled_requests = 0


_Use = tuple[dict[int, _Minute], quota.Effective | None, bool, bool]
"""How one kind of requests counts for a limit: the minutes of the scope, the limit (None without one), whether it is a
limit in bytes, and whether it is the limit that throttles these requests.
"""


def _uses(
    found: Mapping[_Scope, dict[int, _Minute]],
    limits: Mapping[str, quota.Effective],
    broker_id: int,
    user: str,
    client: str,
    api: str,
) -> Iterator[_Use]:
    of_bytes = _BYTES_KEYS.get(api)
    by_bytes = of_bytes is not None and (of_bytes in limits or quota.REQUEST_PERCENTAGE not in limits)
    for key in (of_bytes, quota.REQUEST_PERCENTAGE):
        if key is not None:
            limit = limits.get(key)
            shared = None if limit is None else limit.shared
            scope = (broker_id, key, None if shared == "client-id" else user, None if shared == "user" else client)
            is_throttled = by_bytes if key == of_bytes else not by_bytes and api not in _MUTATIONS
            yield found[scope], limit, key == of_bytes, is_throttled


# -- seconds, packed by minute -----------------------------------------------------------------------------------------

# All seconds of a client in a minute are one row with lists: Spark moves and sorts far fewer rows, and Python decodes
# fewer texts.

KIND = ("broker_id", "principal", "client_id", "api")
"""The columns that determine for which limits a request counts."""
_OF_SECONDS = ("at", "moved", "local_ms", "throttled", "longest")
PACKED = (
    "cluster_id string, broker_id int, principal string, client_id string, api string, minute bigint, at array<int>, "
    "moved array<bigint>, local_ms array<double>, throttled array<bigint>, longest array<bigint>"
)
"""The columns that `packed` returns, as Spark's DDL. minute: minutes since 1970. Each list has an element for each
second: at, the second within the minute; moved, the bytes; local_ms, the milliseconds of processing; throttled and
longest, the milliseconds of throttling in total and of a single request (both lists are None if no request of the
minute was throttled).
"""
SECONDS = ("cluster_id", *KIND, "second", "bytes_in", "bytes_out", "local_ms", "throttle_ms_sum", "throttle_ms_max")
"""The columns of REQUEST_1S that `packed` needs."""
_PACKS_AT_ONCE, _ROWS_AT_ONCE = 512, 8192
"""Maximum number of packed rows, and of rows, that are held as Python objects at the same time."""


def packed(seconds: pa.Table) -> pa.Table:
    """Return rows of REQUEST_1S as `PACKED`: one row for all seconds of a minute that are equal in `KIND`. The rows,
    and the seconds in their lists, are in any order.
    """
    since = pc.divide(seconds["second"].cast(pa.int64()), SECOND)
    minute = pc.floor(pc.divide(since.cast(pa.float64()), float(_MINUTE))).cast(pa.int64())
    keys = {name: seconds[name] for name in ("cluster_id", *KIND)} | {"minute": minute}
    made = pa.table(
        {
            **keys,
            "at": pc.subtract(since, pc.multiply(minute, _MINUTE)).cast(pa.int32()),
            "moved": pc.if_else(pc.equal(seconds["api"], "PRODUCE"), seconds["bytes_in"], seconds["bytes_out"]),
            "local_ms": seconds["local_ms"],
            "throttled": seconds["throttle_ms_sum"],
            "longest": seconds["throttle_ms_max"],
        }
    )
    lists = [(name, "list") for name in _OF_SECONDS]
    found = made.group_by([*keys], use_threads=False).aggregate([*lists, ("longest", "max")])
    waited = pc.greater(found["longest_max"], 0)
    columns = {name: found[f"{name}_list"] for name in _OF_SECONDS}
    for name in ("throttled", "longest"):
        columns[name] = pc.if_else(waited, columns[name], pa.scalar(None, columns[name].type))
    return pa.table({**{name: found[name] for name in keys}, **columns})


_Pack = tuple[int, str, str, str, int, range, list[int] | None, list[int] | None]
"""A packed row: the columns of `PACKED` after the cluster's id. A range in the flat lists of `_packs` replaces the
lists at, moved and local_ms.
"""


def _packs(table: pa.Table) -> Iterator[tuple[list[int], list[int], list[float], list[_Pack]]]:
    """Yield a few hundred packed rows at a time, as four lists: the seconds, bytes and milliseconds of all these rows
    in flat lists, and the rows.
    """
    for batch in table.select([*KIND, "minute", *_OF_SECONDS]).to_batches(max_chunksize=_PACKS_AT_ONCE):
        *plain, at, moved, local, throttled, longest = batch.columns
        ends = [0, *accumulate(at.value_lengths().to_pylist())]
        columns = [*(column.to_pylist() for column in plain), map(range, ends, ends[1:])]
        rows = zip(*columns, throttled.to_pylist(), longest.to_pylist(), strict=True)
        yield (*(each.flatten().to_pylist() for each in (at, moved, local)), [*rows])


_Kind = tuple[int, str, str, str]
_Waits = dict[tuple[_Kind, int], tuple[int, int, int]]
"""(kind, second of the minute) -> its throttling: the milliseconds in total, the milliseconds of the request that
waited longest, and a lower bound of the number of requests.
"""


def used_minutes(cluster_id: str, packs: Iterable[pa.Table], wanted: range, limits: Limits) -> Iterator[pa.Table]:
    """Yield the rows of QUOTA_USAGE for the wanted minutes of a cluster.

    Args:
        packs: `packed` seconds of the wanted minutes and of the minute before, which the first rates include, in the
            order of minutes. The same second and `KIND` may occur several times.
        wanted: minutes since 1970.
    """
    found: dict[_Scope, dict[int, _Minute]] = defaultdict(lambda: defaultdict(_Minute))
    kinds: dict[_Kind, tuple[list[int], list[list[_Use]]]] = {}
    waits: _Waits = {}
    current = wanted.start - 1
    for at, moved, local, rows in (each for table in packs for each in _packs(table)):
        for broker_id, principal, client, api, minute, places, throttled, longest in rows:
            if minute != current:
                if current in wanted:
                    yield from _tables(_rows(cluster_id, current, found))
                # Thousands of clients would fill a worker's memory with the minutes of a whole part.
                for minutes in found.values():
                    for former in minutes.keys() - {minute - 1}:
                        del minutes[former]
                waits.clear()
                current = minute
            kind = (broker_id, principal, client, api)
            known = kinds.get(kind)
            if known is None:
                # Brokers compare the principal's name and never its type.
                user = principal.partition(":")[2] if ":" in principal else principal
                times, held = limits.of(user, client)
                uses = [list(_uses(found, each, broker_id, user, client, api)) for each in held]
                known = kinds[kind] = times, uses
            times, by_time = known
            for place, run in _runs(times, minute, at, places):
                seconds = [at[each] for each in run]
                first, last = min(seconds), max(seconds)
                waited = waiting = 0
                if throttled is not None and longest is not None:
                    for each in run:
                        here = each - places.start
                        waited += throttled[here]
                        waiting += _waiting(waits, (kind, at[each]), throttled[here], longest[here])
                for minutes, limit, of_bytes, is_throttled in by_time[place]:
                    used = minutes[minute]
                    amounts = used.amounts
                    if of_bytes:
                        for each in run:
                            amounts[at[each]] += moved[each]
                    else:
                        for each in run:
                            amounts[at[each]] += local[each] * _PERCENT_SECONDS_PER_MS
                    if first < used.first:
                        used.first = first
                    if last > used.last:
                        used.last, used.limit = last, limit
                    if is_throttled:
                        used.throttle_ms += waited
                        used.throttled_requests += waiting
    if current in wanted:
        yield from _tables(_rows(cluster_id, current, found))


def _tables(rows: Iterator[Row]) -> Iterator[pa.Table]:
    while rows_at_once := [*islice(rows, _ROWS_AT_ONCE)]:
        yield table_of(QUOTA_USAGE, rows_at_once)


def _runs(times: list[int], minute: int, at: list[int], places: range) -> Iterable[tuple[int, Sequence[int]]]:
    """Return (index, places) for each of the limits that hold in a minute: the limit's index in `Limits.of`, and the
    places of the rows whose seconds are in its time.

    Args:
        times: the times from which each of the limits holds, in microseconds since 1970.
        minute: the minute of the rows, since 1970.
        at: place -> the second of its row within the minute.
        places: the places of the rows.
    """
    since = minute * _MINUTE * SECOND
    now = bisect_right(times, since) - 1
    # Limits seldom change within a minute.
    if now + 1 == len(times) or times[now + 1] >= since + _MINUTE * SECOND:
        return ((now, places),)
    runs: dict[int, list[int]] = defaultdict(list)
    for each in places:
        runs[bisect_right(times, since + at[each] * SECOND) - 1].append(each)
    return runs.items()


def _waiting(waits: _Waits, of: tuple[_Kind, int], throttled: int, longest: int) -> int:
    """Return the number of requests to add to the lower bound of those throttled in a second, and update `waits`.

    Args:
        of: the kind of requests, and the second of the minute.
        throttled, longest: the milliseconds of throttling in the second: in total, and of the request that waited
            longest.
    """
    if not throttled:
        return 0
    together, most, counted = waits.get(of, (0, 0, 0))
    together, most = together + throttled, max(most, longest)
    # No request waited longer than the longest, so at least this many waited.
    many = -(-together // most) if most else 0
    waits[of] = together, most, many
    return many - counted


# -- rates as a broker computes them -----------------------------------------------------------------------------------

# A broker keeps 11 samples of a second, and divides their sum by at least ten seconds (`quota.window.num`,
# `quota.window.size.seconds`; Rate.windowSize). The mean of a minute would hide the peaks that a broker throttles.

WINDOW_SECONDS = 10
_NOTHING = _Minute()
_FIRST_REACHING = _MINUTE + 1 - WINDOW_SECONDS
"""The first second of a minute that rates of the next minute include: a rate covers ten seconds."""
_NO_RATES = (0.0,) * _MINUTE
_P95 = 0.95 * (_MINUTE - 1)


def _rows(cluster_id: str, minute: int, found: Mapping[_Scope, Mapping[int, _Minute]]) -> Iterator[Row]:
    for (broker_id, key, user, client), minutes in found.items():
        used = minutes.get(minute)
        if used is not None:
            average, p95, peak = _rates(minutes.get(minute - 1, _NOTHING), used)
            limit, level = (None, None) if used.limit is None else (used.limit.value, used.limit.level)
            yield (
                *(cluster_id, broker_id, minute * _MINUTE * SECOND, user, client, key, limit, level),
                *(average, p95, peak, peak / limit if limit else None),
                *(used.throttle_ms, used.throttled_requests, None if limit is None else limit - peak),
            )


def _rates(before: _Minute, used: _Minute) -> tuple[float, float, float]:
    """Return the mean of a minute, and the 95th percentile and the maximum of its rates over ten seconds, all per
    second. Time before the first use counts as no use. before: the minute before.
    """
    amounts = used.amounts
    if used.first == used.last and before.last < _FIRST_REACHING:
        # A client was active in one second of the minute, as in most minutes: all rates that include that second are
        # equal.
        many = min(WINDOW_SECONDS, _MINUTE - used.last)
        sums = [*_NO_RATES[many:], *(amounts[used.last],) * many]
    else:
        # Sums of 2, 4, 8 and 10 seconds, each from those before.
        of_1 = before.amounts[_FIRST_REACHING:] + amounts
        of_2 = [*map(add, of_1, of_1[1:])]
        of_4 = [*map(add, of_2, of_2[2:])]
        sums = sorted(map(add, map(add, of_4, of_4[4:]), of_2[8:]))
    below = int(_P95)
    lower, upper, most = (each / WINDOW_SECONDS for each in (sums[below], sums[below + 1], sums[-1]))
    return sum(amounts) / _MINUTE, lower + (_P95 - below) * (upper - lower), most


# -- suggestions -----------------------------------------------------------------------------------------------------

AT_LIMIT = 0.9
RAISE = 1.25
FAR_BELOW = 0.1
LOWER = 2.0
ENOUGH_MINUTES = 60

SCOPE = ("cluster_id", "quota_key", "scope_user", "scope_client", "quota_value", "level")
"""The columns that identify the users and clients that share a limit, and the limit."""
FIGURES = {
    "highest": "max(rate_max_10s)",
    "minutes": "count(DISTINCT minute)",
    "throttled": "count(DISTINCT minute) FILTER (WHERE throttle_ms > 0)",
    "pressed": "max(rate_p95_10s) FILTER (WHERE throttle_ms > 0)",
}
"""Aggregates of all minutes of QUOTA_USAGE with equal `SCOPE`, as SQL, from which `suggestions` decides: the highest
rate; the number of minutes with usage and with throttling (a minute with usage on two brokers counts once); and the
highest 95th percentile among the throttled minutes.
"""


def _judged(
    key: str,
    user: str | None,
    client: str | None,
    limit: float | None,
    level: int | None,
    highest: float,
    minutes: int,
    throttled: int,
    pressed: float | None,
) -> tuple[float | None, str]:
    """Return the suggested limit, None for no suggestion, and the reason; `suggestions` has the rules."""
    peak, whole = _rate(key, highest), key != quota.REQUEST_PERCENTAGE
    if limit is None:
        return None, f"no limit; peak {peak}"
    if not throttled:
        lowers = whole and level in quota.OWN_LEVELS and minutes >= ENOUGH_MINUTES and 0 < highest < limit * FAR_BELOW
        share = int(highest / limit * 100 + 0.5) if limit else 0
        said = f"never throttled in {minutes} minutes, peak {peak} is {share} % of the limit"
        if lowers:
            return two_digits_up(highest * LOWER, whole), f"{said}: 2 × the peak would do"
        return None, f"{said}: leave it"
    said = f"throttled in {throttled} of {minutes} minutes"
    if highest and (pressed or 0.0) >= limit * AT_LIMIT:
        whose = "this client id" if user is None else "this user"
        if user is not None and client is not None:
            whose += " with this client id"
        return two_digits_up(highest * RAISE, whole), f"{said}, at up to {peak}: 1.25 × that for {whose}"
    if highest >= limit * AT_LIMIT:
        return None, f"{said}, in bursts of up to {peak} alone: leave it"
    return None, f"{said}, though its peak is {peak}: another quota, or what is not logged"


def suggestions(figures: pa.Table) -> pa.Table:
    """Return QUOTA_SUGGESTION's rows. figures: the columns of `SCOPE` and `FIGURES`, a row for each scope.

    All minutes of a scope count together, on all brokers, as long as the limit stays the same. The suggested limit is
    only for this scope, as its own quota: a default's limit also applies to others.

    1. No limit: no suggestion.
    2. Throttled, and in such a minute the 95th percentile of the rates reaches 90 % of the limit (not all of it,
       because the log lacks some of what brokers count): 1.25 × the highest rate, rounded up to two digits.
    3. Throttled, but only the highest rate reaches 90 % of the limit, in bursts: leave it; that is what a limit is for.
    4. Throttled, and no rate comes near the limit: leave it; something else throttles.
    5. Never throttled, at least 60 minutes have usage, the highest rate is below a tenth of the limit, and the limit
       belongs to a named entity and is in bytes (not in percent, because the log has too little of a request's time):
       2 × the highest rate, rounded up to two digits.
    6. Otherwise never throttled: leave it.
    """
    rows = list(rows_of(figures, *SCOPE, *FIGURES))
    return table_of(QUOTA_SUGGESTION, ((*row[: len(SCOPE)], *_judged(*row[1:])) for row in rows))


def two_digits_up(value: float, whole: bool) -> float:
    """Return a positive value rounded up to two significant digits: 1234 -> 1300. whole: whether the result is an
    integer of at least 1; otherwise it has at most four decimals.
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    # 0.29 * 100 is not 29: the last of sixteen digits must not round up.
    rounded = math.ceil(round(value / unit, 9)) * unit
    return max(float(math.ceil(rounded)), 1.0) if whole else round(rounded, 4)


def _rate(key: str, value: float) -> str:
    if key == quota.REQUEST_PERCENTAGE:
        return f"{value:.1f} %"
    if value >= 1e6:
        return f"{value / 1e6:.1f} MB/s"
    return f"{value / 1e3:.1f} kB/s" if value >= 1e3 else f"{value:.0f} B/s"
