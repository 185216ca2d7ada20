"""Records and positions in one transaction: all or none, whatever is lost, and one producer at a time."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from console.admin import errors
from console.admin.exactly_once import Exactly, Fenced, Interrupted, commit, give_up, stable_positions, take_over
from console.admin.link import Link
from console.admin.record_search import search
from console.embedded import faults
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.cluster import CommittedOffset
from console.model.config import topic_resource
from console.model.new_records import NewRecord
from console.model.records import First, Search
from tests.support import worlds

GROUP, SOURCE, TARGET = "kac-redrive-dead-1", "dead", "orders"
LOST, NEVER_CAME = faults.Cut(faults.Moment.AFTER), faults.Cut(faults.Moment.BEFORE)
SETTINGS: dict[str, Any] = {"request_timeout": 3.0, "lost_answer_timeout": 0.5}
TOPICS = (worlds.topic(SOURCE, [(1, 2)]), worlds.topic(TARGET, [(2, 3), (3, 1)]))

first_kind = worlds.cluster(ClusterSpec(brokers=3, versions="3.9"), *TOPICS)
second_kind = worlds.cluster(ClusterSpec(brokers=3), *TOPICS)


@pytest.fixture(params=["first_kind", "second_kind"])
def cluster(request: pytest.FixtureRequest) -> ThreadedCluster:
    """A cluster with transactions of either kind."""
    found: ThreadedCluster = request.getfixturevalue(request.param)
    return found


link = worlds.link("cluster", **SETTINGS)
other = worlds.link("cluster", **SETTINGS)


def fault(cluster: ThreadedCluster, effect: faults.Effect, api: str, **more: Any) -> faults.Fault:
    made = faults.Fault(effect, api=api, **more)
    cluster.call(lambda each: each.faults.add(made))
    return made


async def seen(link: Link) -> list[bytes | None]:
    """What a consumer with read_committed reads."""
    found: list[bytes | None] = []
    async for portion in search(link, Search((TARGET,), start=First())):
        found += [each.value for each in portion.records]
    return sorted(found, key=str)


async def position(link: Link) -> CommittedOffset | None:
    return (await stable_positions(link, GROUP, SOURCE))[0]


async def one(link: Link, mine: Exactly, number: int) -> None:
    """Send a record to each partition, and pass one more letter."""
    records = {(TARGET, place): [NewRecord(b"k", b"%d-%d" % (number, place))] for place in (0, 1)}
    await commit(link, mine, records, GROUP, {(SOURCE, 0): CommittedOffset(number + 1, -1, f"after {number}")})


async def test_records_and_positions_are_committed_together(cluster: ThreadedCluster, link: Link) -> None:
    mine = await take_over(link, GROUP)
    assert mine.is_second is (cluster.call(lambda each: each.release.number) >= (4, 0))
    assert await position(link) is None
    await one(link, mine, 0)
    await one(link, mine, 1)
    assert await position(link) == CommittedOffset(2, -1, "after 1")
    assert await seen(link) == [b"0-0", b"0-1", b"1-0", b"1-1"]


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
    cluster: ThreadedCluster, link: Link, api: str, effect: faults.Effect
) -> None:
    fault(cluster, effect, api, nth=2 if api == "end_txn" else 1, times=1)
    mine: Exactly | None = None
    interruptions = 0
    while ((await position(link)) or CommittedOffset(0)).offset < 3:
        try:
            mine = await take_over(link, GROUP, mine) if mine is None or mine.began is not None else mine
            at = ((await position(link)) or CommittedOffset(0)).offset
            await one(link, mine, at)
        except Interrupted:
            interruptions += 1
            assert mine is not None
            mine = await take_over(link, GROUP, mine)
    assert interruptions <= 1
    assert await seen(link) == [b"%d-%d" % (number, place) for number in range(3) for place in (0, 1)]


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
async def test_what_passes_is_asked_for_again(cluster: ThreadedCluster, link: Link, api: str, code: int) -> None:
    fault(cluster, faults.Fail(code), api, times=2)
    mine = await take_over(link, GROUP)
    assert await position(link) is None
    await one(link, mine, 0)
    assert await seen(link) == [b"0-0", b"0-1"]


async def test_the_epoch_after_a_commit_without_an_answer_is_asked_for(second_kind: ThreadedCluster) -> None:
    async with worlds.linked(worlds.settings(second_kind, **SETTINGS)) as link:
        mine = await take_over(link, GROUP)
        await one(link, mine, 0)
        before = mine.producer.epoch
        fault(second_kind, LOST, "end_txn", times=1)
        with pytest.raises(Interrupted):
            await one(link, mine, 1)
        await give_up(link, mine)
        assert (mine.began, mine.producer.epoch) == (None, before + 1)
        assert await position(link) == CommittedOffset(2, -1, "after 1")
        await one(link, mine, 2)
        assert await seen(link) == [b"%d-%d" % (number, place) for number in range(3) for place in (0, 1)]


async def test_a_second_producer_fences_the_first(cluster: ThreadedCluster, link: Link, other: Link) -> None:
    first = await take_over(link, GROUP)
    await one(link, first, 0)
    second = await take_over(other, GROUP)
    with pytest.raises(Interrupted):
        await one(link, first, 1)
    with pytest.raises(Fenced, match="another kac sends these letters now"):
        await take_over(link, GROUP, first)
    assert await position(other) == CommittedOffset(1, -1, "after 0")
    await one(other, second, 1)
    assert await seen(link) == [b"0-0", b"0-1", b"1-0", b"1-1"]


async def test_an_open_transaction_of_a_producer_that_died_is_ended_first(
    cluster: ThreadedCluster, link: Link, other: Link
) -> None:
    first = await take_over(link, GROUP)
    fault(cluster, NEVER_CAME, "end_txn", times=1)
    with pytest.raises(Interrupted):
        await one(link, first, 0)
    assert await seen(link) == []
    second = await take_over(other, GROUP)
    assert await position(other) is None
    await one(other, second, 0)
    assert await seen(link) == [b"0-0", b"0-1"]


async def test_a_refusal_is_final_and_nothing_of_it_is_seen(cluster: ThreadedCluster, link: Link) -> None:
    cluster.call(lambda each: each.state.alter_config(topic_resource(TARGET), {"cleanup.policy": "compact"}))
    mine = await take_over(link, GROUP)
    records = {(TARGET, 0): [NewRecord(b"k", b"a")], (TARGET, 1): [NewRecord(None, b"b")]}
    with pytest.raises(errors.BrokerError, match="without key"):
        await commit(link, mine, records, GROUP, {(SOURCE, 0): CommittedOffset(1)})
    await give_up(link, mine)
    assert mine.began is None
    assert (await position(link), await seen(link)) == (None, [])
    mine = await take_over(link, GROUP, mine)
    await one(link, mine, 0)
    assert await seen(link) == [b"0-0", b"0-1"]


async def test_positions_without_records(cluster: ThreadedCluster, link: Link) -> None:
    mine = await take_over(link, GROUP)
    await commit(link, mine, {}, GROUP, {(SOURCE, 0): CommittedOffset(7, -1, "")})
    assert await position(link) == CommittedOffset(7, -1, "")
