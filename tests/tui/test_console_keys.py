"""Tests of keys, the command bar, filters, the regular refresh, and errors."""

import asyncio
from pathlib import Path

import pytest

from console.admin.errors import AuthenticationFailed, Unreachable
from console.contexts.console_settings import ConsoleSettings, KeyRemap
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from console.model.failure import Failure
from console.tui.keymap import KEYS
from console.tui.screens import TextView
from tests.support import worlds
from tests.tui.console_app import Driven, cluster, driven, driven_on
from tests.tui.model_client import ModelClient
from widgets.cells import cell_width

ORDERS = topic_resource("orders")
REFUSED = Failure("UNREACHABLE", "127.0.0.1:9: nothing listens there (connection refused)", "Check the port.")


async def test_what_is_typed_ahead_goes_where_the_key_before_it_led(it: Driven) -> None:
    # Send all keys at once, as over a slow link: the table must not get any of these letters.
    await it.press("7", "colon", *"delete", "space", *"topic", "space", *"orders", "enter")
    await it.shows("staged: topic orders")
    assert it.app.navigator.place.view == "plan"
    assert len(it.app.session.plan) == 1


SILENT = {"refresh", "back", "last", "topics", "internal"}
"""Actions whose keys have no effect in this test: all data is fresh, there is no former place, the pane is open
already, and all topics are shown.
"""


def shown(it: Driven) -> tuple[object, ...]:
    """Return everything that a key can change: the lines of the screen, the place, the command bar, the dialogs, and
    the plan.
    """
    return it.lines, it.app.navigator.place, it.app.bar.line.is_open, len(it.app.screen_stack), it.app.session.plan


def asks(it: Driven) -> bool:
    """Return whether work is in progress that may end with a question to the user."""
    return any(worker.name == "question" and not worker.is_finished for worker in it.app.workers)


brokers = worlds.cluster(ClusterSpec(scenario="quiet", live=False))
"""Provide a cluster that has rows for each pane."""


async def test_every_key_of_every_view_does_something_or_says_why_not(brokers: ThreadedCluster) -> None:
    before_all = brokers.call(lambda running: running.state.view.offset)
    async with driven_on(brokers, size=(100, 30)) as it:
        pressed, silent = set(), set()
        for number in "1234567":
            await it.press(number)
            view = it.app.navigator.place.view
            for key in KEYS:
                here = view in key.where or ("everywhere" in key.where and number == "2")
                if not here or key.id in ("quit", "pause"):
                    continue
                it.app.message_line.forget()
                before = shown(it)
                await it.press(key.keys.split(",")[0])
                # A key that reads before it asks a question has no effect on the screen yet.
                await it.until(lambda before=before: shown(it) != before or not asks(it))  # type: ignore[misc]
                if shown(it) != before:
                    pressed.add(key.id)
                elif key.id not in SILENT and key.id not in pressed:
                    silent.add((view, key.id))
                if it.app.bar.line.is_open:
                    it.app.bar.line.close()
                while len(it.app.screen_stack) > 1:
                    await it.app.pop_screen()
                await it.settle()
                if it.app.navigator.place.view != view:
                    await it.press(number)
        assert not {(view, key) for view, key in silent if key not in pressed}
        assert {"edit", "apply", "check", "effective", "revoke", "create", "script"} <= pressed
    assert brokers.call(lambda running: running.state.view.offset) == before_all, "a key alone changes nothing"


async def test_keys_can_be_remapped() -> None:
    settings = ConsoleSettings(start_pane="topics", refresh=0.2, keys={"quotas": KeyRemap(("f4", "4"), "here")})
    async with driven(settings=settings) as it:
        await it.shows("orders")
        await it.press("f4", shows="user alice")


async def test_a_filter_holds_while_it_is_typed_and_goes_with_escape(it: Driven) -> None:
    await it.press("slash")
    await it.type("pay")
    assert "payments" in it.text
    assert "orders" not in it.text
    assert "1 of 3" in it.text
    await it.press("enter")
    assert "/pay" in it.lines[2]
    await it.press("escape")
    assert "orders" in it.text
    await it.press("slash")
    await it.type("!pay")
    assert "payments" not in it.text
    await it.press("escape")
    assert "payments" in it.text
    await it.filter("/(", shows="not a regular expression")


async def test_sorting_by_a_letter(it: Driven) -> None:
    await it.press("P", shows="Part▾")
    rows = [it.lines.index(it.line(name)) for name in ("orders", "audit", "payments")]
    assert rows == sorted(rows)
    await it.press("P")
    rows = [it.lines.index(it.line(name)) for name in ("payments", "audit", "orders")]
    assert rows == sorted(rows)
    await it.press("P")
    assert "Part▴" not in it.text
    assert "Part▾" not in it.text


async def test_an_error_in_a_command_stays_in_the_bar_with_its_place(it: Driven) -> None:
    await it.command("set topic orders retention.ms=soon", shows="retention.ms")
    assert it.app.bar.line.is_open
    assert it.app.bar.line.text == "set topic orders retention.ms=soon"
    await it.press("escape")
    await it.command("set topic ordrs retention.ms=1d", shows="orders")
    assert it.app.bar.line.is_open
    await it.press("escape")
    await it.command("frobnicate")
    assert it.app.bar.line.is_open
    assert not it.app.session.plan


async def test_the_palette_runs_an_action_by_its_name_and_completion_offers_keys(it: Driven) -> None:
    await it.press("ctrl+p")
    await it.type("quota", shows="The quotas of users")
    await it.press("enter", shows="user alice")
    await it.press("colon")
    await it.type("set topic orders ret", shows="retention.ms=")
    await it.press("tab")
    assert it.app.bar.line.text == "set topic orders retention.ms="


async def test_queries_are_answered_above_the_panes_and_a_filter_that_nothing_passes_says_how_to_go_on(
    it: Driven,
) -> None:
    await it.command("effective user alice client checkout", shows="5 MB/s")
    await it.press("escape")
    await it.command("show topic orders", shows="604800000")
    await it.press("escape")
    await it.command("help set", shows="Examples")
    await it.press("escape", shows="? help")
    await it.filter("zzz", shows="no row passes /zzz")


async def test_panes_by_name_with_a_filter(it: Driven) -> None:
    await it.command("quotas alice", shows="user alice")
    assert "client <default>" not in it.text.split("effective")[0]
    await it.command("topics pay", shows="payments")
    assert "orders" not in it.text
    await it.command("q")
    assert it.app._exit


async def test_help_lists_the_keys_of_the_view_with_reasons() -> None:
    async with driven(size=(100, 78)) as it:
        await it.press("question_mark", shows=("keys: topics", "Show or hide internal topics"))
        assert "there is nothing to undo" in it.line("Undo the last change")
        await it.shows("O over")
        await it.press("escape", shows="payments")


async def test_copying_goes_through_the_terminal(it: Driven) -> None:
    await it.press("j", "y")
    assert it.app.clipboard == "orders"
    await it.press("enter", shows="2 overrides")
    await it.press("j", "y")
    assert it.app.clipboard == "retention.ms=604800000"


async def test_a_terminal_that_takes_no_copies_gets_a_private_file(
    monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    monkeypatch.setenv("TERM", "linux")
    file = own_home / ".local" / "state" / "kac" / "copied"
    async with driven() as it:
        await it.press("j", "y", shows="this terminal takes no copies")
        assert file.read_text() == "orders\n"
        assert file.stat().st_mode & 0o777 == 0o600
        await it.press("question_mark", shows="keys: topics")
        await it.press("y", shows="this terminal takes no copies")
        assert "keys: topics" not in file.read_text()
        assert "Show or hide internal topics" in file.read_text()


async def test_a_change_by_somebody_is_marked_and_the_cursor_stays(it: Driven) -> None:
    await it.press("G")
    await it.until(lambda: it.line("orders").split()[3] == "2")
    it.client.cluster.configs[ORDERS]["flush.ms"] = "5"
    it.client.cluster.topics["aaa"] = 1
    await it.shows("aaa")
    await it.until(lambda: ":" in it.line("orders"))
    assert it.line("payments").startswith("▸")
    await it.press("r")
    await it.until(lambda: ":" not in it.line("orders"))


async def test_a_pause_reads_nothing_until_it_ends(it: Driven) -> None:
    await it.press("p", shows="paused at")
    assert "paused" in it.lines[0]
    await it.settle()
    await it.until(lambda: it.app.reading.resting)
    asked = len(it.client.asked)
    it.client.cluster.topics["late"] = 1
    await asyncio.sleep(0.6)
    assert len(it.client.asked) == asked
    assert "late" not in it.text
    await it.press("r", shows="late")
    await it.press("p", shows="live again")


async def test_a_hidden_view_reads_nothing(it: Driven) -> None:
    await it.press("4", shows="user alice")
    await it.press("5", shows="no ACLs")
    it.client.asked.clear()
    await it.until(lambda: it.client.asked.count("describe_acls") >= 3)
    assert "describe_quotas" not in it.client.asked


async def test_a_cluster_that_is_not_there_is_told_of_calmly_and_tried_again() -> None:
    client = ModelClient(cluster(), lost=Unreachable(REFUSED))
    async with driven(client, settings=ConsoleSettings(start_pane="topics", refresh=0.2)) as it:
        await it.shows("nothing listens there (connection refused)", "Check the port.", "r tries now")
        await it.press("4", shows="nothing listens there (connection refused)")
        await it.press("2")
        client.lost = None
        await it.shows("payments")
        await it.until(lambda: "not connected" not in it.text)


async def test_a_cluster_that_goes_away_keeps_what_was_read_and_what_is_staged(it: Driven) -> None:
    await it.command("set topic orders retention.ms=1d")
    it.client.lost = Unreachable(REFUSED)
    await it.shows("not connected: UNREACHABLE")
    assert "payments" in it.text
    assert len(it.app.session.plan) == 1
    await it.press("7", "c", shows="not checked")
    assert len(it.app.session.plan) == 1
    it.client.lost = None
    await it.press("2")
    await it.until(lambda: "not connected" not in it.text)


async def test_wrong_credentials_are_not_tried_again_by_themselves() -> None:
    why = Failure("AUTHENTICATION_FAILED", "bob was refused", "Check the password.")
    client = ModelClient(cluster(), lost=AuthenticationFailed(why))
    async with driven(client, settings=ConsoleSettings(start_pane="topics", refresh=0.1)) as it:
        await it.shows("bob was refused", "r tries again", "! REFUSED")
        await it.settle()
        asked = len(client.asked)
        await asyncio.sleep(0.5)
        assert len(client.asked) == asked
        client.lost = None
        await it.press("r", shows="payments")
        client.lost = AuthenticationFailed(why)
        await it.press("r")
        await it.shows("refused; r tries again: AUTHENTICATION_FAILED: bob was refused", "payments", "STALE since")


async def test_a_pane_without_the_right_says_so_and_the_others_go_on() -> None:
    from console.admin.errors import BrokerError

    class Denied(ModelClient):
        def _describe_acls(self) -> object:
            raise BrokerError(
                Failure("SECURITY_DISABLED", "No Authorizer is configured.", "Set authorizer.class.name.")
            )

    async with driven(Denied(cluster())) as it:
        await it.press("5", shows="ACLs not read: SECURITY_DISABLED")
        await it.press("4", shows="user alice")


async def test_a_mistake_of_ours_in_a_read_is_said_and_the_loop_goes_on() -> None:
    class Broken(ModelClient):
        broken = True

        def _describe_quotas(self) -> object:
            if self.broken:
                raise ZeroDivisionError
            return super()._describe_quotas()

    client = Broken(cluster())
    async with driven(client) as it:
        await it.press("4", shows="something went wrong in kac itself")
        client.broken = False
        await it.shows("user alice")


async def test_the_mouse_works_too(it: Driven) -> None:
    await it.pilot.click("#tabs", offset=(it.lines[1].index("4 Quota") + 2, 0))
    await it.settle()
    await it.shows("user alice")
    await it.pilot.click("#footer", offset=(it.lines[-1].index("? help"), 0))
    await it.settle()
    await it.shows("keys: quotas")


async def test_the_help_is_read_whole_on_80_columns() -> None:
    async with driven(size=(80, 24)) as it:
        await it.press("question_mark", shows="keys: topics")
        body = it.app.screen.query_one(TextView)
        assert "from the baseline" in " ".join(body.text.split())
        assert all(cell_width(line) <= 78 for line in body.text.splitlines())


async def test_what_is_typed_goes_into_the_line_while_it_is_open_wherever_one_clicks(it: Driven) -> None:
    await it.press("colon")
    await it.type("set topic ")
    y = it.lines.index(it.line("payments"))
    await it.pilot.click(offset=(5, y))
    await it.until(lambda: it.lines[y].startswith("▸"))
    await it.press("x", "D")
    assert it.app.bar.line.text == "set topic xD"
    assert not it.app.session.plan
    await it.pilot.click("#tabs", offset=(it.lines[1].index("4 Quota") + 2, 0))
    await it.shows("user alice")
    await it.press("n")
    assert it.app.bar.line.text == "set topic xDn"


async def test_a_click_on_a_row_beneath_a_filter_keeps_the_filter(it: Driven) -> None:
    await it.press("slash")
    await it.type("a")
    y = it.lines.index(it.line("payments"))
    await it.pilot.click(offset=(5, y), times=2)
    await it.until(lambda: it.app.navigator.place.topic == "payments")
    assert not it.app.bar.line.is_open
    await it.press("escape", shows="/a")
    assert [row.name for row in it.app.view.visible_rows()] == ["audit", "payments"]


async def test_a_click_on_a_part_of_the_breadcrumbs_shows_it(it: Driven) -> None:
    await it.press("enter", shows="Partitions")
    for title, view in (("Partitions", "topic"), ("ACLs", "acls"), ("Configs", "configs")):
        await it.pilot.click(offset=(it.lines[2].index(title) + 1, 2))
        await it.until(lambda view=view: it.app.navigator.place.view == view)  # type: ignore[misc]
    about = it.app.navigator.place
    await it.pilot.click(offset=(it.lines[2].index("topic ") + 1, 2))
    await it.settle()
    assert it.app.navigator.place == about
    await it.press("escape")
    assert it.app.navigator.place.view == "topics"
    await it.press("1", shows="Features")
    await it.pilot.click(offset=(it.lines[2].index("Features"), 2))
    await it.until(lambda: it.app.navigator.place.view == "features")


async def test_a_click_chooses_a_row_and_a_double_click_opens_it(it: Driven) -> None:
    y = it.lines.index(it.line("payments"))
    assert it.lines[y].startswith(" ")
    await it.pilot.click(offset=(5, y))
    await it.settle()
    assert it.lines[y].startswith("▸")
    assert it.app.navigator.place.view == "topics"
    await it.pilot.click(offset=(5, y), times=2)
    await it.settle()
    assert it.app.navigator.place.topic == "payments"
    assert it.app.navigator.place.view != "topics"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12)])
async def test_every_view_is_drawn_at_any_size(size: tuple[int, int]) -> None:
    async with driven(size=size) as it:
        for number in "1234567":
            await it.press(number)
            assert it.lines[-1].endswith("? help")
            assert all(len(line) <= size[0] for line in it.lines)
            await it.pilot.resize_terminal(size[0] + 7, size[1] + 3)
            await it.pilot.pause()
            await it.pilot.resize_terminal(*size)
            await it.pilot.pause()
