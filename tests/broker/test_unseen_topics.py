"""A principal that sees no topic of a real cluster is told so: nothing is said to be empty or healthy."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from console.cli import main as cli
from tests.broker.test_rights import CertifiedClient, create
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.core

UNSEEN = "none is visible to User:alice; brokers leave out those it may not DESCRIBE"


async def test_who_sees_nothing_is_told_so(
    secure_cluster: KafkaCluster, name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async with CertifiedClient(secure_cluster, "admin") as admin:
        await create(admin, name)
    login = ("-b", secure_cluster.bootstrap, "--command-config", str(secure_cluster.client_properties("alice")))

    def kac(command: str, *words: str) -> tuple[int, str, str]:
        code = cli.run([command, *login, *words])
        written = capsys.readouterr()
        return code, written.out, written.err

    code, out, _ = await asyncio.to_thread(kac, "triage", "--for", "0s", "--output", "json")
    verdict = json.loads(out)
    assert (code, verdict["healthy"]) == (1, False)
    assert any(UNSEEN in each["what"] for each in verdict["unknowable"])
    code, out, _ = await asyncio.to_thread(kac, "topics", "--list")
    assert (code, "no topics" in out, UNSEEN in out) == (1, False, True)
    code, out, _ = await asyncio.to_thread(kac, "groups", "--list")
    assert (code, "no groups" in out) == (1, False)
    file = tmp_path / "wanted.yaml"
    code, _, err = await asyncio.to_thread(kac, "export", "--output", str(file))
    assert (code, UNSEEN in err) == (1, True)
    assert "# unknown topics" in file.read_text()


def test_a_new_cluster_without_topics_is_healthy(
    empty_cluster: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("-b", empty_cluster.bootstrap)
    code = cli.run(["topics", *at, "--list"])
    assert (code, capsys.readouterr().out) == (0, "no topics\n")
    assert cli.run(["triage", *at, "--for", "0s"]) == 0
    assert capsys.readouterr().out.startswith("healthy")
