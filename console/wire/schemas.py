"""Which messages there are: an API's key, its versions, and the module of one version, imported when first asked for.

Kafka's are kio's; versions that no Kafka has may be a proposal's own (console.wire.proposals).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar, cast

from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType
from kio.static.protocol import RequestPayload, ResponsePayload

if TYPE_CHECKING:
    from console.wire.server_schemas import Messages

E = TypeVar("E")


@cache
def _keys() -> dict[str, int]:
    return {name: key for key, name in api_key_map.items()}


def api_key(api: str) -> int:
    """The key of an API by kio's package name ("describe_configs"); KeyError where kio has none of that name."""
    return _keys()[api]


@cache
def version_range(api: str) -> tuple[int, int]:
    """The lowest and highest version that kio has of an API."""
    versions = schema_name_map[api]
    return min(versions), max(versions)


@cache
def _proposed(api: str, version: int) -> Messages | None:
    """The proposal's own messages, None for a version that is Kafka's. KeyError for one that is nobody's."""
    if version in schema_name_map[api]:
        return None
    from console.wire.proposals.table import PROPOSED

    return PROPOSED[api_key(api), version]


def _resolve(api: str, version: int, kind: EntityType) -> tuple[ModuleType, str]:
    path, _, name = schema_name_map[api][version][kind].partition(":")  # type: ignore[index]
    return import_module(path), name


def request_module(api: str, version: int) -> ModuleType:
    """The module with the request of this version and the parts it is made of."""
    if proposed := _proposed(api, version):
        return proposed.schema
    return _resolve(api, version, EntityType.request)[0]


def request_type(api: str, version: int) -> type[RequestPayload]:
    """The class of the request of this version."""
    if proposed := _proposed(api, version):
        return cast("type[RequestPayload]", proposed.request)
    module, name = _resolve(api, version, EntityType.request)
    return cast("type[RequestPayload]", getattr(module, name))


def response_type(api: str, version: int) -> type[ResponsePayload]:
    """The class of the response of this version; where kio has it, error codes are a closed enumeration there."""
    if proposed := _proposed(api, version):
        return cast("type[ResponsePayload]", proposed.response)
    module, name = _resolve(api, version, EntityType.response)
    return cast("type[ResponsePayload]", getattr(module, name))


def for_version(entity: type[E], **wanted: object) -> E:
    """The entity with those of the wanted fields that its version has; the others are left out.

    For what older versions simply do not say (whether to include synonyms). What must not be lost is checked with
    `Link.require` before.
    """
    known = entity.__dataclass_fields__  # type: ignore[attr-defined]
    return entity(**{name: value for name, value in wanted.items() if name in known})
