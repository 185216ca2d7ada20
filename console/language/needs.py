"""The parts of a snapshot that statements need; each kind of statement has a function for this. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from console.language.snapshot_parts import NOTHING, Needs
from console.language.statements import Statement, Subject
from console.language.verbs import kind_of


def needs(statement: Statement, selected: Subject | None = None) -> Needs:
    """Return the parts of a snapshot that a statement needs. selected: the entity of a statement that names no entity;
    None if no entity is selected.
    """
    return kind_of(statement).needs(statement, selected)


def needs_of_script(statements: Iterable[Statement]) -> Needs:
    """Return the parts of a snapshot that all these statements need together, so that they can be read at once."""
    # Combine the needs of all statements for one read: statements of a script need many of the same parts.
    each = [needs(statement) for statement in statements]

    def together(name: str) -> Any:
        values = [getattr(one, name) for one in each]
        default = getattr(NOTHING, name)
        return any(values) if isinstance(default, bool) else default.union(*values)

    return Needs(*map(together, Needs.__struct_fields__))
