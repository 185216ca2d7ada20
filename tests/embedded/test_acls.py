"""Tests of ACLs on embedded clusters, and of the rights that they give."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import redirect_stderr
from io import StringIO
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from console.cli.main import BY_NAME, command_parser
from console.cli.noun_command import NounCommand
from console.cli.opening import client_of, context_of
from console.embedded import large_tables, request_pipeline, sasl, tables
from console.embedded.acls import acls_of, acls_on, matches, matching_acls
from console.embedded.authorizer import StandardAuthorizer
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.large_tables import LargeAcls
from console.embedded.scenarios import large
from console.embedded.scenarios.seed import add_topic, topic_id
from console.embedded.spec import ClusterSpec, release
from console.embedded.state import ClusterState, View
from console.model.acl import Acl, AclFilter
from console.model.authorizer import pattern_of
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from tests.embedded.raw_client import RawClient
from tests.support import acl_filters, older_brokers, rights_table, worlds
from tests.support.kafka_messages import Build, with_fields

MADE = 7
"""The number of ACLs that the scenario's source generates."""
PRINCIPALS = ("User:alice", "User:*", "User:user-000001")
NAMES = ("a", "ab", "*", "team-002.", "group-000001")
HOSTS = ("*", "10.0.0.1")
OPERATIONS = tuple(
    AclOperation.parse(name) for name in ("ALL", "READ", "DESCRIBE", "ALTER_CONFIGS", "DESCRIBE_CONFIGS")
)
TYPES = tuple(map(AclResourceType.parse, ("TOPIC", "GROUP")))
PATTERNS = tuple(map(PatternType.parse, ("LITERAL", "PREFIXED")))
PERMISSIONS = tuple(map(Permission.parse, ("DENY", "ALLOW")))

acls = st.builds(
    Acl,
    st.sampled_from(TYPES),
    st.sampled_from(NAMES),
    st.sampled_from(PATTERNS),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from(PERMISSIONS),
)
POOL = (
    *LargeAcls(MADE),
    *(
        Acl(TYPES[0], name, pattern, principal, "*", OPERATIONS[1], PERMISSIONS[1])
        for name in ("a", "ab", "*")
        for pattern in PATTERNS
        for principal in PRINCIPALS[:2]
    ),
)
filters = st.builds(
    AclFilter,
    st.sampled_from((*TYPES, AclResourceType(1), AclResourceType(1), AclResourceType(99))),
    st.sampled_from((*NAMES, "team-002.orders", "", None, None)),
    st.sampled_from((*PATTERNS, PatternType(1), PatternType(1), PatternType(2), PatternType(9))),
    st.sampled_from((*PRINCIPALS, None, None)),
    st.sampled_from((*HOSTS, None, None)),
    st.sampled_from((OPERATIONS[1], AclOperation(1), AclOperation(1))),
    st.sampled_from((PERMISSIONS[1], Permission(1), Permission(1))),
)


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
    # user-000001 may read topics that begin with team-002.; the first of each 100 such users is denied this.
    for user, name, allowed in (
        ("user-000001", "team-002.x", True),
        ("user-000001", "team-004.x", False),
        ("user-000000", "team-000.x", False),
        ("nobody", "team-002.x", False),
    ):
        assert authorizer.allows(f"User:{user}", "10.0.0.1", DESCRIBE, TOPIC, name, view) is allowed


# -- An index finds the same ACLs as a search through all of them ------------------------------------------------------

steps = st.lists(st.tuples(st.booleans(), st.sampled_from(POOL)), max_size=20)


def views_after(changes: Sequence[tuple[bool, Acl]], *, made: bool) -> list[View]:
    """Return the views of the state after each of these additions (True) and removals (False), the last one first.
    made: whether the cluster also has generated ACLs.
    """
    state = ClusterState("acls", release("4.4"))
    state.tables.acls.source = large_tables.LargeAcls(MADE) if made else None
    for is_added, acl in changes:
        if is_added:
            state.add_acl(acl)
        else:
            state.remove("acls", acl)
    return [state.view_at(offset) for offset in range(state.log.end, -1, -1)]


@given(changes=steps, made=st.booleans(), wanted=st.lists(filters, min_size=8, max_size=8))
def test_filters_find_what_matches(changes: Sequence[tuple[bool, Acl]], made: bool, wanted: list[AclFilter]) -> None:
    for view in views_after(changes, made=made):
        for each in wanted:
            assert sorted(matching_acls(each, view.acls)) == sorted(acl for acl in view.acls if matches(each, acl))


@given(changes=steps, made=st.booleans())
def test_what_is_found_by_whom_and_by_where(changes: Sequence[tuple[bool, Acl]], made: bool) -> None:
    for view in views_after(changes, made=made):
        for principal in {acl.principal for acl in POOL}:
            his = [acl for acl in view.acls if acl.principal == principal]
            assert sorted(acls_of(view.acls, principal)) == sorted(his)
        for on in set(map(pattern_of, POOL)):
            assert sorted(acls_on(view.acls, on)) == sorted(acl for acl in view.acls if pattern_of(acl) == on)


@settings(deadline=None)
@given(number=st.integers(0, 99_999))
def test_every_one_of_the_large_scenario_is_found(number: int) -> None:
    source = large_tables.LargeAcls(large.ACLS)
    acl = source._at(number)
    assert acl in set(source.of_principal(acl.principal))
    assert acl in set(source.on(pattern_of(acl)))


@pytest.mark.parametrize(
    ("wanted", "size"),
    [
        (AclFilter(principal="User:user-000001"), 2),
        (AclFilter(AclResourceType(2), "team-002.orders", PatternType(2)), 200),
        (AclFilter(resource_name="group-000001"), 1),
        (AclFilter(resource_name="nothing"), 0),
    ],
)
def test_nobody_looks_at_100_000(monkeypatch: pytest.MonkeyPatch, wanted: AclFilter, size: int) -> None:
    cluster = EmbeddedCluster(ClusterSpec(scenario="large"))
    monkeypatch.setattr(large_tables.LargeAcls, "__iter__", None)
    monkeypatch.setattr(large_tables.LargeAcls, "items", None)
    assert len(list(matching_acls(wanted, cluster.state.view.acls))) == size


def test_what_is_gone_through_may_change_meanwhile() -> None:
    state = ClusterState("acls", release("4.4"))
    state.tables.acls.source = large_tables.LargeAcls(MADE)
    walk = matching_acls(AclFilter(), state.view.acls)
    first = next(walk)
    state.remove("acls", first)
    state.add_acl(first._replace(principal="User:somebody"))
    assert len(list(walk)) == MADE - 1


# -- ACLs and SCRAM credentials over the wire, in addition to tests/contract -------------------------------------------


def binding(name: str, principal: str = "User:a") -> Acl:
    return worlds.acl(principal, "READ", "TOPIC", name)


EVERYTHING = with_fields(**acl_filters.EVERY_ACL)


def created(*names: str) -> Build:
    return with_fields(creations=[*map(binding, names)])


def deleted(*principals: str) -> Build:
    return with_fields(filters=[{**acl_filters.EVERY_ACL, "principal_filter": principal} for principal in principals])


@pytest.mark.parametrize("version", [1, 2])
async def test_acls_grouped_by_what_they_are_on(cluster: EmbeddedCluster, version: int) -> None:
    for name in ("one", "other"):
        for principal in ("User:a", "User:b"):
            cluster.state.add_acl(binding(name, principal))
    async with RawClient(cluster) as client:
        answer = await client.ask("describe_acls", version, EVERYTHING)
    assert (answer.error_code, answer.error_message) == (0, "")
    assert {on.resource_name: {acl.principal for acl in on.acls} for on in answer.resources} == {
        "one": {"User:a", "User:b"},
        "other": {"User:a", "User:b"},
    }


async def test_without_an_authorizer_there_are_no_acls() -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=1, authorizer=False)) as cluster, RawClient(cluster) as client:
        told = await client.ask("describe_acls", 2, EVERYTHING)
        assert (told.error_code, told.error_message) == (54, "No Authorizer is configured on the broker")
        told = await client.ask("create_acls", 2, created("a", "b"))
        disabled = (54, "No Authorizer is configured.")
        assert [(result.error_code, result.error_message) for result in told.results] == [disabled] * 2
        told = await client.ask("delete_acls", 2, deleted("User:a"))
        assert [(result.error_code, result.error_message) for result in told.filter_results] == [disabled]


@pytest.mark.parametrize("versions", ["3.9", "4.4"])
async def test_a_controller_takes_so_many_acls_in_one_change(versions: str) -> None:
    names = [f"t{number}" for number in range(10_001)]
    async with EmbeddedCluster(ClusterSpec(brokers=1, versions=versions)) as cluster, RawClient(cluster) as client:
        told = await client.ask("create_acls", 2, created("", *names))
        errors = [(result.error_code, result.error_message) for result in told.results]
        assert errors[0] == (42, "Invalid empty resource name")
        refused = (44, "Unable to perform excessively large batch operation.")
        assert set(errors[1:]) == {refused}
        assert len(cluster.state.acls) == 0
        for name in names:
            cluster.state.add_acl(binding(name))
        told = await client.ask("delete_acls", 2, deleted("User:a"))
        (result,) = told.filter_results
        assert (result.error_code, result.error_message) == {
            "3.9": (-1, None),
            "4.4": (42, "Cannot remove more than 10000 acls in a single delete operation."),
        }[versions]
        assert len(cluster.state.acls) == len(names)


def altered(*upsertions: tuple[str, int], deletions: tuple[tuple[str, int], ...] = ()) -> Build:
    salted = {1: hashlib.pbkdf2_hmac("sha256", b"pw", b"salt", 4096), 2: b"x" * 64}
    rows = [(user, mechanism, 4096, b"salt", salted[mechanism]) for user, mechanism in upsertions]
    return with_fields(deletions=deletions, upsertions=rows)


async def test_a_credential_is_that_of_the_password(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        answer = await client.ask("alter_user_scram_credentials", 0, altered(("alice", 1)))
    assert [(result.user, result.error_code, result.error_message) for result in answer.results] == [("alice", 0, None)]
    expected = sasl.credential_of("pw", sasl.ScramHash.SHA_256, salt=b"salt")
    assert cluster.state.scram == {tables.ScramKey("alice", sasl.ScramHash.SHA_256): expected}


async def test_nothing_is_lost_beside_a_deletion(cluster: EmbeddedCluster) -> None:
    """If a request sets a SCRAM credential and deletes the last other one, the embedded cluster keeps the new
    credential. Real brokers of 3.9 and 4.3 lose it.
    """
    async with RawClient(cluster) as client:
        await client.ask("alter_user_scram_credentials", 0, altered(("alice", 1)))
        answer = await client.ask("alter_user_scram_credentials", 0, altered(("bob", 1), deletions=(("alice", 1),)))
    assert {result.user: result.error_code for result in answer.results} == {"alice": 0, "bob": 0}
    assert [key.user for key in cluster.state.scram] == ["bob"]


async def test_credentials_need_a_metadata_version(cluster: EmbeddedCluster) -> None:
    cluster.state.set_feature("metadata.version", 10)
    async with RawClient(cluster) as client:
        answer = await client.ask("alter_user_scram_credentials", 0, altered(("alice", 1)))
    message = "The current metadata.version does not support SCRAM"
    assert [(result.error_code, result.error_message) for result in answer.results] == [(35, message)]


async def test_all_credentials_are_never_told_to_who_may_not_know() -> None:
    spec = ClusterSpec(brokers=1, super_users=frozenset())
    async with EmbeddedCluster(spec) as cluster, RawClient(cluster) as client, RawClient(cluster) as other:
        client.request("describe_user_scram_credentials", 0, with_fields(users=None))
        await other.ask("list_groups", 4, with_fields(states_filter=[]))
        answered = asyncio.ensure_future(client.frame())
        for _ in range(3):  # other clients are answered at the same time
            await other.ask("list_groups", 4, with_fields(states_filter=[]))
        assert not answered.done()
        answered.cancel()


# -- Every API refuses a client without rights as a real broker does (tests/broker/test_rights.py) ---------------------

CASES = rights_table.cases(topic_id(rights_table.SECRET))
OPEN_TO_ALL = {"sasl_handshake", "sasl_authenticate"}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case.api}-{case.version}")
def case(request: pytest.FixtureRequest) -> rights_table.Case:
    found: rights_table.Case = request.param
    return found


@pytest.fixture
async def client() -> AsyncIterator[RawClient]:
    """Provide a client without a login, on a cluster that gives such clients no rights."""
    async with EmbeddedCluster(ClusterSpec(brokers=1, super_users=frozenset())) as cluster:
        add_topic(cluster.state, rights_table.SECRET, 1)
        async with RawClient(cluster) as client:
            yield client


def expected(case: rights_table.Case) -> list[rights_table.Error]:
    """Return the errors that a case of the table should give here. Requests about delegation tokens have other
    errors than in the table, because the client here has no login; the table's client has a certificate, and its
    brokers lack the secret key for tokens.
    """
    if case.api.endswith("_delegation_token"):
        return [("", ErrorCode.delegation_token_request_not_allowed, rights_table.NO_PLACE)]
    return list(case.errors)


async def test_nothing_may_be_done(client: RawClient, case: rights_table.Case) -> None:
    answer = await client.ask(case.api, case.version, case.build)
    assert sorted(rights_table.errors_of(answer), key=repr) == sorted(expected(case), key=repr)


def test_every_api_is_in_the_table() -> None:
    assert request_pipeline.handled_apis() - OPEN_TO_ALL == {case.api for case in CASES}


# -- `kac acls --explain` and `explain` in a script, on embedded clusters: output and exit codes -----------------------


@pytest.fixture(scope="module", params=["4.4", "3.9", "2.8"])
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    with run_in_thread(older_brokers.like(request.param, brokers=1)) as cluster:
        address = cluster.call(lambda each: each.bootstrap)
        kac(address, "--add --deny-principal User:bob --operation WRITE --topic orders --deny-host 10.0.0.1")
        kac(address, "--add --allow-principal User:bob --operation WRITE --topic ord --resource-pattern-type prefixed")
        yield address


def kac(bootstrap: str, line: str) -> tuple[int, str, str]:
    """Run the command line `kac acls …`; return the exit code, the output and the errors."""
    out, err = StringIO(), StringIO()
    command = BY_NAME["acls"]
    options = command_parser(command).parse_args(["-b", bootstrap, *line.split()])
    with redirect_stderr(err):
        code = NounCommand(BY_NAME["acls"].noun(), options, out=out, err=err).run(
            lambda: context_of(options), client_of
        )
    return code, out.getvalue(), err.getvalue()


def test_an_answer_in_text_and_its_exit_code(bootstrap: str) -> None:
    code, out, err = kac(bootstrap, "--explain User:bob WRITE,DESCRIBE topic orders from 10.0.0.1 --exit-code")
    assert (code, err) == (3, "")
    assert [line.split() for line in out.splitlines()[:4]] == [
        ["User:bob", "on", "topic", "orders,", "from", "10.0.0.1"],
        ["Operation", "Answer", "By"],
        ["WRITE", "denied", "deny", "User:bob", "WRITE", "on", "topic", "orders", "from", "10.0.0.1"],
        ["DESCRIBE", "allowed", "allow", "User:bob", "WRITE", "on", "topic", "ord", "prefixed"],
    ]
    assert kac(bootstrap, "--explain User:bob WRITE on topic orders from 10.0.0.2 --exit-code")[0] == 0
    # bob is denied from one host, so he is not allowed from everywhere.
    assert kac(bootstrap, "--explain User:bob WRITE topic orders --exit-code")[0] == 3
    assert kac(bootstrap, "--explain User:bob WRITE topic orders")[0] == 0


def test_an_answer_as_json(bootstrap: str) -> None:
    code, out, _ = kac(bootstrap, "--explain User:x READ group g --output json")
    (row,) = json.loads(out)["explanation"]
    assert code == 0
    assert (row["allowed"], row["by"], row["unless"]) == (False, [], ["super.users", "allow.everyone.if.no.acl.found"])


@pytest.mark.parametrize(
    ("line", "code", "complaint"),
    [
        ("--explain User:x READ", 2, "--explain needs PRINCIPAL OPERATION RESOURCE"),
        ("--explain User:x READ grup g", 2, "'grup' is no type of resource"),
        ("--explain User:x READ topic", 2, "the NAME of one topic is missing"),
        ("--explain User:x READ topic t --remove", 2, "remove and explain are two commands"),
        ("--list --exit-code", 2, "--exit-code needs --explain"),
        ("--explain User:x WRITE group g", 1, "Kafka never checks WRITE on a group"),
        ("--explain User:x READ group g from web1", 1, "'web1' is not an address"),
    ],
)
def test_what_is_not_answered(bootstrap: str, line: str, code: int, complaint: str) -> None:
    found, out, err = kac(bootstrap, line)
    assert (found, out) == (code, "")
    assert complaint in err


def test_a_principal_without_a_type_is_answered_with_what_may_be_meant(bootstrap: str) -> None:
    """`--explain` accepts a principal without a type, because some releases accept such ACLs, and proposes the
    principal with the type User.
    """
    code, out, err = kac(bootstrap, "--explain x READ topic t")
    assert (code, err) == (0, "")
    assert out.startswith("x on topic t, ")
    assert "User:x?" in out


def test_without_an_authorizer() -> None:
    with run_in_thread(ClusterSpec(brokers=1, authorizer=False)) as cluster:
        address = cluster.call(lambda each: each.bootstrap)
        assert (
            "the brokers have no authorizer: everyone may do everything"
            in kac(address, "--explain User:x READ topic t")[2]
        )
