"""Tests of denials, with their principals and times: read from lines of authorizer logs and from rows of a lake, and
shown by ``kac denied``.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from kio.schema.index import api_key_map

from console.cli import main as cli
from console.lake import reader, schema
from console.lake.denials import Denied, Wanted, denials
from console.lake.inputs import AuthorizerLog, Inputs, RequestLog, UnreadableInput
from console.lake.lake import Lake
from console.lake.plans import AuthorizerLogs, Settings, TooMuchIsBad
from console.lake.redact import Damaged
from console.lake.requests import authorizer, lines, log_files, loggers
from console.lake.requests.authorizer import AMBIGUOUS, Access, Check, checks, counted
from console.lake.requests.counted import Whose
from console.model.numbers import json_text
from tests.lake.known_denials import ALICE as LOGGED_ALICE
from tests.lake.known_denials import BOB as LOGGED_BOB
from tests.lake.known_denials import DECIDED, FOLDER, FORGED, FORGING, TWO_LINES, VERSIONS
from tests.lake.small_site import decision
from tests.support import delta_lake, sample_lake
from tests.support.expressions import cpu_seconds

# -- denials with the changes before them: from rows of a lake, and by ``kac denied`` ----------------------------------

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CLUSTER, OTHER = "denying-cluster", "other-cluster"
ALICE, BOB = "User:alice", "User:bob"
EVIL = "evil\x1b[31m\nUser:root"
Row = tuple[Any, ...]


def minutes(count: float) -> datetime:
    """Return the time that is `count` minutes after noon."""
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
    """Return a row of the table `access` for one hour. first, last: the times of the first and the last check, minutes
    after noon.
    """
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
    """Return a row of the table `history` for an ACL that was added or, if `removed`, deleted. at: minutes after
    noon.
    """
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


# -- principals, rights and times of denials ---------------------------------------------------------------------------


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
    # If an hour has a denial and an allowance, the denials began at the last allowance, at the earliest.
    found = only(lake_of(tmp_path / "within", [decided(5, 40), decided(0, 20, allowed=True)]))
    assert (found.since, found.last_allowed) == (minutes(20), minutes(20))
    # If the last check was allowed, the beginning of the denials before it is still known.
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


# -- the change before a denial ----------------------------------------------------------------------------------------

READ_ALICE = "ALLOW READ User:alice from *"


def cause(where: Path, *changes: Row, allowed: float | None = None, events: Sequence[Row] = ()) -> str | None:
    """Return the attribute of the change that kac names as the cause of a denial at noon; None if it names no change.
    changes: the rows of the table `history`. allowed: the time of the last allowed check, minutes after noon; None
    if there is none.
    """
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
        # The first ACL of a resource closes it for all other principals.
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
    # A change before the last allowance caused no denial.
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
    """kac names a change as the cause of a denial at noon if the poll at 11:40 does not show the change, and the next
    poll, at 12:40, does.
    """
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
    """If a lake has no authorizer logs, `kac denied` says so, and does not claim that nothing was denied."""
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


# -- lines of authorizer logs: as brokers wrote them, with any names, and with names that look like such lines ---------

AT = datetime(2026, 11, 21, 10, 0, 0, 123000)
HEAD = "[2026-11-21 10:00:00,123] INFO "
BEHIND = " (kafka.authorizer.logger)"
OF_BOB = "Principal = User:bob is Denied operation = DESCRIBE from host = 10.0.0.9 on resource = Group:LITERAL:"
TAIL = " for request = FindCoordinator with resourceRefCount = 1 based on rule DefaultDeny"


def of_bob(group: str) -> str:
    """Return the message of a broker's log that denies bob the right to describe a group."""
    return f"{OF_BOB}{group}{TAIL}"


def found_in(text: str, cut: int | None = None) -> list[Check | Damaged]:
    """Return what is found in an authorizer log: decisions and damaged lines. cut: read it in blocks of at least so
    many bytes, which end at line breaks; None for one block.
    """
    data = text.encode()
    blocks, begin = [], 0
    while begin < len(data):
        end = len(data) if cut is None else data.find(b"\n", begin + cut) + 1 or len(data)
        blocks.append((begin, data[begin:end]))
        begin = end
    return [*checks(blocks)]


def decisions(found: Sequence[Check | Damaged]) -> list[Check]:
    return [each for each in found if isinstance(each, Check)]


def reasons(found: Sequence[Check | Damaged]) -> list[str]:
    return [each.reason for each in found if isinstance(each, Damaged)]


# -- lines of brokers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", VERSIONS)
def test_the_lines_of_a_release_are_read(release: str) -> None:
    text = (FOLDER / f"{release}.log").read_text()
    found = found_in(text)
    read = decisions(found)
    made = {
        (a.principal, a.operation, a.resource_type, a.resource_name, a.is_allowed) for a, _ in (c[3:] for c in read)
    }
    assert made >= DECIDED
    assert {check.access.principal for check in read} == {LOGGED_ALICE, LOGGED_BOB}, "nobody planted a line"
    assert set(reasons(found)) == {AMBIGUOUS}
    assert all(check.access.host == "127.0.0.1" and check.access.pattern_type == "LITERAL" for check in read)
    rules = {check.rule for check in read if not check.access.is_allowed}
    assert rules == ({None} if release == "2.8" else {"DefaultDeny"})


# -- random names ------------------------------------------------------------------------------------------------------

NAMES = st.text(min_size=1, max_size=40).filter(lambda name: not set(name) & set("\n\r"))
ACCESS_LINE = st.builds(
    Access,
    NAMES.map("User:{}".format),
    st.sampled_from(["10.0.0.7", "0:0:0:0:0:0:0:1", "fe80:0:0:0:1:2:3:4%eth0"]),
    st.sampled_from(["READ", "DESCRIBE_CONFIGS", "IDEMPOTENT_WRITE"]),
    st.sampled_from(["TOPIC", "TRANSACTIONAL_ID", "CLUSTER"]),
    st.just("LITERAL"),
    NAMES,
    st.sampled_from(["FETCH", "FIND_COORDINATOR", "ADD_PARTITIONS_TO_TXN"]),
    st.booleans(),
)


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def written(access: Access, rule: str | None, *, old: bool) -> str:
    """Return the message that a broker logs for a decision. old: whether in the form of AclAuthorizer, of older
    releases.
    """
    operation = f"Operation = {camel(access.operation)}" if old else f"operation = {access.operation}"
    by = "" if rule is None else f" based on rule {rule}"
    return (
        f"Principal = {access.principal} is {'Allowed' if access.is_allowed else 'Denied'} {operation} from host = "
        f"{access.host} on resource = {camel(access.resource_type)}:{access.pattern_type}:{access.resource_name} for "
        f"request = {camel(access.request)} with resourceRefCount = 3{by}"
    )


@given(access=ACCESS_LINE, rule=st.none() | NAMES, old=st.booleans(), is_json=st.booleans())
def test_what_is_written_is_read(access: Access, rule: str | None, old: bool, is_json: bool) -> None:
    message = written(access, rule, old=old)
    line = f"{HEAD}{message}{BEHIND}"
    if is_json:
        line = _as_json(message)
    found = authorizer.one_line(7, line.encode("utf-8", "surrogatepass"))
    assert found == Check(7, *_at(is_json), access, rule)


def _as_json(message: str) -> str:
    about = {"@timestamp": "2026-11-21T10:00:00.123Z", "level": "INFO", "loggerName": "kafka.authorizer.logger"}
    return json_text({**about, "message": message})


def _at(is_json: bool) -> tuple[datetime, int]:
    second = AT.replace(microsecond=0)
    return (second.replace(tzinfo=UTC) if is_json else second), 123


# -- names chosen by clients -------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *("\n", "g", "\r\n", "Principal = User:root", " is Denied operation = READ from host = 10.1.2.3", BEHIND, HEAD),
        *(" on resource = Topic:LITERAL:planted", TAIL, FORGED, f"{FORGED}\n", f"\n{FORGED}\n", of_bob("x")),
        *(_as_json(FORGED), f"{HEAD}{of_bob('y')}{BEHIND}\n", "\n\n", "{", '{"message":"'),
    ]
)


@given(
    names=st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=3),
    cut=st.none() | st.integers(1, 400),
)
@example([of_bob("x"), f"\n{HEAD}{FORGED}{BEHIND}\n{of_bob('x')}"], None)
def test_a_client_can_not_speak_for_another(names: list[str], cut: int | None) -> None:
    """Each decision that kac reads has the right principal and the right result, whatever names clients choose, unless
    the first line of a name ends like a message.
    """
    firsts = (f"{HEAD}{OF_BOB}{name.partition(chr(10))[0]}" for name in names if "\n" in name)
    assume(all(reasons(found_in(first)) == [lines.NO_END] for first in firsts))
    text = "".join(f"{HEAD}{of_bob(name)}{BEHIND}\n" for name in names)
    found = found_in(text, cut)
    assert {check.access.principal for check in decisions(found)} <= {LOGGED_BOB}
    assert {check.access[1:3] for check in decisions(found)} <= {("10.0.0.9", "DESCRIBE")}
    assert not any(check.access.is_allowed for check in decisions(found))
    assert found == found_in(text), "wherever a block ends"


@given(pieces=st.lists(PIECES, max_size=8))
@example([TAIL, "\n", BEHIND])
@example([TAIL, "\n", "g"])
@example([TAIL, "\n", HEAD, "Principal = User:root", BEHIND, "\n", "Principal = User:root"])
def test_a_client_can_not_have_a_log_refused(pieces: list[str]) -> None:
    """Whatever name a client chooses, kac reports no damage, if the log contains the end of the message with this
    name.
    """
    text = f"{HEAD}{of_bob(''.join(pieces))}{BEHIND}\n".encode()
    assert [
        row for batch in counted(Whose("c", 1, "f"), [(0, text)]) for row in batch.column("damaged").to_pylist() if row
    ] == []


@pytest.mark.parametrize("rule", [" based on rule DefaultDeny", ""])
def test_a_client_can_not_choose_the_request_and_the_rule(rule: str) -> None:
    planted = "payments for request = DeleteGroups with resourceRefCount = 1 based on rule"
    message = of_bob(planted).replace(" based on rule DefaultDeny", rule)
    assert reasons(found_in(f"{HEAD}{message}{BEHIND}\n")) == [AMBIGUOUS]
    # A name with a line break may contain a request of the client's choice, so the request counts as unknown.
    first = "g for request = Chosen17 with resourceRefCount = 1"
    (check,) = decisions(found_in(f"{HEAD}{OF_BOB}{first}\n"))
    assert check.access.request == authorizer.UNKNOWN


def test_the_names_of_all_requests_are_known() -> None:
    assert {name.upper() for name in api_key_map.values()} <= authorizer.REQUESTS


def test_a_right_on_any_topic_is_read() -> None:
    message = f"{OF_BOB}{TAIL}".replace("Group:LITERAL:", "Topic:UNKNOWN:NONE")
    (check,) = decisions(found_in(f"{HEAD}{message}{BEHIND}\n"))
    assert (check.access.pattern_type, check.access.resource_name) == ("UNKNOWN", authorizer.ANY)


def test_a_name_of_several_lines_is_joined() -> None:
    after = decision(AT, "Denied")
    found = found_in(f"{HEAD}{of_bob(TWO_LINES)}{BEHIND}\n{after}")
    assert [check.access.resource_name for check in decisions(found)] == [TWO_LINES, "orders"]
    assert reasons(found) == []


def test_a_planted_line_is_nobodys_decision() -> None:
    before, after = decision(AT, "Denied", topic="before"), decision(AT, "Denied", topic="after")
    far = "[2026-11-21 10:00:00,123] INFO other (kafka.other)\n" * 2100
    found = found_in(f"{before}{HEAD}{of_bob(FORGING)}{BEHIND}\n{far}{after}")
    assert [check.access.resource_name for check in decisions(found)] == ["before", "after"]
    assert reasons(found) == [AMBIGUOUS]


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            f"{HEAD}Principal = User:a is Denied operation = READ from host = h on resource = Topic:LITERAL:o",
            lines.NO_END,
        ),
        (f"{HEAD}Principal = who knows{BEHIND}", authorizer.NO_DECISION),
        (of_bob("g"), lines.NO_TIME),
        (f"resource = Topic:LITERAL:o{TAIL}{BEHIND}", lines.NO_START),
    ],
)
def test_what_is_no_whole_line_is_kept_as_damaged(line: str, reason: str) -> None:
    assert reasons(found_in(f"{line}\n")) == [reason]
    good, far = decision(AT, "Denied"), "[2026-11-21 10:00:00,123] INFO other (kafka.other)\n" * 2100
    read = decisions(found_in(f"{good}{line}\n{far}{good}"))
    assert [check.access.resource_name for check in read] == ["orders"] * 2


def test_a_line_behind_a_cut_one_may_have_its_end() -> None:
    """If a group's name ends with the beginning of another decision, kac counts the line as ambiguous, because the rest
    of the line comes from the broker itself.
    """
    planted = f"g\n{FORGED.partition(' for request')[0]}"
    found = found_in(f"{HEAD}{of_bob(planted)}{BEHIND}\n")
    assert (decisions(found), reasons(found)) == ([], [AMBIGUOUS])


def test_other_messages_of_the_logger_are_no_decisions() -> None:
    """kac does not take AclAuthorizer's messages about the ACLs that it found for decisions, although clients choose
    the names in these messages.
    """
    named = "[2026-11-21 10:00:00,123] DEBUG No acl found for resource ResourcePattern(resourceType=GROUP, name={}, "
    named += f"patternType=LITERAL), authorized = false{BEHIND}\n"
    good = decision(AT, "Denied")
    for name in ("g", FORGED, FORGING, f"{FORGED}\n", f"g, patternType={FORGING}"):
        found = found_in(named.format(name) + good)
        assert [check.access.resource_name for check in decisions(found)] == ["orders"]
        assert reasons(found) == []
    found = found_in(named.format(f"\n{FORGED}") + good)
    assert (decisions(found), reasons(found)) == ([], [AMBIGUOUS]), "what is behind it is not sure"


def test_checks_of_super_users_are_no_damage() -> None:
    said = f"{HEAD}principal = User:admin is a super user, allowing operation without checking acls."
    good = decision(AT, "Allowed")
    for behind in (BEHIND, "", f"{BEHIND}\r"):
        found = found_in(f"{said}{behind}\n{good}" * 3)
        assert (len(decisions(found)), reasons(found)) == (3, [])
    # The same words in the name of a group do not hide the end of that name.
    name = f"g\n{said}"
    found = found_in(f"{HEAD}{of_bob(name)}{BEHIND}\n{good}")
    assert [check.access.resource_name for check in decisions(found)] == [name, "orders"]


def test_long_attacks_take_a_second() -> None:
    """The search for decisions takes less than five seconds of CPU time, even if each of 16,000 lines could be the end
    of a decision that begins in an earlier line.
    """
    begin = f"{HEAD}{OF_BOB}g\n"
    text = (begin + f"x{TAIL}{BEHIND}\n" * 400) * 40
    assert cpu_seconds(lambda: found_in(text), 5.0) < 5


def test_a_line_that_goes_on_behind_a_cut_one_is_nobodys() -> None:
    """If a broker was killed while it wrote a message, and its next message follows in the same line, kac counts the
    line as ambiguous.
    """
    text = f"{HEAD}Principal = User:root is Den{decision(AT, 'Denied')}"
    found = found_in(text)
    assert (decisions(found), reasons(found)) == ([], [AMBIGUOUS])


def test_a_line_of_another_logger_is_none() -> None:
    assert found_in("[2026-11-21 10:00:00,123] INFO started (kafka.server.KafkaServer)\n\n{}\n") == []


@given(st.binary(max_size=300), st.binary(max_size=100))
def test_bytes_break_nothing(one: bytes, other: bytes) -> None:
    text = b"".join((one, HEAD.encode(), of_bob("\0").encode().replace(b"\0", other), b"\n", one))
    batches = [*counted(Whose("c", 1, "f"), [(0, text)])]
    assert batches[-1].column("lines").to_pylist()[-1] >= 0


# -- rows per minute, and the source of Spark --------------------------------------------------------------------------


def rows(batches: Iterator[Any], kind: str) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.column(kind).to_pylist() if row is not None]


def test_minutes_have_counts_ends_and_the_last_rule() -> None:
    text = "".join(
        decision(AT + timedelta(seconds=seconds), word, rule=rule)
        for seconds, word, rule in (
            *((0, "Denied", "first"), (30, "Denied", "last"), (10, "Denied", "between")),
            *((59, "Allowed", None), (60, "Denied", "next")),
        )
    ).encode()
    found = rows(counted(Whose("c", 3, "f", "Europe/Berlin"), [(0, text)]), "minute")
    short = [
        (row["minute"], row["is_allowed"], row["checks"], row["first_ts"], row["last_ts"], row["rule"]) for row in found
    ]
    nine = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
    milli = timedelta(milliseconds=123)
    assert short == [
        (nine, False, 3, nine + milli, nine + timedelta(seconds=30) + milli, "last"),
        (nine, True, 1, nine + timedelta(seconds=59) + milli, nine + timedelta(seconds=59) + milli, None),
        (nine + timedelta(minutes=1), False, 1, *[nine + timedelta(minutes=1) + milli] * 2, "next"),
    ]
    assert {(row["cluster_id"], row["broker_id"], row["principal"], row["request"]) for row in found} == {
        ("c", 3, LOGGED_ALICE, "FETCH")
    }


def test_parts_of_a_file_have_each_line_once(tmp_path: Path) -> None:
    path = tmp_path / "kafka-authorizer.log"
    with path.open("w") as file:
        file.writelines(
            decision(AT + timedelta(seconds=number), "Denied", topic=f"t{number % 7}") for number in range(500)
        )
    log = log_files.BrokerLog("c", 1, log_files.plan([str(path)], {}).spans, logger=loggers.AUTHORIZER.name)
    parts = log_files.parts_of([log], 3000)
    assert len(parts) > 20
    total: Counter[str] = Counter()
    for part in parts:
        for row in rows(log_files.read_part(part), "minute"):
            total[row["resource_name"]] += row["checks"]
    assert total == Counter(f"t{number % 7}" for number in range(500))


def source(path: Path, bad: float = 0.01, zone: str = "UTC") -> AuthorizerLogs:
    return AuthorizerLogs(Settings("", Inputs(authorizer_logs=(AuthorizerLog((f"{path}*",), "c", 1, zone),)), "", bad))


def read(of: AuthorizerLogs, start: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read a batch of authorizer logs from the offset `start`; return the end offset and the rows."""
    end = of.newest(start)
    return end, [row for part in of.parts(start, end) for batch in of.read(part) for row in batch.to_pylist()]


def test_a_source_reads_on_through_a_rotation_and_refuses_another_log(tmp_path: Path) -> None:
    path = tmp_path / "kafka-authorizer.log"
    path.write_text(decision(AT, "Denied") * 3)
    of = source(path)
    end, first = read(of, of.beginning)
    path.rename(tmp_path / "kafka-authorizer.log.2026-11-21-10")
    path.write_text(decision(AT + timedelta(hours=1), "Denied") * 2)
    end, second = read(of, end)
    counts = [sum(row["minute"]["checks"] for row in found if row["minute"]) for found in (first, second)]
    assert counts == [3, 2]
    assert of.newest(end) == end
    other = tmp_path / "server.log"
    other.write_text("[2026-11-21 10:00:00,123] INFO started (kafka.server.KafkaServer)\n" * 200)
    with pytest.raises(
        UnreadableInput, match=r"authorizer log of c/1 .* lines of other loggers.* Set kafka\.authorizer"
    ):
        source(other).newest(of.beginning)
    with pytest.raises(UnreadableInput, match="No authorizer log of broker 1 is at"):
        source(tmp_path / "none").newest(of.beginning)


def test_much_damage_is_refused_and_odd_names_are_not(tmp_path: Path) -> None:
    good, bad = decision(AT, "Denied"), f"{HEAD}Principal = who knows{BEHIND}\n"
    path = tmp_path / "kafka-authorizer.log"
    of_a_name = -(-(100_000 - len(good)) // len(bad))
    path.write_text(good * 200 + bad * (of_a_name + 10))
    of = source(path)
    with pytest.raises(TooMuchIsBad, match="10 of 210 lines"):
        read(of, of.beginning)
    planted = f"\n{BEHIND}" * 1100
    path.write_text(good * 200 + f"{HEAD}{of_bob(f'g{TAIL}{planted}')}{BEHIND}\n" + good * 200)
    _, found = read(of, of.beginning)
    assert sum(row["minute"]["checks"] for row in found if row["minute"]) == 401
    path.write_text(good * 200 + f"{HEAD}{of_bob(FORGED)}{BEHIND}\n" * 100)
    _, found = read(of, of.beginning)
    assert sum(row["minute"]["checks"] for row in found if row["minute"]) == 200
    quarantined = [row["quarantined"] for row in found if row["quarantined"]]
    assert {(each["reason"], each["source"]) for each in quarantined} == {(AMBIGUOUS, "authorizer_log")}
    assert "root" not in "".join(each["sample"] for each in quarantined), "samples are masked"


@pytest.mark.parametrize("year", ["0001", "9000", "9999"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_a_name_with_a_time_far_away_stops_nothing(tmp_path: Path, year: str, zone: str) -> None:
    """If a client puts a line with a year far away into the name of a group, the read does not end at this line, and
    the line gives no row.
    """
    path = tmp_path / "kafka-authorizer.log"
    edge = "01-01 00:00:00,000" if year == "0001" else "12-31 23:30:00,000"
    good, planted = decision(AT, "Denied"), FORGED.replace("2026-11-30 01:02:03,004", f"{year}-{edge}")
    for name in (f"x\n[{year}-{edge}] INFO Principal = y", f"x{TAIL}{BEHIND}\n{planted}\ny"):
        path.write_text(good * 3 + f"{HEAD}{of_bob(name)}{BEHIND}\n" + good * 3)
        of = source(path, 1, zone)
        _, found = read(of, of.beginning)
        assert sum(row["minute"]["checks"] for row in found if row["minute"]) >= 3
        assert {row["minute"]["minute"].year for row in found if row["minute"]} == {2026}


def test_a_client_can_not_make_two_brokers_of_one(tmp_path: Path) -> None:
    """If a client's text in a log looks like the address of another broker, kac does not refuse the log as one of two
    brokers.
    """
    path = tmp_path / "kafka-authorizer.log"
    for number, address in enumerate("ab"):
        at = AT + timedelta(hours=number)
        planted = f'"connection":"{address}:1-\n[2030-01-01 00:00:00,000] INFO Principal = y'
        text = decision(at, "Denied") + f"{HEAD}{of_bob(planted)}{BEHIND}\n"
        path.with_name(f"{path.name}.{number}").write_text(text)
    of = source(path)
    assert len(of.parts(of.beginning, of.newest(of.beginning))) == 2


def test_a_log_is_not_of_two_brokers(tmp_path: Path) -> None:
    path = tmp_path / "kafka-authorizer.log"
    path.write_text(decision(AT, "Denied"))
    logs = tuple(AuthorizerLog((str(path),), "c", broker) for broker in (1, 2))
    with pytest.raises(UnreadableInput, match="given as the authorizer log of c/1 and of c/2"):
        AuthorizerLogs(Settings("", Inputs(authorizer_logs=logs), "")).newest(AuthorizerLogs.beginning)
    assert RequestLog(("x",), "c", 1) != AuthorizerLog(("x",), "c", 1)
