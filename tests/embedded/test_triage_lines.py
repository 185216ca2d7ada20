"""Each line of ``kac triage --watch --output json`` is one object with the same members, whatever happened."""

from __future__ import annotations

import argparse
import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from console.admin import connections
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, SaslSettings
from console.cli.triage import GOES_ON, tell_changes, watch_verdicts
from console.contexts.context import Context, parse_bootstrap
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.secret import Secret
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import Verdict
from tests.support import worlds
from tests.support.patience import PATIENCE

cluster = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, 1))
WATCH = argparse.Namespace(watch=True, seconds=20.0, output="json", expect=[], prometheus=None)


async def test_a_cluster_that_goes_and_comes(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[dict[str, Any]] = []

    async def until(what: str, at_least: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(lines) < at_least or not lines[-1][what]:
                lines.extend(json.loads(each) for each in capsys.readouterr().out.splitlines())
                await asyncio.sleep(0.05)

    settings = ConnectionSettings(parse_bootstrap(cluster.bootstrap))
    with AdminClient(settings) as client:
        async with Poller(Session(client, Context("test", "tests", settings))) as poller:
            watching = asyncio.create_task(watch_verdicts(poller, WATCH))
            try:
                await until("at", 1)
                cluster.run(lambda running: running.broker_down(1))
                await until("lost", 2)
                lost = len(lines)
                cluster.run(lambda running: running.broker_up(1))
                await until("at", lost + 1)
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching
    assert len({frozenset(line) for line in lines}) == 1
    assert [line["lost"] is None for line in lines if line is not lines[lost - 1]] == [True] * (len(lines) - 1)
    assert lines[lost - 1]["lost"].startswith("no broker answers: ")
    assert not lines[lost - 1]["healthy"]
    assert {line["v"] for line in lines} == {1}


async def test_a_login_that_is_refused_later_is_no_broker_that_does_not_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REFUSAL_SECONDS", 0.0)
    users, said = {"kac": Secret("right")}, ""

    async def until(what: str) -> None:
        nonlocal said
        async with asyncio.timeout(PATIENCE):
            while what not in said:
                said += capsys.readouterr().out
                await asyncio.sleep(0.05)

    with run_in_thread(
        ClusterSpec(brokers=1, super_users=frozenset({"User:kac"}), sasl=SaslSpec(plain=users))
    ) as cluster:
        sasl = SaslSettings(mechanism="PLAIN", username="kac", password=Secret("right"))
        settings = ConnectionSettings(parse_bootstrap(cluster.bootstrap), security_protocol="SASL_PLAINTEXT", sasl=sasl)
        with AdminClient(settings) as client:
            async with Poller(Session(client, Context("test", "tests", settings))) as poller:
                lines = argparse.Namespace(**{**vars(WATCH), "output": "text"})
                watching = asyncio.create_task(watch_verdicts(poller, lines))
                try:
                    await until("healthy")
                    cluster.run(lambda running: running.broker_down(1))
                    await until("no broker answers: ")
                    users["kac"] = Secret("another")
                    cluster.run(lambda running: running.broker_up(1))
                    await until("the brokers refuse the login: AUTHENTICATION_FAILED: ")
                    await until(GOES_ON)
                    users["kac"] = Secret("right")
                    await until("brokers answer again")
                finally:
                    watching.cancel()
                    with suppress(asyncio.CancelledError):
                        await watching
    assert said.count("no broker answers: ") == 1


def test_it_is_not_healthy_before_all_was_read(capsys: pytest.CaptureFixture[str]) -> None:
    at = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
    unread, read = Verdict(at, (), (), (), (), ("configs",)), Verdict(at, (), (), ())
    told = tell_changes(unread, None, "text")
    assert [line[10:] for line in capsys.readouterr().out.splitlines()] == ["+  unknown: configs"]
    told = tell_changes(read, told, "text")
    assert [line[10:] for line in capsys.readouterr().out.splitlines()] == ["healthy", "-  unknown: configs"]
    assert tell_changes(read, told, "text") == told
    assert not capsys.readouterr().out
