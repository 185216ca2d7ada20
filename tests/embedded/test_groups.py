"""Tests of all types of groups over sockets, and of lists of groups."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from types import ModuleType
from typing import Any, Self

import pytest

from console.admin.groups import DESCRIBED_AT_ONCE, FETCHED_AT_ONCE, describe_groups, list_groups, poll_groups
from console.admin.link import Link
from console.admin.partitions import PARTITIONS_AT_ONCE
from console.cli import main as cli
from console.embedded import partition_log, record_batch, replicas
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.group_coordinator import GROUP_TOPIC, coordinator_of, ensure_topic
from console.embedded.groups import Committed, Group, GroupState
from console.embedded.scenarios.group_kinds import NEWER, ORDERS, PAYMENTS, REFUNDS, SCORES
from console.embedded.scenarios.quiet import GROUPS
from console.embedded.scenarios.seed import add_topic, batch_of
from console.embedded.spec import ClusterSpec
from console.model.cluster import StreamsTasks, Subtopology
from console.model.coordinators import OFFSETS, partition_of
from console.wire.fields import Asked, payload
from console.wire.frames import decode_body, split_response
from console.wire.schemas import response_type
from tests.embedded.raw_client import RawClient
from tests.support import worlds
from tests.support.kafka_messages import with_fields
from tests.support.lags import group_lag
from tests.support.manual_clock import ManualClock
from tests.support.triage_watch import watching

JOIN, SYNC = 7, 5


class GroupClient:
    """A member of a group with a connection to the coordinator; an asynchronous context manager."""

    def __init__(
        self, cluster: EmbeddedCluster, group: str = "g", instance_id: str | None = None, session: float = 10.0
    ) -> None:
        self.raw = RawClient(cluster, coordinator_of(cluster.state.topics, group), client_id="member")
        self.group = group
        self.instance_id = instance_id
        self.session = session
        self.member_id = ""
        self.generation = -1

    async def __aenter__(self) -> Self:
        await self.raw.__aenter__()
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.raw.__aexit__(*ended)

    def ask_to_join(self, *protocols: str, version: int = JOIN, type_: str = "consumer") -> None:
        """Send a JoinGroup request without waiting; `joined` reads the response."""
        self.raw.request(
            "join_group",
            version,
            with_fields(
                group_id=self.group,
                session_timeout=self.session,
                rebalance_timeout=2 * self.session,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                protocol_type=type_,
                protocols=[{"name": name, "metadata": name.encode()} for name in protocols or ("range",)],
            ),
        )

    async def joined(self, version: int = JOIN) -> Any:
        """Return the response to the JoinGroup request, and keep its member id and generation."""
        answer = await self.answer("join_group", version)
        if answer.error_code in (0, 79):
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    async def answer(self, api: str, version: int) -> Any:
        """Return the next response on the connection."""
        response = response_type(api, version)
        return decode_body(response, split_response(response, await self.raw.frame())[1])

    async def ready_to_join(self, *protocols: str) -> None:
        """Get a member id by a first JoinGroup request (KIP-394), and send the second one with it, without waiting."""
        self.ask_to_join(*protocols)
        answer = await self.joined()
        assert answer.error_code == 79
        self.ask_to_join(*protocols)

    def ask_to_sync(self, assignments: Mapping[str, bytes] | None = None) -> None:
        """Send a SyncGroup request without waiting; `synced` reads the response. assignments: member id -> its
        assignment, from the group's leader; None from other members.
        """
        self.raw.request(
            "sync_group",
            SYNC,
            with_fields(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=[{"member_id": member, "assignment": data} for member, data in (assignments or {}).items()],
            ),
        )

    async def synced(self) -> Any:
        """Return the response to the SyncGroup request."""
        return await self.answer("sync_group", SYNC)

    async def heartbeat(self) -> int:
        """Send a heartbeat; return the error code of its response."""
        answer = await self.raw.ask(
            "heartbeat",
            4,
            with_fields(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
            ),
        )
        code: int = answer.error_code
        return code

    async def leave(self) -> tuple[int, list[int]]:
        """Leave the group; return the error code of the response, and those of its members."""
        answer = await self.raw.ask(
            "leave_group", 5, with_fields(group_id=self.group, members=[(self.member_id, self.instance_id)])
        )
        return answer.error_code, [member.error_code for member in answer.members]

    async def commit(self, offset: int, topic: str = "orders", version: int = 9, generation: int | None = None) -> int:
        """Commit an offset of partition 0; return the partition's error code."""
        answer = await self.raw.ask(
            "offset_commit",
            version,
            with_fields(
                group_id=self.group,
                generation_id_or_member_epoch=self.generation if generation is None else generation,
                member_id=self.member_id,
                topics=[
                    {
                        "name": topic,
                        "partitions": [{"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}],
                    }
                ],
            ),
        )
        code: int = answer.topics[0].partitions[0].error_code
        return code


# -- Groups over the wire: members join and leave, generations change, offsets stay ------------------------------------

NO_DELAY = {"group.initial.rebalance.delay.ms": "0"}
UNKNOWN_MEMBER, REBALANCING, FENCED = 25, 27, 82


@pytest.fixture
async def clock() -> ManualClock:
    return ManualClock()


async def started(stack: AsyncExitStack, clock: ManualClock, **static_configs: str) -> EmbeddedCluster:
    cluster = EmbeddedCluster(ClusterSpec(static_configs={**NO_DELAY, **static_configs}), clock)
    ensure_topic(cluster.state)
    cluster.state.put_topic(replicas.new_topic("orders", [(1, 2)], cluster.state.alive()))
    return await stack.enter_async_context(cluster)


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[EmbeddedCluster]:
    async with AsyncExitStack() as stack:
        yield await started(stack, clock)


async def alone(client: GroupClient) -> None:
    """Join a group as its only member, and get the assignment of all partitions."""
    await client.ready_to_join()
    answer = await client.joined()
    assert (answer.error_code, answer.leader) == (0, client.member_id)
    client.ask_to_sync({client.member_id: b"all"})
    assert (await client.synced()).assignment == b"all"


async def both(first: GroupClient, second: GroupClient) -> None:
    """Let the second client join the group of the first; each gets an assignment."""
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
        await _once(cluster, lambda: group.gathering > clock.time() + 2.9)  # extended, because a member came late
        assert group.state == GroupState.PREPARING
        clock.advance(3.1)
        assert len((await first.joined()).members) == 2
        assert (await second.joined()).generation_id == 1


async def _state(cluster: EmbeddedCluster, members: int) -> None:
    """Wait until the group has `members` members."""
    await _once(cluster, lambda: "g" in cluster.state.groups and len(cluster.state.groups["g"].members) >= members)


async def _synced(cluster: EmbeddedCluster, member_id: str) -> None:
    """Wait until the coordinator holds the member's SyncGroup request."""
    await _once(cluster, lambda: cluster.state.groups["g"].members[member_id].syncing is not None)


async def _once(cluster: EmbeddedCluster, holds: Callable[[], bool]) -> None:
    """Wait until a condition holds, sending requests in between."""
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


async def test_another_broker_is_not_the_coordinator(cluster: EmbeddedCluster) -> None:
    async with GroupClient(cluster) as client:
        coordinator = coordinator_of(cluster.state.topics, "g")
        client.raw = RawClient(cluster, broker=coordinator % 3 + 1)
        async with client:
            client.ask_to_join()
            assert (await client.joined()).error_code == 16
            assert await client.commit(5) == 16


async def offsets(client: GroupClient, version: int = 8, topics: tuple[str, ...] | None = None) -> dict[str, int]:
    """Return topic -> the group's committed offset of partition 0. topics: None for all."""
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
        assert await client.commit(43, generation=-1) == UNKNOWN_MEMBER  # the request still has a member id
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


# -- Groups of all types: the same functions read them, with a bounded number of requests ------------------------------

all_kinds = worlds.embedded(ClusterSpec(scenario="groups"))

link = worlds.link("all_kinds")


async def test_all_kinds_are_listed_and_described(link: Link) -> None:
    listing = await list_groups(link)
    types = {name: group.type for name, group in listing.groups.items()}
    assert types == {
        **{name: "classic" for name, *_ in GROUPS},
        **{name: newer.type for name, (newer, _, _) in NEWER.items()},
    }
    by_types = await describe_groups(link, list(types), types)
    assert by_types == await describe_groups(link, list(types))
    assert not by_types.failures
    assert {name: (group.type, group.state) for name, group in by_types.groups.items()} == {
        name: (types[name], group.state) for name, group in listing.groups.items()
    }


async def test_members_that_have_not_taken_their_target_are_known(link: Link) -> None:
    groups = (await describe_groups(link, ["order-events", "fraud-scores", "billing", "refund-workers"])).groups
    order = groups["order-events"]
    assert (order.epoch, order.assignment_epoch, order.assignor, order.late_members) == (8, 8, "uniform", 2)
    late = {member.client_id: member for member in order.members or () if not member.has_target}
    assert (late["orders-2"].epoch, len(late["orders-2"].assignment), len(late["orders-2"].target or ())) == (7, 8, 4)
    assert late["orders-3"].assignment == ()
    assert late["orders-3"].target == tuple((ORDERS, number) for number in range(8, 12))
    scores = groups["fraud-scores"]
    assert (scores.topology_epoch, scores.late_members) == (2, 1)
    assert scores.topology == (Subtopology("0", (PAYMENTS,), (), (), (SCORES,)),)
    assert order.topology is groups["billing"].topology is groups["refund-workers"].topology is None
    second = next(member for member in scores.members or () if member.client_id == "scores-2")
    assert second.tasks == StreamsTasks(
        tuple(("0", number) for number in range(12, 23)), (("0", 0), ("0", 1)), (("0", 23),)
    )
    assert second.assignment == tuple((PAYMENTS, number) for number in range(12, 23))
    assert groups["billing"].late_members == groups["refund-workers"].late_members == 0


async def test_the_lag_of_each_kind(all_kinds: EmbeddedCluster, link: Link) -> None:
    names = [*NEWER, "billing", "no-such-group"]
    polls = await poll_groups(link, names)
    assert set(polls.lags) == {*NEWER, "billing"}
    assert polls.failures["no-such-group"].name == polls.lag_failures["no-such-group"].name == "GROUP_ID_NOT_FOUND"
    for name in polls.lags:
        assert await group_lag(link, name) == polls.lags[name]
        offsets = all_kinds.state.groups[name].offsets
        rows = {(row.topic, row.partition): row for row in polls.lags[name].partitions}
        assert {place: row.committed for place, row in rows.items()} == {
            place: committed.offset for place, committed in offsets.items()
        }
        assert all(row.end == all_kinds.state.logs[place].end for place, row in rows.items())
    workers = polls.lags["refund-workers"].partitions
    done = NEWER["refund-workers"][0].acknowledged
    assert [row.lag for row in workers] == [row.end - row.committed - done for row in workers]
    assert all(row.topic == REFUNDS and row.member for row in workers)


async def test_many_groups_are_few_requests_and_none_is_without_bounds(all_kinds: EmbeddedCluster, link: Link) -> None:
    """A group with very many partitions, and very many groups, are read by few requests of bounded size."""
    state = all_kinds.state
    add_topic(state, "wide", 2 * PARTITIONS_AT_ONCE * len(state.alive()) + 1, 1)
    numbers = range(len(state.topics["wide"].partitions))
    state.groups["wide"] = Group("wide", written=True, offsets={("wide", n): Committed(0) for n in numbers})
    many = [f"many-{number}" for number in range(3 * (DESCRIBED_AT_ONCE + FETCHED_AT_ONCE))]
    for name in many:
        state.groups[name] = Group(name, written=True, offsets={("wide", 0): Committed(0)})
    largest: dict[str, int] = {}
    asked: dict[str, int] = {}

    def watched(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def watching(api: str, fields: Asked, **options: Any) -> Any:
            def counted(kio: ModuleType) -> Any:
                request = payload(kio, api, fields)
                asked[api] = asked.get(api, 0) + 1
                largest[api] = max(largest.get(api, 0), _items(api, request))
                return request

            return await call(api, counted, **options)

        return watching

    link.call = watched(link.call)  # type: ignore[method-assign]
    link.call_raw = watched(link.call_raw)  # type: ignore[method-assign]
    polls = await poll_groups(link, ["wide", *many])
    assert len(polls.lags["wide"].partitions) == len(numbers)
    assert set(polls.lags) == {"wide", *many}
    assert not polls.failures
    assert largest["describe_groups"] <= DESCRIBED_AT_ONCE
    assert largest["offset_fetch"] <= FETCHED_AT_ONCE
    assert largest["list_offsets"] <= PARTITIONS_AT_ONCE
    assert asked["list_offsets"] <= 2 * len(state.alive()) + len(state.alive())
    assert asked["find_coordinator"] == 1


def _items(api: str, request: Any) -> int:
    """Return the number of groups or partitions in a request."""
    match api:
        case "describe_groups" | "offset_fetch":
            return len(request.groups)
        case "list_offsets":
            return sum(len(topic.partitions) for topic in request.topics)
    return 0


# -- Lists of groups are complete, or name the part that could not be read ---------------------------------------------


def seed(cluster: EmbeddedCluster) -> None:
    """Add topics and two groups without members. The group `calm` has the state Dead and committed offsets, because
    some servers describe groups without members in this way.
    """
    state, now = cluster.state, int(cluster.clock.time() * 1000)
    ids = sorted(state.brokers)
    state.put_topic(replicas.new_topic("orders", replicas.striped(ids, 1, 1), ids))
    worlds.topic(GROUP_TOPIC, 50, brokers=ids)(cluster)
    state.logs["orders", 0] = log = partition_log.PartitionLog()
    log.append(record_batch.read_batch(batch_of([b"one", b"two", b"three"], now, b"k"), 0), 0)
    for name in ("calm", "other"):
        group = Group(name, protocol_type="consumer", written=True)
        group.offsets["orders", 0] = Committed(1, 0)
        state.groups[name] = group
    state.groups["calm"].state = "Dead"  # type: ignore[assignment]


async def run(bootstrap: str, script: str) -> int:
    return await asyncio.to_thread(cli.run, ["run", "-b", bootstrap, "-e", script])


@pytest.mark.parametrize(
    ("script", "offset"),
    [
        ("reset group calm to latest; apply --yes", 3),
        ("skip group calm topic orders partition 0; apply --yes", 2),
        ("delete group calm topic orders partition 0; apply --yes", None),
        ("delete group calm; apply --yes", None),
    ],
)
async def test_a_listed_group_with_offsets_is_one_without_members(
    script: str, offset: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        running.call(seed)
        assert await asyncio.to_thread(cli.run, ["groups", "--list", "-b", running.bootstrap]) == 0
        assert "calm" in capsys.readouterr().out
        code = await run(running.bootstrap, script)
        assert code == 0, capsys.readouterr()
        left = running.call(
            lambda c: c.state.groups["calm"].offsets.get(("orders", 0)) if "calm" in c.state.groups else None
        )
        assert (left.offset if left is not None else None) == offset


async def test_a_group_that_is_dead_and_has_nothing_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        running.call(seed)
        running.call(lambda c: c.state.groups["calm"].offsets.clear())
        assert await run(running.bootstrap, "skip group calm topic orders partition 0; apply --yes") != 0
        assert "there is no group 'calm'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("describe group ''", "orders"),
        ("list groups ''", "Empty"),
        ("records orders from group ''", "two"),
        ("reset group '' to latest; apply --yes", "applied"),
        ("clone group '' to other; apply --yes", "applied"),
        ("delete group ''; apply --yes", "applied"),
    ],
)
async def test_the_group_with_the_empty_name_is_one_as_others(
    script: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Statements work with a group with an empty name, because brokers accept its commits and list it; a client without
    group.id may leave such a group.
    """
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        running.call(seed)

        def rename(cluster: EmbeddedCluster) -> None:
            group = Group("", protocol_type="consumer", written=True)
            group.offsets["orders", 0] = Committed(1, 0)
            cluster.state.groups = {"": group}

        running.call(rename)
        assert await run(running.bootstrap, script) == 0, capsys.readouterr()
        assert said in capsys.readouterr().out


async def test_its_lag_is_known() -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        running.call(seed)
        async with watching(worlds.settings(running)) as it:
            verdict = await it.until(
                lambda _: it.observations is not None and "calm" in it.observations.last.snapshot.lags, "lag"
            )
            assert verdict.is_healthy
            assert it.observations is not None
            assert it.observations.last.snapshot.lags["calm"].total == 2
            assert not [each for each in it.observations.last.snapshot.failures if "calm" in each.part]


async def test_groups_whose_coordinator_has_no_leader_are_not_counted_as_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If a partition of __consumer_offsets has no leader, the list of groups names it as unread, and the screen keeps
    the groups that it has.
    """
    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(seed)
        away = running.call(lambda c: coordinator_of(c.state.topics, "other"))
        known = await asyncio.to_thread(cli.run, ["groups", "--list", "--output", "json", "-b", running.bootstrap])
        assert known == 0
        capsys.readouterr()
        async with watching(worlds.settings(running)) as it:
            await it.until(
                lambda _: it.observations is not None and "other" in it.observations.last.snapshot.groups, "groups"
            )
            running.run(lambda c: c.broker_down(away))
            unlisted = f"groups {OFFSETS}"
            verdict = await it.until(
                lambda v: any(unlisted in each.what for each in v.unknowable), "what is not listed"
            )
            assert not verdict.is_healthy
            assert it.observations is not None
            assert "other" in it.observations.last.snapshot.groups
        bootstrap = running.call(
            lambda c: ",".join(f"{host}:{port}" for id_, (host, port) in c.addresses.items() if id_ != away)
        )
        code = await asyncio.to_thread(cli.run, ["groups", "--list", "--output", "json", "-b", bootstrap])
        assert code == 1
        data = json.loads(capsys.readouterr().out)
        (error,) = [each for each in data["errors"] if each["entity"] == OFFSETS]
        assert error["error"] == "COORDINATOR_NOT_AVAILABLE"
        down = [number for number in range(50) if number % 3 == away - 1]
        assert partition_of("other", 50) in down
        assert error["message"].startswith(f"{len(down)} of 50 partitions have no leader ({down[0]}, {down[1]},")


async def test_nothing_is_missing_where_the_coordinators_are_there() -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=2)) as running:
        async with worlds.linked(worlds.settings(running)) as link:
            assert not (await list_groups(link)).failures, "there is no such topic yet"
            seed(running)
            listing = await list_groups(link)
        assert not listing.failures
        assert set(listing.groups) == {"calm", "other"}


async def test_configs_say_that_groups_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(seed)
        running.run(lambda c: c.broker_down(3))
        first = running.bootstrap.partition(",")[0]
        arguments = ["configs", "--bootstrap-server", first, "--describe", "--entity-type", "groups"]
        await asyncio.to_thread(cli.run, arguments)
        assert f"not all groups are listed: {OFFSETS}: " in capsys.readouterr().err
