"""Writes statements as text that parses to the same statements."""

from __future__ import annotations

from console.language.statements import Statement
from console.language.verbs import kind_of


def unparse(statement: Statement) -> str:
    """Return the statement as text."""
    text: str = kind_of(statement).text(statement)
    return text
