"""Which APIs the cluster answers: a module for each, found by its name."""

from __future__ import annotations

import pkgutil
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from typing import Any

from kio.schema.index import api_key_map

from console.embedded import handlers
from console.embedded.context import RequestContext
from console.embedded.versions.release import Range, Release
from console.wire.schemas import Messages, readable_versions

_PRODUCE = 0
_TOLD_FROM_THE_FIRST = frozenset({_PRODUCE})
"""Whose lowest versions are told though they are not answered, as Kafka 4 does: librdkafka compresses only where it
sees Produce v0 (KAFKA-18659)."""

Handle = Callable[[Any, RequestContext], Awaitable[Any]]


@cache
def handled_apis() -> frozenset[str]:
    """kio's names of the APIs that have a handler."""
    modules = {module.name for module in pkgutil.iter_modules(handlers.__path__)}
    return frozenset(modules & set(api_key_map.values()))


@cache
def handler(api: str, proposed: bool) -> Handle:
    """The function that answers an API."""
    room = "proposals" if proposed else "handlers"
    handle: Handle = import_module(f"console.embedded.{room}.{api}").handle
    return handle


def handler_of(messages: Messages) -> Handle:
    """The function that answers requests of these messages."""
    return handler(messages.api, messages.proposed)


def advertised(release: Release, *, proposals: bool) -> dict[int, Range]:
    """The APIs and versions to tell of: the release's, as far as they are answered here, and the proposals' own."""
    result: dict[int, Range] = {}
    for key, (low, high) in release.apis.items():
        readable = readable_versions(key)
        if readable is not None and api_key_map[key] in handled_apis():
            first, high = max(low, readable[0]), min(high, readable[1])
            if first <= high:
                result[key] = (low if key in _TOLD_FROM_THE_FIRST else first, high)
    if proposals:
        from console.wire.proposals.table import PROPOSED

        for key, version in PROPOSED:
            low, high = result.get(key, (version, version))
            result[key] = (min(low, version), max(high, version))
    return result
