"""Tests of the reads that begin before the console is drawn: nothing is sent before they begin, and each result is used
once.
"""

import os
import socket
import sys
from pathlib import Path

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from console.tui.prefetch import SessionFactory
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]


def _started(context: Context) -> AdminClient:
    client = AdminClient(context.settings)
    client.start()
    return client


async def test_they_begin_when_they_are_told_to() -> None:
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        host, port = cluster.bootstrap.split(",")[0].rsplit(":", 1)
        context = Context("test", "test", ConnectionSettings(((host, int(port)),)))
        sessions = SessionFactory(_started)
        try:
            session = sessions.session(context)
            assert not await sessions.arrived(PATIENCE)  # no read to wait for
            sessions.begin()
            assert await sessions.arrived(PATIENCE)
            await session.read_cluster()
            await session.read_topics()
            assert {"cluster", "topics"} <= session.snapshot.read_at.keys()
            assert not await sessions.arrived(PATIENCE)  # both results were used
        finally:
            sessions.close()


def test_the_first_frame_waits_for_no_broker(tmp_path: Path) -> None:
    # The listener never answers: the screen is drawn, and says that it connects.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE)
        host, port = silent.getsockname()
        command = [sys.executable, "-m", "console", "-b", f"{host}:{port}"]
        environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        with Terminal(command, cwd=tmp_path, environment=environment, columns=120, rows=40) as terminal:
            terminal.wait_for("connecting", PATIENCE)
            terminal.wait_for("1 Brokers", PATIENCE)
            terminal.wait_for("looking at the cluster", PATIENCE)
            silent.accept()[0].close()
