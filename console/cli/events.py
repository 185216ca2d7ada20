"""``kac events``: what changes in a cluster, each change as it happens."""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from console.cli.opening import with_session
from console.model.numbers import option
from console.terminal import complain, put, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.session.event_feed import EventFeed
    from console.session.reads_in_turn import ReadsInTurn
    from console.session.session import Session
    from console.triage.events import Event

SAID_AFTER = 60.0
"""Seconds within which everything should have been read once; what has not been by then is reported as not watched."""
STEP = 0.5
"""Seconds between two checks of what is watched."""


def events_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac events``."""
    parser.set_defaults(run=run_events)
    parser.add_argument(
        "--for",
        dest="seconds",
        metavar="DURATION",
        type=option(_seconds),
        help="how long to watch, as 20s or 5m (default: until interrupted)",
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of an event: a line each")


def _seconds(text: str) -> float:
    from console.plan.amounts import parse_duration

    return parse_duration(text) / 1000


def run_events(options: argparse.Namespace) -> int:
    """Print events as they happen.

    Returns:
        The exit code: 0 when the time is over, 1 if no broker answered, 2 no context or not understood.
    """
    return with_session(options, "events", partial(_watch, options=options))


async def _watch(session: Session, options: argparse.Namespace) -> int:
    from console.session.event_feed import EventFeed
    from console.session.reads_in_turn import Paces, ReadsInTurn

    await session.read_cluster()  # raises where no broker answers at all
    feed = EventFeed(session, lambda made: _tell(made, options.output))
    reads = ReadsInTurn(session, Paces(cluster=2.0))
    work = [
        asyncio.create_task(each)
        for each in (feed.run(), reads.run(), _tell_state(session, feed, reads, options.seconds))
    ]
    try:
        done, _ = await asyncio.wait(work, timeout=options.seconds, return_when=asyncio.FIRST_EXCEPTION)
        for each in done:
            each.result()
    finally:
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)
    return 0


def _tell(made: Sequence[Event], output: str) -> None:
    from console.model.numbers import json_text
    from console.present.events import EVENTS, line

    if output == "json":
        put("".join(f"{json_text(EVENTS.data(each))}\n" for each in made))
    elif made:
        say("\n".join(map(line, made)))


async def _tell_state(session: Session, feed: EventFeed, reads: ReadsInTurn, seconds: float | None) -> None:
    """Report on standard error once everything is watched, what is not, and when brokers stop or begin to answer."""
    from console.plan.amounts import duration
    from console.present.text import clean
    from console.session.reads_in_turn import gaps

    began = time.monotonic()
    told: tuple[str, ...] | None = None
    lost = problem = ""
    while True:
        now_lost = reads.problems.get("cluster", "")
        if now_lost != lost:
            complain(f"no broker answers: {clean(now_lost, 300)}" if now_lost else "brokers answer again")
            lost = now_lost
        if feed.problem != problem and (problem := feed.problem):
            complain(f"who made a change is not known: {clean(problem, 300)}")
        missing = tuple(gaps(session.snapshot, datetime.now(UTC)))
        if missing != told and (not missing or time.monotonic() - began >= SAID_AFTER):
            watched = "watching; Ctrl-C stops" if seconds is None else f"watching for {duration(round(seconds * 1000))}"
            complain(f"not watched: {clean(', '.join(missing), 600)}" if missing else watched)
            told = missing
        await asyncio.sleep(STEP)
