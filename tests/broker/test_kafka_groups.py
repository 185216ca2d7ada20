"""`kac groups` and kafka-consumer-groups of 4.3 on real brokers, 4.3 and 3.9: both say the same of a cluster, and leave
the same behind. What differs on purpose is in docs/kafka-tools.md."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.admin.groups import describe_groups, find_coordinators, group_position
from console.admin.link import Link, broker, until_settled
from console.admin.topics import describe_topics
from console.model.changes import DeleteGroups
from console.model.cluster import Group
from console.model.identity import uuid_of
from tests.broker.test_read_groups import joining
from tests.support import kafka_tool_comparison, worlds
from tests.support.changing import make_topic, outcomes
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import GROUPS, KafkaCommands
from tests.support.kafka_messages import with_fields
from tests.support.real_clusters import lent

pytestmark = pytest.mark.slow

START_MS = 1_700_000_000_000
"""When the first record was made: 2023-11-14T22:13:20Z."""


commands = lent(KafkaCommands)
"""Kafka's own tools of 4.3, in one process."""


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
    # With hundreds of groups kac does not look at each for who reads a topic. A static member is missed later.
    await outcomes(link, DeleteGroups((*offsets, f"{name}-live")))


async def commit(kafka: KafkaCluster, group: str, offsets: dict[tuple[str, int], int]) -> None:
    """Offsets of a group that has no members."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=group, enable_auto_commit=False)
    await consumer.start()
    places = {TopicPartition(*place): offset for place, offset in offsets.items()}
    consumer.assign(list(places))
    await consumer.commit(places)
    await consumer.stop()


LISTS = ("--list", "--list --state stable,Empty", "--list --state empty", "--list --type classic")
DESCRIBED = (
    "--group {n}-idle",
    "--group {n}-idle --group '{n}, \"2\"'",
    "--group {n}-live",
    "--group {n}-static",
)
RESETS = (
    "--group {n}-idle --topic {n} --to-earliest",
    "--group {n}-idle --topic {n} --topic {n}-e:1 --to-latest",
    "--group {n}-idle --topic {n}:0,1 --to-offset 4",
    "--group {n}-idle --all-topics --to-current",
    "--group {n}-idle --topic {n} --topic {n}-e --to-current",
    "--group {n}-idle --all-topics --shift-by -2",
    "--group {n}-idle --all-topics --shift-by 100",
    "--group {n}-idle --topic {n} --to-datetime 2023-11-14T22:13:23.000",
    "--group {n}-idle --topic {n} --to-datetime 2023-11-14T22:13:25.001Z",
    "--group {n}-idle --topic {n} --to-datetime 2023-11-15T00:13:22.000+02:00",
    "--group {n}-idle --topic {n} --by-duration P2000D",
    "--group {n}-idle --topic {n} --by-duration PT1S",
    "--group {n}-idle --from-file {f}/one.csv",
    "--group {n}-idle --from-file {f}/two.csv",
    "--group {n}-idle --group '{n}, \"2\"' --from-file {f}/two.csv",
    "--group '{n}, \"2\"' --all-topics --to-latest",
    "--group {n}-idle --group '{n}, \"2\"' --all-topics --to-latest",
    "--group {n}-new --topic {n}:2 --to-latest",
)
REFUSED = (
    "--describe",
    "--delete",
    "--describe --group a --all-groups",
    "--list --group a",
    "--list --state bogus,empty",
    "--describe --group a --topic t",
    "--describe --group a --state stable",
    "--delete-offsets --group a",
    "--delete-offsets --topic a",
    "--reset-offsets --group {n}-idle --topic {n} --shift-by 1",
    "--reset-offsets --group {n}-live --topic {n} --to-latest",
    "--reset-offsets --group {n}-idle --topic {n}:7,0,9 --to-latest",
    "--reset-offsets --group {n}-idle --topic {n}-no --to-latest",
    "--reset-offsets --group {n}-idle --topic {n}:a --to-latest",
    "--reset-offsets --group {n}-idle --topic {n}:1:2 --to-latest",
    "--reset-offsets --group {n}-idle --topic {n} --to-latest --to-earliest",
    "--reset-offsets --group {n}-idle --topic {n} --to-latest --dry-run --execute",
    "--reset-offsets --group {n}-idle --to-latest",
    "--reset-offsets --topic {n} --to-latest",
    "--reset-offsets --group {n}-idle --all-groups --topic {n} --to-latest",
)


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    """Files with offsets."""
    (tmp_path / "one.csv").write_text(f"{name},0,3\n{name},1,1\n")
    (tmp_path / "two.csv").write_text(f'{name}-idle,{name},0,7\n"{name}, ""2""",{name},0,2\n')
    return tmp_path


EXECUTED = (
    "--reset-offsets --group {g} --topic {n}:0,1 --to-offset 3 --execute",
    "--reset-offsets --group {g} --topic {n}:0 --to-earliest --execute",
    "--reset-offsets --group {g} --all-topics --shift-by 2 --execute",
    "--reset-offsets --group {g} --all-topics --shift-by -3 --execute",
    "--reset-offsets --group {g} --all-topics --to-current --execute",
    "--reset-offsets --group {g} --topic {n} --topic {n}-e --to-latest --execute",
    "--reset-offsets --group {g} --topic {n} --to-datetime 2023-11-14T22:13:22.000 --execute",
    "--reset-offsets --group {g} --from-file {f}/one.csv --execute",
    "--reset-offsets --group {g} --topic {n} --by-duration PT1M --execute",
    "--delete-offsets --group {g} --topic {n}:0",
    "--delete-offsets --group {g} --topic {n} --topic {n}-e",
    "--reset-offsets --group {g} --topic {n} --to-earliest --execute",
    "--delete-offsets --group {g}-no --topic {n}",
    "--delete --group {g}-no",
    "--reset-offsets --group {g} --topic {n}:1 --to-latest --execute",
    "--delete --group {g}",
)
MEANT = ("--yes", "--accept", "assigned-consumers")


async def test_resets_and_deletions(
    kafka: KafkaCluster, commands: KafkaCommands, link: Link, consumed: str, folder: Path
) -> None:
    """Each as both, on a group of its own: the same offsets are left."""
    groups = (f"{consumed}-a", f"{consumed}-b")
    for group in groups:
        await commit(kafka, group, {(consumed, 0): 5, (consumed, 1): 4})
    problems = []
    for line in EXECUTED:
        left = []
        for group in groups:
            words = shlex.split(line.format(n=consumed, g=group, f=folder))
            if group == groups[0]:
                ran = kafka_tool_comparison.theirs_run(kafka, commands, GROUPS, words)
            else:
                ran = await asyncio.to_thread(kafka_tool_comparison.kac, kafka, "groups", [*words, *MEANT])
            position = await group_position(link, group)
            left.append({place: each.offset for place, each in position.committed.items()})
        if left[0] != left[1]:
            problems.append(f"{line}\n  Kafka: {left[0]}\n  kac:   {left[1]} ({ran})")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("line", LISTS)
def test_lists(kafka: KafkaCluster, commands: KafkaCommands, consumed: str, line: str) -> None:
    """The groups of consumers are the same; kac lists other ones, too."""
    words = shlex.split(line)
    theirs = kafka_tool_comparison.theirs_run(kafka, commands, GROUPS, words)
    names = (
        set(theirs.out.splitlines())
        if line == "--list"
        else {row["GROUP"] for row in kafka_tool_comparison.rows(theirs.out, *_heads(line))}
    )
    ours = kafka_tool_comparison.kac_data(kafka, "groups", words)
    lists = ours if isinstance(ours, list) else [ours]
    found = {row["name"] for each in lists for row in each["groups"] if row["protocol"] in ("", "consumer")}
    assert names == found
    assert f"{consumed}-idle" in found


def _heads(line: str) -> tuple[str, ...]:
    return ("GROUP", "TYPE") if "--type" in line else ("GROUP", "STATE")


def described(kafka: KafkaCluster, words: list[str]) -> list[Any]:
    """Groups as kac describes them."""
    found = kafka_tool_comparison.kac_data(kafka, "groups", ["--describe", *words])
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("line", DESCRIBED)
def test_descriptions(kafka: KafkaCluster, commands: KafkaCommands, consumed: str, line: str) -> None:
    words = shlex.split(line.format(n=consumed))
    compare_described(kafka, commands, words)


def compare_described(kafka: KafkaCluster, commands: KafkaCommands, words: list[str]) -> list[Any]:
    """Offsets, members and states, by both; returns what kac says."""
    ours = described(kafka, words)
    theirs = kafka_tool_comparison.theirs_run(kafka, commands, GROUPS, ["--describe", *words]).out
    table = kafka_tool_comparison.rows(theirs, *OFFSETS)
    assert sorted(
        (
            *kafka_tool_comparison.picked(row, "GROUP", "TOPIC"),
            *map(kafka_tool_comparison.counted, kafka_tool_comparison.picked(row, *OFFSETS[2:6])),
        )
        for row in table
    ) == sorted(
        (group["resource_name"], *kafka_tool_comparison.picked(row, "topic", "partition", "committed", "end", "lag"))
        for group in ours
        for row in group["partitions"]
    )
    table = kafka_tool_comparison.rows(
        kafka_tool_comparison.theirs_run(kafka, commands, GROUPS, ["--describe", *words, "--members"]).out, *MEMBERS
    )
    assert sorted(
        kafka_tool_comparison.picked(row, "GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS") for row in table
    ) == sorted(
        (
            group["resource_name"],
            *kafka_tool_comparison.picked(row, "member_id", "host", "client_id"),
            str(len(row["assignment"])),
        )
        for group in ours
        for row in group["members"]
    )
    table = kafka_tool_comparison.rows(
        kafka_tool_comparison.theirs_run(kafka, commands, GROUPS, ["--describe", *words, "--state"]).out, *STATE
    )
    assert sorted(
        (row["GROUP"], row["COORDINATOR (ID)"].split()[-1], row["STATE"], row["#MEMBERS"]) for row in table
    ) == sorted(
        (group["resource_name"], f"({group['coordinator']})", group["state"], str(len(group["members"])))
        for group in ours
    )
    return ours


OFFSETS = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID")
MEMBERS = ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
STATE = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")


@pytest.mark.parametrize("line", RESETS)
def test_new_offsets(kafka: KafkaCluster, commands: KafkaCommands, consumed: str, folder: Path, line: str) -> None:
    """What --export writes is the same by both, and changes nothing."""
    words = ["--reset-offsets", *shlex.split(line.format(n=consumed, f=folder)), "--export"]
    theirs = kafka_tool_comparison.theirs_run(kafka, commands, GROUPS, [*words, "--dry-run"])
    ours = kafka_tool_comparison.kac(kafka, "groups", words)
    assert ours.code == 0, ours
    assert kafka_tool_comparison.exported(ours.out) == kafka_tool_comparison.exported(theirs.out)
    assert kafka_tool_comparison.exported(ours.out)


@pytest.mark.parametrize("line", REFUSED)
def test_both_refuse(kafka: KafkaCluster, commands: KafkaCommands, consumed: str, folder: Path, line: str) -> None:
    words = shlex.split(line.format(n=consumed, f=folder))
    theirs = kafka_tool_comparison.theirs_run(kafka, commands, GROUPS, words)
    assert theirs.code or "Error:" in theirs.out, theirs
    assert kafka_tool_comparison.kac(kafka, "groups", [*words, *MEANT]).code, line


async def test_groups_of_the_consumer_protocol(plain_cluster: KafkaCluster, commands: KafkaCommands, name: str) -> None:
    """KIP-848: one member, which has not told that it has what it is to have."""
    async with worlds.linked(worlds.settings(plain_cluster)) as link:
        await make_topic(link, name, partitions=2)
        (coordinator,) = (await find_coordinators(link, [name], is_change=True))[0].values()

        async def beat() -> Any:
            to = broker(coordinator)
            return await link.call("consumer_group_heartbeat", joining("consumer", name), to=to, change=True)

        response = await until_settled(beat, lambda answer: answer.error_code != 0, within=20)
        assert response.error_code == 0, response
        await commit_as_member(link, name, coordinator, response.member_epoch)

        async def described_group() -> Group:
            return (await describe_groups(link, [name], {name: "consumer"})).groups[name]

        await until_settled(described_group, lambda group: not (group.members and group.members[0].target), within=20)
        (ours,) = await asyncio.to_thread(compare_described, plain_cluster, commands, ["--group", name])
        words = ["--describe", "--group", name, "--members", "--verbose"]
        ran = await asyncio.to_thread(kafka_tool_comparison.theirs_run, plain_cluster, commands, GROUPS, words)
        heads = ("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT")
        ((epoch, has, _, target),) = (
            kafka_tool_comparison.picked(row, *heads) for row in kafka_tool_comparison.rows(ran.out, *heads)
        )
        (member,) = ours["members"]
        assert int(epoch) == member["epoch"]
        assert [_assigned(member["assignment"]), _assigned(member["target"])] == [has, target]
        assert target == f"{name}:0,1"


def _assigned(places: list[dict[str, Any]]) -> str:
    """Partitions of one topic as Kafka's tool has them."""
    if not places:
        return "-"
    return f"{places[0]['topic']}:{','.join(str(each['partition']) for each in places)}"


async def commit_as_member(link: Link, group: str, coordinator: int, epoch: int) -> None:
    """An offset with a leader epoch, as Java's consumers commit it."""
    topic_id = (await describe_topics(link, [group])).topics[group].topic_id
    assert topic_id is not None

    topic = {"name": group, "topic_id": uuid_of(topic_id), "partitions": [(0, 0, 0, "")]}
    member = {"generation_id_or_member_epoch": epoch, "member_id": f"{group}-member"}
    asked = with_fields(group_id=group, **member, topics=[topic])
    response = await link.call("offset_commit", asked, to=broker(coordinator), change=True)
    assert response.topics[0].partitions[0].error_code == 0, response
