"""Decisions of ACLs against Kafka's own StandardAuthorizer, in a JVM without a broker."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from console.embedded.authorizer import StandardAuthorizer
from console.embedded.spec import release
from console.embedded.state import ClusterState
from console.model.acl import Acl
from console.model.authorizer import OPERATIONS_OF, AclIndex, Decision, Request, address_as_compared
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from tests.support.compiled_java import with_ours
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3, RELEASES, java
from tests.support.patience import PATIENCE
from tests.support.real_clusters import by_release, or_skip

HERE = Path(__file__).parent
TYPES = ("TOPIC", "TOPIC", "TOPIC", "GROUP", "TRANSACTIONAL_ID", "CLUSTER", "DELEGATION_TOKEN", "USER")
NAMES = ("a", "ab", "abc", "abd", "b", "ba", "-a", "-", "*", "*a", "a*", "kafka-cluster", "User:alice", "A", "é")
PRINCIPALS = ("User:alice", "User:bob", "User:*", "User:Alice", "Group:alice", "Group:*", "User:CN=a,O=b", "user:alice")
CLIENTS = tuple(each for each in PRINCIPALS if each != "User:*")
HOSTS = ("*", "10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1", "::1")
RANGES = ("10.0.0.0/8", "10.0.0.1/31", "10.0.0.2/32", "0.0.0.0/0", "2001:db8::/32", "::/0", "10.0.0.0/33", "10.0.0/8")
"""Hosts that 4.4 takes for ranges of addresses, and some that are none."""
ADDRESSES = ("10.0.0.1", "10.0.0.2", "127.0.0.1", "::1", "::ffff:10.0.0.1", "2001:db8::5")
OPERATIONS = tuple(
    name for name in AclOperation.NAMES.values() if name not in ("ANY", "TWO_PHASE_COMMIT")
)  # not in 3.9
SUPER_USERS = ("", "", "User:bob", "User:bob;Group:alice")


class AclSet(NamedTuple):
    """ACLs with the settings of the brokers, and what is asked of them."""

    acls: tuple[Acl, ...]
    is_open: bool
    super_users: str
    asked: tuple[Request, ...]
    anywhere: tuple[Request, ...]


def random_sets(count: int, seed: int, hosts: Sequence[str] = HOSTS) -> Iterator[AclSet]:
    """Few names, most beginning alike, and few principals and operations in each, so that ACLs meet each other."""
    pick = random.Random(seed)
    for _ in range(count):
        type_ = pick.choice(TYPES)
        operations = [pick.choice(OPERATIONS)]
        asked_for = [each.name for each in OPERATIONS_OF[AclResourceType.parse(type_)] if each.name in OPERATIONS]
        operations += [pick.choice(asked_for) for _ in range(2)]
        names = [pick.choice(NAMES) for _ in range(3)]
        principals = [pick.choice(PRINCIPALS) for _ in range(2)]
        acls = {
            Acl(
                AclResourceType.parse(type_ if pick.random() < 0.9 else pick.choice(TYPES)),
                pick.choice(names),
                PatternType.parse(pick.choice(("LITERAL", "PREFIXED"))),
                pick.choice(principals),
                pick.choice(hosts) if pick.random() < 0.3 else "*",
                AclOperation.parse(pick.choice(operations)),
                Permission.parse(pick.choice(("ALLOW", "ALLOW", "ALLOW", "DENY"))),
            )
            for _ in range(pick.randrange(20))
        }
        clients = [*(each for each in principals if each in CLIENTS), *principals[:1], pick.choice(CLIENTS)]
        clients = [each for each in clients if each in CLIENTS]
        requests = tuple(
            Request(
                pick.choice(clients),
                pick.choice(ADDRESSES),
                AclOperation.parse(pick.choice([*operations, "DESCRIBE", "DESCRIBE_CONFIGS"])),
                AclResourceType.parse(type_),
                pick.choice(names) + pick.choice(("", "", "b")),
            )
            for _ in range(8)
        )
        settings = pick.random() < 0.5, pick.choice(SUPER_USERS)
        yield AclSet(tuple(sorted(acls)), *settings, requests[:6], requests[6:])


def what_kafka_decides(version: str, sets: Sequence[AclSet]) -> list[str]:
    """The lines of Kafka's authorizer; skips where there is no Java with a compiler."""
    lines = []
    for each in sets:
        lines.append(f"set\t{str(each.is_open).lower()}\t{each.super_users}")
        for acl in each.acls:
            words = (acl.resource_type.name, acl.resource_name, acl.pattern_type.name, acl.principal, acl.host)
            lines.append("\t".join(("acl", *words, acl.operation.name, acl.permission.name)))
        for word, requests in (("ask", each.asked), ("any", each.anywhere)):
            for request in requests:
                asked = (word, request.principal, request.host or "", request.operation.name)
                lines.append("\t".join((*asked, request.resource_type.name, request.resource_name)))
    with or_skip():
        command = [
            java(),
            "-Xmx512m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            *with_ours(HERE / "AclDecisions.java", version),
        ]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, encoding="utf-8", check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def compared(request: Request) -> Request:
    host = address_as_compared(request.host or "")
    assert host is not None
    return request._replace(host=host)


def verdict(each: AclSet, request: Request, decision: Decision) -> str:
    """What a broker with these settings makes of a decision by ACLs."""
    if request.principal in each.super_users.split(";"):
        return "ALLOWED"
    allowed = decision.allowed if decision.allowed is not None else each.is_open and not decision.has_acls
    return "ALLOWED" if allowed else "DENIED"


def check(version: str, count: int, seed: int, *, ranges: bool = False) -> None:
    sets = [*random_sets(count, seed, (*HOSTS, *RANGES))]
    told = iter(what_kafka_decides(version, sets))
    decided = {"ALLOWED": 0, "DENIED": 0, "by a deny": 0, "by an allow": 0}
    for each in sets:
        index = AclIndex(each.acls, ranges=ranges)
        state = ClusterState("rights", release("4.4"))
        for acl in each.acls:
            state.add_acl(acl)
        embedded = StandardAuthorizer(
            filter(None, each.super_users.split(";")), open_by_default=each.is_open, ranges=ranges
        )
        for request in map(compared, each.asked):
            result, rule = next(told).split("\t")
            decision = index.decide(request)
            said = f"{each}\n{request}\n{decision}\n{result} by {rule}"
            assert verdict(each, request, decision) == result, said
            assert embedded.allows(request.principal, request.host or "", *request[2:], state.view) is (
                result == "ALLOWED"
            ), said
            # The authorizer keeps the first deny, or the last allow: one of ours; where none is, we have none.
            by = None if rule == "-1" else each.acls[int(rule)]
            assert (by in decision.by) if by is not None else not decision.by, said
            decided[result] += 1
            if by is not None:
                decided["by a deny" if by.permission.name == "DENY" else "by an allow"] += 1
        for request in map(compared, each.anywhere):
            principal, host, operation, type_, _ = request
            assert embedded.allows_somewhere(principal, host or "", operation, type_, state.view) is (
                next(told) == "ALLOWED"
            ), f"{each}\n{request}"
    assert min(decided.values()) > count / 3, decided


@pytest.mark.parametrize("version", by_release([KAFKA_4_3, KAFKA_3_9], KAFKA_4_3))
def test_decisions_are_those_of_kafka(version: str) -> None:
    check(version, 1_000, seed=1)


def test_ranges_of_addresses_are_those_of_kafka_4_4() -> None:
    check(RELEASES["4.4"], 1_000, seed=3, ranges=True)


@pytest.mark.long
@pytest.mark.parametrize("version", [KAFKA_4_3, KAFKA_3_9])
def test_decisions_of_5_000_sets_are_those_of_kafka(version: str) -> None:
    check(version, 5_000, seed=2)
