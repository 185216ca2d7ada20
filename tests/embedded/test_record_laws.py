"""Laws of a partition's log and of a group, whatever comes in whichever order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded.groups import Group, GroupState, Joined, JoinRequest, Synced
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import CorruptBatch, InvalidBatch, placed_batch, produced_batch, read_batch
from tests.embedded.record_batches import START, batch, values
from tests.support.examples import examples

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("delete"), st.integers(-5, 60)),
        st.tuples(st.just("trim"), st.integers(0, 600)),
        st.tuples(st.just("expire"), st.integers(0, 50)),
    ),
    max_size=30,
)


@given(STEPS, st.integers(0, 60), st.integers(0, 1000))
def test_a_log_gives_from_any_offset_what_was_appended_there(
    steps: list[tuple[str, int]], offset: int, most: int
) -> None:
    log, written = PartitionLog(), 0
    for number, (what, amount) in enumerate(steps):
        before = log.start
        if what == "append":
            texts = [b"%d" % (written + place) for place in range(amount)]
            moment = START + number
            assert log.append(produced_batch(batch(*texts, times=[moment] * amount)), 0) == written
            written += amount
        elif what == "delete":
            log.delete_before(amount)
        elif what == "trim":
            log.trim(amount)
        else:
            log.expire(START + amount)
        assert before <= log.start <= log.end == written
        assert log.size == sum(len(each.data) for each in log.batches)
    if log.start <= offset <= log.end:
        everything = values(b"".join(each.data for each in log.read(offset, 10**9, at_least_one=False)))
        assert [int(each) for each in everything if int(each) >= offset] == list(range(offset, written))
        limited = b"".join(each.data for each in log.read(offset, most, at_least_one=True))
        assert len(limited) <= most or len(values(limited)) <= 4
        assert values(limited) == everything[: len(values(limited))]
        assert bool(limited) == bool(everything)


@given(st.integers(0, 1), st.lists(st.integers(0, 2000), min_size=1, max_size=10))
def test_what_memory_has_no_room_for_counts_where_more_is_said_to_be_on_disk(older: int, limits: list[int]) -> None:
    log = PartitionLog(0, older * 10_000)
    for number in range(20):
        log.append(produced_batch(batch(b"%d" % number * 50, times=[START])), 0)
    whole = log.size + log.older_bytes
    for most in limits:
        log.evict(most)
        assert log.size <= max(most, len(log.batches[-1].data))
        assert log.end == 20
        if older:
            assert (log.start, log.size + log.older_bytes) == (0, whole)
        else:
            assert log.start == log.batches[0].base_offset


@given(st.lists(st.integers(0, 100), min_size=1, max_size=10), st.integers(0, 100))
def test_a_moment_is_found_where_the_first_record_is_no_older(times: list[int], wanted: int) -> None:
    log = PartitionLog()
    for moment in times:
        log.append(produced_batch(batch(b"v", times=[START + moment])), 0)
    expected = next((place for place, moment in enumerate(times) if moment >= wanted), None)
    found = log.since(START + wanted)
    assert (None if found is None else found[1]) == expected
    newest = log.newest()
    assert newest is not None
    assert (newest[0], newest[1]) == (START + max(times), times.index(max(times)))


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_a_batch_or_refused(data: bytes) -> None:
    with pytest.raises((CorruptBatch, InvalidBatch)):
        produced_batch(data)


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_batch_with_one_byte_changed_is_refused_or_says_another_place(at: int, change: int) -> None:
    data = bytearray(batch(b"value", times=[START]))
    at %= len(data)
    data[at] ^= change
    free = [*range(8), *range(12, 16)]  # offset and leader epoch: the broker's, outside the checksum
    if at in free:
        assert produced_batch(bytes(data)).records == 1
    else:
        with pytest.raises((CorruptBatch, InvalidBatch)):
            produced_batch(bytes(data))


@given(st.integers(0, 2**62), st.integers(0, 2**31 - 1), st.none() | st.integers(0, 2**40))
def test_a_placed_batch_reads_the_same(offset: int, epoch: int, append_time: int | None) -> None:
    kept = placed_batch(produced_batch(batch(b"a", b"b")), offset, epoch, append_time)
    assert read_batch(kept.data, 0) == kept
    assert (kept.base_offset, kept.last_offset, kept.leader_epoch) == (offset, offset + 1, epoch)


CLIENTS = 4
Deeds = st.lists(st.tuples(st.sampled_from(["join", "sync", "heartbeat", "leave", "time"]), st.integers(0, 30)))


class Story:
    """Some clients of a group, each doing what it is told as far as it can."""

    def __init__(self) -> None:
        self.group = Group("g", 3.0)
        self.now = 0.0
        self.ids = [""] * CLIENTS
        self.generations = [-1] * CLIENTS
        self.waiting: list[asyncio.Future[Any] | None] = [None] * CLIENTS
        self._made = 0

    def do(self, deed: str, number: int) -> None:
        client = number % CLIENTS
        if deed == "time":
            self.now += number
            self.group.pass_time(self.now)
        elif self.waiting[client] is None:
            getattr(self, deed)(client)
        self.hear()
        self.check()

    def join(self, client: int) -> None:
        self._made += 1
        wish = JoinRequest(
            self.ids[client], None, "c", "/h", 10.0, 20.0, "consumer", (("range", b"m"),), f"member {self._made}", True
        )
        self.answered(client, self.group.join(wish, self.now))

    def sync(self, client: int) -> None:
        shares = {member: member.encode() for member in self.group.members}
        self.answered(
            client,
            self.group.sync(self.ids[client], None, self.generations[client], (None, None), shares, self.now),
        )

    def heartbeat(self, client: int) -> None:
        self.group.heartbeat(self.ids[client], None, self.generations[client], self.now)

    def leave(self, client: int) -> None:
        self.group.leave(self.ids[client], None, self.now)
        self.ids[client] = ""

    def answered(self, client: int, answer: Joined | Synced | asyncio.Future[Any]) -> None:
        if isinstance(answer, asyncio.Future):
            self.waiting[client] = answer
        elif isinstance(answer, Joined):
            self.ids[client] = answer.member_id if answer.code in (0, 79) else ""
            if answer.code == 0:
                self.generations[client] = answer.generation
        elif not answer.code:
            assert answer.assignment == self.ids[client].encode()

    def hear(self) -> None:
        for client, future in enumerate(self.waiting):
            if future is not None and future.done():
                self.waiting[client] = None
                self.answered(client, future.result())

    def check(self) -> None:
        group = self.group
        assert (group.state == GroupState.EMPTY) == (not group.members)
        assert (group.next_deadline is None) == (not group.members and not group.pending)
        if group.state == GroupState.STABLE:
            assert all(member.joining is None and member.syncing is None for member in group.members.values())
        if group.state in (GroupState.STABLE, GroupState.COMPLETING):
            assert group.leader in group.members
            assert group.protocol == "range"
        for client, future in enumerate(self.waiting):
            if future is not None:
                assert self.ids[client] in group.members


@examples(50, at_length=200)
@given(Deeds)
def test_a_group_holds_together_and_nobody_waits_for_ever(deeds: list[tuple[str, int]]) -> None:
    async def tell() -> None:
        story = Story()
        generation = 0
        for deed, number in deeds:
            story.do(deed, number)
            assert story.group.generation >= generation
            generation = story.group.generation
        for _ in range(20):
            deadline = story.group.next_deadline
            if deadline is not None:
                story.now = max(story.now, deadline)
                story.do("time", 0)
        assert story.waiting == [None] * CLIENTS
        assert story.group.state == GroupState.EMPTY

    asyncio.run(tell())


def test_stand_ins_give_way_to_a_real_member() -> None:
    async def tell(check: Callable[[Group], None]) -> None:
        story = Story()
        story.join(0)
        story.join(0)
        story.do("time", 3)
        story.sync(0)
        story.group.members[story.ids[0]].session_timeout = float("inf")
        story.join(1)
        story.join(1)
        story.hear()
        check(story.group)

    def only_the_second(group: Group) -> None:
        assert [member.id for member in group.members.values()] == ["member 3"]
        assert group.state == GroupState.COMPLETING

    asyncio.run(tell(only_the_second))
