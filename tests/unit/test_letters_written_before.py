"""Tests of the warnings about dead letters that earlier changes have written again, or may have written, and of the
memory that the earlier changes take.
"""

import gc
from collections.abc import Iterator
from datetime import UTC, datetime
from weakref import ref

import pytest

from console.journal.entries import Ended, Entry, Intent
from console.journal.history import Change
from console.model.changes import Status
from console.model.journal_lines import Origin, Request, Who
from console.plan.edits import Passed, WriteRecords
from console.plan.staged import Staged
from console.session.journal_changes import MadeBefore, WrittenBefore, past_lines

AT = datetime(2026, 3, 4, tzinfo=UTC)
HERE, ELSEWHERE = Origin("h", "console", 7, "1"), Origin("h", "run", 8, "1")
FOR = (Passed("billing", "orders", 0),)


class Seen(Change, frozen=True, weakref=True):
    """A change that can be referenced weakly, so that a test sees whether it is still in memory."""


def letters(hashes: str, *, topic: str = "dlt") -> WriteRecords:
    """Return an edit that writes a dead letter for each character, which stands for the letter's hash."""
    return WriteRecords(topic, 0, 0, sizes=(1,) * len(hashes), hashes=tuple(hashes), first_for=FOR)


def change(number: int, hashes: str, status: Status, origin: Origin = ELSEWHERE) -> Seen:
    """Return a change with this outcome that writes dead letters. hashes: a character for each letter. origin: the
    console that made it.
    """
    entry = Entry(Staged(letters(hashes), None), None)
    intent = Intent(AT, "c", Who("a", "b"), origin, (entry,), (Request("Produce", None, (0,)),))
    known = frozenset({0})
    return Seen(number, intent, ended={0: Ended(status)}, sent=known, answered=known, request_of={0: 0})


APPLIED, UNKNOWN, FAILED = Status.APPLIED, Status.UNKNOWN, Status.FAILED


@pytest.mark.parametrize(
    ("wanted", "changes", "line"),
    [
        ("ab", [change(1, "a", APPLIED)], "1 of 2 letters for dlt was written before, by change 1: this writes"),
        ("ab", [change(1, "a", UNKNOWN)], "1 of 2 letters for dlt may have been written before, by change 1: this may"),
        (
            "abc",
            [change(2, "b", UNKNOWN), change(1, "a", APPLIED)],
            "2 of 3 letters for dlt were or may have been written before, by changes 1, 2: this may",
        ),
        # The later change has surely written the letter that the earlier one may have written.
        (
            "ab",
            [change(2, "a", APPLIED), change(1, "a", UNKNOWN)],
            "1 of 2 letters for dlt was written before, by change 2",
        ),
        (
            "ab",
            [change(2, "a", UNKNOWN), change(1, "a", APPLIED)],
            "1 of 2 letters for dlt was written before, by change 1",
        ),
        # Equal letters count as often as they were written.
        (
            "abb",
            [change(2, "b", APPLIED), change(1, "ba", APPLIED)],
            "3 of 3 letters for dlt were written before, by changes 1, 2",
        ),
        # A batch that this process repeats keeps its sequence numbers, so brokers write it once; another batch has new
        # numbers.
        ("ab", [change(1, "a", UNKNOWN, HERE)], "1 of 2 letters for dlt may have been written before, by change 1"),
        ("a", [change(1, "a", UNKNOWN, HERE)], None),
        ("a", [change(1, "a", FAILED)], None),
        ("a", [change(1, "b", APPLIED)], None),
    ],
)
def test_what_is_said(wanted: str, changes: list[Seen], line: str | None) -> None:
    lines = past_lines(MadeBefore({}), WrittenBefore([letters(wanted)], HERE), changes)
    assert len(lines) == (line is not None)
    assert not lines or lines[0].startswith(line or "")


def test_one_change_at_a_time_is_in_memory() -> None:
    made, most, read = list[ref[Seen]](), 0, 0

    def kept(each: Seen) -> Seen:
        made.append(ref(each))
        return each

    def past() -> Iterator[Seen]:
        nonlocal most, read
        for read in range(50, 0, -1):
            gc.collect()
            most = max(most, sum(each() is not None for each in made))
            yield kept(change(read, "a", UNKNOWN) if read > 20 else change(read, "ab", APPLIED))

    (line,) = past_lines(MadeBefore({}), WrittenBefore([letters("ab")], HERE), past())
    assert "2 of 2 letters for dlt were written before, by change 20: " in line
    assert (most, read) == (1, 20)  # only the last change is in memory while the next is read
