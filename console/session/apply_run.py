"""An apply as one value: each step takes it, and returns it with the step's result. `apply_flow` has the steps that
ask, `applying` those that send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.changes import Outcome
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.plan.conflicts import Conflict
from console.plan.edits import Slot
from console.plan.effective_values import DiffGroup
from console.plan.plan import EMPTY, Plan
from console.plan.reconcile import DEFAULTS, ApplyOptions, ApplyReport, StepResult, not_sent
from console.plan.requests import Facts, Step
from console.plan.risk_rules import Risk

if TYPE_CHECKING:
    from console.journal.file import JournalFile


class Recorded(Struct, frozen=True):
    """A change's location in the journal.

    number: of the change. slots: the number of each edit in it. problem: why a line could not be written after the
    first request was sent; nothing more may be sent then.
    """

    journal: JournalFile
    number: int
    slots: Mapping[Slot, int]
    problem: Failure | None = None


class ApplyRun(Struct, frozen=True):
    """The state of an apply.

    options: given by the operator beforehand, with the warnings and other clients' changes accepted since. former:
    lines on open former changes. effects: other entities that it changes. risks: warnings that were not accepted
    beforehand. reports: of the attempts that ended, the last one last.

    The rest belongs to one attempt. checked: the requests with the brokers' validation. plan: the edits to send. fresh:
    the cluster right before. conflicts: changes by other clients since the plan was staged; overtaken: since `fresh`
    was read. facts: the facts that requests depend on. requests: in order. before: the lines of the plan with the
    former values. recorded: its location in the journal; None without a journal. results: of the requests that are
    done. sent: the number of them that were sent. report: of the attempt, once it has ended.
    """

    options: ApplyOptions = DEFAULTS
    former: tuple[str, ...] = ()
    effects: Mapping[Slot, tuple[str, ...]] = field(default_factory=dict)
    risks: tuple[Risk, ...] = ()
    reports: tuple[ApplyReport, ...] = ()
    checked: tuple[StepResult, ...] = ()
    plan: Plan = EMPTY
    fresh: Snapshot = field(default_factory=Snapshot)
    conflicts: tuple[Conflict, ...] = ()
    overtaken: tuple[Conflict, ...] = ()
    facts: Facts = field(default_factory=Facts)
    requests: tuple[Step, ...] = ()
    before: tuple[DiffGroup, ...] = ()
    recorded: Recorded | None = None
    results: tuple[StepResult, ...] = ()
    sent: int = 0
    report: ApplyReport | None = None

    @property
    def change(self) -> int | None:
        """The number in the journal; None without a journal."""
        return self.recorded.number if self.recorded is not None else None

    @property
    def unrecorded(self) -> Failure | None:
        """The failure that left the journal incomplete."""
        return self.recorded.problem if self.recorded is not None else None

    @property
    def slots(self) -> dict[Slot, int]:
        """The number of each edit in the change; later rebases of the plan keep it."""
        return {staged.edit.slot: index for index, staged in enumerate(self.plan.staged)}

    @property
    def pending(self) -> Step:
        """The first request without a result."""
        return self.requests[len(self.results)]

    def again(self) -> ApplyRun:
        """Return a run for another attempt, without the results of the last one."""
        return ApplyRun(self.options, self.former, self.effects, self.risks, self.reports)

    def accepting(self, risks: tuple[Risk, ...] = (), conflicts: tuple[Conflict, ...] = ()) -> ApplyRun:
        """Return the run with newly accepted warnings and changes.

        Args:
            risks: warnings that no longer stop it.
            conflicts: other clients' changes that are overwritten; a further change of the same key stops it again.
        """
        seen, accepted = (*self.options.seen, *risks), (*self.options.accepted, *conflicts)
        return replace(self, options=replace(self.options, seen=seen, accepted=accepted))

    def with_result(self, outcomes: tuple[Outcome, ...]) -> ApplyRun:
        """Return the run with the result of its pending request.

        Args:
            outcomes: one for each target of the request.
        """
        return replace(self, results=(*self.results, StepResult(self.pending, outcomes)))

    def kept_back(self, why: Failure) -> ApplyRun:
        """Return the run with its pending request not sent.

        Args:
            why: the failure of each of its outcomes.
        """
        return self.with_result(not_sent(self.pending, why))

    def ended(self, report: ApplyReport) -> ApplyRun:
        """Return the run with the report of the attempt; no step follows."""
        return replace(self, report=report)
