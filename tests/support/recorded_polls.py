"""Compares the verdicts of live polls with the verdicts that replaying the recorded responses gives."""

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from console.admin.client import AdminClient
from console.admin.errors import RequestTimedOut
from console.admin.recorded import InstantLoop
from console.admin.settings import ConnectionSettings
from console.answers.triage import verdict_data
from console.contexts import Context
from console.contexts.context import parse_bootstrap
from console.flight.answer import Header
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.tap import Tap
from console.session.replay import Replay
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import Observations, after, begin
from console.triage.symptoms import Poll

SHORT_SESSIONS = {"broker.session.timeout.ms": "4000"}
"""Broker configs with a session timeout of 4 s: brokers are fenced soon after a crash, but not so soon that the crash
looks like a shutdown.
"""
Step = Callable[[int], None]
"""A function that is called after each poll with the poll's number, from 0 on."""


async def _polled(poller: Poller) -> Poll:
    """Return a poll of the whole cluster. If a request times out, because the machine paused, poll again, without
    limit.
    """
    while True:
        with suppress(RequestTimedOut):
            return await poller.poll(whole=True)


async def watched(
    bootstrap: str, file: Path, polls: int, step: Step, settings: ConnectionSettings | None = None
) -> list[Verdict]:
    """Poll a cluster `polls` times, and record all responses into a file. Return the verdict of each poll.

    step: called after each poll. settings: how to connect; None to connect to `bootstrap` without login.
    """
    settings = settings or ConnectionSettings(parse_bootstrap(bootstrap))
    writer = FlightWriter(file, Header("", "watched", int(time.time() * 1000), "0"))
    client = AdminClient(settings, Tap(writer.add))
    client.start()
    verdicts: list[Verdict] = []
    try:
        observations: Observations | None = None
        async with Poller(Session(client, Context("watched", "test", settings))) as poller:
            for number in range(polls):
                poll = await _polled(poller)
                observations = after(observations, poll) if observations is not None else begin(poll)
                verdicts.append(diagnose(observations))
                await asyncio.to_thread(step, number)
                await poller.rest()
    finally:
        client.close()
        writer.close()
    return verdicts


def replayed(file: Path, times: Sequence[int]) -> list[Verdict]:
    """Replay a recorded file, and return the verdict at each of these times, in ms since 1970."""

    async def work() -> list[Verdict]:
        replay = Replay.of(FlightReader(file), str(file))
        found: list[Verdict] = []
        observations: Observations | None = None
        async for poll in replay.polls(times):
            observations = after(observations, poll) if observations is not None else begin(poll)
            found.append(diagnose(observations))
        await replay.close()
        return found

    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        return runner.run(work())


def timeless_data(data: dict[str, Any]) -> Any:
    """Return a verdict's JSON without the values that differ between a live poll and its replay: times, rates, and the
    reads that had not been answered yet. Changes `data`.
    """
    data.pop("at")
    for cause in data["causes"]:
        cause["since"] = cause["since"] is not None
        for each in cause["evidence"]:
            each.pop("at")
    known = [each for each in data["unknowable"] if "not answered yet" not in each["what"]]
    data["unknowable"] = sorted(known, key=lambda each: str(each["what"]))  # they are in the order in which reads ended
    text = re.sub(r"\d\d:\d\d:\d\d", "TIME", json.dumps(data))
    return json.loads(re.sub(r"[+-]?[\d,]+ (records|bytes)/s( over \d+ s)?", "RATE", text))


def timeless(verdict: Verdict) -> Any:
    """Return a verdict's JSON without times and other values that differ between a live poll and its replay, because a
    live poll sees an answer a moment after it arrives.
    """
    return timeless_data(dict(verdict_data(verdict)))


def compare(live: list[Verdict], file: Path) -> None:
    """Raise AssertionError if the replay of a file gives a verdict that differs from the live verdict of the same poll.

    A replay may see an answer one poll earlier or later. So, where the live verdicts of the five polls around a poll
    differ, its replayed verdict may have any cause that one of them has, and must have the causes that all of them
    have.
    """
    times = [math.ceil(each.at.timestamp() * 1000) for each in live]
    again, seen = replayed(file, times), [timeless(each) for each in live]
    assert len(again) == len(seen)
    other = [place for place, found in enumerate(again) if timeless(found) != seen[place]]
    assert len(other) < len(seen)
    for place in other:
        around = slice(max(0, place - 2), place + 3)
        assert any(each != seen[place] for each in seen[around]), (place, timeless(again[place]), seen[place])
        near = [_named(each) for each in live[around]]
        assert frozenset.intersection(*near) <= _named(again[place]) <= frozenset.union(*near), place


def _named(verdict: Verdict) -> frozenset[tuple[str, object]]:
    return frozenset((each.claim.cause, each.claim.subject) for each in verdict.causes)
