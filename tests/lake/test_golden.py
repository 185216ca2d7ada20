"""Tests of golden tables: the comparison finds each difference, and the stored histories are complete."""

import hashlib
import zipfile
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from console.lake.schema import PARTS, TABLES
from tests.lake import golden
from tests.lake.known_changes import known

USAGE: dict[str, Any] = {
    "cluster_id": "c",
    "broker_id": 1,
    "minute": datetime(2026, 11, 20, 8, tzinfo=UTC),
    "scope_user": "a",
    "scope_client": None,
    "quota_key": "producer_byte_rate",
    "quota_value": 1000.0,
    "level": 3,
    "rate_avg": 12.3456789,
    "rate_p95_10s": 20.0,
    "rate_max_10s": 30.0,
    "utilisation": 0.03,
    "throttle_ms": 0,
    "throttled_requests": 0,
    "headroom": 970.0,
    "suggested_value": None,
    "reason": "leave it",
    "run_id": "r1",
}


def told(*rows: dict[str, Any]) -> str:
    """Return the differences of these rows from the row `USAGE`, as text; "" if there are none. Both sides also have
    the same second row.
    """
    return golden.differences("quota_usage", [USAGE, {**USAGE, "broker_id": 2}], [*rows, {**USAGE, "broker_id": 2}])


def test_equal_rows_are_equal_in_any_order_and_zone() -> None:
    elsewhere = USAGE["minute"].astimezone(timezone(timedelta(hours=5)))
    same = {**USAGE, "run_id": "r2", "minute": elsewhere, "rate_avg": 12.3456789 * (1 + 1e-9)}
    assert told(same) == ""
    assert golden.differences("quota_usage", [USAGE, same], [same, USAGE]) == ""
    assert golden.digest("quota_usage", [USAGE, {**USAGE, "level": 4}]) == golden.digest(
        "quota_usage", [{**same, "level": 4}, same]
    )


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"reason": "raise it"}, "1 rows missing"),
        ({"scope_client": ""}, "1 rows not expected"),
        ({"throttle_ms": 1}, "1 rows missing"),
        ({"minute": USAGE["minute"] + timedelta(microseconds=1)}, "1 rows not expected"),
        ({"rate_avg": 12.3457}, "1 rows with other doubles"),
        ({"suggested_value": 0.0}, "1 rows with other doubles"),
        ({"quota_value": None}, "1 rows with other doubles"),
    ],
)
def test_each_difference_is_found(other: dict[str, Any], said: str) -> None:
    assert f"quota_usage: {said}" in told({**USAGE, **other})
    if other != {"rate_avg": 12.3457}:  # digests use six significant digits
        assert golden.digest("quota_usage", [USAGE]) != golden.digest("quota_usage", [{**USAGE, **other}])
    assert golden.digest("quota_usage", [USAGE]) != golden.digest("quota_usage", [USAGE, USAGE])


def test_rows_more_and_less_are_found() -> None:
    assert "1 rows missing" in told()
    assert "1 rows not expected" in told(USAGE, USAGE)
    many = [{**USAGE, "broker_id": number} for number in range(3, 12)]
    assert told(USAGE, *many).count("\n") < len(many)


def test_a_column_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError, match="reason"):
        golden.canonical("quota_usage", {name: value for name, value in USAGE.items() if name != "reason"})


def test_a_summary_says_where_a_table_differs() -> None:
    rows = [{**USAGE, "broker_id": number, "quota_key": ("a", "b")[number % 2]} for number in range(10)]
    kept = golden.summary("quota_usage", rows)
    assert kept["count"] == 10
    assert golden.summary_differences("quota_usage", kept, reversed(rows)) == ""
    for other in ({"reason": "raise it"}, {"quota_value": 1001.0}):
        said = golden.summary_differences("quota_usage", kept, [{**rows[0], **other}, *rows[1:]])
        assert "a: [5" in said
        assert "b: [5" not in said
        assert "1 of the sampled rows missing" in said
    assert "now 9" in golden.summary_differences("quota_usage", kept, rows[1:])
    assert "c: None is now [1" in golden.summary_differences("quota_usage", kept, [*rows, {**USAGE, "quota_key": "c"}])


def event(attr: str, value: str | None, digest_of: str | None = None) -> dict[str, Any]:
    """Return a row of the table `change_event`."""
    text = value if digest_of is None else digest_of
    sha256 = None if text is None else hashlib.sha256(text.encode()).hexdigest()
    rest = dict.fromkeys(TABLES["change_event"].names)
    return {**rest, "attr": attr, "value": value, "value_sha256": sha256}


def test_only_what_is_of_chance_is_left_out() -> None:
    def two(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return golden.without_chance("change_event", [one]) == golden.without_chance("change_event", [other])

    assert two(event(":topic_id", "x"), event(":topic_id", "y"))
    assert two(event("listeners", "SSL://127.0.0.1:1"), event("listeners", "SSL://127.0.0.1:2"))
    assert two(event("password", None, "an HMAC"), event("password", None, "another"))
    assert not two(event(":topic_id", "x"), event(":topic_id", None))
    assert not two(event("listeners", "SSL://127.0.0.1:1"), event("listeners", "PLAINTEXT://127.0.0.1:1"))
    assert not two(event("retention.ms", "1"), event("retention.ms", "2"))
    assert not two(event("retention.ms", "1"), event("retention.ms", "1", "another"))


def test_the_known_changes_are_in_their_gold() -> None:
    world = golden.known_changes()
    assert len(world.steps) == 2
    names = ("principal", "entity_type", "entity_key", "attr", "old_value", "new_value", "attribution")
    rows = [tuple(row[name] for name in names) for row in world.gold["history"]]
    for change in known():
        row = (f"User:{change.who}", change.type, change.key, change.attr, change.old, change.new, "request")
        assert rows.count(row) == 1, row
    with zipfile.ZipFile(golden.KNOWN) as archive:
        assert [name for name in archive.namelist() if name.endswith("request.log")] == [
            "broker-1/request.log",
            "broker-2/request.log",
        ]


def test_the_tables_of_the_demo_and_of_the_metadata_log_are_whole() -> None:
    demo, log = golden.demo_gold(), golden.metadata_log_gold()
    assert set(demo) == set(log) == set(golden.GOLD)
    for name, rows in demo.items():
        assert rows == golden.without_chance(name, rows), "chance is left out once"
        assert {row["cluster_id"] for row in rows} <= {"demo-production", "demo-staging", "demo-old"}
    for kept in log.values():
        assert kept["count"] == sum(count for count, _ in kept["groups"].values())
    assert log["history"]["count"] > 20_000


def test_the_golden_worlds_are_whole() -> None:
    found = golden.worlds()
    assert len(found) == 20
    for world in found:
        assert len(world.steps) >= 3
        assert set(world.gold) == set(golden.GOLD)
        assert all(golden.canonical(name, row) == row for name, rows in world.gold.items() for row in rows)
        for name in {name for step in world.steps for name in step}:
            key = {**TABLES, **PARTS, "poll": TABLES["snapshot"]}[name].key
            keys = [tuple(row.get(each) for each in key) for step in world.steps for row in step.get(name, ())]
            assert len(keys) == len(set(keys)), "a row comes twice"
    rows = [row for world in found for row in world.gold["history"]]
    assert {row["attribution"] for row in rows} == {"none", "request", "journal", "several"}
    assert {row["entity_type"] for row in rows} >= {"topic", "broker", "quota", "acl", "scram", "feature", "cluster"}
    assert {row["scope"] for world in found for row in world.gold["drift"]} == {"broker", "cluster", "baseline"}
    assert any(row["last_seen"] for world in found for row in world.gold["policy_violation"])
