"""A flight record instead of a cluster: ``kac triage --replay FILE``, and ``kac replay FILE``, the screen on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.opening import FAILED, USAGE, open_log_file
from console.present.text import clean
from console.terminal import complain

if TYPE_CHECKING:
    from console.flight.flight_reader import FlightReader
    from console.triage.course import Course
    from console.triage.diagnosis import Verdict
    from console.triage.symptoms import Subject

Tell = Callable[["Verdict", "Course"], None]


def opened(file: Path) -> FlightReader | None:
    """The record in a file; None after the reason was printed."""
    from console.flight.answer import RecordError
    from console.flight.flight_reader import FlightReader

    try:
        reader = FlightReader(file)
    except RecordError as error:
        complain(clean(str(error), 400))
        return None
    except OSError as error:
        complain(f"can't read {clean(str(file), 200)}: {error.strerror or error}")
        return None
    if reader.damage:
        complain(f"warning: {clean(str(file), 200)} is {clean(reader.damage, 200)}")
    if not len(reader):
        complain(f"{clean(str(file), 200)} has no answer: nothing was recorded yet")
        return None
    return reader


def time_of(text: str, reader: FlightReader) -> int:
    """A time in a record as an operator writes it, milliseconds since 1970: ``03:11`` is the last before its end.
    Raises ValueError with words for the operator."""
    from console.plan.amounts import moment as time_before
    from console.session.replay import moment

    first, last = reader.times[0], reader.times[-1]
    found = round(time_before(text, moment(last)).timestamp() * 1000)
    if found < first // 1000 * 1000:
        raise ValueError(f"the record begins at {moment(first).astimezone():%Y-%m-%d %H:%M:%S}, after {text}")
    return max(found, first)


def replay_verdict(
    file: Path, at: str | None, expected: Sequence[Subject], tell: Tell, *, every: bool
) -> Verdict | int:
    """Triage a record up to a time, None for its end: the last verdict, or an exit code after the reason was printed.

    tell: gets each verdict if `every`, else the last one.
    """
    import asyncio

    open_log_file()
    reader = opened(file)
    if reader is None:
        return FAILED
    try:
        until = time_of(at, reader) if at is not None else reader.times[-1]
    except ValueError as error:
        complain(str(error))
        return USAGE
    from console.admin.recorded import InstantLoop

    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        verdict = runner.run(_verdict(reader, str(file), until, expected, tell, every=every))
    if verdict is None:
        complain("no broker answered in this record until then")
        return FAILED
    return verdict


async def _verdict(
    reader: FlightReader, name: str, until: int, expected: Sequence[Subject], tell: Tell, *, every: bool
) -> Verdict | None:
    from console.session.replay import Replay
    from console.triage.course import after, begin
    from console.triage.diagnosis import diagnose

    replay = Replay.of(reader, name)
    course: Course | None = None
    verdict: Verdict | None = None
    try:
        async for look in replay.looks([*(at for at in replay.times if at < until), until]):
            course = after(course, look) if course is not None else begin(look)
            if every:
                verdict = diagnose(course, expected)
                tell(verdict, course)
    finally:
        await replay.close()
    if course is not None and not every:
        verdict = diagnose(course, expected)
        tell(verdict, course)
    return verdict
