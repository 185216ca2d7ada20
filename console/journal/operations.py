"""Operations in the journal: their lines, what these come to, and who works on them.

Lines of an operation carry its number in ``change``: ``operation`` (it begins), ``step`` (a change of it is about to be
sent, with the throttles that become its own), ``progress``, ``asked`` (of an operator, by any process) and ``ended``.
One process works on a cluster's operations at a time, by a lease beside the journal.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from console.journal.entries import Note, Numbered, still_runs
from console.model import journal_lines
from console.model.foreign_json import json_of
from console.model.numbers import json_text
from console.operations.goals import Goal
from console.operations.operation import Operation, Progress, State, Step
from console.safe_files import open_private, private_folder, read_regular

LEASE = timedelta(seconds=60)
"""How long a lease holds unless it is renewed."""
LARGEST_LEASE = 4096
"""Bytes of its file."""
BELIEVED = timedelta(minutes=10)
"""How far another host's clock may be ahead of this one's."""
T = TypeVar("T")


class Begun(Struct, frozen=True):
    """An operation begins."""

    context: str
    who: journal_lines.Who
    origin: journal_lines.Origin
    goal: Goal
    throttle: int | None = None


class Asked(Struct, frozen=True):
    """What an operator asks of an operation. cancel: to cancel it. throttle: bytes per second, 0 for no throttle, None
    to leave it as it is. give_up: to leave its throttles on brokers that do not answer."""

    who: journal_lines.Who
    cancel: bool = False
    throttle: int | None = None
    give_up: bool = False


class Over(Struct, frozen=True):
    """It is over: DONE or CANCELLED."""

    state: State


def begun_json(begun: Begun) -> journal_lines.Json:
    """Return it as the line of its beginning has it."""
    return _json(begun)


def operation_line(number: int, at: datetime, what: Step | Progress | Asked | Over) -> journal_lines.OperationLine:
    """Return a line of an operation that has begun."""
    kinds = {Step: "step", Progress: "progress", Asked: "asked", Over: "ended"}
    return journal_lines.OperationLine(number, kinds[type(what)], at, _json(what))


def _json(value: object) -> journal_lines.Json:
    found: journal_lines.Json = msgspec.to_builtins(value, enc_hook=None)
    return found


def operations(records: Iterable[Numbered | Note]) -> Mapping[int, Operation]:
    """Return the operations among records in their order, by number. A line that is not in the form of this release is
    left out: then the operation shows what the others say."""
    found: dict[int, Operation] = {}
    for each in records:
        if not isinstance(each, journal_lines.OperationLine):
            continue
        try:
            if each.kind == "operation":
                begun = msgspec.convert(each.data, Begun)
                found.setdefault(
                    each.change,
                    Operation(each.change, each.at, begun.context, begun.who, begun.origin, begun.goal, begun.throttle),
                )
            elif each.change in found:
                found[each.change] = _with(found[each.change], each)
        except msgspec.ValidationError:
            continue
    return found


def _with(operation: Operation, line: journal_lines.OperationLine) -> Operation:
    match line.kind:
        case "step":
            return replace(operation, steps=(*operation.steps, msgspec.convert(line.data, Step)))
        case "progress":
            return replace(operation, progress=msgspec.convert(line.data, Progress))
        case "asked":
            asked = msgspec.convert(line.data, Asked)
            throttle = operation.throttle if asked.throttle is None else asked.throttle or None
            return replace(
                operation,
                cancelling=operation.cancelling or asked.cancel,
                throttle=throttle,
                gives_up=operation.gives_up or asked.give_up,
            )
        case _:
            state = msgspec.convert(line.data, Over).state
            return replace(operation, ended=line.at, progress=Progress(line.at, state))


# -- who works on them -------------------------------------------------------------------------------------------------


class Holder(NamedTuple):
    """The process that works on a cluster's operations, and until when its lease holds, UTC."""

    by: journal_lines.Origin
    until: datetime


class Lease:
    """The right to work on a cluster's operations. journal: of its first segment.

    It ends when it is not renewed in time, and with its process where that ran on this host. All calls raise OSError.
    """

    def __init__(self, journal: Path, mine: journal_lines.Origin) -> None:
        self._path = journal_lines.segment_folder(journal) / "operations.lease"
        self._mine = mine

    def take(self, now: datetime) -> Holder | None:
        """Take or renew it. Returns None, or who holds it."""
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
        """Give it back, if it is ours."""
        descriptor = self._locked()
        try:
            holder = _holder(os.pread(descriptor, LARGEST_LEASE, 0))
            if holder is not None and holder.by == self._mine:
                os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)

    def holder(self, now: datetime) -> Holder | None:
        """Return who holds it, without taking it."""
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
    """Return whether a lease still holds: its time is not over, nor did its process end on this host. A clock that is
    further ahead than `BELIEVED` is not believed: its lease would never end."""
    return now < holder.until <= now + LEASE + BELIEVED and still_runs(holder.by, elsewhere=True)


def _holder(data: bytes) -> Holder | None:
    """Return the holder, None where no process holds it, or the file is torn: its writer died."""
    try:
        found = json_of(data)
        return Holder(msgspec.convert(found["by"], journal_lines.Origin), journal_lines.time_of(found["until"]))
    except (ValueError, KeyError, TypeError, AttributeError):  # a BadLine is a ValueError
        return None
