"""Converts edits and the former states of their targets to and from JSON, for plan files and journals.

An edit is an object of its fields, with the name of its kind in ``op``; a state has the form that its kind defines. A
secret is written as null, and read as an empty one.
"""

from __future__ import annotations

from typing import Any

from msgspec import convert, to_builtins

from console.model.built_types import built
from console.model.codes import Code
from console.model.quota import QuotaEntity
from console.model.secret import Contents, MaybeSecret, Secret
from console.plan.edits import Edit, Slot
from console.plan.staged import UNREAD, Was

Json = dict[str, Any]


def edit_json(edit: Edit) -> Json:
    """Return the JSON form of an edit."""
    written: Json = to_builtins(edit, enc_hook=_written)
    return written


def slot_json(slot: Slot) -> Any:
    """Return a slot as JSON values, in the form that it has within the JSON of an edit."""
    return to_builtins(slot, enc_hook=_written)


def edit_of(data: Json) -> Edit:
    """Return the edit that JSON data describes.

    Raises:
        KeyError, TypeError, ValueError: the data does not describe an edit.
    """
    from console.plan.kinds.registry import BY_OP

    found: Edit = convert(data, built(BY_OP[data["op"]].edit), dec_hook=_read)
    return found


def was_json(edit: Edit, was: Was) -> Any:
    """Return the JSON form of the former state of an edit's target: None for an absent target, ``"unread"`` for an
    unread one.
    """
    from console.plan.kinds.registry import kind_of

    # Files distinguish unread from absent: the revert of an absent target deletes it, the revert of an unread one is
    # impossible.
    return to_builtins(was if was is None or was is UNREAD else kind_of(edit).kept(was), enc_hook=_written)


def was_of(edit: Edit, data: Any) -> Was:
    """Return the former state that JSON data describes. edit: the edit of the target. Secrets are empty in it.

    Raises:
        TypeError, ValueError: the data does not describe a state of this edit's kind.
    """
    from console.plan.kinds.registry import kind_of

    if data is None:
        return None
    if data == UNREAD.value:
        return UNREAD
    kind = kind_of(edit)
    # JSON has no NaN and no infinity: files have such a quota as text.
    return kind.state_of(convert(data, built(kind.state), strict=kind.state is not float, dec_hook=_read))


def _written(value: object) -> str | int | None:
    """Return the JSON form of a value whose type msgspec can't convert; None for a secret and for records."""
    return value.json if isinstance(value, Code) else None


def _read(type_: Any, data: Any) -> Any:
    """Return the value of a type that msgspec can't convert, from its JSON form.

    Raises:
        TypeError, ValueError: the data is not a JSON form of the type.
    """
    if type_ is QuotaEntity:
        parts = convert(data, list[str | None])
        return QuotaEntity.of(dict(zip(convert(parts[::2], list[str]), parts[1::2], strict=True)))
    if type_ in (Secret, MaybeSecret) and data is None:
        return Secret("")
    if type_ is Contents and data is None:
        return Contents()
    if type_ is MaybeSecret and type(data) is str:
        return data
    if issubclass(type_, Code) and type(data) in (str, int):
        return type_.from_json(data)
    raise TypeError(f"{type(data).__name__} in place of {type_.__name__}")
