"""``kac record``: writes the brokers' responses to a file, a flight record, for a later replay."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.opening import DONE, FAILED, USAGE, add_duration, complain, leave, seconds, with_session
from console.cli.status_line import signals_end, status_line
from console.model.numbers import option, plural
from console.terminal import put

if TYPE_CHECKING:
    from console.flight.flight_writer import FlightWriter
    from console.flight.recorder import Recorder, Sink
    from console.model.snapshot import Snapshot
    from console.session.session import Session

EVERY_SECONDS = 2.0
MOST_WAITING = 256 << 20
"""Maximum size in bytes of the responses that wait to be written: enough for the first poll of a very large cluster."""


def record_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac record``."""
    parser.add_argument("file", metavar="FILE", type=Path, help="the file for the answers, which only you can read")
    parser.add_argument(
        "--every",
        metavar="DURATION",
        type=option(seconds),
        default=EVERY_SECONDS,
        help="time between two samples (default: 2s)",
    )
    add_duration(parser, "how long to record, for example 2h (default: until Ctrl-C)")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--append", action="store_true", help="append to an existing file")
    group.add_argument(
        "--anonymous", action="store_true", help="replace all names by pseudonyms, so that you can pass the file on"
    )


def run_record(options: argparse.Namespace, *, quiet: bool = False) -> int:
    """Record the brokers' responses into a file.

    Args:
        quiet: whether to print no summary.

    Returns:
        The exit code: 0 recorded, also after Ctrl-C; 1 no broker answered or the file can't be written; 2 no context,
            or a file into which kac can't record.
    """
    from console.flight.answer import RecordError
    from console.flight.recorder import Recorder

    why = _refusal(options.file, append=options.append)
    if why:
        return leave(USAGE, why)
    recorder = Recorder(MOST_WAITING)

    async def written(record: Awaitable[int]) -> int:
        try:
            return await record
        except (OSError, RecordError) as error:
            return leave(FAILED, f"{options.file} can't be written: {getattr(error, 'strerror', None) or error}")

    return with_session(
        options, "record", lambda session: written(_record(session, options, recorder, quiet=quiet)), recorder
    )


def _refusal(file: Path, *, append: bool) -> str:
    """Return the reason why no record can be written into this file; ``""`` if there is none. Writes nothing.

    Args:
        append: whether to append to an existing record.
    """
    from console.flight.answer import RecordError
    from console.flight.flight_reader import FlightReader

    try:
        if not file.exists():
            return "" if file.parent.is_dir() else f"{file}: there is no folder {file.parent}"
        if not append:
            return f"{file} is there already: --append goes on with it, or give another name"
        if file.stat().st_size and FlightReader(file).header.anonymous:
            return f"{file} is anonymous, and what is appended would not be: give another name"
    except (OSError, RecordError) as error:
        return f"{file} can't be appended to: {error}"
    return ""


async def _record(session: Session, options: argparse.Namespace, recorder: Recorder, *, quiet: bool) -> int:
    from console.admin.errors import AdminError
    from console.session.triage_polls import Poller

    stopping = asyncio.Event()
    began = time.monotonic()
    async with Poller(session) as poller:
        with signals_end(stopping), status_line() as line:
            await poller.poll(whole=True)
            writer, sink = _opened(session.snapshot, session.context.name, options)
            recorder.begin(lambda: sink)
            polls, lost, polled = 1, "", time.monotonic()
            try:
                while not stopping.is_set() and recorder.problem is None:
                    left = None if options.seconds is None else options.seconds - (time.monotonic() - began)
                    if left is not None and left <= 0:
                        break
                    passed = time.monotonic() - began
                    line.show(_text(session.context.name, options.file, writer.size, polls, passed) + lost)
                    due = polled + options.every - time.monotonic()
                    wait = max(0.0, due if left is None else min(due, left))
                    try:
                        async with asyncio.timeout(wait):
                            await stopping.wait()
                    except TimeoutError:
                        pass
                    else:
                        break
                    polled = time.monotonic()
                    try:
                        await poller.poll()
                        polls, lost = polls + 1, ""
                    except AdminError as error:
                        lost = f"  no {poller.asked} answers: {error.failure.name}"
            finally:
                await asyncio.to_thread(recorder.close)
    if recorder.problem is not None:
        raise recorder.problem
    if not quiet:
        put(f"{_text(session.context.name, options.file, writer.size, polls, time.monotonic() - began)}\n")
    if recorder.lost:
        complain(f"{recorder.lost:,} answers came faster than they could be kept, and are not in the record")
    return DONE


def _opened(snapshot: Snapshot, name: str, options: argparse.Namespace) -> tuple[FlightWriter, Sink]:
    """Return the opened file, and the function that writes responses into it. Raises OSError, RecordError: it can't be
    created or continued.
    """
    from importlib.metadata import version

    from console.flight.answer import Header
    from console.flight.flight_writer import FlightWriter

    header = Header(
        snapshot.cluster.cluster_id or "",
        name,
        time.time_ns() // 1_000_000,
        version("kafka-admin-console"),
    )
    if not options.anonymous:
        writer = FlightWriter(options.file, header, options.append)
        return writer, writer
    from console.flight.anonymous import Anonymous
    from console.flight.pseudonyms import Pseudonyms

    names = Pseudonyms()
    writer = FlightWriter(options.file, names.header(header))
    return writer, Anonymous(writer, names)


def _text(name: str, file: Path, size: int, polls: int, seconds: float) -> str:
    from console.plan.amounts import size as shown_size

    passed = timedelta(seconds=int(seconds))
    return f"{name} into {file}: {passed}, {plural(polls, 'sample')}, {shown_size(size)}"
