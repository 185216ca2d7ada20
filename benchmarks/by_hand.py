"""Compares kac's own code for multiplexed SSH connections with the ssh program, which could do the same.

``python -m benchmarks.by_hand [--connections 100] [--rounds 5]``: opens connections through an SSH host on loopback: as
channels of one ssh process by its multiplexing protocol, and with a process of ``ssh -W`` for each over the same ssh.
CONTRIBUTING draws the conclusions from the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import load, report
from console.admin.settings import Address, SshHost
from console.admin.ssh import SshWay
from tests.support.free_ports import LOOPBACK, free_ports

ROOT = Path(__file__).resolve().parents[1]
EDGE = SshHost("edge")
AT_ONCE = 64
"""Number of brokers that the client connects to at the same time."""


@contextmanager
def ssh_host() -> Iterator[None]:
    """Run an sshd on loopback until the end of the block; ``ssh edge`` of this process connects to it."""
    folder, (port,) = Path(tempfile.mkdtemp(prefix="kac-edge-")), free_ports(1)
    for name in ("host", "client"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    server = f"Port {port}\nListenAddress {LOOPBACK}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/client.pub\n"
    (folder / "sshd").write_text(server + "StrictModes no\nUsePAM no\n")
    key = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known").write_text(f"[{LOOPBACK}]:{port} {key}\n")
    client = f"Host edge\nHostName {LOOPBACK}\nPort {port}\nIdentityFile {folder}/client\nIdentitiesOnly yes\n"
    (folder / "config").write_text(f"{client}UserKnownHostsFile {folder}/known\nGlobalKnownHostsFile /dev/null\n")
    wrapper = folder / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
    wrapper.chmod(0o755)
    os.environ["PATH"] = f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # on other machines, a service creates sshd's folder
    command = [shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd")]
    sshd = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert sshd.stderr is not None
    while "listening" not in sshd.stderr.readline() and sshd.poll() is None:
        pass
    # Read everything that sshd writes, because a full pipe would block it.
    threading.Thread(target=sshd.stderr.read, daemon=True).start()
    try:
        yield
    finally:
        sshd.terminate()
        sshd.wait()
        shutil.rmtree(folder)


@contextmanager
def listener() -> Iterator[Address]:
    """Accept connections on loopback, and keep them open until the end of the block. Yield the address."""
    taken = []

    def take() -> None:
        while True:
            try:
                taken.append(server.accept()[0])
            except OSError:
                return

    with socket.create_server((LOOPBACK, 0), backlog=512) as server:
        threading.Thread(target=take, daemon=True).start()
        yield server.getsockname()
        server.shutdown(socket.SHUT_RDWR)
    for connection in taken:
        connection.close()


def processor() -> float:
    """Return the CPU seconds of this process and of ended children that it has waited for."""
    both = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(each.ru_utime + each.ru_stime for each in both)


async def opened(count: int, open_one: Callable[[], Awaitable[socket.socket]]) -> tuple[float, list[socket.socket]]:
    """Open `count` connections. Return the seconds that it took, and the connections."""
    began, sockets = time.perf_counter(), []
    for first in range(0, count, AT_ONCE):
        sockets += await asyncio.gather(*(open_one() for _ in range(min(AT_ONCE, count - first))))
    return time.perf_counter() - began, sockets


async def by_channels(way: SshWay, address: Address, count: int) -> tuple[float, float, float]:
    """Open `count` connections as kac does. Return seconds, CPU seconds, and 0.0 MiB of memory, because no connection
    has a process of its own.
    """
    began = processor()
    seconds, sockets = await opened(count, lambda: way.open(*address))
    for each in sockets:
        each.close()
    return seconds, processor() - began, 0.0


async def by_processes(way: SshWay, address: Address, count: int) -> tuple[float, float, float]:
    """Open `count` connections with a process ``ssh -W`` for each, over the same ssh. Return seconds, CPU seconds, and
    the memory of all these processes in MiB.
    """
    processes: list[asyncio.subprocess.Process] = []
    control = str(way._socket())
    command = ("ssh", "-v", "-S", control, "-o", "ControlMaster=no", "-W", f"{address[0]}:{address[1]}", "edge")

    async def open_one() -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=asyncio.subprocess.PIPE
            )
        processes.append(process)
        assert process.stderr is not None
        while line := await process.stderr.readline():
            if b"master session id" in line:
                return ours
        raise OSError("not opened")

    began = processor()
    seconds, sockets = await opened(count, open_one)
    mebibytes = sum(proportional(process.pid) for process in processes)
    for each in sockets:
        each.close()
    for process in processes:
        process.terminate()
        await process.wait()
    return seconds, processor() - began, mebibytes


def proportional(pid: int) -> float:
    """Return a process' memory in MiB, with its proportional part of memory that it shares with others (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def ssh(count: int, rounds: int) -> None:
    """Report the seconds, CPU seconds and MiB of one and of `count` connections through an SSH host, by channels of one
    ssh and by a process ``ssh -W`` for each connection.
    """
    ways = {"channels of one ssh": by_channels, "a process of ssh -W each": by_processes}
    with ssh_host(), listener() as address:
        way = SshWay(EDGE)
        way.start(ask=False)
        try:
            for connections in (1, count):
                for name, measure in ways.items():
                    runs = [asyncio.run(measure(way, address, connections)) for _ in range(rounds)]
                    seconds, cpu, mebibytes = (round(statistics.median(each), 4) for each in zip(*runs, strict=True))
                    report(f"{connections} connections by SSH: {name}", s=seconds, cpu_s=cpu, mib=mebibytes, **load())
        finally:
            way.close()


def main() -> None:
    """Open the connections in both ways, as the options say, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ssh(options.connections, options.rounds)


if __name__ == "__main__":
    main()
