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
from console.session.snapshot_reader import WALL, Client, Clock, PlanChanged, Progress, Refused, SnapshotReader

if TYPE_CHECKING:
    from console.contexts import Context
    from console.flight.recorder import Recorder
    from console.journal.file import JournalFile
    from console.plan.effective_values import DiffGroup
    from console.plan.kinds.records import TrimLog
    from console.plan.retention import Deletion, RetentionCut
    from console.plan.risk_rules import RiskFacts
    from console.plan.settle import InFlight
    from console.plan.staged import Staged
    from console.session.apply_run import ApplyRun
    from console.session.rate_reading import RateReader


class Applied(Struct, frozen=True):
    """What the last apply changed: its lines as they stood before, the outcomes (in `plan`), and when it was, UTC.
    change: its number, with which it is taken back; None where that can't be."""

    groups: tuple[DiffGroup, ...]
    plan: Plan
    at: datetime
    change: int | None = None


class NoJournal(Refused):
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


class Session(SnapshotReader):
    """One operator's work on one cluster.

    door: by which way changes come, for the journal: console, run, shell, …
    applied: what the last apply changed. retention, risk_reading: what was read for the plan (see `plan_facts`).
    in_flight: the request that has no answer yet. stopping: nothing more is sent. committed: something was sent.
    former_told: the operator was told what former changes left open. recorder: keeps what brokers answer, None where
    nothing is kept. operation: the number of the operation whose steps are applied, None for other changes.
    """

    def __init__(self, client: Client, context: Context, door: str = "console", clock: Clock = WALL) -> None:
        super().__init__(client, context, clock)
        self.door = door
        self._plan: Plan = EMPTY
        self._staging: planning.Staging | None = None
        self._made = 0  # steps of the staging that are in the plan
        self.applied: Applied | None = None
        self.retention: RetentionReading | None = None
        self.risk_reading: RiskReading | None = None
        self.in_flight: InFlight | None = None
        self.stopping = False
        self.committed = False
        self.former_told = False
        self.recorder: Recorder | None = None
        self.operation: int | None = None
        self._work: asyncio.Task[ApplyRun] | None = None

    async def journal(self) -> JournalFile:
        """Return this host's journal of the cluster. Raises NoJournal, and AdminError if the cluster is lost."""
        from console.journal.file import JournalFile, journal_path
        from console.journal.segments import JournalError
        from console.log_file import state_directory

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

    # -- the plan --------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """What is staged. After staging it is made when it is first asked for."""
        if self._staging is not None and self._staging.steps != self._made:
            self._plan, self._made = self._staging.plan(), self._staging.steps
        return self._plan

    def staging(self) -> planning.Staging:
        """The plan while edits are put into it, on what is known now."""
        if self._staging is None or self._staging.snapshot is not self.snapshot:
            self._staging, self._made = planning.Staging(self.plan, self.snapshot), 0
        return self._staging

    def replan(self, plan: Plan) -> None:
        """Replace the plan."""
        if plan is not self.plan:
            old, self._plan, self._staging = self.plan, plan, None
            self.notify(PlanChanged(old, plan))

    def refuse_if_read_only(self) -> None:
        """Raises Refused in a read-only context."""
        if self.door == "replay":
            remedy = "Stage it in a console on the cluster: kac -b HOST:PORT."
            raise Refused(Failure("READ_ONLY", "a replay can't be changed", remedy))
        if self.context.read_only:
            raise Refused(
                Failure(
                    "READ_ONLY",
                    f"context {self.context.name} is read-only",
                    "Use a context without read_only, or take read_only out of its file.",
                )
            )

    def stage(self, edits: Sequence[Edit], lasts_ms: int | None = None) -> StageReport:
        """Put edits into the plan; what is refused or a no-op is named in the report. lasts_ms: how long they are to
        hold once applied, None for good. Raises Refused."""
        self.refuse_if_read_only()
        self.applied = None
        if not self._listeners:
            return self.staging().stage(edits, lasts_ms)
        report = planning.stage(self.plan, edits, self.snapshot, lasts_ms)
        self.replan(report.plan)
        return report

    def undo(self) -> bool:
        """Take back the last change of the plan; False where there is none."""
        before = self.plan
        self.replan(planning.undo(self.plan))
        return self.plan is not before

    def redo(self) -> bool:
        """Put back what was undone; False where there is nothing."""
        before = self.plan
        self.replan(planning.redo(self.plan))
        return self.plan is not before

    def discard(self, target: Target | None = None, key: str | None = None) -> int:
        """Drop staged edits, of one target or one key where given; how many went."""
        before = len(self.plan.staged)
        self.replan(planning.discard(self.plan, target, key))
        return before - len(self.plan.staged)

    # -- checking and applying -------------------------------------------------------------------------------------

    @property
    def applying(self) -> bool:
        """Whether the plan is being checked or applied."""
        return self._work is not None

    def refuse_to_work(self) -> None:
        """Raise Refused where the plan can't be checked or applied: in a read-only context, and while it is already."""
        self.refuse_if_read_only()
        if self._work is not None:
            raise Refused(Failure("BUSY", "the plan is being checked or applied", "Wait for it to end."))

    def works_on(self, work: asyncio.Task[ApplyRun]) -> None:
        """Be busy with a check or an apply until it is over: before anyone who waits for it goes on."""
        self._work = work
        work.add_done_callback(self._is_over)

    def _is_over(self, _work: asyncio.Task[ApplyRun]) -> None:
        self._work, self.in_flight = None, None
        self.stopping = self.committed = False

    def stop(self) -> InFlight | None:
        """Send nothing more of the plan: an apply that has sent nothing is cancelled, any other ends with the answer
        that it waits for. Returns the request that has none yet."""
        flying = self.in_flight
        if self._work is not None:
            self.stopping = True
            if not self.committed:
                self._work.cancel()
        return flying

    async def settled(self) -> None:
        """Wait until nothing is checked or applied."""
        while self._work is not None:
            await asyncio.wait({self._work})
            await asyncio.sleep(0)  # who waited for it first writes down that it is over

    def give_up(self) -> None:
        """Wait for nothing more: what is on its way has an outcome that only the journal's next reader finds out."""
        if self._work is not None:
            self._work.cancel()

    def progress(self, what: str, done: int, total: int) -> None:
        """Report that long work goes on."""
        self.notify(Progress(what, done, total))
