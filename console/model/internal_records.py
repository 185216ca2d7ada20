"""Decoders of the records that Kafka and the systems next to it write for themselves. They return JSON and need no
settings. Pure.

`coordinator_records.json` has the fields of the records in the coordinators' topics. They are from the schemas in the
jars of Apache Kafka 4.4 (Apache License 2.0), and of 4.0 for a type that 4.4 no longer has; ``python -m
tests.support.record_metadata_schemas`` writes the file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from console.model import system_topics
from console.model.coordinators import OFFSETS, SHARES, TRANSACTIONS
from console.model.kafka_structs import MalformedRecordError, Read, schemas_of
from console.model.record_conditions import decoded_json
from console.model.record_decoding import KEY, LARGEST_PAYLOAD, Decoded, OwnDecoder
from console.model.record_masks import MASKED
from console.model.records import Record
from console.model.schemas import Allowance, NotDecoded

FORM = "kafka"
"""The name of the encoding that decoded binary records have; for records that are JSON themselves it is "json"."""
WithoutSecrets = Callable[[Any], Any]
"""A function that returns the data with the values replaced whose keys suggest a secret."""


def internal_decoders(without_secrets: WithoutSecrets) -> tuple[OwnDecoder, ...]:
    """Return the decoders of the records of coordinators, MirrorMaker, schema registries and Connect. A key or a value
    is decoded by the first decoder that claims it.
    """
    return (
        OwnDecoder(_is_always, _coordinators_part, _COORDINATED.__contains__, _is_always),
        OwnDecoder(_is_of_mirror, _mirrors_part, lambda topic: _mirror_topic(topic) != "", _is_always),
        OwnDecoder(_is_of_registry, _registrys_part, _is_registrys_topic, lambda _topic: False),
        OwnDecoder(_is_of_connect, partial(_connects_part, without_secrets), _is_always, _is_connects_topic),
    )


def _is_always(*_of: object) -> bool:
    return True


def _of(record: Record, part: str) -> bytes:
    return (record.key if part == KEY else record.value) or b""


# -- the coordinators' topics ------------------------------------------------------------------------------------------

_COORDINATED = frozenset((OFFSETS, TRANSACTIONS, SHARES))
_VERSION_SIZE = 2
"""Size in bytes of the version number at the beginning of a key or a value, big-endian."""


class _Half(NamedTuple):
    """The schema of the key or of the value of a record, in one version."""

    name: str
    read: Read


@cache
def _coordinator_types(topic: str) -> Mapping[int, tuple[str, _Half, Mapping[int, _Half]]]:
    """Return number of a record type -> its name, the schema of its key, and version of a value -> the schema of the
    value, for the records of a coordinator's topic. The number is at the beginning of a key.
    """
    rows = json.loads((Path(__file__).parent / "coordinator_records.json").read_text())
    made = {}
    for row in rows:
        if row["topic"] == topic:
            halves = []
            for part in ("Key", "Value"):
                name = f"{row['name']}{part}"
                found = schemas_of([{**row[part.lower()], "name": name, "apiKey": row["apiKey"]}])
                halves.append({each.version: _Half(name, each.reader()) for each in found.values()})
            keys, values = halves
            made[row["apiKey"]] = (row["name"], next(iter(keys.values())), values)
    return made


def _coordinators_part(record: Record, part: str, allowance: Allowance) -> Decoded:
    """Return the decoded key or value of a coordinator's record. The key contains the type of the record; the value
    contains only its version. Raises NotDecoded for an unknown type or version, and for bytes that do not fit its
    schema.
    """
    number = _number(record.key or b"")
    known = _coordinator_types(record.topic).get(number)
    data = _of(record, part)
    version = _number(data)
    if part == KEY:
        half, shown = (known[1], f"{known[1].name}, type {number}") if known else (None, f"type {number}")
    else:
        half = known[2].get(version) if known else None
        of = f"{known[0]}Value" if known else f"type {number}"
        shown = f"{of}, version {version}"
    if half is None:
        raise NotDecoded(f"{shown}: not known here; a newer kac may know it")
    return Decoded(FORM, shown, _read(half, data, _VERSION_SIZE, allowance))


def _number(data: bytes) -> int:
    """Return the number in the first two bytes of a key or a value; -1 if it is shorter."""
    return int.from_bytes(data[:_VERSION_SIZE], "big", signed=True) if len(data) >= _VERSION_SIZE else -1


def _read(half: _Half, data: bytes, start: int, allowance: Allowance) -> bytes:
    """Return, as JSON, the struct that occupies the bytes from `start` to the end. Raises NotDecoded if they are not
    exactly one such struct, or if the allowance is used up.
    """
    if allowance.spent():
        raise allowance.refusal()
    made = msgspec.json.encode(_fields(half, data, start))
    allowance.bytes -= len(made)
    return made


def _fields(half: _Half, data: bytes, start: int) -> dict[str, Any]:
    """Return field -> value of the struct that occupies the bytes from `start` to the end. Raises NotDecoded if they
    are not exactly one such struct, or more than `LARGEST_PAYLOAD` bytes.
    """
    if len(data) > LARGEST_PAYLOAD:
        raise NotDecoded(f"more than {LARGEST_PAYLOAD >> 20} MiB are not decoded")
    try:
        fields: dict[str, Any]
        fields, end = half.read(data, start)
    except MalformedRecordError as problem:
        raise NotDecoded(f"it is no {half.name}: {problem}") from None
    except (IndexError, OverflowError, struct.error):
        raise NotDecoded(f"it is no {half.name}: its fields run over its end") from None
    if end != len(data):
        raise NotDecoded(f"it is no {half.name}: its fields end at byte {end} of {len(data)}")
    return fields


# -- MirrorMaker 2 -----------------------------------------------------------------------------------------------------

_STRING, _INT32, _INT64 = "string", "int32", "int64"
_VERSION = {"version": "int16"}


def _struct_of(name: str, fields: Mapping[str, str]) -> _Half:
    raw = [{"name": each, "type": type_, "versions": "0"} for each, type_ in fields.items()]
    row = {"name": name, "apiKey": 0, "validVersions": "0", "flexibleVersions": "none", "fields": raw}
    return _Half(name, schemas_of([row])[0, 0].reader())


@cache
def _mirror_structs() -> Mapping[str, Sequence[_Half]]:
    """Return the sort of MirrorMaker's topic and the part of the record, such as ``syncs key`` -> the schemas that
    records there may have, as Checkpoint, OffsetSync and Heartbeat of connect-mirror write them.

    The schemas for one topic have different sizes, so the bytes fit at most one of them.
    """
    offsets = {"upstreamOffset": _INT64, "offset": _INT64}
    return {
        "syncs key": (
            _struct_of("Checkpoint's key", {"group": _STRING, "topic": _STRING, "partition": _INT32}),
            _struct_of("OffsetSync's key", {"topic": _STRING, "partition": _INT32}),
        ),
        "syncs value": (
            _struct_of("Checkpoint", {**_VERSION, **offsets, "metadata": _STRING}),
            _struct_of("OffsetSync", offsets),
        ),
        "heartbeats key": (
            _struct_of("Heartbeat's key", {"sourceClusterAlias": _STRING, "targetClusterAlias": _STRING}),
        ),
        "heartbeats value": (_struct_of("Heartbeat", {**_VERSION, "timestamp": _INT64}),),
    }


@lru_cache(1 << 10)
def _mirror_topic(topic: str) -> str:
    """Return the sort of records in a topic of MirrorMaker, by the topic's name: ``syncs`` or ``heartbeats``; ``""``
    for any other topic.
    """
    owner = system_topics.system_topic(topic)
    if owner is system_topics.MIRROR_SYNCS:
        return "syncs"
    return "heartbeats" if owner is system_topics.MIRROR_HEARTBEATS else ""


def _fitting(record: Record, part: str, allowance: Allowance) -> Iterator[Decoded]:
    """Yield the decoded key or value of a record for each schema of MirrorMaker that the bytes fit. Nothing is yielded
    if none fits, since another topic may have a name like MirrorMaker's topics.
    """
    topic = _mirror_topic(record.topic)
    for half in _mirror_structs()[f"{topic} {part}"] if topic else ():
        try:
            yield Decoded(FORM, f"MirrorMaker's {half.name}", _read(half, _of(record, part), 0, allowance))
        except NotDecoded:
            continue


def mirror_fields(topic: str, key: bytes, value: bytes) -> tuple[str, dict[str, Any]] | None:
    """Return the name of MirrorMaker's record (Heartbeat, Checkpoint, OffsetSync), and the fields of its key and value
    together; None for any other record.

    Args:
        topic: the topic of the record; its name determines which records it may contain.
    """
    kept = _mirror_topic(topic)
    if not kept:
        return None
    for of_key, of_value in zip(_mirror_structs()[f"{kept} key"], _mirror_structs()[f"{kept} value"], strict=True):
        try:
            return of_value.name, _fields(of_key, key, 0) | _fields(of_value, value, 0)
        except NotDecoded:
            continue
    return None


def _is_of_mirror(record: Record, part: str) -> bool:
    return next(_fitting(record, part, Allowance()), None) is not None


def _mirrors_part(record: Record, part: str, allowance: Allowance) -> Decoded:
    found = next(_fitting(record, part, allowance), None)
    if found is None:
        raise allowance.refusal()
    return found


# -- the schema registry: JSON by itself -------------------------------------------------------------------------------


@lru_cache(1 << 10)
def _is_registrys_topic(topic: str) -> bool:
    return system_topics.system_topic(topic) is system_topics.REGISTRY


def _is_of_registry(record: Record, part: str) -> bool:
    return _keytype(record) != "" and _object(_of(record, part)) is not None


def _keytype(record: Record) -> str:
    """Return the type of a schema registry's record, such as SCHEMA, CONFIG, MODE, DELETE_SUBJECT, CLEAR_SUBJECT or
    NOOP; ``""`` for any other record.
    """
    named = (_object(record.key or b"") or {}).get("keytype")
    return named if isinstance(named, str) else ""


def _registrys_part(record: Record, part: str, _allowance: Allowance) -> Decoded:
    """Return a key or a value of a record of Confluent's registry or of Karapace, unchanged: it is JSON."""
    return Decoded("json", f"schema registry's {_keytype(record)[:40]}", _of(record, part))


def _object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that the bytes contain; None for anything else."""
    if data[:1] != b"{":
        return None
    try:
        found = decoded_json(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# -- Kafka Connect: JSON by itself; its topics have any name ----------------------------------------------------------


class _Connects(NamedTuple):
    """A kind of Connect's records."""

    key: bytes
    """The prefix of the key."""
    name: str
    members: tuple[str, ...]
    """Members that every value of the kind has; newer releases add others."""


_CONNECTS = (
    _Connects(b"restart-connector-", "restart request", ("include-tasks", "only-failed")),
    _Connects(b"connector-", "connector's config", ("properties",)),
    _Connects(b"task-", "task's config", ("properties",)),
    _Connects(b"commit-", "count of tasks", ("tasks",)),
    _Connects(b"tasks-fencing-", "count of fenced tasks", ("task-count",)),
    _Connects(b"target-state-", "target state", ("state",)),
    _Connects(b"session-key", "session key", ("key", "algorithm")),
    _Connects(b"logger-cluster-", "logger's level", ("level",)),
    _Connects(b"status-connector-", "connector's status", ("state", "worker_id", "generation")),
    _Connects(b"status-task-", "task's status", ("state", "worker_id", "generation")),
    _Connects(b"status-topic-", "topic's use", ("topic",)),
)
"""The kinds of records that KafkaConfigBackingStore and KafkaStatusBackingStore of connect-runtime write, by the prefix
of the key.
"""
_BEGIN = tuple(each.key for each in _CONNECTS)
_OFFSETS_KEY = b'["'
_SECRET_KINDS = ("properties", "key")
"""The kinds whose values may contain secrets, each by the first of its `members`."""


@lru_cache(1 << 10)
def _is_connects_topic(topic: str) -> bool:
    """Return whether a topic's name is usual for one of Connect's internal topics. The decoder does not need this to
    recognise Connect's records: it recognises them in any topic by their contents.
    """
    owner = system_topics.system_topic(topic)
    return owner is not None and owner.owner == system_topics.CONNECT


def _is_of_connect(record: Record, part: str) -> bool:
    return part != KEY and _connects(record) is not None


def _connects(record: Record) -> _Connects | None:
    """Return the kind of a record of Connect, by its key and the members of its value; None for other records."""
    key, value = record.key or b"", record.value or b""
    if key.startswith(_OFFSETS_KEY):
        return _SOURCE_OFFSET if _is_offsets_key(key) and _object(value) is not None else None
    if not key.startswith(_BEGIN) or value[:1] != b"{":
        return None
    kind = next(each for each in _CONNECTS if key.startswith(each.key))
    found = _object(value)
    if found is None:
        # A broken or too large value may still contain a secret.
        begins = f'{{"{kind.members[0]}"'.encode()
        return kind if kind.members[0] in _SECRET_KINDS and value.startswith(begins) else None
    return kind if found.keys() >= set(kind.members) else None


_SOURCE_OFFSET = _Connects(b"", "source offset", ())


def _is_offsets_key(key: bytes) -> bool:
    """Return whether a key is a JSON list of a connector's name and a source partition (an object)."""
    try:
        found = decoded_json(key)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and len(found) == 2 and isinstance(found[0], str) and isinstance(found[1], dict)


def _connects_part(without_secrets: WithoutSecrets, record: Record, _part: str, _allowance: Allowance) -> Decoded:
    """Return the decoded value of a record of Connect. In configs, values whose keys suggest a secret are replaced; the
    session key with which workers sign their requests is replaced too.
    """
    kind, value = _connects(record), record.value or b""
    assert kind is not None
    name = f"Connect's {kind.name}"
    if not kind.members or kind.members[0] not in _SECRET_KINDS:
        return Decoded("json", name, value)
    found = _object(value)
    if found is None:
        shown: Any = f"{MASKED} {len(value)} bytes hidden: they are no JSON, and may have secrets"
    elif kind.name == "session key":
        shown = {**found, "key": MASKED}
    else:
        shown = without_secrets(found)
    if shown == found:
        return Decoded("json", name, value)
    return Decoded("json", name, msgspec.json.encode(shown), is_changed=True)
