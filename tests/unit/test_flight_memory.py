"""Tests of the answers of the last half hour that kac keeps in memory: which ones it keeps, which it deletes first, and
that a file saved from them is complete.
"""

import os
import random
import sys
import threading
from pathlib import Path

import pytest

from console.flight.answer import Answer, Header
from console.flight.flight_reader import FlightReader
from console.flight.memory import KEPT_MS, MOST_BYTES, MOST_HELD, PART_MS, Memory
from console.flight.recorder import MOST_WAITING, Recorder, Sink
from tests.support.patience import PATIENCE

BEGAN = 1_700_000_000_000
POLL = 2000


def answer(poll: int, node: int, body: bytes) -> Answer:
    return Answer(BEGAN + POLL * poll + node, 3, node, f"b{node}", 9092, 3, 12, b"", body)


def written(memory: Memory, path: Path) -> FlightReader:
    assert memory.write(path, "cluster-1") == path.stat().st_size
    assert path.stat().st_mode & 0o777 == 0o600
    return FlightReader(path)


def test_half_an_hour_is_there_and_what_was_known_before(tmp_path: Path) -> None:
    """The file has the answers of the last half hour, and the last earlier answer to each question: broker 3 answers
    once, at the beginning; brokers 1 and 2 answer all the time.
    """
    memory = Memory(Header(context="prod"))
    chance = random.Random(1)
    state = {1: bytearray(chance.randbytes(3000)), 2: bytearray(chance.randbytes(3000))}
    given = [answer(0, 3, b"said once" * 20)]
    for poll in range(1, 60 * 60 * 1000 // POLL):
        for node, body in state.items():
            if chance.random() < 0.3:
                body[chance.randrange(3000)] = chance.randrange(256)
            given.append(answer(poll, node, bytes(body)))
    for each in given:
        memory.add(each)
    reader = written(memory, tmp_path / "record")
    assert (reader.damage, reader.header.cluster_id, reader.header.context) == ("", "cluster-1", "prod")
    found = list(reader.answers())
    began = given[-1].at_ms - KEPT_MS
    assert memory.began_ms is not None
    assert began - PART_MS - POLL <= memory.began_ms <= began
    whole = [each for each in given if each.at_ms >= memory.began_ms]
    assert [each for each in found if each.at_ms >= memory.began_ms] == whole
    before = [each for each in found if each.at_ms < memory.began_ms]
    assert {each.node: each for each in before} == {each.node: each for each in given if each.at_ms < memory.began_ms}
    assert len(before) == 3


def test_the_oldest_go_where_there_is_too_much(tmp_path: Path) -> None:
    memory = Memory(Header())
    for poll in range(60):
        memory.add(answer(poll, 1, os.urandom(1 << 20)))
    assert memory.size <= MOST_BYTES
    assert MOST_BYTES + MOST_HELD + MOST_WAITING <= 64 << 20
    reader = written(memory, tmp_path / "record")
    found = list(reader.answers())
    assert found[-1].at_ms == BEGAN + 59 * POLL + 1
    assert 12 < len(found) < 25


def test_last_answers_that_take_much_are_packed_once(tmp_path: Path) -> None:
    """If the last answers take 9 MiB and fit, a further answer costs only its own bytes: the others are not compressed
    again.
    """
    memory, chance = Memory(Header()), random.Random(2)
    bodies = [chance.randbytes(1 << 20) for _ in range(9)]
    for node, body in enumerate(bodies):
        memory.add(answer(0, node, body))
    payloads = "SELECT count(*), max(id) FROM payloads"
    packed = memory.database.execute(payloads).fetchone()
    for poll in range(1, 2 * 60 * 60 * 1000 // POLL, 60):
        for node, body in enumerate(bodies):
            memory.add(answer(poll, node, body))
    assert memory.database.execute(payloads).fetchone() == packed
    assert memory.left_off == 0
    assert 9 << 20 < memory.size < 10 << 20
    assert len({each.body for each in written(memory, tmp_path / "record").answers()}) == 9


def test_last_answers_that_do_not_fit_are_left_off_for_a_while_and_counted(tmp_path: Path) -> None:
    """If answers of 30 MiB come at each poll and do not all fit, the memory leaves out some of them for some
    minutes, counts these as lost, and keeps small answers.
    """
    memory, chance = Memory(Header()), random.Random(3)
    bodies = [chance.randbytes(1 << 20) for _ in range(30)]
    taken, given = 0, 0
    for poll in range(PART_MS // POLL - 2):
        memory.add(answer(poll, 99, b"small"))
        for node, body in enumerate(bodies):
            before = memory.database.total_changes
            memory.add(answer(poll, node, body))
            taken, given = taken + (memory.database.total_changes - before > 0), given + 1
        assert memory.size <= MOST_BYTES
    reader = written(memory, tmp_path / "record")
    found = list(reader.answers())
    assert reader.damage == ""
    assert {each.body for each in found if each.node == 99} == {b"small"}
    assert 10 < len({each.body for each in found} - {b"small"}) < 20
    assert reader.left_off == memory.left_off > given // 3
    last = {each.node for each in found if each.at_ms >= BEGAN + POLL * (PART_MS // POLL - 3)}
    assert len(last) > 10
    for poll in range(PART_MS // POLL, PART_MS // POLL + 2):  # some minutes later they are kept
        for node, body in enumerate(bodies[:12]):
            memory.add(answer(poll, node, body))
    assert {each.node for each in written(memory, tmp_path / "later").answers()} >= set(range(12))


def test_one_answer_that_is_larger_than_all_that_is_kept_is_left_off(tmp_path: Path) -> None:
    memory = Memory(Header())
    memory.add(answer(0, 1, b"small"))
    memory.add(answer(1, 2, random.Random(4).randbytes(MOST_BYTES)))
    memory.add(answer(2, 3, b"later"))
    assert memory.left_off == 1
    assert [each.node for each in written(memory, tmp_path / "record").answers()] == [1, 3]


def test_answers_to_what_nobody_asks_any_more_go_first(tmp_path: Path) -> None:
    """The memory first deletes answers to questions that kac no longer asks, and does not count them as lost. It keeps
    repeated answers, even larger ones.
    """
    memory, chance = Memory(Header()), random.Random(5)
    for node in range(40):
        memory.add(answer(0, 100 + node, chance.randbytes(300_000)))
    for poll in range(1, (KEPT_MS + 2 * PART_MS) // POLL, 5):
        memory.add(answer(poll, 1, b"asked" * 100_000))
    for node in range(4):
        memory.add(answer((KEPT_MS + 2 * PART_MS) // POLL, node, chance.randbytes(5 << 19)))
    found = written(memory, tmp_path / "record").answers()
    assert {each.node for each in found} >= {0, 1, 2, 3}
    assert memory.left_off == 0


class Slow:
    """A sink of answers that waits for a signal before it keeps an answer."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.kept: list[Answer] = []

    def add(self, answer: Answer) -> None:
        self.go.wait(60)
        self.kept.append(answer)

    def flush_changed(self) -> None: ...

    def close(self) -> None: ...


def test_nobody_waits_for_the_record_and_what_is_lost_is_counted() -> None:
    recorder, sink = Recorder(), Slow()
    recorder.begin(lambda: sink)
    size = MOST_WAITING // 8
    for poll in range(20):
        recorder.take(answer(poll, 1, bytes(size)))
    assert recorder.lost >= 8
    sink.go.set()
    recorder.close()
    assert len(sink.kept) + recorder.lost == 20


def test_what_was_taken_before_is_kept_when_work_is_done() -> None:
    recorder, sink = Recorder(), Slow()
    sink.go.set()
    for poll in range(5):
        recorder.take(answer(poll, 1, b"x"))
    recorder.begin(lambda: sink)
    assert recorder.run(lambda it: len(sink.kept)).result(60) == 5
    with pytest.raises(ZeroDivisionError):
        recorder.run(lambda it: 1 // 0).result(60)
    recorder.close()
    recorder.close()


def test_the_last_answer_is_not_held_until_the_next_one_comes() -> None:
    """The recorder's thread drops its reference to an answer once it is recorded. On a cluster with thousands of topics
    the last answer may be the longest.
    """

    class Forgetful(Slow):
        def __init__(self) -> None:
            super().__init__()
            self.rests = threading.Event()
            self.held: list[int] = []

        def add(self, answer: Answer) -> None: ...

        def flush_changed(self) -> None:
            # This runs in the recorder's thread, so the count includes each reference that the thread still holds.
            self.held.append(sys.getrefcount(taken))
            self.rests.set()

    taken = answer(1, 1, b"x")
    recorder, sink = Recorder(), Forgetful()
    before = sys.getrefcount(taken)
    recorder.take(taken)
    recorder.begin(lambda: sink)
    assert sink.rests.wait(PATIENCE)
    assert sink.held == [before]
    recorder.close()


def test_a_full_disk_ends_the_record_and_is_said() -> None:
    class Full(Slow):
        def add(self, answer: Answer) -> None:
            raise OSError(28, "No space left on device")

    recorder = Recorder()
    sink: Sink = Full()
    recorder.take(answer(1, 1, b"x"))
    recorder.begin(lambda: sink)
    recorder.close()
    assert recorder.problem is not None
    assert recorder.problem.errno == 28
