"""Controllers of an embedded cluster that are nodes of their own: what they say, and who leads when some are killed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

from console.admin import cluster as admin_cluster
from console.admin import link
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli.main import run
from console.contexts.context import Context, parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.controllers import FORWARDING_SECONDS
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec, clusters_of
from console.model.numbers import time_of_day
from console.model.quorum import KRAFT_VERSION
from console.plan.edits import JoinQuorum
from console.plan.plan import EMPTY
from console.present.brokers import broker_rows, quorum_line
from console.present.quorum import quorum_rows
from console.present.text import plain
from console.session.session import Session
from console.triage import symptoms
from tests.contract import controllers as contract
from tests.embedded.raw_client import RawClient
from tests.embedded.topic_requests import create, topic
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE

SPEC = clusters_of("quorum", ClusterSpec())["quorum"]
NOT_ACTIVE = (41, "The active controller appears to be node 101.")


@pytest.fixture(scope="module")
def shared() -> Iterator[ThreadedCluster]:
    """One that nothing changes."""
    with run_in_thread(SPEC) as running:
        yield running


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    with run_in_thread(ClusterSpec(controllers=3, observers=1, scenario="quiet")) as running:
        yield running


def at(cluster: ThreadedCluster) -> tuple[str, str]:
    return "--bootstrap-controller", cluster.bootstrap_controllers


def kac(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run(arguments) == code, capsys.readouterr()
    return "".join(capsys.readouterr())


def quorum(capsys: pytest.CaptureFixture[str], *where: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(kac(capsys, "run", *where, "-e", "list quorum", "--output", "json"))[
        "quorum"
    ]
    return rows


def leader(capsys: pytest.CaptureFixture[str], cluster: ThreadedCluster) -> tuple[int, int]:
    (found,) = ((row["node"], row["epoch"]) for row in quorum(capsys, *at(cluster)) if row["role"] == "leader")
    return found


def test_the_quorum_by_controllers_and_by_brokers(shared: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    rows = quorum(capsys, *at(shared))
    roles = {row["node"]: row["role"] for row in rows}
    assert roles == {101: "leader", 102: "voter", 103: "voter", 1: "observer", 2: "observer", 3: "observer"} | {
        104: "observer"
    }
    assert {row["node"]: row["lag"] for row in rows if row["lag"]} == {103: 18_240}
    assert {row["node"]: row["note"] for row in rows if row["note"]} == {104: "a controller: may be added as a voter"}
    addresses = shared.bootstrap_controllers.split(",")
    assert {row["node"]: row["endpoint"] for row in rows if row["node"] > 100} == {
        101 + place: f"CONTROLLER {address}" for place, address in enumerate(addresses)
    }
    by_brokers = quorum(capsys, "-b", shared.bootstrap)
    keys = ("role", "node", "epoch", "lag", "directory_id", "note")
    assert [[row[key] for key in keys] for row in by_brokers] == [[row[key] for key in keys] for row in rows]


def test_the_voter_that_lags_is_the_cause(shared: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    said = kac(capsys, "triage", *at(shared), "--for", "1s", code=4)
    assert "controller 103 is behind the metadata log" in said
    refused = kac(capsys, "run", *at(shared), "-e", "remove voter 102; plan", code=1)
    assert "of voters 101, 103 101 alone follows the log, 2 are needed" in refused


def test_each_is_asked_in_its_place(shared: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    said = kac(capsys, "run", "--bootstrap-controller", shared.bootstrap, "-e", "list quorum", code=1)
    assert "is a broker's listener, named as a controller's" in said
    said = kac(capsys, "run", "-b", shared.bootstrap_controllers, "-e", "list quorum", code=1)
    assert "--bootstrap-controller" in said
    said = kac(capsys, "run", *at(shared), "-e", "list topics", code=1)
    assert "controllers do not answer metadata" in said


def test_what_is_listed_of_all_brokers_is_of_all_controllers_where_these_are_asked(
    shared: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [str(row["node"]) for row in quorum(capsys, *at(shared)) if row["endpoint"]]
    described = kac(capsys, "configs", *at(shared), "--describe", "--entity-type", "brokers", "--output", "kafka")
    assert re.findall(r"for broker (\d+) are:", described) == sorted(nodes)
    loggers = json.loads(kac(capsys, "run", *at(shared), "-e", "list loggers", "--output", "json"))["loggers"]
    assert sorted({str(each["broker"]) for each in loggers}) == sorted(nodes)
    compared = kac(capsys, "compare", *at(shared), "--brokers", "--every")
    assert re.findall(r"broker (\d+)", compared) == sorted(nodes)


def test_configs_and_levels_of_a_controller(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    where = at(cluster)
    for node in (101, 102, 104):
        said = kac(capsys, "run", *where, "-e", f"describe broker {node} node.id process.roles", "--output", "json")
        assert f'"{node}"' in said
        assert '"controller"' in said
    script = "set broker 103 max.connections=77; set logger 103 kafka.server.ReplicaManager=DEBUG"
    kac(capsys, "run", *where, "-e", f"{script}; apply --yes")
    assert "77" in kac(capsys, "run", *where, "-e", "describe broker 103 max.connections")
    levels = kac(capsys, "run", *where, "-e", "list loggers broker=103 level=DEBUG")
    assert "kafka.server.ReplicaManager" in levels
    assert "kafka.server.ReplicaManager" not in kac(capsys, "run", *where, "-e", "list loggers broker=102 level=DEBUG")
    said = kac(capsys, "run", "-b", cluster.bootstrap, "-e", "describe broker 2 process.roles", "--output", "json")
    assert '"broker"' in said


def test_a_controller_that_is_not_active(shared: ThreadedCluster) -> None:
    """As Kafka 4.4 was seen to answer."""

    async def asked(cluster: EmbeddedCluster) -> None:
        async with RawClient(cluster, broker=102) as client:
            assert await create(client, topic("a", 1, 1), version=5) == [NOT_ACTIVE]
            answer = await client.ask("unregister_broker", 0, lambda m: m.UnregisterBrokerRequest(broker_id=1))
            assert (answer.error_code, answer.error_message) == NOT_ACTIVE
            answer = await client.ask("incremental_alter_configs", 1, lambda m: altered(m, (4, "102"), (8, "102")))
            assert [(each.error_code, each.error_message) for each in answer.responses] == [NOT_ACTIVE, (0, None)]
            answer = await client.ask("remove_raft_voter", 0, removed)
            assert (answer.error_code, answer.error_message) == (6, "")
            answer = await client.ask("describe_quorum", 2, described)
            assert (answer.error_code, answer.topics[0].partitions[0].error_code, answer.nodes) == (0, 6, ())

    shared.run(asked)


def test_what_is_not_active_refuses_each_change_in_its_own_way(shared: ThreadedCluster) -> None:
    """As Kafka 4.4 was seen to answer: an error of the whole, of each part, or of what is looked at before."""
    address = shared.call(lambda one: one.address_of(102))
    found = {api: contract.answered(address, api, version, build) for api, version, build in contract.refused_changes()}
    told = {api: sorted(_codes(answer)) for api, answer in found.items()}
    assert [api for api in told if set(told[api]) == {"NOT_CONTROLLER"}] == [
        "alter_client_quotas",
        "alter_configs",
        "alter_partition_reassignments",
        "alter_user_scram_credentials",
        "create_acls",
        "create_partitions",
        "delete_acls",
        "elect_leaders",
        "update_features",
    ]
    assert told["create_topics"] == ["NONE", "NOT_CONTROLLER"]
    assert told["delete_topics"] == ["UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION"]
    assert {told[f"{verb}_delegation_token"][0] for verb in ("create", "expire", "renew")} == {
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"
    }
    assert told["add_raft_voter"] == ["NOT_LEADER_OR_FOLLOWER"]
    (made,) = found["create_topics"]["topics"]
    assert (made["num_partitions"], made["replication_factor"]) == (-1, -1)
    assert found["alter_client_quotas"]["entries"][0]["error_message"] == (
        "This is not the correct controller for this cluster."
    )
    other = next(build for api, _, build in contract.changes() if api == "remove_raft_voter")
    assert contract.answered(address, "remove_raft_voter", 0, other)["error_code"] == "INCONSISTENT_CLUSTER_ID"

    def deleted(m: ModuleType) -> Any:
        states = (m.DeleteTopicState(name=each, topic_id=None) for each in ("orders", "missing"))
        return m.DeleteTopicsRequest(topics=tuple(states), timeout=timedelta(seconds=5))

    shared.call(lambda one: one.state.put_topic(new_topic("orders", ((1, 2),), (1, 2))))
    answer = contract.answered(address, "delete_topics", 6, deleted)
    assert [(each["error_code"], each["error_message"]) for each in answer["responses"]] == [
        ("NOT_CONTROLLER", None)
    ] * 2


def _codes(answer: Any) -> Iterator[str]:
    for key, value in answer.items() if isinstance(answer, dict) else enumerate(answer):
        if isinstance(value, dict | list):
            yield from _codes(value)
        elif str(key).endswith("error_code"):
            yield value


@pytest.mark.parametrize(
    "goal",
    [
        "drain 101",
        "replace 101 by 2",
        "replace 1 by 101",
        "topic orders to 101,1",
        "drain 101 dir /data",
        "topic orders broker 101 to dir /data",
    ],
)
def test_a_controller_has_no_replicas_to_move(
    shared: ThreadedCluster, capsys: pytest.CaptureFixture[str], goal: str
) -> None:
    said = kac(capsys, "moves", "-b", shared.bootstrap, *goal.split(), code=1)
    assert "node 101 is a controller and no broker: it holds no replicas" in said


@pytest.mark.parametrize("edit", ["to 101,1", "broker 101 to dir /data"])
def test_no_replica_is_moved_to_a_controller(
    shared: ThreadedCluster, capsys: pytest.CaptureFixture[str], edit: str
) -> None:
    shared.call(lambda one: one.state.put_topic(new_topic("orders", ((1, 2),), (1, 2))))
    said = kac(capsys, "run", "-b", shared.bootstrap, "-e", f"move topic orders partition 0 {edit}", code=1)
    assert "node 101 is a controller and no broker: it holds no replicas" in said


def altered(m: ModuleType, *resources: tuple[int, str]) -> Any:
    keys = {4: ("max.connections", "7"), 8: ("kafka.server.ReplicaManager", "INFO")}
    return m.IncrementalAlterConfigsRequest(
        resources=tuple(
            m.AlterConfigsResource(
                resource_type=type_,
                resource_name=name,
                configs=(m.AlterableConfig(name=keys[type_][0], config_operation=0, value=keys[type_][1]),),
            )
            for type_, name in resources
        ),
        validate_only=True,
    )


def removed(m: ModuleType) -> Any:
    from uuid import UUID

    return m.RemoveRaftVoterRequest(cluster_id=None, voter_id=103, voter_directory_id=UUID(int=5))


def described(m: ModuleType) -> Any:
    part = m.PartitionData(partition_index=0)
    return m.DescribeQuorumRequest(topics=(m.TopicData(topic_name="__cluster_metadata", partitions=(part,)),))


def test_a_leader_that_is_killed(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    with AdminClient(ConnectionSettings(parse_bootstrap(cluster.bootstrap_controllers), controllers=True)) as client:
        before = client.submit(admin_cluster.describe_quorum).result(PATIENCE)
        cluster.run(lambda one: one.controller_down(101))
        # What this client knows of the leader is old.
        after = client.submit(admin_cluster.describe_quorum).result(PATIENCE)
    assert (before.leader_id, after.leader_id, after.leader_epoch) == (101, 102, before.leader_epoch + 1)
    assert leader(capsys, cluster) == (102, after.leader_epoch)
    said = kac(capsys, "triage", *at(cluster), "--for", "1s", code=4)
    assert "controller 101 is down" in said
    assert "it is one of 3 voters, of which 2 are needed" in said
    cluster.run(lambda one: one.controller_up(101))
    assert leader(capsys, cluster) == (102, after.leader_epoch)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less for a leader that does not come."""
    for module in (link, admin_cluster):
        monkeypatch.setattr(module, "ELECTION_SECONDS", 0.3)
    monkeypatch.setattr(symptoms, "SILENT_SECONDS", 0.3)


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(("release", "away"), [("3.9", (102, 103)), ("4.4", (101, 102)), ("4.4", (102, 103))])
def test_a_majority_that_is_lost(release: str, away: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    """From 4.0 on controllers name a leader that is gone: with the first one away, or alone."""
    with run_in_thread(ClusterSpec(controllers=3, observers=1, versions=release)) as cluster:
        for node in away:
            cluster.run(lambda one, node=node: one.controller_down(node))  # type: ignore[misc]
        for script in (f"remove voter {away[0]}; apply --yes", "add voter 104; apply --yes"):
            said = kac(capsys, "run", *at(cluster), "-e", script, code=1)
            assert "no leader of the quorum answers, which alone can change it" in said
        if release == "3.9":  # a static quorum: each node is configured with its voters
            cluster.call(lambda one: one.state.set_feature(KRAFT_VERSION, 0))
        found = json.loads(kac(capsys, "triage", *at(cluster), "--for", "2s", "--output", "json", code=4))
        lost = next(each for each in found["causes"] if each["cause"] == "quorum-lost")
        facts = "; ".join(each["fact"] for each in lost["evidence"])
        listed = json.loads(kac(capsys, "run", *at(cluster), "-e", "list quorum", "--output", "json", code=1))
        if release == "3.9":
            alive = min({101, 102, 103} - {*away})
            by = f"controller.quorum.voters of controller {alive}"
            assert f"voters are 101, 102, 103 by {by}" in facts
            assert [(row["node"], row["role"], row["note"]) for row in listed["quorum"]] == [
                (voter, "voter", f"by {by}") for voter in (101, 102, 103)
            ]
            assert lost["next"][0]["text"].endswith("2 of 3 voters are needed")
        else:
            assert "who votes is not known: only a leader says it" in facts
            assert listed["quorum"] == []
            assert "controllers are needed, if all of them vote" in lost["next"][0]["text"]
        assert f"start 1 of controllers {away[0]} (" in lost["next"][0]["text"]
        assert "before any broker" in lost["next"][0]["text"]
        cluster.run(lambda one: one.controller_up(away[0]))
        assert leader(capsys, cluster)[0] in {101, 103}


@pytest.mark.usefixtures("_impatient")
async def test_who_voted_last_is_said_as_such(cluster: ThreadedCluster) -> None:
    settings = ConnectionSettings(parse_bootstrap(cluster.bootstrap_controllers), controllers=True)
    with AdminClient(settings) as client:
        session = Session(client, Context("test", "tests", settings), "test")
        await session.read_cluster()
        await session.read_quorum()
        at = time_of_day(session.snapshot.read_at["quorum"])
        assert [each.role for each in quorum_rows(session.snapshot)][:3] == ["leader", "voter", "voter"]
        for node in (101, 102):
            await asyncio.to_thread(cluster.run, lambda one, node=node: one.controller_down(node))
        await session.read_quorum()
    said = f"voters were 101, 102, 103 when a leader said so last, at {at}"
    assert [(each.replica.id, each.role, each.note) for each in quorum_rows(session.snapshot)][:2] == [
        (101, "voter", "led when it was last said"),
        (102, "voter", ""),
    ]
    line = plain(quorum_line(session.snapshot))
    assert line == f"no leader  as of {at} voters 101, 102, 103"
    assert len(line) < 80 - len(" Brokers  Quorum  Features  "), "it stands beside the tabs"
    places = {row.broker.id: row.quorum for row in broker_rows(session.snapshot, EMPTY, {}) if row.broker is not None}
    assert places == dict.fromkeys((101, 102, 103), "voter") | {104: "observer"}
    (refused,) = session.stage([JoinQuorum(101, "of-101")]).refused
    assert "no leader of the quorum answers" in refused.reason
    (failure,) = (each.failure for each in session.snapshot.failures if each.part == "quorum")
    assert failure.message.endswith(said)


def test_a_controller_that_is_down_is_called_one(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    gone = cluster.call(lambda one: one.address_of(102))
    cluster.run(lambda one: one.controller_down(102))
    checks = json.loads(kac(capsys, "doctor", *at(cluster), "--output", "json", code=1))["checks"]
    bad = {each["name"]: f"{each['found']} {each['remedy']}" for each in checks if each["health"] == "bad"}
    assert bad.keys() == {f"TCP {gone[0]}:{gone[1]}", "controller 102"}
    assert all("controller" in each and "broker" not in each for each in bad.values()), bad
    said = kac(capsys, "run", "--bootstrap-controller", f"{gone[0]}:{gone[1]}", "-e", "list quorum", code=1)
    assert "Check the port, and that the controller is up." in said


async def test_brokers_wait_for_a_controller() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(ClusterSpec(controllers=3), clock) as cluster, RawClient(cluster) as client:
        for node in (102, 103):
            await cluster.controller_down(node)
        answer = asyncio.create_task(create(client, topic("a", 1, 1), version=5))
        await clock.asleep()
        clock.advance(FORWARDING_SECONDS)
        assert [code for code, _ in await answer] == [7]


@pytest.mark.usefixtures("_impatient")
def test_a_cluster_without_brokers_that_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(clusters_of("quorum-lost", ClusterSpec())["quorum-lost"]) as cluster:
        said = kac(capsys, "run", *at(cluster), "-e", "list quorum", code=1)
        assert "another one leads once most of the voters run" in said
        assert "nothing listens there" in kac(capsys, "run", "-b", cluster.bootstrap, "-e", "list topics", code=1)


def test_voters_that_can_not_be() -> None:
    with pytest.raises(ValueError, match="controllers that do not vote need others that do"):
        ClusterSpec(observers=1)
    with pytest.raises(ValueError, match="0 to 9 controllers"):
        ClusterSpec(controllers=10)
    assert {each.controllers for each in clusters_of("fleet", ClusterSpec(controllers=3)).values()} == {0}
