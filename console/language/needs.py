"""The parts of a snapshot that statements need; each kind of statement declares them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from console.language.snapshot_parts import NOTHING, Needs
from console.language.statements import Statement, Subject
from console.language.verbs import kind_of


def needs(statement: Statement, selected: Subject | None = None) -> Needs:
    """Return the parts that a statement needs. selected: the entity of a statement that names no entity."""
    return kind_of(statement).needs(statement, selected)


def needs_of_script(statements: Iterable[Statement]) -> Needs:
    """Return the parts that all statements need, for one read."""
    # Combine the needs of all statements for one read: statements of a script need many of the same parts.
    each = [needs(statement) for statement in statements]

    def together(name: str) -> Any:
        values = [getattr(one, name) for one in each]
        default = getattr(NOTHING, name)
        return any(values) if isinstance(default, bool) else default.union(*values)

    return Needs(*map(together, Needs.__struct_fields__))
