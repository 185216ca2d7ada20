"""`kac topics`, `transactions`, `features` and `brokers` and Kafka's own tools of 4.3 on real brokers, 4.3 and 3.9:
both say the same of a cluster, and leave the same behind. What differs on purpose is in docs/kafka-tools.md."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.changes import send
from console.admin.cluster import describe_cluster
from console.admin.features import describe_features
from console.admin.link import Link, until_settled
from console.admin.partitions import list_reassignments, log_ranges
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.model import changes
from console.model.cluster import TopicListing
from console.model.codes import BROKER, DELETE, SET
from console.model.config import ConfigResource
from console.model.feature_levels import METADATA_VERSION, level_name
from tests.support import kafka_commands, worlds
from tests.support.changing import applied, make_topic
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.kafka_tool_comparison import counted, kac, kac_data, picked, rows, tabbed, theirs_run
from tests.support.real_clusters import lent, running
from tests.support.transactional_client import TransactionalClient

pytestmark = pytest.mark.slow

LONG_AGO_MS = 20 * 60 * 1000


commands = lent(kafka_commands.KafkaCommands)
"""Kafka's own tools of 4.3, in one process."""


# -- features and the cluster ------------------------------------------------------------------------------------------

_DESCRIBED = re.compile(
    r"Feature: (\S+)\s+SupportedMinVersion: ((?:UNKNOWN )?\S+)\s+SupportedMaxVersion: ((?:UNKNOWN )?\S+)\s+"
    r"FinalizedVersionLevel: ((?:UNKNOWN )?\S+)"
)


def level(row: dict[str, Any], name: str) -> str:
    """A level as Kafka's tool shows it: metadata.version by its release, as far as Kafka 4 supports it."""
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
    """Neither does it, and both say so by their exit codes."""
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
    """Each as both, the levels are the same after each."""
    async with worlds.linked(ConnectionSettings(bootstrap=plain_cluster.addresses)) as link:
        seen: list[list[tuple[int, int]]] = []
        for side in ("Kafka", "kac"):
            steps = []
            for line in CHANGES:
                words = shlex.split(line)
                if side == "Kafka":
                    ran = theirs_run(plain_cluster, commands, kafka_commands.FEATURES, words)
                else:
                    ran = await asyncio.to_thread(kac, plain_cluster, "features", words)
                steps.append((ran.code, (await describe_features(link)).finalized.get("streams.version", 0)))
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
    """What coordinators and leaders know, by both."""

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
    """The partitions in which kac says that a transaction hangs."""
    found = kac_data(kafka, "transactions", ["find-hanging", "--topic", topic])["transactions"]
    return {(row["topic"], row["partition"]) for row in found if row["verdict"] == "hangs"}


@pytest.fixture
async def unverified(link: Link) -> AsyncIterator[None]:
    """Leaders take transactional records that no coordinator knows of."""
    everyone, key = ConfigResource(BROKER, ""), "transaction.partition.verification.enable"
    await send(link, changes.AlterConfigs({everyone: (changes.ConfigOp(key, SET, "false"),)}), validate_only=False)
    yield
    await send(link, changes.AlterConfigs({everyone: (changes.ConfigOp(key, DELETE),)}), validate_only=False)


async def test_transactions(
    kafka: KafkaCluster, commands: kafka_commands.KafkaCommands, link: Link, name: str, unverified: None
) -> None:
    """A healthy transaction in partition 0, and hanging ones in 1 and 2: of these each side ends one."""
    await make_topic(link, name, partitions=3, retention_ms="-1")
    brokers = dict(zip(kafka.broker_ids, kafka.addresses, strict=True))
    at = time.time_ns() // 1_000_000 - LONG_AGO_MS
    with (
        TransactionalClient(brokers, f"{name}-open") as open_,
        TransactionalClient(brokers, f"{name}-done") as done,
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
"""Type -> how kac ends where a leader leads, and what it says; Kafka's tool says in both cases that one is elected."""


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    """Files of partitions."""
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
    """A cluster of several brokers."""
    if request.param == "plain_cluster":
        yield request.getfixturevalue(request.param)
    else:
        yield from running(lambda: KafkaCluster(KAFKA_3_9, brokers=2))


def leads_not_all(topic: str, broker_id: int, listing: TopicListing) -> bool:
    """Whether another broker leads a partition."""
    return any(each.leader != broker_id for each in listing.topics[topic].partitions)


async def test_leaders_go_back(
    several: KafkaCluster, commands: kafka_commands.KafkaCommands, name: str, tmp_path: Path
) -> None:
    """Broker 1 leads all partitions of which broker 2 is the preferred one, until each side elects."""
    async with worlds.linked(ConnectionSettings(bootstrap=several.addresses)) as link:
        topics = (f"{name}-a", f"{name}-b")
        new = tuple(changes.NewTopic(topic, assignments=((1, 2), (1, 2), (1, 2))) for topic in topics)
        assert await applied(link, changes.CreateTopics(new))
        moves = {changes.MoveTarget(topic, number): (2, 1) for topic in topics for number in range(3)}
        await send(link, changes.AlterReassignments(moves), validate_only=False)
        await until_settled(lambda: list_reassignments(link), bool, within=30)
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
            # The controller has elected; another broker may learn it later.
            seen = partial(describe_topics, link, [topic])
            listing = await until_settled(seen, partial(leads_not_all, topic, 2), within=30)
            assert not leads_not_all(topic, 2, listing)


@pytest.fixture(params=[KAFKA_4_3, KAFKA_3_9])
def stoppable(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Three brokers, of which two can be stopped: the first is the only controller."""
    version: str = request.param
    properties = {"auto.leader.rebalance.enable": "false", "min.insync.replicas": "1"}
    yield from running(lambda: KafkaCluster(version, brokers=3, controllers=1, properties=properties))


@pytest.mark.long
async def test_unclean_elections(stoppable: KafkaCluster, commands: kafka_commands.KafkaCommands, name: str) -> None:
    """The last replica in the ISR is down, another is up: each side elects it, and kac wants to be told so."""
    async with worlds.linked(ConnectionSettings(bootstrap=stoppable.addresses[:1])) as link:
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
            listing = await until_settled(
                partial(describe_topics, link, [topic]), partial(leads_not_all, topic, 3), within=30
            )
            assert not leads_not_all(topic, 3, listing)


@pytest.mark.long
async def test_a_broker_is_unregistered(stoppable: KafkaCluster, commands: kafka_commands.KafkaCommands) -> None:
    """One by each side; kac refuses one that is alive."""
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
    async with worlds.linked(ConnectionSettings(bootstrap=stoppable.addresses[:1])) as link:
        assert [each.id for each in (await describe_cluster(link)).brokers] == [1]


# -- records -----------------------------------------------------------------------------------------------------------


async def test_records(
    kafka: KafkaCluster, commands: kafka_commands.KafkaCommands, link: Link, name: str, tmp_path: Path
) -> None:
    """Each side deletes in a topic of its own: the same is printed, and the same records are left."""
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
