"""Tests of brokers that can be reached only by SSH, with TLS and SCRAM, and under names that only the remote network
resolves.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from console.admin import settings, ways
from console.admin.client import AdminClient
from console.admin.cluster import describe_cluster
from console.admin.errors import NothingListens, SshFailed, Unreachable
from console.admin.ssh import SshWay
from console.contexts import load, resolve
from tests.support import far_network, free_ports, real_clusters, server_properties
from tests.support.kdc import REALM, Kdc, kdc
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal

KRB5 = "com.sun.security.auth.module.Krb5LoginModule"


class Reached:
    """A simulated remote network with a cluster in it, and functions that run kac with an ssh that reaches this
    network.
    """

    def __init__(self, network: far_network.FarNetwork, found: Mapping[str, str]) -> None:
        self.network = network
        self.bootstrap, self.properties = found["bootstrap"], found["properties"]
        self.runtime = network.folder / "run"
        self.runtime.mkdir()

    @property
    def cluster(self) -> list[str]:
        """Return the command-line options for the cluster, without those for SSH."""
        return ["-b", self.bootstrap, "--command-config", self.properties]

    def environment(self, home: Path) -> dict[str, str]:
        """Return the environment variables of a kac with this home directory. Its directory `runtime` has the sockets
        of kac's ssh.
        """
        places = {"HOME": str(home), "XDG_STATE_HOME": str(home), "XDG_RUNTIME_DIR": str(self.runtime)}
        return {**self.network.environment, **places, "PYTHONPATH": str(far_network.ROOT)}

    def kac(self, home: Path, *arguments: str, **environ: str) -> tuple[int, str, str]:
        """Run kac without a terminal; return (exit code, standard output, standard error). environ: further environment
        variables.
        """
        done = subprocess.run(
            [sys.executable, "-m", "console", *arguments],
            env=self.environment(home) | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout, done.stderr

    def terminal(self, home: Path, *arguments: str) -> Terminal:
        """Run kac in a terminal of its own, in which ssh can ask questions."""
        command = ["setsid", "--ctty", "--wait", sys.executable, "-m", "console", *arguments]
        return Terminal(command, cwd=home, environment=self.environment(home), columns=120, rows=40)


@pytest.fixture(scope="module")
def far() -> Iterator[Reached]:
    for network in real_clusters.running(far_network.FarNetwork):
        yield Reached(network, network.brokers("--brokers", "2", "--security", "secure"))


def test_without_ssh_it_is_not_reached(far: Reached, tmp_path: Path) -> None:
    code, _, complaints = far.kac(tmp_path, "run", *far.cluster, "-e", "list brokers")
    assert code == 1
    assert "the host name is not known" in complaints


def test_a_script_changes_a_topic_and_ssh_ends_with_it(far: Reached, tmp_path: Path) -> None:
    script = "create topic by-ssh partitions=2 replication=2 retention.ms=1d; apply --yes; describe topic by-ssh"
    code, out, complaints = far.kac(tmp_path, "run", *far.cluster, "--via", far.network.edge, "-e", script)
    assert (code, complaints) == (0, ""), complaints
    assert "applied" in out
    far.network.await_end_of_sessions()
    assert not list(far.runtime.iterdir())


def test_nouns_configs_the_shell_and_a_context_go_by_ssh(far: Reached, tmp_path: Path) -> None:
    via = ("--via", far.network.edge)
    code, out, complaints = far.kac(tmp_path, *via, "brokers", "--list", *far.cluster, "--output", "json")
    assert (code, complaints) == (0, ""), complaints
    assert "broker2.inside" in out
    code, out, _ = far.kac(tmp_path, *via, "configs", *far.cluster, "--describe", "--broker-defaults")
    assert code == 0
    shell = [sys.executable, "-m", "console", *via, "shell", *far.cluster]
    environment = far.environment(tmp_path)
    done = subprocess.run(
        shell, env=environment, input="list brokers\n", capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert "broker2.inside" in done.stdout, done.stderr
    config = tmp_path / "config.toml"
    config.write_text(
        f'[contexts.far]\nproperties = "{far.properties}"\n"bootstrap.servers" = "{far.bootstrap}"\n'
        f'via = "{far.network.edge}"\n'
    )
    code, out, complaints = far.kac(tmp_path, "run", "-e", "list brokers", KAC_CONFIG=str(config))
    assert (code, complaints) == (0, ""), complaints
    code, out, _ = far.kac(tmp_path, "contexts", KAC_CONFIG=str(config))
    assert "SASL_SSL SCRAM-SHA-256 via ssh:edge" in out


def test_an_open_master_of_the_user_s_is_used_and_left_open(far: Reached, tmp_path: Path) -> None:
    folder = far.network.folder
    (folder / "with-master").write_text(f"Host *\n ControlPath {folder}/m-%C\n{(folder / 'config').read_text()}")
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder / "with-master"} "$@"\n')
    ssh.chmod(0o755)
    path = f"{ssh.parent}{os.pathsep}{os.environ['PATH']}"

    def logins() -> int:
        return far.network.log("edge").count("Accepted publickey")

    def listed() -> None:
        code, out, complaint = far.kac(
            tmp_path, "run", *far.cluster, "--via", far.network.edge, "-e", "list brokers", PATH=path
        )
        assert code == 0, complaint
        assert "broker2.inside" in out

    def control(what: str) -> int:
        return subprocess.run([ssh, "-O", what, "edge"], check=False, capture_output=True, timeout=PATIENCE).returncode

    begun = logins()
    subprocess.run([ssh, "-M", "-N", "-f", "edge"], check=True, stderr=subprocess.DEVNULL, timeout=PATIENCE)
    try:
        listed()
        listed()
        assert control("check") == 0
        assert logins() == begun + 1
    finally:
        assert control("exit") == 0
    listed()
    assert logins() == begun + 2


def test_two_jump_hosts_are_ssh_s_own_matter(far: Reached, tmp_path: Path) -> None:
    before = [far.network.log(name).count("Accepted publickey") for name in ("middle", "inner")]
    code, out, complaints = far.kac(tmp_path, "run", *far.cluster, "--via", far.network.inner, "-e", "list brokers")
    assert (code, complaints) == (0, ""), complaints
    assert "broker2.inside" in out
    assert [far.network.log(name).count("Accepted publickey") for name in ("middle", "inner")] == [
        count + 1 for count in before
    ]


def test_the_doctor_goes_the_way_by_ssh(far: Reached, tmp_path: Path) -> None:
    addresses = f"{far.bootstrap},broker1.inside:9,nosuch.inside:9092"
    options = ("-b", addresses, "--command-config", far.properties, "--via", far.network.edge, "--output", "json")
    code, out, complaints = far.kac(tmp_path, "doctor", *options)
    assert code == 1, complaints
    seen = {each["name"]: each for each in json.loads(out)["checks"]}
    assert "logged in" in seen["via ssh:edge"]["found"]
    first = far.bootstrap.split(",")[0]
    assert seen[f"TCP {first}"]["found"].startswith("by ssh:edge: ")
    assert "trusted" in seen[f"TLS {first}"]["found"]
    assert "nothing listens there (connection refused from edge" in seen["TCP broker1.inside:9"]["found"]
    assert "not reached from edge, by ssh: " in seen["TCP nosuch.inside:9092"]["found"]
    assert seen["advertised listeners"]["found"] == "2 of 2 brokers reached"
    assert not [name for name in seen if name.startswith("name ")]


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("nobody", r"SSH_FAILED: ssh to nobody: 127\.0\.0\.1:\d+: Connection refused\. Check the address"),
        ("no-such.invalid", r"SSH_FAILED: ssh to no-such\.invalid: no-such\.invalid: .+ Check its spelling"),
        ("unknown", r"SSH_REFUSED: ssh to unknown: the key of this host is not known here\. Compare .*ssh unknown"),
        ("changed", r"SSH_REFUSED: ssh to changed: the key of this host is not the one that is known"),
        ("stranger", r"SSH_REFUSED: ssh to stranger: root@127\.0\.0\.1 refused the login \(publickey\)"),
        ("locked", r"SSH_REFUSED: ssh to locked: root@127\.0\.0\.1 refused the login \(publickey\).*ssh-add"),
        ("unreachable", r"SSH_FAILED: .*a jump host does not connect to the next host: .*Connection refused"),
        ("someone@edge:1", r"SSH_FAILED: ssh to someone@edge:1: 127\.0\.0\.1:1: Connection refused"),
    ],
)
def test_what_fails_on_the_way_is_one_line(far: Reached, tmp_path: Path, host: str, message: str) -> None:
    code, _, complaints = far.kac(tmp_path, "run", *far.cluster, "--via", f"ssh:{host}", "-e", "list brokers")
    assert code == 1
    assert complaints.count("\n") == 1
    assert re.search(message, complaints), complaints


def test_without_an_ssh_it_says_so(far: Reached, tmp_path: Path) -> None:
    code, _, complaints = far.kac(tmp_path, "run", *far.cluster, "--via", "ssh:edge", "-e", "list brokers", PATH="/no")
    assert code == 1
    assert "SSH_FAILED: ssh to edge: there is no ssh on this host's PATH. Install OpenSSH's client" in complaints


def test_a_host_that_forwards_to_some_addresses_only(far: Reached, tmp_path: Path) -> None:
    first, second = far.bootstrap.split(",")
    far.network.refuse(f"PermitOpen {first}")
    try:
        options = ("--command-config", far.properties, "--via", far.network.edge)
        code, _, complaints = far.kac(tmp_path, "run", "-b", second, *options, "-e", "list brokers")
        assert code == 1
        assert f"SSH_FORWARD_REFUSED: {second}: edge forwards nothing there. Its sshd has to allow" in complaints
        code, _, _ = far.kac(tmp_path, "run", "-b", first, *options, "-e", "list brokers")
        assert code == 0, "one broker is reached"
    finally:
        far.network.refuse()


@pytest.fixture(scope="module")
def realm() -> Iterator[Kdc]:
    """Provide a Kerberos KDC that only this side of the SSH connection reaches, while only the remote side reaches the
    brokers.
    """
    with kdc() as running_realm:
        running_realm.add("kafka/broker1.inside")
        running_realm.add("alice")
        yield running_realm


@pytest.fixture(scope="module")
def kerberos(far: Reached, realm: Kdc) -> Mapping[str, str]:
    """Start another broker in the remote network, and provide its addresses and files. It accepts Kerberos tickets for
    the name that it advertises, and needs no KDC.
    """
    keytab, name = realm.keytab("kafka/broker1.inside"), f"kafka/broker1.inside@{REALM}"
    login = f'{KRB5} required useKeyTab=true storeKey=true isInitiator=false keyTab="{keytab}" principal="{name}";'
    properties = {
        "sasl.enabled.mechanisms": ",".join((*server_properties.SASL_MECHANISMS, "GSSAPI")),
        "listener.name.sasl_ssl.gssapi.sasl.jaas.config": login,
        "sasl.kerberos.service.name": "kafka",
    }
    given = [option for name, value in properties.items() for option in ("--property", f"{name}={value}")]
    java = f"--java-option=-Djava.security.krb5.conf={realm.config}"
    return far.network.brokers("--brokers", "1", "--security", "secure", java, *given)


@pytest.mark.parametrize("canonical", [False, True], ids=["names-as-they-are", "names-looked-up"])
def test_kerberos_by_ssh_is_for_the_name_that_the_broker_advertises(
    far: Reached, realm: Kdc, kerberos: Mapping[str, str], tmp_path: Path, *, canonical: bool
) -> None:
    """kac requests the ticket on this host, for the name that the broker advertises and not for the address of the
    tunnel. canonical: whether krb5.conf has Kerberos' default, by which Kerberos would look up the name, which
    this host can't resolve.
    """
    trusted = [line for line in Path(kerberos["properties"]).read_text().splitlines() if line.startswith("ssl.trust")]
    keys = f'useKeyTab=true keyTab="{realm.keytab("alice")}" principal="alice@{REALM}"'
    file = tmp_path / "client.properties"
    file.touch(mode=0o600)
    lines = ("security.protocol=SASL_SSL", "sasl.mechanism=GSSAPI", "sasl.kerberos.service.name=kafka")
    file.write_text("\n".join((*lines, *trusted, f"sasl.jaas.config={KRB5} required {keys};", "")))
    config = tmp_path / "krb5.conf"
    text = realm.config.read_text()
    config.write_text(text.replace("hostname = false", "hostname = true").replace("rdns = false", "rdns = true"))
    options = ("-b", kerberos["bootstrap"], "--command-config", str(file))
    environ = {"KRB5_CONFIG": str(config if canonical else realm.config), "KRB5CCNAME": f"FILE:{tmp_path / 'none'}"}
    code, out, complaints = far.kac(
        tmp_path, "run", *options, "--via", far.network.edge, "-e", "list brokers", **environ
    )
    # alice may not see any topic: the numbers of leaders are unknown, and the exit code says so.
    assert (code, complaints) == (1, ""), (complaints, out)
    assert "! topics: NOT_VISIBLE" in out
    assert "broker1.inside" in out
    granted = (realm.folder / "kdc.log").read_text()
    assert f"alice@{REALM} for kafka/broker1.inside@{REALM}" in granted
    assert f"kafka/{free_ports.LOOPBACK}" not in granted


def test_a_passphrase_is_asked_for_on_the_terminal(far: Reached, tmp_path: Path) -> None:
    options = (*far.cluster, "--via", "ssh:locked", "-e", "list brokers")
    with far.terminal(tmp_path, "run", *options) as terminal:
        terminal.wait_for("Enter passphrase for key")
        terminal.send("correct horse\n")
        terminal.wait_for("broker2.inside")
        assert terminal.wait_for_end() == 0
        assert "correct horse" not in terminal.text
    with far.terminal(tmp_path, "run", *options) as terminal:
        terminal.wait_for("Enter passphrase for key")
        terminal.send("\x03")
        assert terminal.wait_for_end() == 130


def test_the_screen_opens_by_ssh_and_lives_on_when_ssh_dies(far: Reached, tmp_path: Path) -> None:
    with far.terminal(tmp_path, *far.cluster, "--via", far.network.edge) as terminal:
        terminal.wait_for("kafka 4.3")
        terminal.send("1")
        terminal.wait_for("broker2.inside")
        far.network.end_sessions()
        terminal.send(":create topic after-death partitions=1 replication=1\r")
        terminal.wait_for("staged: topic after-death")
        terminal.send(":apply\r")
        terminal.wait_for("checks the plan, and sends it")
        terminal.send("y")
        terminal.wait_for("applied")
    code, out, _ = far.kac(tmp_path, "run", *far.cluster, "--via", far.network.edge, "-e", "list topics after*")
    assert code == 0
    assert "after-death" in out


async def test_a_connection_after_ssh_died_starts_it_again(
    far: Reached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in far.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    found = resolve(
        load(os.environ, tmp_path), bootstrap=far.bootstrap, command_config=Path(far.properties), via=far.network.edge
    )
    assert found.settings.via == settings.SshHost("edge")
    with AdminClient(found.settings) as client:
        assert len((await client.run(describe_cluster)).brokers) == 2
        far.network.end_sessions()
        assert len((await client.run(describe_cluster)).brokers) == 2
    port = int(far.bootstrap.rpartition(":")[2])
    for address, kind in ((("broker1.inside", 9), NothingListens), (("no such", port), Unreachable)):
        with pytest.raises(kind):
            await ways.way(settings.SshHost("edge")).open(*address)
    ways.way(settings.SshHost("edge")).close()


async def test_a_refused_login_is_not_repeated(far: Reached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in far.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    refused = SshWay(settings.SshHost("stranger"))
    errors = []
    for _ in range(3):
        with pytest.raises(SshFailed) as caught:
            await refused.open("broker1.inside", 9092)
        errors.append(caught.value.failure)
    assert len(set(errors)) == 1
    far.network.await_end_of_sessions()
    assert sum("Failed publickey" in line for line in far.network.log("edge").splitlines()[-12:]) <= 1
    refused.close()


def test_folders_that_a_killed_kac_left_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory() as place:
        long_ago = time.time() - 7200
        old, fresh, alive, other = (Path(place, name) for name in ("kac-ssh-o", "kac-ssh-f", "kac-ssh-a", "other"))
        for folder in (old, fresh, alive, other):
            folder.mkdir()
            (folder / "log").touch()
        (alive / "s").touch()
        for folder in (old, alive, other):
            for path in (folder / "log", folder):
                os.utime(path, (long_ago, long_ago))
        monkeypatch.setenv("XDG_RUNTIME_DIR", place)
        monkeypatch.setenv("PATH", "/no")
        refused = SshWay(settings.SshHost("edge"))
        with pytest.raises(SshFailed, match="there is no ssh"):
            refused.start(ask=False)
        refused.close()
        assert {each.name for each in Path(place).iterdir()} == {"kac-ssh-f", "kac-ssh-a", "other"}


@pytest.mark.parametrize("port", [-2, 0, 65536])
async def test_a_cluster_names_no_socket_of_the_ssh_host(port: int) -> None:
    """If a broker advertises the port -2, which ssh takes as the path of a Unix socket (PORT_STREAMLOCAL), kac does not
    connect to that socket.
    """
    with pytest.raises(Unreachable, match="is not an address"):
        await SshWay(settings.SshHost("edge")).open("/run/docker.sock", port)


@pytest.mark.slow
@pytest.mark.takes(35)
def test_ssh_ends_also_where_kac_was_killed(far: Reached, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "console", *far.cluster, "--via", far.network.edge]
    of_others = set(far.runtime.iterdir())  # ssh processes of an earlier kac may end a moment after it
    with Terminal(command, cwd=tmp_path, environment=far.environment(tmp_path)) as terminal:
        terminal.wait_for("kafka 4.3")
        (folder,) = set(far.runtime.iterdir()) - of_others
        assert folder.stat().st_mode & 0o077 == 0
        assert (folder / "s").stat().st_mode & 0o077 == 0
        terminal.process.kill()
        far.network.await_end_of_sessions()
    assert not (folder / "s").exists()
    shutil.rmtree(folder)


REGISTRY = """
import threading
from tests.support.registry_server import registry

with registry() as running:
    print(running.port, flush=True)
    threading.Event().wait()
"""


def test_the_schema_registry_is_reached_by_ssh_as_the_brokers_are(far: Reached, tmp_path: Path) -> None:
    """kac reaches a schema registry by SSH under a name that only the remote network resolves; without SSH it can't be
    reached from this host.
    """
    port = far.network.server(sys.executable, "-c", REGISTRY)
    file = tmp_path / "config.toml"
    file.write_text(
        f'[contexts.far]\nproperties = "{far.properties}"\n"bootstrap.servers" = "{far.bootstrap}"\n'
        f'via = "{far.network.edge}"\n[contexts.far.schemas]\nurl = "http://broker1.inside:{port}"\n'
    )
    file.chmod(0o600)

    def found(*words: str) -> str:
        _, out, _ = far.kac(tmp_path, "doctor", "-c", "far", "--output", "json", *words, KAC_CONFIG=str(file))
        return next(str(each["found"]) for each in json.loads(out)["checks"] if each["name"] == "schema registry")

    assert found().startswith(f"http://broker1.inside:{port}: AVRO, JSON, PROTOBUF, in ")
