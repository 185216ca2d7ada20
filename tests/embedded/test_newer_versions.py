"""What versions of Kafka 4.4 say that those before do not, as kac hands it on."""

from __future__ import annotations

import json

import pytest

from console.admin.changes import send
from console.cli import main as cli
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.faults import Fail, Fault
from console.embedded.groups import Group
from console.embedded.newer_groups import NewerGroup, Node
from console.embedded.replicas import new_topic
from console.model.changes import DeleteGroups, Status
from console.model.coordinators import OFFSETS
from tests.support import worlds
from tests.support.older_brokers import like
from tests.tui.console_app import driven_on

GROUP_DELETION_FAILED = 134
WHY = "the topology of orders is not deleted: the plugin is down"


def put_group(cluster: EmbeddedCluster, group: Group) -> None:
    """Put a group into a cluster, with the topic that groups stand in."""
    cluster.state.groups[group.id] = group
    if OFFSETS not in cluster.state.topics:
        cluster.state.put_topic(new_topic(OFFSETS, [[1]], [1], internal=True))


@pytest.mark.parametrize(("release", "message"), [("4.4", WHY), ("4.0", "")])
async def test_why_a_group_is_not_deleted(release: str, message: str) -> None:
    async with EmbeddedCluster(like(release, brokers=1)) as cluster:
        put_group(cluster, Group("orders", written=True))
        cluster.faults.add(Fault(Fail(GROUP_DELETION_FAILED, WHY), api="delete_groups", times=1))
        async with worlds.linked(worlds.settings(cluster)) as link:
            (refused,) = await send(link, DeleteGroups(("orders",)), validate_only=False)
            (gone,) = await send(link, DeleteGroups(("orders",)), validate_only=False)
        assert refused.failure is not None
        assert (refused.failure.name, refused.failure.message) == ("GROUP_DELETION_FAILED", message)
        assert gone.status is Status.APPLIED


@pytest.mark.parametrize(("kind", "shown"), [("streams", "sticky"), ("consumer", None)])
def test_a_streams_groups_assignor_is_shown(kind: str, shown: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a group of consumers it is of its target alone, and not shown."""

    def put(cluster: EmbeddedCluster) -> None:
        newer = NewerGroup(kind, "Empty", 1, 1, (), "sticky")  # type: ignore[arg-type]
        put_group(cluster, Group("sums", protocol_type=kind, written=True, newer=newer))

    with run_in_thread(like("4.4", brokers=1)) as cluster:
        cluster.call(put)
        assert cli.run(["run", "-b", cluster.bootstrap, "--output", "json", "-e", "describe group sums"]) == 0
    assert json.loads(capsys.readouterr().out).get("assignor") == shown


async def test_it_is_on_the_screen() -> None:
    def put(cluster: EmbeddedCluster) -> None:
        newer = NewerGroup("streams", "Empty", 1, 1, (), "sticky", topology_epoch=1)
        put_group(cluster, Group("sums", protocol_type="streams", written=True, newer=newer))

    with run_in_thread(like("4.4", brokers=1)) as cluster:
        cluster.call(put)
        async with driven_on(cluster, (120, 30)) as it:
            await it.command("describe group sums", shows="assignor sticky  epoch 1  topology 1")


def test_the_nodes_of_a_streams_group(capsys: pytest.CaptureFixture[str]) -> None:
    """A plug-in of brokers keeps them (KIP-1331), which no Kafka comes with; that there are none is said."""
    nodes = (
        Node("SOURCE-0", 1, sources=("payments",), successors=("SUM-1",)),
        Node("SUM-1", 2, stores=("sums",), successors=("SINK-2",)),
        Node("SINK-2", 3, sink="totals"),
    )

    def put(cluster: EmbeddedCluster) -> None:
        for name, kept in (("sums", {"0": nodes}), ("bare", None)):
            newer = NewerGroup("streams", "Empty", 1, 1, (), "sticky", topology_epoch=1, nodes=kept)
            put_group(cluster, Group(name, protocol_type="streams", written=True, newer=newer))

    def described(name: str, *more: str) -> str:
        assert cli.run(["run", "-b", cluster.bootstrap, "-e", f"describe group {name}", *more]) == 0
        return capsys.readouterr().out

    with run_in_thread(like("4.4", brokers=1)) as cluster:
        cluster.call(put)
        shown = json.loads(described("sums", "--output", "json"))["nodes"]
        assert [(each["node"], each["role"], each["topics"], each["stores"], each["after"]) for each in shown] == [
            ("SOURCE-0", "source", ["payments"], [], ["SUM-1"]),
            ("SUM-1", "processor", [], ["sums"], ["SINK-2"]),
            ("SINK-2", "sink", ["totals"], [], []),
        ]
        assert "SUM-1" in described("sums")
        assert "without a plug-in that keeps it they store none (KIP-1331)" in described("bare")
    with run_in_thread(like("4.0", brokers=1)) as cluster:
        cluster.call(put)
        assert "plug-in" not in described("bare")
