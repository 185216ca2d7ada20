"""Tests of rights: requests by the user alice, whom ACLs deny everything or allow only some operations."""

from collections.abc import Iterator

import pytest

from tests.contract import acls, verbs
from tests.contract.acls import FINE as CREATED
from tests.contract.target import ALICE, Target
from tests.contract.verbs import GROUP as GROUP_CONFIGS
from tests.contract.verbs import TOPIC as TOPIC_CONFIGS
from tests.support.kafka_messages import with_fields

DESCRIBE, ALTER, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALLOW = 8, 7, 10, 11, 3
CLUSTER_CODE, TOPIC_CODE = "CLUSTER_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"
NO_CLUSTER, NO_TOPIC = (CLUSTER_CODE, "Cluster authorization failed."), (TOPIC_CODE, "Topic authorization failed.")
KEPT = -(2**31)
"""The value of the authorized operations in an answer that does not have them."""


def may(kind: int, name: str, operation: int, permission: int = ALLOW, **more: int) -> acls.Binding:
    """Return an ACL that allows alice an operation on a resource, or denies it, by `permission`."""
    return acls.Binding(name, f"User:{ALICE}", kind, operation=operation, permission=permission, **more)


@pytest.fixture(autouse=True)
def nothing_is_left(target: Target) -> Iterator[None]:
    """Delete all ACLs after each test."""
    yield
    acls.delete(target, acls.EVERYTHING)
    assert acls.found(target)[1] == set()


@pytest.fixture
def denied(target: Target) -> None:
    """Deny alice all operations on the cluster and on the topics and groups of the contract tests. Wait until all
    brokers know these ACLs.
    """
    every = [may(acls.CLUSTER, "kafka-cluster", acls.ALL, acls.DENY)]
    every += [may(kind, "contract", acls.ALL, acls.DENY, pattern=acls.PREFIXED) for kind in (acls.TOPIC, acls.GROUP)]
    assert acls.create(target, *every) == [CREATED] * 3
    for broker in target.brokers:
        target.until(lambda broker=broker: _is_denied(target, broker))


def _is_denied(target: Target, broker: int) -> bool:
    asked = with_fields(include_cluster_authorized_operations=True)
    answer = target.ask("describe_cluster", 0, asked, broker=broker, user=ALICE)
    return bool(answer["cluster_authorized_operations"] == 0)


@pytest.mark.usefixtures("denied")
def test_configs_that_may_not_be_read(target: Target, topic: str) -> None:
    """Without DESCRIBE_CONFIGS each resource gets an authorization error, whether it exists or not."""
    wanted = [
        (TOPIC_CONFIGS, topic),
        (TOPIC_CONFIGS, f"{topic}-no"),
        (verbs.BROKER, "1"),
        (verbs.BROKER, ""),
        (verbs.BROKER_LOGGER, "1"),
    ]
    refused = [verbs.error(each) for each in verbs.describe(target, wanted, user=ALICE)]
    assert sorted(refused) == [NO_CLUSTER] * 3 + [NO_TOPIC] * 2
    assert [verbs.error(each) for each in verbs.describe(target, [(verbs.CLIENT_METRICS, "m")], user=ALICE)] == [
        NO_CLUSTER
    ]
    if target.is_since("4.0"):
        (refused_group,) = verbs.describe(target, [(GROUP_CONFIGS, "contract-g")], user=ALICE)
        assert verbs.error(refused_group) == ("GROUP_AUTHORIZATION_FAILED", "Group authorization failed.")


@pytest.mark.usefixtures("denied")
def test_configs_that_may_not_be_changed(target: Target, topic: str) -> None:
    """Without ALTER_CONFIGS changes are refused, and the resources keep their configs."""
    no_cluster = (CLUSTER_CODE, None) if target.is_since("4.4") else NO_CLUSTER
    op = [("retention.ms", verbs.SET, "5")]
    refused = verbs.alter_each(
        target,
        [
            ((TOPIC_CONFIGS, topic), op),
            ((TOPIC_CONFIGS, f"{topic}-no"), op),
            ((verbs.BROKER, ""), [("log.retention.ms", verbs.SET, "5")]),
            ((verbs.BROKER, "1"), [("log.retention.ms", verbs.SET, "5")]),
            ((verbs.BROKER_LOGGER, "1"), [("root", verbs.SET, "DEBUG")]),
        ],
        broker=1,
        user=ALICE,
    )
    assert dict(refused) == {
        (TOPIC_CONFIGS, topic): NO_TOPIC,
        (TOPIC_CONFIGS, f"{topic}-no"): NO_TOPIC,
        (verbs.BROKER, ""): no_cluster,
        (verbs.BROKER, "1"): no_cluster,
        (verbs.BROKER_LOGGER, "1"): (CLUSTER_CODE, None),
    }
    replaced = verbs.replace(target, [((TOPIC_CONFIGS, topic), {}), ((verbs.BROKER, "1"), {})], broker=1, user=ALICE)
    assert replaced == {(TOPIC_CONFIGS, topic): NO_TOPIC, (verbs.BROKER, "1"): no_cluster}
    assert verbs.values(target, TOPIC_CONFIGS, topic) == {}


@pytest.mark.usefixtures("denied")
def test_quotas(target: Target) -> None:
    """Reading quotas needs DESCRIBE_CONFIGS on the cluster, changing them ALTER_CONFIGS."""
    assert verbs.quotas(target, [], user=ALICE) == ((CLUSTER_CODE, None), [])
    assert verbs.alter_quotas(target, [({"user": "u"}, {"producer_byte_rate": 5.0})], user=ALICE) == [NO_CLUSTER]
    assert verbs.quotas(target, [])[1] == []


@pytest.mark.usefixtures("denied")
def test_acls(target: Target) -> None:
    """Reading ACLs needs DESCRIBE on the cluster, changing them ALTER."""
    before = acls.found(target)

    def refused(operation: str) -> verbs.Error:
        newest = f"It needs {operation} permission."
        return CLUSTER_CODE, newest if target.is_since("4.4") else "It is not authorized."

    assert acls.found(target, user=ALICE) == (refused("DESCRIBE"), set())
    assert acls.create(target, may(acls.TOPIC, "contract", acls.ALL), user=ALICE) == [refused("ALTER")]
    assert acls.delete(target, acls.EVERYTHING, user=ALICE) == [(refused("ALTER"), set())]
    assert acls.found(target) == before


@pytest.mark.usefixtures("denied")
def test_topics(target: Target, topic: str) -> None:
    """alice can't create or delete topics or add partitions. She gets the same error for a missing topic as for one
    that she may not see.
    """
    made, missing = f"{topic}-2", f"{topic}-no"
    assert verbs.create_topics(target, {made: {0: [1]}}, user=ALICE) == {made: (TOPIC_CODE, "Authorization failed.")}
    assert verbs.delete_topics(target, topic, missing, user=ALICE) == [(topic, NO_TOPIC), (missing, NO_TOPIC)]
    assert verbs.grow(target, topic, 3, user=ALICE) == (TOPIC_CODE, None)
    answer = verbs.metadata(target, [topic, missing], rights=True, user=ALICE)
    assert {each["error_code"] for each in answer["topics"]} == {TOPIC_CODE}
    assert {each["topic_authorized_operations"] for each in answer["topics"]} == {KEPT}
    assert verbs.partitions(target, topic) == {0: [1]}


@pytest.mark.usefixtures("denied")
def test_the_cluster(target: Target, topic: str) -> None:
    """Elections, reassignments and changes of SCRAM credentials are refused to a user without rights on the cluster.
    Log directories are an empty list for this user.
    """
    for api, version, asked in (
        ("elect_leaders", 2, with_fields(election_type=0, topic_partitions=[(topic, [0])])),
        ("alter_partition_reassignments", 0, with_fields(topics=[(topic, [(0, [1])])])),
        ("list_partition_reassignments", 0, with_fields(topics=None)),
    ):
        answer = target.ask(api, version, asked, user=ALICE)
        assert answer["error_code"] == CLUSTER_CODE
        assert not answer.get("topics")
    assert target.ask("describe_log_dirs", 2, with_fields(topics=None), user=ALICE)["results"] == []
    users = target.ask("describe_user_scram_credentials", 0, with_fields(users=["u"]), user=ALICE)
    assert users["error_code"] == CLUSTER_CODE
    asked = with_fields(deletions=[("u", 1)], upsertions=[])
    changed = target.ask("alter_user_scram_credentials", 0, asked, user=ALICE)
    assert [each["error_code"] for each in changed["results"]] == [CLUSTER_CODE]


def test_what_one_right_implies(target: Target, topic: str) -> None:
    """An ALLOW of ALTER_CONFIGS also allows DESCRIBE_CONFIGS, and one of ALTER also allows DESCRIBE, unless an ACL
    denies the implied operation.
    """
    of_bob = [acls.Binding(topic, "User:bob"), acls.Binding("kafka-cluster", "User:bob", acls.CLUSTER)]
    mine = [may(acls.TOPIC, topic, ALTER_CONFIGS), may(acls.CLUSTER, "kafka-cluster", ALTER)]
    assert acls.create(target, *of_bob, *mine) == [CREATED] * 4
    op = ("retention.ms", verbs.SET, "5")
    assert verbs.alter(target, TOPIC_CONFIGS, topic, op, user=ALICE) == verbs.FINE
    (described,) = verbs.describe(target, [(TOPIC_CONFIGS, topic)], ["retention.ms"], user=ALICE)
    assert described["error_code"] == "NONE"
    assert acls.found(target, user=ALICE) == (("NONE", ""), {*of_bob, *mine})
    assert verbs.quotas(target, [], user=ALICE)[0] == (CLUSTER_CODE, None)
    assert acls.create(target, may(acls.TOPIC, topic, DESCRIBE_CONFIGS, acls.DENY)) == [CREATED]
    target.until(lambda: verbs.describe(target, [(TOPIC_CONFIGS, topic)], user=ALICE)[0]["error_code"] == TOPIC_CODE)
    assert verbs.alter(target, TOPIC_CONFIGS, topic, op, user=ALICE) == verbs.FINE
