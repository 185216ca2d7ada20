"""Polls of a cluster, with all that was answered for them in a flight record."""

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
"""Configs of brokers that are fenced soon after a crash, and not so soon that it could be a stop in order."""
Step = Callable[[int], None]
"""What is done after a poll: by its number."""


async def _polled(poller: Poller) -> Poll:
    """A poll; another one if the machine stood still for so long that no broker seemed to answer."""
    while True:
        with suppress(RequestTimedOut):
            return await poller.poll(whole=True)


async def watched(
    bootstrap: str, file: Path, polls: int, step: Step, settings: ConnectionSettings | None = None
) -> list[Verdict]:
    """The verdicts of so many polls, all that was answered for them being recorded into a file. settings: how to reach
    the cluster, where that takes more than addresses."""
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
    """The verdicts over a record at these times."""

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
    """JSON without times: they differ by what an answer takes from the socket to the poll, and so do rates in their
    last digit, and what was under way."""
    data.pop("at")
    for cause in data["causes"]:
        cause["since"] = cause["since"] is not None
        for each in cause["evidence"]:
            each.pop("at")
    known = [each for each in data["unknowable"] if "not answered yet" not in each["what"]]
    data["unknowable"] = sorted(known, key=lambda each: str(each["what"]))  # in the order in which reads ended
    text = re.sub(r"\d\d:\d\d:\d\d", "TIME", json.dumps(data))
    return json.loads(re.sub(r"[+-]?[\d,]+ (records|bytes)/s( over \d+ s)?", "RATE", text))


def timeless(verdict: Verdict) -> Any:
    """A verdict's JSON without its times, which differ by what an answer takes from the socket to the poll."""
    return timeless_data(dict(verdict_data(verdict)))


def compare(live: list[Verdict], file: Path) -> None:
    """Poll by poll the replayed verdict is the live one. While that changes, as when a broker comes back, the replayed
    one may have heard an answer a poll sooner or later: then it names what the polls around it named."""
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
