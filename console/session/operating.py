"""Works on operations: begins one, goes on with one that another process left, and asks something of one that runs.

Each look at the cluster leads to one decision (`console.operations.next_step`); what it sends is an ordinary change, by
the one apply flow. The process may die at any moment: what it did and was about to do stands in the journal.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from console.journal.operations import (
    Asked,
    Begun,
    Holder,
    Lease,
    Over,
    begun_json,
    operation_line,
    operations,
)
from console.journal.records import this_operator, this_process
from console.journal.segments import JournalError
from console.language.snapshot_parts import Needs
from console.model.changes import Status
from console.model.codes import BROKER, TOPIC
from console.model.failure import Failure, sentences
from console.model.journal_lines import Origin
from console.model.numbers import time_of_day
from console.operations.goals import Goal, Restore
from console.operations.next_step import MOST_REASONS, End, Send, next_step
from console.operations.operation import Operation, Progress, State, Step, copied_bytes
from console.operations.placement import PARTS
from console.plan.edits import SetConfig, UnsetConfig
from console.plan.settle import DEFAULTS
from console.session.apply_flow import Asks, Flags, NotApplied, Unattended, apply_flow
from console.session.former_changes import settle_open
from console.session.reading import read_needs
from console.session.snapshot_reader import Refused

if TYPE_CHECKING:
    from console.journal.file import JournalFile
    from console.session.session import Session

log = logging.getLogger(__name__)

NEEDS = Needs(parts=PARTS, every=frozenset({TOPIC, BROKER}))
"""What a decision is made from."""
_ASKS = Asks(plan=False, name=False, over=False, silent=True, signals=False)
"""The operation was confirmed when it began."""
_PROGRESS_EVERY = 60.0
"""Seconds between lines of progress in the journal while nothing but the number of copied bytes changes."""


class Pace(Struct, frozen=True):
    """How often it looks, in seconds, at first and at most; after how long without any progress an operation is
    stalled; how it waits; and whether it leaves an operation that is stalled, or goes on to look at it."""

    first: float = 0.5
    most: float = 5.0
    patience: float = 120.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    leaves: bool = True


class Operations(NamedTuple):
    """The operations of a cluster, by this host's journal: those that are open, and the last ones that ended. holder:
    who works on them."""

    open: tuple[Operation, ...]
    ended: tuple[Operation, ...] = ()
    holder: Holder | None = None


# -- the journal -------------------------------------------------------------------------------------------------------


async def read_operations(session: Session, ended: int = 0) -> Operations:
    """Read them; ended: how many of those that have ended, the last first. Raises Refused, AdminError."""
    now = session.clock.now()
    try:
        journal = await session.journal()
        return await asyncio.to_thread(_read, journal, ended, now, _this(session))
    except JournalError as error:
        raise Refused(error.failure) from error


def _read(journal: JournalFile, ended: int, now: datetime, mine: Origin) -> Operations:
    if ended:
        found = operations(journal.read().records)
        over = tuple(each for each in reversed(list(found.values())) if each.ended is not None)[:ended]
    else:
        found, over = operations(journal.open().records), ()
    open_ = tuple(each for each in found.values() if each.ended is None)
    return Operations(open_, over, Lease(journal.path, mine).holder(now))


def _this(session: Session) -> Origin:
    return this_process(session.door)


async def begin(session: Session, goal: Goal, throttle: int | None) -> int:
    """Write down that an operation begins. Returns its number.

    Raises Refused: in a read-only context, without a journal, while another operation is open; AdminError.
    """
    await refuse_a_second(session)
    async with _Work(session) as work:
        await refuse_a_second(session)  # another process may have begun one since
        by = this_operator(session.context.principal, os.environ)
        begun = Begun(session.context.name, by, _this(session), goal, throttle)
        return await work.written(lambda: work.journal.begin_operation(session.clock.now(), begun_json(begun)))


async def refuse_a_second(session: Session) -> None:
    """Raises Refused where no operation can begin: in a read-only context, without a journal, while one is open."""
    session.refuse_if_read_only()
    if not session.context.journal:
        remedy = "Leave out --no-journal, or plan with kac moves GOAL --script."
        raise Refused(Failure("NO_JOURNAL", "an operation is kept in the journal, and there is none", remedy))
    if open_ := (await read_operations(session)).open:
        first = open_[0]
        raise Refused(
            Failure(
                "OPERATION_OPEN",
                f"operation {first.number} ({first.goal}) is open",
                f"Go on with it: kac moves --continue; or cancel it: kac moves --cancel {first.number}.",
            )
        )


async def ask_of(
    session: Session, number: int, *, cancel: bool = False, throttle: int | None = None, give_up: bool = False
) -> Operation:
    """Write down what an operator asks of an operation; who works on it does that with its next look. throttle: bytes
    per second, 0 for none. give_up: to leave its throttles on brokers that do not answer. Returns the operation.
    Raises Refused, AdminError."""
    session.refuse_if_read_only()
    known = await read_operations(session)
    found = next((each for each in known.open if each.number == number), None)
    if found is None:
        remedy = "kac moves shows those that are open. The way back of one that ended: kac moves back NUMBER --run."
        raise Refused(Failure("NO_SUCH_OPERATION", f"no operation {number} is open", remedy))
    asked = Asked(this_operator(session.context.principal, os.environ), cancel, throttle, give_up)
    try:
        journal = await session.journal()
        await asyncio.to_thread(journal.note, operation_line(number, session.clock.now(), asked))
    except JournalError as error:
        raise Refused(error.failure) from error
    return found


async def way_back(session: Session, number: int) -> Restore:
    """The goal that takes back what an operation that ended has moved. Raises Refused, AdminError."""
    try:
        journal = await session.journal()
        found = operations((await asyncio.to_thread(journal.read)).records).get(number)
    except JournalError as error:
        raise Refused(error.failure) from error
    if found is None:
        failure = Failure("NO_SUCH_OPERATION", f"the journal has no operation {number}", "See: kac moves")
        raise Refused(failure)
    if found.ended is None:
        failure = Failure("OPERATION_OPEN", f"operation {number} is open", f"Cancel it: kac moves --cancel {number}")
        raise Refused(failure)
    return Restore(
        number,
        tuple((topic, at, before) for (topic, at), before in found.originals().items()),
        tuple((*place, path) for place, path in found.dir_originals().items()),
    )


# -- work --------------------------------------------------------------------------------------------------------------


async def work_on(
    session: Session,
    number: int,
    tell: Callable[[str], None] = lambda _: None,
    pace: Pace | None = None,
    looked: Callable[[Progress], None] = lambda _: None,
) -> Operation:
    """Work on an operation until it ends, or until nothing went on for the pace's patience. Returns it as it is then.

    tell: gets a line for each thing that happens; looked: how far it is, after each look. Raises Refused: another
    process works on it, the journal can't be written, or a read-only context.
    """
    session.refuse_if_read_only()
    session.operation = number
    try:
        async with _Work(session) as work:
            return await _Course(work, number, tell, pace or Pace(), looked).run()
    finally:
        session.operation = None


class _Work:
    """The lease, while it is held. An asynchronous context manager; raises Refused where another process has it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.journal: JournalFile

    async def __aenter__(self) -> _Work:
        try:
            self.journal = await self.session.journal()
        except JournalError as error:
            raise Refused(error.failure) from error
        await self.renew()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await asyncio.to_thread(self._lease().free)
        except OSError as error:
            log.warning("the lease is not given back, and ends by itself: %s", error)

    async def renew(self) -> None:
        """Take the lease, or hold it longer. Raises Refused."""
        try:
            holder = await asyncio.to_thread(self._lease().take, self.session.clock.now())
        except OSError as error:
            remedy = "Make room or set XDG_STATE_HOME to a folder that can be written."
            raise Refused(Failure("LEASE_FAILED", f"the lease can't be written: {error}", remedy)) from error
        if holder is not None:
            by = holder.by
            raise Refused(
                Failure(
                    "HELD",
                    f"process {by.pid} on {by.host} works on operations of this cluster",
                    "kac moves shows how far it is; end it to go on here. "
                    f"Where it hangs, its lease ends at {time_of_day(holder.until)} by this host's clock.",
                )
            )

    def _lease(self) -> Lease:
        return Lease(self.journal.path, _this(self.session))

    async def written(self, write: Callable[[], int]) -> int:
        """What `write` returns, called in a thread. Raises Refused."""
        try:
            return await asyncio.to_thread(write)
        except JournalError as error:
            raise Refused(error.failure) from error

    async def note(self, number: int, what: Step | Progress | Over) -> None:
        """Write a line of an operation. Raises Refused."""
        try:
            await asyncio.to_thread(self.journal.note, operation_line(number, self.session.clock.now(), what))
        except JournalError as error:
            raise Refused(error.failure) from error


class _Course:
    """The looks at one operation, one after another."""

    def __init__(
        self,
        work: _Work,
        number: int,
        tell: Callable[[str], None],
        pace: Pace,
        looked: Callable[[Progress], None],
    ) -> None:
        self._work = work
        self._looked = looked
        self._session = work.session
        self._number = number
        self._tell = tell
        self._pace = pace
        self._clock = work.session.clock.monotonic
        self._mark: object = None
        self._moved_at = self._clock()
        self._written: tuple[State, tuple[str, ...]] | None = None
        self._written_at = self._moved_at
        self._delay = pace.first

    async def run(self) -> Operation:
        """Until it ends or is stalled."""
        from console.admin.errors import AdminError

        await self._settle()
        while True:
            await self._work.renew()
            operation = await self._read()
            if operation.ended is not None:
                return operation
            try:
                await read_needs(self._session, NEEDS)
                decision = next_step(operation, self._session.snapshot, self._session.clock.now())
                if isinstance(decision, End):
                    await self._work.note(self._number, Over(decision.state))
                    self._tell(f"operation {self._number} ({operation.goal}) is {decision.state.value}")
                    return await self._read()
                if isinstance(decision, Send):
                    failed = await self._send(operation, decision)
                    waits, copies = (*failed, *decision.waits), True
                else:
                    waits, copies = decision.waits, decision.copies
            except AdminError as error:
                waits, copies = (f"the cluster does not answer: {error.failure.message}",), False
            if await self._stalled(await self._read(), waits, copies) and self._pace.leaves:
                return await self._read()
            await self._pace.sleep(self._delay)
            self._delay = min(self._delay * 1.5, self._pace.most)

    async def _read(self) -> Operation:
        """The operation by now: an operator may have asked something of it."""
        try:
            found = operations((await asyncio.to_thread(self._work.journal.open)).records)
            if self._number not in found:
                found = operations((await asyncio.to_thread(self._work.journal.read)).records)
        except JournalError as error:
            raise Refused(error.failure) from error
        if self._number not in found:
            failure = Failure("NO_SUCH_OPERATION", f"the journal has no operation {self._number}", "See: kac moves")
            raise Refused(failure)
        return found[self._number]

    async def _settle(self) -> None:
        """Look for what a process that died had sent: it may still be on its way."""
        await settle_open(self._session)

    async def _send(self, operation: Operation, decision: Send) -> tuple[str, ...]:
        """Send a step. Returns why it was not sent, or not whole."""
        session, step = self._session, decision.step
        session.discard()
        staged = session.stage(decision.edits)
        refused = tuple(sentences(each.reason, each.remedy) for each in staged.refused)
        if any(isinstance(each.edit, SetConfig | UnsetConfig) for each in staged.refused) or not session.plan:
            session.discard()
            return refused or ("nothing of the step is left to do",)
        await self._work.note(self._number, step)  # before the change: its throttles are known to be ours whatever dies
        for count, what in (
            (len(step.moves), "partitions to move"),
            (len(step.dirs), "replicas to copy into other directories"),
            (len(step.elects), "preferred leaders to elect"),
        ):
            if count:
                self._tell(f"step {len(operation.steps) + 1}: {count:,} {what}")
        session.former_told = True
        # Looking and planning took time: another process may work on it by now.
        await self._work.renew()
        try:
            reports = await apply_flow(session, Unattended(), DEFAULTS, _ASKS, Flags())
        except NotApplied as error:
            return (*refused, f"{error.message}: {', '.join(risk.name for risk in error.risks)}")
        finally:
            session.discard()
        bad = [each for result in reports[-1].results for each in result.outcomes if not each.ok]
        if any(each.status is Status.UNKNOWN for each in bad):
            await self._settle()
        if reports[-1].conflicts:
            refused += ("another client changed what the step changes; it is planned again",)
        if not bad and not refused:
            self._moved_at, self._delay = self._clock(), self._pace.first
        return (*refused, *dict.fromkeys(each.failure.message for each in bad if each.failure is not None))

    async def _stalled(self, operation: Operation, waits: tuple[str, ...], copies: bool) -> bool:
        """Write down how far it is. Returns whether nothing went on for too long."""
        snapshot, now = self._session.snapshot, self._clock()
        running, copying = operation.running(snapshot), operation.copying(snapshot)
        copied, left = copied_bytes(snapshot, running, copying.values())
        mark = (frozenset(running), frozenset(copying), copied)
        if mark != self._mark:
            self._mark, self._moved_at = mark, now
        stalled = now - self._moved_at >= self._pace.patience
        some = waits[:MOST_REASONS]
        if len(waits) > MOST_REASONS:
            some += (f"and {len(waits) - MOST_REASONS:,} more",)
        if stalled and not some:
            some = tuple(_still(operation, len(running), len(copying), now - self._moved_at))
        state = State.STALLED if stalled else State.RUNNING if copies else State.WAITING
        progress = Progress(self._session.clock.now(), state, copied, left, some)
        self._looked(progress)
        if self._written != (state, some) or now - self._written_at >= _PROGRESS_EVERY:
            if some and (self._written is None or self._written[1] != some):
                for line in some:
                    self._tell(f"waits: {line}")
            self._written, self._written_at = (state, some), now
            await self._work.note(self._number, progress)
        return stalled


def _still(operation: Operation, partitions: int, copies: int, seconds: float) -> Iterator[str]:
    """What to say where nothing else says why nothing goes on. Brokers count what in-sync replicas of a throttled
    partition fetch against the leader's rate, too (KIP-73): below what producers write nothing is left for new ones."""
    what = f"{copies:,} replicas are copied into other directories" if copies else f"{partitions:,} partitions move"
    yield f"no byte was copied for {seconds:.0f} s; {what}"
    if operation.throttle is not None and partitions:
        yield (
            "the throttle may be below what producers write: "
            f"kac moves --operation {operation.number} --throttle RATE raises it"
        )
