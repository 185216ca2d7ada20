"""Tests of the console on a flight record: it shows the state at the chosen time, and can neither stage nor send
edits.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import structs

from console.embedded.brokers import run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.flight.answer import Problem
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.model.failure import Failure
from console.present.graphs import BLOCKS
from console.session.replay import Replay
from console.tui.panes.details import GraphedView
from console.tui.reading import Contact, unread_text
from console.tui.replay import ReplayConsole
from tests.support.recorded_polls import SHORT_SESSIONS, watched
from tests.tui.console_app import Driven

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a flight record of three brokers, during which broker 3 goes down and comes back, and a topic is
    created.
    """
    file = tmp_path_factory.mktemp("record") / "a.flight"
    with run_in_thread(ClusterSpec(brokers=3, static_configs=SHORT_SESSIONS)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3])))

        def step(number: int) -> None:
            if number == 2:
                cluster.run(lambda c: c.broker_killed(3))
            if number == 9:
                cluster.call(lambda c: c.fence(3))  # the session has ended long ago, unless the machine was paused
            if number == 11:
                cluster.run(lambda c: c.broker_up(3))
            if number == 13:
                cluster.call(lambda c: c.state.put_topic(new_topic("refunds", striped([1, 2, 3], 1, 3), [1, 2, 3])))

        asyncio.run(watched(cluster.bootstrap, file, 18, step))
    return file


@asynccontextmanager
async def replaying(file: Path, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Driven]:
    app = ReplayConsole(Replay.of(FlightReader(file), file.name))
    async with app.run_test(size=size) as pilot:
        it = Driven(app, pilot, None)
        await it.until(lambda: app.record.diagnosis.ended)
        await it.shows("REPLAY")
        await it.press("full_stop")
        yield it


def app_of(it: Driven) -> ReplayConsole:
    assert isinstance(it.app, ReplayConsole)
    return it.app


async def test_steps_and_jumps(record: Path) -> None:
    """After a step forward and one back the screen is the same. At each end of the record the console says that there
    is no further step.
    """
    async with replaying(record) as it:
        await it.until(lambda: app_of(it)._shown is not None)
        first = app_of(it).at_ms
        for _ in range(40):
            await it.press("right_curly_bracket")
            if "broker 3 is down" in it.text:
                break
        down = app_of(it).at_ms
        assert first < down
        assert "REPLAY" in it.lines[0]
        await it.press("right_square_bracket")
        after = app_of(it).at_ms
        await it.press("left_square_bracket")
        assert app_of(it).at_ms == down < after
        await it.shows("broker 3 is down")
        await it.press("left_curly_bracket")
        assert app_of(it).at_ms < down
        assert "broker 3 is down" not in it.text
        await it.press(*["left_square_bracket"] * 30, shows="this is the beginning of the record")
        await it.press(*["right_curly_bracket"] * 30, shows="nothing changes later in the record")


async def test_it_opens_where_brokers_had_answered(record: Path, tmp_path: Path) -> None:
    """If a record begins with failed connections, the replay opens at the first answer."""
    reader, file = FlightReader(record), tmp_path / "b.flight"
    first = reader.answer(0)
    writer = FlightWriter(file, structs.replace(reader.header, began_ms=first.at_ms - 9_000))
    writer.add(first._replace(at_ms=first.at_ms - 8_000, body=b"", problem=Problem("Unreachable", "REFUSED", "", "")))
    for answer in reader.answers():
        writer.add(answer)
    writer.close()
    async with replaying(file) as it:
        await it.shows("3 brokers")
        assert app_of(it).at_ms >= first.at_ms


async def test_every_pane_and_the_events_are_of_that_time(record: Path) -> None:
    """In a replay a topic is shown only at times after its creation, in the panes and in the events."""
    async with replaying(record) as it:
        await it.press("2", shows="orders")
        assert "refunds" not in it.text
        await it.press(*["right_square_bracket"] * 60, shows="refunds")
        await it.press(*["left_square_bracket"] * 60)
        await it.until(lambda: "refunds" not in "\n".join(it.lines[3:20]))
        await it.press("comma")
        await it.press(*["right_curly_bracket"] * 30, shows="broker 3")
        assert "came and went" in it.text
        await it.press(*["left_square_bracket"] * 60)
        await it.until(lambda: "came and went" not in it.text)


async def test_it_plays_and_a_time_can_be_named(record: Path) -> None:
    async with replaying(record) as it:
        before = app_of(it).at_ms
        await it.press("p", "p", shows="×10")
        await it.until(lambda: app_of(it).at_ms == app_of(it).record.diagnosis.ends_ms)
        assert before < app_of(it).at_ms
        await it.shows("paused")
        app = app_of(it)
        ends = app.record.diagnosis.ends_ms
        await it.command("at 1s")
        assert ends - 6000 < app.at_ms <= ends - 1000
        await it.command("at 2020-01-01T00:00", shows="the record begins at")


async def test_what_is_not_in_the_record_is_said_and_nothing_can_be_staged_or_sent(record: Path) -> None:
    async with replaying(record) as it:
        await it.press("3", shows="NOT_RECORDED")
        assert "by itself" not in it.text
        await it.press("2", shows="orders")
        await it.press("D", shows="a replay can't be changed")
        await it.command("set topic orders retention.ms=1d", shows="READ_ONLY: a replay can't be changed")
        assert not it.app.session.plan.staged


def test_nothing_is_tried_again_in_a_replay() -> None:
    """If no broker answers, a live console says when it tries again. A replay instead names the keys that lead to other
    times.
    """
    gone = Contact(lost=Failure("UNREACHABLE", "no broker answers", ""))
    assert "trying again by itself" in unread_text(gone, False, 80)
    assert unread_text(gone, False, 80, "replay").endswith("[ ] { } and :at TIME show other times of the record")


async def test_the_time_line_fits(record: Path) -> None:
    for width in (80, 120):
        async with replaying(record, (width, 24)) as it:
            line = it.line("█")
            assert len(line) <= width
            assert line.rstrip().endswith("paused")


async def test_the_half_hour_beside_the_causes_is_that_before_the_time_that_is_shown(record: Path) -> None:
    async with replaying(record, (200, 60)) as it:

        def ends() -> set[int]:
            """Return the times at which the drawings end, as seconds of the day: the one of all causes and that of the
            selected cause.
            """
            titles = [line.split() for line in it.lines if " Last 2" in line]
            clocks = [next(word for word in words[words.index("Last") :] if word.count(":") == 2) for words in titles]
            return {3600 * h + 60 * m + s for h, m, s in (map(int, clock.split(":")) for clock in clocks)}

        def shown() -> set[int]:
            now, view = it.app.session.clock.now().astimezone(), it.app.view
            assert isinstance(view, GraphedView)
            second = 3600 * now.hour + 60 * now.minute + now.second
            return {second // column * column for column in view.column_seconds}

        def out_of_sync() -> int:
            return sum(topic.under_replicated for topic in it.app.session.snapshot.topics.values())

        def value() -> str:
            """Return the value of the graph: next to its title, or in its last line."""
            first, behind = (it.lines.index(it.line(title)) for title in ("under-replicated  ", "offline  "))
            return it.lines[behind - 1].split()[0] if behind - first > 1 else it.lines[first].split()[1]

        await it.until(lambda: ends() == shown())
        assert it.line("under-replicated  ").rstrip()[-1] in BLOCKS
        seen = set()
        while "end of the record" not in it.text:
            await it.press("right_square_bracket")
            await it.until(lambda: ends() == shown())
            if "topics" in it.app.session.snapshot.read_at:
                seen.add(out_of_sync())
                # the value at the cursor's time, not of the sample at the start of the column's ten seconds
                assert value() == str(out_of_sync())
        assert len(seen) > 1
