"""Controllers that are nodes of their own, asked themselves (KIP-919): they say what Kafka's own commands say."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from console.admin import cluster as admin_cluster
from console.admin import link
from console.cli.main import run
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from tests.contract import controllers as contract
from tests.contract.answers import differences
from tests.support.kafka_commands import CONFIGS, KafkaCommands
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.patience import PATIENCE
from tests.support.quorum_cluster import QuorumCluster
from tests.support.real_clusters import or_skip, running

pytestmark = [pytest.mark.slow, pytest.mark.takes(75)]
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"


@pytest.fixture(scope="module")
def cluster() -> Iterator[QuorumCluster]:
    """Three controllers that vote, one that does not, and two brokers."""
    yield from running(lambda: QuorumCluster(observers=1))


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCommands]:
    """Kafka's commands; 4.4 was published without them."""
    with KafkaCommands(KAFKA_4_3) as commands:
        yield commands


def kac(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run(arguments) == code, capsys.readouterr()
    return capsys.readouterr().out


def replication(kafka: KafkaCommands, cluster: QuorumCluster) -> set[tuple[str, str, str]]:
    """Return role, node and directory of each replica, by Kafka's own command, which calls voters followers."""
    arguments = ["--bootstrap-controller", cluster.bootstrap_controllers, "describe", "--replication"]
    done = kafka.run(QUORUM, arguments)
    assert done.code == 0, done
    words = [line.split() for line in done.out.splitlines()[1:] if line.strip()]
    return {(row[-1].lower().replace("follower", "voter"), row[0], row[1]) for row in words}


def quorum_of(capsys: pytest.CaptureFixture[str], *where: str) -> list[dict[str, object]]:
    out = kac(capsys, "run", *where, "-e", "list quorum", "--output", "json")
    rows: list[dict[str, object]] = msgspec.json.decode(out)["quorum"]
    return rows


def test_the_quorum_is_what_kafkas_command_says(
    cluster: QuorumCluster, kafka: KafkaCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = quorum_of(capsys, "--bootstrap-controller", cluster.bootstrap_controllers)
    assert {(row["role"], str(row["node"]), row["directory_id"]) for row in rows} == replication(kafka, cluster)
    endpoints = {row["node"]: row["endpoint"] for row in rows}
    for node, (host, port) in zip(cluster.controller_ids, cluster.controller_addresses, strict=True):
        assert endpoints[node] == f"CONTROLLER {host}:{port}"
    notes = {row["node"]: row["note"] for row in rows}
    assert notes == dict.fromkeys((1, 2, 101, 102, 103)) | {104: "a controller: may be added as a voter"}
    # Brokers say the same, but for where a controller listens that is no voter.
    by_brokers = quorum_of(capsys, "-b", cluster.bootstrap)
    keys = ("role", "node", "directory_id", "note")
    assert [[row[key] for key in keys] for row in by_brokers] == [[row[key] for key in keys] for row in rows]


def test_who_is_asked_in_the_wrong_place_says_so(cluster: QuorumCluster, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["run", "--bootstrap-controller", cluster.bootstrap, "-e", "list quorum"]) == 1
    assert "is a broker's listener, named as a controller's" in capsys.readouterr().err
    assert run(["run", "-b", cluster.bootstrap_controllers, "-e", "list quorum"]) == 1
    assert "--bootstrap-controller" in capsys.readouterr().err
    assert run(["run", "--bootstrap-controller", cluster.bootstrap_controllers, "-e", "list topics"]) == 1
    assert "controllers do not answer metadata" in capsys.readouterr().err


def test_what_a_controller_is_configured_with(cluster: QuorumCluster, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--bootstrap-controller", cluster.bootstrap_controllers)
    for node in cluster.controller_ids:
        out = kac(capsys, "run", *where, "-e", f"describe broker {node} node.id process.roles", "--output", "json")
        assert f'"{node}"' in out
        assert '"controller"' in out
        about = kac(capsys, "run", *where, "-e", f"describe broker {node}")
        assert "127.0.0.1:" in about
        assert "replica" not in about.splitlines()[3]
    capsys.readouterr()
    for described in ("describe broker 1 node.id", "describe broker 1"):
        assert run(["run", *where, "-e", described]) != 0
        assert "there is no controller 1" in "".join(capsys.readouterr())
    # What all nodes inherit has the keys of controllers there.
    staged = kac(capsys, "run", *where, "-e", "set broker <default> max.connections=99", code=3)
    assert "2147483647 (default)" in staged


def test_embedded_controllers_answer_the_same(cluster: QuorumCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """The contract of controllers: the active one, and one that is not."""
    leader, _ = leads(quorum_of(capsys, *controllers(cluster)))
    spec = ClusterSpec(brokers=2, controllers=3, observers=1, proposals=False, cluster_id=cluster.cluster_id)
    with run_in_thread(spec) as thread:
        thread.call(lambda each: each.state.move_controller(leader))
        others = sorted(set(cluster.voter_ids) - {leader})
        for node in (leader, others[0]):
            real = cluster.controller_addresses[cluster.controller_ids.index(node)]
            embedded = thread.call(lambda each, node=node: each.address_of(node))  # type: ignore[misc]
            assert contract.served(real) == contract.served(embedded)
            asked = [*contract.requests(node, others[1]), *contract.changes()]
            if node != leader:
                asked += contract.refused_changes()
            for api, version, build in asked:
                told, ours = (contract.answered(each, api, version, build) for each in (real, embedded))
                assert not list(differences(told, ours)), (node, api, version)


# -- what changes them, in this order --------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def controllers(cluster: QuorumCluster) -> tuple[str, str]:
    return "--bootstrap-controller", cluster.bootstrap_controllers


def configs_by_kafka(kafka: KafkaCommands, cluster: QuorumCluster, type_: str, node: int) -> str:
    entity = ("--entity-type", type_, "--entity-name", str(node))
    done = kafka.run(CONFIGS, [*controllers(cluster), "--describe", *entity])
    assert done.code == 0, done
    return done.out


def test_configs_and_levels_are_those_of_kafka_configs(
    cluster: QuorumCluster, kafka: KafkaCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    where = controllers(cluster)
    for node in cluster.controller_ids:  # the active one, and those that are not
        kac(capsys, "configs", *where, "--alter", "--broker", str(node), "--add-config", f"max.connections=9{node}")
        described = kac(capsys, "configs", *where, "--describe", "--broker", str(node), "--output", "kafka")
        assert f"max.connections=9{node} sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG" in described
        assert described.split() == configs_by_kafka(kafka, cluster, "brokers", node).split()
    everything = kac(capsys, "configs", *where, "--describe", "--entity-type", "brokers", "--output", "kafka")
    theirs = kafka.run(CONFIGS, [*where, "--describe", "--entity-type", "brokers"])
    assert sorted(everything.split()) == sorted(theirs.out.split())
    script = "set broker 103 log.cleaner.threads=2; set logger 103 kafka.server.DynamicBrokerConfig=DEBUG"
    kac(capsys, "run", *where, "-e", f"{script}; apply --yes")
    levels = kac(capsys, "configs", *where, "--describe", "--broker-logger", "103", "--output", "kafka")
    assert "kafka.server.DynamicBrokerConfig=DEBUG" in levels
    assert sorted(levels.split()) == sorted(configs_by_kafka(kafka, cluster, "broker-loggers", 103).split())
    elsewhere = kac(capsys, "run", *where, "-e", "list loggers broker=102 level=DEBUG")
    assert "DynamicBrokerConfig" not in elsewhere
    kac(capsys, "run", *where, "-e", "revert 5; apply --yes")
    assert "log.cleaner.threads" not in configs_by_kafka(kafka, cluster, "brokers", 103)


def voters_by_kafka(kafka: KafkaCommands, cluster: QuorumCluster) -> set[int]:
    return {int(node) for role, node, _ in replication(kafka, cluster) if role != "observer"}


def test_voters_come_and_go(cluster: QuorumCluster, kafka: KafkaCommands, capsys: pytest.CaptureFixture[str]) -> None:
    where = controllers(cluster)
    shown = kac(capsys, "run", *where, "-e", "add voter 104; plan", code=3)
    assert "voters 101, 102, 103, 104 afterwards: 3 of 4 are needed, all follow, one more may fail" in shown
    kac(capsys, "run", *where, "-e", "add voter 104; apply --yes")
    assert voters_by_kafka(kafka, cluster) == {101, 102, 103, 104}
    # By way of brokers, which hand it on.
    kac(capsys, "run", "-b", cluster.bootstrap, "-e", "remove voter 103; apply --yes")
    assert voters_by_kafka(kafka, cluster) == {101, 102, 104}
    (row,) = (row for row in quorum_of(capsys, *where) if row["node"] == 103)
    assert (row["role"], row["note"]) == ("observer", "a controller: may be added as a voter")
    # There and back by Kafka's own command, and by the journal.
    file = str(cluster.properties_file(103))
    assert kafka.run(QUORUM, ["--command-config", file, *where, "add-controller"]).code == 0
    assert 103 in voters_by_kafka(kafka, cluster)
    which = ("--controller-id", "103", "--controller-directory-id", str(row["directory_id"]))
    assert kafka.run(QUORUM, [*where, "remove-controller", *which]).code == 0
    kac(capsys, "run", "-b", cluster.bootstrap, "-e", "revert 2; apply --yes")
    assert voters_by_kafka(kafka, cluster) == {101, 102, 103, 104}
    capsys.readouterr()
    assert run(["run", *where, "-e", "add voter 1"]) != 0
    assert "node 1 is a broker and no controller" in "".join(capsys.readouterr())


def triage(
    capsys: pytest.CaptureFixture[str], cluster: QuorumCluster, seconds: int = 1
) -> dict[str, dict[str, object]]:
    """Return what is wrong, by the cause's name."""
    capsys.readouterr()
    code = run(["triage", *controllers(cluster), "--for", f"{seconds}s", "--output", "json"])
    causes = msgspec.json.decode(capsys.readouterr().out)["causes"]
    assert bool(code) == bool(causes)
    return {each["cause"]: each for each in causes}


def until_named(
    capsys: pytest.CaptureFixture[str], cluster: QuorumCluster, *names: str, seconds: int = 1
) -> dict[str, dict[str, object]]:
    deadline = time.monotonic() + PATIENCE
    while not set(names) <= (found := triage(capsys, cluster, seconds)).keys():
        assert time.monotonic() < deadline, found.keys()
    return found


def test_a_voter_that_is_formatted_again_is_mended(
    cluster: QuorumCluster, kafka: KafkaCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    assert triage(capsys, cluster) == {}
    cluster.kill(103)
    cluster.format_again(103)
    cluster.start_again(103)
    found = until_named(capsys, cluster, "voter-formatted")
    assert found.keys() == {"voter-formatted"}
    (step,) = found["voter-formatted"]["next"]  # type: ignore[misc]
    kac(capsys, "run", *controllers(cluster), "-e", f"{step['command']}; apply --yes --accept no-spare-voter")
    assert voters_by_kafka(kafka, cluster) == {101, 102, 103, 104}
    assert triage(capsys, cluster) == {}


def test_killed_one_by_one(
    cluster: QuorumCluster,
    kafka: KafkaCommands,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where, voters = controllers(cluster), voters_by_kafka(kafka, cluster)
    cluster.stop(1)
    cluster.kill(2)
    found = until_named(capsys, cluster, "brokers-stopped")
    assert "start broker" in str(found["brokers-stopped"]["next"])
    rows = quorum_of(capsys, *where)
    assert {row["node"] for row in rows if row["note"] == "does not fetch"} <= {1, 2}
    assert {(row["role"], str(row["node"]), row["directory_id"]) for row in rows} == replication(kafka, cluster)

    # The leader: another one is elected, as soon as that is seen.
    first, epoch = leads(rows)
    cluster.kill(first)
    rows = quorum_of(capsys, *where)
    second, later = leads(rows)
    assert second != first
    assert later > epoch
    assert (second, later) == leader_by_kafka(kafka, cluster)
    assert {row["node"] for row in rows if row["role"] == "voter" and row["note"] == "does not fetch"} == {first}
    found = until_named(capsys, cluster, "controller-down")
    assert f"start controller {first} (" in str(found["controller-down"]["next"])

    # Another follower: 2 of 4 voters are left, which is no majority. The leader lives and resigns, and Kafka's own
    # command finds nobody to ask.
    third = min({*cluster.controller_ids} - {first, second})
    cluster.kill(third)
    found = until_named(capsys, cluster, "quorum-lost", "controller-down", seconds=8)
    assert "start 1 of controllers " in str(found["quorum-lost"]["next"])
    assert "before any broker: 3 of 4 controllers are needed, if all of them vote" in str(found["quorum-lost"]["next"])
    assert "who votes is not known: only a leader says it" in str(found["quorum-lost"]["evidence"])
    with monkeypatch.context() as patched:
        for module in (link, admin_cluster):
            patched.setattr(module, "ELECTION_SECONDS", 0.5)  # there is none to wait for
        refused(capsys, cluster, f"remove voter {first}", "add voter 104")

    # What was named first, and then all: a majority again, and healthy.
    cluster.start_again(first)
    assert until_led(capsys, kafka, cluster) > later
    for node in (third, *cluster.broker_ids):
        cluster.start_again(node)
    deadline = time.monotonic() + PATIENCE
    while (left := triage(capsys, cluster)) or len(quorum_of(capsys, *where)) < len(cluster.node_ids):
        assert time.monotonic() < deadline, left.keys()
    assert voters_by_kafka(kafka, cluster) == voters


def until_led(capsys: pytest.CaptureFixture[str], kafka: KafkaCommands, cluster: QuorumCluster) -> int:
    """The epoch, once a leader is named, by Kafka's own command too. Votes of a first round may be split: who led for
    a moment does so no more."""
    deadline = time.monotonic() + PATIENCE
    while True:
        capsys.readouterr()
        code = run(["run", *controllers(cluster), "-e", "list quorum", "--output", "json"])
        out = capsys.readouterr().out
        if code == 0 and (found := leads(msgspec.json.decode(out)["quorum"])) == leader_by_kafka(kafka, cluster):
            return found[1]
        assert time.monotonic() < deadline, out


def leads(rows: list[dict[str, object]]) -> tuple[int, int]:
    """Return the leader and its epoch."""
    (found,) = ((int(str(row["node"])), int(str(row["epoch"]))) for row in rows if row["role"] == "leader")
    return found


def leader_by_kafka(kafka: KafkaCommands, cluster: QuorumCluster) -> tuple[int, int]:
    done = kafka.run(QUORUM, [*controllers(cluster), "describe", "--status"])
    assert done.code == 0, done
    words = dict(line.split(":", 1) for line in done.out.splitlines() if ":" in line)
    return int(words["LeaderId"]), int(words["LeaderEpoch"])


def refused(capsys: pytest.CaptureFixture[str], cluster: QuorumCluster, *edits: str) -> None:
    for edit in edits:
        capsys.readouterr()
        assert run(["run", *controllers(cluster), "-e", f"{edit}; apply --yes"]) == 1
        assert "no leader of the quorum answers, which alone can change it" in "".join(capsys.readouterr())


@pytest.mark.long
def test_a_static_quorum_of_3_9(capsys: pytest.CaptureFixture[str]) -> None:
    """Voters have no directories there, and are not changed; controllers' configs are, of a sort."""
    with or_skip():
        older = QuorumCluster(KAFKA_3_9, brokers=1, dynamic=False)
    with older, KafkaCommands(KAFKA_3_9) as kafka:
        where = controllers(older)
        rows = quorum_of(capsys, *where)
        assert {(row["role"], str(row["node"])) for row in rows} == {each[:2] for each in replication(kafka, older)}
        assert {row["directory_id"] for row in rows if row["role"] != "observer"} == {None}
        for words in (where, ("-b", older.bootstrap)):
            capsys.readouterr()
            assert run(["run", *words, "-e", "remove voter 103"]) == 1
            assert "the quorum is static (kraft.version 0)" in "".join(capsys.readouterr())
        kac(
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
        # Two of three away, the leader lives: who votes stands in each node's file.
        led, _ = leads(rows)
        away = sorted({*older.voter_ids} - {led})
        for node in away:
            older.kill(node)
        until_named(capsys, older, "quorum-lost", seconds=8)
        # The leader that was there still answered then; later none does.
        found = until_named(capsys, older, "quorum-lost", seconds=8)
        by = f"voters are 101, 102, 103 by controller.quorum.voters of controller {led}"
        assert by in str(found["quorum-lost"]["evidence"])
        (step,) = found["quorum-lost"]["next"]  # type: ignore[misc]
        assert step["text"].startswith(f"start 1 of controllers {away[0]} (")
        assert step["text"].endswith("before any broker: 2 of 3 voters are needed")
