"""Records that kac writes to real brokers: Java and librdkafka read them, and an exported topic comes out equal."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from console.model.partitioners import java_partition
from tests.support import worlds
from tests.support.changing import make_topic
from tests.support.compiled_java import with_ours
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_4_3, java
from tests.support.patience import PATIENCE
from tests.support.real_clusters import or_skip

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
