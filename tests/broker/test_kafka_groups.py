"""`kac groups` with --output kafka against kafka-consumer-groups of 4.3, on real brokers, 4.3 and 3.9: lines are equal
byte for byte, rows in any order. What differs on purpose is in docs/kafka-tools.md."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.admin.groups import find_coordinators, group_position
from console.admin.link import Link, broker, until_settled
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.model.identity import uuid_of
from console.wire.schemas import for_version
from tests.broker.test_read_groups import joining
from tests.support.changing import make_topic
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import GROUPS, KafkaCommands
from tests.support.kafka_tool_comparison import compare, kac, ours_said, theirs_run, theirs_said
from tests.support.real_clusters import running

pytestmark = pytest.mark.slow

START_MS = 1_700_000_000_000
"""When the first record was made: 2023-11-14T22:13:20Z."""


@pytest.fixture(scope="module")
def commands() -> Iterator[KafkaCommands]:
    """Kafka's own tools of 4.3, in one process."""
    yield from running(KafkaCommands)


@pytest.fixture
async def consumed(kafka: KafkaCluster, link: Link, name: str) -> AsyncIterator[str]:
    """Topics NAME (3 partitions, 10, 4 and no records, one a second) and NAME-e (2, empty), of which two have names of
    24 and 25 characters for the CSV. Groups: NAME-idle with offsets of both topics; NAME, "2" with one; NAME-live with
    a member; NAME-static with a static one."""
    topics = {name: 3, f"{name}-e": 2, name.ljust(24, "x"): 1, name.ljust(25, "x"): 1}
    for topic, partitions in topics.items():
        await make_topic(link, topic, partitions=partitions, retention_ms="-1")
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
    await producer.start()
    for partition, count in ((0, 10), (1, 4)):
        for number in range(count):
            at = START_MS + number * 1000
            await producer.send_and_wait(name, b"%d" % number, partition=partition, timestamp_ms=at)
    await producer.stop()
    offsets = {
        f"{name}-idle": {(name, 0): 5, (name, 1): 4, (f"{name}-e", 1): 0},
        f'{name}, "2"': {(name, 0): 1, (name.ljust(24, "x"), 0): 0, (name.ljust(25, "x"), 0): 0},
    }
    for group, places in offsets.items():
        await commit(kafka, group, places)
    live = AIOKafkaConsumer(name, bootstrap_servers=kafka.bootstrap, group_id=f"{name}-live", enable_auto_commit=False)
    static = AIOKafkaConsumer(
        name, f"{name}-e", bootstrap_servers=kafka.bootstrap, group_id=f"{name}-static", group_instance_id="i-1"
    )
    await live.start()
    await static.start()
    yield name
    await live.stop()
    await static.stop()


async def commit(kafka: KafkaCluster, group: str, offsets: dict[tuple[str, int], int]) -> None:
    """Offsets of a group that has no members."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=group, enable_auto_commit=False)
    await consumer.start()
    places = {TopicPartition(*place): offset for place, offset in offsets.items()}
    consumer.assign(list(places))
    await consumer.commit(places)
    await consumer.stop()


READS = (
    "--list",
    "--list --state",
    "--list --state stable,Empty",
    "--list --type --state empty",
    "--list --type classic",
    "--list --state bogus,empty",
    "--list --type share",
    "--describe --group {n}-idle",
    "--describe --group {n}-idle --group '{n}, \"2\"' --offsets --verbose",
    "--describe --group {n}-live",
    "--describe --group {n}-static --verbose",
    "--describe --group {n}-idle --members",
    "--describe --group {n}-static --members",
    "--describe --group {n}-static --members --verbose",
    "--describe --group {n}-idle --group {n}-live --state",
    "--describe --group {n}-static --state --verbose",
    "--describe --all-groups",
)
RESETS = (
    "--group {n}-idle --topic {n} --to-earliest",
    "--group {n}-idle --topic {n} --topic {n}-e:1 --to-latest --dry-run",
    "--group {n}-idle --topic {n}:0,1 --to-offset 6 --dry-run",
    "--group {n}-idle --topic {n} --to-offset 6 --dry-run --export",
    "--group {n}-idle --topic {n} --to-offset -3 --dry-run",
    "--group {n}-idle --all-topics --to-current --dry-run",
    "--group {n}-idle --topic {n} --topic {n}-e --to-current --dry-run --export",
    "--group {n}-idle --all-topics --shift-by -2 --dry-run",
    "--group {n}-idle --all-topics --shift-by 100 --dry-run --export",
    "--group {n}-idle --topic {n} --shift-by 1 --dry-run",
    "--group {n}-idle --topic {n} --to-datetime 2023-11-14T22:13:23.000 --dry-run",
    "--group {n}-idle --topic {n} --to-datetime 2023-11-14T22:13:25.001Z --dry-run --export",
    "--group {n}-idle --topic {n} --to-datetime 2023-11-15T00:13:22.000+02:00 --dry-run",
    "--group {n}-idle --topic {n} --by-duration P2000D --dry-run",
    "--group {n}-idle --topic {n} --by-duration PT1S --dry-run",
    "--group {n}-idle --from-file {f}/one.csv --dry-run",
    "--group {n}-idle --from-file {f}/two.csv --dry-run --export",
    "--group {n}-idle --group '{n}, \"2\"' --from-file {f}/two.csv --dry-run --export",
    "--group '{n}, \"2\"' --from-file {f}/one.csv --dry-run",
    "--group '{n}, \"2\"' --all-topics --to-latest --dry-run --export",
    "--group {n}-idle --group '{n}, \"2\"' --all-topics --to-latest --dry-run --export",
    "--group {n}-idle --group '{n}, \"2\"' --all-topics --to-earliest --dry-run",
    "--group {n}-new --topic {n}:2 --to-latest --dry-run",
    "--group {n}-new --all-topics --to-latest --dry-run",
    "--group {n}-live --topic {n} --to-latest --dry-run",
    "--group {n}-idle --topic {n}:7,0,9 --to-latest --dry-run",
    "--group {n}-idle --topic {n}-no --to-latest --dry-run",
    "--group {n}-idle --topic {n}:a --to-latest --dry-run",
    "--group {n}-idle --topic {n}:1:2 --to-latest --dry-run",
    "--group {n}-idle --topic {n} --to-latest --to-earliest --dry-run",
    "--group {n}-idle --topic {n} --to-latest --dry-run --execute",
    "--group {n}-idle --to-latest --dry-run",
    "--topic {n} --to-latest --dry-run",
    "--group {n}-idle --all-groups --topic {n} --to-latest --dry-run",
)
REFUSED = (
    "--describe",
    "--delete",
    "--describe --group a --all-groups",
    "--list --group a",
    "--describe --group a --topic t",
    "--describe --group a --members --state",
    "--describe --group a --state stable",
    "--delete --group a --topic t",
    "--delete-offsets --group a",
    "--delete-offsets --topic a",
)


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    """Files with offsets."""
    (tmp_path / "one.csv").write_text(f"{name},0,3\n{name},1,99\n")
    (tmp_path / "two.csv").write_text(f'{name}-idle,{name},0,7\n"{name}, ""2""",{name},0,2\n')
    return tmp_path


EXECUTED = (
    "--reset-offsets --group {g} --topic {n} --to-offset 3 --execute",
    "--reset-offsets --group {g} --topic {n}:0 --to-earliest --execute",
    "--reset-offsets --group {g} --all-topics --shift-by 2 --execute",
    "--reset-offsets --group {g} --all-topics --to-current --execute",
    "--reset-offsets --group {g} --topic {n} --topic {n}-e --to-latest --execute --export",
    "--reset-offsets --group {g} --topic {n} --to-datetime 2023-11-14T22:13:22.000 --execute",
    "--reset-offsets --group {g} --from-file {f}/one.csv --execute",
    "--reset-offsets --group {g} --topic {n} --by-duration PT1M --execute",
    "--delete-offsets --group {g} --topic {n}:0 --topic {n}-no",
    "--delete-offsets --group {g} --topic {n} --topic {n}-e",
    "--reset-offsets --group {g} --topic {n} --to-earliest --execute",
    "--delete-offsets --group {g}-no --topic {n}",
    "--delete --group {g} --group {g}-no",
    "--reset-offsets --group {g} --topic {n}:1 --to-latest --execute",
    "--delete --group {g} --group {n}-static",
    "--delete --group {g}",
)


async def test_resets_and_deletions(
    kafka: KafkaCluster, commands: KafkaCommands, link: Link, consumed: str, folder: Path
) -> None:
    """Each as both, on a group of its own: the same is printed, and the same offsets are left."""
    groups = (f"{consumed}-a", f"{consumed}-b")
    for group in groups:
        await commit(kafka, group, {(consumed, 0): 5, (consumed, 1): 4})
    problems = []
    for line in EXECUTED:
        said, left = [], []
        for group in groups:
            words = shlex.split(line.format(n=consumed, g=group, f=folder))
            if group == groups[0]:
                found = theirs_said(theirs_run(kafka, commands, GROUPS, words))
            else:
                found = ours_said(await asyncio.to_thread(kac, kafka, "groups", words))
            said.append([[text.replace(group, "GROUP") for text in some] for some in found])
            position = await group_position(link, group)
            left.append({place: each.offset for place, each in position.committed.items()})
        if said[0] != said[1] or left[0] != left[1]:
            problems.append(f"{line}\n  Kafka: {said[0]} {left[0]}\n  kac:   {said[1]} {left[1]}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
def test_consumer_groups(kafka: KafkaCluster, commands: KafkaCommands, consumed: str, folder: Path, every: int) -> None:
    lines = (*READS, *(f"--reset-offsets {line}" for line in RESETS), *REFUSED)[::every]
    compare(kafka, commands, GROUPS, "groups", [line.format(n=consumed, f=folder) for line in lines])


NEWER = (
    "--list --type consumer --state",
    "--describe --group {n}",
    "--describe --group {n} --verbose",
    "--describe --group {n} --members",
    "--describe --group {n} --members --verbose",
    "--describe --group {n} --state",
    "--describe --group {n} --state --verbose",
)


async def test_groups_of_the_consumer_protocol(plain_cluster: KafkaCluster, commands: KafkaCommands, name: str) -> None:
    """KIP-848: one member, which has not told that it has what it is to have."""
    link = Link(ConnectionSettings(bootstrap=plain_cluster.addresses))
    try:
        await make_topic(link, name, partitions=2)
        (coordinator,) = (await find_coordinators(link, [name], is_change=True))[0].values()

        async def beat() -> Any:
            to = broker(coordinator)
            return await link.call("consumer_group_heartbeat", joining("consumer", name), to=to, change=True)

        response = await until_settled(beat, lambda answer: answer.error_code != 0, within=20)
        assert response.error_code == 0, response
        await commit_as_member(link, name, coordinator, response.member_epoch)
        lines = [line.format(n=name) for line in NEWER]
        await asyncio.to_thread(compare, plain_cluster, commands, GROUPS, "groups", lines)
        ran = await asyncio.to_thread(
            kac, plain_cluster, "groups", ["--describe", "--group", name, "--members", "--verbose"]
        )
        assert f"{name}:0,1" in ran.out
    finally:
        await link.close()


async def commit_as_member(link: Link, group: str, coordinator: int, epoch: int) -> None:
    """An offset with a leader epoch, as Java's consumers commit it."""
    topic_id = (await describe_topics(link, [group])).topics[group].topic_id
    assert topic_id is not None

    def build(kio: ModuleType) -> Any:
        partition = for_version(
            kio.OffsetCommitRequestPartition,
            partition_index=0,
            committed_offset=0,
            committed_leader_epoch=0,
            committed_metadata="",
        )
        topic = for_version(
            kio.OffsetCommitRequestTopic, name=group, topic_id=uuid_of(topic_id), partitions=(partition,)
        )
        return for_version(
            kio.OffsetCommitRequest,
            group_id=group,
            generation_id_or_member_epoch=epoch,
            member_id=f"{group}-member",
            topics=(topic,),
        )

    response = await link.call("offset_commit", build, to=broker(coordinator), change=True)
    assert response.topics[0].partitions[0].error_code == 0, response
