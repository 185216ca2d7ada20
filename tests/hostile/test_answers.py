"""Tests of clusters whose answers make no progress or never come, or that would treat a read or a validation as a
change.
"""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType
from kio.static.primitive import i32Timedelta

from console.admin import metadata_log, transactions
from console.admin.changes import send
from console.admin.errors import AdminError, BadAnswer, NotSendable, ReadOnly, Unreachable
from console.admin.groups import describe_groups, find_coordinators, group_positions, poll_groups
from console.admin.link import CONTROLLER, Link
from console.admin.replicas import _eligible
from console.admin.settings import ConnectionSettings, SaslSettings, TlsSettings
from console.embedded import brokers, group_coordinator
from console.embedded.groups import Group
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model import acl, secret
from console.model.changes import CommitOffsets, DeleteGroups, GroupOffsetTarget, Status, UpdateFeatures
from console.model.cluster import CommittedOffset
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.wire.aiokafka_request import READS, AiokafkaRequest
from console.wire.fields import for_version
from console.wire.frames import decode_request, encode_body
from console.wire.schemas import BY_VERSION, api_key, messages
from tests.hostile.cluster import HostileCluster, hostile_cluster
from tests.hostile.test_limits import run_kac
from tests.support import worlds
from tests.support.kafka_messages import response, with_fields
from tests.support.looks import ABSENT, look_at_everything
from tests.support.patience import PATIENCE
from tests.support.requests_of_kafka import request_type
from tests.wire.fake_broker import KRAFT, Conversation, FakeBroker, Received
from tests.wire.samples import sample, written

FETCH, FETCH_SNAPSHOT = api_key("fetch"), api_key("fetch_snapshot")
VERSIONS = {FETCH: (0, 17), FETCH_SNAPSHOT: (0, 1)}
NOTHING = i32Timedelta.parse(timedelta(0))
MOST = 40
"""The maximum number of requests for pages that kac may send. An endless loop would send far more."""


class Controller:
    """Answers Fetch and FetchSnapshot of the metadata log with fixed offsets. Raises AssertionError at the `MOST`-th
    request.
    """

    def __init__(self, *, high_watermark: int = 0, snapshot: int = -1, size: int = 0) -> None:
        self.high_watermark, self.snapshot, self.size = high_watermark, snapshot, size
        self.asked = 0

    async def __call__(self, conversation: Conversation, request: Received) -> None:
        self.asked += 1
        assert self.asked < MOST, "it is asked for ever"
        found = messages(request.key, request.version)
        assert found is not None
        answer = self._fetched(found.schema) if request.key == FETCH else self._piece(found.schema)
        await conversation.answer(request, encode_body(found.response, answer))

    def _fetched(self, kio: Any) -> Any:
        part = {
            "partition_index": 0,
            "error_code": ErrorCode.none,
            "high_watermark": self.high_watermark,
            "snapshot_id": (self.snapshot, 1),
            "aborted_transactions": None,
            "records": None,
        }
        topics = [{"topic_id": metadata_log.TOPIC_ID, "partitions": [part]}]
        return response(kio, throttle_time=0, error_code=ErrorCode.none, session_id=0, responses=topics)

    def _piece(self, kio: Any) -> Any:
        self.size += bool(self.size)
        code = ErrorCode.none if self.size else ErrorCode.snapshot_not_found
        part = {"index": 0, "error_code": code, "snapshot_id": (self.snapshot, 1), "current_leader": (1, 1)}
        part |= {"size": self.size, "position": 0, "unaligned_records": b"x"}
        return response(kio, throttle_time=0, error_code=ErrorCode.none, topics=[(metadata_log.TOPIC, [part])])


@asynccontextmanager
async def log_of(controller: Controller) -> AsyncIterator[metadata_log.ControllerLog]:
    async with FakeBroker(controller, versions={**KRAFT, **VERSIONS}) as alive, asyncio.timeout(PATIENCE):
        link = Link(ConnectionSettings((alive.address,)))
        log = metadata_log.ControllerLog(link, [alive.address])
        try:
            yield log
        finally:
            await log.close()
            await link.close()


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        (
            Controller(high_watermark=12),
            "returns no whole batch from offset 5 on, though .* up to 12",
        ),
        (Controller(snapshot=9), "names a snapshot at offset 9, and does not have it"),
        (Controller(snapshot=9, size=2), "stopped at byte 1 of a snapshot of 4|stopped at byte 2 of a snapshot of 4"),
    ],
    ids=["no batch below what is committed", "a snapshot that is never there", "a snapshot that grows with each piece"],
)
async def test_a_metadata_log_that_does_not_go_on(controller: Controller, said: str) -> None:
    async with log_of(controller) as log:
        with pytest.raises(BadAnswer, match=said):
            await log.read(5)


@pytest.mark.parametrize("goes_on", [True, False])
async def test_pages_that_name_the_next_one_and_have_nothing(hostile: HostileCluster, goes_on: bool) -> None:
    """If each page is empty or the same and names a next page, kac stops after fewer than `MOST` pages. goes_on:
    whether the named next page changes.
    """
    hostile.embedded.call(lambda c: [c.state.put_topic(new_topic(name, striped([1], 2, 1), [1])) for name in "ab"])

    def empty(kio: Any, answer: Any) -> Any:
        pages = sum(asked.key == api_key("describe_topic_partitions") for asked in hostile.asked)
        assert pages < MOST, "it is asked for ever"
        at = kio.Cursor(topic_name="a", partition_index=pages if goes_on else 1)
        return replace(answer, topics=() if goes_on else answer.topics, next_cursor=at)

    hostile.rewrite("describe_topic_partitions", empty)
    async with worlds.linked(ConnectionSettings(tuple(hostile.addresses.values()))) as link:
        async with asyncio.timeout(PATIENCE):
            found = await _eligible(link, [("a", 0), ("b", 0)])
    assert set(found) <= {("a", 0), ("b", 0)}
    assert 1 <= sum(asked.key == api_key("describe_topic_partitions") for asked in hostile.asked) < MOST


# -- A broker that accepts connections and never answers: kac does not call it "no Kafka listener" ---------------------

SINCE = re.compile(r"since \d\d:\d\d:\d\d$")


@asynccontextmanager
async def silent() -> AsyncIterator[tuple[str, int]]:
    """Yield the (host, port) of a listener that accepts connections and sends nothing."""
    done = asyncio.Event()

    async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[:2]
        done.set()


async def failed(settings: ConnectionSettings) -> AdminError:
    async with worlds.linked(settings) as link:
        with pytest.raises(AdminError) as raised:
            await link.nodes()
        return raised.value


@pytest.mark.parametrize(
    ("protocol", "asked"),
    [("PLAINTEXT", "the first request"), ("SASL_PLAINTEXT", "the first request"), ("SSL", "the TLS handshake")],
)
async def test_a_listener_that_says_nothing_is_said_to_hang(protocol: str, asked: str) -> None:
    async with silent() as address:
        error = await failed(
            ConnectionSettings(
                (address,),
                protocol,
                sasl=SaslSettings("PLAIN", "ops", secret.Secret("x")) if protocol.startswith("SASL") else None,
                tls=TlsSettings() if protocol == "SSL" else None,
                connect_timeout=0.3,
            )
        )
    assert isinstance(error, Unreachable)
    assert (
        f"{address[0]}:{address[1]}: something listens there, but it does not answer {asked}" in error.failure.message
    )
    assert SINCE.search(error.failure.message)
    assert "look at its process" in error.failure.remedy
    assert "check the port" in error.failure.remedy


@pytest.mark.parametrize("api", ["sasl_handshake", "sasl_authenticate"])
async def test_a_broker_that_hangs_at_the_login_does_not_refuse_it(api: str) -> None:
    with hostile_cluster(ClusterSpec(brokers=1, sasl=SaslSpec(plain={"ops": secret.Secret("x")}))) as cluster:
        cluster.hang(api)
        error = await failed(
            ConnectionSettings(
                (cluster.addresses[1],),
                "SASL_PLAINTEXT",
                sasl=SaslSettings("PLAIN", "ops", secret.Secret("x")),
                connect_timeout=0.5,
            )
        )
    assert isinstance(error, Unreachable)
    assert "does not answer SASL authentication" in error.failure.message


async def test_nothing_that_listens_is_still_said_so() -> None:
    async with silent() as address:
        pass
    error = await failed(ConnectionSettings((address,), connect_timeout=1.0))
    assert "nothing listens there" in error.failure.message


def test_a_command_says_it(hostile: HostileCluster) -> None:
    hostile.hang()
    result = run_kac("topics", "-b", hostile.bootstrap, "--list", timeout=PATIENCE)
    assert result.returncode == 1
    assert "something listens there, but it does not answer" in result.stderr
    assert "no Kafka" not in result.stderr


# -- Reads create no topics on a cluster: neither the coordinators' topics nor a requested topic -----------------------

ALICE = "User:alice"


def topics(cluster: brokers.ThreadedCluster) -> set[str]:
    return cluster.call(lambda each: set(each.state.topics))


async def test_all_that_looks_leaves_a_fresh_cluster_as_it_is() -> None:
    with brokers.run_in_thread(ClusterSpec(brokers=1)) as cluster:
        assert topics(cluster) == set()
        await look_at_everything(cluster.bootstrap)
        assert topics(cluster) == set()
        asked = cluster.call(lambda each: each.counters.total("find_coordinator").requests)
        assert asked == 0


def link_to(cluster: brokers.ThreadedCluster, **settings: Any) -> Link:
    return Link(ConnectionSettings(tuple(cluster.call(lambda each: list(each.addresses.values()))), **settings))


async def test_what_is_asked_for_is_absent_and_a_change_still_finds_its_coordinator() -> None:
    with brokers.run_in_thread(ClusterSpec(brokers=1)) as cluster:
        link = link_to(cluster)
        try:
            for listing in (await describe_groups(link, [ABSENT]), await poll_groups(link, [ABSENT])):
                assert {name: why.name for name, why in listing.failures.items()} == {ABSENT: "GROUP_ID_NOT_FOUND"}
            positions, failures = await group_positions(link, [ABSENT])
            assert (positions[ABSENT].group, failures) == (None, {})
            found = await transactions.describe_transactions(link, [ABSENT])
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
    with brokers.run_in_thread(ClusterSpec(brokers=1)) as cluster:
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
    def fill(each: brokers.EmbeddedCluster) -> None:
        for type_, name in ((AclResourceType.parse("GROUP"), "*"), (AclResourceType.parse("CLUSTER"), "kafka-cluster")):
            literal, allow = PatternType.parse("LITERAL"), Permission.parse("ALLOW")
            each.state.add_acl(acl.Acl(type_, name, literal, ALICE, "*", AclOperation.parse("DESCRIBE"), allow))
        for name in groups:
            group_coordinator.ensure_topic(each.state)
            each.state.groups[name] = Group(name, protocol_type="consumer", written=True)

    password = secret.Secret("alices-password")
    spec = ClusterSpec(brokers=1, sasl=SaslSpec(plain={"alice": password}), super_users=frozenset({"User:admin"}))
    with brokers.run_in_thread(spec) as cluster:
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


# -- Checks and reads are sent only if the request's bytes change nothing, whichever broker gets them ------------------

CHECKED = {
    *("alter_client_quotas", "alter_configs", "create_partitions", "create_topics", "incremental_alter_configs"),
    "update_features",
}
"""APIs with a validate-only form. UpdateFeatures has this field since version 1."""
REQUESTS = [
    (api, version)
    for api, versions in sorted(BY_VERSION.items())
    for version in versions
    if isinstance(version, int) and EntityType.response in versions[version]
]
"""(API, version) of each request that kac's client can encode."""


def encoded(api: str, version: int, **values: Any) -> AiokafkaRequest:
    made = sample(request_type(api, version), 0)
    return AiokafkaRequest(api, version, lambda _: replace(made, **values), encode=partial(written, type(made)))


def test_what_may_change_something_is_told_by_the_bytes() -> None:
    assert len(REQUESTS) > 250
    for api, version in REQUESTS:
        told_by_the_bytes(api, version)


def told_by_the_bytes(api: str, version: int) -> None:
    type_ = request_type(api, version)
    flags = {field.name for field in fields(type_)} & {"validate_only", "allow_auto_topic_creation"}
    for values in itertools.product((False, True), repeat=len(flags)):
        request = encoded(api, version, **dict(zip(flags, values, strict=True)))
        sent = decode_request(type_, request.body)
        if api == "metadata":
            assert request.may_change() == getattr(sent, "allow_auto_topic_creation", True)
        elif api in CHECKED:
            assert request.may_change() != getattr(sent, "validate_only", False)
        else:
            assert not flags
            assert request.may_change() != (api in READS)


def test_no_api_that_reads_is_called_as_one_that_changes() -> None:
    words = (
        "describe",
        "list",
        "fetch",
        "find",
        "api_versions",
        "offset_fetch",
        "offset_for",
        "consumer_group_describe",
    )
    assert all(api.startswith(words) or api.endswith("_describe") for api in READS), "look at what it does"
    assert set(BY_VERSION) >= READS


def linked(cluster: HostileCluster, **settings: Any) -> AbstractAsyncContextManager[Link]:
    return worlds.linked(worlds.settings(cluster, **settings))


def only_version_0_from_the_second_connection_on(cluster: HostileCluster) -> None:
    """List only version 0 of UpdateFeatures, from the second answer to ApiVersions on. This happens during an
    upgrade: the broker that gets a request is not the one that listed its versions.
    """
    asked = itertools.count()

    def older(_kio: Any, answer: Any) -> Any:
        if not next(asked):
            return answer
        keys = tuple(
            replace(each, max_version=0) if each.api_key == api_key("update_features") else each
            for each in answer.api_keys
        )
        return replace(answer, api_keys=keys)

    cluster.rewrite("api_versions", older)


async def test_a_check_of_features_is_never_sent_in_a_version_that_only_changes(hostile: HostileCluster) -> None:
    only_version_0_from_the_second_connection_on(hostile)
    before = hostile.embedded.call(lambda each: dict(each.state.features))
    wanted = UpdateFeatures({"share.version": 0}, frozenset({"share.version"}))
    async with linked(hostile) as link:
        with pytest.raises(NotSendable, match="update_features in version 0") as refused:
            await send(link, wanted, validate_only=True)
    assert "Nothing was sent" in refused.value.failure.remedy
    assert api_key("update_features") not in {asked.key for asked in hostile.asked}
    assert hostile.embedded.call(lambda each: dict(each.state.features)) == before


@pytest.mark.parametrize("api", sorted({"create_topics", "delete_topics", "offset_commit", "init_producer_id"}))
async def test_a_link_that_reads_refuses_what_changes_whatever_it_is_called(hostile: HostileCluster, api: str) -> None:
    def build(kio: ModuleType) -> Any:
        (type_,) = (getattr(kio, name) for name in dir(kio) if name.endswith("Request") and name[:-7] in camel(api))
        return sample(type_, 0) if api != "create_topics" else for_version(type_, **named(kio), validate_only=False)

    async with linked(hostile, read_only=True) as link:
        with pytest.raises(ReadOnly):
            await link.call(api, build, to=CONTROLLER)
    assert api_key(api) not in {asked.key for asked in hostile.asked}


async def test_metadata_that_makes_topics_is_refused(hostile: HostileCluster) -> None:
    named = [{"name": "planted", "topic_id": None}]
    build = with_fields(topics=named, allow_auto_topic_creation=True, include_topic_authorized_operations=False)
    async with linked(hostile) as link:
        with pytest.raises(NotSendable, match="metadata"):
            await link.call("metadata", build)
        with pytest.raises(NotSendable, match="metadata"):
            await link.call_apart(next(iter(hostile.addresses.values())), "metadata", build, 10)
    assert "planted" not in hostile.embedded.call(lambda each: set(each.state.topics))


def camel(api: str) -> str:
    return "".join(part.capitalize() for part in api.split("_"))


def named(kio: ModuleType) -> dict[str, Any]:
    return {"topics": (sample(kio.CreatableTopic, 0),), "timeout": sample(kio.CreateTopicsRequest, 0).timeout}
