"""Answers `show`, `describe`, `list` and `effective` from a snapshot in which `needs` has been read. Pure."""

from __future__ import annotations

from console.commands.errors import CommandError, did_you_mean
from console.commands.results import Result
from console.commands.statements import Entity, Key, List, QueryStatement, Show, Subject
from console.commands.words import Span
from console.language.quoting import ENTITY_WORDS
from console.model.snapshot import Snapshot
from console.plan.plan import EMPTY, Plan


def answer(
    statement: QueryStatement, snapshot: Snapshot, *, plan: Plan = EMPTY, selected: Subject | None = None
) -> Result:
    """What was asked. Raises CommandError where an entity, key or column is not there, or could not be read at all;
    what could be read only in part comes with its problems."""
    # Each imports what it shows with: a single cold command does not pay for the others.
    match statement:
        case Show():
            from console.commands.query_entities import show

            subject, span = subject_of(statement.entity, selected, statement.span, statement.keys)
            return show(statement, subject, snapshot, plan, span)
        case List():
            from console.commands.query_lists import list_kind

            return list_kind(statement, snapshot)
        case _:
            from console.commands.query_quotas import effective_result

            return effective_result(statement, snapshot)


def subject_of(
    entity: Entity | None, selected: Subject | None, span: Span, keys: tuple[Key, ...] = ()
) -> tuple[Subject, Span]:
    """The entity that a statement is about. Raises CommandError where it was left out and none is selected."""
    if entity is not None:
        return entity.subject, entity.span
    if selected is not None:
        return selected, span
    first = keys[0] if keys else None
    hint = did_you_mean(first.name, ENTITY_WORDS) if first is not None and not first.quoted else ""
    raise CommandError(
        "no entity is named, and none is selected",
        hint or "name one: topic NAME, broker ID, user NAME, …",
        first.span if first is not None else span,
    )
