"""Records that a plan deletes on real brokers: the offsets and bytes are those of the forecast, and what is not allowed
is refused before anything is sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.admin import changes, partitions
from console.admin import cluster as log_dirs
from console.model import changes as model_changes
from console.model.cluster import LogRange
from console.plan import kafka_tools, reconcile
from console.plan.compile import runbook
from console.plan.diff import diff
from console.plan.edits import TrimLog
from console.plan.risks import risks
from console.session.applying import check_plan
from console.session.plan_facts import read_for_risks
from console.session.retention_reading import read_deletions
from console.session.session import Session
from tests.support import kafka_commands, patience, real_clusters, staging, worlds
from tests.support.changing import apply_plan
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3

SEGMENT, RECORD, RECORDS = 2**20, 20_000, 200
HOUR = 3_600_000
TRIMMED, COMPACTED, GROUP = "trimmed", "compacted", "slow-reader"
QUICK = {
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
    "log.segment.delete.delay.ms": "0",
}


@pytest.fixture(scope="module", params=[KAFKA_4_3, pytest.param(KAFKA_3_9, marks=pytest.mark.long)])
def quick_cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """One broker that deletes whole segments twice a second."""
    yield from real_clusters.running(lambda: KafkaCluster(request.param, brokers=1, properties=QUICK))


session = worlds.session("quick_cluster")


async def write(bootstrap: str, now: int) -> None:
    """A record an hour in both partitions, the last one an hour ago; a group has read half of the first one."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=4 * RECORD, linger_ms=5)
    await producer.start()
    try:
        for age in range(RECORDS, 0, -1):
            for number in range(2):
                await producer.send(TRIMMED, bytes(RECORD), partition=number, timestamp_ms=now - age * HOUR)
        await producer.flush()
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=GROUP, enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign([TopicPartition(TRIMMED, 0)])
        await consumer.commit({TopicPartition(TRIMMED, 0): RECORDS // 2})
    finally:
        await consumer.stop()


async def readable(bootstrap: str, number: int) -> int:
    """How many records a consumer reads from the beginning to the end."""
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


async def test_what_is_deleted_is_what_was_said(session: Session, quick_cluster: KafkaCluster, tmp_path: Path) -> None:
    configs = {"retention.ms": "-1", "segment.bytes": str(SEGMENT)}
    wanted = (
        model_changes.NewTopic(TRIMMED, 2, 1, configs=configs),
        model_changes.NewTopic(COMPACTED, 1, 1, configs={"cleanup.policy": "compact"}),
    )
    outcomes = await session.client.run(changes.send, model_changes.CreateTopics(wanted), validate_only=False)
    assert all(outcome.ok for outcome in outcomes)
    now = int(time.time() * 1000)
    await write(quick_cluster.bootstrap, now)

    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime((now - 50 * HOUR) / 1000 - 1))
    report = await staging.staged(session, f"delete records topic {TRIMMED} before {at}")
    kept = 50
    expected = {(TRIMMED, number): RECORDS - kept for number in range(2)}
    edits = [each.edit for each in report.added]
    assert {(e.topic, e.partition): e.before for e in edits if isinstance(e, TrimLog)} == expected
    assert [each.was for each in report.added] == [LogRange(0, RECORDS)] * 2

    found = risks(session.plan.staged, session.snapshot, await read_for_risks(session, session.plan.staged))
    assert {(risk.name, risk.subject) for risk in found} == {("records-deleted", TRIMMED)}
    assert [risk.text for risk in found] == [
        f"up to {2 * (RECORDS - kept):,} records of {TRIMMED} are deleted for good, in 2 partitions",
        f"not read yet by group {GROUP} ({RECORDS - kept - RECORDS // 2:,})",
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
    assert ranges == dict.fromkeys(expected, LogRange(RECORDS - kept, RECORDS))
    assert [await readable(quick_cluster.bootstrap, number) for number in range(2)] == [kept, kept]

    least, most = sum(each.least for each in bytes_), sum(each.most for each in bytes_)
    assert SEGMENT < least < most

    async def are_deleted() -> int:
        gone = before - await size(session)
        return gone if gone >= least else 0

    assert await patience.shortly(are_deleted) <= most

    latest = await staging.staged(session, f"delete records topic {TRIMMED} partition 1 before latest")
    assert [each.edit for each in latest.added] == [TrimLog(TRIMMED, 1, RECORDS)]
    assert (await apply_plan(session, reconcile.ApplyOptions(risks=frozenset({f"records-deleted={TRIMMED}"})))).ok
    assert [await readable(quick_cluster.bootstrap, number) for number in range(2)] == [kept, 0]
    again = await staging.staged(session, f"delete records topic {TRIMMED} partition 1 before latest")
    assert [each.reason for each in again.dropped] == [f"{TRIMMED}/1 begins at offset {RECORDS} already"]

    # Kafka's own command leaves the same.
    await staging.staged(session, f"delete records topic {TRIMMED} partition 0 before {RECORDS - 7}")
    (command,) = runbook(diff(session.plan, session.snapshot), ("--bootstrap-server", quick_cluster.bootstrap))
    (tmp_path / "offsets.json").write_text(command.stdin)
    words = [str(tmp_path / "offsets.json") if word == kafka_tools.STDIN else word for word in command.words[1:]]
    with kafka_commands.KafkaCommands(quick_cluster.version) as kafka:
        done_by = await asyncio.to_thread(kafka.run, kafka_commands.DELETE_RECORDS, words)
    assert (command.words[0], done_by.code) == ("kafka-delete-records", 0), done_by
    assert await readable(quick_cluster.bootstrap, 0) == 7
    session.discard()

    for statement, why in (
        (f"delete records topic {COMPACTED} before latest", "cleanup.policy of compacted is compact"),
        (f"delete records topic {TRIMMED} partition 0 before {RECORDS + 1}", "is outside of the log"),
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
    """Both take it; deletion by request is refused before 4.2."""
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
