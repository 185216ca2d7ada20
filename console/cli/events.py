"""``kac events``: what changes in a cluster, each change as it happens."""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from console.cli.opening import add_duration, with_session
from console.model.numbers import json_text
from console.terminal import complain, put, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.session.session import Session
    from console.triage.events import Event

SAID_AFTER = 60.0
"""Seconds within which everything should have been read once; what has not been by then is reported as not watched."""
STEP = 0.5
"""Seconds between two checks of what is watched."""


def events_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac events``."""
    parser.set_defaults(run=run_events)
    add_duration(parser, "how long to watch, as 20s or 5m (default: until interrupted)")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of an event: a line each")


def run_events(options: argparse.Namespace) -> int:
    """Print events as they happen.

    Returns:
        The exit code: 0 when the time is over, 1 if no broker answered, 2 no context or not understood.
    """
    return with_session(options, "events", partial(_watch, options=options))


async def _watch(session: Session, options: argparse.Namespace) -> int:
    from console.session.event_feed import EventFeed
    from console.session.reads_in_turn import Paces, ReadsInTurn, gaps, run_for

    await session.read_cluster()  # raises where no broker answers at all
    feed = EventFeed(session, lambda made: _tell(made, options.output))
    reads = ReadsInTurn(session, Paces(cluster=2.0))
    began = time.monotonic()

    async def report() -> None:
        told = _State()
        while True:
            missing = tuple(gaps(session.snapshot, datetime.now(UTC)))
            now = _State(reads.problems.get("cluster", ""), feed.problem, missing)
            told = _report(told, now, time.monotonic() - began, options.seconds, session.context.settings.asked)
            await asyncio.sleep(STEP)

    await run_for(options.seconds, (feed.run(), reads.run(), report()))
    return 0


def _tell(events: Sequence[Event], output: str) -> None:
    from console.present.events import EVENTS, line

    if output == "json":
        put("".join(f"{json_text(EVENTS.data(each))}\n" for each in events))
    elif events:
        say("\n".join(map(line, events)))


class _State(NamedTuple):
    """What is reported on standard error. lost: why no broker answers; problem: why it is not known who made a change;
    both ``""`` where all is well. missing: what is not watched, None before the first report."""

    lost: str = ""
    problem: str = ""
    missing: tuple[str, ...] | None = None


def _report(reported: _State, now: _State, passed: float, seconds: float | None, asked: str) -> _State:
    """Report once everything is watched, what is not, and when brokers stop or begin to answer.

    Args:
        reported: what was reported so far.
        passed: seconds since it began.
        seconds: for how long it watches, None for no end.
        asked: brokers or controllers, in a word.

    Returns:
        What is reported now.
    """
    from console.plan.amounts import duration
    from console.present.text import clean

    if now.lost != reported.lost:
        complain(f"no {asked} answers: {clean(now.lost, 300)}" if now.lost else f"{asked}s answer again")
    if now.problem and now.problem != reported.problem:
        complain(f"who made a change is not known: {clean(now.problem, 300)}")
    if now.missing == reported.missing or (now.missing and passed < SAID_AFTER):
        return now._replace(missing=reported.missing)
    watched = "watching; Ctrl-C stops" if seconds is None else f"watching for {duration(round(seconds * 1000))}"
    complain(f"not watched: {clean(', '.join(now.missing), 600)}" if now.missing else watched)
    return now
