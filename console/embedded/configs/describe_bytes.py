"""The answer to DescribeConfigs as bytes. What topics with the same overrides have in common is encoded once, and kept:
thousands of topics have a few dozen sets of overrides among them.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.configs.broker_file import layers_of
from console.embedded.configs.definitions import release_configs
from console.embedded.configs.describe import UNDOCUMENTED, check_topic_is_known, topic_entries
from console.embedded.configs.inheritance import NOTHING, BrokerLayers
from console.embedded.configs.problems import ConfigProblem
from console.embedded.context import RequestContext
from console.model.config import ConfigEntry, ConfigResource
from console.wire.frames import encode_body, varint
from console.wire.schemas import for_version

_FLEXIBLE_FROM = 4
_NOT_THROTTLED = b"\x00\x00\x00\x00"
_SUCCESS = ""
_KEPT = 1024
"""Sets of overrides of which the bytes are kept: some 5 KiB each, with documentation 25."""

Pairs = tuple[tuple[str, str], ...]


class Asked(NamedTuple):
    """How entries are to be told. keys: None for all."""

    version: int
    synonyms: bool
    documentation: bool
    keys: frozenset[str] | None


class _Layers(NamedTuple):
    """A broker's layers, to be compared."""

    release: str
    own: Pairs
    cluster_default: Pairs
    static: Pairs


class DescribedBytes:
    """Results in the order in which they are added."""

    def __init__(self, context: RequestContext, request: Any) -> None:
        self._cluster = context.cluster
        self._view = context.view
        self._version = context.version
        self._synonyms = bool(getattr(request, "include_synonyms", False))
        self._documentation = bool(getattr(request, "include_documentation", False))
        layers = layers_of(context.cluster, context.broker_id, self._view)
        self._layers = _Layers(
            context.cluster.release.name, _pairs(layers.own), _pairs(layers.cluster_default), _pairs(layers.static)
        )
        self._results: list[bytes] = []

    def add_topic(self, resource: ConfigResource, keys: Sequence[str] | None) -> None:
        """A topic's entries. Raises ConfigProblem."""
        check_topic_is_known(self._cluster, self._view, resource.name)
        overrides = _pairs(self._view.configs.get(resource, NOTHING))
        configs = _topic_configs(self._layers, overrides, self._asked(keys))
        self._results.append(self._head(resource, ErrorCode.none, _SUCCESS) + configs)

    def add(self, resource: ConfigResource, entries: Iterable[ConfigEntry], keys: Sequence[str] | None) -> None:
        """Any resource's entries."""
        configs = _encoded(entries, self._asked(keys))
        self._results.append(self._head(resource, ErrorCode.none, _SUCCESS) + configs)

    def add_problem(self, resource: ConfigResource, problem: ConfigProblem) -> None:
        """Why a resource is not described."""
        configs = _encoded((), self._asked(None))
        self._results.append(self._head(resource, problem.code, problem.message) + configs)

    def body(self) -> bytes:
        """The whole response."""
        flexible = self._version >= _FLEXIBLE_FROM
        count = varint(len(self._results) + 1) if flexible else struct.pack(">i", len(self._results))
        return b"".join((_NOT_THROTTLED, count, *self._results, b"\x00" if flexible else b""))

    def _asked(self, keys: Sequence[str] | None) -> Asked:
        wanted = None if keys is None else frozenset(keys)
        return Asked(self._version, self._synonyms, self._documentation, wanted)

    def _head(self, resource: ConfigResource, code: int, message: str | None) -> bytes:
        return b"".join(
            (
                struct.pack(">h", code),
                self._text(message),
                struct.pack(">b", resource.type),
                self._text(resource.name),
            )
        )

    def _text(self, text: str | None) -> bytes:
        flexible = self._version >= _FLEXIBLE_FROM
        if text is None:
            return b"\x00" if flexible else b"\xff\xff"
        data = text.encode()
        return (varint(len(data) + 1) if flexible else struct.pack(">h", len(data))) + data


def _pairs(values: Any) -> Pairs:
    return tuple(sorted(values.items()))


@lru_cache(_KEPT)
def _topic_configs(layers: _Layers, overrides: Pairs, asked: Asked) -> bytes:
    """What stands behind the name of every topic with these overrides on such a broker."""
    configs = release_configs(layers.release)
    broker = BrokerLayers(configs, dict(layers.own), dict(layers.cluster_default), dict(layers.static))
    return _encoded(topic_entries(broker, dict(overrides)), asked)


def _encoded(entries: Iterable[ConfigEntry], asked: Asked) -> bytes:
    """A result without what stands before its configs."""
    schema = import_module(f"kio.schema.describe_configs.v{asked.version}.response")
    empty = schema.DescribeConfigsResult(
        error_code=ErrorCode.none,
        error_message=None,
        resource_type=0,
        resource_name="",
        configs=tuple(_entry(schema, entry, asked) for entry in _wanted(entries, asked.keys)),
    )
    before = 2 + (1 if asked.version >= _FLEXIBLE_FROM else 2) + 1 + (1 if asked.version >= _FLEXIBLE_FROM else 2)
    return encode_body(schema.DescribeConfigsResult, empty)[before:]


def _wanted(entries: Iterable[ConfigEntry], keys: Collection[str] | None) -> Iterable[ConfigEntry]:
    return entries if keys is None else (entry for entry in entries if entry.name in keys)


def _entry(schema: Any, entry: ConfigEntry, asked: Asked) -> Any:
    synonyms = tuple(
        schema.DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
        for each in (entry.synonyms if asked.synonyms else ())
    )
    return for_version(
        schema.DescribeConfigsResourceResult,
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=synonyms,
        config_type=entry.type,
        documentation=entry.documentation if asked.documentation or entry.documentation == UNDOCUMENTED else None,
    )
