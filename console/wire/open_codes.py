"""Responses whose error codes are plain integers.

kio decodes an error code into its enumeration and raises ValueError on one that it does not know, which loses the whole
response. A broker may be newer than kio, so each response class gets a subclass with the same slots in which the fields
of kind ``error_code`` are declared ``int16``; kio's native reader goes by the declarations. Nothing is generated or
compiled, and reading costs the same.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import GenericAlias, MappingProxyType, UnionType
from typing import Any, get_args, get_origin

from kio.serial import entity_reader
from kio.static.primitive import i16

ReadEntity = Callable[[bytes | memoryview, int], tuple[Any, int]]
"""(buffer, offset) -> (entity, bytes read)."""


@cache  # kio's reader caches by the class's address, so a class it has seen must live for ever
def with_open_codes(entity: type) -> type:
    """The entity's class with error codes as plain integers: a subclass, or the class itself where it has none."""
    opened = {field.name: _opened(field) for field in fields(entity)}
    if all(opened[field.name] is field for field in fields(entity)):
        return entity
    declared = {**entity.__dataclass_fields__, **opened}  # type: ignore[attr-defined]
    return type(entity.__name__, (entity,), {"__slots__": (), "__dataclass_fields__": declared})


def _opened(field: Field[Any]) -> Field[Any]:
    is_code = field.metadata.get("kafka_type") == "error_code"
    type_ = i16 if is_code else _opened_type(field.type)
    if type_ == field.type:
        return field
    result = copy(field)
    result.type = type_
    if is_code:
        result.metadata = MappingProxyType({**field.metadata, "kafka_type": "int16"})
    return result


def _opened_type(type_: Any) -> Any:
    if get_origin(type_) is tuple:
        return GenericAlias(tuple, (_opened_type(get_args(type_)[0]), ...))
    if get_origin(type_) is UnionType:
        first, *others = (_opened_type(part) for part in get_args(type_))
        for other in others:
            first = first | other
        return first
    return with_open_codes(type_) if isinstance(type_, type) and is_dataclass(type_) else type_


@cache
def open_reader(entity: type) -> ReadEntity:
    """kio's native reader of the entity, with error codes as plain integers."""
    reader: ReadEntity = entity_reader(with_open_codes(entity))
    return reader
