"""Moves from a command to the last replica, on an embedded cluster."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from console.admin.settings import ConnectionSettings
from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import caught_up, new_topic, start_move
from console.embedded.spec import ClusterSpec
from console.model.changes import Status
from console.model.config import topic_resource
from console.model.parts import Part
from console.plan.compile import runbook
from console.plan.diff import diff
from console.plan.edits import CancelMove, MoveReplicas
from console.triage.symptoms import Subject
from tests.embedded.test_elections import ran, session_on
from tests.support.applied import apply_plan
from tests.support.triage_watch import watching


async def test_a_partition_moves_and_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    """The plan says what is copied and dropped; the revert is another move."""
    async with EmbeddedCluster(ClusterSpec(brokers=3)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2), (2, 1)], (1, 2, 3)))
        async with session_on(cluster) as session:
            code, out, _ = await ran(session, "move topic orders partition 0 to 3,2; plan", capsys)
            assert re.search(r"move of orders/0 +move +1,2 +3,2 +staged", out)
            assert "broker 3 copies" in out
            assert "broker 1 drops its replica once the others are in sync" in out
            assert "its preferred leader is broker 3 then, not 1" in out
            code, out, _ = await ran(session, "apply --yes", capsys)
            assert code == 0, out
            await cluster.settled()
            assert cluster.state.topics["orders"].partitions[0].replicas == (3, 2)
            code, out, _ = await ran(session, "move topic orders partition 0 to 3,2", capsys)
            assert "its replicas are there already" in out
            code, out, _ = await ran(session, "revert 1; apply --yes", capsys)
            assert code == 0, out
            await cluster.settled()
            assert cluster.state.topics["orders"].partitions[0].replicas == (1, 2)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("move topic orders partition 0 to 4", "it has 2 replicas, and would have 1"),
        ("move topic orders partition 0 to 9,1", "broker 9 is not alive"),
        ("move topic orders partition 1 to 1,3", "it moves to 2,3 already"),
        ("move topic orders partition 7 to 1,3", "topic orders has no partition 7"),
    ],
)
async def test_a_move_that_may_not_be_meant_is_refused(
    capsys: pytest.CaptureFixture[str], command: str, why: str
) -> None:
    """Another number of replicas, a broker that is not there, a move of another tool."""
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2), (2, 1)], (1, 2, 3, 4)))
        await cluster.broker_down(3)
        assert start_move(cluster, "orders", 1, (2, 3)).code == 0
        async with session_on(cluster) as session:
            code, out, err = await ran(session, command, capsys)
            assert code == 1
            assert why in out + err
            assert not session.plan


async def test_a_move_of_another_tool_that_starts_meanwhile_is_a_conflict(capsys: pytest.CaptureFixture[str]) -> None:
    """It is never replaced unseen."""
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2)], (1, 2, 3, 4)))
        await cluster.broker_down(4)
        async with session_on(cluster) as session:
            await ran(session, "move topic orders partition 0 to 3,2", capsys)
            assert start_move(cluster, "orders", 0, (4, 2)).code == 0
            report = await apply_plan(session)
            assert not report.sent
            (conflict,) = report.conflicts
            assert (conflict.was.value, conflict.theirs.value) == ("1,2", "2,1 → 4,2")


async def test_the_number_of_replicas_changes_where_it_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    """With resize; in the runbook it is kafka-reassign-partitions' own file."""
    async with EmbeddedCluster(ClusterSpec(brokers=3)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2)], (1, 2, 3)))
        async with session_on(cluster) as session:
            await ran(session, "move topic orders partition 0 to 1,2,3 resize", capsys)
            assert [each.edit for each in session.plan.staged] == [MoveReplicas("orders", 0, (1, 2, 3), True)]
            (command,) = runbook(diff(session.plan, session.snapshot), ("--bootstrap-server", "h:1"))
            assert command.words[:1] == ("kafka-reassign-partitions",)
            assert json.loads(command.stdin)["partitions"] == [
                {"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}
            ]
            report = await apply_plan(session)
            assert [each.status for result in report.results for each in result.outcomes] == [Status.APPLIED]
            await cluster.settled()
            assert cluster.state.topics["orders"].partitions[0].replicas == (1, 2, 3)


async def stuck(cluster: EmbeddedCluster) -> None:
    """orders/0 was on 1 and goes to 2 and 3; 2 has copied it, 3 is down, and then 1."""
    cluster.state.put_topic(new_topic("orders", [(1,)], (1, 2, 3, 4)))
    await cluster.broker_down(3)
    assert start_move(cluster, "orders", 0, (2, 3)).code == 0
    topic = cluster.state.topics["orders"]
    copied = caught_up(topic.partitions[0], 2, cluster.state.alive())
    cluster.state.put_topic(replace(topic, partitions=(copied,)))
    await cluster.broker_down(1)
    assert cluster.state.topics["orders"].partitions[0].isr == (2,)


async def test_a_move_back_to_none_that_is_in_sync_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """As brokers refuse it; the plan says which are to come back."""
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        await stuck(cluster)
        assert "unclean leader election" in (start_move(cluster, "orders", 0, None).message or "")
        async with session_on(cluster) as session:
            code, out, err = await ran(session, "cancel move topic orders partition 0", capsys)
            assert code == 1, out
            assert "none of the replicas before the move is in sync (1)" in out + err
            assert not session.plan


async def test_where_brokers_would_take_it_the_loss_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        await stuck(cluster)
        cluster.state.alter_config(topic_resource("orders"), {"unclean.leader.election.enable": "true"})
        async with session_on(cluster) as session:
            await ran(session, "cancel move topic orders partition 0", capsys)
            code, out, err = await ran(session, "apply --yes", capsys)
            assert code == 3
            assert "unclean-loss" in out + err
            assert "what only broker 2 has is lost" in out + err
            assert cluster.state.topics["orders"].partitions[0].adding
            code, out, err = await ran(session, "apply --yes --accept unclean-loss=orders/0", capsys)
            assert code == 0, out + err
            assert cluster.state.topics["orders"].partitions[0].replicas == (1,)
            assert cluster.state.topics["orders"].partitions[0].leader < 0


async def test_what_was_not_read_is_judged_before_it_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the topic's configs it is staged with its risk; brokers have the last word."""
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        await stuck(cluster)
        async with session_on(cluster) as session:
            await session.read_cluster()
            await session.read_topics()
            await session.read_whole(Part.REASSIGNMENTS)
            session.stage([CancelMove("orders", 0)])
            assert session.plan
            await ran(session, "apply --yes --accept unclean-loss=orders/0", capsys)
            assert cluster.state.topics["orders"].partitions[0].adding == (2, 3)


async def test_a_cancellation_with_a_replica_in_sync_has_no_risk(capsys: pytest.CaptureFixture[str]) -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 4)], (1, 2, 3, 4)))
        await cluster.broker_down(3)
        assert start_move(cluster, "orders", 0, (2, 3)).code == 0
        await cluster.broker_down(4)
        async with session_on(cluster) as session:
            code, out, err = await ran(session, "cancel move topic orders partition 0; apply --yes", capsys)
            assert code == 0, out + err
            assert cluster.state.topics["orders"].partitions[0].replicas == (1, 4)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "move topic orders partition 0 to 3,4",
            "broker 3 stays and is not in sync: before Kafka 4.3 the move does not",
        ),
        ("move topic orders partition 0 to 3 resize", "broker 3 stays and is not in sync: the move does not end"),
        ("move topic orders partition 0 to 3,1", ""),  # another order is taken at once
        ("move topic orders partition 0 to 1,4", ""),
    ],
)
async def test_a_replica_that_stays_and_is_down_is_said(
    capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 3)], (1, 2, 3, 4)))
        await cluster.broker_down(3)
        async with session_on(cluster) as session:
            _, out, err = await ran(session, f"{command}; plan", capsys)
            assert len(session.plan.staged) == 1, out + err
            text = " ".join((out + err).split())
            assert said in text
            assert bool(said) is ("stays and is not in sync" in text)


@pytest.mark.parametrize(("release", "ends"), [("3.9", False), ("4.4", True)])
async def test_a_move_that_waits_for_a_replica_that_stays(release: str, *, ends: bool) -> None:
    """Before Kafka 4.3 those that stay have to be in sync, too: with one of them down it ends when that is back."""
    async with EmbeddedCluster(ClusterSpec(brokers=3, versions=release)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2)], (1, 2, 3)))
        await cluster.broker_down(2)
        assert start_move(cluster, "orders", 0, (2, 3)).code == 0
        await cluster.settled()
        partition = cluster.state.topics["orders"].partitions[0]
        if ends:
            assert (partition.replicas, partition.isr, partition.adding) == ((2, 3), (3,), ())
            return
        assert (partition.replicas, partition.adding, partition.removing) == ((2, 3, 1), (3,), (1,))
        assert set(partition.isr) == {1, 3}
        async with watching(ConnectionSettings(tuple(cluster.addresses.values()))) as it:
            await it.names("reassignment-stalled", Subject(topic="orders", partition=0))
        await cluster.broker_up(2)
        partition = cluster.state.topics["orders"].partitions[0]
        assert (partition.replicas, set(partition.isr), partition.adding) == ((2, 3), {2, 3}, ())
