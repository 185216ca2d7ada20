"""Who was denied what, since when, and what changed before: from rows of a lake, and by ``kac denied``."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from console.cli import main as cli
from console.lake import reader, schema
from console.lake.denials import Denied, Wanted, denials
from console.lake.lake import Lake
from tests.support import delta_lake, sample_lake

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CLUSTER, OTHER = "denying-cluster", "other-cluster"
ALICE, BOB = "User:alice", "User:bob"
EVIL = "evil\x1b[31m\nUser:root"
Row = tuple[Any, ...]


def minutes(count: float) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=count)


def decided(
    first: float,
    last: float,
    *,
    allowed: bool = False,
    who: str = ALICE,
    what: tuple[str, str, str] = ("READ", "TOPIC", "orders"),
    checks: int = 1,
    host: str = "10.0.0.7",
    requests: str = "FETCH",
    rule: str | None = "DefaultDeny",
    cluster: str = CLUSTER,
) -> Row:
    """A row of ACCESS, of one hour."""
    operation, type_, name = what
    times = minutes(first), minutes(last)
    hour = times[0].replace(minute=0, second=0)
    return (cluster, hour, who, host, operation, type_, "LITERAL", name, allowed, checks, *times, requests, rule)


def acl(
    at: float,
    attr: str,
    *,
    key: str = "TOPIC:LITERAL:orders",
    removed: bool = False,
    source: str = "kraft_log",
    author: str | None = "User:admin",
) -> Row:
    """A change of an ACL in `history`."""
    old, new = ("set", None) if removed else (None, "set")
    how = "none" if author is None else "request"
    return (CLUSTER, "acl", key, attr, old, new, minutes(at), None, True, removed, author, how, source)


def lake_of(where: Path, access: Sequence[Row], changes: Sequence[Row] = (), events: Sequence[Row] = ()) -> Lake:
    lake = Lake.create(str(where))
    delta_lake.put(lake, schema.ACCESS, sample_lake.arrow("access", access))
    if changes:
        delta_lake.put(lake, schema.HISTORY, sample_lake.arrow("history", changes))
    if events:
        delta_lake.put(lake, schema.CHANGE_EVENT, sample_lake.arrow("change_event", events))
    return lake


def denied(lake: Lake, wanted: Wanted = Wanted(), limit: int = 100) -> list[Denied]:  # noqa: B008 - frozen
    with closing(reader.Tables(lake.where)) as tables:
        return denials(tables, wanted, limit)


def only(lake: Lake, wanted: Wanted = Wanted()) -> Denied:  # noqa: B008 - frozen
    (found,) = denied(lake, wanted)
    return found


# -- who was denied what, since when -----------------------------------------------------------------------------------


def test_hours_hosts_and_requests_of_one_right_are_one_row(tmp_path: Path) -> None:
    rows = [
        decided(3, 50, checks=7),
        decided(61, 70, checks=5, host="10.0.0.8", requests="FETCH, LIST_OFFSETS", rule="MatchingAcl(…)"),
        decided(0, 1, allowed=True, checks=100),
        decided(2, 2, who=BOB, allowed=True),
    ]
    found = only(lake_of(tmp_path / "lake", rows))
    assert found == Denied(
        *(CLUSTER, ALICE, "READ", "TOPIC", "orders", 12, minutes(3), minutes(70), minutes(1)),
        *(("10.0.0.7", "10.0.0.8"), ("FETCH", "LIST_OFFSETS"), "MatchingAcl(…)"),
    )


def test_since_is_the_first_denial_after_the_last_allowance(tmp_path: Path) -> None:
    rows = [decided(-600, -590), decided(-500, 10, allowed=True), decided(130, 140), decided(200, 210)]
    found = only(lake_of(tmp_path / "lake", rows))
    assert (found.since, found.last, found.last_allowed) == (minutes(130), minutes(210), minutes(10))
    # In one hour both were logged: it was denied from the last allowance on, at the earliest.
    found = only(lake_of(tmp_path / "within", [decided(5, 40), decided(0, 20, allowed=True)]))
    assert (found.since, found.last_allowed) == (minutes(20), minutes(20))
    # It is allowed again: the lake says so, and since when it had been denied.
    found = only(lake_of(tmp_path / "again", [decided(5, 40), decided(60, 61, allowed=True)]))
    assert (found.since, found.last_allowed) == (minutes(5), minutes(61))


def test_a_filter_selects(tmp_path: Path) -> None:
    rows = [
        decided(3, 4, checks=2),
        decided(130, 140, checks=3),
        decided(10, 11, who=BOB),
        decided(20, 21, what=("DESCRIBE", "GROUP", "checkout"), cluster=OTHER),
    ]
    lake = lake_of(tmp_path / "lake", rows)

    def names(**wanted: Any) -> list[tuple[str, str, int]]:
        return [(row.principal, row.resource_name, row.denials) for row in denied(lake, Wanted(**wanted))]

    everything = [(ALICE, "orders", 5), (ALICE, "checkout", 1), (BOB, "orders", 1)]
    assert names() == everything, "the latest first"
    assert [row[:2] for row in map(tuple, names(since=minutes(60)))] == [(ALICE, "orders")]
    assert names(since=minutes(60)) == [(ALICE, "orders", 3)]
    assert names(until=minutes(60)) == [(ALICE, "checkout", 1), (BOB, "orders", 1), (ALICE, "orders", 2)]
    assert names(principal="bob") == names(principal=BOB) == [(BOB, "orders", 1)]
    assert names(resource=("GROUP", "checkout")) == names(cluster_id=OTHER) == [(ALICE, "checkout", 1)]
    assert names(resource=("TOPIC", "checkout")) == []
    assert len(denied(lake, limit=2)) == 2
    assert denied(Lake.create(str(tmp_path / "empty"))) == []


def test_a_window_is_of_hosts_requests_and_rule_too(tmp_path: Path) -> None:
    days = 60 * 24 * 40
    rows = [
        decided(1, 5, rule="A"),
        decided(days, days + 1, host="10.0.0.8", requests="METADATA", rule="B"),
    ]
    lake = lake_of(tmp_path / "lake", rows)
    late = only(lake, Wanted(since=minutes(days - 60)))
    assert (late.denials, late.hosts, late.requests, late.rule) == (1, ("10.0.0.8",), ("METADATA",), "B")
    early = only(lake, Wanted(until=minutes(days - 60)))
    assert (early.denials, early.hosts, early.requests, early.rule) == (1, ("10.0.0.7",), ("FETCH",), "A")


# -- what changed before -----------------------------------------------------------------------------------------------

READ_ALICE = "ALLOW READ User:alice from *"


def cause(where: Path, *changes: Row, allowed: float | None = None, events: Sequence[Row] = ()) -> str | None:
    """The attribute of the change that is named for a denial at noon, whose history is these changes."""
    access = [decided(0, 5)] + ([] if allowed is None else [decided(allowed, allowed, allowed=True)])
    change = only(lake_of(where, access, changes, events)).change
    return None if change is None else change.attr


@pytest.mark.parametrize(
    "change",
    [
        acl(-3, READ_ALICE, removed=True),
        acl(-3, "ALLOW ALL User:alice from *", removed=True),
        acl(-3, "ALLOW READ User:* from *", removed=True),
        acl(-3, "ALLOW READ User:alice from 10.0.0.7", removed=True),
        acl(-3, READ_ALICE, key="TOPIC:PREFIXED:ord", removed=True),
        acl(-3, READ_ALICE, key="TOPIC:LITERAL:*", removed=True),
        acl(-3, "DENY READ User:alice from *"),
        acl(-3, "DENY ALL User:* from *", key="TOPIC:PREFIXED:o"),
        acl(0.01, READ_ALICE, removed=True),
        # The first ACL on a resource closes it for all others.
        acl(-3, "ALLOW READ User:bob from *"),
    ],
    ids=lambda change: f"{change[2]} {change[3]} {'removed' if change[9] else 'set'}",
)
def test_a_change_that_takes_the_right_away_is_named(tmp_path: Path, change: Row) -> None:
    assert cause(tmp_path / "lake", change) == change[3]


@pytest.mark.parametrize(
    "change",
    [
        acl(-3, READ_ALICE),
        acl(-3, "DENY READ User:alice from *", removed=True),
        acl(-3, "ALLOW WRITE User:alice from *", removed=True),
        acl(-3, "ALLOW READ User:bob from *", removed=True),
        acl(-3, "ALLOW READ User:alice from 10.9.9.9", removed=True),
        acl(-3, READ_ALICE, key="TOPIC:LITERAL:orders-2", removed=True),
        acl(-3, READ_ALICE, key="GROUP:LITERAL:orders", removed=True),
        acl(3, READ_ALICE, removed=True),
        acl(-8 * 24 * 60, READ_ALICE, removed=True),
        acl(-3, "nonsense", removed=True),
        acl(-3, READ_ALICE, key="TOPIC:MARTIAN:orders", removed=True),
    ],
    ids=lambda change: f"{change[2]} {change[3]} {'removed' if change[9] else 'set'}",
)
def test_another_change_is_not_named(tmp_path: Path, change: Row) -> None:
    assert cause(tmp_path / "lake", change) is None


def test_the_nearest_of_the_surest_changes_is_named(tmp_path: Path) -> None:
    early, late = acl(-30, "DENY READ User:alice from *"), acl(-3, READ_ALICE, removed=True)
    maybe = acl(-1, "ALLOW READ User:bob from *")
    assert cause(tmp_path / "lake", early, late, maybe) == READ_ALICE
    # A change before the last time that it was allowed made no denial.
    assert cause(tmp_path / "allowed", early, allowed=-10) is None
    assert cause(tmp_path / "later", early, late, allowed=-10) == READ_ALICE


def test_a_change_before_an_allowance_made_no_denial_even_if_it_is_allowed_again(tmp_path: Path) -> None:
    rows = [decided(-30, -1, allowed=True), decided(5, 10), decided(65, 70, allowed=True)]
    early, late = acl(-6 * 1440, READ_ALICE, removed=True), acl(2, "ALLOW WRITE User:zed from *")
    assert only(lake_of(tmp_path / "early", rows, [early])).change is None
    found = only(lake_of(tmp_path / "late", rows, [early, late])).change
    assert found is not None
    assert found.attr == late[3]


def test_the_users_credentials_count_where_no_acl_explains_it(tmp_path: Path) -> None:
    scram = (CLUSTER, "scram", "alice", "SCRAM-SHA-512", None, "iterations=8192", minutes(-5))
    row = (*scram, None, True, False, "User:admin", "request", "kraft_log")
    assert cause(tmp_path / "lake", row) == "SCRAM-SHA-512"
    assert cause(tmp_path / "other", (*row[:2], "bob", *row[3:])) is None
    assert cause(tmp_path / "both", row, acl(-30, READ_ALICE, removed=True)) == READ_ALICE


def test_a_change_that_only_a_later_poll_shows_is_named(tmp_path: Path) -> None:
    """The poll at 12:40 shows what was changed since the one at 11:40; the denial was in between."""
    shown = acl(40, READ_ALICE, removed=True, source="snapshot", author=None)
    event = (CLUSTER, minutes(40), 3_600_000, None, "acl", "TOPIC:LITERAL:orders", READ_ALICE, "delete", None, None)
    event = (*event, "snapshot", None, None, None, "none")
    assert cause(tmp_path / "lake", shown, events=[event]) == READ_ALICE
    assert cause(tmp_path / "short", shown, events=[(*event[:2], 60_000, *event[3:])]) is None


def test_what_the_first_poll_found_is_no_change(tmp_path: Path) -> None:
    found = acl(-3, "DENY READ User:alice from *", source="snapshot", author=None)
    assert cause(tmp_path / "lake", found) is None
    earlier = (CLUSTER, "topic", "t", "retention.ms", None, "1", minutes(-60), None, True, False, None, "none")
    assert cause(tmp_path / "later", (*earlier, "snapshot"), found) == found[3]


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def lake(tmp_path: Path) -> str:
    rows = [
        decided(0, 5, checks=1234, host="10.0.0.7"),
        *(decided(1, 2, host=f"10.0.0.{number}") for number in range(8, 14)),
        decided(3, 4, who=f"User:{EVIL}", what=("DESCRIBE", "GROUP", EVIL), rule=None),
        decided(1, 1, what=("CLUSTER_ACTION", "CLUSTER", "kafka-cluster"), who="User:ops", cluster=OTHER),
    ]
    return lake_of(tmp_path / "lake", rows, [acl(-3, READ_ALICE, removed=True)]).where


def test_as_text(lake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert cli.run(["denied", "--lake", lake, "--cluster", CLUSTER]) == 0
    out = capsys.readouterr().out
    head, alice, evil, *rest = out.splitlines()
    assert head.split("  ")[0] == "Who"
    assert "alice" in alice
    assert "topic orders" in alice
    assert "1,240 ×" in alice
    assert "10.0.0.10, 10.0.0.11, 10.0.0.12 and 4 more" in alice
    assert "acl topic orders, ALLOW READ User:alice from *: deleted" in alice
    assert alice.endswith("by admin")
    assert "evil" in evil
    assert not any(ord(char) < 32 for char in out.replace("\n", "")), "names of clients do no harm"
    assert rest[-1].startswith(f"{CLUSTER}: as of ")
    assert OTHER not in out
    assert cli.run(["denied", "--lake", lake, "--limit", "1"]) == 0
    assert "older denials are not shown" in capsys.readouterr().out


def test_as_json_and_csv(lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["denied", "--lake", lake, "--principal", "alice", "--output", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["denied"]
    change = row.pop("change")
    assert row == {
        "cluster_id": CLUSTER,
        "principal": ALICE,
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource_name": "orders",
        "denials": 1240,
        "since": "2026-11-20T12:00:00+00:00",
        "last": "2026-11-20T12:05:00+00:00",
        "last_allowed": None,
        "hosts": sorted(f"10.0.0.{number}" for number in range(7, 14)),
        "requests": ["FETCH"],
        "rule": "DefaultDeny",
    }
    assert (change["attr"], change["is_deleted"], change["principal"]) == (READ_ALICE, True, "User:admin")
    assert change["valid_from"] == "2026-11-20T11:57:00+00:00"
    assert cli.run(["denied", "--lake", lake, "--entity", "cluster:kafka-cluster", "--output", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["cluster_id"], row["operation"], row["principal"]) == (OTHER, "CLUSTER_ACTION", "User:ops")


def test_what_it_can_not_answer(lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["denied", "--lake", lake, "--entity", "orders"]) == 2
    assert "'orders' is no entity" in capsys.readouterr().err
    assert cli.run(["denied", "--lake", lake, "--since", "soon"]) == 2
    assert "'soon' is no time" in capsys.readouterr().err
    assert cli.run(["denied", "--lake", str(tmp_path / "none")]) == 1
    assert "There is no lake at" in capsys.readouterr().err
    assert cli.run(["denied", "--lake", lake, "--since", "1min"]) == 0
    assert capsys.readouterr().out.startswith("nothing was denied")
    for limit in ("9223372036854775807", "9" * 20):
        with pytest.raises(SystemExit, match=r"^2$"):
            cli.run(["denied", "--lake", lake, "--limit", limit])
        assert "is not 0 to 1e+09" in capsys.readouterr().err


def test_a_lake_without_authorizer_logs_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not that nothing was denied."""
    lake = lake_of(tmp_path / "lake", [decided(0, 5, cluster=OTHER)], [acl(-3, READ_ALICE)])
    assert cli.run(["denied", "--lake", lake.where, "--cluster", CLUSTER]) == 0
    out = capsys.readouterr().out
    assert "the lake has no authorizer logs: docs/lake.md" in out
    assert "nothing was denied" not in out
    empty = Lake.create(str(tmp_path / "empty")).where
    assert cli.run(["denied", "--lake", empty]) == 0
    assert "the lake has no authorizer logs: docs/lake.md" in capsys.readouterr().out
    assert cli.run(["denied", "--lake", empty, "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["denied"] == []


def test_any_topic_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = lake_of(tmp_path / "lake", [decided(0, 5, what=("WRITE", "TOPIC", "*"))])
    assert cli.run(["denied", "--lake", lake.where]) == 0
    assert "any topic" in capsys.readouterr().out
