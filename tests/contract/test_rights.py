"""Who may read and change what (PROTOCOL §2 to §4, "Authorisation"): alice, to whom everything is denied, or little."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.contract.acls import ALL, CLUSTER, DENY, EVERYTHING, GROUP, PREFIXED, TOPIC, Binding, create, delete, found
from tests.contract.acls import FINE as CREATED
from tests.contract.target import ALICE, Target
from tests.contract.verbs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    FINE,
    SET,
    Error,
    alter,
    alter_each,
    alter_quotas,
    create_topics,
    delete_topics,
    describe,
    error,
    partitions,
    quotas,
    replace,
    values,
)
from tests.contract.verbs import GROUP as GROUP_CONFIGS
from tests.contract.verbs import TOPIC as TOPIC_CONFIGS

DESCRIBE, ALTER, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALLOW = 8, 7, 10, 11, 3
CLUSTER_CODE, TOPIC_CODE = "CLUSTER_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"
NO_CLUSTER, NO_TOPIC = (CLUSTER_CODE, "Cluster authorization failed."), (TOPIC_CODE, "Topic authorization failed.")
KEPT = -(2**31)
"""Operations that are not told."""


def may(kind: int, name: str, operation: int, permission: int = ALLOW, **more: int) -> Binding:
    """An ACL of alice's."""
    return Binding(name, f"User:{ALICE}", kind, operation=operation, permission=permission, **more)


@pytest.fixture(autouse=True)
def nothing_is_left(target: Target) -> Iterator[None]:
    """ACLs are gone after each test."""
    yield
    delete(target, EVERYTHING)
    assert found(target)[1] == set()


@pytest.fixture
def denied(target: Target) -> None:
    """Everything, on the cluster and on whatever this suite makes."""
    every = [may(CLUSTER, "kafka-cluster", ALL, DENY)]
    every += [may(kind, "contract", ALL, DENY, pattern=PREFIXED) for kind in (TOPIC, GROUP)]
    assert create(target, *every) == [CREATED] * 3
    for broker in target.brokers:
        target.until(lambda broker=broker: _is_denied(target, broker))


def _is_denied(target: Target, broker: int) -> bool:
    answer = target.ask(
        "describe_cluster",
        0,
        lambda m: m.DescribeClusterRequest(include_cluster_authorized_operations=True),
        broker=broker,
        user=ALICE,
    )
    return bool(answer["cluster_authorized_operations"] == 0)


@pytest.mark.usefixtures("denied")
def test_configs_that_may_not_be_read(target: Target, topic: str) -> None:
    """§2: DESCRIBE_CONFIGS on CLUSTER or TOPIC; an error per resource, whether it exists or not."""
    wanted = [(TOPIC_CONFIGS, topic), (TOPIC_CONFIGS, f"{topic}-no"), (BROKER, "1"), (BROKER, ""), (BROKER_LOGGER, "1")]
    refused = [error(each) for each in describe(target, wanted, user=ALICE)]
    assert sorted(refused) == [NO_CLUSTER] * 3 + [NO_TOPIC] * 2
    assert [error(each) for each in describe(target, [(CLIENT_METRICS, "m")], user=ALICE)] == [NO_CLUSTER]
    if target.is_since("4.0"):
        (refused_group,) = describe(target, [(GROUP_CONFIGS, "contract-g")], user=ALICE)
        assert error(refused_group) == ("GROUP_AUTHORIZATION_FAILED", "Group authorization failed.")


@pytest.mark.usefixtures("denied")
def test_configs_that_may_not_be_changed(target: Target, topic: str) -> None:
    """§2: ALTER_CONFIGS; what is refused stays as it is."""
    no_cluster = (CLUSTER_CODE, None) if target.is_since("4.4") else NO_CLUSTER
    op = [("retention.ms", SET, "5")]
    refused = alter_each(
        target,
        [
            ((TOPIC_CONFIGS, topic), op),
            ((TOPIC_CONFIGS, f"{topic}-no"), op),
            ((BROKER, ""), [("log.retention.ms", SET, "5")]),
            ((BROKER, "1"), [("log.retention.ms", SET, "5")]),
            ((BROKER_LOGGER, "1"), [("root", SET, "DEBUG")]),
        ],
        broker=1,
        user=ALICE,
    )
    assert dict(refused) == {
        (TOPIC_CONFIGS, topic): NO_TOPIC,
        (TOPIC_CONFIGS, f"{topic}-no"): NO_TOPIC,
        (BROKER, ""): no_cluster,
        (BROKER, "1"): no_cluster,
        (BROKER_LOGGER, "1"): (CLUSTER_CODE, None),
    }
    replaced = replace(target, [((TOPIC_CONFIGS, topic), {}), ((BROKER, "1"), {})], broker=1, user=ALICE)
    assert replaced == {(TOPIC_CONFIGS, topic): NO_TOPIC, (BROKER, "1"): no_cluster}
    assert values(target, TOPIC_CONFIGS, topic) == {}


@pytest.mark.usefixtures("denied")
def test_quotas(target: Target) -> None:
    """§3: DESCRIBE_CONFIGS / ALTER_CONFIGS on CLUSTER."""
    assert quotas(target, [], user=ALICE) == ((CLUSTER_CODE, None), [])
    assert alter_quotas(target, [({"user": "u"}, {"producer_byte_rate": 5.0})], user=ALICE) == [NO_CLUSTER]
    assert quotas(target, [])[1] == []


@pytest.mark.usefixtures("denied")
def test_acls(target: Target) -> None:
    """§4: DESCRIBE / ALTER on CLUSTER."""
    before = found(target)

    def refused(operation: str) -> Error:
        newest = f"It needs {operation} permission."
        return CLUSTER_CODE, newest if target.is_since("4.4") else "It is not authorized."

    assert found(target, user=ALICE) == (refused("DESCRIBE"), set())
    assert create(target, may(TOPIC, "contract", ALL), user=ALICE) == [refused("ALTER")]
    assert delete(target, EVERYTHING, user=ALICE) == [(refused("ALTER"), set())]
    assert found(target) == before


@pytest.mark.usefixtures("denied")
def test_topics(target: Target, topic: str) -> None:
    """CREATE, DELETE and ALTER of topics; those that may not be described are as if they were not there."""
    made, missing = f"{topic}-2", f"{topic}-no"
    assert create_topics(target, {made: {0: [1]}}, user=ALICE) == {made: (TOPIC_CODE, "Authorization failed.")}
    assert delete_topics(target, topic, missing, user=ALICE) == [(topic, NO_TOPIC), (missing, NO_TOPIC)]
    answer = target.ask(
        "create_partitions",
        3,
        lambda m: m.CreatePartitionsRequest(
            topics=(m.CreatePartitionsTopic(name=topic, count=3, assignments=None),),
            timeout=timedelta(seconds=20),
            validate_only=False,
        ),
        user=ALICE,
    )
    assert [error(each) for each in answer["results"]] == [(TOPIC_CODE, None)]
    answer = target.ask(
        "metadata",
        8,
        lambda m: m.MetadataRequest(
            topics=tuple(m.MetadataRequestTopic(name=name) for name in (topic, missing)),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        ),
        user=ALICE,
    )
    assert {each["error_code"] for each in answer["topics"]} == {TOPIC_CODE}
    assert {each["topic_authorized_operations"] for each in answer["topics"]} == {KEPT}
    assert partitions(target, topic) == {0: [1]}


@pytest.mark.usefixtures("denied")
def test_the_cluster(target: Target, topic: str) -> None:
    """Leaders, moves, log directories and users."""
    elected = target.ask(
        "elect_leaders",
        2,
        lambda m: m.ElectLeadersRequest(
            election_type=0, topic_partitions=(m.TopicPartitions(topic=topic, partitions=(0,)),)
        ),
        user=ALICE,
    )
    assert elected["error_code"] == CLUSTER_CODE
    moved = target.ask(
        "alter_partition_reassignments",
        0,
        lambda m: m.AlterPartitionReassignmentsRequest(
            topics=(
                m.ReassignableTopic(
                    name=topic, partitions=(m.ReassignablePartition(partition_index=0, replicas=(1,)),)
                ),
            )
        ),
        user=ALICE,
    )
    assert moved["error_code"] == CLUSTER_CODE
    moving = target.ask(
        "list_partition_reassignments",
        0,
        lambda m: m.ListPartitionReassignmentsRequest(topics=None),
        user=ALICE,
    )
    assert (moving["error_code"], moving["topics"]) == (CLUSTER_CODE, [])
    sizes = target.ask("describe_log_dirs", 2, lambda m: m.DescribeLogDirsRequest(topics=None), user=ALICE)
    assert sizes["results"] == []
    users = target.ask(
        "describe_user_scram_credentials",
        0,
        lambda m: m.DescribeUserScramCredentialsRequest(users=(m.UserName(name="u"),)),
        user=ALICE,
    )
    assert users["error_code"] == CLUSTER_CODE
    changed = target.ask(
        "alter_user_scram_credentials",
        0,
        lambda m: m.AlterUserScramCredentialsRequest(
            deletions=(m.ScramCredentialDeletion(name="u", mechanism=1),), upsertions=()
        ),
        user=ALICE,
    )
    assert [each["error_code"] for each in changed["results"]] == [CLUSTER_CODE]


def test_what_one_right_implies(target: Target, topic: str) -> None:
    """ALTER_CONFIGS implies DESCRIBE_CONFIGS, and ALTER DESCRIBE; a DENY beats it."""
    of_bob = [Binding(topic, "User:bob"), Binding("kafka-cluster", "User:bob", CLUSTER)]
    mine = [may(TOPIC, topic, ALTER_CONFIGS), may(CLUSTER, "kafka-cluster", ALTER)]
    assert create(target, *of_bob, *mine) == [CREATED] * 4
    op = ("retention.ms", SET, "5")
    assert alter(target, TOPIC_CONFIGS, topic, op, user=ALICE) == FINE
    (described,) = describe(target, [(TOPIC_CONFIGS, topic)], ["retention.ms"], user=ALICE)
    assert described["error_code"] == "NONE"
    assert found(target, user=ALICE) == (("NONE", ""), {*of_bob, *mine})
    assert quotas(target, [], user=ALICE)[0] == (CLUSTER_CODE, None)
    assert create(target, may(TOPIC, topic, DESCRIBE_CONFIGS, DENY)) == [CREATED]
    target.until(lambda: describe(target, [(TOPIC_CONFIGS, topic)], user=ALICE)[0]["error_code"] == TOPIC_CODE)
    assert alter(target, TOPIC_CONFIGS, topic, op, user=ALICE) == FINE
