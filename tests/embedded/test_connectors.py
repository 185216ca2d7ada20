"""Tests of connectors on the command line: their list, one connector, workers, the doctor, and the connectors of a
topic.
"""

import asyncio
import json
from pathlib import Path

import pytest

from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.cli.manual.completion import Kind, names
from console.contexts.context import parse_bootstrap
from console.contexts.own_file import CONFIG
from console.embedded.brokers import ThreadedCluster
from console.model.connect import ConnectorTarget
from console.model.parts import Part
from console.present.connectors import NOT_NAMED
from tests.support import paces, running_connectors, worlds
from tests.support.triage_watch import watching

running = worlds.cluster(running_connectors.SPEC, after=running_connectors.with_connectors, scope="module")


@pytest.fixture(autouse=True)
def contexts(running: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "config.toml"
    running_connectors.write_contexts(running, file, "gone")
    monkeypatch.setenv(CONFIG, str(file))
    return file


def kac(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.run([*arguments]) == code, capsys.readouterr()
    return "".join(capsys.readouterr())


def test_the_connectors_are_listed_with_what_is_around_them(capsys: pytest.CaptureFixture[str]) -> None:
    said = kac(capsys, "connectors", "-c", "dev", "--output", "json", code=1)
    found = {each["name"]: each for each in json.loads(said[: said.rindex("}") + 1])["connectors"]}
    assert sorted(found) == ["main/archive", "main/broken", "main/copies"]
    broken, archive, copies = found["main/broken"], found["main/archive"], found["main/copies"]
    assert (broken["state"], broken["tasks"], broken["tasks_failed"]) == ("RUNNING", "0/2 running, 2 failed", 2)
    assert broken["cause"].endswith(running_connectors.FAILED)
    assert (archive["kind"], archive["group"], archive["lag"]) == ("sink", "connect-archive", 0)
    assert (archive["dead_letters"], archive["dead_letter_records"]) == ("lines-dead", 0)
    assert (copies["state"], copies["tasks"]) == ("PAUSED", "0/1 running, 1 paused")
    assert "group" not in copies
    assert "lag" not in copies
    assert {each["version"] for each in found.values()} == {archive["version"]} != {None}
    assert running_connectors.SECRET not in said


def test_lists_are_filtered_and_say_which_cluster_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    said = kac(capsys, "connectors", "-c", "dev", "list", "--connector", "main/*", "--state", "paused", code=1)
    assert "main/copies" in said
    assert "main/broken" not in said
    assert "connect gone: UNREACHABLE" in said
    failed = kac(capsys, "run", "-c", "dev", "-e", "list connectors tasks_failed>0", code=1)
    assert [line.split()[0] for line in failed.splitlines() if line.startswith("main/")] == ["main/broken"]
    table = kac(capsys, "connectors", "-c", "dev", "--output", "csv", code=1)
    assert table.splitlines()[0].startswith("name,cluster,kind,state,tasks")


def test_a_connector_is_described_without_its_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    text = kac(capsys, "connectors", "-c", "dev", "describe", "--connector", "main/archive")
    for part in ("connect-archive: 0 records behind", "lines-dead: 0 records", "2/2 running", "db.password"):
        assert part in text
    assert running_connectors.SECRET not in text
    told = json.loads(
        kac(capsys, "connectors", "-c", "dev", "describe", "--connector", "main/broken", "--output", "json")
    )
    assert [task["state"] for task in told["tasks"]] == ["FAILED", "FAILED"]
    assert all(running_connectors.FAILED in task["trace"] and "\tat " in task["trace"] for task in told["tasks"])
    assert {each["name"] for each in told["configs"]} >= {"topics.regex", "errors.tolerance"}
    missing = kac(capsys, "connectors", "-c", "dev", "describe", "--connector", "main/archives", code=1)
    assert "no connector 'main/archives'" in missing
    assert "main/archive'?" in missing
    unknown = kac(capsys, "connectors", "-c", "dev", "describe", "--connector", "other/archive", code=1)
    assert "names no Connect cluster 'other'; it names: gone, main" in unknown
    silent = kac(capsys, "connectors", "-c", "dev", "describe", "--connector", "gone/archive", code=1)
    assert "UNREACHABLE" in silent
    assert "CLUSTER/NAME" in kac(capsys, "connectors", "-c", "dev", "describe", "--connector", "nothing", code=2)


def test_the_workers_and_plugins_are_listed(running: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    workers = kac(capsys, "connectors", "-c", "dev", "workers", code=1)
    assert all(url in workers for url in running.connect_urls)
    plugins = kac(capsys, "connectors", "-c", "dev", "plugins", code=1)
    assert "FileStreamSinkConnector" in plugins


def test_without_connect_in_the_context_nothing_is_asked(
    running: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert NOT_NAMED in kac(capsys, "connectors", "-c", "plain")
    assert "Connect" not in kac(capsys, "doctor", "-c", "plain")
    told = json.loads(kac(capsys, "topics", "-c", "plain", "--describe", "--topic", "lines", "--output", "json"))
    assert [use["who"] for use in told.get("uses", ())] == ["group connect-archive"]


def test_the_doctor_asks_each_worker(running: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(kac(capsys, "doctor", "-c", "dev", "--output", "json", code=1))["checks"]
    of_main = [each for each in found if each["name"] == "Connect main"]
    assert [each["health"] for each in of_main] == ["ok", "ok"]
    for each, url in zip(of_main, sorted(running.connect_urls), strict=True):
        assert url in each["found"]
        assert " ms" in each["found"]
    (gone,) = (each for each in found if each["name"] == "Connect gone")
    assert "not reached" in gone["found"]
    assert "url" in gone["remedy"]


def test_the_doctor_refuses_a_worker_of_other_brokers(
    running: ThreadedCluster, contexts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec

    with run_in_thread(ClusterSpec(brokers=1)) as other:
        text = contexts.read_text().replace(running.bootstrap, other.bootstrap)
        contexts.write_text(text)
        said = kac(capsys, "doctor", "-c", "dev", code=1)
    assert "it works with the Kafka cluster" in said
    assert "kac sends it no change" in said


def test_a_topic_says_whose_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    said = kac(capsys, "run", "-c", "dev", "-e", "whose topic lines", "--output", "json", code=1)
    told = json.loads(said[: said.rindex("}") + 1])
    uses = {(each["what"], each["who"]): each["sure"] for each in told["uses"]}
    assert uses == {
        ("reads", "connector main/archive"): "sure",
        ("reads", "connector main/broken"): "sure",
        ("reads", "group connect-archive"): "sure",
        ("writes", "connector main/copies"): "likely",
    }
    assert any("gone" in line for line in told["not_known"])
    assert "no topic 'nothing'" in kac(capsys, "run", "-c", "dev", "-e", "whose topic nothing", code=1)


def test_names_of_connectors_are_completed() -> None:
    assert names(Kind.CONNECTOR, ["-c", "dev"], "connectors") == ["main/archive", "main/broken", "main/copies"]
    assert names(Kind.CONNECTOR, ["-c", "plain"], "connectors") == []


def test_a_connector_is_made_steered_and_deleted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "more.json"
    file.write_text(json.dumps({"connector.class": "FileStreamSource", "topic": "orders", "file": "/tmp/none/more"}))
    named = ("-c", "dev", "--connector", "main/more")
    made = kac(
        capsys, "connectors", "create", *named, "--config-file", str(file), "--initial-state", "stopped", "--yes"
    )
    assert "applied" in made
    assert _state(capsys) == "STOPPED"
    for action, state in (("resume", "RUNNING"), ("pause", "PAUSED"), ("stop", "STOPPED")):
        assert "applied" in kac(capsys, "connectors", action, *named, "--yes")
        assert _state(capsys) == state
    kac(
        capsys,
        "connectors",
        "alter",
        *named,
        "--add-config",
        "tasks.max=1,header.converter=x",
        "--validate-only",
        code=1,
    )
    assert "applied" in kac(capsys, "connectors", "alter", *named, "--add-config", "batch.size=10", "--yes")
    kac(capsys, "connectors", "restart", *named, "--tasks", "--yes", code=1)
    accepted = ("--accept", "connector-deleted=main/more")
    assert "applied" in kac(capsys, "connectors", "delete", *named, "--yes", *accepted)
    assert "main/more" not in kac(capsys, "connectors", "-c", "dev", code=1)


def _state(capsys: pytest.CaptureFixture[str]) -> str:
    said = kac(capsys, "connectors", "-c", "dev", "describe", "--connector", "main/more", "--output", "json")
    return str(json.loads(said)["state"])


async def test_triage_knows_who_paused_a_connector_here(
    running: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triage does not call a paused connector forgotten if this host's journal has the change that paused it."""
    paces.poll_often(monkeypatch, 0.2, Part.CONNECT)
    settings = ConnectionSettings(
        parse_bootstrap(running.bootstrap), connect=running_connectors.connect_settings(running)
    )
    key = ConnectorTarget("main/archive"), "state", "PAUSED"
    async with watching(settings, journal=True) as it:
        await it.until(
            lambda _: it.observations is not None and "main" in it.observations.last.snapshot.connect, "connectors"
        )
        await it.poll_times(6)  # the journal is searched for changes after its first look, a second apart
        command = "pause connector main/archive; apply --yes"
        assert await asyncio.to_thread(cli.run, ["run", "-c", "dev", "-e", command]) == 0
        await it.until(lambda _: key in it.facts.authors, "who paused it")
        command = "resume connector main/archive; apply --yes"
        assert await asyncio.to_thread(cli.run, ["run", "-c", "dev", "-e", command]) == 0
