"""The eight levels as joins: held to the resolver, pair by pair and second by second."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from console.history.entities import quota_key
from console.history.schema import USAGE_KEYS
from console.model.quota import USER_LEVELS, effective
from tests.history.quota_worlds import NAMES, Limit, at, history_rows, holding, random_limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIRS = (20_000, 100_000)
SECONDS = 40
Use = tuple[str, str, str, int]
Answer = dict[str, tuple[float, int] | None]


def by_joins(spark: SparkSession, history: pa.Table, uses: Sequence[Use]) -> list[Answer]:
    from console.history.transforms.quota_levels import effective_quotas, limits_by_lookup, quota_values

    asked = pa.table(
        {
            "number": pa.array(range(len(uses)), pa.int64()),
            "cluster_id": [use[0] for use in uses],
            "user": [use[1] for use in uses],
            "client_id": [use[2] for use in uses],
            "second": pa.array([at(use[3]) for use in uses], pa.timestamp("us", "UTC")),
        }
    )
    limits = limits_by_lookup(quota_values(spark.createDataFrame(history)))
    found = effective_quotas(spark.createDataFrame(asked), limits, at="second")
    parts = [name for key in USAGE_KEYS for name in (key, f"{key}_level")]
    rows: list[dict[str, Any]] = found.select("number", *parts).toArrow().to_pylist()
    return [
        {key: row[f"{key}_level"] and (row[key], row[f"{key}_level"]) for key in USAGE_KEYS}
        for row in sorted(rows, key=lambda row: row["number"])
    ]


def by_hand(limits: Sequence[Limit], uses: Sequence[Use]) -> list[Answer]:
    held = {(cluster, second): holding(limits, cluster, second) for cluster, _, _, second in uses}
    answers: dict[Use, Answer] = {}
    for use in uses:
        if use not in answers:
            cluster, user, client, second = use
            found = {key: effective(held[cluster, second], user, client, key) for key in USAGE_KEYS}
            answers[use] = {key: each and (each.value, each.level) for key, each in found.items()}
    return [answers[use] for use in uses]


@pytest.mark.parametrize("pairs", [PAIRS[0], pytest.param(PAIRS[1], marks=pytest.mark.long)])
def test_joins_say_what_the_resolver_says_for_random_pairs(spark: SparkSession, pairs: int) -> None:
    chosen = random.Random(7)
    clusters = [f"c{number}" for number in range(12)]
    # From hardly any limit, so that the last levels count too, to one for almost every entity there can be.
    limits = [
        limit
        for size, name in enumerate(clusters, 1)
        for limit in random_limits(chosen, name, size * size // 2 + 1, SECONDS)
    ]
    uses = [
        (chosen.choice(clusters), chosen.choice(NAMES), chosen.choice(["", *NAMES]), chosen.randrange(SECONDS))
        for _ in range(pairs)
    ]
    answers = by_joins(spark, history_rows(limits), uses)
    expected = by_hand(limits, uses)
    assert len(answers) == pairs
    assert [
        (use, ours, theirs) for use, ours, theirs in zip(uses, answers, expected, strict=True) if ours != theirs
    ] == []
    assert {found[1] for answer in expected for found in answer.values() if found} == set(range(1, 9))
    without_id = [answer for use, answer in zip(uses, answers, strict=True) if not use[2]]
    assert {found[1] for answer in without_id for found in answer.values() if found} == set(USER_LEVELS)


def test_what_the_first_look_shows_held_before_it_and_later_looks_hold_from_then_on(spark: SparkSession) -> None:
    key = USAGE_KEYS[0]
    limits = [
        Limit("c", quota_key({"user": "a"}), key, 1000.0, 10, None),
        Limit("c", quota_key({"user": "b"}), key, 2000.0, 20, None),
    ]
    uses = [("c", user, "x", second) for user in ("a", "b") for second in (5, 15, 20)]
    found = [row[key] and row[key][0] for row in by_joins(spark, history_rows(limits, "snapshot"), uses)]
    assert found == [1000.0, 1000.0, 1000.0, None, None, 2000.0]
    found = [row[key] and row[key][0] for row in by_joins(spark, history_rows(limits, "kraft_log"), uses)]
    assert found == [None, 1000.0, 1000.0, None, None, 2000.0]
