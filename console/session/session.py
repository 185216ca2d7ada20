"""The session that all front ends share: a client, the snapshot of its cluster, and a plan.

Nothing else changes a cluster: `console.session.applying` sends the plan of a session.
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
    """The changes of the last apply: its lines with the former values, the outcomes (in `plan`), and its time, UTC."""

    groups: tuple[DiffGroup, ...]
    plan: Plan
    at: datetime
    back: str = ""
    """The effect of reverting the changes, as text; ``""`` if nothing can be reverted."""


class NoJournal(snapshot_reader.Refused):
    """The cluster can't have a journal."""


class RiskReading(Struct, frozen=True):
    """The facts that were read for the warnings of a plan."""

    staged: tuple[Staged, ...]
    facts: RiskFacts
    at: float
    """The time of the read, on the monotonic clock."""


class RetentionReading(Struct, frozen=True):
    """The records that each cut and each log trim of a plan deletes."""

    staged: tuple[Staged, ...]
    found: Mapping[RetentionCut, Deletion]
    at: float
    """The time of the read, on the monotonic clock."""
    records: Mapping[TrimLog, Deletion] = field(default_factory=dict)


class Work:
    """The check or the apply under way; a session has one at a time.

    Attributes:
        in_flight: the request without an answer; None without one.
        stopping: whether nothing more is sent.
        committed: whether the change is being recorded and sent, so that a stop waits for an answer.
    """

    def __init__(self) -> None:
        self.in_flight: InFlight | None = None
        self.stopping = False
        self.committed = False
        self._task: asyncio.Task[ApplyRun] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether the plan is being checked or applied."""
        return self._task is not None

    def begin(self, task: asyncio.Task[ApplyRun]) -> None:
        """Register the task of a check or an apply as the one under way, until it is done.

        The state of this work is cleared before a caller that awaits the task continues.

        Args:
            task: nothing else may be under way.
        """
        self._task = task
        # asyncio runs callbacks in the order in which they were added: this one runs before those of a task that awaits
        # this one.
        task.add_done_callback(self._is_over)

    def _is_over(self, _task: asyncio.Task[ApplyRun]) -> None:
        self._task, self.in_flight = None, None
        self.stopping = self.committed = False

    def stop(self) -> InFlight | None:
        """Send nothing more of the plan. An apply that is not in the journal yet is cancelled; any other ends with the
        answer that it waits for.

        Returns:
            The request without an answer; None without one.
        """
        flying = self.in_flight
        if self._task is not None:
            self.stopping = True
            # Nothing was sent or recorded, so there is nothing to report: cancel.
            if not self.committed:
                self._task.cancel()
        return flying

    async def wait(self) -> None:
        """Wait until no check or apply is under way."""
        while self._task is not None:
            await asyncio.wait({self._task})
            await asyncio.sleep(0)  # give earlier waiters a turn, in which they note the end

    def give_up(self) -> None:
        """Cancel a check or an apply without waiting for the request in flight. Its outcome stays unknown until the
        journal's next reader checks the cluster."""
        if self._task is not None:
            self._task.cancel()


class Session(snapshot_reader.SnapshotReader):
    """One operator's work on one cluster.

    Attributes:
        front_end: the source of changes, for the journal: console, run, shell, …
        retention, risk_reading: the facts that were read for the plan (see `plan_facts`).
        work: the check or the apply under way.
        former_told: whether the operator has seen the open former changes.
        recorder: the recorder of the brokers' answers; None without a flight record.
        operation: the number of the operation whose steps are applied; None for other changes.
        applied: the changes of the last apply; None if it changed nothing, and once edits are staged after it.
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
        """Return this host's journal of the cluster. Read the cluster's id first if it is unknown.

        Raises:
            NoJournal: the cluster reports no id, or an id that is not a valid file name.
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
        """The reader of rates; created at first use."""
        from console.session.rate_reading import RateReader

        return RateReader(self)

    @cached_property
    def records(self) -> RecordReader:
        """The reader of records, with a cache of their schemas; created at first use."""
        from console.session.record_reading import RecordReader

        return RecordReader(self.client, self.context)

    # -- the plan --------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The staged edits. After staging it is built at first use."""
        # Build lazily: a script that is staged line by line would otherwise build a plan for each line.
        if self._staging is not None and self._staging.steps != self._made:
            self._plan, self._made = self._staging.plan(), self._staging.steps
        return self._plan

    def staging(self) -> planning.Staging:
        """Return the staging area of the plan, on the current snapshot."""
        if self._staging is None or self._staging.snapshot is not self.snapshot:
            self._staging, self._made = planning.Staging(self.plan, self.snapshot), 0
        return self._staging

    def replan(self, plan: Plan) -> None:
        """Replace the plan, and notify listeners if it is a different object."""
        if plan is not self.plan:
            self._plan, self._staging = plan, None
            self.notify(snapshot_reader.PlanChanged())

    def refuse_if_read_only(self) -> None:
        """Raise Refused if nothing may be changed.

        Raises:
            Refused: the context is read-only, or the session is a replay.
        """
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
            edits: later ones replace earlier ones of the same key.
            lasts_ms: milliseconds that they last once applied; None: permanently.

        Returns:
            The result of each edit: staged, refused with a reason, or dropped as the cluster already has the value.

        Raises:
            Refused: nothing may be changed in this session, or the plan is being checked or applied: an edit staged
                then would be sent, though no operator was asked about it.
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
        """Undo the last change of the plan; the cluster is not touched. Return whether there was one."""
        return self._stepped(planning.undo(self.plan))

    def redo(self) -> bool:
        """Redo the last undone change of the plan. Return whether there was one."""
        return self._stepped(planning.redo(self.plan))

    def _stepped(self, plan: Plan) -> bool:
        before = self.plan
        self.replan(plan)
        return self.plan is not before

    def discard(self, target: Target | None = None, key: str | None = None) -> int:
        """Drop staged edits.

        Args:
            target: the only target whose edits are discarded; None for all.
            key: the only key whose edit is discarded; None for all.

        Returns:
            The number of dropped edits.
        """
        before = len(self.plan.staged)
        self.replan(planning.discard(self.plan, target, key))
        return before - len(self.plan.staged)

    # -- checking and applying -------------------------------------------------------------------------------------

    def refuse_to_work(self) -> None:
        """Raise Refused if the plan can't be checked or applied.

        Raises:
            Refused: nothing may be changed in this session, or the plan is being checked or applied already.
        """
        self.refuse_if_read_only()
        if self.work.is_under_way:
            raise snapshot_reader.Refused(
                Failure("BUSY", "the plan is being checked or applied", "Wait for it to end.")
            )

    def progress(self, what: str, done: int, total: int) -> None:
        """Notify listeners of the progress of long work.

        Args:
            what: the work, in a word or two.
            done: the number of finished units.
            total: the number of all units; 0 if unknown.
        """
        self.notify(snapshot_reader.Progress(what, done, total))
