"""Looks at a cluster, with all that was answered for them in a flight record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.context import parse_bootstrap
from console.flight.answer import FORMAT, Header
from console.flight.flight_writer import FlightWriter
from console.flight.tap import Tap
from console.session.session import Session
from console.session.triage_looks import Looker
from console.triage.course import Course, after, begin
from console.triage.diagnosis import Verdict, diagnose

Step = Callable[[int], None]
"""What is done after a look: by its number."""


async def watched(bootstrap: str, file: Path, looks: int, step: Step) -> list[Verdict]:
    """The verdicts of so many looks, all that was answered for them being recorded into a file."""
    settings = ConnectionSettings(parse_bootstrap(bootstrap))
    writer = FlightWriter(file, Header(FORMAT, "", "watched", int(time.time() * 1000), "0"))
    client = AdminClient(settings, Tap(writer.add))
    client.start()
    verdicts: list[Verdict] = []
    try:
        course: Course | None = None
        async with Looker(Session(client, Context("watched", "test", settings))) as looker:
            for number in range(looks):
                look = await looker.look(whole=True)
                course = after(course, look) if course is not None else begin(look)
                verdicts.append(diagnose(course))
                await asyncio.to_thread(step, number)
                await looker.rest()
    finally:
        client.close()
        writer.close()
    return verdicts
