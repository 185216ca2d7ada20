"""Tests of files from unknown authors: if a file is not a valid record, journal, lease or plan, reading it raises an
error of the format, and takes little memory.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from console.admin.errors import TlsFailed
from console.admin.jwt import token_in_file
from console.admin.settings import ConnectionSettings, Store, TlsSettings
from console.admin.tls import ssl_context
from console.contexts.client_files import read_file
from console.contexts.context import ContextError
from console.files.plan_file import FORMAT as PLAN
from console.files.plan_file import VERSION as PLAN_VERSION
from console.files.plan_file import read_plan
from console.flight.answer import Answer, Header, RecordError
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.record_file import DEEPEST, MOST_MADE, Repeats, crc_of, squeezed
from console.journal import file as journal_file
from console.journal import segments
from console.journal.entries import Numbered, intent_line, this_process
from console.journal.file import JournalFile, journal_path
from console.journal.operations import BELIEVED, LEASE, Holder, Lease, is_held
from console.journal.segments import JournalError, segment_folder
from console.lake.files import LARGEST_HOLDER, Filesystem, LakeBusy, holder_of
from console.lake.files import this_process as this_run
from console.lake.journals import read_journal
from console.model import journal_lines
from console.model.foreign_json import json_of
from console.model.journal_lines import LONGEST_LINE, VERSION, BadLine, Mended, Origin, line_of, read_line, time_text
from console.model.numbers import LAST_MS
from console.model.yaml_places import FileProblem
from console.session.command_history import CommandHistory
from console.session.muted_causes import MutedCauses
from tests.unit.test_journal_file import AT, INTENT, WHO, numbers

DEEP = "[" * 100_000
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WRONG_TIMES: st.SearchStrategy[object] = st.sampled_from(
    ["", "10000-01-01T00:00:00Z", "2026-03-01T12:00:00", "Infinity", "9" * 30, 7, None, []]
)
WRONG_PIDS: st.SearchStrategy[object] = st.sampled_from(["12", "", -1, 1 << 40, 1.5, True, None, [], {}])


# -- JSON --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [DEEP, "Infinity", "-Infinity", "NaN", "1e400", '{"a": -1e999}', "", "{", '"\\ud8'])
def test_what_json_does_not_have_is_one_error(text: str) -> None:
    for form in (text, text.encode()):
        with pytest.raises(ValueError, match=r"\w"):
            json_of(form)


@given(JSON)
def test_all_other_json_is_read(data: object) -> None:
    try:
        text = json.dumps(data, allow_nan=False)
    except ValueError:
        return
    assert json_of(text) == data


# -- the journal, the lease, plans -------------------------------------------------------------------------------------


def lease_text(by: object, until: object) -> bytes:
    return json.dumps({"by": by, "until": until}).encode()


ME = {"host": "elsewhere", "door": "moves", "pid": 7, "started": "x"}


@given(JSON)
@example({"kind": "sending"})
def test_any_json_in_a_journal_is_a_bad_line_or_a_record(data: object) -> None:
    for each in (data, {"v": VERSION, "kind": "change", **(data if isinstance(data, dict) else {})}):
        with suppress(BadLine):
            read_line(json.dumps(each).encode(), line_of)


@pytest.mark.parametrize("text", [DEEP, f'{{"v": {VERSION}, "kind": {DEEP}', f'{{"v": {VERSION}, "n": Infinity}}'])
def test_deep_json_in_a_journal_is_a_bad_line(text: str) -> None:
    with pytest.raises(BadLine):
        read_line(text.encode(), line_of)


def lease_of(tmp_path: Path, content: bytes) -> Lease:
    lease = Lease(tmp_path / "A.jsonl", this_process("moves"))
    lease.free()  # makes the folder
    lease._path.write_bytes(content)
    return lease


@given(st.binary(max_size=60) | st.builds(lambda data: json.dumps(data).encode(), JSON))
@example(DEEP.encode())
def test_a_lease_that_is_none_holds_nothing(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    lease = lease_of(tmp_path_factory.mktemp("lease"), content)
    assert lease.holder(NOW) is None
    assert lease.take(NOW) is None


@given(WRONG_PIDS, WRONG_TIMES)
def test_a_lease_with_a_wrong_pid_or_time_holds_nothing(
    tmp_path_factory: pytest.TempPathFactory, pid: object, until: object
) -> None:
    good = time_text(NOW + LEASE)
    for content in (lease_text({**ME, "pid": pid}, good), lease_text(ME, until)):
        lease = lease_of(tmp_path_factory.mktemp("lease"), content)
        assert lease.holder(NOW) is None
        assert lease.take(NOW) is None
    assert lease_of(tmp_path_factory.mktemp("lease"), lease_text(ME, good)).holder(NOW) is not None


@given(st.timedeltas(timedelta(-1), timedelta(days=4000)))
def test_another_hosts_clock_is_believed_for_a_bounded_time(ahead: timedelta) -> None:
    held = is_held(Holder(Origin(**ME), NOW + ahead), NOW)  # type: ignore[arg-type]
    assert held is (timedelta() < ahead <= LEASE + BELIEVED)


@given(JSON, WRONG_TIMES)
@example(float("inf"), "")
def test_any_json_in_a_plan_is_a_problem_of_the_file(data: object, made: object) -> None:
    place = {"op": "set-config", "resource": ["TOPIC", "a"], "key": "k"}
    for edits in (data, [data], [{"edit": data}], [{"edit": place | {"value": data}, "was": data}]):
        document = {"format": PLAN, "version": PLAN_VERSION, "cluster_id": "A", "made": made, "edits": edits}
        with pytest.raises(FileProblem):
            read_plan(json.dumps(document), "plan.json")


def test_a_deep_plan_and_a_deep_state_file_of_an_embedded_cluster_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileProblem):
        read_plan(f'{{"format": "{PLAN}", "edits": {DEEP}', "plan.json")
    from console.embedded.state_file import StateFileError, read_state

    (tmp_path / "state.json").write_text(DEEP)
    with pytest.raises(StateFileError, match="is not a state file"):
        read_state(tmp_path / "state.json", None)


# -- flight records ----------------------------------------------------------------------------------------------------


def record(path: Path, *statements: tuple[str, tuple[object, ...]]) -> Path:
    """Write a flight record with one answer, change it by SQL statements, and return its path. Changed rows of
    questions and answers get valid checksums.
    """
    writer = FlightWriter(path, Header("A", "c"))
    writer.add(FIRST)
    writer.close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    for statement, values in statements:
        database.execute(statement, values)
    is_view = database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'view'").fetchone()[0]
    for table in () if is_view else ("questions", "answers"):
        for *row, _ in database.execute(f"SELECT * FROM {table}").fetchall():
            with suppress(UnicodeEncodeError):
                database.execute(f"UPDATE {table} SET crc = ? WHERE id = ?", (crc_of(tuple(row)), row[0]))
    database.commit()
    database.close()
    return path


FIRST = Answer(0, 0, 1, "h", 9092, 3, 12, b"request", b"body")
REQUEST, BODY, NUMBER = 1, 2, 1 << 40
"""The ids of the payloads of `FIRST`, and the id of the first added row."""


def answer_row(payload: int | None, *, at_ms: object = 0, number: object = NUMBER) -> tuple[str, tuple[object, ...]]:
    return "INSERT INTO answers VALUES (?, ?, 0, 1, ?, NULL, 0)", (number, at_ms, payload)


def payload_row(number: int, base: object, size: object, cell: object) -> tuple[str, tuple[object, ...]]:
    return "INSERT INTO payloads VALUES (?, ?, ?, ?)", (number, base, size, cell)


def repeats_row(cell: object, *, number: object = 2 * NUMBER, at_ms: object = 0) -> tuple[str, tuple[object, ...]]:
    return "INSERT INTO repeats VALUES (?, ?, 0, ?)", (number, at_ms, cell)


def columns(count: int, *, question: int = 1, after: int = 0, took: int = 0, further: int = 1) -> bytes:
    said = Repeats([question] * count, [0, *[further] * (count - 1)], [after] * count, [took] * count)
    return squeezed(msgspec.json.encode(said))


def test_many_equal_answers_in_a_small_file_take_little_memory(tmp_path: Path) -> None:
    """Counting the answers of a record of half a million equal answers takes little memory, because the reader frees
    each unpacked cell.
    """
    count = 60_000
    many = [repeats_row(columns(count), number=NUMBER + at * count) for at in range(9)]
    path = record(tmp_path / "a.flight", *many)
    assert path.stat().st_size < 40_000
    code = (
        "import resource, sys; from pathlib import Path; from console.flight.flight_reader import FlightReader\n"
        "most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = most(); reader = FlightReader(Path(sys.argv[1])); took = most() - before\n"
        "assert (len(reader), reader.damage, reader.answer(540_000).body) == (540_001, '', b'body')\n"
        "print(took >> 10)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150  # MiB; with all cells unpacked it was 330


def unread(reader: FlightReader, index: int) -> str:
    """Return the message of the error that reading the answer at an index raises."""
    with pytest.raises(RecordError) as told:
        reader.answer(index)
    return str(told.value)


def test_an_answer_that_is_made_of_gigabytes_is_an_error(tmp_path: Path) -> None:
    size = 30 << 20
    zeros = bytes(size)
    count = MOST_MADE // size + 1
    again = squeezed(zeros, zeros)
    made = [payload_row(10 + at, 9 + at, size, again) for at in range(1, count)]
    given = [answer_row(10 + at, number=NUMBER + at) for at in range(count)]
    path = record(tmp_path / "a.flight", payload_row(10, None, size, squeezed(zeros)), *made, *given)
    assert path.stat().st_size < 150_000
    reader = FlightReader(path)
    assert (len(reader), reader.damage) == (count + 1, "")
    assert "made of more than" in unread(reader, count)
    assert reader.answer(1).body == zeros


def test_an_answer_that_is_larger_than_any_is_an_error(tmp_path: Path) -> None:
    """The reader does not unpack an answer of `MOST_MADE` bytes, whether its payload's stored size is right, too small
    or missing; it returns all other answers.
    """
    bomb = squeezed(bytes(MOST_MADE))
    for number, size in enumerate((MOST_MADE, 100, -1, "100", 1.5, 1 << 62, None)):
        rows = [payload_row(10, None, size, bomb)] if size is not None else [payload_row(10, None, 4, "text")]
        path = record(tmp_path / f"{number}.flight", *rows, answer_row(10))
        assert path.stat().st_size < 80 << 10
        reader = FlightReader(path)
        tracemalloc.start()
        assert unread(reader, 1)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
        tracemalloc.stop()
        assert reader.answer(0).body == b"body"


def test_an_answer_that_is_made_of_very_many_is_an_error(tmp_path: Path) -> None:
    data = b"x" * 100
    made = [payload_row(10 + at, 9 + at if at else None, 100, squeezed(data, data)) for at in range(DEEPEST + 3)]
    reader = FlightReader(record(tmp_path / "a.flight", *made, answer_row(10 + DEEPEST + 2)))
    assert "made of more than" in unread(reader, 1)


@pytest.mark.parametrize(
    ("base", "why"), [(10, "come before"), (11, "come before"), (5, "not there"), (b"1", "come before")]
)
def test_a_payload_is_made_of_those_before_it_alone(tmp_path: Path, base: object, why: str) -> None:
    """The reader refuses a payload that is based on itself, on a later payload or on a missing one, so that bases can't
    be circular.
    """
    made = payload_row(10, base, 7, squeezed(b"another")), payload_row(11, 10, 7, squeezed(b"another"))
    reader = FlightReader(record(tmp_path / "a.flight", *made, answer_row(10)))
    assert why in unread(reader, 1)
    assert reader.answer(0).body == b"body"


def test_cells_that_are_longer_than_what_they_say_are_damage(tmp_path: Path) -> None:
    plain = b"[[1],[0],[0],[0]]"
    for number, cell in enumerate(
        (
            squeezed(plain + b" " * (50 << 20)),
            squeezed(plain + b"]"),
            squeezed(plain) + b"more",
            squeezed(plain)[:-1],
            columns((1 << 16) + 1),
        )
    ):
        reader = FlightReader(record(tmp_path / f"{number}.flight", repeats_row(cell)))
        assert (len(reader), reader.damage[:7]) == (1, "damaged")


UPDATE = "UPDATE answers SET "
WRONG_ROWS: dict[str, tuple[str, tuple[object, ...]]] = {
    "to no question": repeats_row(columns(1, question=2)),
    "to a question below none": repeats_row(columns(1, question=-1)),
    "numbers that stand": repeats_row(columns(2, further=0)),
    "numbers that go back": repeats_row(columns(2, further=-1)),
    "columns of two lengths": repeats_row(squeezed(b"[[1],[0],[0],[0,0]]")),
    "three columns": repeats_row(squeezed(b"[[1],[0],[0]]")),
    "before 1970": repeats_row(columns(1, after=-1)),
    "before it was asked": repeats_row(columns(1, took=-1)),
    "after the end of time": repeats_row(columns(1, took=LAST_MS + 1)),
    "a question that is true": repeats_row(squeezed(b"[[true],[0],[0],[0]]")),
    "a number beyond 64 bits": repeats_row(squeezed(b"[[1],[0],[1e300],[0]]")),
    "a cell of text": repeats_row("[[1],[0],[0],[0]]"),
    "a cell at no time": repeats_row(columns(1), at_ms="then"),
    "nothing": repeats_row(b""),
    "a map": repeats_row(squeezed(b"{}")),
    "no answer and no problem": answer_row(None),
    "an answer and a problem": ('INSERT INTO answers VALUES (1099511627776, 0, 0, 1, 2, \'["a","b","c","d"]\', 0)', ()),
    "a problem of three words": ('INSERT INTO answers VALUES (1099511627776, 0, 0, 1, NULL, \'["a","b","c"]\', 0)', ()),
    "a problem that is none": ("INSERT INTO answers VALUES (1099511627776, 0, 0, 1, NULL, 'late', 0)", ()),
    "a time in text": answer_row(BODY, at_ms="then"),
    "a time beyond 64 bits": answer_row(BODY, at_ms=1e300),
    "a problem in bytes": ("INSERT INTO answers VALUES (1099511627776, 0, 0, 1, NULL, x'ff', 0)", ()),
    "an answer below none": answer_row(BODY, number=-7),
    "a question in bytes": ("UPDATE questions SET host = x'ff'", ()),
    "a question without its request": ("UPDATE questions SET request = 77", ()),
}


@pytest.mark.parametrize("wrong", WRONG_ROWS.values(), ids=WRONG_ROWS)
def test_rows_that_can_not_be_are_damage_and_those_before_are_read(
    tmp_path: Path, wrong: tuple[str, tuple[object, ...]]
) -> None:
    reader = FlightReader(record(tmp_path / "a.flight", wrong))
    assert reader.damage[:7] == "damaged"
    assert len(reader) in ((0,) if "questions" in wrong[0] or -7 in wrong[1] else (1, 2))
    assert all(answer == FIRST for answer in reader.answers())
    assert FlightReader(record(tmp_path / "b.flight", answer_row(BODY), repeats_row(columns(3)))).damage == ""


@given(JSON)
@example(json.loads("[" * 200 + "]" * 200))
def test_any_repeats_are_read_or_damage(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    path = tmp_path_factory.mktemp("record") / "a.flight"
    reader = FlightReader(record(path, repeats_row(squeezed(json.dumps(data).encode()))))
    assert (len(reader), bool(reader.damage)) == (1, True)


@pytest.mark.parametrize("text", [b"[" * 100_000, b"[[" + b"1," * 3_000_000, b"", b"\xc1", b"[[1],[0],[0],[0]"])
def test_deep_and_endless_repeats_are_damage(tmp_path: Path, text: bytes) -> None:
    path = record(tmp_path / "a.flight", repeats_row(squeezed(text)))
    tracemalloc.start()
    reader = FlightReader(path)
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()
    assert (len(reader), reader.damage[:7]) == (1, "damaged")


CELLS = st.one_of(st.none(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(), st.text(max_size=9), st.binary())
TABLES_OF_RECORDS = ("parts", "questions", "payloads", "answers", "repeats")


@given(st.sampled_from(TABLES_OF_RECORDS), st.integers(0, 9), CELLS)
def test_any_cell_is_read_or_damage(
    tmp_path_factory: pytest.TempPathFactory, table: str, column: int, cell: object
) -> None:
    path = record(tmp_path_factory.mktemp("record") / "a.flight", repeats_row(columns(3)))
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    names = [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]
    try:
        database.execute(f"UPDATE {table} SET {names[column % len(names)]} = ?", (cell,))
        database.commit()
    except (sqlite3.Error, UnicodeEncodeError):
        reject()
    finally:
        database.close()
    try:
        reader = FlightReader(path)
    except RecordError:
        assert table == "parts"
        return
    for index in range(len(reader)):
        with suppress(RecordError):
            reader.answer(index)
    for at in reader.times:
        datetime.fromtimestamp(at / 1000, UTC)


@pytest.mark.parametrize("began_ms", [-1, LAST_MS + 1, 1 << 62])
def test_a_record_that_begins_at_no_time_is_none(tmp_path: Path, began_ms: int) -> None:
    with pytest.raises(RecordError, match="begins at no time"):
        FlightReader(record(tmp_path / "a.flight", ("UPDATE parts SET began_ms = ?", (began_ms,))))


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x"
OTHER_TABLES = {
    "a view more": ["CREATE VIEW more AS " + ENDLESS + " FROM n"],
    "a view that never ends in place of a table": [
        "DROP TABLE answers",
        "CREATE VIEW answers AS " + ENDLESS + " AS id, 0 AS at_ms, 0 AS took_ms, 1, 2, NULL, 0 FROM n",
    ],
    "a trigger": ["CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM meta; END"],
    "an index with an expression": ["CREATE INDEX i ON answers (abs(at_ms))"],
    "a table more": ["CREATE TABLE more (id)"],
    "statistics": ["ANALYZE"],
    "a computed column": ["ALTER TABLE meta ADD COLUMN made GENERATED ALWAYS AS (hex(zeroblob(99999999)))"],
    "other columns": ["DROP TABLE meta", "CREATE TABLE meta (name, text)"],
    "a table that is missing": ["DROP TABLE meta"],
    "a virtual table": ["DROP TABLE meta", "CREATE VIRTUAL TABLE meta USING fts5(name, text)"],
    "very many": [f"CREATE TABLE t{number} (id)" for number in range(2000)],
    "a very long one": ["DROP TABLE meta", f"CREATE TABLE meta ({', '.join(f'c{at}' for at in range(1900))})"],
}


@pytest.mark.parametrize("statements", OTHER_TABLES.values(), ids=OTHER_TABLES)
def test_other_tables_are_refused_before_anything_is_read(tmp_path: Path, statements: list[str]) -> None:
    path = record(tmp_path / "a.flight", *[(statement, ()) for statement in statements])
    began = time.thread_time()
    with pytest.raises(RecordError, match=r"is no flight record|is damaged"):
        FlightReader(path)
    assert time.thread_time() - began < 1


def test_pages_that_lead_in_a_circle_are_damage(tmp_path: Path) -> None:
    """If a database page names, for all its children but the first, the first child, the page itself or a missing
    page, the reader reports damage, and returns some of the answers.
    """
    path = record(tmp_path / "a.flight", *[answer_row(BODY, number=NUMBER + at) for at in range(2000)])
    whole = bytearray(path.read_bytes())
    root = next(at for at in range(4096, len(whole), 4096) if whole[at] == 5)  # a page of pointers to other pages
    count = int.from_bytes(whole[root + 3 : root + 5])
    cells = [int.from_bytes(whole[root + 12 + 2 * at : root + 14 + 2 * at]) for at in range(count)]
    first = whole[root + cells[0] : root + cells[0] + 4]
    for number, child in enumerate((first, (root // 4096 + 1).to_bytes(4), b"\xff" * 4, bytes(4))):
        changed = bytearray(whole)
        for cell in cells[1:]:
            changed[root + cell : root + cell + 4] = child
        other = tmp_path / f"{number}.flight"
        other.write_bytes(changed)
        reader = FlightReader(other)
        assert (reader.damage[:7], 0 < len(reader) < 2000) == ("damaged", True)


def test_nothing_next_to_a_record_is_trusted_or_changed(tmp_path: Path) -> None:
    """The reader neither uses nor changes the files next to a record: a WAL of other pages, a rollback journal that
    names a file to delete, and the shared memory of another process; at last a pipe in place of the WAL.
    """
    path = record(tmp_path / "a.flight")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    journal = bytes.fromhex("d9d505f920a163d7") + bytes(504) + str(victim).encode()
    for side, content in (("-wal", b"\x37\x7f\x06\x82" + b"x" * 5000), ("-journal", journal), ("-shm", b"x" * 32768)):
        (tmp_path / f"a.flight{side}").write_bytes(content)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert list(FlightReader(path).answers()) == [FIRST]
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
    (tmp_path / "a.flight-wal").unlink()
    os.mkfifo(tmp_path / "a.flight-wal")
    with pytest.raises(OSError, match="plain file"):
        FlightReader(path)


@pytest.mark.parametrize("side", ["-wal", "-journal", "-shm"])
@pytest.mark.parametrize("append", [False, True])
def test_a_link_next_to_a_record_is_not_written_through(tmp_path: Path, side: str, append: bool) -> None:
    path, victim = tmp_path / "a.flight", tmp_path / "victim"
    victim.write_text("mine")
    if append:
        record(path)
    (tmp_path / f"a.flight{side}").symlink_to(victim)
    with pytest.raises(OSError, match="no regular file of this user"):
        FlightWriter(path, Header(), append)
    assert victim.read_text() == "mine"


def test_a_record_loads_nothing_and_changes_nothing(tmp_path: Path) -> None:
    database = FlightReader(record(tmp_path / "a.flight"))._database
    for statement in (
        "SELECT load_extension('x')",
        "DELETE FROM meta",
        "ATTACH 'other' AS other",
        "SELECT writefile(1)",
    ):
        with pytest.raises(sqlite3.Error):
            database.execute(statement)


# -- folders -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o755, 0o1777, 0o2775])
def test_a_record_leaves_the_folder_of_its_file_as_it_is(tmp_path: Path, mode: int) -> None:
    from console.flight.flight_writer import FlightWriter

    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    writer = FlightWriter(folder / "a.flight", Header())
    writer.add(Answer(1, 1, 1, "h", 1, 3, 12, b"", b"x"))
    writer.close()
    assert folder.stat().st_mode & 0o7777 == mode
    assert (folder / "a.flight").stat().st_mode & 0o777 == 0o600


def test_kacs_own_folder_becomes_private_and_one_behind_a_link_stays(tmp_path: Path) -> None:
    from console.safe_files import open_private

    own, elsewhere = tmp_path / "kac", tmp_path / "elsewhere"
    for folder in (own, elsewhere):
        folder.mkdir()
        folder.chmod(0o755)
    (tmp_path / "linked").symlink_to(elsewhere)
    for folder in (own, tmp_path / "linked"):
        os.close(open_private(folder / "kac.log", os.O_WRONLY))
    assert own.stat().st_mode & 0o777 == 0o700
    assert elsewhere.stat().st_mode & 0o777 == 0o755
    assert (elsewhere / "kac.log").stat().st_mode & 0o777 == 0o600


# -- devices, pipes, folders and endless files -------------------------------------------------------------------------


def endless(path: Path, kind: str) -> None:
    """Replace a file by a device, a pipe, a folder, or a sparse file of 4 TiB."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "device":
            path.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            with path.open("wb") as file:
                file.truncate(1 << 42)


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "sparse"])
def test_what_is_no_file_or_does_not_end_is_never_read_on(tmp_path: Path, kind: str) -> None:
    """If a file is a device, a pipe, a folder or 4 TiB long, each reader raises an error or finds nothing, at once and
    with little memory.
    """
    endless(record := tmp_path / "x.kacrec", kind)
    with pytest.raises((RecordError, OSError)):
        FlightReader(record)
    with pytest.raises((RecordError, OSError)):
        FlightWriter(record, Header(), append=True)
    endless(tmp_path / "muted.json", kind)
    assert MutedCauses(tmp_path / "muted.json").read("x") == {}
    endless(tmp_path / "commands", kind)
    assert CommandHistory(tmp_path / "commands").read() == []
    journal = tmp_path / "journal.jsonl"
    endless(segment_folder(journal) / "operations.lease", kind)
    with suppress(OSError):
        assert Lease(journal, this_process("tests")).holder(NOW) is None
    endless(segment_folder(journal) / "open.json", kind)
    assert JournalFile(journal).open().records == ()
    if kind != "sparse":  # the tests of lines without an end cover it
        endless(other := tmp_path / "other.jsonl", kind)
        for read in (JournalFile(other).read, JournalFile(other).open, JournalFile(other).numbers):
            with pytest.raises(JournalError, match="it is no plain file"):
                read()
        with pytest.raises(OSError, match=r"it is no plain file|Is a directory"):
            read_journal(other, 0)
    if kind in ("device", "sparse"):
        endless(file := tmp_path / "token", kind)
        for of_file in (token_in_file, read_file, _store):
            with pytest.raises((ValueError, ContextError, TlsFailed), match="larg"):
                of_file(file)


def _store(path: Path) -> None:
    ssl_context(ConnectionSettings((("h", 1),), security_protocol="SSL", tls=TlsSettings(trust=Store("PEM", path))))


# -- lines without an end ----------------------------------------------------------------------------------------------

LINE = b'{"v":1,"kind":"intent","change":%d,"at":"2026-03-04T00:00:00.000Z","context":"c",'
LONGEST = 4 << 20
"""Maximum length of a journal line in bytes, in place of `LONGEST_LINE`, so that these tests read less."""
ENDLESS = 8 * LONGEST
"""Length in bytes of a line that is mostly a hole in the file, so that it takes no space on the disk."""


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (journal_lines, journal_file, segments):
        monkeypatch.setattr(module, "LONGEST_LINE", LONGEST)


def journal_with(path: Path, *, is_ended: bool) -> list[int]:
    """Write a journal with changes 1 and 2, and the beginning of change 3 in a line of `ENDLESS` bytes. If `is_ended`,
    that line ends and change 4 follows. Return the position of the hole in bytes, and the size of the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(intent_line(1, INTENT) + intent_line(2, INTENT) + LINE % 3)
        before = file.tell()
        file.truncate(before + ENDLESS)
        file.seek(before + ENDLESS)
        if is_ended:
            file.write(b"}\n" + intent_line(4, INTENT))
        return [before, file.tell()]


def most_memory(do: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("short_lines")
def test_a_journal_is_read_around_a_line_without_an_end(tmp_path: Path) -> None:
    """A reader skips a line that is too long and names it in a problem, in bounded memory; a new change gets the next
    number.
    """
    path = journal_path(tmp_path / "state", "c")
    journal_with(path, is_ended=True)
    too_long = f"line 3 of {path} can't be read: it is longer than 4 MiB"

    def read() -> None:
        for journal in (JournalFile(path), JournalFile(path)):
            assert numbers(journal.read()) == [1, 2, 4]
            assert journal.read().problems == (too_long,)
            assert numbers(journal.open()) == [1, 2, 4]
            assert journal.open().problems == (too_long,)
            assert [each.number for each in journal.latest() if isinstance(each, Numbered)] == [4, 2, 1]
            assert numbers(journal.around(2)) == [2, 4]
            assert journal.numbers() == (1, 4)
        assert JournalFile(path).begin(INTENT) == 5

    assert most_memory(read) < 4 * LONGEST


@pytest.mark.usefixtures("short_lines")
def test_a_journal_ends_with_a_line_without_an_end(tmp_path: Path) -> None:
    path = journal_path(tmp_path / "state", "c")
    journal_with(path, is_ended=False)

    def read() -> None:
        journal = JournalFile(path)
        assert numbers(journal.read()) == [1, 2]
        (said,) = journal.read().problems
        assert f"line 3 of {path} was cut short" in said
        assert [each.number for each in journal.latest() if isinstance(each, Numbered)] == [2, 1]
        with pytest.raises(JournalError, match="was cut short"):
            journal.begin(INTENT)
        assert journal.mend(Mended(AT, WHO))
        assert journal.begin(INTENT) == 4

    assert most_memory(read) < 4 * LONGEST


@pytest.mark.usefixtures("short_lines")
def test_a_line_without_an_end_is_damage_to_a_lake(tmp_path: Path) -> None:
    before, size = journal_with(tmp_path / "c.jsonl", is_ended=True)
    read_journal(tmp_path / "c.jsonl", 0)  # imports the reader's modules before the measurement
    rows: list[dict[str, Any]] = []
    assert most_memory(lambda: rows.extend(read_journal(tmp_path / "c.jsonl", 0).to_pylist())) < 4 * LONGEST
    assert [row["change_id"] for row in rows if row["quarantined"] is None] == [1, 2, 4]
    (bad,) = (row["quarantined"] for row in rows if row["quarantined"] is not None)
    assert (bad["file"], bad["reason"]) == (str(tmp_path / "c.jsonl"), "it is longer than 4 MiB")
    assert bad["byte_pos"] == before - len(LINE % 3)
    assert size > ENDLESS


def test_a_change_whose_line_would_be_too_long_is_not_sent(tmp_path: Path) -> None:
    journal = JournalFile(journal_path(tmp_path / "state", "c"))
    assert journal.begin(INTENT) == 1
    long = msgspec.structs.replace(INTENT, context="x" * LONGEST_LINE)
    with pytest.raises(JournalError, match="its line in the journal would have 32 MiB, more than 32"):
        journal.begin(long)
    assert journal.begin(INTENT) == 2


@pytest.mark.parametrize("text", [b"x" * (LARGEST_HOLDER + 1), b"[" * 50_000, b'{"pid": 1}', b'"x"'])
def test_a_lakes_lock_that_names_nobody_is_nobodys(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(text)
    with Filesystem().lock(str(path), this_run("r", "tests")) as lock:
        assert lock.former is None
        with pytest.raises(LakeBusy, match="`tests` of"), Filesystem().lock(str(path), this_run("s", "tests")):
            pass


@given(WRONG_PIDS)
def test_a_lakes_holder_with_a_wrong_pid_is_none(pid: object) -> None:
    holder = json.loads(this_run("r", "tests").text)
    assert holder_of(json.dumps(holder).encode()) is not None
    assert holder_of(json.dumps({**holder, "pid": pid}).encode()) is None


@given(JSON)
def test_any_json_of_muted_causes_mutes_what_it_can(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    path = tmp_path_factory.mktemp("muted") / "muted.json"
    path.write_text(json.dumps({"v": 1, "clusters": data}))
    found = MutedCauses(path).read("a")
    assert all(until > datetime.now(UTC) for until in found.values())


LATEST = '"9999-12-31T23:59:59+00:00"'
NO_TIMES = ['"10000-01-01T00:00:00Z"', "1e400", "Infinity", "5", "null", '"2999-01-01"', DEEP]


@pytest.mark.parametrize("until", [LATEST, *NO_TIMES])
def test_a_time_of_muted_causes_that_is_none_mutes_nothing(tmp_path: Path, until: str) -> None:
    path = tmp_path / "muted.json"
    path.write_text(f'{{"v": 1, "clusters": {{"a": {{"cause": {until}}}}}}}')
    assert list(MutedCauses(path).read("a")) == (["cause"] if until == LATEST else [])
