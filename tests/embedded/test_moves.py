"""Moves from a command to the last replica, on an embedded cluster."""

from __future__ import annotations

import json
import re

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic, start_move
from console.embedded.spec import ClusterSpec
from console.model.changes import Status
from console.plan.compile import runbook
from console.plan.diff import diff
from console.plan.kinds.moves import MoveReplicas
from console.session.applying import apply_plan
from tests.embedded.test_elections import ran, session_on


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
