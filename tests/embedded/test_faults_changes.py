"""The client's changes where things go wrong: what it says of each is how it is, and none is sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from console.admin import topics
from console.admin.changes import send
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.embedded import faults
from console.embedded.apis import APIS, Served
from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.embedded.state import ClusterState, answering
from console.model import changes, codes
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.plan.edits import SetConfig
from console.plan.reconcile import ApplyOptions
from console.session.session import Session
from console.wire.schemas import api_key
from tests.support import worlds
from tests.support.applied import apply_plan
from tests.support.cutting_proxy import Cut as Lose
from tests.support.cutting_proxy import CuttingProxy
from tests.support.manual_clock import ManualClock
from tests.support.older_brokers import like
from tests.support.patience import PATIENCE
from tests.support.recorded_requests import Recording, load, replay

ALIVE = (1, 2, 3)
ALICE = QuotaEntity.of({"user": "alice"})
ACL = worlds.acl("User:alice", "READ", "TOPIC", "t")
RETENTION = "retention.ms"


def linked(cluster: EmbeddedCluster, **settings: Any) -> AbstractAsyncContextManager[Link]:
    settings.setdefault("lost_answer_timeout", 0.1)
    return worlds.linked(ConnectionSettings(tuple(cluster.addresses.values()), **settings))


cluster = worlds.embedded(ClusterSpec(static_configs={"broker.session.timeout.ms": "100"}))
"""Three brokers that are fenced soon after a crash."""


@pytest.fixture
async def running(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """With topics t, of replicas that don't lead as they should, and u, and what there is to take away."""
    for name in ("t", "u", "v"):
        cluster.state.put_topic(new_topic(name, [(1, 2)], ALIVE))
    cluster.state.add_acl(ACL)
    return cluster


async def outcomes(link: Link, change: changes.ChangeRequest) -> dict[Any, changes.Outcome]:
    return {outcome.target: outcome for outcome in await send(link, change, validate_only=False)}


async def single(link: Link, change: changes.ChangeRequest) -> changes.Outcome:
    (outcome,) = (await outcomes(link, change)).values()
    return outcome


@dataclass(frozen=True)
class Case:
    """A change of one thing, by which API it goes, and whether a cluster has it."""

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
    """It is still on its way when the client gives up on the answer, and is found as soon as it is there."""
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
    """However long: the cluster answers, and knows nothing of it; then it takes effect."""
    async with (
        CuttingProxy(next(iter(running.addresses.values()))) as proxy,
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
    async with EmbeddedCluster(like(release)) as cluster, linked(cluster) as link:
        await link.refresh()
        cluster.faults.add(faults.Fault(faults.MoveController(3), "create_topics", times=1))
        outcome = await single(link, changes.CreateTopics((changes.NewTopic("new", 3, 3),)))
        assert outcome == changes.Outcome(changes.TopicTarget("new"), changes.Status.APPLIED)
        assert cluster.state.controller_id == 3
        # Brokers of a KRaft cluster forward; with ZooKeeper the first answers NOT_CONTROLLER, and has done nothing.
        asked = [
            key.broker for key, count in cluster.counters for _ in range(count.requests) if key.api == "create_topics"
        ]
        assert len(asked) == (1 if release == "4.4" else 2)
        assert release == "4.4" or asked[-1] == 3


@pytest.mark.parametrize(
    ("api", "change"),
    [(case.api, case.change) for case in CASES if Served.UNFORWARDED in APIS[case.api].served]
    + [("elect_leaders", changes.ElectLeaders((("t", 0),)))],
)
async def test_whatever_the_controller_alone_does_finds_the_new_one(api: str, change: changes.ChangeRequest) -> None:
    async with EmbeddedCluster(like("2.8")) as cluster, linked(cluster) as link:
        cluster.state.put_topic(new_topic("t", [(1, 2)], ALIVE))
        await link.refresh()
        cluster.faults.add(faults.Fault(faults.MoveController(3), api, times=1))
        outcome = await single(link, change)
        assert outcome.status is changes.Status.APPLIED, outcome
        assert cluster.counters.total(api).requests == 2
        assert cluster.counters.total(api, broker=3).requests == 1


async def test_no_controller_that_can_be_found() -> None:
    async with EmbeddedCluster(like("2.8")) as cluster, linked(cluster) as link:
        cluster.faults.add(faults.parse_fault("api=CreateTopics,not-controller"))
        outcome = await single(link, changes.CreateTopics((changes.NewTopic("new", 1, 1),)))
        assert outcome.status is changes.Status.FAILED
        assert outcome.failure is not None
        assert outcome.failure.name == "NOT_CONTROLLER"
        assert "new" not in cluster.state.topics


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
        else:  # broker 2 itself was asked
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
    clock = ManualClock()
    async with EmbeddedCluster(clock=clock) as cluster, linked(cluster) as link:
        cluster.state.alter_quota(QuotaEntity.of({"client-id": "kac"}), {"controller_mutation_rate": 100.0})
        assert (await single(link, changes.CreateTopics((changes.NewTopic("wide", 1120, 1),)))).ok
        sending = asyncio.ensure_future(
            outcomes(link, changes.CreateTopics((changes.NewTopic("a", 1, 1), changes.NewTopic("b", 1, 1))))
        )
        async with asyncio.timeout(PATIENCE):
            await clock.asleep()  # the broker takes nothing more of this client
        assert set(cluster.state.topics) == {"wide"}
        clock.advance(1.0)
        assert {outcome.status for outcome in (await sending).values()} == {changes.Status.APPLIED}
        assert cluster.counters.total("create_topics").requests == 3


class LinkClient:
    """What a session needs, on this loop."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def run(self, operation: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Awaitable[Any]:
        return operation(self._link, *args, **options)


@asynccontextmanager
async def session_of(cluster: EmbeddedCluster) -> AsyncIterator[Session]:
    async with linked(cluster) as link:
        session = Session(LinkClient(link), Context("test", "test", link.settings, journal=False))
        await session.read_cluster()
        await session.read_topics()
        await session.read_configs([topic_resource(name) for name in ("t", "u")])
        yield session


def somebody_sets(value: str | None) -> faults.Meanwhile:
    return faults.Meanwhile(lambda state: state.alter_config(topic_resource("t"), {RETENTION: value}))


CHECK, APPLY = 1, 2
"""The first IncrementalAlterConfigs is the check, the second applies."""


async def test_somebody_changes_it_between_the_read_and_the_apply(running: EmbeddedCluster) -> None:
    async with session_of(running) as session:
        session.stage([SetConfig(topic_resource(name), RETENTION, "5000") for name in ("t", "u")])
        running.faults.add(faults.Fault(somebody_sets("777"), "incremental_alter_configs", nth=CHECK))
        report = await apply_plan(session)
        assert not report.sent
        assert [conflict.staged.edit.target for conflict in report.conflicts] == [topic_resource("t")]
        assert running.state.configs[topic_resource("t")] == {RETENTION: "777"}
        assert topic_resource("u") not in running.state.configs
        assert running.counters.total("incremental_alter_configs").requests == 1
        report = await apply_plan(session, ApplyOptions(force=True))
        assert report.ok
        assert running.state.configs[topic_resource("t")] == {RETENTION: "5000"}


async def test_somebody_changes_something_else_of_it(running: EmbeddedCluster) -> None:
    async with session_of(running) as session:
        session.stage([SetConfig(topic_resource("t"), RETENTION, "5000")])
        running.faults.add(faults.parse_fault("api=IncrementalAlterConfigs,meanwhile=topic/t/segment.ms=60000,times=1"))
        report = await apply_plan(session)
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
        report = await apply_plan(session)
        assert not report.ok
        assert running.state.configs.get(topic_resource("u")) == {RETENTION: "5000"}
        failed = [outcome for result in report.results for outcome in result.outcomes if not outcome.ok]
        assert [outcome.target for outcome in failed] == [topic_resource("t")]
        assert [staged.edit.target for staged in session.plan.staged] == [topic_resource("t")]


async def test_a_session_is_replayed_on_another_cluster(running: EmbeddedCluster, tmp_path: Any) -> None:
    """The real client's requests, recorded, saved, and sent again, leave the same behind."""
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
