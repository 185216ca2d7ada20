"""The records that a statement makes a group pass over, or deletes: they can first be kept in a file, or sent to a
dead-letter topic.

first = "to" "topic" NAME | "keep" FILE
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from console.language import arguments, statements
from console.language.errors import CommandError
from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.snapshot_parts import Needs
from console.language.staging import Staging
from console.language.verbs.produce import batches_of, needs_of
from console.model.secret import Contents
from console.model.snapshot import Snapshot, TopicPartition
from console.plan.current_state import current_state, moved
from console.plan.edits import CommitOffset, Edit, Passed, TrimLog
from console.plan.staged import Described
from console.present.text import clean

USAGE = "[to topic NAME | keep FILE]"


class PassingStatement(statements.EditStatement, frozen=True, kw_only=True):
    """A statement that makes a group pass over records, or deletes records.

    Attributes:
        to: the topic to which the records are sent first; None for no topic.
        keep: the path of the file in which the records are kept first; ``""`` for no file.
        letters: the dead letters to send, made from the records; None until the records are read, and without `to`.
    """

    to: statements.Name | None = None
    keep: str = ""
    letters: Contents | None = None

    @property
    def keeps(self) -> bool:
        """Whether the records are kept in a file or sent to a topic, so that they have to be read."""
        return self.to is not None or bool(self.keep)

    @property
    def writes_records(self) -> bool:
        """Whether the statement writes the records, to a file or a topic."""
        return self.keeps


S = TypeVar("S", bound=PassingStatement)


def with_first(reader: Reader, statement: S) -> S:
    """Read ``[to topic NAME | keep FILE]`` at the end of a statement, and return the statement with it. Raises
    ParseError.
    """
    match reader.take_keyword("to", "keep"):
        case "to":
            statement = replace(statement, to=arguments.topic_name(reader, arguments.A_TOPIC))
        case "keep":
            path = arguments.named(reader, Expected(What.ARGUMENT, "a FILE that does not exist"), Role.VALUE)
            statement = replace(statement, keep=path)
    reader.finish()
    return statement


def first_text(statement: PassingStatement) -> str:
    """Return the words ``to topic NAME`` or ``keep FILE`` of a statement; ``""`` without either."""
    if statement.to is not None:
        return f"to topic {statements.name_text(statement.to)}"
    return f"keep {quote(statement.keep)}" if statement.keep else ""


def first_needs(statement: PassingStatement) -> Needs:
    """Return the parts to read for the forecast of the dead letters that a statement sends first."""
    return needs_of([statement.to.text or ""]) if statement.to is not None else Needs()


def letters_first(statement: PassingStatement, staging: Staging, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the edits of a statement. If the statement sends the records to a topic, yield before them the edits that
    write the dead letters.

    Args:
        edits: the edits that pass over or delete the records.

    Raises:
        CommandError: the records are from the same topic to which they would be sent; the plan already sends some of
            the records; or an earlier apply wrote letters for some records but did not pass over them.
    """
    some = tuple(edits)
    if statement.to is not None:
        places = tuple(each.passes for each in some if each.passes is not None)
        _check_places(statement, staging, places)
        assert statement.letters is not None
        yield from batches_of(
            staging.topic(statement.to), statement.letters.reveal(), staging, statement.span, first_for=places
        )
    yield from some


def _check_places(statement: PassingStatement, staging: Staging, places: Sequence[Passed]) -> None:
    assert statement.to is not None
    if statement.letters is None:
        raise CommandError("the records were not read", "", statement.span)
    if any(each.topic == statement.to.text for each in places):
        raise CommandError(
            "the records are in that topic", "name another one, as a dead-letter topic", statement.to.span
        )
    staged = {place for each in staging.staged for place in each.edit.first_for}
    written = {each.edit.passes for each in staging.staged if each.letters_written}
    for each in places:
        if each in staged:
            raise CommandError(
                f"the plan sends the records of {clean(each.topic, 80)}/{each.partition} already",
                "apply it, or discard it first",
                statement.span,
            )
        if each in written:
            raise CommandError(
                f"the letters before {clean(str(each), 200)} are written already",
                "apply sends the rest of the plan without them; if it is discarded first, all are written again",
                statement.span,
            )


def refuse_outdated(edits: Iterable[Edit], made_on: Snapshot, now: Snapshot) -> None:
    """Refuse edits that pass over records if the group's offset, or the log, has changed since the edits were made: an
    apply would move the group back.

    Args:
        made_on: the snapshot from which the edits, and their dead letters, were made.
        now: the present snapshot.

    Raises:
        CommandError: an edit is outdated.
    """
    if made_on is now:
        return
    old, new = Described(made_on), Described(now)
    for edit in edits:
        if edit.passes is None:
            continue
        was, there = current_state(edit, old), current_state(edit, new)
        if was != there and moved(edit, was, there):
            raise CommandError(
                f"the partition or the group changed before this was staged: {clean(str(edit.passes), 200)}",
                "nothing of it is staged; give the command again",
            )


def passed_over(edits: Iterable[Edit], snapshot: Snapshot) -> Mapping[TopicPartition, tuple[str | None, int, int]]:
    """Return the ranges of offsets that edits pass over or delete, without empty ranges.

    Args:
        snapshot: the snapshot from which the edits are made.

    Returns:
        (topic, partition) -> the group that continues after the records, None if they are deleted; the first offset;
        and the offset after the last one.
    """
    found: dict[TopicPartition, tuple[str | None, int, int]] = {}
    for edit in edits:
        if isinstance(edit, CommitOffset):
            place = edit.topic, edit.partition
            committed = snapshot.group_positions[edit.group].committed.get(place)
            begin = committed.offset if committed is not None else edit.offset
            found[place] = edit.group, max(begin, _start(snapshot, place)), edit.offset
        elif isinstance(edit, TrimLog):
            place = edit.topic, edit.partition
            found[place] = None, _start(snapshot, place), edit.before
    return {place: (group, begin, end) for place, (group, begin, end) in found.items() if begin < end}


def _start(snapshot: Snapshot, place: TopicPartition) -> int:
    log = snapshot.log_ranges.get(place)
    return log.start if log is not None else 0
