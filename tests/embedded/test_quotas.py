"""Tests of quotas over sockets, and of their enforcement."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from itertools import product
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded import java, replicas, spec
from console.embedded.brokers import EmbeddedCluster
from console.embedded.quotas import quota_candidates
from console.embedded.scenarios import large
from console.embedded.throttling import SPAN, WINDOW, WINDOWS, Rate, Timed, TokenBucket
from console.model import quota
from console.model.quota import CLIENT_ID, USER, QuotaEntity
from tests.embedded.raw_client import RawClient
from tests.embedded.record_batches import batch, fetch_request, produce_request, values
from tests.support.kafka_messages import with_fields
from tests.support.manual_clock import ManualClock

RATE, PERCENTAGE = "producer_byte_rate", "request_percentage"
Entry = tuple[Mapping[str, str | None], Mapping[str, float | None]]


@pytest.mark.parametrize(
    ("names", "order"),
    [
        ((), []),
        (("user",), ["user"]),
        (("ip", "user"), ["user", "ip"]),
        (("user", "client-id"), ["client-id", "user"]),
        (("foo", "user"), ["user", "foo"]),
        ((RATE, "bogus"), ["bogus", RATE]),
    ],
)
def test_brokers_go_through_names_in_an_order_of_their_own(names: tuple[str, ...], order: list[str]) -> None:
    """The embedded cluster handles names in the order that was observed in the errors and answers of a broker of
    4.3.
    """
    assert java.sized_hash_order(names) == order


def altered(entries: Iterable[Entry], *, dry: bool = False) -> Any:
    rows = [
        ([*entity.items()], [(key, value or 0.0, value is None) for key, value in values.items()])
        for entity, values in entries
    ]
    return with_fields(entries=rows, validate_only=dry)


async def test_what_stays_as_it_is_counts_for_nothing(cluster: EmbeddedCluster) -> None:
    """Values that do not change do not count towards the controller's limit of 10,000 records in a change, because they
    need no record.
    """
    entries: list[Entry] = [({USER: f"u{number}"}, {RATE: 1.0, PERCENTAGE: 50.0}) for number in range(5_001)]
    refused = (44, "Request parameters do not satisfy the configured policy.")
    async with RawClient(cluster) as client:
        told = await client.ask("alter_client_quotas", 1, altered(entries))
        assert [(entry.error_code, entry.error_message) for entry in told.entries] == [refused] * len(entries)
        assert not cluster.state.quotas
        cluster.state.alter_quota(QuotaEntity.of({USER: "u0"}), {PERCENTAGE: 50.0})
        cluster.state.alter_quota(QuotaEntity.of({USER: "u1"}), {PERCENTAGE: 50.0})
        told = await client.ask("alter_client_quotas", 1, altered(entries))
        assert {entry.error_code for entry in told.entries} == {0}
    assert len(cluster.state.quotas) == len(entries)


async def test_a_last_key_takes_the_entity_with_it(cluster: EmbeddedCluster) -> None:
    entity = {USER: "a", CLIENT_ID: None}
    async with RawClient(cluster) as client:
        for values in ({RATE: 1.0, PERCENTAGE: 5.0}, {RATE: None, PERCENTAGE: 6.0}):
            (entry,) = (await client.ask("alter_client_quotas", 1, altered([(entity, values)]))).entries
            assert (entry.error_code, entry.error_message) == (0, None)
            assert [(part.entity_type, part.entity_name) for part in entry.entity] == [(CLIENT_ID, None), (USER, "a")]
        assert cluster.state.quotas == {QuotaEntity.of(entity): {PERCENTAGE: 6.0}}
        before = cluster.state.log.end
        await client.ask("alter_client_quotas", 1, altered([(entity, {PERCENTAGE: None})], dry=True))
        await client.ask("alter_client_quotas", 1, altered([(entity, {PERCENTAGE: 6.0, "no such key": None})]))
        assert cluster.state.log.end == before
        await client.ask("alter_client_quotas", 1, altered([(entity, {PERCENTAGE: None})]))
        assert not cluster.state.quotas


async def test_hosts_that_are_not_there(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        for name, message in (
            ("127.0.0.1", None),
            ("::1", None),
            ("[::1]", None),
            ("localhost", None),
            ("no such host", "no such host is not a valid IP or resolvable host."),
            ("256.1.1.1", "256.1.1.1 is not a valid IP or resolvable host."),
        ):
            entries: list[Entry] = [({"ip": name}, {"connection_creation_rate": 1.0})]
            (entry,) = (await client.ask("alter_client_quotas", 1, altered(entries, dry=True))).entries
            assert entry.error_message == message


# -- Fast lookups of quotas find all of them ---------------------------------------------------------------------------

NAMES = ("user-000000", "user-000003", "user-999999", "loader", "own")


def filters_of(type_: str) -> list[quota.QuotaMatch]:
    exact = [quota.QuotaMatch(type_, quota.Match.EXACT, name) for name in NAMES]
    return [*exact, quota.QuotaMatch(type_, quota.Match.DEFAULT), quota.QuotaMatch(type_, quota.Match.ANY_NAME)]


ALONE = [(each,) for type_ in (quota.USER, quota.CLIENT_ID, quota.IP) for each in filters_of(type_)]
PAIRS = list(product(filters_of(quota.USER), filters_of(quota.CLIENT_ID)))
FILTERS = [(), *ALONE, *PAIRS, *((client, user) for user, client in PAIRS)]


@pytest.fixture(scope="module")
def large_table() -> EmbeddedCluster:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "QUOTA_ENTITIES", 40)
        large_table = EmbeddedCluster(spec.ClusterSpec(scenario="large"))
    state = large_table.state
    for parts in (
        {quota.USER: "own"},
        {quota.USER: "user-000003", quota.CLIENT_ID: "own"},
        {quota.USER: "user-000000"},
        {quota.IP: None},
    ):
        state.alter_quota(quota.QuotaEntity.of(parts), {"request_percentage": 3.0})
    state.remove("quotas", quota.QuotaEntity.of({quota.USER: "user-000003"}))
    return large_table


@pytest.mark.parametrize("strict", [True, False])
def test_candidates_are_all_that_is_found(large_table: EmbeddedCluster, strict: bool) -> None:
    now = large_table.state.view
    before = large_table.state.view_at(now.offset - 3)
    for quotas, components in product((now.quotas, before.quotas), FILTERS):
        wanted = quota.QuotaFilter(components, strict)
        expected = {entity: values for entity, values in quotas.items() if wanted.finds(entity)}
        found = [(entity, values) for entity, values in quota_candidates(quotas, wanted) if wanted.finds(entity)]
        assert dict(found) == expected
        assert len(found) == len(expected)


@pytest.mark.parametrize(
    ("parts", "strict", "candidates"),
    [
        ({quota.USER: "user-123456"}, False, 5),
        ({quota.USER: "user-123456", quota.CLIENT_ID: "reader"}, False, 5),
        ({quota.USER: "user-123456", quota.CLIENT_ID: "reader"}, True, 1),
        ({quota.USER: "nobody"}, False, 0),
        ({quota.CLIENT_ID: "nothing"}, False, 0),
        ({quota.USER: None}, False, 1),
        ({quota.IP: "10.0.0.1"}, True, 0),
    ],
)
def test_nobody_looks_through_a_million(parts: dict[str, str | None], strict: bool, candidates: int) -> None:
    large_table = EmbeddedCluster(spec.ClusterSpec(scenario="large"))
    wanted = quota.QuotaFilter(quota.filter_for_entity(quota.QuotaEntity.of(parts)).components, strict)
    assert len(list(quota_candidates(large_table.state.view.quotas, wanted))) == candidates


def test_what_is_gone_through_may_change_meanwhile(large_table: EmbeddedCluster) -> None:
    state = large_table.state
    for components in ((), (quota.QuotaMatch(quota.USER, quota.Match.EXACT, "user-000005"),)):
        walk = iter(quota_candidates(state.view.quotas, quota.QuotaFilter(components)))
        next(walk)
        for number in range(3):
            state.alter_quota(
                quota.QuotaEntity.of({quota.USER: "user-000005", quota.CLIENT_ID: f"{len(components)} {number}"}),
                {"x": 1},
            )
        assert len(dict(walk)) > 3


# -- Enforced quotas: rates, and throttled clients ---------------------------------------------------------------------

LOADER = QuotaEntity.of({"client-id": "loader"})


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(0, 10_000)), min_size=1, max_size=40))
def test_a_rate_is_what_the_last_windows_hold_over_ten_seconds_or_little_more(steps: list[tuple[float, int]]) -> None:
    rate, now, seen = Rate(), 0.0, []
    for pause, amount in steps:
        now += pause
        rate.record(amount, now)
        seen.append((now, amount))
    least = sum(amount for moment, amount in seen if moment > now - SPAN)
    most = sum(amount for moment, amount in seen if moment > now - (WINDOWS + 1) * WINDOW)
    measured = rate.measure(now)
    assert least / ((WINDOWS + 1) * WINDOW) <= measured <= most / SPAN
    assert rate.wait(measured + 1, now) == 0
    for limit in (measured / 2, measured / 10):
        if limit:
            assert rate.wait(limit, now) > 0


def test_what_is_taken_back_does_not_count() -> None:
    rate = Rate()
    rate.record(1000, 0)
    rate.record(-1000, 0)
    assert rate.measure(0) == 0


def test_a_bucket_may_be_overdrawn_once_and_fills_again() -> None:
    bucket = TokenBucket(2.0, 0)
    bucket.take(30)
    assert bucket.wait() == 4
    assert bucket.fill(2.0, 3) == -2
    assert bucket.fill(2.0, 100) == 22


def test_a_quota_of_nothing_holds_back_until_all_is_forgotten() -> None:
    rate, bucket = Rate(), TokenBucket(0, 0)
    assert (rate.wait(0, 0), bucket.wait()) == (0, 0)
    rate.record(5, 0)
    bucket.take(5)
    assert (rate.wait(0, 0), bucket.wait()) == (WINDOWS * WINDOW, WINDOWS * WINDOW)


async def test_only_the_time_that_a_coroutine_runs_counts() -> None:
    others_ran = asyncio.Event()

    async def waits() -> int:
        await others_ran.wait()
        return 7

    async def outer() -> int:
        return await timed

    timed = Timed(waits())
    task = asyncio.create_task(outer())
    await asyncio.sleep(0)
    begun = perf_counter()
    while perf_counter() - begun < 0.3:
        pass
    others_ran.set()
    assert await task == 7
    assert 0 < timed.seconds < 0.25


async def test_what_ends_a_timed_coroutine_ends_it_inside() -> None:
    ended = asyncio.Event()

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def outer() -> None:
        await Timed(waits())

    task = asyncio.create_task(outer())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


@pytest.fixture
async def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def timed(clock: ManualClock) -> AsyncIterator[EmbeddedCluster]:
    running = EmbeddedCluster(spec.ClusterSpec(brokers=1), clock)
    running.state.put_topic(replicas.new_topic("orders", [(1,)], (1,)))
    async with running:
        yield running


async def produce(client: RawClient, size: int, acks: int = -1) -> float:
    """Produce a record of `size` bytes; return the throttle time in seconds."""
    answer = await client.ask("produce", 9, produce_request(batch(b"x" * size), "orders", 0, acks))
    assert answer.responses[0].partition_responses[0].error_code == 0
    seconds: float = answer.throttle_time.total_seconds()
    return seconds


def about_cluster(m: Any) -> Any:
    return m.DescribeClusterRequest(include_cluster_authorized_operations=False)


async def fetch(client: RawClient) -> Any:
    return await client.ask("fetch", 12, fetch_request(0))


async def test_a_producer_above_its_quota_is_told_and_held_back(timed: EmbeddedCluster, clock: ManualClock) -> None:
    timed.state.alter_quota(LOADER, {"producer_byte_rate": 1000.0})
    async with RawClient(timed, client_id="loader") as loader, RawClient(timed, client_id="other") as other:
        assert await produce(loader, 5000) == 0
        waits = await produce(loader, 15_000)
        assert 10 < waits < 11
        assert await produce(other, 50_000) == 0
        loader.request("api_versions", 0, with_fields())
        await clock.asleep()
        clock.advance(waits - 0.1)
        counted = timed.counters.by_api("loader")
        assert counted["api_versions"] == 0
        clock.advance(0.2)
        await loader.frame()
        assert timed.counters.by_api("loader")["api_versions"] == 1


async def test_a_rate_above_a_quota_calms_down(timed: EmbeddedCluster, clock: ManualClock) -> None:
    timed.state.alter_quota(LOADER, {"producer_byte_rate": 1000.0})
    async with RawClient(timed, client_id="loader") as loader:
        waits = await produce(loader, 11_000)
        assert 0 < waits < 2
        await clock.asleep()
        clock.advance(waits)
        clock.advance(30)
        assert await produce(loader, 100) == 0


async def test_a_consumer_above_its_quota_gets_nothing_for_now(timed: EmbeddedCluster, clock: ManualClock) -> None:
    async with RawClient(timed, client_id="other") as other, RawClient(timed, client_id="loader") as loader:
        await produce(other, 5000)
        timed.state.alter_quota(LOADER, {"consumer_byte_rate": 600.0})
        first = await fetch(loader)
        assert (first.throttle_time.total_seconds(), len(values(first.responses[0].partitions[0].records))) == (0, 1)
        second = await fetch(loader)
        assert second.throttle_time.total_seconds() > 0
        assert second.responses == ()
        assert (await fetch(other)).throttle_time.total_seconds() == 0
        await clock.asleep()
        clock.advance(30)
        assert (await fetch(loader)).throttle_time.total_seconds() == 0


async def test_the_time_of_requests_counts_too_but_holds_nobody_back_for_more_than_a_second(
    timed: EmbeddedCluster,
) -> None:
    timed.state.alter_quota(LOADER, {"request_percentage": 1e-9})
    async with RawClient(timed, client_id="loader") as loader:
        answer = await loader.ask("describe_cluster", 0, about_cluster)
        assert answer.throttle_time.total_seconds() == 1.0
    async with RawClient(timed, client_id="other") as other:
        answer = await other.ask("describe_cluster", 0, about_cluster)
        assert answer.throttle_time.total_seconds() == 0


async def test_clients_of_one_user_share_its_quota_and_those_of_a_default_do_not(timed: EmbeddedCluster) -> None:
    anonymous = QuotaEntity.of({"user": "ANONYMOUS"})
    timed.state.alter_quota(anonymous, {"producer_byte_rate": 1000.0})
    async with RawClient(timed, client_id="a") as a, RawClient(timed, client_id="b") as b:
        assert await produce(a, 9000) == 0
        assert await produce(b, 9000) > 0
    timed.state.alter_quota(anonymous, {"producer_byte_rate": None})
    timed.state.alter_quota(QuotaEntity.of({"client-id": None}), {"producer_byte_rate": 1000.0})
    async with RawClient(timed, client_id="c") as c, RawClient(timed, client_id="d") as d:
        assert await produce(c, 9000) == 0
        assert await produce(d, 9000) == 0
        assert await produce(d, 9000) > 0
