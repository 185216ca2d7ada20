"""Tests of brokers whose advertised names this host can't resolve, and which kac reaches by a map of addresses, by
Kubernetes, by SOCKS or by an HTTP proxy. In each case TLS checks the advertised name, and each failure has a message
of its own.
"""

import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from console.admin.ways import way
from console.contexts.routes import parse_via
from tests.support import kafka_cluster, patience, proxies, real_clusters, worlds
from tests.support.free_ports import LOOPBACK, free_ports

NAME = "orders-{}.orders-brokers.kafka.svc"
LOGIN = ("ops", "p-secret-7")
pytestmark = pytest.mark.takes(20)


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafka_cluster.KafkaCluster]:
    yield from real_clusters.running(lambda: kafka_cluster.KafkaCluster(brokers=3, security="secure", host=NAME))


class Kac:
    """Runs kac with a context `far`, whose bootstrap address is the advertised name of broker 1."""

    def __init__(self, cluster: kafka_cluster.KafkaCluster, folder: Path) -> None:
        self.folder = folder
        self.ports = [port for _, port in cluster.addresses]
        self.names = {NAME.format(node): LOOPBACK for node in cluster.broker_ids}
        self.bootstrap = f"{NAME.format(1)}:{self.ports[0]}"
        self._properties = cluster.client_properties()
        # If the host's name server does not answer, the lookup fails within a second.
        self.environ = {"RES_OPTIONS": "timeout:1 attempts:1"}

    def run(self, *lines: str, words: tuple[str, ...] = ("run", "-e", "list brokers")) -> tuple[int, str]:
        """Run kac with further lines in its context; return (exit code, standard output and standard error). Raises
        AssertionError if the output contains the proxy's password.
        """
        config = self.folder / "config.toml"
        config.touch(mode=0o600)
        config.write_text(
            "\n".join(
                (
                    "[contexts.far]",
                    f'properties = "{self._properties}"',
                    f'"bootstrap.servers" = "{self.bootstrap}"',
                    *lines,
                )
            )
        )
        places = {name: str(self.folder) for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
        done = subprocess.run(
            [sys.executable, "-m", "console", *words],
            env={**os.environ, **places, "PYTHONPATH": str(worlds.ROOT), "KAC_CONFIG": str(config), **self.environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience.PATIENCE,
        )
        said = done.stdout + done.stderr
        assert LOGIN[1] not in said
        return done.returncode, " ".join(said.split())


@pytest.fixture
def kac(cluster: kafka_cluster.KafkaCluster, tmp_path: Path) -> Kac:
    return Kac(cluster, tmp_path)


def all_there(done: tuple[int, str]) -> bool:
    return done[0] == 0 and all(NAME.format(node) in done[1] for node in (1, 2, 3))


# Read the configs of each broker from that broker.
EACH = ("run", "-e", "list brokers; describe broker 1; describe broker 2; describe broker 3")


def test_a_map_leads_to_each_broker(kac: Kac) -> None:
    code, said = kac.run()
    assert code == 1
    assert "the host name is not known" in said
    assert all_there(kac.run("[contexts.far.addresses]", f'"*.kafka.svc" = "{LOOPBACK}"', words=EACH))


def test_one_port_leads_to_all_by_the_name_in_the_handshake(kac: Kac, cluster: kafka_cluster.KafkaCluster) -> None:
    places = {NAME.format(node): (LOOPBACK, port) for node, port in zip((1, 2, 3), kac.ports, strict=True)}
    with proxies.by_sni(places, cluster.authority) as edge:
        assert all_there(kac.run("[contexts.far.addresses]", f'"*.kafka.svc" = "{LOOPBACK}:{edge.port}"', words=EACH))


def test_the_doctor_prints_the_map_to_fill_in(kac: Kac) -> None:
    code, said = kac.run("[contexts.far.addresses]", f'"{kac.bootstrap}" = "{LOOPBACK}"', words=("doctor", "-c", "far"))
    assert code == 1
    assert "the bootstrap answers, and 2 of 3 advertised addresses do not" in said
    second = f"{NAME.format(2)}:{kac.ports[1]}"
    assert f'[contexts.NAME.addresses] "{second}" = "{second}"' in said
    code, said = kac.run("[contexts.far.addresses]", f'"{kac.bootstrap}" = "{LOOPBACK}"', words=EACH)
    assert "this host does not know the name that a broker advertises" in said
    assert "spelling" not in said


def test_a_map_to_nowhere_and_to_another_certificate_is_told(kac: Kac) -> None:
    (dead,) = free_ports(1)
    code, said = kac.run("[contexts.far.addresses]", f'"*.kafka.svc" = "{LOOPBACK}:{dead}"')
    assert code == 1
    assert f"{kac.bootstrap} (at {LOOPBACK}:{dead}): nothing listens there" in said
    assert "Look whether the forward runs there" in said
    kac.bootstrap = f"elsewhere.kafka.svc:{kac.ports[0]}"
    code, said = kac.run("[contexts.far.addresses]", f'"*.kafka.svc" = "{LOOPBACK}"')
    assert code == 1
    assert "certificate is not accepted" in said
    assert "elsewhere.kafka.svc" in said


@pytest.mark.parametrize("kind", ["socks5", "http"])
def test_a_proxy_leads_to_each_broker_and_may_ask_for_a_login(kac: Kac, kind: str) -> None:
    made = proxies.socks if kind == "socks5" else proxies.http
    with made(kac.names) as proxy:
        url = f"{kind}://{LOOPBACK}:{proxy.port}"
        assert all_there(kac.run(f'via = "{url}"', words=EACH))
        assert all_there(kac.run(words=(*EACH, "--via", url)))
        kac.bootstrap, right = f"unknown.kafka.svc:{kac.ports[0]}", kac.bootstrap
        code, said = kac.run(f'via = "{url}"')
        assert code == 1
        assert f"unknown.kafka.svc:{kac.ports[0]}: not reached from the proxy {LOOPBACK}" in said
        kac.bootstrap = right
    with made(kac.names, LOGIN) as proxy:
        url = f"{kind}://{LOOPBACK}:{proxy.port}"
        code, said = kac.run(f'via = "{url}"')
        assert code == 1
        assert f"the proxy {url} asks for a login" in said
        way_in = 'via = {{ url = "{}", username = "ops", password = "{}" }}'
        code, said = kac.run(way_in.format(url, "wrong"))
        assert code == 1
        assert f"the proxy {url} refuses the login of ops" in said
        kac.environ |= {"PROXY_PASSWORD": LOGIN[1]}
        assert all_there(kac.run(way_in.format(url, "${env:PROXY_PASSWORD}"), words=EACH))
    code, said = kac.run(f'via = "{url}"')
    assert code == 1
    assert f"the proxy {url} is not reached: Connection refused" in said


@contextmanager
def namespace(kac: Kac, **world: object) -> Iterator[Path]:
    """Put a fake kubectl on kac's PATH, in whose namespace `kafka` the brokers are pods; yield the file with the state
    of its Kubernetes cluster.
    """
    tools = kac.folder / "bin"
    tools.mkdir()
    program = tools / "kubectl"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{worlds.ROOT}/tests/support/kubectl.py" "$@"\n')
    program.chmod(0o755)
    pods = {f"orders-{node}": LOOPBACK for node in (1, 2, 3)}
    first = {"orders-kafka-bootstrap": LOOPBACK}
    found = {"namespace": "kafka", "context": "prod", "cluster": "orders", "pods": pods, "services": first, **world}
    file = kac.folder / "kube.json"
    file.write_text(json.dumps(found))
    kac.environ |= {"PATH": f"{tools}:{os.environ['PATH']}", "KUBECONFIG": str(file)}
    yield file


def test_kubectl_forwards_to_each_broker_and_ends_with_kac(kac: Kac) -> None:
    with namespace(kac):
        assert all_there(kac.run('via = "kube:kafka"', words=EACH))
        assert all_there(kac.run('via = "kube:prod/kafka/"', words=EACH))
        assert _kubectls(kac) == []
        code, said = kac.run('via = "kube:kafka"', words=("doctor", "-c", "far"))
        assert "3 of 3 brokers reached" in said, (code, said)


def test_a_service_is_the_address_to_ask_first(kac: Kac, cluster: kafka_cluster.KafkaCluster) -> None:
    with namespace(kac):
        port = kac.ports[0]
        options = ("--command-config", str(cluster.client_properties()), "-b", f"orders.kafka.svc:{port}")
        code, said = kac.run(words=("run", "-e", "list brokers", *options, "--via", "kube:kafka/orders"))
        # The certificate does not have the name of the service: the message shows that kac reached the service's port.
        assert code == 1
        assert "certificate is not accepted" in said


@pytest.mark.parametrize(
    ("via", "world", "words"),
    [
        ("kube:kafka", {"pods": {"other-0": LOOPBACK}}, "has no pod and no service of this name (pods: other-0)"),
        ("kube:nosuch", {}, "has no pod and no service of this name (pods: none)"),
        ("kube:kafka", {"refuses": True}, "You must be logged in to the server (Unauthorized)"),
        ("kube:test/kafka/", {}, 'context "test" does not exist'),
        ("kube:kafka", {"pods": {"orders-1": "127.0.0.9"}}, "error forwarding port"),
    ],
)
def test_what_kubectl_says_is_told(kac: Kac, via: str, world: dict[str, object], words: str) -> None:
    with namespace(kac, **world):
        code, said = kac.run(f'via = "{via}"')
        assert code == 1
        assert words in said
        assert _kubectls(kac) == []


def test_a_host_without_kubectl_is_told_so(kac: Kac) -> None:
    empty = kac.folder / "empty"
    empty.mkdir()
    kac.environ |= {"PATH": str(empty)}
    code, said = kac.run('via = "kube:kafka"')
    assert code == 1
    assert "there is no kubectl on this host's PATH" in said


def test_a_secret_of_kubernetes_is_a_password(kac: Kac) -> None:
    coded = base64.b64encode(LOGIN[1].encode()).decode()
    with namespace(kac, secrets={"proxy": {"pass.word": coded}}), proxies.socks(kac.names, LOGIN) as proxy:
        way_in = f'via = {{ url = "socks5://{LOOPBACK}:{proxy.port}", username = "ops", password = "${{kube:%s}}" }}'
        assert all_there(kac.run(way_in % "kafka/proxy/pass.word"))
        code, said = kac.run(way_in % "kafka/nosuch/x")
        assert code == 2
        assert 'secrets "nosuch" not found' in said


async def test_a_forward_that_died_is_made_again_and_all_end(kac: Kac, monkeypatch: pytest.MonkeyPatch) -> None:
    with namespace(kac):
        for name, value in kac.environ.items():
            monkeypatch.setenv(name, value)
        found = way(parse_via("kube:prod/kafka/again"))
        host = NAME.format(1)
        (await found.open(host, kac.ports[0])).close()
        (first,) = _kubectls(kac)
        os.kill(first, signal.SIGKILL)
        while _may_listen(first):
            os.sched_yield()
        (await found.open(host, kac.ports[0])).close()
        assert len(_kubectls(kac)) == 1
        found.close()
        assert _kubectls(kac) == []


def _may_listen(pid: int) -> bool:
    """Return whether a process exists and is not a zombie, so that it may have open sockets. A killed process may
    keep its sockets for a moment after its command line has become empty.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def _kubectls(kac: Kac) -> list[int]:
    """Return the process ids of this test's kubectl processes that forward ports."""
    mark = re.compile(rf"KUBECONFIG={re.escape(str(kac.folder))}/kube.json\0".encode())
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words, environ = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:
            continue
        if b"port-forward" in words and b"kubectl.py" in words and mark.search(environ):
            found.append(int(folder.name))
    return found
