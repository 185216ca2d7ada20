"""Tests of older versions of Kafka: the requests that kac sends them, the features by release, and an upgrade of the
brokers while the console is open.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import acls, changes, cluster, configs, errors, groups, partitions, quotas, scram, topics
from console.admin import cluster as log_dirs
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.cluster import describe_versions
from console.admin.configs import list_config_resources
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.model import changes as model_changes
from console.model import codes, config, quota, secret
from console.model.acl import Acl
from console.model.changes import AlterConfigs, ConfigOp, CreateTopics, NewTopic, Status
from console.model.codes import SET
from console.session.session import Session
from console.tui.app import Console
from console.wire import connection
from console.wire.schemas import version_range
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.lags import group_lag
from tests.support.patience import PATIENCE
from tests.support.real_clusters import EACH, REAL, running
from tests.support.versions import RELEASES, cluster_of, kept, tried_on
from tests.tui.console_app import Driven

ABSENT = -1

# The highest API versions of Kafka 2.8 and 1.1 (ApiMessageType of those releases); other APIs have today's versions.
KAFKA_2_8 = {
    "metadata": 11,
    "describe_cluster": 0,
    "find_coordinator": 3,
    "list_groups": 4,
    "describe_groups": 5,
    "consumer_group_describe": ABSENT,
    "offset_fetch": 7,
    "list_offsets": 6,
    "describe_acls": 2,
    "create_acls": 2,
    "delete_acls": 2,
    "describe_log_dirs": 2,
    "describe_quorum": ABSENT,
    "list_config_resources": ABSENT,
}
KAFKA_1_1 = {
    **KAFKA_2_8,
    "metadata": 5,
    "describe_cluster": ABSENT,
    "find_coordinator": 1,
    "list_groups": 1,
    "describe_groups": 1,
    "offset_fetch": 3,
    "list_offsets": 2,
    "describe_configs": 1,
    "alter_configs": 0,
    "incremental_alter_configs": ABSENT,
    "describe_client_quotas": ABSENT,
    "alter_client_quotas": ABSENT,
    "describe_user_scram_credentials": ABSENT,
    "alter_user_scram_credentials": ABSENT,
    "alter_partition_reassignments": ABSENT,
    "list_partition_reassignments": ABSENT,
    "elect_leaders": ABSENT,
    "create_topics": 2,
    "delete_topics": 1,
    "create_partitions": 0,
    "describe_log_dirs": 1,
    "describe_acls": 1,
    "create_acls": 1,
    "delete_acls": 1,
}


@pytest.fixture(params=[KAFKA_2_8, KAFKA_1_1], ids=["2.8", "1.1"])
async def link(
    request: pytest.FixtureRequest, kafka39: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Link]:
    """Yield a link to newer brokers that uses only the API versions of an old release."""
    highest: Mapping[str, int] = request.param

    def old_range(api: str) -> tuple[int, int]:
        low, high = version_range(api)
        return low, min(high, highest.get(api, high))

    monkeypatch.setattr(connection, "version_range", old_range)
    made = Link(ConnectionSettings(bootstrap=kafka39.addresses))
    yield made
    await made.close()


async def applied(link: Link, change: model_changes.ChangeRequest, *, check: bool = False) -> None:
    outcomes = await send(link, change, validate_only=check)
    wanted = model_changes.Status.VALID if check else model_changes.Status.APPLIED
    assert outcomes == tuple(model_changes.Outcome(outcome.target, wanted) for outcome in outcomes)


async def has(link: Link, api: str) -> bool:
    return await link.version(api) is not None


async def test_the_cluster(kafka39: KafkaCluster, link: Link) -> None:
    info = await cluster.describe_cluster(link)
    assert (info.cluster_id, [broker.id for broker in info.brokers]) == (kafka39.cluster_id, [1])
    assert (info.operations is not None) is await has(link, "describe_cluster")
    with pytest.raises(errors.Unsupported, match="this server "):
        await cluster.describe_quorum(link)
    assert (await cluster.describe_versions(link))[1].release == "3.9"


async def test_a_topics_life(link: Link, name: str) -> None:
    create = model_changes.CreateTopics((model_changes.NewTopic(name, 1, 1, configs={"retention.ms": "1000"}),))
    await applied(link, create, check=True)
    await applied(link, create)
    await applied(link, model_changes.CreatePartitions({name: 2}), check=True)
    await applied(link, model_changes.CreatePartitions({name: 2}))
    topic = (await topics.describe_topics(link, [name])).topics[name]
    assert [partition.leader for partition in topic.partitions] == [1, 1]
    deadline = time.monotonic() + PATIENCE
    while True:  # the cluster knows a leader before the broker creates the log
        (only,) = (await log_dirs.describe_log_dirs(link)).dirs[1]
        if len(found := [replica.partition for replica in only.replicas if replica.topic == name]) == 2:
            break
        assert time.monotonic() < deadline
    assert found == [0, 1]
    assert only.total_bytes == -1
    await applied(link, model_changes.DeleteTopics((name,)))
    assert (await topics.describe_topics(link, [name])).failures[name].name == "UNKNOWN_TOPIC_OR_PARTITION"


async def test_configs(kafka39: KafkaCluster, link: Link, name: str) -> None:
    """If brokers lack IncrementalAlterConfigs, kac sends AlterConfigs, which replaces all configs of a resource, and
    repeats in it the configs that the plan does not change.
    """
    resource, node = config.topic_resource(name), config.broker_resource(1)
    await applied(
        link,
        model_changes.CreateTopics(
            (model_changes.NewTopic(name, 1, 1, configs={"retention.ms": "1000", "segment.ms": "9000"}),)
        ),
    )
    ops = {
        resource: (
            model_changes.ConfigOp("retention.ms", codes.SET, "2000"),
            model_changes.ConfigOp("cleanup.policy", codes.APPEND, "compact"),
        )
    }
    prior = {resource: {"retention.ms": "1000", "segment.ms": "9000"}}
    mark = kafka39.request_log.mark()
    await applied(link, model_changes.AlterConfigs(ops, prior=prior), check=True)
    await applied(link, model_changes.AlterConfigs(ops, prior=prior))
    api = "INCREMENTAL_ALTER_CONFIGS" if await has(link, "incremental_alter_configs") else "ALTER_CONFIGS"
    assert [e.request["validateOnly"] for e in kafka39.request_log.wait_for(2, api, since=mark)] == [True, False]
    listing = await configs.describe_configs(link, [resource, node], documentation=True)
    own = {entry.name: entry.value for entry in listing.sets[resource].overrides(resource)}
    assert own == {"retention.ms": "2000", "segment.ms": "9000", "cleanup.policy": "delete,compact"}
    entry = listing.sets[resource].get("cleanup.policy")
    assert entry is not None
    assert [synonym.source.name for synonym in entry.synonyms] == ["DYNAMIC_TOPIC_CONFIG", "DEFAULT_CONFIG"]
    told_types = await link.version("describe_configs") == 4
    assert (entry.type.name == "LIST", entry.documentation is not None) == (told_types, told_types)


async def test_quotas_and_users(link: Link, name: str) -> None:
    entity, user = quota.QuotaEntity.of({"user": name}), model_changes.ScramUser(name, codes.ScramMechanism(1))
    set_quota = model_changes.AlterQuotas({entity: {"producer_byte_rate": 1.0}})
    set_password = model_changes.AlterScram({user: (4096, secret.Secret("p"))})
    if await has(link, "describe_client_quotas"):
        await applied(link, set_quota)
        assert (await quotas.describe_quotas(link))[entity] == {"producer_byte_rate": 1.0}
        await applied(link, model_changes.AlterQuotas({entity: {"producer_byte_rate": None}}))
        await applied(link, set_password)
        assert name in (await scram.describe_scram(link)).users
        return
    for read in (quotas.describe_quotas, scram.describe_scram):
        with pytest.raises(errors.Unsupported, match="this server "):
            await read(link)
    for change in (set_quota, set_password):
        with pytest.raises(errors.Unsupported, match="this server "):
            await send(link, change, validate_only=False)


async def test_leaders_and_moves(link: Link, name: str) -> None:
    await applied(link, model_changes.CreateTopics((model_changes.NewTopic(name, 1, 1),)))
    place = model_changes.PartitionTarget(name, 0)
    changes = (
        model_changes.ElectLeaders((place,)),
        model_changes.AlterReassignments({model_changes.MoveTarget(name, 0): (1,)}),
    )
    if await has(link, "elect_leaders"):
        for change in changes:
            (outcome,) = await send(link, change, validate_only=False)
            assert outcome.status is model_changes.Status.APPLIED
        assert await partitions.list_reassignments(link) == ()
        return
    for change in changes:
        with pytest.raises(errors.Unsupported, match="this server "):
            await send(link, change, validate_only=False)
    with pytest.raises(errors.Unsupported, match="this server "):
        await partitions.list_reassignments(link)


async def test_acls(link: Link, name: str) -> None:
    topic, prefixed = codes.AclResourceType.parse("topic"), codes.PatternType.parse("prefixed")
    acl = Acl(
        topic, name, prefixed, f"User:{name}", "*", codes.AclOperation.parse("read"), codes.Permission.parse("deny")
    )
    await applied(link, model_changes.CreateAcls((acl,)))
    assert acl in await acls.describe_acls(link)
    await applied(link, model_changes.DeleteAcls((acl,)))
    assert acl not in await acls.describe_acls(link)


async def test_groups(kafka39: KafkaCluster, link: Link, name: str) -> None:
    await applied(link, model_changes.CreateTopics((model_changes.NewTopic(name, 1, 1),)))
    producer = AIOKafkaProducer(bootstrap_servers=kafka39.bootstrap)
    await producer.start()
    for _ in range(3):
        await producer.send_and_wait(name, b"x", partition=0)
    await producer.stop()
    consumer = AIOKafkaConsumer(name, bootstrap_servers=kafka39.bootstrap, group_id=name, enable_auto_commit=False)
    await consumer.start()
    try:
        await consumer.commit(dict.fromkeys(consumer.assignment(), 1))
        listed = (await groups.list_groups(link)).groups[name]
        assert listed.state == ("Stable" if await link.version("list_groups") == 4 else "")
        described = await groups.describe_groups(link, [name, "no-such-group"])
        assert described.groups[name].state == "Stable"
        assert described.failures["no-such-group"].name == "GROUP_ID_NOT_FOUND"
        lag = await group_lag(link, name)
        assert [(row.committed, row.end, row.lag) for row in lag.partitions] == [(1, 3, 2)]
        assert lag.failures == ()
    finally:
        await consumer.stop()
    with pytest.raises(errors.Unsupported, match="this server "):
        await list_config_resources(link, [32])


# -- the features by release are those of docs/versions.md, and the screen opens on each release -----------------------


@pytest.fixture(
    params=[
        *EACH,
        *(pytest.param(("own", each), id=each, marks=pytest.mark.long) for each in RELEASES if each not in REAL),
    ]
)
def release(request: pytest.FixtureRequest) -> str:
    """Parametrize the test with each release in the table of versions. Releases without a shared cluster run only in
    long runs.
    """
    _, name = request.param
    return str(name)


@pytest.fixture
def kafka(release: str, request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    if release in REAL:
        yield request.getfixturevalue(REAL[release])
    else:
        yield from running(lambda: cluster_of(release))


async def test_what_is_kept_is_so(release: str, kafka: KafkaCluster) -> None:
    assert await tried_on(kafka) == kept()[release], f"run: python -m tests.support.versions {release}"


async def test_the_screen_walks_through_its_panes(release: str, kafka: KafkaCluster) -> None:
    settings = ConnectionSettings(kafka.addresses)
    with AdminClient(settings) as client:
        app = Console(Session(client, Context("versions", "test", settings)), ConsoleSettings(start_pane="brokers"))
        async with app.run_test(size=(100, 30)) as pilot:
            walk = Driven(app, pilot, None)  # type: ignore[arg-type]  # only parts of Driven without a client are used
            await walk.shows(f"kafka {release}")
            for key, part in (
                ("2", "Part   RF"),
                ("3", "broker          <default>"),
                ("4", "Entity"),
                ("5", "Principal"),
                ("6", "Stuck"),
                (".", "Sev"),
            ):
                await walk.press(key)
                await walk.shows(part)


# -- three brokers are upgraded in turn from 3.9 to 4.3 while a screen is open and a client makes changes --------------

TOPIC = config.topic_resource("upgraded")


class Series:
    """Changes one topic config again and again. outcomes: name of an outcome that the client reports -> how often."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self.outcomes: Counter[str] = Counter()
        self.ended = False

    async def run(self) -> None:
        """Make changes until `ended` is true. Raises AssertionError if the value on the cluster contradicts a reported
        outcome.
        """
        value = 1_000_000
        while not self.ended:
            value += 1
            request = AlterConfigs({TOPIC: (ConfigOp("retention.ms", SET, str(value)),)})
            try:
                (outcome,) = await self._client.run(changes.send, request, validate_only=False)
            except errors.AdminError as error:
                # The client sent nothing, or a read failed: there is no outcome.
                self.outcomes[error.failure.name] += 1
                continue
            self.outcomes[outcome.status.name] += 1
            if outcome.status is Status.APPLIED:
                assert await self._shown() == str(value)
            elif outcome.status is Status.FAILED:
                assert await self._shown() != str(value), outcome

    async def _shown(self) -> str | None:
        while True:
            try:
                found = (await self._client.run(configs.describe_configs, [TOPIC])).sets
            except errors.AdminError:
                continue
            if TOPIC in found:
                return next((each.value for each in found[TOPIC].overrides(TOPIC) if each.name == "retention.ms"), None)


@pytest.mark.long
async def test_a_rolling_upgrade_under_an_open_screen_and_changes() -> None:
    for three in running(lambda: KafkaCluster(KAFKA_3_9, brokers=3)):
        await _upgrade(three)


async def _upgrade(cluster: KafkaCluster) -> None:
    settings = ConnectionSettings(cluster.addresses)
    with AdminClient(settings) as client, AdminClient(settings) as other:
        await other.run(changes.send, CreateTopics((NewTopic(TOPIC.name, 3, 3),)), validate_only=False)
        app = Console(
            Session(client, Context("rolling", "test", settings)), ConsoleSettings(start_pane="brokers", refresh=1.0)
        )
        async with app.run_test(size=(110, 30)) as pilot:
            screen = Driven(app, pilot, None)  # type: ignore[arg-type]  # only parts of Driven without a client are used
            await screen.shows("kafka 3.9")
            series = Series(other)
            changing = asyncio.create_task(series.run())
            for broker in cluster.broker_ids:
                await asyncio.to_thread(cluster.upgrade, broker, KAFKA_4_3)
                assert not changing.done(), changing.result()
            series.ended = True
            await changing
            await screen.shows("kafka 4.3")
            assert await asyncio.to_thread(len, cluster.running) == 3
            assert {each.release for each in (await other.run(describe_versions)).values()} == {"4.3"}
        assert series.outcomes["APPLIED"] > 10, series.outcomes
        assert not series.outcomes["FAILED"], series.outcomes
