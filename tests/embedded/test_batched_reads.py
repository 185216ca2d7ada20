"""Tests of reads of many entities in one request, also if a server fails the request because of one of them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.admin import configs, groups, partitions, topics, transactions
from console.admin.link import Link
from console.admin.replicas import replica_logs
from console.cli import main as cli
from console.embedded import faults, spec
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic, striped
from console.model import config, failure, quota, snapshot
from console.model.acl import Acl
from console.model.codes import BROKER_LOGGER, AclOperation, AclResourceType, PatternType, Permission
from tests.support import worlds
from tests.support.examples import examples

NAMES = ("alice", "bob", "nobody")


@pytest.fixture(scope="module", params=[True, False], ids=["batched", "pipelined"])
def cluster(request: pytest.FixtureRequest) -> Iterator[tuple[ThreadedCluster, bool]]:
    """Provide a cluster, and whether it has the API formats of the proposals; in turn with and without them."""
    with run_in_thread(spec.ClusterSpec(scenario="quiet", proposals=request.param)) as running:
        yield running, request.param


def asked(running: ThreadedCluster, script: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, Counter[str]]:
    """Run a script. Return its output, and API -> the number of its requests."""
    running.call(lambda cluster: cluster.counters.reset())
    assert worlds.run_lines(running, script) == 0
    return capsys.readouterr().out, running.call(lambda cluster: cluster.counters.by_api())


def test_a_list_of_three_users_is_one_request_or_three(
    cluster: tuple[ThreadedCluster, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    running, batched = cluster
    text, requests = asked(running, f"list users {' '.join(NAMES)}", capsys)
    each = 1 if batched else len(NAMES)
    assert (requests["describe_acls"], requests["describe_client_quotas"]) == (each, each)
    rows = [line.split() for line in text.splitlines() if line.startswith(NAMES)]
    assert [(row[0], row[1], row[-1]) for row in rows] == [("alice", "3", "3"), ("bob", "1", "2")]


def test_descriptions_of_three_users_are_read_at_once(
    cluster: tuple[ThreadedCluster, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    running, batched = cluster
    text, requests = asked(running, "; ".join(f"describe user {name}" for name in NAMES), capsys)
    assert requests["describe_client_quotas"] == (1 if batched else len(NAMES))
    assert "client checkout" in text


def test_what_counts_is_read_with_all_its_levels(
    cluster: tuple[ThreadedCluster, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    running, batched = cluster
    text, requests = asked(running, "effective user alice client checkout", capsys)
    # Two batched requests: `strict` holds for all filters of a request, and the client's own level is strict.
    assert requests["describe_client_quotas"] == (2 if batched else 4)
    lines = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "user alice client checkout" in lines["producer_byte_rate"]
    assert "user alice client <default>" in lines["producer_byte_rate"].rpartition("checkout")[2]
    assert "client <default>" in lines["controller_mutation_rate"]


@examples(30, at_length=100)
@given(
    known=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from([1.0, 2.0]), min_size=1),
    now=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from([1.0, 2.0])),
    names=st.lists(st.sampled_from(["a", "b", "c"]), unique=True),
)
def test_what_was_read_of_some_users_is_as_it_is_and_the_others_stay(
    known: dict[str, float], now: dict[str, float], names: Sequence[str]
) -> None:
    def of(values: dict[str, float]) -> dict[quota.QuotaEntity, quota.QuotaValues]:
        return {quota.QuotaEntity.of({"user": name}): {"producer_byte_rate": value} for name, value in values.items()}

    before = snapshot.Snapshot(quotas=of(known), acls=tuple(_acl(name) for name in sorted(known)))
    filters = [quota.filter_for_name("user", name) for name in names]
    found = {name: value for name, value in now.items() if name in names}
    after = snapshot.with_quotas_of(before, filters, of(found))
    expected = {name: value for name, value in known.items() if name not in names} | found
    assert after.quotas == of(expected)
    assert (after.quotas is before.quotas) == (expected == known)
    principals = [f"User:{name}" for name in names]
    merged = snapshot.with_acls_of(before, principals, [_acl(name) for name in found])
    assert {acl.principal for acl in merged.acls} == {f"User:{name}" for name in expected}


def _acl(name: str) -> Acl:
    topic, literal = AclResourceType.parse("TOPIC"), PatternType.parse("LITERAL")
    return Acl(topic, "t", literal, f"User:{name}", "*", AclOperation.parse("READ"), Permission.parse("ALLOW"))


# -- Servers that fail a whole request for one member: every batched read returns the other members --------------------

TOPICS = tuple(f"t{number:02}" for number in range(17))
GROUPS = tuple(f"g{number:02}" for number in range(9))
ERRORS = (-1, 29, 42, 999)
"""Error codes of a whole request: unknown server error, missing rights, invalid request, and a code that does not
exist.
"""


@pytest.fixture(scope="module")
def spoiled() -> Iterator[ThreadedCluster]:
    """Provide a cluster with 17 topics, and nine groups with committed offsets."""
    with run_in_thread(spec.ClusterSpec(brokers=2)) as running:
        for name in TOPICS:
            running.call(partial(put, name))
        asyncio.run(commit(running.bootstrap))
        yield running


def put(name: str, spoiled: EmbeddedCluster) -> None:
    spoiled.state.put_topic(new_topic(name, striped([1, 2], 1, 1), [1, 2]))


async def commit(bootstrap: str) -> None:
    for group in GROUPS:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
        await consumer.start()
        consumer.assign([TopicPartition(TOPICS[0], 0)])
        await consumer.commit({TopicPartition(TOPICS[0], 0): 0})
        await consumer.stop()


def read(
    spoiled: ThreadedCluster, api: str, spoilers: frozenset[str], code: int, work: Callable[[Link], Awaitable[Any]]
) -> Any:
    """Return the result of `work` while the server fails, with an error code, all requests of an API that name one of
    the `spoilers`.
    """

    async def run() -> Any:
        async with worlds.linked(worlds.settings(spoiled)) as link:
            return await work(link)

    fault = faults.Fault(faults.FailFor(code, spoilers), api=api)
    spoiled.call(lambda c: c.faults.add(fault))
    try:
        return asyncio.run(run())
    finally:
        spoiled.call(lambda c: c.faults.clear())


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.frozensets(st.sampled_from(TOPICS), max_size=2), st.sampled_from(ERRORS))
def test_configs_and_topics_and_offsets(spoiled: ThreadedCluster, spoilers: frozenset[str], code: int) -> None:
    others = set(TOPICS) - spoilers
    listing = read(
        spoiled,
        "describe_configs",
        spoilers,
        code,
        lambda link: configs.describe_configs(link, [config.topic_resource(name) for name in TOPICS]),
    )
    assert {each.name for each in listing.sets} == others
    assert {each.name for each in listing.failures} == spoilers

    found = read(spoiled, "metadata", spoilers, code, lambda link: topics.describe_topics(link, TOPICS))
    assert set(found.topics) == others
    assert set(found.failures) == spoilers

    places = dict.fromkeys(((name, 0) for name in TOPICS), partitions.LATEST)
    ends = read(spoiled, "list_offsets", spoilers, code, lambda link: partitions.offsets_of(link, places))
    assert {topic for (topic, _), end in ends.items() if not isinstance(end, failure.Failure)} == others
    assert set(ends) == set(places)

    producers = read(
        spoiled, "describe_producers", spoilers, code, lambda link: transactions.describe_producers(link, places)
    )
    assert {topic for topic, _ in producers.producers} == others
    assert {topic for topic, _ in producers.failures} == spoilers


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.frozensets(st.sampled_from(TOPICS), max_size=2))
def test_what_triage_asks_of_logs(spoiled: ThreadedCluster, spoilers: frozenset[str]) -> None:
    """If the server fails requests that name spoilers, reads of log ranges, of replicas' logs and of eligible leaders
    return all other topics.
    """
    others = set(TOPICS) - spoilers
    places = [(name, 0) for name in TOPICS]

    async def offsets(link: Link) -> Any:
        led, _ = await partitions.leaders_of(link, places)
        return await partitions.log_offsets(link, led, stable=True)

    assert {topic for topic, _ in read(spoiled, "list_offsets", spoilers, -1, offsets)} == others

    async def logs(link: Link) -> Any:
        return await replica_logs(link, dict.fromkeys(places, (1, 2)))

    held = read(spoiled, "list_offsets", spoilers, -1, logs)
    assert {topic for (topic, _), each in held.items() if each.ends} == others
    may_lead = read(spoiled, "describe_topic_partitions", spoilers, -1, logs)
    assert {topic for (topic, _), each in may_lead.items() if each.eligible is not None} == others


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.frozensets(st.sampled_from(GROUPS), max_size=2), st.sampled_from(ERRORS))
def test_groups_their_coordinators_and_offsets(spoiled: ThreadedCluster, spoilers: frozenset[str], code: int) -> None:
    others = set(GROUPS) - spoilers
    nodes, lost = read(spoiled, "find_coordinator", spoilers, code, lambda link: groups.find_coordinators(link, GROUPS))
    assert set(nodes) == others
    assert set(lost) == spoilers

    types = dict.fromkeys(GROUPS, "classic")
    listing = read(spoiled, "describe_groups", spoilers, code, lambda link: groups.describe_groups(link, GROUPS, types))
    assert set(listing.groups) == others
    assert set(listing.failures) == spoilers

    polls = read(spoiled, "offset_fetch", spoilers, code, lambda link: groups.poll_groups(link, GROUPS, types))
    assert set(polls.lags) == others
    assert set(polls.lag_failures) == spoilers


def test_a_broker_whose_loggers_spoil_its_answer(spoiled: ThreadedCluster) -> None:
    """If the loggers of a broker fail a request, the configs of the broker, which are in the same request, are read all
    the same.
    """
    loggers = config.ConfigResource(BROKER_LOGGER, "1")
    listing = read(
        spoiled,
        "describe_configs",
        frozenset({"1"}),
        -1,
        lambda link: configs.describe_configs(link, [config.broker_resource(1), loggers, config.broker_resource(2)]),
    )
    assert config.broker_resource(2) in listing.sets
    assert {config.broker_resource(1), loggers} == set(listing.failures)


def test_the_command_names_the_one(spoiled: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    spoiled.call(lambda c: c.faults.add(faults.Fault(faults.FailFor(-1, frozenset({"t11"})), api="describe_configs")))
    try:
        cli.run(["run", "-b", spoiled.bootstrap, "-e", "list topics retention.ms>=0"])
    finally:
        spoiled.call(lambda c: c.faults.clear())
    out = capsys.readouterr().out
    shown = {line.split()[0] for line in out.splitlines() if line.startswith("t")}
    assert shown == set(TOPICS) - {"t11"}
    assert "t11: UNKNOWN_SERVER_ERROR" in out
