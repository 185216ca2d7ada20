"""Voters of an embedded cluster, by each way that a plan goes: while the quorum is static, and once it is dynamic."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from console.admin.client import AdminClient
from console.admin.link import CONTROLLER, Link
from console.cli.main import run
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from tests.support import worlds
from tests.support.patience import PATIENCE

cluster = worlds.cluster(ClusterSpec(brokers=4, scenario="quiet"))


def kac(capsys: pytest.CaptureFixture[str], cluster: ThreadedCluster, script: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run(["run", "-b", cluster.bootstrap, "-e", script]) == code, capsys.readouterr()
    return "".join(capsys.readouterr())


def roles(capsys: pytest.CaptureFixture[str], cluster: ThreadedCluster) -> dict[int, str]:
    capsys.readouterr()
    assert run(["run", "-b", cluster.bootstrap, "-e", "list quorum", "--output", "json"]) == 0
    return {row["node"]: row["role"] for row in json.loads(capsys.readouterr().out)["quorum"]}


def test_a_static_quorum_is_refused(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the quorum is static (kraft.version 0)" in kac(capsys, cluster, "remove voter 2; plan", 1)
    assert "2 is a voter already" in kac(capsys, cluster, "add voter 2")
    assert "the quorum is static" in kac(capsys, cluster, "add voter 7", 1)


def test_a_change_for_another_cluster_is_refused(cluster: ThreadedCluster) -> None:
    """As Kafka 3.9.1 and 4.4 were seen to do."""

    async def changed(link: Link) -> tuple[int, str | None]:
        def build(kio: ModuleType) -> Any:
            return kio.RemoveRaftVoterRequest(cluster_id="another", voter_id=1, voter_directory_id=UUID(int=5))

        answer = await link.call("remove_raft_voter", build, to=CONTROLLER, change=True)
        return answer.error_code, answer.error_message

    with AdminClient(worlds.settings(cluster)) as client:
        code, message = client.submit(changed).result(PATIENCE)
    assert code == ErrorCode.inconsistent_cluster_id
    assert message is not None
    assert message.startswith('The given id "another" doesn\'t match the cluster id "')


def test_voters_leave_and_come_back(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    kac(capsys, cluster, "feature set kraft.version=1; apply --yes --accept feature-irreversible=kraft.version")
    assert set(roles(capsys, cluster).values()) == {"leader", "voter"}
    shown = kac(capsys, cluster, "remove voter 4; plan", 3)
    assert "voters 1, 2, 3 afterwards: 2 of 3 are needed, all follow, one more may fail" in shown
    kac(capsys, cluster, "remove voter 4; apply --yes")
    assert roles(capsys, cluster)[4] == "observer"
    # One without a spare has to be accepted.
    assert "no-spare-voter" in kac(capsys, cluster, "remove voter 3; apply --yes", 3)
    assert "where controller 4 listens is unknown to brokers" in kac(capsys, cluster, "add voter 4", 1)
    kac(capsys, cluster, "add voter 4 at=CONTROLLER://127.0.0.1:9; apply --yes")
    assert "observer" not in roles(capsys, cluster).values()
    kac(capsys, cluster, "revert 3; plan; apply --yes")
    assert roles(capsys, cluster)[4] == "observer"


def test_a_leader_that_leaves_hands_over(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.call(lambda one: one.state.set_feature("kraft.version", 1))
    (leader,) = (node for node, role in roles(capsys, cluster).items() if role == "leader")
    shown = kac(capsys, cluster, f"remove voter {leader}; plan; apply --yes")
    assert f"{leader} leads: another voter is elected once it has left" in shown
    after = roles(capsys, cluster)
    assert after[leader] == "observer"
    assert list(after.values()).count("leader") == 1
