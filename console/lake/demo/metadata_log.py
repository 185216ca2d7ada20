"""Writes a metadata log as a controller would have written it, from the changes of an embedded cluster's state.

Records are encoded by the schemas that Kafka's releases ship (console.history.kraft.decoder), in batches of format v2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]

from console.embedded.record_batch import placed_batch, read_batch
from console.embedded.state import ClusterState
from console.embedded.tables import ABSENT, BrokerNode, Change, ScramCredential, ScramKey, Topic
from console.history.kraft.decoder import NUMBERS, Field, RecordSchema, known_schemas
from console.model.acl import Acl
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.wire.tagged_fields import encode_varint

FOLDER = "__cluster_metadata-0"
_IDS = UUID("6b616363-6c75-5374-8572-6c6f67646972")
_PLAIN = {**NUMBERS, "float64": "d", "bool": "?"}
_EPOCH = 1
Fields = Mapping[str, Any]
_OF_AN_ACL = ("resourceType", "resourceName", "patternType", "principal", "host", "operation", "permissionType")


class MetadataLog:
    """One log, in memory until it is saved."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._end = 0

    def begin(self, state: ClusterState, at: datetime) -> None:
        """Adds the whole state as the first records."""
        for table in ("features", "brokers", "topics", "configs", "quotas", "acls", "scram"):
            for key, value in state.tables.named(table).items():
                self.add(Change(0, 0.0, table, key, ABSENT, value), at)

    def add(self, change: Change, at: datetime) -> None:
        """Adds the records of one change, as one batch."""
        made = list(_records(change))
        for start in range(0, len(made), 500):
            self._append([_value(name, fields) for name, fields in made[start : start + 500]], at)

    def save(self, folder: Path, cluster_id: str) -> Path:
        """Writes a broker's folder; returns the folder of the log."""
        log = folder / FOLDER
        log.mkdir(parents=True, exist_ok=True)
        (log / f"{0:020}.log").write_bytes(self._data)
        (folder / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id=1\n", encoding="utf-8")
        return log

    def _append(self, values: Sequence[bytes], at: datetime) -> None:
        stamp = round(at.timestamp() * 1000)
        builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 30)
        for place, value in enumerate(values):
            builder.append(place, stamp, None, value, [])
        self._data += placed_batch(read_batch(bytes(builder.build()), 0), self._end, _EPOCH).data
        self._end += len(values)


def _records(change: Change) -> Iterator[tuple[str, Fields]]:
    """The records of one change, by the names of their types."""
    before, after = change.before, change.after
    match change.table, change.key, after:
        case "topics", _, Topic():
            old = len(before.partitions) if isinstance(before, Topic) else 0
            if not old:
                yield "TopicRecord", {"name": after.name, "topicId": after.id}
            for number, each in enumerate(after.partitions[old:], old):
                led = {"leader": each.leader, "leaderEpoch": each.leader_epoch, "replicas": each.replicas}
                kept = {"isr": each.isr, "partitionEpoch": each.partition_epoch}
                yield "PartitionRecord", {"partitionId": number, "topicId": after.id, **led, **kept}
        case "topics", _, _:
            yield "RemoveTopicRecord", {"topicId": before.id}
        case "configs", ConfigResource(type_, name), _:
            for key, value in _differing(change):
                named = {"resourceType": int(type_), "resourceName": name}
                yield "ConfigRecord", {**named, "name": key, "value": value}
        case "quotas", QuotaEntity() as quota, _:
            entity = [{"entityType": part.type, "entityName": part.name} for part in quota]
            for key, value in _differing(change):
                is_gone = value is None
                yield "ClientQuotaRecord", {"entity": entity, "key": key, "value": value or 0.0, "remove": is_gone}
        case "acls", Acl() as acl, _:
            if after is ABSENT:
                yield "RemoveAccessControlEntryRecord", {"id": before}
            else:
                yield "AccessControlEntryRecord", {"id": after, **dict(zip(_OF_AN_ACL, acl, strict=True))}
        case "scram", ScramKey() as user, _:
            named = {"name": user.user, "mechanism": int(user.mechanism)}
            if isinstance(after, ScramCredential):
                keys = {"storedKey": after.stored_key, "serverKey": after.server_key}
                salted = {"salt": after.salt, "iterations": after.iterations}
                yield "UserScramCredentialRecord", {**named, **salted, **keys}
            else:
                yield "RemoveUserScramCredentialRecord", named
        case "features", name, _:
            yield "FeatureLevelRecord", {"name": name, "featureLevel": 0 if after is ABSENT else after}
        case "brokers", _, BrokerNode() if not isinstance(before, BrokerNode):
            named = {"brokerId": after.id, "incarnationId": uuid5(_IDS, str(after.id)), "brokerEpoch": after.epoch}
            endpoint = {"name": "PLAINTEXT", "host": after.host, "port": after.port, "securityProtocol": 0}
            yield "RegisterBrokerRecord", {**named, "endPoints": [endpoint], "rack": after.rack, "fenced": False}


def _differing(change: Change) -> Iterator[tuple[str, Any]]:
    """The keys of a mapping that have other values now; None: none any more."""
    before, after = (each if isinstance(each, Mapping) else {} for each in (change.before, change.after))
    for key in dict.fromkeys((*after, *before)):
        if before.get(key) != after.get(key):
            yield key, after.get(key)


# -- encoding --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _schema(name: str) -> RecordSchema:
    """The oldest version of a record's schema: the story needs no later one."""
    return min((each for each in known_schemas().values() if each.name == name), key=lambda each: each.version)


def _value(name: str, fields: Fields) -> bytes:
    schema = _schema(name)
    return (
        encode_varint(1)
        + encode_varint(schema.api_key)
        + encode_varint(schema.version)
        + _struct(schema.fields, fields)
    )


def _struct(fields: Sequence[Field], given: Fields) -> bytes:
    """Tagged fields are left out."""
    return b"".join(_field(each, given.get(each.name)) for each in fields if each.tag is None) + encode_varint(0)


def _field(field: Field, given: Any) -> bytes:
    if not field.is_array:
        return _one(field, given)
    elements = () if given is None and not field.nullable else given
    if elements is None:
        return encode_varint(0)
    return encode_varint(len(elements) + 1) + b"".join(_one(field, each) for each in elements)


def _one(field: Field, given: Any) -> bytes:
    if field.fields:
        return _struct(field.fields, given)
    if field.type == "uuid":
        return bytes(given.bytes)
    if field.type in _PLAIN:
        return struct.pack(">" + _PLAIN[field.type], given or 0)
    if given is None:
        return encode_varint(0)
    raw = given.encode() if isinstance(given, str) else bytes(given)
    return encode_varint(len(raw) + 1) + raw
