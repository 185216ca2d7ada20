"""Tests of dependencies: the entities on which a symptom depends, and the entities that a change affects."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.changes import BrokerTarget, FeatureTarget, ScramUser, Target, TopicTarget
from console.model.cluster import Group, GroupLag, GroupMember, Partition, PartitionLag, Topic
from console.model.codes import GROUP, ScramMechanism
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.connect import FAILED, SINK, SOURCE
from console.model.coordinators import OFFSETS
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.triage import dependencies, symptoms
from console.triage.dependencies import CLUSTER, Entity, changed_entity, may_be_user_of, near
from tests.support import connectors, samples
from tests.unit.test_triage import healthy


def cluster() -> Snapshot:
    """Return a snapshot in which group billing reads orders, whose partition 0 is led by broker 1, and group counting
    reads clicks.
    """
    known = healthy()
    offsets = Topic(OFFSETS, tuple(Partition(n, 3, (3, 1), (3, 1)) for n in range(3)), internal=True)
    clicks = Topic("clicks", (Partition(0, 2, (2, 3), (2, 3)),))
    return replace(
        known,
        topics={**known.topics, OFFSETS: offsets, "clicks": clicks},
        groups={
            "billing": Group(
                "billing", "Stable", "consumer", members=(GroupMember("m", "app-1", "/10.0.0.7", (("orders", 0),)),)
            ),
            "counting": Group("counting", "Stable", "consumer", members=(GroupMember("m", "app-2", "/10.0.0.8"),)),
        },
        lags={
            "billing": GroupLag((PartitionLag("orders", 0, 5, 9, 4, "m"),)),
            "counting": GroupLag((PartitionLag("clicks", 0, 5, 9, 4, "m"),)),
        },
    )


EVERYTHING = {
    dependencies.TOPICS: ("orders", "clicks", OFFSETS),
    dependencies.GROUPS: ("billing", "counting"),
    dependencies.BROKERS: ("1", "2", "3"),
    dependencies.CLIENTS: ("app-1", "app-2"),
    dependencies.HOSTS: ("10.0.0.7", "10.0.0.8"),
    dependencies.USERS: ("carol",),
    dependencies.ALL: ("",),
}


def needed(symptom: symptoms.Symptom, snapshot: Snapshot | None = None) -> dict[Entity, int]:
    """Return entity -> how a symptom depends on it, as a constant of `console.triage.dependencies` from `ITSELF` to
    `BELONGS`; the lowest if there are several. snapshot: None for `cluster()`.
    """
    changed = {sort: {name: Entity(sort, name) for name in names} for sort, names in EVERYTHING.items()}
    found: dict[Entity, int] = {}
    for distance, entity in near(symptom, snapshot or cluster(), changed):
        found[entity] = min(distance, found.get(entity, distance))
    return found


def of_group(name: str, topic: str | None = None, partition: int | None = None) -> symptoms.Symptom:
    return symptoms.Symptom(symptoms.LAG_GROWS, symptoms.Subject(group=name, topic=topic, partition=partition))


def test_a_group_depends_on_what_it_reads_on_its_clients_and_on_its_coordinator() -> None:
    assert needed(of_group("billing")) == {
        Entity(dependencies.GROUPS, "billing"): dependencies.ITSELF,
        Entity(dependencies.TOPICS, "orders"): dependencies.READS,
        Entity(dependencies.BROKERS, "1"): dependencies.HOLDS,  # it leads orders/0
        Entity(dependencies.CLIENTS, "app-1"): dependencies.RUNS,
        Entity(dependencies.HOSTS, "10.0.0.7"): dependencies.RUNS,
        Entity(dependencies.TOPICS, OFFSETS): dependencies.COORDINATES,
        Entity(dependencies.BROKERS, "3"): dependencies.COORDINATES,
        Entity(dependencies.USERS, "carol"): dependencies.MAY_BE,
        CLUSTER: dependencies.BELONGS,
    }


def test_a_partition_depends_on_its_leader_first_and_a_group_on_its_own_topics() -> None:
    symptom = symptoms.Symptom(symptoms.UNDER_REPLICATED, symptoms.Subject(topic="clicks", partition=0))
    assert needed(symptom) == {
        Entity(dependencies.TOPICS, "clicks"): dependencies.ITSELF,
        Entity(dependencies.BROKERS, "2"): dependencies.LEADS,
        Entity(dependencies.BROKERS, "3"): dependencies.HOLDS,
        CLUSTER: dependencies.BELONGS,
    }
    found = needed(of_group("counting", "orders", 0))
    assert Entity(dependencies.TOPICS, "orders") in found
    assert Entity(dependencies.TOPICS, "clicks") not in found


@pytest.mark.parametrize(
    ("about", "entity"),
    [
        (topic_resource("orders"), Entity(dependencies.TOPICS, "orders")),
        (TopicTarget("orders"), Entity(dependencies.TOPICS, "orders")),
        (ConfigResource(GROUP, "billing"), Entity(dependencies.GROUPS, "billing")),
        (broker_resource(2), Entity(dependencies.BROKERS, "2")),
        (BrokerTarget(2), Entity(dependencies.BROKERS, "2")),
        (CLUSTER_DEFAULT, CLUSTER),
        (FeatureTarget("metadata.version"), CLUSTER),
        (ScramUser("carol", ScramMechanism(1)), Entity(dependencies.USERS, "carol")),
        (QuotaEntity.of({"user": None}), CLUSTER),
        (QuotaEntity.of({"user": "carol"}), Entity(dependencies.USERS, "carol")),
        (QuotaEntity.of({"user": "carol", "client-id": "app-1"}), Entity(dependencies.CLIENTS, "app-1")),
        (QuotaEntity.of({"ip": "10.0.0.7"}), Entity(dependencies.HOSTS, "10.0.0.7")),
        (samples.acl("User:carol", "orders", "READ", "ALLOW", on="TOPIC"), None),  # rights have their own cause
    ],
)
def test_the_entity_of_a_change(about: Target, entity: Entity | None) -> None:
    assert changed_entity(about) == entity


@pytest.mark.parametrize(
    ("acls", "may_be"),
    [
        ((), True),
        (("billing",), True),
        (("shipping",), False),
        (("shipping", "*"), True),
    ],
)
def test_rights_leave_out_users_who_read_other_groups(acls: tuple[str, ...], *, may_be: bool) -> None:
    bindings = tuple(samples.acl("User:carol", name, "READ", "ALLOW", on="GROUP") for name in acls)
    assert may_be_user_of("carol", "billing", replace(cluster(), acls=bindings)) is may_be


SYMPTOMS: Mapping[str, symptoms.Subject] = {
    symptoms.LAG_GROWS: symptoms.Subject(group="billing"),
    symptoms.OFFSET_OUT_OF_RANGE: symptoms.Subject(group="billing", topic="orders", partition=0),
    symptoms.UNDER_REPLICATED: symptoms.Subject(topic="orders", partition=3),
    symptoms.LSO_STANDS_STILL: symptoms.Subject(topic="gone", partition=0),
    symptoms.BROKER_SILENT: symptoms.Subject(broker=2),
}


@given(st.sampled_from(sorted(SYMPTOMS)), st.sets(st.integers(1, 3)))
def test_whatever_is_wrong_depends_on_the_cluster_last(name: str, brokers: set[int]) -> None:
    found = needed(symptoms.Symptom(name, SYMPTOMS[name], tuple(sorted(brokers))))
    assert max(found, key=lambda each: found[each]) == CLUSTER
    assert all(found[Entity(dependencies.BROKERS, str(each))] == dependencies.ITSELF for each in brokers)


@pytest.mark.parametrize(
    ("reason", "needs"),
    [
        ("java.lang.IllegalArgumentException: Unknown field: email", {"orders-value"}),
        ("org.apache.kafka.connect.errors.DataException: orders", {"orders-value"}),
        ("io.example.SchemaException: shop.Order has no email", {"orders-value", "shop.Order"}),
        ("java.sql.SQLException: the connection failed", set()),
    ],
)
def test_a_connector_depends_on_the_schemas_of_its_topics_as_far_as_its_trace_is_about_records(
    reason: str, needs: set[str]
) -> None:
    task = connectors.task(0, FAILED, reason=reason)
    snapshot = connectors.with_connect(cluster(), connectors.cluster(connectors.connector(tasks=[task])))
    symptom = symptoms.Symptom(symptoms.TASK_FAILED, symptoms.Subject(connector="main/orders-sink", task=0))
    changed = {dependencies.SCHEMAS: {name: name for name in ("orders-value", "clicks-value", "shop.Order")}}
    assert {name for _, name in near(symptom, snapshot, changed)} == needs


@pytest.mark.parametrize(
    ("kind", "topic", "is_near"), [(SOURCE, "orders", True), (SOURCE, "clicks", False), (SINK, "orders", False)]
)
def test_a_group_depends_on_the_source_connector_of_its_topics(kind: str, topic: str, *, is_near: bool) -> None:
    pg = connectors.connector("pg", kind=kind, topics=(topic,))
    snapshot = connectors.with_connect(cluster(), connectors.cluster(pg))
    entity = Entity(dependencies.CONNECTORS, "main/pg")
    symptom = symptoms.Symptom(symptoms.LAG_GROWS, symptoms.Subject(group="billing"))
    found = [each for _, each in near(symptom, snapshot, {dependencies.CONNECTORS: {"main/pg": entity}})]
    assert (entity in found) is is_near
