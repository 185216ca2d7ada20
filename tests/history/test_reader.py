"""What is read from a lake through DuckDB: the same as plain Python finds in the rows that were written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.history.reader.queries import (
    Wanted,
    Window,
    drift,
    first_poll,
    freshness,
    gaps,
    hottest,
    minutes,
    newest_minute,
    timeline,
    violations,
)
from console.history.reader.tables import Change, Drifted, Pair, Tables
from console.history.schema import DRIFT, HISTORY, QUOTA_USAGE
from console.history.store import Lake, LakeError, NoDuckDB, NoLake
from console.history.store.write import writing
from tests.support import sample_lake
from tests.support.sample_lake import CLUSTER, EVIL, NOON, OTHER

MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    where = str(tmp_path_factory.mktemp("sample") / "lake")
    sample_lake.make_lake(where)
    with closing(Tables(where)) as opened:
        yield opened


def rows() -> list[Change]:
    """What the lake was made of, from late to early."""
    made = [Change(*row) for row in sample_lake.history(CLUSTER, NOON)]
    return sorted(made, key=lambda row: (-row.valid_from.timestamp(), *row.place[1:]))


def test_a_timeline_is_what_was_written_from_late_to_early(tables: Tables) -> None:
    assert timeline(tables, Wanted()) == rows()
    assert timeline(tables, Wanted(CLUSTER)) == [row for row in rows() if row.cluster_id == CLUSTER]
    assert timeline(tables, Wanted("nobody")) == []
    assert [row.attr for row in timeline(tables, Wanted(text="ORDERS compact"))] == ["cleanup.policy"]
    assert timeline(tables, Wanted(text="%")) == []


def test_a_timeline_of_an_entity_has_the_gaps_with_it(tables: Tables) -> None:
    found = timeline(tables, Wanted(CLUSTER, (("topic", "orders"), ("acl", "TOPIC:LITERAL:orders"))))
    wanted = [
        row
        for row in rows()
        if row.cluster_id == CLUSTER and (row.entity_key in ("orders", "TOPIC:LITERAL:orders") or row.is_gap)
    ]
    assert found == wanted
    assert len(found) == 6


@pytest.mark.parametrize("who", ["bob", "User:bob"])
def test_who_may_have_done_it_is_found_too(tables: Tables, who: str) -> None:
    found = timeline(tables, Wanted(CLUSTER, principal=who))
    assert {row.principal for row in found} == {"User:bob", "User:alice, User:bob"}
    assert timeline(tables, Wanted(CLUSTER, principal="bo")) == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.none() | st.sampled_from(["retention.ms", "*retention*", "?etention.ms", ":*", "'; DROP TABLE x; --"]),
    since=st.none() | st.integers(0, 200),
    until=st.none() | st.integers(0, 200),
    limit=st.integers(1, 6),
)
def test_pages_put_together_are_what_a_filter_leaves(
    tables: Tables, key: str | None, since: int | None, until: int | None, limit: int
) -> None:
    from fnmatch import fnmatchcase

    after, before = (None if at is None else NOON - at * MINUTE for at in (since, until))
    wanted = [
        row
        for row in rows()
        if (key is None or fnmatchcase(row.attr, key))
        and (after is None or row.valid_from >= after)
        and (before is None or row.valid_from < before)
    ]
    found: list[Change] = []
    while page := timeline(tables, Wanted(None, (), after, before, key), limit, found[-1].place if found else None):
        found += page
    assert found == wanted


def test_drift_comes_with_the_severest_first(tables: Tables) -> None:
    written = [Drifted(*row) for row in sample_lake.drift(CLUSTER, NOON)]
    found = drift(tables)
    assert sorted(found, key=repr) == sorted(written, key=repr)
    order = ["high", "medium", "low"]
    assert [row.severity for row in found] == sorted((row.severity for row in found), key=order.index)
    assert {row.entity for row in drift(tables, CLUSTER, "broker")} == {
        ("broker", "1"),
        ("broker", "2"),
        ("broker", "3"),
    }
    assert [row.this_value for row in drift(tables, CLUSTER, "broker", "log.d*")] == ["/mnt/kafka"]
    assert [row.entity[1] for row in drift(tables, CLUSTER, "baseline")] == ["payments", EVIL]


def test_violations_that_are_and_that_were(tables: Tables) -> None:
    assert [row.policy_id for row in violations(tables, CLUSTER)] == ["min-isr"]
    assert [row.policy_id for row in violations(tables, CLUSTER, also_past=True)] == ["min-isr", "retention"]
    assert violations(tables, OTHER, also_past=True) == []


def used(pair: Pair, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """The rows of a pair in a window, as plain Python finds them."""
    named = (dict(zip(QUOTA_USAGE.names, row, strict=True)) for row in sample_lake.usage(CLUSTER, NOON))
    return [
        row
        for row in named
        if (row["scope_user"], row["scope_client"], row["quota_key"]) == pair and since <= row["minute"] < until
    ]


def test_the_hottest_pairs_are_those_nearest_to_their_limits(tables: Tables) -> None:
    found = hottest(tables, Window(CLUSTER))
    assert [(row.pair.scope_user, row.pair.scope_client) for row in found] == [
        ("alice", "checkout"),
        ("svc-8", None),
        ("alice", None),
        (None, "mirror"),
        ("bob", "batch"),
    ]
    for row in found:
        mine = used(row.pair, NOON - 119 * MINUTE, NOON + MINUTE)
        worst = [each for each in mine if each["broker_id"] == row.broker_id]
        assert row.rate_max == max(each["rate_max_10s"] for each in mine)
        assert row.rate_avg == pytest.approx(sum(each["rate_avg"] for each in worst) / 120)
        assert row.throttle_ms == sum(each["throttle_ms"] for each in mine)
        assert row.headroom == min((each["headroom"] for each in worst if each["headroom"] is not None), default=None)
        assert (row.quota_value, row.level) == (worst[-1]["quota_value"], worst[-1]["level"])
        by_minute = {each["minute"]: 0.0 for each in mine}
        for each in mine:
            by_minute[each["minute"]] = max(by_minute[each["minute"]], each["rate_max_10s"])
        assert row.series == tuple(sorted(by_minute.items()))


def test_usage_of_a_window_a_key_and_a_user(tables: Tables) -> None:
    since, until = NOON - 100 * MINUTE, NOON - 90 * MINUTE
    (row,) = hottest(tables, Window(CLUSTER, since, until, "producer_byte_rate", "User:alice"))
    assert [at for at, _ in row.series] == [since + n * MINUTE for n in range(10)]
    lines = minutes(tables, Window(CLUSTER, since, until), row.pair)
    assert [(each.minute, each.broker_id, each.rate_max_10s) for each in lines] == [
        (each["minute"], each["broker_id"], each["rate_max_10s"])
        for each in sorted(used(row.pair, since, until), key=lambda each: (each["minute"], each["broker_id"]))
    ]
    assert len(hottest(tables, Window(CLUSTER), 2)) == 2
    assert hottest(tables, Window(OTHER)) == []
    assert newest_minute(tables, CLUSTER) == NOON


def test_what_the_first_look_showed_is_no_change(tmp_path: Path) -> None:
    looked = NOON - 500 * MINUTE
    (*_, written) = (row for row in sample_lake.history(CLUSTER, NOON) if row[12] == "kraft_log" and row[4] is None)
    seen = (*written[:6], looked, *written[7:12], "snapshot")
    changed = (*written[:3], "flush.ms", *written[4:12], "snapshot")
    lake = Lake.create(str(tmp_path / "lake"))
    with writing(lake, "build") as write:
        write.add_arrow("history", sample_lake.arrow("history", [seen, changed, written]))
        write.commit()
    opened = Tables(lake.where)
    first = first_poll(opened, written[0])
    assert first == looked
    assert [row.is_first_seen(first) for row in timeline(opened, Wanted())] == [False, False, True]
    assert first_poll(opened, "nobody") is None


def test_freshness_and_gaps(tables: Tables) -> None:
    found = {each.table.name: each for each in freshness(tables, CLUSTER)}
    assert {each.as_of for each in found.values()} == {NOON}
    assert found["history"].rows == len([row for row in rows() if row.cluster_id == CLUSTER])
    assert all(each.built is not None and each.built <= datetime.now(UTC) for each in found.values())
    assert freshness(tables, OTHER, of=(HISTORY,))[0].as_of == NOON - 120 * MINUTE
    nothing = freshness(tables, "nobody", of=(DRIFT,))[0]
    assert (nothing.as_of, nothing.built, nothing.rows) == (None, None, 0)
    assert [(gap.since, gap.until) for gap in gaps(tables, CLUSTER)] == [(NOON - 180 * MINUTE, NOON - 120 * MINUTE)]
    assert gaps(tables, CLUSTER, NOON - 60 * MINUTE) == []
    assert tables.clusters(HISTORY) == [CLUSTER, OTHER]


def test_what_is_shown_stays_of_one_run_while_others_write(tmp_path: Path) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    opened = Tables(lake.where)
    before = timeline(opened, Wanted(CLUSTER))
    with writing(lake, "build") as write:
        more = [(*row[:3], "flush.ms", *row[4:]) for row in sample_lake.history(CLUSTER, NOON)]
        write.add_arrow("history", sample_lake.arrow("history", more))
        write.commit()
    assert timeline(opened, Wanted(CLUSTER)) == before
    assert not opened.is_latest
    assert len(timeline(Tables(lake.where), Wanted(CLUSTER))) == 2 * len(before)


def test_an_empty_lake_and_none(tmp_path: Path) -> None:
    Lake.create(str(tmp_path / "lake"))
    opened = Tables(str(tmp_path / "lake"))
    assert timeline(opened, Wanted()) == []
    assert drift(opened) == []
    assert violations(opened) == []
    assert hottest(opened, Window(CLUSTER)) == []
    assert gaps(opened, CLUSTER) == []
    assert opened.clusters(HISTORY) == []
    with pytest.raises(NoLake, match="kac lake collect"):
        Tables(str(tmp_path / "none"))
    with pytest.raises(LakeError, match="only Spark's jobs reach it"):
        Tables("hdfs://host/lake")


def test_without_duckdb_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Lake.create(str(tmp_path / "lake"))
    for name in ("duckdb", "_duckdb"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(NoDuckDB, match=r"pip install 'kafka-admin-console\[history\]'"):
        Tables(str(tmp_path / "lake"))


def test_reading_loads_neither_arrow_nor_spark() -> None:
    script = """import sys, console.history.reader.queries, console.history.reader.queries
assert not {"duckdb", "_duckdb"} & sys.modules.keys(), "imported before it is asked for"
print([name for name in ("pyarrow", "pyspark", "pandas", "kio") if name in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
