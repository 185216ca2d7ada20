"""Tests of kac against Kafka's own tools of 4.3 on real brokers, 4.3 and 3.9: both show the same values, and have the
same effects. docs/kafka-tools.md lists intended differences."""

import asyncio
import json
import re
import shlex
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from aiokafka import (  # type: ignore[import-untyped]
    AIOKafkaConsumer,
    AIOKafkaProducer,
    TopicPartition,
)

from console.admin import features, settings
from console.admin.changes import send
from console.admin.cluster import describe_cluster
from console.admin.groups import describe_groups, find_coordinators, group_position, list_groups
from console.admin.link import Link, broker
from console.admin.partitions import list_reassignments, log_ranges
from console.admin.topics import describe_topics
from console.model import changes, config, identity
from console.model.changes import AlterShareGroupOffsets, CommitOffsets, DeleteGroups, GroupOffsetTarget
from console.model.cluster import CommittedOffset, Group, GroupPosition, TopicListing
from console.model.codes import BROKER, DELETE, SET
from console.model.feature_levels import METADATA_VERSION, level_name
from tests.broker.test_read_groups import joining
from tests.support import kafka_commands, kafka_messages, kafka_tool_comparison, transactional_client, worlds
from tests.support.changing import applied, make_topic, outcomes
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import GROUPS, SHARE_GROUPS, STREAMS_GROUPS, KafkaCommands
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.kafka_tool_comparison import counted, kac, kac_data, picked, rows, tabbed, theirs_run
from tests.support.patience import settled
from tests.support.real_clusters import lent, running

pytestmark = pytest.mark.slow

LONG_AGO_MS = 20 * 60 * 1000

commands = lent(kafka_commands.KafkaCommands)
"""Provide Kafka's own tools of 4.3, all in one process."""


# -- features and the cluster ------------------------------------------------------------------------------------------

_DESCRIBED = re.compile(
    r"Feature: (\S+)\s+SupportedMinVersion: ((?:UNKNOWN )?\S+)\s+SupportedMaxVersion: ((?:UNKNOWN )?\S+)\s+"
    r"FinalizedVersionLevel: ((?:UNKNOWN )?\S+)"
)


def level(row: dict[str, Any], name: str) -> str:
    """Return the level of a feature in a row of kac's output, in the form of Kafka's tool. For metadata.version this
    is the name of the release, or ``UNKNOWN`` with the number if Kafka 4 does not support the level; for another
    feature it is the number. name: the column.
    """
    number = row[name]
    if row["name"] != METADATA_VERSION:
        return str(number)
    return (level_name(METADATA_VERSION, number) if number >= 7 else "") or f"UNKNOWN {number}"


@pytest.mark.parametrize("node", [(), ("--node-id", "1")])
def test_what_is_finalized(kafka: KafkaCluster, commands: kafka_commands.KafkaCommands, node: tuple[str, ...]) -> None:
    theirs = theirs_run(kafka, commands, kafka_commands.FEATURES, ["describe", *node])
    found = {(row[0], *row[1:]) for row in _DESCRIBED.findall(theirs.out)}
    ours = kac_data(kafka, "features", ["describe", *node])["features"]
    mine = {(row["name"], level(row, "lowest"), level(row, "highest"), level(row, "level")) for row in ours}
    assert found <= mine, theirs.out
    assert len(found) > 1


@pytest.mark.parametrize("release", ["4.3", "4.0", "4.1.1", "4.2-IV0", "3.3-IV3", "3.9.0"])
def test_what_releases_have(kafka: KafkaCluster, commands: kafka_commands.KafkaCommands, release: str) -> None:
    theirs = theirs_run(kafka, commands, kafka_commands.FEATURES, ["version-mapping", "--release-version", release])
    found = dict(re.findall(r"^(\S+)=(\d+)", theirs.out, re.MULTILINE))
    ours = kac_data(kafka, "features", ["version-mapping", "--release-version", release])["features"]
    assert found == {row["feature"]: str(row["level"]) for row in ours}


def test_what_levels_need(kafka: KafkaCluster, commands: kafka_commands.KafkaCommands) -> None:
    for feature in ("transaction.version=2", "metadata.version=17", "eligible.leader.replicas.version=1"):
        words = ["feature-dependencies", "--feature", feature]
        found = re.findall(
            r"^ +(\S+)=(\d+)", theirs_run(kafka, commands, kafka_commands.FEATURES, words).out, re.MULTILINE
        )
        ours = kac_data(kafka, "features", words)["features"]
        assert sorted(found) == sorted((row["needs"], str(row["least"])) for row in ours if row["needs"])


REFUSED_LEVELS = (
    "feature-dependencies --feature nosuch=1",
    "feature-dependencies --feature transaction.version=9",
    "feature-dependencies --feature metadata.version=99",
    "feature-dependencies --feature metadata.version=6",
    "feature-dependencies --feature x",
    "feature-dependencies --feature group.version=1000000",
    "upgrade --release-version 4.0 --feature a=1",
    "upgrade",
    "downgrade --dry-run",
)


def test_levels_that_both_refuse(kafka: KafkaCluster, commands: kafka_commands.KafkaCommands) -> None:
    both_refuse(kafka, commands, kafka_commands.FEATURES, "features", REFUSED_LEVELS)


def both_refuse(
    kafka: KafkaCluster, commands: kafka_commands.KafkaCommands, tool: str, name: str, lines: Iterable[str]
) -> None:
    """Check that both tools refuse each of these command lines with an exit code other than 0. Raises AssertionError
    otherwise.
    """
    for line in lines:
        words = shlex.split(line)
        assert theirs_run(kafka, commands, tool, words).code, line
        assert kac(kafka, name, [*words, "--yes"]).code, line


CHANGES = (
    "upgrade --feature streams.version=1",
    "downgrade --feature streams.version=0 --dry-run",
    "downgrade --feature streams.version=0",
    "upgrade --feature streams.version=1 --dry-run",
    "upgrade --feature streams.version=1",
    "disable --feature streams.version",
    "upgrade --feature streams.version=1 --feature group.version=1",
)


async def test_levels(plain_cluster: KafkaCluster, commands: kafka_commands.KafkaCommands) -> None:
    """Both tools make the same changes of feature levels, and show the same levels after each change."""
    async with worlds.linked(settings.ConnectionSettings(bootstrap=plain_cluster.addresses)) as link:
        seen: list[list[tuple[int, int]]] = []
        for side in ("Kafka", "kac"):
            steps = []
            for line in CHANGES:
                words = shlex.split(line)
                if side == "Kafka":
                    ran = theirs_run(plain_cluster, commands, kafka_commands.FEATURES, words)
                else:
                    ran = await asyncio.to_thread(kac, plain_cluster, "features", words)
                steps.append((ran.code, (await features.describe_features(link)).finalized.get("streams.version", 0)))
            seen.append(steps)
    assert [step[1] for step in seen[0]] == [1, 1, 0, 0, 1, 0, 1]
    assert seen[0] == seen[1]


def test_cluster(kafka: KafkaCluster, commands: kafka_commands.KafkaCommands) -> None:
    theirs = theirs_run(kafka, commands, kafka_commands.CLUSTER, ["cluster-id"])
    assert theirs.out == f"Cluster ID: {kac_data(kafka, 'brokers', ['cluster-id'])['cluster_id']}\n"
    listed = rows(
        theirs_run(kafka, commands, kafka_commands.CLUSTER, ["list-endpoints"]).out, "ID", "HOST", "PORT", "RACK"
    )
    ours = kac_data(kafka, "brokers", ["list-endpoints"])["brokers"]
    assert [picked(row, "ID", "HOST", "PORT") for row in listed] == [
        tuple(map(str, picked(row, "id", "host", "port"))) for row in ours
    ]
    assert theirs_run(kafka, commands, kafka_commands.CLUSTER, ["unregister", "--id", "77"]).code
    ran = kac(kafka, "brokers", ["unregister", "--id", "77", "--yes"])
    assert "registered" in ran.out + ran.err


# -- transactions ------------------------------------------------------------------------------------------------------


def compare_transactions(kafka: KafkaCluster, commands: kafka_commands.KafkaCommands, topic: str) -> None:
    """Check that both tools show the same transactions, as coordinators and as partition leaders describe them. Raises
    AssertionError otherwise.
    """

    def theirs(*words: str) -> list[dict[str, str]]:
        return tabbed(theirs_run(kafka, commands, kafka_commands.TRANSACTIONS, words).out)

    def ours(part: str, *words: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = kac_data(kafka, "transactions", words)[part]
        return found

    columns: tuple[str, ...] = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
    names = ("transactional_id", "coordinator", "producer", "state")
    for words in (("list",), ("list", "--duration-filter", "100000000")):
        listed = sorted(picked(row, *columns) for row in theirs(*words))
        assert listed == sorted(tuple(map(str, picked(row, *names))) for row in ours("transactions", *words))
    producers = ("ProducerId", "ProducerEpoch", "LastTimestamp", "CurrentTransactionStartOffset")
    columns = ("TransactionalId", "CoordinatorId", "ProducerId", "TransactionState", "ProducerEpoch")
    for id_ in (f"{topic}-open", f"{topic}-done"):
        words = ("describe", "--transactional-id", id_)
        (told,), (mine,) = theirs(*words), ours("transactions", *words)
        assert picked(told, *columns) == tuple(map(str, picked(mine, *names, "epoch")))
        assert counted(told["TransactionTimeoutMs"]) == mine["timeout_ms"]
        assert counted(told["CurrentTransactionStartTimeMs"]) == mine["start_ms"]
        places = [place.rpartition("-") for place in told["TopicPartitions"].split(",") if place]
        assert [f"{name}/{number}" for name, _, number in places] == mine["partitions"]
    for number in range(3):
        for more in ((), ("--broker-id", "1")):
            words = ("describe-producers", "--topic", topic, "--partition", str(number), *more)
            ran = theirs_run(kafka, commands, kafka_commands.TRANSACTIONS, words)
            mine = kac_data(kafka, "transactions", words)
            assert bool(ran.code) == bool(mine["errors"])
            told_rows = tabbed(ran.out) if not ran.code else []
            assert [tuple(map(counted, picked(row, *producers))) for row in told_rows] == [
                picked(row, "producer", "epoch", "last_timestamp", "start_offset") for row in mine["producers"]
            ]


REFUSED_TRANSACTIONS = (
    "describe --transactional-id {n}-no",
    "find-hanging",
    "find-hanging --partition 0 --broker-id 1",
    "abort --topic {n} --partition 0",
    "abort --topic {n} --partition 1 --start-offset 999",
)


def hanging_places(kafka: KafkaCluster, topic: str) -> set[tuple[str, int]]:
    """Return the (topic, partition) pairs in which kac reports a hanging transaction."""
    found = kac_data(kafka, "transactions", ["find-hanging", "--topic", topic])["transactions"]
    return {(row["topic"], row["partition"]) for row in found if row["verdict"] == "hangs"}


@pytest.fixture
async def unverified(link: Link) -> AsyncIterator[None]:
    """Turn the verification of transactions off during the test: leaders accept transactional records of unknown
    transactions.
    """
    everyone, key = config.ConfigResource(BROKER, ""), "transaction.partition.verification.enable"
    await send(link, changes.AlterConfigs({everyone: (changes.ConfigOp(key, SET, "false"),)}), validate_only=False)
    yield
    await send(link, changes.AlterConfigs({everyone: (changes.ConfigOp(key, DELETE),)}), validate_only=False)


async def test_transactions(
    kafka: KafkaCluster, commands: kafka_commands.KafkaCommands, link: Link, name: str, unverified: None
) -> None:
    """Both tools show a healthy transaction in partition 0 and hanging ones in partitions 1 and 2, and each tool can
    end a hanging one.
    """
    await make_topic(link, name, partitions=3, retention_ms="-1")
    brokers = dict(zip(kafka.broker_ids, kafka.addresses, strict=True))
    at = time.time_ns() // 1_000_000 - LONG_AGO_MS
    with (
        transactional_client.TransactionalClient(brokers, f"{name}-open") as open_,
        transactional_client.TransactionalClient(brokers, f"{name}-done") as done,
    ):
        open_.begin()
        open_.add(name, 0)
        open_.write(name, 0, b"open", times=[at])
        done.begin()
        for partition in (1, 2):
            done.add(name, partition)
            done.write(name, partition, b"done", times=[at])
        done.end()
        starts = {partition: done.write(name, partition, b"late", times=[at]) for partition in (1, 2)}
        await asyncio.to_thread(compare_transactions, kafka, commands, name)
        refused_lines = [line.format(n=name) for line in REFUSED_TRANSACTIONS]
        await asyncio.to_thread(
            both_refuse, kafka, commands, kafka_commands.TRANSACTIONS, "transactions", refused_lines
        )
        hanging = ["find-hanging", "--topic", name]
        told = tabbed((await asyncio.to_thread(theirs_run, kafka, commands, kafka_commands.TRANSACTIONS, hanging)).out)
        both = {(name, 1), (name, 2)}
        assert {(row["Topic"], int(row["Partition"])) for row in told} == both
        assert await asyncio.to_thread(hanging_places, kafka, name) == both
        abort = ["abort", "--topic", name]
        ended = [*abort, "--partition", "1", "--start-offset", str(starts[1])]
        theirs = await asyncio.to_thread(theirs_run, kafka, commands, kafka_commands.TRANSACTIONS, ended)
        ended = [*abort, "--partition", "2", "--start-offset", str(starts[2]), "--yes"]
        refused = await asyncio.to_thread(kac, kafka, "transactions", ended)
        assert refused.code == 3
        assert f"transaction-aborted={name}/2" in refused.err
        ours = await asyncio.to_thread(
            kac, kafka, "transactions", [*ended, "--accept", f"transaction-aborted={name}/2"]
        )
        assert (theirs.code, ours.code) == (0, 0), ours
        assert not tabbed(
            (await asyncio.to_thread(theirs_run, kafka, commands, kafka_commands.TRANSACTIONS, hanging)).out
        )
        assert not await asyncio.to_thread(hanging_places, kafka, name)
        open_.end()


# -- leaders -----------------------------------------------------------------------------------------------------------

REFUSED_ELECTIONS = (
    "--election-type preferred --topic {n}-no --partition 0",
    "--election-type PREFERRED --topic {n} --partition 9",
    "--election-type preferred --path-to-json-file {f}/good.json",
    "--election-type preferred --path-to-json-file {f}/twice.json",
    "--election-type preferred --path-to-json-file {f}/empty.json",
    "--election-type bogus --topic {n} --partition 0",
    "--election-type preferred --topic {n}",
    "--election-type preferred",
    "--election-type preferred --all-topic-partitions --topic {n} --partition 1",
    "--election-type preferred --partition 0 --all-topic-partitions",
    "--topic {n} --partition 0",
)
NOT_NEEDED = {"unclean": (1, "an unclean election is for a partition without a leader"), "preferred": (0, "already")}
"""Type of election -> kac's exit code and message if the partition has a leader. Kafka's tool reports an election for
both types.
"""


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    """Provide a folder with JSON files of partitions: good.json has an existing and a missing partition, twice.json has
    one twice, and empty.json has no list.
    """
    places = [{"topic": name, "partition": 0}, {"topic": f"{name}-no", "partition": 0}]
    for file, data in (
        ("good", {"partitions": places}),
        ("twice", {"partitions": [places[0], places[0]]}),
        ("empty", {}),
    ):
        (tmp_path / f"{file}.json").write_text(json.dumps(data))
    return tmp_path


async def test_elections(
    kafka: KafkaCluster, commands: kafka_commands.KafkaCommands, link: Link, name: str, folder: Path
) -> None:
    await make_topic(link, name)
    lines = [line.format(n=name, f=folder) for line in REFUSED_ELECTIONS]
    await asyncio.to_thread(both_refuse, kafka, commands, kafka_commands.ELECTION, "topics", lines)
    for type_, (code, said) in NOT_NEEDED.items():
        words = ["--election-type", type_, "--topic", name, "--partition", "0"]
        theirs = await asyncio.to_thread(theirs_run, kafka, commands, kafka_commands.ELECTION, words)
        ours = await asyncio.to_thread(kac, kafka, "topics", words)
        assert "Valid replica already elected" in theirs.out
        assert (theirs.code, ours.code, said in ours.err) == (0, code, True), ours


@pytest.fixture(params=["plain_cluster", pytest.param("3.9", marks=pytest.mark.long)])
def several(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Provide a cluster with more than one broker, once for each version."""
    if request.param == "plain_cluster":
        yield request.getfixturevalue(request.param)
    else:
        yield from running(lambda: KafkaCluster(KAFKA_3_9, brokers=2))


def leads_not_all(topic: str, broker_id: int, listing: TopicListing) -> bool:
    """Return whether a broker other than `broker_id` leads a partition of the topic."""
    return any(each.leader != broker_id for each in listing.topics[topic].partitions)


async def test_leaders_go_back(
    several: KafkaCluster, commands: kafka_commands.KafkaCommands, name: str, tmp_path: Path
) -> None:
    """Broker 1 leads all partitions whose preferred leader is broker 2. Each tool then elects the preferred leaders of
    its own topic, with the same result.
    """
    async with worlds.linked(settings.ConnectionSettings(bootstrap=several.addresses)) as link:
        topics = (f"{name}-a", f"{name}-b")
        new = tuple(changes.NewTopic(topic, assignments=((1, 2), (1, 2), (1, 2))) for topic in topics)
        assert await applied(link, changes.CreateTopics(new))
        moves = {changes.MoveTarget(topic, number): (2, 1) for topic in topics for number in range(3)}
        await send(link, changes.AlterReassignments(moves), validate_only=False)
        await settled(lambda: list_reassignments(link), bool)
        for topic in topics:
            file = tmp_path / f"{topic}.json"
            file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": number} for number in (1, 2)]}))
            for words in (
                ["--election-type", "preferred", "--topic", topic, "--partition", "0"],
                ["--election-type", "preferred", "--path-to-json-file", str(file)],
                ["--election-type", "preferred", "--path-to-json-file", str(file)],
            ):
                if topic == topics[0]:
                    ran = await asyncio.to_thread(theirs_run, several, commands, kafka_commands.ELECTION, words)
                else:
                    ran = await asyncio.to_thread(kac, several, "topics", words)
                assert ran.code == 0, ran
            # After the election by the controller, another broker may still show the former leader.
            seen = partial(describe_topics, link, [topic])
            listing = await settled(seen, partial(leads_not_all, topic, 2))
            assert not leads_not_all(topic, 2, listing)


@pytest.fixture(params=[KAFKA_4_3, KAFKA_3_9])
def stoppable(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Provide a cluster of three brokers. The first is the only controller; a test may stop the two others."""
    version: str = request.param
    properties = {"auto.leader.rebalance.enable": "false", "min.insync.replicas": "1"}
    yield from running(lambda: KafkaCluster(version, brokers=3, controllers=1, properties=properties))


@pytest.mark.long
async def test_unclean_elections(stoppable: KafkaCluster, commands: kafka_commands.KafkaCommands, name: str) -> None:
    """If the last replica in the ISR is down and another replica is up, each tool elects the other replica. kac does it
    only with --accept.
    """
    async with worlds.linked(settings.ConnectionSettings(bootstrap=stoppable.addresses[:1])) as link:
        topics = (f"{name}-a", f"{name}-b")
        assert await applied(
            link, changes.CreateTopics(tuple(changes.NewTopic(each, assignments=((2, 3),)) for each in topics))
        )
        stoppable.stop(3)
        producer = AIOKafkaProducer(bootstrap_servers=stoppable.bootstrap, acks=1)
        await producer.start()
        for topic in topics:
            await producer.send_and_wait(topic, b"lost", partition=0)
        await producer.stop()
        stoppable.stop(2)
        stoppable.restart(3)
        words = [["--election-type", "unclean", "--topic", topic, "--partition", "0"] for topic in topics]
        theirs = await asyncio.to_thread(theirs_run, stoppable, commands, kafka_commands.ELECTION, words[0])
        refused = await asyncio.to_thread(kac, stoppable, "topics", words[1])
        assert refused.code
        assert f"--accept unclean-loss={topics[1]}/0" in refused.err
        accept = ["--accept", f"unclean-loss={topics[1]}/0"]
        ours = await asyncio.to_thread(kac, stoppable, "topics", [*words[1], *accept])
        assert (theirs.code, ours.code) == (0, 0), ours
        assert theirs.out == f"Successfully completed leader election (UNCLEAN) for partitions {topics[0]}-0\n"
        for topic in topics:
            listing = await settled(partial(describe_topics, link, [topic]), partial(leads_not_all, topic, 3))
            assert not leads_not_all(topic, 3, listing)


@pytest.mark.long
async def test_a_broker_is_unregistered(stoppable: KafkaCluster, commands: kafka_commands.KafkaCommands) -> None:
    """Each tool unregisters a broker that is down. kac refuses to unregister a broker that is up."""
    words = ["unregister", "--id"]
    alive = await asyncio.to_thread(kac, stoppable, "brokers", [*words, "2", "--yes"])
    assert alive.code
    assert "broker 2 is alive" in alive.err
    for number in (2, 3):
        stoppable.stop(number)
    stoppable.await_brokers([1])
    theirs = await asyncio.to_thread(theirs_run, stoppable, commands, kafka_commands.CLUSTER, [*words, "2"])
    ours = await asyncio.to_thread(kac, stoppable, "brokers", [*words, "3", "--yes"])
    assert (theirs.code, ours.code) == (0, 0), ours.err
    assert theirs.out == "Broker 2 is no longer registered.\n"
    async with worlds.linked(settings.ConnectionSettings(bootstrap=stoppable.addresses[:1])) as link:
        assert [each.id for each in (await describe_cluster(link)).brokers] == [1]


# -- records -----------------------------------------------------------------------------------------------------------


async def test_records(
    kafka: KafkaCluster, commands: kafka_commands.KafkaCommands, link: Link, name: str, tmp_path: Path
) -> None:
    """After each tool deleted the same offsets in its own topic, both topics have the same records."""
    topics = (f"{name}-a", f"{name}-b")
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
    await producer.start()
    for topic in topics:
        await make_topic(link, topic, partitions=3)
        for partition in range(3):
            for _ in range(5):
                await producer.send_and_wait(topic, b"x", partition=partition)
    await producer.stop()

    def file(topic: str, number: int, offsets: dict[int, int], **more: object) -> str:
        rows = [{"topic": topic, "partition": partition, "offset": offset} for partition, offset in offsets.items()]
        path = tmp_path / f"{topic}-{number}.json"
        path.write_text(json.dumps({"partitions": rows, **more}))
        return str(path)

    left = []
    for topic in topics:
        files = [
            file(topic, 0, {0: 3, 1: -1, 2: 0}, version=1),
            file(topic, 1, {0: 2}),
            file(topic, 2, {2: 6}),
            file(topic, 3, {0: 4}, version=2),
            str(tmp_path / "no.json"),
        ]
        codes = []
        for path in files:
            words = ["--offset-json-file", path]
            if topic == topics[0]:
                await asyncio.to_thread(theirs_run, kafka, commands, kafka_commands.DELETE_RECORDS, words)
            else:
                accept = ["--yes", "--accept", f"records-deleted={topic}"]
                codes.append((await asyncio.to_thread(kac, kafka, "topics", [*words, *accept])).code)
            ranges, _ = await log_ranges(link, [(topic, number) for number in range(3)])
            left.append(list(ranges.values()))
    assert left[:5] == left[5:]
    assert [each.start for each in left[0]] == [3, 5, 0]
    assert codes == [0, 0, 1, 2, 2]


# -- groups and kafka-consumer-groups ----------------------------------------------------------------------------------

START_MS = 1_700_000_000_000
"""The time of the first record, Unix milliseconds: 2023-11-14T22:13:20Z."""


@pytest.fixture
async def consumed(kafka: KafkaCluster, link: Link, name: str) -> AsyncIterator[str]:
    """Create topics and groups with offsets, and provide NAME, the name of the test, from which their names are made.

    Topics: NAME with three partitions of 10, 4 and 0 records, a record per second; NAME-e with two empty partitions;
    two topics with names of 24 and 25 characters, for the CSV. Groups: NAME-idle with offsets in NAME and NAME-e; NAME
    and "2" with offsets in NAME and the topics with long names; NAME-live with a member; NAME-static with a static
    member.
    """
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
    # Delete the groups, because kac does not look for readers of a topic in all of several hundred groups. The group of
    # the static member can only be deleted once the member has expired, so leave it.
    await outcomes(link, DeleteGroups((*offsets, f"{name}-live")))


async def commit(kafka: KafkaCluster, group: str, offsets: dict[tuple[str, int], int]) -> None:
    """Commit offsets for a group without members. offsets: (topic, partition) -> offset."""
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
def offset_files(tmp_path: Path, name: str) -> Path:
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
    kafka: KafkaCluster, commands: KafkaCommands, link: Link, consumed: str, offset_files: Path
) -> None:
    """After each tool made the same resets and deletions on its own group, both groups have the same offsets."""
    groups = (f"{consumed}-a", f"{consumed}-b")
    for group in groups:
        await commit(kafka, group, {(consumed, 0): 5, (consumed, 1): 4})
    problems = []
    for line in EXECUTED:
        left = []
        for group in groups:
            words = shlex.split(line.format(n=consumed, g=group, f=offset_files))
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
    """Both tools list the same consumer groups. kac also lists groups of other types, which Kafka's tool does not."""
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
    """Return the groups in the JSON of `kac groups --describe` with these arguments."""
    found = kafka_tool_comparison.kac_data(kafka, "groups", ["--describe", *words])
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("line", DESCRIBED)
def test_descriptions(kafka: KafkaCluster, commands: KafkaCommands, consumed: str, line: str) -> None:
    words = shlex.split(line.format(n=consumed))
    compare_described(kafka, commands, words)


def compare_described(kafka: KafkaCluster, commands: KafkaCommands, words: list[str]) -> list[Any]:
    """Check that both tools show the same offsets, members and states for these arguments, and return kac's groups.
    Raises AssertionError if something differs.
    """
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
def test_new_offsets(
    kafka: KafkaCluster, commands: KafkaCommands, consumed: str, offset_files: Path, line: str
) -> None:
    """For the same reset as a dry run, both tools export the same offsets, and the group's offsets do not change."""
    words = ["--reset-offsets", *shlex.split(line.format(n=consumed, f=offset_files)), "--export"]
    theirs = kafka_tool_comparison.theirs_run(kafka, commands, GROUPS, [*words, "--dry-run"])
    ours = kafka_tool_comparison.kac(kafka, "groups", words)
    assert ours.code == 0, ours
    assert kafka_tool_comparison.exported(ours.out) == kafka_tool_comparison.exported(theirs.out)
    assert kafka_tool_comparison.exported(ours.out)


@pytest.mark.parametrize("line", REFUSED)
def test_both_refuse(
    kafka: KafkaCluster, commands: KafkaCommands, consumed: str, offset_files: Path, line: str
) -> None:
    words = shlex.split(line.format(n=consumed, f=offset_files))
    theirs = kafka_tool_comparison.theirs_run(kafka, commands, GROUPS, words)
    assert theirs.code or "Error:" in theirs.out, theirs
    assert kafka_tool_comparison.kac(kafka, "groups", [*words, *MEANT]).code, line


async def test_groups_of_the_consumer_protocol(plain_cluster: KafkaCluster, commands: KafkaCommands, name: str) -> None:
    """For a member of the consumer protocol (KIP-848) that has not confirmed its target assignment, both tools show the
    same epoch, assignment and target assignment.
    """
    async with worlds.linked(worlds.settings(plain_cluster)) as link:
        await make_topic(link, name, partitions=2)
        (coordinator,) = (await find_coordinators(link, [name], is_change=True))[0].values()

        async def beat() -> Any:
            to = broker(coordinator)
            return await link.call("consumer_group_heartbeat", joining("consumer", name), to=to, change=True)

        response = await settled(beat, lambda answer: answer.error_code != 0)
        assert response.error_code == 0, response
        await commit_as_member(link, name, coordinator, response.member_epoch)

        # The coordinator computes the assignment while it handles a heartbeat, and the first one may come before it
        # knows the topic.
        async def described_group() -> Group:
            await beat()
            return (await describe_groups(link, [name], {name: "consumer"})).groups[name]

        group = await settled(described_group, lambda group: not (group.members and group.members[0].target))
        assert group.members, group
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
    """Return the partitions of one topic in the form of Kafka's tool; ``-`` if the list is empty."""
    if not places:
        return "-"
    return f"{places[0]['topic']}:{','.join(str(each['partition']) for each in places)}"


async def commit_as_member(link: Link, group: str, coordinator: int, epoch: int) -> None:
    """Commit an offset with a leader epoch as a group's member, as Java's consumers do. Raises AssertionError if the
    broker refuses it. coordinator: a broker id. epoch: the member epoch.
    """
    topic_id = (await describe_topics(link, [group])).topics[group].topic_id
    assert topic_id is not None

    topic = {"name": group, "topic_id": identity.uuid_of(topic_id), "partitions": [(0, 0, 0, "")]}
    member = {"generation_id_or_member_epoch": epoch, "member_id": f"{group}-member"}
    asked = kafka_messages.with_fields(group_id=group, **member, topics=[topic])
    response = await link.call("offset_commit", asked, to=broker(coordinator), change=True)
    assert response.topics[0].partitions[0].error_code == 0, response


# -- share groups and streams groups -----------------------------------------------------------------------------------


newer_link = worlds.link("plain_cluster")


async def beat(newer_link: Link, protocol: str, group: str, build: Callable[[ModuleType], Any]) -> Any:
    """Send a member's heartbeat to a group of a newer protocol, and return the response. While the coordinator is
    not available, send it again. Raises AssertionError if the response has an error.
    """

    async def ask() -> Any:
        (coordinator,) = (await find_coordinators(newer_link, [group], is_change=True))[0].values()
        return await newer_link.call(f"{protocol}_group_heartbeat", build, to=broker(coordinator), change=True)

    answer = await settled(ask, lambda answer: answer.error_code != 0)
    assert answer.error_code == 0, answer
    return answer


def later(protocol: str, group: str, topic: str, epoch: int, tasks: Any = None) -> Callable[[ModuleType], Any]:
    """Return a function that builds a member's next heartbeat. epoch: the member epoch; with -1 the member leaves the
    group.
    """
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
async def member(newer_link: Link, protocol: str, group: str, topic: str) -> AsyncIterator[None]:
    """Join a group as a member, and yield once the member has its target assignment. Send heartbeats until the end of
    the block, then leave.
    """
    answer = await beat(newer_link, protocol, group, joining(protocol, group, topic))
    tasks: Any = None
    settled = asyncio.Event()

    async def keep(answer: Any) -> None:
        nonlocal tasks
        while True:
            if getattr(answer, "active_tasks", None) is not None:
                tasks = answer.active_tasks, answer.standby_tasks, answer.warmup_tasks
            answer = await beat(newer_link, protocol, group, later(protocol, group, topic, answer.member_epoch, tasks))
            found: Group = (await describe_groups(newer_link, [group], {group: protocol})).groups[group]
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
    await beat(newer_link, protocol, group, later(protocol, group, topic, -1))


@pytest.fixture
async def used(plain_cluster: KafkaCluster, newer_link: Link, name: str) -> AsyncIterator[str]:
    """Create topics and groups with offsets, and provide NAME, the name of the test, from which their names are made.

    Topics: NAME with partitions of 7 and 0 records, NAME-e without records. Share groups: NAME-live with a member,
    NAME-idle with offsets in both topics. Streams groups: NAME-run with a member, NAME-rest with an offset.
    """
    for topic, partitions in ((name, 2), (f"{name}-e", 1)):
        await make_topic(newer_link, topic, partitions=partitions)
    producer = AIOKafkaProducer(bootstrap_servers=plain_cluster.bootstrap)
    await producer.start()
    for number in range(7):
        await producer.send_and_wait(name, b"%d" % number, partition=0)
    await producer.stop()
    idle, rest = f"{name}-idle", f"{name}-rest"
    for topic in (name, f"{name}-e"):
        async with member(newer_link, "share", idle, topic):
            pass
    starts = {GroupOffsetTarget(idle, name, 0): 3, GroupOffsetTarget(idle, f"{name}-e", 0): 0}
    await settled(
        lambda: outcomes(newer_link, AlterShareGroupOffsets(idle, starts)),
        lambda found: not all(each.ok for each in found.values()),
    )
    await beat(newer_link, "streams", rest, joining("streams", rest, name))
    await beat(newer_link, "streams", rest, later("streams", rest, name, -1))
    committed = {GroupOffsetTarget(rest, name, 0): CommittedOffset(2)}
    assert await applied(newer_link, CommitOffsets(rest, committed))
    async with member(newer_link, "share", f"{name}-live", name), member(newer_link, "streams", f"{name}-run", name):
        yield name


SHARE = ("--group", "{n}-idle"), ("--group", "{n}-live"), ("--group", "{n}-idle", "--group", "{n}-live")
STREAMS = ("--group", "{n}-run"), ("--group", "{n}-rest")
NEWER_MEMBERS = {"share": ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID"), "streams": ("GROUP", "MEMBER", "CLIENT-ID")}


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
    """Both tools show the same states and members of share and streams groups, and the same start offsets and lags of
    share groups.
    """
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
            members = kafka_tool_comparison.rows(await table("--members"), *NEWER_MEMBERS[kind])
            columns = ("member_id", "host", "client_id") if kind == "share" else ("member_id", "client_id")
            assert sorted(kafka_tool_comparison.picked(row, *NEWER_MEMBERS[kind]) for row in members) == sorted(
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
                # Kafka's tool has a row for each partition of a topic, also if the group has not begun to read it.
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
NEWER_REFUSED = (
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
"""The command lines that kac refuses and Kafka's tool does not: Kafka's tool shows new offsets although the group is
of another type.
"""


async def test_new_offsets_and_refusals(plain_cluster: KafkaCluster, commands: KafkaCommands, used: str) -> None:
    """A dry run shows the same new offsets in both tools, except that kac omits an offset that the group already has.
    kac refuses the same command lines as Kafka's tool, and those in `REFUSED_HERE`.
    """
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
    for kind, line in (*NEWER_REFUSED, *REFUSED_HERE):
        words = shlex.split(line.format(n=used))
        ran = await asyncio.to_thread(kafka_tool_comparison.theirs_run, plain_cluster, commands, tools[kind], words)
        assert (kind, line) in REFUSED_HERE or ran.code or "Error:" in ran.out, (line, ran)
        ran = await asyncio.to_thread(kafka_tool_comparison.kac, plain_cluster, f"{kind}-groups", [*words, *MEANT])
        assert ran.code, (line, ran)


async def asked(kafka: KafkaCluster, group: str) -> GroupPosition:
    """Return the position of a group: its offsets and lag, as kac reads it."""
    async with worlds.linked(worlds.settings(kafka)) as newer_link:
        return await group_position(newer_link, group)


NEWER_CHANGES = (
    ("share", "--reset-offsets --group {n}-idle --topic {n}:0 --to-latest --execute"),
    ("share", "--reset-offsets --group {n}-idle --topic {n}:0 --to-earliest --execute"),
    ("share", "--delete-offsets --group {n}-idle --topic {n}-e"),
    ("streams", "--reset-offsets --group {n}-rest --input-topic {n}:0 --to-offset 5 --execute"),
    ("streams", "--reset-offsets --group {n}-rest --input-topic {n}:0 --shift-by -3 --execute"),
)


async def test_changes(plain_cluster: KafkaCluster, commands: KafkaCommands, newer_link: Link, used: str) -> None:
    """The same changes by each tool give the same offsets of the group, after each change. The test restores the first
    offsets between the two tools.
    """
    seen: dict[str, list[Any]] = {"Kafka": [], "kac": []}
    for side, steps in seen.items():
        for kind, line in NEWER_CHANGES:
            words = shlex.split(line.format(n=used))
            group = words[words.index("--group") + 1]
            if side == "Kafka":
                tool = SHARE_GROUPS if kind == "share" else STREAMS_GROUPS
                ran = await asyncio.to_thread(kafka_tool_comparison.theirs_run, plain_cluster, commands, tool, words)
            else:
                ran = await asyncio.to_thread(
                    kafka_tool_comparison.kac, plain_cluster, f"{kind}-groups", [*words, *MEANT]
                )
            offsets = (await group_position(newer_link, group)).committed
            steps.append((ran.code, {place: at.offset for place, at in offsets.items()}))
        if side == "Kafka":
            again = {GroupOffsetTarget(f"{used}-idle", f"{used}-e", 0): 0}
            assert await applied(newer_link, AlterShareGroupOffsets(f"{used}-idle", again))
    assert [step[1].get((used, 0)) for step in seen["Kafka"]] == [7, 0, 0, 5, 2]
    assert seen["Kafka"] == seen["kac"]
    for kind, group in (("share", f"{used}-idle"), ("streams", f"{used}-rest")):
        ran = await asyncio.to_thread(
            kafka_tool_comparison.kac, plain_cluster, f"{kind}-groups", ["--delete", "--group", group, "--yes"]
        )
        assert ran.code == 0, ran
    assert not {f"{used}-idle", f"{used}-rest"} & (await list_groups(newer_link)).groups.keys()
