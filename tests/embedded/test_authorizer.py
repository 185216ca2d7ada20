"""Whom the authorizer lets do what, as a look at each ACL would have it; real brokers: tests/broker/test_rights.py."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded.acls import matches
from console.embedded.authorizer import StandardAuthorizer
from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec, release
from console.embedded.state import ClusterState, View
from console.model.acl import Acl, AclFilter
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from tests.embedded.some_acls import HOSTS, OPERATIONS, TYPES, acls

ALLOW, DENY, ALL = Permission.parse("ALLOW"), Permission.parse("DENY"), AclOperation.parse("ALL")
MATCH = PatternType.parse("MATCH")
READ, WRITE, DESCRIBE = (AclOperation.parse(name) for name in ("READ", "WRITE", "DESCRIBE"))
TOPIC = AclResourceType.parse("TOPIC")
ASKING = ("User:alice", "User:nobody")
IMPLYING = {"DESCRIBE": {"READ", "WRITE", "DELETE", "ALTER"}, "DESCRIBE_CONFIGS": {"ALTER_CONFIGS"}}


def state_with(known: Sequence[Acl]) -> ClusterState:
    state = ClusterState("rights", release("4.4"))
    for acl in known:
        state.add_acl(acl)
    return state


def decided_one_by_one(
    principal: str, host: str, operation: AclOperation, type_: AclResourceType, name: str, view: View, is_open: bool
) -> bool:
    on_it = [acl for acl in view.acls if matches(AclFilter(type_, name, MATCH), acl)]
    his = [acl for acl in on_it if acl.principal in (principal, "User:*") and acl.host in ("*", host)]
    names = {operation.name, "ALL"}
    if any(acl.permission == DENY and acl.operation.name in names for acl in his):
        return False
    names |= IMPLYING.get(operation.name, set())
    return any(acl.permission == ALLOW and acl.operation.name in names for acl in his) or (is_open and not on_it)


@given(known=st.lists(acls, max_size=12), gone=st.integers(0, 4), is_open=st.booleans())
def test_decisions_are_those_of_a_look_at_each(known: Sequence[Acl], gone: int, is_open: bool) -> None:
    state = state_with(known)
    authorizer = StandardAuthorizer((), open_by_default=is_open)
    before = state.log.end
    view = state.view
    for moment in range(4):
        if moment == 1:
            for acl in known[:gone]:
                state.remove("acls", acl)
        if moment:
            view = (state.view, state.view_at(before), state.view_at(before // 2))[moment - 1]
        for who, host, operation, type_, name in product(ASKING, HOSTS[1:], OPERATIONS[1:], TYPES, ("a", "abc", "*")):
            expected = decided_one_by_one(who, host, operation, type_, name, view, is_open)
            assert authorizer.allows(who, host, operation, type_, name, view) is expected


def acl(name: str, permission: Permission, pattern: str = "LITERAL", operation: AclOperation = WRITE) -> Acl:
    return Acl(TOPIC, name, PatternType.parse(pattern), "User:alice", "*", operation, permission)


@pytest.mark.parametrize(
    ("known", "allowed"),
    [
        ([], False),
        ([acl("a", ALLOW)], True),
        ([acl("a", ALLOW), acl("a", DENY)], False),
        ([acl("a", ALLOW), acl("b", DENY)], True),
        ([acl("ab", ALLOW), acl("a", DENY, "PREFIXED")], False),
        ([acl("ab", ALLOW, "PREFIXED"), acl("a", DENY, "PREFIXED")], False),
        ([acl("a", ALLOW, "PREFIXED"), acl("ab", DENY, "PREFIXED")], True),
        ([acl("*", ALLOW), acl("a", DENY)], True),
        ([acl("a", ALLOW), acl("*", DENY)], False),
        ([acl("a", ALLOW, operation=ALL)], True),
        ([acl("a", ALLOW, operation=READ)], False),
    ],
)
def test_whether_there_is_something_to_write_to(known: Sequence[Acl], allowed: bool) -> None:
    view = state_with(known).view
    assert StandardAuthorizer(()).allows_somewhere("User:alice", "10.0.0.1", WRITE, TOPIC, view) is allowed


def test_a_super_user_needs_no_acls() -> None:
    view = state_with([acl("a", DENY, operation=ALL)]).view
    cluster = EmbeddedCluster(ClusterSpec(static_configs={"super.users": "User:carol;User:alice"}))
    assert cluster.authorizer is not None
    for user, allowed in (("User:alice", True), ("User:ANONYMOUS", True), ("User:bob", False)):
        assert cluster.authorizer.allows(user, "10.0.0.1", READ, TOPIC, "a", view) is allowed


def test_a_million_decisions_do_not_look_at_100_000(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = EmbeddedCluster(ClusterSpec(scenario="large", super_users=frozenset()))
    view, authorizer = cluster.state.view, cluster.authorizer
    assert authorizer is not None
    source = cluster.state.tables.acls.source
    monkeypatch.setattr(type(source), "__iter__", None)
    monkeypatch.setattr(type(source), "items", None)
    # user-000001 may read what begins with team-002.; of 100 such users the first is denied what it would have.
    for user, name, allowed in (
        ("user-000001", "team-002.x", True),
        ("user-000001", "team-004.x", False),
        ("user-000000", "team-000.x", False),
        ("nobody", "team-002.x", False),
    ):
        assert authorizer.allows(f"User:{user}", "10.0.0.1", DESCRIBE, TOPIC, name, view) is allowed
