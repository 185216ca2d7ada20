"""The statement that opens a pane, and the verbs for it: a pane's name is its verb."""

from __future__ import annotations

from console.language.arguments import filter_text
from console.language.quoting import quote
from console.language.reader import Reader
from console.language.statements import BarStatement, Where, joined
from console.language.verb import GO, StatementKind, Verb


class View(BarStatement, frozen=True):
    """A statement that opens a pane by its name."""

    pane: str
    filter: str = ""
    """The text that the pane filters its rows by; ``""`` for no filter."""


def _parse(reader: Reader) -> View:
    return View(reader.verb, filter_text(reader))


_VIEW = StatementKind(
    statement=View, text=lambda statement: joined(statement.pane, quote(statement.filter) if statement.filter else "")
)


def pane(
    name: str, summary: str, *examples: str, about: str = "", takes: str = "[FILTER]", where: Where = Where.BAR
) -> Verb:
    """Return the verb that opens the pane with this name.

    Args:
        summary: the summary of the verb.
        examples: examples of its use.
        about: its details.
        takes: the usage of the words after the pane's name.
        where: the prompts that accept the verb.
    """
    usage = (f"{name} {takes}",)
    return Verb(name, GO, usage, summary, about, examples, where, parse=_parse, statements=(_VIEW,))
