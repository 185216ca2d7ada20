"""The flight record's format: what goes in comes out, whatever happens to the end of the file."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.flight.answer import Answer, Header, Problem, RecordError
from console.flight.coding import CHAIN, DEEPEST, WAIT_MS, Encoder
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.frames import HEADER, MAGIC, MOST_MADE, framed

BEGAN = 1_700_000_000_000
HEAD = Header("cluster-1", "prod", BEGAN, "0.1.0")


def edited(body: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for place, gone, put in edits:
        at = place % (len(body) + 1)
        body = body[:at] + put + body[at + gone :]
    return body


EDITS = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 300), st.binary(max_size=40)), max_size=5)


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
        last = {reader.asked(index): index for index, time in enumerate(reader.times) if time <= at}
        assert {asked: reader.answer(index) for asked, index in last.items()} == expected


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
    write(path, [first, first._replace(at_ms=BEGAN + 5 + WAIT_MS, body=b"other" * 50)])
    path.write_bytes(path.read_bytes()[:-3])
    later = Header("cluster-2", "prod", BEGAN + 2000, "0.1.0")
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
        ("newer", b"kacflight 3\n" + framed(HEADER, b"what it has"), "format 3; this kac reads up to 1"),
        ("unnamed", b"kacflight\n" + framed(HEADER, b"{}"), "is no flight record"),
        ("empty", MAGIC, "no header"),
        ("odd", MAGIC + framed(HEADER, b"\x81"), "can't be read"),
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
    quiet = [Answer(BEGAN + 2000 * poll, 3, 1, "a", 9092, 3, 12, b"", body) for poll in range(1800)]
    write(path, quiet)
    assert path.stat().st_size < len(body) + 20_000
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
    assert max(reader._depths) == CHAIN


def test_answers_to_very_many_questions_are_made_of_few_others(tmp_path: Path) -> None:
    """Each of the last answer to another one, as long as that is not made of too many."""
    path = tmp_path / "record"
    writer = FlightWriter(path, HEAD)
    for poll in range(5 * DEEPEST):
        writer.add(Answer(BEGAN + poll, 0, 1, "a", 9092, 3, 12, b"%d" % (poll // 2) * 50, b"%d" % poll * 500))
    writer.close()
    reader = FlightReader(path)
    assert reader.damage == ""
    assert max(reader._depths) == DEEPEST
    assert [answer.body for answer in reader.answers()] == [b"%d" % poll * 500 for poll in range(5 * DEEPEST)]


def test_large_answers_are_made_of_no_more_than_is_read_again(tmp_path: Path) -> None:
    size = MOST_MADE // 5
    path, body = tmp_path / "record", bytearray(size)
    encoder = Encoder(HEAD, 3 * size)
    frames = [MAGIC, encoder.begin()]
    for poll in range(7):
        body[poll * 1000] = 1
        frames += [encoder.add(Answer(BEGAN + poll, 0, 1, "a", 9092, 3, 12, b"", bytes(body))), encoder.flush()]
    path.write_bytes(b"".join(frames))
    reader = FlightReader(path)
    assert [sum(answer.body) for answer in reader.answers()] == list(range(1, 8))
    assert sum(reader.answer(6).body) == 7
    assert [depth > 0 for depth in reader._depths[1:]] == [False] * 7  # too large for a prefix


@pytest.mark.parametrize("size", [0, 1, 7, 8, 100, (256 << 10) - 1, 256 << 10, 3 << 20])
def test_answers_of_any_size_come_out(tmp_path: Path, size: int) -> None:
    path, chance = tmp_path / "record", random.Random(size)
    body = chance.randbytes(size)
    bodies = [body, body[: size // 2], body + b"y", b"", body + b"x", body[size // 2 :], body]
    write(path, [Answer(BEGAN + at, 0, 1, "a", 9092, 3, 12, b"", each) for at, each in enumerate(bodies)])
    assert [answer.body for answer in FlightReader(path).answers()] == bodies
    assert path.stat().st_size < 2.1 * size + 800


def test_equal_answers_of_brokers_are_kept_once_also_after_errors(tmp_path: Path) -> None:
    path, body = tmp_path / "record", random.Random(7).randbytes(30_000)
    given = []
    for poll in range(40):
        for node in range(4):
            answered = b"error" if node == poll % 4 else body[: 500 * poll] + b"%04d" % poll + body[500 * poll :]
            given.append(Answer(BEGAN + 2000 * poll + node, 0, node, "a", 9092, 3, 12, b"", answered))
    write(path, given)
    assert list(FlightReader(path).answers()) == given
    assert path.stat().st_size < len(body) + 40 * 150


def test_what_is_held_to_find_changes_is_bounded_and_counted_once(tmp_path: Path) -> None:
    path, chance = tmp_path / "record", random.Random(8)
    encoder = Encoder(HEAD, 100_000)
    frames, given = [MAGIC, encoder.begin()], []
    for poll in range(400):
        node, request = poll % 3, b"%d" % (poll // 3 % 40)
        body = request * 2000 + b"%d" % chance.randrange(3)
        given.append(Answer(BEGAN + poll, 0, node, "a", 9092, 3, 12, request, body))
        frames.append(encoder.add(given[-1]))
        held = {id(kept.last): len(kept.last.data) for kept in encoder._kept.values() if kept.last is not None}
        firsts = sum(len(kept.first.data) for kept in encoder._kept.values() if kept.first is not None)
        assert encoder._size == sum(held.values()) + firsts <= 100_000
    assert len(encoder._kept) < 100
    path.write_bytes(b"".join([*frames, encoder.flush()]))
    assert list(FlightReader(path).answers()) == given


def test_how_long_an_answer_took_is_kept(tmp_path: Path) -> None:
    path, times = tmp_path / "record", [0, 1, 7, 15, 16, 17, 31, 100, 999, 1023, 1024, 5_000, 123_456]
    write(path, [Answer(BEGAN, took, took, "a", 9092, 3, 12, b"", b"x") for took in times])
    assert [answer.took_ms for answer in FlightReader(path).answers()] == times


def test_an_answer_that_is_like_that_to_another_question_takes_little(tmp_path: Path) -> None:
    """As what another broker answers, or what is answered of a part of the partitions."""
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
            known = writer.size
    writer.close()
    assert writer.size - known < 500
    found = [answer.body for answer in FlightReader(path).answers()]
    assert found == [b"".join(parts[start:end]) for _, start, end in asked]


def test_numbers_that_grow_take_their_places_alone(tmp_path: Path) -> None:
    """Few bytes for each, also in a large answer."""
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
            known = writer.size
        for place in growing:
            offsets[place] += chance.randrange(5000)
    writer.close()
    assert (writer.size - known) / 59 < 9 * len(growing)
    assert len({answer.body for answer in FlightReader(path).answers()}) == 60


def test_an_answer_that_is_the_first_or_came_again_is_held_compressed(tmp_path: Path) -> None:
    path, encoder = tmp_path / "record", Encoder(HEAD)
    body = b"".join(b"team-%03d.events" % number for number in range(10_000))
    bodies = [body, body, body, body + b"x", body + b"x", body, b"y" + body]
    given = [Answer(BEGAN + at, 0, 1, "a", 9092, 3, 12, b"", each) for at, each in enumerate(bodies)]
    frames, held = [MAGIC, encoder.begin()], []
    for answer in given:
        frames.append(encoder.add(answer))
        held.append(encoder._size)
        assert encoder.last_answers() == [answer]
    assert held[0] == held[1] == held[2] < len(body) // 10
    assert held[3] > len(body) > 5 * held[4]  # what changed is held as it came, as it may change again
    path.write_bytes(b"".join([*frames, encoder.flush()]))
    assert list(FlightReader(path).answers()) == given


def test_a_long_request_is_held_compressed(tmp_path: Path) -> None:
    """As those for the offsets of all partitions: each is a question, asked again and again."""
    path, encoder = tmp_path / "record", Encoder(HEAD)
    names = b"".join(b"team-%03d.events" % number for number in range(5_000))
    questions = [b"%d" % number + names for number in range(4)]
    given = [
        Answer(BEGAN + at, 0, 1, "a", 9092, 2, 9, question, b"%d" % at) for at, question in enumerate(questions * 3)
    ]
    given[6] = given[6]._replace(body=b"", problem=Problem("RequestTimedOut", "TIMEOUT", "", ""))
    frames = [MAGIC, encoder.begin(), *map(encoder.add, given)]
    held = [each.answer.request for each in encoder._kept.values()]
    held += [each.data for each in encoder._requests.values()]
    held += [key.request for key in encoder._kept]
    assert sum(map(len, held)) < len(names) // 4
    assert encoder.last_answers() == given[-4:]
    path.write_bytes(b"".join([*frames, encoder.flush()]))
    assert list(FlightReader(path).answers()) == given
