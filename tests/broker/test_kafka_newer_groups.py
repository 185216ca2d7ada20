"""`kac share-groups`, `streams-groups` and Kafka's tools of 4.3 on real brokers: both say the same of a cluster, and
leave the same behind. What differs on purpose is in docs/kafka-tools.md."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.groups import describe_groups, find_coordinators, group_position, list_groups
from console.admin.link import Link, broker, until_settled
from console.model.changes import AlterShareGroupOffsets, CommitOffsets, GroupOffsetTarget
from console.model.cluster import CommittedOffset, Group, GroupPosition
from tests.broker.test_read_groups import joining
from tests.support import kafka_tool_comparison, worlds
from tests.support.changing import applied, make_topic, outcomes
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import SHARE_GROUPS, STREAMS_GROUPS, KafkaCommands
from tests.support.real_clusters import lent

pytestmark = pytest.mark.slow


commands = lent(KafkaCommands)
"""Kafka's own tools of 4.3, in one process."""


link = worlds.link("plain_cluster")


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


SHARE = ("--group", "{n}-idle"), ("--group", "{n}-live"), ("--group", "{n}-idle", "--group", "{n}-live")
STREAMS = ("--group", "{n}-run"), ("--group", "{n}-rest")
MEMBERS = {"share": ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID"), "streams": ("GROUP", "MEMBER", "CLIENT-ID")}


async def test_what_both_list(plain_cluster: KafkaCluster, commands: KafkaCommands, used: str) -> None:
    for tool, kind in ((SHARE_GROUPS, "share"), (STREAMS_GROUPS, "streams")):
        for words in (["--list"], ["--list", "--state", "empty"]):
            theirs = (
                await asyncio.to_thread(kafka_tool_comparison.theirs_run, plain_cluster, commands, tool, words)
            ).out
            names = (
                theirs.splitlines()
                if words == ["--list"]
                else [row["GROUP"] for row in kafka_tool_comparison.rows(theirs, "GROUP", "STATE")]
            )
            ours = await asyncio.to_thread(kafka_tool_comparison.kac_data, plain_cluster, f"{kind}-groups", words)
            assert sorted(names) == [row["name"] for row in ours["groups"]]
            assert any(name.startswith(used) for name in names)


async def test_what_both_describe(plain_cluster: KafkaCluster, commands: KafkaCommands, used: str) -> None:
    """States and members; the start offsets and the lag of share groups, and what streams groups have to read."""
    for tool, kind, chosen in ((SHARE_GROUPS, "share", SHARE), (STREAMS_GROUPS, "streams", STREAMS)):
        for line in chosen:
            words = ["--describe", *(word.format(n=used) for word in line)]

            async def table(*more: str, tool: str = tool, words: list[str] = words) -> str:
                return (
                    await asyncio.to_thread(
                        kafka_tool_comparison.theirs_run, plain_cluster, commands, tool, [*words, *more]
                    )
                ).out

            found = await asyncio.to_thread(kafka_tool_comparison.kac_data, plain_cluster, f"{kind}-groups", words)
            ours = found if isinstance(found, list) else [found]
            states = kafka_tool_comparison.rows(
                await table("--state"), "GROUP", "COORDINATOR (ID)", "STATE", "#MEMBERS"
            )
            assert sorted(kafka_tool_comparison.picked(row, "GROUP", "STATE", "#MEMBERS") for row in states) == sorted(
                (each["resource_name"], each["state"], str(len(each["members"]))) for each in ours
            )
            members = kafka_tool_comparison.rows(await table("--members"), *MEMBERS[kind])
            columns = ("member_id", "host", "client_id") if kind == "share" else ("member_id", "client_id")
            assert sorted(kafka_tool_comparison.picked(row, *MEMBERS[kind]) for row in members) == sorted(
                (each["resource_name"], *kafka_tool_comparison.picked(row, *columns))
                for each in ours
                for row in each["members"]
            )
            if kind == "share":
                offsets = kafka_tool_comparison.rows(
                    await table(), "GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"
                )
                mine = {
                    (each["resource_name"], row["topic"], str(row["partition"])): (row["committed"], row["lag"])
                    for each in ours
                    for row in each["partitions"]
                }
                # Kafka's tool has a row for each partition of a topic, also where the group has not begun.
                theirs = {kafka_tool_comparison.picked(row, "GROUP", "TOPIC", "PARTITION"): row for row in offsets}
                assert {
                    place: tuple(
                        map(
                            kafka_tool_comparison.counted,
                            kafka_tool_comparison.picked(theirs[place], "START-OFFSET", "LAG"),
                        )
                    )
                    for place in mine
                } == mine
                begun = {place for place, row in theirs.items() if row["START-OFFSET"] != "-"}
                assert begun <= mine.keys()


DRY = (
    ("share", "--group {n}-idle --topic {n} --to-latest"),
    ("share", "--group {n}-idle --topic {n}:1 --topic {n}-e --to-earliest"),
    ("share", "--group {n}-idle --topic {n} --to-datetime 2023-11-14T22:13:23.000"),
    ("streams", "--group {n}-rest --input-topic {n}:0 --to-offset 5"),
    ("streams", "--group {n}-rest --all-input-topics --shift-by 1"),
    ("streams", "--group {n}-rest --all-input-topics --to-earliest"),
)
REFUSED = (
    ("share", "--describe"),
    ("share", "--describe --group a --all-groups"),
    ("share", "--describe --group a --state x"),
    ("share", "--describe --group a --topic b"),
    ("share", "--list --group a"),
    ("share", "--list --state empty,bogus"),
    ("share", "--delete"),
    ("share", "--delete --group a --topic b"),
    ("share", "--delete --group {n}-live"),
    ("share", "--delete --group {n}-run"),
    ("share", "--delete-offsets --group a"),
    ("share", "--delete-offsets --group {n}-no --topic {n}"),
    ("share", "--delete-offsets --group {n}-live --topic {n}"),
    ("share", "--reset-offsets --group a"),
    ("share", "--reset-offsets --group a --topic b --to-latest --dry-run --execute"),
    ("share", "--reset-offsets --group a --topic b --to-latest --to-earliest --dry-run"),
    ("share", "--reset-offsets --group {n}-live --topic {n} --to-latest --dry-run"),
    ("share", "--reset-offsets --group {n}-idle --topic {n}-none --to-latest --dry-run"),
    ("streams", "--describe"),
    ("streams", "--delete"),
    ("streams", "--delete --group a --input-topic b"),
    ("streams", "--delete --group {n}-run"),
    ("streams", "--delete --group {n}-live"),
    ("streams", "--delete-offsets --group {n}-live --input-topic {n}"),
    ("streams", "--reset-offsets --group a --to-latest --dry-run"),
    ("streams", "--reset-offsets --group {n}-run --input-topic {n} --to-latest --dry-run"),
    ("streams", "--reset-offsets --group {n}-live --input-topic {n} --to-latest --dry-run"),
)
REFUSED_HERE = (("share", "--reset-offsets --group {n}-run --topic {n} --to-latest --dry-run"),)
"""Kafka's tool shows new offsets for a group of another kind."""
MEANT = ("--yes", "--accept", "assigned-consumers")


async def test_new_offsets_and_refusals(plain_cluster: KafkaCluster, commands: KafkaCommands, used: str) -> None:
    """The offsets that a dry run shows are Kafka's; one that is there already is not needed, and not in the plan."""
    tools = {"share": SHARE_GROUPS, "streams": STREAMS_GROUPS}
    for kind, line in DRY:
        words = ["--reset-offsets", *shlex.split(line.format(n=used)), "--dry-run"]
        ran = await asyncio.to_thread(kafka_tool_comparison.theirs_run, plain_cluster, commands, tools[kind], words)
        theirs = kafka_tool_comparison.rows(ran.out, "GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
        assert theirs, ran
        ours = await asyncio.to_thread(kafka_tool_comparison.kac_data, plain_cluster, f"{kind}-groups", words)
        new = {row["entity"]: row["new"]["value"] for row in ours["plan"]}
        group = words[words.index("--group") + 1]
        position = {place: each.offset for place, each in (await asked(plain_cluster, group)).committed.items()}
        for row in theirs:
            place = (row["TOPIC"], int(row["PARTITION"]))
            if position.get(place) != int(row["NEW-OFFSET"]):
                assert new.pop(f"group {group} {place[0]}/{place[1]}") == int(row["NEW-OFFSET"]), line
        assert not new, line
    for kind, line in (*REFUSED, *REFUSED_HERE):
        words = shlex.split(line.format(n=used))
        ran = await asyncio.to_thread(kafka_tool_comparison.theirs_run, plain_cluster, commands, tools[kind], words)
        assert (kind, line) in REFUSED_HERE or ran.code or "Error:" in ran.out, (line, ran)
        ran = await asyncio.to_thread(kafka_tool_comparison.kac, plain_cluster, f"{kind}-groups", [*words, *MEANT])
        assert ran.code, (line, ran)


async def asked(kafka: KafkaCluster, group: str) -> GroupPosition:
    """A group's position."""
    async with worlds.linked(worlds.settings(kafka)) as link:
        return await group_position(link, group)


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
                ran = await asyncio.to_thread(kafka_tool_comparison.theirs_run, plain_cluster, commands, tool, words)
            else:
                ran = await asyncio.to_thread(
                    kafka_tool_comparison.kac, plain_cluster, f"{kind}-groups", [*words, *MEANT]
                )
            offsets = (await group_position(link, group)).committed
            steps.append((ran.code, {place: at.offset for place, at in offsets.items()}))
        if side == "Kafka":
            again = {GroupOffsetTarget(f"{used}-idle", f"{used}-e", 0): 0}
            assert await applied(link, AlterShareGroupOffsets(f"{used}-idle", again))
    assert [step[1].get((used, 0)) for step in seen["Kafka"]] == [7, 0, 0, 5, 2]
    assert seen["Kafka"] == seen["kac"]
    for kind, group in (("share", f"{used}-idle"), ("streams", f"{used}-rest")):
        ran = await asyncio.to_thread(
            kafka_tool_comparison.kac, plain_cluster, f"{kind}-groups", ["--delete", "--group", group, "--yes"]
        )
        assert ran.code == 0, ran
    assert not {f"{used}-idle", f"{used}-rest"} & (await list_groups(link)).groups.keys()
