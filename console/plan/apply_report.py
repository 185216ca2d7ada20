"""What an apply is asked to do, what it is waiting for, and what it did."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from console.model.changes import Outcome
from console.model.failure import Failure
from console.plan.conflicts import Conflict
from console.plan.requests import Step
from console.plan.risks import Risk


@dataclass(frozen=True, slots=True)
class StepResult:
    """A request and how it went for each of its targets."""

    step: Step
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes that are neither applied nor found valid."""
        return tuple(outcome for outcome in self.outcomes if not outcome.ok)


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What a check or an apply did.

    sent: whether anything was sent to change the cluster. conflicts: what another client changed since it was read, so
    that it was not sent, nor anything after it. overridden: the same where it was sent all the same. surprises: what
    was found afterwards that is neither as before nor as wanted. change: the number in the journal, None where none was
    kept. unrecorded: why the journal does not say how all of it went. risks: warnings that nobody accepted, for which
    nothing was sent.
    """

    results: tuple[StepResult, ...]
    sent: bool
    conflicts: tuple[Conflict, ...] = ()
    overridden: tuple[Conflict, ...] = ()
    surprises: tuple[Conflict, ...] = ()
    change: int | None = None
    unrecorded: Failure | None = None
    risks: tuple[Risk, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing failed and nothing stood in the way."""
        return not self.conflicts and not self.risks and not any(result.failed for result in self.results)


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """How to apply.

    valid_only: send what passed the check where something did not. force: go over whatever another client changed
    meanwhile. accepted: go over these changes, which the operator has seen, and no others. risks: the names of the
    warnings that are no hindrance. seen: warnings that the operator has seen and accepted, and no others.
    """

    valid_only: bool = False
    force: bool = False
    accepted: tuple[Conflict, ...] = ()
    risks: frozenset[str] = frozenset()
    seen: tuple[Risk, ...] = ()

    def hindering(self, found: Iterable[Risk]) -> tuple[Risk, ...]:
        """The warnings that nobody accepted."""
        seen = {(risk.slot, risk.name) for risk in self.seen}
        return tuple(risk for risk in found if risk.name not in self.risks and (risk.slot, risk.name) not in seen)


@dataclass(frozen=True, slots=True)
class InFlight:
    """A request that was sent to change the cluster and has no answer yet.

    change: the number in the journal, None where none is kept. api: Kafka's name of the request; edits: how many it
    carries; since: when it was sent, UTC.
    """

    change: int | None
    api: str
    edits: int
    since: datetime

    @property
    def unknown(self) -> str:
        """What to say where nobody waits for the answer."""
        if self.change is None:
            return "outcome unknown: no journal is kept, describe what the plan touched"
        return f"outcome unknown: change {self.change}, `kac history` settles it"

    def waiting(self, now: datetime) -> str:
        """What is waited for, and since when."""
        number = f"change {self.change}: " if self.change is not None else ""
        edits = f"{self.edits:,} {'edit' if self.edits == 1 else 'edits'}"
        at = self.since.astimezone().strftime("%H:%M:%S")
        seconds = max(0, int((now - self.since).total_seconds()))
        return f"{number}{self.api} with {edits} was sent at {at}, {seconds} s ago, and is not answered yet"


class Interrupted(asyncio.CancelledError):
    """An apply that was cancelled has come to its end: the report says how what was sent went."""

    def __init__(self, report: ApplyReport) -> None:
        super().__init__()
        self.report = report
