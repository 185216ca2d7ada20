"""Tests of a search for records in the console: its progress, stopping it by Esc, continuing it, following new records,
and the keys for a record.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Delay, Fault
from console.embedded.scenarios.quiet import FAILED_ORDERS
from console.embedded.spec import ClusterSpec
from tests.embedded.poisoned import poisoned
from tests.support import worlds
from tests.tui.console_app import Driven, driven_on

many = worlds.cluster(ClusterSpec(scenario="quiet"), scope="module")
"""Provide a cluster whose topic `FAILED_ORDERS` has 400 records in each of three partitions, led by three brokers."""
poison = worlds.running(poisoned, scope="module")
SEARCH = f"records {FAILED_ORDERS} where 'value.state == \"failed\"'"
SLOW = Fault(Delay(15.0), api="fetch", broker=1)
"""Delays broker 1's answers to Fetch by 15 seconds."""


@asynccontextmanager
async def slow(cluster: ThreadedCluster) -> AsyncIterator[None]:
    """Let broker 1, one of three, delay its answers to Fetch within the block."""
    cluster.call(lambda each: each.faults.add(SLOW))
    try:
        yield
    finally:
        cluster.call(lambda each: each.faults.remove(SLOW))


async def found(it: Driven, count: int) -> None:
    await it.until(lambda: len(it.app.view.lines.rows) == count)  # type: ignore[attr-defined]


async def test_a_search_shows_its_progress_stops_and_goes_on(many: ThreadedCluster) -> None:
    async with driven_on(many, size=(120, 24)) as it:
        async with slow(many):
            await it.command(SEARCH, shows=("800 of 1,200 looked at, 800 found", "Esc stops"))
            await found(it, 800)
            await it.press("escape", shows="stopped after 800 of 1,200 records; m goes on")
            assert it.app.navigator.place.view == "records"
            await found(it, 800)
        await it.press("m", shows="1,200 records of 1,200 looked at")
        await found(it, 1_200)
        assert "m goes on" not in it.text
        await it.until(lambda: not it.app.view._asked.is_searching)  # type: ignore[attr-defined]
        await it.press("m", shows="there is nothing further")
        await it.press("escape")
        await it.until(lambda: it.app.navigator.place.view == "topics")


async def test_another_statement_ends_the_search(many: ThreadedCluster) -> None:
    async with driven_on(many, size=(120, 24)) as it, slow(many):
        await it.command(SEARCH, shows="Esc stops")
        await it.command("records identity.audit partition 99", shows="has no partition 99")
        assert it.app.view.rows() == []  # type: ignore[attr-defined]


async def test_at_rest_nothing_is_drawn_again(many: ThreadedCluster) -> None:
    async with driven_on(many, size=(120, 24)) as it:
        await it.command(SEARCH, shows="1,200 records of 1,200 looked at")
        await it.until(lambda: not it.app.view._asked.is_searching)  # type: ignore[attr-defined]
        before = it.app.view.inputs()
        for _ in range(3):
            await it.app.view.read()
        assert all(was is now for was, now in zip(before, it.app.view.inputs(), strict=True))


async def _write(cluster: ThreadedCluster, count: int, since: int) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap)
    await producer.start()
    for number in range(since, since + count):
        await producer.send("identity.audit", b"new-%d" % number, partition=0)
    await producer.flush()
    await producer.stop()


async def test_new_records_are_followed_held_and_capped(many: ThreadedCluster) -> None:
    async with driven_on(many, size=(120, 24)) as it:
        await it.command("records identity.audit,identity.logins follow", shows="waiting for records")
        await it.shows("following: p holds; Esc ends")
        await _write(many, 3, 0)
        await it.shows("new-0", "new-2", "identity.audit")
        newest = [line for line in it.rows if "new-" in line]
        assert [line.split()[-1] for line in newest] == ["new-2", "new-1", "new-0"], "new ones come on top"
        await it.press("p", shows="paused")
        await _write(many, 200, 1_000)
        await it.shows("new-2")
        await it.press("p", shows="live again")
        await it.press("j", shows="came too fast and are left out")
        await it.press("escape")
        await it.until(lambda: not it.app.view._asked.is_searching)  # type: ignore[attr-defined]
        assert "new-0" in "".join(row.item.value.decode() for row in it.app.view.rows())  # type: ignore[attr-defined]
        await it.press("escape")
        await it.until(lambda: it.app.navigator.place.view == "topics")


async def test_the_keys_of_a_record(poison: ThreadedCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\ncat "$1" > {seen}; stat -c %a "$1" >> {seen}\n')
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    async with driven_on(poison, size=(120, 40)) as it:
        await it.command("records orders partition 0 from offset 5 limit 1", shows="key-5")
        await it.press("enter", shows=("leader epoch", "Size", "key 5, value 34, headers 8", "trace  3 bytes  t-5"))
        await it.press("escape", "K", shows=("records orders  key key-5", "1 record of 13 looked at"))
        await it.press("a", shows=("from time 2026-09-21T14:13:20.005Z", "key-9", "5 records"))
        await it.press("B", shows="billing")
        await it.press("escape", "escape")
        await it.command("records orders partition 0 from group billing", shows="group billing stands here")
        await it.press("B")
        await it.until(lambda: it.app.navigator.place.about == "billing")


async def test_hidden_contents_go_to_no_editor_and_make_no_statement(poison: ThreadedCluster) -> None:
    async with driven_on(poison, size=(120, 24), records="hidden") as it:
        await it.command("records orders partition 0", shows="••••")
        for key in ("E", "K"):
            await it.press(key, shows="contents are hidden: s shows them")
            assert it.app.navigator.place.about.topics == ("orders",)  # type: ignore[union-attr]
            assert "key-" not in it.text
        assert it.app.session.records.fields.of(["orders"]) == []
