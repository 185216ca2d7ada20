"""Tests of dead letters in the console: the content of their topic, the question with warnings, and the redrive to its
end.
"""

from collections import Counter
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from console.admin.link import Link
from console.contexts.context import HIDDEN
from console.embedded import faults
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.new_records import NewRecord, records_of_lines
from tests.support import dead_letters, worlds
from tests.support.patience import PATIENCE
from tests.tui.console_app import driven_on

cluster = worlds.cluster(
    ClusterSpec(brokers=3),
    worlds.topic("orders", 1),
    worlds.topic("orders.dlt", 1),
    *(worlds.group(name, {("orders", 0): 99}) for name in ("billing", "audit")),
)
link = worlds.link("cluster")


@pytest.fixture(autouse=True)
async def filled(link: Link) -> None:
    """Write 13 dead letters to `orders.dlt`: 12 from orders, which the groups billing and audit read, and one without
    headers.
    """
    letters = [NewRecord(b"k", b'{"n": %d}' % n, dead_letters.spring("orders", 0, n)) for n in range(12)]
    await dead_letters.write(link, "orders.dlt", 0, [*letters, NewRecord(b"k", b"plain")])


async def test_letters_are_shown_and_sent(cluster: ThreadedCluster, link: Link) -> None:
    async with driven_on(cluster, size=(100, 40), shows="orders.dlt") as it:
        await it.command("records orders.dlt from start", shows='{"n": 9}')
        await it.press("R", shows="13 letters, 12 can be sent")
        await it.press("R", shows=": redrive topic orders.dlt")
        await it.press("enter", shows="1 chosen letter without headers that name a topic")
        await it.press("escape")
        await it.command("redrive topic orders.dlt where 'has(value.n)'")
        await it.shows("12 of orders: SocketTimeoutException, last hour", "Type orders, the subject of read-again")
        assert await dead_letters.counted(link, "orders") == Counter()
        await it.type("orders")
        await it.press("enter", shows="operation 1 (redrive orders.dlt) is done: 12 sent, 1 stay, 0 left")
    assert await dead_letters.counted(link, "orders") == Counter(b'{"n": %d}' % n for n in range(12))


async def test_the_reason_is_shown_if_it_does_not_go_on(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(100, 40), shows="orders.dlt") as it:
        await it.command("redrive topic orders.dlt where 'has(value.n)'")
        await it.shows("Type orders, the subject of read-again")
        refused = faults.Fault(faults.Fail(ErrorCode.topic_authorization_failed), api="produce")
        cluster.call(lambda each: each.faults.add(refused))
        await it.type("orders")
        await it.press("enter", shows="does not go on: TOPIC_AUTHORIZATION_FAILED")


async def test_without_the_word_nothing_is_sent(cluster: ThreadedCluster, link: Link) -> None:
    async with driven_on(cluster, size=(80, 24), shows="orders.dlt") as it:
        await it.command("redrive topic orders.dlt to orders", shows="Type orders, the subject of read-again")
        await it.press("escape", shows="nothing was sent")
    assert await dead_letters.counted(link, "orders") == Counter()


async def test_a_row_is_chosen_and_only_its_letters_are_sent(cluster: ThreadedCluster, link: Link) -> None:
    other = dead_letters.spring("orders", 0, 50, "java.io.IOException")
    await dead_letters.write(link, "orders.dlt", 0, [NewRecord(b"k", b"io", other)])
    async with driven_on(cluster, size=(100, 30), shows="orders.dlt") as it:
        await it.command("records orders.dlt", shows='{"n": 11}')
        await it.press("R", shows="14 letters, 13 can be sent")
        await it.shows("SocketTimeoutException", "IOException", "last hour", "1 without headers that name a topic")
        await it.press("enter", "enter", shows=("Type orders, the subject of read-again", "12 letters"))
        await it.press("escape", shows="nothing was sent")
        await it.press("slash")
        await it.type("IOException")
        await it.press("enter", "v", shows="io")  # show the letters of the row
        await it.press("minus", shows="14 letters, 13 can be sent")  # not Esc: it would stop a running search
        await it.press("enter", "enter", shows="Type orders, the subject of read-again")
        await it.type("orders")
        await it.press("enter", shows="is done: 1 sent, 13 stay, 0 left")
        # Another selection may contain the sent letters, which is a warning to accept.
        await it.command("redrive topic orders.dlt where 'has(value.n)'")
        await it.shows("! sent-before: other selections of the topic sent 1 letter", "subject of read-again")
        await it.type("orders")
        await it.press("enter", shows="Type orders.dlt, the subject of sent-before")
        await it.press("escape", shows="nothing was sent")
    assert await dead_letters.counted(link, "orders") == Counter([b"io"])


async def test_a_topic_without_letters_says_so(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(80, 24), shows="orders.dlt") as it:
        await it.command("records orders", shows="no records here")
        await it.press("R", shows="orders has no letters: no record is in it")


async def test_a_reading_that_is_stopped_before_the_first_letter_says_so(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(100, 30), shows="orders.dlt") as it:
        await it.command("records orders.dlt", shows='{"n": 11}')
        held = faults.Fault(faults.Delay(PATIENCE), api="list_offsets")
        cluster.call(lambda each: each.faults.add(held))
        await it.press("R", shows="0 letters are read…; Esc stops")
        await it.press("escape", shows="no letter was read before it was stopped; r reads them again")
        assert "reading…" not in it.text


async def test_hidden_exceptions_are_dots_until_shown(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(100, 30), records=HIDDEN, shows="orders.dlt") as it:
        await it.command("records orders.dlt")
        await it.press("R", shows=("13 letters, 12 can be sent", "••••"))
        await it.press("enter", shows="its exception is hidden")
        await it.press("s", shows="SocketTimeoutException")


async def test_records_are_kept_before_they_are_deleted(cluster: ThreadedCluster, tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    async with driven_on(cluster, size=(120, 30), shows="orders.dlt") as it:
        await it.command(f"delete records topic orders.dlt before 2 keep {file}", shows="2 records kept in")
        await it.command(f"delete records topic orders.dlt before 3 keep {file}", shows="exists already")
    assert [each.value for each in records_of_lines(file.read_bytes())] == [b'{"n": 0}', b'{"n": 1}']
