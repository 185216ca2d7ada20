"""Tests of the effects of a plan as the console shows them, below its rows and in the question before an apply."""

import asyncio
from typing import Any

from console.admin.errors import BrokerError
from console.model.failure import Failure
from tests.tui.console_app import Driven, cluster, driven
from tests.tui.model_client import ModelClient


async def test_below_a_row_stands_what_is_deleted(it: Driven) -> None:
    await it.command("set topic payments retention.ms=1d; set topic audit retention.ms=30d")
    await it.press("7", shows="MiB are deleted within minutes")
    place = next(number for number, line in enumerate(it.lines) if "retention.ms" in line)
    assert it.lines[place + 1].strip() == "10 MiB are deleted within minutes"
    assert it.text.count("deleted") == 1  # the new retention of 30 days is longer than the old one


async def test_below_a_row_stands_who_else_is_changed_and_what_is_wrong(it: Driven) -> None:
    await it.command("set broker <default> log.preallocate=true")
    await it.command("set user <default> producer_byte_rate=1MB/s")
    await it.press("7", shows="2 brokers inherit it, 0 shadow it")
    await it.shows("on each of 2 brokers: up to 2 MB/s in all", "2 entities have a stronger limit and do not move")
    await it.shows("! throttles-everyone: it holds for every user that has no limit")
    # With another value the row has other effects, and the former ones disappear.
    await it.command("set user <default> producer_byte_rate=20MB/s")
    await it.until(lambda: "throttles-everyone" not in it.text)
    await it.shows("up to 40 MB/s in all")


async def test_the_question_tells_what_is_deleted_and_asks_at_once() -> None:
    client = Slow(cluster())
    async with driven(client) as it:
        await it.command("set topic payments retention.ms=0")
        await it.press("7", "A", shows="Type accept, for 1 warning")
        await it.type("acc")
        assert "10 MiB" not in it.text
        client.goes_on.set()
        await it.shows("10 MiB are deleted within minutes")
        await it.type("ept", "enter", shows="applied: 1 entity")


async def test_what_can_not_be_read_is_said() -> None:
    async with driven(Denied(cluster())) as it:
        await it.command("set topic payments retention.ms=1d")
        await it.press("7", shows=("how much is deleted is not known: CLUSTER_AUTHORIZATION_FAILED", "7 Plan*1"))


class Slow(ModelClient):
    """A client that answers the operation `log_spans` only after the event `goes_on` is set."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.goes_on = asyncio.Event()

    async def run(self, operation: Any, *args: Any, **options: Any) -> Any:
        if operation.__name__ == "log_spans":
            await self.goes_on.wait()
        return await super().run(operation, *args, **options)


class Denied(ModelClient):
    """A client of a user who may not read log directories."""

    def _describe_log_dirs(self, *_: Any) -> Any:
        raise BrokerError(Failure("CLUSTER_AUTHORIZATION_FAILED", "", "Ask for DESCRIBE on the cluster."))
