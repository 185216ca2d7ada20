"""Searches of embedded clusters: to the end of several topics, by key, live, beside many others, while leaders move."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import record_file, record_search
from console.admin.errors import BrokerError
from console.admin.link import Link
from console.admin.topics import describe_topics
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.faults import Delay, Fail, Fault
from console.embedded.spec import ClusterSpec
from console.model import records as model
from console.model.partitioners import java_partition, librdkafka_partition
from console.model.record_decoding import RecordDecoder
from console.model.record_filter import RecordFilter
from console.model.record_masks import mask_path
from console.session.record_reading import Collected
from tests.support import worlds
from tests.support.changing import make_topic
from tests.support.patience import PATIENCE
from tests.support.searching import read_records

PARTITIONS, RECORDS = 6, 600
TIME = 1_790_000_000_000


@contextmanager
def filled() -> Iterator[ThreadedCluster]:
    """Two topics of orders on two brokers."""
    with run_in_thread(ClusterSpec(brokers=2)) as running:
        asyncio.run(_fill(running))
        yield running


async def _fill(running: ThreadedCluster) -> None:
    async with worlds.linked(worlds.settings(running)) as link:
        for topic in ("orders", "refunds"):
            await make_topic(link, topic, partitions=PARTITIONS, retention_ms="-1")
    producer = AIOKafkaProducer(bootstrap_servers=running.bootstrap, compression_type="lz4", linger_ms=20)
    await producer.start()
    for topic in ("orders", "refunds"):
        for number in range(RECORDS):
            value = b'{"id": %d, "state": "%s", "card": "4%d"}' % (number, (b"open", b"paid")[number % 2], number)
            key = b"order-%d" % (number % 50)
            await producer.send(topic, value, key, java_partition(key, PARTITIONS), TIME + number)
    await producer.flush()
    await producer.stop()


running = worlds.running(filled, scope="module")

link = worlds.link("running", worlds.mend)


def of(*topics: str, start: model.Start | None = None, limit: int = 0, follow: bool = False) -> model.Search:
    return model.Search(topics, start=start or model.First(), limit=limit, follow=follow)


async def test_several_topics_are_searched_to_their_ends(link: Link) -> None:
    found = await read_records(link, of("orders", "refunds"), RecordFilter(where='value.state == "open"'))
    assert len(found.records) == RECORDS
    assert found.progress.looked_at == found.progress.of == 2 * RECORDS
    assert (found.progress.more, found.progress.stopped, found.problems) == (None, "", ())
    assert [record.timestamp for record in found.records] == sorted(record.timestamp for record in found.records)


async def test_a_limit_ends_the_search_and_it_goes_on_from_there(link: Link) -> None:
    wanted, seen, rounds = of("orders", limit=70), [], 0
    only = RecordFilter(text="paid")
    while True:
        found = await read_records(link, wanted, only)
        seen += [(record.partition, record.offset) for record in found.records]
        rounds += 1
        if found.progress.more is None:
            break
        assert (len(found.records), found.progress.stopped) == (70, "records")
        wanted = of("orders", start=found.progress.more, limit=70)
    assert rounds == 5
    assert len(seen) == len(set(seen)) == RECORDS // 2


@pytest.mark.parametrize("key_only", [False, True])
async def test_a_key_is_looked_for_first_where_partitioners_put_it(link: Link, *, key_only: bool) -> None:
    key = next(
        each
        for number in range(50)
        if len({java_partition(each := b"order-%d" % number, PARTITIONS), librdkafka_partition(each, PARTITIONS)}) == 2
    )
    only = RecordFilter(key=key.decode(), key_only=key_only)
    found = await read_records(link, of("orders"), only)
    assert {record.key for record in found.records} == {key}
    assert len(found.records) == RECORDS // 50
    likely = {java_partition(key, PARTITIONS), librdkafka_partition(key, PARTITIONS)}
    searched = {each.partition for each in found.progress.scanned}
    assert searched == (likely if key_only else set(range(PARTITIONS)))
    (note,) = found.notes
    assert ("searched only there" in note) is key_only
    first = await read_records(link, of("orders", limit=1), only)
    assert {each.partition for each in first.progress.scanned if each.next > each.first} <= likely


async def test_masked_contents_are_not_found(link: Link) -> None:
    decoder = RecordDecoder((mask_path("$.card"),))
    for only in (RecordFilter(text="4123"), RecordFilter(where='value.card == "4123"')):
        assert len((await read_records(link, of("orders"), only)).records) == 1
        assert (await read_records(link, of("orders"), only, decoder)).records == ()
    masked = await read_records(link, of("orders"), RecordFilter(where='value.card == "••••"'), decoder)
    assert len(masked.records) == RECORDS


async def test_a_search_until_a_time_and_from_a_time(link: Link) -> None:
    wanted = model.Search(("orders",), start=model.FromTime(TIME + 100), until=model.ToTime(TIME + 200))
    found = await read_records(link, wanted)
    assert [record.timestamp for record in found.records] == [*range(TIME + 100, TIME + 200)]
    nothing = await read_records(link, of("orders", start=model.FromTime(TIME + 10**6)))
    assert nothing.records == ()
    assert all("no record is as new as that" in note for note in nothing.notes)


async def test_the_newest_record_of_each_key(link: Link) -> None:
    found = await read_records(link, model.Search(("orders",), start=model.First(), latest_by_key=True))
    assert sorted(record.timestamp - TIME for record in found.records) == [*range(RECORDS - 50, RECORDS)]


async def test_new_records_come_as_they_are_written(running: ThreadedCluster, link: Link) -> None:
    await make_topic(link, "live", partitions=2)
    producer = AIOKafkaProducer(bootstrap_servers=running.bootstrap)
    await producer.start()
    await producer.send_and_wait("live", b"before", partition=0)
    halt, found, sent = record_search.Halt(), list[bytes | None](), 0
    async with (
        asyncio.timeout(PATIENCE),
        aclosing(record_search.search(link, of("live", start=model.FromEnd(), follow=True), halt=halt)) as portions,
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
    assert link.turns.followers == 0


async def test_other_requests_are_answered_beside_forty_searches(link: Link) -> None:
    searches = [
        asyncio.create_task(read_records(link, of("orders", "refunds"), RecordFilter(where="value.id == 7")))
        for _ in range(40)
    ]
    longest = 0.0
    while not all(search.done() for search in searches):
        began = time.monotonic()
        await describe_topics(link, ["orders"])
        longest = max(longest, time.monotonic() - began)
        await asyncio.sleep(0)
    assert [len((await search).records) for search in searches] == [2] * 40
    assert longest < PATIENCE / 4


async def test_a_search_waits_while_leaders_move_and_says_what_it_gave_up(
    running: ThreadedCluster, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.call(lambda one: one.faults.add(Fault(Fail(6), api="fetch", times=5)))
    found = await read_records(link, of("orders"))
    assert len(found.records) == RECORDS
    monkeypatch.setattr(record_search, "PATIENCE", 0.3)
    running.call(lambda one: one.faults.add(Fault(Fail(6), api="fetch")))
    with pytest.raises(BrokerError, match=r"offsets 0 to \d+ of orders-\d were not searched"):
        await read_records(link, of("orders"))


async def test_a_rate_holds_a_search_back(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_search, "LEAST_BYTES", 1_000)
    whole = await read_records(link, of("orders"))
    slow = await read_records(link, model.Search(("orders",), start=model.First(), rate=whole.progress.bytes // 4))
    assert len(slow.records) == RECORDS
    assert slow.progress.seconds >= 1


async def test_a_reader_that_takes_nothing_stops_the_fetches(link: Link) -> None:
    async with aclosing(record_search.search(link, of("orders", "refunds"))) as portions:
        await anext(portions)
        async with asyncio.timeout(PATIENCE):
            await describe_topics(link, ["orders"])


async def test_results_beyond_memorys_part_are_in_a_file_without_a_name(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_file, "MOST_KEPT", 10_000)
    wanted = of("orders", "refunds")
    collected = Collected(wanted)
    async with aclosing(record_search.search(link, wanted)) as portions:
        async for portion in portions:
            collected.add(portion)
    found = collected.read().records
    assert isinstance(found, record_file.FoundRecords)
    assert found.is_spilled
    times = [record.timestamp for record in found]
    assert (len(times), times) == (2 * RECORDS, sorted(times))
    assert found[-1] == found[2 * RECORDS - 1] == found[-1:][0]


async def test_a_leader_that_hangs_does_not_hold_up_the_other(running: ThreadedCluster, link: Link) -> None:
    running.call(lambda one: one.faults.add(Fault(Delay(30), api="fetch", broker=1)))
    halt = record_search.Halt()
    found = 0
    async with aclosing(record_search.search(link, of("orders"), halt=halt)) as portions:
        async for portion in portions:
            found += len(portion.records)
            done = [each for each in portion.progress.scanned if each.next == each.end > 0]
            if len(done) * 2 >= len([each for each in portion.progress.scanned if each.end]) - 1 and found:
                halt.ask()
    assert 0 < found < RECORDS
    assert portion.progress.more is not None
