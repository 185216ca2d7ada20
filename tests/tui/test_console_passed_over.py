"""Tests of commands that skip or delete records: with dead letters and files, with several statements in a line, and
with reads by the panes in between.
"""

from pathlib import Path

import pytest

from console.admin.link import Link
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.cluster import LogRange
from console.model.new_records import NewRecord
from console.plan.edits import TrimLog, WriteRecords
from tests.support import dead_letters, worlds
from tests.tui.console_app import Driven, driven_on

SKIP = "skip group billing topic orders partition 0"
TO = "to topic orders.dlt"
DELETE = "delete records topic orders partition 0 before"


cluster = worlds.cluster(
    ClusterSpec(brokers=1),
    worlds.topic("orders", [(1,)]),
    worlds.topic("orders.dlt", [(1,)]),
    worlds.group("billing", {("orders", 0): 1}),
)
link = worlds.link("cluster")


@pytest.fixture(autouse=True)
async def filled(link: Link) -> None:
    """Write two records to `orders`. The group billing has committed offset 1, the offset of the second record. The
    topic `orders.dlt` is empty.
    """
    await dead_letters.write(link, "orders", 0, [NewRecord(b"a", b"0"), NewRecord(b"b", b"1")])


def letters(it: Driven) -> list[WriteRecords]:
    """Return the edits in the plan that write dead letters."""
    return [each for each in it.edits if isinstance(each, WriteRecords)]


async def test_statements_on_one_line_write_all_their_records(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(120, 30), shows="orders.dlt") as it:
        await it.command(f"{DELETE} 1 {TO}; {SKIP} {TO}; produce topic orders.dlt value p", shows="staged: 5 edits")
        assert [each.number for each in letters(it)] == [0, 1, 2]
        await it.press("u", shows="undone; 0 edits")  # one step takes back the whole line
        # Both skips are of the same record, and only one of them sends a letter.
        await it.command(f"{SKIP} {TO}; {SKIP} 1", shows="staged: 2 edits")
        await it.press("u", shows="undone; 0 edits")
        await it.command(f"{SKIP} {TO}; reset group billing topic orders partition 0 to offset 0", shows="refused")
        assert it.edits == []


async def test_letters_and_the_deletion_are_of_one_snapshot(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(120, 30), shows="orders.dlt") as it:
        # A pane's poll reads the log's range after a producer has written a third record.
        longer = dead_letters.with_range(("orders", 0), LogRange(0, 3))
        has_read = dead_letters.learnt_meanwhile(cluster, it.app.session, longer)
        await it.command(f"{DELETE} latest {TO}", shows="staged: 2 edits")
        assert has_read.is_set()
        (batch,) = letters(it)
        assert [each.before for each in it.edits if isinstance(each, TrimLog)] == [len(batch.sizes)] == [2]


async def test_a_skip_is_not_staged_once_its_group_went_on(cluster: ThreadedCluster) -> None:
    """If the group commits a later offset after a skip's record was read, while a later statement in the line still
    reads, the skip is not staged.
    """
    async with driven_on(cluster, size=(160, 30), shows="orders.dlt") as it:
        went_on = dead_letters.gone_on("billing", ("orders", 0), 2)
        has_read = dead_letters.learnt_meanwhile(cluster, it.app.session, went_on)
        await it.command(f"{SKIP} {TO}; set topic orders retention.ms=1d", shows="changed before this was staged")
        assert has_read.is_set()
        assert it.edits == []


async def test_a_file_is_told_also_if_nothing_is_staged(cluster: ThreadedCluster, tmp_path: Path) -> None:
    async with driven_on(cluster, size=(160, 30), shows="orders.dlt") as it:
        await it.command(f"{SKIP} keep {tmp_path}/a; set topic nowhere retention.ms=1")
        await it.shows("nowhere", "1 record kept in", "nothing was staged")
        assert it.edits == []
        await it.press("escape")
        await it.command(f"{SKIP} keep {tmp_path}/b; records orders; {SKIP} 1", shows="not needed: is staged already")
        assert "kept in" not in it.text
