"""Clusters of older and of newer releases."""

from __future__ import annotations

import json

import pytest

from console.admin.changes import send
from console.admin.client import AdminClient
from console.cli import main as cli
from console.cli.doctor_brokers import WITHOUT
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.embedded import faults, groups, newer_groups, replicas
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.model.changes import DeleteGroups, Status
from console.model.coordinators import OFFSETS
from console.model.releases import runs_on_zookeeper
from console.session.session import Session
from console.tui.app import Console
from console.wire.schemas import api_key
from tests.support import worlds
from tests.support.older_brokers import OLDER, known_release, like
from tests.tui.console_app import Driven, driven_on

server = worlds.cluster(like("2.8", scenario="quiet"), scope="module")
"""Three brokers with topics and groups."""


kac = worlds.commands("server")


def test_what_is_said_of_an_api_that_is_not_there(kac: worlds.Kac) -> None:
    code, out, _ = kac("doctor", "--output", "json")
    checks = json.loads(out)["checks"]
    assert (code, [each for each in checks if each["health"] == "bad"]) == (0, [])
    (kafka,) = {each["found"].partition(", in ")[0] for each in checks if each["name"].startswith("Kafka ")}
    assert "release 2.8 or near" in kafka
    missing = {each["name"].removeprefix("API ") for each in checks if each["name"].startswith("API ")}
    assert missing == {api for api, _ in WITHOUT if api_key(api) not in known_release("2.8").apis}


def test_no_trouble_is_named(kac: worlds.Kac) -> None:
    code, out, _ = kac("triage", "--for", "0s", "--output", "json")
    verdict = json.loads(out)
    assert (code, verdict["healthy"]) == (0, True)


def test_changes_are_made(kac: worlds.Kac) -> None:
    script = "create topic made partitions=2 replication=2; set topic made retention.ms=1h; apply --yes"
    code, _, err = kac("run", "-e", script)
    assert (code, err) == (0, "")
    code, out, _ = kac("run", "--output", "json", "-e", "show topic made retention.ms")
    assert (code, "3600000" in out) == (0, True)
    code, _, _ = kac("run", "-e", "delete topic made; apply --yes")
    assert code == 0


async def test_the_screen_names_the_release(server: ThreadedCluster) -> None:
    settings = worlds.settings(server)
    with AdminClient(settings) as client:
        app = Console(Session(client, Context("old", "test", settings)), ConsoleSettings())
        async with app.run_test(size=(120, 40)) as pilot:
            it = Driven(app, pilot, client)
            await it.shows("kafka 2.8", "ctrl 1")
            assert runs_on_zookeeper(app.session.snapshot.versions[1].apis)


def test_the_table_has_the_releases_that_are_not_imitated() -> None:
    assert [known_release(name).name for name in OLDER] == list(OLDER)


# -- What versions of Kafka 4.4 say that those before do not, as kac hands it on ---------------------------------------

GROUP_DELETION_FAILED = 134
WHY = "the topology of orders is not deleted: the plugin is down"


def put_group(cluster: EmbeddedCluster, group: groups.Group) -> None:
    """Put a group into a cluster, with the topic that groups stand in."""
    cluster.state.groups[group.id] = group
    if OFFSETS not in cluster.state.topics:
        cluster.state.put_topic(replicas.new_topic(OFFSETS, [[1]], [1], internal=True))


@pytest.mark.parametrize(("release", "message"), [("4.4", WHY), ("4.0", "")])
async def test_why_a_group_is_not_deleted(release: str, message: str) -> None:
    async with EmbeddedCluster(like(release, brokers=1)) as cluster:
        put_group(cluster, groups.Group("orders", written=True))
        cluster.faults.add(faults.Fault(faults.Fail(GROUP_DELETION_FAILED, WHY), api="delete_groups", times=1))
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
        newer = newer_groups.NewerGroup(kind, "Empty", 1, 1, (), "sticky")  # type: ignore[arg-type]
        put_group(cluster, groups.Group("sums", protocol_type=kind, written=True, newer=newer))

    with run_in_thread(like("4.4", brokers=1)) as cluster:
        cluster.call(put)
        assert cli.run(["run", "-b", cluster.bootstrap, "--output", "json", "-e", "describe group sums"]) == 0
    assert json.loads(capsys.readouterr().out).get("assignor") == shown


async def test_it_is_on_the_screen() -> None:
    def put(cluster: EmbeddedCluster) -> None:
        newer = newer_groups.NewerGroup("streams", "Empty", 1, 1, (), "sticky", topology_epoch=1)
        put_group(cluster, groups.Group("sums", protocol_type="streams", written=True, newer=newer))

    with run_in_thread(like("4.4", brokers=1)) as cluster:
        cluster.call(put)
        async with driven_on(cluster, (120, 30)) as it:
            await it.command("describe group sums", shows="assignor sticky  epoch 1  topology 1")


def test_the_nodes_of_a_streams_group(capsys: pytest.CaptureFixture[str]) -> None:
    """A plug-in of brokers keeps them (KIP-1331), which no Kafka comes with; that there are none is said."""
    nodes = (
        newer_groups.Node("SOURCE-0", 1, sources=("payments",), successors=("SUM-1",)),
        newer_groups.Node("SUM-1", 2, stores=("sums",), successors=("SINK-2",)),
        newer_groups.Node("SINK-2", 3, sink="totals"),
    )

    def put(cluster: EmbeddedCluster) -> None:
        for name, kept in (("sums", {"0": nodes}), ("bare", None)):
            newer = newer_groups.NewerGroup("streams", "Empty", 1, 1, (), "sticky", topology_epoch=1, nodes=kept)
            put_group(cluster, groups.Group(name, protocol_type="streams", written=True, newer=newer))

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
