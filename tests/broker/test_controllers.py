"""Controllers that are nodes of their own, asked themselves (KIP-919): they say what Kafka's own commands say."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from console.cli.main import run
from tests.support.kafka_commands import KafkaCommands
from tests.support.kafka_jars import KAFKA_4_3
from tests.support.quorum_cluster import QuorumCluster
from tests.support.real_clusters import running

pytestmark = [pytest.mark.slow, pytest.mark.takes(60)]
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
    capsys.readouterr()
    assert run(["run", *where, "-e", "describe broker 1 node.id"]) != 0
    assert "there is no controller 1" in "".join(capsys.readouterr())
