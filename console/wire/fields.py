"""The fields of messages, by version and type. Imports nothing of kio, so that a start does not wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import ModuleType, NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

E = TypeVar("E")
Fields = Mapping[str, Any]
"""A message as plain data: the names of its fields and their values. A structure in it is again such a mapping."""
Asked = Fields | Callable[[ModuleType], Any]
"""The fields of a request, some of which a version may lack; or a function that makes the request from kio's module of
a version."""

SIZES = {
    "bool": 1, "int8": 1, "uint8": 1,
    "int16": 2, "uint16": 2, "error_code": 2,
    "int32": 4, "uint32": 4, "timedelta_i32": 4,
    "int64": 8, "uint64": 8, "float64": 8, "timedelta_i64": 8, "datetime_i64": 8,
    "uuid": 16,
}  # fmt: skip
LENGTHS = {"string": ">h", "bytes": ">i", "records": ">i"}


class Shape(NamedTuple):
    """The type of a field in a message."""

    kind: str
    """Kafka's name of a primitive type; ``""`` for an entity."""
    entity: Any
    """The class of the entity; None for a primitive type."""
    is_array: bool
    """Whether the field is an array of this type."""
    is_nullable: bool


def shape_of(field: Field[Any]) -> Shape:
    """Return the shape of a field."""
    type_: Any = field.type
    is_nullable = get_origin(type_) is UnionType
    if is_nullable:
        type_ = next(part for part in get_args(type_) if part is not NoneType)
    is_array = get_origin(type_) is tuple
    if is_array:
        type_ = get_args(type_)[0]
    entity = type_ if isinstance(type_, type) and is_dataclass(type_) else None
    return Shape(field.metadata.get("kafka_type", ""), entity, is_array, is_nullable)


def unused(field: Field[Any]) -> Any:
    """Return the value of an unused field: its default; without a default, null if allowed, else empty or zero, or an
    entity of unused fields.
    """
    if field.default is not MISSING:
        return field.default
    shape = shape_of(field)
    if shape.is_array and not shape.is_nullable:
        return ()
    if shape.is_nullable:
        return None
    if shape.entity is not None:
        return filled(shape.entity)
    if shape.kind.startswith("timedelta"):
        return timedelta(0)
    return {"string": "", "bytes": b"", "records": b"", "bool": False, "float64": 0.0}.get(shape.kind, 0)


@cache
def _unused_fields(entity: Any) -> dict[str, Any]:
    return {field.name: unused(field) for field in fields(entity)}


@cache
def _structures(entity: Any) -> dict[str, Any]:
    """Return field -> the class of the structures in it, for each field that has structures."""
    return {field.name: found for field in fields(entity) if (found := shape_of(field).entity) is not None}


def filled(entity: type[E], /, **given: object) -> E:
    """Return the entity with the given fields that its version has; the other fields are unused."""
    known: Any = entity
    return entity(**structured(known, {name: given.get(name, no) for name, no in _unused_fields(known).items()}))


def structured(entity: Any, values: Fields, make: Callable[..., Any] = filled) -> dict[str, Any]:
    """Return the values of an entity's fields, with the structures in them made by a function: `filled` or
    `for_version`.
    """
    structures = _structures(entity)
    return {
        name: _made(structures[name], value, make) if name in structures else value for name, value in values.items()
    }


def _made(entity: Any, value: Any, make: Callable[..., Any]) -> Any:
    """Return a structure, or an array of structures, from the fields of each; structures that are made already, and
    null, stay as they are.
    """
    if isinstance(value, dict):
        return make(entity, **value)
    if value is None or is_dataclass(value):
        return value
    return tuple(make(entity, **each) if isinstance(each, dict) else each for each in value)


def for_version(entity: type[E], /, **wanted: object) -> E:
    """Return the entity with the given fields that its version has; the others are left out.

    For fields that older versions can do without (whether to include synonyms). For a required field, check the version
    with `Link.require` before.
    """
    known: Any = entity
    values = {name: value for name, value in wanted.items() if name in known.__dataclass_fields__}
    return entity(**structured(known, values, for_version))


def payload(kio: ModuleType, api: str, asked: Asked) -> Any:
    """Return a request of an API, made from its fields or by its function. kio: the module of the API's version."""
    if callable(asked):
        return asked(kio)
    return for_version(getattr(kio, f"{api.title().replace('_', '')}Request"), **asked)
