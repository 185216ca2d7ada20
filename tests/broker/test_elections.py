"""Elections of leaders and the end of moves on real brokers, 4.3 and 3.9, beside Kafka's own commands."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import partitions, topics
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.link import until_settled
from console.admin.replicas import replica_logs
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.needs import needs_of_script
from console.model.changes import (
    AlterReassignments,
    CreateTopics,
    MoveTarget,
    NewTopic,
    Outcome,
    PartitionTarget,
    Status,
)
from console.model.cluster import Partition
from console.model.elections import UncleanElection, leaders_by_broker, needs_preferred
from console.plan.compile import predict, runbook
from console.plan.diff import diff
from console.plan.kafka_tools import STDIN
from console.plan.plan import StageReport
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.plan.risks import effects, risks
from console.session.applying import check_plan
from console.session.plan_facts import read_for_risks
from console.session.reading import read_needs
from console.session.session import Session
from tests.support.applied import apply_plan
from tests.support.kafka_cluster import KafkaCluster
from tests.support.real_clusters import BOTH

pytestmark = BOTH

ELECT, REASSIGN = (
    "org.apache.kafka.tools.LeaderElectionCommand",
    "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
)
FIRST, SECOND, THIRD = 2, 3, 4
"""The brokers that tests stop: broker 1 is the only controller."""


@pytest.fixture
async def client(racked_cluster: KafkaCluster) -> AsyncIterator[AdminClient]:
    made = AdminClient(ConnectionSettings(bootstrap=racked_cluster.addresses[:1]))
    made.start()
    yield made
    made.close()


async def staged(client: AdminClient, statement: str) -> tuple[Session, StageReport]:
    """A session in which a statement was staged."""
    session = Session(client, Context("test", "test", client.settings, journal=False))
    (parsed,) = parse(statement)
    await read_needs(session, needs_of_script([parsed]))
    report = session.stage(to_edits(parsed, session.snapshot, plan=session.plan))  # type: ignore[arg-type]
    return session, report


def outcomes_of(report: ApplyReport) -> list[Outcome]:
    return [outcome for result in report.results for outcome in result.outcomes]


async def described(client: AdminClient, name: str) -> tuple[Partition, ...]:
    listing = await client.run(topics.describe_topics, [name])
    return listing.topics[name].partitions


async def in_sync(client: AdminClient, name: str, replicas: int) -> None:
    """Wait until every replica is in the ISR of every partition."""

    async def read() -> bool:
        return any(len(each.isr) < replicas for each in await described(client, name))

    assert await until_settled(read, bool, within=60, attempts=600) is False


async def copied(client: AdminClient, name: str) -> None:
    """Wait until all replicas of partition 0 that are up have the same records."""
    (partition,) = await described(client, name)
    place = name, 0

    async def read() -> set[int]:
        found = await client.run(replica_logs, {place: partition.replicas})
        return set(found[place].ends.values())

    assert len(await until_settled(read, lambda ends: len(ends) != 1, within=60, attempts=600)) == 1


async def write(cluster: KafkaCluster, topic: str, count: int, size: int = 100) -> None:
    """Records one by one, acknowledged by the leader alone: what it has more than others may be lost."""
    producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, acks=1, max_request_size=2**21)
    await producer.start()
    try:
        for _ in range(count):
            await producer.send_and_wait(topic, b"x" * size, partition=0)
    finally:
        await producer.stop()


def elected_by(output: str) -> set[PartitionTarget]:
    """The partitions that kafka-leader-election says it elected a leader for."""
    line = re.search(r"Successfully completed leader election \(PREFERRED\) for partitions (.*)", output)
    names = line[1].split(", ") if line else []
    return {PartitionTarget(topic, int(number)) for topic, _, number in (name.rpartition("-") for name in names)}


async def test_the_same_leaders_as_kafkas_own_command_elects(
    racked_cluster: KafkaCluster, client: AdminClient, name: str, tmp_path: Path
) -> None:
    """After a broker was away the others lead for it. What `elect preferred all` stages is what Kafka's command
    changes, and applying it leads to the leaders that were forecast."""
    replicas = [((start % 3) + 2, ((start + 1) % 3) + 2) for start in range(12)]
    assert (await client.run(send, CreateTopics((NewTopic(name, assignments=tuple(replicas)),)), validate_only=False))[
        0
    ].ok
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
    applied = await apply_plan(session)
    assert {(each.target, each.status) for each in outcomes_of(applied)} == {(each, Status.APPLIED) for each in wanted}
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

    # The runbook's commands, of some partitions and of one.
    for some in ((0, 3, 6), (9,)):
        swapped = {MoveTarget(name, number): replicas[number][::-1] for number in some}
        moved = await client.run(send, AlterReassignments(swapped), validate_only=False)
        assert all(each.ok for each in moved)
        session, report = await staged(client, f"elect preferred topic {name}")
        assert {each.edit.target for each in report.added} == {PartitionTarget(name, number) for number in some}
        (command,) = runbook(diff(session.plan, session.snapshot), ("--bootstrap-server", racked_cluster.bootstrap))
        file = tmp_path / "partitions.json"
        file.write_text(command.stdin)
        words = [str(file) if word == STDIN else word for word in command.words[1:]]
        done = await asyncio.to_thread(racked_cluster.run_tool, ELECT, *words)
        assert elected_by(done.stdout) == {PartitionTarget(name, number) for number in some}, done.stdout + done.stderr


async def test_a_preferred_replica_that_is_away_stays_away(
    racked_cluster: KafkaCluster, client: AdminClient, name: str
) -> None:
    """Its partitions are named and not staged; sent all the same, brokers refuse them."""
    made = CreateTopics((NewTopic(name, assignments=((SECOND, FIRST), (FIRST, SECOND))),))
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
    assert (outcome.status, outcome.failure.name) == (Status.FAILED, "PREFERRED_LEADER_NOT_AVAILABLE")
    _, refused = await staged(client, f"elect unclean topic {name} partition 0")
    assert f"broker {FIRST} leads it" in refused.refused[0].reason


def _elect(name: str, *, unclean: bool = False) -> partitions.ElectLeaders:
    return partitions.ElectLeaders((PartitionTarget(name, 0),), unclean)


@pytest.mark.parametrize("min_isr", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.takes(25)
async def test_the_real_loss_of_an_unclean_election_lies_in_the_range_that_was_said(
    racked_cluster: KafkaCluster, client: AdminClient, name: str, min_isr: int
) -> None:
    """Three replicas are stopped one after another, with records between: the last one has all of them. The two others
    come back, and the one that has less is earlier in the order of the replicas."""
    all_, two, one = 50, 30, 20
    topic = NewTopic(name, assignments=((FIRST, THIRD, SECOND),), configs={"min.insync.replicas": str(min_isr)})
    assert (await client.run(send, CreateTopics((topic,)), validate_only=False))[0].ok
    await write(racked_cluster, name, all_)
    for broker, more in ((THIRD, two), (SECOND, one), (FIRST, 0)):
        await copied(client, name)
        # As a crash: what it wrote is there, and a shutdown in order would wait for another leader.
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
        unaccepted = await apply_plan(session, ApplyOptions(risks=frozenset(accepted)))
        assert not unaccepted.sent
    applied = await apply_plan(session, ApplyOptions(risks=frozenset({f"unclean-loss={name}/0"})))
    assert [each.status for each in outcomes_of(applied)] == [Status.APPLIED]

    async def led() -> Partition:
        (found,) = await described(client, name)
        return found

    now = await until_settled(led, lambda found: found.leader < 0, within=30, attempts=300)
    assert now.leader == forecast.leader == THIRD
    await asyncio.to_thread(racked_cluster.restart, FIRST)
    await in_sync(client, name, 1 + len(back))
    found, _ = await client.run(partitions.list_offsets, {(name, 0): partitions.LATEST})
    lost = all_ + two + one - found[name, 0]
    assert found[name, 0] == would.first
    assert would.least <= lost == two + one


async def test_a_move_that_is_cancelled_leaves_the_replicas_that_were(
    racked_cluster: KafkaCluster, client: AdminClient, name: str, tmp_path: Path
) -> None:
    """It was started by kafka-reassign-partitions, with a throttle so that it lasts."""
    made = CreateTopics((NewTopic(name, assignments=((FIRST, SECOND), (SECOND, FIRST))),))
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

    assert await until_settled(copied_bytes, lambda size: not size, within=60, attempts=600) > 0
    session, report = await staged(client, f"cancel move topic {name}")
    assert [each.edit.target for each in report.added] == [MoveTarget(name, 0)]
    lines = effects(session.plan.staged, session.snapshot)[session.plan.staged[0].edit.slot]
    assert any(
        re.fullmatch(rf"what broker {THIRD} copied is dropped: ≈ .* [KM]iB of ≈ 2\d.* MiB", line) for line in lines
    )
    forecast = predict(session.snapshot, session.plan).topics[name].partitions
    applied = await apply_plan(session)
    assert [each.status for each in outcomes_of(applied)] == [Status.APPLIED]
    assert await client.run(partitions.list_reassignments) == ()
    after = await described(client, name)
    # The same replicas; which of them is first follows from the order in which the move named them.
    assert [set(each.replicas) for each in after] == [set(each.replicas) for each in before]
    assert [each.replicas for each in after] == [each.replicas for each in forecast]
    assert [(each.leader, set(each.isr)) for each in after] == [(each.leader, set(each.isr)) for each in forecast]
    _, again = await staged(client, f"cancel move topic {name} partition 0")
    assert [each.reason for each in again.dropped] == ["it does not move"]
    cancel = AlterReassignments({MoveTarget(name, 0): None})
    (outcome,) = await client.run(send, cancel, validate_only=False)
    assert outcome.failure is not None
    assert outcome.failure.name == "NO_REASSIGNMENT_IN_PROGRESS"

    # The runbook's command, of a second move.
    await asyncio.to_thread(racked_cluster.run_tool, REASSIGN, *connect, *moving)
    session, report = await staged(client, f"cancel move topic {name}")
    (command,) = runbook(diff(session.plan, session.snapshot), connect)
    file.write_text(command.stdin)
    words = [str(file) if word == STDIN else word for word in command.words[1:]]
    done = await asyncio.to_thread(racked_cluster.run_tool, REASSIGN, *words)
    assert "Successfully cancelled" in done.stdout, done.stdout + done.stderr
    assert [set(each.replicas) for each in await described(client, name)] == [set(each.replicas) for each in before]
