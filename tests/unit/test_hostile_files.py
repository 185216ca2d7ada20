"""Files that anybody may have written: what is no record, journal, lease or plan is an error of the format, and takes
little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
from console.flight.coding import DEEPEST
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.frames import (
    ANSWERS,
    BODY,
    FIRST_BODY,
    HEADER,
    MAGIC,
    MOST_MADE,
    PROBLEM,
    SAME,
    Answers,
    Question,
    body_frame,
    framed,
    squeezed,
)
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
    for edits in (data, [data], [{"edit": data}], [{"edit": {"op": "set", "value": data}, "was": data}]):
        document = {"format": PLAN, "version": PLAN_VERSION, "cluster_id": "A", "made": made, "edits": edits}
        with pytest.raises(FileProblem):
            read_plan(json.dumps(document), "plan.json")


def test_a_deep_plan_is_a_problem_of_the_file() -> None:
    with pytest.raises(FileProblem):
        read_plan(f'{{"format": "{PLAN}", "edits": {DEEP}', "plan.json")


# -- flight records ----------------------------------------------------------------------------------------------------


def record(path: Path, *frames: bytes, began_ms: int = 0) -> Path:
    header = framed(HEADER, msgspec.msgpack.encode(Header("A", "c", began_ms)))
    path.write_bytes(MAGIC + header + b"".join(frames))
    return path


def answers_frame(count: int, given: int, *, at_ms: int = 0, former: bytes = b"", asks: bool = False) -> bytes:
    """So many answers to the first question. asks: whether it is new, its request the first body."""
    questions = [Question(1, "h", 9092, 3, 12, 0)] if asks else []
    return listed(
        Answers(questions, [], [0] * count, [at_ms, *[0] * (count - 1)], [0] * count, [given] * count), former
    )


def packed(data: object) -> bytes:
    try:
        return msgspec.msgpack.encode(data)
    except OverflowError:  # a number of more than 64 bits
        reject()


def listed(answers: object, former: bytes = b"") -> bytes:
    return framed(ANSWERS, squeezed(packed(answers), former))


REQUEST, FIRST = body_frame(0, b"request"), body_frame(0, b"body")
ASKED = answers_frame(1, FIRST_BODY, asks=True)
ASKED_LIST = msgspec.msgpack.encode(Answers([Question(1, "h", 9092, 3, 12, 0)], [], [0], [0], [0], [FIRST_BODY]))


def test_many_equal_answers_in_a_small_file_take_little_memory(tmp_path: Path) -> None:
    """What is unpacked of a frame goes, and each answer while the file is read counts."""
    count = 60_000
    again = msgspec.msgpack.encode(Answers([], [], [0] * count, [0] * count, [0] * count, [SAME] * count))
    many = [framed(ANSWERS, squeezed(again, former)) for former in (ASKED_LIST, *[again] * 8)]
    path = record(tmp_path / "a.flight", REQUEST, FIRST, ASKED, *many)
    assert path.stat().st_size < 12_000
    code = (
        "import resource, sys; from pathlib import Path; from console.flight.flight_reader import FlightReader\n"
        "most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = most(); reader = FlightReader(Path(sys.argv[1])); took = most() - before\n"
        "assert (len(reader), reader.damage, reader.answer(540_000).body) == (540_001, '', b'body')\n"
        "print(took >> 10)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150  # MiB; all that was read held 330


def test_an_answer_that_is_made_of_gigabytes_is_an_error(tmp_path: Path) -> None:
    size = 30 << 20
    zeros = bytes(size)
    count = MOST_MADE // size + 1
    frames = [body_frame(0, zeros), *[body_frame(1, zeros, zeros)] * (count - 1)]
    given = [FIRST_BODY + count - 1 - place for place in range(count)]
    answers = Answers([Question(1, "h", 9092, 3, 12, 0)], [], [0] * count, [0] * count, [0] * count, given)
    path = record(tmp_path / "a.flight", REQUEST, *frames, listed(answers))
    assert path.stat().st_size < 100_000
    reader = FlightReader(path)
    assert len(reader) == count
    with pytest.raises(RecordError, match="made of more than"):
        reader.answer(count - 1)
    assert reader.answer(0).body == zeros


def test_an_answer_that_is_larger_than_any_is_an_error(tmp_path: Path) -> None:
    bomb = framed(BODY, bytes(4), squeezed(bytes(MOST_MADE)))
    path = record(tmp_path / "a.flight", REQUEST, bomb, ASKED)
    assert path.stat().st_size < 38 << 10
    tracemalloc.start()
    with pytest.raises(RecordError, match="holds more than"):
        FlightReader(path).answer(0)
    assert tracemalloc.get_traced_memory()[1] < MOST_MADE
    tracemalloc.stop()


def test_an_answer_that_is_made_of_very_many_is_damage(tmp_path: Path) -> None:
    frames = [body_frame(0, b"x" * 100), *[body_frame(1, b"x" * 100, b"x" * 100)] * (DEEPEST + 1)]
    reader = FlightReader(record(tmp_path / "a.flight", REQUEST, *frames, ASKED))
    assert (len(reader), "made of more than" in reader.damage) == (0, True)


def test_lists_that_are_longer_than_what_they_say_are_damage(tmp_path: Path) -> None:
    for number, more in enumerate((bytes(5 << 20), bytes(50 << 20), b"\xc0")):
        longer = framed(ANSWERS, squeezed(ASKED_LIST + more))
        reader = FlightReader(record(tmp_path / f"{number}.flight", REQUEST, FIRST, longer))
        assert (len(reader), bool(reader.damage)) == (0, True)


def test_what_follows_what_is_compressed_is_damage(tmp_path: Path) -> None:
    longer = framed(ANSWERS, squeezed(ASKED_LIST), b"more")
    reader = FlightReader(record(tmp_path / "a.flight", REQUEST, FIRST, longer))
    assert (len(reader), "too late" in reader.damage) == (0, True)


@pytest.mark.parametrize("distance", [2, 3, 1 << 31, (1 << 32) - 1])
def test_a_body_is_made_of_those_before_it_in_its_part_alone(tmp_path: Path, distance: int) -> None:
    """The second part has one body before this one, the first part has two more."""
    header = framed(HEADER, msgspec.msgpack.encode(Header("A", "c")))
    far = body_frame(distance, b"another", b"body of another part")
    reader = FlightReader(record(tmp_path / "a.flight", REQUEST, FIRST, ASKED, header, REQUEST, far, ASKED))
    assert (len(reader), "what is not there" in reader.damage) == (1, True)
    assert reader.answer(0).body == b"body"


def second(
    request: int = 0, *, asked: int = 1, after: int = 0, took: int = 0, given: int = FIRST_BODY, more: int = 0
) -> Answers:
    """A question, and an answer to it. more: entries too many."""
    return Answers([Question(1, "h", 9092, 3, 12, request)], [], [asked], [after], [took] * (1 + more), [given])


WRONG_LISTS: dict[str, object] = {
    "to no question": second(asked=2),
    "to a question below none": second(asked=-1),
    "the same as none": second(given=SAME),
    "without its problem": second(given=PROBLEM),
    "a body that is not there": second(given=FIRST_BODY + 2),
    "of no form": second(given=-1),
    "a request that is not there": second(2),
    "a request before all": second(-1),
    "columns of two lengths": second(more=1),
    "before 1970": second(after=-1),
    "before it was asked": second(took=-1),
    "asked before the beginning of time": second(took=1 << 63),
    "a question without its request": [[[1, "h", 1, 3, 12]], [], [1], [0], [0], [FIRST_BODY]],
    "a broker that is true": [[[True, "h", 1, 3, 12, 0]], [], [1], [0], [0], [FIRST_BODY]],
    "a problem in bytes": [[], [["kind", "name", b"message", ""]], [], [], [], []],
    "nothing": [],
    "a map": {},
    "a number": 7,
}


@pytest.mark.parametrize("wrong", WRONG_LISTS.values(), ids=WRONG_LISTS)
def test_answers_that_can_not_be_are_damage_and_those_before_are_read(tmp_path: Path, wrong: object) -> None:
    reader = FlightReader(record(tmp_path / "a.flight", REQUEST, FIRST, ASKED, listed(wrong, ASKED_LIST)))
    assert (len(reader), reader.damage[:7]) == (1, "damaged")
    assert reader.answer(0).body == b"body"
    right = listed(second(), ASKED_LIST)
    assert FlightReader(record(tmp_path / "b.flight", REQUEST, FIRST, ASKED, right)).damage == ""


@given(JSON)
@example(json.loads("[" * 200 + "]" * 200))
def test_any_answers_are_read_or_damage(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    path = tmp_path_factory.mktemp("record") / "a.flight"
    reader = FlightReader(record(path, REQUEST, FIRST, ASKED, listed(data, ASKED_LIST)))
    assert (len(reader), bool(reader.damage)) == (1, True)


DEEP_LIST = b"\x91" * 100_000
HUGE_LIST = b"\xdd\xff\xff\xff\xff"
"""An array of 2^32 - 1, without any of them."""


@pytest.mark.parametrize(
    "payload", [DEEP_LIST, HUGE_LIST, b"\x96\x90\x90" + HUGE_LIST, b"\x96" + DEEP_LIST, b"", b"\xc1"]
)
def test_deep_and_endless_lists_are_damage(tmp_path: Path, payload: bytes) -> None:
    path = record(tmp_path / "a.flight", REQUEST, FIRST, ASKED, framed(ANSWERS, squeezed(payload, ASKED_LIST)))
    tracemalloc.start()
    reader = FlightReader(path)
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()
    assert (len(reader), reader.damage[:7]) == (1, "damaged")


@given(st.binary(max_size=40), st.integers(0, 255))
def test_any_frame_is_read_or_damage(tmp_path_factory: pytest.TempPathFactory, payload: bytes, kind: int) -> None:
    path = record(tmp_path_factory.mktemp("record") / "a.flight", REQUEST, FIRST, ASKED, framed(kind, payload))
    try:
        reader = FlightReader(path)
    except RecordError:
        assert kind == HEADER
        return
    assert [each.body for each in reader.answers()] == [b"body"]
    again = FlightReader(record(path, framed(BODY, payload), ASKED))
    for index in range(len(again)):
        with suppress(RecordError):
            again.answer(index)


@given(st.integers(LAST_MS - 3, 1 << 62))
@example(LAST_MS)
def test_what_comes_after_the_year_9999_is_no_answer(tmp_path_factory: pytest.TempPathFactory, at_ms: int) -> None:
    later = answers_frame(1, SAME, at_ms=at_ms, former=ASKED_LIST)
    reader = FlightReader(record(tmp_path_factory.mktemp("record") / "a.flight", REQUEST, FIRST, ASKED, later))
    assert len(reader) == 1 + (at_ms <= LAST_MS)
    for at in reader.times:
        datetime.fromtimestamp(at / 1000, UTC)


@pytest.mark.parametrize("began_ms", [-1, LAST_MS + 1, 1 << 62])
def test_a_record_that_begins_at_no_time_is_none(tmp_path: Path, began_ms: int) -> None:
    with pytest.raises(RecordError, match="begins at no time"):
        FlightReader(record(tmp_path / "a.flight", began_ms=began_ms))


@given(JSON)
@example({"began_ms": float("inf")})
def test_any_header_is_a_record_or_an_error(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    path = tmp_path_factory.mktemp("record") / "a.flight"
    path.write_bytes(MAGIC + framed(HEADER, packed(data)))
    with suppress(RecordError):
        assert isinstance(FlightReader(path).header, Header)


@pytest.mark.parametrize("payload", [b"\x81\xa1x" + DEEP_LIST, DEEP_LIST, b"\x81" + HUGE_LIST])
def test_a_deep_header_is_an_error(tmp_path: Path, payload: bytes) -> None:
    path = tmp_path / "a.flight"
    path.write_bytes(MAGIC + framed(HEADER, payload))
    with pytest.raises(RecordError):
        FlightReader(path)


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


def test_a_deep_state_file_of_an_embedded_cluster_is_an_error(tmp_path: Path) -> None:
    from console.embedded.state_file import StateFileError, read_state

    (tmp_path / "state.json").write_text(DEEP)
    with pytest.raises(StateFileError, match="is not a state file"):
        read_state(tmp_path / "state.json", None)


# -- files that are none, or do not end --------------------------------------------------------------------------------


def endless(path: Path, kind: str) -> None:
    """Puts something into the place of a file: what never ends, what never begins, or what claims terabytes."""
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
    """Each reader has its own answer to it, at once and without its memory."""
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
    if kind != "sparse":  # see the lines without an end
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
"""Of a line, in place of `LONGEST_LINE`: as much is read of a line that is longer, and sooner."""
ENDLESS = 8 * LONGEST
"""Bytes of a line, most of them of a hole, so that it takes no room on the disk."""


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (journal_lines, journal_file, segments):
        monkeypatch.setattr(module, "LONGEST_LINE", LONGEST)


def journal_with(path: Path, *, is_ended: bool) -> list[int]:
    """Write a journal of changes 1, 2 and 4, and a line without an end, or nearly, of change 3; the size of what is
    before it, and of all."""
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
    """Whoever reads it, in bounded memory: the line is named, the others count, and its number is not given again."""
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
    read_journal(tmp_path / "c.jsonl", 0)  # what it imports is not counted
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
