"""Builds kio's entities, such as requests and responses, from plain values.

Each structure is given as a mapping of its fields, as a tuple of values in the order of the protocol, or as the value
of its first field. Times are numbers of seconds.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import ModuleType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from kio.static.constants import EntityType

Build = Callable[[ModuleType], Any]
"""Makes a request from kio's module of one of its versions."""


def with_fields(**given: Any) -> Build:
    """Return a function that makes the request of a kio module from these fields; fields that the module's version
    lacks are ignored.
    """
    return lambda kio: entity(_of_type(kio, EntityType.request), given)


def response(kio: ModuleType, **given: Any) -> Any:
    """Return the response of a kio module with these fields; fields that the module's version lacks are ignored."""
    return entity(_of_type(kio, EntityType.response), given)


def entity(kind: Any, given: Any) -> Any:
    """Return an entity of this type with the given fields; `given` itself if it is already an entity of this type."""
    if isinstance(given, kind):
        return given
    types = _types(kind)
    if not isinstance(given, Mapping):
        row = given if isinstance(given, tuple) else (given,)
        assert len(row) <= len(types), f"{kind.__name__} has no more fields than {[*types]}: {row}"
        given = dict(zip(types, row, strict=False))
    return kind(**{name: _value(types[name], value) for name, value in given.items() if name in types})


@cache
def _types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


@cache
def _of_type(kio: ModuleType, wanted: EntityType) -> type[Any]:
    own = (each for each in vars(kio).values() if getattr(each, "__module__", "") == kio.__name__)
    (found,) = (each for each in own if getattr(each, "__type__", None) is wanted)
    return found  # type: ignore[no-any-return]


def _value(type_: Any, given: Any) -> Any:
    if given is None:
        return None
    if get_origin(type_) is UnionType:
        (inner,) = (part for part in get_args(type_) if part is not type(None))
        return _value(inner, given)
    if get_origin(type_) is tuple:
        return tuple(_value(get_args(type_)[0], each) for each in given)
    if is_dataclass(type_):
        return entity(type_, given)
    if isinstance(type_, type) and issubclass(type_, timedelta) and not isinstance(given, timedelta):
        return timedelta(seconds=given)
    return given
