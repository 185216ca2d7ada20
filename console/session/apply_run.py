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
    """A change's location in the journal."""

    journal: JournalFile
    number: int
    """The number of the change."""
    slots: Mapping[Slot, int]
    """The number of each edit in the change."""
    problem: Failure | None = None
    """The reason why a line could not be written after the first request was sent; nothing more may be sent then; None
    if all lines were written."""


class ApplyRun(Struct, frozen=True):
    """The state of an apply.

    The fields from `checked` on belong to one attempt.
    """

    options: ApplyOptions = DEFAULTS
    """The options that the operator gave beforehand, with the warnings and other clients' changes accepted since."""
    former: tuple[str, ...] = ()
    """Lines on open former changes."""
    effects: Mapping[Slot, tuple[str, ...]] = field(default_factory=dict)
    """The effects of each edit on other entities."""
    risks: tuple[Risk, ...] = ()
    """Warnings that were not accepted beforehand."""
    reports: tuple[ApplyReport, ...] = ()
    """The reports of the attempts that ended, the last one last."""
    checked: tuple[StepResult, ...] = ()
    """The plan's requests, each with the outcomes of the brokers' validation."""
    plan: Plan = EMPTY
    """The edits to send."""
    fresh: Snapshot = field(default_factory=Snapshot)
    """The cluster right before the apply."""
    conflicts: tuple[Conflict, ...] = ()
    """Changes by other clients since the plan was staged."""
    overtaken: tuple[Conflict, ...] = ()
    """Changes by other clients since `fresh` was read."""
    facts: Facts = field(default_factory=Facts)
    """The facts that requests depend on."""
    requests: tuple[Step, ...] = ()
    """The requests in the order of sending."""
    before: tuple[DiffGroup, ...] = ()
    """The lines of the plan with the former values."""
    recorded: Recorded | None = None
    """The location of the change in the journal; None without a journal."""
    results: tuple[StepResult, ...] = ()
    """The results of the requests that are done."""
    sent: int = 0
    """The number of requests that were sent."""
    report: ApplyReport | None = None
    """The report of the attempt, once it has ended; None before."""

    @property
    def change(self) -> int | None:
        """The number of the change in the journal; None without a journal."""
        return self.recorded.number if self.recorded is not None else None

    @property
    def unrecorded(self) -> Failure | None:
        """The failure that left the journal incomplete; None if the journal is complete or not in use."""
        return self.recorded.problem if self.recorded is not None else None

    @property
    def slots(self) -> dict[Slot, int]:
        """The number that each edit has within the change; it stays the same when the plan is rebased."""
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
            risks: warnings that no longer stop the apply.
            conflicts: other clients' changes that are overwritten; a further change of the same key stops the apply
                again.
        """
        seen, accepted = (*self.options.seen, *risks), (*self.options.accepted, *conflicts)
        return replace(self, options=replace(self.options, seen=seen, accepted=accepted))

    def with_result(self, outcomes: tuple[Outcome, ...]) -> ApplyRun:
        """Return the run with the result of its pending request.

        Args:
            outcomes: an outcome for each target of the request.
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
