"""Tests of the rights that a change of ACLs takes away, compared with a check of every combination of principal,
resource name, operation and address.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lint.rules import BY_NAME
from console.model import authorizer
from console.model.acl import Acl
from console.model.cluster import Partition, Topic
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.snapshot import Snapshot, with_acls
from console.plan.acl_effects import moves
from console.plan.plan import EMPTY, stage
from console.plan.risks import effects
from tests.support import samples
from tests.support.cpu_time import least_cpu_seconds
from tests.support.lint_cases import healthy, with_parts

TOPIC = AclResourceType.parse("TOPIC")
NAMES = ("a", "ab", "abc", "b")
PRINCIPALS = ("User:alice", "User:bob", authorizer.EVERYBODY)
HOSTS = ("*", "10.0.0.1", "10.0.0.2")
FROM = (*HOSTS[1:], None)
NOW = datetime(2026, 1, 1, tzinfo=UTC)

acls = st.builds(
    Acl,
    st.just(TOPIC),
    st.sampled_from((*NAMES, "*")),
    st.sampled_from((PatternType.parse("LITERAL"), PatternType.parse("PREFIXED"))),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from([AclOperation.parse(name) for name in ("READ", "WRITE", "DESCRIBE", "ALL")]),
    st.sampled_from((Permission.parse("ALLOW"), Permission.parse("ALLOW"), Permission.parse("DENY"))),
)


@given(known=st.lists(acls, max_size=10, unique=True), removed=st.integers(0, 3), added=st.lists(acls, max_size=3))
def test_a_changed_index_is_the_index_of_what_is_left(known: Sequence[Acl], removed: int, added: Sequence[Acl]) -> None:
    changed = authorizer.AclIndex(known).changed(known[:removed], added)
    whole = authorizer.AclIndex({*known[removed:], *added})
    for who, host, operation, name in product(PRINCIPALS, FROM, authorizer.OPERATIONS_OF[TOPIC], (*NAMES, "abd")):
        request = authorizer.Request(who, host, operation, TOPIC, name)
        assert changed.allows(request) is whole.allows(request)
        assert changed.decide(request).has_acls is whole.decide(request).has_acls


GROUP = AclResourceType.parse("GROUP")
GROUPS = ("a", "ab", "b", "*", "*a")


@given(
    known=st.lists(
        st.builds(
            lambda acl, name: acl._replace(resource_type=GROUP, resource_name=name), acls, st.sampled_from(GROUPS)
        ),
        max_size=10,
        unique=True,
    )
)
def test_an_allow_that_a_denial_covers_decides_nothing(known: Sequence[Acl]) -> None:
    """If a DENY covers an ALLOW entirely, removing the ALLOW takes no rights away. The test uses groups, because
    their names, unlike topics', can begin with ``*``.
    """
    seen = with_parts(healthy(), acls=tuple(known))
    whole = authorizer.AclIndex(known)
    for found in BY_NAME["acl-denied"].find(seen):
        left = authorizer.AclIndex({*known} - {found.subject})
        for who, host, operation, name in product(
            (*PRINCIPALS, "User:carol"), FROM, authorizer.OPERATIONS_OF[GROUP], (*GROUPS, "abd", "**", "c")
        ):
            request = authorizer.Request(who, host, operation, GROUP, name)
            assert whole.allows(request) is left.allows(request)


@pytest.mark.parametrize(
    ("allowed", "denied", "is_found"),
    [
        ("LITERAL orders READ", "LITERAL orders ALL", True),
        ("LITERAL orders READ", "LITERAL orders READ", False),  # it still allows DESCRIBE
        ("LITERAL orders DESCRIBE", "PREFIXED or DESCRIBE", True),
        ("PREFIXED orders READ", "PREFIXED or ALL", True),
        ("PREFIXED orders READ", "PREFIXED orders ALL", True),
        ("PREFIXED or READ", "PREFIXED orders ALL", False),
        ("PREFIXED orders READ", "LITERAL orders ALL", False),
        ("PREFIXED orders READ", "LITERAL * ALL", True),
        ("LITERAL * READ", "LITERAL * ALL", True),
        ("LITERAL * READ", "PREFIXED o ALL", False),
        ("PREFIXED * READ", "LITERAL * ALL", False),
        ("LITERAL *a READ", "LITERAL * ALL", False),
    ],
)
def test_an_allow_with_a_prefix_or_an_asterisk_that_a_denial_covers_is_found(
    allowed: str, denied: str, *, is_found: bool
) -> None:
    def made(text: str, permission: str) -> Acl:
        pattern_type, name, operation = text.split()
        return Acl(
            GROUP,
            name,
            PatternType.parse(pattern_type),
            "User:alice",
            "*",
            AclOperation.parse(operation),
            Permission.parse(permission),
        )

    acl = made(allowed, "ALLOW")
    seen = with_parts(healthy(), acls=(made(denied, "DENY"), acl))
    assert [each.subject for each in BY_NAME["acl-denied"].find(seen)] == ([acl] if is_found else [])


@given(known=st.lists(acls, max_size=10, unique=True), about=acls)
def test_what_is_taken_is_what_each_look_finds(known: Sequence[Acl], about: Acl) -> None:
    for held, left in (
        (authorizer.AclIndex({*known, about}), authorizer.AclIndex({*known} - {about})),
        (authorizer.AclIndex({*known} - {about}), authorizer.AclIndex({*known, about})),
    ):
        there = [name for name in NAMES if authorizer.covers(authorizer.pattern_of(about), TOPIC, name)]
        for principal in PRINCIPALS:
            if about.principal not in (principal, authorizer.EVERYBODY):
                continue
            expected = {
                (operation, name, host)
                for operation, name, host in product(authorizer.OPERATIONS_OF[TOPIC], there, FROM)
                if held.allows(authorizer.Request(principal, host, operation, TOPIC, name))
                and not left.allows(authorizer.Request(principal, host, operation, TOPIC, name))
            }
            told = {
                (operation, name, host)
                for move in moves(about, principal, held, left, there).moves
                for operation, name, host in product(move.operations, move.names, move.hosts or FROM)
                # A line may include addresses whose requests were denied before: they lose nothing.
                if host not in move.but and held.allows(authorizer.Request(principal, host, operation, TOPIC, name))
            }
            assert told == expected


def snapshot_of(*statements: str, topics: Sequence[str] = ()) -> Snapshot:
    bindings = samples.acls_of(*statements)
    known = {name: Topic(name, (Partition(0, 1, 0, (1,), (1,), ()),)) for name in topics}
    found = with_acls(Snapshot(topics=known), bindings, NOW)
    return Snapshot(topics=known, acls=found.acls, read_at={"acls": NOW, **({"topics": NOW} if topics else {})})


def lines_of(snapshot: Snapshot, *statements: str) -> list[str]:
    plan = stage(EMPTY, samples.edits_of(*statements, snapshot=snapshot), snapshot).plan
    return [line for lines in effects(plan.staged, snapshot).values() for line in lines]


@pytest.mark.parametrize(
    ("there", "change", "expected"),
    [
        (
            ["allow User:alice READ on topic orders"],
            ["revoke allow User:alice READ on topic orders"],
            [
                "User:alice loses READ, DESCRIBE on topic orders",
                "no ACL is left on topic orders: closed to all but super users, or open to everyone where the brokers "
                "have allow.everyone.if.no.acl.found=true",
            ],
        ),
        (
            ["allow User:alice READ on topic orders", "allow User:alice WRITE on topic ord prefixed"],
            ["revoke allow User:alice READ on topic orders"],
            ["User:alice loses READ on topic orders"],
        ),
        (
            ["allow User:alice READ on topic orders", "allow User:* ALL on topic *"],
            ["revoke allow User:alice READ on topic orders"],
            [],
        ),
        (
            ["allow User:alice WRITE on topic pay prefixed", "allow User:alice WRITE on topic pay.a"],
            ["revoke allow User:alice WRITE on topic pay prefixed"],
            [
                "User:alice loses WRITE, DESCRIBE on topics that begin with pay: 4 of 5 now, pay.b, pay.c, pay.d and "
                "1 more",
                "no ACL is left on topics that begin with pay without one of their own: closed to all but super users, "
                "or open to everyone where the brokers have allow.everyone.if.no.acl.found=true",
            ],
        ),
        (
            [
                "allow User:alice READ on topic *",
                "allow User:bob READ on topic pay.a",
                "allow User:* READ on topic pay.b",
            ],
            ["deny User:* READ on topic pay prefixed"],
            [
                "everyone else loses READ on 1 topic, pay.b",
                "User:alice loses READ on topics that begin with pay: 5 now, pay.a, pay.b, pay.c and 2 more",
                "User:bob loses READ on 2 topics, pay.a, pay.b",
            ],
        ),
        (
            ["allow User:alice READ on topic pay.a", "allow User:alice READ on topic pay.a from 10.0.0.1"],
            ["revoke allow User:alice READ on topic pay.a"],
            ["User:alice loses READ, DESCRIBE on topic pay.a, except from 10.0.0.1"],
        ),
        (
            ["deny User:bob READ on topic pay.a", "allow User:* READ on topic *"],
            ["revoke deny User:bob READ on topic pay.a"],
            ["User:bob gains READ on topic pay.a"],
        ),
        (
            ["deny User:* WRITE on topic pay prefixed"],
            ["allow User:bob WRITE on topic pay.a"],
            ["it changes nothing for User:bob: deny User:* WRITE overrides it"],
        ),
        (
            [
                "allow User:bob READ on topic pay.a",
                "allow User:bob READ on topic pay prefixed",
                "deny User:x ALL on topic *",
            ],
            ["revoke allow User:bob READ on topic pay.a", "revoke allow User:bob READ on topic pay prefixed"],
            [
                "User:bob loses READ, DESCRIBE on topic pay.a",
                "User:bob loses READ, DESCRIBE on topics that begin with pay: 5 now, pay.a, pay.b, pay.c and 2 more",
            ],
        ),
    ],
)
def test_lines(there: list[str], change: list[str], expected: list[str]) -> None:
    snapshot = snapshot_of(*there, topics=("orders", "pay.a", "pay.b", "pay.c", "pay.d", "pay.e"))
    assert lines_of(snapshot, *change) == expected


def test_what_was_not_read_is_not_counted() -> None:
    there = "allow User:alice READ on topic pay prefixed"
    snapshot = snapshot_of(there, "deny User:bob READ on topic *")
    assert lines_of(snapshot, f"revoke {there}") == ["User:alice loses READ, DESCRIBE on topics that begin with pay"]
    assert lines_of(Snapshot(acls=snapshot.acls), f"revoke {there}") == []


def test_among_100_000_acls_and_40_000_topics() -> None:
    read, allow = AclOperation.parse("READ"), Permission.parse("ALLOW")
    literal, prefixed = PatternType.parse("LITERAL"), PatternType.parse("PREFIXED")
    many = [Acl(TOPIC, f"team-{n % 1000:03}.", prefixed, f"User:user-{n:06}", "*", read, allow) for n in range(99_000)]
    many += [Acl(TOPIC, "*", literal, f"User:admin-{n:03}", "*", read, allow) for n in range(999)]
    many.append(Acl(TOPIC, "*", literal, authorizer.EVERYBODY, "*", read, allow))
    index = authorizer.AclIndex(many)
    users = iter(range(1, 6))

    def decide() -> None:
        number = next(users)
        decision = index.decide(
            authorizer.Request(f"User:user-{number:06}", "10.0.0.1", read, TOPIC, f"team-{number:03}.orders")
        )
        assert [acl.principal for acl in decision.by] == [authorizer.EVERYBODY, f"User:user-{number:06}"]

    assert least_cpu_seconds(decide, 5) < 0.05
    topics = sorted(f"team-{n % 1000:03}.topic-{n}" for n in range(40_000))
    left = index.changed([many[-1]], [])
    before = time.process_time()
    moved, unjudged = moves(many[-1], authorizer.EVERYBODY, index, left, topics)
    assert [len(move.names) for move in moved] == [40_000]
    assert not unjudged
    assert time.process_time() - before < 2
