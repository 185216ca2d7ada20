"""Tests of controllers that are separate nodes.

Embedded controllers give the answers of real controllers, and elect a leader after kills. If kac reads real controllers
directly (KIP-919), it shows the same values as Kafka's own commands.
"""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from console.admin import cluster as admin_cluster
from console.admin import link
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.answers.triage import UNKNOWN
from console.cli.main import run
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.controllers import FORWARDING_SECONDS
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec, clusters_of
from console.model.numbers import time_of_day
from console.model.quorum import KRAFT_VERSION
from console.plan.kinds.voters import JoinQuorum
from console.plan.plan import EMPTY
from console.present.brokers import broker_rows, quorum_line
from console.present.quorum import quorum_rows
from console.present.text import plain
from console.triage import symptoms
from tests.contract import controllers as contract
from tests.contract.answers import differences
from tests.embedded.raw_client import RawClient
from tests.embedded.test_topics import create, topic
from tests.support import kafka_jars, kafka_messages, manual_clock, patience, real_clusters, worlds
from tests.support.kafka_commands import CONFIGS, KafkaCommands
from tests.support.quorum_cluster import QuorumCluster

SPEC = clusters_of("quorum", ClusterSpec())["quorum"]

NOT_ACTIVE = (41, "The active controller appears to be node 101.")

shared = worlds.cluster(SPEC, scope="module")
"""Provide an embedded cluster with separate controllers for the module. No test changes it."""

cluster = worlds.cluster(ClusterSpec(controllers=3, observers=1, scenario="quiet"))


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
    """An embedded controller that is not the active one gives the same errors as such a controller in Kafka 4.4."""

    async def asked(cluster: EmbeddedCluster) -> None:
        async with RawClient(cluster, broker=102) as client:
            assert await create(client, topic("a", 1, 1), version=5) == [NOT_ACTIVE]
            answer = await client.ask("unregister_broker", 0, kafka_messages.with_fields(broker_id=1))
            assert (answer.error_code, answer.error_message) == NOT_ACTIVE
            answer = await client.ask("incremental_alter_configs", 1, altered((4, "102"), (8, "102")))
            assert [(each.error_code, each.error_message) for each in answer.responses] == [NOT_ACTIVE, (0, None)]
            answer = await client.ask("remove_raft_voter", 0, removed)
            assert (answer.error_code, answer.error_message) == (6, "")
            answer = await client.ask("describe_quorum", 2, described)
            assert (answer.error_code, answer.topics[0].partitions[0].error_code, answer.nodes) == (0, 6, ())

    shared.run(asked)


def test_what_is_not_active_refuses_each_change_in_its_own_way(shared: ThreadedCluster) -> None:
    """A controller that is not active refuses changes as in Kafka 4.4: the error is for the whole request or for each
    item, or an earlier check refuses the request with its own error.
    """
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

    deleted = kafka_messages.with_fields(topics=[("orders", None), ("missing", None)], timeout=5)
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


def altered(*resources: tuple[int, str]) -> Any:
    keys = {4: ("max.connections", 0, "7"), 8: ("kafka.server.ReplicaManager", 0, "INFO")}
    wanted = [(type_, name, [keys[type_]]) for type_, name in resources]
    return kafka_messages.with_fields(resources=wanted, validate_only=True)


removed = kafka_messages.with_fields(cluster_id=None, voter_id=103, voter_directory_id=UUID(int=5))
described = kafka_messages.with_fields(topics=[("__cluster_metadata", [0])])


def test_a_leader_that_is_killed(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    with AdminClient(ConnectionSettings(parse_bootstrap(cluster.bootstrap_controllers), controllers=True)) as client:
        before = client.submit(admin_cluster.describe_quorum).result(patience.PATIENCE)
        cluster.run(lambda one: one.controller_down(101))
        # The client knows only the old leader.
        after = client.submit(admin_cluster.describe_quorum).result(patience.PATIENCE)
    assert (before.leader_id, after.leader_id, after.leader_epoch) == (101, 102, before.leader_epoch + 1)
    assert leader(capsys, cluster) == (102, after.leader_epoch)
    said = kac(capsys, "triage", *at(cluster), "--for", "1s", code=4)
    assert "controller 101 is down" in said
    assert "it is one of 3 voters, of which 2 are needed" in said
    cluster.run(lambda one: one.controller_up(101))
    assert leader(capsys, cluster) == (102, after.leader_epoch)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten kac's waits for an elected leader and for silent controllers to 0.3 seconds: in these tests no leader is
    elected.
    """
    for module in (link, admin_cluster):
        monkeypatch.setattr(module, "ELECTION_SECONDS", 0.3)
    monkeypatch.setattr(symptoms, "SILENT_SECONDS", 0.3)


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(("release", "away"), [("3.9", (102, 103)), ("4.4", (101, 102)), ("4.4", (102, 103))])
def test_a_majority_that_is_lost(release: str, away: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    """kac reports that the quorum has lost its majority, whether its former leader is down or runs without a
    majority. Controllers from 4.0 on still name that leader. For a static quorum (3.9), kac also names the
    voters.
    """
    with run_in_thread(ClusterSpec(controllers=3, observers=1, versions=release)) as cluster:
        for node in away:
            cluster.run(lambda one, node=node: one.controller_down(node))  # type: ignore[misc]
        for script in (f"remove voter {away[0]}; apply --yes", "add voter 104; apply --yes"):
            said = kac(capsys, "run", *at(cluster), "-e", script, code=1)
            assert "no leader of the quorum answers, which alone can change it" in said
        if release == "3.9":  # a static quorum: each node's config lists the voters
            cluster.call(lambda one: one.state.set_feature(KRAFT_VERSION, 0))
        found = json.loads(kac(capsys, "triage", *at(cluster), "--for", "4s", "--output", "json", code=4))
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
    with worlds.session_on(
        ConnectionSettings(parse_bootstrap(cluster.bootstrap_controllers), controllers=True)
    ) as session:
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
    clock = manual_clock.ManualClock()
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


# -- on real brokers --------------------------------------------------------------------------------------------------


QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"

real = real_clusters.lent(lambda: QuorumCluster(observers=1))
"""Provide a real cluster of three voting controllers, one controller that is an observer, and two brokers."""

kafka = worlds.running(lambda: KafkaCommands(kafka_jars.KAFKA_4_3), scope="module")
"""Provide Kafka's command-line tools of 4.3: those of 4.4 are not published."""


def kac_on_real(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run(arguments) == code, capsys.readouterr()
    return capsys.readouterr().out


def replication(kafka: KafkaCommands, real: QuorumCluster) -> set[tuple[str, str, str]]:
    """Return (role, node, directory id) of each replica of the metadata log, as Kafka's own command shows them; a
    voter that the command calls a follower has the role ``voter``.
    """
    arguments = ["--bootstrap-controller", real.bootstrap_controllers, "describe", "--replication"]
    done = kafka.run(QUORUM, arguments)
    assert done.code == 0, done
    words = [line.split() for line in done.out.splitlines()[1:] if line.strip()]
    return {(row[-1].lower().replace("follower", "voter"), row[0], row[1]) for row in words}


def quorum_of(capsys: pytest.CaptureFixture[str], *where: str) -> list[dict[str, object]]:
    out = kac_on_real(capsys, "run", *where, "-e", "list quorum", "--output", "json")
    rows: list[dict[str, object]] = msgspec.json.decode(out)["quorum"]
    return rows


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(10)
def test_the_quorum_is_what_kafkas_command_says(
    real: QuorumCluster, kafka: KafkaCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = quorum_of(capsys, "--bootstrap-controller", real.bootstrap_controllers)
    assert {(row["role"], str(row["node"]), row["directory_id"]) for row in rows} == replication(kafka, real)
    endpoints = {row["node"]: row["endpoint"] for row in rows}
    for node, (host, port) in zip(real.controller_ids, real.controller_addresses, strict=True):
        assert endpoints[node] == f"CONTROLLER {host}:{port}"
    notes = {row["node"]: row["note"] for row in rows}
    assert notes == dict.fromkeys((1, 2, 101, 102, 103)) | {104: "a controller: may be added as a voter"}
    # Brokers return the same rows, but do not know the listener of a controller that is not a voter.
    by_brokers = quorum_of(capsys, "-b", real.bootstrap)
    keys = ("role", "node", "directory_id", "note")
    assert [[row[key] for key in keys] for row in by_brokers] == [[row[key] for key in keys] for row in rows]


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(10)
def test_who_is_asked_in_the_wrong_place_says_so(real: QuorumCluster, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["run", "--bootstrap-controller", real.bootstrap, "-e", "list quorum"]) == 1
    assert "is a broker's listener, named as a controller's" in capsys.readouterr().err
    assert run(["run", "-b", real.bootstrap_controllers, "-e", "list quorum"]) == 1
    assert "--bootstrap-controller" in capsys.readouterr().err
    assert run(["run", "--bootstrap-controller", real.bootstrap_controllers, "-e", "list topics"]) == 1
    assert "controllers do not answer metadata" in capsys.readouterr().err


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(10)
def test_what_a_controller_is_configured_with(real: QuorumCluster, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--bootstrap-controller", real.bootstrap_controllers)
    for node in real.controller_ids:
        out = kac_on_real(
            capsys, "run", *where, "-e", f"describe broker {node} node.id process.roles", "--output", "json"
        )
        assert f'"{node}"' in out
        assert '"controller"' in out
        about = kac_on_real(capsys, "run", *where, "-e", f"describe broker {node}")
        assert "127.0.0.1:" in about
        assert "replica" not in about.splitlines()[3]
    capsys.readouterr()
    for described in ("describe broker 1 node.id", "describe broker 1"):
        assert run(["run", *where, "-e", described]) != 0
        assert "there is no controller 1" in "".join(capsys.readouterr())
    # The common default of all nodes also has the keys of controllers.
    staged = kac_on_real(capsys, "run", *where, "-e", "set broker <default> max.connections=99", code=3)
    assert "2147483647 (default)" in staged


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(10)
def test_embedded_controllers_answer_the_same(real: QuorumCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Embedded controllers give the same answers as real ones, both the active controller and another one."""
    leader, _ = leads(quorum_of(capsys, *controllers(real)))
    spec = ClusterSpec(brokers=2, controllers=3, observers=1, proposals=False, cluster_id=real.cluster_id)
    with run_in_thread(spec) as thread:
        thread.call(lambda each: each.state.move_controller(leader))
        others = sorted(set(real.voter_ids) - {leader})
        for node in (leader, others[0]):
            address = real.controller_addresses[real.controller_ids.index(node)]
            embedded = thread.call(lambda each, node=node: each.address_of(node))  # type: ignore[misc]
            assert contract.served(address) == contract.served(embedded)
            asked = [*contract.requests(node, others[1]), *contract.changes()]
            if node != leader:
                asked += contract.refused_changes()
            for api, version, build in asked:
                told, ours = (contract.answered(each, api, version, build) for each in (address, embedded))
                assert not list(differences(told, ours)), (node, api, version)


@pytest.fixture(autouse=True)
def _own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def controllers(real: QuorumCluster) -> tuple[str, str]:
    return "--bootstrap-controller", real.bootstrap_controllers


def configs_by_kafka(kafka: KafkaCommands, real: QuorumCluster, type_: str, node: int) -> str:
    entity = ("--entity-type", type_, "--entity-name", str(node))
    done = kafka.run(CONFIGS, [*controllers(real), "--describe", *entity])
    assert done.code == 0, done
    return done.out


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(10)
def test_configs_and_levels_are_those_of_kafka_configs(
    real: QuorumCluster, kafka: KafkaCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    where = controllers(real)
    for node in real.controller_ids:  # the active controller and the others
        kac_on_real(
            capsys, "configs", *where, "--alter", "--broker", str(node), "--add-config", f"max.connections=9{node}"
        )
        described = kac_on_real(capsys, "configs", *where, "--describe", "--broker", str(node), "--output", "kafka")
        assert f"max.connections=9{node} sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG" in described
        assert described.split() == configs_by_kafka(kafka, real, "brokers", node).split()
    everything = kac_on_real(capsys, "configs", *where, "--describe", "--entity-type", "brokers", "--output", "kafka")
    theirs = kafka.run(CONFIGS, [*where, "--describe", "--entity-type", "brokers"])
    assert sorted(everything.split()) == sorted(theirs.out.split())
    script = "set broker 103 log.cleaner.threads=2; set logger 103 kafka.server.DynamicBrokerConfig=DEBUG"
    kac_on_real(capsys, "run", *where, "-e", f"{script}; apply --yes")
    levels = kac_on_real(capsys, "configs", *where, "--describe", "--broker-logger", "103", "--output", "kafka")
    assert "kafka.server.DynamicBrokerConfig=DEBUG" in levels
    assert sorted(levels.split()) == sorted(configs_by_kafka(kafka, real, "broker-loggers", 103).split())
    elsewhere = kac_on_real(capsys, "run", *where, "-e", "list loggers broker=102 level=DEBUG")
    assert "DynamicBrokerConfig" not in elsewhere
    kac_on_real(capsys, "run", *where, "-e", "revert 5; apply --yes")
    assert "log.cleaner.threads" not in configs_by_kafka(kafka, real, "brokers", 103)


def voters_by_kafka(kafka: KafkaCommands, real: QuorumCluster) -> set[int]:
    return {int(node) for role, node, _ in replication(kafka, real) if role != "observer"}


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(10)
def test_voters_come_and_go(real: QuorumCluster, kafka: KafkaCommands, capsys: pytest.CaptureFixture[str]) -> None:
    where = controllers(real)
    shown = kac_on_real(capsys, "run", *where, "-e", "add voter 104; plan", code=3)
    assert "voters 101, 102, 103, 104 afterwards: 3 of 4 are needed, all follow, one more may fail" in shown
    kac_on_real(capsys, "run", *where, "-e", "add voter 104; apply --yes")
    assert voters_by_kafka(kafka, real) == {101, 102, 103, 104}
    # through brokers, which forward the request
    kac_on_real(capsys, "run", "-b", real.bootstrap, "-e", "remove voter 103; apply --yes")
    assert voters_by_kafka(kafka, real) == {101, 102, 104}
    (row,) = (row for row in quorum_of(capsys, *where) if row["node"] == 103)
    assert (row["role"], row["note"]) == ("observer", "a controller: may be added as a voter")
    # Kafka's own command adds controller 103 and removes it; a revert adds it again.
    file = str(real.properties_file(103))
    assert kafka.run(QUORUM, ["--command-config", file, *where, "add-controller"]).code == 0
    assert 103 in voters_by_kafka(kafka, real)
    which = ("--controller-id", "103", "--controller-directory-id", str(row["directory_id"]))
    assert kafka.run(QUORUM, [*where, "remove-controller", *which]).code == 0
    kac_on_real(capsys, "run", "-b", real.bootstrap, "-e", "revert 2; apply --yes")
    assert voters_by_kafka(kafka, real) == {101, 102, 103, 104}
    capsys.readouterr()
    assert run(["run", *where, "-e", "add voter 1"]) != 0
    assert "node 1 is a broker and no controller" in "".join(capsys.readouterr())


def triage(capsys: pytest.CaptureFixture[str], real: QuorumCluster, seconds: int = 1) -> dict[str, dict[str, object]]:
    """Run `kac triage` for some seconds; return name of a cause -> the cause as JSON. Run it again while the verdict
    is `UNKNOWN`, because a node that has just started may not answer within a poll.
    """
    deadline = time.monotonic() + patience.PATIENCE
    while True:
        capsys.readouterr()
        code = run(["triage", *controllers(real), "--for", f"{seconds}s", "--output", "json"])
        causes = msgspec.json.decode(capsys.readouterr().out)["causes"]
        if code != UNKNOWN:
            assert bool(code) == bool(causes)
            return {each["cause"]: each for each in causes}
        assert time.monotonic() < deadline


def until_named(
    capsys: pytest.CaptureFixture[str], real: QuorumCluster, *names: str, seconds: int = 1
) -> dict[str, dict[str, object]]:
    deadline = time.monotonic() + patience.PATIENCE
    while not set(names) <= (found := triage(capsys, real, seconds)).keys():
        assert time.monotonic() < deadline, found.keys()
    return found


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(10)
def test_a_voter_that_is_formatted_again_is_mended(
    real: QuorumCluster, kafka: KafkaCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    assert triage(capsys, real) == {}
    real.kill(103)
    real.format_again(103)
    real.start_again(103)
    found = until_named(capsys, real, "voter-formatted")
    assert found.keys() == {"voter-formatted"}
    (step,) = found["voter-formatted"]["next"]  # type: ignore[misc]
    kac_on_real(capsys, "run", *controllers(real), "-e", f"{step['command']}; apply --yes --accept no-spare-voter")
    assert voters_by_kafka(kafka, real) == {101, 102, 103, 104}
    assert triage(capsys, real) == {}


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(10)
def test_killed_one_by_one(
    real: QuorumCluster,
    kafka: KafkaCommands,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where = controllers(real)
    if 104 not in voters_by_kafka(kafka, real):
        kac_on_real(capsys, "run", *where, "-e", "add voter 104; apply --yes")
    voters = voters_by_kafka(kafka, real)
    real.stop(1)
    real.kill(2)
    found = until_named(capsys, real, "brokers-stopped")
    assert "start broker" in str(found["brokers-stopped"]["next"])
    rows = quorum_of(capsys, *where)
    assert {row["node"] for row in rows if row["note"] == "does not fetch"} <= {1, 2}
    assert {(row["role"], str(row["node"]), row["directory_id"]) for row in rows} == replication(kafka, real)

    # Kill the leader: the others elect a new one before the next read.
    first, epoch = leads(rows)
    real.kill(first)
    rows = quorum_of(capsys, *where)
    second, later = leads(rows)
    assert second != first
    assert later > epoch
    assert (second, later) == leader_by_kafka(kafka, real)
    assert {row["node"] for row in rows if row["role"] == "voter" and row["note"] == "does not fetch"} == {first}
    found = until_named(capsys, real, "controller-down")
    assert f"start controller {first} (" in str(found["controller-down"]["next"])

    # Kill another follower: 2 of 4 voters are left, which is no majority. The leader is alive and resigns, and Kafka's
    # own command finds no leader.
    third = min({*real.controller_ids} - {first, second})
    real.kill(third)
    until_named(capsys, real, "quorum-lost", "controller-down", seconds=8)
    # The former leader may still have answered in the first verdict; in the second no leader does.
    found = until_named(capsys, real, "quorum-lost", "controller-down", seconds=8)
    assert "start 1 of controllers " in str(found["quorum-lost"]["next"])
    assert "before any broker: 3 of 4 controllers are needed, if all of them vote" in str(found["quorum-lost"]["next"])
    assert "who votes is not known: only a leader says it" in str(found["quorum-lost"]["evidence"])
    with monkeypatch.context() as patched:
        for module in (link, admin_cluster):
            patched.setattr(module, "ELECTION_SECONDS", 0.5)  # no leader will be elected
        refused(capsys, real, f"remove voter {first}", "add voter 104")

    # The controller that the verdict names first makes a majority again. With all other nodes the cluster is healthy.
    real.start_again(first)
    assert until_led(capsys, kafka, real) > later
    for node in (third, *real.broker_ids):
        real.start_again(node)
    deadline = time.monotonic() + patience.PATIENCE
    while (left := triage(capsys, real)) or len(quorum_of(capsys, *where)) < len(real.node_ids):
        assert time.monotonic() < deadline, left.keys()
    assert voters_by_kafka(kafka, real) == voters


def until_led(capsys: pytest.CaptureFixture[str], kafka: KafkaCommands, real: QuorumCluster) -> int:
    """Wait until kac and Kafka's own command name the same leader; return its epoch. The votes of a first election may
    be split, so the first leader may be replaced at once.
    """
    deadline = time.monotonic() + patience.PATIENCE
    while True:
        capsys.readouterr()
        code = run(["run", *controllers(real), "-e", "list quorum", "--output", "json"])
        out = capsys.readouterr().out
        if code == 0 and (found := leads(msgspec.json.decode(out)["quorum"])) == leader_by_kafka(kafka, real):
            return found[1]
        assert time.monotonic() < deadline, out


def leads(rows: list[dict[str, object]]) -> tuple[int, int]:
    """Return (id, epoch) of the leader in these rows of kac's output. Raises ValueError unless exactly one row is a
    leader.
    """
    (found,) = ((int(str(row["node"])), int(str(row["epoch"]))) for row in rows if row["role"] == "leader")
    return found


def leader_by_kafka(kafka: KafkaCommands, real: QuorumCluster) -> tuple[int, int]:
    """Return (id, epoch) of the quorum's leader as Kafka's command shows it; (-1, -1) if the controller that the
    command asked has just started and does not know the metadata version yet.
    """
    done = kafka.run(QUORUM, [*controllers(real), "describe", "--status"])
    if "There is no finalized MetadataVersion" in done.err:
        return -1, -1
    assert done.code == 0, done
    words = dict(line.split(":", 1) for line in done.out.splitlines() if ":" in line)
    return int(words["LeaderId"]), int(words["LeaderEpoch"])


def refused(capsys: pytest.CaptureFixture[str], real: QuorumCluster, *edits: str) -> None:
    for edit in edits:
        capsys.readouterr()
        assert run(["run", *controllers(real), "-e", f"{edit}; apply --yes"]) == 1
        assert "no leader of the quorum answers, which alone can change it" in "".join(capsys.readouterr())


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(75)
@pytest.mark.long
def test_a_static_quorum_of_3_9(capsys: pytest.CaptureFixture[str]) -> None:
    """In a static quorum, voters have no directory ids and can't be added or removed, but the log levels of controllers
    can be changed. Triage names the loss of the majority.
    """
    with real_clusters.or_skip():
        older = QuorumCluster(kafka_jars.KAFKA_3_9, brokers=1, dynamic=False)
    with older, KafkaCommands(kafka_jars.KAFKA_3_9) as kafka:
        where = controllers(older)
        rows = quorum_of(capsys, *where)
        assert {(row["role"], str(row["node"])) for row in rows} == {each[:2] for each in replication(kafka, older)}
        assert {row["directory_id"] for row in rows if row["role"] != "observer"} == {None}
        for words in (where, ("-b", older.bootstrap)):
            capsys.readouterr()
            assert run(["run", *words, "-e", "remove voter 103"]) == 1
            assert "the quorum is static (kraft.version 0)" in "".join(capsys.readouterr())
        kac_on_real(
            capsys,
            "configs",
            *where,
            "--alter",
            "--broker-logger",
            "102",
            "--add-config",
            "kafka.server.ControllerServer=DEBUG",
        )
        assert "kafka.server.ControllerServer=DEBUG" in configs_by_kafka(kafka, older, "broker-loggers", 102)
        # With two of three voters down the leader is alive, and the config of each node lists the voters.
        led, _ = leads(rows)
        away = sorted({*older.voter_ids} - {led})
        for node in away:
            older.kill(node)
        until_named(capsys, older, "quorum-lost", seconds=8)
        # In the first verdict the former leader may still have answered; in the second no leader does.
        found = until_named(capsys, older, "quorum-lost", seconds=8)
        by = f"voters are 101, 102, 103 by controller.quorum.voters of controller {led}"
        assert by in str(found["quorum-lost"]["evidence"])
        (step,) = found["quorum-lost"]["next"]  # type: ignore[misc]
        assert step["text"].startswith(f"start 1 of controllers {away[0]} (")
        assert step["text"].endswith("before any broker: 2 of 3 voters are needed")
