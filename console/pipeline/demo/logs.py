"""The logs of the demo's clusters: the metadata log as a controller would have written it, from the changes of an
embedded cluster's state, and request logs as brokers do (`kafka.request.logger` at DEBUG): changes as the embedded
brokers answer them, and what is produced and fetched, with the fields that readers of such logs take. Times are UTC.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid5

from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]

from console.admin.topics import topic_id_text
from console.embedded.record_batch import placed_batch, read_batch
from console.embedded.state import ClusterState
from console.embedded.tables import ABSENT, BrokerNode, Change, ScramCredential, ScramKey, Topic
from console.model.acl import Acl
from console.model.config import ConfigResource
from console.model.numbers import json_text
from console.model.quota import QuotaEntity
from console.pipeline.demo.story import HOSTS, Client
from console.pipeline.kraft.decoder import NUMBERS, Field, RecordSchema, known_schemas
from console.wire.frames import decode_body, decode_request, is_flexible, read_client_id, split_response
from console.wire.schemas import Messages
from console.wire.tagged_fields import encode_varint

# -- the metadata log --------------------------------------------------------------------------------------------------

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
        """Add the whole state as the first records."""
        for table in ("features", "brokers", "topics", "configs", "quotas", "acls", "scram"):
            for key, value in state.tables.named(table).items():
                self.add(Change(0, 0.0, table, key, ABSENT, value), at)

    def add(self, change: Change, at: datetime) -> None:
        """Add the records of one change, in batches of at most 500."""
        made = list(_records(change))
        for start in range(0, len(made), 500):
            self._append([_value(name, fields) for name, fields in made[start : start + 500]], at)

    def save(self, folder: Path, cluster_id: str) -> Path:
        """Write a broker's folder; returns the folder of the log."""
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
    """Yield the records of one change, by the names of their types."""
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
    """Yield the keys of a mapping that have other values now; None: no value any more."""
    before, after = (each if isinstance(each, Mapping) else {} for each in (change.before, change.after))
    for key in dict.fromkeys((*after, *before)):
        if before.get(key) != after.get(key):
            yield key, after.get(key)


# -- encoding --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _schema(name: str) -> RecordSchema:
    """Return the oldest version of a record's schema: the story needs no later one."""
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
    """Return a struct's bytes. Tagged fields are left out."""
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


# -- request logs ------------------------------------------------------------------------------------------------------

BURST_EVERY = timedelta(minutes=10)
"""How often each client is logged, for `BURST` each time: a whole day of every second would be gigabytes."""
BURST = timedelta(seconds=48)
BETWEEN = 2.0
"""Seconds between its requests then."""
_WINDOW = 10.0
"""Seconds over which a broker computes a rate before it throttles."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it is logged."""

    api: str
    key: int
    version: int
    request: Json
    response: Json


def request_of(messages: Messages, frame: bytes, answer: bytes) -> Request:
    """Return a request and its response, as they were on the wire."""
    _, start = read_client_id(frame, flexible=is_flexible(messages.request))
    request = decode_request(messages.request, frame[start:])
    _, body = split_response(messages.response, answer[4:])
    response = decode_body(messages.response, body)
    return Request(messages.api.upper(), messages.key, messages.version, _json(request), _json(response))


def _json(value: Any) -> Any:
    """Return a value of kio's as brokers log it: fields by Kafka's names, salts and salted passwords too."""
    if is_dataclass(value):
        named = ((field, getattr(value, field.name)) for field in fields(value))
        return {_kafka_name(field.name, of): _json(_null(field.metadata, of)) for field, of in named}
    match value:
        case tuple():
            return list(map(_json, value))
        case timedelta():
            return round(value.total_seconds() * 1000)
        case UUID():
            return topic_id_text(value)
        case bytes():
            return b64encode(value).decode()
        case _:
            return value


def _kafka_name(name: str, value: Any) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others)) + ("Ms" if isinstance(value, timedelta) else "")


def _null(metadata: Any, value: Any) -> Any:
    return UUID(int=0) if value is None and metadata.get("kafka_type") == "uuid" else value


class RequestLogs:
    """The logs of a cluster's brokers, in memory until they are saved. controller: the broker that is the
    controller."""

    def __init__(self, brokers: Sequence[int], controller: int | None) -> None:
        self._lines: dict[int, list[tuple[datetime, str]]] = {broker: [] for broker in brokers}
        self._controller = controller
        self._correlation = 0
        self._random = Random(7)  # noqa: S311 - to be the same each time

    def change(self, broker: int, who: str, client_id: str, at: datetime, request: Request) -> None:
        """Log a change at a time: on the broker that got the request, and on the controller."""
        took = 0.004 + self._random.random() * 0.02
        head = (who, HOSTS[who], client_id)
        if self._controller is not None:
            self._add(self._controller, at + timedelta(seconds=took / 2), request, head, took * 700, forwarded=True)
        self._add(broker, at + timedelta(seconds=took), request, head, took * 1500, forwarded=False)

    def traffic(self, client: Client, start: datetime, end: datetime, topic_id: str | None) -> None:
        """Log what a client produces or fetches from start to end, in bursts; throttled if it would exceed its
        limit.
        """
        head = (client.who, f"10.3.{client.broker}.{len(client.client_id)}", client.client_id)
        burst = start + BURST_EVERY - BURST  # so that the last of them ends with the day
        while burst < end:
            at = burst + timedelta(seconds=self._random.random())
            busy = client.busy is not None and end - client.busy[0] <= at < end - client.busy[1]
            while at < min(burst + BURST, end):
                wanted = client.rate * (4.0 if busy else 1.0) * (0.85 + 0.3 * self._random.random())
                waits = 0
                if client.limit is not None and wanted > client.limit:
                    waits = round(min((wanted - client.limit) / client.limit * _WINDOW, _WINDOW) * 1000)
                    wanted = client.limit * (1.0 + 0.08 * self._random.random())
                request = _moved(client, topic_id, round(wanted * BETWEEN), waits)
                self._add(client.broker, at, request, head, 1.0 + 4.0 * self._random.random(), forwarded=False)
                at += timedelta(seconds=BETWEEN)
            burst += BURST_EVERY

    def save(self, folder: Path) -> dict[int, Path]:
        """Write the logs, each in the order of time; returns the file of each broker."""
        files = {}
        for broker, lines in self._lines.items():
            file = folder / f"broker-{broker}" / "kafka-request.log"
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("w", encoding="utf-8") as out:
                out.writelines(line for _, line in sorted(lines))
            files[broker] = file
        return files

    def _add(
        self, broker: int, ended: datetime, request: Request, head: tuple[str, str, str], ms: float, *, forwarded: bool
    ) -> None:
        who, host, client_id = head
        self._correlation += 1
        logged = {
            "isForwarded": forwarded,
            "requestHeader": {
                "requestApiKey": request.key,
                "requestApiVersion": request.version,
                "correlationId": self._correlation,
                "clientId": client_id,
                "requestApiKeyName": request.api,
            },
            "request": request.request,
            "response": request.response,
            "connection": f"10.0.0.{broker}:9092-{host}:{40000 + self._correlation % 9999}-{self._correlation}-0",
            "totalTimeMs": round(ms, 3),
            "localTimeMs": round(ms * 0.6, 3),
            "remoteTimeMs": round(ms * 0.3, 3),
            "throttleTimeMs": request.response.get("throttleTimeMs", 0),
            "securityProtocol": "SASL_PLAINTEXT",
            "principal": f"User:{who}",
            "listener": "SASL_PLAINTEXT",
        }
        stamp = f"{ended:%Y-%m-%d %H:%M:%S},{ended.microsecond // 1000:03d}"
        text = json_text(logged, separators=(",", ":"))
        self._lines[broker].append((ended, f"[{stamp}] DEBUG Completed request:{text} (kafka.request.logger)\n"))


def _moved(client: Client, topic_id: str | None, size: int, waits: int) -> Request:
    named = {"topicId": topic_id} if topic_id else {"name" if client.produces else "topic": client.topic}
    if client.produces:
        parts = {**named, "partitionData": [{"index": 0, "recordsSizeInBytes": size}]}
        answered = {**named, "partitionResponses": [{"index": 0, "errorCode": 0}]}
        asked, found = {"acks": -1, "topicData": [parts]}, {"responses": [answered], "throttleTimeMs": waits}
        return Request("PRODUCE", 0, 13 if topic_id else 9, asked, found)
    asked = {**({} if topic_id else {"replicaId": -1}), "topics": [{**named, "partitions": [{"partition": 0}]}]}
    parts = {**named, "partitions": [{"partitionIndex": 0, "errorCode": 0, "recordsSizeInBytes": size}]}
    found = {"throttleTimeMs": waits, "errorCode": 0, "responses": [parts]}
    return Request("FETCH", 1, 17 if topic_id else 12, asked, found)
