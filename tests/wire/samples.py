"""Samples of all of kio's messages, in which every array has one element, and all error codes are the same."""

import datetime
import io
import uuid
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin

from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.primitive import Records

_EPOCH = datetime.datetime.fromtimestamp(1, tz=datetime.UTC)


def sample(entity: type, code: int) -> Any:
    """Return an instance of a message class, or of a structure in one, in which all error codes are `code`."""
    return entity(**{field.name: _value(field.type, code) for field in fields(entity)})


def written(entity: type, value: Any) -> bytes:
    """Return the bytes of a message, encoded by kio's own writer. entity: the class of the message."""
    buffer = io.BytesIO()
    entity_writer(entity)(buffer, value)
    return buffer.getvalue()


def _value(type_: Any, code: int) -> Any:
    if get_origin(type_) is tuple:
        return (_value(get_args(type_)[0], code),)
    if get_origin(type_) is UnionType:
        return _value(next(part for part in get_args(type_) if part is not type(None)), code)
    if is_dataclass(type_):
        return sample(type_, code)  # type: ignore[arg-type]
    if type_ is ErrorCode:
        return ErrorCode(code)
    if type_.__name__ == "i16":  # `with_open_codes` declares error codes so; other fields of it take any number
        return code
    for base, value in _PRIMITIVES:
        if issubclass(type_, base):
            return value
    raise TypeError(type_)


_PRIMITIVES: tuple[tuple[type, Any], ...] = (
    (bool, True),
    (int, 7),
    (float, 0.5),
    (str, "ü"),
    (bytes, b"\x00\xff"),
    (Records, None),
    (uuid.UUID, uuid.UUID(int=5)),
    (datetime.timedelta, datetime.timedelta(milliseconds=3)),
    (datetime.datetime, _EPOCH),
)
