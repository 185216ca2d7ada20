"""Groups over the wire: members come and go, generations follow each other, offsets are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.group_coordinator import coordinator_of, ensure_topic
from console.embedded.groups import GroupState
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from tests.embedded.group_client import GroupClient
from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import with_fields
from tests.support.manual_clock import ManualClock

NO_DELAY = {"group.initial.rebalance.delay.ms": "0"}
UNKNOWN_MEMBER, REBALANCING, ILLEGAL_GENERATION, FENCED = 25, 27, 22, 82


@pytest.fixture
async def clock() -> ManualClock:
    return ManualClock()


async def started(stack: AsyncExitStack, clock: ManualClock, **static_configs: str) -> EmbeddedCluster:
    cluster = EmbeddedCluster(ClusterSpec(static_configs={**NO_DELAY, **static_configs}), clock)
    ensure_topic(cluster.state)
    cluster.state.put_topic(new_topic("orders", [(1, 2)], cluster.state.alive()))
    return await stack.enter_async_context(cluster)


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[EmbeddedCluster]:
    async with AsyncExitStack() as stack:
        yield await started(stack, clock)


async def alone(client: GroupClient) -> None:
    """It joins a group that has nobody else, and gets everything."""
    await client.ready_to_join()
    answer = await client.joined()
    assert (answer.error_code, answer.leader) == (0, client.member_id)
    client.ask_to_sync({client.member_id: b"all"})
    assert (await client.synced()).assignment == b"all"


async def both(first: GroupClient, second: GroupClient) -> None:
    """The second joins the first; each gets its part."""
    await alone(first)
    await second.ready_to_join()
    first_hears = await first.heartbeat()
    assert first_hears == REBALANCING
    first.ask_to_join()
    led, followed = await first.joined(), await second.joined()
    assert {member.member_id for member in led.members} == {first.member_id, second.member_id}
    assert (followed.members, followed.generation_id, followed.protocol_name) == ((), led.generation_id, "range")
    second.ask_to_sync()
    first.ask_to_sync({first.member_id: b"one", second.member_id: b"two"})
    assert (await first.synced()).assignment == b"one"
    assert (await second.synced()).assignment == b"two"


def _state_of(cluster: EmbeddedCluster) -> GroupState:
    return cluster.state.groups["g"].state


async def test_two_members_share(cluster: EmbeddedCluster) -> None:
    async with GroupClient(cluster) as first, GroupClient(cluster) as second:
        await both(first, second)
        assert [await first.heartbeat(), await second.heartbeat()] == [0, 0]
        assert _state_of(cluster) == GroupState.STABLE
        assert first.generation == 2
        assert await second.leave() == (0, [0])
        assert await first.heartbeat() == REBALANCING
        first.ask_to_join()
        assert [member.member_id for member in (await first.joined()).members] == [first.member_id]
        assert await first.leave() == (0, [0])
        assert _state_of(cluster) == GroupState.EMPTY
        assert await first.leave() == (0, [UNKNOWN_MEMBER])


async def test_a_member_that_is_silent_is_gone(cluster: EmbeddedCluster, clock: ManualClock) -> None:
    async with GroupClient(cluster, session=10) as first, GroupClient(cluster, session=30) as second:
        await both(first, second)
        clock.advance(9)
        assert await first.heartbeat() == 0
        for _ in range(3):
            await clock.asleep()
            clock.advance(5)
        while (code := await second.heartbeat()) == 0:
            pass
        assert code == REBALANCING
        assert list(cluster.state.groups["g"].members) == [second.member_id]
        assert await first.heartbeat() == UNKNOWN_MEMBER


async def test_a_rebalance_ends_without_those_who_do_not_come(cluster: EmbeddedCluster, clock: ManualClock) -> None:
    async with GroupClient(cluster, session=1800) as first, GroupClient(cluster, session=10) as second:
        await alone(first)
        first.session = 10
        await second.ready_to_join()
        await _state(cluster, members=2)
        clock.advance(3601)
        answer = await second.joined()
        assert (answer.leader, len(answer.members)) == (second.member_id, 1)
        assert await first.heartbeat() == UNKNOWN_MEMBER


async def test_who_joined_but_never_syncs_is_gone(cluster: EmbeddedCluster, clock: ManualClock) -> None:
    async with GroupClient(cluster, session=10) as first, GroupClient(cluster, session=10) as second:
        await alone(first)
        await second.ready_to_join()
        first.ask_to_join()
        await first.joined()
        await second.joined()
        second.ask_to_sync()
        await _synced(cluster, second.member_id)
        clock.advance(21)
        assert (await second.synced()).error_code == REBALANCING
        assert list(cluster.state.groups["g"].members) == [second.member_id]


async def test_the_first_members_are_gathered_for_a_while(clock: ManualClock) -> None:
    async with AsyncExitStack() as stack:
        cluster = await started(stack, clock, **{"group.initial.rebalance.delay.ms": "3000"})
        first, second = [await stack.enter_async_context(GroupClient(cluster)) for _ in range(2)]
        await first.ready_to_join()
        await _state(cluster, members=1)
        clock.advance(2)
        await second.ready_to_join()
        await _state(cluster, members=2)
        clock.advance(1.5)
        group = cluster.state.groups["g"]
        await _once(cluster, lambda: group.gathering > clock.time() + 2.9)  # longer: somebody came late
        assert group.state == GroupState.PREPARING
        clock.advance(3.1)
        assert len((await first.joined()).members) == 2
        assert (await second.joined()).generation_id == 1


async def _state(cluster: EmbeddedCluster, members: int) -> None:
    """Wait until the group has so many members."""
    await _once(cluster, lambda: "g" in cluster.state.groups and len(cluster.state.groups["g"].members) >= members)


async def _synced(cluster: EmbeddedCluster, member_id: str) -> None:
    """Wait until the member waits for its assignment."""
    await _once(cluster, lambda: cluster.state.groups["g"].members[member_id].syncing is not None)


async def _once(cluster: EmbeddedCluster, holds: Callable[[], bool]) -> None:
    """Wait until something holds, while other requests come and go."""
    async with RawClient(cluster) as other:
        while not holds():
            await other.ask("heartbeat", 4, with_fields(group_id="x", generation_id=0, member_id=""))


async def test_a_group_that_nobody_came_to_never_was(cluster: EmbeddedCluster, clock: ManualClock) -> None:
    async with GroupClient(cluster) as client:
        client.ask_to_join(type_="")
        assert (await client.joined()).error_code == 23
        await _once(cluster, lambda: not cluster.state.groups)
        client.ask_to_join()
        assert (await client.joined()).error_code == 79
        assert "g" in cluster.state.groups
        await clock.asleep()
        clock.advance(11)
        await _once(cluster, lambda: not cluster.state.groups)
        client.ask_to_join()
        assert (await client.joined()).error_code == UNKNOWN_MEMBER


async def test_a_static_member_comes_back_without_a_rebalance(cluster: EmbeddedCluster) -> None:
    async with (
        GroupClient(cluster, instance_id="i") as was,
        GroupClient(cluster) as other,
        GroupClient(cluster, instance_id="i") as again,
    ):
        was.ask_to_join()
        await was.joined()
        was.ask_to_sync({was.member_id: b"all"})
        await was.synced()
        await other.ready_to_join()
        was.ask_to_join()
        await was.joined()
        await other.joined()
        was.ask_to_sync({was.member_id: b"i", other.member_id: b"o"})
        await was.synced()
        generation = was.generation
        again.ask_to_join()
        answer = await again.joined()
        assert (answer.error_code, answer.generation_id) == (0, generation)
        assert again.member_id != was.member_id
        again.ask_to_sync()
        assert (await again.synced()).assignment == b"i"
        assert await was.heartbeat() == FENCED
        other.ask_to_sync()
        assert [await again.heartbeat(), (await other.synced()).assignment] == [0, b"o"]


@pytest.mark.parametrize(
    ("protocols", "type_"), [(("roundrobin",), "consumer"), (("range",), "connect"), (("range",), "")]
)
async def test_protocols_that_do_not_agree(cluster: EmbeddedCluster, protocols: tuple[str, ...], type_: str) -> None:
    async with GroupClient(cluster) as first, GroupClient(cluster) as second:
        await alone(first)
        second.ask_to_join(*protocols, type_=type_)
        assert (await second.joined()).error_code == 23


async def test_the_protocol_that_all_have_is_chosen(cluster: EmbeddedCluster) -> None:
    async with GroupClient(cluster) as first, GroupClient(cluster) as second:
        await first.ready_to_join("sticky", "range")
        await first.joined()
        await second.ready_to_join("range")
        first.ask_to_join("sticky", "range")
        assert (await first.joined()).protocol_name == "range"


async def test_requests_that_are_not_of_this_group_or_generation(cluster: EmbeddedCluster) -> None:
    async with GroupClient(cluster) as client:
        await alone(client)
        client.generation += 1
        assert await client.heartbeat() == ILLEGAL_GENERATION
        client.ask_to_sync()
        assert (await client.synced()).error_code == ILLEGAL_GENERATION
        assert await client.commit(1) == ILLEGAL_GENERATION
        client.member_id = "somebody"
        assert await client.heartbeat() == UNKNOWN_MEMBER
        assert await client.commit(1) == UNKNOWN_MEMBER
        client.ask_to_join()
        assert (await client.joined()).error_code == UNKNOWN_MEMBER
        client.session = 1.0
        client.ask_to_join()
        assert (await client.joined()).error_code == 26
        client.group = ""
        client.ask_to_join()
        assert (await client.joined()).error_code == 24


async def test_another_broker_is_not_the_coordinator(cluster: EmbeddedCluster) -> None:
    async with GroupClient(cluster) as client:
        coordinator = coordinator_of(cluster.state.topics, "g")
        client.raw = RawClient(cluster, broker=coordinator % 3 + 1)
        async with client:
            client.ask_to_join()
            assert (await client.joined()).error_code == 16
            assert await client.commit(5) == 16


async def offsets(client: GroupClient, version: int = 8, topics: tuple[str, ...] | None = None) -> dict[str, int]:
    """What the group committed for partition 0 of its topics."""
    wanted = {"group_id": client.group, "topics": None if topics is None else [(name, [0]) for name in topics]}
    answer = await client.raw.ask("offset_fetch", version, with_fields(**wanted, groups=[wanted]))
    told = answer.topics if version < 8 else answer.groups[0].topics
    return {topic.name: topic.partitions[0].committed_offset for topic in told}


async def test_offsets_are_kept_until_their_topic_goes(cluster: EmbeddedCluster) -> None:
    async with GroupClient(cluster) as client:
        assert await offsets(client, topics=("orders",)) == {"orders": -1}
        await alone(client)
        assert await client.commit(42) == 0
        for version in range(2, 10):
            assert await offsets(client, version) == {"orders": 42}
        assert await client.commit(1, topic="nothing") == 3
        await client.leave()
        assert await client.commit(43, generation=-1) == UNKNOWN_MEMBER  # it still says its member id
        client.member_id = ""
        assert await client.commit(43, generation=-1) == 0
        assert await offsets(client) == {"orders": 43}
        cluster.state.remove_topic("orders")
        assert await offsets(client) == {}


async def test_offsets_by_topic_id(cluster: EmbeddedCluster) -> None:
    topic_id = cluster.state.topics["orders"].id
    async with GroupClient(cluster) as client:
        committed = await client.raw.ask(
            "offset_commit",
            10,
            with_fields(
                group_id="g",
                member_id="",
                topics=[
                    (each, [{"partition_index": 0, "committed_offset": 7, "committed_metadata": None}])
                    for each in (topic_id, type(topic_id)(int=9))
                ],
            ),
        )
        assert [topic.partitions[0].error_code for topic in committed.topics] == [0, 100]
        told = await client.raw.ask("offset_fetch", 10, with_fields(groups=[{"group_id": "g", "topics": None}]))
        (topic,) = told.groups[0].topics
        assert (topic.topic_id, topic.partitions[0].committed_offset) == (topic_id, 7)


async def test_groups_are_listed_and_described_by_their_coordinator(cluster: EmbeddedCluster) -> None:
    async with GroupClient(cluster) as client:
        await alone(client)
        listed = await client.raw.ask("list_groups", 5, with_fields())
        assert [(g.group_id, g.group_state, g.group_type, g.protocol_type) for g in listed.groups] == [
            ("g", "Stable", "classic", "consumer")
        ]
        empty = await client.raw.ask("list_groups", 5, with_fields(states_filter=["empty"]))
        assert empty.groups == ()
        described = await client.raw.ask(
            "describe_groups", 6, with_fields(groups=["g", "none"], include_authorized_operations=True)
        )
        found, missing = described.groups
        if found.group_id != "g":
            found, missing = missing, found
        (member,) = found.members
        assert (found.error_code, found.group_state, found.protocol_data) == (0, "Stable", "range")
        assert (member.client_id, member.client_host, member.member_assignment) == ("member", "/127.0.0.1", b"all")
        if coordinator_of(cluster.state.topics, "none") == coordinator_of(cluster.state.topics, "g"):
            assert (missing.error_code, missing.group_state, missing.error_message) == (
                69, "Dead", "Group none not found.",
            )  # fmt: skip
        else:
            assert missing.error_code == 16
        newer = await client.raw.ask(
            "consumer_group_describe", 1, with_fields(group_ids=["g"], include_authorized_operations=False)
        )
        assert (newer.groups[0].error_code, newer.groups[0].error_message) == (
            69,
            "Group g is not a consumer group.",
        )


async def delete(client: GroupClient) -> int:
    answer = await client.raw.ask("delete_groups", 2, with_fields(groups_names=[client.group]))
    code: int = answer.results[0].error_code
    return code


async def test_an_empty_group_can_be_deleted(cluster: EmbeddedCluster) -> None:
    async with GroupClient(cluster) as client:
        assert await delete(client) == 69
        await alone(client)
        await client.commit(5)
        assert await delete(client) == 68
        await client.leave()
        assert await delete(client) == 0
        assert cluster.state.groups == {}


async def test_offsets_of_topics_that_nobody_reads_can_be_deleted(cluster: EmbeddedCluster) -> None:
    async def delete_offset() -> tuple[int, int]:
        answer = await client.raw.ask("offset_delete", 0, with_fields(group_id="g", topics=[("orders", [0])]))
        return answer.error_code, answer.topics[0].partitions[0].error_code if answer.topics else -1

    async with GroupClient(cluster) as client:
        assert await delete_offset() == (69, -1)
        await alone(client)
        await client.commit(5)
        subscription = b"\x00\x01" + b"\x00\x00\x00\x01" + b"\x00\x06orders" + b"\xff\xff\xff\xff"
        member = next(iter(cluster.state.groups["g"].members.values()))
        member.protocols = (("range", subscription),)
        assert await delete_offset() == (0, 86)
        member.protocols = (("range", b"\x00\x01\x7f\xff\xff\xff"),)
        assert await delete_offset() == (0, 0)
        assert await offsets(client) == {}
