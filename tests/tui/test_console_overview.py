"""Tests of the graphs of the last half hour: the overview, in which a cursor marks a time, and the graphs in other
panes.
"""

from pathlib import Path

import pytest

from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import parse_fault
from console.embedded.spec import ClusterSpec
from console.model.half_hour import EVERY, HalfHour, Measure, Sample
from console.present import overview
from console.present.graphs import BLOCKS, MOMENT, seconds_for
from console.tui import watch
from tests.support import sample_half_hour, worlds
from tests.tui.console_app import Driven, driven_on
from tests.unit.test_throttling import line

cluster = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("orders", ((1, 2), (3, 1), (2, 3))), down=(3,))
"""Provide a cluster whose broker 3 is down, so that two of three partitions are under-replicated."""


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_last_half_hour_is_drawn_and_leads_to_what_it_shows(
    cluster: ThreadedCluster, size: tuple[int, int]
) -> None:
    async with driven_on(cluster, size=size) as it:
        await it.press("ctrl+g")
        await it.until(lambda: "overview" in it.lines[2] and it.line("under-replicated  ").split()[1] == "2")
        assert it.line("under-replicated  ").rstrip()[-1] in BLOCKS
        assert max(map(len, it.lines)) <= size[0]
        assert len(it.line("under-replicated  ").rstrip()) <= size[0]
        await it.press("down", "down", "enter", shows="orders")
        await it.press("escape", shows="under-replicated  ")


async def test_it_begins_with_the_first_answer_whatever_pane_is_shown(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The samples for the graphs begin with the first answer, whichever pane is open: until triage polls, the console
    itself reads the data that they need.
    """
    monkeypatch.setattr(watch, "SETTLES", 0.0)
    async with driven_on(cluster, start_pane="acls") as it:
        await it.until(lambda: "log_dirs" in it.app.session.snapshot.read_at)
        known = it.app.cluster.half_hour.known
        assert known is not None
        assert not it.app.triage.is_on
        assert known.own[0].slot * 4 <= known.samples[0].slot


async def test_what_throttles_kac_is_drawn_and_what_would_tell_of_others_said(cluster: ThreadedCluster) -> None:
    cluster.call(lambda c: c.faults.add(parse_fault("api=metadata, throttle=10ms")))
    async with driven_on(cluster, start_pane="now") as it:
        await it.until(lambda: it.app.session.snapshot.topics != {})
        it.app.cluster.half_hour.known = None
        await it.press("ctrl+g")
        await it.until(lambda: "kac" in it.line("throttled "))
        assert "/min" in it.line("throttled ")
        await it.press("home", shows="others: by kac --request-log FILE, or a lake")


async def test_clients_that_request_logs_name_are_drawn(cluster: ThreadedCluster, tmp_path: Path) -> None:
    """The graphs show the clients that the brokers' request logs name, whichever pane the console opens with."""
    log = tmp_path / "kafka-request.log"
    log.write_bytes(b"".join(line("loader", 20, second) + b"\n" for second in range(9)))
    async with driven_on(cluster, start_pane="topics") as it:
        it.app.triage.request_logs = [log]
        it.app.triage.begin()
        await it.until(lambda: bool(it.app.triage.observations) and bool(throttled(it)))
        it.app.cluster.half_hour.known = None
        await it.press("ctrl+g")
        await it.until(lambda: "throttled loader" in it.text)
        assert "9/min" in it.line("throttled ")
        await it.press("home", shows="others: by kafka-request.log")


def throttled(it: Driven) -> object:
    observations = it.app.triage.observations
    return observations and observations.last.facts.request_logs.throttled


# -- the cursor in time ------------------------------------------------------------------------------------------------


FIRST = 99_999_996
"""The time slot of the first sample, decades in the past. A column of the graph begins with it, at every width of the
screen.
"""


def put(it: Driven, values: list[float]) -> None:
    """Replace all samples of the console by these values, one for each time slot from `FIRST` on."""
    samples = tuple(Sample(FIRST + n, {Measure("offline"): value}) for n, value in enumerate(values))
    it.app.cluster.half_hour.known = HalfHour(samples)
    it.app.view.update()


async def unwatched(it: Driven) -> None:
    """Stop the console's polls, so that no samples are added."""
    for each in (it.app.triage, it.app.cluster.half_hour):
        each.begin = lambda: None  # type: ignore[method-assign]
    for worker in it.app.workers:
        if worker.name in ("watch", "live"):
            worker.cancel()
    await it.until(lambda: not it.app.triage.is_on)


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)])
async def test_the_cursor_in_time_shows_each_value_and_the_changes_of_its_moment(
    cluster: ThreadedCluster, size: tuple[int, int]
) -> None:
    async with driven_on(cluster, size=size, start_pane="now") as it:
        await it.until(lambda: it.app.triage.verdict is not None)
        await unwatched(it)
        await it.press("ctrl+g")
        each_has = seconds_for(size[0]) // EVERY
        put(it, [float(number) for number in range(12) for _ in range(each_has)])
        await it.until(lambda: it.line("offline").split()[-2:] != [] and "Last" in it.lines[3])
        await it.press("left", shows="at the cursor")
        # The value at the cursor is next to the graph: that of the last column but one, then that of the column before
        # it.
        await it.until(lambda: value(it) == "10")
        await it.press("left", "h")
        await it.until(lambda: value(it) == "8")
        assert MOMENT in it.lines[3]
        at = it.lines[3].index(MOMENT)
        assert it.line("changes")[at] == MOMENT
        assert "nothing changed" in it.text
        put(it, [float(number) for number in range(13) for _ in range(each_has)])
        await it.until(lambda: it.lines[3].find(MOMENT) == at - 1)
        assert value(it) == "8"
        await it.press("l")
        await it.until(lambda: value(it) == "9")
        await it.press("escape")
        await it.until(lambda: "at the cursor" not in it.text)
        assert it.app.navigator.place.view == "overview"
        await it.press("escape")
        await it.until(lambda: it.app.navigator.place.view == "now")


def value(it: Driven) -> str:
    """Return the value that is shown next to the graph, in the line of its title or in its last line."""
    y = it.lines.index(it.line("offline"))
    first, *others = it.lines[y : y + 6]
    last = next((line for line in others if not line[1:20].strip() or line[1:2].isdigit()), "")
    tall = next((line for line in others if line[1:2].isdigit()), last)
    return tall.split()[0] if tall.strip() else first.split()[1]


async def test_enter_on_a_moment_asks_for_a_screen_to_replay_on(cluster: ThreadedCluster) -> None:
    """This console has no terminal that it can suspend for a replay, and says so at Enter on a time.
    `tests/tui/test_look_back.py` tests the replay with a terminal.
    """
    async with driven_on(cluster, size=(120, 40), start_pane="now") as it:
        await it.until(lambda: it.app.triage.verdict is not None)
        await it.press("ctrl+g", shows="under-replicated")
        await it.press("left", shows="at the cursor")
        await it.press("enter")
        await it.until(lambda: "nothing is recorded here" in it.text or "can't be suspended" in it.text)


PANES = ("now", "topics", "groups", "brokers")


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
async def test_the_cursor_in_time_moves_in_the_graphs_of_every_pane(
    incident: ThreadedCluster, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview.half_hour, "own_values", sample_half_hour.own_values)
    async with driven_on(incident, size=size, start_pane="now") as it:
        await it.until(lambda: it.app.triage.verdict is not None)
        await unwatched(it)
        await it.command("watch group billing, broker 1")
        half_hour = it.app.cluster.half_hour
        half_hour.known = sample_half_hour.half_hour(it.app.session.clock.now())
        for pane in (*PANES, "watch"):
            await it.press("ctrl+w" if pane == "watch" else {"now": "full_stop"}.get(pane) or KEY_OF[pane])
            await it.until(lambda pane=pane: it.app.navigator.place.view == pane)  # type: ignore[misc]
            it.app.view.redraw()
            await it.until(lambda: "Last " in it.text)
            assert MOMENT not in it.text, "the cursor is off in another place"
            await it.press("left_parenthesis", shows="at the cursor")
            axes = [line for line in it.lines if "at the cursor" in line]
            for line in axes:
                assert MOMENT in line
            at = half_hour.moment
            assert at is not None
            await it.press("left_parenthesis", "left_parenthesis")
            assert half_hour.moment is not None
            assert half_hour.moment.at == at.at - 2 * at.seconds
            await it.press("right_parenthesis", "right_parenthesis")
            assert half_hour.moment == at
            assert "nothing changed  Enter: replay from here" in it.text
            assert "replay" in it.lines[-1]
        # All panes share the cursor's time: the last pane shows the time that the first one chose.
        await it.press("enter")
        await it.until(lambda: "nothing is recorded here" in it.text or "can't be suspended" in it.text)
        assert it.app.navigator.place.view == "watch"
        await it.press("escape")
        await it.until(lambda: MOMENT not in it.text)
        assert it.app.navigator.place.view == "watch"


KEY_OF = {"topics": "2", "groups": "6", "brokers": "1"}
incident = worlds.cluster(ClusterSpec(scenario="incident"), scope="module")


async def test_where_no_graph_is_on_the_screen_the_keys_say_so(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(120, 40), start_pane="topics") as it:
        await unwatched(it)
        it.app.cluster.half_hour.known = None
        await it.press("left_parenthesis", shows="there is no graph on the screen")
        assert it.app.cluster.half_hour.moment is None


@pytest.mark.parametrize(("pane", "height"), [("topics", 29), ("brokers", 16), ("groups", 18)])
async def test_the_keys_move_in_nothing_that_is_not_drawn(
    incident: ThreadedCluster, pane: str, height: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the list leaves so few lines that its details fill them, the graph is not drawn, and the keys do not move its
    cursor.
    """
    monkeypatch.setattr(overview.half_hour, "own_values", sample_half_hour.own_values)
    async with driven_on(incident, size=(80, height), start_pane="now") as it:
        await it.until(lambda: it.app.triage.verdict is not None)
        await unwatched(it)
        it.app.cluster.half_hour.known = sample_half_hour.half_hour(it.app.session.clock.now())
        await it.press(KEY_OF[pane])
        await it.until(lambda: it.app.navigator.place.view == pane)
        await it.settle()
        it.app.view.redraw()
        await it.painted()
        assert not any(block in it.text for block in BLOCKS)
        await it.press("left_parenthesis", shows="there is no graph on the screen")
        assert it.app.cluster.half_hour.moment is None


async def test_over_a_slow_link_graphs_are_sentences_that_stay_while_values_waver(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ConsoleSettings(start_pane="now", refresh=0.2, slow_link=True)
    async with driven_on(cluster, size=(200, 60), settings=settings) as it:
        await it.until(lambda: it.app.triage.verdict is not None)
        await unwatched(it)
        # Without polls the samples are drawn at once.
        put(it, [100.0, 104.0])
        await it.shows("the number of offline partitions is steady at 104 since ")
        assert not any(block in it.text for block in BLOCKS)
        before = it.lines
        put(it, [100.0, 104.0, 101.0])
        await it.painted()
        assert it.lines == before
        put(it, [100.0, 104.0, 101.0, 300.0])
        await it.shows("the number of offline partitions rose from 100 to 300 since ")
        put(it, [100.0, 104.0, 101.0, 300.0, 290.0])
        await it.painted()
        assert "the number of offline partitions rose from 100 to 300 since " in it.text
        # When the place changes, the present values are drawn.
        await it.press("ctrl+g", shows="the number of offline partitions rose from 100 to 290 since ")
        assert not any(block in it.text for block in BLOCKS)
        await it.press("left", shows="slow_link = true")
        await it.press("enter")
        await it.until(lambda: it.app.navigator.place.view == "topics")


# -- next to the causes ------------------------------------------------------------------------------------------------


async def painted_of(it: Driven, values: list[float]) -> tuple[list[str], int]:
    """Draw these samples. Return the four lines of the graph of the half hour, and how many regions of it were painted
    again.
    """
    parts: list[object] = []
    lines = it.app.view.query_one(".half-hour")
    lines.refresh = lambda *regions, **_: parts.extend(regions)  # type: ignore[assignment, method-assign]
    put(it, values)
    await it.painted()
    del lines.refresh
    # A new height of the graph asks for a layout by the method that was replaced.
    lines.refresh(layout=True)
    await it.until(lambda: any("Last " in line for line in it.lines))
    await it.painted()
    shown = it.lines
    top = next(place for place, line in enumerate(shown) if "Last " in line)
    return shown[top : top + 4], len(parts)


async def test_beside_the_causes_nothing_is_written_between_two_columns(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(200, 60), start_pane="now") as it:
        await it.until(lambda: "under-replicated" in it.text)
        await unwatched(it)
        # The causes name under-replicated partitions before the first sample, while the graphs have no width yet.
        await painted_of(it, [9.0])
        width = it.app.view.query_one(".half-hour").size.width
        each_has = seconds_for(width) // EVERY
        known = [9.0] * 3 * each_has
        await painted_of(it, known)
        before, _ = await painted_of(it, [*known, 5.0])
        assert await painted_of(it, [*known, *[5.0] * each_has]) == (before, 0)
        after, count = await painted_of(it, [*known, *[5.0] * (each_has + 1)])
        assert count > 0
        for old, new in zip(before[1:], after[1:], strict=True):
            assert old.ljust(width)[40:width] == new.ljust(width)[39 : width - 1]


async def test_beside_the_causes_it_is_drawn_from_where_details_stand_beside_them(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(149, 40), start_pane="now") as it:
        await it.until(lambda: it.app.triage.verdict is not None)
        await it.settle()
        assert not it.app.view.query_one(".half-hour").display
        await it.pilot.resize_terminal(150, 40)
        await it.until(lambda: it.app.view.query_one(".half-hour").display)
        await it.shows("under-replicated  ")
        y = it.lines.index(it.line("under-replicated  "))
        await it.pilot.click(offset=(3, y))
        await it.until(lambda: it.app.navigator.place.view == "topics")
        await it.press("escape")
        await it.pilot.resize_terminal(149, 40)
        await it.until(lambda: not it.app.view.query_one(".half-hour").display)


# -- graphs of a topic, a group, a broker ------------------------------------------------------------------------------


async def draw_own(it: Driven) -> None:
    """Give each topic, group and broker two samples, so that its own graph is drawn with its present values."""
    known = HalfHour().after(it.app.session.snapshot, it.app.session.clock.now())
    (last,) = known.own
    it.app.cluster.half_hour.known = known._replace(own=(last._replace(slot=last.slot - 1), last))
    it.app.view.update()
    await it.painted()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_broker_and_a_topic_have_their_own_graphs(cluster: ThreadedCluster, size: tuple[int, int]) -> None:
    async with driven_on(cluster, size=size, start_pane="now") as it:
        await it.until(lambda: it.line("broker 3") != "" and it.app.triage.observations is not None)
        await unwatched(it)
        await it.press("1", "down", "down", "down")  # to the third broker, after the default and two brokers
        await draw_own(it)
        await it.until(lambda: it.line("leaders  ").rstrip()[-1:] in {*BLOCKS})
        assert it.line("out of sync  ").split("out of sync")[1].split()[0] == "2"
        await it.press("up")
        await it.until(lambda: it.line("out of sync  ").split("out of sync")[1].split()[0] == "0")
        await it.press("2", "enter", "tab")
        await it.until(lambda: it.app.navigator.place.view == "topic")
        assert "leaders  " not in it.text
        assert max(map(len, it.lines)) <= size[0]


async def test_beside_a_table_that_leaves_no_lines_stand_its_graphs(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(160, 11), start_pane="now") as it:
        await it.until(lambda: it.app.triage.observations is not None)
        await unwatched(it)
        await it.press("1", "down", "down")
        await draw_own(it)
        await it.shows("── broker 2", "leaders  ")
        title = it.line("── broker 2")
        assert title.index("── broker 2") > 60
        assert title[:60].strip()
        await it.pilot.resize_terminal(160, 40)
        await it.until(lambda: 0 <= it.line("── broker 2").find("── broker 2") < 3)


async def test_below_a_cause_stand_the_graphs_of_what_it_is_about(cluster: ThreadedCluster) -> None:
    """Below the details of a cause are the graphs of its subject, and below them those of the cluster, if the screen
    has lines for them.
    """
    async with driven_on(cluster, size=(120, 40), start_pane="now") as it:
        await it.until(lambda: it.line("broker 3") != "")
        await unwatched(it)
        await draw_own(it)
        await it.shows("leaders  ", "out of sync  ", "offline  ")
        places = [it.lines.index(it.line(text)) for text in ("── broker 3", "leaders  ", "offline  ")]
        assert places == sorted(places)
