"""Tests of the flight record of the last half hour, which each console keeps in memory and can write to a file."""

from importlib.metadata import version
from pathlib import Path

import pytest

from console.cli.opening import recorded_client
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from console.flight.flight_reader import FlightReader
from console.session.session import Session
from console.tui.app import Console
from console.wire.schemas import api_name
from tests.support import worlds
from tests.tui.console_app import Driven

pytestmark = pytest.mark.timeout(120)


async def test_a_key_and_a_command_write_what_is_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with run_in_thread(ClusterSpec(scenario="incident")) as cluster:
        context = Context("prod / eu", "", worlds.settings(cluster))
        client = recorded_client(context)
        session = Session(client, context)
        session.recorder = client.recorder
        app = Console(session, ConsoleSettings())
        async with app.run_test(size=(300, 24)) as pilot:
            it = Driven(app, pilot, client)
            await it.press("2", shows="checkout.orders")
            await it.press("ctrl+o", shows="kac replay")
            (file,) = (tmp_path / "state" / "kac" / "records").iterdir()
            assert file.name.startswith("prod-eu-")
            named = tmp_path / "mine.kacflight"
            await it.command(f"record {named}")
            await it.until(named.exists)
            await it.command(f"record {named}", shows=("no record was written", "it is there already"))
        client.close()
    for each in (file, named):
        assert each.stat().st_mode & 0o777 == 0o600
        reader = FlightReader(each)
        assert (reader.damage, reader.header.context) == ("", "prod / eu")
        assert reader.header.cluster_id
        assert reader.header.kac == version("kafka-admin-console")
        assert {"metadata", "describe_cluster"} <= {api_name(answer.api_key) for answer in reader.answers()}


async def test_a_console_that_records_nothing_says_so(it: Driven) -> None:
    await it.press("ctrl+o", shows="nothing is recorded here")
