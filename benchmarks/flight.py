"""The flight record of 40,000 partitions: bytes an hour, what it costs the processor, how soon an answer is found.

``python -m benchmarks.flight [--minutes 60] [--reading] [--keep FILE]``. An embedded cluster of 400 topics of 100
partitions, three replicas each; with --reading also a group that reads the 200 that grow, and commits between any two
looks. One look of `kac record` says what is asked; then every question is
asked again as often as there, on a clock of its own, and the answers are recorded. Meanwhile half a percent of the
replicas move: 200 partitions grow between any two answers, and within the hour each of another 200 loses a replica from
its ISR and gets it back. Bytes are the file's, and seconds the processor's of the record alone.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks.figures import load, report, report_ratio
from console.admin.errors import AdminError
from console.admin.link import Link
from console.admin.routing import ANY, Route, broker
from console.admin.settings import ConnectionSettings
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.groups import Committed, Group
from console.embedded.partition_log import PartitionLog
from console.embedded.replicas import joined_isr, left_isr, new_topic, striped
from console.embedded.spec import ClusterSpec
from console.flight.answer import FORMAT, Answer, Header
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.tap import Tap
from console.wire.frames import decode_request
from console.wire.schemas import api_name, request_type

TOPICS, PARTITIONS, REPLICAS = 400, 100, 3
MOVING = TOPICS * PARTITIONS // 200
LOOK = 2.0
PERIODS = {
    "describe_log_dirs": 10.0,
    "list_partition_reassignments": 10.0,
    "describe_configs": 60.0,
    "list_offsets": 2.5,
    "offset_fetch": 2.5,
}
"""Seconds, as `console.session.triage_looks` has them; what is not here is asked in each look."""
MOST_AN_HOUR = 2 << 20
MOST_CPU = 0.02
"""Of one processor."""


class Question(NamedTuple):
    """What is asked again and again."""

    api: str
    version: int
    to: Route
    request: Any
    period: float


def fill(cluster: EmbeddedCluster, *, reading: bool) -> None:
    """The topics, and perhaps a group that reads those that grow."""
    state = cluster.state
    brokers = sorted(state.brokers)
    for number in range(TOPICS):
        replicas = striped(brokers, PARTITIONS, REPLICAS, number)
        state.put_topic(new_topic(f"team-{number % 20:02}.topic-{number:04}", replicas, brokers))
    if reading:
        group = Group("reads-what-grows", protocol_type="consumer", written=True)
        group.offsets = {place: Committed(0, at=cluster.clock.time()) for place in growing()}
        state.groups[group.id] = group
    chance = random.Random(1)
    for topic in state.topics.values():
        for index in range(len(topic.partitions)):
            log = state.logs.setdefault((topic.name, index), PartitionLog())
            log.older_bytes = chance.randrange(1 << 36)
            log.end = chance.randrange(1 << 30)


def growing() -> list[tuple[str, int]]:
    """The partitions that get records all the time."""
    chance = random.Random(2)
    return [(f"team-{at % 20:02}.topic-{at:04}", chance.randrange(PARTITIONS)) for at in range(MOVING)]


def move(cluster: EmbeddedCluster, look: int, of: int) -> None:
    """What happens between two looks."""
    state, chance = cluster.state, random.Random(look)
    for place in growing():
        records = chance.randrange(1, 5000)
        log = state.logs[place]
        log.end += records
        log.older_bytes += records * chance.randrange(200, 1200)
        if (group := state.groups.get("reads-what-grows")) is not None:
            group.offsets[place] = Committed(max(0, log.end - chance.randrange(2000)), at=cluster.clock.time())
    alive = frozenset(state.brokers)
    for turn in range(2 * MOVING * look // of, 2 * MOVING * (look + 1) // of):
        name, index = f"team-{turn % MOVING % 20:02}.topic-{turn % MOVING + 200:04}", turn % PARTITIONS
        topic = state.topics[name]
        partition = topic.partitions[index]
        gone = partition.replicas[-1]
        changed = left_isr(partition, gone, alive) if turn < MOVING else joined_isr(partition, gone)
        partitions = (*topic.partitions[:index], changed, *topic.partitions[index + 1 :])
        state.put_topic(replace(topic, partitions=partitions))


async def questions(addresses: tuple[tuple[str, int], ...]) -> list[Question]:
    """What one look asks."""
    from console.admin.client import AdminClient
    from console.contexts import Context
    from console.session.session import Session
    from console.session.triage_looks import Looker

    found: dict[Any, Answer] = {}

    def keep(answer: Answer) -> None:
        found.setdefault(answer.asked, answer)

    settings = ConnectionSettings(addresses, request_timeout=120.0)
    with AdminClient(settings, Tap(keep)) as client:
        async with Looker(Session(client, Context("bench", "", settings))) as looker:
            for _ in range(2):
                with suppress(AdminError):  # a busy machine; what was asked is known nevertheless
                    await looker.look(whole=True)
    made = {}
    for answer in found.values():
        api = api_name(answer.api_key)
        if not answer.request or api is None:
            continue
        request = decode_request(request_type(api, answer.version), answer.request)
        to = broker(answer.node) if answer.node >= 0 else ANY
        made[answer.api_key, answer.node, answer.request] = Question(
            api, answer.version, to, request, PERIODS.get(api, LOOK)
        )
    named = {(key, request) for key, node, request in made if node >= 0}
    return [each for (key, node, request), each in made.items() if node >= 0 or (key, request) not in named]


class Sink:
    """Gives answers the time of the simulated clock, and measures what recording them costs."""

    def __init__(self, writer: FlightWriter) -> None:
        self.writer = writer
        self.now_ms = 0
        self.seconds = self.answered = 0.0
        self.count = self.bytes = 0
        self.grown: dict[str, int] = {}

    def take(self, answer: Answer) -> None:
        """Record it."""
        before, size = time.thread_time(), self.writer.size
        self.writer.add(answer._replace(at_ms=self.now_ms))
        self.seconds += time.thread_time() - before
        self.count += 1
        self.bytes += len(answer.body)
        api = api_name(answer.api_key) or ""
        self.grown[api] = self.grown.get(api, 0) + self.writer.size - size


async def hour(
    link: Link, sink: Sink, asked: list[Question], looks: int, moved: Callable[[int], None]
) -> tuple[int, float]:
    """Ask for so many looks; the bytes and seconds of the first of them, which are those of a beginning."""
    due = dict.fromkeys(range(len(asked)), 0.0)
    first = 0, 0.0
    for look in range(looks):
        for number, question in enumerate(asked):
            if due[number] <= look * LOOK:
                due[number] += question.period
                await link.call_raw(question.api, _building(question.request), to=question.to)
        if look == 0:
            first = sink.writer.size, sink.seconds
        sink.now_ms += round(LOOK * 1000)
        moved(look)
    return first


def _building(request: Any) -> Callable[[ModuleType], Any]:
    return lambda _: request


async def measure(minutes: float, path: Path, *, reading: bool) -> None:
    """Record, and report."""
    began = round(time.time() * 1000)
    looks = round(minutes * 60 / LOOK)
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        cluster.call(lambda c: fill(c, reading=reading), timeout=120)
        addresses = tuple(
            (host, int(port)) for host, _, port in (a.rpartition(":") for a in cluster.bootstrap.split(","))
        )
        asked = await questions(addresses)
        sink = Sink(FlightWriter(path, Header(FORMAT, "", "bench", began, "bench")))
        sink.now_ms = began
        link = Link(ConnectionSettings(addresses, request_timeout=120.0), tap=Tap(sink.take))
        an_hour = round(3600 / LOOK)
        first, first_seconds = await hour(
            link, sink, asked, looks, lambda look: cluster.call(lambda state: move(state, look, an_hour))
        )
        await link.close()
    sink.writer.close()
    size, seconds = sink.writer.size, sink.seconds
    an_hour_of_bytes = first + (size - first) * 60 / minutes
    report("record", minutes=minutes, bytes=size, first_look=first, answers=sink.count, answered=sink.bytes, **load())
    report("by API, KiB", **{api: round(grown / 1024, 1) for api, grown in sorted(sink.grown.items()) if grown})
    report_ratio("bytes an hour, MiB", an_hour_of_bytes / (1 << 20), MOST_AN_HOUR / (1 << 20))
    report("the first look, ms of the processor", ms=round(first_seconds * 1000))
    report_ratio("of a processor, all the time", (seconds - first_seconds) / (minutes * 60), MOST_CPU)
    sought(path)


def sought(path: Path) -> None:
    """How soon the record is open, and an answer of any time is found."""
    before = time.process_time()
    reader = FlightReader(path)
    report("open", ms=round((time.process_time() - before) * 1000), answers=len(reader), damage=reader.damage)
    chance = random.Random(3)
    taken = []
    for _ in range(10):
        fresh = FlightReader(path)
        at = chance.randrange(fresh.times[0], fresh.times[-1] + 1)
        before = time.process_time()
        for index in fresh.state_at(at).values():
            fresh.answer(index)
        taken.append(round((time.process_time() - before) * 1000))
    report("all answers of a time, from nothing, ms", median=sorted(taken)[5], worst=max(taken))
    before = time.process_time()
    for index in range(len(reader) - 30, len(reader)):
        reader.answer(index)
    report("the last 30 answers after another, ms", ms=round((time.process_time() - before) * 1000))


async def replayed(path: Path) -> None:
    """What it takes to open a record, and to go on in it: the processor's seconds up to verdicts."""
    from console.session.replay import Replay
    from console.triage.course import Course, after, begin
    from console.triage.diagnosis import diagnose

    taken, before = [], time.process_time()
    replay = Replay.of(FlightReader(path), path.name)
    course: Course | None = None
    async for look in replay.looks(replay.times[:11]):
        course = after(course, look) if course is not None else begin(look)
        diagnose(course)
        taken.append(round((time.process_time() - before) * 1000))
        before = time.process_time()
    await replay.close()
    report("a replay, opened up to its first verdict, ms", ms=taken[0])
    report("the next looks of a replay, ms each", median=sorted(taken[1:])[len(taken) // 2 - 1], worst=max(taken[1:]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="of the simulated clock; an hour is worked out of it"
    )
    parser.add_argument("--keep", type=Path, help="keep the record in this file, which must not be there")
    parser.add_argument("--reading", action="store_true", help="with a group that reads what grows")
    parser.add_argument("--replay", type=Path, help="replay this record, and measure nothing else")
    options = parser.parse_args()
    if options.replay is not None:
        from console.admin.recorded import InstantLoop

        with asyncio.Runner(loop_factory=InstantLoop) as runner:
            runner.run(replayed(options.replay))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(options.minutes, options.keep or Path(folder) / "record", reading=options.reading))


if __name__ == "__main__":
    main()
