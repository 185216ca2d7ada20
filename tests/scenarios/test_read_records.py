"""Records of embedded clusters in trouble: damaged batches, hung and failing leaders, deleted offsets. What is read
from real brokers, 4.3 and 3.9, is what aiokafka's and Kafka's own consumers read: every codec, in transactions and
without, committed or not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.admin import record_search
from console.admin.errors import BrokerError
from console.admin.link import LONG, Link, aside
from console.admin.settings import ConnectionSettings, SaslSettings
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import Delay, Fail, Fault
from console.embedded.spec import ClusterSpec
from console.model import records as model_records
from console.model.acl import Acl
from console.model.changes import CreateAcls
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.record_filter import RecordFilter
from console.model.secret import Secret
from console.present.records import kind
from tests.embedded.poisoned import poisoned
from tests.support import worlds
from tests.support.changing import applied, make_topic
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE
from tests.support.searching import query, read_records

running = worlds.running(poisoned, scope="module")
"""Ten records in partition 0 of orders, three in partition 1."""

own_link = worlds.link("running", worlds.mend)


class Calling(RecordFilter, frozen=True):
    """A filter that calls a function."""

    call: Callable[[model_records.Record], bool] = lambda _: True

    def __bool__(self) -> bool:
        return True

    def matches(self, record: model_records.Record) -> bool:
        return self.call(record)


def fault(running: ThreadedCluster, effect: Fail | Delay, times: int | None = None) -> None:
    """For Fetch, from now on, or so many times."""
    running.call(lambda one: one.faults.add(Fault(effect, api="fetch", times=times)))


def damage(one: EmbeddedCluster, place: int) -> None:
    """Change a byte of a batch's records."""
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
    with pytest.raises(BrokerError, match="NOT_LEADER_OR_FOLLOWER: orders-0"):
        await read_records(own_link, query("orders", 0))


async def test_a_missing_right_is_named(running: ThreadedCluster, own_link: Link) -> None:
    fault(running, Fail(29))
    with pytest.raises(BrokerError, match="may not be read") as refused:
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
    # The Fetch for the next record is under way while the first one is searched.
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
        return turned.wait(PATIENCE)

    first = asyncio.ensure_future(
        read_records(own_link, query("orders", 0, model_records.First(), 5), Calling(call=wanted))
    )
    asyncio.get_running_loop().call_later(0.05, turned.set)
    assert len((await first).records) == 5


@pytest.mark.parametrize("size", [LONG, 100 * LONG])
async def test_a_long_answer_is_decoded_while_the_clients_loop_goes_on(size: int) -> None:
    turned = threading.Event()
    decoding = asyncio.ensure_future(aside(size, lambda: turned.wait(PATIENCE)))
    asyncio.get_running_loop().call_soon(turned.set)
    assert await decoding


# -- on real brokers --------------------------------------------------------------------------------------------------


CODECS = [None, "gzip", "snappy", "lz4", "zstd"]


HEADERS = [("trace", b"abc"), ("empty", b"")]


async def fill(kafka: KafkaCluster, topic: str) -> int:
    """Of each codec: a batch, a committed, an aborted and a committed transaction, then a tombstone. Returns how many
    records are committed."""
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
    """All records of partition 0."""
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
    """The lines of kafka-console-consumer."""
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
        # The newest, by stretches that begin within batches; from each offset; in steps that follow one another.
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
        # The first of them in the log; its time is not before the wanted one.
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
    with pytest.raises(BrokerError, match="has committed nothing"):
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
    with pytest.raises(BrokerError, match=r"UNKNOWN_TOPIC_OR_PARTITION.*"):
        await read_records(link, query(name))
    await make_topic(link, name, partitions=2)
    with pytest.raises(BrokerError, match="has no partition 7"):
        await read_records(link, query(name, 7))
    with pytest.raises(BrokerError, match="an offset is a partition's"):
        await read_records(link, query(name, None, model_records.FromOffset(1)))
    empty = await read_all(link, query(name))
    assert (empty.records, empty.progress.more) == ((), None)
    behind = await read_all(link, query(name, 0, model_records.FromOffset(5)))
    assert behind.notes == (f"{name}-0: offset 5 is behind the end 0",)


@pytest.mark.parametrize(("stored", "magic"), [("0.9.0", 0), ("0.10.2", 1), ("2.8", 2)])
async def test_message_sets_of_old_topics(kafka28: KafkaCluster, name: str, stored: str, magic: int) -> None:
    """2.8 returns what its log holds; brokers from 4.0 on hold only v2."""
    async with worlds.linked(worlds.settings(kafka28)) as link:
        await make_topic(link, name, message_format_version=stored)
        # zstd needs v2 (KIP-110); lz4 of v0 has checksums of its own (KIP-57), which no library checks so.
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
        # Of v0, which has no times, aiokafka gives None.
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
    may_see = Acl(AclResourceType(2), name, PatternType(3), "User:alice", "*", AclOperation(8), Permission(3))
    assert await applied(link, CreateAcls((may_see,)))
    sasl = SaslSettings("PLAIN", "alice", Secret(kafka.users["alice"]))
    async with worlds.linked(ConnectionSettings(kafka.login_addresses, "SASL_PLAINTEXT", sasl)) as alice:
        with pytest.raises(BrokerError, match="may not be read") as refused:
            await read_records(alice, query(name))
        assert f"READ on TOPIC {name}" in refused.value.failure.remedy


async def test_ten_megabytes_are_one_record(kafka: KafkaCluster, link: Link, name: str) -> None:
    """More than is asked of a partition at once: a leader sends the first batch whole (KIP-74)."""
    await make_topic(link, name, max_message_bytes=str(16 << 20))
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, max_request_size=16 << 20)
    await producer.start()
    value = bytes(range(256)) * 40_960
    for each in (b"before", value, b"after"):
        await producer.send_and_wait(name, each)
    await producer.stop()
    found = await read_all(link, query(name, 0, model_records.First(), 10))
    assert [record.value for record in found.records] == [b"before", value, b"after"]
