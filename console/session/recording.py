"""Records a plan in the journal: all of it before anything is sent, each request as it goes out and is answered."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from console.journal.file import JournalFile
from console.journal.records import Answered, Ended, Entry, Intent, Note, this_operator, this_process
from console.journal.segments import JournalError
from console.language.sensitive import looks_sensitive
from console.model.changes import AlterConfigs, ChangeRequest, Outcome
from console.model.failure import Failure
from console.model.journal_lines import Request, Sending
from console.model.snapshot import Snapshot
from console.plan.conflicts import Conflict
from console.plan.edits import Edit, Slot
from console.plan.kinds.registry import kind_of
from console.plan.plan import Plan
from console.plan.requests import Facts, Step
from console.plan.settle import StepResult, record_check
from console.plan.staged import Staged

if TYPE_CHECKING:
    from console.session.session import Session

log = logging.getLogger(__name__)


_API_NAMES = {
    "AlterConfigs": "IncrementalAlterConfigs",
    "AlterQuotas": "AlterClientQuotas",
    "AlterScram": "AlterUserScramCredentials",
    "AlterReassignments": "AlterPartitionReassignments",
    "AlterReplicaDirs": "AlterReplicaLogDirs",
    "AbortTransaction": "WriteTxnMarkers",
    "CommitOffsets": "OffsetCommit",
    "DeleteOffsets": "OffsetDelete",
}


def api_name(request: ChangeRequest, facts: Facts) -> str:
    """Kafka's name of the API that a request goes to."""
    if isinstance(request, AlterConfigs) and not facts.incremental:
        return "AlterConfigs"
    name = type(request).__name__
    return _API_NAMES.get(name, name)


class Recording:
    """One change in the journal; nothing is written if the session keeps no journal.

    problem: why a record could not be written after the first request was sent; nothing more may be sent then.
    """

    def __init__(self, journal: JournalFile | None, number: int, slots: Mapping[Slot, int]) -> None:
        self._journal = journal
        self.number = number if journal is not None else None
        self._slots = slots
        self.problem: Failure | None = None

    async def sending(self, request: int) -> bool:
        """Record that a request is about to be sent. Returns False if that failed: then it must not be sent."""
        return await self._note(Sending(self.number or 0, request, _now()))

    async def answered(self, request: int, result: StepResult) -> None:
        """Record the outcome of a request."""
        await self._note(Answered(self.number or 0, request, _now(), self._ended(result)))

    def _ended(self, result: StepResult) -> dict[int, Ended]:
        of_slot = record_check(Plan(result.step.staged), [(result.step, result.outcomes)]).outcomes
        return {self._slots[slot]: _ended(outcome) for slot, outcome in of_slot.items()}

    async def _note(self, note: Note) -> bool:
        if self._journal is None:
            return True
        if self.problem is None:
            try:
                await asyncio.to_thread(self._journal.note, note)
            except JournalError as error:
                log.warning("the journal: %s", error.failure)
                self.problem = error.failure
        return self.problem is None


def _ended(outcome: Outcome) -> Ended:
    return Ended(outcome.status, outcome.failure, outcome.topic_id)


async def record(
    session: Session, plan: Plan, steps: Sequence[Step], facts: Facts, fresh: Snapshot, over: Iterable[Conflict]
) -> Recording:
    """Record what is about to be sent. fresh: the state right before. over: the conflicts that it overwrites.

    Raises JournalError if it can't be written: then nothing may be sent.
    """
    slots = {staged.edit.slot: place for place, staged in enumerate(plan.staged)}
    if not session.context.journal:
        return Recording(None, 0, slots)
    overridden = frozenset(conflict.staged.edit.slot for conflict in over)
    at = _now()
    intent = Intent(
        at,
        session.context.name,
        this_operator(session.context.principal, os.environ),
        this_process(session.door),
        tuple(_entry(staged, fresh, at, overridden) for staged in plan.staged),
        tuple(_request(step, facts, slots) for step in steps),
        session.operation,
    )
    journal = await session.journal()
    return Recording(journal, await asyncio.to_thread(journal.begin, intent), slots)


def _entry(staged: Staged, fresh: Snapshot, at: datetime, overridden: frozenset[Slot]) -> Entry:
    until = at + timedelta(milliseconds=staged.lasts_ms) if staged.lasts_ms is not None else None
    recorded = kind_of(staged.edit).recorded(staged.edit, fresh)
    return Entry(staged, until, staged.edit.slot in overridden, recorded, _is_secret(staged.edit))


def _is_secret(edit: Edit) -> bool:
    """Whether an edit has a value that is never recorded: a Secret, or a text under a key that looks sensitive."""
    kind = kind_of(edit)
    return kind.holds_secret(edit) or (kind.hideable and looks_sensitive(edit.key))


def _request(step: Step, facts: Facts, slots: Mapping[Slot, int]) -> Request:
    broker = step.request.broker if isinstance(step.request, AlterConfigs) else None
    return Request(api_name(step.request, facts), broker, tuple(slots[staged.edit.slot] for staged in step.staged))


def _now() -> datetime:
    return datetime.now(UTC)
