"""The flight record's format: what goes in comes out, whatever happens to the end of the file."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.flight.answer import FORMAT, Answer, Header, Problem, RecordError
from console.flight.coded_body import LEAP
from console.flight.coding import BLOCK_MS
from console.flight.delta import Changes, DamagedDelta, applied, difference, runs_of
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.frames import HEADER, MAGIC, framed

BEGAN = 1_700_000_000_000
HEAD = Header(FORMAT, "cluster-1", "prod", BEGAN, "0.1.0")


def edited(body: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for place, gone, put in edits:
        at = place % (len(body) + 1)
        body = body[:at] + put + body[at + gone :]
    return body


EDITS = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 300), st.binary(max_size=40)), max_size=5)
BODIES = st.one_of(st.binary(max_size=200), st.binary(min_size=200, max_size=3000))


@given(old=BODIES, edits=EDITS)
def test_a_delta_makes_the_new_answer_of_the_old_one(old: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    new = edited(old * 2, edits)
    changes = difference(old * 2, new)
    assert changes is not None
    assert made_by(changes, old * 2, len(new)) == new


def made_by(changes: Changes, old: bytes, limit: int) -> bytes:
    return applied(old, runs_of(changes.runs.coded), changes.numbers, changes.fresh, limit)


@given(old=BODIES, edits=st.lists(EDITS, min_size=2, max_size=6))
def test_runs_are_taken_again_where_the_same_places_change(
    old: bytes, edits: list[list[tuple[int, int, bytes]]]
) -> None:
    """One answer after another, each with the runs that made the one before."""
    now, former = old * 2, None
    for each in edits:
        new = edited(now, each)
        changes = difference(now, new, former)
        assert changes is not None
        assert made_by(changes, now, len(new)) == new
        now, former = new, changes.runs


def test_numbers_that_grow_all_the_time_are_in_the_same_runs() -> None:
    """Whichever bytes of them differ: also where all but one stand still, and where one carries over."""
    offsets = [1 << 24, (1 << 16) - 3, 7, 5 << 30]

    def answer() -> bytes:
        return b"".join(b"%04d" % place + each.to_bytes(8) + b"tail" * 3 for place, each in enumerate(offsets))

    now, former, taken = answer(), None, []
    for look in range(40):
        offsets = [each + 1 + look * (place == 2) for place, each in enumerate(offsets)]
        changes = difference(now, answer(), former)
        assert changes is not None
        now, former = answer(), changes.runs
        taken.append(changes.runs)
    assert len(set(map(id, taken[1:]))) <= 3


@given(old=st.binary(max_size=300), delta=st.binary(max_size=60))
def test_any_bytes_as_a_delta_are_applied_within_the_limit_or_refused(old: bytes, delta: bytes) -> None:
    with suppress(DamagedDelta):
        assert len(applied(old, runs_of(delta[:40]), list(delta[40:50]), delta[50:], 1000)) <= 1000


def test_what_changes_in_a_few_places_is_small() -> None:
    old = b"".join(b"%06d;isr=1,2,3;leader=%d\n" % (number, number % 3) for number in range(40_000))
    new = old.replace(b"isr=1,2,3;leader=0", b"isr=1,3;leader=0", 1).replace(b"039999;isr=1,2,3", b"039999;isr=3")
    changes = difference(old, new)
    assert changes is not None
    assert len(changes.runs.coded + changes.fresh) + len(changes.numbers) < 40
    assert made_by(changes, old, len(old)) == new


STEPS = st.lists(
    st.tuples(
        st.integers(0, 4000),  # later by so many ms
        st.integers(0, 2),  # broker
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
    """By time; of one time by question, in the order they came."""
    return sorted(answers, key=lambda answer: (answer.at_ms, answer.asked))


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
        assert reader.index_at(at) == sum(answer.at_ms <= at for answer in answers)
        assert {asked: reader.answer(index) for asked, index in reader.state_at(at).items()} == expected


@given(steps=STEPS, data=st.data())
def test_a_file_that_is_cut_anywhere_holds_the_answers_before(steps: list, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path, answers = Path(folder) / "record", answers_of(steps)
        write(path, answers)
        whole = path.read_bytes()
        begin = len(MAGIC) + len(framed(HEADER, b"")) + 20
        path.write_bytes(whole[: data.draw(st.integers(begin, len(whole)))])
        try:
            reader = FlightReader(path)
        except RecordError:
            return  # not even the header is there
        assert not reader.damage
        found = list(reader.answers())
        for asked in {answer.asked for answer in answers}:
            mine = [answer for answer in found if answer.asked == asked]
            assert mine == [answer for answer in answers if answer.asked == asked][: len(mine)]


@given(steps=STEPS.filter(bool), data=st.data())
def test_a_changed_byte_is_said_and_what_is_before_it_is_read(steps: list, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path, answers = Path(folder) / "record", answers_of(steps)
        write(path, answers)
        whole = bytearray(path.read_bytes())
        first = len(MAGIC) + len(framed(HEADER, b"x" * 0)) + 8
        place = data.draw(st.integers(first, len(whole) - 1))
        whole[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(whole)
        try:
            reader = FlightReader(path)
        except RecordError:
            return
        found = list(reader.answers())
        assert reader.damage or len(found) < len(answers)
        assert all(answer in answers for answer in found)


def test_a_record_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "record"
    first = Answer(BEGAN + 5, 1, 1, "a", 9092, 3, 12, b"", b"body" * 50)
    write(path, [first, first._replace(at_ms=BEGAN + 5 + BLOCK_MS, body=b"other" * 50)])
    path.write_bytes(path.read_bytes()[:-3])
    later = Header(FORMAT, "cluster-2", "prod", BEGAN + 2000, "0.1.0")
    write(path, [first._replace(at_ms=BEGAN + 2005)], later, append=True)
    reader = FlightReader(path)
    assert reader.headers == (HEAD, later)
    assert [answer.at_ms - BEGAN for answer in reader.answers()] == [5, 2005]
    assert not reader.damage


def test_a_file_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "record"
    write(path, [])
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        FlightWriter(path, HEAD)


def test_other_files_and_other_versions_are_refused_in_a_line(tmp_path: Path) -> None:
    for name, content, words in (
        ("text", b"hello", "is no flight record"),
        ("newer", MAGIC + framed(HEADER, b'{"format":3}'), "format 3; this kac reads up to 2"),
        ("empty", MAGIC, "no header"),
        ("odd", MAGIC + framed(HEADER, b"{"), "can't be read"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(RecordError, match=words) as told:
            FlightReader(path)
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
    quiet = [Answer(BEGAN + 2000 * look, 3, 1, "a", 9092, 3, 12, b"", body) for look in range(1800)]
    write(path, quiet)
    assert path.stat().st_size < len(body) + 20_000
    assert len(FlightReader(path)) == 1800


def test_an_answer_late_in_a_long_record_is_made_of_few_deltas(tmp_path: Path) -> None:
    path = tmp_path / "record"
    writer = FlightWriter(path, HEAD)
    for look in range(LEAP * LEAP + LEAP + 3):
        body = b"%08d" % look + b"x" * 1000
        writer.add(Answer(BEGAN + look, 0, 1, "a", 9092, 3, 12, b"", body))
    writer.close()
    reader = FlightReader(path)
    assert reader.answer(len(reader) - 1).body == body
    assert len(reader._cache) <= 1 + 1 + 1 + 3


FIRST_FORMAT = sorted((Path(__file__).parents[1] / "faults" / "records").glob("*.kacrec"))


def test_records_of_the_first_format_are_read_and_go_on(tmp_path: Path) -> None:
    """Those of the laboratory are of it: all that they hold is read, and stays where a part is added."""
    for file in (min(FIRST_FORMAT, key=_size), max(FIRST_FORMAT, key=_size)):
        reader = FlightReader(file)
        former = list(reader.answers())
        assert (reader.header.format, reader.damage) == (1, "")
        assert len({answer.api_key for answer in former}) > 8
        path = tmp_path / file.name
        path.write_bytes(file.read_bytes())
        later = former[-1].at_ms + 1000
        added = [each._replace(at_ms=later, took_ms=1) for each in former[-20:]]
        write(path, added, Header(FORMAT, "cluster-1", "prod", later, "0.1.0"), append=True)
        again = FlightReader(path)
        assert (again.damage, [each.format for each in again.headers]) == ("", [1, FORMAT])
        assert in_order(again.answers()) == in_order([*former, *added])


def _size(file: Path) -> int:
    return file.stat().st_size


def test_how_long_an_answer_took_is_kept_to_within_an_eighth(tmp_path: Path) -> None:
    path, times = tmp_path / "record", [0, 1, 7, 15, 16, 17, 31, 100, 999, 1023, 1024, 5_000, 123_456]
    write(path, [Answer(BEGAN, took, took, "a", 9092, 3, 12, b"", b"x") for took in times])
    for answer in FlightReader(path).answers():
        assert answer.took_ms <= answer.node <= answer.took_ms * 9 / 8
        assert answer.took_ms == answer.node or answer.node > 15


def test_answers_that_have_parts_of_others_take_next_to_nothing(tmp_path: Path) -> None:
    """As offsets of partitions that are asked for in other lists."""
    chance = random.Random(5)
    parts = [b"%06d" % number + chance.randbytes(120) for number in range(300)]
    path = tmp_path / "record"
    writer = FlightWriter(path, HEAD)
    asked = [(0, 100), (100, 200), (200, 300), (50, 150), (150, 250), (30, 270)]
    for look, (start, end) in enumerate(asked):
        body = b"".join(parts[start:end])
        writer.add(Answer(BEGAN + 2000 * look, 1, 1, "a", 9092, 2, 9, b"%d" % start * 20, body))
        if look == 2:
            writer.flush()
            known = writer.size
    writer.close()
    assert writer.size - known < 1_500
    found = [answer.body for answer in FlightReader(path).answers()]
    assert found == [b"".join(parts[start:end]) for start, end in asked]


def test_numbers_that_grow_at_their_pace_take_less_than_what_they_grow_by(tmp_path: Path) -> None:
    chance = random.Random(6)
    paces = [chance.randrange(1, 1 << 24) for _ in range(500)]
    offsets = [chance.randrange(1 << 40) for _ in paces]
    path = tmp_path / "record"
    writer = FlightWriter(path, HEAD)
    for look in range(60):
        body = b"".join(b"partition %04d" % place + each.to_bytes(8) for place, each in enumerate(offsets))
        writer.add(Answer(BEGAN + 2000 * look, 1, 1, "a", 9092, 2, 9, b"", body))
        if look == 31:
            writer.flush()
            known = writer.size
        offsets = [each + pace + chance.randrange(-8, 8) for each, pace in zip(offsets, paces, strict=True)]
    writer.close()
    plain = sum(pace.bit_length() for pace in paces) // 8
    assert (writer.size - known) / 28 < plain * 2 / 3
    assert len({answer.body for answer in FlightReader(path).answers()}) == 60
