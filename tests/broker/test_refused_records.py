"""Records that real brokers do not take: without the right, too large, above a quota, with too few replicas, with a
broker down or silent. Each outcome is that of its record, nothing is there twice, and nothing is passed over."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from console.admin.connections import ConnectionSettings, SaslSettings
from console.admin.link import Link
from console.admin.topics import describe_topics
from console.model.acl import Acl
from console.model.changes import (
    AlterQuotas,
    CreateAcls,
    CreateTopics,
    NewRecords,
    NewTopic,
    Outcome,
    ProduceRecords,
    Status,
)
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.new_records import NewRecord
from console.model.quota import QuotaEntity
from console.model.secret import Contents, Secret
from tests.support import dead_letters, worlds
from tests.support.changing import applied, outcomes
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE

SOON: dict[str, Any] = {"request_timeout": 5.0, "lost_answer_timeout": 0.5}
BROKERS = {"right": (1,), "large": (1,), "quota": (1,), "few": (1, 2), "down": (2,), "silent": (1, 3), "ok": (1,)}
CONFIGS = {"large": {"max.message.bytes": "2000"}, "few": {"min.insync.replicas": "2"}}


async def made(link: Link, name: str) -> None:
    """The topics of a test, each on its brokers."""
    topics = [
        NewTopic(f"{name}-{what}", assignments=(brokers,), configs=CONFIGS.get(what, {}))
        for what, brokers in BROKERS.items()
    ]
    assert await applied(link, CreateTopics(tuple(topics)))


def batch(*values: bytes) -> Contents:
    return Contents([NewRecord(b"k", value) for value in values])


async def written(link: Link, name: str, some: dict[str, Contents]) -> dict[str, Outcome]:
    """What becomes of a batch for each of these topics, in one request."""
    targets = {what: NewRecords(f"{name}-{what}", 0) for what in some}
    found = await outcomes(link, ProduceRecords({targets[what]: each for what, each in some.items()}))
    return {what: found[target] for what, target in targets.items()}


async def missed(link: Link, topic: str) -> None:
    """Wait until the leader alone is in sync."""
    async with asyncio.timeout(PATIENCE):
        while len((await describe_topics(link, [topic])).topics[topic].partitions[0].isr) > 1:
            pass


def why(outcome: Outcome) -> str:
    assert outcome.failure is not None
    return str(outcome.failure)


@pytest.mark.takes(45)
@pytest.mark.slow
async def test_each_record_has_its_outcome_and_none_is_there_twice(own_cluster: KafkaCluster, name: str) -> None:
    sasl = SaslSettings("PLAIN", "alice", Secret(own_cluster.users["alice"]))
    login = ConnectionSettings(own_cluster.login_addresses, "SASL_PLAINTEXT", sasl, **SOON)
    async with worlds.linked(worlds.settings(own_cluster, **SOON)) as link, worlds.linked(login) as alice:
        await made(link, name)
        # With an ACL of another user, it needs one. Describing it is alice's right: kac names the one that is missing.
        rights = [("User:somebody", "WRITE"), ("User:alice", "DESCRIBE")]
        acls = [
            Acl(
                AclResourceType.parse("TOPIC"),
                f"{name}-right",
                PatternType.parse("LITERAL"),
                who,
                "*",
                AclOperation.parse(what),
                Permission.parse("ALLOW"),
            )
            for who, what in rights
        ]
        assert await applied(link, CreateAcls(tuple(acls)))
        assert await applied(link, AlterQuotas({QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 5_000.0}}))
        some = {"right": batch(b"1"), "large": batch(b"x" * 3_000), "ok": batch(b"1"), "quota": batch(b"q" * 9_000)}
        found = await written(alice, name, some)
        assert {what: each.status for what, each in found.items()} == {
            "right": Status.FAILED,
            "large": Status.FAILED,
            "ok": Status.APPLIED,
            "quota": Status.APPLIED,
        }
        assert f"WRITE on topic {name}-right" in why(found["right"])
        assert "max.message.bytes" in why(found["large"])
        # It is above its quota now: what follows waits, and is there once.
        assert (await written(alice, name, {"quota": batch(b"q" * 9_000)}))["quota"].status is Status.APPLIED

        # Its leader takes the batch, and the follower in sync does not answer.
        silent = {"silent": batch(b"1")}
        with own_cluster.hanging(3):
            lost = (await written(link, name, silent))["silent"]
        assert lost.status is Status.UNKNOWN
        assert lost.failure is not None
        assert "apply it again" in lost.failure.remedy
        assert (await written(link, name, silent))["silent"].status is Status.APPLIED

        own_cluster.kill(2)
        await missed(link, f"{name}-few")  # before that a leader takes a batch, and does not know what becomes of it
        down = await written(link, name, {"few": batch(b"1"), "down": batch(b"1"), "ok": batch(b"2")})
        assert {what: each.status for what, each in down.items()} == {
            "few": Status.FAILED,
            "down": Status.FAILED,
            "ok": Status.APPLIED,
        }
        assert "fewer replicas in sync" in why(down["few"])
        assert f"{name}-down-0 has no leader: its replicas are on broker 2" in why(down["down"])

        await asyncio.to_thread(own_cluster.restart, 2)
        again = await written(link, name, {"few": batch(b"2"), "down": batch(b"2")})
        assert {each.status for each in again.values()} == {Status.APPLIED}
        there = {what: await dead_letters.counted(link, f"{name}-{what}") for what in BROKERS}
    assert there == {
        "right": Counter(),
        "large": Counter(),
        "quota": Counter({b"q" * 9_000: 2}),
        "ok": Counter([b"1", b"2"]),
        "few": Counter([b"2"]),
        "down": Counter([b"2"]),
        "silent": Counter([b"1"]),
    }
