"""Tests of the file format of flight records: a reader gets the answers that were written, also from a file whose end
is damaged.
"""

import errno
import os
import random
import re
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.flight.answer import Answer, Header, Problem, RecordError
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.record_file import CHAIN, DEEPEST, MOST_FILE, MOST_MADE
from console.flight.store import Store, create

BEGAN = 1_700_000_000_000
HEAD = Header("cluster-1", "prod", BEGAN, "0.1.0")
EMPTY = 7 * 4096
"""Size in bytes of a record without answers: the pages of its tables."""


def edited(body: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for place, gone, put in edits:
        at = place % (len(body) + 1)
        body = body[:at] + put + body[at + gone :]
    return body


EDITS = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 300), st.binary(max_size=40)), max_size=5)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 4000),  # milliseconds since the step before
        st.integers(0, 2),  # the broker's number
        st.sampled_from([b"", b"request-a", b"request-b" * 30]),
        st.one_of(st.just([]), EDITS),
        st.integers(0, 9),
    ),
    max_size=60,
)


def answers_of(steps: list[tuple[int, int, bytes, list[tuple[int, int, bytes]], int]]) -> list[Answer]:
    now, made = BEGAN, []
    bodies: dict[tuple[int, bytes], bytes] = {}
    for later, node, request, edits, fate in steps:
        now += later
        asked = node, f"broker-{node}", 9092, 3, 12, request
        if fate == 0:
            problem = Problem("RequestTimedOut", "TIMED_OUT", f"broker-{node} is late", "Look at it.")
            made.append(Answer(now, later % 16, *asked, b"", problem))
        else:
            bodies[node, request] = edited(bodies.get((node, request), b"answer" * 40), edits)
            made.append(Answer(now, later % 16, *asked, bodies[node, request]))
    return made


def in_order(answers: Iterable[Answer]) -> list[Answer]:
    """Sort answers by time and question; equal ones keep their order."""
    return sorted(answers, key=lambda answer: (answer.at_ms, answer.asked))


def depths(path: Path) -> list[int]:
    """Return, for each payload of a record, the number of other payloads from which it is computed."""
    made: dict[int | None, int] = {None: -1}
    for number, base in sqlite3.connect(path).execute("SELECT id, base FROM payloads ORDER BY id"):
        made[number] = made[base] + 1
    return list(made.values())


def packed(path: Path) -> int:
    """Return the number of bytes of all compressed payloads in a record."""
    (size,) = sqlite3.connect(path).execute("SELECT sum(length(zstd)) FROM payloads").fetchone()
    return int(size)


def stored(path: Path, most_held: int) -> Store:
    """Return the writer of a new record that keeps at most `most_held` bytes of decompressed answers in memory."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    create(database)
    return Store(database, HEAD, most_held)


def write(path: Path, answers: list[Answer], header: Header = HEAD, append: bool = False) -> None:
    writer = FlightWriter(path, header, append)
    for answer in answers:
        writer.add(answer)
    writer.close()


@given(steps=STEPS)
def test_all_answers_come_out_in_the_order_of_time(steps: list) -> None:
    with TemporaryDirectory() as folder:
        path, answers = Path(folder) / "record", answers_of(steps)
        write(path, answers)
        reader = FlightReader(path)
        assert (reader.damage, reader.header) == ("", HEAD)
        assert in_order(reader.answers()) == in_order(answers)
        assert list(reader.times) == [answer.at_ms for answer in answers]


@given(steps=STEPS, data=st.data())
def test_each_answer_is_found_by_its_time_alone(steps: list, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path, answers = Path(folder) / "record", answers_of(steps)
        write(path, answers)
        at = data.draw(st.integers(BEGAN - 1, BEGAN + 100_000))
        reader = FlightReader(path)
        expected = {answer.asked: answer for answer in answers if answer.at_ms <= at}
        last = {reader.asked(index): index for index, time in enumerate(reader.times) if time <= at}
        assert {asked: reader.answer(index) for asked, index in last.items()} == expected


def read(reader: FlightReader) -> list[Answer]:
    """Return the answers that a reader can read."""
    found = []
    for index in range(len(reader)):
        with suppress(RecordError):
            found.append(reader.answer(index))
    return found


@given(steps=STEPS, data=st.data())
def test_of_a_file_that_is_cut_anywhere_what_is_there_is_read(steps: list, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path, answers = Path(folder) / "record", answers_of(steps)
        write(path, answers)
        whole = path.read_bytes()
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
        try:
            reader = FlightReader(path)
        except RecordError:
            return  # the tables are cut off
        assert "read up to there" in reader.damage
        assert all(answer in answers for answer in read(reader))


@given(steps=STEPS.filter(bool), data=st.data())
def test_a_changed_byte_makes_no_answer_that_was_not_given(steps: list, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path, answers = Path(folder) / "record", answers_of(steps)
        write(path, answers)
        whole = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(whole)
        with suppress(RecordError):
            assert all(answer in answers for answer in read(FlightReader(path)))


def test_a_record_goes_on_in_a_further_part(tmp_path: Path) -> None:
    path = tmp_path / "record"
    first = Answer(BEGAN + 5, 1, 1, "a", 9092, 3, 12, b"", b"body" * 50)
    write(path, [first, first._replace(at_ms=BEGAN + 1005, body=b"other" * 50), first._replace(at_ms=BEGAN + 1006)])
    later = Header("cluster-2", "prod", BEGAN + 2000, "0.1.0")
    given = [first._replace(at_ms=BEGAN + 2005 + at) for at in range(3)]
    write(path, given, later, append=True)
    reader = FlightReader(path)
    assert reader.headers == (HEAD, later)
    assert [answer.at_ms - BEGAN for answer in reader.answers()] == [5, 1005, 1006, 2005, 2006, 2007]
    assert list(reader.answers(3)) == given
    assert not reader.damage


def test_what_was_written_is_there_while_it_is_written_and_after_a_kill(tmp_path: Path) -> None:
    """A reader gets all flushed answers of a record that is still written, and of one whose writer was killed. Until
    the record is closed, its last pages are in a file next to it; a killed process leaves both files.
    """
    path, left = tmp_path / "record", tmp_path / "left"
    writer, given = FlightWriter(path, HEAD), []
    for poll in range(300):
        given.append(Answer(BEGAN + poll * 2000, 1, 1, "a", 9092, 3, 12, b"", os.urandom(3000)))
        writer.add(given[-1])
        writer.flush()
        if poll % 50 == 0:
            assert list(FlightReader(path).answers()) == given
    for each in ("", "-wal"):
        shutil.copy(f"{path}{each}", f"{left}{each}")
    before = sorted(file.name for file in tmp_path.iterdir())
    reader = FlightReader(left)
    assert (list(reader.answers()), reader.damage) == (given, "")
    assert sorted(file.name for file in tmp_path.iterdir()) == before
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("record*")} == {0o600}
    writer.close()
    assert sorted(file.name for file in tmp_path.glob("record*")) == ["record"]
    write(left, [given[0]._replace(at_ms=BEGAN + 700_000)], append=True)
    assert len(FlightReader(left)) == 301


def test_a_record_says_to_sqlite_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "record"
    bodies = [b"a" * 100, b"b" * 100, b"b" * 100]
    write(path, [Answer(BEGAN + at, 1, 7, "a", 9092, 3, 12, b"", body) for at, body in enumerate(bodies)])
    database = sqlite3.connect(path)
    said = dict(database.execute("SELECT name, text FROM meta"))
    assert "flight record of kac" in said["what"]
    rows = [("2023-11-14 22:13:20", 7, "metadata", 100, None)] * 2
    assert database.execute(said["answers by time"]).fetchall() == rows
    for (sql,) in database.execute("SELECT sql FROM sqlite_master"):
        assert "  -- " in sql.splitlines()[1]
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_record_is_deleted_by_age_with_what_the_page_says(tmp_path: Path) -> None:
    path = tmp_path / "record"
    given = [
        Answer(BEGAN + 10_000 * poll, 1, node, "a", 9092, 3, 12, b"", b"%d" % (poll // 4 * node) + b"x" * 999)
        for poll in range(60)
        for node in range(3)
    ]
    write(path, given)
    page = Path("docs/record.md").read_text("utf-8")
    (statements,) = re.findall(r"```sql\n(DELETE.*?)```", page, re.DOTALL)
    cutoff = BEGAN + 400_000
    database = sqlite3.connect(path)
    database.executescript(statements.replace("TIME", str(cutoff)))
    database.close()
    reader = FlightReader(path)
    assert reader.damage == ""
    found = list(reader.answers())
    assert [answer for answer in found if answer.at_ms >= cutoff] == [each for each in given if each.at_ms >= cutoff]
    assert len(found) < len(given) * 2 // 3


def test_a_file_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "record"
    write(path, [])
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        FlightWriter(path, HEAD)


def database_with(path: Path, *statements: str) -> Path:
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()
    return path


def test_other_files_and_other_versions_are_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"hello" * 100)
    (tmp_path / "empty").write_bytes(b"")
    database_with(tmp_path / "another", "CREATE TABLE answers (id)")
    for name, *changes in (
        ("newer", "PRAGMA user_version = 3"),
        ("unmade", "DELETE FROM parts"),
        ("odd", "UPDATE parts SET context = x'00'"),
    ):
        write(tmp_path / name, [])
        database_with(tmp_path / name, *changes)
    for name, words in (
        ("text", "is no flight record"),
        ("empty", "is no flight record"),
        ("another", "is no flight record"),
        ("newer", "format 3; this kac reads 1"),
        ("unmade", "no header"),
        ("odd", "can't be read"),
    ):
        with pytest.raises(RecordError, match=words) as told:
            FlightReader(tmp_path / name)
        assert "\n" not in str(told.value)


def test_text_that_is_no_unicode_is_kept_as_far_as_it_can_be(tmp_path: Path) -> None:
    path = tmp_path / "record"
    problem = Problem("Unreachable", "UNREACHABLE", "host \udce4 is unknown", "")
    write(path, [Answer(BEGAN, 1, -1, "\udce4", 9092, 3, 12, b"", b"", problem)])
    (answer,) = FlightReader(path).answers()
    assert (answer.host, answer.problem) == ("?", problem._replace(message="host ? is unknown"))


def test_what_does_not_change_costs_next_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "record"
    body = os.urandom(100_000)
    quiet = [Answer(BEGAN + 2000 * poll, 3, 1, "a", 9092, 3, 12, b"", body) for poll in range(1800)]
    write(tmp_path / "first", quiet[:1])
    write(path, quiet)
    assert path.stat().st_size < (tmp_path / "first").stat().st_size + 20_000
    assert len(FlightReader(path)) == 1800


def test_an_answer_late_in_a_long_record_is_made_of_few_others(tmp_path: Path) -> None:
    path = tmp_path / "record"
    writer = FlightWriter(path, HEAD)
    for poll in range(20 * CHAIN):
        body = b"%08d" % poll + b"x" * 1000
        writer.add(Answer(BEGAN + poll, 0, 1, "a", 9092, 3, 12, b"", body))
    writer.close()
    reader = FlightReader(path)
    assert reader.answer(len(reader) - 1).body == body
    assert max(depths(path)) == CHAIN


def test_answers_to_very_many_questions_are_made_of_few_others(tmp_path: Path) -> None:
    """An answer that is stored as a difference from another one is computed from a chain of at most `DEEPEST`
    others.
    """
    path = tmp_path / "record"
    writer = FlightWriter(path, HEAD)
    for poll in range(5 * DEEPEST):
        writer.add(Answer(BEGAN + poll, 0, 1, "a", 9092, 3, 12, b"%d" % (poll // 2) * 50, b"%d" % poll * 500))
    writer.close()
    reader = FlightReader(path)
    assert reader.damage == ""
    assert 0 < max(depths(path)) <= DEEPEST
    assert [answer.body for answer in reader.answers()] == [b"%d" % poll * 500 for poll in range(5 * DEEPEST)]


def test_large_answers_are_made_of_no_more_than_is_read_again(tmp_path: Path) -> None:
    size = MOST_MADE // 5
    path, body = tmp_path / "record", bytearray(size)
    store = stored(path, 3 * size)
    for poll in range(7):
        body[poll * 1000] = 1
        store.add(Answer(BEGAN + poll, 0, 1, "a", 9092, 3, 12, b"", bytes(body)))
        store.flush()
    reader = FlightReader(path)
    assert [sum(answer.body) for answer in reader.answers()] == list(range(1, 8))
    assert sum(reader.answer(6).body) == 7
    assert depths(path)[2:] == [0] * 7  # too large for a prefix


@pytest.mark.parametrize("size", [0, 1, 7, 8, 100, (256 << 10) - 1, 256 << 10, 3 << 20])
def test_answers_of_any_size_come_out(tmp_path: Path, size: int) -> None:
    path, chance = tmp_path / "record", random.Random(size)
    body = chance.randbytes(size)
    bodies = [body, body[: size // 2], body + b"y", b"", body + b"x", body[size // 2 :], body]
    write(path, [Answer(BEGAN + at, 0, 1, "a", 9092, 3, 12, b"", each) for at, each in enumerate(bodies)])
    assert [answer.body for answer in FlightReader(path).answers()] == bodies
    assert path.stat().st_size < 2.1 * size + EMPTY + 8 * 4096


def test_equal_answers_of_brokers_are_kept_once_also_after_errors(tmp_path: Path) -> None:
    path, body = tmp_path / "record", random.Random(7).randbytes(30_000)
    given = []
    for poll in range(40):
        for node in range(4):
            answered = b"error" if node == poll % 4 else body[: 500 * poll] + b"%04d" % poll + body[500 * poll :]
            given.append(Answer(BEGAN + 2000 * poll + node, 0, node, "a", 9092, 3, 12, b"", answered))
    write(path, given)
    assert list(FlightReader(path).answers()) == given
    assert path.stat().st_size < len(body) + EMPTY + 40 * 350


def test_what_is_held_to_find_changes_is_bounded_and_counted_once(tmp_path: Path) -> None:
    path, chance = tmp_path / "record", random.Random(8)
    store, given = stored(path, 100_000), []
    for poll in range(400):
        node, request = poll % 3, b"%d" % (poll // 3 % 40)
        body = request * 2000 + b"%d" % chance.randrange(3)
        given.append(Answer(BEGAN + poll, 0, node, "a", 9092, 3, 12, request, body))
        store.add(given[-1])
        assert store._raw_size == sum(map(len, store._raw.values())) <= 100_000
    store.flush()
    assert list(FlightReader(path).answers()) == given


def test_how_long_an_answer_took_is_kept(tmp_path: Path) -> None:
    path, times = tmp_path / "record", [0, 1, 7, 15, 16, 17, 31, 100, 999, 1023, 1024, 5_000, 123_456]
    write(path, [Answer(BEGAN, took, took, "a", 9092, 3, 12, b"", b"x") for took in times])
    assert [answer.took_ms for answer in FlightReader(path).answers()] == times


def test_an_answer_that_is_like_that_to_another_question_takes_little(tmp_path: Path) -> None:
    """Answers of two brokers to the same question, or about overlapping sets of partitions, take few additional bytes
    in a flight record.
    """
    chance = random.Random(5)
    parts = [b"%06d" % number + chance.randbytes(120) for number in range(300)]
    path = tmp_path / "record"
    writer = FlightWriter(path, HEAD)
    asked = [(1, 0, 300), (2, 0, 300), (1, 50, 150), (1, 60, 140)]
    for poll, (node, start, end) in enumerate(asked):
        body = b"".join(parts[start:end])
        writer.add(Answer(BEGAN + 2000 * poll, 1, node, "a", 9092, 2, 9, b"%d" % start * 20, body))
        if not poll:
            writer.flush()
            known = packed(path)
    writer.close()
    assert packed(path) - known < 500
    found = [answer.body for answer in FlightReader(path).answers()]
    assert found == [b"".join(parts[start:end]) for _, start, end in asked]


def test_numbers_that_grow_take_their_places_alone(tmp_path: Path) -> None:
    """If only numbers change between two answers, each changed number takes fewer than 9 bytes on average, also in a
    large answer.
    """
    chance = random.Random(6)
    offsets = [chance.randrange(1 << 40) for _ in range(40_000)]
    growing = chance.sample(range(len(offsets)), 200)
    path = tmp_path / "record"
    writer = FlightWriter(path, HEAD)
    for poll in range(60):
        body = b"".join(b"partition %04d" % place + each.to_bytes(8) for place, each in enumerate(offsets))
        writer.add(Answer(BEGAN + 2000 * poll, 1, 1, "a", 9092, 2, 9, b"", body))
        if not poll:
            writer.flush()
            known = packed(path)
        for place in growing:
            offsets[place] += chance.randrange(5000)
    writer.close()
    assert (packed(path) - known) / 59 < 9 * len(growing)
    assert len({answer.body for answer in FlightReader(path).answers()}) == 60


def test_an_answer_that_is_the_first_or_came_again_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "record"
    store = stored(path, 1 << 30)
    body = b"".join(b"team-%03d.events" % number for number in range(10_000))
    bodies = [body, body, body, body + b"x", body + b"x", body, b"y" + body]
    given = [Answer(BEGAN + at, 0, 1, "a", 9092, 3, 12, b"", each) for at, each in enumerate(bodies)]
    held = []
    for answer in given:
        store.add(answer)
        held.append(store._raw_size)
    assert held == [0, 0, 0, len(body) + 1, 0, 0, len(body) + 1]  # a changed answer may change again
    store.flush()
    assert list(FlightReader(path).answers()) == given


def test_a_long_request_is_not_held(tmp_path: Path) -> None:
    """The writer does not keep long requests in memory, such as the repeated request for the offsets of all
    partitions.
    """
    path = tmp_path / "record"
    store = stored(path, 1 << 30)
    names = b"".join(b"team-%03d.events" % number for number in range(5_000))
    questions = [b"%d" % number + names for number in range(4)]
    given = [
        Answer(BEGAN + at, 0, 1, "a", 9092, 2, 9, question, b"%d" % at) for at, question in enumerate(questions * 3)
    ]
    given[6] = given[6]._replace(body=b"", problem=Problem("RequestTimedOut", "TIMEOUT", "", ""))
    for answer in given:
        store.add(answer)
    assert sum(len(asked.request) for asked in store.known) < 100
    store.flush()
    assert packed(path) < len(names)
    assert list(FlightReader(path).answers()) == given


def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path) -> None:
    writer = FlightWriter(tmp_path / "record", HEAD)
    (most,) = writer.database.execute("PRAGMA max_page_count").fetchone()
    assert most * 4096 == MOST_FILE  # readers refuse a larger file
    writer.database.execute("PRAGMA max_page_count = 20")
    with pytest.raises(OSError, match="full") as told:  # noqa: PT012 - it may be said at either
        writer.add(Answer(BEGAN, 0, 1, "a", 9092, 3, 12, b"", os.urandom(500_000)))
        writer.flush()
    assert told.value.errno == errno.ENOSPC
    with suppress(OSError):
        writer.close()
    assert len(FlightReader(tmp_path / "record")) == 0
