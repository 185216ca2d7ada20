"""The console on a flight record (the brokers' answers over time): every pane at a chosen time, with keys to go to
other times and to play.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from console.admin.client import AdminClient
from console.admin.link import Link
from console.admin.recorded import InstantLoop
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.model.numbers import time_of_day
from console.model.snapshot import Snapshot
from console.present.header import State
from console.present.text import clean
from console.present.time_bar import Span, time_bar
from console.session.replay import RecordedClient, Replay, moment, record_time
from console.session.replay_diagnosis import Moment, ReplayDiagnosis
from console.session.session import Session
from console.session.snapshot_reader import Clock
from console.tui.app import Console
from console.tui.frame import ActiveKeys, Frame
from console.tui.keymap import KeyState
from console.tui.text_lines import TextLines
from console.tui.watch import HalfHourWatch, Watch

if TYPE_CHECKING:
    from console.flight.tape import Tape
    from console.present.overview import Shown
    from console.session.command_history import CommandHistory
    from console.triage.events import Record
    from console.tui.event_watch import EventWatch

T = TypeVar("T")

TICK = 0.1
"""Seconds between two steps of playing."""
SPEEDS = (0, 1, 10)


class ScreenClient:
    """Runs the screen's reads against a record instead of a cluster, on its own thread.

    If the time changes during a read, the read runs again for the new time.
    """

    def __init__(self, tape: Tape, context_settings: Any) -> None:
        self._recorded = RecordedClient(tape, context_settings)
        self._client = AdminClient(context_settings, link=Link(context_settings), loop=InstantLoop())
        self._client.start()
        self.at_ms = 0

    async def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        """Return the result that the operation had at the time that the replay shows. Raises the operation's errors."""
        while True:
            at_ms = self.at_ms
            try:
                result: T = await self._client.run(_at, self._recorded, at_ms, operation, args, options)
            except Exception:
                if at_ms == self.at_ms:
                    raise
                continue
            if at_ms == self.at_ms:
                return result

    def close(self) -> None:
        """Stop the thread."""
        self._client.close()


async def _at(
    _link: Link,
    recorded: RecordedClient,
    at_ms: int,
    operation: Callable[..., Awaitable[T]],
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> T:
    recorded.go_to(at_ms)
    return await recorded.run(operation, *args, **options)


class RecordedWatch(Watch):
    """The verdict of triage at the time that the replay shows, in place of `Watch`."""

    def begin(self) -> None:
        """Do nothing: `ReplayDiagnosis` computes all verdicts of the record."""

    def take(self, moment: Moment) -> None:
        """Show the verdict of a moment (one poll of the record)."""
        self.observations, self.verdict, self.lost = moment.observations, moment.verdict, moment.lost
        self._first.set()
        self._show()

    async def _keep_muted(self) -> None:
        """Do nothing: mutes of a replay are not stored."""


class RecordedHalfHour(HalfHourWatch):
    """The graphs of the half hour before the time that the replay shows."""

    def begin(self) -> None:
        """Do nothing: the samples of a record are computed together with its verdicts."""

    def shown(self) -> Shown:
        """Return the data of the graphs, up to the time shown."""
        # Live, a column waits until its samples are complete; here the operator chose the time.
        return super().shown()._replace(is_exact=True)

    def take(self, moment: Moment) -> None:
        """Show the half hour that ends at a moment, and discard the printed sentences about other times."""
        self._told.clear()
        self.known, seen = moment.half_hour, moment.observations
        if seen is not None:
            self.known = self.known.as_of(seen.last.snapshot, seen.last.at)


class RecordedEvents:
    """The events up to the time that the replay shows, in place of `EventWatch`."""

    problem = "a record has no journal"

    def __init__(self) -> None:
        self.record: Record | None = None

    def gaps(self) -> list[str]:
        """Return an empty list: a record does not say in which data changes were not observed."""
        return []

    def begin(self) -> None:
        """Do nothing: the events of a record are computed together with its verdicts."""


class Opened(NamedTuple):
    """A record that is open for the screen: its session, and the computation of its verdicts."""

    session: Session
    client: ScreenClient
    diagnosis: ReplayDiagnosis

    def close(self) -> None:
        """Stop the threads of the session and of the computation."""
        self.diagnosis.close()
        self.client.close()


def open_record(replay: Replay) -> Opened:
    """Return the screen's session on a record, and start a thread that computes the verdicts and events of the whole
    record.
    """
    context = replay.session.context
    client = ScreenClient(replay.tape.beside(), context.settings)
    client.at_ms = replay.times[0]
    clock = Clock(lambda: moment(client.at_ms), lambda: client.at_ms / 1000)
    diagnosis = ReplayDiagnosis(replay)
    diagnosis.start()
    return Opened(Session(cast("Any", client), context, "replay", clock), client, diagnosis)


class ReplayKeys(ActiveKeys):
    """The keys that work in a replay: those that change nothing."""

    def state(self) -> KeyState:
        """Return the present state, against which the conditions of keys are checked."""
        name = clean(self._cluster.session.context.name, 60)
        return super().state()._replace(read_only=f"the record {name}", replay=True)


class ReplayFrame(Frame):
    """The lines around a view in a replay. The header shows the record's time; there is no journal."""

    def _due(self) -> str:
        return ""

    def _state(self) -> State:
        lost = self._cluster.triage.lost is not None
        at = self._cluster.session.clock.now()
        is_led = self._cluster.triage.is_led
        return State(f"REPLAY {time_of_day(at)}", "stale" if lost else "pending", current=not lost, is_led=is_led)


class ReplayConsole(Console):
    """The console on a record. It first shows a given time, or else the first poll that brokers answered."""

    WATCH = RecordedWatch
    HALF_HOUR = RecordedHalfHour
    KEYS = ReplayKeys
    FRAME = ReplayFrame
    triage: RecordedWatch

    def __init__(
        self,
        replay: Replay,
        settings: ConsoleSettings | None = None,
        history: CommandHistory | None = None,
        at_ms: int | None = None,
    ) -> None:
        """Create the console on a record.

        Args:
            replay: the open record.
            settings: the settings of the console; None for the defaults. A replay ignores `refresh`.
            history: the file of earlier commands; None to keep no history.
            at_ms: time to show first, milliseconds since 1970; None for the first poll that brokers answered.
        """
        self.record = open_record(replay)
        # Don't refresh: the data of a record change only with the time shown, and `_show` then reads everything again.
        still = replace(settings or ConsoleSettings(), refresh=0)
        super().__init__(self.record.session, still, history, Given(()))
        self._events = RecordedEvents()
        self.journal.events = cast("EventWatch", self._events)
        self.time_line = TextLines(id="time")
        self._half_hour = cast("RecordedHalfHour", self.cluster.half_hour)
        self._shown: Moment | None = None
        self._speed = 0
        self._played_ms = 0.0
        self._wanted: Callable[[], Moment | None] | None = (
            self._first_answered if at_ms is None else lambda: self._moment_at(at_ms)
        )

    def on_mount(self) -> None:
        """Start as the console does, and mount the time line above the message line."""
        self.mount(self.time_line, before=self.message_line)
        self.set_interval(TICK, self._tick)

    async def on_unmount(self) -> None:
        """Stop the replay's threads."""
        await asyncio.to_thread(self.record.close)

    def on_resize(self) -> None:
        """Draw the time line for the new width."""
        self._write_time()

    # -- moving in time ----------------------------------------------------------------------------------------------

    def do_next_look(self) -> None:
        """Show the next poll."""
        self._go(lambda: self.record.diagnosis.beside(self.at_ms, 1), "this is the end of the record")

    def do_look_before(self) -> None:
        """Show the previous poll."""
        self._go(lambda: self.record.diagnosis.beside(self.at_ms, -1), "this is the beginning of the record")

    def do_next_change(self) -> None:
        """Show the next poll at which the verdict or the cluster differs from the poll before it."""
        self._go(lambda: self.record.diagnosis.beside(self.at_ms, 1, jump=True), "nothing changes later in the record")

    def do_change_before(self) -> None:
        """Show the previous poll at which the verdict or the cluster differs from the poll before it."""
        self._go(
            lambda: self.record.diagnosis.beside(self.at_ms, -1, jump=True), "nothing changed earlier in the record"
        )

    def do_pause(self) -> None:
        """Switch to the next speed of the replay: paused, normal speed, ten times as fast, paused again."""
        self._speed = SPEEDS[(SPEEDS.index(self._speed) + 1) % len(SPEEDS)]
        self._played_ms = self.at_ms
        self._write_time()

    async def look_back(self, at: datetime) -> None:
        """Show the last poll at or before a time."""
        wanted = max(self.record.diagnosis.begins_ms, round(at.timestamp() * 1000))
        self._go(lambda: self._moment_at(wanted), "the record has no look at that time")

    def go_to_time(self, text: str) -> None:
        """Show the last poll at or before a time, which the operator has typed. If the text is no time, show a
        message.
        """
        diagnosis = self.record.diagnosis
        try:
            wanted = record_time(text, diagnosis.begins_ms, diagnosis.ends_ms)
        except ValueError as error:
            self.message_line.say(str(error), "failed")
            return
        self._go(lambda: self._moment_at(wanted), "the record has no look at that time")

    @property
    def at_ms(self) -> int:
        """The time that the replay shows, milliseconds since 1970."""
        return self.record.client.at_ms

    def _first_answered(self) -> Moment | None:
        """Return the first moment (poll) with a verdict, as a record begins before any response; the first moment if
        the whole record has no verdict.

        Return None as long as the thread that computes verdicts has found neither, and for a record without moments.
        """
        diagnosis = self.record.diagnosis
        ended, moments = diagnosis.ended, diagnosis.moments
        return next((each for each in moments if each.verdict is not None), moments[0] if ended and moments else None)

    def _moment_at(self, at_ms: int) -> Moment | None:
        """Return the last moment at or before a time, or the first moment if all are later; None if the record has no
        moments, or has not been read up to that time.
        """
        diagnosis = self.record.diagnosis
        known = diagnosis.moments
        reached = diagnosis.ended or (bool(known) and known[-1].at_ms >= at_ms)
        return diagnosis.at(at_ms) or (known[0] if known else None) if reached else None

    def _go(self, find: Callable[[], Moment | None], none: str) -> None:
        """Show a moment, now or as soon as the record has been read up to it.

        Args:
            find: returns the moment; None if there is no such moment, or it has not been read yet.
            none: the message if there is no such moment.
        """
        self._wanted = None
        if (found := find()) is not None:
            self._show(found)
        elif self.record.diagnosis.ended:
            self.message_line.say(none, "muted")
        else:
            self._wanted = find
            self.message_line.say("the record is still being read up to there", "pending")

    def _tick(self) -> None:
        diagnosis = self.record.diagnosis
        if self._wanted is not None and (found := self._wanted()) is not None:
            self._wanted = None
            self.message_line.forget()
            self._show(found)
        elif self._wanted is not None and diagnosis.ended:
            self._wanted = None
            self.message_line.say(diagnosis.failed or "that is not in the record", "failed")
        if self._speed and self._shown is not None:
            self._played_ms += TICK * 1000 * self._speed
            if (found := diagnosis.at(round(self._played_ms))) is not None and found is not self._shown:
                self._show(found, playing=True)
            if diagnosis.ended and self._played_ms >= diagnosis.ends_ms:
                self._speed = 0
        self._write_time()

    def _show(self, moment: Moment, *, playing: bool = False) -> None:
        """Show the cluster at a moment of the record. The visible pane then reads from the record, at the same moment,
        the data that the snapshot lacks.
        """
        self._shown = moment
        self.record.client.at_ms = moment.at_ms
        # While playing, let the clock run on: if each poll set it back to its own time, it might never reach the next
        # poll.
        if not playing:
            self._played_ms = moment.at_ms
        self._events.record = moment.events
        snapshot = moment.observations.last.snapshot if moment.observations is not None else Snapshot()
        self.session.learn(lambda *_: snapshot)
        self._half_hour.take(moment)
        self.triage.take(moment)
        self.reading.tick()
        self.frame.write_header()
        self._write_time()

    def _write_time(self) -> None:
        diagnosis = self.record.diagnosis
        known = diagnosis.moments
        span = Span(diagnosis.begins_ms, diagnosis.ends_ms, known[-1].at_ms if known else diagnosis.begins_ms)
        turns = [each.at_ms for each in known if each.turned]
        changes = [each.at_ms for each in known if each.changed]
        self.time_line.set(time_bar(span, self.at_ms, turns, changes, self._speed, self.size.width))
