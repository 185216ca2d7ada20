"""Brokers that are not where they are advertised: two at one address, another one there, nobody there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from console.cli import main as cli
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.cluster import Broker
from console.model.nodes import shared_addresses
from tests.support.free_ports import free_ports

Kac = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    """Three brokers with a topic on them, each where it says."""
    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3])))
        yield running


@pytest.fixture
def kac(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Kac:
    monkeypatch.setenv("HOME", str(tmp_path))
    first = ",".join(cluster.bootstrap.split(",")[:1])

    def run(command: str, *words: str) -> tuple[int, str, str]:
        code = cli.run([command, "-b", first, *words])
        written = capsys.readouterr()
        return code, written.out, written.err

    return run


def advertise(cluster: ThreadedCluster, broker: int, port: int) -> None:
    def change(running: EmbeddedCluster) -> None:
        running.state.put_broker(replace(running.state.brokers[broker], port=port))

    cluster.call(change)


def port_of(cluster: ThreadedCluster, broker: int) -> int:
    return cluster.call(lambda c: c.state.brokers[broker].port)


def test_two_brokers_at_one_address(cluster: ThreadedCluster, kac: Kac) -> None:
    port = port_of(cluster, 1)
    advertise(cluster, 2, port)
    code, out, _ = kac("triage", "--for", "0s", "--output", "json")
    verdict = json.loads(out)
    (cause,) = [each for each in verdict["causes"] if each["severity"] != "info"]
    assert (code, cause["cause"], cause["subject"]) == (
        4,
        "address-of-another",
        {"broker": 2, "listener": f"127.0.0.1:{port}"},
    )
    assert not [each for each in verdict["unknowable"] if each["what"].startswith("silent")]
    code, out, _ = kac("doctor", "--output", "json")
    bad = {each["name"]: each["found"] for each in json.loads(out)["checks"] if each["health"] == "bad"}
    assert code == 1
    assert bad[f"address 127.0.0.1:{port}"] == "advertised by brokers 1, 2"


def test_a_name_that_leads_to_another_broker(cluster: ThreadedCluster, kac: Kac) -> None:
    """Not the same address: the same broker under two names."""
    port = port_of(cluster, 1)

    def change(running: EmbeddedCluster) -> None:
        running.state.put_broker(replace(running.state.brokers[3], host="localhost", port=port))

    cluster.call(change)
    code, out, _ = kac("triage", "--for", "0s", "--output", "json")
    (cause,) = [each for each in json.loads(out)["causes"] if each["severity"] != "info"]
    assert (code, cause["cause"], cause["subject"]["broker"]) == (4, "address-of-another", 3)
    assert "advertised by broker 3; the bootstrap answered" in cause["evidence"][0]["fact"]
    code, out, _ = kac("doctor", "--output", "json")
    bad = {each["name"]: each["found"] for each in json.loads(out)["checks"] if each["health"] == "bad"}
    assert (code, list(bad)) == (1, ["broker 3"])
    code, out, err = kac("run", "-e", "describe broker 3")
    assert "advertised by broker 3; the bootstrap answered" in out + err


def test_nobody_at_the_address(cluster: ThreadedCluster, kac: Kac) -> None:
    (port,) = free_ports(1)
    advertise(cluster, 3, port)
    _, out, err = kac("run", "-e", "describe broker 3")
    assert "advertised by broker 3; the bootstrap answered" in out + err


def test_brokers_that_are_where_they_say(cluster: ThreadedCluster, kac: Kac) -> None:
    assert kac("triage", "--for", "0s")[0] == 0
    _, out, _ = kac("doctor", "--output", "json")
    assert [each for each in json.loads(out)["checks"] if each["health"] == "bad"] == []


def test_a_fenced_broker_shares_nothing() -> None:
    """One that went may have left its address to another."""
    brokers = (Broker(1, "h", 9), Broker(2, "h", 9, fenced=True), Broker(3, "::1", 9), Broker(4, "::1", 9))
    assert shared_addresses(brokers) == {"[::1]:9": (3, 4)}
