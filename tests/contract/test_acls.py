"""Tests of ACLs: creation, filters and deletion."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract import acls
from tests.contract.messages import told
from tests.contract.target import Target


@pytest.fixture(autouse=True)
def nothing_is_left(target: Target) -> Iterator[None]:
    """Delete all ACLs after each test."""
    yield
    acls.delete(target, acls.EVERYTHING)
    assert acls.found(target) == (acls.FOUND, set())


def test_creating_one_that_exists_succeeds(target: Target, name: str) -> None:
    binding = acls.Binding(name, "User:alice")
    assert acls.create(target, binding) == [acls.FINE]
    assert acls.create(target, binding, binding) == [acls.FINE, acls.FINE]
    assert acls.found(target) == (acls.FOUND, {binding})


def test_every_type_and_operation(target: Target, name: str) -> None:
    """An ACL can have each operation with each resource type, because brokers do not check whether the type has the
    operation. TWO_PHASE_COMMIT exists since 4.1.
    """
    newest = target.is_since("4.1")
    operations = range(acls.ALL, acls.TWO_PHASE_COMMIT + 1) if newest else range(acls.ALL, acls.CREATE_TOKENS)
    kinds = (acls.TOPIC, acls.GROUP, acls.TRANSACTIONAL_ID, acls.TOKEN, acls.USER)
    bindings = [acls.Binding(name, "User:alice", acls.TOPIC, operation=operation) for operation in operations]
    bindings += [acls.Binding(name, "User:alice", kind, acls.PREFIXED, permission=acls.DENY) for kind in kinds]
    bindings += [
        acls.Binding("kafka-cluster", "User:alice", acls.CLUSTER, pattern) for pattern in (acls.LITERAL, acls.PREFIXED)
    ]
    assert acls.create(target, *bindings) == [acls.FINE] * len(bindings)
    assert acls.found(target) == (acls.FOUND, set(bindings))


def test_principals_and_hosts_are_hardly_looked_at(target: Target, name: str) -> None:
    bindings = [acls.Binding(name, principal) for principal in (":", "User:", "Group:x y", "User:a:b", "User:*")]
    bindings += [acls.Binding(name, "User:alice", host=host) for host in ("", "not an address", "::1")]
    refused = ("INVALID_REQUEST", "Host pattern cannot be null or empty") if target.is_since("4.4") else acls.FINE
    assert acls.create(target, *bindings) == [acls.FINE if each.host else refused for each in bindings]
    assert acls.found(target) == (acls.FOUND, {each for each in bindings if each.host or refused == acls.FINE})


@pytest.mark.parametrize("host", ["10.0.0.0/8", "2001:db8::/32", "10.0.0.0/33", "10.0.0/8", "/"])
def test_a_range_of_addresses(target: Target, name: str, host: str) -> None:
    """A range of addresses is accepted as the host of an ACL: from 4.4 on only if it is valid, before that any text is
    accepted.
    """
    is_range = host in ("10.0.0.0/8", "2001:db8::/32")
    answer = acls.create(target, acls.Binding(name, "User:alice", host=host))
    if is_range or not target.is_since("4.4"):
        assert answer == [acls.FINE]
    else:
        assert answer != [acls.FINE]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pattern": acls.MATCH},
        {"pattern": acls.ANY_},
        {"kind": acls.ANY_TYPE},
        {"operation": acls.ANY_OPERATION},
        {"permission": acls.ANY_PERMISSION},
    ],
)
def test_what_only_filters_may_say_fails_the_whole_request(target: Target, name: str, wrong: dict[str, int]) -> None:
    fine = acls.Binding(name, "User:alice")
    assert acls.create(target, fine, fine._replace(**wrong)) == [told(target, "acl refused whole")] * 2
    assert acls.found(target) == (acls.FOUND, set())


@pytest.mark.parametrize(
    "wrong",
    [{"pattern": acls.UNKNOWN}, {"kind": acls.UNKNOWN}, {"operation": acls.UNKNOWN}, {"permission": acls.UNKNOWN}],
)
def test_the_code_for_unknown_ends_the_connection(target: Target, name: str, wrong: dict[str, int]) -> None:
    assert acls.create(target, acls.Binding(name, "User:alice")._replace(**wrong)) == "no answer"
    assert acls.found(target, acls.EVERYTHING._replace(**wrong)) == "no answer"
    assert acls.delete(target, acls.EVERYTHING._replace(**wrong)) == "no answer"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"pattern": 9}, "patternType"), ({"kind": 99}, "resourceType"), ({"operation": 99}, "operation")],
)
def test_codes_of_nobody(target: Target, name: str, wrong: dict[str, int], field: str) -> None:
    refused = told(target, "acl unknown", field=field)
    assert acls.create(target, acls.Binding(name, "User:alice")._replace(**wrong)) == [refused]


@pytest.mark.parametrize(
    ("wrong", "situation"),
    [
        ({"kind": acls.CLUSTER}, "acl cluster name"),
        ({"name": ""}, "acl empty name"),
        ({"principal": "bob"}, "acl principal"),
        ({"principal": ""}, "acl principal"),
    ],
)
def test_one_that_can_not_be(target: Target, name: str, wrong: dict[str, Any], situation: str) -> None:
    """An invalid ACL is refused, and the other ACLs of the request are created."""
    fine = acls.Binding(name, "User:alice")
    bad = fine._replace(**wrong)
    refused = told(target, situation, principal=bad.principal)
    assert acls.create(target, fine, bad) == [acls.FINE, refused]
    assert acls.found(target) == (acls.FOUND, {fine})


def test_filters(target: Target, name: str) -> None:
    """In a filter, a null name matches every ACL. LITERAL, PREFIXED and ANY compare the names exactly; MATCH also finds
    ACLs of the literal `*` and of prefixes of the name.
    """
    exact = acls.Binding(name, "User:alice")
    denied = acls.Binding(name, "User:bob", host="192.0.2.9", operation=acls.WRITE, permission=acls.DENY)
    prefix = acls.Binding(name[:-2], "User:alice", pattern=acls.PREFIXED)
    longer = acls.Binding(f"{name}-1", "User:alice", pattern=acls.PREFIXED)
    everywhere = acls.Binding("*", "User:alice")
    of_group = acls.Binding(name, "User:alice", acls.GROUP, operation=acls.ALL)
    everything = {exact, denied, prefix, longer, everywhere, of_group}
    assert acls.create(target, *sorted(everything)) == [acls.FINE] * len(everything)

    def matching(**wanted: Any) -> set[acls.Binding]:
        told_of = acls.found(target, acls.EVERYTHING._replace(**wanted))
        assert told_of[0] == acls.FOUND
        return told_of[1]  # type: ignore[return-value]

    assert matching() == everything
    assert matching(kind=acls.TOPIC) == everything - {of_group}
    assert matching(kind=acls.TOPIC, name=name) == {exact, denied}
    assert matching(name=name, pattern=acls.LITERAL) == {exact, denied, of_group}
    assert matching(name=name, pattern=acls.PREFIXED) == set()
    assert matching(name=name[:-2], pattern=acls.PREFIXED) == {prefix}
    assert matching(kind=acls.TOPIC, name=name, pattern=acls.MATCH) == {exact, denied, prefix, everywhere}
    assert matching(name="*", pattern=acls.MATCH) == {everywhere}
    assert matching(pattern=acls.MATCH) == everything
    assert matching(pattern=acls.PREFIXED) == {prefix, longer}
    assert matching(principal="User:bob") == {denied}
    assert matching(principal="nobody") == set()
    assert matching(host="192.0.2.9") == {denied}
    assert matching(host="127.0.0.1") == set()
    assert matching(operation=acls.ALL) == {of_group}
    assert matching(permission=acls.DENY) == {denied}
    assert matching(name=f"{name}-no") == set()
    for beyond in ({"kind": 99}, {"pattern": 9}, {"operation": 99}, {"permission": 99}):
        assert matching(**beyond) == set()


def test_deleting(target: Target, name: str) -> None:
    one, two, other = (
        acls.Binding(name, "User:alice"),
        acls.Binding(name, "User:bob"),
        acls.Binding(f"{name}-1", "User:alice"),
    )
    assert acls.create(target, one, two, other) == [acls.FINE] * 3
    gone = acls.delete(
        target, acls.Filter(f"{name}-no"), acls.Filter(name), acls.Filter(f"{name}-1", principal="User:bob")
    )
    assert gone == [(("NONE", None), set()), (("NONE", None), {one, two}), (("NONE", None), set())]
    assert acls.found(target) == (acls.FOUND, {other})


def test_filters_that_overlap(target: Target, name: str) -> None:
    """The result of each filter has all ACLs that the filter matches, including those that another filter of the same
    request also deletes.
    """
    binding = acls.Binding(name, "User:alice")
    assert acls.create(target, binding) == [acls.FINE]
    assert [
        matching for _, matching in acls.delete(target, acls.Filter(name), acls.Filter(principal="User:alice"))
    ] == [{binding}] * 2
    assert acls.found(target) == (acls.FOUND, set())


def test_a_filter_to_delete_by_that_can_not_be(target: Target) -> None:
    assert acls.delete(target, acls.Filter(pattern=9)) == [(told(target, "acl filter pattern"), set())]
    assert acls.delete(target, acls.Filter(operation=99)) == [(told(target, "acl filter entry"), set())]
