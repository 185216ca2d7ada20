"""kac on a cluster with the APIs of Kafka 2.8 and without a quorum: what is there works, the rest is named."""

from __future__ import annotations

import json

from console.admin.client import AdminClient
from console.cli.doctor_brokers import WITHOUT
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster
from console.model.releases import runs_on_zookeeper
from console.session.session import Session
from console.tui.app import Console
from console.wire.schemas import api_key
from tests.support import worlds
from tests.support.older_brokers import OLDER, known_release, like
from tests.tui.console_app import Driven

server = worlds.cluster(like("2.8", scenario="quiet"), scope="module")
"""Three brokers with topics and groups."""


kac = worlds.commands("server")


def test_what_is_said_of_an_api_that_is_not_there(kac: worlds.Kac) -> None:
    code, out, _ = kac("doctor", "--output", "json")
    checks = json.loads(out)["checks"]
    assert (code, [each for each in checks if each["health"] == "bad"]) == (0, [])
    (kafka,) = {each["found"].partition(", in ")[0] for each in checks if each["name"].startswith("Kafka ")}
    assert "release 2.8 or near" in kafka
    missing = {each["name"].removeprefix("API ") for each in checks if each["name"].startswith("API ")}
    assert missing == {api for api, _ in WITHOUT if api_key(api) not in known_release("2.8").apis}


def test_no_trouble_is_named(kac: worlds.Kac) -> None:
    code, out, _ = kac("triage", "--for", "0s", "--output", "json")
    verdict = json.loads(out)
    assert (code, verdict["healthy"]) == (0, True)


def test_changes_are_made(kac: worlds.Kac) -> None:
    script = "create topic made partitions=2 replication=2; set topic made retention.ms=1h; apply --yes"
    code, _, err = kac("run", "-e", script)
    assert (code, err) == (0, "")
    code, out, _ = kac("run", "--output", "json", "-e", "show topic made retention.ms")
    assert (code, "3600000" in out) == (0, True)
    code, _, _ = kac("run", "-e", "delete topic made; apply --yes")
    assert code == 0


async def test_the_screen_names_the_release(server: ThreadedCluster) -> None:
    settings = worlds.settings(server)
    with AdminClient(settings) as client:
        app = Console(Session(client, Context("old", "test", settings)), ConsoleSettings())
        async with app.run_test(size=(120, 40)) as pilot:
            it = Driven(app, pilot, client)
            await it.shows("kafka 2.8", "ctrl 1")
            assert runs_on_zookeeper(app.session.snapshot.versions[1].apis)


def test_the_table_has_the_releases_that_are_not_imitated() -> None:
    assert [known_release(name).name for name in OLDER] == list(OLDER)
