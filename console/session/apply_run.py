"""The state of an apply as one frozen value: each step gets it, and returns it with the step's result. The steps that
ask the operator are in `apply_flow`, those that send in `applying`.
"""

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
    """The position of a change in the journal."""

    journal: JournalFile
    number: int
    """The number of the change."""
    slots: Mapping[Slot, int]
    """Slot of an edit (its target and key) -> the number of the edit within the change."""
    problem: Failure | None = None
    """The failure to write a line to the journal after the first request was sent, after which nothing more may be
    sent; None if all lines were written.
    """


class ApplyRun(Struct, frozen=True):
    """The state of an apply. An apply may have several attempts: the fields from `checked` on belong to the present
    one.
    """

    options: ApplyOptions = DEFAULTS
    """The options that the operator gave beforehand, plus the warnings and conflicts that the operator accepted since.
    """
    former: tuple[str, ...] = ()
    """Lines about changes that earlier runs left open."""
    effects: Mapping[Slot, tuple[str, ...]] = field(default_factory=dict)
    """Slot of an edit -> the effects of the edit on other entities, a line each."""
    risks: tuple[Risk, ...] = ()
    """The warnings about the plan that are not accepted yet."""
    reports: tuple[ApplyReport, ...] = ()
    """The reports of the attempts that have ended, in order."""
    checked: tuple[StepResult, ...] = ()
    """The plan's requests with the outcomes of the brokers' validation."""
    plan: Plan = EMPTY
    """The edits to send."""
    fresh: Snapshot = field(default_factory=Snapshot)
    """The state of the edits' targets, read right before the requests are sent."""
    conflicts: tuple[Conflict, ...] = ()
    """Changes that other clients made between the staging of the edits and the read of `fresh`."""
    overtaken: tuple[Conflict, ...] = ()
    """Changes that other clients made after `fresh` was read, found right before a request."""
    facts: Facts = field(default_factory=Facts)
    """Facts about the cluster that decide the form of the requests."""
    requests: tuple[Step, ...] = ()
    """The requests, in the order in which they are sent."""
    before: tuple[DiffGroup, ...] = ()
    """The plan's diff, with the values before the apply."""
    recorded: Recorded | None = None
    """The change's position in the journal; None if the cluster has no journal, or the change is not recorded yet."""
    results: tuple[StepResult, ...] = ()
    """The results of the requests up to now: of those that were sent, and of those that were kept back."""
    sent: int = 0
    """The number of requests that were sent."""
    report: ApplyReport | None = None
    """The report of the attempt; None until the attempt has ended."""

    @property
    def change(self) -> int | None:
        """The number of the change in the journal; None if the change is not in a journal."""
        return self.recorded.number if self.recorded is not None else None

    @property
    def unrecorded(self) -> Failure | None:
        """The failure to write the journal after the first request was sent; None if all lines were written or no
        journal is in use.
        """
        return self.recorded.problem if self.recorded is not None else None

    @property
    def slots(self) -> dict[Slot, int]:
        """Slot of each edit -> the number of the edit within the change. The numbers stay the same when the plan's
        edits get new base values.
        """
        return {staged.edit.slot: index for index, staged in enumerate(self.plan.staged)}

    @property
    def pending(self) -> Step:
        """The first request without a result, which is sent next."""
        return self.requests[len(self.results)]

    def again(self) -> ApplyRun:
        """Return the run prepared for another attempt, without the results of the present attempt."""
        return ApplyRun(self.options, self.former, self.effects, self.risks, self.reports)

    def accepting(self, risks: tuple[Risk, ...] = (), conflicts: tuple[Conflict, ...] = ()) -> ApplyRun:
        """Return the run with further warnings and conflicts accepted.

        Args:
            risks: the warnings that no longer stop the apply.
            conflicts: the changes of other clients that may be overwritten. A newer change of the same key stops the
                apply again.
        """
        seen, accepted = (*self.options.seen, *risks), (*self.options.accepted, *conflicts)
        return replace(self, options=replace(self.options, seen=seen, accepted=accepted))

    def with_result(self, outcomes: tuple[Outcome, ...]) -> ApplyRun:
        """Return the run with the pending request marked as sent.

        Args:
            outcomes: the outcome for each target of the request.
        """
        return replace(self, results=(*self.results, StepResult(self.pending, outcomes)))

    def kept_back(self, why: Failure) -> ApplyRun:
        """Return the run with the pending request marked as not sent.

        Args:
            why: the reason, which becomes the failure of each target of the request.
        """
        return self.with_result(not_sent(self.pending, why))

    def ended(self, report: ApplyReport) -> ApplyRun:
        """Return the run with the report of the attempt; no step follows."""
        return replace(self, report=report)
