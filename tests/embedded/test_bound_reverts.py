"""A revert takes back what its change made, and nothing that has taken its place since."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.files.plan_file import moved_since, read_plan, write_plan
from console.model.changes import NewTopic, ScramUser
from console.model.codes import ScramMechanism
from console.model.config import topic_resource
from console.model.secret import Secret
from console.plan import edits as plan_edits
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.session.journal_changes import RevertReport, stage_revert
from console.session.read_again import read_again
from console.session.session import Session
from console.wire.schemas import api_key
from tests.support import worlds
from tests.support.applied import apply_plan
from tests.support.cutting_proxy import Cut, CuttingProxy

ORDERS = topic_resource("orders")
RETENTION = "retention.ms"
ALICE = ScramUser("alice", ScramMechanism(1))


cluster = worlds.embedded(ClusterSpec(brokers=1))


client = worlds.client("cluster", lost_answer_timeout=1.0)


def make(cluster: EmbeddedCluster, name: str = "orders", partitions: int = 1) -> None:
    """Somebody else creates a topic; one of that name goes before."""
    if name in cluster.state.topics:
        cluster.state.remove_topic(name)
    cluster.state.put_topic(new_topic(name, striped([1], partitions, 1), [1]))


def journal() -> Path:
    (path,) = Path(os.environ["HOME"], ".local", "state", "kac", "journal").iterdir()
    return path


def topic_id(cluster: EmbeddedCluster) -> object:
    topic = cluster.state.topics.get("orders")
    return topic.id if topic is not None else None


def session_of(client: AdminClient) -> Session:
    return Session(client, Context("test", "tests", client.settings), "test")


async def change(client: AdminClient, *edits: plan_edits.Edit) -> int:
    session = session_of(client)
    await session.read_cluster()
    await session.read_topics()
    await read_again(session, edits)
    assert len(session.stage(edits).added) == len(edits)
    report = await apply_plan(session)
    assert report.ok, report
    assert report.change is not None
    return report.change


async def revert(client: AdminClient, number: int, *, force: bool = False) -> tuple[RevertReport, ApplyReport]:
    """Stage a revert and apply it."""
    session = session_of(client)
    staged = await stage_revert(session, number)
    return staged, await apply_plan(session, ApplyOptions(force=force))


def reasons(report: ApplyReport) -> str:
    assert not report.sent
    return "; ".join(conflict.why for conflict in report.conflicts)


CREATE = plan_edits.CreateTopic(NewTopic("orders", 1, 1))


async def test_its_own_topic_is_deleted_again(cluster: EmbeddedCluster, client: AdminClient) -> None:
    number = await change(client, CREATE)
    staged, report = await revert(client, number)
    assert not staged.moved
    assert report.ok
    assert topic_id(cluster) is None


async def test_a_topic_of_the_same_name_that_somebody_made_since_is_not_deleted(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    number = await change(client, CREATE)
    make(cluster)
    theirs = topic_id(cluster)
    staged, report = await revert(client, number)
    assert len(staged.moved) == 1, "it is shown when it is staged"
    assert reasons(report) == "topic orders was deleted and created again since"
    assert topic_id(cluster) == theirs
    _, report = await revert(client, number, force=True)
    assert report.sent
    assert topic_id(cluster) is None


async def test_a_topic_that_a_later_change_of_ones_own_made_is_not_deleted(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    first = await change(client, CREATE)
    await change(client, plan_edits.DeleteTopic("orders"))
    third = await change(client, CREATE)
    mine = topic_id(cluster)
    _, report = await revert(client, first)
    assert "created again" in reasons(report)
    assert topic_id(cluster) == mine
    _, report = await revert(client, third)
    assert report.ok
    assert topic_id(cluster) is None


async def test_the_id_is_known_where_the_answer_of_the_creation_was_lost(
    cluster: EmbeddedCluster, own_home: Path
) -> None:
    async with CuttingProxy(cluster.addresses[1]) as proxy:
        with AdminClient(ConnectionSettings((proxy.address,), lost_answer_timeout=1.0)) as client:
            proxy.arm(api_key("create_topics"), Cut.AFTER, skip=1)
            number = await change(client, CREATE)
            make(cluster)
            assert "created again" in reasons((await revert(client, number))[1])


async def test_where_no_id_is_known_it_says_so_and_asks(cluster: EmbeddedCluster, client: AdminClient) -> None:
    """A journal of a former version, or a cluster without ids."""
    number = await change(client, CREATE)
    path = journal()
    path.write_text(path.read_text().replace('"topic_id"', '"former"'))
    _, report = await revert(client, number)
    assert "is unknown" in reasons(report)
    assert topic_id(cluster) is not None
    session = session_of(client)
    await stage_revert(session, number)
    seen = (await apply_plan(session)).conflicts
    assert (await apply_plan(session, ApplyOptions(accepted=seen))).ok, "an operator who has seen it may go on"
    assert topic_id(cluster) is None


@pytest.mark.parametrize(
    "edit", [plan_edits.SetConfig(ORDERS, RETENTION, "5000"), plan_edits.UnsetConfig(ORDERS, RETENTION)]
)
async def test_a_config_of_a_topic_that_was_made_again_with_the_same_value(
    cluster: EmbeddedCluster, client: AdminClient, edit: plan_edits.Edit
) -> None:
    make(cluster)
    cluster.state.alter_config(ORDERS, {RETENTION: "1000"})
    number = await change(client, edit)
    own = dict(cluster.state.configs.get(ORDERS, {}))
    make(cluster)
    cluster.state.replace_config(ORDERS, own)
    _, report = await revert(client, number)
    assert reasons(report) == "topic orders was deleted and created again since"
    assert cluster.state.configs.get(ORDERS, {}) == own


async def test_what_is_staged_for_a_topic_is_not_sent_to_another_of_its_name(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    """Not only a revert: any edit, and a plan that was kept in a file."""
    make(cluster)
    session = session_of(client)
    edit = plan_edits.SetConfig(ORDERS, RETENTION, "5000")
    await session.read_topics()
    await read_again(session, [edit])
    session.stage([edit])
    kept = read_plan(write_plan(session.plan, "cluster"), "plan.json")
    make(cluster)
    assert "created again" in reasons(await apply_plan(session))
    await session.read_topics()
    await read_again(session, [edit])
    (moved,) = moved_since(kept, session.plan, session.snapshot)
    assert "created again" in moved.why


async def test_a_later_change_of_the_same_place_stops_it_though_the_value_is_the_same(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    make(cluster)
    first = await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "5000"))
    second = await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "6000"))
    await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "5000"))
    _, report = await revert(client, first)
    assert f"change {second}" in reasons(report)
    assert cluster.state.configs[ORDERS] == {RETENTION: "5000"}


async def test_a_later_change_that_was_taken_back_does_not(cluster: EmbeddedCluster, client: AdminClient) -> None:
    make(cluster)
    first = await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "5000"))
    second = await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "6000"))
    assert (await revert(client, second))[1].ok
    assert (await revert(client, first))[1].ok
    assert not cluster.state.configs.get(ORDERS)


@pytest.mark.parametrize("iterations", [4096, 8192])
async def test_a_user_that_was_made_again_since_is_not_deleted_unasked(
    cluster: EmbeddedCluster, client: AdminClient, iterations: int
) -> None:
    """With the same iterations too: that somebody set another password can't be seen."""
    number = await change(client, plan_edits.UpsertScram(ALICE, 4096, Secret("first")))
    theirs = plan_edits.UpsertScram(ALICE, iterations, Secret("second"))
    other = Session(client, Context("other", "tests", client.settings, journal=False), "test")
    await read_again(other, [theirs])
    other.stage([theirs])
    assert (await apply_plan(other)).ok
    before = dict(cluster.state.scram)
    _, report = await revert(client, number)
    assert "can't be seen" in reasons(report)
    assert dict(cluster.state.scram) == before
    _, report = await revert(client, number, force=True)
    assert report.sent
    assert not cluster.state.scram


async def test_the_journal_has_the_ids(cluster: EmbeddedCluster, client: AdminClient) -> None:
    await change(client, CREATE)
    await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "5000"))
    path = journal()
    lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    created = next(line for line in lines if line["kind"] == "outcome" and line["change"] == 1)
    edited = next(line for line in lines if line["kind"] == "intent" and line["change"] == 2)
    session = session_of(client)
    await session.read_topics()
    known = session.snapshot.topics["orders"].topic_id
    assert known
    assert created["edits"]["0"]["topic_id"] == known
    assert edited["edits"][0]["topic_id"] == known
