"""Tests of records in the console: opened from a topic, a partition or a group's offset, with masked contents, and with
records that can't be decoded.
"""

from console.embedded.brokers import ThreadedCluster
from console.model.record_masks import mask_path
from tests.embedded.poisoned import HOSTILE, POISON, poisoned
from tests.support import worlds
from tests.tui.console_app import Driven, driven_on

records = worlds.running(poisoned, scope="module")
"""Provide a cluster with a group that does not get past a record that is not JSON."""
own_records = worlds.running(poisoned)
"""Provide another such cluster, for each test that writes to it."""


def rows(it: Driven) -> list[str]:
    """Return the first line of each record in the list, without the lines in which it continues."""
    return [line for line in it.rows[1:] if line[:8].strip()]


async def test_the_record_that_a_group_stands_on_is_told_apart(records: ThreadedCluster) -> None:
    async with driven_on(records) as it:
        await it.press("6", shows="billing")
        await it.press("enter", shows="orders")
        await it.press("v", shows=("orders-0  from group billing", "00 01 fe"))
        first, *others = rows(it)
        assert "!" in first
        assert f" {POISON} " in first
        assert "binary" in first
        assert not any("!" in line for line in others)
        assert all('{"id"' in line for line in others)
        await it.shows("group billing stands here; its value is unlike the others")
        await it.press("j", "x", shows="skip group billing topic orders partition 0 2")
        await it.press("escape", "k", "x", "enter")
        await it.until(lambda: len(it.app.session.plan) == 1)
        (staged,) = it.app.session.plan.staged
        assert staged.edit.target.group == "billing"
        await it.press("k")
        await it.press("enter", shows=("offset 3", "10 bytes, binary", "00 01 fe 20", "trace", "t-3"))


async def test_a_record_is_edited_and_staged_to_be_written_again(own_records: ThreadedCluster) -> None:
    async with driven_on(own_records, size=(200, 40)) as it:
        await it.command("records orders partition 0 first 5", shows="key-4")
        await it.press("j", "j", "j", "P", shows="its value is not text")
        await it.press("k", "P", shows="produce topic orders partition 0 key")
        await it.press("end")
        await it.press("backspace", "space", "apostrophe", "enter", shows="new records of orders/0")
        await it.until(lambda: len(it.app.session.plan) == 1)
        (staged,) = it.app.session.plan.staged
        (record,) = staged.edit.records.reveal()
        assert (record.key, record.headers) == (b"key-2", ((b"trace", b"t-2"),))
        await it.press("7", shows="1 record")
        await it.press("A", "y")
        await it.until(lambda: not it.app.session.plan)
        await it.command("records orders partition 0 last 1", shows="10")


async def test_newest_and_oldest_text_json_and_hex(records: ThreadedCluster) -> None:
    async with driven_on(records, size=(120, 40)) as it:
        await it.press("2", shows="orders")
        await it.press("v", shows="10 records, 2 partitions")
        assert len(rows(it)) == 10
        # Hostile text is harmless: control and override characters are escaped, and brackets stay.
        assert HOSTILE not in it.text
        await it.press("o", shows="from start")
        await it.press("t", shows="[red]")
        assert "\u202e" not in it.text
        assert "\\u202e" in it.text
        await it.press("t", "t", shows="6b 65 79")
        await it.press("m", shows="13 records")
        statement = "records orders partition 0 where 'value.items[0].price >= 8'"
        await it.command(statement, shows="2 records of 10 looked at")
        assert len(rows(it)) == 2
        await it.press("e", shows=statement)
        await it.press("escape")
        await it.command("records orders partition 0 text nothing-has-this", shows="none of 10 records passes")
        await it.command("records orders partition 9", shows="has no partition 9")


async def test_a_value_is_shown_whole_in_the_details(records: ThreadedCluster) -> None:
    async with driven_on(records, size=(120, 40)) as it:
        await it.command("records orders partition 0 last 1", shows='{"id": 9')
        await it.press("enter", shows='"items": [')
        for part in ("CreateTime", "compression gzip", "key-9", "trace", '"price": 9'):
            assert part in it.text
        await it.press("escape")
        await it.command("records orders partition 1 from offset 2", shows="xxxx")
        await it.press("enter", shows="900,000 bytes")
        assert "null" in it.text


async def test_hidden_contents_are_shown_by_a_key_for_this_view_alone(records: ThreadedCluster) -> None:
    async with driven_on(records, size=(120, 24), records="hidden") as it:
        await it.command("records orders partition 0", shows="••••")
        for secret in ("key-", '"id"', "poison", "t-3"):
            assert secret not in it.text
        await it.press("enter", shows="Value")
        assert "key-" not in it.text
        assert "poison" not in it.text
        await it.press("escape", "s", shows="key-9")
        await it.command("records orders partition 0 first 5", shows="••••")
        assert "key-" not in it.text


async def test_masked_fields_are_on_no_screen_and_in_no_clipboard(records: ThreadedCluster) -> None:
    async with driven_on(records, size=(120, 24), mask=(mask_path("$.**.price"),)) as it:
        await it.command("records orders partition 0", shows=('"id":9,"items":[{"price":"••••"}]', "fields masked"))
        assert "poison" not in it.text
        await it.press("t", "t", "t", shows="as hex")
        assert b'price": 9'.hex(" ") not in it.text
        await it.press("t", "G", "enter", shows='"price": "••••"')
        assert '"price": 9' not in it.text
        await it.press("escape", "y")
        assert it.app.clipboard == '{"id":9,"items":[{"price":"••••"}]}'
        await it.press("s", shows="nothing is hidden in this context")
        statement = "records orders partition 0 where 'value.items[0].price == 9'"
        await it.command(statement, shows="none of 10 records passes")


async def test_a_context_that_never_shows_records_refuses(records: ThreadedCluster) -> None:
    async with driven_on(records, records="never", shows="orders") as it:
        await it.press("v", shows='records = "never"')
        await it.press("escape")
        await it.command("records orders", shows="no records are read")
        assert it.app.navigator.place.view == "topics"


async def test_records_are_read_once_and_again_by_a_key(records: ThreadedCluster) -> None:
    async with driven_on(records) as it:
        await it.command("records orders partition 0 last 3", shows="3 records")
        view = it.app.view
        first = view.inputs()[0]
        await view.read()
        assert view.inputs()[0] is first
        await it.press("r")
        await it.until(lambda: it.app.view.inputs()[0] is not first)
        await it.shows("3 records")


async def test_the_records_of_a_partition(records: ThreadedCluster) -> None:
    async with driven_on(records, size=(120, 24)) as it:
        await it.press("2", shows="orders")
        await it.press("enter", shows="retention.ms")
        await it.press("tab", shows="Leader")
        await it.press("j", "v", shows=("records orders-1  last 10", "3 records, 0–2 of 0–2"))
        await it.press("c", shows=("uncommitted", "3 records"))
        await it.press("f", shows="records orders partition 1 from offset")
