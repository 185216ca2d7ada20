"""`kac share-groups` and `streams-groups` with --output kafka against Kafka's tools of 4.3, on real brokers: lines are
equal byte for byte, rows in any order. What differs on purpose is in docs/kafka-tools.md."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.groups import describe_groups, find_coordinators, group_position, list_groups
from console.admin.link import Link, broker, until_settled
from console.admin.settings import ConnectionSettings
from console.model.changes import AlterShareGroupOffsets, CommitOffsets, GroupOffsetTarget
from console.model.cluster import CommittedOffset, Group
from tests.broker.test_read_groups import joining
from tests.support.changing import applied, make_topic, outcomes
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import SHARE_GROUPS, STREAMS_GROUPS, KafkaCommands
from tests.support.kafka_tool_comparison import compare, kac, theirs_run
from tests.support.real_clusters import running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def commands() -> Iterator[KafkaCommands]:
    """Kafka's own tools of 4.3, in one process."""
    yield from running(KafkaCommands)


@pytest.fixture
async def link(plain_cluster: KafkaCluster) -> AsyncIterator[Link]:
    link = Link(ConnectionSettings(bootstrap=plain_cluster.addresses))
    yield link
    await link.close()


async def beat(link: Link, protocol: str, group: str, build: Callable[[ModuleType], Any]) -> Any:
    """One heartbeat, asked again while the coordinator is not there yet."""

    async def ask() -> Any:
        (coordinator,) = (await find_coordinators(link, [group], is_change=True))[0].values()
        return await link.call(f"{protocol}_group_heartbeat", build, to=broker(coordinator), change=True)

    answer = await until_settled(ask, lambda answer: answer.error_code != 0, within=20)
    assert answer.error_code == 0, answer
    return answer


def later(protocol: str, group: str, topic: str, epoch: int, tasks: Any = None) -> Callable[[ModuleType], Any]:
    """A member's next heartbeat; with the epoch -1 it leaves."""
    first = joining(protocol, group, topic)

    def build(kio: ModuleType) -> Any:
        request = replace(first(kio), member_epoch=epoch)
        if protocol == "share":
            return replace(request, subscribed_topic_names=None)
        active, standby, warmup = tasks or ((), (), ())
        roles = {"active_tasks": active, "standby_tasks": standby, "warmup_tasks": warmup}
        made = {
            role: tuple(kio.TaskIds(subtopology_id=t.subtopology_id, partitions=t.partitions) for t in of_role or ())
            for role, of_role in roles.items()
        }
        return replace(request, topology=None, process_id=None, client_tags=None, **made)

    return build


@asynccontextmanager
async def member(link: Link, protocol: str, group: str, topic: str) -> AsyncIterator[None]:
    """A member that has what it is to have, and beats until the end."""
    answer = await beat(link, protocol, group, joining(protocol, group, topic))
    tasks: Any = None
    settled = asyncio.Event()

    async def keep(answer: Any) -> None:
        nonlocal tasks
        while True:
            if getattr(answer, "active_tasks", None) is not None:
                tasks = answer.active_tasks, answer.standby_tasks, answer.warmup_tasks
            answer = await beat(link, protocol, group, later(protocol, group, topic, answer.member_epoch, tasks))
            found: Group = (await describe_groups(link, [group], {group: protocol})).groups[group]
            if found.state == "Stable" and found.members and found.members[0].assignment:
                settled.set()
            await asyncio.sleep(0.2)

    beating = asyncio.create_task(keep(answer))
    waiting = asyncio.create_task(settled.wait())
    await asyncio.wait((beating, waiting), return_when=asyncio.FIRST_COMPLETED)
    assert settled.is_set(), beating.exception()
    yield
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    await beat(link, protocol, group, later(protocol, group, topic, -1))


@pytest.fixture
async def used(plain_cluster: KafkaCluster, link: Link, name: str) -> AsyncIterator[str]:
    """Topic NAME with 7 and 0 records, NAME-e without. Share groups: NAME-live with a member, NAME-idle with offsets of
    both topics. Streams groups: NAME-run with a member, NAME-rest with an offset."""
    for topic, partitions in ((name, 2), (f"{name}-e", 1)):
        await make_topic(link, topic, partitions=partitions)
    producer = AIOKafkaProducer(bootstrap_servers=plain_cluster.bootstrap)
    await producer.start()
    for number in range(7):
        await producer.send_and_wait(name, b"%d" % number, partition=0)
    await producer.stop()
    idle, rest = f"{name}-idle", f"{name}-rest"
    for topic in (name, f"{name}-e"):
        async with member(link, "share", idle, topic):
            pass
    starts = {GroupOffsetTarget(idle, name, 0): 3, GroupOffsetTarget(idle, f"{name}-e", 0): 0}
    await until_settled(
        lambda: outcomes(link, AlterShareGroupOffsets(idle, starts)),
        lambda found: not all(each.ok for each in found.values()),
        within=20,
    )
    await beat(link, "streams", rest, joining("streams", rest, name))
    await beat(link, "streams", rest, later("streams", rest, name, -1))
    committed = {GroupOffsetTarget(rest, name, 0): CommittedOffset(2)}
    assert await applied(link, CommitOffsets(rest, committed))
    async with member(link, "share", f"{name}-live", name), member(link, "streams", f"{name}-run", name):
        yield name


SHARE_READS = (
    "--list --state empty,bogus",
    "--describe --group {n}-idle",
    "--describe --group {n}-idle --verbose",
    "--describe --group {n}-live",
    "--describe --group {n}-idle --group {n}-live --verbose",
    "--describe --group {n}-live --members",
    "--describe --group {n}-live --members --verbose",
    "--describe --group {n}-idle --members",
    "--describe --group {n}-live --state",
    "--describe --group {n}-idle --state --verbose",
    "--describe --group {n}-no",
    "--describe --group {n}-run",
    "--describe",
    "--describe --group a --members --state",
    "--describe --group a --state x",
    "--describe --group a --topic b",
    "--list --group a",
    "--delete",
    "--delete --group a --topic b",
    "--delete --group {n}-live",
    "--delete --group {n}-no --group {n}-run",
    "--delete-offsets --group a",
    "--delete-offsets --group {n}-no --topic {n}",
    "--delete-offsets --group {n}-live --topic {n}",
    "--delete-offsets --group {n}-idle --topic {n}-none",
    "--reset-offsets --group a",
    "--reset-offsets --group a --dry-run",
    "--reset-offsets --group a --topic b --dry-run",
    "--reset-offsets --group a --topic b --to-latest --dry-run --execute",
    "--reset-offsets --group a --topic b --to-latest --to-earliest --dry-run",
    "--reset-offsets --group {n}-live --topic {n} --to-latest --dry-run",
    "--reset-offsets --group {n}-idle --topic {n} --to-latest --dry-run",
    "--reset-offsets --group {n}-idle --topic {n}:1 --topic {n}-e --to-earliest --dry-run",
    "--reset-offsets --group {n}-idle --all-topics --to-latest --dry-run",
    "--reset-offsets --group {n}-idle --topic {n} --all-topics --to-latest --dry-run",
    "--reset-offsets --group {n}-idle --topic {n} --to-datetime 2023-11-14T22:13:23.000 --dry-run",
    "--reset-offsets --group {n}-idle --topic {n}-none --to-latest --dry-run",
)
STREAMS_READS = (
    "--list --state bogus",
    "--describe --group {n}-run",
    "--describe --group {n}-run --verbose --offsets",
    "--describe --group {n}-rest",
    "--describe --group {n}-run --members",
    "--describe --group {n}-run --members --verbose",
    "--describe --group {n}-rest --members",
    "--describe --group {n}-run --state",
    "--describe --group {n}-rest --state --verbose",
    "--describe --group {n}-no",
    "--describe --group {n}-live",
    "--describe",
    "--describe --group a --members --state",
    "--delete",
    "--delete --group a --input-topic b",
    "--delete --group {n}-run --group {n}-live",
    "--delete-offsets --group {n}-rest --input-topic {n}-none",
    "--delete-offsets --group {n}-live --input-topic {n}",
    "--reset-offsets --group {n}-rest --input-topic {n} --all-input-topics --to-latest --dry-run",
    "--reset-offsets --group a",
    "--reset-offsets --group a --to-latest --dry-run",
    "--reset-offsets --group {n}-run --input-topic {n} --to-latest --dry-run",
    "--reset-offsets --group {n}-no --input-topic {n} --to-latest --dry-run",
    "--reset-offsets --group {n}-rest --input-topic {n}-e --to-latest --dry-run",
    "--reset-offsets --group {n}-rest --input-topic {n}:0 --to-offset 5 --dry-run",
    "--reset-offsets --group {n}-rest --all-input-topics --shift-by 1 --dry-run",
    "--reset-offsets --group {n}-rest --all-input-topics --to-earliest --dry-run --export",
)


async def test_reads_and_refusals(plain_cluster: KafkaCluster, commands: KafkaCommands, used: str) -> None:
    for tool, command, lines in (
        (SHARE_GROUPS, "share-groups", SHARE_READS),
        (STREAMS_GROUPS, "streams-groups", STREAMS_READS),
    ):
        await asyncio.to_thread(
            compare, plain_cluster, commands, tool, command, [line.format(n=used) for line in lines]
        )


CHANGES = (
    ("share", "--reset-offsets --group {n}-idle --topic {n}:0 --to-latest --execute"),
    ("share", "--reset-offsets --group {n}-idle --topic {n}:0 --to-earliest --execute"),
    ("share", "--delete-offsets --group {n}-idle --topic {n}-e"),
    ("streams", "--reset-offsets --group {n}-rest --input-topic {n}:0 --to-offset 5 --execute"),
    ("streams", "--reset-offsets --group {n}-rest --input-topic {n}:0 --shift-by -3 --execute"),
)


async def test_changes(plain_cluster: KafkaCluster, commands: KafkaCommands, link: Link, used: str) -> None:
    """Each as both; the offsets are the same after each. What was there before is there again, for the other side."""
    seen: dict[str, list[Any]] = {"Kafka": [], "kac": []}
    for side, steps in seen.items():
        for kind, line in CHANGES:
            words = shlex.split(line.format(n=used))
            group = words[words.index("--group") + 1]
            if side == "Kafka":
                tool = SHARE_GROUPS if kind == "share" else STREAMS_GROUPS
                ran = await asyncio.to_thread(theirs_run, plain_cluster, commands, tool, words)
            else:
                ran = await asyncio.to_thread(kac, plain_cluster, f"{kind}-groups", words)
            offsets = (await group_position(link, group)).committed
            steps.append((ran.code, sorted(ran.out.splitlines()), {place: at.offset for place, at in offsets.items()}))
        if side == "Kafka":
            again = {GroupOffsetTarget(f"{used}-idle", f"{used}-e", 0): 0}
            assert await applied(link, AlterShareGroupOffsets(f"{used}-idle", again))
    assert [step[2].get((used, 0)) for step in seen["Kafka"]] == [7, 0, 0, 5, 2]
    assert seen["Kafka"] == seen["kac"]
    ran = await asyncio.to_thread(kac, plain_cluster, "share-groups", ["--delete", "--group", f"{used}-idle"])
    assert ran.out == f"Deletion of requested share groups ('{used}-idle') was successful.\n", ran.err
    ran = await asyncio.to_thread(kac, plain_cluster, "streams-groups", ["--delete", "--group", f"{used}-rest"])
    assert ran.out == f"Deletion of requested streams groups ('{used}-rest') was successful.\n", ran.err
    assert not {f"{used}-idle", f"{used}-rest"} & (await list_groups(link)).groups.keys()
