"""The diagnosis of a whole record, computed in a thread of its own: the symptoms and causes at each poll, and the
changes.

Equal parts of successive polls are one object. If a record is very long, only every second, fourth, … of its polls
without a change are kept.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from threading import Event, Thread
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from console.admin.errors import AdminError
from console.admin.recorded import InstantLoop
from console.log_file import INTERNAL
from console.model.failure import Failure
from console.model.half_hour import HalfHour, throttled_kac
from console.session.replay import Replay, moment
from console.session.snapshot_reader import Refused
from console.triage.diagnosis import Verdict, diagnose
from console.triage.events import Event as EventOfRecord
from console.triage.events import Record, differences, events
from console.triage.judged_changes import warned_places
from console.triage.observations import Observations, after, begin

if TYPE_CHECKING:
    from console.triage.symptoms import Poll

log = logging.getLogger(__name__)

MOST_MOMENTS = 8_000
"""Maximum number of polls that are kept: more than two hours at one poll a second."""


class Moment(Struct, frozen=True):
    """A poll of a record with its diagnosis."""

    at_ms: int
    """The time of the poll, in milliseconds since 1970."""
    observations: Observations | None
    verdict: Verdict | None
    events: Record
    half_hour: HalfHour = HalfHour()
    """The diagnoses of the half hour before this poll."""
    lost: Failure | None = None
    """The failure, if no broker answered at this poll; the other fields are then those of the last poll with answers.
    None if a broker answered.
    """
    turned: bool = False
    """Whether the causes or symptoms differ from those at the previous poll, or an outage of all brokers begins or ends
    here.
    """
    changed: bool = False
    """Whether clients' changes were noticed since the previous poll."""


class ReplayDiagnosis:
    """One pass through a record from its beginning, in a thread. `moments` is replaced by a longer tuple from time to
    time; a tuple never changes.

    failed: the text of the error that ended the pass early; ``""`` if there was none.
    """

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._throttled = 0
        self._stop = Event()
        self._thread = Thread(target=self._run, name="record", daemon=True)
        self.moments: Sequence[Moment] = ()
        self.ended = False
        self.failed = ""

    @property
    def begins_ms(self) -> int:
        """The end of the first poll in the record, milliseconds since 1970."""
        return self._replay.times[0]

    @property
    def ends_ms(self) -> int:
        """The end of the last poll in the record, milliseconds since 1970."""
        return self._replay.times[-1]

    def start(self) -> None:
        """Start the thread that makes the pass."""
        self._thread.start()

    def close(self) -> None:
        """Have the thread end after its current poll, and wait some seconds for it."""
        self._stop.set()
        if self._thread.is_alive():
            # Don't wait longer: a poll of a large record may take a while, and the thread is a daemon.
            self._thread.join(5)

    def at(self, at_ms: int) -> Moment | None:
        """Return the last diagnosed poll at or before a time (ms since 1970); None if the first one is later."""
        index = bisect_right(self.moments, at_ms, key=_time)
        return self.moments[index - 1] if index else None

    def beside(self, at_ms: int, step: int, *, jump: bool = False) -> Moment | None:
        """Return the poll after (step 1) or before (step -1) a time in ms since 1970; None if there is no such poll.
        jump: whether to skip polls without a change.
        """
        moments = self.moments
        index = bisect_right(moments, at_ms, key=_time) if step > 0 else bisect_left(moments, at_ms, key=_time) - 1
        while 0 <= index < len(moments):
            candidate = moments[index]
            if not jump or candidate.turned or candidate.changed:
                return candidate
            index += step
        return None

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=InstantLoop) as runner:
                runner.run(self._go_through())
        except Exception:  # the screen has to show an error, whatever the record contains
            log.exception("going through a record")
            self.failed = INTERNAL
        self.ended = True

    async def _go_through(self) -> None:
        last = Moment(0, None, None, Record(moment(self.begins_ms)))
        moments: list[Moment] = []
        stride, skipped = 1, 0
        try:
            for at_ms in self._replay.times:
                if self._stop.is_set():
                    return
                last = await self._next(last, at_ms)
                skipped += 1
                if last.turned or last.changed or skipped >= stride or not moments:
                    moments.append(last)
                    skipped = 0
                if len(moments) >= MOST_MOMENTS:
                    moments, stride = _thinned(moments), stride * 2
                # Publish every 32nd poll, as copying the list at each would cost the square of its length; publish the
                # first ones one by one.
                self.moments = tuple(moments) if len(moments) % 32 == 0 or len(moments) < 32 else self.moments
        finally:
            self.moments = tuple(moments)
            await self._replay.close()

    async def _next(self, before: Moment, at_ms: int) -> Moment:
        try:
            poll = await self._replay.poll_at(at_ms)
        except (AdminError, Refused) as error:
            # Mark the beginning of an outage as one turn, not each poll in it.
            is_new = before.lost is None
            return replace(before, at_ms=at_ms, lost=error.failure, turned=is_new, changed=False)
        observations = _with_shared(before.observations, poll)
        verdict = _shared(before.verdict, diagnose(observations, (), before.verdict))
        happened = _happened(before, poll)
        self._throttled += self._replay.count_throttled()
        half_hour = before.half_hour.after(poll.snapshot, poll.at, throttled_kac(self._throttled))
        if half_hour is not before.half_hour:
            self._throttled = 0
        return Moment(
            at_ms,
            observations,
            verdict,
            before.events.with_events(happened),
            half_hour,
            None,
            before.lost is not None or _names(before.verdict) != _names(verdict),
            bool(happened),
        )


def _time(each: Moment) -> int:
    return each.at_ms


def _thinned(moments: Sequence[Moment]) -> list[Moment]:
    """Drop every second one of the polls without a change, and return the rest. If that is more than three quarters
    of `MOST_MOMENTS`, return only every second poll of the rest.
    """
    kept = [each for index, each in enumerate(moments) if each.turned or each.changed or index % 2 == 0]
    return kept if len(kept) <= MOST_MOMENTS * 3 // 4 else kept[::2]


def _with_shared(before: Observations | None, poll: Poll) -> Observations:
    """Return the observations after a poll; parts that equal those of `before` are the same objects."""
    if before is None:
        return begin(poll)
    observations = after(before, poll)
    # Thousands of moments are kept: let equal parts be the same object, which takes memory once.
    same = {name: value for name, value in asdict(before).items() if getattr(observations, name) == value}
    return replace(observations, **same)


def _shared(before: Verdict | None, now: Verdict) -> Verdict:
    """Return the new verdict; parts that equal those of the former verdict are the same objects."""
    known = asdict(before) if before is not None else {}
    return replace(now, **{name: value for name, value in known.items() if getattr(now, name) == value})


def _names(verdict: Verdict | None) -> object:
    """Return the names of a verdict's causes and symptoms, which are compared to see whether the verdict has
    changed.
    """
    if verdict is None:
        return None
    causes = frozenset((each.claim.cause, each.claim.subject) for each in verdict.causes)
    return causes, frozenset(each.symptom for each in verdict.unexplained)


def _happened(before: Moment, poll: Poll) -> Sequence[EventOfRecord]:
    if before.observations is None:
        return ()
    old, new = before.observations.last.snapshot, poll.snapshot
    differing = list(differences(old, new))
    return events(differing, old, new, poll.at, {}, warned_places(differing, old, new)) if differing else ()
