"""Real brokers and rights: what the tables of rights are read off, and whom the same ACLs let do what."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from console.embedded.authorizer import StandardAuthorizer
from console.embedded.brokers import EmbeddedCluster
from console.embedded.scenarios.seed import add_topic, topic_id
from console.embedded.spec import ANONYMOUS, ClusterSpec, release
from console.embedded.state import ClusterState
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from tests.embedded.raw_client import RawClient
from tests.support import worlds
from tests.support.acl_filters import EVERY_ACL
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import RELEASES
from tests.support.kafka_messages import with_fields
from tests.support.patience import PATIENCE, shortly
from tests.support.real_clusters import lent
from tests.support.rights_table import GROUP, SECRET, cases, errors_of

ALICE = "User:CN=alice"
HOST = "127.0.0.1"


class CertifiedClient(RawClient):
    """A client of a secure cluster's first broker, with a certificate."""

    def __init__(self, cluster: KafkaCluster, name: str) -> None:
        host, _, port = cluster.mtls_bootstrap.split(",")[0].partition(":")
        super().__init__((host, int(port)), tls=cluster.authority.client_context(cluster.identity(name)))


secured = lent(lambda: KafkaCluster(RELEASES[ClusterSpec().versions], brokers=3, security="secure"))
"""As `secure_cluster`, of the release that the embedded cluster is like."""


@pytest.fixture
async def alice(secured: KafkaCluster) -> AsyncIterator[RawClient]:
    """Who may do nothing but what ACLs let her."""
    async with CertifiedClient(secured, "alice") as client:
        yield client


@pytest.fixture
async def admin(secured: KafkaCluster) -> AsyncIterator[RawClient]:
    """Who may do everything."""
    async with CertifiedClient(secured, "admin") as client:
        yield client


async def create(admin: RawClient, *names: str) -> None:
    answer = await admin.ask(
        "create_topics",
        7,
        with_fields(
            topics=[
                {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
                for name in names
            ],
            timeout=20,
            validate_only=False,
        ),
    )
    assert {topic.error_code for topic in answer.topics} == {0}


async def delete(admin: RawClient, *names: str) -> None:
    await admin.ask("delete_topics", 5, with_fields(topic_names=names, timeout=20))


async def metadata(client: RawClient, names: Sequence[str], *, operations: bool) -> list[Any]:
    answer = await client.ask(
        "metadata",
        12,
        with_fields(
            topics=[(None, name) for name in names],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=operations,
        ),
    )
    return list(answer.topics)


async def seen(admin: RawClient, *names: str) -> list[UUID]:
    """The topics' ids, as soon as this broker knows all."""

    async def known() -> list[UUID]:
        topics = await metadata(admin, names, operations=False)
        return [] if any(topic.error_code for topic in topics) else [topic.topic_id for topic in topics]

    return await shortly(known)


async def test_nothing_may_be_done(admin: RawClient, alice: RawClient) -> None:
    """The table, to which the embedded cluster is held (tests/embedded/test_no_rights.py)."""
    told = {}
    await create(admin, SECRET)
    (topic_id,) = await seen(admin, SECRET)
    table = cases(topic_id)
    for number, case in enumerate(table):
        answer = await alice.ask(case.api, case.version, case.build)
        told[case.api, number] = list(errors_of(answer))
    await delete(admin, SECRET)
    assert told == {(case.api, number): list(case.errors) for number, case in enumerate(table)}


TOPICS = ("a", "ab", "abc", "b", "x.y")
OPERATIONS = ("READ", "WRITE", "CREATE", "DESCRIBE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")


def some_acls(seed: int) -> list[Acl]:
    """A few, most of which are about a topic of those."""
    pick = random.Random(seed)
    return [
        Acl(
            AclResourceType.parse("TOPIC"),
            *pick.choice(
                [(name, PatternType.parse(kind)) for name in (*TOPICS, "x.") for kind in ("LITERAL", "PREFIXED")]
                + [("*", PatternType.parse("LITERAL"))]
            ),
            pick.choice((ALICE, ALICE, "User:*", "User:bob")),
            pick.choice(("*", "*", HOST, "10.0.0.1")),
            AclOperation.parse(pick.choice((*OPERATIONS, "ALL"))),
            Permission.parse(pick.choice(("ALLOW", "ALLOW", "ALLOW", "DENY"))),
        )
        for _ in range(pick.randrange(1, 9))
    ]


def decided(acls: Sequence[Acl]) -> dict[str, int]:
    """For each topic the bits of what alice may do; nothing where she may not describe it."""
    state = ClusterState("rights", release("4.4"))
    for acl in acls:
        state.add_acl(acl)
    authorizer = StandardAuthorizer(())

    def may(operation: str, name: str) -> bool:
        code = AclOperation.parse(operation)
        return authorizer.allows(ALICE, HOST, code, AclResourceType.parse("TOPIC"), name, state.view)

    return {
        name: sum(1 << AclOperation.parse(operation) for operation in OPERATIONS if may(operation, name))
        for name in TOPICS
        if may("DESCRIBE", name)
    }


async def change_acls(admin: RawClient, acls: Sequence[Acl]) -> None:
    """These and no others."""
    await admin.ask("delete_acls", 3, with_fields(filters=[EVERY_ACL]))
    await admin.ask(
        "create_acls",
        3,
        with_fields(
            creations=[
                {
                    "resource_type": acl.resource_type,
                    "resource_name": acl.resource_name,
                    "resource_pattern_type": acl.pattern_type,
                    "principal": acl.principal,
                    "host": acl.host,
                    "operation": acl.operation,
                    "permission_type": acl.permission,
                }
                for acl in acls
            ]
        ),
    )


async def knows(admin: RawClient, acls: Sequence[Acl]) -> bool:
    answer = await admin.ask("describe_acls", 3, with_fields(**EVERY_ACL))
    return set(acls) == {
        (
            on.resource_type,
            on.resource_name,
            on.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for on in answer.resources
        for acl in on.acls
    }


async def test_the_same_acls_let_do_the_same(admin: RawClient, alice: RawClient) -> None:
    await create(admin, *TOPICS)
    await seen(admin, *TOPICS)
    wrong = {}
    for seed in range(40):
        acls = some_acls(seed)
        await change_acls(admin, acls)
        await shortly(lambda acls=acls: knows(admin, acls))  # type: ignore[misc]
        told = {
            topic.name: topic.topic_authorized_operations
            for topic in await metadata(alice, TOPICS, operations=True)
            if not topic.error_code
        }
        if told != (expected := decided(acls)):
            wrong[seed] = (acls, told, expected)
    await change_acls(admin, ())
    await delete(admin, *TOPICS)
    assert not wrong


ONE_BY_ONE = (
    (("CLUSTER", "kafka-cluster", "ALL"),),
    (("CLUSTER", "kafka-cluster", "DESCRIBE"),),
    (("CLUSTER", "kafka-cluster", "CLUSTER_ACTION"),),
    (("TOPIC", SECRET, "DESCRIBE"),),
    (("TOPIC", SECRET, "ALTER_CONFIGS"), ("GROUP", GROUP, "READ")),
    (("TOPIC", SECRET, "READ"), ("GROUP", GROUP, "ALL")),
    (("GROUP", GROUP, "ALL"),),
    (("TOPIC", "nope", "DELETE"), ("TOPIC", "new", "CREATE")),
    (("TOPIC", "*", "DESCRIBE"), ("GROUP", "*", "DESCRIBE_CONFIGS")),
)
NO_COORDINATOR = {14, 15, 16}
REFUSALS = {29, 30, 31, 53}
WRITING = {"produce", "init_producer_id"}
"""What a broker that takes it answers for other reasons than rights, or never: there are no records in it."""


def rights(principal: str, *wanted: tuple[str, str, str]) -> list[Acl]:
    return [worlds.acl(principal, operation, type_, name) for type_, name, operation in wanted]


async def refusals(client: RawClient, topic_id: UUID) -> dict[tuple[str, int], set[tuple[str, int]]]:
    """For each request of the table where it is refused, and where it is let through (0)."""
    told = {}
    for number, case in enumerate(cases(topic_id)):
        if case.api in WRITING:
            continue
        errors = list(errors_of(await client.ask(case.api, case.version, case.build)))
        if not any(code in NO_COORDINATOR for _, code, _ in errors):
            told[case.api, number] = {(path, code if code in REFUSALS else 0) for path, code, _ in errors}
    return told


async def settled(client: RawClient, topic: UUID, wanted: dict[Any, Any]) -> dict[Any, Any]:
    """What real brokers refuse, once it is what is wanted, or after a while: one may hear of an ACL after another."""
    deadline = time.monotonic() + PATIENCE
    while True:
        real = await refusals(client, topic)
        if all(real[case] == wanted[case] for case in real.keys() & wanted.keys()) or time.monotonic() > deadline:
            return real


async def test_rights_one_by_one_as_on_an_embedded_cluster(admin: RawClient, alice: RawClient) -> None:
    await create(admin, SECRET)
    (real_id,) = await seen(admin, SECRET)
    wrong = []
    async with (
        EmbeddedCluster(ClusterSpec(brokers=1, super_users=frozenset())) as cluster,
        RawClient(cluster) as somebody,
    ):
        add_topic(cluster.state, SECRET, 1)
        for wanted in ONE_BY_ONE:
            await change_acls(admin, acls := rights(ALICE, *wanted))
            await shortly(lambda acls=acls: knows(admin, acls))  # type: ignore[misc]
            for acl in list(cluster.state.acls):
                cluster.state.remove("acls", acl)
            for acl in rights(ANONYMOUS, *wanted):
                cluster.state.add_acl(acl)
            embedded = await refusals(somebody, topic_id(SECRET))
            real = await settled(alice, real_id, embedded)
            wrong += [
                (wanted, case, real[case], embedded[case])
                for case in real.keys() & embedded.keys()
                if real[case] != embedded[case]
            ]
    await change_acls(admin, ())
    await delete(admin, SECRET)
    assert not wrong
