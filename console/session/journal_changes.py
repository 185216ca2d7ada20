"""Changes of the past: read them from the journal, record an operator's decisions about them, stage their reversals."""

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
    """Return a change and the later changes of the same keys. number: the number of the change in the journal. Raises
    Refused if there is no such change, and as `read_open` does.
    """
    from console.session.snapshot_reader import Refused

    past = await in_journal(journal, lambda file: history_of(file.around(number)))
    if number not in past.changes:
        numbers = await in_journal(journal, JournalFile.numbers)
        known = f"its changes are {numbers[0]} to {numbers[1]}" if numbers else "it is empty"
        failure = Failure("NO_SUCH_CHANGE", f"there is no change {number} in the journal; {known}", "See: history")
        raise Refused(failure)
    return past


async def read_latest(journal: JournalFile, use: Callable[[Iterator[Change]], T]) -> T:
    """Call `use` in a thread with an iterator over a cluster's changes, the latest first, and return its result.
    Changes that `use` does not take from the iterator are not read. Raises Refused as `read_open` does.
    """
    return await in_journal(journal, lambda file: use(latest_changes(file.latest(), still_runs)))


LOOKED_BACK = 200
"""Maximum number of changes that are searched for a setting that was reverted, and for dead letters that were written.
"""


async def lines_of_the_past(staged: Sequence[Staged], journal: Callable[[], Awaitable[JournalFile]]) -> tuple[str, ...]:
    """Return lines about a plan from the latest changes in the journal: settings that another client reverted before,
    and dead letters that were written before. Empty if there are no such changes, or no readable journal.
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
    """Pass changes, the latest first, to both searches, and return the lines that they found. Stop when neither search
    can find more. Only one change at a time is in memory, since the letters of one change may take megabytes.
    """
    for change in changes:
        made.see(change)
        written.see(change)
        if not (made.left or any(written.left.values())):
            break
    return (*made.lines(), *written.lines())


class WrittenBefore:
    """A search for dead letters of a plan that earlier changes have written, or may have written. left: topic -> hashes
    of the letters that were not found so far.
    """

    def __init__(self, letters: Iterable[WriteRecords], here: Origin) -> None:
        """Begin the search.

        Args:
            letters: the plan's edits that write letters.
            here: the identity of this process. Its own batches with an unknown outcome do not count, because it sends
                such a batch again with the same producer id and sequence number, so that brokers write it once.
        """
        some = tuple(letters)
        self._wanted = {topic: _hashes(of) for topic, of in grouped([(each.topic, each) for each in some]).items()}
        self.left = dict(self._wanted)
        self._doubtful = {topic: Counter[str]() for topic in self._wanted}
        self._batches, self._here = {(each.target, each.hashes) for each in some}, _process(here)
        self._by: dict[tuple[str, bool], dict[int, None]] = {}

    def see(self, change: Change) -> None:
        """Look for the wanted letters in a change, and note those found. The caller passes changes from the latest to
        the earliest.
        """
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
        """Yield a line for each topic to which an earlier change wrote, or may have written, some of the plan's
        letters.
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
"""The kinds of edits that take effect at once, and last until another client changes the value."""


class MadeBefore:
    """A search for earlier changes that made the same edits as a plan. The search for an edit ends at the first
    change by kac that set the edit's key to another value. left: slot (target and key) -> the edits that are
    still searched for.
    """

    def __init__(self, mine: Mapping[Slot, Staged]) -> None:
        """Begin the search. mine: slot -> the plan's edit."""
        self.left, self._found = dict(mine), dict[Slot, tuple[int, ...]]()

    def see(self, change: Change) -> None:
        """Look for the wanted edits in a change, and note those found; stop searching for keys that the change sets
        to other values. The caller passes changes from the latest to the earliest.
        """
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
        """Yield a line for each edit that an earlier change made already, and that another client reverted
        afterwards.
        """
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
    """Return the table of `console.answers.history_results.history_table`. Only the part of the journal that the table
    shows is read. Raises Refused, AdminError.

    Args:
        entity: the only entity whose changes are shown; None for all.
        text: the text by which changes are selected; ``""`` for all.
        all_: whether to show all changes, not only the latest.
        between: the earliest and the latest time of the changes, UTC; None for no limit.
    """
    from console.answers.history_results import history_table

    past = await read_open(journal)
    return await read_latest(journal, lambda made: history_table(made, past, entity, text, all_=all_, between=between))


async def decide(session: Session, number: int, status: Status, why: str) -> int:
    """Record an operator's decision about a change whose outcome is unknown, or was decided before.

    Edits that are found in the cluster are recorded as applied first, and are not part of the decision.

    Args:
        number: the number of the change in the journal.
        status: APPLIED or NOT_APPLIED.
        why: the operator's reason, for the journal.

    Returns:
        The number of edits that the decision covers.

    Raises:
        Refused: the change has no edits to decide, the context is read-only, or the journal can't be written.
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
    """Record that an edit, applied for a limited time, is not to be reverted any more. Raises Refused if the journal
    can't be written.
    """
    await in_journal(journal, lambda file: file.note(Closed(due.place, _now(), why)))


async def mend(journal: JournalFile, principal: str) -> bool:
    """End the journal's last line if it was cut off; return False if it was not. principal: the operator's name in the
    cluster, for the journal. Raises Refused.
    """
    mended = Mended(_now(), this_operator(principal, os.environ))
    return await in_journal(journal, lambda file: file.mend(mended))


class Back(NamedTuple):
    """The reversal of one edit of a past change, or the reason why it can't be reverted."""

    staged: tuple[Staged, ...]
    """The edits that revert the past edit; their former value is the past edit's result. Empty if it can't be
    reverted.
    """
    note: str
    """The reason why the edit can't be reverted, or which part of it can't; ``""`` if it can be reverted completely."""
    secrets: tuple[str, ...] = ()
    """The config keys whose former values are unknown, because the journal stores no secrets."""
    lacks_them: Staged | None = None
    """The edit that needs the operator's values for `secrets`; None if `secrets` is empty."""


class RevertReport(Struct, frozen=True):
    """The result of staging a revert."""

    staging: StageReport
    notes: tuple[str, ...]
    """Lines about edits that could not be reverted, or only in part."""
    moved: tuple[Conflict, ...]
    """Later changes of the same keys by another client, which will stop an apply."""


def opposites(change: Change, indexes: Iterable[int] | None = None) -> tuple[Back, ...]:
    """Return the reversal of each edit of a change. Pure.

    Args:
        indexes: the numbers of the edits within the change; None for all.
    """
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
    """Stage reversals into the session's plan, as one step that an operator can undo.

    Each reversal depends on the result of its past edit. An apply stops if another topic now has the name, if a later
    change altered the same key, or if kac can't know that because the entity was deleted.

    Args:
        past: the changes and the later changes of the same keys.

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
    """Return the reason why a reversal might affect something other than the result of its past edit; ``""`` if there
    is no such reason.
    """
    assert back.reverts is not None
    number = back.reverts.change
    later = past.touched_later(number, back.edit.slot)
    if later is not None:
        return f"change {later.number} of {later.intent.at:%Y-%m-%d %H:%M} UTC touched it since change {number}"
    same_topic = back.topic_id is not None and topic_id_of(back.edit, snapshot) is not None
    return kind_of(back.edit).doubt(back.edit, number, same_topic)


AskSecret = Callable[[str], Awaitable[Secret]]
"""Function that asks the operator for a secret, given the prompt; it returns an empty secret if the operator enters
nothing.
"""


async def _asked(back: Back, ask: AskSecret) -> Back:
    """Ask the operator for the secrets that a reversal needs, and return the reversal with them. Return it unchanged if
    it needs none, or if the operator enters none.
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
    """Stage the reversal of a change into the session's plan.

    Args:
        number: the number of the change in the journal.
        ask: function that asks the operator for secrets, which the journal does not store; None to leave them out.

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
