"""ACLs (PROTOCOL §4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.acls import (
    ALL,
    ANY_,
    ANY_OPERATION,
    ANY_PERMISSION,
    ANY_TYPE,
    CLUSTER,
    CREATE_TOKENS,
    DENY,
    EVERYTHING,
    FINE,
    FOUND,
    GROUP,
    LITERAL,
    MATCH,
    PREFIXED,
    TOKEN,
    TOPIC,
    TRANSACTIONAL_ID,
    TWO_PHASE_COMMIT,
    UNKNOWN,
    USER,
    WRITE,
    Binding,
    Filter,
    create,
    delete,
    found,
)
from tests.contract.messages import told
from tests.contract.target import Target


@pytest.fixture(autouse=True)
def nothing_is_left(target: Target) -> Iterator[None]:
    """ACLs are gone after each test."""
    yield
    delete(target, EVERYTHING)
    assert found(target) == (FOUND, set())


def test_creating_one_that_exists_succeeds(target: Target, name: str) -> None:
    """§4."""
    binding = Binding(name, "User:alice")
    assert create(target, binding) == [FINE]
    assert create(target, binding, binding) == [FINE, FINE]
    assert found(target) == (FOUND, {binding})


def test_every_type_and_operation(target: Target, name: str) -> None:
    """§4: the enums; nobody checks that a type has the operation. Since 4.1 there is TWO_PHASE_COMMIT."""
    newest = target.is_since("4.1")
    operations = range(ALL, TWO_PHASE_COMMIT + 1) if newest else range(ALL, CREATE_TOKENS)
    kinds = (TOPIC, GROUP, TRANSACTIONAL_ID, TOKEN, USER)
    bindings = [Binding(name, "User:alice", TOPIC, operation=operation) for operation in operations]
    bindings += [Binding(name, "User:alice", kind, PREFIXED, permission=DENY) for kind in kinds]
    bindings += [Binding("kafka-cluster", "User:alice", CLUSTER, pattern) for pattern in (LITERAL, PREFIXED)]
    assert create(target, *bindings) == [FINE] * len(bindings)
    assert found(target) == (FOUND, set(bindings))


def test_principals_and_hosts_are_hardly_looked_at(target: Target, name: str) -> None:
    bindings = [Binding(name, principal) for principal in (":", "User:", "Group:x y", "User:a:b", "User:*")]
    bindings += [Binding(name, "User:alice", host=host) for host in ("", "not an address", "::1")]
    refused = ("INVALID_REQUEST", "Host pattern cannot be null or empty") if target.is_since("4.4") else FINE
    assert create(target, *bindings) == [FINE if each.host else refused for each in bindings]
    assert found(target) == (FOUND, {each for each in bindings if each.host or refused == FINE})


@pytest.mark.parametrize("host", ["10.0.0.0/8", "2001:db8::/32", "10.0.0.0/33", "10.0.0/8", "/"])
def test_a_range_of_addresses(target: Target, name: str, host: str) -> None:
    """Before 4.4 any text is a host."""
    is_range = host in ("10.0.0.0/8", "2001:db8::/32")
    answer = create(target, Binding(name, "User:alice", host=host))
    if is_range or not target.is_since("4.4"):
        assert answer == [FINE]
    else:
        assert answer != [FINE]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pattern": MATCH},
        {"pattern": ANY_},
        {"kind": ANY_TYPE},
        {"operation": ANY_OPERATION},
        {"permission": ANY_PERMISSION},
    ],
)
def test_what_only_filters_may_say_fails_the_whole_request(target: Target, name: str, wrong: dict[str, int]) -> None:
    fine = Binding(name, "User:alice")
    assert create(target, fine, fine._replace(**wrong)) == [told(target, "acl refused whole")] * 2
    assert found(target) == (FOUND, set())


@pytest.mark.parametrize(
    "wrong", [{"pattern": UNKNOWN}, {"kind": UNKNOWN}, {"operation": UNKNOWN}, {"permission": UNKNOWN}]
)
def test_the_code_for_unknown_ends_the_connection(target: Target, name: str, wrong: dict[str, int]) -> None:
    assert create(target, Binding(name, "User:alice")._replace(**wrong)) == "no answer"
    assert found(target, EVERYTHING._replace(**wrong)) == "no answer"
    assert delete(target, EVERYTHING._replace(**wrong)) == "no answer"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"pattern": 9}, "patternType"), ({"kind": 99}, "resourceType"), ({"operation": 99}, "operation")],
)
def test_codes_of_nobody(target: Target, name: str, wrong: dict[str, int], field: str) -> None:
    refused = told(target, "acl unknown", field=field)
    assert create(target, Binding(name, "User:alice")._replace(**wrong)) == [refused]


@pytest.mark.parametrize(
    ("wrong", "situation"),
    [
        ({"kind": CLUSTER}, "acl cluster name"),
        ({"name": ""}, "acl empty name"),
        ({"principal": "bob"}, "acl principal"),
        ({"principal": ""}, "acl principal"),
    ],
)
def test_one_that_can_not_be(target: Target, name: str, wrong: dict[str, Any], situation: str) -> None:
    """§4: errors; the others of the request are created."""
    fine = Binding(name, "User:alice")
    bad = fine._replace(**wrong)
    refused = told(target, situation, principal=bad.principal)
    assert create(target, fine, bad) == [FINE, refused]
    assert found(target) == (FOUND, {fine})


def test_filters(target: Target, name: str) -> None:
    """§4: a null name matches any. LITERAL, PREFIXED and ANY compare names exactly. MATCH also finds literal `*` and
    prefixes of the name."""
    exact = Binding(name, "User:alice")
    denied = Binding(name, "User:bob", host="192.0.2.9", operation=WRITE, permission=DENY)
    prefix = Binding(name[:-2], "User:alice", pattern=PREFIXED)
    longer = Binding(f"{name}-1", "User:alice", pattern=PREFIXED)
    everywhere = Binding("*", "User:alice")
    of_group = Binding(name, "User:alice", GROUP, operation=ALL)
    everything = {exact, denied, prefix, longer, everywhere, of_group}
    assert create(target, *sorted(everything)) == [FINE] * len(everything)

    def matching(**wanted: Any) -> set[Binding]:
        told_of = found(target, EVERYTHING._replace(**wanted))
        assert told_of[0] == FOUND
        return told_of[1]  # type: ignore[return-value]

    assert matching() == everything
    assert matching(kind=TOPIC) == everything - {of_group}
    assert matching(kind=TOPIC, name=name) == {exact, denied}
    assert matching(name=name, pattern=LITERAL) == {exact, denied, of_group}
    assert matching(name=name, pattern=PREFIXED) == set()
    assert matching(name=name[:-2], pattern=PREFIXED) == {prefix}
    assert matching(kind=TOPIC, name=name, pattern=MATCH) == {exact, denied, prefix, everywhere}
    assert matching(name="*", pattern=MATCH) == {everywhere}
    assert matching(pattern=MATCH) == everything
    assert matching(pattern=PREFIXED) == {prefix, longer}
    assert matching(principal="User:bob") == {denied}
    assert matching(principal="nobody") == set()
    assert matching(host="192.0.2.9") == {denied}
    assert matching(host="127.0.0.1") == set()
    assert matching(operation=ALL) == {of_group}
    assert matching(permission=DENY) == {denied}
    assert matching(name=f"{name}-no") == set()
    for beyond in ({"kind": 99}, {"pattern": 9}, {"operation": 99}, {"permission": 99}):
        assert matching(**beyond) == set()


def test_deleting(target: Target, name: str) -> None:
    one, two, other = Binding(name, "User:alice"), Binding(name, "User:bob"), Binding(f"{name}-1", "User:alice")
    assert create(target, one, two, other) == [FINE] * 3
    gone = delete(target, Filter(f"{name}-no"), Filter(name), Filter(f"{name}-1", principal="User:bob"))
    assert gone == [(("NONE", None), set()), (("NONE", None), {one, two}), (("NONE", None), set())]
    assert found(target) == (FOUND, {other})


def test_filters_that_overlap(target: Target, name: str) -> None:
    """Each of them tells all that it matches."""
    binding = Binding(name, "User:alice")
    assert create(target, binding) == [FINE]
    assert [matching for _, matching in delete(target, Filter(name), Filter(principal="User:alice"))] == [{binding}] * 2
    assert found(target) == (FOUND, set())


def test_a_filter_to_delete_by_that_can_not_be(target: Target) -> None:
    assert delete(target, Filter(pattern=9)) == [(told(target, "acl filter pattern"), set())]
    assert delete(target, Filter(operation=99)) == [(told(target, "acl filter entry"), set())]
