"""Tests, on real brokers of 4.3 and 3.9, of all changes except changes of configs: their effects, their validation,
and how brokers refuse them.
"""

import math

import pytest
from msgspec.structs import replace

from console.admin import acls, cluster, errors, partitions, quotas, scram, topics
from console.admin.changes import send
from console.admin.link import Link, until_settled
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.model import acl, changes, config, quota
from console.model.cluster import ScramCredential, ScramListing
from console.model.codes import (
    AclOperation,
    AclResourceType,
    PatternType,
    Permission,
    ScramMechanism,
)
from console.model.secret import Secret
from tests.support import changing, worlds
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.core

SHA_256, SHA_512 = ScramMechanism(1), ScramMechanism(2)


@pytest.fixture
async def topic(link: Link, name: str) -> config.ConfigResource:
    """Create a topic with one partition, and provide it as a config resource."""
    assert await changing.applied(link, changes.CreateTopics((changes.NewTopic(name, 1, 1),)))
    return config.topic_resource(name)


# --- quotas


async def test_quotas(kafka: KafkaCluster, link: Link, name: str) -> None:
    user, pair = quota.QuotaEntity.of({"user": name}), quota.QuotaEntity.of({"user": name, "client-id": None})
    bad = quota.QuotaEntity.of({"user": f"{name}-bad"})
    change = changes.AlterQuotas(
        {
            user: {"producer_byte_rate": 1024.0, "request_percentage": 12.5},
            bad: {"no_such_rate": 1.0},
            pair: {"controller_mutation_rate": 0.5},
        }
    )
    mark = kafka.request_log.mark()
    expected = {user: changes.Status.VALID, bad: changes.Status.FAILED, pair: changes.Status.VALID}
    assert await changing.statuses(link, change, check=True) == expected
    assert user not in await quotas.describe_quotas(link)
    found = await changing.outcomes(link, change)
    assert [outcome.status for outcome in found.values()] == [
        changes.Status.APPLIED,
        changes.Status.FAILED,
        changes.Status.APPLIED,
    ]
    assert str(found[bad].failure) == "INVALID_REQUEST: Invalid configuration key no_such_rate"
    described = await quotas.describe_quotas(link)
    assert (described[user], described[pair]) == (change.ops[user], change.ops[pair])
    logged = kafka.request_log.wait_for(2, "ALTER_CLIENT_QUOTAS", since=mark)
    assert [entry.request["validateOnly"] for entry in logged] == [True, False]
    undo = {entity: dict.fromkeys(change.ops[entity]) for entity in (user, pair)}
    assert await changing.applied(link, changes.AlterQuotas(undo))
    assert not undo.keys() & (await quotas.describe_quotas(link)).keys()


async def test_quotas_that_brokers_take_but_should_not(link: Link, name: str) -> None:
    fine, nan, inf = (quota.QuotaEntity.of({"user": f"{name}-{n}"}) for n in range(3))
    rates = {nan: math.nan, inf: math.inf, fine: 1.0}
    change = changes.AlterQuotas({entity: {"producer_byte_rate": rate} for entity, rate in rates.items()})
    for check, good in ((True, changes.Status.VALID), (False, changes.Status.APPLIED)):
        assert await changing.statuses(link, change, check=check) == {
            nan: changes.Status.FAILED,
            inf: changes.Status.FAILED,
            fine: good,
        }
    assert not {nan, inf} & (await quotas.describe_quotas(link)).keys()
    assert await changing.applied(link, changes.AlterQuotas({fine: {"producer_byte_rate": None}}))


# --- topics


async def test_topics_are_made_and_go(kafka: KafkaCluster, link: Link, name: str) -> None:
    nodes = kafka.broker_ids
    made = (
        changes.NewTopic(f"{name}-a", 3, len(nodes), configs={"retention.ms": "1000"}),
        changes.NewTopic(f"{name}-b", assignments=tuple((node,) for node in nodes)),
        changes.NewTopic(f"{name}-c"),
    )
    names = tuple(topic.name for topic in made)
    targets = tuple(map(changes.TopicTarget, names))
    assert await changing.statuses(link, changes.CreateTopics(made), check=True) == dict.fromkeys(
        targets, changes.Status.VALID
    )
    assert not set(names) & (await topics.describe_topics(link)).topics.keys()
    told: list[tuple[int, int]] = []
    found = await send(
        link, changes.CreateTopics(made), validate_only=False, on_progress=lambda *part: told.append(part)
    )
    assert [(outcome.target, outcome.status, outcome.failure) for outcome in found] == [
        (target, changes.Status.APPLIED, None) for target in targets
    ]
    partitions = 3 + len(nodes) + 1
    assert told[-1] == (partitions, partitions)
    described = (await topics.describe_topics(link, names)).topics
    assert [partition.replicas for partition in described[names[1]].partitions] == [(node,) for node in nodes]
    assert (described[names[0]].replication, len(described[names[0]].partitions)) == (len(nodes), 3)
    assert await changing.overrides(link, config.topic_resource(names[0])) == {"retention.ms": "1000"}
    assert (await changing.refusal(link, changes.CreateTopics(made[:1]))).startswith("TOPIC_ALREADY_EXISTS")
    assert (await changing.refusal(link, changes.CreateTopics(made[:1]), check=True)).startswith("TOPIC_ALREADY_EXISTS")
    assert await changing.statuses(link, changes.DeleteTopics(names), check=True) == dict.fromkeys(
        targets, changes.Status.UNCHECKED
    )
    assert await changing.applied(link, changes.DeleteTopics(names))
    assert not set(names) & (await topics.describe_topics(link)).topics.keys()
    assert (await changing.refusal(link, changes.DeleteTopics(names[:1]))).startswith("UNKNOWN_TOPIC_OR_PARTITION")


async def test_topics_that_can_not_be(link: Link, name: str) -> None:
    fine = changes.NewTopic(name, 1, 1)
    bad = (
        changes.NewTopic("bad name", 1, 1),
        changes.NewTopic(f"{name}-r", 1, 99),
        changes.NewTopic(f"{name}-c", 1, 1, configs={"x": "1"}),
    )
    twice = changes.NewTopic(f"{name}-t", 1, 1)
    change = changes.CreateTopics((*bad, twice, fine, replace(twice, partitions=2)))
    for check, good in ((True, changes.Status.VALID), (False, changes.Status.APPLIED)):
        found = await changing.outcomes(link, change, check=check)
        assert [changing.error(outcome) for outcome in found.values()] == [
            "INVALID_TOPIC_EXCEPTION",
            "INVALID_REPLICATION_FACTOR",
            "INVALID_CONFIG",
            "DUPLICATE",
            "",
        ]
        assert found[changes.TopicTarget(name)].status is good
    assert twice.name not in (await topics.describe_topics(link)).topics


async def test_topics_grow(link: Link, topic: config.ConfigResource) -> None:
    change = changes.CreatePartitions({topic.name: 4, "no-such-topic": 2}, was={topic.name: 1})
    there, missing = changes.TopicTarget(topic.name), changes.TopicTarget("no-such-topic")
    expected = {there: changes.Status.VALID, missing: changes.Status.FAILED}
    assert await changing.statuses(link, change, check=True) == expected
    assert len((await topics.describe_topics(link)).topics[topic.name].partitions) == 1
    assert await changing.statuses(link, change) == {there: changes.Status.APPLIED, missing: changes.Status.FAILED}
    grown = (await topics.describe_topics(link)).topics[topic.name]
    assert (len(grown.partitions), grown.offline) == (4, 0)
    assert (await changing.refusal(link, changes.CreatePartitions({topic.name: 2}))).startswith("INVALID_PARTITIONS")


async def test_what_a_quota_holds_back_is_sent_again(kafka: KafkaCluster, name: str) -> None:
    """If a quota of two partitions per second makes brokers refuse some topics of a request, kac sends these topics
    again. Only a client that supports throttling gets an error for each of them (KIP-599).
    """
    client = Link(ConnectionSettings(bootstrap=kafka.addresses, client_id=name))
    entity = quota.QuotaEntity.of({"client-id": name})
    try:
        assert await changing.applied(client, changes.AlterQuotas({entity: {"controller_mutation_rate": 2.0}}))
        mark = kafka.request_log.mark()
        made = tuple(changes.NewTopic(f"{name}-{number}", 12, 1) for number in range(3))
        assert await changing.applied(client, changes.CreateTopics(made, timeout_ms=60_000))
        sent = kafka.request_log.wait_for(2, "CREATE_TOPICS", since=mark, client_id=name)
        asked = [topic["name"] for entry in sent for topic in entry.request["topics"]]
        refused = [topic["name"] for entry in sent for topic in entry.response["topics"] if topic["errorCode"] == 89]
        assert refused, "nothing was held back, so nothing was tested"
        assert sorted(asked) == sorted([*(topic.name for topic in made), *refused])
    finally:
        await changing.applied(client, changes.AlterQuotas({entity: {"controller_mutation_rate": None}}))
        await client.close()


# --- ACLs


async def test_acls(link: Link, name: str) -> None:
    topic, literal = AclResourceType.parse("topic"), PatternType.parse("literal")
    read, allow = AclOperation.parse("read"), Permission.parse("allow")
    one = acl.Acl(topic, name, literal, f"User:{name}", "*", read, allow)
    two = one._replace(resource_name=f"{name}-2")
    bad = one._replace(principal="nobody")
    create = changes.CreateAcls((one, bad, two))
    expected = {one: changes.Status.APPLIED, bad: changes.Status.FAILED, two: changes.Status.APPLIED}
    assert await changing.statuses(link, create, check=True) == dict.fromkeys(expected, changes.Status.UNCHECKED)
    assert one not in await acls.describe_acls(link)
    assert await changing.statuses(link, create) == expected
    assert {one, two} <= set(await acls.describe_acls(link))
    assert await changing.applied(link, changes.CreateAcls((one,)))
    assert await changing.statuses(link, changes.DeleteAcls((one,)), check=True) == {one: changes.Status.UNCHECKED}
    assert await changing.applied(link, changes.DeleteAcls((one,)))
    left = set(await acls.describe_acls(link))
    assert two in left
    assert one not in left
    (outcome,) = await send(link, changes.DeleteAcls((one,)), validate_only=False)
    assert outcome.status is changes.Status.NOT_APPLIED
    assert outcome.failure is not None
    assert "no such ACL" in outcome.failure.message
    assert await changing.statuses(link, changes.CreateAcls((one, two, one)), check=True) == {
        one: changes.Status.FAILED,
        two: changes.Status.UNCHECKED,
    }


async def test_more_acls_than_are_looked_at_one_by_one(link: Link, name: str) -> None:
    topic, literal = AclResourceType.parse("topic"), PatternType.parse("literal")
    read, allow = AclOperation.parse("read"), Permission.parse("allow")
    many = tuple(acl.Acl(topic, f"{name}-{n}", literal, f"User:{name}", "*", read, allow) for n in range(40))
    assert await changing.applied(link, changes.CreateAcls(many))
    assert set(many) <= set(await acls.describe_acls(link))
    assert await changing.applied(link, changes.DeleteAcls(many))
    assert not set(many) & set(await acls.describe_acls(link))


# --- SCRAM


async def test_scram_credentials(link: Link, name: str) -> None:
    one, two = changes.ScramUser(name, SHA_256), changes.ScramUser(name, SHA_512)
    upsert = changes.AlterScram({one: (4096, Secret("p1")), two: (8192, Secret("p2"))})
    assert await changing.statuses(link, upsert, check=True) == {
        one: changes.Status.UNCHECKED,
        two: changes.Status.UNCHECKED,
    }
    assert await scram.describe_scram(link, [name]) == ScramListing({})
    assert await changing.applied(link, upsert)
    found = await scram.describe_scram(link, [name])
    assert found.users == {name: (ScramCredential(SHA_256, 4096), ScramCredential(SHA_512, 8192))}
    assert await changing.applied(link, changes.AlterScram({}, deletions=(one,)))
    assert (await scram.describe_scram(link, [name])).users == {name: (ScramCredential(SHA_512, 8192),)}
    assert (await changing.refusal(link, changes.AlterScram({}, deletions=(one,)))).startswith("RESOURCE_NOT_FOUND")
    assert (await changing.refusal(link, changes.AlterScram({one: (10, Secret("p"))}))).startswith(
        "UNACCEPTABLE_CREDENTIAL"
    )
    both = changes.AlterScram({two: (4096, Secret("p"))}, deletions=(two,))
    assert (await changing.refusal(link, both)).startswith("DUPLICATE")
    assert (await changing.refusal(link, changes.AlterScram({two: (4096, Secret(""))}))).startswith(
        "UNACCEPTABLE_CREDENTIAL"
    )
    unknown = changes.ScramUser(name, ScramMechanism(9))
    assert (await changing.refusal(link, changes.AlterScram({unknown: (4096, Secret("p"))}))).startswith(
        "UNSUPPORTED_SASL_MECHANISM"
    )
    assert await changing.applied(link, changes.AlterScram({}, deletions=(two,)))


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
async def test_a_new_user_can_log_in(secure_cluster: KafkaCluster, name: str, mechanism: ScramMechanism) -> None:
    def connected(user: str, password: str, how: str = "SCRAM-SHA-256") -> Link:
        return Link(
            ConnectionSettings(
                bootstrap=secure_cluster.addresses,
                security_protocol="SASL_SSL",
                sasl=SaslSettings(how, user, Secret(password)),
                tls=TlsSettings(trust=Store("PEM", path=secure_cluster.authority.pem)),
            )
        )

    password = "pässwörd, with = and spaces"
    admin = connected("admin", secure_cluster.users["admin"])
    user, stranger = connected(name, password, mechanism.label), connected(name, "other", mechanism.label)
    try:
        assert await changing.applied(
            admin, changes.AlterScram({changes.ScramUser(name, mechanism): (4096, Secret(password))})
        )
        assert len((await cluster.describe_cluster(user)).brokers) == 3
        with pytest.raises(errors.AuthenticationFailed):
            await cluster.describe_cluster(stranger)
    finally:
        for link in (admin, user, stranger):
            await link.close()


# --- leaders and replicas


async def test_replicas_move_and_leaders_are_elected(plain_cluster: KafkaCluster, name: str) -> None:
    async with worlds.linked(ConnectionSettings(bootstrap=plain_cluster.addresses)) as link:
        place, moving = changes.PartitionTarget(name, 0), changes.MoveTarget(name, 0)
        assert await changing.applied(link, changes.CreateTopics((changes.NewTopic(name, assignments=((1, 2),)),)))
        assert await changing.statuses(link, changes.ElectLeaders((place,)), check=True) == {
            place: changes.Status.UNCHECKED
        }
        move = changes.AlterReassignments({moving: (2, 3), changes.MoveTarget(name, 7): (1,)})
        assert set((await changing.statuses(link, move, check=True)).values()) == {changes.Status.UNCHECKED}
        found = await changing.outcomes(link, move)
        assert found[moving].status is changes.Status.APPLIED
        assert changing.error(found[changes.MoveTarget(name, 7)]) == "UNKNOWN_TOPIC_OR_PARTITION"

        async def replicas() -> tuple[int, ...]:
            return (await topics.describe_topics(link, [name])).topics[name].partitions[0].replicas

        assert await until_settled(replicas, lambda now: now != (2, 3), within=30, attempts=100) == (2, 3)
        assert await until_settled(lambda: partitions.list_reassignments(link), bool, within=30, attempts=100) == ()
        assert await changing.applied(link, changes.AlterReassignments({moving: (3, 2)}))
        elect = changes.ElectLeaders((place, changes.PartitionTarget(name, 7)))
        found = await changing.outcomes(link, elect)
        assert found[place].status is changes.Status.APPLIED
        assert found[name, 7].status is changes.Status.FAILED
        assert (await topics.describe_topics(link, [name])).topics[name].partitions[0].leader == 3
        again = (await changing.outcomes(link, changes.ElectLeaders((place,))))[place]
        assert again.status is changes.Status.APPLIED
        assert changing.error(again) == "ELECTION_NOT_NEEDED"
        cancel = changes.AlterReassignments({moving: None})
        assert (await changing.refusal(link, cancel)).startswith("NO_REASSIGNMENT_IN_PROGRESS")
        assert (await changing.statuses(link, changes.ElectLeaders((place, place))))[place] is changes.Status.FAILED


async def test_elections_and_moves_name_the_right_that_is_missing(secure_cluster: KafkaCluster, name: str) -> None:
    """For alice, who has no rights, the validation of an election or of a reassignment names the missing right, without
    sending a change: kac knows it from the rights that brokers return.
    """
    async with worlds.linked(
        ConnectionSettings(
            bootstrap=secure_cluster.addresses,
            security_protocol="SASL_SSL",
            sasl=SaslSettings("SCRAM-SHA-256", "alice", Secret(secure_cluster.users["alice"])),
            tls=TlsSettings(trust=Store("PEM", path=secure_cluster.authority.pem)),
        )
    ) as alice:
        for change in (
            changes.ElectLeaders((changes.PartitionTarget(name, 0),)),
            changes.AlterReassignments({changes.MoveTarget(name, 0): None}),
        ):
            for check in (True, False):
                (outcome,) = (await changing.outcomes(alice, change, check=check)).values()
                assert outcome.status is changes.Status.FAILED
                assert changing.error(outcome) == "CLUSTER_AUTHORIZATION_FAILED"
                assert outcome.failure is not None
                assert "ALTER on CLUSTER kafka-cluster" in outcome.failure.remedy


async def test_an_unclean_election_where_a_leader_is(link: Link, topic: config.ConfigResource) -> None:
    place = changes.PartitionTarget(topic.name, 0)
    outcome = (await changing.outcomes(link, changes.ElectLeaders((place,), unclean=True)))[place]
    assert outcome.status is changes.Status.APPLIED
    assert changing.error(outcome) == "ELECTION_NOT_NEEDED"
