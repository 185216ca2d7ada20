"""Tests of the records that kac predicts to be deleted, by a shorter retention or by a deletion request, against those
that real brokers delete.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from aiokafka import (  # type: ignore[import-untyped]
    AIOKafkaConsumer,
    AIOKafkaProducer,  # type: ignore[import-untyped]
    TopicPartition,
)

from console.admin import changes, partitions
from console.admin import cluster as log_dirs
from console.admin import partitions as list_offsets
from console.admin.client import AdminClient
from console.contexts.context import Context
from console.model import changes as model_changes
from console.model.changes import CreateTopics, NewTopic
from console.model.cluster import LogRange
from console.model.config import ConfigResource, topic_resource
from console.plan import kafka_tools, reconcile
from console.plan.compile import runbook
from console.plan.diff import diff
from console.plan.edits import SetConfig, TrimLog
from console.plan.reconcile import ApplyOptions
from console.plan.risk_rules import NAMES
from console.plan.risks import risks
from console.session.applying import check_plan
from console.session.plan_facts import read_for_risks
from console.session.read_again import read_again
from console.session.retention_reading import read_deletions
from console.session.session import Session
from tests.support import kafka_commands, patience, real_clusters, staging, worlds
from tests.support.changing import apply_plan
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.patience import shortly
from tests.support.real_clusters import lent

# -- forecasts for a shorter retention, against the deletions of a real broker -----------------------------------------

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
"""Provide a cluster of one broker of 4.3 that looks for expired segments twice a second."""
client = worlds.client("quick_cluster")


async def write(bootstrap: str, now: int) -> None:
    """Write a record for each hour to every partition; the last one has the time of an hour ago. now: Unix
    milliseconds.
    """
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
    """Return the size of each topic of `PARTITIONS` on the only broker, in bytes."""
    (dirs,) = (await client.run(log_dirs.describe_log_dirs)).dirs.values()
    return {topic: size for each in dirs for topic, size in each.sizes.items() if topic in PARTITIONS}


async def starts(client: AdminClient) -> list[int]:
    """Return the first offset of each partition. Raises AssertionError if one can't be read."""
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
    """A topic with one partition, and config changes that shorten its retention. batches: for each batch, its age in
    milliseconds and the sizes of its records in bytes.
    """

    topic: str
    segment_ms: int
    batches: list[tuple[int, list[int]]]
    edits: dict[str, str]


def random_case(random: Random, number: int) -> Case:
    """Return a random case: record sizes are equal, random or growing, over hours or weeks, some records out of order.
    Its limits may delete no records, some or all.
    """
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
    if random.random() < 0.2:  # several producers with different clocks
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
    """Wait until the broker has examined all logs once more. Raises TimeoutError if one of three test records is not
    deleted within `PATIENCE` seconds.

    A broker examines each log once in a round. The first record may be deleted in a round that has already begun, the
    second one is deleted in the next round, and the third one after the end of that round.
    """
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
    # Most cases delete a part of their records.
    assert sum(0 < deleted[case.topic] < before[case.topic] for case in cases) > count // 2


# ----------------------------------------------------------------------------------------------------------------------
# Records that a plan deletes on real brokers. The offsets and bytes are those of the forecast, and kac refuses a
# deletion that is not allowed before it sends a request.

HOURS_SEGMENT, HOURS_RECORD, HOURS = 2**20, 20_000, 200
TRIMMED, COMPACTED, GROUP = "trimmed", "compacted", "slow-reader"
QUICK = {
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
    "log.segment.delete.delay.ms": "0",
}


@pytest.fixture(scope="module", params=[KAFKA_4_3, pytest.param(KAFKA_3_9, marks=pytest.mark.long)])
def quick_broker(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Provide a broker, once for each version, that looks for expired segments twice a second."""
    yield from real_clusters.running(lambda: KafkaCluster(request.param, brokers=1, properties=QUICK))


session = worlds.session("quick_broker")


async def write_hours(bootstrap: str, now: int) -> None:
    """Write a record for each hour to both partitions; the last one has the time of an hour ago. Commit an offset in
    the middle of the first partition for a group. now: Unix milliseconds.
    """
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=4 * HOURS_RECORD, linger_ms=5)
    await producer.start()
    try:
        for age in range(HOURS, 0, -1):
            for number in range(2):
                await producer.send(TRIMMED, bytes(HOURS_RECORD), partition=number, timestamp_ms=now - age * HOUR)
        await producer.flush()
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=GROUP, enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign([TopicPartition(TRIMMED, 0)])
        await consumer.commit({TopicPartition(TRIMMED, 0): HOURS // 2})
    finally:
        await consumer.stop()


async def readable(bootstrap: str, number: int) -> int:
    """Return how many records a consumer reads from partition `number`, from its beginning to its end."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        place = TopicPartition(TRIMMED, number)
        consumer.assign([place])
        end = (await consumer.end_offsets([place]))[place]
        count = 0
        while await consumer.position(place) < end:
            count += sum(map(len, (await consumer.getmany(place, timeout_ms=1000)).values()))
        return count
    finally:
        await consumer.stop()


async def size(session: Session) -> int:
    (dirs,) = (await session.client.run(log_dirs.describe_log_dirs)).dirs.values()
    return sum(each.sizes.get(TRIMMED, 0) for each in dirs)


async def test_what_is_deleted_is_what_was_said(session: Session, quick_broker: KafkaCluster, tmp_path: Path) -> None:
    configs = {"retention.ms": "-1", "segment.bytes": str(HOURS_SEGMENT)}
    wanted = (
        model_changes.NewTopic(TRIMMED, 2, 1, configs=configs),
        model_changes.NewTopic(COMPACTED, 1, 1, configs={"cleanup.policy": "compact"}),
    )
    outcomes = await session.client.run(changes.send, model_changes.CreateTopics(wanted), validate_only=False)
    assert all(outcome.ok for outcome in outcomes)
    now = int(time.time() * 1000)
    await write_hours(quick_broker.bootstrap, now)

    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime((now - 50 * HOUR) / 1000 - 1))
    report = await staging.staged(session, f"delete records topic {TRIMMED} before {at}")
    kept = 50
    expected = {(TRIMMED, number): HOURS - kept for number in range(2)}
    edits = [each.edit for each in report.added]
    assert {(e.topic, e.partition): e.before for e in edits if isinstance(e, TrimLog)} == expected
    assert [each.was for each in report.added] == [LogRange(0, HOURS)] * 2

    found = risks(session.plan.staged, session.snapshot, await read_for_risks(session, session.plan.staged))
    assert {(risk.name, risk.subject) for risk in found} == {("records-deleted", TRIMMED)}
    assert [risk.text for risk in found] == [
        f"up to {2 * (HOURS - kept):,} records of {TRIMMED} are deleted for good, in 2 partitions",
        f"not read yet by group {GROUP} ({HOURS - kept - HOURS // 2:,})",
    ]
    bytes_ = list((await read_deletions(session)).values())
    assert [(each.partitions, each.unknown) for each in bytes_] == [(1, 0)] * 2

    checked = await check_plan(session)
    assert {outcome.status for result in checked.results for outcome in result.outcomes} == {
        model_changes.Status.UNCHECKED
    }
    refused = await apply_plan(session, reconcile.ApplyOptions(risks=frozenset({"records-deleted"})))
    assert refused.risks
    assert not refused.sent
    before = await size(session)
    done = await apply_plan(session, reconcile.ApplyOptions(risks=frozenset({f"records-deleted={TRIMMED}"})))
    assert done.ok, done
    ranges, problems = await session.client.run(partitions.log_ranges, list(expected))
    assert not problems
    assert ranges == dict.fromkeys(expected, LogRange(HOURS - kept, HOURS))
    assert [await readable(quick_broker.bootstrap, number) for number in range(2)] == [kept, kept]

    least, most = sum(each.least for each in bytes_), sum(each.most for each in bytes_)
    assert HOURS_SEGMENT < least < most

    async def are_deleted() -> int:
        gone = before - await size(session)
        return gone if gone >= least else 0

    assert await patience.shortly(are_deleted) <= most

    latest = await staging.staged(session, f"delete records topic {TRIMMED} partition 1 before latest")
    assert [each.edit for each in latest.added] == [TrimLog(TRIMMED, 1, HOURS)]
    assert (await apply_plan(session, reconcile.ApplyOptions(risks=frozenset({f"records-deleted={TRIMMED}"})))).ok
    assert [await readable(quick_broker.bootstrap, number) for number in range(2)] == [kept, 0]
    again = await staging.staged(session, f"delete records topic {TRIMMED} partition 1 before latest")
    assert [each.reason for each in again.dropped] == [f"{TRIMMED}/1 begins at offset {HOURS} already"]

    # Kafka's own command has the same effect.
    await staging.staged(session, f"delete records topic {TRIMMED} partition 0 before {HOURS - 7}")
    (command,) = runbook(diff(session.plan, session.snapshot), ("--bootstrap-server", quick_broker.bootstrap))
    (tmp_path / "offsets.json").write_text(command.stdin)
    words = [str(tmp_path / "offsets.json") if word == kafka_tools.STDIN else word for word in command.words[1:]]
    with kafka_commands.KafkaCommands(quick_broker.version) as kafka:
        done_by = await asyncio.to_thread(kafka.run, kafka_commands.DELETE_RECORDS, words)
    assert (command.words[0], done_by.code) == ("kafka-delete-records", 0), done_by
    assert await readable(quick_broker.bootstrap, 0) == 7
    session.discard()

    for statement, why in (
        (f"delete records topic {COMPACTED} before latest", "cleanup.policy of compacted is compact"),
        (f"delete records topic {TRIMMED} partition 0 before {HOURS + 1}", "is outside of the log"),
        ("delete records topic __consumer_offsets partition 0 before latest", "brokers keep their own records"),
    ):
        report = await staging.staged(session, statement)
        assert [why in each.reason for each in report.refused] == [True], (statement, report)
    (compacted,) = await session.client.run(
        changes.send, model_changes.DeleteRecords({model_changes.LogTarget(COMPACTED, 0): 0}), validate_only=False
    )
    assert compacted.failure is not None
    assert compacted.failure.name == "POLICY_VIOLATION"


async def test_an_empty_policy_is_as_the_release_has_it(kafka: KafkaCluster) -> None:
    """Both releases accept an empty cleanup.policy. Before 4.2 brokers refuse to delete records of such a topic by
    request, and kac does not stage the deletion.
    """
    name = "kept-for-ever"
    with worlds.session_on(kafka) as session:
        new = model_changes.CreateTopics((model_changes.NewTopic(name, 1, 1, configs={"cleanup.policy": ""}),))
        (made,) = await session.client.run(changes.send, new, validate_only=False)
        assert made.ok, made
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
        await producer.start()
        for _ in range(3):
            await producer.send_and_wait(name, b"x", partition=0)
        await producer.stop()
        report = await staging.staged(session, f"delete records topic {name} partition 0 before 2")
        sent = model_changes.DeleteRecords({model_changes.LogTarget(name, 0): 2})
        if kafka.version == KAFKA_3_9:
            assert "cleanup.policy of kept-for-ever is empty" in report.refused[0].reason
            (outcome,) = await session.client.run(changes.send, sent, validate_only=False)
            assert outcome.failure is not None
            assert outcome.failure.name == "POLICY_VIOLATION"
        else:
            assert report.added
            assert (await apply_plan(session, reconcile.ApplyOptions(risks=frozenset({f"records-deleted={name}"})))).ok
            ranges, _ = await session.client.run(partitions.log_ranges, [(name, 0)])
            assert ranges == {(name, 0): LogRange(2, 3)}
        await session.client.run(changes.send, model_changes.DeleteTopics((name,)), validate_only=False)
