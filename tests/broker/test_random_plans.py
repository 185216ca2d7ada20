"""Tests of random plans on a real broker: after each apply, the cluster has exactly the state that the plan
predicted.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest
from msgspec import structs

from console.admin import changes, configs, topics
from console.admin.acls import describe_acls
from console.admin.client import AdminClient
from console.admin.cluster import describe_cluster
from console.admin.link import Link
from console.admin.quotas import describe_quotas
from console.admin.scram import describe_scram
from console.model import changes as model_changes
from console.model import codes, secret
from console.model.cluster import Partition, ScramCredential, Topic
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigResource, broker_resource, topic_resource
from console.model.snapshot import Snapshot
from console.plan.compile import compile_plan, predict
from console.plan.edits import DeleteScram, UpsertScram
from console.plan.plan import EMPTY, stage
from console.plan.requests import Facts
from tests.support import worlds
from tests.support.random_plans import World, random_edits
from tests.support.snapshot_differences import differences

# The brokers' defaults, quotas and ACLs stay as the last plan leaves them.
pytestmark = pytest.mark.untidy

SETTLE_SECONDS = 120.0

WORLD = World(
    topics=("random-1", "random-2", "random-3", "random-4"),
    brokers=(1, 2, 3),
    values={
        codes.TOPIC: {
            "cleanup.policy": ("compact", "delete", "compact,delete"),
            "compression.type": ("lz4", "zstd", "producer"),
            "flush.ms": ("5000", "1s"),
            "max.message.bytes": ("1MiB", "2MiB"),
            "min.cleanable.dirty.ratio": ("0.5", "0.1"),
            "preallocate": ("TRUE", "false"),
            "retention.bytes": ("1GiB", "-1"),
            "retention.ms": ("604800000", "7d", "-1"),
            "segment.ms": ("12h", "1d"),
        },
        codes.BROKER: {
            "a.plugin.key": ("x", "y"),
            "compression.type": ("gzip", "producer"),
            "log.cleaner.backoff.ms": ("20s", "15000"),
            "log.cleaner.min.cleanable.ratio": ("0.50", "0.25"),
            "log.cleanup.policy": ("delete", "compact"),
            "log.flush.interval.ms": ("2s", "5000"),
            "log.preallocate": ("true", "FALSE"),
            "log.retention.ms": ("1d", "2d"),
            "log.roll.ms": ("6h",),
            "max.connections": ("1000", "2000"),
            "message.max.bytes": ("2MiB", "3MiB"),
        },
        codes.GROUP: {
            "consumer.heartbeat.interval.ms": ("5s", "6000"),
            "consumer.session.timeout.ms": ("50s", "45000"),
        },
        codes.CLIENT_METRICS: {
            "interval.ms": ("30s", "60000"),
            "match": ("client_software_name=a.*", ""),
            "metrics": ("org.apache.kafka.producer.", ""),
        },
    },
    lists={
        codes.TOPIC: {"cleanup.policy": ("delete", "compact"), "leader.replication.throttled.replicas": ("0:1", "0:2")},
        codes.BROKER: {"log.cleanup.policy": ("delete", "compact")},
    },
    groups=("random-g1", "random-g2"),
    metrics=("random-m1", "random-m2"),
    loggers=("kafka.authorizer.logger", "state.change.logger"),
    secrets=("listener.name.x.ssl.keystore.password",),
    quotas=(1000, 1048576),  # high enough not to throttle this client
)
WORLD_3_9 = replace(
    WORLD, brokers=(1,), groups=(), metrics=(), loggers=("kafka.log.LogCleaner", "kafka.log.LogManager")
)
"""The entities that plans change on Kafka 3.9. It has no configs of groups, and does not return the defaults of client
metrics.
"""

BROKER_KEYS = (
    *WORLD.values[codes.BROKER],
    *WORLD.secrets,
    "log.flush.scheduler.interval.ms",
    "log.retention.hours",
    "log.retention.minutes",
    "log.roll.hours",
    "num.partitions",
    "ssl.keystore.password",
)
"""The broker configs that plans change, and those from which they inherit. A broker has 350 configs, too many to read
200 times.
"""

FIRST = "random-0"
"""A topic that always exists. Plans take the defaults of a new topic from it."""

client = worlds.client("plain_cluster")


async def read_the_rest(link: Link, world: World) -> dict[ConfigResource, list[ConfigEntry]]:
    """Return broker or brokers' default -> its configs that no plan changes."""
    listing = await configs.describe_configs(link, map(broker_resource, world.brokers))
    return {r: [entry for entry in each if entry.name not in BROKER_KEYS] for r, each in listing.sets.items()}


async def read(link: Link, world: World) -> Snapshot:
    """Return a snapshot of those entities of the cluster that plans change or use."""
    listing, cluster, quotas, acls, scram = await asyncio.gather(
        topics.describe_topics(link, [FIRST, *world.topics]),
        describe_cluster(link),
        describe_quotas(link),
        describe_acls(link),
        describe_scram(link),
    )
    others = await configs.describe_configs(
        link,
        [
            *map(topic_resource, listing.topics),
            CLUSTER_DEFAULT,
            *(ConfigResource(codes.GROUP, name) for name in world.groups),
            *(ConfigResource(codes.CLIENT_METRICS, name) for name in world.metrics),
        ],
    )
    brokers = await configs.describe_configs(link, map(broker_resource, world.brokers), keys=BROKER_KEYS)
    loggers = await configs.describe_configs(
        link, [ConfigResource(codes.BROKER_LOGGER, str(broker)) for broker in world.brokers], keys=world.loggers
    )
    assert not brokers.failures
    assert not loggers.failures
    assert all(resource.type == codes.TOPIC for resource in others.failures), others.failures
    at = datetime.now(UTC)
    return Snapshot(
        cluster=cluster,
        topics={name: unplaced(topic) for name, topic in listing.topics.items()},
        configs={**others.sets, **brokers.sets, **loggers.sets},
        configs_from=others.described_by,
        quotas=quotas,
        acls=tuple(sorted(acls)),
        scram={user: tuple(sorted(credentials)) for user, credentials in scram.users.items()},
        read_at=dict.fromkeys(("cluster", "topics", "configs", "quotas", "acls", "scram"), at),
    )


def unplaced(topic: Topic) -> Topic:
    """Return a topic without its id, leaders and replicas, which no plan predicts."""
    return Topic(topic.name, tuple(Partition(number, -1, (), ()) for number in range(len(topic.partitions))))


def without_placement(snapshot: Snapshot) -> Snapshot:
    return structs.replace(snapshot, topics={name: unplaced(topic) for name, topic in snapshot.topics.items()})


def becomes(is_so: Callable[[], bool]) -> bool:
    """Call `is_so` until it returns true, and return True; return False after `SETTLE_SECONDS`. Brokers learn of a
    change later than the controller.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            return False
    return True


def begun(client: AdminClient, world: World) -> Snapshot:
    """Wait until all brokers have the first topic and two credentials of its user, and return a snapshot. Raises
    AssertionError after `SETTLE_SECONDS`.
    """
    found: list[Snapshot] = []

    def is_known() -> bool:
        found[:] = [client.submit(read, world).result() for _ in world.brokers]
        return all(FIRST in each.topics and len(each.scram.get("random-anchor", ())) == 2 for each in found)

    assert becomes(is_known)
    return found[-1]


def settled(client: AdminClient, world: World, predicted: Snapshot) -> tuple[Snapshot, list[str]]:
    """Wait until all brokers have the predicted state, at most `SETTLE_SECONDS`. Return the last snapshot, and a text
    for each difference from the prediction.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        found = client.submit(read, world).result()
        left = differences(predicted, found)
        if not left or time.monotonic() > deadline:
            return found, left


def take_back(client: AdminClient, snapshot: Snapshot) -> None:
    """Delete the broker configs that plans have set, because other tests use the same cluster."""
    for resource, entries in snapshot.configs.items():
        names = (each.name for each in entries.overrides(resource))
        ops = tuple(model_changes.ConfigOp(name, codes.DELETE) for name in names if name in BROKER_KEYS)
        if resource.type == codes.BROKER and ops:
            broker = None if resource.is_default else int(resource.name)
            send(client, model_changes.AlterConfigs({resource: ops}, broker))


def send(client: AdminClient, request: model_changes.ChangeRequest) -> None:
    outcomes = client.submit(changes.send, request, validate_only=False).result()
    assert [outcome for outcome in outcomes if outcome.status is not model_changes.Status.APPLIED] == []


@pytest.mark.parametrize(
    ("client", "world", "plans"),
    [
        pytest.param("plain_cluster", WORLD, 20, marks=pytest.mark.takes(30)),
        pytest.param("plain_cluster", WORLD, 200, marks=pytest.mark.long),
        pytest.param("kafka39", WORLD_3_9, 40, marks=pytest.mark.long),
    ],
    ids=["4.3", "4.3-many", "3.9-many"],
    indirect=["client"],
)
def test_random_plans_leave_exactly_what_they_predicted(client: AdminClient, world: World, plans: int) -> None:
    rng = Random(20_250_512)
    send(client, model_changes.CreateTopics((model_changes.NewTopic(FIRST, 1, 1),)))
    # While a user has a credential of each mechanism, Kafka can't lose credentials (see the test below).
    for mechanism in (1, 2):
        send(
            client,
            model_changes.AlterScram(
                {model_changes.ScramUser("random-anchor", codes.ScramMechanism(mechanism)): (4096, secret.Secret("x"))}
            ),
        )
    snapshot = begun(client, world)
    the_rest = client.submit(read_the_rest, world).result()
    staged = 0
    for number in range(plans):
        report = stage(EMPTY, random_edits(rng, world, snapshot), snapshot)
        predicted = without_placement(predict(snapshot, report.plan))
        for step in compile_plan(report.plan, Facts(configs=snapshot.configs, acls=len(snapshot.acls))):
            send(client, step.request)
        snapshot, left = settled(client, world, predicted)
        assert left == [], f"plan {number}: {report.plan.staged}"
        staged += len(report.plan)
    take_back(client, snapshot)
    assert staged > 2 * plans
    assert becomes(lambda: client.submit(read_the_rest, world).result() == the_rest)


def test_a_credential_is_kept_that_is_set_while_the_last_other_one_goes(client: AdminClient) -> None:
    """A plan that sets a credential and deletes the last other one sends two requests. In one request, brokers would
    lose the new credential, though the controller keeps it.
    """
    sha512 = codes.ScramMechanism(2)
    leaving, coming = (
        model_changes.ScramUser("random-leaving", sha512),
        model_changes.ScramUser("random-coming", sha512),
    )
    users = client.submit(describe_scram).result().users
    others = [
        model_changes.ScramUser(user, c.mechanism)
        for user, all_ in users.items()
        for c in all_
        if c.mechanism == sha512
    ]
    if others:
        send(client, model_changes.AlterScram({}, tuple(others)))
    send(client, model_changes.AlterScram({leaving: (4096, secret.Secret("x"))}))
    snapshot = structs.replace(
        client.submit(read, WORLD).result(), scram={leaving.user: (ScramCredential(sha512, 4096),)}
    )
    plan = stage(EMPTY, [DeleteScram(leaving), UpsertScram(coming, 4096, secret.Secret("y"))], snapshot).plan
    steps = compile_plan(plan, Facts())
    assert [bool(step.request.upserts) for step in steps if isinstance(step.request, model_changes.AlterScram)] == [
        True,
        False,
    ]
    for step in steps:
        send(client, step.request)
        wanted = predict(snapshot, structs.replace(plan, staged=step.staged)).scram
        assert becomes(lambda wanted=wanted: has_credentials(client, wanted))  # type: ignore[misc]
        snapshot = structs.replace(snapshot, scram=wanted)
    assert becomes(lambda: leaving.user not in client.submit(describe_scram).result().users)
    assert has_credentials(client, snapshot.scram)


def has_credentials(client: AdminClient, wanted: Mapping[str, tuple[ScramCredential, ...]]) -> bool:
    return wanted.items() <= client.submit(describe_scram).result().users.items()
