"""Tests of former changes in the console: conflicts, the list of changes, reverts, and edits whose time has ended."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from console.plan.edits import SetConfig, UnsetConfig
from console.session.former_changes import any_journal
from console.tui.plan_script import script
from tests.tui.console_app import Driven, cluster, driven
from tests.tui.model_client import ModelClient

ORDERS, PAYMENTS = topic_resource("orders"), topic_resource("payments")


def folder() -> Path:
    return Path(os.environ["HOME"], ".local", "state", "kac", "journal")


def journal() -> list[dict[str, Any]]:
    (path,) = folder().iterdir()
    return [json.loads(line) for line in path.read_text().splitlines()]


def make_due() -> None:
    """Rewrite the journal so that the time of the first edit ended a minute ago."""
    (path,) = folder().iterdir()
    intent, *rest = path.read_text().splitlines()
    data = json.loads(intent)
    data["edits"][0]["until"] = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    path.write_text("\n".join([json.dumps(data), *rest]) + "\n")


def stand_in_the_way() -> None:
    folder().parent.parent.mkdir(parents=True)
    folder().parent.write_text("in the way")


async def apply(it: Driven) -> None:
    await it.press("7", "A", "y", shows="applied: ")


async def test_a_change_is_written_down_with_its_number(it: Driven) -> None:
    await it.command("set topic payments retention.ms=1d")
    await apply(it)
    await it.shows("change 1")
    intent, sending, outcome = journal()
    assert [each["kind"] for each in (intent, sending, outcome)] == ["intent", "sending", "outcome"]
    assert intent["from"]["door"] == "console"
    assert intent["who"]["principal"] == "ANONYMOUS"
    assert outcome["edits"] == {"0": {"status": "applied"}}


async def test_what_somebody_changed_is_shown_three_ways_and_gone_over_only_on_a_word() -> None:
    client = ModelClient(cluster())
    async with driven(client) as it:
        await it.command("set topic orders retention.ms=1d")
        client.cluster.configs[ORDERS]["retention.ms"] = "259200000"
        await it.press("7", "A", "y", shows="Another client changed 1 place")
        await it.shows("was    604800000 (7 d, topic)", "theirs 259200000 (3 d, topic)", "mine   86400000 (1 d, topic)")
        assert [check for _, check in client.sent] == [True]
        await it.press("escape", shows="changes stay")
        assert len(it.app.session.plan) == 1
        assert client.cluster.configs[ORDERS]["retention.ms"] == "259200000"
        await it.press("A", "y", shows="Another client changed 1 place")
        client.cluster.configs[ORDERS]["retention.ms"] = "1000"
        await it.press("y", shows="theirs 1000 (1 s, topic)")
        await it.press("y", shows="applied: ")
        assert client.cluster.configs[ORDERS]["retention.ms"] == "86400000"
        assert journal()[0]["edits"][0]["overridden"] is True
        assert journal()[0]["edits"][0]["was"]["value"] == "1000"


async def test_the_list_of_changes_takes_one_back_where_it_came_from(it: Driven) -> None:
    await it.command("set topic payments retention.ms=1d")
    await apply(it)
    await it.command("set topic orders retention.ms=2d")
    await apply(it)
    await it.command("history", shows=("applied from this host", "topic payments retention.ms"))
    assert "topic orders retention.ms" in it.line("▸")
    await it.press("j", "enter", shows="staged: topic payments retention.ms")
    (staged,) = it.app.session.plan.staged
    assert staged.edit == UnsetConfig(PAYMENTS, "retention.ms")
    await apply(it)
    assert it.client.cluster.configs[PAYMENTS] == {}
    await it.command("history payments", shows="↶ ")
    assert "topic payments retention.ms" in it.line("↶ ")
    await it.until(lambda: "topic orders" not in it.text)


async def test_taking_back_what_somebody_changed_since_asks(it: Driven) -> None:
    await it.command("set topic orders retention.ms=2d")
    await apply(it)
    it.client.cluster.configs[ORDERS]["retention.ms"] = "5000"
    await it.command("revert 1", shows="another client changed 1 of it since")
    (staged,) = it.app.session.plan.staged
    assert staged.edit == SetConfig(ORDERS, "retention.ms", "604800000")
    await it.press("7", "A", "y", shows="theirs 5000 (5 s, topic)")
    await it.press("escape")
    assert it.client.cluster.configs[ORDERS]["retention.ms"] == "5000"


async def test_a_number_that_no_change_has(it: Driven) -> None:
    await it.command("revert 7", shows="there is no change 7 in the journal; it is empty")


async def test_a_change_for_a_time_stands_in_the_header_and_is_due_at_the_next_start() -> None:
    client = ModelClient(cluster())
    async with driven(client, size=(120, 24)) as it:
        await it.command("set user alice consumer_byte_rate=1MB/s for 2h")
        await it.press("7", shows="for 2h")
        assert script(it.app.session.plan) == "set user alice consumer_byte_rate=1000000 for 2h"
        await apply(it)
        until = datetime.now().astimezone() + timedelta(hours=2)
        await it.shows(f"until {until:%H:}")
    make_due()
    async with driven(client, size=(120, 24)) as it:
        await it.shows("DUE 1", "user alice consumer_byte_rate of change 1 is to be taken back")
        await it.command("revert 1")
        await apply(it)
        await it.until(lambda: "DUE" not in it.text)
        assert client.cluster.quotas[QuotaEntity.of({"user": "alice"})]["consumer_byte_rate"] == 50_000_000.0


async def test_a_journal_that_can_not_be_written_keeps_the_change_from_being_sent(it: Driven) -> None:
    stand_in_the_way()
    await it.command("set topic orders retention.ms=1d")
    await it.press("7", "A", "y", shows="not applied: JOURNAL_UNAVAILABLE")
    assert all(check for _, check in it.client.sent)
    assert len(it.app.session.plan) == 1


async def test_without_a_journal_where_that_is_said() -> None:
    async with driven(journal=False) as it:
        await it.shows("NO JOURNAL")
        await it.command("set topic orders retention.ms=1d")
        await apply(it)
        assert not any_journal(os.environ)


async def test_an_outcome_that_is_unknown_is_said_and_settled_by_a_read_that_shows_it() -> None:
    """If kac was killed before the answer to a request came, the console says that the outcome is unknown, until a read
    shows the change.
    """
    client = ModelClient(cluster())
    async with driven(client) as it:
        await it.command("set topic payments retention.ms=1d")
        await apply(it)
    (path,) = folder().iterdir()
    intent, sending, _ = path.read_text().splitlines()
    path.write_text(f"{intent}\n{sending}\n".replace(f'"pid":{os.getpid()},', '"pid":4194305,'))
    client.cluster.configs[PAYMENTS].clear()
    async with driven(client, size=(140, 40)) as it:
        await it.shows("outcome unknown: change 1")
        await it.command("history", shows="kac history --settle 1 applied|not-applied")
        await it.command("revert 1", shows="its outcome is unknown")
        assert not it.app.session.plan
        client.cluster.configs[PAYMENTS]["retention.ms"] = "86400000"
        await it.app.session.read_configs([PAYMENTS])
        await it.until(lambda: journal()[-1]["kind"] == "settled")
        assert journal()[-1]["edits"] == {"0": "applied"}
