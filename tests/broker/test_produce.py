"""Records that kac writes to real brokers, and records that real brokers do not take."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from console.admin.connections import ConnectionSettings, SaslSettings
from console.admin.link import Link
from console.admin.topics import describe_topics
from console.model.acl import Acl
from console.model.changes import (
    AlterQuotas,
    CreateAcls,
    CreateTopics,
    NewRecords,
    NewTopic,
    Outcome,
    ProduceRecords,
    Status,
)
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.new_records import NewRecord
from console.model.partitioners import java_partition
from console.model.quota import QuotaEntity
from console.model.secret import Contents, Secret
from tests.support import dead_letters, worlds
from tests.support.changing import applied, make_topic, outcomes
from tests.support.compiled_java import with_ours
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_4_3, java
from tests.support.patience import PATIENCE
from tests.support.real_clusters import or_skip

# -- Records that kac writes to real brokers: Java and librdkafka read them, and an exported topic comes out equal -----

HERE = Path(__file__).parent
TIME = 1_790_000_000_000
PLACES = 3
kac = worlds.commands("plain_cluster")


class Seen(NamedTuple):
    """A record as a client reads it."""

    partition: int
    offset: int
    time: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def with_java(*words: str, lines: list[str] | None = None) -> list[str]:
    """What our program in Java prints. lines: its input."""
    with or_skip():
        program = with_ours(HERE / "JavaRecords.java", KAFKA_4_3)
    command = [java(), "-Xmx256m", "-XX:TieredStopAtLevel=1", *program, *words]
    text = "".join(f"{line}\n" for line in lines or [])
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def encoded(data: bytes | None) -> str:
    return "-" if data is None else f".{base64.b64encode(data).decode()}"


def decoded(text: str) -> bytes | None:
    return None if text == "-" else base64.b64decode(text[1:])


def read_by_java(cluster: KafkaCluster, topic: str) -> list[Seen]:
    """All records of a topic, by Java's consumer."""
    found = []
    for line in with_java("read", cluster.bootstrap, topic):
        partition, offset, time, key, value, *headers = line.split(" ")
        pairs = tuple(
            ((decoded(name) or b"").decode(), decoded(data)) for name, data in (each.split(":") for each in headers)
        )
        found.append(Seen(int(partition), int(offset), int(time), decoded(key), decoded(value), pairs))
    return sorted(found)


def read_by_librdkafka(cluster: KafkaCluster, topic: str) -> list[Seen]:
    """The same, by librdkafka's consumer."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "kac-test", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PLACES)])
    found, ended = [], 0
    while ended < PLACES:
        message = consumer.poll(PATIENCE)
        assert message is not None
        if message.error() is not None:
            ended += 1
            continue
        headers = tuple((name, data) for name, data in message.headers() or ())
        where = message.partition(), message.offset(), message.timestamp()[1]
        found.append(Seen(*where, message.key(), message.value(), headers))
    consumer.close()
    return sorted(found)


def make(cluster: KafkaCluster, name: str, **configs: str) -> None:
    async def made() -> None:
        async with worlds.linked(worlds.settings(cluster)) as link:
            await make_topic(link, name, partitions=PLACES, **configs)

    asyncio.run(made())


def test_partitions_are_those_of_java() -> None:
    some = random.Random(7)
    keys = [some.randbytes(some.randrange(0, 40)) for _ in range(10_000)]
    lines = [base64.b64encode(key).decode() for key in keys]
    assert [int(each) for each in with_java("partitions", "37", lines=lines)] == [java_partition(k, 37) for k in keys]


def member(name: str, data: bytes | None) -> dict[str, Any]:
    return {name: None} if data is None else {f"{name}_base64": base64.b64encode(data).decode()}


SENT = (
    (b"order-1", b'{"state": "paid"}', (("trace", b"t-9"), ("empty", b""), ("null", None), ("trace", b"\xff"))),
    (b"order-2", b"", ()),
    (b"order-2", None, (("\u00e9", "\u00e9".encode()),)),
    (b"", b"empty key", ()),
    (None, b"\x00\xff no key", ()),
    (b"\xfe\x00", bytes(range(256)) * 40, ()),
)


def test_java_and_librdkafka_read_what_kac_writes_and_the_other_way(
    kac: worlds.Kac, plain_cluster: KafkaCluster, name: str, tmp_path: Path
) -> None:
    make(plain_cluster, name)
    file = tmp_path / "records.jsonl"
    lines = [
        {
            **member("key", key),
            **member("value", value),
            "timestamp": TIME + place,
            "headers": [{"name": each, **member("value", data)} for each, data in headers],
        }
        for place, (key, value, headers) in enumerate(SENT)
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    ran = kac("produce", name, "--file", str(file), "--yes", "--accept", "null-not-compacted", "--output", "json")
    assert ran.code == 0, ran.complaints
    by_java = read_by_java(plain_cluster, name)
    assert by_java == read_by_librdkafka(plain_cluster, name)
    assert sorted(map(str, (each[2:] for each in by_java))) == sorted(
        str((TIME + place, key, value, headers)) for place, (key, value, headers) in enumerate(SENT)
    )
    assert all(each.partition == java_partition(each.key, PLACES) for each in by_java if each.key is not None)
    told = json.loads(ran.out.splitlines()[-1])["records"]
    offsets = {(each["partition"], record["offset"]) for each in told for record in each["records"]}
    assert offsets == {(each.partition, each.offset) for each in by_java}

    # The other way: what Java and librdkafka write is copied as it is.
    make(plain_cluster, f"{name}-java")
    with_java(
        "write", plain_cluster.bootstrap, f"{name}-java", lines=[f"{encoded(k)} {encoded(v)}" for k, v, _ in SENT if k]
    )
    producer = Producer({"bootstrap.servers": plain_cluster.bootstrap, "compression.type": "lz4"})
    producer.produce(f"{name}-java", b"by librdkafka", b"key", 1, headers=[("a", b"b")])
    assert not producer.flush(PATIENCE)
    make(plain_cluster, f"{name}-copy")
    copy = f"copy records {name}-java to topic {name}-copy; apply --yes --accept null-not-compacted"
    assert kac("run", "-e", copy).code == 0
    there, copied = (read_by_java(plain_cluster, f"{name}-{each}") for each in ("java", "copy"))
    assert sorted(str(each[2:]) for each in there) == sorted(str(each[2:]) for each in copied)


def test_an_exported_topic_is_written_again_equal_to_the_byte(
    kac: worlds.Kac, plain_cluster: KafkaCluster, name: str, tmp_path: Path
) -> None:
    make(plain_cluster, name)
    some = random.Random(3)
    producer = Producer({"bootstrap.servers": plain_cluster.bootstrap, "compression.type": "zstd"})
    for place in range(2_500):
        key = some.choice([None, b"", b"k-%d" % some.randrange(50), some.randbytes(5)])
        value = some.choice([None, b"", '{"\u00e9": "\x1b[2J"}'.encode(), some.randbytes(some.randrange(300))])
        headers = [("h\u00e9", some.choice([None, b"", some.randbytes(4)]))] * some.randrange(3)
        producer.produce(name, value, key, some.randrange(PLACES), timestamp=TIME + place, headers=headers)
    assert not producer.flush(PATIENCE)
    file = tmp_path / "records.jsonl"
    assert kac("records", name, "--limit", "0", "--output", "jsonl", "--out", str(file)).code == 0
    make(plain_cluster, f"{name}-again")
    accept = "writes-many=2500,null-not-compacted"
    ran = kac("produce", f"{name}-again", "--file", str(file), "--yes", "--accept", accept)
    assert ran.code == 0, ran.complaints
    assert read_by_librdkafka(plain_cluster, f"{name}-again") == read_by_librdkafka(plain_cluster, name)


@pytest.mark.parametrize("release", ["plain_cluster", "kafka39"])
def test_what_brokers_refuse_is_said_by_record(release: str, request: pytest.FixtureRequest, name: str) -> None:
    cluster: KafkaCluster = request.getfixturevalue(release)
    make(cluster, name, max_message_bytes="2000", min_insync_replicas="1")
    big = "x" * 1_990  # the record fits, its batch does not
    text = f"produce topic {name} key a partition 0 value {big}; produce topic {name} key a partition 0 value small"
    out, code = asyncio.run(worlds.script(cluster, f"{text}; apply --yes"))
    assert code == 1
    assert "MESSAGE_TOO_LARGE" in out, out
    assert "not applied" in out  # what follows in the partition is not sent
    out, code = asyncio.run(worlds.script(cluster, f"produce topic {name} key a partition 0 value small; apply --yes"))
    assert code == 0, out
    assert [each.value for each in read_by_librdkafka(cluster, name)] == [b"small"]


# -- Records that real brokers do not take -----------------------------------------------------------------------------

SOON: dict[str, Any] = {"request_timeout": 5.0, "lost_answer_timeout": 0.5}
BROKERS = {"right": (1,), "large": (1,), "quota": (1,), "few": (1, 2), "down": (2,), "silent": (1, 3), "ok": (1,)}
CONFIGS = {"large": {"max.message.bytes": "2000"}, "few": {"min.insync.replicas": "2"}}


async def made(link: Link, name: str) -> None:
    """The topics of a test, each on its brokers."""
    topics = [
        NewTopic(f"{name}-{what}", assignments=(brokers,), configs=CONFIGS.get(what, {}))
        for what, brokers in BROKERS.items()
    ]
    assert await applied(link, CreateTopics(tuple(topics)))


def batch(*values: bytes) -> Contents:
    return Contents([NewRecord(b"k", value) for value in values])


async def written(link: Link, name: str, some: dict[str, Contents]) -> dict[str, Outcome]:
    """What becomes of a batch for each of these topics, in one request."""
    targets = {what: NewRecords(f"{name}-{what}", 0) for what in some}
    found = await outcomes(link, ProduceRecords({targets[what]: each for what, each in some.items()}))
    return {what: found[target] for what, target in targets.items()}


async def missed(link: Link, topic: str) -> None:
    """Wait until the leader alone is in sync."""
    async with asyncio.timeout(PATIENCE):
        while len((await describe_topics(link, [topic])).topics[topic].partitions[0].isr) > 1:
            pass


def why(outcome: Outcome) -> str:
    assert outcome.failure is not None
    return str(outcome.failure)


@pytest.mark.takes(45)
@pytest.mark.slow
async def test_each_record_has_its_outcome_and_none_is_there_twice(own_cluster: KafkaCluster, name: str) -> None:
    sasl = SaslSettings("PLAIN", "alice", Secret(own_cluster.users["alice"]))
    login = ConnectionSettings(own_cluster.login_addresses, "SASL_PLAINTEXT", sasl, **SOON)
    async with worlds.linked(worlds.settings(own_cluster, **SOON)) as link, worlds.linked(login) as alice:
        await made(link, name)
        # With an ACL of another user, it needs one. Describing it is alice's right: kac names the one that is missing.
        rights = [("User:somebody", "WRITE"), ("User:alice", "DESCRIBE")]
        acls = [
            Acl(
                AclResourceType.parse("TOPIC"),
                f"{name}-right",
                PatternType.parse("LITERAL"),
                who,
                "*",
                AclOperation.parse(what),
                Permission.parse("ALLOW"),
            )
            for who, what in rights
        ]
        assert await applied(link, CreateAcls(tuple(acls)))
        assert await applied(link, AlterQuotas({QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 5_000.0}}))
        some = {"right": batch(b"1"), "large": batch(b"x" * 3_000), "ok": batch(b"1"), "quota": batch(b"q" * 9_000)}
        found = await written(alice, name, some)
        assert {what: each.status for what, each in found.items()} == {
            "right": Status.FAILED,
            "large": Status.FAILED,
            "ok": Status.APPLIED,
            "quota": Status.APPLIED,
        }
        assert f"WRITE on topic {name}-right" in why(found["right"])
        assert "max.message.bytes" in why(found["large"])
        # It is above its quota now: what follows waits, and is there once.
        assert (await written(alice, name, {"quota": batch(b"q" * 9_000)}))["quota"].status is Status.APPLIED

        # Its leader takes the batch, and the follower in sync does not answer.
        silent = {"silent": batch(b"1")}
        with own_cluster.hanging(3):
            lost = (await written(link, name, silent))["silent"]
        assert lost.status is Status.UNKNOWN
        assert lost.failure is not None
        assert "apply it again" in lost.failure.remedy
        assert (await written(link, name, silent))["silent"].status is Status.APPLIED

        own_cluster.kill(2)
        await missed(link, f"{name}-few")  # before that a leader takes a batch, and does not know what becomes of it
        down = await written(link, name, {"few": batch(b"1"), "down": batch(b"1"), "ok": batch(b"2")})
        assert {what: each.status for what, each in down.items()} == {
            "few": Status.FAILED,
            "down": Status.FAILED,
            "ok": Status.APPLIED,
        }
        assert "fewer replicas in sync" in why(down["few"])
        assert f"{name}-down-0 has no leader: its replicas are on broker 2" in why(down["down"])

        await asyncio.to_thread(own_cluster.restart, 2)
        again = await written(link, name, {"few": batch(b"2"), "down": batch(b"2")})
        assert {each.status for each in again.values()} == {Status.APPLIED}
        there = {what: await dead_letters.counted(link, f"{name}-{what}") for what in BROKERS}
    assert there == {
        "right": Counter(),
        "large": Counter(),
        "quota": Counter({b"q" * 9_000: 2}),
        "ok": Counter([b"1", b"2"]),
        "few": Counter([b"2"]),
        "down": Counter([b"2"]),
        "silent": Counter([b"1"]),
    }
