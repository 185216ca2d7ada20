"""The statement that opens a pane, and its verb: the pane's name."""

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
    """The text of the filter; ``""`` without one."""


def _parse(reader: Reader) -> View:
    return View(reader.verb, filter_text(reader))


_VIEW = StatementKind(
    statement=View, text=lambda statement: joined(statement.pane, quote(statement.filter) if statement.filter else "")
)


def pane(
    name: str, summary: str, *examples: str, about: str = "", takes: str = "[FILTER]", where: Where = Where.BAR
) -> Verb:
    """Return the verb that opens a pane by its name. takes: the usage of the words after it."""
    usage = (f"{name} {takes}",)
    return Verb(name, GO, usage, summary, about, examples, where, parse=_parse, statements=(_VIEW,))
