"""Measures the flight record of 40,000 partitions (the file of all answers to a console): its bytes per hour, the CPU
time of recording, and the time to find an answer.

``python -m benchmarks.flight [--minutes 60] [--reading 40000] [--keep FILE]``. An embedded cluster has 400 topics of
100 partitions with three replicas; with --reading also a group with commits in that number of partitions. `kac record`
polls every 2 s of a simulated clock, which is advanced after each poll. Between two polls half a percent of the
partitions, 200, get records, and the group commits offsets for them; within the hour, each of 200 others loses a
replica from its ISR and gets it back. Bytes are those of the file, and seconds the CPU time of recording only. If the
run is shorter than 60 minutes, the figures of an hour are computed from its second half.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from bisect import bisect_right
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import load, report, report_ratio
from console.admin import partitions, topics
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.groups import Committed, Group
from console.embedded.partition_log import PartitionLog
from console.embedded.replicas import joined_isr, left_isr, new_topic, put_partition, striped
from console.embedded.spec import ClusterSpec
from console.flight.answer import Answer, Header
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.tap import Tap
from console.session import scheduler, slow_polls, triage_polls
from console.session.session import Session
from console.session.snapshot_reader import Clock
from console.session.triage_polls import Poller
from console.wire.schemas import api_name

TOPICS, PARTITIONS, REPLICAS = 400, 100, 3
MOVING = TOPICS * PARTITIONS // 200
POLL = 2.0
PATIENT = 600.0
"""Timeout of a request in seconds, so long that no answer counts as late, although cluster and client keep the machine
busy.
"""
_LIMITS = {
    triage_polls: ("ANSWER_SECONDS", "FIRST_ANSWER_SECONDS"),
    slow_polls: ("VIEW_SECONDS",),
    partitions: ("LEADER_SECONDS",),
    topics: ("ANSWER_SECONDS",),
}
MOST_AN_HOUR = 10 << 20
MOST_CPU = 0.02
"""Maximum share (0 to 1) of one processor that recording may use."""


class Simulated:
    """A clock whose time only changes when it is set. at: seconds since 1970."""

    def __init__(self, at: float) -> None:
        self.at = at

    def monotonic(self) -> float:
        """Return the clock's time as seconds."""
        return self.at

    def now(self) -> datetime:
        """Return the clock's time in UTC."""
        return datetime.fromtimestamp(self.at, UTC)


def fill(cluster: EmbeddedCluster, *, reading: int) -> None:
    """Add the topics, and a group that has committed offsets of `reading` partitions, the growing ones among them; 0
    adds no group.
    """
    state = cluster.state
    brokers = sorted(state.brokers)
    for number in range(TOPICS):
        replicas = striped(brokers, PARTITIONS, REPLICAS, number)
        state.put_topic(new_topic(f"team-{number % 20:02}.topic-{number:04}", replicas, brokers))
    chance = random.Random(1)
    for topic in state.topics.values():
        for index in range(len(topic.partitions)):
            log = state.logs.setdefault((topic.name, index), PartitionLog())
            log.older_bytes = chance.randrange(1 << 36)
            log.end = chance.randrange(1 << 30)
    if reading:
        group = Group("reads-what-grows", protocol_type="consumer", written=True)
        every = [(topic.name, index) for topic in state.topics.values() for index in range(len(topic.partitions))]
        read = dict.fromkeys((*growing(), *every[: max(0, reading - MOVING)]))
        group.offsets = {place: Committed(state.logs[place].end, at=cluster.clock.time()) for place in read}
        state.groups[group.id] = group


def growing() -> list[tuple[str, int]]:
    """Return (topic, partition) of the partitions that get records between two polls."""
    chance = random.Random(2)
    return [(f"team-{at % 20:02}.topic-{at:04}", chance.randrange(PARTITIONS)) for at in range(MOVING)]


def move(cluster: EmbeddedCluster, poll: int, of: int) -> None:
    """Write records, commit offsets and change ISRs, as happens between two polls. poll: its number. of: the number of
    polls in an hour.
    """
    state, chance = cluster.state, random.Random(poll)
    for place in growing():
        records = chance.randrange(1, 5000)
        log = state.logs[place]
        log.end += records
        log.older_bytes += records * chance.randrange(200, 1200)
        if (group := state.groups.get("reads-what-grows")) is not None:
            group.offsets[place] = Committed(max(0, log.end - chance.randrange(2000)), at=cluster.clock.time())
    alive = frozenset(state.brokers)
    for turn in range(2 * MOVING * poll // of, 2 * MOVING * (poll + 1) // of):
        name, index = f"team-{turn % MOVING % 20:02}.topic-{turn % MOVING + 200:04}", turn % PARTITIONS
        topic = state.topics[name]
        partition = topic.partitions[index]
        gone = partition.replicas[-1]
        changed = left_isr(partition, gone, alive) if turn < MOVING else joined_isr(partition, gone)
        put_partition(state, topic, index, changed)


class Sink:
    """Gives answers the time of the simulated clock, records them, and measures the CPU time of recording."""

    def __init__(self, writer: FlightWriter) -> None:
        self.writer = writer
        self.now_ms = 0
        self.seconds = self.answered = 0.0
        self.count = self.bytes = 0
        self.grown: dict[str, int] = {}

    def take(self, answer: Answer) -> None:
        """Record an answer."""
        before, size = time.thread_time(), self.writer.size
        self.writer.add(answer._replace(at_ms=self.now_ms))
        self.seconds += time.thread_time() - before
        self.count += 1
        self.bytes += len(answer.body)
        api = api_name(answer.api_key) or ""
        self.grown[api] = self.grown.get(api, 0) + self.writer.size - size


async def recorded(cluster: ThreadedCluster, sink: Sink, clock: Simulated, polls: int) -> list[tuple[int, float]]:
    """Poll `polls` times as `kac record` does, every POLL seconds of the clock. Return, after each poll, the bytes of
    the record and the CPU seconds of recording so far.
    """
    settings = ConnectionSettings(
        tuple((host, int(port)) for host, _, port in (a.rpartition(":") for a in cluster.bootstrap.split(","))),
        request_timeout=PATIENT,
    )
    for module, names in _LIMITS.items():
        vars(module).update(dict.fromkeys(names, PATIENT))
    vars(triage_polls)["time"] = vars(scheduler)["time"] = clock
    began_ms, an_hour = round(clock.at * 1000), round(3600 / POLL)
    sink.now_ms = began_ms
    taken = []
    with AdminClient(settings, Tap(sink.take)) as client:
        session = Session(client, Context("bench", "", settings), clock=Clock(clock.now, clock.monotonic))
        async with Poller(session) as poller:
            poller.parts = tuple(each._replace(within=PATIENT if each.within else None) for each in poller.parts)
            for poll in range(polls):
                await poller.poll(whole=True)
                taken.append((sink.writer.size, sink.seconds))
                clock.at += POLL
                sink.now_ms += round(POLL * 1000)
                await asyncio.to_thread(cluster.call, lambda state, at=poll: move(state, at, an_hour), timeout=PATIENT)
    return taken


async def measure(minutes: float, path: Path, *, reading: int) -> None:
    """Record `minutes` minutes of the clock's time into a file, and print the figures. reading: as for `fill`."""
    clock = Simulated(float(round(time.time())))
    polls = round(minutes * 60 / POLL)
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        cluster.call(lambda c: fill(c, reading=reading), timeout=PATIENT)
        sink = Sink(FlightWriter(path, Header("", "bench", round(clock.at * 1000), "bench")))
        taken = await recorded(cluster, sink, clock, polls)
    sink.writer.close()
    size, seconds = sink.writer.size, sink.seconds
    report("record", minutes=minutes, bytes=size, answers=sink.count, answered=sink.bytes, **load())
    report("by API, KiB", **{api: round(grown / 1024, 1) for api, grown in sorted(sink.grown.items()) if grown})
    half, half_seconds = taken[polls // 2]
    missing = max(0.0, 60 - minutes)
    an_hour = size + (size - half) * missing / (minutes / 2)
    report("an hour is", simulated_minutes=minutes, worked_out_of_the_last=minutes / 2 if missing else 0)
    report_ratio("bytes an hour, MiB", an_hour / (1 << 20), MOST_AN_HOUR / (1 << 20))
    report("the first look, ms of the processor", ms=round(taken[0][1] * 1000))
    report_ratio("of a processor, all the time", (seconds - half_seconds) / (minutes * 30), MOST_CPU)
    sought(path)


def sought(path: Path) -> None:
    """Report the CPU milliseconds of opening a record, and of finding the answers at random times."""
    before = time.process_time()
    reader = FlightReader(path)
    report("open", ms=round((time.process_time() - before) * 1000), answers=len(reader), damage=reader.damage)
    chance = random.Random(3)
    taken = []
    for _ in range(10):
        fresh = FlightReader(path)
        at = chance.randrange(fresh.times[0], fresh.times[-1] + 1)
        before = time.process_time()
        last = {fresh.asked(index): index for index in range(bisect_right(fresh.times, at))}
        for index in last.values():
            fresh.answer(index)
        taken.append(round((time.process_time() - before) * 1000))
    report("all answers of a time, from nothing, ms", median=sorted(taken)[5], worst=max(taken))
    before = time.process_time()
    for index in range(len(reader) - 30, len(reader)):
        reader.answer(index)
    report("the last 30 answers after another, ms", ms=round((time.process_time() - before) * 1000))


async def replayed(path: Path) -> None:
    """Report the CPU time of opening a record, and of replaying it up to each verdict."""
    from console.session.replay import Replay
    from console.triage.diagnosis import diagnose
    from console.triage.observations import Observations, after, begin

    taken, before = [], time.process_time()
    replay = Replay.of(FlightReader(path), path.name)
    observations: Observations | None = None
    async for poll in replay.polls(replay.times[:11]):
        observations = after(observations, poll) if observations is not None else begin(poll)
        diagnose(observations)
        taken.append(round((time.process_time() - before) * 1000))
        before = time.process_time()
    await replay.close()
    report("a replay, opened up to its first verdict, ms", ms=taken[0])
    report("the next looks of a replay, ms each", median=sorted(taken[1:])[len(taken) // 2 - 1], worst=max(taken[1:]))


def main() -> None:
    """Record the polls, and print a line of JSON for each figure; or, with ``--replay``, replay a record and print
    the figures of the replay.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="of the simulated clock; an hour is worked out of it"
    )
    parser.add_argument("--keep", type=Path, help="keep the record in this file, which must not be there")
    parser.add_argument(
        "--reading", type=int, default=0, metavar="N", help="with a group that committed in so many partitions"
    )
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
