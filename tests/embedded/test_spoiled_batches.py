"""Servers that fail a whole request for one of its members: the others are read, by every batched read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.admin.configs import describe_configs
from console.admin.groups import describe_groups, find_coordinators, poll_groups
from console.admin.link import Link
from console.admin.partitions import LATEST, leaders_of, log_offsets, offsets_of
from console.admin.replicas import replica_logs
from console.admin.topics import describe_topics
from console.admin.transactions import describe_producers
from console.cli import main as cli
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import FailFor, Fault
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.codes import BROKER_LOGGER
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.failure import Failure
from tests.support import worlds

TOPICS = tuple(f"t{number:02}" for number in range(17))
GROUPS = tuple(f"g{number:02}" for number in range(9))
ERRORS = (-1, 29, 42, 999)
"""Codes of the whole: an internal error, rights, an invalid request, an unknown one."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    """Seventeen topics, nine groups that committed."""
    with run_in_thread(ClusterSpec(brokers=2)) as running:
        for name in TOPICS:
            running.call(partial(put, name))
        asyncio.run(commit(running.bootstrap))
        yield running


def put(name: str, cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic(name, striped([1, 2], 1, 1), [1, 2]))


async def commit(bootstrap: str) -> None:
    for group in GROUPS:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
        await consumer.start()
        consumer.assign([TopicPartition(TOPICS[0], 0)])
        await consumer.commit({TopicPartition(TOPICS[0], 0): 0})
        await consumer.stop()


def read(
    cluster: ThreadedCluster, api: str, spoilers: frozenset[str], code: int, work: Callable[[Link], Awaitable[Any]]
) -> Any:
    """What is read while a server fails all requests of an API that name a spoiler."""

    async def run() -> Any:
        async with worlds.linked(worlds.settings(cluster)) as link:
            return await work(link)

    fault = Fault(FailFor(code, spoilers), api=api)
    cluster.call(lambda c: c.faults.add(fault))
    try:
        return asyncio.run(run())
    finally:
        cluster.call(lambda c: c.faults.clear())


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.frozensets(st.sampled_from(TOPICS), max_size=2), st.sampled_from(ERRORS))
def test_configs_and_topics_and_offsets(cluster: ThreadedCluster, spoilers: frozenset[str], code: int) -> None:
    others = set(TOPICS) - spoilers
    listing = read(
        cluster,
        "describe_configs",
        spoilers,
        code,
        lambda link: describe_configs(link, [topic_resource(name) for name in TOPICS]),
    )
    assert {each.name for each in listing.sets} == others
    assert {each.name for each in listing.failures} == spoilers

    found = read(cluster, "metadata", spoilers, code, lambda link: describe_topics(link, TOPICS))
    assert set(found.topics) == others
    assert set(found.failures) == spoilers

    places = dict.fromkeys(((name, 0) for name in TOPICS), LATEST)
    ends = read(cluster, "list_offsets", spoilers, code, lambda link: offsets_of(link, places))
    assert {topic for (topic, _), end in ends.items() if not isinstance(end, Failure)} == others
    assert set(ends) == set(places)

    producers = read(cluster, "describe_producers", spoilers, code, lambda link: describe_producers(link, places))
    assert {topic for topic, _ in producers.producers} == others
    assert {topic for topic, _ in producers.failures} == spoilers


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.frozensets(st.sampled_from(TOPICS), max_size=2))
def test_what_triage_asks_of_logs(cluster: ThreadedCluster, spoilers: frozenset[str]) -> None:
    """Where logs begin and end, what replicas hold, and which of them may lead."""
    others = set(TOPICS) - spoilers
    places = [(name, 0) for name in TOPICS]

    async def offsets(link: Link) -> Any:
        led, _ = await leaders_of(link, places)
        return await log_offsets(link, led, stable=True)

    assert {topic for topic, _ in read(cluster, "list_offsets", spoilers, -1, offsets)} == others

    async def logs(link: Link) -> Any:
        return await replica_logs(link, dict.fromkeys(places, (1, 2)))

    held = read(cluster, "list_offsets", spoilers, -1, logs)
    assert {topic for (topic, _), each in held.items() if each.ends} == others
    may_lead = read(cluster, "describe_topic_partitions", spoilers, -1, logs)
    assert {topic for (topic, _), each in may_lead.items() if each.eligible is not None} == others


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.frozensets(st.sampled_from(GROUPS), max_size=2), st.sampled_from(ERRORS))
def test_groups_their_coordinators_and_offsets(cluster: ThreadedCluster, spoilers: frozenset[str], code: int) -> None:
    others = set(GROUPS) - spoilers
    nodes, lost = read(cluster, "find_coordinator", spoilers, code, lambda link: find_coordinators(link, GROUPS))
    assert set(nodes) == others
    assert set(lost) == spoilers

    types = dict.fromkeys(GROUPS, "classic")
    listing = read(cluster, "describe_groups", spoilers, code, lambda link: describe_groups(link, GROUPS, types))
    assert set(listing.groups) == others
    assert set(listing.failures) == spoilers

    polls = read(cluster, "offset_fetch", spoilers, code, lambda link: poll_groups(link, GROUPS, types))
    assert set(polls.lags) == others
    assert set(polls.lag_failures) == spoilers


def test_a_broker_whose_loggers_spoil_its_answer(cluster: ThreadedCluster) -> None:
    """Of a broker, its configs and its loggers go into one request."""
    loggers = ConfigResource(BROKER_LOGGER, "1")
    listing = read(
        cluster,
        "describe_configs",
        frozenset({"1"}),
        -1,
        lambda link: describe_configs(link, [broker_resource(1), loggers, broker_resource(2)]),
    )
    assert broker_resource(2) in listing.sets
    assert {broker_resource(1), loggers} == set(listing.failures)


def test_the_command_names_the_one(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.call(lambda c: c.faults.add(Fault(FailFor(-1, frozenset({"t11"})), api="describe_configs")))
    try:
        cli.run(["run", "-b", cluster.bootstrap, "-e", "list topics retention.ms>=0"])
    finally:
        cluster.call(lambda c: c.faults.clear())
    out = capsys.readouterr().out
    shown = {line.split()[0] for line in out.splitlines() if line.startswith("t")}
    assert shown == set(TOPICS) - {"t11"}
    assert "t11: UNKNOWN_SERVER_ERROR" in out
