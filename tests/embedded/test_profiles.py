"""Tests of servers other than Kafka, and of other releases than the newest, with all front ends of kac."""

import ast
import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import console
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.cli.doctor_brokers import WITHOUT
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context, parse_bootstrap
from console.embedded import faults, groups, newer_groups, replicas
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.profiles import PROFILES
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec, Profile, release
from console.model.changes import DeleteGroups, Status
from console.model.coordinators import OFFSETS
from console.model.observers import PLACEMENT_KEYS
from console.model.releases import runs_on_zookeeper
from console.session.session import Session
from console.tui.app import Console
from console.wire.schemas import api_key
from tests.support import worlds
from tests.support.older_brokers import OLDER, known_release, like
from tests.tui.console_app import Driven, driven_on

# -- Servers other than Kafka: no front end reports trouble on a healthy one -------------------------------------------

FALSE_HERE = ("ZooKeeper", "Upgrade", "needs Kafka", "Traceback")
"""Words that no front end may print about a server that is not Kafka, or is new enough."""


@pytest.fixture(scope="module", params=sorted(PROFILES))
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, ThreadedCluster]]:
    """Provide, in turn for each profile, its name and a healthy server with topics and groups."""
    with run_in_thread(ClusterSpec(scenario="quiet", profile=PROFILES[request.param])) as running:
        yield request.param, running


def kac(capsys: pytest.CaptureFixture[str], cluster: ThreadedCluster, *words: str) -> tuple[int, str, str]:
    code = cli.run([words[0], "-b", cluster.bootstrap, *words[1:]])
    written = capsys.readouterr()
    for text in FALSE_HERE:
        assert text not in written.out + written.err
    return code, written.out, written.err


def test_no_trouble_is_named(server: tuple[str, ThreadedCluster], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = kac(capsys, server[1], "triage", "--for", "3s", "--output", "json")
    verdict = json.loads(out)
    assert [each for each in verdict["causes"] if each["severity"] != "info"] == []
    # A hosted server refuses requests that only its owner may send: these parts are unknown, so it does not count as
    # healthy.
    unread = {"confluent-cloud": ["quorum", "log_dirs", "reassignments"]}.get(server[0], [])
    assert verdict["unread"] == unread
    assert (code, verdict["healthy"], verdict["unexplained"]) == (int(bool(unread)), not unread, [])


def test_lists_and_files(server: tuple[str, ThreadedCluster], capsys: pytest.CaptureFixture[str]) -> None:
    name, cluster = server
    code, out, _ = kac(capsys, cluster, "topics", "--list", "--output", "json")
    assert (code, len(json.loads(out)["topics"]) > 10) == (0, True)
    code, out, _ = kac(capsys, cluster, "groups", "--list", "--output", "json")
    assert [each["name"] for each in json.loads(out)["groups"]] == [
        "billing",
        "fraud-check",
        "search-index",
        "warehouse",
        "year-end-report",
    ]
    code, out, err = kac(capsys, cluster, "export")
    assert "checkout.orders:" in out
    assert (code == 0) is ("could not be read" not in err)
    code, out, _ = kac(capsys, cluster, "snapshot")
    document = json.loads(out)
    assert code == 0
    lacks = {each["part"] for each in document["errors"]}
    assert ("acls" in lacks) is (api_key("describe_acls") not in keys_of(name))


def keys_of(name: str) -> set[int]:
    apis = PROFILES[name].apis
    return {api_key(api) for api in apis} if apis is not None else set(release(PROFILES[name].release).apis)


def test_doctor_lists_what_is_missing(
    server: tuple[str, ThreadedCluster],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    name, cluster = server
    code, out, _ = kac(capsys, cluster, "doctor", "--output", "json")
    checks = json.loads(out)["checks"]
    assert code == 0
    assert [each for each in checks if each["health"] == "bad"] == []
    (kafka,) = {each["found"].partition(", in ")[0] for each in checks if each["name"].startswith("Kafka ")}
    assert ("the set of no Kafka release" in kafka) is (PROFILES[name].apis is not None)
    missing = {each["name"].removeprefix("API ") for each in checks if each["name"].startswith("API ")}
    assert missing == {api for api, _ in WITHOUT if api_key(api) not in keys_of(name)}


@pytest.fixture
async def walk(server: tuple[str, ThreadedCluster]) -> AsyncIterator[Driven]:
    """Provide the running console on the server."""
    settings = ConnectionSettings(parse_bootstrap(server[1].bootstrap))
    with AdminClient(settings) as client:
        app = Console(
            Session(client, Context("walk", "test", settings)), ConsoleSettings(start_pane="now", refresh=1.0)
        )
        async with app.run_test(size=(120, 40)) as pilot:
            yield Driven(app, pilot, client)


async def test_the_walk(walk: Driven, server: tuple[str, ThreadedCluster]) -> None:
    await walk.shows("no trouble")
    if api_key("describe_log_dirs") not in keys_of(server[0]):
        await walk.shows("UNSUPPORTED: this server does not have")
    for key, part in (
        ("1", "127.0.0.1"),
        ("2", "checkout.orders"),
        ("3", "broker"),
        ("6", "billing"),
        ("7", "nothing is staged"),
    ):
        await walk.press(key)
        await walk.shows(part)
        for text in FALSE_HERE:
            assert text not in walk.text
    assert ("kafka ~" in walk.text) is (PROFILES[server[0]].apis is not None)
    for pane in ("acls", "quotas", "moves", "features", "quorum"):
        await walk.command(f":{pane}")
        for text in FALSE_HERE:
            assert text not in walk.text


def test_a_server_is_named_in_its_own_record_alone() -> None:
    """The product's code names another vendor's server only in its profile, so that no condition depends on a
    vendor.
    """
    root = Path(console.__file__).parent
    named = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in PROFILES
    }
    assert named == {"embedded/profiles.py"}


# -- Replicas that are outside the ISR by design: no front end calls them missing --------------------------------------

(KEY,) = PLACEMENT_KEYS
RULE = {"version": 2, "replicas": [{"count": 2, "constraints": {}}], "observers": [{"count": 1, "constraints": {}}]}
PLACED = {"stretched": json.dumps(RULE), "also": json.dumps(RULE | {"observers": [{"count": 2, "constraints": {}}]})}
"""Topic -> the value of its placement config; empty for all other topics."""


def with_placements(answer: Any) -> Any:
    """Return the answer with the placement config added to the topics."""
    return replace(answer, results=tuple(_placed(each) for each in answer.results))


def _placed(result: Any) -> Any:
    if result.resource_type != 2 or not result.configs:
        return result
    entry = replace(
        result.configs[0], name=KEY, value=PLACED.get(result.resource_name, ""), config_source=1, synonyms=()
    )
    return replace(result, configs=(*result.configs, entry))


@pytest.fixture
def observing() -> Iterator[ThreadedCluster]:
    """Provide a cluster with four brokers. Broker 4 is an observer of two topics, and a missing replica of a third
    one.
    """
    profile = Profile(release="3.9", answers={"describe_configs": with_placements})
    with run_in_thread(ClusterSpec(brokers=4, profile=profile)) as running:
        running.call(seed)
        yield running


def seed(cluster: EmbeddedCluster) -> None:
    ids = sorted(cluster.state.brokers)
    for name, placed, isr in (
        ("stretched", (1, 2, 4), (1, 2)),
        ("also", (2, 3, 4), (2,)),
        ("short", (3, 1, 4), (3, 1)),
        ("whole", (1, 2, 3), (1, 2, 3)),
    ):
        topic = new_topic(name, [placed] * 2, ids)
        partitions = tuple(each._replace(isr=isr, leader=isr[0]) for each in topic.partitions)
        cluster.state.put_topic(replace(topic, partitions=partitions))


async def data_of(capsys: pytest.CaptureFixture[str], observing: ThreadedCluster, *words: str) -> Any:
    code = await asyncio.to_thread(cli.run, [words[0], "-b", observing.bootstrap, *words[1:], "--output", "json"])
    written = capsys.readouterr()
    assert code in (0, 4, 5), written
    return json.loads(written.out)


async def test_lists_count_what_should_be_in_sync(
    observing: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = await data_of(capsys, observing, "topics", "--list", "--under-replicated-partitions")
    assert {each["name"]: each["under_replicated"] for each in listed["topics"]} == {"short": 2}
    brokers = await data_of(capsys, observing, "brokers", "--list")
    assert {each["id"]: each["out_of_sync"] for each in brokers["brokers"] if each["id"] is not None} == {
        1: 0,
        2: 0,
        3: 0,
        4: 2,
    }


async def test_a_verdict_names_what_is_missing_and_no_observer(
    observing: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = await data_of(capsys, observing, "triage", "--for", "3s")
    assert {each["cause"] for each in verdict["causes"] if each["severity"] not in ("info", "warning")} == {
        "replication-broken"
    }
    assert "short" in json.dumps(verdict)
    assert not [name for name in ("stretched", "also") if name in json.dumps(verdict["causes"])]


async def test_a_server_without_placements_is_asked_for_one_topic(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=4)) as running:
        running.call(seed)
        running.call(lambda cluster: cluster.counters.reset())
        await data_of(capsys, running, "topics", "--list")
        assert running.call(lambda cluster: cluster.counters.by_api())["describe_configs"] == 1


def _refused(answer: Any) -> Any:
    """Return the answer with the configs of topics removed, as if the user may not read them."""
    return replace(answer, results=tuple(replace(each, error_code=29, configs=()) for each in answer.results))


async def test_where_configs_may_not_be_seen_one_topic_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    profile = Profile(release="3.9", answers={"describe_configs": _refused})
    with run_in_thread(ClusterSpec(brokers=4, profile=profile)) as running:
        running.call(seed)
        running.call(lambda cluster: cluster.counters.reset())
        listed = await data_of(capsys, running, "topics", "--list", "--under-replicated-partitions")
        assert {each["name"] for each in listed["topics"]} == {"stretched", "also", "short"}
        assert running.call(lambda cluster: cluster.counters.by_api())["describe_configs"] == 1


# -- Older and newer releases ------------------------------------------------------------------------------------------

older = worlds.cluster(like("2.8", scenario="quiet"), scope="module")
"""A fixture: a cluster like Kafka 2.8 with three brokers, topics and groups."""

on_older = worlds.commands("older")


def test_what_is_said_of_an_api_that_is_not_there(on_older: worlds.Kac) -> None:
    code, out, _ = on_older("doctor", "--output", "json")
    checks = json.loads(out)["checks"]
    assert (code, [each for each in checks if each["health"] == "bad"]) == (0, [])
    (kafka,) = {each["found"].partition(", in ")[0] for each in checks if each["name"].startswith("Kafka ")}
    assert "release 2.8 or near" in kafka
    missing = {each["name"].removeprefix("API ") for each in checks if each["name"].startswith("API ")}
    assert missing == {api for api, _ in WITHOUT if api_key(api) not in known_release("2.8").apis}


def test_no_trouble_of_an_older_cluster_is_named(on_older: worlds.Kac) -> None:
    code, out, _ = on_older("triage", "--for", "0s", "--output", "json")
    verdict = json.loads(out)
    assert (code, verdict["healthy"]) == (0, True)


def test_changes_are_made(on_older: worlds.Kac) -> None:
    script = "create topic made partitions=2 replication=2; set topic made retention.ms=1h; apply --yes"
    code, _, err = on_older("run", "-e", script)
    assert (code, err) == (0, "")
    code, out, _ = on_older("run", "--output", "json", "-e", "show topic made retention.ms")
    assert (code, "3600000" in out) == (0, True)
    code, _, _ = on_older("run", "-e", "delete topic made; apply --yes")
    assert code == 0


async def test_the_screen_names_the_release(older: ThreadedCluster) -> None:
    settings = worlds.settings(older)
    with AdminClient(settings) as client:
        app = Console(Session(client, Context("old", "test", settings)), ConsoleSettings())
        async with app.run_test(size=(120, 40)) as pilot:
            it = Driven(app, pilot, client)
            await it.shows("kafka 2.8", "ctrl 1")
            assert runs_on_zookeeper(app.session.snapshot.versions[1].apis)


def test_the_table_has_the_releases_that_are_not_imitated() -> None:
    assert [known_release(name).name for name in OLDER] == list(OLDER)


# -- Fields of Kafka 4.4's newest versions in kac's output -------------------------------------------------------------

GROUP_DELETION_FAILED = 134
WHY = "the topology of orders is not deleted: the plugin is down"


def put_group(cluster: EmbeddedCluster, group: groups.Group) -> None:
    """Add a group to a cluster, and create __consumer_offsets if it is missing."""
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
    """kac shows the assignor of a streams group. It shows no assignor of a consumer group, because brokers only
    report the assignor of the target assignment.
    """

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
    """kac shows the nodes of a streams group's topology, and says so if the broker has none: a broker plugin, which
    Kafka does not include, stores them (KIP-1331).
    """
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
