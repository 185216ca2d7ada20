"""Tests of reading and searching records, on embedded clusters in trouble and on real brokers."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.admin import errors, record_file, record_search, settings
from console.admin.link import LONG, Link, aside
from console.admin.topics import describe_topics
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import Delay, Fail, Fault
from console.embedded.spec import ClusterSpec
from console.model import acl, changes, record_decoding, record_masks, secret
from console.model import records as model
from console.model import records as model_records
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.partitioners import java_partition, librdkafka_partition
from console.model.record_filter import RecordFilter
from console.present.records import kind
from console.session.record_reading import Collected
from tests.embedded.poisoned import poisoned
from tests.support import patience, worlds
from tests.support.changing import applied, make_topic
from tests.support.kafka_cluster import KafkaCluster
from tests.support.searching import query, read_records

# ----------------------------------------------------------------------------------------------------------------------
# Records of embedded clusters in trouble: damaged batches, leaders that hang or fail, deleted offsets. On real brokers,
# 4.3 and 3.9, kac reads the records that aiokafka's and Kafka's own consumers read: with every codec, in transactions
# and without, committed or not

running = worlds.running(poisoned, scope="module")
"""Provide an embedded cluster for the module, with ten records in orders/0 and three in orders/1."""

own_link = worlds.link("running", worlds.mend)


class Calling(RecordFilter, frozen=True):
    """A filter of records that calls a function for each record."""

    call: Callable[[model_records.Record], bool] = lambda _: True

    def __bool__(self) -> bool:
        return True

    def matches(self, record: model_records.Record) -> bool:
        return self.call(record)


def fault(running: ThreadedCluster, effect: Fail | Delay, times: int | None = None) -> None:
    """Let Fetch requests fail or be delayed. times: the number of affected requests; None for all."""
    running.call(lambda one: one.faults.add(Fault(effect, api="fetch", times=times)))


def damage(one: EmbeddedCluster, place: int) -> None:
    """Change a byte in the records of the batch with index `place` in orders/0, so its checksum is wrong."""
    log = one.state.logs["orders", 0]
    batch = log.batches[place]
    data = bytearray(batch.data)
    data[-3] ^= 0xFF
    log._batches[place] = replace(batch, data=bytes(data))


async def test_a_damaged_batch_is_a_line_between_the_records(running: ThreadedCluster, own_link: Link) -> None:
    running.call(lambda one: damage(one, 5))
    try:
        found = await read_records(own_link, query("orders", 0, model_records.First(), 100))
    finally:
        running.call(lambda one: damage(one, 5))
    assert [record.offset for record in found.records] == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert [str(line) for line in found.undecodable] == [
        "orders-0 offset 5: can't be decoded: its checksum is wrong",
    ]


async def test_a_leader_that_hangs_is_waited_for_until_the_search_is_ended(
    running: ThreadedCluster, own_link: Link
) -> None:
    fault(running, Delay(30))
    halt = record_search.Halt()
    asyncio.get_running_loop().call_later(0.3, halt.ask)
    found = await read_records(own_link, query("orders"), halt=halt)
    assert (found.records, found.progress.stopped) == ((), "asked")
    assert found.progress.more is not None


async def test_a_moving_leader_is_asked_again(running: ThreadedCluster, own_link: Link) -> None:
    fault(running, Fail(6), times=2)
    found = await read_records(own_link, query("orders", 0))
    assert len(found.records) == 10


async def test_an_error_that_stays_is_the_partitions(
    running: ThreadedCluster, own_link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_search, "PATIENCE", 0.3)
    fault(running, Fail(6))
    with pytest.raises(errors.BrokerError, match="NOT_LEADER_OR_FOLLOWER: orders-0"):
        await read_records(own_link, query("orders", 0))


async def test_a_missing_right_is_named(running: ThreadedCluster, own_link: Link) -> None:
    fault(running, Fail(29))
    with pytest.raises(errors.BrokerError, match="may not be read") as refused:
        await read_records(own_link, query("orders", 0))
    assert refused.value.failure.name == "TOPIC_AUTHORIZATION_FAILED"
    assert "READ on TOPIC orders" in refused.value.failure.remedy


async def test_offsets_that_were_deleted_are_said(running: ThreadedCluster, own_link: Link) -> None:
    running.call(lambda one: one.state.logs["orders", 0].delete_before(2))
    found = await read_records(own_link, query("orders", 0, model_records.FromOffset(1), 3))
    assert [record.offset for record in found.records] == [2, 3, 4]
    assert found.notes == ("orders-0: offset 1 was deleted; the log begins at 2",)


async def test_two_reads_at_once_do_not_mix(own_link: Link) -> None:
    one, other = await asyncio.gather(
        read_records(own_link, query("orders", 0, model_records.FromOffset(3), 2)),
        read_records(own_link, query("orders", 1, model_records.First(), 9)),
    )
    assert {record.partition for record in one.records} == {0}
    assert {record.partition for record in other.records} == {1}


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_transactions_are_read_as_aiokafka_reads_them(
    running: ThreadedCluster, own_link: Link, codec: str
) -> None:
    topic = f"in-transactions-{codec}"
    await make_topic(own_link, topic)
    producer = AIOKafkaProducer(
        bootstrap_servers=running.bootstrap, transactional_id=f"writer-{codec}", compression_type=codec
    )
    await producer.start()
    for outcome in ("commit", "abort", "commit", "abort"):
        await producer.begin_transaction()
        for place in range(3):
            await producer.send_and_wait(topic, f"{outcome} {place} ".encode() * 9)
        await (producer.commit_transaction() if outcome == "commit" else producer.abort_transaction())
    await producer.begin_transaction()
    await producer.send_and_wait(topic, b"open")
    place = TopicPartition(topic, 0)
    for isolation in ("read_committed", "read_uncommitted"):
        consumer = AIOKafkaConsumer(bootstrap_servers=running.bootstrap, isolation_level=isolation)
        await consumer.start()
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        found = await read_records(own_link, query(topic, 0, model_records.First(), 100, isolation == "read_committed"))
        theirs: list[tuple[int, bytes]] = []
        while len(theirs) < len(found.records):
            for batch in (await consumer.getmany(timeout_ms=500)).values():
                theirs += [(record.offset, record.value) for record in batch]
        await consumer.stop()
        assert [(record.offset, record.value) for record in found.records] == theirs
        assert len(theirs) == (6 if isolation == "read_committed" else 13)
        assert [note for note in found.notes if "holds back" in note] == (
            [f"{topic}-0: an open transaction holds back offsets 16 to 16; uncommitted shows them"]
            if isolation == "read_committed"
            else []
        )
    await producer.abort_transaction()
    await producer.stop()


async def test_records_that_are_deleted_during_the_read_are_said(
    running: ThreadedCluster, own_link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_search, "ANSWER_BYTES", 60_000)
    await make_topic(own_link, "shrinking", retention_ms="-1")
    producer = AIOKafkaProducer(bootstrap_servers=running.bootstrap)
    await producer.start()
    for place in range(10):
        await producer.send_and_wait("shrinking", b"%d" % place * 50_000)
    await producer.stop()

    def delete_meanwhile(record: model_records.Record) -> bool:
        if record.offset == 0:
            running.call(lambda one: one.state.logs["shrinking", 0].delete_before(6))
        return True

    found = await read_records(
        own_link, query("shrinking", 0, model_records.First(), 20), Calling(call=delete_meanwhile)
    )
    # The next Fetch is sent while the first record is searched.
    read = [record.offset for record in found.records]
    gone = next(offset for offset in range(10) if offset not in read)
    assert gone < 4
    assert read == [*range(gone), 6, 7, 8, 9]
    assert found.notes == (f"shrinking-0: offsets {gone} to 5 were deleted meanwhile",)


async def test_the_stuck_group_of_the_demo_stands_on_a_record_that_is_not_json() -> None:
    with run_in_thread(ClusterSpec(scenario="groups")) as groups:
        async with worlds.linked(worlds.settings(groups)) as own_link:
            found = await read_records(own_link, query("logistics.shipments", 2, model_records.OfGroup("dispatch")))
    assert [kind(record.value) for record in found.records] == ["binary", "json", "json"]


async def test_records_are_decoded_and_looked_at_while_the_clients_loop_goes_on(
    running: ThreadedCluster, own_link: Link
) -> None:
    turned = threading.Event()

    def wanted(record: model_records.Record) -> bool:
        return turned.wait(patience.PATIENCE)

    first = asyncio.ensure_future(
        read_records(own_link, query("orders", 0, model_records.First(), 5), Calling(call=wanted))
    )
    asyncio.get_running_loop().call_later(0.05, turned.set)
    assert len((await first).records) == 5


@pytest.mark.parametrize("size", [LONG, 100 * LONG])
async def test_a_long_answer_is_decoded_while_the_clients_loop_goes_on(size: int) -> None:
    turned = threading.Event()
    decoding = asyncio.ensure_future(aside(size, lambda: turned.wait(patience.PATIENCE)))
    asyncio.get_running_loop().call_soon(turned.set)
    assert await decoding


# -- on real brokers --------------------------------------------------------------------------------------------------


CODECS = [None, "gzip", "snappy", "lz4", "zstd"]

HEADERS = [("trace", b"abc"), ("empty", b"")]


async def fill(kafka: KafkaCluster, topic: str) -> int:
    """Write with each codec: a batch, a committed, an aborted and another committed transaction; then write a
    tombstone. Return the number of records; records of aborted transactions are not counted.
    """
    count = 0
    for codec in CODECS:
        plain = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, compression_type=codec, linger_ms=20)
        await plain.start()
        sent = [
            await plain.send(topic, f"{codec} {place} ".encode() * 50, key=b"key-%d" % place, headers=HEADERS)
            for place in range(20)
        ]
        for each in sent:
            await each
        await plain.stop()
        producer = AIOKafkaProducer(
            bootstrap_servers=kafka.bootstrap, compression_type=codec, transactional_id=f"{topic}-{codec}"
        )
        await producer.start()
        for outcome in ("commit", "abort", "commit"):
            await producer.begin_transaction()
            for place in range(5):
                await producer.send_and_wait(topic, f"{codec} {outcome} {place} ".encode() * 20, key=b"in transaction")
            await (producer.abort_transaction() if outcome == "abort" else producer.commit_transaction())
        await producer.begin_transaction()
        await producer.send_and_wait(topic, None, key=b"deleted")
        await producer.commit_transaction()
        await producer.stop()
        count += 20 + 5 + 5 + 1
    return count


def told(records: Sequence[model_records.Record]) -> list[tuple[object, ...]]:
    return [(r.offset, r.timestamp, r.key, r.value, [(k.decode(), v) for k, v in r.headers]) for r in records]


async def as_aiokafka_reads(kafka: KafkaCluster, topic: str, isolation: str) -> list[tuple[object, ...]]:
    """Return all records of partition 0 as aiokafka's consumer reads them, as tuples. isolation: ``read_committed`` or
    ``read_uncommitted``.
    """
    place = TopicPartition(topic, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, isolation_level=isolation)
    await consumer.start()
    try:
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        (end,) = (await consumer.end_offsets([place])).values()
        found = []
        while await consumer.position(place) < end:
            for batch in (await consumer.getmany(timeout_ms=1_000)).values():
                found += [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in batch]
        return found
    finally:
        await consumer.stop()


def as_kafkas_consumer_prints(kafka: KafkaCluster, topic: str, isolation: str, count: int) -> list[str]:
    """Return the lines that kafka-console-consumer prints for the first `count` records of partition 0."""
    shown = ["print.timestamp", "print.offset", "print.headers", "print.key", "print.value"]
    ran = kafka.run_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", kafka.bootstrap, "--topic", topic, "--partition", "0", "--offset", "earliest"),
        *("--isolation-level", isolation, "--max-messages", str(count), "--timeout-ms", "20000"),
        *(word for name in shown for word in ("--property", f"{name}=true")),
    )
    return [line for line in ran.stdout.splitlines() if "Offset:" in line]


def as_it_would_print(record: model_records.Record) -> str:
    headers = ",".join(f"{key.decode()}:{(value or b'').decode()}" for key, value in record.headers)
    key, value = ("null" if part is None else part.decode() for part in (record.key, record.value))
    return f"CreateTime:{record.timestamp}\tOffset:{record.offset}\t{headers or 'NO_HEADERS'}\t{key}\t{value}"


async def read_all(link: Link, wanted: model_records.Search) -> model_records.RecordsRead:
    found = await read_records(link, wanted)
    assert (found.problems, found.undecodable) == ((), ())
    return found


async def test_every_codec_in_and_out_of_transactions(kafka: KafkaCluster, link: Link, name: str) -> None:
    await make_topic(link, name)
    committed = await fill(kafka, name)
    for isolation, is_committed in (("read_committed", True), ("read_uncommitted", False)):
        found = await read_all(link, query(name, 0, model_records.First(), 10_000, is_committed))
        assert told(found.records) == await as_aiokafka_reads(kafka, name, isolation)
        assert len(found.records) == committed + (0 if is_committed else 5 * len(CODECS))
        printed = as_kafkas_consumer_prints(kafka, name, isolation, len(found.records))
        assert [as_it_would_print(record) for record in found.records] == printed
        everything = found.records
        # The newest records, with reads that begin within batches; the records from each offset; then step by step.
        for count in (1, 7, 40, 10_000):
            newest = await read_all(link, query(name, 0, model_records.Last(), count, is_committed))
            assert newest.records == everything[-count:]
            oldest = await read_all(link, query(name, 0, model_records.First(), count, is_committed))
            assert oldest.records == everything[:count]
        for offset in range(0, everything[-1].offset + 1, 11):
            (first, *_) = (
                await read_all(link, query(name, 0, model_records.FromOffset(offset), 3, is_committed))
            ).records
            assert first == next(record for record in everything if record.offset >= offset)
        middle = everything[len(everything) // 2]
        since = await read_all(link, query(name, 0, model_records.FromTime(middle.timestamp), 1, is_committed))
        # The first such record in the log: no earlier than the wanted time.
        assert since.records[0].timestamp >= middle.timestamp
        assert since.records[0].offset <= middle.offset
    codecs = {record.batch.codec for record in everything}
    assert codecs == {"none", "gzip", "snappy", "lz4", "zstd"}
    transactional = [record for record in everything if record.batch.transactional]
    assert transactional
    assert all(record.batch.producer_id >= 0 and record.sequence >= 0 for record in transactional)


async def test_one_step_after_another_reads_everything_once(kafka: KafkaCluster, link: Link, name: str) -> None:
    await make_topic(link, name, partitions=3, retention_ms="-1")
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, compression_type="zstd")
    await producer.start()
    for place in range(60):
        moment = 1_700_000_000_000 + place
        await producer.send_and_wait(name, b"%d" % place, partition=place % 3, timestamp_ms=moment)
    await producer.stop()
    for start in (model_records.Last(), model_records.First()):
        found: list[bytes | None] = []
        step: model_records.Search | None = query(name, None, start, 7)
        while step is not None:
            one = await read_all(link, step)
            values = [record.value for record in one.records]
            found = [*values, *found] if isinstance(start, model_records.Last) else [*found, *values]
            more = one.progress.more
            step = None if more is None else query(name, None, more, 7)
        assert found == [b"%d" % place for place in range(60)]


async def test_a_groups_position_is_the_record_that_it_stands_on(kafka: KafkaCluster, link: Link, name: str) -> None:
    await make_topic(link, name, partitions=2)
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
    await producer.start()
    for place in range(6):
        value = b"\x00\x80 poison" if place == 3 else b'{"ok": %d}' % place
        await producer.send_and_wait(name, value, partition=0)
    await producer.stop()
    place = TopicPartition(name, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=name, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([place])
    await consumer.commit({place: 3})
    await consumer.stop()
    found = await read_all(link, query(name, 0, model_records.OfGroup(name), 1))
    assert [(record.offset, record.value) for record in found.records] == [(3, b"\x00\x80 poison")]
    with pytest.raises(errors.BrokerError, match="has committed nothing"):
        await read_records(link, query(name, 1, model_records.OfGroup(name)))
    whole = await read_all(link, query(name, None, model_records.OfGroup(name), 10))
    assert [record.offset for record in whole.records] == [3, 4, 5]
    assert any("1 of 2 partitions" in note for note in whole.notes)


async def test_records_of_an_open_transaction_are_only_read_uncommitted(
    kafka: KafkaCluster, link: Link, name: str
) -> None:
    await make_topic(link, name)
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=name)
    await producer.start()
    await producer.begin_transaction()
    await producer.send_and_wait(name, b"open")
    committed = await read_all(link, query(name))
    uncommitted = await read_all(link, query(name, committed=False))
    await producer.abort_transaction()
    await producer.stop()
    assert committed.records == ()
    held = f"{name}-0: an open transaction holds back offsets 0 to 0; uncommitted shows them"
    assert (committed.notes, uncommitted.notes) == ((held,), ())
    assert [record.value for record in uncommitted.records] == [b"open"]


async def test_what_is_not_there_is_said(kafka: KafkaCluster, link: Link, name: str) -> None:
    with pytest.raises(errors.BrokerError, match=r"UNKNOWN_TOPIC_OR_PARTITION.*"):
        await read_records(link, query(name))
    await make_topic(link, name, partitions=2)
    with pytest.raises(errors.BrokerError, match="has no partition 7"):
        await read_records(link, query(name, 7))
    with pytest.raises(errors.BrokerError, match="an offset is a partition's"):
        await read_records(link, query(name, None, model_records.FromOffset(1)))
    empty = await read_all(link, query(name))
    assert (empty.records, empty.progress.more) == ((), None)
    behind = await read_all(link, query(name, 0, model_records.FromOffset(5)))
    assert behind.notes == (f"{name}-0: offset 5 is behind the end 0",)


@pytest.mark.parametrize(("stored", "magic"), [("0.9.0", 0), ("0.10.2", 1), ("2.8", 2)])
async def test_message_sets_of_old_topics(kafka28: KafkaCluster, name: str, stored: str, magic: int) -> None:
    """kac reads topics whose records have the old formats v0 and v1. Kafka 2.8 returns batches in the format in which
    they were stored; brokers from 4.0 on store only v2.
    """
    async with worlds.linked(worlds.settings(kafka28)) as link:
        await make_topic(link, name, message_format_version=stored)
        # zstd needs v2 (KIP-110). lz4 in v0 has its own checksums (KIP-57), which no library checks in that form.
        for codec in CODECS[: magic + 3]:
            producer = AIOKafkaProducer(bootstrap_servers=kafka28.bootstrap, compression_type=codec, linger_ms=20)
            await producer.start()
            sent = [await producer.send(name, b"%d " % place * 30, key=b"k%d" % place) for place in range(10)]
            for each in sent:
                await each
            await producer.send_and_wait(name, None, key=b"gone")
            await producer.stop()
        wanted = await as_aiokafka_reads(kafka28, name, "read_uncommitted")
        found = await read_all(link, query(name, 0, model_records.First(), 1_000))
        # Records of v0 have no times: aiokafka returns None.
        times = [None if time == -1 else time for _, time, *_ in told(found.records)]
        assert [(offset, *rest) for offset, _, *rest in told(found.records)] == [(o, *rest) for o, _, *rest in wanted]
        assert times == [None if time == -1 else time for _, time, *_ in wanted]
        assert {record.batch.magic for record in found.records} == {magic}
        newest = await read_all(link, query(name, 0, model_records.Last(), 13))
        assert newest.records == found.records[-13:]
        middle = await read_all(link, query(name, 0, model_records.FromOffset(15), 4))
        assert [record.offset for record in middle.records] == [15, 16, 17, 18]


async def test_without_the_right_to_read_the_right_is_named(kafka: KafkaCluster, link: Link, name: str) -> None:
    await make_topic(link, name)
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
    await producer.start()
    await producer.send_and_wait(name, b"1")
    await producer.stop()
    may_see = acl.Acl(AclResourceType(2), name, PatternType(3), "User:alice", "*", AclOperation(8), Permission(3))
    assert await applied(link, changes.CreateAcls((may_see,)))
    sasl = settings.SaslSettings("PLAIN", "alice", secret.Secret(kafka.users["alice"]))
    async with worlds.linked(settings.ConnectionSettings(kafka.login_addresses, "SASL_PLAINTEXT", sasl)) as alice:
        with pytest.raises(errors.BrokerError, match="may not be read") as refused:
            await read_records(alice, query(name))
        assert f"READ on TOPIC {name}" in refused.value.failure.remedy


async def test_ten_megabytes_are_one_record(kafka: KafkaCluster, link: Link, name: str) -> None:
    """kac reads a record of ten megabytes, although this is more than kac requests from a partition: a leader returns
    the first batch whole (KIP-74).
    """
    await make_topic(link, name, max_message_bytes=str(16 << 20))
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, max_request_size=16 << 20)
    await producer.start()
    value = bytes(range(256)) * 40_960
    for each in (b"before", value, b"after"):
        await producer.send_and_wait(name, each)
    await producer.stop()
    found = await read_all(link, query(name, 0, model_records.First(), 10))
    assert [record.value for record in found.records] == [b"before", value, b"after"]


# ----------------------------------------------------------------------------------------------------------------------
# Searches of embedded clusters: to the end of several topics, by key, live, with many other topics, and while leaders
# move

PARTITIONS, RECORDS = 6, 600
TIME = 1_790_000_000_000


@contextmanager
def filled() -> Iterator[ThreadedCluster]:
    """Yield an embedded cluster of two brokers with records in two topics of orders."""
    with run_in_thread(ClusterSpec(brokers=2)) as filled_cluster:
        asyncio.run(_fill(filled_cluster))
        yield filled_cluster


async def _fill(filled_cluster: ThreadedCluster) -> None:
    async with worlds.linked(worlds.settings(filled_cluster)) as search_link:
        for topic in ("orders", "refunds"):
            await make_topic(search_link, topic, partitions=PARTITIONS, retention_ms="-1")
    producer = AIOKafkaProducer(bootstrap_servers=filled_cluster.bootstrap, compression_type="lz4", linger_ms=20)
    await producer.start()
    for topic in ("orders", "refunds"):
        for number in range(RECORDS):
            value = b'{"id": %d, "state": "%s", "card": "4%d"}' % (number, (b"open", b"paid")[number % 2], number)
            key = b"order-%d" % (number % 50)
            await producer.send(topic, value, key, java_partition(key, PARTITIONS), TIME + number)
    await producer.flush()
    await producer.stop()


filled_cluster = worlds.running(filled, scope="module")

search_link = worlds.link("filled_cluster", worlds.mend)


def of(*topics: str, start: model.Start | None = None, limit: int = 0, follow: bool = False) -> model.Search:
    return model.Search(topics, start=start or model.First(), limit=limit, follow=follow)


async def test_several_topics_are_searched_to_their_ends(search_link: Link) -> None:
    found = await read_records(search_link, of("orders", "refunds"), RecordFilter(where='value.state == "open"'))
    assert len(found.records) == RECORDS
    assert found.progress.looked_at == found.progress.of == 2 * RECORDS
    assert (found.progress.more, found.progress.stopped, found.problems) == (None, "", ())
    assert [record.timestamp for record in found.records] == sorted(record.timestamp for record in found.records)


async def test_a_limit_ends_the_search_and_it_goes_on_from_there(search_link: Link) -> None:
    wanted, seen, rounds = of("orders", limit=70), [], 0
    only = RecordFilter(text="paid")
    while True:
        found = await read_records(search_link, wanted, only)
        seen += [(record.partition, record.offset) for record in found.records]
        rounds += 1
        if found.progress.more is None:
            break
        assert (len(found.records), found.progress.stopped) == (70, "records")
        wanted = of("orders", start=found.progress.more, limit=70)
    assert rounds == 5
    assert len(seen) == len(set(seen)) == RECORDS // 2


@pytest.mark.parametrize("key_only", [False, True])
async def test_a_key_is_looked_for_first_where_partitioners_put_it(search_link: Link, *, key_only: bool) -> None:
    key = next(
        each
        for number in range(50)
        if len({java_partition(each := b"order-%d" % number, PARTITIONS), librdkafka_partition(each, PARTITIONS)}) == 2
    )
    only = RecordFilter(key=key.decode(), key_only=key_only)
    found = await read_records(search_link, of("orders"), only)
    assert {record.key for record in found.records} == {key}
    assert len(found.records) == RECORDS // 50
    likely = {java_partition(key, PARTITIONS), librdkafka_partition(key, PARTITIONS)}
    searched = {each.partition for each in found.progress.scanned}
    assert searched == (likely if key_only else set(range(PARTITIONS)))
    (note,) = found.notes
    assert ("searched only there" in note) is key_only
    first = await read_records(search_link, of("orders", limit=1), only)
    assert {each.partition for each in first.progress.scanned if each.next > each.first} <= likely


async def test_masked_contents_are_not_found(search_link: Link) -> None:
    decoder = record_decoding.RecordDecoder((record_masks.mask_path("$.card"),))
    for only in (RecordFilter(text="4123"), RecordFilter(where='value.card == "4123"')):
        assert len((await read_records(search_link, of("orders"), only)).records) == 1
        assert (await read_records(search_link, of("orders"), only, decoder)).records == ()
    masked = await read_records(search_link, of("orders"), RecordFilter(where='value.card == "••••"'), decoder)
    assert len(masked.records) == RECORDS


async def test_a_search_until_a_time_and_from_a_time(search_link: Link) -> None:
    wanted = model.Search(("orders",), start=model.FromTime(TIME + 100), until=model.ToTime(TIME + 200))
    found = await read_records(search_link, wanted)
    assert [record.timestamp for record in found.records] == [*range(TIME + 100, TIME + 200)]
    nothing = await read_records(search_link, of("orders", start=model.FromTime(TIME + 10**6)))
    assert nothing.records == ()
    assert all("no record is as new as that" in note for note in nothing.notes)


async def test_the_newest_record_of_each_key(search_link: Link) -> None:
    found = await read_records(search_link, model.Search(("orders",), start=model.First(), latest_by_key=True))
    assert sorted(record.timestamp - TIME for record in found.records) == [*range(RECORDS - 50, RECORDS)]


async def test_new_records_come_as_they_are_written(filled_cluster: ThreadedCluster, search_link: Link) -> None:
    await make_topic(search_link, "live", partitions=2)
    producer = AIOKafkaProducer(bootstrap_servers=filled_cluster.bootstrap)
    await producer.start()
    await producer.send_and_wait("live", b"before", partition=0)
    halt, found, sent = record_search.Halt(), list[bytes | None](), 0
    async with (
        asyncio.timeout(patience.PATIENCE),
        aclosing(
            record_search.search(search_link, of("live", start=model.FromEnd(), follow=True), halt=halt)
        ) as portions,
    ):
        async for portion in portions:
            found += [record.value for record in portion.records]
            if len(found) == sent and sent < 3:
                await producer.send_and_wait("live", b"%d" % sent, partition=sent % 2)
                sent += 1
            elif len(found) == 3:
                halt.ask()
    await producer.stop()
    assert found == [b"0", b"1", b"2"]
    assert portion.progress.more == model.FromOffsets({("live", 0): 3, ("live", 1): 1})
    assert search_link.turns.followers == 0


async def test_other_requests_are_answered_beside_forty_searches(search_link: Link) -> None:
    searches = [
        asyncio.create_task(read_records(search_link, of("orders", "refunds"), RecordFilter(where="value.id == 7")))
        for _ in range(40)
    ]
    longest = 0.0
    while not all(search.done() for search in searches):
        began = time.monotonic()
        await describe_topics(search_link, ["orders"])
        longest = max(longest, time.monotonic() - began)
        await asyncio.sleep(0)
    assert [len((await search).records) for search in searches] == [2] * 40
    assert longest < patience.PATIENCE / 4


async def test_a_search_waits_while_leaders_move_and_says_what_it_gave_up(
    filled_cluster: ThreadedCluster, search_link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled_cluster.call(lambda one: one.faults.add(Fault(Fail(6), api="fetch", times=5)))
    found = await read_records(search_link, of("orders"))
    assert len(found.records) == RECORDS
    monkeypatch.setattr(record_search, "PATIENCE", 0.3)
    filled_cluster.call(lambda one: one.faults.add(Fault(Fail(6), api="fetch")))
    with pytest.raises(errors.BrokerError, match=r"offsets 0 to \d+ of orders-\d were not searched"):
        await read_records(search_link, of("orders"))


async def test_a_rate_holds_a_search_back(search_link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_search, "LEAST_BYTES", 1_000)
    whole = await read_records(search_link, of("orders"))
    slow = await read_records(
        search_link, model.Search(("orders",), start=model.First(), rate=whole.progress.bytes // 4)
    )
    assert len(slow.records) == RECORDS
    assert slow.progress.seconds >= 1


async def test_a_reader_that_takes_nothing_stops_the_fetches(search_link: Link) -> None:
    async with aclosing(record_search.search(search_link, of("orders", "refunds"))) as portions:
        await anext(portions)
        async with asyncio.timeout(patience.PATIENCE):
            await describe_topics(search_link, ["orders"])


async def test_results_beyond_memorys_part_are_in_a_file_without_a_name(
    search_link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_file, "MOST_KEPT", 10_000)
    wanted = of("orders", "refunds")
    collected = Collected(wanted)
    async with aclosing(record_search.search(search_link, wanted)) as portions:
        async for portion in portions:
            collected.add(portion)
    found = collected.read().records
    assert isinstance(found, record_file.FoundRecords)
    assert found.is_spilled
    times = [record.timestamp for record in found]
    assert (len(times), times) == (2 * RECORDS, sorted(times))
    assert found[-1] == found[2 * RECORDS - 1] == found[-1:][0]


async def test_a_leader_that_hangs_does_not_hold_up_the_other(
    filled_cluster: ThreadedCluster, search_link: Link
) -> None:
    filled_cluster.call(lambda one: one.faults.add(Fault(Delay(30), api="fetch", broker=1)))
    halt = record_search.Halt()
    found = 0
    async with aclosing(record_search.search(search_link, of("orders"), halt=halt)) as portions:
        async for portion in portions:
            found += len(portion.records)
            done = [each for each in portion.progress.scanned if each.next == each.end > 0]
            if len(done) * 2 >= len([each for each in portion.progress.scanned if each.end]) - 1 and found:
                halt.ask()
    assert 0 < found < RECORDS
    assert portion.progress.more is not None
