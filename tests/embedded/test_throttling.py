"""Quotas at work: rates, and clients that are held back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.embedded.throttling import SPAN, WINDOW, WINDOWS, Rate, Timed, TokenBucket
from console.model.quota import QuotaEntity
from tests.embedded.raw_client import RawClient
from tests.embedded.record_batches import batch, fetch_request, produce_request, values
from tests.support.kafka_messages import with_fields
from tests.support.manual_clock import ManualClock

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
async def cluster(clock: ManualClock) -> AsyncIterator[EmbeddedCluster]:
    running = EmbeddedCluster(ClusterSpec(brokers=1), clock)
    running.state.put_topic(new_topic("orders", [(1,)], (1,)))
    async with running:
        yield running


async def produce(client: RawClient, size: int, acks: int = -1) -> float:
    """The throttle time, in seconds."""
    answer = await client.ask("produce", 9, produce_request(batch(b"x" * size), "orders", 0, acks))
    assert answer.responses[0].partition_responses[0].error_code == 0
    seconds: float = answer.throttle_time.total_seconds()
    return seconds


def about_cluster(m: Any) -> Any:
    return m.DescribeClusterRequest(include_cluster_authorized_operations=False)


async def fetch(client: RawClient) -> Any:
    return await client.ask("fetch", 12, fetch_request(0))


async def test_a_producer_above_its_quota_is_told_and_held_back(cluster: EmbeddedCluster, clock: ManualClock) -> None:
    cluster.state.alter_quota(LOADER, {"producer_byte_rate": 1000.0})
    async with RawClient(cluster, client_id="loader") as loader, RawClient(cluster, client_id="other") as other:
        assert await produce(loader, 5000) == 0
        waits = await produce(loader, 15_000)
        assert 10 < waits < 11
        assert await produce(other, 50_000) == 0
        loader.request("api_versions", 0, with_fields())
        await clock.asleep()
        clock.advance(waits - 0.1)
        counted = cluster.counters.by_api("loader")
        assert counted["api_versions"] == 0
        clock.advance(0.2)
        await loader.frame()
        assert cluster.counters.by_api("loader")["api_versions"] == 1


async def test_a_rate_above_a_quota_calms_down(cluster: EmbeddedCluster, clock: ManualClock) -> None:
    cluster.state.alter_quota(LOADER, {"producer_byte_rate": 1000.0})
    async with RawClient(cluster, client_id="loader") as loader:
        waits = await produce(loader, 11_000)
        assert 0 < waits < 2
        await clock.asleep()
        clock.advance(waits)
        clock.advance(30)
        assert await produce(loader, 100) == 0


async def test_a_consumer_above_its_quota_gets_nothing_for_now(cluster: EmbeddedCluster, clock: ManualClock) -> None:
    async with RawClient(cluster, client_id="other") as other, RawClient(cluster, client_id="loader") as loader:
        await produce(other, 5000)
        cluster.state.alter_quota(LOADER, {"consumer_byte_rate": 600.0})
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
    cluster: EmbeddedCluster,
) -> None:
    cluster.state.alter_quota(LOADER, {"request_percentage": 1e-9})
    async with RawClient(cluster, client_id="loader") as loader:
        answer = await loader.ask("describe_cluster", 0, about_cluster)
        assert answer.throttle_time.total_seconds() == 1.0
    async with RawClient(cluster, client_id="other") as other:
        answer = await other.ask("describe_cluster", 0, about_cluster)
        assert answer.throttle_time.total_seconds() == 0


async def test_clients_of_one_user_share_its_quota_and_those_of_a_default_do_not(cluster: EmbeddedCluster) -> None:
    anonymous = QuotaEntity.of({"user": "ANONYMOUS"})
    cluster.state.alter_quota(anonymous, {"producer_byte_rate": 1000.0})
    async with RawClient(cluster, client_id="a") as a, RawClient(cluster, client_id="b") as b:
        assert await produce(a, 9000) == 0
        assert await produce(b, 9000) > 0
    cluster.state.alter_quota(anonymous, {"producer_byte_rate": None})
    cluster.state.alter_quota(QuotaEntity.of({"client-id": None}), {"producer_byte_rate": 1000.0})
    async with RawClient(cluster, client_id="c") as c, RawClient(cluster, client_id="d") as d:
        assert await produce(c, 9000) == 0
        assert await produce(d, 9000) == 0
        assert await produce(d, 9000) > 0
