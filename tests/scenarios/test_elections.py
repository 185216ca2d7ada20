"""Tests of elections and cancelled reassignments: the embedded cluster does what the forecast says, and on real
brokers, 4.3 and 3.9, kac's changes have the effect of Kafka's own commands.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from console.admin import link, partitions, topics
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.partitions import moved
from console.admin.replicas import replica_logs
from console.admin.settings import ConnectionSettings, SaslSettings
from console.answers.results import Printer
from console.cli import main as cli
from console.contexts.context import Context
from console.embedded import partition_log, record_batch
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.handlers.replicas import elect
from console.embedded.replicas import broker_back, broker_lost, new_topic, start_move
from console.embedded.spec import ClusterSpec, SaslSpec
from console.embedded.state import ClusterState
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.needs import needs_of_script
from console.model import changes, secret
from console.model.cluster import Partition, Reassignment, ReplicaLogs, Topic
from console.model.elections import UncleanElection, leaders_by_broker, needs_preferred, unclean_election
from console.model.snapshot import Snapshot
from console.plan import kafka_tools, plan, reconcile
from console.plan.compile import compile_plan, predict, runbook
from console.plan.conflicts import conflicts
from console.plan.current_state import current_state, verdict
from console.plan.diff import diff
from console.plan.edits import CancelMove, ElectPreferred, ElectUnclean
from console.plan.kinds.leaders import preferred_elections
from console.plan.requests import RECORD_LIMIT, Facts
from console.plan.risks import effects, risks
from console.plan.staged import Described
from console.session.applying import check_plan
from console.session.plan_facts import read_for_risks
from console.session.reading import read_needs
from console.session.script_runner import Runner
from console.session.session import Session
from console.wire.schemas import api_key
from tests.embedded.record_batches import batch
from tests.embedded.test_laws import BROKERS, fresh
from tests.support import changing, cpu_time, kafka_cluster, real_clusters, worlds
from tests.support.cutting_proxy import Cut, CuttingProxy

PREFERRED, UNCLEAN = 0, 1


def snapshot_of(state: ClusterState) -> Snapshot:
    """Return the snapshot that a session would read from an embedded cluster in this state, with the log end offset of
    each replica whose broker is up.
    """
    alive = frozenset(state.alive())
    topics, logs = {}, {}
    for name, topic in state.topics.items():
        partitions = []
        for index, each in enumerate(topic.partitions):
            down = tuple(replica for replica in each.replicas if replica not in alive)
            partitions.append(Partition(index, each.leader, each.replicas, each.isr, down, each.leader_epoch))
            log = state.logs[name, index]
            logs[name, index] = ReplicaLogs({each: log.end_of(each) for each in each.replicas if each in alive})
        topics[name] = Topic(name, tuple(partitions))
    moment = {"topics": None}
    return Snapshot(topics=topics, replica_logs=logs, read_at=moment)  # type: ignore[arg-type]


def append(state: ClusterState, name: str, index: int, count: int) -> None:
    partition = state.topics[name].partitions[index]
    if partition.leader >= 0:
        state.logs[name, index].append(record_batch.produced_batch(batch(*[b"x"] * count)), partition.leader_epoch)


STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from("ab"), st.integers(0, 1), st.integers(1, 3)),
    st.tuples(st.just("down"), st.sampled_from(BROKERS)),
    st.tuples(st.just("up"), st.sampled_from(BROKERS)),
)

REPLICAS = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=4, unique=True).map(tuple)


def after(steps: Sequence[tuple[object, ...]], places: Sequence[tuple[int, ...]]) -> ClusterState:
    """Return the state of an embedded cluster after these steps. places: the broker ids of the replicas of each
    partition, of topic a and then of topic b.
    """
    state = fresh()
    for name, some in zip("ab", (places[:2], places[2:]), strict=True):
        state.put_topic(new_topic(name, some, BROKERS))
        state.logs.update({(name, index): partition_log.PartitionLog() for index in range(2)})
    for step in steps:
        match step:
            case ("write", str(name), int(index), int(count)):
                append(state, name, index, count)
            case ("down", int(broker)) if state.brokers[broker].alive:
                broker_lost(state, broker)
            case ("up", int(broker)) if not state.brokers[broker].alive:
                broker_back(state, broker)
    return state


@given(st.lists(STEPS, max_size=25), st.lists(REPLICAS, min_size=4, max_size=4))
def test_the_leaders_that_are_forecast_are_those_that_are_elected(
    steps: list[tuple[object, ...]], places: list[tuple[int, ...]]
) -> None:
    state = after(steps, places)
    snapshot = snapshot_of(state)
    report = plan.stage(plan.EMPTY, preferred_elections(snapshot.topics), snapshot)
    assert not report.refused
    forecast = predict(snapshot, report.plan)
    for each in report.added:
        assert isinstance(each.edit, ElectPreferred)
        assert elect(state, PREFERRED, each.edit.topic, each.edit.partition).code == 0
    for dropped in report.dropped:
        assert isinstance(dropped.edit, ElectPreferred)
        refusal = elect(state, PREFERRED, dropped.edit.topic, dropped.edit.partition)
        assert refusal.code == ErrorCode.preferred_leader_not_available, dropped.reason
    now = snapshot_of(state)
    assert leaders_by_broker(now.topics.values()) == leaders_by_broker(forecast.topics.values())
    assert {name: [each.leader for each in topic.partitions] for name, topic in now.topics.items()} == {
        name: [each.leader for each in topic.partitions] for name, topic in forecast.topics.items()
    }
    if report.added:
        (lines,) = effects(report.plan.staged, snapshot).values()
        changed = leaders_by_broker(forecast.topics.values())
        before = leaders_by_broker(snapshot.topics.values())
        for broker in BROKERS:
            said = f"{broker}: {before[broker]} → {changed[broker]}"
            assert (said in lines[0]) == (before[broker] != changed[broker]), lines
    for each in report.added:
        there = current_state(each.edit, Described(now))
        assert verdict(each.edit, each.was, there) is changes.Status.APPLIED
        assert verdict(each.edit, each.was, current_state(each.edit, Described(snapshot))) is changes.Status.NOT_APPLIED


@given(st.lists(STEPS, max_size=25), st.lists(REPLICAS, min_size=4, max_size=4))
def test_what_an_unclean_election_loses_lies_in_the_range_that_is_said(
    steps: list[tuple[object, ...]], places: list[tuple[int, ...]]
) -> None:
    state = after(steps, places)
    snapshot = snapshot_of(state)
    for name, topic in snapshot.topics.items():
        for partition in topic.partitions:
            number = partition.number
            edit = ElectUnclean(name, number)
            report = plan.stage(plan.EMPTY, [edit], snapshot)
            log = state.logs[name, number]
            end = log.end
            if partition.leader >= 0:
                assert report.refused
                assert elect(state, UNCLEAN, name, number).code == ErrorCode.election_not_needed
                continue
            if report.refused:
                assert elect(state, UNCLEAN, name, number).code == ErrorCode.eligible_leaders_not_available
                continue
            would = report.added[0].was
            assert isinstance(would, UncleanElection)
            forecast = predict(snapshot, report.plan).topics[name].partitions[number]
            assert elect(state, UNCLEAN, name, number).code == 0
            now = state.topics[name].partitions[number]
            assert (now.leader, now.isr) == (forecast.leader, forecast.isr)
            assert now.leader == would.elected
            lost = end - log.end
            assert log.end == would.first
            assert would.least <= lost
            assert would.most is None or lost <= would.most
            assert verdict(edit, would, current_state(edit, Described(snapshot_of(state)))) is changes.Status.APPLIED


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(-1, 12))
def test_another_source_of_offsets_only_raises_what_is_surely_lost(one: int, two: int, three: int, seen: int) -> None:
    partition = Partition(0, -1, (1, 2, 3), (9,), (9,))
    logs = ReplicaLogs({1: one, 2: two, 3: three})
    plain, more = unclean_election(partition, logs), unclean_election(partition, logs, seen)
    assert (plain.elected, plain.first, plain.most) == (1, one, None)
    assert plain.least == max(one, two, three) - one
    assert more.least == max(plain.least, seen - one)
    assert unclean_election(partition, ReplicaLogs(logs.ends, eligible=(2,))).clean is False, "an ISR comes first"
    eligible = unclean_election(Partition(0, -1, (1, 2, 3), ()), ReplicaLogs(logs.ends, eligible=(2,)))
    assert (eligible.elected, eligible.clean, eligible.most) == (2, True, 0)
    last = unclean_election(Partition(0, -1, (1, 2, 3), ()), ReplicaLogs(logs.ends, eligible=(), last_known=(3,)))
    assert (last.elected, last.clean) == (3, False)
    assert last.most == last.least == max(one, two, three) - three
    gone = unclean_election(Partition(0, -1, (1, 2), (1,), (1, 2)), None)
    assert (gone.elected, gone.first, gone.most) == (-1, -1, None)


def many(count: int) -> Snapshot:
    """Return a snapshot with `count` partitions, ten in each topic. Broker 2 leads all of them, and each is being
    reassigned.
    """
    partitions = tuple(Partition(number, 2, (1, 2), (1, 2)) for number in range(10))
    topics = {f"t{number:05}": Topic(f"t{number:05}", partitions) for number in range(count // 10)}
    moves = tuple(Reassignment(name, number, (1, 2, 3), (3,), (1,)) for name in topics for number in range(10))
    return Snapshot(topics=topics, reassignments=moves, read_at={"topics": None, "reassignments": None})  # type: ignore[dict-item]


@pytest.mark.parametrize("kind", ["elect", "cancel"])
def test_forty_thousand_partitions_take_as_long_as_four_times_ten_thousand(kind: str) -> None:
    def work(count: int, snapshot: Snapshot) -> None:
        if kind == "elect":
            edits = preferred_elections(snapshot.topics)
        else:
            edits = tuple(CancelMove(name, number) for name in snapshot.topics for number in range(10))  # type: ignore[assignment]
        report = plan.stage(plan.EMPTY, edits, snapshot)
        assert len(report.added) == count
        steps = compile_plan(report.plan, Facts())
        assert [len(step.staged) for step in steps] == [RECORD_LIMIT] * (count // RECORD_LIMIT)
        assert {each.edit.target for step in steps for each in step.staged} == {each.target for each in edits}
        for step in steps:
            sent = step.request
            assert isinstance(sent, changes.ElectLeaders | changes.AlterReassignments)
            assert len(sent.partitions if isinstance(sent, changes.ElectLeaders) else sent.moves) <= RECORD_LIMIT
        assert len(effects(report.plan.staged, snapshot)) == (1 if kind == "elect" else count)
        assert not conflicts(report.plan.staged, snapshot)
        after = predict(snapshot, report.plan)
        if kind == "elect":
            assert leaders_by_broker(after.topics.values()) == {1: count}
        else:
            assert after.reassignments == ()

    few, all_ = many(10_000), many(40_000)
    small = cpu_time.least_cpu_seconds(lambda: work(10_000, few))
    large = cpu_time.least_cpu_seconds(lambda: work(40_000, all_), 2)
    # Linear work takes four times as long, quadratic work sixteen times.
    assert large < 9 * small
    assert large < 8.0


@asynccontextmanager
async def session_on(cluster: EmbeddedCluster, **settings: object) -> AsyncIterator[Session]:
    address = cluster.addresses[max(cluster.state.alive())]
    with worlds.session_on(ConnectionSettings((address,), **settings), "run") as session:
        yield session


async def ran(session: Session, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a script of statements in a session; return its exit code, its standard output and its standard error."""
    runner = Runner(session, text, Printer("text"))
    await runner.run(parse(text))
    written = capsys.readouterr()
    return runner.exit_code(), written.out, written.err


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    """Provide an embedded cluster of four brokers. In partition lost/0 replicas 2 and 3 are behind, and the leader,
    broker 1, is down.
    """
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as made:
        made.state.put_topic(new_topic("lost", [(1, 2, 3), (4, 1)], BROKERS))
        made.state.logs["lost", 0] = partition_log.PartitionLog()
        append(made.state, "lost", 0, 5)
        await made.broker_down(2)
        append(made.state, "lost", 0, 3)
        await made.broker_down(3)
        append(made.state, "lost", 0, 2)
        await made.broker_down(1)
        await made.broker_up(2)
        await made.broker_up(3)
        yield made


async def test_an_unclean_election_has_to_be_accepted_for_its_partition(
    cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    staging = "elect unclean topic lost partition 0; apply --yes"
    for accept in ("", " --accept unclean-loss", " --accept unclean-loss=lost/1"):
        async with session_on(cluster) as session:
            code, out, err = await ran(session, staging + accept, capsys)
        assert code == 3
        assert cluster.state.topics["lost"].partitions[0].leader == -1
        assert "records from offset 5 on are lost: at least 3; broker 1 may have more, and does not answer" in err
        assert "unclean-loss=lost/0" in err.partition("if it is meant, write apply --accept ")[2]
        assert "! no way back: leader of lost/0: the records that the new leader does not have are gone" in out
    async with session_on(cluster) as session:
        code, out, _ = await ran(session, staging + " --accept unclean-loss=lost/0", capsys)
        assert code == 0, out
        assert cluster.state.topics["lost"].partitions[0].leader == 2
        assert cluster.state.logs["lost", 0].end == 5
        assert "revert" not in out
        code, out, _ = await ran(session, "revert 1", capsys)
        assert "the records that the new leader does not have are gone" in out
        (change,) = (await changing.read_history(session)).changes.values()
        (entry,) = change.intent.entries
        assert entry.staged.was == UncleanElection(-1, (1, 2, 3), (1,), 2, False, 5, 3, None)


async def test_what_replicas_hold_is_said_before(cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    async with session_on(cluster) as session:
        _, out, _ = await ran(session, "elect unclean topic lost partition 0; plan", capsys)
    assert "broker 2 leads then: of the replicas 1,2,3 the first that is alive" in out
    assert "broker 1: down, in the ISR" in out
    assert "broker 2: its log ends at 5," in out
    assert "broker 3: its log ends at 8," in out
    assert "no committed record is lost if broker 1 comes back instead" in out


async def test_another_candidate_since_is_a_conflict(cluster: EmbeddedCluster) -> None:
    async with session_on(cluster) as session:
        await read_needs(session, needs_of_script(parse("elect unclean topic lost partition 0")))
        session.stage([ElectUnclean("lost", 0)])
        await cluster.broker_down(2)
        accepted = reconcile.ApplyOptions(risks=frozenset({"unclean-loss=lost/0"}))
        report = await changing.apply_plan(session, accepted)
        assert not report.sent
        (conflict,) = report.conflicts
        assert conflict.was.value == (
            "no leader, broker 2 would be elected: records from offset 5 on are lost: at least 3"
        )
        assert conflict.theirs.value == (
            "no leader, broker 3 would be elected: records from offset 8 on are lost: how many is unknown"
        )
        await cluster.broker_up(1)
        report = await changing.apply_plan(session, accepted)
        assert report.sent, "it has a leader: nothing is overwritten, and the controller elects none"
        assert cluster.state.topics["lost"].partitions[0].leader == 1
        assert cluster.state.logs["lost", 0].end == 10


async def test_where_nothing_is_to_elect_or_to_cancel_that_is_said(
    cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    async with session_on(cluster) as session:
        code, out, _ = await ran(session, "elect preferred topic lost; cancel move topic lost", capsys)
        assert code == 0
        assert (
            "not needed: leader of lost/0: it stays without a leader: broker 1, its preferred replica, is down" in out
        )
        assert "not needed: move of lost/0, move of lost/1: it does not move" in out
        code, out, _ = await ran(session, "elect preferred broker 4", capsys)
        assert "not needed: leader of lost/1: broker 4, its preferred replica, leads already" in out
        code, _, err = await ran(session, "elect preferred broker 77; elect preferred topic none", capsys)
        assert code == 1
        assert "77" in err
    await cluster.broker_up(1)
    async with session_on(cluster) as session:
        code, out, _ = await ran(
            session, "elect unclean topic lost partition 0; elect preferred topic lost partition 9", capsys
        )
        assert code == 1
        assert "broker 1 leads it: an unclean election is for a partition without a leader" in out
        assert "topic lost has no partition 9. It has 0 to 1." in out


@pytest.mark.parametrize(("cut", "state"), [(Cut.BEFORE, "unknown"), (Cut.AFTER, "applied")])
async def test_a_lost_answer_of_an_election_is_settled_by_looking(
    cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str], cut: Cut, state: str
) -> None:
    await cluster.broker_up(1)
    start_move(cluster, "lost", 1, (1, 4))
    async with CuttingProxy(cluster.addresses[4]) as proxy:
        with worlds.session_on(ConnectionSettings((proxy.address,), lost_answer_timeout=0.1), "run") as session:
            proxy.arm(api_key("elect_leaders"), cut)
            code, out, _ = await ran(session, "elect preferred topic lost partition 1; apply --yes", capsys)
            assert f"leader of lost/1  {state}" in out
            assert code == (0 if state == "applied" else 1)


async def test_a_move_is_cancelled_and_one_that_ended_by_itself_is_a_conflict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=3)) as cluster:
        cluster.state.put_topic(new_topic("moved", [(1, 2), (2, 1)], (1, 2, 3)))
        await cluster.broker_down(3)
        for number in range(2):
            assert start_move(cluster, "moved", number, (1, 3)).code == 0
        async with session_on(cluster) as session:
            code, out, _ = await ran(session, "cancel move topic moved partition 0; plan", capsys)
            assert "1,2 → 1,3" in out
            assert "what broker 3 copied is dropped; how much is unknown" in out
            assert "it stays on 1,2, with 1 as the preferred leader" in out
            assert "another tool or operator may need it" in out
            code, out, _ = await ran(session, "apply --yes", capsys)
            assert code == 0, out
            assert cluster.state.topics["moved"].partitions[0].replicas == (1, 2)
            _, out, _ = await ran(session, "revert 1", capsys)
            assert "move topic moved partition 0 to 1,3 starts the move again" in out
        async with session_on(cluster) as session:
            await ran(session, "cancel move topic moved", capsys)
            assert [each.edit for each in session.plan.staged] == [CancelMove("moved", 1)]
            await cluster.broker_up(3)
            await cluster.settled()
            report = await changing.apply_plan(session)
            assert not report.sent
            (conflict,) = report.conflicts
            assert (conflict.was.value, conflict.theirs.value) == ("1,2 → 1,3", "1,3")


@given(st.permutations([1, 2, 3]), st.sampled_from(["cancelled", "done", "moving", "other"]))
def test_a_lost_cancellation_is_told_from_a_move_that_ended(order: list[int], what: str) -> None:
    was = Reassignment("t", 0, tuple(order), (order[0],), (order[2],))
    now = {
        "cancelled": Reassignment("t", 0, tuple(order[1:]), (), ()),
        "done": Reassignment("t", 0, tuple(order[:2]), (), ()),
        "moving": was,
        "other": Reassignment("t", 0, (7, 8), (), ()),
    }[what]
    status = {
        "cancelled": changes.Status.APPLIED,
        "done": changes.Status.NOT_APPLIED,
        "moving": changes.Status.NOT_APPLIED,
        "other": changes.Status.UNKNOWN,
    }
    assert verdict(CancelMove("t", 0), was, now) is status[what]
    partition = Partition(0, 1, now.replicas, ())
    original = tuple(order[1:])
    outcome = moved(None, partition, now if now.adding else None, original)
    assert (outcome is changes.Status.APPLIED) == (what == "cancelled")


async def test_who_may_not_alter_the_cluster_is_told_which_right_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    users = {"admin": secret.Secret("a"), "alice": secret.Secret("b")}
    spec = ClusterSpec(brokers=2, sasl=SaslSpec(plain=users), super_users=frozenset({"User:admin"}))
    async with EmbeddedCluster(spec) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2)], (1, 2)))
        assert start_move(cluster, "orders", 0, (2, 1)).code == 0
        for kind, name in (("TOPIC", "orders"), ("CLUSTER", "kafka-cluster")):
            cluster.state.add_acl(worlds.acl("User:alice", "DESCRIBE", kind, name))
        async with session_on(
            cluster, security_protocol="SASL_PLAINTEXT", sasl=SaslSettings("PLAIN", "alice", secret.Secret("b"))
        ) as session:
            for verb in ("check", "apply --yes"):
                code, out, _ = await ran(session, f"elect preferred topic orders; {verb}; discard", capsys)
                assert code == 1
                assert "elections and moves need ALTER on the cluster" in out
            change = changes.ElectLeaders((changes.PartitionTarget("orders", 0),))
            (outcome,) = await session.client.run(send, change, validate_only=False)
            assert outcome.failure is not None
            assert "ALTER on CLUSTER kafka-cluster" in outcome.failure.remedy
            cancel = changes.AlterReassignments({changes.MoveTarget("orders", 0): None})
            (outcome,) = await session.client.run(send, cancel, validate_only=False)
            assert outcome.failure is not None
            assert "ALTER on CLUSTER kafka-cluster" in outcome.failure.remedy
    assert cluster.state.topics["orders"].partitions[0].leader == 1


def test_brokers_and_partitions_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", [(1, 2), (2, 1), (3, 1)], (1, 2, 3))))
        cluster.call(lambda c: start_move(c, "orders", 1, (1, 2)))
        assert (
            cli.run(["run", "-b", cluster.bootstrap, "--output", "json", "-e", "list brokers; describe topic orders"])
            == 0
        )
        brokers, topic = map(json.loads, capsys.readouterr().out.splitlines()[:2])
    found = {each["id"]: (each["leaders"], each["preferred_leaders"], each["to_elect"]) for each in brokers["brokers"]}
    assert found == {1: (1, 2, 1), 2: (1, 0, 0), 3: (1, 1, 0)}
    assert "moves_to" not in topic["partitions"][0]


# -- on real brokers --------------------------------------------------------------------------------------------------


ELECT, REASSIGN = (
    "org.apache.kafka.tools.LeaderElectionCommand",
    "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
)

FIRST, SECOND, THIRD = 2, 3, 4
"""The brokers that tests stop. Broker 1 is the only controller, so no test stops it."""

client = worlds.client("racked_cluster", known=1)


async def staged(client: AdminClient, statement: str) -> tuple[Session, plan.StageReport]:
    session = Session(client, Context("test", "test", client.settings, journal=False))
    (parsed,) = parse(statement)
    await read_needs(session, needs_of_script([parsed]))
    report = session.stage(to_edits(parsed, session.snapshot, plan=session.plan))  # type: ignore[arg-type]
    return session, report


def outcomes_of(report: reconcile.ApplyReport) -> list[changes.Outcome]:
    return [outcome for result in report.results for outcome in result.outcomes]


async def described(client: AdminClient, name: str) -> tuple[Partition, ...]:
    listing = await client.run(topics.describe_topics, [name])
    return listing.topics[name].partitions


async def in_sync(client: AdminClient, name: str, replicas: int) -> None:
    """Wait until all replicas of each partition of topic `name` are in its ISR. Fails after 60 seconds. replicas: the
    number of replicas of each partition.
    """

    async def read() -> bool:
        return any(len(each.isr) < replicas for each in await described(client, name))

    assert await link.until_settled(read, bool, within=60, attempts=600) is False


async def copied(client: AdminClient, name: str) -> None:
    """Wait until all replicas of partition 0 on running brokers have the same end offset. Raises AssertionError after
    60 seconds.
    """
    (partition,) = await described(client, name)
    place = name, 0

    async def read() -> set[int]:
        found = await client.run(replica_logs, {place: partition.replicas})
        return set(found[place].ends.values())

    assert len(await link.until_settled(read, lambda ends: len(ends) != 1, within=60, attempts=600)) == 1


async def write(cluster: kafka_cluster.KafkaCluster, topic: str, count: int, size: int = 100) -> None:
    """Write `count` records one by one with acks=1, so an unclean election may lose those that only the leader has.
    size: bytes of each value.
    """
    producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, acks=1, max_request_size=2**21)
    await producer.start()
    try:
        for _ in range(count):
            await producer.send_and_wait(topic, b"x" * size, partition=0)
    finally:
        await producer.stop()


def elected_by(output: str) -> set[changes.PartitionTarget]:
    """Return the partitions for which the output of kafka-leader-election reports an election."""
    line = re.search(r"Successfully completed leader election \(PREFERRED\) for partitions (.*)", output)
    names = line[1].split(", ") if line else []
    return {
        changes.PartitionTarget(topic, int(number)) for topic, _, number in (name.rpartition("-") for name in names)
    }


@real_clusters.BOTH
async def test_the_same_leaders_as_kafkas_own_command_elects(
    racked_cluster: kafka_cluster.KafkaCluster, client: AdminClient, name: str, tmp_path: Path
) -> None:
    """After a restart of broker 2, `elect preferred all` stages exactly the partitions for which Kafka's command elects
    a leader. After the apply each leader is the one in the forecast.
    """
    replicas = [((start % 3) + 2, ((start + 1) % 3) + 2) for start in range(12)]
    assert (
        await client.run(
            send, changes.CreateTopics((changes.NewTopic(name, assignments=tuple(replicas)),)), validate_only=False
        )
    )[0].ok
    await asyncio.to_thread(racked_cluster.restart, SECOND)
    await in_sync(client, name, 2)
    session, report = await staged(client, "elect preferred all")
    wanted = {each.edit.target for each in report.added}
    assert {each.number for each in wanted if each.topic == name} == {1, 4, 7, 10}  # type: ignore[union-attr]
    done = await asyncio.to_thread(
        racked_cluster.run_tool,
        ELECT,
        "--bootstrap-server",
        racked_cluster.bootstrap,
        "--election-type",
        "preferred",
        "--all-topic-partitions",
    )
    assert elected_by(done.stdout) == wanted, done.stdout
    assert not any(map(needs_preferred, await described(client, name)))

    await asyncio.to_thread(racked_cluster.restart, SECOND)
    await in_sync(client, name, 2)
    session, report = await staged(client, "elect preferred all")
    assert {each.edit.target for each in report.added} == wanted, "the same again"
    forecast = predict(session.snapshot, session.plan)
    assert (await check_plan(session)).ok
    (line, _) = next(iter(effects(session.plan.staged, session.snapshot).values()))
    applied = await changing.apply_plan(session)
    assert {(each.target, each.status) for each in outcomes_of(applied)} == {
        (each, changes.Status.APPLIED) for each in wanted
    }
    await session.read_topics()
    leaders = leaders_by_broker(session.snapshot.topics.values())
    assert leaders == leaders_by_broker(forecast.topics.values())
    forecast_leaders = dict(re.findall(r"(\d+): \d+ → (\d+)", line))
    assert forecast_leaders == {str(broker): str(leaders[broker]) for broker in (SECOND, THIRD)}
    _, again = await staged(client, f"elect preferred topic {name}")
    assert not again.added
    assert {each.reason for each in again.dropped} <= {
        f"broker {b}, its preferred replica, leads already" for b in (2, 3, 4)
    }

    # the runbook's commands, for three partitions and for one
    for some in ((0, 3, 6), (9,)):
        swapped = {changes.MoveTarget(name, number): replicas[number][::-1] for number in some}
        moved = await client.run(send, changes.AlterReassignments(swapped), validate_only=False)
        assert all(each.ok for each in moved)
        session, report = await staged(client, f"elect preferred topic {name}")
        assert {each.edit.target for each in report.added} == {changes.PartitionTarget(name, number) for number in some}
        (command,) = runbook(diff(session.plan, session.snapshot), ("--bootstrap-server", racked_cluster.bootstrap))
        file = tmp_path / "partitions.json"
        file.write_text(command.stdin)
        words = [str(file) if word == kafka_tools.STDIN else word for word in command.words[1:]]
        done = await asyncio.to_thread(racked_cluster.run_tool, ELECT, *words)
        assert elected_by(done.stdout) == {changes.PartitionTarget(name, number) for number in some}, (
            done.stdout + done.stderr
        )


@real_clusters.BOTH
async def test_a_preferred_replica_that_is_away_stays_away(
    racked_cluster: kafka_cluster.KafkaCluster, client: AdminClient, name: str
) -> None:
    """If the preferred replica of partitions is down, kac reports these partitions and stages no election. Brokers
    refuse a request for such an election.
    """
    made = changes.CreateTopics((changes.NewTopic(name, assignments=((SECOND, FIRST), (FIRST, SECOND))),))
    assert (await client.run(send, made, validate_only=False))[0].ok
    await asyncio.to_thread(racked_cluster.stop, SECOND)
    await asyncio.to_thread(racked_cluster.await_brokers, (1, FIRST, THIRD))
    _, report = await staged(client, f"elect preferred topic {name}")
    assert not report.added
    assert [each.reason for each in report.dropped] == [
        f"broker {FIRST} goes on leading: broker {SECOND}, its preferred replica, is down"
    ]
    (outcome,) = await client.run(send, _elect(name), validate_only=False)
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.name) == (changes.Status.FAILED, "PREFERRED_LEADER_NOT_AVAILABLE")
    _, refused = await staged(client, f"elect unclean topic {name} partition 0")
    assert f"broker {FIRST} leads it" in refused.refused[0].reason


def _elect(name: str, *, unclean: bool = False) -> changes.ElectLeaders:
    return changes.ElectLeaders((changes.PartitionTarget(name, 0),), unclean)


@real_clusters.BOTH
@pytest.mark.parametrize("min_isr", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.takes(25)
async def test_the_real_loss_of_an_unclean_election_lies_in_the_range_that_was_said(
    racked_cluster: kafka_cluster.KafkaCluster, client: AdminClient, name: str, min_isr: int
) -> None:
    """The number of records that an unclean election loses is in the range of the forecast. Three replicas stop one
    after another, with records written between the stops, so the last one has all records. The first two come back,
    and the one that is earlier in the replica list has fewer records.
    """
    all_, two, one = 50, 30, 20
    topic = changes.NewTopic(name, assignments=((FIRST, THIRD, SECOND),), configs={"min.insync.replicas": str(min_isr)})
    assert (await client.run(send, changes.CreateTopics((topic,)), validate_only=False))[0].ok
    await write(racked_cluster, name, all_)
    for broker, more in ((THIRD, two), (SECOND, one), (FIRST, 0)):
        await copied(client, name)
        # A crash: the broker keeps its records, and does not wait for a new leader as in an orderly shutdown.
        await asyncio.to_thread(racked_cluster.kill, broker)
        await asyncio.to_thread(racked_cluster.await_brokers, racked_cluster.running)
        if more:
            await write(racked_cluster, name, more)
    _, report = await staged(client, f"elect unclean topic {name} partition 0")
    (refused,) = report.refused
    assert refused.reason == "no replica of it is alive"
    (outcome,) = await client.run(send, _elect(name, unclean=True), validate_only=False)
    assert outcome.failure is not None
    assert outcome.failure.name == "ELIGIBLE_LEADERS_NOT_AVAILABLE"

    back = (THIRD,) if min_isr == 2 else (THIRD, SECOND)
    for broker in back:
        await asyncio.to_thread(racked_cluster.restart, broker)
    session, report = await staged(client, f"elect unclean topic {name} partition 0")
    would = report.added[0].was
    assert isinstance(would, UncleanElection)
    assert (would.elected, would.first) == (THIRD, all_)
    assert (would.least, would.most) == (two if SECOND in back else 0, None)
    lines = effects(session.plan.staged, session.snapshot)[session.plan.staged[0].edit.slot]
    assert f"broker {THIRD} leads then: of the replicas {FIRST},{THIRD},{SECOND} the first that is alive" in lines
    (risk,) = risks(session.plan.staged, session.snapshot, await read_for_risks(session, session.plan.staged))
    assert (risk.name, risk.subject) == ("unclean-loss", f"{name}/0")
    forecast = predict(session.snapshot, session.plan).topics[name].partitions[0]

    for accepted in ((), ("unclean-loss",), (f"unclean-loss={name}/1",)):
        unaccepted = await changing.apply_plan(session, reconcile.ApplyOptions(risks=frozenset(accepted)))
        assert not unaccepted.sent
    applied = await changing.apply_plan(session, reconcile.ApplyOptions(risks=frozenset({f"unclean-loss={name}/0"})))
    assert [each.status for each in outcomes_of(applied)] == [changes.Status.APPLIED]

    async def led() -> Partition:
        (found,) = await described(client, name)
        return found

    now = await link.until_settled(led, lambda found: found.leader < 0, within=30, attempts=300)
    assert now.leader == forecast.leader == THIRD
    await asyncio.to_thread(racked_cluster.restart, FIRST)
    await in_sync(client, name, 1 + len(back))
    found, _ = await client.run(partitions.list_offsets, {(name, 0): partitions.LATEST})
    lost = all_ + two + one - found[name, 0]
    assert found[name, 0] == would.first
    assert would.least <= lost == two + one


@real_clusters.BOTH
async def test_a_move_that_is_cancelled_leaves_the_replicas_that_were(
    racked_cluster: kafka_cluster.KafkaCluster, client: AdminClient, name: str, tmp_path: Path
) -> None:
    """If kac cancels a throttled reassignment that kafka-reassign-partitions began, the partition has its former
    replicas again.
    """
    made = changes.CreateTopics((changes.NewTopic(name, assignments=((FIRST, SECOND), (SECOND, FIRST))),))
    assert (await client.run(send, made, validate_only=False))[0].ok
    await write(racked_cluster, name, 60, 500_000)
    await in_sync(client, name, 2)
    before = await described(client, name)
    file = tmp_path / "move.json"
    move = {"topic": name, "partition": 0, "replicas": [THIRD, SECOND]}
    file.write_text(json.dumps({"version": 1, "partitions": [move]}))
    connect = ("--bootstrap-server", racked_cluster.bootstrap)
    moving = ("--reassignment-json-file", str(file), "--execute", "--throttle", "200000")
    started = await asyncio.to_thread(racked_cluster.run_tool, REASSIGN, *connect, *moving)
    assert "Successfully started" in started.stdout, started.stdout + started.stderr

    async def copied_bytes() -> int:
        found = await client.run(replica_logs, {(name, 0): (THIRD,)})
        return found[name, 0].sizes.get(THIRD, 0)

    assert await link.until_settled(copied_bytes, lambda size: not size, within=60, attempts=600) > 0
    session, report = await staged(client, f"cancel move topic {name}")
    assert [each.edit.target for each in report.added] == [changes.MoveTarget(name, 0)]
    lines = effects(session.plan.staged, session.snapshot)[session.plan.staged[0].edit.slot]
    assert any(
        re.fullmatch(rf"what broker {THIRD} copied is dropped: ≈ .* [KM]iB of ≈ 2\d.* MiB", line) for line in lines
    )
    forecast = predict(session.snapshot, session.plan).topics[name].partitions
    applied = await changing.apply_plan(session)
    assert [each.status for each in outcomes_of(applied)] == [changes.Status.APPLIED]
    assert await client.run(partitions.list_reassignments) == ()
    after = await described(client, name)
    # The replicas are the same; their order follows from the move's list.
    assert [set(each.replicas) for each in after] == [set(each.replicas) for each in before]
    assert [each.replicas for each in after] == [each.replicas for each in forecast]
    assert [(each.leader, set(each.isr)) for each in after] == [(each.leader, set(each.isr)) for each in forecast]
    _, again = await staged(client, f"cancel move topic {name} partition 0")
    assert [each.reason for each in again.dropped] == ["it does not move"]
    cancel = changes.AlterReassignments({changes.MoveTarget(name, 0): None})
    (outcome,) = await client.run(send, cancel, validate_only=False)
    assert outcome.failure is not None
    assert outcome.failure.name == "NO_REASSIGNMENT_IN_PROGRESS"

    # the runbook's command, for a second move
    await asyncio.to_thread(racked_cluster.run_tool, REASSIGN, *connect, *moving)
    session, report = await staged(client, f"cancel move topic {name}")
    (command,) = runbook(diff(session.plan, session.snapshot), connect)
    file.write_text(command.stdin)
    words = [str(file) if word == kafka_tools.STDIN else word for word in command.words[1:]]
    done = await asyncio.to_thread(racked_cluster.run_tool, REASSIGN, *words)
    assert "Successfully cancelled" in done.stdout, done.stdout + done.stderr
    assert [set(each.replicas) for each in await described(client, name)] == [set(each.replicas) for each in before]
