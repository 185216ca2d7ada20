"""Tests of a drain and a replacement on the screen, in a real terminal with four real brokers, from the alarm until the
cluster is healthy. The console is killed during each of them.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from console.admin import topics
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from tests.broker.test_operation_deaths import fill
from tests.scenarios.test_operations import TOPIC, kac_on, nothing_is_left, replicas
from tests.support.forked_runs import ROOT
from tests.support.kafka_cluster import KafkaCluster
from tests.support.tmux import Tmux, has_tmux

THROTTLE = "2MB/s"


class Screens:
    """The console in a terminal. Each screen that a test waited for is appended to a file."""

    def __init__(self, tmux: Tmux, bootstrap: str, kept: Path) -> None:
        self.tmux = tmux
        self._command = (sys.executable, "-m", "console", "-b", bootstrap)
        self._kept = kept
        self._pid = 0

    def opened(self) -> None:
        self._pid = self.tmux.run(self._command)
        self.tmux.shows("Brok")

    def killed(self) -> None:
        self.tmux.kill(self._pid)

    def shows(self, text: str, never: str = "") -> None:
        """Wait until the screen shows a text, and append this screen to the file. Raises AssertionError if a screen
        before it shows the text `never`; "" for no such text.
        """
        screen = self.tmux.shows(text, never)
        with self._kept.open("a", encoding="utf-8") as file:
            file.write(f"--- {text}\n{screen}\n")

    def agrees(self, what: str) -> None:
        self.shows(f": {what}?")
        self.tmux.press("y")
        self.shows("running")


@pytest.mark.long
@pytest.mark.skipif(not has_tmux(), reason="tmux is not installed")
async def test_a_drain_and_a_replacement_from_the_screen(
    racked_cluster: KafkaCluster, own_home: Path, tmp_path: Path
) -> None:
    """The console completes a drain and a replacement, although it is killed during each.
    tests/tui/test_console_operations.py has a shorter form on an embedded cluster. The environment variable SCREENS
    names the file for the screens.
    """
    kept = Path(os.environ.get("SCREENS", tmp_path / "screens"))
    with (
        AdminClient(ConnectionSettings(bootstrap=racked_cluster.addresses)) as client,
        Tmux(tmp_path, {"HOME": str(own_home), "PYTHONPATH": str(ROOT)}) as tmux,
    ):
        await fill(racked_cluster, client)
        screens = Screens(tmux, racked_cluster.bootstrap, kept)
        await asyncio.to_thread(drained, racked_cluster, screens)
        assert all(3 not in each for each in await replicas(client))
        await asyncio.to_thread(racked_cluster.restart, 3)
        await asyncio.to_thread(replaced, screens)
        assert all(4 not in each for each in await replicas(client))
        found = (await client.run(topics.describe_topics, [TOPIC])).topics[TOPIC]
        assert [each.leader for each in found.partitions] == [each.replicas[0] for each in found.partitions]
        async with kac_on(racked_cluster, own_home, tmp_path) as kac:
            await nothing_is_left(kac, racked_cluster, client, tmp_path)


def drained(cluster: KafkaCluster, screens: Screens) -> None:
    """Kill broker 3, and drain it as the console proposes. Kill the console meanwhile; a new one continues the
    drain.
    """
    screens.opened()
    screens.shows("healthy: ")
    cluster.kill(3)
    screens.shows("broker 3 is down")
    screens.tmux.press("F")
    screens.shows(": drain broker 3")
    screens.tmux.type(f" throttle {THROTTLE}")
    screens.agrees("drain 3")
    screens.killed()
    screens.opened()
    screens.shows("operation 1 (drain 3) is open: W goes on with it here")
    screens.tmux.press("W")
    screens.shows("op 1 running")
    screens.tmux.press("w")
    screens.shows("this console")
    screens.shows("operation 1 (drain 3) is done")


def replaced(screens: Screens) -> None:
    """In the console that is still open, replace broker 4 by broker 3, which is up again without replicas. Kill the
    console meanwhile; a new one continues.
    """
    screens.tmux.press(".")
    screens.tmux.press(":")
    screens.tmux.type(f"replace broker 4 by 3 throttle {THROTTLE}")
    screens.agrees("replace 4 by 3")
    screens.killed()
    screens.opened()
    screens.shows("(replace 4 by 3) is open: W goes on with it here")
    screens.tmux.press("W")
    screens.shows("(replace 4 by 3) is done", never="a throttle is left over")
    screens.tmux.press(".")
    screens.shows("healthy: ", never="a throttle is left over")
