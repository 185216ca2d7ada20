"""KIP-4's ListAcls and AlterAcls, and DescribeAcls with many filters, over sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from console.model.acl import Acl
from console.wire.proposals import batched_describes as batched_acls
from console.wire.proposals import kip4 as wire
from tests.embedded.proposals_client import ON_CLUSTER, Rights, ask
from tests.support import worlds

ALL = ("ALL", *ON_CLUSTER)
ANONYMOUS = "User:ANONYMOUS"


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    """Three brokers where everybody may do all on the cluster."""
    async with EmbeddedCluster(ClusterSpec()) as running:
        running.authorizer = Rights(ALL)
        yield running


def binding(
    name: str, principal: str = "User:a", operation: str = "READ", permission: str = "ALLOW", pattern: str = "LITERAL"
) -> Acl:
    return worlds.acl(principal, operation, "TOPIC", name, pattern=pattern, permission=permission)


def acl(principal: str = "User:a", operation: int = 3, permission: int = 3, host: str = "*") -> wire.Acl:
    return wire.Acl(acl_principal=principal, acl_permission_type=permission, acl_host=host, acl_operation=operation)


def resource(name: str, type_: int = 2) -> wire.Resource:
    return wire.Resource(resource_type=type_, resource_name=name)


EVERYTHING = resource("", -1)


async def listed(
    cluster: EmbeddedCluster, principal: str | None = None, at: wire.Resource = EVERYTHING, broker: int | None = None
) -> tuple[int, dict[str, list[tuple[str, int]]]]:
    response = await ask(cluster, wire.ListAclsRequest(principal=principal, resource=at), broker)
    return response.error_code, {
        item.resource.resource_name: [(found.acl_principal, found.acl_permission_type) for found in item.acls]
        for item in response.responses
    }


async def test_lists_by_principal_and_by_resource(cluster: EmbeddedCluster) -> None:
    for known in (binding("t"), binding("t", "User:b"), binding("u", permission="DENY")):
        cluster.state.add_acl(known)
    assert await listed(cluster) == (0, {"t": [("User:a", 3), ("User:b", 3)], "u": [("User:a", 2)]})
    assert await listed(cluster, "User:b") == (0, {"t": [("User:b", 3)]})
    assert await listed(cluster, None, resource("u")) == (0, {"u": [("User:a", 2)]})


async def test_finding_nothing_is_no_error(cluster: EmbeddedCluster) -> None:
    cluster.state.add_acl(binding("t"))
    assert await listed(cluster, "User:nobody") == (0, {})
    assert await listed(cluster, None, resource("none")) == (0, {})


async def test_any_broker_lists(cluster: EmbeddedCluster) -> None:
    cluster.forwarding = False
    cluster.state.add_acl(binding("t"))
    assert await listed(cluster, broker=3) == (0, {"t": [("User:a", 3)]})


async def test_without_all_on_the_cluster_one_sees_its_own_allow_entries(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights()
    for known in (binding("t", ANONYMOUS), binding("t", ANONYMOUS, permission="DENY"), binding("t")):
        cluster.state.add_acl(known)
    assert await listed(cluster, ANONYMOUS) == (0, {"t": [(ANONYMOUS, 3)]})
    assert await listed(cluster, "User:a") == (31, {})
    assert await listed(cluster) == (31, {})


async def test_prefixes_are_not_told_as_names(cluster: EmbeddedCluster) -> None:
    cluster.state.add_acl(binding("t", pattern="PREFIXED"))
    assert await listed(cluster) == (0, {})


async def altered(
    cluster: EmbeddedCluster,
    *requests: tuple[wire.Resource, list[tuple[int, wire.Acl]]],
    broker: int | None = None,
) -> list[tuple[str, list[tuple[int, int]]]]:
    """For each resource its name, and (action, error) of each action."""
    response = await ask(
        cluster,
        wire.AlterAclsRequest(
            requests=tuple(
                wire.ResourceActions(
                    resource=at, actions=tuple(wire.AclAction(action=action, acl=what) for action, what in actions)
                )
                for at, actions in requests
            )
        ),
        broker,
    )
    return [
        (item.resource.resource_name, [(result.action, result.error_code) for result in item.results])
        for item in response.responses
    ]


async def test_deletions_go_before_additions_whatever_their_order(cluster: EmbeddedCluster) -> None:
    assert await altered(cluster, (resource("t"), [(1, acl()), (0, acl())])) == [("t", [(1, 0), (0, 0)])]
    assert set(cluster.state.acls) == {binding("t")}
    assert await altered(cluster, (resource("t"), [(0, acl()), (1, acl("User:b"))])) == [("t", [(0, 0), (1, 0)])]
    assert set(cluster.state.acls) == {binding("t", "User:b")}


async def test_a_resource_twice_is_refused_once_and_left_alone(cluster: EmbeddedCluster) -> None:
    answer = await altered(
        cluster, (resource("t"), [(1, acl())]), (resource("u"), [(1, acl())]), (resource("t"), [(1, acl("User:b"))])
    )
    assert answer == [("t", [(1, 42)]), ("u", [(1, 0)])]
    assert set(cluster.state.acls) == {binding("u")}


@pytest.mark.parametrize(
    ("at", "action", "what"),
    [
        (resource("t"), 2, acl()),
        (resource("t", -1), 1, acl()),
        (resource(""), 1, acl()),
        (resource("other", 4), 1, acl()),
        (resource("t"), 1, acl(operation=1)),
        (resource("t"), 1, acl(permission=1)),
        (resource("t"), 1, acl(principal="alice")),
        (resource("t"), 1, acl(host="")),
    ],
)
async def test_a_bad_action_does_not_stop_the_others(
    cluster: EmbeddedCluster, at: wire.Resource, action: int, what: wire.Acl
) -> None:
    answer = await altered(cluster, (at, [(action, what)]), (resource("good"), [(1, acl())]))
    assert answer == [(at.resource_name, [(action, 42)]), ("good", [(1, 0)])]
    assert set(cluster.state.acls) == {binding("good")}


async def test_altering_needs_all_on_the_cluster_and_an_authorizer(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights(("ALTER", *ON_CLUSTER))
    assert await altered(cluster, (resource("t"), [(1, acl())])) == [("t", [(1, 31)])]
    cluster.authorizer = None
    assert await altered(cluster, (resource("t"), [(1, acl())])) == [("t", [(1, 54)])]
    assert await listed(cluster) == (54, {})
    assert not cluster.state.acls


async def test_only_the_controller_alters_unless_brokers_forward(cluster: EmbeddedCluster) -> None:
    assert await altered(cluster, (resource("t"), [(1, acl())]), broker=2) == [("t", [(1, 0)])]
    cluster.forwarding = False
    assert await altered(cluster, (resource("u"), [(1, acl())]), broker=2) == [("u", [(1, 41)])]
    assert await altered(cluster, (resource("u"), [(1, acl())]), broker=1) == [("u", [(1, 0)])]


def wanted(
    name: str | None = None, pattern: int = 1, principal: str | None = None, operation: int = 1
) -> batched_acls.DescribeAclsFilter:
    return batched_acls.DescribeAclsFilter(
        resource_type_filter=1,
        resource_name_filter=name,
        pattern_type_filter=pattern,
        principal_filter=principal,
        host_filter=None,
        operation=operation,
        permission_type=1,
    )


async def described(cluster: EmbeddedCluster, *filters: batched_acls.DescribeAclsFilter) -> list[tuple[int, list[str]]]:
    response = await ask(cluster, batched_acls.DescribeAclsRequest(filters=filters))
    return [
        (result.error_code, sorted(found.resource_name for found in result.resources))
        for result in response.filter_results
    ]


async def test_each_filter_has_its_result_at_its_place(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    for known in (binding("t"), binding("u", "User:b"), binding("or", pattern="PREFIXED"), binding("*")):
        cluster.state.add_acl(known)
    assert await described(
        cluster,
        wanted(principal="User:b"),
        wanted("none", principal="User:b"),
        wanted(operation=99),
        wanted("orders", pattern=2),
        wanted("orders", pattern=3),
        wanted("or", pattern=4),
        wanted("t", pattern=1),
    ) == [(0, ["u"]), (0, []), (42, []), (0, ["*", "or"]), (0, []), (0, ["or"]), (0, ["t"])]


async def test_each_filter_is_refused_without_rights(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights()
    assert await described(cluster, wanted(), wanted("t")) == [(31, []), (31, [])]
    cluster.authorizer = None
    assert await described(cluster, wanted()) == [(54, [])]
    assert await described(cluster) == []
