"""`quota_usage`: the usage of each quota by users and clients, from request logs: an estimate of the brokers' own
figures.

Bytes are those of record batches; a broker also counts headers. A request's time is `local_ms`; a broker adds that of
its network threads. A broker logs how long a request is throttled, but not by which quota: Produce and Fetch are
throttled by their byte rate if there is such a limit, else, like all other requests, by `request_percentage`; requests
that change topics by `controller_mutation_rate`, which is not in this table.

Rows are by the users and clients that share the limit in effect in that second; a minute in which a limit changed has
the last one. Users without a limit appear as pairs with their client ids. Pure; times are microseconds since 1970.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import pyarrow as pa

from console.lake.entities import POLL_SOURCES, quota_parts
from console.lake.schema import QUOTA_SUGGESTION, QUOTA_USAGE, USAGE_KEYS
from console.lake.transforms.rows import Row, rows_of, table_of
from console.model import quota

SECOND = 1_000_000
HOUR = 3600
_MINUTE = 60
"""In seconds, like `HOUR`."""
PART_MINUTES = 10
"""Minutes made at once: a worker holds their seconds, which are half a million in an hour of a busy broker."""
PART_SECONDS = PART_MINUTES * _MINUTE
_BEGINNING = -(1 << 62)

# -- limits over time ------------------------------------------------------------------------------------------------


class _Held(NamedTuple):
    """A value of a quota key from a time until another (None: it still holds). value: None if the key has no value."""

    since: int
    until: int | None
    value: float | None


LIMITING = ("entity_key", "attr", "new_value", "valid_from", "valid_to", "is_deleted", "source")
"""The columns of HISTORY that determine the limits of a user and a client id."""


class Limits:
    """The limits of a cluster's users and client ids over time.

    history: the rows of HISTORY for its quotas, with the columns LIMITING. first_poll: time at which a poll, or a
    snapshot of the log, first showed the cluster: values from then were set before, at an unknown time.
    """

    def __init__(self, history: pa.Table, first_poll: int | None) -> None:
        self._held: dict[quota.QuotaEntity, dict[str, list[_Held]]] = {}
        for entity, attr, text, since, until, is_deleted, source in rows_of(history, *LIMITING):
            if attr in USAGE_KEYS:
                begins = _BEGINNING if source in POLL_SOURCES and since == first_poll else since
                of_entity = self._held.setdefault(quota.QuotaEntity.of(quota_parts(entity)), {})
                of_entity.setdefault(attr, []).append(_Held(begins, until, None if is_deleted else _number(text)))

    def of(self, user: str, client: str) -> tuple[list[int], list[dict[str, quota.Effective]]]:
        """Return the times at which the limits of a user with a client id change (empty text: without one), and the
        limits by quota key from each of these times on.
        """
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
    """Return the number of a limit; None if it is not a limit."""
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
"""A group that shares a limit: broker, quota key, user and client id; None: all users, or all client ids."""


class _Minute:
    """The usage of a scope in a minute. amounts: by second, in bytes or percent times seconds. last: the last second
    with usage; limit: the limit in effect then.
    """

    __slots__ = ("amounts", "last", "limit", "throttle_ms", "throttled_requests")

    def __init__(self) -> None:
        self.amounts = [0.0] * _MINUTE
        self.last = -1
        self.limit: quota.Effective | None = None
        self.throttle_ms = self.throttled_requests = 0


_Use = tuple[dict[int, _Minute], quota.Effective | None, bool, bool]
"""How requests of one kind count for a limit: the scope's minutes, the limit, whether it is in bytes, and whether it
throttles them.
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


def used_minutes(cluster_id: str, seconds: Iterable[pa.Table], wanted: range, limits: Limits) -> pa.Table:
    """Return QUOTA_USAGE's rows of these minutes of a cluster.

    Args:
        seconds: REQUEST_1S's rows of the minutes, and of the ten seconds before, which the first rates include; by
            time. A second and its key may occur several times.
        wanted: minutes since 1970.
    """
    found: dict[_Scope, dict[int, _Minute]] = defaultdict(lambda: defaultdict(_Minute))
    kinds: dict[tuple[int, str, str, str], tuple[list[int], list[list[_Use]]]] = {}
    limits_of = cache(limits.of)
    waits: dict[tuple[int, str, str, str], tuple[int, int, int]] = {}
    now = _BEGINNING
    amounts = ("bytes_in", "bytes_out", "local_ms", "throttle_ms_sum", "throttle_ms_max")
    names = ("broker_id", "principal", "client_id", "api", "second", *amounts)
    rows = (row for table in seconds for row in rows_of(table, *names))
    for broker_id, principal, client, api, at, bytes_in, bytes_out, local_ms, throttled, longest in rows:
        kind = (broker_id, principal, client, api)
        known = kinds.get(kind)
        if known is None:
            # Brokers compare the principal's name and never its type.
            user = principal.partition(":")[2] if ":" in principal else principal
            times, held = limits_of(user, client)
            uses = [list(_uses(found, each, broker_id, user, client, api)) for each in held]
            known = kinds[kind] = times, uses
        times, by_time = known
        if at != now:
            now = at
            waits.clear()
        waiting = 0
        if throttled:
            together, most, counted = waits.get(kind, (0, 0, 0))
            together, most = together + throttled, max(most, longest)
            # No request waited longer than the longest, so at least this many waited.
            many = -(-together // most) if most else 0
            waits[kind] = together, most, many
            waiting = many - counted
        minute, second = divmod(at // SECOND, _MINUTE)
        for minutes, limit, of_bytes, is_throttled in by_time[bisect_right(times, at) - 1]:
            used = minutes[minute]
            amount = (bytes_in if api == "PRODUCE" else bytes_out) if of_bytes else local_ms * _PERCENT_SECONDS_PER_MS
            used.amounts[second] += amount
            if second > used.last:
                used.last, used.limit = second, limit
            if is_throttled and throttled:
                used.throttle_ms += throttled
                used.throttled_requests += waiting
    return table_of(QUOTA_USAGE, _rows(cluster_id, wanted, found))


# -- rates as a broker computes them. It keeps 11 samples of a second and divides by at least ten seconds
# (`quota.window.num`, `quota.window.size.seconds`; Rate.windowSize). The mean of a minute would hide what it throttles.

WINDOW_SECONDS = 10
_NOTHING = [0.0] * _MINUTE
_P95 = 0.95 * (_MINUTE - 1)


def _rows(cluster_id: str, wanted: range, found: Mapping[_Scope, Mapping[int, _Minute]]) -> Iterator[Row]:
    for (broker_id, key, user, client), minutes in found.items():
        for minute, used in minutes.items():
            if minute in wanted:
                before = minutes[minute - 1].amounts if minute - 1 in minutes else _NOTHING
                average, p95, peak = _rates(before, used.amounts)
                limit, level = (None, None) if used.limit is None else (used.limit.value, used.limit.level)
                yield (
                    *(cluster_id, broker_id, minute * _MINUTE * SECOND, user, client, key, limit, level),
                    *(average, p95, peak, peak / limit if limit else None),
                    *(used.throttle_ms, used.throttled_requests, None if limit is None else limit - peak),
                )


def _rates(before: list[float], amounts: list[float]) -> tuple[float, float, float]:
    """Return the mean of a minute, and the 95th percentile and the maximum of its rates over ten seconds; per second.
    Time before the first use counts as no use.
    """
    window = before[1 - WINDOW_SECONDS :] + amounts
    rates = sorted(sum(window[each : each + WINDOW_SECONDS]) / WINDOW_SECONDS for each in range(_MINUTE))
    below = int(_P95)
    p95 = rates[below] + (_P95 - below) * (rates[below + 1] - rates[below])
    return sum(amounts) / _MINUTE, p95, rates[-1]


# -- suggestions -----------------------------------------------------------------------------------------------------

AT_LIMIT = 0.9
RAISE = 1.25
FAR_BELOW = 0.1
LOWER = 2.0
ENOUGH_MINUTES = 60

SCOPE = ("cluster_id", "quota_key", "scope_user", "scope_client", "quota_value", "level")
"""The columns of a scope and its limit."""
FIGURES = {
    "highest": "max(rate_max_10s)",
    "minutes": "count(DISTINCT minute)",
    "throttled": "count(DISTINCT minute) FILTER (WHERE throttle_ms > 0)",
    "pressed": "max(rate_p95_10s) FILTER (WHERE throttle_ms > 0)",
}
"""Aggregates of all QUOTA_USAGE's minutes of a scope, as SQL, for a suggestion: the count of minutes with usage and
with throttling (a minute with usage on two brokers counts once), and the highest 95th percentile among the throttled
ones.
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
    """Return the suggested limit, or None, and the reason: see `suggestions`."""
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
    only for this scope, as a quota of its own: a default's limit also applies to others.

    1. No limit: no suggestion.
    2. Throttled, and in such a minute 95 % of the rates reach 90 % of the limit (the log lacks some of what brokers
       count): 1.25 × the highest rate, rounded up to two digits.
    3. Throttled, and only bursts reach that: leave it; that is what a limit is for.
    4. Throttled, and no rate comes near the limit: leave it; something else throttles.
    5. Never throttled, an hour or more was seen, the highest rate is below a tenth of the limit, and the limit is in
       bytes and of a named entity: 2 × the highest rate, rounded up to two digits. The log has too little of a
       request's time.
    6. Otherwise never throttled: leave it.
    """
    rows = list(rows_of(figures, *SCOPE, *FIGURES))
    return table_of(QUOTA_SUGGESTION, ((*row[: len(SCOPE)], *_judged(*row[1:])) for row in rows))


def two_digits_up(value: float, whole: bool) -> float:
    """Return the next number with two significant digits: 1234 -> 1300. whole: whether it must be an integer of at
    least 1.
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
