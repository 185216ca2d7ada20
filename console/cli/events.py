"""``kac events``: prints each change in a cluster as it happens."""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from console.cli.opening import add_duration, with_session
from console.model.numbers import json_text
from console.model.parts import FOR_EVENTS, Part
from console.present.text import clean
from console.terminal import complain, put, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.admin.settings import ConnectionSettings
    from console.model.snapshot import Snapshot
    from console.session.session import Session
    from console.triage.events import Event

SAID_AFTER = 60.0
"""Seconds after which the parts that were not read yet are reported as not watched."""
STEP = 0.5
"""Seconds between two checks for changes."""


def events_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac events``."""
    add_duration(parser, "how long to watch, for example 20s or 5m (default: until interrupted)")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of an event: a line each")


def run_events(options: argparse.Namespace) -> int:
    """Print events as they happen.

    Returns:
        The exit code: 0 at the end of the time of --for, 1 if no broker answered, 2 without a context or for invalid
        arguments.
    """
    return with_session(options, "events", partial(_watch, options=options))


async def _watch(session: Session, options: argparse.Namespace) -> int:
    from console.session.event_feed import EventFeed, run_for
    from console.session.event_reads import EventReads, gaps

    await session.read_cluster()  # raises an error if no broker responds at all
    complain("reading everything once: what changes from then on is printed")
    feed = EventFeed(session, lambda made: _tell(made, options.output))
    reads = EventReads(session, FOR_EVENTS)
    began, told = time.monotonic(), _State()

    async def report() -> None:
        nonlocal told
        while True:
            missing = tuple(gaps(session.snapshot, session.context.settings, datetime.now(UTC)))
            lost = reads.problems.get(Part.CLUSTER)
            now = _State(lost.message or lost.name if lost is not None else "", feed.problem, missing)
            beside = (_watched(options.seconds, reads.configs_every), session.context.settings.asked)
            told = _report(told, now, time.monotonic() - began, *beside)
            await asyncio.sleep(STEP)

    try:
        await run_for(options.seconds, (feed.run(), reads.run(), report()))
    finally:
        if unseen := _unseen(session.snapshot, session.context.settings, told.missing):
            complain(unseen)
    return 0


def _watched(seconds: float | None, configs_every: float) -> str:
    """Return the message that all parts are watched.

    Args:
        seconds: the time of --for; None without it.
        configs_every: the interval of reads of configs in seconds.
    """
    from console.plan.amounts import duration

    until = "watching; Ctrl-C stops" if seconds is None else f"watching for {duration(round(seconds * 1000))}"
    return f"{until}. Each config is looked at every {configs_every:g} s"


def _unseen(snapshot: Snapshot, settings: ConnectionSettings, told: tuple[str, ...] | None) -> str:
    """Return a message with the parts that were not read in time, or with the time since which changes of configs are
    not seen; ``""`` if nothing is missing, or if the same was reported before.

    Args:
        settings: the settings of the context.
        told: the parts reported before; None before the first report.
    """
    from console.present.columns import clock
    from console.session.event_reads import gaps, unseen_since

    now = datetime.now(UTC)
    if (missing := tuple(gaps(snapshot, settings, now))) and missing != told:
        return f"not read in that time, so changes of it are not in this: {clean(', '.join(missing), 600)}"
    since = unseen_since(snapshot, now)
    return f"changes of some configs since {clock(since)} are not in this: they were looked at then" if since else ""


def _tell(events: Sequence[Event], output: str) -> None:
    from console.present.events import EVENTS, line

    if output == "json":
        put("".join(f"{json_text(EVENTS.data(each))}\n" for each in events))
    elif events:
        say("\n".join(map(line, events)))


class _State(NamedTuple):
    """The state of the watch, whose changes are reported on standard error."""

    lost: str = ""
    """The reason why no broker responds; ``""`` if one does."""
    problem: str = ""
    """The reason why the authors of changes are unknown; ``""`` if they are known."""
    missing: tuple[str, ...] | None = None
    """The parts reported as not watched; None before the first report."""


def _report(reported: _State, now: _State, passed: float, watched: str, asked: str) -> _State:
    """Print on standard error what has changed from one state to the next: that all parts are watched, or which are
    not; that brokers stopped or began to answer; and why the authors of changes are unknown.

    Args:
        reported: the state reported so far.
        now: the present state.
        passed: seconds since the start; before `SAID_AFTER`, no part is reported as not watched.
        watched: the message that all parts are watched.
        asked: ``broker`` or ``controller``, for messages.

    Returns:
        The state reported now.
    """

    if now.lost != reported.lost:
        complain(f"no {asked} answers: {clean(now.lost, 300)}" if now.lost else f"{asked}s answer again")
    if now.problem and now.problem != reported.problem:
        complain(f"who made a change is not known: {clean(now.problem, 300)}")
    if now.missing == reported.missing or (now.missing and passed < SAID_AFTER):
        return now._replace(missing=reported.missing)
    complain(f"not watched: {clean(', '.join(now.missing), 600)}" if now.missing else watched)
    return now
