"""The broker's side of the message index: by key and version, as a request header names them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType


class Messages(NamedTuple):
    """Request and response of one version of one API. schema: the module that has the response and its parts.

    proposed: a proposal's own format, which no Kafka release has.
    """

    api: str
    key: int
    version: int
    request: type[Any]
    response: type[Any]
    schema: ModuleType
    proposed: bool = False


@cache
def messages(key: int, version: int) -> Messages | None:
    """The messages of a key and a version, None where there are none: a proposal's own, or kio's."""
    from console.wire.proposals.table import PROPOSED

    return PROPOSED.get((key, version)) or _kafka(key, version)


def _kafka(key: int, version: int) -> Messages | None:
    api = api_key_map.get(key)
    if api is None or version not in schema_name_map[api]:
        return None
    request_path, _, request_name = schema_name_map[api][version][EntityType.request].partition(":")
    path, _, name = schema_name_map[api][version][EntityType.response].partition(":")
    schema = import_module(path)
    return Messages(
        api, key, version, getattr(import_module(request_path), request_name), getattr(schema, name), schema
    )


@cache
def readable_versions(key: int) -> tuple[int, int] | None:
    """The lowest and highest version of a Kafka API that can be read here, None for none."""
    api = api_key_map.get(key)
    if api is None:
        return None
    versions = schema_name_map[api]
    return min(versions), max(versions)


def api_name(key: int) -> str | None:
    """kio's name for a Kafka API, None for a key it does not have."""
    return api_key_map.get(key)
