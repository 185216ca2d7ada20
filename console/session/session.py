"""The session that all front ends share: a client, what is known of its cluster, and a plan.

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
    """What the last apply changed: its lines as they stood before, the outcomes (in `plan`), and when it was, UTC.
    back: what reverting it does, ``""`` where nothing comes back."""

    groups: tuple[DiffGroup, ...]
    plan: Plan
    at: datetime
    back: str = ""


class NoJournal(snapshot_reader.Refused):
    """There can be no journal of the cluster."""


class RiskReading(Struct, frozen=True):
    """What was read for the warnings of a plan. at: by the monotonic clock."""

    staged: tuple[Staged, ...]
    facts: RiskFacts
    at: float


class RetentionReading(Struct, frozen=True):
    """What each cut of a plan deletes, and each deletion of records. at: by the monotonic clock."""

    staged: tuple[Staged, ...]
    found: Mapping[RetentionCut, Deletion]
    at: float
    records: Mapping[TrimLog, Deletion] = field(default_factory=dict)


class Work:
    """The check or the apply that is under way; a session has one at a time.

    in_flight: the request that has no answer yet. stopping: nothing more is sent. committed: the change is being
    recorded and sent, so that a stop waits for an answer.
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
        """Take a check or an apply as what is under way, until it is over.

        It is over before a caller that awaits the task goes on.

        Args:
            task: nothing else may be under way.
        """
        self._task = task
        # Callbacks run in the order in which they were added, so this one is before those of a task that awaits it.
        task.add_done_callback(self._is_over)

    def _is_over(self, _task: asyncio.Task[ApplyRun]) -> None:
        self._task, self.in_flight = None, None
        self.stopping = self.committed = False

    def stop(self) -> InFlight | None:
        """Send nothing more of the plan. An apply that is not in the journal yet is cancelled, any other ends with the
        answer that it waits for.

        Returns:
            The request that has no answer yet, None if there is none.
        """
        flying = self.in_flight
        if self._task is not None:
            self.stopping = True
            # Nothing was sent and nothing recorded, so there is nothing to report.
            if not self.committed:
                self._task.cancel()
        return flying

    async def wait(self) -> None:
        """Wait until nothing is checked or applied."""
        while self._task is not None:
            await asyncio.wait({self._task})
            await asyncio.sleep(0)  # who waited for it first writes down that it is over

    def give_up(self) -> None:
        """Cancel a check or an apply without waiting for the request on its way. Its outcome stays unknown until the
        journal's next reader asks the cluster."""
        if self._task is not None:
            self._task.cancel()


class Session(snapshot_reader.SnapshotReader):
    """One operator's work on one cluster.

    front_end: the front end through which changes come, for the journal: console, run, shell, … applied: what the last
    apply changed. retention, risk_reading: what was read for the plan (see `plan_facts`). work: the check or the apply
    that is under way. former_told: the operator has seen what former changes left open. recorder: keeps what brokers
    answer, None where nothing is kept. operation: the number of the operation whose steps are applied, None for other
    changes.
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
        self._made = 0  # steps of the staging that are in the plan
        self.applied: Applied | None = None
        self.retention: RetentionReading | None = None
        self.risk_reading: RiskReading | None = None
        self.work = Work()
        self.former_told = False
        self.recorder: Recorder | None = None
        self.operation: int | None = None

    async def journal(self) -> JournalFile:
        """Return this host's journal of the cluster. The brokers are asked for the cluster's id first if it is not
        known.

        Raises:
            NoJournal: the cluster reports no id, or one by which no file can be named.
            Refused: another cluster answers.
            AdminError: the cluster is lost.
        """
        from console.journal.file import JournalFile, journal_path
        from console.journal.segments import JournalError
        from console.log_file import state_directory

        # A journal belongs to a cluster, not to addresses: these may be reused, or differ between contexts.
        if not self.snapshot.cluster.cluster_id:
            await self.read_cluster()
        try:
            return JournalFile(journal_path(state_directory(os.environ), self.snapshot.cluster.cluster_id or ""))
        except JournalError as error:
            raise NoJournal(error.failure) from error

    @cached_property
    def rates(self) -> RateReader:
        """Reads what rates are made from; begins when it is first asked for."""
        from console.session.rate_reading import RateReader

        return RateReader(self)

    @cached_property
    def records(self) -> RecordReader:
        """Reads records, and keeps their schemas; made when it is first asked for."""
        from console.session.record_reading import RecordReader

        return RecordReader(self.client, self.context)

    # -- the plan --------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """What is staged. After staging it is made when it is first asked for."""
        # Built only now: staging a script's lines one by one would otherwise build a plan for each of them.
        if self._staging is not None and self._staging.steps != self._made:
            self._plan, self._made = self._staging.plan(), self._staging.steps
        return self._plan

    def staging(self) -> planning.Staging:
        """Return the plan as edits are staged into it, on the snapshot as it is now."""
        if self._staging is None or self._staging.snapshot is not self.snapshot:
            self._staging, self._made = planning.Staging(self.plan, self.snapshot), 0
        return self._staging

    def replan(self, plan: Plan) -> None:
        """Replace the plan, and notify listeners if it is another one."""
        if plan is not self.plan:
            old, self._plan, self._staging = self.plan, plan, None
            self.notify(snapshot_reader.PlanChanged(old, plan))

    def refuse_if_read_only(self) -> None:
        """Raise Refused where nothing may be changed.

        Raises:
            Refused: the context is read-only, or the session is a replay.
        """
        # The context of a record is read-only as well; the remedy is another one here.
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
            lasts_ms: milliseconds for which they are to hold once applied, None for good.

        Returns:
            What happened to each edit: staged, refused with a reason, or dropped since the cluster has the value
            already.

        Raises:
            Refused: nothing may be changed in this session.
        """
        self.refuse_if_read_only()
        # What the last apply did stays on the screen until the operator begins something else.
        self.applied = None
        # A script has no listeners that would need a plan after each line.
        if not self._listeners:
            return self.staging().stage(edits, lasts_ms)
        report = planning.stage(self.plan, edits, self.snapshot, lasts_ms)
        self.replan(report.plan)
        return report

    def undo(self) -> bool:
        """Undo the last change of the plan; the cluster is not touched.

        Returns:
            False where there is nothing to undo.
        """
        before = self.plan
        self.replan(planning.undo(self.plan))
        return self.plan is not before

    def redo(self) -> bool:
        """Put back what was undone last.

        Returns:
            False where there is nothing to redo.
        """
        before = self.plan
        self.replan(planning.redo(self.plan))
        return self.plan is not before

    def discard(self, target: Target | None = None, key: str | None = None) -> int:
        """Drop staged edits.

        Args:
            target: the edits of this target alone; None for all.
            key: the edit of this key alone.

        Returns:
            The number of edits that were dropped.
        """
        before = len(self.plan.staged)
        self.replan(planning.discard(self.plan, target, key))
        return before - len(self.plan.staged)

    # -- checking and applying -------------------------------------------------------------------------------------

    def refuse_to_work(self) -> None:
        """Raise Refused where the plan can't be checked or applied.

        Raises:
            Refused: nothing may be changed in this session, or the plan is being checked or applied already.
        """
        self.refuse_if_read_only()
        if self.work.is_under_way:
            raise snapshot_reader.Refused(
                Failure("BUSY", "the plan is being checked or applied", "Wait for it to end.")
            )

    def progress(self, what: str, done: int, total: int) -> None:
        """Notify listeners that long work goes on.

        Args:
            what: the work, in a word or two.
            done: units that are done.
            total: all units, 0 if unknown.
        """
        self.notify(snapshot_reader.Progress(what, done, total))
