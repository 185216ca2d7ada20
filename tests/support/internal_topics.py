"""Records of internal topics of real brokers, MirrorMaker and Connect, compared with the output of Kafka's own classes.

A topic has one partition, so that a formatter's lines have the order of the records.

``python -m tests.support.internal_topics`` records them for the fast tests. It takes some minutes.
"""

import asyncio
import base64
import json
import lzma
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from msgspec import Struct

from console.model.coordinators import OFFSETS, SHARES, TRANSACTIONS
from console.model.internal_records import internal_decoders
from console.model.record_decoding import RecordDecoder
from console.model.record_masks import MASKED
from console.model.records import BatchFacts, Record
from console.model.schemas import Allowance
from console.sensitive import data_without_secrets
from tests.support import compiled_java, connect_cluster, kafka_cluster, mirror_maker, worlds, zookeeper_cluster
from tests.support.connect_cluster import ConnectCluster, until
from tests.support.kafka_jars import KAFKA_2_8, KAFKA_4_3, RELEASES, jars, java, major, tools_version
from tests.support.patience import PATIENCE

CLASSES = Path(__file__).parents[1] / "broker" / "CoordinatorRecords.java"
TOPIC, GROUPS = "orders", ("billing", "shipping")


class Sent(NamedTuple):
    """The key and value of a record, as bytes in the log; None for a record without key or value."""

    topic: str
    key: bytes | None
    value: bytes | None


class Recording(Struct, frozen=True):
    """The records of a Kafka version's internal topics, and the output of that version's own classes for them.

    shown: JSON of key and value by the classes that the brokers use, in the records' order; empty if these classes were
    not run. printed: ``formatter topic`` -> the formatter's output. rest: path of Connect's REST API -> its answer.
    """

    version: str
    sent: tuple[Sent, ...]
    shown: tuple[tuple[Any, Any], ...] = ()
    printed: Mapping[str, str] = {}
    rest: Mapping[str, Any] = {}


# -- brokers -----------------------------------------------------------------------------------------------------------


def own_cluster(version: str) -> kafka_cluster.KafkaCluster:
    """Return a cluster of one broker, not yet started, whose internal topics have one partition each."""
    properties = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
    if version == KAFKA_2_8:
        return zookeeper_cluster.ZooKeeperCluster(version, brokers=1, properties=properties)
    if major(version) < 4:
        return kafka_cluster.KafkaCluster(version, brokers=1, properties=properties)
    share = "share.coordinator.state.topic"
    properties |= {f"{share}.{each}": "1" for each in ("num.partitions", "replication.factor", "min.isr")}
    return kafka_cluster.KafkaCluster(version, brokers=1, properties=properties)


class Formatter(NamedTuple):
    """A Kafka class that prints records for the console consumer. name: of the class. topic: that it reads. numbers: of
    the record types that it prints.
    """

    name: str
    topic: str
    numbers: tuple[int, ...]


def formatters(version: str) -> list[Formatter]:
    """Return the formatters of a version of Kafka for the coordinators' topics."""
    if version == KAFKA_2_8:
        groups, transactions = "kafka.coordinator.group.GroupMetadataManager$", "kafka.coordinator.transaction."
        return [
            Formatter(f"{groups}OffsetsMessageFormatter", OFFSETS, (0, 1)),
            Formatter(f"{groups}GroupMetadataMessageFormatter", OFFSETS, (2,)),
            Formatter(f"{transactions}TransactionLog$TransactionLogMessageFormatter", TRANSACTIONS, (0,)),
        ]
    tools = "org.apache.kafka.tools.consumer."
    made = [
        Formatter(f"{tools}OffsetsMessageFormatter", OFFSETS, (0, 1)),
        Formatter(f"{tools}GroupMetadataMessageFormatter", OFFSETS, (2,)),
        Formatter(f"{tools}TransactionLogMessageFormatter", TRANSACTIONS, (0,)),
    ]
    if major(version) >= 4:
        made.append(Formatter(f"{tools}group.share.ShareGroupStateMessageFormatter", SHARES, (0, 1)))
        made.append(Formatter(f"{tools}ShareGroupMessageFormatter", OFFSETS, (10, 11, 12, 13, 14, 15)))
    return made


def use_as_classic(bootstrap: str) -> None:
    """Let clients write records of classic groups and of transactions: groups commit offsets, and one group is deleted;
    one transaction, with a group's offset, is committed, another one aborted.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(TOPIC, 2, 1)]).values():
        made.result(PATIENCE)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "bookkeeper", "linger.ms": 0})
    producer.init_transactions(PATIENCE)
    for ends in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(TOPIC, b"one", partition=partition)
        if ends == producer.commit_transaction:
            reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "stream"})
            offsets = [TopicPartition(TOPIC, 0, 1)]
            producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), PATIENCE)
            reader.close()
        producer.flush(PATIENCE)
        ends(PATIENCE)
    for group in GROUPS:
        consume(bootstrap, group)
    for done in admin.delete_consumer_groups([GROUPS[1]]).values():
        done.result(PATIENCE)


def consume(bootstrap: str, group: str, topics: str = TOPIC, **config: Any) -> None:
    """Join a group, wait for two partitions, commit offset 1 for both with metadata, and leave.

    topics: a name, or a pattern that begins with ^. config: further configs of the consumer.
    """
    of_group = {"bootstrap.servers": bootstrap, "group.id": group, "client.id": f"{group}-1", **config}
    consumer = Consumer({**of_group, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([topics])
    until(lambda: consumer.poll(0.2) is not None and len(consumer.assignment()) == 2, f"{group} has its partitions")
    notes = [TopicPartition(TOPIC, each, 1, metadata=f"note {each}") for each in (0, 1)]
    consumer.commit(offsets=notes, asynchronous=False)
    consumer.close()


def use_newer_groups(cluster: kafka_cluster.KafkaCluster) -> None:
    """Let a member of each newer protocol (consumer, share, streams) join a group, get its assignment, and leave."""
    consume(cluster.bootstrap, "reporting", **{"group.protocol": "consumer"})
    consume(cluster.bootstrap, "by-pattern", f"^{TOPIC}.*", **{"group.protocol": "consumer"})
    # A local import: the tests of these groups have members for protocols that librdkafka lacks.
    from tests.broker.test_kafka_tools import member

    async def use() -> None:
        async with worlds.linked(worlds.settings(cluster)) as link:
            for protocol in ("share", "streams"):
                async with member(link, protocol, f"of-{protocol}", TOPIC):
                    pass

    asyncio.run(use())
    main = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
    words = ["--bootstrap-server", cluster.bootstrap, "--topic", TOPIC, "--group", "of-share", "--timeout-ms", "8000"]
    command = cluster.tool_command(main, *words, version=tools_version(cluster.version))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as reading:
        assert reading.stdout is not None
        out = reading.stdout
        os.set_blocking(out.fileno(), False)
        seen = b""

        def has_some() -> bool:
            nonlocal seen
            send(cluster.bootstrap, 4)  # a new share group begins at the end
            seen += out.read() or b""
            return seen.count(b"\n") > 20

        until(has_some, "the share group reads")
        reading.terminate()


def send(bootstrap: str, count: int) -> None:
    """Write `count` records to the two partitions of `TOPIC` in turn."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(TOPIC, b"%d" % number, partition=number % 2)
    producer.flush(PATIENCE)


def sent(bootstrap: str, topic: str) -> list[Sent]:
    """Return every record of a topic's first partition; empty if there is no such topic."""
    config = {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False}
    consumer = Consumer({**config, "enable.partition.eof": True, "isolation.level": "read_uncommitted"})
    try:
        if topic not in consumer.list_topics(timeout=PATIENCE).topics:
            return []
        consumer.assign([TopicPartition(topic, 0, 0)])
        made: list[Sent] = []
        while True:
            message = consumer.poll(PATIENCE)
            assert message is not None, f"{topic} does not end"
            if message.error():
                return made
            made.append(Sent(topic, message.key(), message.value()))
    finally:
        consumer.close()


def printed(command: Sequence[str], formatter: str, bootstrap: str, topic: str) -> str:
    """Return the output of the console consumer for a topic's first partition, up to an error after which it prints
    no further record. Raises RuntimeError if the consumer does not report how many records it processed. command:
    the words that start a consumer.
    """
    words = ("--bootstrap-server", bootstrap, "--topic", topic, "--partition", "0", "--offset", "earliest")
    # The consumer also counts the records that the formatter leaves out.
    rest = ("--max-messages", str(len(sent(bootstrap, topic))), "--timeout-ms", "60000", "--formatter", formatter)
    done = subprocess.run([*command, *words, *rest], capture_output=True, text=True, check=False, timeout=PATIENCE)
    if "Processed a total" not in done.stderr:
        raise RuntimeError(f"{formatter}: {done.stdout[-500:]} {done.stderr[-2000:]}")
    return _END.split(done.stdout)[0]


_END = re.compile(r"(?:\d{4}-\d\d-\d\dT\S+ main ERROR |\[\d{4}-[^\]]*\] ERROR )Error processing message")
"""The error in a console consumer's output after which it prints no further record."""


def console_consumer(version: str) -> str:
    """Return the name of the console consumer's class in a version of Kafka."""
    return "kafka.tools.ConsoleConsumer" if version == KAFKA_2_8 else "org.apache.kafka.tools.consumer.ConsoleConsumer"


def recorded_brokers(version: str) -> Recording:
    """Start a broker of a version, let clients of each kind use it, and return the records of its internal topics."""
    with own_cluster(version) as cluster:
        use_as_classic(cluster.bootstrap)
        if major(version) >= 4:  # librdkafka does not join such groups of 3.9, where they are a preview
            use_newer_groups(cluster)
        records = tuple(each for topic in (OFFSETS, TRANSACTIONS, SHARES) for each in sent(cluster.bootstrap, topic))
        of_tools = tools_version(version)
        command = cluster.tool_command(console_consumer(of_tools), version=of_tools)
        texts = {
            f"{each.name} {each.topic}": printed(command, each.name, cluster.bootstrap, each.topic)
            for each in formatters(version)
        }
    return Recording(version, records, tuple(by_classes(version, records)) if version != KAFKA_2_8 else (), texts)


def by_classes(version: str, records: Sequence[Sent]) -> Iterator[tuple[Any, Any]]:
    """Yield the JSON of each record's key and value, by the classes that a version's brokers themselves use."""
    from tests.support.record_metadata_schemas import coordinator_records

    names = {(each["topic"], each["apiKey"]): each for each in coordinator_records(version[:3])}
    lines = []
    for record in records:
        assert record.key is not None
        number = int.from_bytes(record.key[:2], "big")
        row = names[record.topic, number]
        own = number if "-" in row["key"]["validVersions"] or row["key"]["validVersions"] == str(number) else 0
        lines.append(f"show {row['name']}Key {own} {base64.b64encode(record.key[2:]).decode()}")
        if record.value is not None:
            at = int.from_bytes(record.value[:2], "big")
            lines.append(f"show {row['name']}Value {at} {base64.b64encode(record.value[2:]).decode()}")
    answers = iter([shown for _, shown in kafkas_own(version, lines)])
    for record in records:
        yield next(answers), None if record.value is None else next(answers)


def kafkas_own(version: str, lines: Sequence[str]) -> Iterator[tuple[bytes, Any]]:
    """Yield, for each input line of CoordinatorRecords, the bytes of the record that it encodes, and the record's JSON
    by Kafka's classes. Raises an exception if the program fails.
    """
    command = [java(), "-Xmx256m", "-XX:TieredStopAtLevel=1", *compiled_java.with_ours(CLASSES, version)]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        data, shown = map(base64.b64decode, line.split(" "))
        yield data, json.loads(shown)


# -- MirrorMaker and Connect ------------------------------------------------------------------------------------------

MIRRORED = {
    "Checkpoint": "A.checkpoints.internal",
    "Heartbeat": "heartbeats",
    "OffsetSync": "mm2-offset-syncs.B.internal",
}
"""Name of a record type of MirrorMaker -> its topic."""


def recorded_mirror(version: str, folder: Path) -> Recording:
    """Let MirrorMaker copy a topic and the offsets of its group within one cluster that has two aliases; return the
    records of MirrorMaker's topics.
    """
    properties = mirror_maker.often(TOPIC, GROUPS[0], "A", "B")
    with own_cluster(version) as cluster:
        use_as_classic(cluster.bootstrap)
        properties |= {f"{name}.bootstrap.servers": cluster.bootstrap for name in "AB"}
        main = "org.apache.kafka.connect.mirror.MirrorMaker"
        mirror = connect_cluster.started(f"{mirror_maker.mirror_jars(version)}/*", folder, main, properties)
        try:
            for topic in MIRRORED.values():
                until(lambda topic=topic: wrote(cluster.bootstrap, mirror, folder, topic), topic)  # type: ignore[misc]
        finally:
            mirror.kill()
            mirror.wait()
        both = f"{jars(tools_version(version))}/*{os.pathsep}{mirror_maker.mirror_jars(version)}/*"
        command = [java(), "-Xmx128m", "-cp", both, console_consumer(version)]
        formatter = "org.apache.kafka.connect.mirror.formatters."
        texts = {
            f"{name} {topic}": printed(command, f"{formatter}{name}Formatter", cluster.bootstrap, topic)
            for name, topic in MIRRORED.items()
        }
        return Recording(
            version, tuple(each for topic in MIRRORED.values() for each in sent(cluster.bootstrap, topic)), (), texts
        )


def wrote(bootstrap: str, program: subprocess.Popen[bytes], folder: Path, topic: str) -> bool:
    """Write records and commit offsets, which MirrorMaker copies; return whether `topic` has a record half a second
    later. Raises AssertionError if MirrorMaker, the program, has ended.
    """
    assert program.poll() is None, (folder / "out").read_text()[-2000:]
    send(bootstrap, 2)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUPS[0], "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(TOPIC, each, 2) for each in (0, 1)], asynchronous=False)
    consumer.close()
    time.sleep(0.5)
    return bool(sent(bootstrap, topic))


def compare_mirror(recording: Recording) -> Counter[str]:
    """Compare kac's JSON with the output of MirrorMaker's formatters for the same records. Return the number of
    compared records by formatter. Raises AssertionError if they differ.
    """
    compared: Counter[str] = Counter()
    for name, topic in MIRRORED.items():
        mine = [as_mirror(name, *by_kac(each)) for each in recording.sent if each.topic == topic]
        # 2.8 misspells a field of its output.
        text = recording.printed[f"{name} {topic}"].replace(", metatadata=", ", metadata=")
        lines = [each for each in text.splitlines() if each]
        assert mine == lines
        assert mine
        compared[name] += len(mine)
    return compared


def as_mirror(name: str, key: Any, value: Any) -> str:
    """Return the line that a formatter of MirrorMaker prints for a record."""
    match name:
        case "Checkpoint":
            return (
                f"Checkpoint{{consumerGroupId={key['group']}, topicPartition={key['topic']}-{key['partition']}, "
                f"upstreamOffset={value['upstreamOffset']}, downstreamOffset={value['offset']}, "
                f"metadata={value['metadata']}}}"
            )
        case "Heartbeat":
            return (
                f"Heartbeat{{sourceClusterAlias={key['sourceClusterAlias']}, "
                f"targetClusterAlias={key['targetClusterAlias']}, timestamp={value['timestamp']}}}"
            )
    return (
        f"OffsetSync{{topicPartition={key['topic']}-{key['partition']}, "
        f"upstreamOffset={value['upstreamOffset']}, downstreamOffset={value['offset']}}}"
    )


SECRETS = {"database.password": "planted-4711", "connection.url": "jdbc:x://me:planted-4711@host/db"}
CONNECTOR = "from-file"


def recorded_connect(version: str) -> Recording:
    """Let Connect run a connector with secrets in its config, and pause it; return the records of Connect's topics, and
    the answers of its REST API.
    """
    with own_cluster(version) as cluster, ConnectCluster(version, cluster.bootstrap, group="workers") as workers:
        (workers.folder / "in").write_text("a\nb\n")
        (url,) = workers.urls
        rest = partial(connect_cluster.ask, url)
        config = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "topic": "copied"}
        config |= {"file": str(workers.folder / "in"), "tasks.max": "1", **SECRETS}
        rest("POST", "/connectors", {"name": CONNECTOR, "config": config})
        of = f"/connectors/{CONNECTOR}"

        def task() -> Any:
            tasks = rest("GET", f"{of}/status").body.get("tasks")
            return tasks[0]["state"] if tasks else None

        until(lambda: bool(rest("GET", f"{of}/offsets").body.get("offsets")), "the source's offset is there")
        until(lambda: task() is not None, "the task runs")
        rest("PUT", f"{of}/pause")
        until(lambda: task() == "PAUSED", "the task is paused")
        paths = (f"{of}/config", f"{of}/status", f"{of}/offsets", f"{of}/tasks", f"{of}/topics")
        found = {path: rest("GET", path).body for path in paths}
        records = tuple(each for topic in connect_cluster.TOPICS for each in sent(cluster.bootstrap, topic))
    return Recording(version, records, rest=found)


def compare_connect(recording: Recording) -> Counter[str]:
    """Compare kac's JSON for the newest records with the answers of Connect's REST API, whose configs have unmasked
    secrets.

    Return the number of records of each schema, older records included. Raises AssertionError if they differ.
    """
    own = internal_decoders(partial(data_without_secrets, hidden=MASKED))
    newest: dict[str, Any] = {}
    kinds: Counter[str] = Counter()
    for each in recording.sent:
        record = Record(each.topic, 0, 0, 0, each.key, each.value, (), BatchFacts(0))
        shown = RecordDecoder((), own=own).readable(record, Allowance())
        assert "planted" not in str(shown.value)
        if shown.value is not None and shown.value_encoding is not None:
            newest[(each.key or b"").decode()] = json.loads(shown.value)
            kinds[shown.value_encoding.schema] += 1
    of = f"/connectors/{CONNECTOR}"
    answers = recording.rest
    hidden = dict.fromkeys(SECRETS, MASKED) | {"connection.url": f"jdbc:x://me:{MASKED}@host/db"}
    assert newest[f"connector-{CONNECTOR}"]["properties"] == answers[f"{of}/config"] | hidden
    (task,) = answers[f"{of}/tasks"]
    # The file source copies its config, with the secrets, to its task.
    assert newest[f"task-{CONNECTOR}-0"]["properties"] == without_planted(task["config"])
    status = answers[f"{of}/status"]
    for name, told in (("connector", status["connector"]), ("task", status["tasks"][0])):
        kept = newest[f"status-{name}-{CONNECTOR}" + ("-0" if name == "task" else "")]
        assert {key: kept[key] for key in ("state", "worker_id")} == {key: told[key] for key in ("state", "worker_id")}
    (offset,) = answers[f"{of}/offsets"]["offsets"]
    (key,) = (each for each in newest if each.startswith("["))
    assert (json.loads(key), newest[key]) == ([CONNECTOR, offset["partition"]], offset["offset"])
    assert newest[f"target-state-{CONNECTOR}"]["state"] == "PAUSED"
    (topic,) = answers[f"{of}/topics"][CONNECTOR]["topics"]
    assert newest[f"status-topic-{topic}:connector-{CONNECTOR}"]["topic"]["name"] == topic
    assert newest["session-key"]["key"] == MASKED
    return kinds


def without_planted(config: Mapping[str, str]) -> dict[str, str]:
    """Return a config in which the secrets of `SECRETS` are masked as kac masks them."""
    return {key: MASKED if key.endswith("password") else each.replace(SECRETS["database.password"], MASKED)
            for key, each in config.items()}  # fmt: skip


# -- output of the formatters, made from kac's JSON -------------------------------------------------------------------

_STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead")


def as_documents(version: str, number: int, record: Sent, key: Any, value: Any) -> Any:
    """Return the JSON document that a formatter of Kafka 3.9 and newer prints for a record.

    number: of the record type. key, value: the record's JSON by kac.
    """
    named = {"type" if major(version) >= 4 else "version": number, "data": key}
    if record.value is None:
        return {"key": named, "value": None}
    return {"key": named, "value": {"version": int.from_bytes(record.value[:2], "big"), "data": value}}


def as_line(number: int, topic: str, key: Any, value: Any) -> str:
    """Return the line that a formatter of Kafka 2.8 prints for a record. number: of the record type. key, value: the
    record's JSON by kac.
    """
    if topic == TRANSACTIONS:
        return f"{key['transactionalId']}::{_transaction(key, value) if value else 'NULL'}"
    if number != 2:
        return f"[{key['group']},{key['topic']},{key['partition']}]::{_offset(value) if value else 'NULL'}"
    return f"{key['group']}::{_group(key, value) if value else 'NULL'}"


def _transaction(key: Any, value: Any) -> str:
    parts = sorted(
        f"{each['topic']}-{n}" for each in value["transactionPartitions"] or () for n in each["partitionIds"]
    )
    return (
        f"TransactionMetadata(transactionalId={key['transactionalId']}, producerId={value['producerId']}, "
        f"producerEpoch={value['producerEpoch']}, txnTimeoutMs={value['transactionTimeoutMs']}, "
        f"state={_STATES[value['transactionStatus']]}, pendingState=None, topicPartitions=HashSet({', '.join(parts)}), "
        f"txnStartTimestamp={value['transactionStartTimestampMs']}, "
        f"txnLastUpdateTimestamp={value['transactionLastUpdateTimestampMs']})"
    )


def _offset(value: Any) -> str:
    epoch = "Optional.empty" if value["leaderEpoch"] < 0 else f"Optional[{value['leaderEpoch']}]"
    return (
        f"OffsetAndMetadata(offset={value['offset']}, leaderEpoch={epoch}, metadata={value['metadata']}, "
        f"commitTimestamp={value['commitTimestamp']}, expireTimestamp=None)"
    )


def _group(key: Any, value: Any) -> str:
    def text(each: Any) -> str:
        instance = "None" if each["groupInstanceId"] is None else f"Some({each['groupInstanceId']})"
        return (
            f"{each['memberId']} -> MemberMetadata(memberId={each['memberId']}, groupInstanceId={instance}, "
            f"clientId={each['clientId']}, clientHost={each['clientHost']}, sessionTimeoutMs={each['sessionTimeout']}, "
            f"rebalanceTimeoutMs={each['rebalanceTimeout']}, supportedProtocols=List({value['protocol']}), )"
        )

    return (
        f"GroupMetadata(groupId={key['group']}, generation={value['generation']}, "
        f"protocolType=Some({value['protocolType']}), currentState={'Stable' if value['members'] else 'Empty'}, "
        f"members=HashMap({', '.join(map(text, value['members']))}))"
    )


def by_kac(record: Sent, part: str = "") -> tuple[Any, Any]:
    """Return the JSON that kac shows for a record's key and value; None for a missing key or value, or one not asked
    for.

    part: "Key" or "Value" for one of them, "" for both. Raises AssertionError if kac does not decode it.
    """
    of = Record(record.topic, 0, 0, 0, record.key, record.value, (), BatchFacts(0))
    shown = RecordDecoder((), own=internal_decoders(lambda data: data)).readable(of, Allowance())
    parts = {"Key": (shown.key, shown.key_encoding), "Value": (shown.value, shown.value_encoding)}
    made: dict[str, Any] = {"Key": None, "Value": None}
    for name, (data, encoding) in parts.items():
        if data is not None and part in ("", name):
            assert encoding is not None, record
            assert (encoding.form, encoding.why) == ("kafka", ""), record
            made[name] = json.loads(data)
    return made["Key"], made["Value"]


def compare(recording: Recording) -> Counter[str]:
    """Compare kac's JSON with the output of Kafka's own classes and formatters for the same records. Return class name
    -> the number of compared records. Raises AssertionError if they differ.
    """
    mine = [by_kac(each) for each in recording.sent]
    compared = Counter({"classes": len(recording.shown)})
    if recording.shown:
        assert mine == [tuple(each) for each in recording.shown]
    for formatter in formatters(recording.version):
        rows = [
            (number, record, key, value)
            for record, (key, value) in zip(recording.sent, mine, strict=True)
            if record.topic == formatter.topic
            and (number := int.from_bytes((record.key or b"")[:2], "big")) in formatter.numbers
        ]
        text = recording.printed[f"{formatter.name} {formatter.topic}"]
        if recording.version == KAFKA_2_8:
            assert [as_line(number, record.topic, key, value) for number, record, key, value in rows] == lines_of(text)
        else:
            # 4.4 was published without formatters: those of 4.3 print its records.
            tools = tools_version(recording.version)
            assert [as_documents(tools, *row) for row in rows] == list(documents(text))
        compared[formatter.name.rpartition(".")[2]] += len(rows)
    return compared


def lines_of(text: str) -> list[str]:
    """Return the lines of a formatter of 2.8, with the partitions of a transaction sorted."""
    return [re.sub(r"(?<=HashSet\()[^)]*", lambda found: ", ".join(sorted(found[0].split(", "))), each)
            for each in text.splitlines() if each]  # fmt: skip


def documents(text: str) -> Iterator[Any]:
    """Yield each JSON document of a text of several documents, with or without white space between them."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        found, at = decoder.raw_decode(text, at)
        yield found
        while at < len(text) and text[at].isspace():
            at += 1


# -- recorded ----------------------------------------------------------------------------------------------------------

RECORDED = Path(__file__).parents[1] / "unit" / "internal_records.json.xz"
BROKERS = tuple(RELEASES[each] for each in ("2.8", "3.9", "4.3", "4.4"))
MIRRORS = tuple(RELEASES[each] for each in ("2.8", "3.9", "4.3"))


class Recorded(Struct, frozen=True):
    """The file of all recordings, which the fast tests read: of brokers, of MirrorMaker and of Connect."""

    brokers: tuple[Recording, ...]
    mirrors: tuple[Recording, ...]
    connect: tuple[Recording, ...]


def recorded() -> Recorded:
    """Return the stored recordings."""
    return msgspec.json.decode(lzma.decompress(RECORDED.read_bytes()), type=Recorded)


def main() -> int:
    """Record all versions, compare each recording with kac's JSON, and store the recordings. Raises AssertionError if
    one differs.
    """
    with TemporaryDirectory() as folder:
        made = Recorded(
            tuple(map(recorded_brokers, BROKERS)),
            tuple(recorded_mirror(each, Path(folder)) for each in MIRRORS),
            (recorded_connect(KAFKA_4_3),),
        )
    for how, recordings in ((compare, made.brokers), (compare_mirror, made.mirrors), (compare_connect, made.connect)):
        for each in recordings:
            print(each.version, dict(how(each)), flush=True)
    RECORDED.write_bytes(lzma.compress(msgspec.json.encode(made), preset=9))
    return 0


if __name__ == "__main__":
    sys.exit(main())
