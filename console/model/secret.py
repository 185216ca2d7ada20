"""Types for values that must never be printed: secrets, and the contents of records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING


class Secret:
    """A password or key. Its text forms (str, repr, format) are dots; only the encoder of a request calls `reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the secret in clear text."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(······)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        raise TypeError("a secret is not pickled")


class Contents:
    """Records to write, whose contents appear in no text form, and so in no log, journal or plan file. Only the encoder
    of a request calls `reveal`.
    """

    __slots__ = ("_records",)

    def __init__(self, records: Iterable[NewRecord] = ()) -> None:
        self._records = tuple(records)

    def reveal(self) -> tuple[NewRecord, ...]:
        """Return the records with their contents, to be sent."""
        return self._records

    def __repr__(self) -> str:
        return f"Contents({len(self._records)} records)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contents) and other._records == self._records

    def __hash__(self) -> int:
        return hash(self._records)


if TYPE_CHECKING:
    from console.model.new_records import NewRecord

    MaybeSecret = str | Secret
else:

    class _Either(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, str | Secret)

    class MaybeSecret(metaclass=_Either):
        """The type "text or Secret", for fields of msgspec's structs: msgspec does not support a union with a class
        that it does not know.
        """
