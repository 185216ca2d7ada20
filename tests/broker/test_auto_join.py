"""Tests of a real quorum with automatic joins: a voter that was removed makes itself a voter again."""

import pytest

from console.cli.main import run
from console.plan.kinds import voters
from tests.support.kafka_jars import KAFKA_4_3
from tests.support.patience import PATIENCE
from tests.support.quorum_cluster import QuorumCluster
from tests.support.real_clusters import lent

pytestmark = [pytest.mark.slow, pytest.mark.takes(60)]

cluster = lent(lambda: QuorumCluster(KAFKA_4_3, brokers=1, auto_join=True))


@pytest.mark.parametrize("by_controllers", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_voter_that_comes_back_by_itself_is_no_success(
    cluster: QuorumCluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, by_controllers: bool
) -> None:
    # Let kac look until the node votes again: on a busy machine that takes longer than kac's usual limit.
    monkeypatch.setattr(voters, "_JOINS_WITHIN", PATIENCE)
    where = ("--bootstrap-controller", cluster.bootstrap_controllers) if by_controllers else ("-b", cluster.bootstrap)
    assert run(["run", *where, "-e", "remove voter 102; plan"]) == 3
    knows = "controller.quorum.auto.join.enable is true on controller 102: it votes again within seconds"
    said = capsys.readouterr().out
    assert (knows in said) == by_controllers
    assert "controller.quorum.auto.join.enable" in said
    assert run(["run", *where, "-e", "remove voter 102; apply --yes --accept no-spare-voter"]) == 1
    said = capsys.readouterr().out
    assert "applied, and taken back since" in said
    assert "takes it back" not in said
