"""Record types of the registry of verbs: a verb and its kinds of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

from console.language import statements as language_statements
from console.language.reader import Reader
from console.language.snapshot_parts import NOTHING, Needs
from console.language.staging import Staging
from console.model.snapshot import Snapshot
from console.plan.edits import Edit

S = TypeVar("S", bound=language_statements.Statement)
OfEdits = Mapping[type[Edit], Callable[[Any], language_statements.EditStatement]]
"""Type of an edit -> the function that makes its statement."""

LOOK, CHANGE, PLAN, GO = GROUPS = ("Look", "Change", "Plan", "Go")
"""The groups of verbs, in the order of the help."""


def _stages_nothing(statement: language_statements.Statement, _staging: Staging) -> Iterable[Edit]:
    raise TypeError(f"{type(statement).__name__} stages nothing")


class StatementKind(Struct, Generic[S], frozen=True, kw_only=True):
    """The properties of a class of statements, or of an edit that is a statement. The functions are pure."""

    statement: type[S]
    edit: type[Edit] | None = None
    """The type of the edit, for a `OneEdit`; None for other statements."""
    text: Callable[[S], str]
    """Returns the text of the statement, which parses to an equal statement."""
    needs: Callable[[S, language_statements.Subject | None], Needs] = lambda *_: NOTHING
    """Returns the parts of a snapshot that it needs, given the statement and the selected entity."""
    lines: Callable[[S, Snapshot], Iterable[str]] | None = None
    """Returns the lines of a query's answer that is plain text; `console.answers.queries` makes tables."""
    edits: Callable[[S, Staging], Iterable[Edit]] = _stages_nothing
    """Returns the edits that the statement stages, once its `needs` were read. Raises CommandError, with the span in
    the script."""
    of_edits: OfEdits = {}
    """Type of an edit -> the statement that stages it, as text."""
    secrets: Callable[[S], tuple[language_statements.SecretSlot, ...]] = lambda _: ()
    """Returns the secrets that have to be read or prompted for, in order."""


def one_edit(
    edit: type[Edit], text: Callable[[Any], str], needs: Callable[[Any], Needs]
) -> StatementKind[language_statements.OneEdit]:
    """Return the kind of statements that are edits of one class, with their text and the parts that they need."""
    return StatementKind(
        statement=language_statements.OneEdit,
        edit=edit,
        text=lambda statement: text(statement.edit),
        needs=lambda statement, _selected: needs(statement.edit),
        edits=lambda statement, _staging: [statement.edit],
        of_edits={edit: language_statements.OneEdit},
    )


class HelpEntry(Struct, frozen=True):
    """A verb's entry in the help."""

    name: str
    group: str
    usage: tuple[str, ...]
    """The forms of the verb."""
    summary: str
    """The summary: one line without a full stop."""
    about: str = ""
    """The details, in full sentences."""
    examples: tuple[str, ...] = ()
    where: language_statements.Where = language_statements.EVERYWHERE
    """The prompts that accept the verb."""


class Verb(HelpEntry, frozen=True, kw_only=True):
    """A verb: its help, and the parser of its statements."""

    parse: Callable[[Reader], language_statements.Statement]
    """Reads the words after the verb. Raises ParseError."""
    statements: tuple[StatementKind[Any], ...]
    """The kinds of statements that the verb makes."""
    also: tuple[str, ...] = ()
    """The verb's aliases at other prompts."""
    rank: int = 9
    """The place in its group of the help, for the verbs that operators need most; the others follow by name."""
    takes_away: bool = False
    """Whether the verb removes or replaces something: hints suggest it only for a word with a single typo."""
