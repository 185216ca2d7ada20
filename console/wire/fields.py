"""Messages with the fields that their version has. Imports none of kio, so that a start does not wait for it."""

from __future__ import annotations

from typing import TypeVar

E = TypeVar("E")


def for_version(entity: type[E], **wanted: object) -> E:
    """Return the entity with those of the fields that its version has; the others are left out.

    For fields that older versions can do without (whether to include synonyms). For a field that matters, check the
    version with `Link.require` before.
    """
    known = entity.__dataclass_fields__  # type: ignore[attr-defined]
    return entity(**{name: value for name, value in wanted.items() if name in known})
