"""Tests of operations in the console: the forecast, the question, the work in the background, and another console that
continues it.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.partition_log import PartitionLog
from console.embedded.replicas import is_moving, new_topic
from console.embedded.spec import ClusterSpec
from console.plan.edits import MoveReplicaDir
from console.plan.stale_throttles import LISTS, RATES
from console.triage.causes import brokers
from tests.tui.console_app import Driven, driven_on

PLACES = ((1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 2, 4))
SIZE = 3_000_000


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    """Provide a cluster of four brokers in three racks, with 3 MB in each partition."""
    with run_in_thread(ClusterSpec(brokers=4, racks={1: "a", 2: "b", 3: "c", 4: "c"})) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", PLACES, (1, 2, 3, 4))))
        logs = {("orders", number): PartitionLog(older_bytes=SIZE) for number in range(len(PLACES))}
        running.call(lambda c: c.state.logs.update(logs))
        yield running


def replicas(cluster: ThreadedCluster) -> Sequence[tuple[int, ...]]:
    return cluster.call(lambda c: [each.replicas for each in c.state.topics["orders"].partitions])


def moving(cluster: ThreadedCluster) -> int:
    return cluster.call(lambda c: sum(is_moving(each) for each in c.state.topics["orders"].partitions))


async def agreed(it: Driven, goal: str) -> None:
    """Enter a goal in the command bar, and answer the question after its forecast with yes."""
    await it.command(goal, shows="y begins, and works on it")
    await it.press("y")


async def test_a_goal_shows_what_it_does_and_is_asked(cluster: ThreadedCluster, it: Driven) -> None:
    """The console shows the forecast of a goal and asks; before the answer it sends no change. The whole question fits
    a screen of 80×24.
    """
    await it.command("drain broker 3 throttle 50MB/s", shows="Begin on test: drain 3?")
    await it.shows("3 partitions, ≈ 8.58 MiB to copy; at least 1 s at the throttle")
    row = it.line("1 → 4").split()
    assert row[:4] == ["4", "1", "→", "4"], row
    await it.shows("y begins, and works on it while kac is open")
    await it.press("escape", shows="nothing was sent")
    assert replicas(cluster) == list(PLACES)
    assert it.app.operating.at_work == ""
    assert len(it.app.session.plan) == 0


async def test_why_it_has_to_wait_is_read_to_its_end(cluster: ThreadedCluster) -> None:
    cluster.run(lambda c: c.broker_down(4))
    async with driven_on(cluster) as it:
        await it.command("drain broker 3", shows=("Begin on test: drain 3?", "no replica can move yet"))
        told = " ".join(it.text.split())
        why = "3 partitions can't move: factor 3 needs 3 other brokers, 2 can take replicas"
        assert f"{why} (orders/0, orders/1 and 1 more)" in told, told
        await it.press("escape")


async def test_a_drain_from_the_alarm_to_its_end(cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """F on the cause writes the drain into the command bar, and the staged plan of the user stays as it is. For this
    test the alarm does not wait ten minutes.
    """
    monkeypatch.setattr(brokers, "AWAY", timedelta(0))
    async with driven_on(cluster, start_pane="now") as it:
        await it.command("set topic orders retention.ms=1h")
        await it.until(lambda: len(it.app.session.plan) == 1)
        cluster.run(lambda c: c.broker_killed(3))
        await it.shows("broker 3 is down")
        cluster.call(lambda c: c.fence(3))
        await it.press("g")  # marks the row as seen: for a moment it may have been three unexplained partitions
        await it.shows("F opens")
        await it.press("F")
        await it.until(lambda: it.app.bar.line.is_open)
        assert it.app.bar.line.text == "drain broker 3"
        await it.press("enter", shows="Begin on test: drain 3?")
        await it.press("y")
        await it.until(lambda: all(3 not in each for each in replicas(cluster)))
        await it.shows("operation 1 (drain 3) is done; the way back is :back 1")
        assert it.app.operating.at_work == ""
        assert "op 1" not in it.lines[0]
        assert len(it.app.session.plan) == 1


async def test_a_console_that_is_closed_leaves_it_to_the_next(cluster: ThreadedCluster) -> None:
    """While an operation runs, the header shows its progress, and the console asks before it is closed. In the next
    console the key W continues the operation.
    """
    async with driven_on(cluster) as it:
        await agreed(it, "drain broker 3 throttle 100kB/s")
        await it.until(lambda: moving(cluster) == 3)
        await it.shows("op 1 running")
        await it.press("w", shows="this console")
        assert "drain 3" in it.line("▸")
        await it.press("q", shows="operation 1 is worked on here. It waits then")
        await it.press("y")
        await it.until(lambda: not it.app.is_running)
    assert moving(cluster) == 3
    async with driven_on(cluster, shows="operation 1 (drain 3) is open: W goes on with it here") as it:
        await it.press("W", shows="operation 1 goes on: drain 3")
        await it.press("W", shows="operation 1 is worked on here")
        await it.press("w", "x", shows="x once more cancels operation 1")
        await it.press("x", shows="operation 1 (drain 3) is cancelled")
    assert replicas(cluster) == list(PLACES)
    left = cluster.call(lambda c: {key for configs in c.state.configs.values() for key in configs})
    assert not left & {*RATES, *LISTS}


async def test_a_second_goal_is_refused_and_names_the_first(it: Driven) -> None:
    await agreed(it, "drain broker 3 throttle 100kB/s")
    await it.shows("op 1 running")
    await it.command("balance", shows="operation 1 (drain 3) is open")


async def test_where_nothing_is_to_be_done_that_is_said(it: Driven) -> None:
    await it.command("replication topic orders 3", shows="replication orders 3: no replica has to move")
    await it.command("replace broker 3 by 9", shows="broker 9 is not in the cluster")
    await it.press("W", shows="no operation is open")


async def test_keys_write_the_goal(cluster: ThreadedCluster) -> None:
    """The key M on a broker or on the brokers' default writes a goal into the command bar, and so does n in the pane of
    moves.
    """
    async with driven_on(cluster, start_pane="brokers") as it:
        await it.until(lambda: it.app.view.lines.cursor_index >= 0)
        await it.press("M")
        assert it.app.bar.line.text == "balance throttle "
        await it.press("escape", "j", "M")
        assert it.app.bar.line.text == "drain broker 1 throttle "
        await it.press("escape", "w", "n")
        assert it.app.bar.line.text == "drain broker "


async def test_a_context_that_asks_for_its_name_or_is_read_only_begins_nothing(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, confirm=True) as it:
        await it.command("drain broker 3", shows="Type test, the name of the context")
        await it.press("y", "enter", shows="that is not the name of the context")
        await it.press("escape", shows="nothing was sent")
    async with driven_on(cluster, read_only=True) as it:
        await it.command("drain broker 3", shows="context test is read-only")


async def test_a_directory_is_drained_and_its_copies_are_seen() -> None:
    """The forecast of a drain of a log directory names directories. The pane has a row for each copy between
    directories, and x on it stages that the replica stays where it is.
    """
    with run_in_thread(ClusterSpec(brokers=2, static_configs={"log.dirs": "/data1,/data2"})) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", ((1, 2),), (1, 2))))
        running.call(lambda c: c.state.logs.update({("orders", 0): PartitionLog(older_bytes=SIZE)}))
        running.call(lambda c: c.state.replica_dirs.update({(c.state.topics["orders"].id, 0, 1): "/data1"}))
        async with driven_on(running) as it:
            await it.command("drain broker 1 dir /data1 throttle 20kB/s", shows="Begin on test: drain 1 dir /data1?")
            await it.shows("1 replica, ≈ 2.86 MiB to copy; at least 150 s at the throttle")
            assert it.line("/data1  ").split()[:4] == ["/data1", "1", "→", "0"]
            await it.press("y", shows="op 1 running")
            await it.press("w")
            await it.until(lambda: "orders/0 on 1" in it.text)
            row = it.line("orders/0 on 1").split()
            assert row[3:5] == ["/data1", "/data2"], row
            await it.press("j", shows="throttle between directories of broker 1 is 20 kB/s")
            await it.press("x")
            await it.until(lambda: len(it.app.session.plan) == 1)
            assert it.edits == [MoveReplicaDir("orders", 0, 1, "/data1")]
            await it.press("u")
            await it.press("k", "x", "x", shows="operation 1 (drain 1 dir /data1) is cancelled")
        assert running.call(lambda c: dict(c.state.dir_copies)) == {}
