"""What a shorter retention is said to delete, against what a real broker then deletes."""

from __future__ import annotations

import statistics
import time
from random import Random
from typing import NamedTuple

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import changes
from console.admin import cluster as log_dirs
from console.admin import partitions as list_offsets
from console.admin.client import AdminClient
from console.contexts.context import Context
from console.model.changes import CreateTopics, NewTopic
from console.model.config import ConfigResource, topic_resource
from console.plan.edits import SetConfig
from console.plan.reconcile import ApplyOptions
from console.plan.risk_rules import NAMES
from console.session.read_again import read_again
from console.session.retention_reading import read_deletions
from console.session.session import Session
from tests.support import worlds
from tests.support.changing import apply_plan
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import shortly
from tests.support.real_clusters import lent

SEGMENT = 2**20
RECORDS, RECORD = 160, 50_000
HOUR = 3_600_000
PARTITIONS = {"by-time": 2, "by-size": 1, "everything": 1}
EDITS = {
    "by-time": ("retention.ms", str(70 * HOUR)),
    "by-size": ("retention.bytes", str(3 * SEGMENT)),
    "everything": ("retention.ms", str(HOUR // 4)),
}
CONFIGS = {"retention.ms": "-1", "segment.bytes": str(SEGMENT)}
_PROPERTIES = {"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500"}
quick_cluster = lent(lambda: KafkaCluster(brokers=1, properties=_PROPERTIES))
"""One broker of 4.3 that looks for what is too old twice a second."""
client = worlds.client("quick_cluster")


async def write(bootstrap: str, now: int) -> None:
    """A record an hour, the last one an hour ago, in every partition."""
    random = Random(1)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=4 * RECORD, linger_ms=5)
    await producer.start()
    try:
        sent = [
            await producer.send(topic, random.randbytes(RECORD), partition=number, timestamp_ms=now - age * HOUR)
            for topic, count in PARTITIONS.items()
            for number in range(count)
            for age in range(RECORDS, 0, -1)
        ]
        for each in sent:
            await each
    finally:
        await producer.stop()


async def sizes(client: AdminClient) -> dict[str, int]:
    """Bytes of each topic."""
    (dirs,) = (await client.run(log_dirs.describe_log_dirs)).dirs.values()
    return {topic: size for each in dirs for topic, size in each.sizes.items() if topic in PARTITIONS}


async def starts(client: AdminClient) -> list[int]:
    """The first offset of each partition."""
    places = {(topic, number): list_offsets.EARLIEST for topic, count in PARTITIONS.items() for number in range(count)}
    found, problems = await client.run(list_offsets.list_offsets, places)
    assert not problems
    return list(found.values())


async def test_the_estimate_is_what_is_then_deleted(quick_cluster: KafkaCluster, client: AdminClient) -> None:
    topics = tuple(NewTopic(name, count, 1, configs=CONFIGS) for name, count in PARTITIONS.items())
    outcomes = await client.run(changes.send, CreateTopics(topics), validate_only=False)
    assert all(outcome.ok for outcome in outcomes)
    await write(quick_cluster.bootstrap, int(time.time() * 1000))

    session = Session(client, Context("test", "tests", client.settings), "test")
    edits = [SetConfig(topic_resource(name), *edit) for name, edit in EDITS.items()]
    await read_again(session, edits)
    report = session.stage(edits)
    assert len(report.added) == len(edits), report
    deletions = await read_deletions(session)
    expected = {slot.target.name: f for slot, f in deletions.items() if isinstance(slot.target, ConfigResource)}
    assert {name: (each.partitions, each.unknown) for name, each in expected.items()} == {
        name: (count, 0) for name, count in PARTITIONS.items()
    }
    before = await sizes(client)
    assert (await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))).ok

    async def have_lost_records() -> bool:
        return all(await starts(client))

    await shortly(have_lost_records)
    after = await sizes(client)
    deleted = {name: before[name] - after[name] for name in PARTITIONS}
    for name, count in PARTITIONS.items():
        assert expected[name].least <= deleted[name] <= expected[name].most, (name, deleted, expected)
        assert expected[name].most - expected[name].least <= 4 * count * SEGMENT
        assert deleted[name] > 3 * SEGMENT
    assert deleted["everything"] == expected["everything"].least == expected["everything"].most == before["everything"]


CASES = [8, pytest.param(100, marks=pytest.mark.long)]
DAY = 24 * HOUR
SENTINEL = "sentinel"


class Case(NamedTuple):
    """A topic of one partition. batches: age in ms, and the sizes of the records; then what it is to keep."""

    topic: str
    segment_ms: int
    batches: list[tuple[int, list[int]]]
    edits: dict[str, str]


def random_case(random: Random, number: int) -> Case:
    """Records of even, uneven or growing sizes, over hours or weeks, some out of order; limits anywhere, and beyond."""
    wanted, largest = random.randint(SEGMENT, 7 * SEGMENT), random.choice([3_000, 20_000, 90_000])
    sizes: list[int] = []
    shape = random.choice(["even", "uneven", "few large", "growing"])
    while sum(sizes) < wanted:
        share = {
            "even": 0.9,
            "uneven": random.random(),
            "few large": 1.0 if random.random() < 0.1 else 0.1,
            "growing": 0.6 + 0.4 * sum(sizes) / wanted,
        }[shape]
        sizes.append(max(100, int(largest * share)))
    at_once = random.choice([1, 5, 25])
    batches = [sizes[start : start + at_once] for start in range(0, len(sizes), at_once)]
    span = random.choice([5 * HOUR, 3 * DAY, 40 * DAY])
    ages = sorted((HOUR // 2 + random.randrange(span) for _ in batches), reverse=True)
    if random.random() < 0.2:  # clocks of several producers
        ages = [max(HOUR // 2, age + random.randrange(-span // 50, span // 50)) for age in ages]
    edits = {}
    kind = random.choice(["time", "time", "size", "both"])
    if kind != "size":
        edits["retention.ms"] = str(HOUR // 4 + random.randrange(span + span // 10))
    if kind != "time":
        edits["retention.bytes"] = str(random.randrange(sum(sizes) + SEGMENT))
    segment_ms = random.choice([HOUR, DAY, 7 * DAY])
    return Case(f"case-{number}", segment_ms, list(zip(ages, batches, strict=True)), edits)


async def send_all(bootstrap: str, cases: list[Case], random: Random, now: int) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=SEGMENT // 2)
    await producer.start()
    noise = random.randbytes(100_000)
    try:
        for case in cases:
            sent = []
            for age, sizes in case.batches:
                batch = producer.create_batch()
                for size in sizes:
                    if batch.append(key=None, value=noise[:size], timestamp=now - age) is None:
                        sent.append(await producer.send_batch(batch, case.topic, partition=0))
                        batch = producer.create_batch()
                        batch.append(key=None, value=noise[:size], timestamp=now - age)
                sent.append(await producer.send_batch(batch, case.topic, partition=0))
            for each in sent:
                await each
    finally:
        await producer.stop()


async def cleaned_once(bootstrap: str, client: AdminClient, now: int) -> None:
    """Wait until a broker has looked at all logs once more. It looks at a log once in a round: the first record to go
    ends in a round that may have begun before, the second in a later one, the third after that one's end."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        for _ in range(3):
            sent = await producer.send_and_wait(SENTINEL, b"x", partition=0, timestamp_ms=now - 90 * DAY)

            async def is_gone(offset: int = sent.offset) -> bool:
                found, _ = await client.run(list_offsets.list_offsets, {(SENTINEL, 0): list_offsets.EARLIEST})
                return bool(found[SENTINEL, 0] > offset)

            await shortly(is_gone)
    finally:
        await producer.stop()


async def all_sizes(client: AdminClient) -> dict[str, int]:
    (dirs,) = (await client.run(log_dirs.describe_log_dirs)).dirs.values()
    return {topic: size for each in dirs for topic, size in each.sizes.items()}


@pytest.mark.parametrize("count", CASES)
async def test_of_random_cases_the_range_holds_what_goes(
    count: int, quick_cluster: KafkaCluster, client: AdminClient
) -> None:
    random, now = Random(57), int(time.time() * 1000)
    cases = [random_case(random, number) for number in range(count)]
    topics = [NewTopic(case.topic, 1, 1, configs={**CONFIGS, "segment.ms": str(case.segment_ms)}) for case in cases]
    outcomes = await client.run(
        changes.send,
        CreateTopics((*topics, NewTopic(SENTINEL, 1, 1, configs={"retention.ms": str(DAY)}))),
        validate_only=False,
    )
    assert all(outcome.ok for outcome in outcomes)
    await send_all(quick_cluster.bootstrap, cases, random, now)

    session = Session(client, Context("test", "tests", client.settings), "test")
    edits = [SetConfig(topic_resource(case.topic), *edit) for case in cases for edit in case.edits.items()]
    await read_again(session, edits)
    session.stage(edits)
    deletions = await read_deletions(session)
    expected = {slot.target.name: found for slot, found in deletions.items() if isinstance(slot.target, ConfigResource)}
    assert set(expected) == {case.topic for case in cases}
    assert {(each.partitions, each.unknown) for each in expected.values()} == {(1, 0)}
    before = await all_sizes(client)
    assert (await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))).ok
    await cleaned_once(quick_cluster.bootstrap, client, now)
    after = await all_sizes(client)

    deleted = {case.topic: before[case.topic] - after[case.topic] for case in cases}
    wrong = {
        case.topic: (deleted[case.topic], expected[case.topic], case.edits)
        for case in cases
        if not expected[case.topic].least <= deleted[case.topic] <= expected[case.topic].most
    }
    assert len(wrong) <= count * 5 // 100, wrong
    widths = [each.most - each.least for each in expected.values()]
    assert statistics.median(widths) <= 1.5 * SEGMENT
    assert max(widths) <= 4 * SEGMENT
    # The cases are worth something: most delete a part.
    assert sum(0 < deleted[case.topic] < before[case.topic] for case in cases) > count // 2
