"""Changes of the past: read them from the journal, record an operator's decisions, stage their reversals."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct, structs

from console.journal.entries import still_runs, this_operator, this_process
from console.journal.file import JournalFile
from console.journal.history import Change, Due, History, State, latest_changes
from console.model.changes import Status
from console.model.failure import Failure
from console.model.grouping import grouped
from console.model.journal_lines import Closed, Decided, Mended, Origin, Place
from console.model.numbers import plural
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan.conflicts import conflicts, rebase
from console.plan.edits import AclEdit, ConfigEdit, DeleteTopic, QuotaEdit, Slot, WriteRecords
from console.plan.kinds.registry import kind_of
from console.plan.plan import StageReport
from console.plan.reversal import reversal
from console.plan.staged import UNREAD, Staged, topic_id_of
from console.present import names
from console.present.failures import how_to_settle
from console.present.text import clean
from console.session.former_changes import any_journal, history_of, read_open, reconcile_open
from console.session.journal_access import in_journal
from console.session.read_again import read_again

if TYPE_CHECKING:
    from console.answers.results import Table
    from console.language.statements import Entity
    from console.plan.conflicts import Conflict
    from console.session.session import Session

T = TypeVar("T")


async def read_around(journal: JournalFile, number: int) -> History:
    """Return a change, and the later changes of the same keys. Raises Refused for an unknown number, and as `read_open`
    does."""
    from console.session.snapshot_reader import Refused

    past = await in_journal(journal, lambda file: history_of(file.around(number)))
    if number not in past.changes:
        numbers = await in_journal(journal, JournalFile.numbers)
        known = f"its changes are {numbers[0]} to {numbers[1]}" if numbers else "it is empty"
        failure = Failure("NO_SUCH_CHANGE", f"there is no change {number} in the journal; {known}", "See: history")
        raise Refused(failure)
    return past


async def read_latest(journal: JournalFile, use: Callable[[Iterator[Change]], T]) -> T:
    """Return the result of `use`, called in a thread with the changes of a cluster, the latest first. Only as many are
    read as `use` takes. Raises Refused as `read_open` does."""
    return await in_journal(journal, lambda file: use(latest_changes(file.latest(), still_runs)))


LOOKED_BACK = 200
"""Maximum number of changes that are searched for a setting that was reverted, and for letters of a plan."""


async def lines_of_the_past(staged: Sequence[Staged], journal: Callable[[], Awaitable[JournalFile]]) -> tuple[str, ...]:
    """Return lines on a plan from the journal's latest changes: settings that another client reverts, and letters that
    are written already. Empty without a journal, or if it can't be read.
    """
    from console.journal.segments import JournalError
    from console.session.session import NoJournal
    from console.session.snapshot_reader import Refused

    mine = {each.edit.slot: each for each in staged if isinstance(each.edit, _LASTING)}
    letters = [each.edit for each in staged if isinstance(each.edit, WriteRecords) and each.edit.first_for]
    if not (mine or letters) or not any_journal(os.environ):
        return ()
    search = partial(past_lines, MadeBefore(mine), WrittenBefore(letters, this_process("")))
    try:
        return await read_latest(await journal(), lambda changes: search(islice(changes, LOOKED_BACK)))
    except (JournalError, NoJournal, Refused):
        return ()  # the lines on former changes report the reason


def past_lines(made: MadeBefore, written: WrittenBefore, changes: Iterable[Change]) -> tuple[str, ...]:
    """Pass changes to both searches, the latest first, and return their lines. Stop when nothing is left to find. Only
    one change at a time is in memory, since its letters may take megabytes.
    """
    for change in changes:
        made.see(change)
        written.see(change)
        if not (made.left or any(written.left.values())):
            break
    return (*made.lines(), *written.lines())


class WrittenBefore:
    """The search for letters of a plan that former changes have written, or may have. left: topic -> the hashes of
    letters that no change so far has written.
    """

    def __init__(self, letters: Iterable[WriteRecords], here: Origin) -> None:
        """Begin the search. here: this process, which sends the same batch under the same numbers after a lost answer,
        so that brokers write it once.
        """
        some = tuple(letters)
        self._wanted = {topic: _hashes(of) for topic, of in grouped([(each.topic, each) for each in some]).items()}
        self.left = dict(self._wanted)
        self._doubtful = {topic: Counter[str]() for topic in self._wanted}
        self._batches, self._here = {(each.target, each.hashes) for each in some}, _process(here)
        self._by: dict[tuple[str, bool], dict[int, None]] = {}

    def see(self, change: Change) -> None:
        """Search the next change, which is earlier than those before."""
        is_here = _process(change.intent.origin) == self._here
        for edit in _letters(change, State.APPLIED):
            if there := self._in(edit, self.left):
                self.left[edit.topic] = self.left[edit.topic] - there
                self._by.setdefault((edit.topic, True), {})[change.number] = None
        for edit in _letters(change, State.UNKNOWN, State.UNDER_WAY):
            if is_here and (edit.target, edit.hashes) in self._batches:
                continue
            if there := self._in(edit, self.left) - self._doubtful.get(edit.topic, Counter()):
                self._doubtful[edit.topic] += there
                self._by.setdefault((edit.topic, False), {})[change.number] = None

    @staticmethod
    def _in(edit: WriteRecords, left: Mapping[str, Counter[str]]) -> Counter[str]:
        wanted = left.get(edit.topic) or Counter()
        return wanted & Counter(each for each in edit.hashes if each in wanted)

    def lines(self) -> Iterator[str]:
        """Yield a line for each topic to which an earlier change wrote some of the plan's letters, or may have written
        them.
        """
        for topic, wanted in self._wanted.items():
            known, doubtful = wanted - self.left[topic], self._doubtful[topic] & self.left[topic]
            if not (count := (known + doubtful).total()):
                continue
            were = "was" if count == 1 else "were"
            how = " or ".join([*([were] if known else []), *(["may have been"] if doubtful else [])])
            by = {**(self._by[topic, True] if known else {}), **(self._by[topic, False] if doubtful else {})}
            yield (
                f"{count} of {plural(wanted.total(), 'letter')} for {clean(topic, 80)} {how} written before, by "
                f"{'change' if len(by) == 1 else 'changes'} {names.some([str(each) for each in sorted(by)])}: "
                f"this {'may write them twice' if doubtful else 'writes them once more'}"
            )


def _letters(change: Change, *states: State) -> Iterator[WriteRecords]:
    edits = (change.entries[place].staged.edit for place in change.in_state(*states))
    return (each for each in edits if isinstance(each, WriteRecords) and each.first_for)


def _hashes(letters: Iterable[WriteRecords]) -> Counter[str]:
    return Counter(chain.from_iterable(each.hashes for each in letters))


def _process(origin: Origin) -> tuple[object, ...]:
    return origin.host, origin.pid, origin.started


_LASTING = ConfigEdit | QuotaEdit | AclEdit
"""Edits that take effect at once, and last unless another client changes the value."""


class MadeBefore:
    """The search for changes that made the same edits as a plan, without another change of their keys in between.
    left: the edits whose search goes on, by their slots."""

    def __init__(self, mine: Mapping[Slot, Staged]) -> None:
        """Begin the search. mine: the plan's edits by their slots."""
        self.left, self._found = dict(mine), dict[Slot, tuple[int, ...]]()

    def see(self, change: Change) -> None:
        """Search the next change, which is earlier than those before."""
        for place in change.in_state(State.APPLIED) if self.left else ():
            was = change.entries[place].staged
            slot = was.edit.slot
            if isinstance(was.edit, DeleteTopic):  # the settings of a deleted topic were deleted with it
                self.left = {other: each for other, each in self.left.items() if each.edit.on_topic != was.edit.name}
            if slot not in self.left:
                continue
            if was.edit == self.left[slot].edit and place not in change.undone:
                self._found[slot] = (change.number, *self._found.get(slot, ()))
            else:
                del self.left[slot]

    def lines(self) -> Iterator[str]:
        """Yield a line for each edit that a former change made already, and that another client then set back."""
        return (_set_back_line(slot, numbers) for slot, numbers in self._found.items())


def _set_back_line(slot: Slot, numbers: Sequence[int]) -> str:
    what = f"{names.target(slot.target)} {slot.key}".strip()
    if len(numbers) == 1:
        times = f"change {numbers[0]} made the same, and it was set back since"
    else:
        changes = names.some([str(each) for each in numbers])
        times = f"changes {changes} made the same, and it was set back {len(numbers)} times"
    return f"{what}: {times}, by another client: find out which, or this does not last either"


async def read_history_table(
    journal: JournalFile,
    entity: Entity | None = None,
    text: str = "",
    *,
    all_: bool = False,
    between: tuple[datetime | None, datetime | None] = (None, None),
) -> Table:
    """Return the table of `console.answers.history_results.history_table`; only the shown part of the journal is read.
    Raises Refused, AdminError."""
    from console.answers.history_results import history_table

    past = await read_open(journal)
    return await read_latest(journal, lambda made: history_table(made, past, entity, text, all_=all_, between=between))


async def decide(session: Session, number: int, status: Status, why: str) -> int:
    """Record an operator's decision on a change whose outcome is unknown, or was decided before.

    Edits that the cluster shows are settled first, and need no decision.

    Args:
        status: APPLIED or NOT_APPLIED.
        why: the operator's reason, for the journal.

    Returns:
        The number of edits that the decision covers.

    Raises:
        Refused: the change has no such edits, the context is read-only, or the journal can't be written.
        AdminError: the connection to the cluster is lost.
    """
    from console.session.snapshot_reader import Refused

    session.refuse_if_read_only()
    # Look at the cluster first: the operator need not decide an outcome that the cluster shows.
    journal = await session.journal()
    await reconcile_open(session.client, session.context, session.snapshot, journal)
    change = (await read_around(journal, number)).changes[number]
    indexes = (*change.in_state(State.UNKNOWN), *change.decided)
    if not indexes:
        states = ", ".join(dict.fromkeys(change.state(index).value for index in range(len(change.entries))))
        raise Refused(
            Failure("NOT_UNKNOWN", f"the outcome of change {number} is known: {states}", "Nothing is left to settle.")
        )
    by = this_operator(session.context.principal, os.environ)
    note = Decided(number, _now(), dict.fromkeys(sorted(set(indexes)), status), by, why)
    await in_journal(journal, lambda file: file.note(note))
    return len(set(indexes))


async def close(journal: JournalFile, due: Due, why: str) -> None:
    """Record that an edit is no longer to be reverted. Raises Refused if the journal can't be written."""
    await in_journal(journal, lambda file: file.note(Closed(due.place, _now(), why)))


async def mend(journal: JournalFile, principal: str) -> bool:
    """Close the journal's last line if it was truncated; return False if it was not. principal: the cluster's name of
    the operator. Raises Refused."""
    mended = Mended(_now(), this_operator(principal, os.environ))
    return await in_journal(journal, lambda file: file.mend(mended))


class Back(NamedTuple):
    """The reversal of an edit of a past change, or the reason why there is none."""

    staged: tuple[Staged, ...]
    """The edits that revert the past edit, based on its result; empty if it can't be reverted."""
    note: str
    """The reason why the edit can't be reverted, or the part that can't be restored; ``""`` without either."""
    secrets: tuple[str, ...] = ()
    """The keys whose former values are not stored, because they are secret."""
    lacks_them: Staged | None = None
    """The reversal that needs the values of `secrets`, based like the edits in `staged`; None if no value is needed."""


class RevertReport(Struct, frozen=True):
    """The result of staging a revert."""

    staging: StageReport
    notes: tuple[str, ...]
    """The edits that could not be reverted, or not fully."""
    moved: tuple[Conflict, ...]
    """Later changes of another client, at which an apply stops."""


def opposites(change: Change, indexes: Iterable[int] | None = None) -> tuple[Back, ...]:
    """Return the reversals of a change's edits, or of those at `indexes`. Pure."""
    edits = [entry.staged.edit for entry in change.entries]
    # Deleting a topic deletes its configs; reverting those one by one would fail.
    new = frozenset(name for edit in edits if (name := edit.new_topic) is not None)
    return tuple(_opposite(change, index, new) for index in (range(len(edits)) if indexes is None else indexes))


def _opposite(change: Change, index: int, new: frozenset[str]) -> Back:
    entry, state = change.entries[index], change.state(index)
    edit = entry.staged.edit
    what = f"{names.target(edit.target)} {edit.key}".strip()
    if state is State.UNKNOWN:
        return Back((), f"{what}: its outcome is unknown; {how_to_settle(change.number)}")
    if state is not State.APPLIED:
        return Back((), f"{what}: nothing to take back, it is {state.value}")
    if index in change.undone:
        return Back((), f"{what}: change {change.undone[index].change} took it back already")
    if edit.on_topic in new:
        return Back((), "")  # a config of a topic that the change created is deleted with it
    back = reversal(entry.staged, entry.overrides)
    note = f"{what}: {back.loss}" if back.loss else ""
    topic_id = change.topic_ids.get(index, entry.staged.topic_id)
    of = Place(change.number, index)
    staged = tuple(Staged(edit, back.left, reverts=of, topic_id=topic_id) for edit in back.edits)
    if back.secrets:
        lacks_them = Staged(staged[0].edit if staged else edit, back.left, reverts=of, topic_id=topic_id)
        return Back(staged, note, back.secrets, lacks_them)
    return Back(staged, note) if staged else Back((), note or f"{what}: can't be taken back")


async def stage_opposites(session: Session, past: History, backs: Sequence[Back]) -> RevertReport:
    """Stage reversals, as one step to undo.

    Each reversal is bound to the result of its edit: an apply stops if another topic has taken the name, if a later
    change touched the same key, or if kac can't know that for a deleted entity.

    Args:
        past: the changes, with later ones.

    Raises:
        Refused: the context is read-only.
        AdminError: the connection to the cluster is lost.
    """
    session.refuse_if_read_only()
    wanted = {staged.edit.slot: staged for back in backs for staged in back.staged}
    await read_again(session, (staged.edit for staged in wanted.values()))
    # Read the topics too: the configs of a topic that was deleted since would otherwise still look settable.
    if homes := list(dict.fromkeys(name for staged in wanted.values() if (name := staged.edit.on_topic) is not None)):
        await session.read_topics(homes)
    staging = session.stage([staged.edit for staged in wanted.values()])
    upon: dict[Slot, Staged] = {}
    for added in staging.added:
        asked = wanted[added.edit.slot]
        upon[added.edit.slot] = structs.replace(
            added,
            # Base the reversal on the value that the change left, not on the present one: the apply then detects
            # another client's change.
            was=added.was if asked.was is UNREAD else asked.was,
            reverts=asked.reverts,
            topic_id=asked.topic_id,
            doubt=_doubt(past, asked, session.snapshot),
        )
    plan = rebase(session.plan, upon)
    session.replan(plan)
    report = replace(staging, made=lambda: plan, added=tuple(upon.values()))
    moved = tuple(c for c in conflicts(upon.values(), session.snapshot) if c.now is not UNREAD)
    return RevertReport(report, tuple(back.note for back in backs if back.note), moved)


def _doubt(past: History, back: Staged, snapshot: Snapshot) -> str:
    """Return the reason why a reversal may affect something other than the result of its edit; ``""`` without
    a doubt.
    """
    assert back.reverts is not None
    number = back.reverts.change
    later = past.touched_later(number, back.edit.slot)
    if later is not None:
        return f"change {later.number} of {later.intent.at:%Y-%m-%d %H:%M} UTC touched it since change {number}"
    same_topic = back.topic_id is not None and topic_id_of(back.edit, snapshot) is not None
    return kind_of(back.edit).doubt(back.edit, number, same_topic)


AskSecret = Callable[[str], Awaitable[Secret]]
"""Asks the operator for a secret, given the prompt; returns an empty secret if the operator leaves it out."""


async def _asked(back: Back, ask: AskSecret) -> Back:
    """Return a reversal with the secrets that the operator enters; unchanged if it needs no secret, or if the operator
    leaves all of them out.
    """
    staged = back.lacks_them
    if staged is None:
        return back
    of = names.target(staged.edit.target)
    given = {key: await ask(f"{of} {clean(key, 80)} (empty: leave it out)") for key in back.secrets}
    known = {key: secret for key, secret in given.items() if secret.reveal()}
    if not known:
        return back
    edit, loss = kind_of(staged.edit).with_secrets(staged.edit, known)
    note = back.note if len(known) < len(given) else f"{of}: {loss}" if loss else ""
    return Back((structs.replace(staged, edit=edit),), note)


async def stage_revert(session: Session, number: int, ask: AskSecret | None = None) -> RevertReport:
    """Stage the reversal of a change.

    Args:
        ask: a function that asks the operator for secrets that are not stored; None leaves them out.

    Raises:
        Refused: there is no change with this number, or the context is read-only.
        AdminError: the connection to the cluster is lost.
    """
    journal = await session.journal()
    await reconcile_open(session.client, session.context, session.snapshot, journal)
    past = await read_around(journal, number)
    backs = opposites(past.changes[number])
    return await stage_opposites(session, past, [await _asked(each, ask) for each in backs] if ask else backs)


def _now() -> datetime:
    return datetime.now(UTC)
