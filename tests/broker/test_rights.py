"""Tests of rights on real brokers; of decisions by ACLs, compared with Kafka's authorizer; and of filters of ACLs."""

import itertools
import random
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from console.admin import changes
from console.admin.acls import describe_acls
from console.admin.link import Link
from console.answers.queries import answer
from console.answers.results import Table
from console.embedded import brokers, spec
from console.embedded.authorizer import StandardAuthorizer
from console.embedded.scenarios.seed import add_topic, topic_id
from console.embedded.state import ClusterState
from console.language.grammar import parse
from console.language.quoting import quote
from console.model.acl import Acl, AclFilter
from console.model.authorizer import OPERATIONS_OF, AclIndex, Decision, Request, address_as_compared
from console.model.changes import CreateAcls, DeleteAcls, Status
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.snapshot import Snapshot
from tests.embedded.raw_client import RawClient
from tests.support import acl_filters, compiled_java, kafka_messages, patience, real_clusters, worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3, RELEASES, java
from tests.support.rights_table import GROUP, SECRET, cases, errors_of

ALICE = "User:CN=alice"
HOST = "127.0.0.1"


class CertifiedClient(RawClient):
    """A client with a certificate, connected to the first broker of a secure cluster."""

    def __init__(self, cluster: KafkaCluster, name: str) -> None:
        host, _, port = cluster.mtls_bootstrap.split(",")[0].partition(":")
        super().__init__((host, int(port)), tls=cluster.authority.client_context(cluster.identity(name)))


secured = real_clusters.lent(lambda: KafkaCluster(RELEASES[spec.ClusterSpec().versions], brokers=3, security="secure"))
"""Provide a real cluster like `secure_cluster`, of the release that embedded clusters imitate by default."""


@pytest.fixture
async def alice(secured: KafkaCluster) -> AsyncIterator[RawClient]:
    """Provide a client that has logged in as alice, who has only the rights that ACLs give her."""
    async with CertifiedClient(secured, "alice") as client:
        yield client


@pytest.fixture
async def admin(secured: KafkaCluster) -> AsyncIterator[RawClient]:
    """Provide a client that has logged in as the super user."""
    async with CertifiedClient(secured, "admin") as client:
        yield client


async def create(admin: RawClient, *names: str) -> None:
    answer = await admin.ask(
        "create_topics",
        7,
        kafka_messages.with_fields(
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
    await admin.ask("delete_topics", 5, kafka_messages.with_fields(topic_names=names, timeout=20))


async def metadata(client: RawClient, names: Sequence[str], *, operations: bool) -> list[Any]:
    answer = await client.ask(
        "metadata",
        12,
        kafka_messages.with_fields(
            topics=[(None, name) for name in names],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=operations,
        ),
    )
    return list(answer.topics)


async def seen(admin: RawClient, *names: str) -> list[UUID]:
    """Wait until the client's broker has all these topics in its metadata; return their ids."""

    async def known() -> list[UUID]:
        topics = await metadata(admin, names, operations=False)
        return [] if any(topic.error_code for topic in topics) else [topic.topic_id for topic in topics]

    return await patience.shortly(known)


async def test_nothing_may_be_done(admin: RawClient, alice: RawClient) -> None:
    """A user without rights gets the errors of the table with which tests/embedded/test_acls.py checks the embedded
    cluster.
    """
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
    """Return a few random ACLs; most are for one of the test's topics."""
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
    """Return topic -> the bit set of the operations that these ACLs allow alice, without the topics that she may not
    describe.
    """
    state = ClusterState("rights", spec.release("4.4"))
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
    """Replace all ACLs of the cluster by these. Brokers use them a moment later."""
    await admin.ask("delete_acls", 3, kafka_messages.with_fields(filters=[acl_filters.EVERY_ACL]))
    await admin.ask(
        "create_acls",
        3,
        kafka_messages.with_fields(
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
    answer = await admin.ask("describe_acls", 3, kafka_messages.with_fields(**acl_filters.EVERY_ACL))
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
        await patience.shortly(lambda acls=acls: knows(admin, acls))  # type: ignore[misc]
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
"""APIs whose requests in this test have no records. A broker answers them with an error about their contents, or not at
all.
"""


def rights(principal: str, *wanted: tuple[str, str, str]) -> list[Acl]:
    return [worlds.acl(principal, operation, type_, name) for type_, name, operation in wanted]


async def refusals(client: RawClient, topic_id: UUID) -> dict[tuple[str, int], set[tuple[str, int]]]:
    """Send each case's request. Return (API, number of the case) -> set of (place in the response, error code), in
    which an error that is no authorization error has the code 0. Omit APIs in `WRITING`, and cases for which there
    is no coordinator.
    """
    told = {}
    for number, case in enumerate(cases(topic_id)):
        if case.api in WRITING:
            continue
        errors = list(errors_of(await client.ask(case.api, case.version, case.build)))
        if not any(code in NO_COORDINATOR for _, code, _ in errors):
            told[case.api, number] = {(path, code if code in REFUSALS else 0) for path, code, _ in errors}
    return told


async def settled(client: RawClient, topic: UUID, wanted: dict[Any, Any]) -> dict[Any, Any]:
    """Return the refusals of real brokers as soon as they equal `wanted`; after `PATIENCE` seconds return the last
    ones. A broker may learn of an ACL later than another.
    """
    deadline = time.monotonic() + patience.PATIENCE
    while True:
        real = await refusals(client, topic)
        if all(real[case] == wanted[case] for case in real.keys() & wanted.keys()) or time.monotonic() > deadline:
            return real


async def test_rights_one_by_one_as_on_an_embedded_cluster(admin: RawClient, alice: RawClient) -> None:
    await create(admin, SECRET)
    (real_id,) = await seen(admin, SECRET)
    wrong = []
    async with (
        brokers.EmbeddedCluster(spec.ClusterSpec(brokers=1, super_users=frozenset())) as cluster,
        RawClient(cluster) as somebody,
    ):
        add_topic(cluster.state, SECRET, 1)
        for wanted in ONE_BY_ONE:
            await change_acls(admin, acls := rights(ALICE, *wanted))
            await patience.shortly(lambda acls=acls: knows(admin, acls))  # type: ignore[misc]
            for acl in list(cluster.state.acls):
                cluster.state.remove("acls", acl)
            for acl in rights(spec.ANONYMOUS, *wanted):
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


# -- ANY and MATCH of `list acls` find the same ACLs as the brokers' own filters; a deletion never uses them -----------

NAMES = ("a", "ab", "abc", "b", "*", "a*", "[a]")
ANY, MATCH, LITERAL, PREFIXED = (PatternType(number) for number in (1, 2, 3, 4))
TOPIC, SHOWN_GROUP = AclResourceType(2), AclResourceType(3)


@pytest.fixture
async def bindings(link: Link, name: str) -> AsyncIterator[tuple[Acl, ...]]:
    made = tuple(
        Acl(type_, resource, pattern, f"User:{name}", "*", AclOperation(operation), Permission(permission))
        for (type_, resource, pattern), operation, permission in zip(
            itertools.product((TOPIC, SHOWN_GROUP), NAMES, (LITERAL, PREFIXED)),
            itertools.cycle((2, 3, 8)),
            itertools.cycle((2, 3)),
            strict=False,
        )
    )
    outcomes = await changes.send(link, CreateAcls(made), validate_only=False)
    assert all(outcome.ok for outcome in outcomes), outcomes
    yield made
    await changes.send(link, DeleteAcls(made), validate_only=False)


async def test_any_and_match_are_the_brokers_own(link: Link, name: str, bindings: tuple[Acl, ...]) -> None:
    snapshot = Snapshot(acls=tuple(await describe_acls(link)))
    found = set()
    for type_, resource, pattern, operation in itertools.product(
        (AclResourceType(1), TOPIC),
        (None, "a", "abc", "abcd", "*", "a*", "[a]"),
        (ANY, MATCH, LITERAL, PREFIXED),
        (AclOperation(1), AclOperation(3)),
    ):
        theirs = await describe_acls(link, AclFilter(type_, resource, pattern, f"User:{name}", None, operation))
        # A name that looks like a glob is quoted.
        wanted = "" if resource is None else f"resource_name='{resource}'"
        filters = f"resource_type={type_.name} pattern_type={pattern.name} operation={operation.name} {wanted}"
        (statement,) = parse(f"list acls principal={quote(f'User:{name}')} {filters}")
        table = answer(statement, snapshot)  # type: ignore[arg-type]
        assert isinstance(table, Table)
        ours = {(row.data["resource_type"], row.data["resource_name"], row.data["pattern_type"]) for row in table.rows}
        assert ours == {(acl.resource_type.name, acl.resource_name, acl.pattern_type.name) for acl in theirs}, filters
        found.add((pattern.name, len(ours) > 1))
    assert {("ANY", True), ("MATCH", True)} <= found


@pytest.mark.parametrize(
    "broad",
    [
        {"pattern_type": ANY},
        {"pattern_type": MATCH},
        {"operation": AclOperation(1)},
        {"permission": Permission(1)},
        {"resource_type": AclResourceType(1)},
        {"resource_name": None},
        {"host": None},
    ],
    ids=lambda broad: next(iter(broad)),
)
async def test_a_filter_is_never_sent_for_a_binding(
    link: Link, bindings: tuple[Acl, ...], broad: dict[str, object]
) -> None:
    before = set(await describe_acls(link))
    wanted = bindings[0]._replace(**broad)  # type: ignore[arg-type]
    (outcome,) = await changes.send(link, DeleteAcls((wanted,)), validate_only=False)
    assert outcome.status is Status.FAILED
    assert outcome.failure is not None
    assert "would take away other ACLs too" in outcome.failure.message
    assert set(await describe_acls(link)) == before


# -- decisions of ACLs against Kafka's own StandardAuthorizer, in a JVM without a broker -------------------------------

HERE = Path(__file__).parent
TYPES = ("TOPIC", "TOPIC", "TOPIC", "GROUP", "TRANSACTIONAL_ID", "CLUSTER", "DELEGATION_TOKEN", "USER")
DECIDED_NAMES = (
    "a",
    "ab",
    "abc",
    "abd",
    "b",
    "ba",
    "-a",
    "-",
    "*",
    "*a",
    "a*",
    "kafka-cluster",
    "User:alice",
    "A",
    "é",
)
PRINCIPALS = ("User:alice", "User:bob", "User:*", "User:Alice", "Group:alice", "Group:*", "User:CN=a,O=b", "user:alice")
CLIENTS = tuple(each for each in PRINCIPALS if each != "User:*")
HOSTS = ("*", "10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1", "::1")
RANGES = ("10.0.0.0/8", "10.0.0.1/31", "10.0.0.2/32", "0.0.0.0/0", "2001:db8::/32", "::/0", "10.0.0.0/33", "10.0.0/8")
"""Hosts of ACLs: some that Kafka 4.4 treats as ranges of addresses, and some that only look like ranges."""
ADDRESSES = ("10.0.0.1", "10.0.0.2", "127.0.0.1", "::1", "::ffff:10.0.0.1", "2001:db8::5")
DECIDED_OPERATIONS = tuple(
    name for name in AclOperation.NAMES.values() if name not in ("ANY", "TWO_PHASE_COMMIT")
)  # not in 3.9
SUPER_USERS = ("", "", "User:bob", "User:bob;Group:alice")


class AclSet(NamedTuple):
    """ACLs with two broker settings, and requests to decide. is_open: allow.everyone.if.no.acl.found. super_users: as
    in the property, separated by semicolons. anywhere: requests for any resource of a type.
    """

    acls: tuple[Acl, ...]
    is_open: bool
    super_users: str
    asked: tuple[Request, ...]
    anywhere: tuple[Request, ...]


def random_sets(count: int, seed: int, hosts: Sequence[str] = HOSTS) -> Iterator[AclSet]:
    """Yield random sets of ACLs. They use few principals, operations and names, most with a common prefix, so that
    several ACLs match a request.
    """
    pick = random.Random(seed)
    for _ in range(count):
        type_ = pick.choice(TYPES)
        operations = [pick.choice(DECIDED_OPERATIONS)]
        asked_for = [
            each.name for each in OPERATIONS_OF[AclResourceType.parse(type_)] if each.name in DECIDED_OPERATIONS
        ]
        operations += [pick.choice(asked_for) for _ in range(2)]
        names = [pick.choice(DECIDED_NAMES) for _ in range(3)]
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
    """Return the output lines of Kafka's own authorizer, a line for each decision. Skips the test without a Java
    compiler. Raises AssertionError if the program fails.
    """
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
    with real_clusters.or_skip():
        flags = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        command = [java(), *flags, *compiled_java.with_ours(HERE / "AclDecisions.java", version)]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, encoding="utf-8", check=False, timeout=patience.PATIENCE
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def compared(request: Request) -> Request:
    host = address_as_compared(request.host or "")
    assert host is not None
    return request._replace(host=host)


def verdict(each: AclSet, request: Request, decision: Decision) -> str:
    """Return the result, ``ALLOWED`` or ``DENIED``, that a broker with these settings derives from a decision by
    ACLs.
    """
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
        state = ClusterState("rights", spec.release("4.4"))
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
            # The authorizer reports the first deny, or the last allow: kac's decision contains it. Without one, kac
            # reports none.
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


@pytest.mark.parametrize("version", real_clusters.by_release([KAFKA_4_3, KAFKA_3_9], KAFKA_4_3))
def test_decisions_are_those_of_kafka(version: str) -> None:
    check(version, 1_000, seed=1)


def test_ranges_of_addresses_are_those_of_kafka_4_4() -> None:
    check(RELEASES["4.4"], 1_000, seed=3, ranges=True)


@pytest.mark.long
@pytest.mark.parametrize("version", [KAFKA_4_3, KAFKA_3_9])
def test_decisions_of_5_000_sets_are_those_of_kafka(version: str) -> None:
    check(version, 5_000, seed=2)
