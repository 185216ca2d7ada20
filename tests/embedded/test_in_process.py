"""A cluster beside: in a thread, and in a process that ends with its starter."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from console.embedded.brokers import run_in_thread
from console.embedded.cluster_command import ClusterProcessFailed, add_options, argv_of, kept, run_in_process
from console.embedded.spec import ClusterSpec
from tests.support.children import Child
from tests.support.patience import PATIENCE


def listens(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), 5).close()
    except OSError:
        return False
    return True


def test_a_process_serves_until_the_end_of_the_block() -> None:
    with run_in_process(["--scenario", "large", "--brokers", "2", "--connect"]) as reached:
        addresses = [*reached.bootstrap.split(","), *(url.removeprefix("http://") for url in reached.connect_urls)]
        assert [listens(address) for address in addresses] == [True] * 4
    assert [listens(address) for address in addresses] == [False] * 4


def test_what_the_process_says_is_told() -> None:
    with pytest.raises(ClusterProcessFailed, match="1 to 100 brokers"), run_in_process(["--brokers", "0"]):
        pass


def test_a_thread_serves_until_the_end_of_the_block() -> None:
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        addresses = cluster.bootstrap.split(",")
        assert all(map(listens, addresses))
        assert cluster.call(lambda running: len(running.state.brokers)) == 3
    assert not any(map(listens, addresses))


def test_what_prevents_the_start_is_raised() -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        port = int(cluster.bootstrap.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"), run_in_thread(ClusterSpec(brokers=1, port=port)):
            pass


STARTER = """
from console.embedded.cluster_command import run_in_process
with run_in_process(["--brokers", "1"]) as reached:
    print(reached.bootstrap, flush=True)
    input()
"""


def test_it_ends_when_its_starter_is_killed() -> None:
    starter = Child([sys.executable, "-c", STARTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    address = starter.stdout.readline().strip()
    assert listens(address)
    os.kill(starter.pid, signal.SIGKILL)
    starter.communicate()
    until = time.monotonic() + PATIENCE
    while listens(address):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_garbage_is_looked_for_again_once_a_cluster_is_made() -> None:
    def fail() -> None:
        with kept():
            assert not gc.isenabled()
            raise OSError("in use")

    with pytest.raises(OSError, match="in use"):
        fail()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()


def test_a_relative_file_of_the_state_is_that_of_the_folder_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser()
    add_options(parser)
    with run_in_process(argv_of(parser.parse_args(["--brokers", "1", "--state", "kept.json"]))):
        pass
    assert (tmp_path / "kept.json").is_file()


def test_a_cluster_that_may_open_too_few_files_says_what_it_needs() -> None:
    code = (
        "import asyncio, resource\n"
        "from console.embedded.brokers import EmbeddedCluster\n"
        "from console.embedded.spec import ClusterSpec\n"
        "async def main():\n"
        "    cluster = EmbeddedCluster(ClusterSpec(brokers=60))\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
        "    await cluster.start()\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert "60 brokers need a file each, and one for each connection: ulimit -n is 40" in done.stderr
