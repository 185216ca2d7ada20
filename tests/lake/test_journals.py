"""Tests of kac's journals as rows of a lake: they equal what kac itself reads, whether read at once or in pieces. No
secret is in them, and damaged lines are quarantined.
"""

import json
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.journal import entries as journal_entries
from console.journal.file import JournalFile
from console.journal.history import history
from console.lake import plans, schema
from console.lake.inputs import Inputs, Journals
from console.lake.journals import read_journal
from console.lake.lake import Lake
from console.lake.landing import JOURNAL as LANDED
from console.model import codes, failure, journal_lines, quota
from console.model.changes import NewTopic, ScramUser, Status
from console.model.cluster import Broker, LogRange, Partition, ScramCredential, Topic
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigResource, broker_resource, topic_resource
from console.model.secret import Secret
from console.plan import edits as plan_edits
from console.plan.kinds.registrations import RemoveRegistration
from console.plan.staged import UNREAD, Staged, Was
from tests.support import worlds
from tests.support.examples import examples

AT = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
WHO = journal_lines.Who("alice", "bob", "carol", "10.1.2.3")
CLUSTER = "odd/id_1"
PLANTED = "planted-password-8842"
ACL = worlds.acl("User:a", "READ", "TOPIC", "orders:eu")
CONNECTOR = ConfigResource(codes.CONNECTOR, "main/orders")
PAIR = quota.QuotaEntity.of({"user": "a,b", "client-id": None})
SCRAM = ScramUser("dave", codes.ScramMechanism.parse("SCRAM-SHA-256"))
TOPIC = Topic(
    "orders", (Partition(0, 1, (1, 2), (1,)), Partition(1, 2, (2, 1), (2,))), topic_id="jBoaEDhbVBKNssPD7v9pjw"
)


def entry(name: str, value: str | None, source: codes.ConfigSource, *, sensitive: bool = False) -> ConfigEntry:
    return ConfigEntry(name, value, source, sensitive=sensitive)


def row(
    kind: str,
    key: str,
    attribute: str,
    op: str,
    value: str | None = None,
    old: str | None = None,
    source: str | None = None,
    *,
    hidden: bool = False,
) -> tuple[Any, ...]:
    """Return an expected row. source: the source of the old value. hidden: whether the value is sensitive, so it is not
    in the row.
    """
    return kind, key, attribute, op, value, old, source, hidden


# Each kind of edit, its former state, and its rows.
EDITS: list[tuple[plan_edits.Edit, Was, list[tuple[Any, ...]]]] = [
    (
        plan_edits.SetConfig(topic_resource("orders"), "retention.ms", "1"),
        entry("retention.ms", "7", codes.DYNAMIC_TOPIC_CONFIG),
        [row("topic", "orders", "retention.ms", "set", "1", "7", "DYNAMIC_TOPIC_CONFIG")],
    ),
    (
        plan_edits.UnsetConfig(topic_resource("orders"), "segment.ms"),
        entry("segment.ms", "9", codes.DEFAULT_CONFIG),
        [row("topic", "orders", "segment.ms", "delete", None, None, "DEFAULT_CONFIG")],
    ),
    (
        plan_edits.SetConfig(broker_resource(2), "ssl.keystore.password", Secret(PLANTED)),
        entry("ssl.keystore.password", None, codes.STATIC_BROKER_CONFIG, sensitive=True),
        [row("broker", "2", "ssl.keystore.password", "set", None, None, "STATIC_BROKER_CONFIG", hidden=True)],
    ),
    (
        # Kafka does not know the key, and hides its value; the journal does not know that.
        plan_edits.SetConfig(CLUSTER_DEFAULT, "a.plugin.of.ours", PLANTED),
        UNREAD,
        [row("broker", "<default>", "a.plugin.of.ours", "set", hidden=True)],
    ),
    (
        plan_edits.AppendConfig(topic_resource("orders"), "cleanup.policy", "compact"),
        None,
        [row("topic", "orders", "cleanup.policy", "append", "compact")],
    ),
    (
        plan_edits.SubtractConfig(topic_resource("orders"), "cleanup.policy", "delete"),
        None,
        [row("topic", "orders", "cleanup.policy", "subtract", "delete")],
    ),
    (
        plan_edits.SetConfig(ConfigResource(codes.GROUP, "billing"), "consumer.session.timeout.ms", "50000"),
        None,
        [row("group", "billing", "consumer.session.timeout.ms", "set", "50000")],
    ),
    (
        plan_edits.SetConfig(ConfigResource(codes.CLIENT_METRICS, "all"), "interval.ms", "100"),
        None,
        [row("client-metrics", "all", "interval.ms", "set", "100")],
    ),
    (
        plan_edits.SetConfig(CONNECTOR, "tasks.max", "4"),
        entry("tasks.max", "2", codes.ConfigSource(codes.CONNECTOR.entity.own_source)),
        [row("connector", "main/orders", "tasks.max", "set", "4", "2", "DYNAMIC_CONNECTOR_CONFIG")],
    ),
    (
        # A plugin's key: no release of Kafka defines its type.
        plan_edits.SetConfig(CONNECTOR, "connection.url", f"jdbc:x?password={PLANTED}"),
        None,
        [row("connector", "main/orders", "connection.url", "set", hidden=True)],
    ),
    (
        plan_edits.CreateConnector("main/orders", {"topics": "orders", "db.password": Secret(PLANTED)}, "PAUSED"),
        UNREAD,
        [
            row("connector", "main/orders", ":state", "set", "PAUSED"),
            row("connector", "main/orders", "db.password", "set", hidden=True),
            row("connector", "main/orders", "topics", "set", "orders"),
        ],
    ),
    (plan_edits.StopConnector("main/orders"), UNREAD, [row("connector", "main/orders", ":state", "set", "STOPPED")]),
    (plan_edits.RestartConnector("main/orders", only_failed=True), UNREAD, []),
    (plan_edits.DeleteConnector("main/orders"), UNREAD, [row("connector", "main/orders", ":state", "delete")]),
    (
        plan_edits.SetConfig(ConfigResource(codes.BROKER_LOGGER, "1"), "kafka", "DEBUG"),
        None,
        [row("broker-logger", "1", "kafka", "set", "DEBUG")],
    ),
    (
        plan_edits.SetQuota(PAIR, "producer_byte_rate", 1048576.0),
        12.5,
        [row("quota", "user=a%2Cb,client-id=<default>", "producer_byte_rate", "set", "1048576", "12.5")],
    ),
    (
        plan_edits.UnsetQuota(quota.QuotaEntity.of({"ip": "10.0.0.1"}), "connection_creation_rate"),
        UNREAD,
        [row("quota", "ip=10.0.0.1", "connection_creation_rate", "delete")],
    ),
    (plan_edits.AddAcl(ACL), None, [row("acl", "TOPIC:LITERAL:orders%3Aeu", "ALLOW READ User:a from *", "set", "set")]),
    (
        plan_edits.RemoveAcl(ACL._replace(principal="User:b")),
        ACL._replace(principal="User:b"),
        [row("acl", "TOPIC:LITERAL:orders%3Aeu", "ALLOW READ User:b from *", "delete", None, "set")],
    ),
    (
        plan_edits.CreateTopic(NewTopic("new", 3, -1, (), {"retention.ms": "5", "a.secret": Secret(PLANTED)})),
        None,
        [
            row("topic", "new", ":partitions", "set", "3"),
            row("topic", "new", ":replication", "set"),
            row("topic", "new", "a.secret", "set", hidden=True),
            row("topic", "new", "retention.ms", "set", "5"),
        ],
    ),
    (
        plan_edits.CreateTopic(NewTopic("placed", assignments=((1, 2), (2, 3)))),
        None,
        [row("topic", "placed", ":partitions", "set", "2"), row("topic", "placed", ":replication", "set", "2")],
    ),
    (
        plan_edits.DeleteTopic("orders"),
        TOPIC,
        [row("topic", "orders", ":topic_id", "delete", None, "jBoaEDhbVBKNssPD7v9pjw")],
    ),
    (plan_edits.GrowTopic("orders", 12), TOPIC, [row("topic", "orders", ":partitions", "set", "12", "2")]),
    (
        plan_edits.UpsertScram(SCRAM, 8192, Secret(PLANTED)),
        ScramCredential(SCRAM.mechanism, 4096),
        [row("scram", "dave", "SCRAM-SHA-256", "set", None, "iterations=4096", hidden=True)],
    ),
    (
        plan_edits.DeleteScram(SCRAM),
        ScramCredential(SCRAM.mechanism, 4096),
        [row("scram", "dave", "SCRAM-SHA-256", "delete", None, "iterations=4096")],
    ),
    (plan_edits.TrimLog("orders", 0, 7), LogRange(3, 9), []),
    (RemoveRegistration(4), Broker(-1, "b4", 9092, "r1", fenced=True), []),
    (plan_edits.SetFeature("group.version", 1), 0, [row("feature", "group.version", ":level", "set", "1", "0")]),
]
THAT_SET = [each for each in EDITS if each[2]]
"""The edits that have rows. An action such as an election sets no lasting value, so it has none."""


def intent(
    edits: Sequence[tuple[plan_edits.Edit, Was]], requests: Sequence[Sequence[int]], at: datetime = AT
) -> journal_entries.Intent:
    entries = tuple(journal_entries.Entry(Staged(edit, was)) for edit, was in edits)
    made = tuple(journal_lines.Request("SOME_API", None, tuple(places)) for places in requests)
    return journal_entries.Intent(at, "prod", WHO, journal_lines.Origin("host-1", "run", 17), entries, made)


def line_of(record: journal_entries.Numbered | journal_entries.Note) -> bytes:
    return (
        journal_entries.intent_line(*record)
        if isinstance(record, journal_entries.Numbered)
        else journal_entries.note_line(record)
    )


def journal(folder: Path, *lines: bytes) -> Path:
    path = folder / "odd%2Fid_1.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def whole(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read a whole journal; return the rows of its changes, and its unreadable lines."""
    read = read_journal(path, 7).to_pylist()
    bad = [row["quarantined"] for row in read if row["quarantined"] is not None]
    return [row for row in read if row["quarantined"] is None], bad


def test_every_kind_of_edit_is_spelled_as_other_sources_spell_it(tmp_path: Path) -> None:
    change = intent([(edit, was) for edit, was, _ in EDITS], [range(len(EDITS))])
    done = journal_entries.Answered(
        1, 0, AT + timedelta(seconds=1), dict.fromkeys(range(len(EDITS)), journal_entries.Ended(Status.APPLIED))
    )
    path = journal(
        tmp_path,
        journal_entries.intent_line(1, change),
        journal_entries.note_line(journal_lines.Sending(1, 0, AT)),
        journal_entries.note_line(done),
    )
    rows, bad = whole(path)
    assert not bad
    names = ("entity_type", "entity_key", "attr", "op", "value", "old_value", "old_source", "is_sensitive")
    for place, (_, _, expected) in enumerate(EDITS):
        assert [tuple(row[name] for name in names) for row in rows if row["edit"] == place] == expected
    first = rows[0]
    assert first["cluster_id"] == CLUSTER
    assert (first["principal"], first["os_user"], first["client_host"]) == ("User:alice", "bob (by carol)", "10.1.2.3")
    assert (first["host"], first["door"], first["status"]) == ("host-1", "run", "applied")
    assert (first["intent_ts"], first["end_ts"]) == (AT, AT + timedelta(seconds=1))
    assert PLANTED not in repr(rows)


def test_what_a_broker_said_of_a_secret_is_not_repeated(tmp_path: Path) -> None:
    secret = plan_edits.SetConfig(CLUSTER_DEFAULT, "a.plugin.of.ours", PLANTED)
    plain = plan_edits.SetConfig(topic_resource("orders"), "retention.ms", "x")
    failed = journal_entries.Ended(
        Status.FAILED, failure.Failure("INVALID_CONFIG", f"Invalid value {PLANTED} for configuration")
    )
    other = journal_entries.Ended(Status.FAILED, failure.Failure("INVALID_CONFIG", "Invalid value x"))
    change = intent([(secret, None), (plain, None)], [[0, 1]])
    rows, _ = whole(
        journal(
            tmp_path,
            journal_entries.intent_line(1, change),
            journal_entries.note_line(journal_entries.Answered(1, 0, AT, {0: failed, 1: other})),
        )
    )
    assert [row["error"] for row in rows] == ["INVALID_CONFIG", "INVALID_CONFIG: Invalid value x"]
    assert {row["status"] for row in rows} == {"failed"}


def test_who_is_left_empty_where_only_the_brokers_know(tmp_path: Path) -> None:
    made = intent([(EDITS[0][0], None)], [[0]])
    told = [
        ("certificate", None),
        ("User:CN=x", "User:CN=x"),
        ("ANONYMOUS", "User:ANONYMOUS"),
        ("GSSAPI", None),
        ("AWS_MSK_IAM", None),
    ]
    lines = []
    for number, (name, _) in enumerate(told, 1):
        who = journal_lines.Who(name, "bob")
        lines.append(
            journal_entries.intent_line(
                number, journal_entries.Intent(AT, "c", who, made.origin, made.entries, made.requests)
            )
        )
    rows, _ = whole(journal(tmp_path, *lines))
    assert [row["principal"] for row in rows] == [expected for _, expected in told]


STATUSES = st.sampled_from([Status.APPLIED, Status.FAILED, Status.NOT_APPLIED, Status.UNKNOWN])

LOST = failure.Failure("TIMED_OUT", "no answer", "Look at it.")
ENDS = st.builds(journal_entries.Ended, STATUSES, st.sampled_from([None, LOST]))


@st.composite
def journals(draw: st.DrawFn) -> list[journal_entries.Numbered | journal_entries.Note]:
    """Draw the lines of a journal of several changes, mixed with each other: each change has one or two requests, and
    the outcomes of some of them.
    """
    threads: list[list[journal_entries.Numbered | journal_entries.Note]] = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        chosen = draw(st.lists(st.sampled_from(THAT_SET), min_size=1, max_size=4))
        places = range(len(chosen))
        cut = draw(st.integers(1, len(chosen)))
        requests = [group for group in (places[:cut], places[cut:]) if group]
        thread: list[journal_entries.Numbered | journal_entries.Note] = [
            journal_entries.Numbered(number, intent([(edit, was) for edit, was, _ in chosen], requests))
        ]
        for request, of in enumerate(requests):
            at = AT + timedelta(seconds=number * 10 + request)
            thread.append(journal_lines.Sending(number, request, at))
            thread.append(journal_entries.Answered(number, request, at, {place: draw(ENDS) for place in of}))
        thread = thread[: draw(st.integers(1, len(thread)))]
        if draw(st.booleans()):
            found = {
                place: draw(st.sampled_from([Status.APPLIED, Status.NOT_APPLIED, Status.UNKNOWN])) for place in places
            }
            thread.append(journal_lines.Settled(number, AT + timedelta(minutes=1), found))
        if draw(st.booleans()):
            said = draw(st.sampled_from([Status.APPLIED, Status.NOT_APPLIED]))
            thread.append(
                journal_lines.Decided(number, AT + timedelta(minutes=2), dict.fromkeys(places, said), WHO, "seen")
            )
            thread.append(journal_lines.Told(number, AT + timedelta(minutes=2)))
        if draw(st.booleans()):
            thread.append(journal_lines.Closed(journal_lines.Place(number, 0), AT, "it is to stay"))
        threads.append(thread)
    mixed: list[journal_entries.Numbered | journal_entries.Note] = []
    begun = 0
    while any(threads):
        # Numbers are given under a lock, so changes begin in order; their other lines come in any order.
        free = [n for n, thread in enumerate(threads) if thread and n <= begun]
        chosen_thread = draw(st.sampled_from(free))
        begun = max(begun, chosen_thread + 1)
        mixed.append(threads[chosen_thread].pop(0))
    return mixed


@given(journals())
@examples(15, at_length=30)
def test_edits_end_as_kac_itself_says(
    tmp_path_factory: pytest.TempPathFactory, records: list[journal_entries.Numbered | journal_entries.Note]
) -> None:
    path = journal(tmp_path_factory.mktemp("journal"), *map(line_of, records))
    rows, bad = whole(path)
    known = history(JournalFile(path).read().records)
    assert not bad
    said = {(row["change_id"], row["edit"]): row["status"] for row in rows}
    assert said == {
        (number, place): change.state(place).value
        for number, change in known.changes.items()
        for place in range(len(change.entries))
    }


class Reading:
    """A source of journals that is read again and again. It keeps the rows that would be in the lake, and the
    quarantined lines.
    """

    def __init__(self, lake: Path, *paths: Path) -> None:
        inputs = Inputs(journals=tuple(Journals(str(path)) for path in paths))
        self.source = plans.Journals(plans.Settings(str(lake), inputs, "", max_bad_ratio=1))
        self.at = self.source.initial()
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.bad: list[dict[str, Any]] = []

    def go_on(self) -> int:
        """Read the lines that are new since the last read; return the number of journals that were read."""
        start, end = self.at, json.loads(json.dumps(self.source.newest(self.at)))
        parts = self.source.parts(start, end)
        for part in parts:
            for batch in self.source.read(part):
                for row in batch.to_pylist():
                    if row["quarantined"] is not None:
                        self.bad.append(row["quarantined"])
                    else:
                        self.rows[tuple(row[name] for name in schema.JOURNAL.key)] = row
        self.at = end
        return len(parts)

    @property
    def known(self) -> list[dict[str, Any]]:
        return _sorted(self.rows.values())


def _sorted(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without the time at which they were read, sorted."""
    timeless = ({**row, "read_ts": None} for row in rows)
    return sorted(timeless, key=lambda row: (row["change_id"], row["edit"], row["attr"]))


@given(journals(), st.lists(st.integers(0, 10_000), max_size=4))
@examples(15, at_length=30)
def test_reading_piece_by_piece_comes_to_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[journal_entries.Numbered | journal_entries.Note],
    stops: list[int],
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    data = b"".join(map(line_of, records))
    path = journal(folder, data)
    reading = Reading(folder, folder)
    for stop in [*sorted(stop % (len(data) + 1) for stop in stops), len(data)]:
        path.write_bytes(data[:stop])
        reading.go_on()
    assert reading.known == _sorted(whole(path)[0])
    assert len({row["byte_pos"] for row in reading.bad}) <= len(stops), "a line that was only being written"
    assert reading.go_on() == 0


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    good = journal_entries.intent_line(1, intent([(EDITS[0][0], EDITS[0][1])], [[0]]))
    newer = b'{"v":9,"kind":"intent","password":"' + PLANTED.encode() + b'"}\n'
    cut = good[:40] + PLANTED.encode() + b"\n"
    mended = journal_entries.note_line(journal_lines.Mended(AT, WHO))
    last = journal_entries.intent_line(2, intent([(EDITS[1][0], EDITS[1][1])], [[0]]))
    tail = journal_entries.intent_line(3, intent([(EDITS[2][0], EDITS[2][1])], [[0]]))[:60]
    lines = [good, newer, cut, mended, b"[1]\n", last, good, tail]
    path = journal(tmp_path, *lines)
    rows, bad = whole(path)
    assert sorted({row["change_id"] for row in rows}) == [1, 2]
    places = [sum(map(len, lines[:n])) for n in (1, 2, 4, 6, 7)]
    assert [(row["byte_pos"], row["reason"]) for row in bad] == [
        (places[0], "its version is 9, this kac reads 1"),
        (places[1], "it was cut short, and ended by hand"),
        (places[2], "it is no JSON object"),
        (places[3], "change 1 occurs twice; the first counts"),
        (places[4], "it was cut short"),
    ]
    assert PLANTED not in repr(bad)
    path.write_bytes(path.read_bytes() + b"\n" + mended)
    assert [row["sha256"] for row in whole(path)[1]] == [row["sha256"] for row in bad], "which are quarantined once"


def test_a_journal_that_began_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    first = journal_entries.intent_line(1, intent([(EDITS[0][0], None)], [[0]]))
    path = journal(tmp_path, first, journal_entries.note_line(journal_lines.Sending(1, 0, AT)))
    reading = Reading(tmp_path, path)
    reading.go_on()
    other = intent([(EDITS[4][0], None)], [[0]], AT + timedelta(minutes=5))
    path.write_bytes(
        journal_entries.intent_line(1, other) + journal_entries.note_line(journal_lines.Sending(1, 0, AT)) * 9
    )
    assert reading.go_on() == 1
    assert not reading.bad
    assert sorted(row["attr"] for row in reading.rows.values()) == ["cleanup.policy", "retention.ms"]


def test_a_journal_that_is_not_there_is_left_out_and_stays_known(tmp_path: Path) -> None:
    path = journal(tmp_path, journal_entries.intent_line(1, intent([(EDITS[0][0], None)], [[0]])))
    reading = Reading(tmp_path, tmp_path / "gone.jsonl", tmp_path)
    assert reading.go_on() == 1
    known = reading.at
    text = path.read_bytes()
    path.unlink()
    assert (reading.go_on(), reading.at) == (0, known)
    path.write_bytes(text)
    os.utime(path, ns=(0, known["seen"][str(path)][0][1]))
    assert (reading.go_on(), reading.at) == (0, known)
    assert read_journal(tmp_path / "gone.jsonl", 7).num_rows == 0


def test_the_rows_fit_the_table(tmp_path: Path) -> None:
    path = journal(
        tmp_path, journal_entries.intent_line(1, intent([(edit, was) for edit, was, _ in EDITS], [range(len(EDITS))]))
    )
    rows = read_journal(path, 7)
    key = [tuple(row[name] for name in schema.JOURNAL.key) for row in rows.to_pylist()]
    assert len(set(key)) == len(key)
    assert tuple(rows.column_names) == schema.JOURNAL.names
    for column in schema.JOURNAL.columns:
        assert column.nullable or not rows.column(column.name).null_count, column.name


@given(journals(), st.lists(st.integers(0, 10_000), max_size=4))
@examples(15, at_length=30)
def test_a_journal_of_segments_is_read_as_one(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[journal_entries.Numbered | journal_entries.Note],
    cuts: list[int],
) -> None:
    """A journal in segments, which are read as they are written, gives the same rows as a single file, also if the
    lines of a change are in several segments.
    """
    lines = list(map(line_of, records))
    at_once = whole(journal(tmp_path_factory.mktemp("single"), *lines))[0]
    folder = tmp_path_factory.mktemp("journal")
    ends = sorted({cut % (len(lines) + 1) for cut in cuts})
    reading = Reading(folder, folder)
    for number, (begin, end) in enumerate(zip([0, *ends], [*ends, len(lines)], strict=True), 1):
        part = lines[begin:end]
        path = journal_lines.segment_path(folder / "odd%2Fid_1.jsonl", number)
        path.parent.mkdir(exist_ok=True)
        for half in (part[: len(part) // 2], part):
            path.write_bytes(b"".join(half))
            reading.go_on()
            assert not reading.bad
    assert reading.known == _sorted(at_once)
    assert reading.go_on() == 0


def test_a_line_of_a_segment_that_can_not_be_read_is_named_by_its_file(tmp_path: Path) -> None:
    first = journal(tmp_path, journal_entries.intent_line(1, intent([(EDITS[0][0], EDITS[0][1])], [[0]])))
    second = journal_lines.segment_path(first, 2)
    second.parent.mkdir()
    second.write_bytes(journal_entries.intent_line(2, intent([(EDITS[0][0], EDITS[0][1])], [[0]])) + b"[1]\n")
    rows, (row,) = whole(first)
    assert sorted({row["change_id"] for row in rows}) == [1, 2]
    assert (row["file"], row["byte_pos"]) == (str(second), second.stat().st_size - 4)


def test_a_change_of_any_segment_is_news_of_its_journal_alone(tmp_path: Path) -> None:
    line = journal_entries.intent_line(1, intent([(EDITS[0][0], None)], [[0]]))
    one, other = journal(tmp_path, line), tmp_path / "other.jsonl"
    other.write_bytes(line)
    reading = Reading(tmp_path, tmp_path)
    assert reading.go_on() == 2
    second = journal_lines.segment_path(one, 2)
    second.parent.mkdir()
    second.write_bytes(
        journal_entries.note_line(journal_entries.Answered(1, 0, AT, {0: journal_entries.Ended(Status.APPLIED)}))
    )
    assert reading.go_on() == 1
    assert {row["cluster_id"]: row["status"] for row in reading.rows.values()} == {
        CLUSTER: "applied",
        "other": "not sent",
    }


def test_what_was_delivered_is_deleted_once_it_is_in_the_lake(lake: Lake, tmp_path: Path) -> None:
    folder = Path(lake.path(LANDED))
    folder.mkdir(parents=True)
    own = journal(tmp_path, journal_entries.intent_line(1, intent([(EDITS[0][0], None)], [[0]])))
    landed = folder / "else.jsonl"
    landed.write_bytes(own.read_bytes())
    (folder / "link.jsonl").symlink_to(own)
    reading = Reading(Path(lake.where), own)
    assert reading.go_on() == 2
    assert {row["cluster_id"] for row in reading.rows.values()} == {CLUSTER, "else"}
    before = landed.read_bytes()
    landed.write_bytes(before + journal_entries.note_line(journal_lines.Sending(1, 0, AT)))
    reading.source.committed(reading.at)
    assert landed.exists(), "it was delivered again meanwhile"
    assert reading.go_on() == 1
    reading.source.committed(reading.at)
    assert (landed.exists(), own.exists(), (folder / "link.jsonl").is_symlink()) == (False, True, True)
    assert reading.go_on() == 0
