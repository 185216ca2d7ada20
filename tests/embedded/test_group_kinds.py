"""Groups of every kind, read from an embedded cluster by one set of reads, with requests that are bounded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from console.admin.groups import DESCRIBED_AT_ONCE, FETCHED_AT_ONCE, describe_groups, list_groups, poll_groups
from console.admin.link import Link
from console.admin.partitions import PARTITIONS_AT_ONCE
from console.embedded.brokers import EmbeddedCluster
from console.embedded.groups import Committed, Group
from console.embedded.scenarios.group_kinds import NEWER, ORDERS, PAYMENTS, REFUNDS, SCORES
from console.embedded.scenarios.quiet import GROUPS
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import ClusterSpec
from console.model.cluster import StreamsTasks, Subtopology
from console.wire.fields import Asked, payload
from tests.support import worlds
from tests.support.lags import group_lag

cluster = worlds.embedded(ClusterSpec(scenario="groups"))


link = worlds.link("cluster")


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


async def test_the_lag_of_each_kind(cluster: EmbeddedCluster, link: Link) -> None:
    names = [*NEWER, "billing", "no-such-group"]
    polls = await poll_groups(link, names)
    assert set(polls.lags) == {*NEWER, "billing"}
    assert polls.failures["no-such-group"].name == polls.lag_failures["no-such-group"].name == "GROUP_ID_NOT_FOUND"
    for name in polls.lags:
        assert await group_lag(link, name) == polls.lags[name]
        offsets = cluster.state.groups[name].offsets
        rows = {(row.topic, row.partition): row for row in polls.lags[name].partitions}
        assert {place: row.committed for place, row in rows.items()} == {
            place: committed.offset for place, committed in offsets.items()
        }
        assert all(row.end == cluster.state.logs[place].end for place, row in rows.items())
    workers = polls.lags["refund-workers"].partitions
    done = NEWER["refund-workers"][0].acknowledged
    assert [row.lag for row in workers] == [row.end - row.committed - done for row in workers]
    assert all(row.topic == REFUNDS and row.member for row in workers)


async def test_many_groups_are_few_requests_and_none_is_without_bounds(cluster: EmbeddedCluster, link: Link) -> None:
    """A group with very many partitions, and very many groups."""
    state = cluster.state
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
    """Groups or partitions that a request names."""
    match api:
        case "describe_groups" | "offset_fetch":
            return len(request.groups)
        case "list_offsets":
            return sum(len(topic.partitions) for topic in request.topics)
    return 0
