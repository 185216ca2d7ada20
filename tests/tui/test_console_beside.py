"""Tests of the details of a row: next to the table on a wide screen and below it on a narrow one, in each pane, without
further requests.
"""

import pytest

from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from tests.embedded.poisoned import poisoned
from tests.support import worlds
from tests.tui.console_app import Driven, driven, driven_on

WIDE, NARROW = (160, 45), (149, 45)


cluster = worlds.cluster(ClusterSpec(scenario="incident"), scope="module")


def beside(it: Driven) -> list[str]:
    """Return the lines of the details that are next to the table; empty if no details are there."""
    below = it.app.view.query_one(".details")
    region = below.region
    return [line[region.x :].rstrip() for line in it.lines[region.y : region.bottom]] if below.display else []


def below(it: Driven) -> list[str]:
    """Return the lines of the details that are below the table, over the whole width; empty if no details are there."""
    region = it.app.view.query_one(".details").region
    shown = it.app.view.query_one(".details").display and region.x == 0 and region.width == it.app.size.width
    return it.lines[region.y : region.bottom] if shown else []


async def shows_beside(it: Driven, *texts: str) -> None:
    await it.until(lambda: all(any(text in line for line in beside(it)) for text in texts))


async def test_what_is_wrong_with_a_topic_what_it_sets_and_who_reads_it(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=WIDE) as it:
        await it.press("2")
        await it.filter("logistics.shipments")
        await shows_beside(
            it,
            "logistics.shipments ─",
            "12 partitions under-replicated",
            "leader ",
            "missing 2",
            "it sets nothing itself",
            "Read by",
        )
        await it.press("escape")
        await it.filter("checkout.payments")
        await shows_beside(it, "checkout.payments ─", "min.insync.replicas", "2592000000  30 d", "billing")
        await it.command("set topic checkout.payments retention.ms=2h")
        await shows_beside(it, "→ 7200000  2 h")
        await it.pilot.resize_terminal(*NARROW)
        await it.until(lambda: "checkout.payments ─" in below(it)[0])
        assert any("billing" in line for line in below(it))
        await it.pilot.resize_terminal(*WIDE)
        await shows_beside(it, "billing")


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40)])
async def test_a_narrow_screen_has_the_details_in_the_lines_that_the_list_leaves(
    cluster: ThreadedCluster, size: tuple[int, int]
) -> None:
    """On a narrow screen the details are in the lines below the list, and begin with the columns for which the table
    has no space.
    """
    async with driven_on(cluster, size=size) as it:
        await it.press("5")
        await it.until(lambda: any("grants" in line for line in below(it)))
        await it.press("2")
        await it.filter("checkout.payments")
        await it.until(lambda: bool(below(it)) and "checkout.payments ─" in below(it)[0])
        assert any("min.insync.replicas" in line for line in below(it))
        hidden = not any("Grps" in line for line in it.lines[:4])
        # The console reads the groups at the same time.
        await it.until(lambda: any(line.startswith(" ") and "Grps " in line for line in below(it)) is hidden)
        await it.press("escape", "3")
        await it.filter("checkout.payments")
        await it.until(lambda: bool(below(it)) and any("30 d" in line for line in below(it)))
        assert it.line("▸").split()[1:3] == ["topic", "checkout.payments"]


async def test_a_list_that_fills_the_screen_keeps_its_lines(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(80, 24)) as it:
        await it.press("2")
        await it.until(lambda: "platform" in it.text or len([line for line in it.lines if "checkout." in line]) > 4)
        await it.settle()
        assert not below(it)
        await it.press("i")
        await it.settle()
        assert not below(it)


async def test_a_wide_table_of_few_rows_keeps_its_columns_and_has_its_details_below(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(170, 40)) as it:
        await it.press("1", "j")
        await it.until(lambda: "leader, epoch" in it.text)
        await it.settle()
        assert "Over" in it.lines[3]
        assert "›" not in it.lines[3]
        # The space below has too few lines for the details, so the console shows them next to the table.
        await it.press("5")
        await shows_beside(it, "grants")


async def test_the_plan_has_its_commands_where_it_leaves_space(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(120, 40)) as it:
        await it.command("set topic checkout.refunds retention.ms=1h")
        await it.press("7")
        await it.until(lambda: any("set topic checkout.refunds retention.ms=" in line for line in below(it)))
        await it.pilot.resize_terminal(*WIDE)
        await shows_beside(it, "the plan as a script", "set topic checkout.refunds retention.ms=")
        await it.press("x")
        await it.until(lambda: not it.app.view.query_one(".details").display)


async def test_what_stands_beside_a_quota_a_group_an_entity_an_acl_and_a_feature(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=WIDE) as it:
        await it.press("4", "j")
        await shows_beside(it, "effective for", "produce", "consume")
        await it.press("6")
        await it.filter("year-end-report")
        await shows_beside(it, "Empty  0 members", "checkout.orders/0")
        lags = [int(line.split()[1].replace(",", "")) for line in beside(it) if "/" in line]
        assert len(lags) == 18
        assert lags == sorted(lags, reverse=True)
        await it.press("3", "j")
        await shows_beside(it, "broker 1 ─", "leader.replication.throttled.rate", "1 MiB/s")
        await it.filter("logger 1")
        await shows_beside(it, "loggers at INFO")
        await it.press("5")
        await it.filter("mirror cluster")
        await shows_beside(it, "allow User:mirror", "grants", "without it", "unless")
        await it.press("1", "tab", "tab")
        await it.filter("kraft.version")
        await shows_beside(it, "kraft.version  off", "controllers can be added and removed")


records = worlds.running(poisoned, scope="module")


async def test_a_record_whole(records: ThreadedCluster) -> None:
    async with driven_on(records, size=WIDE) as it:
        await it.command("records orders partition 0 first 5")
        await shows_beside(it, "orders-0 offset 0", '"id": 0', "trace", "CreateTime")
        await it.press("j", "j", "j")
        await shows_beside(it, "orders-0 offset 3", "10 bytes, binary")
        await it.command("records orders partition 1")
        await shows_beside(it, "orders-1 offset 0", "\\u202e[red]gnp")


async def test_a_hidden_record_nowhere(records: ThreadedCluster) -> None:
    async with driven_on(records, size=WIDE, records="hidden") as it:
        await it.command("records orders partition 0 first 5")
        await shows_beside(it, "orders-0 offset 0", "••••")
        assert '"id"' not in it.text
        assert "key-" not in it.text


@pytest.mark.parametrize(("pane", "first", "last"), [("2", "audit ─", "payments ─"), ("3", "broker <default> ─", "─")])
async def test_the_cursor_asks_no_broker(pane: str, first: str, last: str) -> None:
    async with driven(size=WIDE) as it:
        await it.press(pane)
        await shows_beside(it, first)
        await it.press("p", shows="paused")
        before = [*it.client.asked]
        await it.press("G")
        await it.until(lambda: last in beside(it)[0] and first not in beside(it)[0])
        assert it.client.asked == before
