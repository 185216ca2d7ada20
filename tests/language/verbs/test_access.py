"""Tests of the statements `allow`, `deny` and `revoke`."""

import pytest
from hypothesis import strategies as st

from console.language.needs import needs
from console.language.snapshot_parts import Needs
from console.language.verbs.access import Access
from console.model.acl import LITERAL, PREFIXED, Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.plan.edits import AddAcl, RemoveAcl
from tests.language.said import completes, edits, one, refused, wrong
from tests.language.strategies import NAMES, operations, principals, read_back, target_types

permissions = st.sampled_from([Permission(2), Permission(3)])


def access(cluster):
    name = st.none() if cluster else NAMES
    kind = st.just(AclResourceType(4)) if cluster else target_types
    pattern = st.just(LITERAL) if cluster else st.sampled_from([LITERAL, PREFIXED])
    return st.builds(Access, st.booleans(), permissions, principals, operations, kind, name, pattern, NAMES)


test_what_is_written_reads_back = read_back(access(True) | access(False))


def test_access():
    topic, cluster = AclResourceType(2), AclResourceType(4)
    read, write = AclOperation(3), AclOperation(4)
    allow, deny = Permission(3), Permission(2)
    assert one("allow User:a READ,write on topic t") == Access(False, allow, "User:a", (read, write), topic, "t")
    assert one("deny User:a READ on topic t prefixed from 10.0.0.1") == Access(
        False, deny, "User:a", (read,), topic, "t", PREFIXED, "10.0.0.1"
    )
    assert one("revoke deny User:* READ on topic 'prefixed'") == Access(
        True, deny, "User:*", (read,), topic, "prefixed"
    )
    assert one("allow User:a READ on cluster") == Access(False, allow, "User:a", (read,), cluster, None)
    assert one("allow User:a READ on topic prefixed prefixed").pattern == PREFIXED
    assert one("allow User:a READ on transactional-id x").resource_type == AclResourceType(5)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("allow a READ on topic t", "a READ"),
        ("allow User:a REED on topic t", "REED"),
        ("allow User:a READ,,WRITE on topic t", "READ"),
        ("allow User:a READ, WRITE on topic t", "READ,"),
        ("allow User:a ANY on topic t", "ANY"),
        ("allow User:a READ topic t", "topic"),
        ("allow User:a READ on tpic t", "tpic"),
        ("allow User:a READ on topic <default>", "<default>"),
        ("allow User:a READ on cluster x", "x"),
        ("allow User:a READ on topic t from", "^"),
        ("revoke User:a READ on topic t", "User:a"),
    ],
)
def test_access_names_its_mistakes(text, at):
    assert wrong(text).column == (len(text) if at == "^" else text.index(at)) + 1


def test_the_nearest_word_is_offered():
    assert "'READ'" in wrong("allow User:a REED on topic t").hint


def test_access_gives_a_binding_for_each_operation():
    found = edits("allow User:a READ,WRITE on topic svc. prefixed from 10.0.0.1")
    assert [edit.acl.operation.name for edit in found] == ["READ", "WRITE"]
    assert found[0] == AddAcl(
        Acl(AclResourceType(2), "svc.", PatternType(4), "User:a", "10.0.0.1", AclOperation(3), Permission(3))
    )
    (gone,) = edits("revoke deny User:a ALTER on cluster")
    assert gone == RemoveAcl(
        Acl(AclResourceType(4), "kafka-cluster", PatternType(3), "User:a", "*", AclOperation(7), Permission(2))
    )


def test_an_operation_that_a_resource_has_not_is_refused_but_can_be_revoked():
    error = refused("allow User:a READ on cluster")
    assert "READ" in error.message
    assert "IDEMPOTENT_WRITE" in error.hint
    assert error.column == 14
    assert edits("revoke allow User:a READ on cluster")


def test_what_it_needs():
    assert needs(one("allow User:a READ on topic t")) == Needs(frozenset({"acls"}))


test_what_can_stand_at_the_cursor = completes(
    ("allow User:a|", ["User:alice"]),
    ("allow User:a READ,DESCRIBE_|", ["DESCRIBE_CONFIGS", "DESCRIBE_TOKENS"]),
    ("allow User:a READ,DESCRIBE_| on group g", ["DESCRIBE_CONFIGS"]),
    ("allow User:a READ on |", ["cluster", "topic", "group", "transactional-id", "delegation-token", "user"]),
    ("allow User:a READ on topic or|", ["orders", "orders-dlq"]),
    ("allow User:a READ on topic orders |", ["prefixed", "from"]),
    ("revoke |", ["allow", "deny"]),
)
