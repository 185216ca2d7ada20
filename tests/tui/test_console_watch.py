"""Tests of the pane of watched entities: topics, groups, brokers and connectors in one table."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.half_hour import HalfHour
from console.model.watched import Watched
from console.session.session import Session
from console.tui.app import Console
from console.tui.panes.watch import WatchTable
from tests.support import worlds
from tests.support.running_connectors import SPEC, connect_settings, with_connectors
from tests.tui.console_app import Driven, driven

SETS = {"shop": "broker 1, group nobody, topic orders*, broker 3, topic nothing, connector pg"}
troubled = worlds.cluster(
    ClusterSpec(brokers=3),
    worlds.topic("orders", ((1, 2), (3, 1), (2, 3))),
    worlds.topic("orders.c", ((1, 2),)),
    down=(3,),
    scope="module",
)
connected = worlds.cluster(SPEC, after=with_connectors, scope="module")


@asynccontextmanager
async def opened(
    settings: ConnectionSettings,
    size: tuple[int, int] = (120, 40),
    sets: Mapping[str, str] = SETS,
    watch: str = "",
    start_pane: str = "topics",
) -> AsyncIterator[Driven]:
    with AdminClient(settings) as client:
        session = Session(client, Context("test", "tests", client.settings, watch=sets))
        app = Console(session, ConsoleSettings(start_pane=start_pane, refresh=0.2, watch=watch))
        async with app.run_test(size=size) as pilot:
            yield Driven(app, pilot, client)


def shown(it: Driven) -> list[str]:
    """Return the watched entities that have a row, in the order of the rows."""
    kinds = ("topic ", "group ", "broker ", "connector ", "schema ")
    lines = [line[1:] for line in it.rows[1:]]
    return [" ".join(line.split()[:2]) for line in lines if line.startswith(kinds)]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_it_opens_on_a_set_with_the_worst_first(troubled: ThreadedCluster, size: tuple[int, int]) -> None:
    async with opened(worlds.settings(troubled), size, watch="shop") as it:
        await it.until(lambda: "fenced" in it.row("broker 3 ") and "ok" in it.row("orders.c"))
        await it.until(lambda: "in " in it.row("topic orders "))
        assert "watch  shop" in it.lines[2]
        assert shown(it) == [
            *("broker 3", "group nobody", "topic orders", "topic nothing"),
            *("connector pg", "broker 1", "topic orders.c"),
        ]
        assert "no such group" in it.row("group nobody ")
        assert "no such topic" in it.row("topic nothing ")
        assert "URP 2 of 3" in it.row("topic orders ")
        assert "not read" in it.row("connector pg ")
        assert "leads" in it.row("broker 1 ")
        await it.press("exclamation_mark")
        assert shown(it) == ["broker 3", "group nobody", "topic orders", "topic nothing"]
        assert max(map(len, it.lines)) <= size[0]


async def test_enter_opens_the_subject_in_its_own_pane(troubled: ThreadedCluster) -> None:
    async with opened(worlds.settings(troubled)) as it:
        await it.command("watch topic orders, broker 2, topic nothing", shows="topic orders ")
        await it.until(lambda: "URP" in it.row("topic orders "))
        await it.filter("orders", shows="1 of 3")
        await it.press("enter")
        await it.until(lambda: it.app.navigator.place.view == "topic")
        assert it.app.navigator.place.topic == "orders"
        await it.press("escape", "escape")
        await it.filter("nothing", shows="1 of 3")
        await it.press("enter", shows="topic nothing: no such topic")
        await it.press("escape")
        await it.filter("broker", shows="1 of 3")
        await it.press("enter")
        await it.until(lambda: it.app.navigator.place.view == "brokers")
        assert it.app.view.lines.cursor_key == "2"


async def test_rows_of_other_panes_are_added_and_taken_off(troubled: ThreadedCluster) -> None:
    async with opened(worlds.settings(troubled)) as it:
        await it.until(lambda: "orders.c" in it.text)
        await it.press("ctrl+w", shows="nothing is watched")
        await it.press("2", shows="orders.c")
        await it.press("asterisk", "f", shows="watched: 2 rows")
        await it.press("1", shows="<default>")
        await it.press("g", "f", shows="this can't be watched")
        await it.press("down", "f", shows="watched: broker 1")
        await it.press("ctrl+w")
        await it.until(lambda: sorted(shown(it)) == ["broker 1", "topic orders", "topic orders.c"])
        await it.filter("orders.c", shows="1 of 3")
        await it.press("x", shows="not watched any more: topic orders.c")
        await it.press("escape")
        await it.until(lambda: sorted(shown(it)) == ["broker 1", "topic orders"])
        await it.command("watch topic orders.*", shows="orders.c")
        await it.press("x", shows="nothing is watched")


async def test_commands_open_sets_and_name_those_that_there_are(troubled: ThreadedCluster) -> None:
    async with opened(worlds.settings(troubled), sets={**SETS, "odd": "user alice"}) as it:
        await it.command("watch shop", shows="watch  shop")
        await it.command("watch other", shows="it has shop, odd")
        await it.press("escape")
        await it.command("watch odd", shows="set odd: ")
        assert it.app.cluster.watching().set == "shop"


async def test_a_set_that_is_not_understood_says_why(troubled: ThreadedCluster) -> None:
    async with opened(worlds.settings(troubled), sets={"odd": "user [b]alice"}, watch="odd") as it:
        await it.shows("set odd: ")


async def test_connectors_have_their_tasks_and_the_cause_of_a_failure(connected: ThreadedCluster) -> None:
    settings = worlds.settings(connected, connect=connect_settings(connected))
    async with opened(settings, (160, 40), {}) as it:
        await it.press("ctrl+n", shows="main/broken")
        await it.filter("broken", shows="1 of 3")
        await it.press("f", shows="watched: connector main/broken")
        await it.command("watch connector broken, connector copies, connector gone", shows="no such connector")
        assert shown(it) == ["connector main/broken", "connector gone", "connector main/copies"]
        assert "0/2 running, 2 failed" in it.row("main/broken")
        assert "PAUSED" in it.row("main/copies")
        await it.press("g", "enter", shows="itself")


async def test_a_row_has_its_line_of_the_half_hour(troubled: ThreadedCluster) -> None:
    async with opened(worlds.settings(troubled), (160, 40), watch="shop") as it:
        await it.until(lambda: "leads" in it.row("broker 1 "))
        known = HalfHour().after(it.app.session.snapshot, it.app.session.clock.now())
        (last,) = known.own
        before = (last._replace(slot=last.slot - 2), last._replace(slot=last.slot - 1))
        it.app.cluster.half_hour.known = known._replace(own=(*before, last))
        it.app.view.update()

        def has_line() -> bool:
            line = it.row("broker 1 ").rstrip()
            return line[-1] in "▁▂▃▄▅▆▇█" and line[-1] == line[-2] == line[-3]

        await it.until(has_line)


@pytest.mark.parametrize(("width", "is_wide"), [(160, False), (280, True)])
async def test_a_full_list_keeps_its_lines_of_the_half_hour(
    troubled: ThreadedCluster, width: int, is_wide: bool
) -> None:
    """A list with rows in all lines keeps its graphs of the last half hour. Details are next to the list only if its
    columns keep enough width.
    """
    async with opened(worlds.settings(troubled), (width, 11), watch="shop") as it:
        await it.until(lambda: "leads" in it.row("broker 1 "))
        await it.settle()
        table = it.app.view.query_one(WatchTable)
        assert table.line_count() + table.HEADER_LINES >= table.size.height
        assert it.app.view.has_class("wide") is is_wide
        assert not table.hides_columns(table.size.width)


HOSTILE = ["\x1b[31mred", "[bold]no[/bold]", "a\tb", "‮right", "a, topic b", "*"]


async def test_hostile_names_are_only_text() -> None:
    async with driven() as it:
        watching = it.app.cluster.watching()
        watching.begin([Watched("group", name) for name in HOSTILE])
        await it.press("ctrl+w", shows="no such group")
        assert not set("\x1b\t‮") & set(it.text)
        assert "[bold]no[/bold]" in it.text
        await it.until(lambda: it.text.count("no such group") >= len(HOSTILE))
        await it.command(it.app.view.copied(), shows="no such group")
        assert watching.subjects == tuple(Watched("group", name) for name in HOSTILE)


async def test_at_rest_nothing_is_painted(troubled: ThreadedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no value changes, the console paints nothing. The test watches no topics, because their rates become known
    only after 15 seconds.
    """
    still = {"still": "broker *, group nobody, topic nothing, connector pg"}
    async with opened(worlds.settings(troubled), sets=still, watch="still") as it:
        await it.until(lambda: "disk" in it.row("broker 1 ") and "no such group" in it.text)
        monkeypatch.setattr(HalfHour, "is_due", lambda *_: False)
        reads: list[object] = []
        view: Any = it.app.view
        read = view.read

        async def noted() -> None:
            reads.append(await read())

        monkeypatch.setattr(view, "read", noted)
        await it.until(lambda: len(reads) >= 2)
        painted: list[object] = []
        for each in view.query("*"):
            monkeypatch.setattr(each, "refresh", lambda *regions, **_: painted.extend(regions))
        await it.until(lambda: len(reads) >= 7)
        assert painted == []
