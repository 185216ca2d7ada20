"""Real brokers and SSH hosts in a network namespace that clients reach only through SSH, and an ssh with keys of its
own.

Only one port on loopback leads inside: each connection to it gets its own sshd in the namespace (as inetd runs one);
this SSH host is the "edge". Two more SSH hosts and the brokers are inside, under names that only the namespace
resolves. Making the namespace needs root. It ends with the process that holds it, which ends with this process.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.support.free_ports import LOOPBACK, free_ports
from tests.support.kafka_jars import BrokersUnavailableError
from tests.support.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
SSHD = "/usr/sbin/sshd"
EDGE, MIDDLE, INNER = "edge", "middle", "inner"
_HOSTS = "127.0.0.1 localhost middle inner broker1.inside broker2.inside broker3.inside\n"


class FarNetwork:
    """The namespace with its SSH hosts; `brokers` starts a cluster in it. Use as a context manager.

    `environment`: variables that make kac use this network's ssh. `edge`, `inner`: values for ``--via``: the host that
    can be reached from outside, and a host behind two others. `_write_files` has the other names. Raises
    BrokersUnavailableError without root, sshd or ssh.
    """

    def __init__(self) -> None:
        missing = [name for name in (SSHD, "ssh", "unshare", "nsenter", "ip") if shutil.which(name) is None]
        if os.geteuid() != 0 or missing:
            raise BrokersUnavailableError(f"a network of its own needs root{''.join(f', {name}' for name in missing)}")
        self.folder = Path(tempfile.mkdtemp(prefix="kac-far-"))
        self.edge, self.inner = f"ssh:{EDGE}", f"ssh:{INNER}"
        self._port, self._middle, self._inner, self._nobody = free_ports(4)
        self._holder: subprocess.Popen[str] | None = None
        self._children: list[subprocess.Popen[str]] = []
        self._sessions: list[subprocess.Popen[bytes]] = []
        self._listener = socket.create_server((LOOPBACK, self._port))

    def __enter__(self) -> Self:
        try:
            self._write_files()
            self._hold()
            threading.Thread(target=self._serve, name="edge", daemon=True).start()
            for name, port in ((MIDDLE, self._middle), (INNER, self._inner)):
                self._start(SSHD, "-D", "-e", "-f", self._sshd_config(name, port), log=name)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def environment(self) -> dict[str, str]:
        """The variables of this process, with this network's ssh first on PATH, and without the variable of an
        ssh-agent.
        """
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {name: value for name, value in os.environ.items() if name != "SSH_AUTH_SOCK"} | {"PATH": path}

    def inside(self, *command: str) -> list[str]:
        """Return the command line that runs a command in the namespace."""
        assert self._holder is not None
        return ["nsenter", "-t", str(self._holder.pid), "-n", "-m", f"-w{ROOT}", *command]

    def brokers(self, *options: str) -> dict[str, str]:
        """Start a cluster by `tests.support.kafka_cluster` with these options; it runs until the context manager ends.

        Return `bootstrap`, the addresses by names inside the namespace, and `properties`, the path of the client
        properties of a secure cluster. Raises BrokersUnavailableError with the log if the cluster does not start.
        """
        module = (sys.executable, "-m", "tests.support.kafka_cluster", "--host", "broker{}.inside")
        process = self._start(*module, *options, log="brokers")
        assert process.stdout is not None
        found: dict[str, str] = {}
        for line in process.stdout:
            if "bootstrap" not in found:
                found["bootstrap"] = ",".join(
                    f"broker{node}.inside:{address.rpartition(':')[2].strip()}"
                    for node, address in enumerate(line.split(","), 1)
                )
            elif line.startswith("client properties "):
                found["properties"] = line.removeprefix("client properties ").strip()
            elif line.startswith("folder "):
                return found
        raise BrokersUnavailableError((self.folder / "brokers.log").read_text()[-2000:])

    def server(self, *command: str) -> str:
        """Start a program in the namespace; it runs until the context manager ends. Return the first line of its
        output.
        """
        process = self._start(*command, log="server")
        assert process.stdout is not None
        return process.stdout.readline().strip()

    def await_end_of_sessions(self) -> None:
        """Wait until every connection to the edge has ended, at most `PATIENCE` seconds for each."""
        while self._sessions:
            self._sessions.pop().wait(PATIENCE)

    def end_sessions(self) -> None:
        """Kill the sshd of every connection to the edge, as if that host crashed."""
        while self._sessions:
            os.killpg(self._sessions[-1].pid, signal.SIGKILL)
            self._sessions.pop().wait(PATIENCE)

    def log(self, name: str) -> str:
        """Return the log text of an SSH host. name: its name in the namespace."""
        return (self.folder / f"{name}.log").read_text()

    def refuse(self, *lines: str) -> None:
        """Put these lines at the beginning of the edge's sshd_config for new sessions; no lines restore the
        defaults.
        """
        self._sshd_config(EDGE, self._port, lines)

    def _hold(self) -> None:
        hosts = self.folder / "hosts"
        hosts.write_text(_HOSTS)
        script = f"ip link set lo up && mount --bind {hosts} /etc/hosts && echo ready && read -r _"
        self._holder = subprocess.Popen(
            ["unshare", "-n", "-m", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != "ready\n":
            raise BrokersUnavailableError("no network namespace can be made here")

    def _start(self, *command: str, log: str) -> subprocess.Popen[str]:
        with (self.folder / f"{log}.log").open("w") as errors:
            process = subprocess.Popen(
                self.inside(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._children.append(process)
        return process

    def _serve(self) -> None:
        """Accept connections to the edge's port, and start an sshd in the namespace for each."""
        command = self.inside(SSHD, "-i", "-e", "-f", str(self.folder / f"{EDGE}.conf"))
        with (self.folder / f"{EDGE}.log").open("w") as errors:
            while True:
                try:
                    connection, _ = self._listener.accept()
                except OSError:
                    return
                with connection:
                    self._sessions.append(
                        subprocess.Popen(
                            command,
                            stdin=connection.fileno(),
                            stdout=connection.fileno(),
                            stderr=errors,
                            start_new_session=True,
                        )
                    )

    def _write_files(self) -> None:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd's folder, which its service creates otherwise
        for name in ("host", "client", "stranger"):
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name))
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "correct horse", "-f", str(self.folder / "locked"))
        keys = [(self.folder / f"{name}.pub").read_text() for name in ("client", "locked")]
        (self.folder / "authorized").write_text("".join(keys))
        self._sshd_config(EDGE, self._port)
        key = " ".join((self.folder / "host.pub").read_text().split()[:2])
        names = (f"[{LOOPBACK}]:{self._port}", f"[middle]:{self._middle}", f"[inner]:{self._inner}")
        (self.folder / "known").write_text("".join(f"{name} {key}\n" for name in names))
        (self.folder / "empty").write_text("")
        other = " ".join((self.folder / "stranger.pub").read_text().split()[:2])
        (self.folder / "changed").write_text(f"{names[0]} {other}\n")
        edge = f"HostName {LOOPBACK}\n Port {self._port}\n"
        hosts = {
            EDGE: edge,
            MIDDLE: f"Port {self._middle}\n ProxyJump {EDGE}\n",
            INNER: f"Port {self._inner}\n ProxyJump {MIDDLE}\n",
            "down": f"Port {self._nobody}\n HostName localhost\n ProxyJump {EDGE}\n",
            "unreachable": f"Port {self._inner}\n ProxyJump down\n",
            "nobody": f"HostName {LOOPBACK}\n Port {self._nobody}\n",
            "unknown": f"{edge} UserKnownHostsFile {self.folder / 'empty'}\n",
            "changed": f"{edge} UserKnownHostsFile {self.folder / 'changed'}\n",
            "stranger": f"{edge} IdentityFile {self.folder / 'stranger'}\n",
            "locked": f"{edge} IdentityFile {self.folder / 'locked'}\n",
        }
        common = f"Host * !stranger !locked\n IdentityFile {self.folder / 'client'}\nHost *\n IdentitiesOnly yes\n"
        common += f" UserKnownHostsFile {self.folder / 'known'}\n GlobalKnownHostsFile /dev/null\n User root\n"
        blocks = "".join(f"Host {name}\n {block}" for name, block in hosts.items())
        (self.folder / "config").write_text(blocks + common)
        wrapper = self.folder / "bin" / "ssh"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.folder / "config"} "$@"\n')
        wrapper.chmod(0o755)

    def _sshd_config(self, name: str, port: int, first: Sequence[str] = ()) -> str:
        lines = (
            *first,
            f"Port {port}",
            f"ListenAddress {LOOPBACK}",
            f"HostKey {self.folder / 'host'}",
            f"AuthorizedKeysFile {self.folder / 'authorized'}",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            f"PidFile {self.folder / name}.pid",
            "LogLevel VERBOSE",
        )
        file = self.folder / f"{name}.conf"
        file.write_text("".join(f"{line}\n" for line in lines))
        return str(file)

    def _end(self) -> None:
        self._listener.close()
        self.end_sessions()
        for process in self._children:
            process.terminate()
        for process in self._children:
            process.wait(PATIENCE)
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
