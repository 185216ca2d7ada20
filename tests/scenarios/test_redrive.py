"""Tests of `redrive`, which writes each dead letter back to its original topic exactly once, on embedded clusters and
on real brokers.
"""

import asyncio
import dataclasses
import json
import random
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from kio.schema.errors import ErrorCode
from msgspec.structs import replace

from console.admin import errors, record_search
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.exactly_once import Exactly, Fenced, Interrupted, commit, give_up, stable_positions, take_over
from console.admin.link import Link
from console.contexts.context import Context
from console.embedded import faults
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.journal import operations as journal_operations
from console.journal.entries import this_operator, this_process
from console.journal.file import JournalFile
from console.model.changes import CreateTopics, NewTopic
from console.model.cluster import CommittedOffset
from console.model.config import topic_resource
from console.model.dead_letters import Redrive, condition_of
from console.model.journal_lines import OperationLine
from console.model.new_records import NewRecord
from console.model.records import First, Search
from console.operations.operation import Operation, SentLetters, State
from console.plan.risk_rules import SENT_BEFORE
from console.session import operating
from console.session.operation_work import Pace
from console.session.record_reading import RecordReader
from console.session.redriving import desk_of, judged, survey, with_ends
from console.session.session import Session
from console.session.snapshot_reader import WALL, Refused
from tests.support import dead_letters, forked_runs, patience, real_clusters, registry_server, worlds
from tests.support.kafka_cluster import KafkaCluster

DEAD, ORDERS, OTHERS = "orders.dlt", "orders", "others"
TOPICS = (
    worlds.topic(DEAD, [(1, 2), (2, 3)]),
    worlds.topic(ORDERS, [(2, 3), (3, 1)]),
    worlds.topic(OTHERS, [(1, 2)]),
)
LOST, NEVER_CAME = faults.Cut(faults.Moment.AFTER), faults.Cut(faults.Moment.BEFORE)
SETTINGS: dict[str, Any] = {"request_timeout": 3.0, "lost_answer_timeout": 0.5}
PACE = Pace(first=0.02, most=0.1, patience=3.0)

cluster = worlds.cluster(ClusterSpec(brokers=3), *TOPICS)
link = worlds.link("cluster", **SETTINGS)
session = worlds.session("cluster", **SETTINGS)
kac = worlds.commands()


def letter(number: int, topic: str = ORDERS, partition: int = 0, **more: Any) -> NewRecord:
    headers = ((b"trace", b"t-%d" % number), *dead_letters.spring(topic, partition, number, **more))
    return NewRecord(b"k%d" % number, b'{"n": %d}' % number, headers)


async def with_letters(link: Link, count: int = 20) -> None:
    """Write `count` dead letters of topic orders to the two partitions of the dead-letter topic, and one letter of
    another topic.
    """
    for partition in (0, 1):
        await dead_letters.write(
            link, DEAD, partition, [letter(n, partition=n % 2) for n in range(partition, count, 2)]
        )
    await dead_letters.write(link, DEAD, 0, [letter(100, OTHERS)])


def values(*numbers: int) -> Counter[bytes | None]:
    return Counter(b'{"n": %d}' % number for number in numbers)


def stands(cluster: ThreadedCluster, group: str, at: dict[tuple[str, int], int]) -> None:
    """Commit these offsets for a group; its committed offsets of other partitions stay. at: (topic, partition) ->
    offset.
    """

    def put(each: EmbeddedCluster) -> None:
        found = each.state.groups.get(group)
        known = {place: committed.offset for place, committed in found.offsets.items()} if found else {}
        worlds.group(group, {**known, **at})(each)

    cluster.call(put)


class Told(list[str]):
    """The lines that an operation prints. `until` waits for a line that contains a text, and raises TimeoutError after
    `patience.PATIENCE` seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self._came = asyncio.Event()

    def __call__(self, line: str) -> None:
        self.append(line)
        self._came.set()

    async def until(self, text: str) -> None:
        async with asyncio.timeout(patience.PATIENCE):
            while not any(text in line for line in self):
                await self._came.wait()
                self._came.clear()


async def done(session: Session, goal: Redrive, throttle: int | None = None, pace: Pace = PACE) -> Operation:
    """Begin a redrive, and work on it until it ends or stalls; return the operation. throttle: letters per second; None
    for no limit.
    """
    number = await operating.begin(session, await with_ends(desk_of(session), goal), throttle)
    return await operating.work_on(session, number, pace=pace)


def why_stalled(stopped: Operation) -> str:
    """Return the first reason why a stalled operation does not continue. Raises AssertionError if the operation has
    ended or has not stalled.
    """
    assert (stopped.state, stopped.ended) == (State.STALLED, None)
    assert stopped.progress is not None
    return stopped.progress.waits[0]


async def test_each_letter_goes_back_once(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    await with_letters(link)
    over = await done(session, Redrive(DEAD))
    assert over.state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(20))
    assert await dead_letters.counted(link, OTHERS) == values(100)
    sent = await dead_letters.read(link, ORDERS)
    assert {(each.partition, each.value) for each in sent} == {(n % 2, b'{"n": %d}' % n) for n in range(20)}
    assert {each.headers for each in sent} == {((b"trace", b"t-%d" % n),) for n in range(20)}
    # A second redrive, with one new letter, sends only that letter.
    await dead_letters.write(link, DEAD, 1, [letter(20)])
    assert (await done(session, Redrive(DEAD))).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(21))


async def test_letters_that_were_not_chosen_stay_and_are_counted(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    await with_letters(link)
    goal = Redrive(DEAD, "value.n < 5", OTHERS)
    found, _ = await survey(desk_of(session), await with_ends(desk_of(session), goal))
    assert (found.count, found.chosen) == (21, 5)
    over = await done(session, goal)
    assert over.state is State.DONE
    known = await operating.read_operations(session, ended=1)
    (sent,) = [each.sent for each in known.ended]
    assert sum(count for each in sent for *_, count in each.written) == 5
    assert await dead_letters.counted(link, OTHERS) == values(*range(5))
    assert await dead_letters.counted(link, ORDERS) == Counter()
    # The group's positions have the counts as metadata.
    offsets = cluster.call(lambda each: dict(each.state.groups[goal.group].offsets))
    assert sorted(each.metadata for each in offsets.values()) == ["kac sent=2 stayed=8", "kac sent=3 stayed=8"]


async def test_a_letter_without_headers_needs_a_topic(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    await dead_letters.write(link, DEAD, 0, [NewRecord(b"k", b"plain"), letter(1, "gone")])
    found, _ = await survey(desk_of(session), await with_ends(desk_of(session), Redrive(DEAD)))
    assert found.in_the_way == (
        "1 chosen letter without headers that name a topic",
        "1 chosen letter of topics that do not exist",
    )
    stopped = await done(session, Redrive(DEAD))
    assert "without headers that name a topic" in why_stalled(stopped)
    await operating.ask_of(session, stopped.number, cancel=True)
    assert (await operating.work_on(session, stopped.number, pace=PACE)).state is State.CANCELLED
    assert (await done(session, Redrive(DEAD, to=ORDERS))).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == Counter([b"plain", b'{"n": 1}'])


@pytest.mark.parametrize("effect", [LOST, NEVER_CAME, faults.HalfFrame()])
@pytest.mark.parametrize(
    "api", ["init_producer_id", "offset_fetch", "produce", "txn_offset_commit", "end_txn", "fetch", "metadata"]
)
async def test_lost_answers_send_nothing_twice(
    cluster: ThreadedCluster, link: Link, session: Session, api: str, effect: faults.Effect
) -> None:
    await with_letters(link)
    for nth in (2, 5):
        fault = faults.Fault(effect, api=api, nth=nth, times=1)
        cluster.call(lambda each, fault=fault: each.faults.add(fault))
    assert (await done(session, Redrive(DEAD), throttle=300)).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(20))


async def with_canary(
    cluster: ThreadedCluster, link: Link, session: Session
) -> tuple[int, Told, asyncio.Task[Operation]]:
    """Begin a redrive to a topic that a group reads, and wait until the first letter, the canary, was sent. Return the
    operation's number, the lines that it prints, and the task that works on it.
    """
    await with_letters(link)
    stands(cluster, "billing", {(ORDERS, 0): 0, (ORDERS, 1): 0})
    told = Told()
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), None)
    working = asyncio.create_task(operating.work_on(session, number, told, PACE))
    await told.until("the first letter is at")
    return number, told, working


async def test_the_canary_passes(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    _, told, working = await with_canary(cluster, link, session)
    assert sum((await dead_letters.counted(link, ORDERS)).values()) == 1
    (first,) = await dead_letters.read(link, ORDERS)
    stands(cluster, "billing", {(ORDERS, first.partition): first.offset + 1})
    assert (await working).state is State.DONE
    assert f"group billing passed the first letter (orders-{first.partition} offset {first.offset})" in told
    assert await dead_letters.counted(link, ORDERS) == values(*range(20))


async def test_the_canary_comes_back(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    number, _, working = await with_canary(cluster, link, session)
    (first,) = await dead_letters.read(link, ORDERS)
    again = dead_letters.spring(ORDERS, first.partition, first.offset, "java.lang.IllegalStateException")
    await dead_letters.write(link, DEAD, 0, [NewRecord(first.key, first.value, again)])
    stands(cluster, "billing", {(ORDERS, first.partition): first.offset + 1})
    stopped = await working
    assert "came back, as orders.dlt-0 offset 11" in why_stalled(stopped)
    assert f"kac redrive --cancel {number}, and begin it again" in why_stalled(stopped)
    assert stopped.progress is not None
    assert stopped.progress.letters is not None
    assert stopped.progress.letters.came_back == 1
    assert sum((await dead_letters.counted(link, ORDERS)).values()) == 1
    await operating.ask_of(session, number, cancel=True)
    assert (await operating.work_on(session, number, pace=PACE)).state is State.CANCELLED
    stands(cluster, "billing", {(ORDERS, 0): 99, (ORDERS, 1): 99})
    assert (await done(session, Redrive(DEAD))).state is State.DONE
    sent = await dead_letters.counted(link, ORDERS)
    assert sent == values(*range(20)) + Counter([first.value])


async def test_nobody_passes_the_canary(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    await with_letters(link)
    stands(cluster, "billing", {(ORDERS, 0): 0, (ORDERS, 1): 0})
    stopped = await done(session, Redrive(DEAD), pace=replace(PACE, patience=0.2))
    assert "no group passed the first letter" in why_stalled(stopped)
    assert "billing is at 0" in why_stalled(stopped)


async def test_letters_whose_schema_can_not_be_asked_for_are_not_passed_over(
    cluster: ThreadedCluster, link: Link
) -> None:
    text = '{"type": "record", "name": "N", "fields": [{"name": "n", "type": "int"}]}'
    goal = Redrive(DEAD, "value.n < 5", ORDERS)
    with (
        registry_server.registry() as schemas,
        AdminClient(worlds.settings(cluster, schemas=schemas.settings, **SETTINGS)) as client,
    ):
        number = schemas.register("orders-value", text)
        framed = b"\0" + number.to_bytes(4) + b"\x04"
        lacking = b"\0" + (99).to_bytes(4) + b"\x04"
        await dead_letters.write(link, DEAD, 0, [NewRecord(b"k", framed), NewRecord(b"k", lacking)])
        session = Session(client, Context("test", "tests", client.settings), "test")
        schemas.bad[f"/schemas/ids/{number}"] = registry_server.Bad(status=503)
        with pytest.raises(Refused, match=r"can't be applied .* 503"):
            await survey(desk_of(session), await with_ends(desk_of(session), goal))
        waits = await done(session, goal, pace=replace(PACE, patience=0.2))
        assert "the registry answers 503" in why_stalled(waits)
        schemas.bad.clear()
        # Another process asks the registry again; a schema that the registry does not have stops nothing.
        again = Session(client, Context("test", "tests", client.settings), "test")
        assert (await operating.work_on(again, waits.number, pace=PACE)).state is State.DONE
        assert await dead_letters.counted(link, ORDERS) == Counter([framed])


def forget(cluster: ThreadedCluster, group: str) -> None:
    """Let the coordinator delete a group, as after offsets.retention.minutes."""
    cluster.call(lambda each: each.state.groups.pop(group))


async def test_positions_that_the_cluster_forgot_are_those_of_the_journal(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    await with_letters(link)
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), 5)
    some = asyncio.Event()
    working = asyncio.create_task(
        operating.work_on(
            session, number, pace=PACE, on_progress=lambda each: some.set() if each.letters.sent > 1 else None
        )
    )
    async with asyncio.timeout(patience.PATIENCE):
        await some.wait()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    forget(cluster, Redrive(DEAD).group)
    await operating.ask_of(session, number, throttle=0)
    assert (await operating.work_on(session, number, pace=PACE)).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(20))
    # the same for the next operation with these letters
    forget(cluster, Redrive(DEAD).group)
    await dead_letters.write(link, DEAD, 1, [letter(20)])
    goal = await with_ends(desk_of(session), Redrive(DEAD))
    assert (await survey(desk_of(session), goal))[0].count == 1
    assert (await done(session, Redrive(DEAD))).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(21))


async def test_the_group_in_which_the_letter_failed_has_to_pass(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    await with_letters(link)
    stands(cluster, "billing", {(ORDERS, 0): 0, (ORDERS, 1): 0})
    stands(cluster, "audit", {(ORDERS, 0): 99, (ORDERS, 1): 99})
    stopped = await done(session, Redrive(DEAD), pace=replace(PACE, patience=0.2))
    assert why_stalled(stopped).endswith("billing is at 0")
    # Another process waits for the same group.
    stopped = await operating.work_on(session, stopped.number, pace=replace(PACE, patience=0.2))
    assert why_stalled(stopped).endswith("billing is at 0")
    assert sum((await dead_letters.counted(link, ORDERS)).values()) == 1


async def test_a_group_without_members_does_not_pass_for_one_with_members(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    headers = ((b"__connect.errors.topic", ORDERS.encode()), (b"__connect.errors.partition", b"0"))
    await dead_letters.write(link, DEAD, 0, [NewRecord(b"k%d" % n, b'{"n": %d}' % n, headers) for n in range(3)])
    stands(cluster, "abandoned", {(ORDERS, 0): 99, (ORDERS, 1): 99})
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "alive", "enable.auto.commit": False})
    try:
        consumer.subscribe([ORDERS])
        async with asyncio.timeout(patience.PATIENCE):
            while not consumer.assignment():
                await asyncio.to_thread(consumer.poll, 0.1)
        consumer.commit(offsets=[TopicPartition(ORDERS, 0, 0)], asynchronous=False)
        stopped = await done(session, Redrive(DEAD), pace=replace(PACE, patience=0.2))
        assert why_stalled(stopped).endswith("alive is at 0")
        consumer.commit(offsets=[TopicPartition(ORDERS, 0, 1)], asynchronous=False)
        assert (await operating.work_on(session, stopped.number, pace=PACE)).state is State.DONE
    finally:
        await asyncio.to_thread(consumer.close)
    assert await dead_letters.counted(link, ORDERS) == values(0, 1, 2)


@pytest.mark.parametrize("api", ["list_groups", "offset_fetch", "describe_groups"])
async def test_groups_that_are_not_seen_pass_nothing(
    cluster: ThreadedCluster, link: Link, session: Session, api: str
) -> None:
    await with_letters(link)
    told = Told()
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), None)
    stands(cluster, "billing", {(ORDERS, 0): 0, (ORDERS, 1): 0})

    def heard(progress: Any) -> None:
        if progress.letters.sent == 1 and not fails:
            fails.append(faults.Fault(faults.Fail(ErrorCode.group_authorization_failed), api=api))
            cluster.call(lambda each: each.faults.add(fails[0]))

    fails: list[faults.Fault] = []
    if api == "list_groups":
        cluster.call(lambda each: each.state.groups.pop("billing"))
    stopped = await operating.work_on(session, number, told, replace(PACE, patience=0.4), heard)
    assert "GROUP_AUTHORIZATION_FAILED" in why_stalled(stopped)
    assert fails
    assert sum((await dead_letters.counted(link, ORDERS)).values()) == 1


@pytest.mark.parametrize("why", ["the topic is gone", "the context hides records", "no broker answers"])
async def test_each_redrive_can_be_cancelled(cluster: ThreadedCluster, link: Link, session: Session, why: str) -> None:
    await with_letters(link)
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), None)
    await operating.ask_of(session, number, cancel=True)
    match why:
        case "the topic is gone":
            cluster.call(lambda each: each.state.remove_topic(DEAD))
        case "the context hides records":
            session.context = replace(session.context, records="never")
            session.records = RecordReader(session.client, session.context)
        case _:
            for api in ("fetch", "metadata", "list_offsets"):
                cluster.call(lambda each, api=api: each.faults.add(faults.Fault(NEVER_CAME, api=api)))
    assert (await operating.work_on(session, number, pace=PACE)).state is State.CANCELLED


async def test_letters_of_a_topic_that_was_created_again_are_left(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    await with_letters(link)
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), None)
    cluster.call(lambda each: each.state.remove_topic(DEAD))
    cluster.call(TOPICS[0])
    await with_letters(link)
    stopped = await operating.work_on(session, number, pace=PACE)
    assert "deleted and created again" in why_stalled(stopped)
    assert await dead_letters.counted(link, ORDERS) == Counter()


async def test_a_log_that_lost_its_end_is_told(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    await with_letters(link)
    goal = await with_ends(desk_of(session), Redrive(DEAD))
    number = await operating.begin(session, replace(goal, ends=tuple((at, end + 5) for at, end in goal.ends)), None)
    stopped = await operating.work_on(session, number, pace=replace(PACE, patience=0.2))
    assert "orders.dlt-0 ends at 11, and it ended at 16" in why_stalled(stopped)


async def test_a_leader_is_waited_for(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    await with_letters(link)
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), None)

    def lead(broker: int) -> None:
        def put(each: Any) -> None:
            topic = each.state.topics[DEAD]
            first = topic.partitions[0]._replace(leader=broker)
            each.state.put_topic(dataclasses.replace(topic, partitions=(first, *topic.partitions[1:])))

        cluster.call(put)

    leader = cluster.call(lambda each: each.state.topics[DEAD].partitions[0].leader)
    lead(-1)
    told = Told()
    working = asyncio.create_task(operating.work_on(session, number, told, replace(PACE, patience=60.0)))
    await told.until("LEADER_NOT_AVAILABLE")
    lead(leader)
    assert (await working).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(20))


def test_an_operation_with_many_transactions_is_read_in_order() -> None:
    at, count = datetime.now(UTC), 100_000
    who, origin = this_operator("u", {}), this_process("tests")
    begun = journal_operations.Begun("test", who, origin, Redrive(DEAD))
    lines = [OperationLine(1, "operation", at, msgspec.to_builtins(begun))]
    some = [SentLetters(at, ((0, each),)) for each in range(1, 1001)]
    lines += [journal_operations.operation_line(1, at, each) for each in some] * (count // 1000)
    began = time.process_time()
    found = journal_operations.operations(lines)[1]
    assert time.process_time() - began < 10  # a copy of the tuple for each line takes longer
    assert len(found.sent) == count
    assert list(found.sent[:1000]) == some


async def test_a_topic_with_small_batches_gets_its_letters(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    await with_letters(link, 200)
    cluster.call(lambda each: each.state.alter_config(topic_resource(ORDERS), {"max.message.bytes": "1000"}))
    assert (await done(session, Redrive(DEAD))).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(200))
    # A letter that is itself too large stops the operation.
    large = NewRecord(b"k", bytes(2000), dead_letters.spring(ORDERS))
    await dead_letters.write(link, DEAD, 0, [large])
    stopped = await done(session, Redrive(DEAD))
    assert "MESSAGE_TOO_LARGE" in why_stalled(stopped)


async def test_topics_that_may_not_be_described_are_told_apart(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    await with_letters(link)
    refuses = faults.FailFor(ErrorCode.topic_authorization_failed, frozenset({ORDERS}))
    cluster.call(lambda each: each.faults.add(faults.Fault(refuses, api="metadata")))
    goal = await with_ends(desk_of(session), Redrive(DEAD))
    found, _ = await survey(desk_of(session), goal)
    assert found.in_the_way == ("20 chosen letters of topics that may not be described: it needs DESCRIBE on them",)


async def test_a_topic_with_fewer_partitions_gets_the_rest(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    await dead_letters.write(link, DEAD, 0, [letter(n, partition=1) for n in range(20)])
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), None)

    def first(progress: Any) -> None:
        if progress.letters.sent == 1 and len(cluster.call(lambda each: each.state.topics[ORDERS].partitions)) == 2:
            cluster.call(lambda each: each.state.remove_topic(ORDERS))
            cluster.call(worlds.topic(ORDERS, [(2, 3)]))

    over = await operating.work_on(session, number, pace=PACE, on_progress=first)
    assert over.state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(1, 20))


@pytest.mark.parametrize("what", ["cancel", "pause"])
async def test_requests_are_heard_while_the_first_letter_is_out(
    cluster: ThreadedCluster, link: Link, session: Session, what: str
) -> None:
    await with_letters(link)
    stands(cluster, "billing", {(ORDERS, 0): 0, (ORDERS, 1): 0})
    told = Told()
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), None)
    working = asyncio.create_task(operating.work_on(session, number, told, replace(PACE, patience=60.0)))
    await told.until("waiting for a group to pass")
    if what == "pause":
        await operating.ask_of(session, number, pause=True)
        await told.until("paused")
    await operating.ask_of(session, number, cancel=True)
    assert (await working).state is State.CANCELLED
    assert sum((await dead_letters.counted(link, ORDERS)).values()) == 1


async def interrupted(session: Session, number: int, told: Told, ask: Callable[[], Any]) -> Operation:
    """Work on an operation until it ends or stops, and return it. Call `ask` once, after the first letters were
    sent.
    """
    asked = False

    def heard(progress: Any) -> None:
        nonlocal asked
        if progress.letters.sent and not asked:
            asked = True
            tasks.append(asyncio.ensure_future(ask()))

    tasks: list[asyncio.Future[Any]] = []
    return await operating.work_on(session, number, told, PACE, heard)


async def test_pause_and_cancel(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    await with_letters(link)
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), 5)
    told, counts = Told(), []

    async def ask() -> None:
        await operating.ask_of(session, number, pause=True)
        await told.until("paused")
        counts.append(sum((await dead_letters.counted(link, ORDERS)).values()))
        await operating.ask_of(session, number, cancel=True)

    over = await interrupted(session, number, told, ask)
    assert counts == [sum((await dead_letters.counted(link, ORDERS)).values())]
    assert over.state is State.CANCELLED
    assert 0 < sum((await dead_letters.counted(link, ORDERS)).values()) < 20
    # A later operation sends the remaining letters, once.
    assert (await done(session, Redrive(DEAD))).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(20))


async def test_a_process_that_dies_and_one_that_goes_on(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    await with_letters(link, 200)
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), 20)
    for _ in range(6):
        working = asyncio.create_task(operating.work_on(session, number, pace=PACE))
        await asyncio.sleep(0.25)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    await operating.ask_of(session, number, throttle=0)
    assert (await operating.work_on(session, number, pace=PACE)).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(200))


async def test_an_id_that_was_taken_over_is_left(cluster: ThreadedCluster, link: Link, session: Session) -> None:
    await with_letters(link)
    fenced = faults.Fault(faults.Fail(ErrorCode.producer_fenced), api="end_txn")
    cluster.call(lambda each: each.faults.add(fenced))
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), None)
    with pytest.raises(Refused, match="another kac sends these letters now"):
        await operating.work_on(session, number, pace=PACE)


async def test_letters_of_an_open_transaction_are_waited_for(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    await with_letters(link)
    mine = await take_over(link, "an application")
    held = faults.Fault(NEVER_CAME, api="end_txn", times=1)
    cluster.call(lambda each: each.faults.add(held))
    with pytest.raises(Exception, match="end_txn"):
        await commit(link, mine, {(DEAD, 0): [letter(21)]}, "some group", {(DEAD, 1): CommittedOffset(0)})
    number = await operating.begin(session, await with_ends(desk_of(session), Redrive(DEAD)), None)
    told = Told()
    working = asyncio.create_task(operating.work_on(session, number, told, PACE))
    await told.until("holds back letters")
    await take_over(link, "an application", mine)
    assert (await working).state is State.DONE
    assert await dead_letters.counted(link, ORDERS) == values(*range(20))


async def test_the_command_shows_and_sends(cluster: ThreadedCluster, link: Link, own_home: Path) -> None:
    await with_letters(link)
    await dead_letters.write(link, DEAD, 1, [letter(200, exception="java.lang.NullPointerException")])
    stands(cluster, "billing", {(ORDERS, 0): 0, (ORDERS, 1): 0})
    stands(cluster, "audit", {(ORDERS, 0): 0, (ORDERS, 1): 0})

    def kac(*words: str) -> worlds.Ran:
        return worlds.process("redrive", "-b", cluster.bootstrap, *words)

    shown = await asyncio.to_thread(kac, DEAD, "--output", "json")
    assert shown.code == 0, shown.complaints
    piles = json.loads(shown.out)["letters"]
    assert [(each["topic"], each["exception"], each["letters"], each["chosen"]) for each in piles] == [
        (ORDERS, dead_letters.TIMEOUT, 20, 20),
        (ORDERS, "java.lang.NullPointerException", 1, 1),
        (OTHERS, dead_letters.TIMEOUT, 1, 1),
    ]
    assert await dead_letters.counted(link, ORDERS) == Counter()
    text = await asyncio.to_thread(kac, DEAD)
    assert "21 letters, " in text.out
    warned = "21 letters of orders are read again by every group, besides billing, in which they failed: audit"
    assert f"! read-again: {warned}" in text.out
    refused = await asyncio.to_thread(kac, DEAD, "--run", "--yes")
    assert (refused.code, "--accept read-again=orders" in refused.complaints) == (3, True)
    wrong = await asyncio.to_thread(kac, DEAD, "--max", "fast")
    assert (wrong.code, "letters a second" in wrong.complaints) == (2, True)
    stands(cluster, "billing", {(ORDERS, 0): 99, (ORDERS, 1): 99})
    sent = await asyncio.to_thread(kac, DEAD, "--run", "--yes", "--accept", "read-again=orders", "--max", "500/s")
    assert sent.code == 0, sent.complaints
    assert "group billing passed the first letter" in sent.complaints
    assert await dead_letters.counted(link, ORDERS) == values(*range(20), 200)
    again = await asyncio.to_thread(kac, DEAD, "--run", "--yes")
    assert (again.code, "no letter is chosen" in again.complaints) == (0, True)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('records = "never"', "no records are read"),
        ('mask = ["$.card"]', "no records are written"),
        ("read_only = true", "is read-only"),
    ],
)
async def test_contexts_that_refuse_it(
    cluster: ThreadedCluster, link: Link, own_home: Path, config: str, said: str
) -> None:
    await with_letters(link)
    folder = own_home / ".config" / "kac"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f'[contexts.held]\n"bootstrap.servers" = "{cluster.bootstrap}"\n{config}\n')
    ran = await asyncio.to_thread(worlds.process, "redrive", "-c", "held", DEAD, "--run", "--yes")
    assert (ran.code, said in ran.complaints) == (1, True), ran
    assert await dead_letters.counted(link, ORDERS) == Counter()


async def test_each_look_at_the_journal_reads_only_what_is_new(
    cluster: ThreadedCluster, link: Link, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_letters(link)
    stands(cluster, "billing", {(ORDERS, 0): 99, (ORDERS, 1): 99, (OTHERS, 0): 99})
    whole: list[str] = []
    for name in ("open", "read"):
        real = getattr(JournalFile, name)
        monkeypatch.setattr(JournalFile, name, lambda self, name=name, real=real: (whole.append(name), real(self))[1])
    monkeypatch.setattr("console.session.redriving.ASKS_EVERY", 0.0)
    monkeypatch.setattr("console.session.redriving.LETTERS", 1)
    goal = await with_ends(desk_of(session), Redrive(DEAD))
    number = await operating.begin(session, goal, None)
    whole.clear()
    ended = await operating.work_on(session, number, pace=PACE)
    assert (ended.state, len(ended.sent)) == (State.DONE, 21)
    assert whole == ["open"]
    read = journal_operations.operations((await session.journal()).read().records)[number]
    assert ended == read


async def test_what_goes_on_by_the_journal_is_said(
    cluster: ThreadedCluster, link: Link, session: Session, kac: worlds.Kac
) -> None:
    await with_letters(link)
    stands(cluster, "billing", {(ORDERS, 0): 99, (ORDERS, 1): 99, (OTHERS, 0): 99})
    ended = await done(session, Redrive(DEAD))
    assert ended.state is State.DONE
    ran = await asyncio.to_thread(kac, "redrive", DEAD)
    assert f"continues operation {ended.number}: 21 letters of this selection were sent before" in ran.out
    assert isinstance(ended.goal, Redrive)
    group = ended.goal.group
    gone = cluster.call(lambda each: each.state.groups.pop(group))
    ran = await asyncio.to_thread(kac, "redrive", DEAD)
    assert f"continues operation {ended.number} by this host's journal, behind the 21 letters sent before" in ran.out
    assert f"the brokers do not have all positions of group {group} any more" in ran.out
    # Another condition is another selection, which may choose letters that were already sent.
    ran = await asyncio.to_thread(kac, "redrive", DEAD, "--where", "value.n < 3")
    assert "sent-before" not in ran.out  # the group is gone
    cluster.call(lambda each: each.state.groups.update({group: gone}))
    ran = await asyncio.to_thread(kac, "redrive", DEAD, "--where", "value.n < 3")
    said = f"other selections of the topic sent 21 letters ({group}): they may have sent some of these already"
    assert f"! sent-before: {said}" in ran.out
    ran = await asyncio.to_thread(kac, "redrive", DEAD, "--where", "value.n < 3", "--run", "--yes")
    assert (ran.code, f"--accept sent-before={DEAD}" in ran.complaints) == (3, True), ran.complaints
    # An open operation: a second one is refused, and --continue continues the first.
    await dead_letters.write(link, DEAD, 0, [letter(200)])
    goal = await with_ends(desk_of(session), Redrive(DEAD))
    number = await operating.begin(session, goal, None)
    ran = await asyncio.to_thread(kac, "redrive", DEAD, "--run", "--yes", "--accept", f"read-again={ORDERS}")
    assert f"one operation at a time: operation {number} (redrive {DEAD}) is open, begun by " in ran.complaints
    assert "no process works on it. Go on with it: kac redrive --continue (W in a console)" in ran.complaints
    ran = await asyncio.to_thread(kac, "redrive", "--continue")
    assert f"operation {number} goes on: redrive {DEAD}; it has sent 0 letters before; begun by " in ran.complaints
    ran = await asyncio.to_thread(kac, "redrive", "--continue")
    assert "no operation is open" in ran.complaints


async def test_the_same_row_a_minute_later_is_not_sent_again_unasked(
    cluster: ThreadedCluster, link: Link, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kac warns if a redrive would send the letters of a row of `kac dead-letters` again. kac recognizes the letters
    although, a minute later, the row's condition has other ages and the redrive therefore has another group.
    """
    await with_letters(link)
    stands(cluster, "billing", {(ORDERS, 0): 99, (ORDERS, 1): 99, (OTHERS, 0): 99})
    desk = desk_of(session)
    later = desk._replace(clock=WALL._replace(now=lambda: WALL.now() + timedelta(minutes=1)))
    goals = []
    for each in (desk, later):
        shown, _ = await survey(each, await with_ends(each, Redrive(DEAD)))
        pile = next(each for each in shown.piles.values() if each.topic == ORDERS)
        goals.append(Redrive(DEAD, condition_of(pile, shown)))
    first, second = goals
    assert first.group != second.group
    goal = await with_ends(desk, first)
    assert SENT_BEFORE not in {each.name for each in (await judged(desk, goal, (await survey(desk, goal))[0])).risks}
    assert (await done(session, first)).state is State.DONE
    goal = await with_ends(desk, second)
    found, _ = await survey(later, goal)
    (risk,) = [each for each in (await judged(desk, goal, found)).risks if each.name == SENT_BEFORE]
    assert (found.chosen, risk.subject, first.group in risk.text) == (20, DEAD, True)
    # There are more selections than kac reads: the risk says so, also if those that kac read sent no letter.
    monkeypatch.setattr("console.session.redriving.OTHERS", 0)
    found, _ = await survey(later, goal)
    (risk,) = [each for each in (await judged(desk, goal, found)).risks if each.name == SENT_BEFORE]
    assert risk.text.startswith("0 of 1 other selections of the topic sent no letter; the rest was not read: ")


@pytest.mark.parametrize(
    ("broker", "text"), [(None, "other selections of the topic can't all be listed: "), (3, "; not all of them")]
)
async def test_other_selections_that_no_broker_lists_are_a_risk(
    cluster: ThreadedCluster, link: Link, session: Session, broker: int | None, text: str
) -> None:
    """If a broker does not list its groups, kac warns that an earlier redrive with another condition may have sent the
    letters, although kac knows of no such redrive.
    """
    await with_letters(link)
    desk = desk_of(session)
    await done(session, await with_ends(desk, Redrive(DEAD, "value.n < 0")))
    goal = await with_ends(desk, Redrive(DEAD))
    risks = (await judged(desk, goal, (await survey(desk, goal))[0])).risks
    assert SENT_BEFORE not in {each.name for each in risks}
    refused = faults.Fault(faults.Fail(ErrorCode.cluster_authorization_failed), api="list_groups", broker=broker)
    cluster.call(lambda each: each.faults.add(refused))
    risks = (await judged(desk, goal, (await survey(desk, goal))[0])).risks
    (risk,) = [each for each in risks if each.name == SENT_BEFORE]
    assert text in risk.text


# ----------------------------------------------------------------------------------------------------------------------
# Dead letters sent again on real brokers. kac and brokers are killed at random, and a second operator starts; a
# librdkafka consumer with read_committed reads each letter once

PLACES = 3
AT_ONCE = 100
"""The number of letters that a redrive sends per second, in one transaction."""


async def make(cluster: KafkaCluster, name: str, count: int, replicas: int) -> None:
    """Create a topic, and its dead-letter topic with `count` letters, both with this number of replicas."""
    async with worlds.linked(worlds.settings(cluster)) as link:
        for topic in (name, f"{name}.dlt"):
            made = NewTopic(topic, PLACES, replicas, configs={"min.insync.replicas": str(max(1, replicas - 1))})
            assert all(each.ok for each in await send(link, CreateTopics((made,)), validate_only=False))
        for place in range(PLACES):
            letters = [
                NewRecord(b"k%d" % number, b"%d" % number, dead_letters.spring(name, number % PLACES, number))
                for number in range(place, count, PLACES)
            ]
            await dead_letters.write(link, f"{name}.dlt", place, letters)


def received(cluster: KafkaCluster, topic: str) -> Counter[int]:
    """Return letter number -> how often librdkafka's consumer reads it, in committed transactions only."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "kac-test",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PLACES)])
    found: Counter[int] = Counter()
    ended: set[int] = set()
    while len(ended) < PLACES:
        message = consumer.poll(patience.PATIENCE)
        assert message is not None
        error = message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
        elif error is None:
            found[int(message.value())] += 1
    consumer.close()
    return found


async def begun(cluster: KafkaCluster, name: str) -> None:
    """Wait until the first letters are in the original topic. Raises TimeoutError after `patience.PATIENCE` seconds."""
    async with asyncio.timeout(patience.PATIENCE):
        while not await asyncio.to_thread(received, cluster, name):
            pass


@asynccontextmanager
async def operator(cluster: KafkaCluster, home: Path) -> AsyncIterator[forked_runs.ForkedRuns]:
    """Yield an object that runs kac in processes of its own, as one operator with a separate home directory."""
    await asyncio.to_thread(home.mkdir, exist_ok=True)
    async with forked_runs.ForkedRuns({"HOME": str(home)}, home / "out") as runs:
        await runs.warm("redrive", "-b", cluster.bootstrap, "--continue")
        yield runs


async def sent(runs: forked_runs.ForkedRuns, cluster: KafkaCluster, *words: str) -> int:
    """Run `kac redrive` with these arguments, wait until it ends, and return its exit code. Raises TimeoutError after
    four times `patience.PATIENCE` seconds.
    """
    await runs.start("redrive", "-b", cluster.bootstrap, *words)
    async with asyncio.timeout(4 * patience.PATIENCE):
        return await runs.ended()


class Killer:
    """Kills a random broker and restarts it in the background; at most one broker is down at a time."""

    def __init__(self, cluster: KafkaCluster, some: random.Random) -> None:
        self._cluster, self._some = cluster, some
        self._work: threading.Thread | None = None
        self.count = 0

    def kill(self) -> None:
        """Kill a broker. Do nothing if one is still down."""
        if self._work is not None and self._work.is_alive():
            return
        broker = self._some.choice(self._cluster.broker_ids)
        self._cluster.kill(broker)
        self.count += 1
        self._work = threading.Thread(target=self._cluster.restart, args=(broker,))
        self._work.start()

    def end(self) -> None:
        """Wait until all brokers are up again."""
        if self._work is not None:
            self._work.join()


async def killed_at_random(
    cluster: KafkaCluster, home: Path, name: str, letters: int, kills: int, brokers_every: int
) -> tuple[int, int]:
    """Begin a redrive, and kill kac at random times, and a broker with every `brokers_every`-th kill, until kac was
    killed `kills` times or the redrive ends. Return (kills of kac, kills of brokers).
    """
    some = random.Random(name)
    await make(cluster, name, letters, 3)
    killer, killed = Killer(cluster, some), 0
    async with operator(cluster, home) as runs:
        words = ("--run", "--yes", "--max", f"{AT_ONCE}/s", "--accept", f"writes-many={letters}")
        await runs.start("redrive", "-b", cluster.bootstrap, f"{name}.dlt", *words)
        async with asyncio.timeout(patience.PATIENCE):
            while "operation 1:" not in runs.output:
                await asyncio.to_thread(time.sleep, 0.05)
        while killed < kills:
            await asyncio.sleep(some.uniform(0.3, 2.5))
            if killed % brokers_every == brokers_every - 1:
                await asyncio.to_thread(killer.kill)
                await asyncio.sleep(some.uniform(0.0, 1.0))
            runs.kill()
            code = await runs.ended()
            if code == 0:
                break
            killed += code == -9
            await runs.start("redrive", "-b", cluster.bootstrap, "--continue")
        runs.kill()
        await runs.ended()
        await asyncio.to_thread(killer.end)
        await runs.start("moves", "-b", cluster.bootstrap, "--operation", "1", "--throttle", "0")
        await runs.ended()
        assert await sent(runs, cluster, "--continue") == 0, runs.output
    return killed, killer.count


@pytest.mark.takes(45)
async def test_killed_and_killed_brokers_send_each_letter_once(
    own_cluster: KafkaCluster, name: str, tmp_path: Path
) -> None:
    letters = 1_200
    killed, brokers = await killed_at_random(own_cluster, tmp_path / "home", name, letters, 5, 3)
    assert killed == 5
    assert brokers
    assert received(own_cluster, name) == Counter(range(letters))


@pytest.mark.long
@pytest.mark.takes(500)
async def test_a_hundred_kills(own_cluster: KafkaCluster, name: str, tmp_path: Path) -> None:
    letters = 30_000
    killed, brokers = await killed_at_random(own_cluster, tmp_path / "home", name, letters, 100, 5)
    assert killed == 100
    assert brokers > 5
    assert received(own_cluster, name) == Counter(range(letters))


@pytest.mark.takes(15)
async def test_a_second_operator_takes_over_and_the_first_says_so(
    own_cluster: KafkaCluster, name: str, tmp_path: Path
) -> None:
    letters = 900
    await make(own_cluster, name, letters, 3)
    words = ("redrive", "-b", own_cluster.bootstrap, f"{name}.dlt", "--run", "--yes")
    async with operator(own_cluster, tmp_path / "one") as first, operator(own_cluster, tmp_path / "two") as second:
        await first.start(*words, "--max", f"{AT_ONCE}/s")
        await begun(own_cluster, name)
        await second.start(*words, "--max", f"{3 * AT_ONCE}/s")
        assert await first.ended() == 1
        assert "another kac sends these letters now" in first.output
        assert await second.ended() == 0, second.output
    assert received(own_cluster, name) == Counter(range(letters))


@pytest.mark.parametrize("release", real_clusters.EACH)
@pytest.mark.takes(6)
async def test_each_release(
    request: pytest.FixtureRequest, release: tuple[str, str], name: str, tmp_path: Path
) -> None:
    cluster: KafkaCluster = request.getfixturevalue(real_clusters.REAL[release[1]])
    await make(cluster, name, 300, 1)
    async with operator(cluster, tmp_path / "home") as runs:
        await runs.start("redrive", "-b", cluster.bootstrap, f"{name}.dlt", "--run", "--yes", "--max", f"{AT_ONCE}/s")
        await begun(cluster, name)
        runs.kill()
        assert await runs.ended() == -9
        assert await sent(runs, cluster, "--continue") == 0, runs.output
        # A second run sends only the new letter.
        async with worlds.linked(worlds.settings(cluster)) as link:
            await dead_letters.write(link, f"{name}.dlt", 0, [NewRecord(b"k", b"300", dead_letters.spring(name))])
        shown = f"{name}.dlt", "--output", "json"
        assert await sent(runs, cluster, *shown) == 0, runs.output
        (pile,) = json.loads(runs.output)["letters"]
        assert pile["chosen"] == 1
        assert await sent(runs, cluster, f"{name}.dlt", "--run", "--yes") == 0, runs.output
    assert received(cluster, name) == Counter(range(301))


# -- Records and positions in one transaction: all or none, whatever is lost, and one producer at a time ---------------

GROUP, SOURCE, TARGET = "kac-redrive-dead-1", "dead", "orders"
BOTH_TOPICS = (worlds.topic(SOURCE, [(1, 2)]), worlds.topic(TARGET, [(2, 3), (3, 1)]))

first_kind = worlds.cluster(ClusterSpec(brokers=3, versions="3.9"), *BOTH_TOPICS)
second_kind = worlds.cluster(ClusterSpec(brokers=3), *BOTH_TOPICS)


@pytest.fixture(params=["first_kind", "second_kind"])
def of_either_kind(request: pytest.FixtureRequest) -> ThreadedCluster:
    """Provide an embedded cluster, once with the first and once with the second version of the transaction protocol."""
    found: ThreadedCluster = request.getfixturevalue(request.param)
    return found


one_link = worlds.link("of_either_kind", **SETTINGS)
other_link = worlds.link("of_either_kind", **SETTINGS)


def fault(of_either_kind: ThreadedCluster, effect: faults.Effect, api: str, **more: Any) -> faults.Fault:
    made = faults.Fault(effect, api=api, **more)
    of_either_kind.call(lambda each: each.faults.add(made))
    return made


async def seen(one_link: Link) -> list[bytes | None]:
    """Return the values of the target topic's committed records, sorted by their text."""
    found: list[bytes | None] = []
    async for portion in record_search.search(one_link, Search((TARGET,), start=First())):
        found += [each.value for each in portion.records]
    return sorted(found, key=str)


async def position(one_link: Link) -> CommittedOffset | None:
    return (await stable_positions(one_link, GROUP, SOURCE))[0]


async def one(one_link: Link, mine: Exactly, number: int) -> None:
    """In one transaction, write a record to each partition of the target, and commit offset `number` + 1 in the
    source.
    """
    records = {(TARGET, place): [NewRecord(b"k", b"%d-%d" % (number, place))] for place in (0, 1)}
    await commit(one_link, mine, records, GROUP, {(SOURCE, 0): CommittedOffset(number + 1, -1, f"after {number}")})


async def test_records_and_positions_are_committed_together(of_either_kind: ThreadedCluster, one_link: Link) -> None:
    mine = await take_over(one_link, GROUP)
    assert mine.is_second is (of_either_kind.call(lambda each: each.release.number) >= (4, 0))
    assert await position(one_link) is None
    await one(one_link, mine, 0)
    await one(one_link, mine, 1)
    assert await position(one_link) == CommittedOffset(2, -1, "after 1")
    assert await seen(one_link) == [b"0-0", b"0-1", b"1-0", b"1-1"]


@pytest.mark.parametrize("effect", [LOST, NEVER_CAME, faults.HalfFrame()])
@pytest.mark.parametrize(
    "api",
    [
        "init_producer_id",
        "offset_fetch",
        "add_partitions_to_txn",
        "produce",
        "add_offsets_to_txn",
        "txn_offset_commit",
        "end_txn",
    ],
)
async def test_a_lost_answer_leaves_all_or_none(
    of_either_kind: ThreadedCluster, one_link: Link, api: str, effect: faults.Effect
) -> None:
    fault(of_either_kind, effect, api, nth=2 if api == "end_txn" else 1, times=1)
    mine: Exactly | None = None
    interruptions = 0
    while ((await position(one_link)) or CommittedOffset(0)).offset < 3:
        try:
            mine = await take_over(one_link, GROUP, mine) if mine is None or mine.began is not None else mine
            at = ((await position(one_link)) or CommittedOffset(0)).offset
            await one(one_link, mine, at)
        except Interrupted:
            interruptions += 1
            assert mine is not None
            mine = await take_over(one_link, GROUP, mine)
    assert interruptions <= 1
    assert await seen(one_link) == [b"%d-%d" % (number, place) for number in range(3) for place in (0, 1)]


@pytest.mark.parametrize(
    ("api", "code"),
    [
        ("init_producer_id", ErrorCode.concurrent_transactions),
        ("init_producer_id", ErrorCode.not_coordinator),
        ("offset_fetch", ErrorCode.unstable_offset_commit),
        ("produce", ErrorCode.not_leader_or_follower),
        ("produce", ErrorCode.concurrent_transactions),
        ("txn_offset_commit", ErrorCode.coordinator_load_in_progress),
        ("end_txn", ErrorCode.concurrent_transactions),
    ],
)
async def test_what_passes_is_asked_for_again(
    of_either_kind: ThreadedCluster, one_link: Link, api: str, code: int
) -> None:
    fault(of_either_kind, faults.Fail(code), api, times=2)
    mine = await take_over(one_link, GROUP)
    assert await position(one_link) is None
    await one(one_link, mine, 0)
    assert await seen(one_link) == [b"0-0", b"0-1"]


async def test_the_epoch_after_a_commit_without_an_answer_is_asked_for(second_kind: ThreadedCluster) -> None:
    async with worlds.linked(worlds.settings(second_kind, **SETTINGS)) as one_link:
        mine = await take_over(one_link, GROUP)
        await one(one_link, mine, 0)
        before = mine.producer.epoch
        fault(second_kind, LOST, "end_txn", times=1)
        with pytest.raises(Interrupted):
            await one(one_link, mine, 1)
        await give_up(one_link, mine)
        assert (mine.began, mine.producer.epoch) == (None, before + 1)
        assert await position(one_link) == CommittedOffset(2, -1, "after 1")
        await one(one_link, mine, 2)
        assert await seen(one_link) == [b"%d-%d" % (number, place) for number in range(3) for place in (0, 1)]


async def test_a_second_producer_fences_the_first(
    of_either_kind: ThreadedCluster, one_link: Link, other_link: Link
) -> None:
    first = await take_over(one_link, GROUP)
    await one(one_link, first, 0)
    second = await take_over(other_link, GROUP)
    with pytest.raises(Interrupted):
        await one(one_link, first, 1)
    with pytest.raises(Fenced, match="another kac sends these letters now"):
        await take_over(one_link, GROUP, first)
    assert await position(other_link) == CommittedOffset(1, -1, "after 0")
    await one(other_link, second, 1)
    assert await seen(one_link) == [b"0-0", b"0-1", b"1-0", b"1-1"]


async def test_an_open_transaction_of_a_producer_that_died_is_ended_first(
    of_either_kind: ThreadedCluster, one_link: Link, other_link: Link
) -> None:
    first = await take_over(one_link, GROUP)
    fault(of_either_kind, NEVER_CAME, "end_txn", times=1)
    with pytest.raises(Interrupted):
        await one(one_link, first, 0)
    assert await seen(one_link) == []
    second = await take_over(other_link, GROUP)
    assert await position(other_link) is None
    await one(other_link, second, 0)
    assert await seen(one_link) == [b"0-0", b"0-1"]


async def test_a_refusal_is_final_and_nothing_of_it_is_seen(of_either_kind: ThreadedCluster, one_link: Link) -> None:
    of_either_kind.call(lambda each: each.state.alter_config(topic_resource(TARGET), {"cleanup.policy": "compact"}))
    mine = await take_over(one_link, GROUP)
    records = {(TARGET, 0): [NewRecord(b"k", b"a")], (TARGET, 1): [NewRecord(None, b"b")]}
    with pytest.raises(errors.BrokerError, match="without key"):
        await commit(one_link, mine, records, GROUP, {(SOURCE, 0): CommittedOffset(1)})
    await give_up(one_link, mine)
    assert mine.began is None
    assert (await position(one_link), await seen(one_link)) == (None, [])
    mine = await take_over(one_link, GROUP, mine)
    await one(one_link, mine, 0)
    assert await seen(one_link) == [b"0-0", b"0-1"]


async def test_positions_without_records(of_either_kind: ThreadedCluster, one_link: Link) -> None:
    mine = await take_over(one_link, GROUP)
    await commit(one_link, mine, {}, GROUP, {(SOURCE, 0): CommittedOffset(7, -1, "")})
    assert await position(one_link) == CommittedOffset(7, -1, "")
