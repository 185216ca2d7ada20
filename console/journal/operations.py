"""Operations in the journal: their lines, the operations that result from the lines, and the lease, which lets one
process work on a cluster's operations at a time.

Lines of an operation have its number in ``change``, and one of these kinds: ``operation`` (its beginning), ``step`` (a
change of it is about to be sent, with the throttles that it sets), ``letters`` (a transaction of a redrive is
committed), ``progress``, ``asked`` (an operator's request, from any process) and ``ended``. The lease is a file next to
the journal.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from console.journal.entries import Note, Numbered, still_runs
from console.model import journal_lines
from console.model.built_types import built
from console.model.foreign_json import json_of
from console.model.numbers import json_text
from console.operations.goals import Goal
from console.operations.operation import Operation, Progress, SentLetters, State, Step
from console.safe_files import open_private, private_folder, read_regular

LEASE = timedelta(seconds=60)
"""The time after which a lease ends unless it is renewed."""
LARGEST_LEASE = 4096
"""Maximum size in bytes of the lease's file."""
BELIEVED = timedelta(minutes=10)
"""A lease that ends more than this time plus `LEASE` after the present time is ignored, because the clock of the
host that wrote it must have been wrong.
"""


class Begun(Struct, frozen=True):
    """The content of an operation's first line: its goal, and who began it."""

    context: str
    who: journal_lines.Who
    origin: journal_lines.Origin
    goal: Goal
    throttle: int | None = None


class Asked(Struct, frozen=True):
    """An operator's request to an operation that has begun."""

    who: journal_lines.Who
    cancel: bool = False
    """Whether to cancel the operation."""
    throttle: int | None = None
    """The new throttle in bytes per second, or letters per second for a redrive; 0 for no throttle, None to keep the
    present one.
    """
    give_up: bool = False
    """Whether the operation may leave its throttles on brokers that do not respond."""
    pause: bool | None = None
    """True to pause a redrive, False to continue it; None to change nothing."""


class Over(Struct, frozen=True):
    """The end of an operation, with the state DONE or CANCELLED."""

    state: State


Noted = Step | SentLetters | Progress | Asked | Over
"""The content of any line of an operation except its first."""


def operation_line(number: int, at: datetime, what: Noted) -> journal_lines.OperationLine:
    """Return a line of an operation, with any content but that of its first line."""
    kinds = {Step: "step", SentLetters: "letters", Progress: "progress", Asked: "asked", Over: "ended"}
    return journal_lines.OperationLine(number, kinds[type(what)], at, msgspec.to_builtins(what))


def operations(records: Iterable[Numbered | Note]) -> Mapping[int, Operation]:
    """Return number -> operation. records: in the order of the journal; lines in the form of another release are
    skipped.
    """
    folded = Folded()
    folded.take(records)
    return {number: folded.operation(number) for number in folded.begun}


class Folded:
    """The operations that result from the lines of a journal so far; further lines are added to them.

    begun: number -> operation, without its steps and sent letters.
    """

    def __init__(self) -> None:
        self.begun: dict[int, Operation] = {}
        self._steps: dict[int, list[Step]] = {}
        self._sent: dict[int, list[SentLetters]] = {}  # a redrive may have a hundred thousand transactions

    def operation(self, number: int) -> Operation:
        """Return an operation by its number. Raises KeyError if the journal has no first line of it."""
        steps, sent = self._steps.get(number, ()), self._sent.get(number, ())
        return replace(self.begun[number], steps=tuple(steps), sent=tuple(sent))

    def take(self, records: Iterable[Numbered | Note]) -> None:
        """Add records. records: in the order of the journal; lines in the form of another release are skipped."""
        for each in records:
            if isinstance(each, journal_lines.OperationLine):
                with suppress(msgspec.ValidationError):
                    self._take(each)

    def _take(self, line: journal_lines.OperationLine) -> None:
        number = line.change
        if line.kind == "operation":
            begun = msgspec.convert(line.data, built(Begun))
            self.begun.setdefault(
                number,
                Operation(number, line.at, begun.context, begun.who, begun.origin, begun.goal, begun.throttle),
            )
        elif number not in self.begun:
            return
        elif line.kind == "step":
            self._steps.setdefault(number, []).append(msgspec.convert(line.data, built(Step)))
        elif line.kind == "letters":
            self._sent.setdefault(number, []).append(msgspec.convert(line.data, built(SentLetters)))
        else:
            self.begun[number] = _with(self.begun[number], line)


def _with(operation: Operation, line: journal_lines.OperationLine) -> Operation:
    match line.kind:
        case "progress":
            return replace(operation, progress=msgspec.convert(line.data, built(Progress)))
        case "asked":
            asked = msgspec.convert(line.data, built(Asked))
            throttle = operation.throttle if asked.throttle is None else asked.throttle or None
            return replace(
                operation,
                cancelling=operation.cancelling or asked.cancel,
                throttle=throttle,
                gives_up=operation.gives_up or asked.give_up,
                paused=operation.paused if asked.pause is None else asked.pause,
            )
        case _:
            state = msgspec.convert(line.data, built(Over)).state
            letters = operation.progress.letters if operation.progress is not None else None
            return replace(operation, ended=line.at, progress=Progress(line.at, state, letters=letters))


# -- the lease ---------------------------------------------------------------------------------------------------------


class Holder(NamedTuple):
    """The process that holds the lease, and so works on a cluster's operations."""

    by: journal_lines.Origin
    until: datetime
    """The time at which the lease ends, UTC."""


class Lease:
    """The lease for working on a cluster's operations. journal: the path of the journal's first segment.

    The lease ends if it is not renewed in time. If its process runs on this host, the lease also ends with the process.
    All calls raise OSError if the file of the lease can't be read or written.
    """

    def __init__(self, journal: Path, mine: journal_lines.Origin) -> None:
        self._path = journal_lines.segment_folder(journal) / "operations.lease"
        self._mine = mine

    def take(self, now: datetime) -> Holder | None:
        """Take or renew the lease. Return None if this process has it then, else the other process that holds it. now:
        UTC.
        """
        descriptor = self._locked()
        try:
            holder = _holder(os.pread(descriptor, LARGEST_LEASE, 0))
            if holder is not None and holder.by != self._mine and is_held(holder, now):
                return holder
            self._write(descriptor, Holder(self._mine, now + LEASE))
            return None
        finally:
            os.close(descriptor)

    def free(self) -> None:
        """Release the lease, if this process holds it."""
        descriptor = self._locked()
        try:
            holder = _holder(os.pread(descriptor, LARGEST_LEASE, 0))
            if holder is not None and holder.by == self._mine:
                os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)

    def holder(self, now: datetime) -> Holder | None:
        """Return the process that holds the lease; None if none does, or the content of the file is incomplete."""
        try:
            found = _holder(read_regular(self._path, LARGEST_LEASE))
        except FileNotFoundError:
            return None
        except ValueError:
            return None
        return found if found is not None and is_held(found, now) else None

    def _locked(self) -> int:
        private_folder(self._path.parent)
        descriptor = open_private(self._path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor

    def _write(self, descriptor: int, holder: Holder) -> None:
        data = {"by": msgspec.to_builtins(holder.by), "until": journal_lines.time_text(holder.until)}
        content = json_text(data).encode("ascii")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, content, 0)
        os.fsync(descriptor)


def is_held(holder: Holder, now: datetime) -> bool:
    """Return whether a lease is still in force: its time is not over, and its process has not ended, as far as this
    host knows. A lease whose end is too far in the future is ignored, since it results from a wrong clock (`BELIEVED`).
    """
    return now < holder.until <= now + LEASE + BELIEVED and still_runs(holder.by, elsewhere=True)


def _holder(data: bytes) -> Holder | None:
    """Return the holder that the data of the lease's file names; None if it names none, or is incomplete because its
    writer died.
    """
    try:
        found = json_of(data)
        return Holder(msgspec.convert(found["by"], built(journal_lines.Origin)), journal_lines.time_of(found["until"]))
    except (ValueError, KeyError, TypeError, AttributeError):  # BadLine, which is a ValueError, is also caught
        return None
