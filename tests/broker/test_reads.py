"""Tests of kac's reads from real brokers, 4.3 and 3.9: their results, their errors, and what a user without rights
gets.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from console.admin import acls, cluster, configs, errors, groups, partitions, quotas, scram, settings, tokens, topics
from console.admin import cluster as log_dirs
from console.admin.link import Link, metadata
from console.cli import main as cli
from console.model import acl, changes, secret
from console.model.cluster import ScramCredential, ScramListing
from console.model.codes import (
    AclOperation,
    AclResourceType,
    PatternType,
    Permission,
    ScramMechanism,
)
from console.model.config import (
    CLUSTER_DEFAULT,
    broker_resource,
    topic_resource,
)
from console.model.quota import Match, QuotaEntity, QuotaFilter, QuotaMatch, filter_for_entity
from tests.broker.test_rights import CertifiedClient, create
from tests.support import worlds
from tests.support.changing import applied
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.core


def is_4(kafka: KafkaCluster) -> bool:
    """Return whether the brokers are those of the newer version, 4.3."""
    return kafka.version.startswith("4.")


# --- the cluster


async def test_the_cluster(kafka: KafkaCluster, link: Link) -> None:
    info = await cluster.describe_cluster(link)
    assert info.cluster_id == kafka.cluster_id
    assert info.controller_id in kafka.broker_ids
    assert [(broker.id, (broker.host, broker.port)) for broker in info.brokers] == list(
        zip(kafka.broker_ids, kafka.addresses, strict=True)
    )
    assert info.operations is not None
    assert {"ALTER_CONFIGS", "DESCRIBE", "CREATE"} <= info.operations
    from_metadata = cluster.cluster_from_metadata(await link.call("metadata", metadata()))
    assert (from_metadata.cluster_id, from_metadata.brokers) == (info.cluster_id, info.brokers)


async def test_versions(kafka: KafkaCluster, link: Link) -> None:
    versions = await cluster.describe_versions(link)
    assert {id_: version.release for id_, version in versions.items()} == dict.fromkeys(
        kafka.broker_ids, kafka.version.rpartition(".")[0]
    )
    version = versions[1]
    assert version.apis[18][1] == 4
    assert version.finalized_features["metadata.version"] == (30 if is_4(kafka) else 21)
    assert version.supported_features["metadata.version"][1] == version.finalized_features["metadata.version"]


async def test_tokens_need_a_login(link: Link) -> None:
    with pytest.raises(errors.BrokerError, match="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"):
        await tokens.describe_tokens(link)


async def test_the_quorum(kafka: KafkaCluster, link: Link) -> None:
    quorum = await cluster.describe_quorum(link)
    assert quorum.leader_id in kafka.broker_ids
    assert quorum.leader_epoch > 0
    assert tuple(voter.id for voter in quorum.voters) == kafka.broker_ids
    assert quorum.observers == ()
    (leader,) = (voter for voter in quorum.voters if voter.id == quorum.leader_id)
    assert leader.lag == 0
    assert all(voter.lag >= 0 and voter.last_fetch_ms > 1_600_000_000_000 for voter in quorum.voters)


# --- topics


async def test_topics(kafka: KafkaCluster, link: Link, name: str) -> None:
    replication = len(kafka.broker_ids)
    assert await applied(link, changes.CreateTopics((changes.NewTopic(name, 3, replication),)))
    listing = await topics.describe_topics(link, [name, "no-such-topic", "bad name"])
    topic = listing.topics[name]
    assert [partition.number for partition in topic.partitions] == [0, 1, 2]
    assert topic.replication == replication
    assert (topic.under_replicated, topic.offline, topic.internal) == (0, 0, False)
    for partition in topic.partitions:
        assert partition.leader == partition.replicas[0]
        assert sorted(partition.replicas) == list(kafka.broker_ids)
        assert partition.leader_epoch >= 0
    assert topic.topic_id is not None
    assert re.fullmatch(r"[\w-]{22}", topic.topic_id)
    assert listing.failures["no-such-topic"].name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert listing.failures["bad name"].name == "INVALID_TOPIC_EXCEPTION"
    everything = await topics.describe_topics(link)
    assert everything.topics[name] == topic
    assert "no-such-topic" not in everything.topics
    assert (await topics.describe_topics(link, [])).topics == {}


async def test_waiting_for_leaders_ends_when_the_time_is_up(link: Link, name: str) -> None:
    told: list[tuple[int, int]] = []
    waited = await topics.wait_for_leaders(link, {name: 2}, 0.3, lambda done, total: told.append((done, total)))
    assert waited.missing == {name: 2}
    assert waited.ready == frozenset()
    assert told == [(0, 2)]


async def test_nothing_is_being_moved(link: Link) -> None:
    assert await partitions.list_reassignments(link) == ()


# --- quotas


async def test_quotas_and_their_filters(link: Link, name: str) -> None:
    rate = {"producer_byte_rate": 1024.0}
    alice, default_user = QuotaEntity.of({"user": f"{name} ü"}), QuotaEntity.of({"user": None})
    pair = QuotaEntity.of({"user": f"{name} ü", "client-id": "app"})
    half = QuotaEntity.of({"user": f"{name} ü", "client-id": None})
    ip = QuotaEntity.of({"ip": "10.1.2.3"})
    made = {
        alice: rate,
        default_user: {**rate, "request_percentage": 12.5},
        pair: rate,
        half: {"controller_mutation_rate": 0.5},
        ip: {"connection_creation_rate": 10.0},
    }
    assert await applied(link, changes.AlterQuotas(made))
    try:
        everything = await quotas.describe_quotas(link)
        assert {entity: everything[entity] for entity in made} == made
        for entity, values in made.items():
            assert await quotas.describe_quotas(link, filter_for_entity(entity)) == {entity: values}

        async def found(*components: QuotaMatch, strict: bool) -> set[QuotaEntity]:
            return set(await quotas.describe_quotas(link, QuotaFilter(components, strict)))

        exact = QuotaMatch("user", Match.EXACT, f"{name} ü")
        assert await found(exact, strict=False) == {alice, pair, half}
        assert await found(exact, strict=True) == {alice}
        assert await found(exact, QuotaMatch("client-id", Match.ANY_NAME), strict=True) == {pair, half}
        assert {alice, default_user} <= await found(QuotaMatch("user", Match.ANY_NAME), strict=True)
        assert await found(QuotaMatch("user", Match.DEFAULT), strict=True) == {default_user}
        assert await found(strict=True) == set()
        with pytest.raises(errors.BrokerError, match="UNSUPPORTED_VERSION") as refused:
            await found(QuotaMatch("client-id-prefix", Match.ANY_NAME), strict=False)
        assert refused.value.failure.remedy
    finally:
        assert await applied(
            link, changes.AlterQuotas({entity: dict.fromkeys(values) for entity, values in made.items()})
        )
    assert not made.keys() & (await quotas.describe_quotas(link)).keys()


# --- ACLs and users


async def test_acls_and_their_filters(link: Link, name: str) -> None:
    topic, group = AclResourceType.parse("topic"), AclResourceType.parse("group")
    literal, prefixed = PatternType.parse("literal"), PatternType.parse("prefixed")
    read, allow, deny = AclOperation.parse("read"), Permission.parse("allow"), Permission.parse("deny")
    made = (
        acl.Acl(topic, name, literal, f"User:{name}", "*", read, allow),
        acl.Acl(topic, name, prefixed, f"User:{name}", "10.0.0.1", AclOperation.parse("all"), deny),
        acl.Acl(group, name, literal, f"User:{name}", "*", read, allow),
    )
    assert await applied(link, changes.CreateAcls(made))
    assert set(made) <= set(await acls.describe_acls(link))
    assert await acls.describe_acls(link, acl.AclFilter(principal=f"User:{name}")) == tuple(sorted(made))
    assert await acls.describe_acls(link, acl.AclFilter(resource_type=group, resource_name=name)) == (made[2],)
    assert await acls.describe_acls(link, acl.AclFilter(resource_name=name, permission=deny)) == (made[1],)
    match = acl.AclFilter(topic, f"{name}-longer", PatternType.parse("match"), f"User:{name}")
    assert await acls.describe_acls(link, match) == (made[1],)


async def test_scram_users(link: Link, name: str) -> None:
    sha256, sha512 = ScramMechanism(1), ScramMechanism(2)
    upserts = {
        changes.ScramUser(name, sha256): (4096, secret.Secret("secret-1")),
        changes.ScramUser(name, sha512): (8192, secret.Secret("secret-2")),
    }
    assert await applied(link, changes.AlterScram(upserts))
    expected = (ScramCredential(sha256, 4096), ScramCredential(sha512, 8192))
    assert await scram.describe_scram(link, [name, "no-such-user"]) == ScramListing({name: expected})
    assert (await scram.describe_scram(link)).users[name] == expected
    assert await scram.describe_scram(link, []) == ScramListing({})


# --- disks


async def test_log_dirs(kafka: KafkaCluster, link: Link, name: str) -> None:
    assert await applied(link, changes.CreateTopics((changes.NewTopic(name, 2, len(kafka.broker_ids)),)))
    async with asyncio.timeout(PATIENCE):
        # Each broker creates the directories after it learns of the topic.
        while True:
            listing = await log_dirs.describe_log_dirs(link)
            replicas = [each for dirs in listing.dirs.values() for only in dirs for each in only.replicas]
            if sum(replica.topic == name for replica in replicas) == 2 * len(kafka.broker_ids):
                break
    assert tuple(listing.dirs) == kafka.broker_ids
    assert not listing.failures
    for dirs in listing.dirs.values():
        (only,) = dirs
        assert only.failure is None
        assert 0 < only.usable_bytes < only.total_bytes
        mine = [replica for replica in only.replicas if replica.topic == name]
        assert [(replica.partition, replica.size, replica.is_future) for replica in mine] == [
            (0, 0, False),
            (1, 0, False),
        ]
    assert tuple((await log_dirs.describe_log_dirs(link, [1])).dirs) == (1,)
    assert "99" in (await log_dirs.describe_log_dirs(link, [99])).failures[99].message


# --- without rights, without brokers


@pytest.fixture
async def alice(secure_cluster: KafkaCluster) -> AsyncIterator[Link]:
    """Provide a link that has logged in as alice, who has no rights."""
    made = Link(
        settings.ConnectionSettings(
            bootstrap=secure_cluster.addresses,
            security_protocol="SASL_SSL",
            sasl=settings.SaslSettings("SCRAM-SHA-256", "alice", secret.Secret(secure_cluster.users["alice"])),
            tls=settings.TlsSettings(trust=settings.Store("PEM", path=secure_cluster.authority.pem)),
        )
    )
    yield made
    await made.close()


async def test_what_is_not_allowed_is_said_for_each(alice: Link) -> None:
    info = await cluster.describe_cluster(alice)
    assert len(info.brokers) == 3
    assert info.operations == frozenset()
    listing = await configs.describe_configs(alice, [topic_resource("t"), CLUSTER_DEFAULT, broker_resource(2)])
    assert {resource: failure.name for resource, failure in listing.failures.items()} == {
        topic_resource("t"): "TOPIC_AUTHORIZATION_FAILED",
        CLUSTER_DEFAULT: "CLUSTER_AUTHORIZATION_FAILED",
        broker_resource(2): "CLUSTER_AUTHORIZATION_FAILED",
    }
    assert all("ACL" in failure.remedy for failure in listing.failures.values())
    assert (await topics.describe_topics(alice)).topics == {}
    assert (await groups.list_groups(alice)).groups == {}
    reads: list[Callable[[Link], Awaitable[object]]] = [
        acls.describe_acls,
        quotas.describe_quotas,
        scram.describe_scram,
        cluster.describe_quorum,
        partitions.list_reassignments,
    ]
    for read in reads:
        with pytest.raises(errors.BrokerError, match="CLUSTER_AUTHORIZATION_FAILED") as refused:
            await read(alice)
        assert "ACL" in refused.value.failure.remedy
    disks = await log_dirs.describe_log_dirs(alice)
    assert {failure.name for failure in disks.failures.values()} == {"CLUSTER_AUTHORIZATION_FAILED"}
    assert (await groups.describe_groups(alice, ["g"])).failures["g"].name == "GROUP_AUTHORIZATION_FAILED"


async def test_a_dead_broker_is_a_failure_and_not_an_end(own_cluster: KafkaCluster, name: str) -> None:
    async with worlds.linked(settings.ConnectionSettings(bootstrap=own_cluster.addresses)) as link:
        assert await applied(link, changes.CreateTopics((changes.NewTopic(name, 1, assignments=((3, 1),)),)))
        group = "reads-group"
        resources = [topic_resource(name), *(broker_resource(id_) for id_ in own_cluster.broker_ids)]
        before = await configs.describe_configs(link, resources)
        assert not before.failures
        describer = before.described_by
        assert describer is not None
        await asyncio.to_thread(own_cluster.kill, describer)
        after = await configs.describe_configs(link, resources)
        assert after.described_by not in (None, describer)
        assert after.failures.keys() == {broker_resource(describer)}
        assert str(describer) in str(after.failures[broker_resource(describer)])
        assert after.sets.keys() == set(resources) - after.failures.keys()
        disks = await log_dirs.describe_log_dirs(link, own_cluster.broker_ids)
        assert disks.failures.keys() == {describer}
        assert disks.dirs.keys() == set(own_cluster.broker_ids) - {describer}
        listed = await groups.list_groups(link)
        assert group not in listed.groups
        versions = await cluster.describe_versions(link)
        assert versions.keys() <= set(own_cluster.broker_ids) - {describer}
        quorum = await cluster.describe_quorum(link)
        assert quorum.leader_id != describer
        (lost,) = (voter for voter in quorum.voters if voter.id == describer)
        assert lost.last_caught_up_ms < max(voter.last_caught_up_ms for voter in quorum.voters)


# -- a user that sees no topic of a real cluster: kac says so, and calls nothing empty or healthy ----------------------

UNSEEN = "none is visible to User:alice; brokers leave out those it may not DESCRIBE"


async def test_who_sees_nothing_is_told_so(
    secure_cluster: KafkaCluster, name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async with CertifiedClient(secure_cluster, "admin") as admin:
        await create(admin, name)
    login = ("-b", secure_cluster.bootstrap, "--command-config", str(secure_cluster.client_properties("alice")))

    def kac(command: str, *words: str) -> tuple[int, str, str]:
        code = cli.run([command, *login, *words])
        written = capsys.readouterr()
        return code, written.out, written.err

    code, out, _ = await asyncio.to_thread(kac, "triage", "--for", "0s", "--output", "json")
    verdict = json.loads(out)
    assert (code, verdict["healthy"]) == (1, False)
    assert any(UNSEEN in each["what"] for each in verdict["unknowable"])
    code, out, _ = await asyncio.to_thread(kac, "topics", "--list")
    assert (code, "no topics" in out, UNSEEN in out) == (1, False, True)
    code, out, _ = await asyncio.to_thread(kac, "groups", "--list")
    assert (code, "no groups" in out) == (1, False)
    file = tmp_path / "wanted.yaml"
    code, _, err = await asyncio.to_thread(kac, "export", "--output", str(file))
    assert (code, UNSEEN in err) == (1, True)
    assert "# unknown topics" in file.read_text()


def test_a_new_cluster_without_topics_is_healthy(
    empty_cluster: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("-b", empty_cluster.bootstrap)
    code = cli.run(["topics", *at, "--list"])
    assert (code, capsys.readouterr().out) == (0, "no topics\n")
    assert cli.run(["triage", *at, "--for", "0s"]) == 0
    assert capsys.readouterr().out.startswith("healthy")
