"""Tests of the pane of connectors: states, tasks, stack traces, configs, offsets, workers, plugins, loggers, and a
Connect cluster that does not answer.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster
from console.model.connect import ConnectorTarget
from console.session.session import Session
from console.tui.app import Console
from tests.support import worlds
from tests.support.connect_cluster import ask
from tests.support.running_connectors import FAILED, SECRET, SPEC, connect_settings, with_connectors
from tests.tui.console_app import Driven

OTHER = "another-sesame-0815"
SIZES = [(80, 24), (140, 40)]
running = worlds.cluster(SPEC, after=with_connectors, scope="module")


@asynccontextmanager
async def opened(
    settings: ConnectionSettings, size: tuple[int, int] = (140, 40), **context: bool
) -> AsyncIterator[Driven]:
    """Open the console on a cluster with Kafka Connect, and yield it."""
    with AdminClient(settings) as client:
        session = Session(client, Context("dev", "tests", client.settings, **context))
        app = Console(session, ConsoleSettings(start_pane="topics", refresh=0.2))
        async with app.run_test(size=size) as pilot:
            yield Driven(app, pilot, client)


def with_connect(cluster: ThreadedCluster, *others: str) -> ConnectionSettings:
    return worlds.settings(cluster, connect=connect_settings(cluster, *others))


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_states_tasks_and_causes_are_seen_on_any_screen(running: ThreadedCluster, size: tuple[int, int]) -> None:
    async with opened(with_connect(running), size) as it:
        await it.press("ctrl+n", shows="main/broken")
        assert "0/2 running, 2 failed" in it.line("main/broken")
        assert "PAUSED" in it.line("main/copies")
        assert "2/2 running" in it.line("main/archive")
        assert "1 in trouble" in it.text
        assert "java.nio.file." in it.text
        await it.press("exclamation_mark", shows="1 of 3")
        assert "main/archive" not in it.text
        await it.press("exclamation_mark", shows="main/archive")
        await it.filter("copies", shows="1 of 3")
        assert "main/broken" not in it.text


async def test_enter_leads_to_tasks_traces_config_and_offsets(running: ThreadedCluster) -> None:
    async with opened(with_connect(running), (120, 40)) as it:
        await it.press("ctrl+n", shows="main/broken")
        await it.filter("broken", shows="1 of 3")
        await it.press("enter", shows="itself")
        assert [line.split()[:2] for line in it.lines if "FAILED" in line and "  FAILED  " in line] == [
            ["0", "FAILED"],
            ["1", "FAILED"],
        ]
        await it.press("down", "enter", shows="Caused by:")
        assert FAILED in it.text
        await it.press("escape", shows="itself")
        await it.press("tab", shows="topics.regex")
        await it.press("tab", shows="no offsets")
        await it.press("tab", shows="itself")
        await it.press("shift+tab", shows="Partition")
        await it.press("escape", shows="main/broken")


async def test_the_lag_of_a_sink_and_its_dead_letters_come_with_it(running: ThreadedCluster) -> None:
    async with opened(with_connect(running), (200, 60)) as it:
        await it.press("ctrl+n", shows="main/archive")
        await it.filter("archive", shows=("1 of 3", "connect-archive: 0 records behind", "lines-dead: 0"))
        assert SECRET not in it.text
        await it.press("enter", "tab", shows="db.password")
        assert SECRET not in it.text


async def test_keys_begin_the_commands_of_the_connector_under_the_cursor(running: ThreadedCluster) -> None:
    async with opened(with_connect(running)) as it:
        await it.press("ctrl+n", shows="main/archive")
        await it.filter("broken", shows="1 of 3")
        for key, command in (
            ("t", "restart connector main/broken failed"),
            ("z", "pause connector main/broken"),
            ("c", "resume connector main/broken"),
            ("x", "stop connector main/broken"),
            ("D", "delete connector main/broken"),
            ("n", "create connector main/"),
            ("e", "set connector main/broken "),
        ):
            await it.press(key)
            assert it.app.bar.line.text == command
            await it.press("escape")
        await it.press("enter", "down", "down", "t")
        assert it.app.bar.line.text == "restart connector main/broken task 1"


async def test_workers_plugins_and_loggers_are_a_key_away(running: ThreadedCluster) -> None:
    async with opened(with_connect(running, "gone")) as it:
        await it.press("ctrl+n", shows="main/archive")
        await it.press("tab", shows="1 worker silent")
        assert all(url in it.text for url in running.connect_urls), it.text
        assert "the Connect worker is" in it.line("▸gone ")
        await it.press("tab", shows="FileStreamSinkConnector")
        await it.press("tab", shows="root")
        assert "INFO" in it.line("root")
        await it.press("tab", shows="no flow of MirrorMaker")
        await it.press("tab", shows="main/archive")


async def test_a_silent_cluster_keeps_its_rows_and_says_since_when() -> None:
    from console.embedded.brokers import run_in_thread

    with run_in_thread(SPEC) as cluster:
        with_connectors(cluster)
        async with opened(with_connect(cluster)) as it:
            await it.press("ctrl+n", shows="main/archive")
            for number in (1, 2):
                cluster.run(lambda each, number=number: each.connect.worker_down(number))
            await it.shows("Connect main does not answer since ")
            assert it.line("main/archive").split()[2:4] == ["?", "?"]
            assert "3 in trouble" in it.text


async def test_a_context_without_connect_says_how_to_name_one(running: ThreadedCluster) -> None:
    async with opened(worlds.settings(running), (80, 24)) as it:
        await it.press("ctrl+n", shows="names no Connect cluster")
        assert "[contexts.NAME.connect.CLUSTER]" in it.text.replace("\n", "")
        await it.press("tab", shows="names no Connect cluster")
        assert "connect" not in it.app.session.snapshot.read_at
        assert not it.app.session.snapshot.failures


async def test_a_topic_says_whose_it_is(running: ThreadedCluster) -> None:
    async with opened(with_connect(running)) as it:
        await it.shows("lines")
        await it.filter("lines", shows="lines")
        await it.press("a", shows=("who reads and writes it", "connector main/copies", "connector main/archive"))


async def test_an_edit_of_a_connector_leads_to_its_tasks(running: ThreadedCluster) -> None:
    async with opened(with_connect(running)) as it:
        await it.press("ctrl+n", shows="main/archive")
        it.app.navigator.open_target(ConnectorTarget("main/broken"))
        await it.shows("itself")


async def test_a_revert_asks_for_the_secret_that_no_one_keeps() -> None:
    from console.embedded.brokers import run_in_thread

    with run_in_thread(SPEC) as cluster:
        with_connectors(cluster)
        url = cluster.connect_urls[0]
        async with opened(with_connect(cluster)) as it:
            await it.press("ctrl+n", shows="main/archive")
            await it.command("delete connector main/archive; apply", shows="Type main/archive")
            await it.type("main/archive")
            await it.press("enter", shows="applied")
            await it.press("escape")
            await it.command("revert 1", shows="connector main/archive db.password")
            await it.press("escape", shows="nothing was staged")
            assert not it.app.session.plan
            await it.command("revert 1", shows="connector main/archive db.password")
            await it.type(OTHER)
            assert OTHER not in it.text
            await it.press("enter", shows="staged")
            assert OTHER not in it.text
            await it.command("apply")
            await it.press("y", shows="applied")
            assert ask(url, "GET", "/connectors/archive/config").body["db.password"] == OTHER
            # The former value of the edited config is also a secret.
            await it.command("set connector main/archive db.password=?", shows="db.password")
            await it.type(SECRET)
            await it.press("enter", shows="staged")
            await it.command("apply")
            await it.press("y", shows="applied")
            await it.command("revert 3", shows="connector main/archive db.password")
            await it.type(OTHER)
            await it.press("enter", shows="staged")
            await it.command("apply")
            await it.press("y", shows="applied")
            assert ask(url, "GET", "/connectors/archive/config").body["db.password"] == OTHER
            assert OTHER not in it.text
            assert SECRET not in it.text


async def test_a_read_only_context_begins_no_command(running: ThreadedCluster) -> None:
    async with opened(with_connect(running), read_only=True) as it:
        await it.press("ctrl+n", shows="main/archive")
        await it.press("x", shows="read-only")
        assert not it.app.bar.line.is_open
