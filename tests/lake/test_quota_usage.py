"""Tests of rates, limits and the clients that share a limit, compared with a plain count of the same requests, second
by second.
"""

import math
import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest

from console.lake.entities import quota_key
from console.lake.schema import QUOTA_SUGGESTION, QUOTA_USAGE, REQUEST_1S, USAGE_KEYS, arrow_schema
from console.lake.transforms import quota_usage
from console.lake.transforms import quota_usage as transforms_quota_usage
from console.model.quota import Effective, effective
from tests.lake import quota_worlds

SECONDS = 200
PRODUCER, CONSUMER, PERCENTAGE = "producer_byte_rate", "consumer_byte_rate", "request_percentage"


class Used(NamedTuple):
    """A row of the table `request_1s`: the requests of a client in one second."""

    cluster: str
    broker: int
    second: int
    principal: str
    client: str
    api: str
    amount: int
    local_ms: float
    throttles: tuple[int, ...]

    def row(self) -> dict[str, Any]:
        return {
            "cluster_id": self.cluster,
            "broker_id": self.broker,
            "second": quota_worlds.at(self.second),
            "principal": self.principal,
            "client_id": self.client,
            "api": self.api,
            "requests": max(1, len(self.throttles)),
            "errors": 0,
            "bytes_in": self.amount if self.api == "PRODUCE" else 0,
            "bytes_out": self.amount if self.api == "FETCH" else 0,
            "local_ms": self.local_ms,
            "throttle_ms_sum": sum(self.throttles),
            "throttle_ms_max": max(self.throttles, default=0),
        }


def random_uses(chosen: random.Random, cluster: str, rows: int) -> list[Used]:
    made: dict[tuple[Any, ...], Used] = {}
    for _ in range(rows):
        key = (
            chosen.choice([1, 2]),
            # Groups of requests with gaps between them, across the ends of minutes.
            min(SECONDS - 1, chosen.choice([0, 55, 58, 119, 130]) + chosen.randrange(30)),
            chosen.choice(["User:a", "User:b", "Robot:a"]),
            chosen.choice(["", "a", "<default>", "ü + *"]),
            chosen.choice(["PRODUCE", "FETCH", "METADATA", "CREATE_TOPICS"]),
        )
        throttles = tuple(chosen.randrange(1, 900) for _ in range(chosen.choice([0, 0, 1, 3])))
        made[key] = Used(cluster, *key, chosen.randrange(10**6), chosen.randrange(1000) / 8, throttles)
    return list(made.values())


def scope(limit: Effective | None, user: str, client: str) -> tuple[str | None, str | None]:
    """Return the user and the client id that share a limit; None in place of one of them if the limit is shared by all
    users or by all client ids. Without a limit, return (user, client).
    """
    shared = None if limit is None else limit.shared
    return (None if shared == "client-id" else user, None if shared == "user" else client)


def counted(uses: Sequence[Used], limits: Sequence[quota_worlds.Limit]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return key -> row of the table `quota_usage`, without suggestions, counted request by request."""
    amounts: dict[tuple[Any, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    waits: dict[tuple[Any, ...], int] = defaultdict(int)
    found: dict[tuple[Any, ...], tuple[int, Effective | None]] = {}
    held = {(use.cluster, use.second): quota_worlds.holding(limits, use.cluster, use.second) for use in uses}
    for use in uses:
        user = use.principal.split(":", 1)[1]
        of = {
            key: effective(held[use.cluster, use.second], user, use.client, key)
            for key in (PRODUCER, CONSUMER, PERCENTAGE)
        }
        moved = {"PRODUCE": PRODUCER, "FETCH": CONSUMER}.get(use.api)
        for_bytes = moved is not None and (of[moved] is not None or of[PERCENTAGE] is None)
        waiting = moved if for_bytes else None if use.api == "CREATE_TOPICS" else PERCENTAGE
        for key, amount in ((moved, float(use.amount)), (PERCENTAGE, use.local_ms / 10)):
            if key is None:
                continue
            who = (use.cluster, use.broker, key, *scope(of[key], user, use.client))
            minute = use.second // 60
            amounts[who][use.second] += amount
            waits[*who, minute] += sum(use.throttles) if key == waiting else 0
            if (*who, minute) not in found or found[*who, minute][0] <= use.second:
                found[*who, minute] = (use.second, of[key])
    made = {}
    for (*whose, minute), (_, limit) in found.items():
        by_second = amounts[tuple(whose)]
        clock = range(minute * 60, minute * 60 + 60)
        rates = sorted(sum(by_second.get(each - back, 0.0) for back in range(10)) / 10 for each in clock)
        made[*whose, minute] = {
            "quota_value": None if limit is None else limit.value,
            "level": None if limit is None else limit.level,
            "rate_avg": sum(by_second.get(each, 0.0) for each in clock) / 60,
            "rate_p95_10s": rates[56] + 0.05 * (rates[57] - rates[56]),
            "rate_max_10s": rates[-1],
            "utilisation": None if limit is None else rates[-1] / limit.value,
            "headroom": None if limit is None else limit.value - rates[-1],
            "throttle_ms": waits[*whose, minute],
        }
    return made


def limits_of(cluster: str, limits: Sequence[quota_worlds.Limit]) -> transforms_quota_usage.Limits:
    return transforms_quota_usage.Limits(
        quota_worlds.history_rows([limit for limit in limits if limit.cluster == cluster]), None
    )


def usage(uses: Sequence[Used], limits: Sequence[quota_worlds.Limit]) -> list[dict[str, Any]]:
    """Return the rows of `quota_usage` that kac computes for each cluster, an hour at a time. For each hour it gets the
    requests of this hour and of the ten seconds before, in two tables that may both have rows of the same second.
    """
    made = []
    for cluster in sorted({use.cluster for use in uses}):
        of_cluster = sorted((use for use in uses if use.cluster == cluster), key=lambda use: use.second)
        rows = [(int(quota_worlds.at(use.second).timestamp()), use.row()) for use in of_cluster]
        for part in {second // transforms_quota_usage.PART_SECONDS for second, _ in rows}:
            near = [
                row
                for second, row in rows
                if part * transforms_quota_usage.PART_SECONDS - 10
                < second
                < (part + 1) * transforms_quota_usage.PART_SECONDS
            ]
            seconds = pa.Table.from_pylist(near, schema=arrow_schema(REQUEST_1S))
            wanted = range(part * transforms_quota_usage.PART_MINUTES, (part + 1) * transforms_quota_usage.PART_MINUTES)
            half = seconds.num_rows // 2
            packs = [transforms_quota_usage.packed(each) for each in (seconds.slice(half), seconds.slice(0, half))]
            ordered = pa.concat_tables(packs).sort_by("minute")
            # A minute may be in several batches.
            batches = (ordered.slice(begin, 7) for begin in range(0, ordered.num_rows, 7))
            made += transforms_quota_usage.used_minutes(cluster, batches, wanted, limits_of(cluster, limits))
    minutes: list[dict[str, Any]] = pa.concat_tables(made).cast(arrow_schema(QUOTA_USAGE)).to_pylist()
    return minutes


def judged(minutes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the suggestion for each scope, from all its minutes. The figures are computed by SQL, as in the
    application.
    """
    used = pa.Table.from_pylist([dict(each) for each in minutes], schema=arrow_schema(QUOTA_USAGE))
    figures = ", ".join(f"{sql} AS {name}" for name, sql in transforms_quota_usage.FIGURES.items())
    with duckdb.connect() as database:
        rows = database.sql(
            f"SELECT {', '.join(transforms_quota_usage.SCOPE)}, {figures} FROM used GROUP BY ALL"
        ).to_arrow_table()
    assert used.num_rows >= rows.num_rows
    made = quota_usage.suggestions(rows)
    assert made.schema == arrow_schema(QUOTA_SUGGESTION)
    told: list[dict[str, Any]] = made.to_pylist()
    assert len({tuple(row[name] for name in QUOTA_SUGGESTION.key) for row in told}) == len(told)
    return told


def close(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    return all(
        ours[name] == value
        if value is None or not isinstance(value, float)
        else math.isclose(ours[name], value, abs_tol=1e-6)
        for name, value in theirs.items()
    )


@pytest.fixture(scope="module")
def worlds() -> tuple[list[Used], list[quota_worlds.Limit]]:
    """Provide requests and limits of many random clusters. The last cluster has a throttled producer."""
    chosen = random.Random(11)
    clusters = [f"c{number}" for number in range(20)]
    limits = [
        limit
        for number, name in enumerate(clusters)
        for limit in quota_worlds.random_limits(chosen, name, number, SECONDS)
    ]
    uses = [use for number, name in enumerate(clusters) for use in random_uses(chosen, name, 5 + number * 4)]
    limits += [
        quota_worlds.Limit("c0", quota_key({"user": None, "client-id": None}), PERCENTAGE, 3.0, 0, None),
        quota_worlds.Limit("throttled", quota_key({"user": None}), PRODUCER, 500.0, 0, None),
        quota_worlds.Limit("throttled", quota_key({"client-id": "x"}), PRODUCER, 1e9, 0, None),
    ]
    uses += [
        Used("throttled", 1, 60, "User:a", "x", "PRODUCE", 12_000, 5.0, ()),
        Used("throttled", 1, 61, "User:a", "y", "PRODUCE", 3_000, 5.0, (700, 200)),
    ]
    chosen.shuffle(uses)
    return uses, limits


@pytest.fixture(scope="module")
def used(worlds: tuple[list[Used], list[quota_worlds.Limit]]) -> list[dict[str, Any]]:
    """Provide the rows of `quota_usage` that kac computes for the requests and limits of `worlds`."""
    return usage(*worlds)


def test_it_counts_what_a_plain_count_does(
    used: list[dict[str, Any]], worlds: tuple[list[Used], list[quota_worlds.Limit]]
) -> None:
    expected = counted(*worlds)
    ours = {
        (
            *(row[name] for name in ("cluster_id", "broker_id", "quota_key", "scope_user", "scope_client")),
            int((row["minute"] - quota_worlds.START) / timedelta(minutes=1)),
        ): row
        for row in used
    }
    assert len(ours) == len(used)
    assert ours.keys() == expected.keys()
    assert [(key, ours[key], wanted) for key, wanted in expected.items() if not close(ours[key], wanted)] == []
    assert {wanted["level"] for wanted in expected.values()} >= {None, 1, 2, 3, 4, 5, 6, 7, 8}
    assert any(wanted["throttle_ms"] for wanted in expected.values())


def test_a_minute_with_a_throttled_producer(used: list[dict[str, Any]]) -> None:
    mine = [row for row in used if row["cluster_id"] == "throttled"]
    # Without a limit of request time, each pair of user and client has a row of it.
    assert sorted((row["quota_key"], row["scope_client"] or "") for row in mine) == [
        (PRODUCER, ""),
        (PERCENTAGE, "x"),
        (PERCENTAGE, "y"),
    ]
    (row,) = [row for row in mine if row["quota_key"] == PRODUCER]
    assert (row["scope_user"], row["level"], row["quota_value"]) == ("a", 6, 500.0)
    # Ten windows of ten seconds contain the first 12,000 bytes, nine of them also the other 3,000.
    assert (row["rate_avg"], row["rate_p95_10s"], row["rate_max_10s"]) == (250.0, 1500.0, 1500.0)
    assert (row["utilisation"], row["headroom"]) == (3.0, -1000.0)
    assert (row["throttle_ms"], row["throttled_requests"]) == (900, 2)
    (suggestion,) = judged([row])
    assert (suggestion["suggested_value"], suggestion["reason"]) == (
        1900.0,
        "throttled in 1 of 1 minutes, at up to 1.5 kB/s: 1.25 × that for this user",
    )


def test_several_rows_of_a_second_and_its_key_count_as_their_sum(
    used: list[dict[str, Any]], worlds: tuple[list[Used], list[quota_worlds.Limit]]
) -> None:
    uses, limits = worlds
    parts = [
        each
        for use in uses
        for each in (
            use._replace(throttles=()),
            *(use._replace(amount=0, local_ms=0.0, throttles=(waited,)) for waited in use.throttles),
        )
    ]
    assert len(parts) > len(uses)
    key = ("cluster_id", "broker_id", "minute", "quota_key", "scope_user", "scope_client")
    again = {tuple(row[name] for name in key): row for row in usage(parts, limits)}
    assert again.keys() == {tuple(row[name] for name in key) for row in used}
    assert all(close(again[tuple(row[name] for name in key)], row) for row in used)


def minutes(**given: Sequence[Any]) -> list[dict[str, Any]]:
    """Return rows of `quota_usage` for one scope, a row for each minute. given: column -> its values, minute by minute;
    shorter lists are repeated up to the length of the longest.
    """
    count = max(len(values) for values in given.values())
    return [
        {
            "cluster_id": "c",
            "broker_id": 1,
            "minute": quota_worlds.START + timedelta(minutes=number),
            "quota_key": PRODUCER,
            "scope_user": "a",
            "scope_client": None,
            "level": 3,
            "throttle_ms": 0,
            "rate_p95_10s": 0.0,
        }
        | {name: values[number % len(values)] for name, values in given.items()}
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def suggestions() -> dict[str, tuple[float | None, str]]:
    """Provide name of a case -> the suggested value (None if there is none) and the reason."""
    cases = {
        "no limit": minutes(quota_value=[None], level=[None], rate_max_10s=[1234.0]),
        "pressed": minutes(
            quota_value=[1e6] * 3,
            rate_p95_10s=[0.0, 0.91e6, 0.2e6],
            rate_max_10s=[1e5, 1.01e6, 3e5],
            throttle_ms=[0, 9, 0],
        ),
        "bursts": minutes(quota_value=[1e6], rate_p95_10s=[1e5], rate_max_10s=[2e6], throttle_ms=[500]),
        "not near": minutes(quota_value=[1e6], rate_p95_10s=[1e5], rate_max_10s=[2e5], throttle_ms=[500]),
        "far below": minutes(quota_value=[1e6] * 60, rate_max_10s=[1234.0, 12.0]),
        "far below, not for long": minutes(quota_value=[1e6] * 59, rate_max_10s=[1234.0]),
        "far below a default": minutes(quota_value=[1e6] * 60, rate_max_10s=[1234.0], level=[6]),
        "far below in time": minutes(quota_value=[200.0] * 60, rate_max_10s=[1.0], quota_key=[PERCENTAGE]),
        "idle": minutes(quota_value=[1e6] * 60, rate_max_10s=[0.0]),
        "fits": minutes(quota_value=[1e6] * 60, rate_max_10s=[5e5]),
        "percent": minutes(
            quota_value=[2.0], quota_key=[PERCENTAGE], rate_p95_10s=[2.0], rate_max_10s=[2.3], throttle_ms=[5]
        ),
    }
    rows = [row | {"cluster_id": name} for name, each in cases.items() for row in each]
    # The same seconds on another broker add no minutes.
    rows += [row | {"broker_id": 2} for row in rows if row["cluster_id"] == "far below, not for long"]
    told = judged(rows)
    assert len(told) == len(cases)
    return {row["cluster_id"]: (row["suggested_value"], row["reason"]) for row in told}


@pytest.mark.parametrize(
    ("case", "value", "reason"),
    [
        ("no limit", None, "no limit; peak 1.2 kB/s"),
        ("pressed", 1.3e6, "throttled in 1 of 3 minutes, at up to 1.0 MB/s: 1.25 × that for this user"),
        ("bursts", None, "throttled in 1 of 1 minutes, in bursts of up to 2.0 MB/s alone: leave it"),
        (
            "not near",
            None,
            "throttled in 1 of 1 minutes, though its peak is 200.0 kB/s: another quota, or what is not logged",
        ),
        (
            "far below",
            2500.0,
            "never throttled in 60 minutes, peak 1.2 kB/s is 0 % of the limit: 2 × the peak would do",
        ),
        (
            "far below, not for long",
            None,
            "never throttled in 59 minutes, peak 1.2 kB/s is 0 % of the limit: leave it",
        ),
        ("far below a default", None, "never throttled in 60 minutes, peak 1.2 kB/s is 0 % of the limit: leave it"),
        ("far below in time", None, "never throttled in 60 minutes, peak 1.0 % is 1 % of the limit: leave it"),
        ("idle", None, "never throttled in 60 minutes, peak 0 B/s is 0 % of the limit: leave it"),
        ("fits", None, "never throttled in 60 minutes, peak 500.0 kB/s is 50 % of the limit: leave it"),
        ("percent", 2.9, "throttled in 1 of 1 minutes, at up to 2.3 %: 1.25 × that for this user"),
    ],
)
def test_what_is_suggested_and_why(
    suggestions: dict[str, tuple[float | None, str]], case: str, value: float | None, reason: str
) -> None:
    assert suggestions[case] == (value, reason)


def test_every_scope_has_one_suggestion_that_follows_from_all_its_minutes(used: list[dict[str, Any]]) -> None:
    """For random usage, each scope has exactly one suggestion, and its reason is true for the scope's minutes, which
    the test counts one by one.
    """
    scopes: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in used:
        scopes[tuple(row[name] for name in transforms_quota_usage.SCOPE)].append(row)
    told = {tuple(row[name] for name in transforms_quota_usage.SCOPE): row for row in judged(used)}
    assert told.keys() == scopes.keys()
    for scope, rows in scopes.items():
        limit, value, reason = scope[4], told[scope]["suggested_value"], told[scope]["reason"]
        minutes = len({row["minute"] for row in rows})
        throttled = len({row["minute"] for row in rows if row["throttle_ms"]})
        peak = max(row["rate_max_10s"] for row in rows)
        if limit is None:
            assert (value, reason[:8]) == (None, "no limit")
        else:
            counts = f"throttled in {throttled} of {minutes} minutes" if throttled else f"never throttled in {minutes} "
            assert reason.startswith(counts)
        if value is not None:
            assert value >= peak
            assert throttled or (minutes >= 60 and peak < limit / 10)


def test_two_digits_up() -> None:
    bytes_ = {1234.0: 1300.0, 1200.0: 1200.0, 99.1: 100.0, 0.5: 1.0, 7.0: 7.0, 7.01: 8.0, 1e9: 1e9, 10_000_001.0: 11e6}
    percents = {2.875: 2.9, 0.123: 0.13, 12.0: 12.0, 100.5: 110.0, 0.29: 0.29}
    assert {value: transforms_quota_usage.two_digits_up(value, True) for value in bytes_} == bytes_
    assert {value: transforms_quota_usage.two_digits_up(value, False) for value in percents} == percents


# -- limits over time ------------------------------------------------------------------------------------------------


def held(limits: transforms_quota_usage.Limits, user: str, client: str, second: int) -> dict[str, tuple[float, int]]:
    """Return quota key -> (value, level) of the limits that apply to a user and client id at a second."""
    times, made = limits.of(user, client)
    now = made[bisect_right(times, int(quota_worlds.at(second).timestamp() * 1e6)) - 1]
    return {key: (each.value, each.level) for key, each in now.items()}


def test_limits_over_time_are_what_the_resolver_says_of_each_second() -> None:
    chosen = random.Random(7)
    levels = set()
    # Begin with a single limit, so that limits of the last levels count, and end with limits of almost all entities.
    for size in range(1, 13):
        made = quota_worlds.random_limits(chosen, "c", size * size // 2 + 1, 40)
        limits, by_second = limits_of("c", made), [quota_worlds.holding(made, "c", second) for second in range(40)]
        for _ in range(200):
            user, client, second = (
                chosen.choice(quota_worlds.NAMES),
                chosen.choice(["", *quota_worlds.NAMES]),
                chosen.randrange(40),
            )
            wanted = {key: effective(by_second[second], user, client, key) for key in USAGE_KEYS}
            found = held(limits, user, client, second)
            assert found == {key: (each.value, each.level) for key, each in wanted.items() if each is not None}
            levels |= {level for _, level in found.values()}
    assert levels == set(range(1, 9))


def test_what_the_first_poll_shows_held_before_it_and_later_polls_hold_from_then_on() -> None:
    made = [
        quota_worlds.Limit("c", quota_key({"user": "a"}), PRODUCER, 1000.0, 10, None),
        quota_worlds.Limit("c", quota_key({"user": "b"}), PRODUCER, 2000.0, 20, None),
    ]
    uses = [(user, second) for user in ("a", "b") for second in (5, 15, 20)]
    for source, before in (("snapshot", 1000.0), ("kraft_log", None)):
        limits = transforms_quota_usage.Limits(
            quota_worlds.history_rows(made, source), int(quota_worlds.at(10).timestamp() * 1e6)
        )
        found = [held(limits, user, "x", second).get(PRODUCER, (None, 0))[0] for user, second in uses]
        assert found == [before, 1000.0, 1000.0, None, None, 2000.0]
