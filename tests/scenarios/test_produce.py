"""Tests of the records that kac writes, on embedded clusters and on real brokers: kac writes each record exactly once,
also if a request or its answer is lost.
"""

import asyncio
import base64
import json
import os
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kio.schema.errors import ErrorCode

from console.admin.connections import ConnectionSettings, SaslSettings
from console.admin.link import Link
from console.admin.protobuf_compiler import compiled
from console.admin.topics import describe_topics
from console.cli.mcp.proposing import edits_of
from console.contexts.context import HIDDEN, NEVER
from console.embedded import faults
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.record_batch import Batch
from console.embedded.spec import ClusterSpec
from console.language.errors import CommandError
from console.log_file import state_directory
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
from console.model.config import topic_resource
from console.model.new_records import NewRecord
from console.model.partitioners import java_partition
from console.model.quota import QuotaEntity
from console.model.record_masks import mask_path
from console.model.schemas import SchemaText
from console.model.secret import Contents, Secret
from console.wire.record_batches import batches, records
from tests.support import compiled_java, dead_letters, kafka_jars, patience, real_clusters, registry_server, worlds
from tests.support.changing import applied, make_topic, outcomes
from tests.support.kafka_cluster import KafkaCluster

RECORDS = Contents([NewRecord(b"a", b"1"), NewRecord(b"b", None, ((b"h", b"x"),), timestamp=7)])
HERE = NewRecords("orders", 0)
LOST, NEVER_CAME = faults.Cut(faults.Moment.AFTER), faults.Cut(faults.Moment.BEFORE)
SETTINGS: dict[str, Any] = {"request_timeout": 3.0, "lost_answer_timeout": 0.5}

cluster = worlds.cluster(
    ClusterSpec(brokers=3), worlds.topic("orders", [(1, 2), (2, 3)]), worlds.topic("single", [(1,)])
)
link = worlds.link("cluster", **SETTINGS)
kac = worlds.commands()


def log(cluster: ThreadedCluster, topic: str = "orders", number: int = 0) -> list[bytes | None]:
    """Return the values of a partition's records, in the order of their offsets."""

    def read(each: EmbeddedCluster) -> tuple[Batch, ...]:
        found = each.state.logs.get((topic, number))
        return found.batches if found is not None else ()

    kept: tuple[Batch, ...] = cluster.call(read)
    return [record.value for one in kept for batch in batches(one.data) for record in records(batch, topic, number)]


async def produced(link: Link, *contents: Contents, target: NewRecords = HERE) -> list[Outcome]:
    """Write batches to a partition one after another, and return the outcome of each."""
    return [(await outcomes(link, ProduceRecords({target: each})))[target] for each in contents]


def fault(cluster: ThreadedCluster, effect: faults.Effect, api: str = "produce", **more: Any) -> faults.Fault:
    made = faults.Fault(effect, api=api, **more)
    cluster.call(lambda each: each.faults.add(made))
    return made


async def test_batches_have_their_offsets_and_the_producers_numbers(cluster: ThreadedCluster, link: Link) -> None:
    found = await produced(link, RECORDS, RECORDS)
    assert [(each.status, each.offset) for each in found] == [(Status.APPLIED, 0), (Status.APPLIED, 2)]
    kept: tuple[Batch, ...] = cluster.call(lambda each: each.state.logs["orders", 0].batches)
    assert [(each.base_sequence, each.records) for each in kept] == [(0, 2), (2, 2)]
    (first, *_), (second, *_) = (list(records(one, "", 0)) for one in batches(b"".join(each.data for each in kept)))
    assert first.timestamp > 1_700_000_000_000
    assert second.headers == ()
    assert kept[0].producer_id == kept[1].producer_id >= 0


@pytest.mark.parametrize(
    "effect",
    [
        LOST,
        NEVER_CAME,
        faults.HalfFrame(),
        faults.Fail(ErrorCode.not_leader_or_follower),
        faults.Fail(ErrorCode.not_enough_replicas),
        faults.Fail(ErrorCode.not_enough_replicas_after_append),
        faults.Fail(ErrorCode.request_timed_out),
        faults.Fail(ErrorCode.duplicate_sequence_number),
    ],
)
async def test_one_bad_answer_and_the_batch_is_there_once(
    cluster: ThreadedCluster, link: Link, effect: faults.Effect
) -> None:
    fault(cluster, effect, times=1)
    (found,) = await produced(link, RECORDS)
    is_told = isinstance(effect, faults.Fail) and effect.code == ErrorCode.duplicate_sequence_number
    assert (found.status, found.offset) == (Status.APPLIED, None if is_told else 0)
    assert log(cluster) == ([] if is_told else [b"1", None])


async def test_no_id_yet_is_asked_for_again(cluster: ThreadedCluster, link: Link) -> None:
    fault(cluster, faults.Fail(ErrorCode.coordinator_load_in_progress), "init_producer_id", times=1)
    fault(cluster, LOST, "init_producer_id", nth=2)
    (found,) = await produced(link, RECORDS)
    assert (found.status, log(cluster)) == (Status.APPLIED, [b"1", None])


async def test_what_was_never_sent_is_not_in_doubt(cluster: ThreadedCluster, link: Link) -> None:
    fault(cluster, faults.Fail(ErrorCode.coordinator_load_in_progress), "init_producer_id")
    (found,) = await produced(link, RECORDS)
    assert (found.status, log(cluster)) == (Status.FAILED, [])


async def test_all_answers_lost_and_the_partition_shows_it(cluster: ThreadedCluster, link: Link) -> None:
    fault(cluster, LOST)
    (found,) = await produced(link, RECORDS)
    assert (found.status, found.offset) == (Status.APPLIED, 0)
    assert log(cluster) == [b"1", None]


async def test_an_unknown_outcome_is_resolved_by_applying_again(cluster: ThreadedCluster, link: Link) -> None:
    lost, blind = fault(cluster, LOST), fault(cluster, faults.Fail(ErrorCode.unknown_server_error), "fetch")
    (found,) = await produced(link, RECORDS)
    assert found.status is Status.UNKNOWN
    assert found.failure is not None
    assert "apply it again" in found.failure.remedy
    cluster.call(lambda each: (each.faults.remove(lost), each.faults.remove(blind)))
    # Other records have other sequence numbers, and do not wait for this outcome.
    (other,) = await produced(link, Contents([NewRecord(b"c", b"3")]))
    (again,) = await produced(link, RECORDS)
    assert [(each.status, each.offset) for each in (other, again)] == [(Status.APPLIED, 2), (Status.APPLIED, 0)]
    assert log(cluster) == [b"1", None, b"3"]


async def test_what_never_came_stays_unknown_and_is_written_once_when_applied_again(
    cluster: ThreadedCluster, link: Link
) -> None:
    gone = fault(cluster, NEVER_CAME)
    (found,) = await produced(link, RECORDS)
    assert (found.status, log(cluster)) == (Status.UNKNOWN, [])
    cluster.call(lambda each: each.faults.remove(gone))
    (again,) = await produced(link, RECORDS)
    assert (again.status, again.offset, log(cluster)) == (Status.APPLIED, 0, [b"1", None])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (ErrorCode.message_too_large, "max.message.bytes"),
        (ErrorCode.topic_authorization_failed, "WRITE on topic orders"),
        (ErrorCode.invalid_record, ""),
        (ErrorCode.out_of_order_sequence_number, ""),
    ],
)
async def test_a_refusal_is_final_and_leaves_no_gap(cluster: ThreadedCluster, link: Link, code: int, said: str) -> None:
    refused = fault(cluster, faults.Fail(code), times=1)
    first, second = await produced(link, RECORDS, Contents([NewRecord(b"c", b"3")]))
    assert cluster.call(lambda each: each.faults.happened(refused)) == 1
    assert first.status is Status.FAILED
    assert first.failure is not None
    assert said in first.failure.message
    assert (second.status, second.offset, log(cluster)) == (Status.APPLIED, 0, [b"3"])


async def test_not_enough_replicas_is_refused_after_the_time(cluster: ThreadedCluster, link: Link) -> None:
    cluster.call(lambda each: each.state.alter_config(topic_resource("orders"), {"min.insync.replicas": "2"}))
    cluster.run(lambda each: each.broker_down(2))
    (found,) = await produced(link, RECORDS)
    assert found.status is Status.FAILED
    assert found.failure is not None
    assert "fewer replicas in sync" in found.failure.message
    assert log(cluster) == []


async def test_a_leader_that_moves_gets_the_same_numbers(cluster: ThreadedCluster) -> None:
    async with worlds.linked(worlds.settings(cluster)) as link:
        assert await applied(link, ProduceRecords({HERE: RECORDS}))
        fault(cluster, faults.BrokerDown(1, seconds=1.0), times=1)
        (found,) = await produced(link, RECORDS)
    assert found.status is Status.APPLIED
    assert log(cluster) == [b"1", None] * 2


async def test_a_throttle_is_waited_for(cluster: ThreadedCluster, link: Link) -> None:
    fault(cluster, faults.Throttle(0.3), times=1)
    first, second = await produced(link, RECORDS, RECORDS)
    assert (first.status, second.status, second.offset) == (Status.APPLIED, Status.APPLIED, 2)


# -- statements and the command ----------------------------------------------------------------------------------------


async def run(cluster: ThreadedCluster, text: str, **changes: Any) -> tuple[str, int]:
    """Run a script of statements; return its output and its exit code. changes: fields of the context to replace."""
    return await worlds.script(cluster, text, **{"journal": False, **changes})


async def test_a_record_a_tombstone_and_a_copy(cluster: ThreadedCluster) -> None:
    text = """produce topic orders key a partition 1 header trace=t-9 value '{"x": 1}'
    produce topic orders key a value b
    tombstone topic orders key a partition 1
    plan"""
    out, code = await run(cluster, text)
    assert code == 3
    assert "3 records, 20 B, in partitions" in out
    assert "not in the partition of the key" in out  # by Java's partitioner the key `a` belongs to partition 0
    assert "null-not-compacted" in out
    assert (log(cluster), log(cluster, number=1)) == ([], [])
    out, code = await run(cluster, f"{text}; apply --yes --accept null-not-compacted")
    assert code == 0, out
    assert sorted([*log(cluster), *log(cluster, number=1)], key=str) == [None, b"b", b'{"x": 1}']
    out, code = await run(cluster, "copy records orders key a without value to topic single; apply --yes")
    assert code == 3
    assert log(cluster, "single") == []
    out, code = await run(cluster, "copy records orders key a to topic single; apply --yes --accept null-not-compacted")
    assert code == 0, out
    assert len(log(cluster, "single")) == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"records": NEVER}, 'records = "never"'),
        ({"mask": (mask_path("$.card"),)}, "masks fields"),
        ({"read_only": True}, "read-only"),
    ],
)
@pytest.mark.parametrize("text", ["produce topic orders value a", "copy records single to topic orders"])
async def test_contexts_that_refuse(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], said: str, text: str
) -> None:
    _, code = await run(cluster, f"{text}; apply --yes", **changes)
    assert code == 1
    assert said in capsys.readouterr().err
    assert log(cluster) == []


async def test_hidden_contents_are_no_hindrance(cluster: ThreadedCluster) -> None:
    out, code = await run(cluster, "produce topic orders partition 0 value a; apply --yes", records=HIDDEN)
    assert (code, log(cluster)) == (0, [b"a"]), out


@pytest.mark.parametrize(
    "text", ["produce topic orders value a", "tombstone topic o key a", "copy records a to topic b"]
)
def test_an_agent_can_not_propose_it(text: str) -> None:
    with pytest.raises(CommandError, match="writes records"):
        edits_of(text)


async def test_many_records_are_typed_and_rounds_keep_their_order(
    kac: worlds.Kac, cluster: ThreadedCluster, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(f'{{"key": "k", "value": "{place}", "partition": 0}}\n' for place in range(2_100)))
    words = ("produce", "orders", "--file", str(file), "--output", "json")
    ran = await asyncio.to_thread(kac, *words, "--yes")
    assert (ran.code, log(cluster)) == (3, [])
    assert "write --accept writes-many=2100" in ran.complaints
    third = fault(cluster, faults.Fail(ErrorCode.policy_violation), nth=2)
    ran = await asyncio.to_thread(kac, *words, "--yes", "--accept", "writes-many=2100")
    assert ran.code == 1
    assert [each["state"] for each in json.loads(ran.out.splitlines()[1])["outcomes"]] == [
        "applied",
        "failed",
        "not applied",
    ]
    assert log(cluster) == [b"%d" % place for place in range(1_000)]
    told = json.loads(ran.out.splitlines()[-1])["records"]
    assert [len(each["records"]) for each in told] == [1_000, 1_000, 100]
    assert [each["offset"] for each in told[0]["records"]] == list(range(1_000))
    assert {each["offset"] for each in told[1]["records"]} == {None}
    assert cluster.call(lambda each: each.faults.happened(third)) == 1


async def test_a_pipe_of_an_export(cluster: ThreadedCluster, tmp_path: Path) -> None:
    lines = b"".join(
        json.dumps({"key": f"k{place}", "value": None if place % 3 else "v"}).encode() + b"\n" for place in range(9)
    )
    file = tmp_path / "in.jsonl"
    file.write_bytes(lines)
    made = await asyncio.to_thread(
        worlds.process, "produce", "-b", cluster.bootstrap, "orders", "--yes", "--accept", "null-not-compacted",
        text=lines.decode(),
    )  # fmt: skip
    assert made.code == 0, made.complaints
    out = await asyncio.to_thread(
        worlds.process, "records", "-b", cluster.bootstrap, "orders", "--limit", "0", "--output", "jsonl"
    )
    again = await asyncio.to_thread(
        worlds.process, "produce", "-b", cluster.bootstrap, "orders", "--plan", text=out.out
    )
    assert "9 records" in again.out, again.complaints
    assert len(log(cluster)) + len(log(cluster, number=1)) == 9
    wrong = await asyncio.to_thread(worlds.process, "produce", "-b", cluster.bootstrap, "orders", text="{}\n")
    assert (wrong.code, "line 1: it has no value" in wrong.complaints) == (2, True)


# -- values with a schema ----------------------------------------------------------------------------------------------

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [{"name": "id", "type": "long"}, {"name": "price", "type": ["null", "double"]}],
    }
)
PROTO = 'syntax = "proto3"; package shop; message Payment { int64 id = 1; string email = 2; }'
SHAPE = json.dumps({"title": "T", "type": "object", "properties": {"id": {"type": "integer"}}})
schemas = worlds.running(registry_server.registry)


def payment() -> Any:
    """Return the Protobuf file descriptor of a payment's schema, compiled by Google's compiler."""
    from google.protobuf import descriptor_pb2

    return descriptor_pb2.FileDescriptorSet.FromString(compiled(SchemaText("PROTOBUF", PROTO))).file[-1]


def in_base64() -> str:
    return base64.b64encode(payment().SerializeToString()).decode()


def payment_class() -> Any:
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.Add(payment())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Payment"))


@pytest.mark.parametrize(
    ("kind", "text", "given"),
    [("AVRO", AVRO, {"id": 7, "price": 2.5}), ("PROTOBUF", PROTO, {"id": 7, "email": "a"}), ("JSON", SHAPE, {"id": 7})],
)
async def test_confluents_deserializers_read_what_schemas_encode(
    cluster: ThreadedCluster, schemas: registry_server.RegistryServer, kind: str, text: str, given: dict[str, Any]
) -> None:
    pytest.importorskip("confluent_kafka.schema_registry.avro")
    pytest.importorskip("fastavro")
    pytest.importorskip("grpc_tools")
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    # Confluent's Python client accepts a Protobuf schema only as base64.
    schemas.register("orders-value", in_base64() if kind == "PROTOBUF" else text, kind)
    statement = f"produce topic orders partition 0 key a value '{json.dumps(given)}'"
    out, code = await run(cluster, f"{statement}; apply --yes", schemas=schemas.settings)
    assert (code, log(cluster)) == (3, [])
    out, code = await run(cluster, f"{statement}; plan", schemas=schemas.settings)
    assert "other-schema: new records of orders/0: 1 value without a schema of subject orders-value" in out
    out, code = await run(cluster, f"{statement} schema orders-value; plan; apply --yes", schemas=schemas.settings)
    assert code == 0, out
    assert "encoded by orders-value version 1" in out
    (data,) = log(cluster)
    where = SerializationContext("orders", MessageField.VALUE)
    client = SchemaRegistryClient({"url": schemas.url})
    if kind == "PROTOBUF":
        read = ProtobufDeserializer(payment_class(), {"use.deprecated.format": False}, client)(data, where)
        assert (read.id, read.email) == (7, "a")
    else:
        made = AvroDeserializer(client) if kind == "AVRO" else JSONDeserializer(text, schema_registry_client=client)
        assert made(data, where) == given


async def test_what_a_schema_refuses_is_not_staged(
    cluster: ThreadedCluster, schemas: registry_server.RegistryServer, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fastavro")
    schemas.register("orders-value", AVRO)
    for text, said in (
        ('value \'{"id": "x"}\' schema orders-value', "record 1 does not fit its schema: it has no price"),
        ("value x schema orders-value", "it is not JSON"),
        ("value '{}' schema other", "schema other: the registry answers 404"),
    ):
        _, code = await run(cluster, f"produce topic orders {text}; apply --yes", schemas=schemas.settings)
        assert (code, log(cluster)) == (1, [])
        assert said in capsys.readouterr().err
    _, code = await run(cluster, "produce topic orders value 1 schema orders-value")
    assert "the context has no schema registry" in capsys.readouterr().err


# -- groups and owners of a topic --------------------------------------------------------------------------------------


async def test_a_group_that_waits_is_named(cluster: ThreadedCluster) -> None:
    from aiokafka import AIOKafkaConsumer  # type: ignore[import-untyped]

    async with AIOKafkaConsumer("orders", bootstrap_servers=cluster.bootstrap, group_id="billing") as consumer:
        async with asyncio.timeout(patience.PATIENCE):
            while not consumer.assignment():
                await consumer.getmany(timeout_ms=100)
            await consumer.seek_to_end()
            await consumer.commit()
        out, _ = await run(cluster, "produce topic orders key a value b; plan")
        assert "! read-at-once: new records of orders/" in out
        assert "group billing has read all before" in out
        assert "read by group billing" in out


async def test_a_topic_of_other_software_is_typed(cluster: ThreadedCluster) -> None:
    cluster.call(lambda each: worlds.topic("connect-configs", [(1,)])(each))
    cluster.call(lambda each: each.state.alter_config(topic_resource("connect-configs"), {"cleanup.policy": "compact"}))
    text = "produce topic connect-configs key a value b"
    out, code = await run(cluster, f"{text}; plan; apply --yes --accept system-topic")
    assert (code, "belongs to Kafka Connect" in out) == (3, True)
    out, code = await run(cluster, f"{text}; apply --yes --accept system-topic=connect-configs")
    assert code == 0, out
    out, code = await run(cluster, "produce topic connect-configs value b; apply --yes")
    assert (code, "without a key" in out) == (1, True)
    out, code = await run(cluster, "produce topic __consumer_offsets key a value b; apply --yes")
    assert code == 1


async def test_the_journal_has_offsets_sizes_and_hashes(kac: worlds.Kac, cluster: ThreadedCluster) -> None:
    text = "produce topic orders partition 0 key the-key value the-contents header h=the-header; apply --yes"
    assert (await asyncio.to_thread(kac, "run", "-e", text)).code == 0
    lines = b"".join(each.read_bytes() for each in state_directory(os.environ).rglob("*") if each.is_file()).decode()
    assert '"sizes":[30]' in lines
    assert '"offset":0' in lines
    assert NewRecord(b"the-key", b"the-contents", ((b"h", b"the-header"),)).hash in lines
    assert "the-" not in lines
    assert "applied, from offset 0" in (await asyncio.to_thread(kac, "run", "-e", "history")).out


# -- records written to real brokers: Java and librdkafka read them, and the copy of an exported topic is equal --------

FOLDER = Path(__file__).parents[1] / "broker"
TIME = 1_790_000_000_000
PLACES = 3
on_brokers = worlds.commands("plain_cluster")


class Seen(NamedTuple):
    """A record as a client read it. time: Unix milliseconds."""

    partition: int
    offset: int
    time: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def with_java(*words: str, lines: list[str] | None = None) -> list[str]:
    """Run our Java program with the arguments `words`; return the lines of its output. lines: the lines of its input;
    None for no input.
    """
    with real_clusters.or_skip():
        program = compiled_java.with_ours(FOLDER / "JavaRecords.java", kafka_jars.KAFKA_4_3)
    command = [kafka_jars.java(), "-Xmx256m", "-XX:TieredStopAtLevel=1", *program, *words]
    text = "".join(f"{line}\n" for line in lines or [])
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=patience.PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def encoded(data: bytes | None) -> str:
    return "-" if data is None else f".{base64.b64encode(data).decode()}"


def decoded(text: str) -> bytes | None:
    return None if text == "-" else base64.b64decode(text[1:])


def read_by_java(cluster: KafkaCluster, topic: str) -> list[Seen]:
    """Return all records of a topic, as Java's consumer reads them."""
    found = []
    for line in with_java("read", cluster.bootstrap, topic):
        partition, offset, time, key, value, *headers = line.split(" ")
        pairs = tuple(
            ((decoded(name) or b"").decode(), decoded(data)) for name, data in (each.split(":") for each in headers)
        )
        found.append(Seen(int(partition), int(offset), int(time), decoded(key), decoded(value), pairs))
    return sorted(found)


def read_by_librdkafka(cluster: KafkaCluster, topic: str) -> list[Seen]:
    """Return all records of a topic, as librdkafka's consumer reads them."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "kac-test", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PLACES)])
    found, ended = [], 0
    while ended < PLACES:
        message = consumer.poll(patience.PATIENCE)
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


@pytest.mark.broker
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
    on_brokers: worlds.Kac, plain_cluster: KafkaCluster, name: str, tmp_path: Path
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
    ran = on_brokers(
        "produce", name, "--file", str(file), "--yes", "--accept", "null-not-compacted", "--output", "json"
    )
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

    # The reverse: kac copies records of Java and librdkafka unchanged.
    make(plain_cluster, f"{name}-java")
    with_java(
        "write", plain_cluster.bootstrap, f"{name}-java", lines=[f"{encoded(k)} {encoded(v)}" for k, v, _ in SENT if k]
    )
    producer = Producer({"bootstrap.servers": plain_cluster.bootstrap, "compression.type": "lz4"})
    producer.produce(f"{name}-java", b"by librdkafka", b"key", 1, headers=[("a", b"b")])
    assert not producer.flush(patience.PATIENCE)
    make(plain_cluster, f"{name}-copy")
    copy = f"copy records {name}-java to topic {name}-copy; apply --yes --accept null-not-compacted"
    assert on_brokers("run", "-e", copy).code == 0
    there, copied = (read_by_java(plain_cluster, f"{name}-{each}") for each in ("java", "copy"))
    assert sorted(str(each[2:]) for each in there) == sorted(str(each[2:]) for each in copied)


def test_an_exported_topic_is_written_again_equal_to_the_byte(
    on_brokers: worlds.Kac, plain_cluster: KafkaCluster, name: str, tmp_path: Path
) -> None:
    make(plain_cluster, name)
    some = random.Random(3)
    producer = Producer({"bootstrap.servers": plain_cluster.bootstrap, "compression.type": "zstd"})
    for place in range(2_500):
        key = some.choice([None, b"", b"k-%d" % some.randrange(50), some.randbytes(5)])
        value = some.choice([None, b"", '{"\u00e9": "\x1b[2J"}'.encode(), some.randbytes(some.randrange(300))])
        headers = [("h\u00e9", some.choice([None, b"", some.randbytes(4)]))] * some.randrange(3)
        producer.produce(name, value, key, some.randrange(PLACES), timestamp=TIME + place, headers=headers)
    assert not producer.flush(patience.PATIENCE)
    file = tmp_path / "records.jsonl"
    assert on_brokers("records", name, "--limit", "0", "--output", "jsonl", "--out", str(file)).code == 0
    make(plain_cluster, f"{name}-again")
    accept = "writes-many=2500,null-not-compacted"
    ran = on_brokers("produce", f"{name}-again", "--file", str(file), "--yes", "--accept", accept)
    assert ran.code == 0, ran.complaints
    assert read_by_librdkafka(plain_cluster, f"{name}-again") == read_by_librdkafka(plain_cluster, name)


@pytest.mark.parametrize("release", ["plain_cluster", "kafka39"])
def test_what_brokers_refuse_is_said_by_record(release: str, request: pytest.FixtureRequest, name: str) -> None:
    cluster: KafkaCluster = request.getfixturevalue(release)
    make(cluster, name, max_message_bytes="2000", min_insync_replicas="1")
    big = "x" * 1_990  # the record is within the limit, its batch is not
    text = f"produce topic {name} key a partition 0 value {big}; produce topic {name} key a partition 0 value small"
    out, code = asyncio.run(worlds.script(cluster, f"{text}; apply --yes"))
    assert code == 1
    assert "MESSAGE_TOO_LARGE" in out, out
    assert "not applied" in out  # kac sends no later records of the partition
    out, code = asyncio.run(worlds.script(cluster, f"produce topic {name} key a partition 0 value small; apply --yes"))
    assert code == 0, out
    assert [each.value for each in read_by_librdkafka(cluster, name)] == [b"small"]


# -- records that real brokers refuse ----------------------------------------------------------------------------------

SOON: dict[str, Any] = {"request_timeout": 5.0, "lost_answer_timeout": 0.5}
BROKERS = {"right": (1,), "large": (1,), "quota": (1,), "few": (1, 2), "down": (2,), "silent": (1, 3), "ok": (1,)}
CONFIGS = {"large": {"max.message.bytes": "2000"}, "few": {"min.insync.replicas": "2"}}


async def made(link: Link, name: str) -> None:
    """Create a topic for each item of `BROKERS`, with one partition on these brokers, the configs of `CONFIGS`, and
    a name that begins with `name`.
    """
    topics = [
        NewTopic(f"{name}-{what}", assignments=(brokers,), configs=CONFIGS.get(what, {}))
        for what, brokers in BROKERS.items()
    ]
    assert await applied(link, CreateTopics(tuple(topics)))


def batch(*values: bytes) -> Contents:
    return Contents([NewRecord(b"k", value) for value in values])


async def written(link: Link, name: str, some: dict[str, Contents]) -> dict[str, Outcome]:
    """Write a batch to each of several topics in one request. some: short name of a topic -> its batch. Return short
    name -> outcome.
    """
    targets = {what: NewRecords(f"{name}-{what}", 0) for what in some}
    found = await outcomes(link, ProduceRecords({targets[what]: each for what, each in some.items()}))
    return {what: found[target] for what, target in targets.items()}


async def missed(link: Link, topic: str) -> None:
    """Wait until only the leader of partition 0 is in its ISR. Raises TimeoutError after `patience.PATIENCE`
    seconds.
    """
    async with asyncio.timeout(patience.PATIENCE):
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
        # The ACL for another user makes alice need one too. She has the right to describe the topic, so kac names the
        # missing right.
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
        # She is above her quota now: kac waits before the next batch, and writes it once.
        assert (await written(alice, name, {"quota": batch(b"q" * 9_000)}))["quota"].status is Status.APPLIED

        # The leader appends the batch, and the follower in sync does not answer.
        silent = {"silent": batch(b"1")}
        with own_cluster.hanging(3):
            lost = (await written(link, name, silent))["silent"]
        assert lost.status is Status.UNKNOWN
        assert lost.failure is not None
        assert "apply it again" in lost.failure.remedy
        assert (await written(link, name, silent))["silent"].status is Status.APPLIED

        own_cluster.kill(2)
        await missed(link, f"{name}-few")  # before that the leader accepts a batch whose outcome is unknown
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
