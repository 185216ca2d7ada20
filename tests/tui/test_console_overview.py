"""The overview: the last half hour in lines, on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import parse_fault
from console.embedded.spec import ClusterSpec
from console.model.half_hour import HalfHour, Measure, Sample
from console.present.overview import GAP
from console.tui import watch
from tests.support import worlds
from tests.tui.console_app import Driven, driven_on
from tests.unit.test_throttling import line

COLUMN = 4
"""Samples of a column where there are 45 of them."""


cluster = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("orders", ((1, 2), (3, 1), (2, 3))), down=(3,))
"""Two of three partitions are under-replicated."""


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_last_half_hour_is_drawn_and_leads_to_what_it_shows(
    cluster: ThreadedCluster, size: tuple[int, int]
) -> None:
    async with driven_on(cluster, size=size) as it:
        await it.press("ctrl+g")
        await it.until(lambda: "overview" in it.lines[2] and it.line("under-replicated  ").split()[1] == "2")
        assert GAP in it.line("events   ")
        assert len(it.line("under-replicated  ").rstrip()) <= size[0]
        await it.press("down", "down", "enter", shows="orders")
        await it.press("escape", shows="under-replicated  ")


async def test_it_begins_with_the_first_answer_whatever_pane_is_shown(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And reads what it needs, as triage does once that has begun."""
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
    """The logs are read whatever pane is open first."""
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


# -- beside the causes -------------------------------------------------------------------------------------------------


async def draw(it: Driven, count: int) -> list[str]:
    """Draw so many samples, the first of which begins a column. Return axis, events and the one measure."""
    samples = tuple(Sample(COLUMN * 10_000_000 + n, {Measure("offline"): 9}) for n in range(count))
    it.app.cluster.half_hour.known = HalfHour(samples)
    it.app.view.update()
    await it.painted()
    axis = it.lines.index(it.line("Last 30 min"))
    return it.lines[axis : axis + 3]


async def unwatched(it: Driven) -> None:
    """Let no poll come between."""
    for each in (it.app.triage, it.app.cluster.half_hour):
        assert each._worker is not None
        each.begin = lambda: None  # type: ignore[method-assign]
        each._worker.cancel()
    await it.until(lambda: not it.app.triage.is_on)


async def test_beside_the_causes_one_column_is_written_when_the_clock_fills_one(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(200, 60), start_pane="now") as it:
        await it.until(lambda: it.line("under-replicated  ").split()[1] == "2")
        await unwatched(it)
        before = await draw(it, COLUMN)
        painted: list[object] = []
        lines = it.app.view.query_one(".half-hour")
        lines.refresh = lambda *regions, **_: painted.extend(regions)  # type: ignore[assignment, method-assign]
        assert (await draw(it, COLUMN), painted) == (before, [])
        del lines.refresh
        after = await draw(it, COLUMN + 1)
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            changed = [x for x, (a, b) in enumerate(zip(old.ljust(200), new.ljust(200), strict=True)) if a != b]
            where = [x for x in changed if number or x > old.index(":", 30) + 3]  # but for the clock
            assert len(where) <= (2 if number else 0), (old, new)
        assert before[2].index(GAP) + 1 == after[2].index(GAP)


async def test_beside_the_causes_it_is_drawn_from_where_details_stand_beside_them(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(149, 40), start_pane="now") as it:
        await it.until(lambda: it.app.triage.verdict is not None)
        await it.settle()
        assert "under-replicated  " not in it.text
        await it.pilot.resize_terminal(150, 40)
        await it.shows("under-replicated  ")
        y = it.lines.index(it.line("under-replicated  "))
        assert GAP in it.lines[y]
        await it.pilot.click(offset=(3, y))
        await it.until(lambda: it.app.navigator.place.view == "topics")
        await it.press("escape")
        await it.pilot.resize_terminal(149, 40)
        await it.until(lambda: "under-replicated  " not in it.text)


# -- of a topic, a group, a broker -------------------------------------------------------------------------------------


async def draw_own(it: Driven) -> None:
    """Give each topic, group and broker two samples of what is shown."""
    known = HalfHour().after(it.app.session.snapshot, it.app.session.clock.now())
    (last,) = known.own
    it.app.cluster.half_hour.known = known._replace(own=(last._replace(slot=last.slot - 1), last))
    it.app.view.update()
    await it.painted()


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_a_broker_and_a_topic_have_their_own_lines(cluster: ThreadedCluster, size: tuple[int, int]) -> None:
    async with driven_on(cluster, size=size, start_pane="now") as it:
        await it.until(lambda: it.line("broker 3") != "" and it.app.triage.observations is not None)
        await unwatched(it)
        await it.press("1", "down", "down", "down")  # past the default and two brokers
        await draw_own(it)
        await it.until(lambda: GAP in it.line("leaders  "))
        assert it.line("out of sync  ").split("out of sync")[1].split()[0] == "2"
        assert it.line("leaders  ").startswith(" leaders")
        await it.press("up")
        await it.until(lambda: it.line("out of sync  ").split("out of sync")[1].split()[0] == "0")
        await it.press("2", "enter", "tab")
        await it.until(lambda: it.app.navigator.place.view == "topic")
        assert "leaders  " not in it.text
        assert max(map(len, it.lines)) <= size[0]
