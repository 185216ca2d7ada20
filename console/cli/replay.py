"""Commands on a flight record instead of a cluster: ``kac triage --replay FILE``, and ``kac replay FILE`` on the
screen.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli import opening
from console.model.numbers import plural
from console.present.text import clean
from console.terminal import complain, leave

if TYPE_CHECKING:
    from console.flight.flight_reader import FlightReader
    from console.triage.diagnosis import Verdict
    from console.triage.observations import Observations
    from console.triage.symptoms import Subject

Tell = Callable[["Verdict", "Observations"], None]


def opened(file: Path) -> FlightReader | None:
    """Return the opened record. If it can't be read, or has no responses, print the reason and return None."""
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
    if reader.left_off:
        complain(f"warning: {clean(str(file), 200)} lacks {plural(reader.left_off, 'answer')}, too large to be kept")
    if not len(reader):
        complain(f"{clean(str(file), 200)} has no answer: nothing was recorded yet")
        return None
    return reader


def replay_verdict(
    file: Path, at: str | None, expected: Sequence[Subject], tell: Tell, *, every: bool
) -> Verdict | int:
    """Find the problems in a record up to a time.

    Args:
        at: a time within the record; None for its end.
        expected: the brokers whose outage is planned, for example for a restart.
        tell: called with a verdict and the observations on which it is based.
        every: whether `tell` is called after each poll; otherwise only with the last verdict.

    Returns:
        The last verdict. If there is none, the reason is printed and the result is an exit code.
    """
    import asyncio

    from console.session.replay import record_time

    opening.open_log_file()
    reader = opened(file)
    if reader is None:
        return opening.FAILED
    try:
        until = record_time(at, reader.times[0], reader.times[-1]) if at is not None else reader.times[-1]
    except ValueError as error:
        return leave(opening.USAGE, str(error))
    from console.admin.recorded import InstantLoop

    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        verdict = runner.run(_verdict(reader, str(file), until, expected, tell, every=every))
    if verdict is None:
        return leave(opening.FAILED, "no broker answered in this record until then")
    return verdict


async def _verdict(
    reader: FlightReader, name: str, until: int, expected: Sequence[Subject], tell: Tell, *, every: bool
) -> Verdict | None:
    from console.session.replay import Replay
    from console.triage.diagnosis import diagnose
    from console.triage.observations import after, begin

    replay = Replay.of(reader, name)
    observations: Observations | None = None
    verdict: Verdict | None = None
    try:
        async for poll in replay.polls([*(at for at in replay.times if at < until), until]):
            observations = after(observations, poll) if observations is not None else begin(poll)
            if every:
                verdict = diagnose(observations, expected, verdict)
                tell(verdict, observations)
    finally:
        await replay.close()
    if observations is not None and not every:
        verdict = diagnose(observations, expected)
        tell(verdict, observations)
    return verdict


# ``kac replay``: the screen.


def replay_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac replay``."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a flight record that `kac record` wrote")
    parser.add_argument(
        "--at", metavar="TIME", help="the time at which to begin, for example 03:11 (default: the record's beginning)"
    )
    opening.add_theme(parser)
    opening.add_plain(parser)


def run_replay(options: argparse.Namespace) -> int:
    """Show a record on the screen until the operator leaves the console.

    Returns:
        The console's exit code; 1 if the file can't be read as a record, 2 without a terminal for the screen or with an
        invalid --at.
    """
    from console.cli.screen import is_plain, no_screen

    if (why := no_screen(os.environ)) and not is_plain(options):
        return leave(opening.USAGE, f"{why}; `kac triage --replay` works here")
    opening.open_log_file()
    reader = opened(options.file)
    if reader is None:
        return opening.FAILED
    from console.contexts import load
    from console.session.command_history import command_history
    from console.session.replay import Replay, record_time
    from console.tui.replay import ReplayConsole

    try:
        at_ms = record_time(options.at, reader.times[0], reader.times[-1]) if options.at is not None else None
    except ValueError as error:
        return leave(opening.USAGE, str(error))
    settings = opening.screen_settings(load(os.environ, Path.home()), options)
    app = ReplayConsole(Replay.of(reader, str(options.file)), settings, command_history(os.environ), at_ms)
    if getattr(options, "plain", False) or settings.accessible:
        from console.tui.voice import InputLines

        app.run_as_lines(InputLines())
    else:
        app.run(mouse=settings.mouse)
    return app.return_code or 0
