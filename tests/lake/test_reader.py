"""Tests of reading a lake with DuckDB, also if any user may have written files into it."""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.lake import delta_log, reader, schema
from console.lake.files import DamagedLake, Filesystem, LakeError
from console.lake.lake import Lake, NoLake
from console.lake.reader import Tables, Wanted, drift, timeline
from console.lake.schema import DRIFT, HISTORY, Table
from console.model.snapshot import Snapshot
from console.present.lake import fleet_text, usage_by_minute
from console.present.lake_rows import change_lines
from console.present.timeline import change_row
from console.session.lake_staging import NoEdit, undo
from tests.support import delta_lake, sample_lake
from tests.support.delta_lake import arrow_rows
from tests.support.examples import examples
from tests.support.sample_lake import CLUSTER, EVIL, NOON, OTHER

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[reader.Tables]:
    where = str(tmp_path_factory.mktemp("sample") / "lake")
    sample_lake.make_lake(where)
    with closing(reader.Tables(where)) as opened:
        yield opened


def rows() -> list[reader.Change]:
    """Return the changes that the test's lake contains, the latest first."""
    made = [reader.Change(*row) for row in sample_lake.history(CLUSTER, NOON)]
    return sorted(made, key=lambda row: (-row.valid_from.timestamp(), *row.place[1:]))


def test_a_timeline_is_what_was_written_from_late_to_early(tables: reader.Tables) -> None:
    assert reader.timeline(tables, reader.Wanted()) == rows()
    assert reader.timeline(tables, reader.Wanted(CLUSTER)) == [row for row in rows() if row.cluster_id == CLUSTER]
    assert reader.timeline(tables, reader.Wanted("nobody")) == []
    assert [row.attr for row in reader.timeline(tables, reader.Wanted(text="ORDERS compact"))] == ["cleanup.policy"]
    assert reader.timeline(tables, reader.Wanted(text="%")) == []


def test_a_timeline_of_an_entity_has_the_gaps_with_it(tables: reader.Tables) -> None:
    found = reader.timeline(tables, reader.Wanted(CLUSTER, (("topic", "orders"), ("acl", "TOPIC:LITERAL:orders"))))
    wanted = [
        row
        for row in rows()
        if row.cluster_id == CLUSTER and (row.entity_key in ("orders", "TOPIC:LITERAL:orders") or row.is_gap)
    ]
    assert found == wanted
    assert len(found) == 6


@pytest.mark.parametrize("who", ["bob", "User:bob"])
def test_who_may_have_done_it_is_found_too(tables: reader.Tables, who: str) -> None:
    found = reader.timeline(tables, reader.Wanted(CLUSTER, principal=who))
    assert {row.principal for row in found} == {"User:bob", "User:alice, User:bob"}
    assert reader.timeline(tables, reader.Wanted(CLUSTER, principal="bo")) == []


@examples(20, at_length=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.none() | st.sampled_from(["retention.ms", "*retention*", "?etention.ms", ":*", "'; DROP TABLE x; --"]),
    since=st.none() | st.integers(0, 200),
    until=st.none() | st.integers(0, 200),
    limit=st.integers(1, 6),
)
def test_a_timeline_is_the_latest_of_what_a_filter_leaves(
    tables: reader.Tables, key: str | None, since: int | None, until: int | None, limit: int
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
    assert reader.timeline(tables, reader.Wanted(None, (), after, before, key), limit) == wanted[:limit]
    assert reader.timeline(tables, reader.Wanted(None, (), after, before, key)) == wanted


def test_drift_comes_with_the_severest_first(tables: reader.Tables) -> None:
    written = [reader.Drifted(*row) for row in sample_lake.drift(CLUSTER, NOON)]
    found = reader.drift(tables)
    assert sorted(found, key=repr) == sorted(written, key=repr)
    order = ["high", "medium", "low"]
    assert [row.severity for row in found] == sorted((row.severity for row in found), key=order.index)
    assert {row.entity for row in reader.drift(tables, CLUSTER, "broker")} == {
        ("broker", "1"),
        ("broker", "2"),
        ("broker", "3"),
    }
    assert [row.this_value for row in reader.drift(tables, CLUSTER, "broker", "log.d*")] == ["/mnt/kafka"]
    assert [row.entity[1] for row in reader.drift(tables, CLUSTER, "baseline")] == ["payments", EVIL]


def test_violations_that_are_and_that_were(tables: reader.Tables) -> None:
    found = [(row.policy_id, row.last_seen is None) for row in reader.violations(tables, CLUSTER)]
    assert found == [("min-isr", True), ("retention", False)]
    assert reader.violations(tables, OTHER) == []


def used(pair: reader.Pair, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Return the rows of usage of a (user, client id) pair in a time window, as plain Python finds them."""
    named = (dict(zip(schema.QUOTA_USAGE.names, row, strict=True)) for row in sample_lake.usage(CLUSTER, NOON))
    return [
        row
        for row in named
        if (row["scope_user"], row["scope_client"], row["quota_key"]) == pair and since <= row["minute"] < until
    ]


def test_the_hottest_pairs_are_those_nearest_to_their_limits(tables: reader.Tables) -> None:
    found = reader.hottest(tables, reader.Window(CLUSTER))
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


def test_usage_of_a_window_a_key_and_a_user(tables: reader.Tables) -> None:
    since, until = NOON - 100 * MINUTE, NOON - 90 * MINUTE
    (row,) = reader.hottest(tables, reader.Window(CLUSTER, since, until, "producer_byte_rate", "User:alice"))
    assert [at for at, _ in row.series] == [since + n * MINUTE for n in range(10)]
    lines = reader.minutes(tables, reader.Window(CLUSTER, since, until), row.pair)
    assert [(each.minute, each.broker_id, each.rate_max_10s) for each in lines] == [
        (each["minute"], each["broker_id"], each["rate_max_10s"])
        for each in sorted(used(row.pair, since, until), key=lambda each: (each["minute"], each["broker_id"]))
    ]
    assert len(reader.hottest(tables, reader.Window(CLUSTER), 2)) == 2
    assert reader.hottest(tables, reader.Window(OTHER)) == []
    assert reader.freshness(tables, CLUSTER, of=(schema.QUOTA_USAGE,))[0].as_of == NOON


def test_who_was_throttled_is_summed_by_minute(tables: reader.Tables) -> None:
    """The reader sums the throttled requests of a minute over quota keys and brokers. It returns graphs for the pairs
    of user and client id that were throttled most, in percent of their quota.
    """
    since = NOON - 30 * MINUTE
    found = reader.throttled_minutes(tables, CLUSTER, since)
    mine = [
        each
        for row in reader.hottest(tables, reader.Window(CLUSTER))
        for each in used(row.pair, since, NOON + MINUTE)
        if each["throttled_requests"]
    ]
    assert {each.minute for each in found} == {each["minute"] for each in mine}
    assert sum(each.requests for each in found) == sum(each["throttled_requests"] for each in mine) > 0
    assert [each.minute for each in found] == sorted(each.minute for each in found)
    assert reader.throttled_minutes(tables, OTHER, since) == []
    drawn = usage_by_minute(found)
    assert [name.partition(" % ")[0] for name in drawn] == ["alice / checkout 120", "svc-8 / * 120"]
    first = next(each for each in found if each.scope_user == "alice")
    slots = drawn["alice / checkout 120 % of quota by lake"]
    assert [slots[int(first.minute.timestamp()) // 10 + n] for n in range(6)] == [first.requests] * 6


def test_how_fresh_a_fleet_is_takes_no_more_queries_for_more_clusters(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"c{number}" for number in range(7)]
    of_clusters = [{"cluster_id": name, "entity_type": "topic", "valid_from": NOON, "new_value": "1"} for name in names]
    gap = {
        "cluster_id": "c2",
        "entity_type": "cluster",
        "entity_key": "c2",
        "attr": ":unobserved",
        "valid_from": NOON,
        "source": "snapshot",
    }
    polls = [{"cluster_id": name, "observed_ts": NOON + number * MINUTE} for number, name in enumerate(names[1:])]
    polls.append({"cluster_id": "c0", "observed_ts": NOON - 50 * DAY})  # no longer polled
    failed = {"cluster_id": "c3", "observed_ts": NOON + DAY, "kind": "failed"}
    delta_lake.put(lake, schema.HISTORY, arrow_rows(schema.HISTORY, [*of_clusters, gap]))
    for each in ({"kind": "heartbeat", **poll} for poll in (*polls, failed)):
        delta_lake.put(lake, schema.SNAPSHOT, arrow_rows(schema.SNAPSHOT, [each]))
    record = {"cluster_id": "c1", "record_ts": NOON + 9 * MINUTE}
    delta_lake.put(lake, schema.KRAFT_RECORD, arrow_rows(schema.KRAFT_RECORD, [record]))
    with closing(reader.Tables(lake.where)) as opened:
        asked: list[str] = []
        ask = opened.ask

        def counted(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
            asked.append(sql)
            return ask(sql, parameters)

        monkeypatch.setattr(opened, "ask", counted)
        found = reader.fleet_freshness(opened, schema.HISTORY)
        assert len(asked) <= 6
        assert (found.clusters, found.as_of, found.oldest, found.oldest_cluster, found.unpolled) == (
            7,
            NOON + 9 * MINUTE,
            NOON - 50 * DAY,
            "c0",
            ("c2",),
        )
        assert [reader.freshness(opened, name, of=(schema.HISTORY,))[0].as_of for name in ("c0", "c1", "c3")] == [
            NOON - 50 * DAY,
            NOON + 9 * MINUTE,
            NOON + 2 * MINUTE,
        ]
        text = fleet_text(found, NOON + MINUTE)
        assert text.startswith("7 clusters: as of ")
        assert "the oldest is c0 as of " in text
        assert text.endswith("not polled now: c2")


def test_what_first_polls_showed_is_folded(lake: Lake) -> None:
    """kac shows the first poll of a cluster with many values as one row. It shows the first poll of a cluster with
    few values as a row for each value. Changes before and after the poll have their own rows.
    """
    polled = {"many": NOON, "few": NOON + timedelta(hours=2)}
    rows = [
        {
            "cluster_id": cluster,
            "entity_key": f"t{number // 3}",
            "attr": f"a{number % 3}",
            "valid_from": polled[cluster],
        }
        for cluster, count in (("many", 30), ("few", 9))
        for number in range(count)
    ]
    changed = {"cluster_id": "many", "entity_key": "t1", "attr": "a1", "old_value": "x", "new_value": "y"}
    rows += [
        {**changed, "valid_from": NOON + timedelta(hours=1)},
        {**changed, "valid_from": NOON - timedelta(hours=1), "source": "kraft_log"},
        {**changed, "valid_from": NOON, "source": "journal", "attr": "same time"},
        {**changed, "valid_from": NOON + timedelta(hours=3), "entity_key": "new", "old_value": None},
    ]
    common = {"entity_type": "topic", "new_value": "1", "source": "snapshot", "is_current": True, "attribution": "none"}
    delta_lake.put(lake, schema.HISTORY, arrow_rows(schema.HISTORY, [{**common, **row} for row in rows]))
    opened = reader.Tables(lake.where)
    found = reader.timeline(opened, reader.Wanted(), folded=True)
    assert [(row.cluster_id, row.entity_key, row.valid_from - NOON) for row in found if not row.is_first_poll] == [
        ("many", "new", timedelta(hours=3)),
        *(("few", f"t{number // 3}", timedelta(hours=2)) for number in range(9)),
        ("many", "t1", timedelta(hours=1)),
        ("many", "t1", timedelta(0)),
        ("many", "t1", timedelta(hours=-1)),
    ]
    (poll,) = (row for row in found if row.is_first_poll)
    assert (poll.cluster_id, poll.valid_from, poll.new_value) == ("many", NOON, "30 values of 10 entities")
    shown = change_row(poll)
    assert (shown.what, shown.old, shown.new, shown.is_first_seen) == ("first poll", "first seen", poll.new_value, True)
    assert "key=*" in "".join(text for text, _ in change_lines(poll)[0])
    assert undo(poll, Snapshot()) == NoEdit(
        "it was so when the cluster was first looked at: what was before that is not known"
    )
    assert found == sorted(found, key=lambda row: row.place)
    assert len(reader.timeline(opened, reader.Wanted())) == len(rows)
    assert reader.timeline(opened, reader.Wanted(until=NOON), folded=True) == found[-1:]
    opened.close()


def test_what_the_first_poll_showed_is_no_change(lake: Lake) -> None:
    polled = NOON - 500 * MINUTE
    (*_, written) = (row for row in sample_lake.history(CLUSTER, NOON) if row[12] == "kraft_log" and row[4] is None)
    seen = (*written[:6], polled, *written[7:12], "snapshot")
    changed = (*written[:3], "flush.ms", *written[4:12], "snapshot")
    delta_lake.put(lake, schema.HISTORY, sample_lake.arrow("history", [seen, changed, written]))
    opened = reader.Tables(lake.where)
    first = reader.first_polls(opened, [written[0]]).get(written[0])
    assert first == polled
    assert [row.is_first_seen(first) for row in reader.timeline(opened, reader.Wanted())] == [False, False, True]
    assert reader.first_polls(opened, ["nobody"]) == {}


def test_freshness_and_gaps(tables: reader.Tables) -> None:
    found = {each.table.name: each for each in reader.freshness(tables, CLUSTER)}
    assert {each.as_of for each in found.values()} == {NOON}
    assert {each.run for each in found.values()} == {tables.run(schema.HISTORY)}
    assert all(each.built is not None and each.built <= datetime.now(UTC) for each in found.values())
    assert reader.freshness(tables, OTHER, of=(schema.HISTORY,))[0].as_of == NOON - 120 * MINUTE
    nothing = reader.freshness(tables, "nobody", of=(schema.DRIFT,))[0]
    assert (nothing.as_of, nothing.built, nothing.run) == (None, None, None)
    assert [(gap.since, gap.until) for gap in reader.gaps(tables, CLUSTER)] == [
        (NOON - 180 * MINUTE, NOON - 120 * MINUTE)
    ]
    assert reader.gaps(tables, CLUSTER, NOON - 60 * MINUTE) == []
    assert tables.clusters(schema.HISTORY) == [CLUSTER, OTHER]


def test_what_is_shown_stays_of_one_version_while_others_write(tmp_path: Path) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    with closing(reader.Tables(lake.where)) as opened:
        before, run = reader.timeline(opened, reader.Wanted(CLUSTER)), opened.run(schema.HISTORY)
        assert opened.is_latest
        more = [(*row[:2], "new-one", *row[3:]) for row in sample_lake.history(CLUSTER, NOON)]
        newer = delta_lake.put(lake, schema.HISTORY, sample_lake.arrow("history", more))
        assert (reader.timeline(opened, reader.Wanted(CLUSTER)), opened.run(schema.HISTORY)) == (before, run)
        assert not opened.is_latest
        again = reader.Tables(lake.where, former=opened)
        assert len(reader.timeline(again, reader.Wanted(CLUSTER))) == 2 * len(before)
        assert again.run(schema.HISTORY) == newer
        assert again.is_latest


def test_a_table_that_was_not_there_is_seen_to_come(lake: Lake) -> None:
    with closing(reader.Tables(lake.where)) as opened:
        assert reader.drift(opened) == []
        assert opened.is_latest
        delta_lake.put(lake, schema.DRIFT, sample_lake.arrow("drift", sample_lake.drift(CLUSTER, NOON)))
        assert not opened.is_latest


def test_of_a_newer_version_only_what_was_committed_since_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    replayed: list[str] = []
    newest = delta_log.newest

    def counted(files: Filesystem, folder: str) -> delta_log.TableFiles:
        replayed.append(folder)
        return newest(files, folder)

    monkeypatch.setattr(delta_log, "newest", counted)
    with closing(reader.Tables(lake.where)) as opened:
        reader.freshness(opened, CLUSTER)
        assert len(replayed) > 4
        replayed.clear()
        delta_lake.put(lake, schema.HISTORY, sample_lake.arrow("history", sample_lake.history(CLUSTER, NOON)))
        again = reader.Tables(lake.where, former=opened)
        assert reader.freshness(again, CLUSTER) != []
        assert not {lake.folder(table) for table in (schema.HISTORY, schema.SNAPSHOT, schema.QUOTA_USAGE)} & {*replayed}
        assert len(reader.timeline(again, reader.Wanted())) == len(rows())
        delta_lake.put(lake, schema.HISTORY, sample_lake.arrow("history", []), overwrite=True)
        assert reader.timeline(reader.Tables(lake.where, former=again), reader.Wanted()) == []
        assert len(reader.timeline(opened, reader.Wanted())) == len(rows())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(
        st.dictionaries(
            st.tuples(st.sampled_from(["c1", "c2"]), st.sampled_from(["topic", "quota"]), st.sampled_from("abc")),
            st.sets(st.integers(0, 3), max_size=3),
            min_size=1,
        ),
        min_size=1,
        max_size=4,
    ),
    asked=st.none() | st.tuples(st.sampled_from(["topic", "quota"]), st.sampled_from("abcd")),
    whose=st.none() | st.sampled_from(["c1", "c2", "c3"]),
)
def test_the_rows_that_were_made_last_hold(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[dict[tuple[str, str, str], set[int]]],
    asked: tuple[str, str] | None,
    whose: str | None,
) -> None:
    """The rows of an entity are those of the last batch that has the entity: each batch replaces all rows of its
    entities, some by none.
    """
    lake = Lake.create(str(tmp_path_factory.mktemp("made") / "lake"))
    held: dict[tuple[str, str, str], set[tuple[int, int]]] = {}
    for number, batch in enumerate(batches):
        rows = [
            dict(zip(("cluster_id", "entity_type", "entity_key"), entity, strict=True))
            | {"attr": f"a{attr}", "new_value": str(number), "valid_from": NOON}
            for entity, attrs in batch.items()
            for attr in attrs
        ]
        none = [
            dict(zip(("cluster_id", "entity_type", "entity_key"), entity, strict=True))
            for entity, attrs in batch.items()
            if not attrs
        ]
        made = [arrow_rows(schema.HISTORY, rows), delta_lake.nothing_left(schema.HISTORY, *none)]
        delta_lake.put(lake, schema.HISTORY, pa.concat_tables(made))
        held |= {entity: {(attr, number) for attr in attrs} for entity, attrs in batch.items()}
        if number == 1:
            delta_lake.checkpoint(lake, schema.HISTORY)
    wanted = {
        (*entity, f"a{attr}", str(number))
        for entity, attrs in held.items()
        for attr, number in attrs
        if (whose is None or entity[0] == whose) and (asked is None or entity[1:] == asked)
    }
    with closing(reader.Tables(lake.where)) as opened:
        found = reader.timeline(opened, reader.Wanted(whose, () if asked is None else (asked,)))
        assert len(found) == len(wanted)
        assert {(row.cluster_id, row.entity_type, row.entity_key, row.attr, row.new_value) for row in found} == wanted


def test_an_hour_of_usage_that_was_made_again_counts_once(lake: Lake) -> None:
    """If an hour of usage is computed again, the reader returns only its new rows. Hours are counted from 1970 in UTC,
    whatever the host's time zone is: in India the local hours begin at other times.
    """
    rows = sample_lake.usage(CLUSTER, NOON)
    delta_lake.put(lake, schema.QUOTA_USAGE, sample_lake.arrow("quota_usage", rows))
    again = [(*row[:8], row[8] * 2, *row[9:]) for row in rows if NOON - 60 * MINUTE <= row[2] < NOON]
    delta_lake.put(lake, schema.QUOTA_USAGE, sample_lake.arrow("quota_usage", again))
    script = f"""if True:
        from console.lake.reader import *
        from console.lake.reader import Tables
        tables = Tables({lake.where!r})
        window = Window({CLUSTER!r})
        top = hottest(tables, window)[0]
        found = minutes(tables, window, top.pair)
        print([[each.minute.isoformat(), each.broker_id, each.rate_avg] for each in found])
        """
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TZ": "Asia/Kolkata"},
    )
    pair = reader.Pair("alice", "checkout", "producer_byte_rate")
    wanted = [
        [
            row["minute"].isoformat(),
            row["broker_id"],
            row["rate_avg"] * (2 if NOON - 60 * MINUTE <= row["minute"] < NOON else 1),
        ]
        for row in used(pair, NOON - 119 * MINUTE, NOON + MINUTE)
    ]
    assert json.loads(done.stdout.replace("'", '"')) == wanted


def test_violations_of_a_policy_by_an_entity_are_replaced_together(tmp_path: Path) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    other = [(OTHER, *row[1:]) for row in sample_lake.violations(CLUSTER, NOON)]
    delta_lake.put(lake, schema.POLICY_VIOLATION, sample_lake.arrow("policy_violation", other))
    ended = {"cluster_id": CLUSTER, "policy_id": "min-isr", "entity_key": "topic:payments"}
    delta_lake.put(lake, schema.POLICY_VIOLATION, delta_lake.nothing_left(schema.POLICY_VIOLATION, ended))
    with closing(reader.Tables(lake.where)) as opened:
        assert [row.policy_id for row in reader.violations(opened, CLUSTER)] == ["retention"]
        assert {row.policy_id for row in reader.violations(opened, OTHER)} == {"min-isr", "retention"}


@pytest.mark.parametrize(
    "bad",
    [
        {"partitionValues": {"in_cluster_id": CLUSTER, "in_day": "today"}},
        {"stats": '{"numRecords": 1, "minValues": {"cluster_id": 7}}'},
        {"stats": '{"numRecords": 1, "minValues": ["x"]}'},
        {"stats": "[]"},
        {"path": "../../../etc/passwd"},
        {"path": "s3://other/file.parquet"},
        {"deletionVector": {"storageType": "u"}},
    ],
)
def test_a_log_that_says_nonsense_is_damaged(lake: Lake, bad: dict[str, Any]) -> None:
    delta_lake.put(lake, schema.SNAPSHOT, sample_lake.arrow("snapshot", sample_lake.snapshots(CLUSTER, NOON)))
    add = {
        "path": "in_day=2026-11-20/x.parquet",
        "partitionValues": {"in_day": "2026-11-20"},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
        "stats": '{"numRecords": 1}',
    }
    Path(lake.folder(schema.SNAPSHOT), delta_log.log_file(1)).write_text(json.dumps({"add": {**add, **bad}}))
    with closing(reader.Tables(lake.where)) as opened, pytest.raises(DamagedLake, match="_delta_log"):
        reader.freshness(opened, CLUSTER, of=(schema.HISTORY,))


def described(**configuration: str) -> dict[str, Any]:
    return {"metaData": {"schemaString": '{"fields": []}', "configuration": configuration}}


ADDED = {
    "path": "in_day=2026-11-20/x.parquet",
    "partitionValues": {},
    "size": 1,
    "modificationTime": 1,
    "stats": '{"numRecords": 1}',
}


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"add": {**ADDED, "deletionVector": {"storageType": "u"}}}, "gave it deletion vectors"),
        ({"add": {**ADDED, "stats": None}}, "x.parquet without its number of rows (stats)"),
        (described(**{"delta.columnMapping.mode": "name"}), "mapped columns (delta.columnMapping.mode)"),
        (
            {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"]}},
            "Delta's protocol 3, 7 (v2Checkpoint)",
        ),
        (
            {"add": {**ADDED, "path": "file:/other/x.parquet"}},
            "file:/other/x.parquet, which lies outside",
        ),
        ({"add": {**ADDED, "path": "s3a://b/x.parquet"}}, "outside the table, as SHALLOW CLONE does"),
        ({"checkpoint": ".checkpoint.5a0a0c1e-1.parquet"}, "this checkpoint is of several files, or of V2"),
        ({"checkpoint": ".checkpoint.0000000001.0000000002.parquet"}, "this checkpoint is of several files, or of V2"),
    ],
)
def test_what_delta_has_and_kac_does_not_read_is_named(lake: Lake, action: dict[str, Any], said: str) -> None:
    delta_lake.put(lake, schema.SNAPSHOT, sample_lake.arrow("snapshot", sample_lake.snapshots(CLUSTER, NOON)))
    first, second = (Path(lake.folder(schema.SNAPSHOT), delta_log.log_file(number)) for number in (0, 1))
    if "checkpoint" in action:
        first.rename(second)
        named = f"{1:020}{action['checkpoint']}"
        (first.parent / named).touch()
    else:
        named = second.name
        second.write_text(json.dumps(action))
    with closing(reader.Tables(lake.where)) as opened, pytest.raises(DamagedLake) as caught:
        reader.freshness(opened, CLUSTER, of=(schema.HISTORY,))
    text = str(caught.value)
    assert "damaged" not in text
    assert named in text
    assert said in text


@pytest.mark.parametrize("spelled", ["{}", "file:{}", "file://{}", "FILE://{}"])
def test_absolute_paths_of_the_tables_own_files_are_read(lake: Lake, spelled: str) -> None:
    for number in range(2):
        delta_lake.put(lake, schema.DRIFT, sample_lake.arrow("drift", sample_lake.drift(f"cluster {number}%", NOON)))
    before, folder = lake.table(schema.DRIFT), Path(lake.folder(schema.DRIFT))
    for version in range(2):
        commit = folder / delta_log.log_file(version)
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"]["path"] = spelled.format(f"{quote(str(folder))}/{action['add']['path']}")
        commit.write_text("\n".join(map(json.dumps, actions)))
    read = lake.table(schema.DRIFT)
    assert (len(read.files), read.files.keys()) == (2, before.files.keys())
    with closing(reader.Tables(lake.where)) as opened:
        assert opened.rows(schema.DRIFT, reader.WHOLE) is not None


def test_commits_that_only_a_checkpoint_of_v2_replaced_are_named(lake: Lake) -> None:
    for _ in range(4):
        delta_lake.put(lake, schema.DRIFT, sample_lake.arrow("drift", sample_lake.drift(CLUSTER, NOON)))
        if lake.version(schema.DRIFT) == 1:
            delta_lake.checkpoint(lake, schema.DRIFT)
    log = Path(lake.folder(schema.DRIFT), delta_log.LOG)
    Path(lake.folder(schema.DRIFT), delta_log.log_file(2)).unlink()
    (log / f"{2:020}.checkpoint.5a0a0c1e-1.json").touch()
    with pytest.raises(DamagedLake, match="several files, or of V2") as caught:
        lake.table(schema.DRIFT)
    assert "damaged" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"add": {"path": "x", "stats": "{}", "partitionValues": {}}}', "it has no 'numRecords'"),
        ('{"add": {', "it is not JSON: "),
        ("", "it is empty"),
    ],
)
def test_what_is_damaged_is_named(lake: Lake, text: str, said: str) -> None:
    delta_lake.put(lake, schema.SNAPSHOT, sample_lake.arrow("snapshot", sample_lake.snapshots(CLUSTER, NOON)))
    Path(lake.folder(schema.SNAPSHOT), delta_log.log_file(1)).write_text(text)
    with (
        closing(reader.Tables(lake.where)) as opened,
        pytest.raises(DamagedLake, match="The lake is damaged") as e,
    ):
        reader.freshness(opened, CLUSTER, of=(schema.HISTORY,))
    assert said in str(e.value)


def test_the_log_read_here_is_what_delta_says(lake: Lake) -> None:
    for number in range(7):
        rows = sample_lake.arrow("drift", sample_lake.drift(f"cluster {number}%", NOON))
        delta_lake.put(lake, schema.DRIFT, rows, overwrite=number % 3 == 2)
        delta_lake.put(lake, schema.HISTORY, sample_lake.arrow("history", sample_lake.history(f"of {number}%/=", NOON)))
        if number == 3:
            delta_lake.checkpoint(lake, schema.DRIFT)
            delta_lake.checkpoint(lake, schema.HISTORY)
    for table in (schema.DRIFT, schema.HISTORY):
        delta, read = DeltaTable(lake.folder(table)), lake.table(table)
        assert read.version == delta.version()
        assert sorted(f"{lake.folder(table)}/{path}" for path in read.files) == sorted(delta.file_uris())
        assert read.rows == delta.to_pyarrow_dataset().count_rows()


def test_an_empty_lake_and_none(tmp_path: Path) -> None:
    Lake.create(str(tmp_path / "lake"))
    opened = reader.Tables(str(tmp_path / "lake"))
    assert reader.timeline(opened, reader.Wanted()) == []
    assert reader.drift(opened) == []
    assert reader.violations(opened) == []
    assert reader.hottest(opened, reader.Window(CLUSTER)) == []
    assert reader.gaps(opened, CLUSTER) == []
    assert opened.clusters(schema.HISTORY) == []
    with pytest.raises(NoLake, match="kac lake collect"):
        reader.Tables(str(tmp_path / "none"))
    with pytest.raises(LakeError, match="on no filesystem that kac reaches"):
        reader.Tables("hdfs://host/lake")


def test_without_duckdb_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Lake.create(str(tmp_path / "lake"))
    for name in ("duckdb", "_duckdb"):
        monkeypatch.setitem(sys.modules, name, None)  # as if DuckDB were not installed
    with pytest.raises(LakeError, match=r"pip install '.*\[history\]'"):
        reader.Tables(str(tmp_path / "lake"))


def test_reading_loads_neither_arrow_nor_spark() -> None:
    script = """import sys, console.lake.reader
assert not {"duckdb", "_duckdb"} & sys.modules.keys(), "imported before it is asked for"
print([name for name in ("pyarrow", "pyspark", "pandas", "kio") if name in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- files of a lake that any user may have written --------------------------------------------------------------------

ROWS, PAGE = 3_000_000, 200
MOST_MEMORY = 400 << 20
"""The most bytes of memory that reading a page of millions of equal rows may take."""


def file_of(lake: Lake, table: Table) -> Path:
    return next(Path(lake.folder(table)).rglob("*.parquet"))


def inflate(path: Path, rows: int) -> None:
    """Write a Parquet file with about `rows` copies of the first row of the file at this path, and replace it. Equal
    values take almost no space. The number is rounded down to a multiple of 100,000.
    """
    read = pq.ParquetFile(path)
    schema = read.schema_arrow
    many = pa.concat_tables([read.read().slice(0, 1)] * 100_000).combine_chunks().cast(schema)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(rows // len(many)):
            writer.write_table(many)


def test_a_page_of_millions_of_rows_is_a_page(tmp_path: Path) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    inflate(file_of(lake, HISTORY), ROWS)
    assert file_of(lake, HISTORY).stat().st_size < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with closing(Tables(lake.where)) as opened:
        assert len(timeline(opened, Wanted(), PAGE)) == PAGE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY >> 10


def test_all_of_millions_of_rows_is_refused(tmp_path: Path) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    inflate(file_of(lake, DRIFT), ROWS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with closing(Tables(lake.where)) as opened, pytest.raises(LakeError, match="more than 250,000 rows"):
        drift(opened)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2 * MOST_MEMORY >> 10


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return sample_lake.make_lake(str(tmp_path_factory.mktemp("good") / "lake"))


@examples(40, at_length=150, deadline=None)
@given(st.data())
def test_bytes_that_are_no_parquet_are_an_error_with_words(
    good: Lake, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """If bytes of a Parquet file are changed, removed or replaced, also in its footer, the reader returns rows or
    raises an error with a message.
    """
    where = tmp_path_factory.mktemp("bad") / "lake"
    shutil.copytree(good.where, where)
    lake = Lake.open(str(where))
    table = data.draw(st.sampled_from([HISTORY, DRIFT]))
    path = file_of(lake, table)
    content = bytearray(path.read_bytes())
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)):
        content[at] = byte
    kept = data.draw(st.none() | st.integers(0, len(content)))
    end = data.draw(st.sampled_from([b"", b"\xff\xff\xff\x7fPAR1", b"\xff\xff\xff\xffPAR1", b"\0\0\0\0PAR1", b"PAR1"]))
    path.write_bytes(bytes(content[:kept]) + end)
    said = str(where)
    try:
        with closing(Tables(str(where))) as opened:
            assert isinstance(timeline(opened, Wanted(), PAGE), list)
            assert isinstance(drift(opened, CLUSTER), list)
    except LakeError as error:
        said = str(error)
    assert str(where) in said
    shutil.rmtree(where)
