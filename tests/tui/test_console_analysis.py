"""Tests of the analysis of a topic's records in the console: it starts from a topic, stops by Esc, is shown with the
topic, and is used by lint.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.link import Link
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.faults import Delay, Fault
from console.embedded.scenarios.quiet import FAILED_ORDERS
from console.embedded.spec import ClusterSpec
from tests.support import worlds
from tests.support.changing import make_topic
from tests.tui.console_app import driven_on

many = worlds.cluster(ClusterSpec(scenario="quiet"), scope="module")
"""Provide a cluster whose topic `FAILED_ORDERS` has 400 records in each of three partitions, led by three brokers."""
SLOW = Fault(Delay(15.0), api="fetch", broker=1)
"""Delays broker 1's answers to Fetch by 15 seconds."""


@contextmanager
def hot() -> Iterator[ThreadedCluster]:
    """Yield a cluster whose topic `orders` has the same key in three of four records."""
    with run_in_thread(ClusterSpec(brokers=3)) as running:
        asyncio.run(_fill(running))
        yield running


async def _fill(running: ThreadedCluster) -> None:
    link = Link(worlds.settings(running))
    await make_topic(link, "orders", partitions=4, retention_ms="-1")
    await link.close()
    producer = AIOKafkaProducer(bootstrap_servers=running.bootstrap)
    await producer.start()
    now = round(time.time() * 1000)
    for number in range(2_000):
        key = b"customer-%d" % number if number % 4 == 0 else b"customer-7"
        await producer.send("orders", b"value", key, timestamp_ms=now - 1_000 * number)
    await producer.stop()


skewed = worlds.running(hot, scope="module")


async def test_z_begins_the_command_and_then_shows_the_result(skewed: ThreadedCluster) -> None:
    async with driven_on(skewed, size=(100, 40), shows="orders") as it:
        await it.press("z", shows=": analyze topic orders")
        await it.press("enter", shows=("all 2,000 records", "customer-7", "75.", "Partitions", "Times"))
        assert it.app.navigator.place.view == "analysis"
        await it.press("escape")
        await it.until(lambda: it.app.navigator.place.view == "topics")
        await it.press("z", shows="all 2,000 records")
        await it.press("z", shows=": analyze topic orders")


async def test_the_result_stays_next_to_the_topic_and_lint_uses_it(skewed: ThreadedCluster) -> None:
    async with driven_on(skewed, size=(160, 40)) as it:
        await it.command("analyze topic orders", shows="customer-7")
        await it.until(lambda: "orders" in it.app.session.snapshot.analyses)
        await it.press("2", shows="heaviest key 75.")
        await it.press("full_stop", "tab", shows="one key has 75 % of the")


async def test_esc_stops_it_and_keeps_what_it_counted(many: ThreadedCluster) -> None:
    async with driven_on(many, size=(120, 24)) as it:
        many.call(lambda each: each.faults.add(SLOW))
        try:
            await it.command(f"analyze topic {FAILED_ORDERS}", shows=("800 of 1,200 looked at", "Esc stops"))
            await it.press("2", shows=FAILED_ORDERS)
            run = it.app.cluster.analyses().of(FAILED_ORDERS)
            assert run is not None
            assert run.is_running, "it goes on in the background"
            await it.press("minus", shows="Esc stops")
            await it.press("escape", shows="stopped: 800 of about 1,200 records")
            assert it.app.navigator.place.view == "analysis"
        finally:
            many.call(lambda each: each.faults.remove(SLOW))
        await it.press("r", shows="all 1,200 records")


async def test_hidden_contents_are_shown_on_a_key_and_without_records_none_are_analyzed(
    skewed: ThreadedCluster,
) -> None:
    async with driven_on(skewed, size=(100, 40), records="hidden") as it:
        await it.command("analyze topic orders", shows="•••• 10 bytes")
        assert "customer-7" not in it.text
        await it.press("s", shows="customer-7")
    async with driven_on(skewed, size=(100, 40), records="never") as it:
        await it.command("analyze topic orders", shows='records = "never"')
        assert it.app.navigator.place.view == "topics"
