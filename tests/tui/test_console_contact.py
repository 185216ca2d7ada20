"""Tests of a cluster that stops answering: the console shows since when, draws no conclusions from old values, and
reconnects by itself.
"""

import asyncio
import re
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from console.admin.errors import BrokerError, RequestTimedOut
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Delay, Effect, Fault, Garbage
from console.embedded.spec import ClusterSpec
from console.model.failure import Failure
from console.session import scheduler
from console.tui import polling
from console.tui.watch import Watch
from tests.support import worlds
from tests.tui.console_app import Driven, cluster, driven, driven_on
from tests.tui.model_client import ModelClient

FOR_EVER = 3600.0
ON_A_SCREEN = polling.PATIENCE
SINCE = re.compile(r"! STALE since \d\d:\d\d:\d\d")
NO_ANSWER = RequestTimedOut(Failure("TIMED_OUT", "no answer within 5 s", "Look at that broker's load."))


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the console count a cluster as silent after 0.3 seconds."""
    monkeypatch.setattr(polling, "PATIENCE", 0.3)


incident = worlds.cluster(ClusterSpec(scenario="incident"))
"""Provide a cluster with under-replicated partitions, in which nothing changes."""


def declare(running: ThreadedCluster, effect: Effect, **which: object) -> None:
    """Add a fault to the cluster. which: the requests that it affects."""
    running.call(lambda one: one.faults.add(Fault(effect, **which)))  # type: ignore[arg-type]


def colors(it: Driven) -> set[str]:
    """Return the set of the colours of all texts in the view."""
    top, bottom = it.app.view.region.y, it.app.view.region.bottom
    strips = it.app.screen._compositor.render_strips()[top:bottom]
    return {
        str(segment.style.color)
        for strip in strips
        for segment in strip
        if segment.text.strip() and segment.style and segment.style.color
    }


def _hang(running: ThreadedCluster) -> None:
    declare(running, Delay(FOR_EVER))


def _answer(running: ThreadedCluster) -> None:
    running.call(lambda one: one.faults.clear())


def _stop(running: ThreadedCluster) -> None:
    for broker in (1, 2, 3):
        running.run(lambda one, id_=broker: one.broker_down(id_))


def _start(running: ThreadedCluster) -> None:
    for broker in (1, 2, 3):
        running.run(lambda one, id_=broker: one.broker_up(id_))


@pytest.mark.parametrize(("silence", "end"), [(_hang, _answer), (_stop, _start)], ids=["hangs", "refuses"])
async def test_a_cluster_that_is_gone_is_stale_and_nothing_is_concluded(
    incident: ThreadedCluster,
    silence: Callable[[ThreadedCluster], None],
    end: Callable[[ThreadedCluster], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a busy machine healthy brokers may answer later than the short patience, so shorten it only when they fall
    # silent.
    short = polling.PATIENCE
    monkeypatch.setattr(polling, "PATIENCE", ON_A_SCREEN)
    async with driven_on(incident, size=(120, 24), shows=("URP 12", "live")) as it:
        await it.press("1", shows="active controller")
        before = colors(it)
        monkeypatch.setattr(polling, "PATIENCE", short)
        silence(incident)
        await it.until(lambda: SINCE.search(it.lines[0]) is not None)
        for word in ("live", "URP", "OFFLINE", "ctrl", "brokers"):
            assert word not in it.lines[0]
        assert "no KRaft quorum" not in it.text
        assert "active controller 1" in it.text, "what was known stays, without its colours"
        assert "1 ctrl" in it.text
        assert colors(it) < before
        for pane in "2456":
            await it.press(pane)
            assert SINCE.search(it.lines[0])
            assert "no KRaft quorum" not in it.text
        end(incident)
        await it.press("1")
        await it.until(lambda: "live" in it.lines[0])
        await it.shows("active controller")
        await it.until(lambda: colors(it) >= before)


async def test_answers_that_are_older_than_the_loss_do_not_make_the_cluster_live() -> None:
    class Late(ModelClient):
        answer: asyncio.Event | None = None

        async def run(self, operation: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
            late = self.answer
            if late is not None and operation.__name__ == "describe_configs":  # the view's last request
                await late.wait()
                return self._describe_configs(*args, **options)
            return await super().run(operation, *args, **options)

        def _silent_brokers(self, _within: float) -> frozenset[int]:
            raise NO_ANSWER

    async with driven(client := Late(cluster())) as it:
        await it.shows("live")
        answer = client.answer = asyncio.Event()
        await it.until(lambda: SINCE.search(it.lines[0]) is not None)
        client.lost, client.answer = NO_ANSWER, None  # for all further requests
        states: list[bool] = []
        write_header = it.app.frame.write_header

        def written() -> None:
            states.append(it.app.reading.contact.is_current)
            write_header()

        it.app.frame.write_header = written  # type: ignore[method-assign]
        tried = client.asked.count("silent_brokers")
        answer.set()
        await it.until(lambda: client.asked.count("silent_brokers") >= tried + 4)
        assert states, "the answers were taken"
        assert not any(states)
        assert SINCE.search(it.lines[0])


async def test_what_answered_is_live_while_a_broker_hangs_at_the_first_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one broker hangs at the start, the header's request for the brokers never ends. The console nevertheless
    marks the data that the other brokers returned to triage as live.
    """

    class Hanging(ModelClient):
        async def run(self, operation: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
            by_triage = any(each.filename == scheduler.__file__ for each in traceback.extract_stack())
            if operation.__name__ == "describe_cluster" and not by_triage:
                await asyncio.Event().wait()
            return await super().run(operation, *args, **options)

    monkeypatch.setattr(polling, "PATIENCE", ON_A_SCREEN)
    async with driven(Hanging(cluster()), settings=ConsoleSettings(start_pane="now", refresh=0.2)) as it:
        await it.until(lambda: "brokers" in it.lines[0])
        assert "live" in it.lines[0]
        assert it.app.reading.contact.answered_at is None


async def test_silence_is_written_once(it: Driven) -> None:
    it.client.lost = NO_ANSWER
    await it.until(lambda: SINCE.search(it.lines[0]) is not None)
    await it.settle()
    shown, written = it.text, []
    driver = it.app._driver
    assert driver is not None
    driver.write = written.append  # type: ignore[method-assign]
    tried = it.client.asked.count("silent_brokers")
    await it.until(lambda: it.client.asked.count("silent_brokers") >= tried + 4)
    assert (it.text, written) == (shown, [])


async def test_one_broker_that_hangs_is_named_and_the_cluster_is_live(incident: ThreadedCluster) -> None:
    async with driven_on(incident) as it:
        await it.press("1", shows="active controller")
        declare(incident, Delay(FOR_EVER), broker=2)
        await it.shows("broker 2 at 127.0.0.1:")
        assert "does not answer; the others do" in it.text
        assert "live" in it.lines[0]
        _answer(incident)
        await it.until(lambda: "does not answer" not in it.text)


async def test_a_view_that_can_not_be_read_says_since_when_and_why(incident: ThreadedCluster) -> None:
    declare(incident, Garbage(whole_frame=True), api="list_groups")
    async with driven_on(incident, shows="URP 12") as it:
        await it.press("6")
        await it.until(lambda: re.search(r"not read since \d\d:\d\d:\d\d: ", it.text) is not None)
        assert "reading…" not in it.text
        assert "trying again by itself; r tries now" in it.text
        assert "live" in it.lines[0], "the cluster itself answers"
        await it.press("2", shows="checkout.carts")
        assert "not read since" not in it.text
        _answer(incident)
        await it.press("6", shows="billing")


async def test_a_view_whose_answer_never_comes_says_since_when(incident: ThreadedCluster) -> None:
    declare(incident, Delay(FOR_EVER), api="describe_acls")
    async with driven_on(incident, shows="URP 12") as it:
        await it.press("5")
        await it.until(lambda: re.search(r"not read since \d\d:\d\d:\d\d: TIMED_OUT", it.text) is not None)
        assert "live" in it.lines[0]


async def test_a_quorum_that_may_not_be_described_is_unknown_and_one_that_is_silent_is_as_it_was() -> None:
    class Moody(ModelClient):
        why: Exception | None = None

        def _describe_quorum(self) -> object:  # type: ignore[override]
            if self.why is not None:
                raise self.why
            return super()._describe_quorum()

    async with driven(Moody(cluster())) as it:
        await it.press("1", shows="active controller 2")
        it.client.why = NO_ANSWER
        it.client.asked.clear()
        await it.until(lambda: it.client.asked.count("describe_quorum") >= 3)
        assert "active controller 2" in it.text
        it.client.why = BrokerError(Failure("CLUSTER_AUTHORIZATION_FAILED", "no Describe on the cluster", ""))
        await it.shows("controller unknown: CLUSTER_AUTHORIZATION_FAILED")
        assert "ctrl ?" in it.lines[0]


async def test_brokers_that_learn_of_no_leader_have_none_in_any_pane(monkeypatch: pytest.MonkeyPatch) -> None:
    async with driven(ModelClient(cluster()), size=(240, 24)) as it:
        await it.press("1", shows="leader,")
        assert "active controller 2" in it.text
        monkeypatch.setattr(Watch, "is_led", False)
        await it.shows("no leader  as of")
        assert "ctrl ?" in it.lines[0]
        assert "leader," not in it.text
        await it.press("tab", shows="led when it was last said")
        assert "no leader  as of" in it.text


async def test_every_pane_is_in_the_line_of_panes_at_any_width() -> None:
    for columns in (40, 60, 64, 80, 120):
        async with driven(size=(columns, 20)) as it:
            for number, name in enumerate(("Br", "To", "Co", "Qu", "AC", "Gr", "Pl", "Hi", "Dr", "Us"), 1):
                assert re.search(rf"{number % 10} ?{name}", it.lines[1]), it.lines[1]
            assert re.search(r"\. ?No", it.lines[1]), it.lines[1]
