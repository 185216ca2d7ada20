"""`kac topics`, `transactions`, `features` and `brokers` with --output kafka against Kafka's own tools of 4.3, on real
brokers, 4.3 and 3.9: lines are equal byte for byte, rows in any order. What differs on purpose is in
docs/kafka-tools.md."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.changes import send
from console.admin.features import describe_features
from console.admin.link import Link, until_settled
from console.admin.partitions import list_reassignments, log_ranges
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.model.changes import AlterConfigs, AlterReassignments, ConfigOp, CreateTopics, MoveTarget, NewTopic
from console.model.cluster import TopicListing
from console.model.codes import BROKER, DELETE, SET
from console.model.config import ConfigResource
from tests.support.changing import applied, make_topic
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import (
    CLUSTER,
    DELETE_RECORDS,
    ELECTION,
    FEATURES,
    TRANSACTIONS,
    KafkaCommands,
)
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.kafka_tool_comparison import Said, compare, kac, ours_said, theirs_run, theirs_said
from tests.support.real_clusters import running
from tests.support.transactional_client import TransactionalClient

pytestmark = pytest.mark.slow

LONG_AGO_MS = 20 * 60 * 1000


@pytest.fixture(scope="module")
def commands() -> Iterator[KafkaCommands]:
    """Kafka's own tools of 4.3, in one process."""
    yield from running(KafkaCommands)


# -- features and the cluster ------------------------------------------------------------------------------------------

FEATURE_LINES = (
    "describe",
    "describe --node-id 1",
    "version-mapping --release-version 4.3",
    "version-mapping --release-version 4.0",
    "version-mapping --release-version 4.1.1",
    "version-mapping --release-version 4.2-IV0",
    "version-mapping --release-version 3.3-IV3",
    "version-mapping --release-version 3.9.0",
    "feature-dependencies --feature transaction.version=2 --feature metadata.version=17 --feature share.version=0",
    "feature-dependencies --feature eligible.leader.replicas.version=1",
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


def less_epoch(line: str) -> str:
    """The epoch of features is the end of the metadata log, which grows."""
    return re.sub(r"Epoch: \d+", "Epoch: N", line)


def test_features(kafka: KafkaCluster, commands: KafkaCommands) -> None:
    compare(kafka, commands, FEATURES, "features", FEATURE_LINES, less_epoch)


CHANGES = (
    "upgrade --feature streams.version=1",
    "downgrade --feature streams.version=0 --dry-run",
    "downgrade --feature streams.version=0",
    "upgrade --feature streams.version=1 --dry-run",
    "upgrade --feature streams.version=1",
    "disable --feature streams.version",
    "upgrade --feature streams.version=1 --feature group.version=1",
)


async def test_levels(plain_cluster: KafkaCluster, commands: KafkaCommands) -> None:
    """Each as both, the levels are the same after each."""
    link = Link(ConnectionSettings(bootstrap=plain_cluster.addresses))
    seen: list[list[tuple[Said, int, int]]] = []
    try:
        for side in ("Kafka", "kac"):
            steps = []
            for line in CHANGES:
                words = shlex.split(line)
                if side == "Kafka":
                    ran = theirs_run(plain_cluster, commands, FEATURES, words)
                    said = theirs_said(ran)
                else:
                    ran = await asyncio.to_thread(kac, plain_cluster, "features", words)
                    said = ours_said(ran)
                level = (await describe_features(link)).finalized.get("streams.version", 0)
                steps.append((said, ran.code, level))
            seen.append(steps)
    finally:
        await link.close()
    assert [step[2] for step in seen[0]] == [1, 1, 0, 0, 1, 0, 1]
    assert seen[0] == seen[1]


def test_cluster(kafka: KafkaCluster, commands: KafkaCommands) -> None:
    lines = ["cluster-id", "list-endpoints", "unregister --id 77"]
    if not kafka.version.startswith("3."):
        lines.append("list-endpoints --include-fenced-brokers")
    compare(kafka, commands, CLUSTER, "brokers", lines)


# -- transactions ------------------------------------------------------------------------------------------------------

TRANSACTION_LINES = (
    "list",
    "list --duration-filter 100000000",
    "describe --transactional-id {n}-open",
    "describe --transactional-id {n}-done",
    "describe --transactional-id {n}-no",
    "describe-producers --topic {n} --partition 0",
    "describe-producers --topic {n} --partition 1",
    *(f"describe-producers --topic {{n}} --partition {number} --broker-id 1" for number in range(3)),
    "find-hanging --topic {n}",
    "find-hanging --topic {n} --max-transaction-timeout 5",
    "find-hanging --topic {n} --max-transaction-timeout 30",
    "find-hanging --topic {n} --partition 1",
    "find-hanging --topic {n} --partition 0",
    "find-hanging --broker-id 1",
    "find-hanging",
    "find-hanging --partition 0 --broker-id 1",
    "abort --topic {n} --partition 0",
    "abort --topic {n} --partition 0 --producer-id 3",
    "abort --topic {n} --partition 0 --producer-id 3 --producer-epoch 1",
    "abort --topic {n} --partition 1 --start-offset 999",
)


@pytest.fixture
async def unverified(link: Link) -> AsyncIterator[None]:
    """Leaders take transactional records that no coordinator knows of."""
    everyone, key = ConfigResource(BROKER, ""), "transaction.partition.verification.enable"
    await send(link, AlterConfigs({everyone: (ConfigOp(key, SET, "false"),)}), validate_only=False)
    yield
    await send(link, AlterConfigs({everyone: (ConfigOp(key, DELETE),)}), validate_only=False)


def less_time(line: str) -> str:
    """How long a transaction has run, in the row of describe."""
    return re.sub(r"(\t\d+ *\t\d{13} *\t)\d+ *(?=\t[^\t]*\t$)", r"\1", line)


async def test_transactions(
    kafka: KafkaCluster, commands: KafkaCommands, link: Link, name: str, unverified: None
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
        lines = [line.format(n=name) for line in TRANSACTION_LINES]
        await asyncio.to_thread(compare, kafka, commands, TRANSACTIONS, "transactions", lines, less_time)
        hanging = ["find-hanging", "--topic", name]
        assert len((await asyncio.to_thread(kac, kafka, "transactions", hanging)).out.splitlines()) == 3
        abort = ["abort", "--topic", name]
        ended = [*abort, "--partition", "1", "--start-offset", str(starts[1])]
        theirs = await asyncio.to_thread(theirs_run, kafka, commands, TRANSACTIONS, ended)
        ended = [*abort, "--partition", "2", "--start-offset", str(starts[2])]
        refused = await asyncio.to_thread(kac, kafka, "transactions", ended)
        assert refused.code
        assert f"transaction-aborted={name}/2" in refused.err
        ours = await asyncio.to_thread(
            kac, kafka, "transactions", [*ended, "--accept", f"transaction-aborted={name}/2"]
        )
        assert (theirs.code, theirs.out) == (ours.code, ours.out) == (0, ""), ours
        await asyncio.to_thread(compare, kafka, commands, TRANSACTIONS, "transactions", [shlex.join(hanging)])
        assert len((await asyncio.to_thread(kac, kafka, "transactions", hanging)).out.splitlines()) == 1
        open_.end()


# -- leaders -----------------------------------------------------------------------------------------------------------

ELECTIONS = (
    "--election-type preferred --topic {n}-no --partition 0",
    "--election-type PREFERRED --topic {n} --partition 9",
    "--election-type unclean --topic {n} --partition 0",
    "--election-type preferred --topic {n} --partition 0",
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


def less_order(line: str) -> str:
    """A list of partitions, sorted."""
    head, found, names = line.partition(" for partitions ")
    return head + found + ", ".join(sorted(names.split(", ")))


async def test_elections(kafka: KafkaCluster, commands: KafkaCommands, link: Link, name: str, folder: Path) -> None:
    await make_topic(link, name)
    lines = [line.format(n=name, f=folder) for line in ELECTIONS]
    await asyncio.to_thread(compare, kafka, commands, ELECTION, "topics", lines, less_order)


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


async def test_leaders_go_back(several: KafkaCluster, commands: KafkaCommands, name: str, tmp_path: Path) -> None:
    """Broker 1 leads all partitions of which broker 2 is the preferred one, until each side elects."""
    link = Link(ConnectionSettings(bootstrap=several.addresses))
    try:
        topics = (f"{name}-a", f"{name}-b")
        new = tuple(NewTopic(topic, assignments=((1, 2), (1, 2), (1, 2))) for topic in topics)
        assert await applied(link, CreateTopics(new))
        moves = {MoveTarget(topic, number): (2, 1) for topic in topics for number in range(3)}
        await send(link, AlterReassignments(moves), validate_only=False)
        await until_settled(lambda: list_reassignments(link), bool, within=30)
        said = []
        for topic in topics:
            file = tmp_path / f"{topic}.json"
            file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": number} for number in (1, 2)]}))
            for words in (
                ["--election-type", "preferred", "--topic", topic, "--partition", "0"],
                ["--election-type", "preferred", "--path-to-json-file", str(file)],
                ["--election-type", "preferred", "--path-to-json-file", str(file)],
            ):
                if topic == topics[0]:
                    found = theirs_said(await asyncio.to_thread(theirs_run, several, commands, ELECTION, words))
                else:
                    found = ours_said(await asyncio.to_thread(kac, several, "topics", words))
                said.append([[less_order(line).replace(topic, "TOPIC") for line in some] for some in found])
            # The controller has elected; another broker may learn it later.
            seen = partial(describe_topics, link, [topic])
            listing = await until_settled(seen, partial(leads_not_all, topic, 2), within=30)
            assert not leads_not_all(topic, 2, listing)
        assert said[:3] == said[3:]
        assert "Successfully completed leader election (PREFERRED)" in said[0][0][0]
    finally:
        await link.close()


@pytest.fixture(params=[KAFKA_4_3, KAFKA_3_9])
def stoppable(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Three brokers, of which two can be stopped: the first is the only controller."""
    version: str = request.param
    properties = {"auto.leader.rebalance.enable": "false", "min.insync.replicas": "1"}
    yield from running(lambda: KafkaCluster(version, brokers=3, controllers=1, properties=properties))


@pytest.mark.long
async def test_unclean_elections(stoppable: KafkaCluster, commands: KafkaCommands, name: str) -> None:
    """The last replica in the ISR is down, another is up: each side elects it, and kac wants to be told so."""
    link = Link(ConnectionSettings(bootstrap=stoppable.addresses[:1]))
    topics = (f"{name}-a", f"{name}-b")
    try:
        assert await applied(link, CreateTopics(tuple(NewTopic(each, assignments=((2, 3),)) for each in topics)))
        stoppable.stop(3)
        producer = AIOKafkaProducer(bootstrap_servers=stoppable.bootstrap, acks=1)
        await producer.start()
        for topic in topics:
            await producer.send_and_wait(topic, b"lost", partition=0)
        await producer.stop()
        stoppable.stop(2)
        stoppable.restart(3)
        words = [["--election-type", "unclean", "--topic", topic, "--partition", "0"] for topic in topics]
        theirs = await asyncio.to_thread(theirs_run, stoppable, commands, ELECTION, words[0])
        refused = await asyncio.to_thread(kac, stoppable, "topics", words[1])
        assert refused.code
        assert f"--accept unclean-loss={topics[1]}/0" in refused.err
        accept = ["--accept", f"unclean-loss={topics[1]}/0"]
        ours = await asyncio.to_thread(kac, stoppable, "topics", [*words[1], *accept])
        assert theirs.out.replace(topics[0], "TOPIC") == ours.out.replace(topics[1], "TOPIC"), ours.err
        assert theirs.out == f"Successfully completed leader election (UNCLEAN) for partitions {topics[0]}-0\n"
        for topic in topics:
            listing = await until_settled(
                partial(describe_topics, link, [topic]), partial(leads_not_all, topic, 3), within=30
            )
            assert not leads_not_all(topic, 3, listing)
    finally:
        await link.close()


@pytest.mark.long
async def test_a_broker_is_unregistered(stoppable: KafkaCluster, commands: KafkaCommands) -> None:
    """One by each side; kac refuses one that is alive."""
    words = ["unregister", "--id"]
    alive = await asyncio.to_thread(kac, stoppable, "brokers", [*words, "2"])
    assert alive.code
    assert "broker 2 is alive" in alive.err
    for number in (2, 3):
        stoppable.stop(number)
    stoppable.await_brokers([1])
    theirs = await asyncio.to_thread(theirs_run, stoppable, commands, CLUSTER, [*words, "2"])
    ours = await asyncio.to_thread(kac, stoppable, "brokers", [*words, "3"])
    assert (theirs.code, ours.code) == (0, 0), ours.err
    assert theirs.out == "Broker 2 is no longer registered.\n"
    assert ours.out == "Broker 3 is no longer registered.\n", ours.err


# -- records -----------------------------------------------------------------------------------------------------------


async def test_records(kafka: KafkaCluster, commands: KafkaCommands, link: Link, name: str, tmp_path: Path) -> None:
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

    said, left = [], []
    for topic in topics:
        files = [
            file(topic, 0, {0: 3, 1: -1, 2: 0}, version=1),
            file(topic, 1, {0: 2, 2: 6}),
            file(topic, 2, {0: 4}, version=2),
            str(tmp_path / "no.json"),
        ]
        for path in files:
            words = ["--offset-json-file", path]
            if topic == topics[0]:
                found = theirs_said(await asyncio.to_thread(theirs_run, kafka, commands, DELETE_RECORDS, words))
            else:
                accept = ["--accept", f"records-deleted={topic}"]
                found = ours_said(await asyncio.to_thread(kac, kafka, "topics", [*words, *accept]))
            said.append([[line.replace(topic, "TOPIC") for line in some] for some in found])
            ranges, _ = await log_ranges(link, [(topic, number) for number in range(3)])
            left.append(list(ranges.values()))
    for theirs, ours in zip(said[:4], said[4:], strict=True):
        assert theirs == ours
    assert left[:4] == left[4:]
    assert [each.start for each in left[0]] == [3, 5, 0]
