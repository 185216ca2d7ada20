"""Tests of keys that terminals and shells reserve: Ctrl-Z, Ctrl-S, and Ctrl-Q after Ctrl-S."""

import asyncio
import sys
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.cli.demo import context_of
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Delay, Fault, Meanwhile
from console.embedded.spec import ClusterSpec, clusters_of
from console.session.session import Session
from console.tui.app import Console
from screenshots.take import NO_TICKS, seen
from tests.support import worlds
from tests.support.patience import PATIENCE
from tests.support.tmux import Tmux, has_tmux

NAMED = {" ": "space", ".": "full_stop", "=": "equals_sign"}
ROOT = Path(__file__).parents[2]


cluster = worlds.cluster(clusters_of("quiet", ClusterSpec(brokers=1))["quiet"], scope="module")


@pytest.mark.parametrize("before", [(), ("question_mark",), ("colon",)], ids=["pane", "help", "bar"])
async def test_ctrl_q_right_behind_ctrl_s_does_not_leave(cluster: ThreadedCluster, before: tuple[str, ...]) -> None:
    context = context_of("quiet", cluster.bootstrap, 1)
    with AdminClient(context.settings) as client:
        app = Console(Session(client, context), ConsoleSettings(refresh=NO_TICKS), contexts=Given([context]))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("2", *before, "ctrl+s", "ctrl+q")
            await pilot.pause()
            assert app.is_running
            assert not app._exit
            await pilot.press("escape")
            await seen(app, "checkout.orders", pilot.pause)
            await pilot.press("ctrl+s", "j", "ctrl+q")
            await pilot.pause()
            assert app._exit


async def test_ctrl_z_waits_for_a_change_that_is_on_its_way(cluster: ThreadedCluster) -> None:
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()
    api = "incremental_alter_configs"
    notice = Fault(Meanwhile(lambda _: loop.call_soon_threadsafe(arrived.set)), api=api, nth=2)
    late = Fault(Delay(8.0), api=api, nth=2)
    cluster.call(lambda c: (c.faults.add(notice), c.faults.add(late)))
    context = context_of("quiet", cluster.bootstrap, 1)
    with AdminClient(context.settings) as client:
        app = Console(Session(client, context), ConsoleSettings(refresh=NO_TICKS), contexts=Given([context]))
        async with app.run_test(size=(80, 24)) as pilot:
            typed = "set topic checkout.orders segment.ms=1d"
            await pilot.press("colon", *(NAMED.get(each, each) for each in typed), "enter", "7")
            await seen(app, "1 edit on 1 entity", pilot.pause)
            await pilot.press("A", "y")
            async with asyncio.timeout(PATIENCE):
                await arrived.wait()
            await asyncio.sleep(0.2)  # longer than the pause after which a key no longer counts as typed ahead
            await pilot.press("ctrl+z")
            await seen(app, "a change is on its way: Ctrl-Z once that is over", pilot.pause)
            await seen(app, "applied", pilot.pause)
    cluster.call(lambda c: c.faults.clear())


@pytest.mark.skipif(not has_tmux(), reason="tmux is not installed")
def test_ctrl_z_gives_the_shell_its_turn_and_fg_draws_all_again(
    cluster: ThreadedCluster, tmp_path: Path, own_home: Path
) -> None:
    """If make runs the console and waits for it, Ctrl-Z suspends both, and after `fg` the console draws the whole
    screen.
    """
    (tmp_path / "Makefile").write_text(f"look:\n\t@{sys.executable} -m console -b {cluster.bootstrap}\n")
    environ = {"HOME": str(own_home), "PYTHONPATH": str(ROOT), "PS1": "> "}
    with Tmux(tmp_path, environ) as tmux:
        tmux.run(["bash", "--norc", "-i"])
        tmux.type(f"make -C {tmp_path} look")
        tmux.shows("watched since")
        tmux.press("2")
        tmux.shows("checkout.orders")
        tmux.press("C-z")
        tmux.shows("Stopped")
        tmux.type("echo in the shell; fg")
        back = tmux.shows("checkout.orders")
        assert "in the shell" not in back
        tmux.press("q")
        tmux.shows("in the shell")
