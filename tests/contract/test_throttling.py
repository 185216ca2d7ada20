"""Tests of clients that exceed their quotas: the throttle times in answers (KIP-13, KIP-219)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.contract.client import Client
from tests.contract.target import ALICE, Server, Target
from tests.contract.verbs import alter_quotas
from tests.embedded.record_batches import START, batch, fetch_request, produce_request

LIMIT, SIZE = 1000.0, 9_000
ABOUT = 0.15
"""How much the throttle times of two clusters may differ, as a fraction of the time: the quota's windows begin with the
first request, and a busy machine is slow.
"""

pytestmark = pytest.mark.live


@contextmanager
def limited(target: Target, client_id: str, key: str) -> Iterator[None]:
    """Within the block, give alice a quota for this client id, which no other test uses."""
    entity = {"user": ALICE, "client-id": client_id}
    assert alter_quotas(target, [(entity, {key: LIMIT})]) == [("NONE", None)]
    yield
    assert alter_quotas(target, [(entity, {key: None})]) == [("NONE", None)]


def waits(target: Target, client_id: str, ask: Callable[[Client], Any]) -> list[float]:
    """Send requests of alice to each cluster until an answer has a throttle time; return this time for each cluster, in
    seconds.
    """
    told = []
    for server in target.servers:
        client = Client(server.addresses[1], (ALICE, server.users[ALICE]), client_id)
        wait = 0.0
        while not wait:
            wait = ask(client).throttle_time.total_seconds()
        told.append(wait)
        client.close()
    return told


def test_a_producer(target: Target, topic: str) -> None:
    data = batch(b"x" * SIZE, times=[START])

    def produce(alice: Client) -> Any:
        return alice.ask("produce", 9, produce_request(data, topic, 0, -1))

    with limited(target, topic, "producer_byte_rate"):
        told = waits(target, topic, produce)
        assert_about_the_same(told)


def test_a_consumer(target: Target, kept_topic: str) -> None:
    topic = kept_topic
    data = batch(b"x" * SIZE, times=[START])
    for server in target.servers:
        _write(server, topic, data)
    with limited(target, topic, "consumer_byte_rate"):
        answers: list[Any] = []

        def fetch(alice: Client) -> Any:
            answers.append(alice.ask("fetch", 12, fetch_request(0, topic=topic)))
            return answers[-1]

        assert_about_the_same(waits(target, topic, fetch))
        throttled = [answer for answer in answers if answer.throttle_time.total_seconds()]
        assert [answer.responses for answer in throttled] == [()] * len(throttled)


def _write(server: Server, topic: str, data: bytes) -> None:
    client = Client(server.addresses[1], (ALICE, server.users[ALICE]))
    answer = client.ask("produce", 9, produce_request(data, topic, 0, 1))
    while answer.responses[0].partition_responses[0].error_code:
        answer = client.ask("produce", 9, produce_request(data, topic, 0, 1))
    client.close()


def assert_about_the_same(told: list[float]) -> None:
    """Raise AssertionError unless each throttle time is about 8 seconds: two requests of 9 kB need 18 seconds at 1
    kB/s, and the quota's window has 10.
    """
    for wait in told:
        assert 2 * SIZE / LIMIT - 10 - 1 < wait < 2 * SIZE / LIMIT - 10 + 1
    assert max(told) - min(told) < ABOUT * max(told)
