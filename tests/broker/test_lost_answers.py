"""Changes whose answer never comes: what the client says has to be true, and nothing is ever sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from console.admin import topics
from console.admin.changes import send
from console.admin.errors import AdminError
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.model import changes, codes
from console.model.acl import Acl
from console.model.config import broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from tests.support import worlds
from tests.support.cutting_proxy import Cut, CuttingProxy
from tests.support.kafka_cluster import KafkaCluster


@pytest.fixture
async def proxy(kafka: KafkaCluster) -> AsyncIterator[CuttingProxy]:
    """Before broker 1."""
    async with CuttingProxy(kafka.addresses[0]) as made:
        yield made


@pytest.fixture
async def link(proxy: CuttingProxy) -> AsyncIterator[Link]:
    """Connected through the proxy for everything that any broker may answer."""
    made = Link(ConnectionSettings(bootstrap=(proxy.address,), lost_answer_timeout=0.5))
    yield made
    await made.close()


direct = worlds.link("kafka")
"""Connected to the brokers themselves."""


@dataclass(frozen=True)
class Case:
    """A change, what has to be there before it, and its API's key."""

    api_key: int
    change: Callable[[str], changes.ChangeRequest]
    before: tuple[Callable[[str], changes.ChangeRequest], ...] = ()


def make_topic(name: str) -> changes.ChangeRequest:
    return changes.CreateTopics((changes.NewTopic(name, 1, 1),))


def acls(name: str) -> tuple[Acl, ...]:
    topic, literal = codes.AclResourceType.parse("topic"), codes.PatternType.parse("literal")
    read, allow = codes.AclOperation.parse("read"), codes.Permission.parse("allow")
    return (Acl(topic, name, literal, f"User:{name}", "*", read, allow),)


def set_retention(name: str) -> changes.ChangeRequest:
    ops = (
        changes.ConfigOp("retention.ms", codes.SET, "5000"),
        changes.ConfigOp("cleanup.policy", codes.APPEND, "compact"),
    )
    return changes.AlterConfigs({topic_resource(name): ops})


CASES = {
    "configs": Case(44, set_retention, (make_topic,)),
    "quotas": Case(
        49, lambda name: changes.AlterQuotas({QuotaEntity.of({"user": name}): {"producer_byte_rate": 1024.0}})
    ),
    "create topics": Case(19, lambda name: changes.CreateTopics((changes.NewTopic(name, 2, 1),))),
    "delete topics": Case(20, lambda name: changes.DeleteTopics((name,)), (make_topic,)),
    "create partitions": Case(37, lambda name: changes.CreatePartitions({name: 3}, was={name: 1}), (make_topic,)),
    "create ACLs": Case(30, lambda name: changes.CreateAcls(acls(name))),
    "delete ACLs": Case(
        31, lambda name: changes.DeleteAcls(acls(name)), (lambda name: changes.CreateAcls(acls(name)),)
    ),
    "SCRAM": Case(
        51, lambda name: changes.AlterScram({changes.ScramUser(name, codes.ScramMechanism(1)): (4096, Secret("p"))})
    ),
}


async def single(link: Link, change: changes.ChangeRequest) -> changes.Outcome:
    (outcome,) = await send(link, change, validate_only=False)
    return outcome


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_lost_answer_is_looked_up(
    case: Case,
    link: Link,
    direct: Link,
    proxy: CuttingProxy,
    name: str,
    kafka: KafkaCluster,
) -> None:
    for before in case.before:
        assert (await single(direct, before(name))).ok
    change = case.change(name)
    proxy.seen.clear()
    proxy.arm(case.api_key, Cut.BEFORE)
    outcome = await single(link, change)
    assert outcome.status is changes.Status.UNKNOWN, "that it does not show proves nothing"
    assert outcome.failure is not None
    assert "look at the cluster before you repeat it" in outcome.failure.remedy
    proxy.arm(case.api_key, Cut.AFTER)
    assert await single(link, change) == changes.Outcome(outcome.target, changes.Status.APPLIED)
    assert proxy.seen.count(case.api_key) == 2, "each change was sent once"


async def test_what_can_not_be_seen_is_unknown(direct: Link, proxy: CuttingProxy, link: Link, name: str) -> None:
    """The same iterations as before: the new password is in force or not."""
    user = changes.ScramUser(name, codes.ScramMechanism(1))
    assert (await single(direct, changes.AlterScram({user: (4096, Secret("old"))}))).ok
    proxy.arm(51, Cut.AFTER)
    outcome = await single(link, changes.AlterScram({user: (4096, Secret("new"))}))
    assert outcome.status is changes.Status.UNKNOWN
    assert outcome.failure is not None
    assert "before you repeat it" in outcome.failure.remedy
    assert not outcome.ok


async def test_a_secret_beside_what_can_be_seen(plain_cluster: KafkaCluster, name: str) -> None:
    """A resource's keys are applied all or none, so the key that can be read speaks for the one that can't."""
    key, seen, node = "lost.own.secret", "log.cleaner.threads", broker_resource(1)
    async with (
        CuttingProxy(plain_cluster.addresses[0]) as proxy,
        worlds.linked(ConnectionSettings(bootstrap=(proxy.address,), lost_answer_timeout=0.5)) as link,
    ):
        both = (changes.ConfigOp(key, codes.SET, Secret("s")), changes.ConfigOp(seen, codes.SET, "2"))
        proxy.arm(44, Cut.AFTER)
        outcome = await single(link, changes.AlterConfigs({node: both}))
        assert outcome.status is changes.Status.APPLIED
        undo = changes.AlterConfigs(
            {node: (changes.ConfigOp(key, codes.DELETE), changes.ConfigOp(seen, codes.DELETE))}, broker=1
        )
        assert (await single(link, undo)).status is changes.Status.APPLIED


async def test_a_check_is_simply_asked_again(link: Link, proxy: CuttingProxy, direct: Link, name: str) -> None:
    assert (await single(direct, make_topic(name))).ok
    proxy.arm(44, Cut.AFTER)
    (outcome,) = await send(link, set_retention(name), validate_only=True)
    assert outcome.status is changes.Status.VALID


async def test_elections_and_moves(plain_cluster: KafkaCluster, name: str) -> None:
    place = (name, 0)
    async with (
        CuttingProxy(plain_cluster.addresses[0]) as proxy,
        worlds.linked(ConnectionSettings(bootstrap=(proxy.address,), lost_answer_timeout=0.5)) as link,
    ):
        assert (await single(link, changes.CreateTopics((changes.NewTopic(name, assignments=((1, 2),)),)))).ok
        for cut, status in ((Cut.BEFORE, changes.Status.UNKNOWN), (Cut.AFTER, changes.Status.APPLIED)):
            proxy.arm(45, cut)
            assert (
                await single(link, changes.AlterReassignments({changes.MoveTarget(name, 0): (2, 1)}))
            ).status is status
        for cut, status in ((Cut.BEFORE, changes.Status.UNKNOWN), (Cut.AFTER, changes.Status.APPLIED)):
            proxy.arm(43, cut)
            assert (await single(link, changes.ElectLeaders((place,)))).status is status


async def test_brokers_are_killed_in_the_middle(own_cluster: KafkaCluster, name: str) -> None:
    """One while it creates topics: what is said of each topic is how it is. Then all: nobody can tell, and that is
    said."""
    first, *others = own_cluster.broker_ids
    link = Link(ConnectionSettings(bootstrap=own_cluster.addresses[:1]))
    direct = Link(ConnectionSettings(bootstrap=own_cluster.addresses[1:]))
    try:
        await link.refresh()
        made = tuple(changes.NewTopic(f"{name}-{number}", 2, 1) for number in range(200))
        sending = asyncio.create_task(send(link, changes.CreateTopics(made, timeout_ms=20_000), validate_only=False))
        await asyncio.to_thread(own_cluster.kill, first)
        try:
            outcomes = await sending
        except AdminError:  # the connection was gone before anything was sent
            outcomes = ()
        there = (await topics.describe_topics(direct)).topics
        for outcome in outcomes:
            if outcome.status is changes.Status.APPLIED:
                assert outcome.target.name in there
            elif outcome.status is not changes.Status.UNKNOWN:
                assert outcome.target.name not in there
        if not outcomes:
            assert not [topic for topic in made if topic.name in there]
    finally:
        await link.close()
        await direct.close()

    async def kill_all() -> None:
        await asyncio.gather(*(asyncio.to_thread(own_cluster.kill, node) for node in others))

    async with (
        CuttingProxy(own_cluster.addresses[1]) as proxy,
        worlds.linked(
            ConnectionSettings(
                bootstrap=(proxy.address,), connect_timeout=2, request_timeout=10, lost_answer_timeout=0.5
            )
        ) as link,
    ):
        await link.refresh()
        proxy.arm(49, Cut.BEFORE, kill_all)
        change = changes.AlterQuotas({QuotaEntity.of({"user": name}): {"producer_byte_rate": 1024.0}})
        outcome = await single(link, change)
        assert outcome.status is changes.Status.UNKNOWN
        assert outcome.failure is not None
        assert outcome.failure.name == "DISCONNECTED"
        assert "before you repeat it" in outcome.failure.remedy
