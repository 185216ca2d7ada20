"""``clone``: the offsets of one group for another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from console.language.arguments import group_name, plain_name
from console.language.errors import CommandError
from console.language.node_text import name_text
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import Needs, the_group
from console.language.statements import EditStatement, Name, Subject
from console.language.verb import CHANGE, StatementKind, Verb
from console.plan.edits import CommitOffset, Edit

if TYPE_CHECKING:
    from console.language.staging import Staging


class CloneGroup(EditStatement, frozen=True):
    """``clone group``: the offsets of one for another."""

    group: Name
    to: Name


def _parse(reader: Reader) -> CloneGroup:
    group = group_name(reader)
    reader.need_keyword("to")
    return CloneGroup(group, plain_name(reader, Expected(What.GROUP, "the NAME of the other group"), "groups"))


def _text(statement: CloneGroup) -> str:
    return f"clone group {name_text(statement.group)} to {name_text(statement.to)}"


def _needs(statement: CloneGroup, _selected: Subject | None) -> Needs:
    return the_group(statement.group) | the_group(statement.to)


def _edits(statement: CloneGroup, staging: Staging) -> Iterator[Edit]:
    from console.language.group_edits import existing, is_share, position_of, shown

    group, to = statement.group, statement.to
    position = existing(staging.snapshot, group)
    if to == group:
        raise CommandError("a group can't be cloned to itself", "", to.span)
    other = position_of(staging.snapshot, to)
    if not position.committed:
        raise CommandError(f"group {shown(group)} has no offsets", "", group.span)
    share = is_share(position) and other.group is None
    for (topic, partition), committed in position.committed.items():
        yield CommitOffset(to.text or "", topic, partition, *committed, share=share)


VERBS = (
    Verb(
        name="clone",
        group=CHANGE,
        usage=("clone group NAME to NAME",),
        summary="Stage the offsets of one group for another, which need not exist",
        about="Metadata and leader epochs of the offsets go with them.",
        examples=("clone group billing to billing-test",),
        takes_away=True,
        parse=_parse,
        statements=(StatementKind(statement=CloneGroup, text=_text, needs=_needs, edits=_edits),),
    ),
)
