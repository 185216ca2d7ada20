"""A test of a whole session of an operator in tmux: the one-file kac in an empty root directory, a cluster with TLS and
SCRAM behind a jump host, and a config that is changed and reverted.
"""

import os
import re
import shlex
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.test_bundle import bundle, inside, root, run
from tests.support.far_network import FarNetwork
from tests.support.patience import PATIENCE
from tests.support.real_clusters import running
from tests.support.terminal import Terminal

__all__ = ["bundle", "root"]  # fixtures

pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("bundle"),
    pytest.mark.timeout(3600),
    pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed, and the launcher is compiled with it"),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]
ENVIRONMENT = {"HOME": "/root", "PATH": "/usr/bin:/usr/sbin:/bin:/sbin", "XDG_RUNTIME_DIR": "/run", "LANG": "C.UTF-8"}


class Bastion:
    """An otherwise empty root directory with an OpenSSH client and its keys, and the options with which kac reaches the
    cluster from it.
    """

    def __init__(self, root: Path, network: FarNetwork) -> None:
        self.root = root
        found = network.brokers("--brokers", "3", "--security", "secure")
        file = Path(found["properties"])
        trust = re.search("ssl.truststore.location=(.*)", file.read_text())
        assert trust is not None
        assert "SCRAM" in file.read_text()
        assert "SASL_SSL" in file.read_text()
        ssh = Path(shutil.which("ssh") or "")
        libraries = re.findall(r"(/\S+) \(0x", subprocess.check_output(["ldd", ssh], text=True))
        for path in (file, Path(trust[1]), ssh, *map(Path, libraries), *network.folder.glob("*")):
            if path.is_file():
                target = root / path.relative_to("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
        (root / "etc").mkdir(exist_ok=True)
        (root / "etc/passwd").write_text("root:x:0:0::/root:/nothing\n")
        (root / "root/.ssh").mkdir(parents=True)
        shutil.copy(network.folder / "config", root / "root/.ssh/config")
        (root / "run").mkdir(mode=0o700, exist_ok=True)
        self.cluster = ["-b", found["bootstrap"], "--command-config", str(file)]
        self.options = [*self.cluster, "--via", network.edge]

    def described(self) -> str:
        """Run kac once more, and return its description of the topic."""
        done = run(
            inside(self.root, "/kac", "run", *self.options, "-e", "describe topic walked retention.ms"), **ENVIRONMENT
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def bastion(root: Path) -> Iterator[Bastion]:
    for network in running(FarNetwork):
        yield Bastion(root, network)


def test_a_config_is_changed_and_taken_back_in_tmux(bastion: Bastion, tmp_path: Path) -> None:
    refused = run(inside(bastion.root, "/kac", "run", *bastion.cluster, "-e", "list brokers"), **ENVIRONMENT)
    assert refused.returncode != 0  # the jump host is the only way

    server = ["tmux", "-L", f"kac-{uuid.uuid4().hex[:8]}", "-f", "/dev/null"]
    variables = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
    kac = ["env", *variables, *inside(bastion.root, "/kac", *bastion.options)]
    command = [*server, "new-session", "-x", "110", "-y", "32", shlex.join(kac)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMUX_TMPDIR": str(tmp_path)}

    def captured() -> str:
        shown = subprocess.check_output([*server, "capture-pane", "-p"], env=environment, text=True, timeout=PATIENCE)
        print(shown)
        return shown

    def apply(terminal: Terminal, applied: str) -> None:
        terminal.send(":apply\r")
        terminal.wait_for("checks the plan, and sends it")
        captured()
        terminal.send("y")
        terminal.wait_for(applied)
        assert applied in captured()

    try:
        with Terminal(command, cwd=tmp_path, environment=environment, columns=110, rows=32) as terminal:
            terminal.wait_for("kafka 4.3")
            captured()
            terminal.send(":create topic walked partitions=3 replication=3\r")
            terminal.wait_for("staged: topic walked")
            apply(terminal, "change 1")
            before = bastion.described()
            terminal.send(":set topic walked retention.ms=1d\r")
            terminal.wait_for("staged: topic walked retention.ms")
            apply(terminal, "change 2")
            assert bastion.described() != before
            terminal.send(":revert 2\r")
            terminal.wait_for("staged: topic walked retention.ms", times=2)
            apply(terminal, "change 3")
            assert bastion.described() == before
            terminal.send("q")
            terminal.wait_for_end()
    finally:
        subprocess.run([*server, "kill-server"], env=environment, check=False, capture_output=True, timeout=PATIENCE)
