"""The record types of the registry of verbs: a verb, and the kinds of its statements."""

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
"""Type of an edit -> the function that returns the statement for an edit of this type."""

LOOK, CHANGE, PLAN, GO = GROUPS = ("Look", "Change", "Plan", "Go")
"""The groups of verbs, in the order of the help."""


def _stages_nothing(statement: language_statements.Statement, _staging: Staging) -> Iterable[Edit]:
    raise TypeError(f"{type(statement).__name__} stages nothing")


class StatementKind(Struct, Generic[S], frozen=True, kw_only=True):
    """The properties of a class of statements, or of a class of edits that are statements themselves. All functions are
    pure.
    """

    statement: type[S]
    edit: type[Edit] | None = None
    """The type of the edit, for a `OneEdit`; None for other statements."""
    text: Callable[[S], str]
    """Returns the text of a statement; it parses to an equal statement."""
    needs: Callable[[S, language_statements.Subject | None], Needs] = lambda *_: NOTHING
    """Returns the parts of a snapshot that a statement needs. Arguments: the statement, and the selected entity or
    None.
    """
    lines: Callable[[S, Snapshot], Iterable[str]] | None = None
    """Returns the answer to a query as lines of text; None for a query whose answer `console.answers.queries` makes as
    tables.
    """
    edits: Callable[[S, Staging], Iterable[Edit]] = _stages_nothing
    """Returns the edits that a statement stages, once the parts in `needs` were read. Raises CommandError, with a place
    in the script.
    """
    of_edits: OfEdits = {}
    """Type of an edit -> the function that returns the statement which stages such an edit."""
    secrets: Callable[[S], tuple[language_statements.SecretSlot, ...]] = lambda _: ()
    """Returns the secrets that have to be read or asked for before the statement is staged, in order."""


def one_edit(
    edit: type[Edit], text: Callable[[Any], str], needs: Callable[[Any], Needs]
) -> StatementKind[language_statements.OneEdit]:
    """Return the kind for edits of one class that are statements themselves. text, needs: see `StatementKind`."""
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
    """The forms in which the verb can be used, each a line."""
    summary: str
    """The summary: one line without a full stop."""
    about: str = ""
    """The details, in full sentences; ``""`` if there are none. An empty line separates paragraphs; ``- `` begins an
    item.
    """
    examples: tuple[str, ...] = ()
    where: language_statements.Where = language_statements.EVERYWHERE
    """The prompts that accept the verb."""


class Verb(HelpEntry, frozen=True, kw_only=True):
    """A verb: its help, and the parser of its statements."""

    parse: Callable[[Reader], language_statements.Statement]
    """Reads the words after the verb and returns the statement. Raises ParseError."""
    statements: tuple[StatementKind[Any], ...]
    """The kinds of statements that `parse` may return."""
    also: tuple[str, ...] = ()
    """The names of the verb at other prompts."""
    rank: int = 9
    """The place of the verb in its group of the help. Verbs that operators need most have a lower number than the
    others; verbs of equal rank are sorted by name.
    """
    takes_away: bool = False
    """Whether the verb removes or replaces something: a hint suggests it only for a word with a single typo."""
    noun: str = ""
    """Other tools' words for a noun that has only this verb, the noun itself first; ``""`` if there is no such noun."""
    stands_for: Mapping[str, str] = {}
    """kac's line -> the commands of other tools for which kac proposes it: pairs of a noun and an action of
    `console.language.other_words`, separated by commas.
    """
