"""The session that all front ends share: a client, the snapshot of its cluster, and a plan of changes.

A session itself changes no cluster: `console.session.applying` sends its plan.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from console.model.changes import Target
from console.model.failure import Failure
from console.plan import plan as planning
from console.plan.edits import Edit
from console.plan.plan import EMPTY, Plan, StageReport
from console.session import snapshot_reader

if TYPE_CHECKING:
    from console.contexts import Context
    from console.flight.recorder import Recorder
    from console.journal.file import JournalFile
    from console.plan.edits import TrimLog
    from console.plan.effective_values import DiffGroup
    from console.plan.reconcile import InFlight
    from console.plan.retention import Deletion, RetentionCut
    from console.plan.risk_rules import RiskFacts
    from console.plan.staged import Staged
    from console.session.apply_run import ApplyRun
    from console.session.rate_reading import RateReader
    from console.session.record_reading import RecordReader


class Applied(Struct, frozen=True):
    """The changes that the last apply made: their lines with the former values, the plan with the outcomes, and the
    time, UTC.
    """

    groups: tuple[DiffGroup, ...]
    plan: Plan
    at: datetime
    back: str = ""
    """A text that says what reverting the changes would do; ``""`` if nothing can be reverted."""


class NoJournal(snapshot_reader.Refused):
    """A journal of this cluster is impossible, because the cluster has no id that can be a file name."""


class RiskReading(Struct, frozen=True):
    """The facts that were read for the warnings of a plan, with the time of the read."""

    staged: tuple[Staged, ...]
    facts: RiskFacts
    at: float
    """The time of the read, in seconds of the monotonic clock."""


class RetentionReading(Struct, frozen=True):
    """How much data the plan's edits delete: those that shorten retention, and those that delete records."""

    staged: tuple[Staged, ...]
    found: Mapping[RetentionCut, Deletion]
    at: float
    """The time of the read, in seconds of the monotonic clock."""
    records: Mapping[TrimLog, Deletion] = field(default_factory=dict)


class Work:
    """The check or apply in progress; a session has at most one at a time.

    Attributes:
        in_flight: the request to which no response has come yet; None if there is no such request.
        stopping: whether no further request may be sent.
        committed: whether the change is recorded in the journal or requests are sent, so that a stop must wait for the
            response.
    """

    def __init__(self) -> None:
        self.in_flight: InFlight | None = None
        self.stopping = False
        self.committed = False
        self._task: asyncio.Task[ApplyRun] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether a check or an apply is in progress."""
        return self._task is not None

    def begin(self, task: asyncio.Task[ApplyRun]) -> None:
        """Register the task of a check or an apply as the one in progress, until the task ends. The state of this
        object is cleared before a caller that awaits the task continues.

        Args:
            task: the task; no other may be in progress.
        """
        self._task = task
        # asyncio runs callbacks in the order in which they were added: this one runs before those of a task that awaits
        # this one.
        task.add_done_callback(self._is_over)

    def _is_over(self, _task: asyncio.Task[ApplyRun]) -> None:
        self._task, self.in_flight = None, None
        self.stopping = self.committed = False

    def stop(self) -> InFlight | None:
        """Send no further request of the plan. An apply whose change is not in the journal yet is cancelled. Otherwise
        it ends when the response to the request in flight has come.

        Returns:
            The request in flight; None if there is none.
        """
        flying = self.in_flight
        if self._task is not None:
            self.stopping = True
            # Nothing was sent or recorded, so there is nothing to report: cancel.
            if not self.committed:
                self._task.cancel()
        return flying

    async def wait(self) -> None:
        """Wait until no check or apply is in progress."""
        while self._task is not None:
            await asyncio.wait({self._task})
            await asyncio.sleep(0)  # give earlier waiters a turn, in which they note the end

    def give_up(self) -> None:
        """Cancel a check or an apply without waiting for the response to the request in flight. Its outcome is unknown
        until a later start reads the journal and looks for the change in the cluster.
        """
        if self._task is not None:
            self._task.cancel()


class Session(snapshot_reader.SnapshotReader):
    """The work of one operator on one cluster.

    Attributes:
        front_end: the name of the front end, for the journal: console, run, shell, …
        retention, risk_reading: the facts that were read about the plan; None before the first read.
        work: the check or apply in progress.
        former_told: whether the operator has seen the open changes of earlier runs.
        recorder: the recorder of the brokers' responses; None without a flight record.
        operation: the number of the operation to which the applied changes belong; None if they belong to none.
        applied: the changes that the last apply made; None if it made none, and as soon as further edits are staged.
    """

    def __init__(
        self,
        client: snapshot_reader.Client,
        context: Context,
        front_end: str = "console",
        clock: snapshot_reader.Clock = snapshot_reader.WALL,
    ) -> None:
        super().__init__(client, context, clock)
        self.front_end = front_end
        self._plan: Plan = EMPTY
        self._staging: planning.Staging | None = None
        self._made = 0  # the number of staging steps that `_plan` contains
        self.applied: Applied | None = None
        self.retention: RetentionReading | None = None
        self.risk_reading: RiskReading | None = None
        self.work = Work()
        self.former_told = False
        self.recorder: Recorder | None = None
        self.operation: int | None = None

    async def journal(self) -> JournalFile:
        """Return this host's journal of the cluster. If the cluster's id is unknown, read it first.

        Raises:
            NoJournal: the cluster has no id, or one that can't be a file name.
            Refused: another cluster answers.
            AdminError: the connection to the cluster is lost.
        """
        from console.journal.file import JournalFile, journal_path
        from console.journal.segments import JournalError
        from console.log_file import state_directory

        # The journal's path has the cluster's id, not its addresses: these may be reused, or differ between contexts.
        if not self.snapshot.cluster.cluster_id:
            await self.read_cluster()
        try:
            return JournalFile(journal_path(state_directory(os.environ), self.snapshot.cluster.cluster_id or ""))
        except JournalError as error:
            raise NoJournal(error.failure) from error

    @cached_property
    def rates(self) -> RateReader:
        """The reader of rates, which is created at its first use."""
        from console.session.rate_reading import RateReader

        return RateReader(self)

    @cached_property
    def records(self) -> RecordReader:
        """The reader of records, with a cache of their schemas. It is created at its first use."""
        from console.session.record_reading import RecordReader

        return RecordReader(self.client, self.context)

    # -- the plan --------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The plan, that is the staged edits. It is built when it is first needed after edits were staged."""
        # Build lazily: a script that is staged line by line would otherwise build a plan for each line.
        if self._staging is not None and self._staging.steps != self._made:
            self._plan, self._made = self._staging.plan(), self._staging.steps
        return self._plan

    def staging(self) -> planning.Staging:
        """Return the area in which edits are staged, on the present snapshot."""
        if self._staging is None or self._staging.snapshot is not self.snapshot:
            self._staging, self._made = planning.Staging(self.plan, self.snapshot), 0
        return self._staging

    def replan(self, plan: Plan) -> None:
        """Replace the plan. If it is another object than before, notify the listeners."""
        if plan is not self.plan:
            self._plan, self._staging = plan, None
            self.notify(snapshot_reader.PlanChanged())

    def refuse_if_read_only(self) -> None:
        """Raise Refused if the context is read-only, or the session is a replay."""
        # The context of a replay is read-only too, but the remedy differs.
        if self.front_end == "replay":
            remedy = "Stage it in a console on the cluster: kac -b HOST:PORT."
            raise snapshot_reader.Refused(Failure("READ_ONLY", "a replay can't be changed", remedy))
        if self.context.read_only:
            raise snapshot_reader.Refused(
                Failure(
                    "READ_ONLY",
                    f"context {self.context.name} is read-only",
                    "Use a context without read_only, or take read_only out of its file.",
                )
            )

    def stage(self, edits: Sequence[Edit], lasts_ms: int | None = None) -> StageReport:
        """Stage edits into the plan.

        Args:
            edits: the edits; a later one replaces an earlier one of the same key.
            lasts_ms: the milliseconds after which they are to be reverted, counted from the apply; None to keep them.

        Returns:
            The result for each edit: staged, refused with the reason, or dropped because the cluster has the value
            already.

        Raises:
            Refused: the context is read-only, the session is a replay, or the plan is being checked or applied: an edit
                staged during that would be sent without the operator's confirmation.
        """
        self.refuse_to_work()
        # Clear the result of the last apply: it is shown until the operator begins something else.
        self.applied = None
        # Without listeners, as in a script, no plan is needed after each statement.
        if not self._listeners:
            return self.staging().stage(edits, lasts_ms)
        report = planning.stage(self.plan, edits, self.snapshot, lasts_ms)
        self.replan(report.plan)
        return report

    def undo(self) -> bool:
        """Undo the last change of the plan, without any effect on the cluster. Return whether there was a change to
        undo.
        """
        return self._stepped(planning.undo(self.plan))

    def redo(self) -> bool:
        """Redo the last undone change of the plan, without any effect on the cluster. Return whether there was one to
        redo.
        """
        return self._stepped(planning.redo(self.plan))

    def _stepped(self, plan: Plan) -> bool:
        before = self.plan
        self.replan(plan)
        return self.plan is not before

    def discard(self, target: Target | None = None, key: str | None = None) -> int:
        """Drop staged edits, and return how many.

        Args:
            target: the only target whose edits are dropped; None for all targets.
            key: the only key whose edits are dropped; None for all keys.
        """
        before = len(self.plan.staged)
        self.replan(planning.discard(self.plan, target, key))
        return before - len(self.plan.staged)

    # -- checking and applying -------------------------------------------------------------------------------------

    def refuse_to_work(self) -> None:
        """Raise Refused if the plan can't be checked or applied now: the context is read-only, the session is a replay,
        or the plan is being checked or applied already.
        """
        self.refuse_if_read_only()
        if self.work.is_under_way:
            raise snapshot_reader.Refused(
                Failure("BUSY", "the plan is being checked or applied", "Wait for it to end.")
            )

    def progress(self, what: str, done: int, total: int) -> None:
        """Notify the listeners of the progress of long work.

        Args:
            what: the name of the work, in a word or two.
            done: the number of finished units.
            total: the number of all units; 0 if unknown.
        """
        self.notify(snapshot_reader.Progress(what, done, total))
