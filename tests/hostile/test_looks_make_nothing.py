"""What only looks makes nothing on a cluster: no coordinators' topic, no topic that was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from console.admin.changes import send
from console.admin.errors import ReadOnly
from console.admin.groups import describe_groups, find_coordinators, group_positions, poll_groups
from console.admin.link import Link
from console.admin.settings import ConnectionSettings, SaslSettings
from console.admin.transactions import describe_transactions
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.group_coordinator import ensure_topic
from console.embedded.groups import Group
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.acl import Acl
from console.model.changes import CommitOffsets, DeleteGroups, GroupOffsetTarget, Status
from console.model.cluster import CommittedOffset
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.secret import Secret
from tests.support.looks import ABSENT, look_at_everything

ALICE = "User:alice"


def topics(cluster: ThreadedCluster) -> set[str]:
    return cluster.call(lambda each: set(each.state.topics))


async def test_all_that_looks_leaves_a_fresh_cluster_as_it_is() -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        assert topics(cluster) == set()
        await look_at_everything(cluster.bootstrap)
        assert topics(cluster) == set()
        asked = cluster.call(lambda each: each.counters.total("find_coordinator").requests)
        assert asked == 0


def link_to(cluster: ThreadedCluster, **settings: Any) -> Link:
    return Link(ConnectionSettings(tuple(cluster.call(lambda each: list(each.addresses.values()))), **settings))


async def test_what_is_asked_for_is_absent_and_a_change_still_finds_its_coordinator() -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        link = link_to(cluster)
        try:
            for listing in (await describe_groups(link, [ABSENT]), await poll_groups(link, [ABSENT])):
                assert {name: why.name for name, why in listing.failures.items()} == {ABSENT: "GROUP_ID_NOT_FOUND"}
            positions, failures = await group_positions(link, [ABSENT])
            assert (positions[ABSENT].group, failures) == (None, {})
            found = await describe_transactions(link, [ABSENT])
            assert found.failures[ABSENT].name == "TRANSACTIONAL_ID_NOT_FOUND"
            (outcome,) = await send(link, DeleteGroups((ABSENT,)), validate_only=False)
            assert outcome.status is Status.FAILED
            assert topics(cluster) == set()
            coordinators, _ = await find_coordinators(link, [ABSENT], is_change=True)
            assert coordinators == {ABSENT: 1}
            assert topics(cluster) == {"__consumer_offsets"}
        finally:
            await link.close()


async def test_a_read_only_link_makes_no_topic_on_the_way_to_a_change() -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        cluster.call(lambda each: each.state.put_topic(new_topic("orders", striped([1], 1, 1), [1])))
        link = link_to(cluster, read_only=True)
        wanted = CommitOffsets(ABSENT, {GroupOffsetTarget(ABSENT, "orders", 0): CommittedOffset(1)})
        try:
            with pytest.raises(ReadOnly):
                await send(link, wanted, validate_only=False)
        finally:
            await link.close()
        assert topics(cluster) == {"orders"}


@pytest.mark.parametrize("groups", [(), ("billing",)], ids=["a fresh cluster", "one with a group"])
async def test_whoever_may_not_see_the_topic_is_told_by_the_lists(groups: tuple[str, ...]) -> None:
    def fill(each: EmbeddedCluster) -> None:
        for type_, name in ((AclResourceType.parse("GROUP"), "*"), (AclResourceType.parse("CLUSTER"), "kafka-cluster")):
            literal, allow = PatternType.parse("LITERAL"), Permission.parse("ALLOW")
            each.state.add_acl(Acl(type_, name, literal, ALICE, "*", AclOperation.parse("DESCRIBE"), allow))
        for name in groups:
            ensure_topic(each.state)
            each.state.groups[name] = Group(name, protocol_type="consumer", written=True)

    password = Secret("alices-password")
    spec = ClusterSpec(brokers=1, sasl=SaslSpec(plain={"alice": password}), super_users=frozenset({"User:admin"}))
    with run_in_thread(spec) as cluster:
        cluster.call(fill)
        before = topics(cluster)
        link = link_to(cluster, security_protocol="SASL_PLAINTEXT", sasl=SaslSettings("PLAIN", "alice", password))
        try:
            coordinators, failures = await find_coordinators(link, ["billing", ABSENT])
            assert topics(cluster) == before
            assert coordinators == (dict.fromkeys(("billing", ABSENT), 1) if groups else {})
            assert set(failures) == (set() if groups else {"billing", ABSENT})
        finally:
            await link.close()
