"""The harness itself: what other tests take for granted about the brokers under them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.broker_probe import live_brokers
from tests.support.children import Child
from tests.support.kafka_classes import archive_options, class_path, make
from tests.support.kafka_cluster import ClusterStartError, KafkaCluster
from tests.support.kafka_commands import CONFIGS
from tests.support.kafka_jars import KAFKA_4_3, java
from tests.support.patience import PATIENCE


@pytest.mark.parametrize("name", ["plain_cluster", "kafka39"])
def test_the_request_log_tells_the_clients_request_from_the_forwarded_copy(
    name: str, request: pytest.FixtureRequest
) -> None:
    cluster: KafkaCluster = request.getfixturevalue(name)
    mark = cluster.request_log.mark()
    change = ("--alter", "--entity-type", "ips", "--entity-name", "192.0.2.1")
    cluster.run_admin_tool(CONFIGS, *change, "--add-config", "connection_creation_rate=7")
    cluster.run_admin_tool(CONFIGS, *change, "--delete-config", "connection_creation_rate")

    sent = cluster.request_log.wait_for(2, "ALTER_CLIENT_QUOTAS", since=mark)
    assert [entry.request["entries"][0]["ops"][0]["remove"] for entry in sent] == [False, True]
    assert {(entry.request["validateOnly"], entry.listener) for entry in sent} == {(False, "PLAINTEXT")}
    with_copies = cluster.request_log.read("ALTER_CLIENT_QUOTAS", since=mark, forwarded=True)
    assert [entry.listener for entry in with_copies if entry.forwarded] == ["CONTROLLER"] * 2


@pytest.mark.usefixtures("plain_cluster")
def test_tools_and_brokers_read_their_classes_from_the_archive(tmp_path: Path) -> None:
    make(KAFKA_4_3)
    program, told = java(), tmp_path / "loaded"
    options = (*archive_options(KAFKA_4_3, program), f"-Xlog:class+load:file={told}", "-cp", class_path(KAFKA_4_3))
    subprocess.run([program, *options, "kafka.admin.ConfigCommand", "--version"], check=True, capture_output=True)
    sources = [line.partition("source: ")[2] for line in told.read_text().splitlines() if "AppInfoParser " in line]
    assert sources == ["shared objects file (top)"]


@pytest.mark.usefixtures("plain_cluster")
def test_a_broker_that_cannot_start_says_why() -> None:
    wrong = KafkaCluster(KAFKA_4_3, brokers=1, properties={"num.io.threads": "many"})
    with pytest.raises(ClusterStartError, match=r"num\.io\.threads"), wrong:
        pass
    assert not wrong.directory.exists()


@pytest.mark.usefixtures("plain_cluster")  # skips where brokers cannot run
def test_brokers_do_not_outlive_an_owner_that_was_killed() -> None:
    command = [sys.executable, "-m", "tests.support.kafka_cluster", "--brokers", "1"]
    owner = Child(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert owner.stdout is not None
    with owner.stdout as output:
        host, _, port = output.readline().strip().partition(":")
        folder = Path(output.readline().split()[1])
        assert live_brokers((host, int(port))) == {1}
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()
    deadline = time.monotonic() + PATIENCE
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=PATIENCE)
