"""Construction of kio's messages from their fields, by version and type. It does not import kio itself, so that the
start of kac does not wait for that import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import ModuleType, NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

E = TypeVar("E")
Fields = Mapping[str, Any]
"""The content of a message: field name -> value. A structure within the message is again such a mapping."""
Asked = Fields | Callable[[ModuleType], Any]
"""The content of a request: its fields (those that the version lacks are ignored), or a function that makes the
request from kio's module of the version.
"""

SIZES = {
    "bool": 1, "int8": 1, "uint8": 1,
    "int16": 2, "uint16": 2, "error_code": 2,
    "int32": 4, "uint32": 4, "timedelta_i32": 4,
    "int64": 8, "uint64": 8, "float64": 8, "timedelta_i64": 8, "datetime_i64": 8,
    "uuid": 16,
}  # fmt: skip
LENGTHS = {"string": ">h", "bytes": ">i", "records": ">i"}


class Shape(NamedTuple):
    """The type of a message's field."""

    kind: str
    """Kafka's name of the primitive type; ``""`` for a structure."""
    entity: Any
    """The class of the structure; None for a primitive type."""
    is_array: bool
    """Whether the field is an array of this type."""
    is_nullable: bool


def shape_of(field: Field[Any]) -> Shape:
    """Return the type of a field of kio's dataclass."""
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
    """Return the value that a field has when it is not set: its default; without a default, null if the field may be
    null, otherwise an empty string or array, zero, or a structure whose fields are all unset.
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
    """Return field name -> class of the structures that the field contains. Fields of primitive types are left out."""
    return {field.name: found for field in fields(entity) if (found := shape_of(field).entity) is not None}


def filled(entity: type[E], /, **given: object) -> E:
    """Make an instance of a message class with these values. Values whose field this version lacks are dropped;
    fields without a value in `given` get the value that `unused` returns.
    """
    known: Any = entity
    return entity(**structured(known, {name: given.get(name, no) for name, no in _unused_fields(known).items()}))


def structured(entity: Any, values: Fields, make: Callable[..., Any] = filled) -> dict[str, Any]:
    """Return an entity's fields with all mappings in them converted to instances of their classes by `make`: `filled`
    or `for_version`.
    """
    structures = _structures(entity)
    return {
        name: _made(structures[name], value, make) if name in structures else value for name, value in values.items()
    }


def _made(entity: Any, value: Any, make: Callable[..., Any]) -> Any:
    """Convert a mapping to an instance of `entity` by `make`; likewise each mapping in an array. Instances and null
    stay unchanged.
    """
    if isinstance(value, dict):
        return make(entity, **value)
    if value is None or is_dataclass(value):
        return value
    return tuple(make(entity, **each) if isinstance(each, dict) else each for each in value)


def for_version(entity: type[E], /, **wanted: object) -> E:
    """Make an instance of a message class with these values, and drop the values whose field this version lacks.

    Use it only for fields that an older version can do without, such as whether to include synonyms. For a field that
    matters, check the version with `Link.require`.
    """
    known: Any = entity
    values = {name: value for name, value in wanted.items() if name in known.__dataclass_fields__}
    return entity(**structured(known, values, for_version))


def payload(kio: ModuleType, api: str, asked: Asked) -> Any:
    """Make the request of an API from its fields or by its function. kio: the module of the API's version."""
    if callable(asked):
        return asked(kio)
    return for_version(getattr(kio, f"{api.title().replace('_', '')}Request"), **asked)
