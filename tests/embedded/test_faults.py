"""Tests of all faults that the embedded cluster can inject, and of changes under such faults."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType

from console.admin import topics
from console.admin.changes import send
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.embedded import apis, faults, request_pipeline, spec
from console.embedded import faults as embedded_faults
from console.embedded.answers import error_answer
from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.state import ClusterState, answering
from console.model import changes, codes
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.plan.edits import SetConfig
from console.plan.reconcile import ApplyOptions
from console.session.session import Session
from console.wire.frames import decode_body, encode_body
from console.wire.schemas import BY_VERSION, api_key, messages
from tests.embedded.raw_client import RawClient, framed, header
from tests.embedded.test_cluster import add_topic
from tests.support import changing, cutting_proxy, kafka_messages, manual_clock, older_brokers, patience, worlds
from tests.support.cutting_proxy import Cut as Lose
from tests.support.recorded_requests import Recording, load, replay
from tests.wire.samples import sample

ERRORS_OF_DIRECTORIES_ONLY = {("describe_log_dirs", 1), ("describe_log_dirs", 2)}
"""(API, version) whose responses have no field for an error of the whole request."""


def share_on(module: ModuleType) -> Any:
    """Return an UpdateFeatures request of a kio module that changes a level, so that its effect can be seen."""
    update = module.FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2)
    return module.UpdateFeaturesRequest(feature_updates=(update,))


all_topics = kafka_messages.with_fields(topics=None)


def some_topics(*names: str) -> Any:
    return kafka_messages.with_fields(topics=names, allow_auto_topic_creation=False)


async def test_an_error_for_the_third_request_of_one_broker(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(
        embedded_faults.Fault(
            embedded_faults.Fail(ErrorCode.request_timed_out, "later"), "describe_quorum", broker=1, nth=3
        )
    )
    codes = []
    async with RawClient(cluster, 1) as client, RawClient(cluster, 2) as other:
        for _ in range(4):
            answer = await client.ask("describe_quorum", 2, kafka_messages.with_fields(topics=[]))
            codes.append((answer.error_code, answer.error_message))
            elsewhere = await other.ask("describe_quorum", 2, kafka_messages.with_fields(topics=[]))
            assert elsewhere.error_code == 0
    assert codes == [(0, ""), (0, ""), (7, "later"), (0, "")]


@pytest.mark.parametrize("moment", embedded_faults.Moment)
async def test_a_change_that_took_effect_or_not_before_the_connection_was_cut(
    cluster: EmbeddedCluster, moment: embedded_faults.Moment
) -> None:
    cluster.faults.add(embedded_faults.Fault(embedded_faults.Cut(moment), "update_features", times=1))
    async with RawClient(cluster) as client:
        client.request("update_features", 1, share_on)
        assert await client.rest() == b""
    if moment is embedded_faults.Moment.AFTER:
        assert "share.version" not in cluster.state.features
        assert cluster.counters.total("update_features") == (1, cluster.counters.total().bytes_in, 0)
    else:
        assert cluster.state.features["share.version"] == 2


async def test_half_a_frame(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(header(18, 0)))
        whole = framed(await client.frame())
        cluster.faults.add(embedded_faults.Fault(embedded_faults.HalfFrame()))
        client.send(framed(header(18, 0)))
        assert await client.rest() == whole[: len(whole) // 2]


async def test_garbage_in_a_frame_and_in_place_of_one(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(header(18, 0)))
        whole = await client.frame()
        cluster.faults.add(embedded_faults.Fault(embedded_faults.Garbage(), nth=1))
        cluster.faults.add(embedded_faults.Fault(embedded_faults.Garbage(whole_frame=True), nth=2))
        client.send(framed(header(18, 0)))
        spoiled = await client.frame()
        assert (spoiled[:4], len(spoiled)) == (whole[:4], len(whole))
        assert spoiled[4:] != whole[4:]
        client.send(framed(header(18, 0)))
        nonsense = await client.reader.readexactly(len(whole) + 4)
        assert nonsense[:4] != struct.pack(">i", len(whole))


async def test_throttling_is_told_and_holds_the_next_request() -> None:
    async with EmbeddedCluster() as cluster, RawClient(cluster) as client:
        cluster.faults.add(embedded_faults.Fault(embedded_faults.Throttle(0.2), "metadata", times=1))
        build = some_topics()
        assert (await client.ask("metadata", 5, build)).throttle_time == timedelta(milliseconds=200)
        began = asyncio.get_running_loop().time()
        assert (await client.ask("metadata", 5, build)).throttle_time == timedelta(0)
        assert asyncio.get_running_loop().time() - began >= 0.15


async def test_a_delay_waits_for_the_clusters_own_time() -> None:
    clock = manual_clock.ManualClock()
    async with EmbeddedCluster(clock=clock) as cluster, RawClient(cluster) as client, RawClient(cluster) as other:
        cluster.faults.add(embedded_faults.Fault(embedded_faults.Delay(60.0), times=1))
        client.request("metadata", 1, all_topics)
        async with asyncio.timeout(patience.PATIENCE):
            await clock.asleep()
        assert (await other.ask("metadata", 1, all_topics)).topics == ()
        clock.advance(60.0)
        assert await client.frame()


async def test_the_controller_moves(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(embedded_faults.Fault(embedded_faults.MoveController(), "describe_quorum"))
    quorum = struct.pack(">hhi", 55, 2, 1) + b"\x00\x01x\x00" + b"\x02\x13__cluster_metadata\x02" + bytes(6) + b"\x00"
    async with RawClient(cluster) as client:
        for leader in (2, 3, 1):
            client.send(framed(quorum))
            assert await client.frame()
            assert cluster.state.controller_id == leader


async def test_a_broker_goes_down_and_comes_back() -> None:
    """A broker that goes down is fenced when its session of 9 s ends, and is unfenced when it comes back."""
    clock = manual_clock.ManualClock()
    async with EmbeddedCluster(clock=clock) as cluster, RawClient(cluster, 1) as client:
        cluster.faults.add(embedded_faults.Fault(embedded_faults.BrokerDown(2, 20.0), "metadata", times=1))
        cluster.faults.add(embedded_faults.Fault(embedded_faults.BrokerDown(seconds=5.0), "api_versions", times=1))
        answer = await client.ask("metadata", 1, all_topics)
        assert [broker.node_id for broker in answer.brokers] == [1, 2, 3]
        assert answering(cluster.state) == (1, 3)
        async with asyncio.timeout(patience.PATIENCE):
            await clock.asleep()
            clock.advance(9.0)
            while cluster.state.alive() != (1, 3):  # noqa: ASYNC110 - no event shows it
                await asyncio.sleep(0)
        answer = await client.ask("metadata", 1, all_topics)
        assert [broker.node_id for broker in answer.brokers] == [1, 3]
        clock.advance(11.0)
        await cluster.settled()
        answer = await client.ask("metadata", 1, all_topics)
        assert [broker.node_id for broker in answer.brokers] == [1, 2, 3]
        client.send(framed(header(18, 0)))
        assert await client.rest() == b""
        async with asyncio.timeout(patience.PATIENCE):
            await clock.asleep()
        assert answering(cluster.state) == (2, 3)


async def test_some_of_a_batch_fail_and_the_others_are_done(cluster: EmbeddedCluster) -> None:
    for name in ("a", "b", "c", "d"):
        add_topic(cluster, name)
    cluster.faults.add(embedded_faults.Fault(embedded_faults.FailSome(29), "metadata", nth=1))
    cluster.faults.add(embedded_faults.Fault(embedded_faults.FailSome(29, names=frozenset({"a"})), "metadata", nth=2))
    async with RawClient(cluster) as client:
        answer = await client.ask("metadata", 5, some_topics("a", "b", "c", "d"))
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [("a", 0), ("b", 29), ("c", 0), ("d", 29)]
        answer = await client.ask("metadata", 5, some_topics("a", "b"))
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [("a", 29), ("b", 0)]


async def test_somebody_else_changes_the_cluster_first(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(embedded_faults.parse_fault("api=metadata,meanwhile=topic/t/retention.ms=1000,times=1"))
    cluster.faults.add(
        embedded_faults.Fault(
            embedded_faults.Meanwhile(lambda state: state.set_feature("share.version", 0)), "metadata"
        )
    )
    async with RawClient(cluster) as client:
        await client.ask("metadata", 1, all_topics)
    assert cluster.state.configs[topic_resource("t")] == {"retention.ms": "1000"}
    assert "share.version" not in cluster.state.features


def test_the_same_seed_gives_the_same_faults() -> None:
    def run(seed: int) -> list[bool]:
        faults = embedded_faults.Faults(seed)
        faults.add(embedded_faults.Fault(embedded_faults.HalfFrame(), probability=0.5))
        return [bool(faults.meet("metadata", 1, "x")) for _ in range(64)]

    assert run(1) == run(1) != run(2)
    assert 16 < sum(run(1)) < 48


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("api=CreateTopics,error=NOT_CONTROLLER", embedded_faults.Fault(embedded_faults.Fail(41), "create_topics")),
        (
            "api=create-topics,error=87,broker=2,nth=3",
            embedded_faults.Fault(embedded_faults.Fail(87), "create_topics", 2, nth=3),
        ),
        ("error=INVALID_TOPIC_EXCEPTION", embedded_faults.Fault(embedded_faults.Fail(17))),
        ("not-controller,times=2,client=kac", embedded_faults.Fault(embedded_faults.Fail(41), client="kac", times=2)),
        ("delay=500ms,p=0.25", embedded_faults.Fault(embedded_faults.Delay(0.5), probability=0.25)),
        ("cut=after", embedded_faults.Fault(embedded_faults.Cut(embedded_faults.Moment.AFTER))),
        ("half-frame", embedded_faults.Fault(embedded_faults.HalfFrame())),
        ("garbage=frame", embedded_faults.Fault(embedded_faults.Garbage(True))),
        ("throttle=2s", embedded_faults.Fault(embedded_faults.Throttle(2.0))),
        ("move-controller=3", embedded_faults.Fault(embedded_faults.MoveController(3))),
        ("down=2,for=1m", embedded_faults.Fault(embedded_faults.BrokerDown(2, 60.0))),
        ("down", embedded_faults.Fault(embedded_faults.BrokerDown(None, 5.0))),
        (
            "api=alter_configs,fail-some=INVALID_CONFIG",
            embedded_faults.Fault(embedded_faults.FailSome(40), "alter_configs"),
        ),
    ],
)
def test_faults_as_text(text: str, fault: embedded_faults.Fault) -> None:
    assert embedded_faults.parse_fault(text) == fault


@pytest.mark.parametrize(
    "text",
    [
        "", "nonsense", "api=metadata", "api=nothing,half-frame", "half-frame,garbage", "error=NO_SUCH", "delay=soon",
        "cut=sometime", "p=2,half-frame", "nth=0,half-frame", "for=1s,half-frame", "meanwhile=topic", "api=a,api=b",
        "meanwhile=house/a/b=1", "broker=x,half-frame",
    ],
)  # fmt: skip
def test_text_that_is_no_fault(text: str) -> None:
    with pytest.raises(embedded_faults.FaultSyntax):
        embedded_faults.parse_fault(text)


@pytest.mark.parametrize("api", sorted(request_pipeline.handled_apis()))
def test_every_api_can_be_answered_with_an_error(api: str) -> None:
    """For each version of each API, an injected error is in the response to a sample request."""
    for version, kinds in BY_VERSION[api].items():
        module_name, _, name = kinds[EntityType.request].partition(":")
        found = messages(_key(api), version)
        assert found is not None
        request = sample(found.request, 1)
        answer = error_answer(request, found, 9999, "why")
        assert answer is not None, (module_name, name)
        body = encode_body(found.response, answer)
        if (api, version) not in ERRORS_OF_DIRECTORIES_ONLY:
            assert struct.pack(">h", 9999) in body, (api, version)
        assert asdict(decode_body(found.response, body)) == asdict(answer)


def _key(api: str) -> int:
    from console.wire.schemas import api_key

    return api_key(api)


async def test_a_recording_is_saved_and_replayed(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    recording = Recording()
    recording.attach(cluster.pipeline)
    async with RawClient(cluster, 1) as client, RawClient(cluster, 3) as other:
        await client.ask("update_features", 1, share_on)
        client.send(framed(header(18, 0)))
        await client.frame()
        await other.ask("metadata", 1, all_topics)
    path = tmp_path / "recording"
    recording.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    entries = load(path)
    assert entries == tuple(recording)
    assert [(entry.api, entry.broker) for entry in entries] == [
        ("update_features", 1),
        ("api_versions", 1),
        ("metadata", 3),
    ]
    async with EmbeddedCluster() as again:
        answers = await replay(entries, again.addresses)
        assert "share.version" not in again.state.features
    assert [answer.response == entry.response for answer, entry in zip(answers, entries, strict=True)][:2] == [
        True,
        True,
    ]
    path.write_text("{}\n")
    with pytest.raises(ValueError, match="line 1"):
        load(path)


# -- Changes under faults: kac reports the true outcome, and sends no change twice -------------------------------------

ALIVE = (1, 2, 3)
ALICE = QuotaEntity.of({"user": "alice"})
ACL = worlds.acl("User:alice", "READ", "TOPIC", "t")
RETENTION = "retention.ms"


def linked(fenced_soon: EmbeddedCluster, **settings: Any) -> AbstractAsyncContextManager[Link]:
    settings.setdefault("lost_answer_timeout", 0.1)
    return worlds.linked(ConnectionSettings(tuple(fenced_soon.addresses.values()), **settings))


fenced_soon = worlds.embedded(spec.ClusterSpec(static_configs={"broker.session.timeout.ms": "100"}))
"""A fixture: a cluster with three brokers whose sessions end 0.1 s after a crash."""


@pytest.fixture
async def running(fenced_soon: EmbeddedCluster) -> EmbeddedCluster:
    """Provide the cluster with the topics t, u and v, each with a partition on brokers 1 and 2, and with an ACL."""
    for name in ("t", "u", "v"):
        fenced_soon.state.put_topic(new_topic(name, [(1, 2)], ALIVE))
    fenced_soon.state.add_acl(ACL)
    return fenced_soon


async def outcomes(link: Link, change: changes.ChangeRequest) -> dict[Any, changes.Outcome]:
    return {outcome.target: outcome for outcome in await send(link, change, validate_only=False)}


async def single(link: Link, change: changes.ChangeRequest) -> changes.Outcome:
    (outcome,) = (await outcomes(link, change)).values()
    return outcome


@dataclass(frozen=True)
class Case:
    """A change request of one entity, its API, and a function that returns whether a cluster's state has the change."""

    api: str
    change: changes.ChangeRequest
    is_so: Callable[[ClusterState], bool]


def led_by(state: ClusterState, leader: int, replicas: tuple[int, ...]) -> bool:
    partition = state.topics["t"].partitions[0]
    return (partition.leader, partition.replicas) == (leader, replicas)


CASES = [
    Case("create_topics", changes.CreateTopics((changes.NewTopic("new", 3, 2),)), lambda state: "new" in state.topics),
    Case("delete_topics", changes.DeleteTopics(("t",)), lambda state: "t" not in state.topics),
    Case(
        "create_partitions",
        changes.CreatePartitions({"t": 4}, was={"t": 1}),
        lambda state: len(state.topics["t"].partitions) == 4,
    ),
    Case(
        "incremental_alter_configs",
        changes.AlterConfigs({topic_resource("t"): (changes.ConfigOp(RETENTION, codes.SET, "5000"),)}),
        lambda state: state.configs.get(topic_resource("t")) == {RETENTION: "5000"},
    ),
    Case(
        "alter_client_quotas",
        changes.AlterQuotas({ALICE: {"producer_byte_rate": 1024.0}}),
        lambda state: state.quotas.get(ALICE) == {"producer_byte_rate": 1024.0},
    ),
    Case("create_acls", changes.CreateAcls((ACL._replace(principal="User:bob"),)), lambda state: len(state.acls) == 2),
    Case("delete_acls", changes.DeleteAcls((ACL,)), lambda state: not state.acls),
    Case(
        "alter_user_scram_credentials",
        changes.AlterScram({changes.ScramUser("alice", codes.ScramMechanism(1)): (4096, Secret("p"))}),
        lambda state: len(state.scram) == 1,
    ),
    Case(
        "alter_partition_reassignments",
        changes.AlterReassignments({changes.MoveTarget("t", 0): (2, 1)}),
        lambda state: led_by(state, 1, (2, 1)),
    ),
]
IDS = [case.api for case in CASES]
LOST_AFTER = [faults.Cut(faults.Moment.AFTER), faults.HalfFrame(), faults.Garbage(), faults.Garbage(whole_frame=True)]
each_case = pytest.mark.parametrize("case", CASES, ids=IDS)


@each_case
@pytest.mark.parametrize("effect", LOST_AFTER, ids=["cut", "half-frame", "garbage", "garbage-frame"])
async def test_an_answer_that_is_lost_or_nonsense_is_looked_up(
    running: EmbeddedCluster, case: Case, effect: faults.Effect
) -> None:
    running.faults.add(faults.Fault(effect, case.api, times=1))
    async with linked(running, request_timeout=2.0) as link:
        outcome = await single(link, case.change)
        assert case.is_so(running.state)
        assert outcome.status is changes.Status.APPLIED, outcome
        assert running.counters.total(case.api).requests == 1


@each_case
@pytest.mark.parametrize("effect", [faults.Cut(faults.Moment.BEFORE), faults.Fail(7)], ids=["cut", "timed-out"])
async def test_what_shows_no_effect_is_unknown_and_never_said_to_have_one(
    running: EmbeddedCluster, case: Case, effect: faults.Effect
) -> None:
    running.faults.add(faults.Fault(effect, case.api, times=1))
    async with linked(running) as link:
        outcome = await single(link, case.change)
        assert not case.is_so(running.state)
        assert outcome.status is changes.Status.UNKNOWN, outcome
        assert outcome.failure is not None
        assert "may still be" in outcome.failure.remedy
        assert running.counters.total(case.api).requests == 1
        outcome = await single(link, case.change)
        assert outcome.status is changes.Status.APPLIED
        assert case.is_so(running.state)


@pytest.mark.parametrize("case", [case for case in CASES if not hasattr(case.change, "timeout_ms")])
async def test_a_change_that_comes_later_than_the_client_waits(running: EmbeddedCluster, case: Case) -> None:
    """If a client's wait for the response times out while the request is still on its way, the client does not send the
    change again, and reports it as applied once it has taken effect.
    """
    running.faults.add(faults.Fault(faults.Delay(1.5), case.api, times=1))
    async with linked(running, request_timeout=1.0, lost_answer_timeout=60.0) as link:
        await link.refresh()
        outcome = await single(link, case.change)
        assert outcome.status is changes.Status.APPLIED, outcome
        assert case.is_so(running.state)
        assert running.counters.total(case.api).requests == 1


@each_case
async def test_a_request_that_is_held_on_its_way_is_unknown_until_it_arrives(
    running: EmbeddedCluster, case: Case
) -> None:
    """While a change request is held on its way, reads show the state without the change and its outcome is unknown;
    then the change takes effect.
    """
    async with (
        cutting_proxy.CuttingProxy(next(iter(running.addresses.values()))) as proxy,
        worlds.linked(ConnectionSettings((proxy.address,), lost_answer_timeout=0.1)) as link,
    ):
        proxy.arm(api_key(case.api), Lose.HELD)
        outcome = await single(link, case.change)
        assert outcome.status is changes.Status.UNKNOWN, outcome
        assert outcome.failure is not None
        assert "not applied" not in f"{outcome.failure} {outcome.failure.remedy}"
        assert not case.is_so(running.state)
        await proxy.let_go()
        assert case.is_so(running.state)
        assert running.counters.total(case.api).requests == 1


async def test_an_election_whose_answer_is_lost(running: EmbeddedCluster) -> None:
    change = changes.ElectLeaders((("t", 0),))
    async with linked(running) as link:
        assert (await single(link, changes.AlterReassignments({changes.MoveTarget("t", 0): (2, 1)}))).ok
        running.faults.add(faults.Fault(faults.Cut(faults.Moment.BEFORE), "elect_leaders", nth=1))
        assert (await single(link, change)).status is changes.Status.UNKNOWN
        assert led_by(running.state, 1, (2, 1))
        running.faults.add(faults.Fault(faults.Cut(faults.Moment.AFTER), "elect_leaders", nth=1))
        assert (await single(link, change)).status is changes.Status.APPLIED
        assert led_by(running.state, 2, (2, 1))


@pytest.mark.parametrize(
    ("api", "change", "bad", "good"),
    [
        (
            "create_topics",
            changes.CreateTopics((changes.NewTopic("a", 1, 1), changes.NewTopic("b", 1, 1))),
            changes.TopicTarget("b"),
            changes.TopicTarget("a"),
        ),
        ("delete_topics", changes.DeleteTopics(("t", "u")), changes.TopicTarget("u"), changes.TopicTarget("t")),
        (
            "create_partitions",
            changes.CreatePartitions({"t": 2, "u": 2}),
            changes.TopicTarget("u"),
            changes.TopicTarget("t"),
        ),
        (
            "incremental_alter_configs",
            changes.AlterConfigs(
                {topic_resource(name): (changes.ConfigOp(RETENTION, codes.SET, "5000"),) for name in ("t", "u")}
            ),
            topic_resource("u"),
            topic_resource("t"),
        ),
    ],
)
async def test_part_of_a_batch_fails(
    running: EmbeddedCluster, api: str, change: changes.ChangeRequest, bad: Any, good: Any
) -> None:
    running.faults.add(faults.Fault(faults.FailSome(44, "not today", names=frozenset({bad.name})), api))
    async with linked(running) as link:
        found = await outcomes(link, change)
        assert found[good].status is changes.Status.APPLIED
        assert found[bad].status is changes.Status.FAILED
        assert str(found[bad].failure).startswith("POLICY_VIOLATION: ")
        assert "not today" in str(found[bad].failure)


@pytest.mark.parametrize("release", ["2.8", "4.4"])
async def test_the_controller_moves_just_before_the_change(release: str) -> None:
    async with EmbeddedCluster(older_brokers.like(release)) as fenced_soon, linked(fenced_soon) as link:
        await link.refresh()
        fenced_soon.faults.add(faults.Fault(faults.MoveController(3), "create_topics", times=1))
        outcome = await single(link, changes.CreateTopics((changes.NewTopic("new", 3, 3),)))
        assert outcome == changes.Outcome(changes.TopicTarget("new"), changes.Status.APPLIED)
        assert fenced_soon.state.controller_id == 3
        # KRaft brokers forward the request. With ZooKeeper the first broker answers NOT_CONTROLLER without an effect.
        asked = [
            key.broker
            for key, count in fenced_soon.counters
            for _ in range(count.requests)
            if key.api == "create_topics"
        ]
        assert len(asked) == (1 if release == "4.4" else 2)
        assert release == "4.4" or asked[-1] == 3


@pytest.mark.parametrize(
    ("api", "change"),
    [(case.api, case.change) for case in CASES if apis.Served.UNFORWARDED in apis.APIS[case.api].served]
    + [("elect_leaders", changes.ElectLeaders((("t", 0),)))],
)
async def test_whatever_the_controller_alone_does_finds_the_new_one(api: str, change: changes.ChangeRequest) -> None:
    async with EmbeddedCluster(older_brokers.like("2.8")) as fenced_soon, linked(fenced_soon) as link:
        fenced_soon.state.put_topic(new_topic("t", [(1, 2)], ALIVE))
        await link.refresh()
        fenced_soon.faults.add(faults.Fault(faults.MoveController(3), api, times=1))
        outcome = await single(link, change)
        assert outcome.status is changes.Status.APPLIED, outcome
        assert fenced_soon.counters.total(api).requests == 2
        assert fenced_soon.counters.total(api, broker=3).requests == 1


async def test_no_controller_that_can_be_found() -> None:
    async with EmbeddedCluster(older_brokers.like("2.8")) as fenced_soon, linked(fenced_soon) as link:
        fenced_soon.faults.add(faults.parse_fault("api=CreateTopics,not-controller"))
        outcome = await single(link, changes.CreateTopics((changes.NewTopic("new", 1, 1),)))
        assert outcome.status is changes.Status.FAILED
        assert outcome.failure is not None
        assert outcome.failure.name == "NOT_CONTROLLER"
        assert "new" not in fenced_soon.state.topics


async def test_the_broker_goes_down_with_the_change_and_comes_back(running: EmbeddedCluster) -> None:
    change = changes.CreateTopics((changes.NewTopic("new", 3, 3),))
    running.faults.add(faults.Fault(faults.BrokerDown(seconds=1.0), "create_topics", times=1))
    async with linked(running) as link:
        outcome = await single(link, change)
        assert outcome.status is changes.Status.UNKNOWN
        assert "new" not in running.state.topics
        assert len(answering(running.state)) == 2
        assert (await single(link, change)).status is changes.Status.APPLIED
        await running.settled()
        assert running.state.alive() == ALIVE
        listing = await topics.describe_topics(link, ["new"])
        assert all(set(partition.isr) == set(ALIVE) for partition in listing.topics["new"].partitions)


async def test_another_broker_goes_down_while_partitions_are_added(running: EmbeddedCluster) -> None:
    running.faults.add(faults.Fault(faults.BrokerDown(2, seconds=0.5), "create_partitions", times=1))
    async with linked(running) as link:
        await link.refresh()
        outcome = await single(link, changes.CreatePartitions({"t": 12}, was={"t": 1}))
        if outcome.status is changes.Status.APPLIED:
            assert len(running.state.topics["t"].partitions) == 12
        else:  # broker 2 itself got the request
            assert (outcome.status, len(running.state.topics["t"].partitions)) == (changes.Status.UNKNOWN, 1)
        await running.settled()


async def test_throttled_by_the_broker(running: EmbeddedCluster) -> None:
    running.faults.add(faults.Fault(faults.Throttle(0.2), "alter_client_quotas", times=1))
    async with linked(running) as link:
        began = asyncio.get_running_loop().time()
        assert (await single(link, changes.AlterQuotas({ALICE: {"producer_byte_rate": 1.0}}))).ok
        assert (await single(link, changes.AlterQuotas({ALICE: {"producer_byte_rate": 2.0}}))).ok
        assert asyncio.get_running_loop().time() - began >= 0.15
        assert running.state.quotas[ALICE] == {"producer_byte_rate": 2.0}


async def test_held_back_by_a_quota_it_is_sent_again_when_there_is_room() -> None:
    clock = manual_clock.ManualClock()
    async with EmbeddedCluster(clock=clock) as fenced_soon, linked(fenced_soon) as link:
        fenced_soon.state.alter_quota(QuotaEntity.of({"client-id": "kac"}), {"controller_mutation_rate": 100.0})
        assert (await single(link, changes.CreateTopics((changes.NewTopic("wide", 1120, 1),)))).ok
        sending = asyncio.ensure_future(
            outcomes(link, changes.CreateTopics((changes.NewTopic("a", 1, 1), changes.NewTopic("b", 1, 1))))
        )
        async with asyncio.timeout(patience.PATIENCE):
            await clock.asleep()  # the broker delays further requests of this client
        assert set(fenced_soon.state.topics) == {"wide"}
        clock.advance(1.0)
        assert {outcome.status for outcome in (await sending).values()} == {changes.Status.APPLIED}
        assert fenced_soon.counters.total("create_topics").requests == 3


class LinkClient:
    """A session's client that runs operations on this event loop."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def run(self, operation: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Awaitable[Any]:
        return operation(self._link, *args, **options)


@asynccontextmanager
async def session_of(fenced_soon: EmbeddedCluster) -> AsyncIterator[Session]:
    async with linked(fenced_soon) as link:
        session = Session(LinkClient(link), Context("test", "test", link.settings, journal=False))
        await session.read_cluster()
        await session.read_topics()
        await session.read_configs([topic_resource(name) for name in ("t", "u")])
        yield session


def somebody_sets(value: str | None) -> faults.Meanwhile:
    return faults.Meanwhile(lambda state: state.alter_config(topic_resource("t"), {RETENTION: value}))


CHECK, APPLY = 1, 2
"""The first IncrementalAlterConfigs is the check, and the second one the change."""


async def test_somebody_changes_it_between_the_read_and_the_apply(running: EmbeddedCluster) -> None:
    async with session_of(running) as session:
        session.stage([SetConfig(topic_resource(name), RETENTION, "5000") for name in ("t", "u")])
        running.faults.add(faults.Fault(somebody_sets("777"), "incremental_alter_configs", nth=CHECK))
        report = await changing.apply_plan(session)
        assert not report.sent
        assert [conflict.staged.edit.target for conflict in report.conflicts] == [topic_resource("t")]
        assert running.state.configs[topic_resource("t")] == {RETENTION: "777"}
        assert topic_resource("u") not in running.state.configs
        assert running.counters.total("incremental_alter_configs").requests == 1
        report = await changing.apply_plan(session, ApplyOptions(force=True))
        assert report.ok
        assert running.state.configs[topic_resource("t")] == {RETENTION: "5000"}


async def test_somebody_changes_something_else_of_it(running: EmbeddedCluster) -> None:
    async with session_of(running) as session:
        session.stage([SetConfig(topic_resource("t"), RETENTION, "5000")])
        running.faults.add(faults.parse_fault("api=IncrementalAlterConfigs,meanwhile=topic/t/segment.ms=60000,times=1"))
        report = await changing.apply_plan(session)
        assert report.ok
        assert running.state.configs[topic_resource("t")] == {RETENTION: "5000", "segment.ms": "60000"}


async def test_somebody_deletes_the_topic_first(running: EmbeddedCluster) -> None:
    async with session_of(running) as session:
        session.stage([SetConfig(topic_resource(name), RETENTION, "5000") for name in ("t", "u")])
        running.faults.add(
            faults.Fault(
                faults.Meanwhile(lambda state: state.remove_topic("t")), "incremental_alter_configs", nth=APPLY
            )
        )
        report = await changing.apply_plan(session)
        assert not report.ok
        assert running.state.configs.get(topic_resource("u")) == {RETENTION: "5000"}
        failed = [outcome for result in report.results for outcome in result.outcomes if not outcome.ok]
        assert [outcome.target for outcome in failed] == [topic_resource("t")]
        assert [staged.edit.target for staged in session.plan.staged] == [topic_resource("t")]


async def test_a_session_is_replayed_on_another_cluster(running: EmbeddedCluster, tmp_path: Any) -> None:
    """The recorded requests of the real client, saved to a file and sent again, have the same effect on another
    cluster.
    """
    recording = Recording()
    recording.attach(running.pipeline)
    async with linked(running) as link:
        for case in CASES:
            if case.api != "delete_topics":
                assert (await single(link, case.change)).ok, case.api
        assert (await single(link, changes.DeleteTopics(("u",)))).ok
    path = tmp_path / "recording"
    recording.save(path)
    async with EmbeddedCluster() as other:
        for name in ("t", "u", "v"):
            other.state.put_topic(new_topic(name, [(1, 2)], ALIVE))
        other.state.add_acl(ACL)
        answers = await replay(load(path), other.addresses)
        assert all(answer.response is not None for answer in answers)
        mine, theirs = running.state, other.state
        assert set(mine.topics) == set(theirs.topics) == {"t", "v", "new"}
        assert all(len(mine.topics[name].partitions) == len(theirs.topics[name].partitions) for name in mine.topics)
        assert dict(mine.configs) == dict(theirs.configs)
        assert dict(mine.quotas) == dict(theirs.quotas)
        assert set(mine.acls) == set(theirs.acls)
        assert set(mine.scram) == set(theirs.scram)
