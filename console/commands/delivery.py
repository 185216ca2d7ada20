"""The requests of a plan, sent one after another: each written down, and what it touches looked at once more, before it
goes out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.commands.journaling import Recording, api_name
from console.commands.look import look
from console.commands.sending import SKIPPED, not_sent, send, tally
from console.model.changes import Outcome
from console.model.failure import Failure
from console.plan.conflicts import Conflict, changed_since
from console.plan.requests import Facts, Step
from console.session.apply_report import InFlight, StepResult

if TYPE_CHECKING:
    from console.commands.session import Session

log = logging.getLogger(__name__)

CONFLICT = Failure(
    "CONFLICT",
    "another client changed it since it was read",
    "Look at what is there now; then discard the edit, or apply with --force to go over it.",
)
STOPPED = Failure(
    "STOPPED",
    "not sent: another client changed something else that the plan touches",
    "Look at what changed, and apply again.",
)
INTERRUPTED = Failure("INTERRUPTED", "not sent: the apply was ended before", "Apply again to send it.")


@dataclass
class Delivery:
    """Sends steps in their order, until the session is stopped. force: over what another client changed meanwhile.

    results: of each step. conflicts: what another client changed between the look at the whole plan and the request:
    with `force` it was gone over, else this request and all after it were kept back. sent: how many went out.
    """

    session: Session
    recording: Recording
    facts: Facts
    force: bool
    results: list[StepResult] = field(default_factory=list)
    conflicts: tuple[Conflict, ...] = ()
    sent: int = 0

    async def send(self, steps: Sequence[Step]) -> None:
        """Send all of them. Never raises for what a cluster or a disk does: the outcomes say it."""
        for place, step in enumerate(steps):
            self.session.progress("apply", place, len(steps))
            result = StepResult(step, await self._next(step, place))
            self.results.append(result)
            await self.recording.answered(place, result)
            log.info("%s: %s", type(step.request).__name__, tally(result.outcomes))
        self.session.progress("apply", len(steps), len(steps))

    async def _next(self, step: Step, place: int) -> tuple[Outcome, ...]:
        if any(self.results[other].failed for other in step.after):
            return not_sent(step, SKIPPED)
        if self.conflicts and not self.force:
            return not_sent(step, STOPPED)
        if self.session.stopping:
            return not_sent(step, INTERRUPTED)
        if not await self.recording.sending(place):
            return not_sent(step, self.recording.problem or SKIPPED)
        if (kept_back := await self._moved(step)) is not None:
            return kept_back
        if self.session.stopping:
            return not_sent(step, INTERRUPTED)
        self.sent += 1
        api = api_name(step.request, self.facts)
        self.session.in_flight = InFlight(self.recording.number, api, len(step.staged), datetime.now(UTC))
        try:
            return await send(self.session, step, validate_only=False)
        finally:
            self.session.in_flight = None

    async def _moved(self, step: Step) -> tuple[Outcome, ...] | None:
        """The outcomes of a request that must not go out, since what it touches has changed.

        Writing it down and the requests before it took their time. What an edit inherits may have been changed by those
        very requests, so that only what is its own counts.
        """
        from console.admin.errors import AdminError

        try:
            fresh = await look(self.session, (staged.edit for staged in step.staged))
        except AdminError as error:
            return not_sent(step, error.failure)
        found = changed_since(step.staged, fresh)
        self.conflicts += found
        return not_sent(step, CONFLICT) if found and not self.force else None
