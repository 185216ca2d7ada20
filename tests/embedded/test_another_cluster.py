"""Another cluster answers at the addresses: what was read, staged or begun on one never changes the other, at whatever
moment they are swapped, on every front end."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.cluster import describe_cluster
from console.admin.errors import WrongCluster
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.faults import Fault, Meanwhile
from console.embedded.spec import ClusterSpec
from console.embedded.state import ClusterState
from console.log_file import state_directory
from console.model.changes import AlterConfigs, ConfigOp
from console.model.codes import SET
from console.model.identity import same_cluster
from console.operations.goals import Drain
from console.operations.operation import State
from console.session.operating import begin, read_operations, work_on
from console.session.operation_work import Pace
from console.session.session import Session
from console.session.snapshot_reader import Refused
from console.shell.shell import UNAPPLIED
from tests.embedded.apply_fronts import (
    ALTER,
    DAY,
    FRONTS,
    ORDERS,
    PLAIN,
    RETENTION,
    Front,
    at_prompt,
    on_screen,
    put_topic,
    settings_of,
    stage,
)
from tests.scenarios.test_operations import LAYOUT, RATE, World, world_of
from tests.support import worlds
from tests.support.older_brokers import like
from tests.support.worlds import Kac

A, B = "QUFBQUFBQUFBQUFBQUFBQQ", "QkJCQkJCQkJCQkJCQkJCQg"


def swap(state: ClusterState) -> None:
    """From now on the other cluster answers; its topics have the same names."""
    state.cluster_id = B


running = worlds.cluster(ClusterSpec(brokers=2, cluster_id=A), partial(put_topic, "orders"), scope="module")


@pytest.fixture
def cluster(running: ThreadedCluster) -> Iterator[ThreadedCluster]:
    def clean(one: EmbeddedCluster) -> None:
        one.faults.clear()
        one.state.cluster_id = A
        one.state.replace_config(ORDERS, {})

    running.call(clean)
    yield running
    running.call(clean)


kac = worlds.commands()


def retention(cluster: ThreadedCluster) -> str | None:
    return cluster.call(lambda c: c.state.configs.get(ORDERS, {}).get(RETENTION))


def swapped_at(cluster: ThreadedCluster, api: str, nth: int) -> None:
    cluster.call(lambda c: c.faults.add(Fault(Meanwhile(swap), api=api, nth=nth, times=1)))


@pytest.mark.parametrize(("api", "nth"), [("describe_configs", 1), (ALTER, 1)], ids=["staged upon", "checked"])
@pytest.mark.parametrize("front", FRONTS, ids=lambda front: front.name)
def test_no_command_changes_another_cluster_than_it_read(
    cluster: ThreadedCluster, kac: Kac, front: Front, tmp_path: Path, api: str, nth: int
) -> None:
    swapped_at(cluster, api, nth)
    ran = kac(*front.command(tmp_path, PLAIN, *front.unasked))
    assert ran.code == 1
    assert retention(cluster) is None
    said = ran.out + ran.complaints
    assert re.search(rf"{B} answer(?:ed at the addresses|s at .*, an address) of cluster {A}", said), said


def test_what_exists_is_changed_on_the_cluster_that_was_asked(cluster: ThreadedCluster, kac: Kac) -> None:
    """Whether there is the topic is asked before the statement's own reads."""
    swapped_at(cluster, "metadata", 1)
    ran = kac("topics", "--delete", "--topic", "orders", "--if-exists", "--yes")
    assert ran.code == 1
    assert f"{B} answered at the addresses of cluster {A}" in ran.complaints, ran
    assert cluster.call(lambda c: "orders" in c.state.topics)


def test_the_requests_after_the_swap_are_not_sent(cluster: ThreadedCluster, kac: Kac) -> None:
    """The first one was: its outcome stands, and is in the journal of its own cluster."""
    swapped_at(cluster, "create_topics", 2)
    words = f"create topic later partitions=1 replication=1; set topic orders {RETENTION}={DAY}"
    ran = kac("run", "-e", f"{words}; apply --yes")
    assert ran.code == 1
    assert cluster.call(lambda c: "later" in c.state.topics)
    assert retention(cluster) is None
    assert "WRONG_CLUSTER" in ran.out + ran.complaints
    folder = state_directory(os.environ) / "journal"
    assert not list(folder.glob(f"{B}*"))
    assert list(folder.glob(f"{A}*"))


async def test_the_shell_applies_nothing_to_another_cluster(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    async with at_prompt(cluster) as (shell, types, keys):
        swapped_at(cluster, "describe_configs", 2)
        types(PLAIN.statement, "apply", "yes")
        keys.send_text("\x04")
        types("yes")
        assert await shell.run() == UNAPPLIED
    assert retention(cluster) is None
    assert "at the addresses of cluster" in capsys.readouterr().err


@pytest.mark.parametrize("asked", [False, True], ids=["staged", "asked"])
async def test_the_screen_applies_nothing_to_another_cluster(cluster: ThreadedCluster, asked: bool) -> None:
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        await it.press("7")
        if asked:
            await it.press("A", shows="Apply")
        cluster.call(lambda c: swap(c.state))
        if not asked:
            await it.press("A")
        await it.press("y", shows=f"{B} answered")
        assert retention(cluster) is None


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with world_of(ClusterSpec(brokers=4, cluster_id=A)) as made:
        made.holds(LAYOUT)
        yield made


async def test_an_operation_takes_no_step_on_another_cluster(world: World) -> None:
    number = await begin(world.session, Drain((3,)), RATE)
    world.cluster.faults.add(Fault(Meanwhile(swap), api="alter_partition_reassignments", nth=1, times=1))
    with pytest.raises(Refused, match=f"{B} answered at the addresses of cluster {A}"):
        await work_on(world.session, number, pace=world.pace)
    moved, throttled = world.replicas(), world.throttles()
    with pytest.raises(Refused, match=B):
        await work_on(world.session, number, pace=world.pace)
    assert (world.replicas(), world.throttles()) == (moved, throttled)
    world.cluster.state.cluster_id = A
    assert (await read_operations(world.session)).open[0].number == number
    assert (await work_on(world.session, number, pace=world.pace)).state is State.DONE


async def test_an_operation_begins_on_no_other_cluster(world: World) -> None:
    await world.session.read_cluster()
    before = world.replicas()
    number = await begin(world.session, Drain((3,)), RATE)
    world.cluster.state.cluster_id = B
    with pytest.raises(Refused, match="WRONG_CLUSTER"):
        await work_on(world.session, number, pace=Pace(sleep=world.wait))
    assert world.replicas() == before
    assert world.throttles() == {}


# -- one broker's address ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["4.4", "3.9", "2.8"])
async def test_a_change_takes_no_connection_that_leads_to_another_cluster(release: str) -> None:
    async with EmbeddedCluster(like(release, brokers=1, cluster_id=A)) as cluster:
        put_topic_on_one(cluster)
        async with worlds.linked(worlds.settings(cluster)) as link:
            assert (await describe_cluster(link)).cluster_id == A
            swap(cluster.state)
            change = AlterConfigs({ORDERS: (ConfigOp(RETENTION, SET, DAY),)}, prior={ORDERS: {}})
            with pytest.raises(WrongCluster, match=rf"cluster {B} answers at .*, an address of cluster {A}"):
                await send(link, change, validate_only=False)
            assert cluster.state.configs.get(ORDERS, {}) == {}
            cluster.state.cluster_id = A
            (outcome,) = await send(link, change, validate_only=False)
            assert outcome.ok


def put_topic_on_one(cluster: EmbeddedCluster) -> None:
    from console.embedded.replicas import new_topic

    cluster.state.put_topic(new_topic("orders", ((1,),), [1]))


# -- servers without an id ---------------------------------------------------------------------------------------------


def test_no_id_is_that_of_no_other() -> None:
    ids: list[str | None] = [None, "", A, B]
    same = {(one, other) for one in ids for other in ids if same_cluster(one, other)}
    assert same == {(A, A), (B, B)}


@pytest.mark.parametrize("first", [True, False], ids=["gone", "come"])
async def test_a_server_without_an_id_is_not_the_one_before(cluster: ThreadedCluster, first: bool) -> None:
    client = AdminClient(settings_of(cluster))
    with client:
        session = Session(client, Context("here", "test", client.settings), "run")
        cluster.call(lambda c: setattr(c.state, "cluster_id", A if first else ""))
        await session.read_cluster()
        cluster.call(lambda c: setattr(c.state, "cluster_id", "" if first else A))
        with pytest.raises(Refused, match="a server without an id"):
            await session.read_cluster()


def test_a_server_without_an_id_is_changed_and_that_is_said(cluster: ThreadedCluster, kac: Kac) -> None:
    cluster.call(lambda c: setattr(c.state, "cluster_id", ""))
    ran = kac("run", "--no-journal", "-e", f"{PLAIN.statement}; apply --yes")
    assert ran.code == 0, ran
    assert "gives no cluster id" in ran.out + ran.complaints
    assert retention(cluster) == DAY
