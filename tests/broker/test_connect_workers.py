"""Tests of real Connect workers that use an embedded cluster's brokers, with the tests' own connector."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, ConnectSettings, HttpSettings
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from console.session.session import Session
from console.tui.app import Console
from tests.support import kafka_jars, real_clusters
from tests.support.connect_cluster import ConnectCluster, ask, throw_away_connector, until
from tests.tui.console_app import Driven

pytestmark = [pytest.mark.broker, pytest.mark.slow]
STOP_MS = 1500
OTHER = "c0rrect-horse-4"


@pytest.fixture(scope="module")
def workers() -> Iterator[ConnectCluster]:
    """Provide a Connect cluster of two workers, on an embedded broker."""
    with run_in_thread(ClusterSpec(brokers=1, versions="4.0")) as brokers:
        with real_clusters.or_skip():
            classes = throw_away_connector(kafka_jars.KAFKA_4_3)
            made = ConnectCluster(kafka_jars.KAFKA_4_3, brokers.bootstrap, workers=2, classes=classes)
        with made:
            yield made


def config(**more: Any) -> dict[str, Any]:
    return {"connector.class": "ThrowAwaySource", "tasks.max": "2", "password": "hunter2", **more}


def status(url: str, name: str) -> dict[int, tuple[str, str]]:
    """Return task id -> (state, worker) for the tasks of a connector."""
    tasks = ask(url, "GET", f"/connectors/{name}/status").body.get("tasks", ())
    return {each["id"]: (each["state"], each["worker_id"]) for each in tasks}


def test_its_password_is_hidden_where_it_is_validated_and_its_validator_refuses(workers: ConnectCluster) -> None:
    asked = config(name="a", mode="forbidden")
    shown = ask(workers.urls[0], "PUT", "/connector-plugins/ThrowAwaySource/config/validate", asked).body
    values = {each["value"]["name"]: each["value"] for each in shown["configs"]}
    assert values["password"]["value"] == "[hidden]"
    assert values["mode"]["errors"] == ["Invalid value forbidden for configuration mode: It is forbidden."]
    refused = ask(workers.urls[0], "POST", "/connectors", {"name": "a", "config": asked})
    assert (refused.status, "It is forbidden." in refused.body["message"]) == (400, True)


def test_its_task_fails_with_a_mode_of_its_own(workers: ConnectCluster) -> None:
    ask(workers.urls[1], "POST", "/connectors", {"name": "broken", "config": config(mode="broken")})
    until(lambda: {state for state, _ in status(workers.urls[0], "broken").values()} == {"FAILED"}, "both tasks fail")
    ask(workers.urls[0], "DELETE", "/connectors/broken")


async def test_the_pane_shows_steers_and_edits_a_connector(workers: ConnectCluster) -> None:
    first = workers.urls[0]
    ask(first, "POST", "/connectors", {"name": "pane", "config": config(mode="broken")})
    until(lambda: {state for state, _ in status(first, "pane").values()} == {"FAILED"}, "both tasks fail")
    with AdminClient(connect_settings(workers)) as client:
        app = Console(Session(client, Context("real", "tests", client.settings)), ConsoleSettings(refresh=0.2))
        async with app.run_test(size=(140, 40)) as pilot:
            it = Driven(app, pilot, client)
            await it.press("ctrl+n", shows="main/pane")
            await it.shows("0/2 running, 2 failed")
            await it.press("enter", shows="itself")
            await it.press("down", "enter", shows="ConnectException")
            await it.press("escape", shows="itself")
            await it.press("escape", shows="main/pane")
            await it.press("t")
            assert it.app.bar.line.text == "restart connector main/pane failed"
            await it.press("enter", shows="staged")
            await applied(it)
            await it.press("ctrl+n", shows="main/pane")
            await it.press("e")
            await it.type("mode=idle")
            await it.press("enter", shows="staged")
            await applied(it)
            await it.command("set connector main/pane password=?", shows="connector main/pane password")
            await it.type(OTHER)
            await it.press("enter", shows="staged")
            await applied(it)
            await it.press("ctrl+n", shows="main/pane")
            await it.shows("2/2 running")
            await it.press("z")
            await it.press("enter", shows="staged")
            await applied(it)
            await it.press("ctrl+n", shows="main/pane")
            await it.shows("2 paused")
            now = ask(first, "GET", "/connectors/pane/config").body
            assert (now["mode"], now["password"]) == ("idle", OTHER)
            await it.press("enter", "tab", shows="password")
            assert OTHER not in it.text
            assert "hunter2" not in it.text
    ask(first, "DELETE", "/connectors/pane")


def connect_settings(workers: ConnectCluster) -> ConnectionSettings:
    """Return connection settings of the brokers, in which the workers are the Connect cluster ``main``."""
    host, _, port = workers.bootstrap.rpartition(":")
    urls = (urlsplit(each) for each in workers.urls)
    each_worker = tuple(HttpSettings(each.hostname or "", each.port or 0) for each in urls)
    return ConnectionSettings(((host, int(port)),), connect=(ConnectSettings("main", each_worker),))


async def applied(it: Driven) -> None:
    """Apply the plan that is staged in a console, by its keys."""
    await it.command("apply")
    await it.press("y", shows="applied")


def test_tasks_spread_over_both_workers_and_stop_slowly(workers: ConnectCluster) -> None:
    first, second = workers.urls
    ask(first, "POST", "/connectors", {"name": "slow", "config": config(**{"stop.ms": str(STOP_MS)})})

    def spread() -> bool:
        found = status(second, "slow")
        return {state for state, _ in found.values()} == {"RUNNING"} and len({each for _, each in found.values()}) == 2

    until(spread, "both workers have a task")
    began = time.monotonic()
    ask(first, "PUT", "/connectors/slow/stop")
    until(lambda: not status(second, "slow"), "the tasks have stopped")
    assert time.monotonic() - began >= STOP_MS / 1000
    ask(first, "PUT", "/connectors/slow/resume")
    until(spread, "both workers have a task again")
    workers.stop(1)
    left = first.removeprefix("http://")
    until(lambda: {*status(first, "slow").values()} == {("RUNNING", left)}, "the other worker has taken over")
