"""`kac lake demo`: the lake of a day of three clusters, as far as it is not built: their logs, journals and polls."""

from __future__ import annotations

import asyncio
import shutil
import struct
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid5

from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]

from console import event_loop
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.admin.settings import ConnectionSettings
from console.answers.data_forms import yaml_text
from console.collecting.collect import LastStates, PollResult, Progress, poll_context, write_down
from console.collecting.sources import FILE as SOURCES
from console.contexts import Context
from console.embedded import tables
from console.embedded.brokers import EmbeddedCluster
from console.embedded.context import RequestContext
from console.embedded.record_batch import placed_batch, read_batch
from console.embedded.scenarios.seed import DAY, MIB
from console.embedded.spec import ClusterSpec, clusters_of
from console.embedded.state import ClusterState
from console.journal import entries
from console.journal.file import journal_path
from console.lake.files import LakeError
from console.lake.kraft import LOG_FOLDER, NUMBERS, Field, RecordSchema, known_schemas
from console.lake.lake import Lake, NoLake
from console.lake.requests.alters import ALTER_APIS
from console.model import config
from console.model.acl import Acl
from console.model.authorizer import ALLOW, LITERAL
from console.model.changes import ChangeRequest, NewTopic, ScramUser, Status
from console.model.codes import AclOperation, AclResourceType, ScramMechanism
from console.model.failure import Failure
from console.model.identity import uuid_text
from console.model.journal_lines import Origin, Sending, Who
from console.model.journal_lines import Request as JournalRequest
from console.model.numbers import json_text
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.plan import edits as plan_edits
from console.plan.compile import compile_plan
from console.plan.plan import Plan
from console.plan.requests import Facts
from console.plan.staged import Staged, Was
from console.wire.frames import decode_body, decode_request, is_flexible, read_client_id, split_response
from console.wire.schemas import Messages
from console.wire.tagged_fields import encode_varint

# -- the demo's lake -------------------------------------------------------------------------------------------------

FOLDER = "demo"
"""In the lake: the clusters' logs, their state, the journals."""
STATE = "clusters.json"
_MARK = "made-by-kac-lake-demo"


@dataclass(frozen=True, slots=True)
class Demo:
    """The result. state: the option ``--state`` of ``kac demo`` that restores the clusters."""

    lake: Lake
    clusters: tuple[Recorded, ...]
    state: Path


def make(where: str, end: datetime, passed: Progress = lambda *_: None) -> Demo:
    """Make a new lake with a day that ends at `end`; replaces a former demo.

    passed: gets the cluster and the time of each poll. LakeError: another lake is there. OSError: the disk is full, no
    permission.
    """
    lake = new_lake(where)
    folder = Path(lake.where) / FOLDER
    state = folder / STATE
    folder.mkdir()
    (folder / _MARK).touch()
    clusters = event_loop.run(_record_all(folder, state, end, passed))
    listed = []
    for cluster in clusters:
        log = {"metadata-log": str(cluster.metadata_log)} if cluster.metadata_log is not None else {}
        requests = [{"broker": broker, "files": str(file)} for broker, file in sorted(cluster.request_logs.items())]
        listed.append({"id": cluster.cluster_id, **log, "request-logs": requests})
    sources = yaml_text({"version": 1, "clusters": listed, "journals": str(folder / "journal")})
    (Path(lake.where) / SOURCES).write_text(f"# Written by kac lake demo.\n{sources}", encoding="utf-8")
    report = write_down([taken for cluster in clusters for taken in cluster.taken], LastStates(lake))
    if not report.complete:
        raise LakeError(f"the demo's own clusters could not be read: {report.message}")
    return Demo(lake, clusters, state)


def new_lake(where: str) -> Lake:
    """Make an empty lake; deletes a former demo. LakeError: another lake is there, or a demo with more than demo
    clusters.
    """
    with suppress(NoLake):
        former = Lake.open(where)
        if not (Path(former.where) / FOLDER / _MARK).exists():
            raise LakeError(
                f"There is a lake at {former.where} already: choose another folder for the demo with --lake."
            )
        owners = LastStates(former).owners()
        if own := {owner.context for owner in owners.values()} - clusters_of("fleet", ClusterSpec()).keys():
            raise LakeError(
                f"The demo at {former.where} also has polls of {', '.join(sorted(own))}, and would delete "
                "it: choose another folder for the demo with --lake."
            )
        shutil.rmtree(former.where)
    return Lake.create(where)


async def _record_all(folder: Path, state: Path, end: datetime, passed: Progress) -> tuple[Recorded, ...]:
    specs = clusters_of("fleet", ClusterSpec(state_file=state))
    total = (HOURS + 1) * len(specs) - sum((since - until) // POLL_EVERY for since, until in NOT_POLLED.values())
    done = count(1)
    recorded = []
    for name, spec in specs.items():
        named = replace(spec, cluster_id=f"{FOLDER}-{name}")
        recorded.append(await record(name, named, end, folder, lambda said: passed(said, next(done), total)))
    return tuple(recorded)


# -- one cluster's day: an embedded cluster that is changed as the story says, with the logs, journal and polls of that.
# It takes seconds; the records have the times of the story.

HOST = "ops-1"
"""The host of the journal."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The records of a cluster.

    taken: its polls. metadata_log: the log's folder; None where it is not read. request_logs: by broker.
    """

    name: str
    cluster_id: str
    taken: tuple[PollResult, ...]
    metadata_log: Path | None
    request_logs: Mapping[int, Path]


async def record(name: str, spec: ClusterSpec, end: datetime, folder: Path, passed: Callable[[str], None]) -> Recorded:
    """Run the day of one of the story's clusters, and write its logs into a folder. passed: called for each poll.

    The final state is kept where the specification says. Raises OSError.
    """
    story = [(end - deed.ago, deed) for deed in STORY if deed.cluster == name]
    polls = [end - POLL_EVERY * hours for hours in range(HOURS, -1, -1)]
    if unseen := NOT_POLLED.get(name):
        polls = [at for at in polls if not end - unseen[0] < at < end - unseen[1]]
    async with EmbeddedCluster(spec) as cluster:
        context = Context(name, "kac lake demo", ConnectionSettings(tuple(cluster.addresses.values())))
        day = _Day(cluster, polls[0] - timedelta(minutes=1), MetadataLog() if name not in NOT_POLLED else None)
        taken = []
        for at in sorted({*polls, *(at for at, _ in story)}):
            for _, deed in (each for each in story if each[0] == at):
                await day.do(deed, at)
            if at in polls:
                polled = await poll_context(context)
                seen = polled.seen if isinstance(polled.seen, Failure) else replace(polled.seen, at=at)
                taken.append(replace(polled, at=at, seen=seen))
                passed(f"{name}: {at:%H:%M}")
        for client in (each for each in CLIENTS if each.cluster == name):
            topic = cluster.state.topics[client.topic]
            day.requests.traffic(client, end - timedelta(hours=HOURS), end, uuid_text(topic.id))
        cluster_id = cluster.state.cluster_id
    log = day.metadata.save(folder / name, cluster_id) if day.metadata is not None else None
    files = day.requests.save(folder / name)
    if day.journal:
        path = journal_path(folder, cluster_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(day.journal))
    return Recorded(name, cluster_id, tuple(taken), log, files)


class _Day:
    """The records of a day."""

    def __init__(self, cluster: EmbeddedCluster, begin: datetime, metadata: MetadataLog | None) -> None:
        self.cluster = cluster
        brokers = sorted(cluster.addresses)
        self.requests = RequestLogs(brokers, brokers[-1] if len(brokers) > 1 else None)
        self.metadata = metadata
        self.journal: list[bytes] = []
        self._changes = 0
        self._now = begin
        self._who = ""
        cluster.pipeline.record = self.add
        if self.metadata is not None:
            self.metadata.begin(cluster.state, begin)
            log = self.metadata
            cluster.state.subscribe(lambda change: log.add(change, self._now))

    async def do(self, deed: StoryChange, at: datetime) -> None:
        """Make a change, as at a time: in the journal, and by requests to the cluster, which are logged."""
        self._now, self._who = at, deed.who
        staged = tuple(Staged(edit, self._was(edit)) for edit in deed.edits)
        addresses = tuple(self.cluster.addresses.values())
        client_id = "kac" if deed.with_kac else f"adminclient-{deed.who}"
        steps = compile_plan(Plan(staged), Facts())
        await _send(ConnectionSettings(addresses, client_id=client_id), (step.request for step in steps))
        if deed.with_kac:
            self._write_down(deed, staged, at)

    def add(self, context: RequestContext, messages: Messages, frame: bytes, answer: bytes | None) -> None:
        """Log a request that changes something (`embedded.request_pipeline.Recorder`)."""
        if messages.api.upper() in ALTER_APIS and answer is not None:
            request = request_of(messages, frame, answer)
            self.requests.change(context.broker_id, self._who, context.client_id, self._now, request)

    def _write_down(self, deed: StoryChange, staged: tuple[Staged, ...], at: datetime) -> None:
        self._changes += 1
        number, places = self._changes, tuple(range(len(staged)))
        intent = entries.Intent(
            at - timedelta(milliseconds=40),
            deed.cluster,
            Who(deed.who, deed.who, ssh_client=HOSTS[deed.who]),
            Origin(HOST, "console", 4000 + number),
            tuple(map(entries.Entry, staged)),
            (JournalRequest("INCREMENTAL_ALTER_CONFIGS", None, places),),
        )
        ended = dict.fromkeys(places, entries.Ended(Status.APPLIED))
        self.journal += [
            entries.intent_line(number, intent),
            entries.note_line(Sending(number, 0, at - timedelta(milliseconds=20))),
            entries.note_line(entries.Answered(number, 0, at + timedelta(milliseconds=30), ended)),
        ]

    def _was(self, edit: plan_edits.Edit) -> Was:
        state = self.cluster.state
        match edit:
            case plan_edits.SetConfig() | plan_edits.UnsetConfig() | plan_edits.AppendConfig():
                value = state.configs.get(edit.resource, {}).get(edit.key)
                return None if value is None else config.ConfigEntry(edit.key, value, config.own_source(edit.resource))
            case plan_edits.SetQuota():
                return state.quotas.get(edit.entity, {}).get(edit.key)
            case _:
                return None


async def _send(settings: ConnectionSettings, changes: Iterable[ChangeRequest]) -> None:
    """Send changes in their order. Raises AdminError for the first one that fails."""
    client = AdminClient(settings)
    client.start()
    try:
        for change in changes:
            for outcome in await client.run(send, change, validate_only=False):
                if outcome.failure is not None:
                    raise AdminError(outcome.failure)
    finally:
        await asyncio.to_thread(client.close)


# -- the metadata log, as a controller would have written it, from the changes of an embedded cluster's state ---------

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
                self.add(tables.Change(0, 0.0, table, key, tables.ABSENT, value), at)

    def add(self, change: tables.Change, at: datetime) -> None:
        """Add the records of one change, in batches of at most 500."""
        made = list(_records(change))
        for start in range(0, len(made), 500):
            self._append([_value(name, fields) for name, fields in made[start : start + 500]], at)

    def save(self, folder: Path, cluster_id: str) -> Path:
        """Write a broker's folder; returns the folder of the log."""
        log = folder / LOG_FOLDER
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


def _records(change: tables.Change) -> Iterator[tuple[str, Fields]]:
    """Yield the records of one change, by the names of their types."""
    before, after = change.before, change.after
    match change.table, change.key, after:
        case "topics", _, tables.Topic():
            old = len(before.partitions) if isinstance(before, tables.Topic) else 0
            if not old:
                yield "TopicRecord", {"name": after.name, "topicId": after.id}
            for number, each in enumerate(after.partitions[old:], old):
                led = {"leader": each.leader, "leaderEpoch": each.leader_epoch, "replicas": each.replicas}
                kept = {"isr": each.isr, "partitionEpoch": each.partition_epoch}
                yield "PartitionRecord", {"partitionId": number, "topicId": after.id, **led, **kept}
        case "topics", _, _:
            yield "RemoveTopicRecord", {"topicId": before.id}
        case "configs", config.ConfigResource(type_, name), _:
            for key, value in _differing(change):
                named = {"resourceType": int(type_), "resourceName": name}
                yield "ConfigRecord", {**named, "name": key, "value": value}
        case "quotas", QuotaEntity() as quota, _:
            entity = [{"entityType": part.type, "entityName": part.name} for part in quota.parts]
            for key, value in _differing(change):
                is_gone = value is None
                yield "ClientQuotaRecord", {"entity": entity, "key": key, "value": value or 0.0, "remove": is_gone}
        case "acls", Acl() as acl, _:
            if after is tables.ABSENT:
                yield "RemoveAccessControlEntryRecord", {"id": before}
            else:
                yield "AccessControlEntryRecord", {"id": after, **dict(zip(_OF_AN_ACL, acl, strict=True))}
        case "scram", tables.ScramKey() as user, _:
            named = {"name": user.user, "mechanism": int(user.mechanism)}
            if isinstance(after, tables.ScramCredential):
                keys = {"storedKey": after.stored_key, "serverKey": after.server_key}
                salted = {"salt": after.salt, "iterations": after.iterations}
                yield "UserScramCredentialRecord", {**named, **salted, **keys}
            else:
                yield "RemoveUserScramCredentialRecord", named
        case "features", name, _:
            yield "FeatureLevelRecord", {"name": name, "featureLevel": 0 if after is tables.ABSENT else after}
        case "brokers", _, tables.BrokerNode() if not isinstance(before, tables.BrokerNode):
            named = {"brokerId": after.id, "incarnationId": uuid5(_IDS, str(after.id)), "brokerEpoch": after.epoch}
            endpoint = {"name": "PLAINTEXT", "host": after.host, "port": after.port, "securityProtocol": 0}
            yield "RegisterBrokerRecord", {**named, "endPoints": [endpoint], "rack": after.rack, "fenced": False}


def _differing(change: tables.Change) -> Iterator[tuple[str, Any]]:
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


# -- request logs, as brokers write them (`kafka.request.logger` at DEBUG): changes as the embedded brokers answer them,
# and what is produced and fetched, with the fields that readers of such logs take

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
            return uuid_text(value)
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


# -- the story: who changed what in which cluster, who produced and fetched how much; all of it made up ----------------

HOURS = 24
"""The length of the day; it ends now."""
POLL_EVERY = timedelta(hours=1)
HOSTS = {"alice": "10.1.0.17", "bob": "10.1.0.23", "ci": "10.9.4.2", "oncall": "10.1.0.66"}
"""The address of each user."""


@dataclass(frozen=True, slots=True)
class StoryChange:
    """A change. ago: before the end of the day. with_kac: also recorded in the journal."""

    cluster: str
    ago: timedelta
    who: str
    edits: tuple[plan_edits.Edit, ...]
    with_kac: bool = False


@dataclass(frozen=True, slots=True)
class Client:
    """A client that produces or fetches all day. rate: bytes/s that it needs on its broker. limit: bytes/s of its
    quota; None: none. busy: from so long ago until so long ago it needs four times as much."""

    cluster: str
    broker: int
    who: str
    client_id: str
    topic: str
    rate: float
    produces: bool = True
    limit: float | None = None
    busy: tuple[timedelta, timedelta] | None = None


def _ago(hours: int, minutes: int = 0, seconds: float = 0) -> timedelta:
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def _change(cluster: str, who: str, ago: timedelta, *edits: plan_edits.Edit, with_kac: bool = False) -> StoryChange:
    return StoryChange(cluster, ago, who, edits, with_kac)


def _allow(principal: str, operation: str, topic: str) -> plan_edits.AddAcl:
    type_ = AclResourceType.parse("TOPIC")
    return plan_edits.AddAcl(Acl(type_, topic, LITERAL, principal, "*", AclOperation.parse(operation), ALLOW))


def _limit(user: str, client: str, bytes_per_second: float) -> plan_edits.SetQuota:
    return plan_edits.SetQuota(
        QuotaEntity.of({"user": user, "client-id": client}), "producer_byte_rate", bytes_per_second
    )


_ORDERS, _PAYMENTS = config.topic_resource("checkout.orders"), config.topic_resource("checkout.payments")
_CAROL = ScramUser("carol", ScramMechanism.parse("SCRAM-SHA-512"))
_RETURNS = NewTopic("checkout.returns", 6, 3, configs={"min.insync.replicas": "2"})
_RISKY = (
    plan_edits.SetConfig(_PAYMENTS, "min.insync.replicas", "1"),
    plan_edits.SetConfig(_PAYMENTS, "unclean.leader.election.enable", "true"),
)

STORY = (
    _change("production", "ci", _ago(24), _limit("checkout", "checkout-loader", 65_536.0)),
    _change("production", "alice", _ago(22, 10), plan_edits.SetConfig(_ORDERS, "retention.ms", str(3 * DAY))),
    _change("staging", "ci", _ago(20, 15), plan_edits.CreateTopic(NewTopic("checkout.returns", 3, 1))),
    _change(
        "production",
        "ci",
        _ago(19, 58),
        plan_edits.CreateTopic(_RETURNS),
        _allow("User:alice", "WRITE", "checkout.returns"),
    ),
    _change("production", "bob", _ago(17, 31), _limit("bob", "loader", 20 * MIB), with_kac=True),
    _change("old", "bob", _ago(16, 44), plan_edits.SetConfig(_ORDERS, "retention.ms", str(DAY))),
    _change("production", "ci", _ago(14, 3), plan_edits.UpsertScram(_CAROL, 8192, Secret("carol-in-a-demo"))),
    _change("staging", "bob", _ago(13, 20), plan_edits.AppendConfig(_ORDERS, "cleanup.policy", "compact")),
    _change(
        "production",
        "oncall",
        _ago(12, 41),
        plan_edits.SetConfig(config.broker_resource(3), "log.retention.ms", str(DAY)),
        with_kac=True,
    ),
    _change("production", "alice", _ago(9, 7), plan_edits.GrowTopic("checkout.refunds", 12)),
    # Two users do the same at the same moment: the log has it once, and the author is ambiguous.
    _change("staging", "bob", _ago(8, 0, 1.002), plan_edits.SetConfig(_ORDERS, "retention.ms", str(2 * DAY))),
    _change("staging", "ci", _ago(8, 0, 1.0), plan_edits.SetConfig(_ORDERS, "retention.ms", str(2 * DAY))),
    _change("production", "ci", _ago(6, 30), plan_edits.DeleteTopic("platform.mirror-heartbeats")),
    _change("old", "alice", _ago(5, 22), _limit("bob", "loader", 10 * MIB), with_kac=True),
    _change("production", "oncall", _ago(4, 14), *_RISKY, with_kac=True),
    _change("staging", "alice", _ago(3, 5), plan_edits.UnsetConfig(_PAYMENTS, "retention.ms"), with_kac=True),
    _change("production", "bob", _ago(2, 2), _allow("User:*", "READ", "checkout.payments")),
    _change(
        "production", "oncall", _ago(0, 41), plan_edits.SetConfig(_PAYMENTS, "min.insync.replicas", "2"), with_kac=True
    ),
    _change(
        "production", "ci", _ago(0, 12), plan_edits.SetConfig(config.CLUSTER_DEFAULT, "log.retention.ms", str(5 * DAY))
    ),
)
"""All changes of the day, in the order of time."""

NOT_POLLED = {"old": (_ago(11), _ago(6, 30))}
"""When a cluster whose metadata log is not read was not polled: from so long ago until so long ago."""

_BUSY = _ago(3, 30), _ago(1, 50)
CLIENTS = (
    Client("production", 1, "checkout", "checkout-loader", "checkout.carts", 120_000.0, limit=65_536.0),
    Client("production", 2, "checkout", "checkout-loader", "checkout.carts", 50_000.0, limit=65_536.0),
    Client("production", 1, "alice", "checkout", "checkout.orders", 1.6 * MIB, limit=5 * MIB, busy=_BUSY),
    Client("production", 3, "bob", "loader", "logistics.stock", 9 * MIB, limit=20 * MIB),
    Client("production", 2, "billing", "billing-1", "checkout.payments", 90_000.0, produces=False),
    Client("staging", 1, "bob", "loader", "logistics.stock", 2 * MIB),
    Client("staging", 2, "alice", "checkout", "checkout.orders", 300_000.0),
    Client("old", 1, "mirror", "mirror-maker", "checkout.orders", 3 * MIB),
)
