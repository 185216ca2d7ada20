"""Other servers than Kafka: the console, triage, files and doctor run on each, and name no trouble of a healthy one."""

from __future__ import annotations

import ast
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import console
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.cli.doctor_brokers import WITHOUT
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context, parse_bootstrap
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.profiles import PROFILES
from console.embedded.spec import ClusterSpec, release
from console.session.session import Session
from console.tui.app import Console
from console.wire.schemas import api_key
from tests.tui.console_app import Driven

FALSE_HERE = ("ZooKeeper", "Upgrade", "needs Kafka", "Traceback")
"""What no front end may say of a server that is not Kafka's, or is new enough."""


@pytest.fixture(scope="module", params=sorted(PROFILES))
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, ThreadedCluster]]:
    """One of them, healthy, with topics and groups."""
    with run_in_thread(ClusterSpec(scenario="quiet", profile=PROFILES[request.param])) as running:
        yield request.param, running


def kac(capsys: pytest.CaptureFixture[str], cluster: ThreadedCluster, *words: str) -> tuple[int, str, str]:
    code = cli.run([words[0], "-b", cluster.bootstrap, *words[1:]])
    written = capsys.readouterr()
    for text in FALSE_HERE:
        assert text not in written.out + written.err
    return code, written.out, written.err


def test_no_trouble_is_named(server: tuple[str, ThreadedCluster], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = kac(capsys, server[1], "triage", "--for", "3s", "--output", "json")
    verdict = json.loads(out)
    assert [each for each in verdict["causes"] if each["severity"] != "info"] == []
    # A server of somebody else's refuses what only its owner may see: that is unknown, and not healthy.
    unread = {"confluent-cloud": ["quorum", "log_dirs", "reassignments"]}.get(server[0], [])
    assert verdict["unread"] == unread
    assert (code, verdict["healthy"], verdict["unexplained"]) == (int(bool(unread)), not unread, [])


def test_lists_and_files(server: tuple[str, ThreadedCluster], capsys: pytest.CaptureFixture[str]) -> None:
    name, cluster = server
    code, out, _ = kac(capsys, cluster, "topics", "--list", "--output", "json")
    assert (code, len(json.loads(out)["topics"]) > 10) == (0, True)
    code, out, _ = kac(capsys, cluster, "groups", "--list", "--output", "json")
    assert [each["name"] for each in json.loads(out)["groups"]] == [
        "billing",
        "fraud-check",
        "search-index",
        "warehouse",
        "year-end-report",
    ]
    code, out, err = kac(capsys, cluster, "export")
    assert "checkout.orders:" in out
    assert (code == 0) is ("could not be read" not in err)
    code, out, _ = kac(capsys, cluster, "snapshot")
    document = json.loads(out)
    assert code == 0
    lacks = {each["part"] for each in document["errors"]}
    assert ("acls" in lacks) is (api_key("describe_acls") not in keys_of(name))


def keys_of(name: str) -> set[int]:
    apis = PROFILES[name].apis
    return {api_key(api) for api in apis} if apis is not None else set(release(PROFILES[name].release).apis)


def test_doctor_lists_what_is_missing(
    server: tuple[str, ThreadedCluster],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    name, cluster = server
    code, out, _ = kac(capsys, cluster, "doctor", "--output", "json")
    checks = json.loads(out)["checks"]
    assert code == 0
    assert [each for each in checks if each["health"] == "bad"] == []
    (kafka,) = {each["found"].partition(", in ")[0] for each in checks if each["name"].startswith("Kafka ")}
    assert ("the set of no Kafka release" in kafka) is (PROFILES[name].apis is not None)
    missing = {each["name"].removeprefix("API ") for each in checks if each["name"].startswith("API ")}
    assert missing == {api for api, _ in WITHOUT if api_key(api) not in keys_of(name)}


@pytest.fixture
async def walk(server: tuple[str, ThreadedCluster]) -> AsyncIterator[Driven]:
    """The console on it."""
    settings = ConnectionSettings(parse_bootstrap(server[1].bootstrap))
    with AdminClient(settings) as client:
        app = Console(
            Session(client, Context("walk", "test", settings)), ConsoleSettings(start_pane="now", refresh=1.0)
        )
        async with app.run_test(size=(120, 40)) as pilot:
            yield Driven(app, pilot, client)


async def test_the_walk(walk: Driven, server: tuple[str, ThreadedCluster]) -> None:
    await walk.shows("no trouble")
    if api_key("describe_log_dirs") not in keys_of(server[0]):
        await walk.shows("UNSUPPORTED: this server does not have")
    for key, part in (
        ("1", "127.0.0.1"),
        ("2", "checkout.orders"),
        ("3", "broker"),
        ("6", "billing"),
        ("7", "nothing is staged"),
    ):
        await walk.press(key)
        await walk.shows(part)
        for text in FALSE_HERE:
            assert text not in walk.text
    assert ("kafka ~" in walk.text) is (PROFILES[server[0]].apis is not None)
    for pane in ("acls", "quotas", "moves", "features", "quorum"):
        await walk.command(f":{pane}")
        for text in FALSE_HERE:
            assert text not in walk.text


def test_a_server_is_named_in_its_own_record_alone() -> None:
    """No condition of the program knows a vendor."""
    root = Path(console.__file__).parent
    named = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in PROFILES
    }
    assert named == {"embedded/profiles.py"}
