"""``clone``: commits the offsets of one group for another."""

from __future__ import annotations

from collections.abc import Iterator

from console.language.arguments import group_name, plain_name
from console.language.errors import CommandError
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import the_group
from console.language.staging import Staging
from console.language.statements import EditStatement, Name, name_text
from console.language.verb import CHANGE, StatementKind, Verb
from console.plan.edits import CommitOffset, Edit


class CloneGroup(EditStatement, frozen=True):
    """The statement ``clone group``, which commits the offsets of one group for another."""

    group: Name
    to: Name


def _parse(reader: Reader) -> CloneGroup:
    group = group_name(reader)
    reader.need_keyword("to")
    return CloneGroup(group, plain_name(reader, Expected(What.GROUP, "the NAME of the other group"), "groups"))


def _edits(statement: CloneGroup, staging: Staging) -> Iterator[Edit]:
    from console.language.group_edits import existing, is_share, position_of, shown

    group, to = statement.group, statement.to
    position = existing(staging.snapshot, group)
    if to == group:
        raise CommandError("a group can't be cloned to itself", "", to.span)
    other = position_of(staging.snapshot, to)
    if not position.committed:
        raise CommandError(f"group {shown(group)} has no offsets", "", group.span)
    # An existing group keeps its type.
    share = is_share(position) and other.group is None
    for (topic, partition), committed in position.committed.items():
        yield CommitOffset(to.text or "", topic, partition, *committed, share=share)


VERBS = (
    Verb(
        "clone",
        CHANGE,
        ("clone group NAME to NAME",),
        "Stage the offsets of one group for another, which need not exist",
        "kac copies the offsets with their metadata and their leader epochs.",
        ("clone group billing to billing-test",),
        takes_away=True,
        parse=_parse,
        statements=(
            StatementKind(
                statement=CloneGroup,
                text=lambda statement: f"clone group {name_text(statement.group)} to {name_text(statement.to)}",
                needs=lambda statement, _selected: the_group(statement.group) | the_group(statement.to),
                edits=_edits,
            ),
        ),
    ),
)
