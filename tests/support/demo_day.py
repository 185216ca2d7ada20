"""Records the day of `kac lake demo`: ``python -m tests.support.demo_day`` writes it into the product's package.

kac's client makes the changes of a story on three embedded clusters; metadata logs, request logs, the journal, polls
and cluster states are recorded. This takes seconds, because the records get the times of the story instead of the
clock's. No client runs for a day: produced and fetched bytes come from generated lines of the request logs.
"""

from __future__ import annotations

import asyncio
import io
import lzma
import tarfile
import tempfile
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid5

from console import event_loop
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.admin.settings import ConnectionSettings
from console.answers.data_forms import yaml_text
from console.collecting.collect import LastStates, PollResult, poll_context, write_down
from console.collecting.demo import DAY as DAY_FILE
from console.collecting.demo import DAY_END, FOLDER, STATE, cluster_id_of
from console.collecting.sources import FILE as SOURCES
from console.contexts import Context
from console.embedded import tables
from console.embedded.brokers import EmbeddedCluster
from console.embedded.context import RequestContext
from console.embedded.request_pipeline import Handled
from console.embedded.scenarios.seed import DAY, MIB
from console.embedded.spec import ClusterSpec, clusters_of
from console.embedded.state import ClusterState
from console.journal import entries
from console.journal.file import journal_path
from console.lake.kraft import LOG_FOLDER
from console.lake.lake import Lake
from console.lake.requests.alters import ALTER_APIS
from console.model import authorizer, codes, config, failure, journal_lines, secret
from console.model.acl import Acl
from console.model.changes import ChangeRequest, NewTopic, ScramUser, Status
from console.model.identity import uuid_text
from console.model.journal_lines import Request as JournalRequest
from console.model.numbers import json_text
from console.model.quota import QuotaEntity
from console.plan import edits as plan_edits
from console.plan import plan, requests
from console.plan.compile import compile_plan
from console.plan.staged import Staged, Was
from console.wire.frames import decode_body, decode_request, is_flexible, read_client_id, split_response
from console.wire.schemas import Messages
from tests.support import metadata_log
from tests.support.manual_clock import ManualClock

PACKED = ("collect", FOLDER, "landing", SOURCES)
"""The files and folders of the lake that the packed day contains. The lake's id and key are left out."""


def record_lake(where: Path) -> Lake:
    """Make a lake in a folder with the records of the day; no update has read them yet. The paths in sources.yaml are
    relative. Raises RuntimeError if a cluster could not be read.
    """
    lake = Lake.create(str(where))
    (where / FOLDER).mkdir()
    specs = clusters_of("fleet", ClusterSpec(state_file=where / FOLDER / STATE))
    named = {name: replace(spec, cluster_id=cluster_id_of(name)) for name, spec in specs.items()}
    clusters = [event_loop.run(record(name, spec, where / FOLDER)) for name, spec in named.items()]
    sources = {"version": 1, "clusters": [each.source for each in clusters], "journals": f"{FOLDER}/journal"}
    (where / SOURCES).write_text(f"# Written by kac lake demo.\n{yaml_text(sources)}", encoding="utf-8")
    report = write_down([poll for cluster in clusters for poll in cluster.polls], LastStates(lake))
    if not report.complete:
        raise RuntimeError(f"the day's clusters could not be read: {report.message}")
    return lake


def pack(lake: Lake) -> bytes:
    """Return the recorded files as a compressed archive: the same bytes for the same records."""
    packed = io.BytesIO()
    where = Path(lake.where)
    paths = sorted(path for path in where.rglob("*") if path.is_file() and path.stat().st_size)
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in ((path.relative_to(where), path) for path in paths):
            if name.parts[0] in PACKED:
                entry = tarfile.TarInfo(name.as_posix())
                entry.size = path.stat().st_size
                with path.open("rb") as file:
                    archive.addfile(entry, file)
    # The logs repeat each other over tens of megabytes.
    return lzma.compress(packed.getvalue(), filters=[{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 64 << 20}])


def main() -> None:
    """Record the day, and overwrite `DAY_FILE` with it."""
    with tempfile.TemporaryDirectory() as scratch:
        DAY_FILE.write_bytes(pack(record_lake(Path(scratch, "lake"))))


# -- the day of a cluster ---------------------------------------------------------------------------------------------

HOST = "ops-1"
"""The host name in the journal's lines."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The results of recording one cluster's day. polls: the results of its polls. source: its item in sources.yaml."""

    polls: tuple[PollResult, ...]
    source: Mapping[str, Any]


async def record(name: str, spec: ClusterSpec, folder: Path) -> Recorded:
    """Run the day of one of the story's clusters on an embedded cluster. Write its metadata log, request logs and
    journal into `folder`; return the polls and the item for sources.yaml.
    """
    story = [(DAY_END - deed.ago, deed) for deed in STORY if deed.cluster == name]
    polls = polled_at(name)
    # The cluster's initial content has the time of the day's end, because the console shows it then.
    async with EmbeddedCluster(spec, ManualClock(DAY_END.timestamp())) as cluster:
        context = Context(name, "kac lake demo", ConnectionSettings(tuple(cluster.addresses.values())))
        day = _Day(cluster, polls[0] - timedelta(minutes=1), MetadataLog() if name not in NOT_POLLED else None)
        taken = []
        for at in sorted({*polls, *(at for at, _ in story)}):
            for _, deed in (each for each in story if each[0] == at):
                await day.do(deed, at)
            if at in polls:
                polled = await poll_context(context)
                seen = polled.seen if isinstance(polled.seen, failure.Failure) else replace(polled.seen, at=at)
                taken.append(replace(polled, at=at, seen=seen))
        for client in (each for each in CLIENTS if each.cluster == name):
            day.requests.traffic(client, uuid_text(cluster.state.topics[client.topic].id))
        cluster_id = cluster.state.cluster_id
    source: dict[str, Any] = {"id": cluster_id}
    if day.metadata is not None:
        day.metadata.save(folder / name, cluster_id)
        source["metadata-log"] = f"{folder.name}/{name}/{LOG_FOLDER}"
    source["request-logs"] = [
        {"broker": broker, "files": str(file.relative_to(folder.parent))}
        for broker, file in sorted(day.requests.save(folder / name).items())
    ]
    if day.journal:
        path = journal_path(folder, cluster_id)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(day.journal))
    return Recorded(tuple(taken), source)


class _Day:
    """Makes the story's changes on an embedded cluster, and records its metadata log, request logs and journal."""

    def __init__(self, cluster: EmbeddedCluster, begin: datetime, metadata: MetadataLog | None) -> None:
        self.cluster = cluster
        brokers = sorted(cluster.addresses)
        self.requests = RequestLogs(brokers, brokers[-1] if len(brokers) > 1 else None)
        self.metadata = metadata
        self.journal: list[bytes] = []
        self._changes = 0
        self._now = begin
        self._who = ""
        answer = cluster.pipeline.answer

        async def logged(
            request: Any, context: RequestContext, found: Messages, frame: bytes, correlation_id: int, handled: Handled
        ) -> bytes | None:
            data = await answer(request, context, found, frame, correlation_id, handled)
            self.add(context, found, frame, data)
            return data

        cluster.pipeline.answer = logged  # type: ignore[method-assign]
        if self.metadata is not None:
            self.metadata.begin(cluster.state, begin)
            log = self.metadata
            cluster.state.subscribe(lambda change: log.add(change, self._now))

    async def do(self, deed: StoryChange, at: datetime) -> None:
        """Send a change of the story to the cluster, logged with the time `at`; write it into the journal if the story
        makes it with kac.
        """
        self._now, self._who = at, deed.who
        staged = tuple(Staged(edit, self._was(edit)) for edit in deed.edits)
        addresses = tuple(self.cluster.addresses.values())
        client_id = "kac" if deed.with_kac else f"adminclient-{deed.who}"
        steps = compile_plan(plan.Plan(staged), requests.Facts())
        await _send(ConnectionSettings(addresses, client_id=client_id), (step.request for step in steps))
        if deed.with_kac:
            self._write_down(deed, staged, at)

    def add(self, context: RequestContext, messages: Messages, frame: bytes, answer: bytes | None) -> None:
        """Add a request and its answer to the request logs if its API changes the cluster and it was answered."""
        if messages.api.upper() in ALTER_APIS and answer is not None:
            request = request_of(messages, frame, answer)
            self.requests.change(context.broker_id, self._who, context.client_id, self._now, request)

    def _write_down(self, deed: StoryChange, staged: tuple[Staged, ...], at: datetime) -> None:
        self._changes += 1
        number, places = self._changes, tuple(range(len(staged)))
        intent = entries.Intent(
            at - timedelta(milliseconds=40),
            deed.cluster,
            journal_lines.Who(deed.who, deed.who, ssh_client=HOSTS[deed.who]),
            journal_lines.Origin(HOST, "console", 4000 + number),
            tuple(map(entries.Entry, staged)),
            (JournalRequest("INCREMENTAL_ALTER_CONFIGS", None, places),),
        )
        ended = dict.fromkeys(places, entries.Ended(Status.APPLIED))
        self.journal += [
            entries.intent_line(number, intent),
            entries.note_line(journal_lines.Sending(number, 0, at - timedelta(milliseconds=20))),
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
    """Send change requests in their order. Raises AdminError for the first one that fails; later ones are not sent."""
    client = AdminClient(settings)
    client.start()
    try:
        for change in changes:
            for outcome in await client.run(send, change, validate_only=False):
                if outcome.failure is not None:
                    raise AdminError(outcome.failure)
    finally:
        await asyncio.to_thread(client.close)


# -- the metadata log as a controller writes it, from the changes of an embedded cluster's state ----------------------

_IDS = UUID("6b616363-6c75-5374-8572-6c6f67646972")
Fields = Mapping[str, Any]
_OF_AN_ACL = ("resourceType", "resourceName", "patternType", "principal", "host", "operation", "permissionType")


class MetadataLog:
    """A metadata log as a controller writes it, kept in memory until `save`."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._end = 0

    def begin(self, state: ClusterState, at: datetime) -> None:
        """Append records that describe a whole cluster state, with the time `at`."""
        for table in ("features", "brokers", "topics", "configs", "quotas", "acls", "scram"):
            for key, value in state.tables.named(table).items():
                self.add(tables.Change(0, 0.0, table, key, tables.ABSENT, value), at)

    def add(self, change: tables.Change, at: datetime) -> None:
        """Append the records of one change of the state, in batches of at most 500 records."""
        made = list(_records(change))
        for start in range(0, len(made), 500):
            self._append([metadata_log.value(name, **given) for name, given in made[start : start + 500]], at)

    def save(self, folder: Path, cluster_id: str) -> None:
        """Write the log and meta.properties into a broker's folder."""
        log = folder / LOG_FOLDER
        log.mkdir(parents=True)
        (log / f"{0:020}.log").write_bytes(self._data)
        (folder / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id=1\n", encoding="utf-8")

    def _append(self, values: Sequence[bytes], at: datetime) -> None:
        self._data += metadata_log.batch(self._end, values, stamp_ms=round(at.timestamp() * 1000))
        self._end += len(values)


def _records(change: tables.Change) -> Iterator[tuple[str, Fields]]:
    """Yield (name of the record type, its fields) for each record of one change of the state."""
    before, after = change.before, change.after
    match change.table, change.key, after:
        case "topics", _, tables.Topic():
            old = len(before.partitions) if isinstance(before, tables.Topic) else 0
            topic_id = uuid_text(after.id)
            if not old:
                yield "TopicRecord", {"name": after.name, "topicId": topic_id}
            for number, each in enumerate(after.partitions[old:], old):
                led = {"leader": each.leader, "leaderEpoch": each.leader_epoch, "replicas": each.replicas}
                kept = {"isr": each.isr, "partitionEpoch": each.partition_epoch}
                moved = {"removingReplicas": each.removing, "addingReplicas": each.adding}
                yield "PartitionRecord", {"partitionId": number, "topicId": topic_id, **led, **kept, **moved}
        case "topics", _, _:
            yield "RemoveTopicRecord", {"topicId": uuid_text(before.id)}
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
                yield "RemoveAccessControlEntryRecord", {"id": uuid_text(before)}
            else:
                yield "AccessControlEntryRecord", {"id": uuid_text(after), **dict(zip(_OF_AN_ACL, acl, strict=True))}
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
            named = {
                "brokerId": after.id,
                "incarnationId": uuid_text(uuid5(_IDS, str(after.id))),
                "brokerEpoch": after.epoch,
            }
            endpoint = {"name": "PLAINTEXT", "host": after.host, "port": after.port, "securityProtocol": 0}
            yield (
                "RegisterBrokerRecord",
                {**named, "endPoints": [endpoint], "features": [], "rack": after.rack, "fenced": False},
            )


def _differing(change: tables.Change) -> Iterator[tuple[str, Any]]:
    """Yield (key, new value) for each key whose value differs between the mappings before and after a change; the
    value is None if the key was removed.
    """
    before, after = (each if isinstance(each, Mapping) else {} for each in (change.before, change.after))
    for key in dict.fromkeys((*after, *before)):
        if before.get(key) != after.get(key):
            yield key, after.get(key)


# -- request logs as brokers write them (`kafka.request.logger` at DEBUG) ---------------------------------------------
# The logs have the requests for changes, with the embedded brokers' responses, and produce and fetch requests. Each
# has the fields that readers of such logs use.

BURST_EVERY = timedelta(minutes=10)
"""Interval between a client's bursts of requests. One request per second of a day would make gigabytes of logs."""
BURST = timedelta(seconds=48)
BETWEEN = 2.0
"""Seconds between a client's requests in a burst."""
_WINDOW = 10.0
"""Seconds over which a broker measures a rate before it throttles."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its response as a broker's request log contains them."""

    api: str
    key: int
    version: int
    request: Json
    response: Json


def request_of(messages: Messages, frame: bytes, answer: bytes) -> Request:
    """Decode a request and its response. frame, answer: their bytes on the wire."""
    _, start = read_client_id(frame, flexible=is_flexible(messages.request))
    request = decode_request(messages.request, frame[start:])
    _, body = split_response(messages.response, answer[4:])
    response = decode_body(messages.response, body)
    return Request(messages.api.upper(), messages.key, messages.version, _json(request), _json(response))


def _json(value: Any) -> Any:
    """Return a kio value as the JSON of a broker's request log: fields have Kafka's names; salts and salted passwords
    are not masked.
    """
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
    """The request logs of a cluster's brokers, in memory until `save`. controller: the id of the active controller;
    None if the cluster has one broker.
    """

    def __init__(self, brokers: Sequence[int], controller: int | None) -> None:
        self._lines: dict[int, list[tuple[datetime, str]]] = {broker: [] for broker in brokers}
        self._controller = controller
        self._connections: dict[tuple[int, str, str, str], Iterator[int]] = {}
        self._random = Random(7)

    def change(self, broker: int, who: str, client_id: str, at: datetime, request: Request) -> None:
        """Log a request that changes the cluster: on the broker that got it, and as forwarded request on the
        controller.
        """
        took = 0.004 + self._random.random() * 0.02
        head = (who, HOSTS[who], client_id)
        if self._controller is not None:
            self._add(self._controller, at + timedelta(seconds=took / 2), request, head, took * 700, forwarded=True)
        self._add(broker, at + timedelta(seconds=took), request, head, took * 1500, forwarded=False)

    def traffic(self, client: Client, topic_id: str) -> None:
        """Log a client's produce or fetch requests of the whole day, in bursts; throttled if they exceed the client's
        limit.

        Sizes are whole batches, throttle times are multiples of 0.1 s, and all requests of a burst take equally long:
        repeated text compresses better.
        """
        head = (client.who, f"10.3.{client.broker}.{len(client.client_id)}", client.client_id)
        batch = round(client.rate / 32)
        burst = DAY_END - timedelta(hours=HOURS) + BURST_EVERY - BURST  # the last burst ends with the day
        while burst < DAY_END:
            at = burst + timedelta(seconds=self._random.random())
            busy = client.busy is not None and DAY_END - client.busy[0] <= at < DAY_END - client.busy[1]
            ms = 1.0 + 4.0 * self._random.random()
            while at < min(burst + BURST, DAY_END):
                wanted = client.rate * (4.0 if busy else 1.0) * (0.85 + 0.3 * self._random.random())
                waits = 0
                if client.limit is not None and wanted > client.limit:
                    waits = round(min((wanted - client.limit) / client.limit * _WINDOW, _WINDOW) * 10) * 100
                    wanted = client.limit * (1.0 + 0.08 * self._random.random())
                request = _moved(client, topic_id, round(wanted * BETWEEN / batch) * batch, waits)
                self._add(client.broker, at, request, head, ms, forwarded=False)
                at += timedelta(seconds=BETWEEN)
            burst += BURST_EVERY

    def save(self, folder: Path) -> dict[int, Path]:
        """Write the logs, each sorted by time. Return the file of each broker."""
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
        # A client keeps its connection, and numbers its requests.
        correlation_ids = self._connections.setdefault((broker, *head), count(1))
        number = list(self._connections).index((broker, *head))
        logged = {
            "isForwarded": forwarded,
            "requestHeader": {
                "requestApiKey": request.key,
                "requestApiVersion": request.version,
                "correlationId": next(correlation_ids),
                "clientId": client_id,
                "requestApiKeyName": request.api,
            },
            "request": request.request,
            "response": request.response,
            "connection": f"10.0.0.{broker}:9092-{host}:{40000 + number}-{number}-0",
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


def _moved(client: Client, topic_id: str, size: int, waits: int) -> Request:
    named = {"topicId": topic_id}
    if client.produces:
        parts = {**named, "partitionData": [{"index": 0, "recordsSizeInBytes": size}]}
        answered = {**named, "partitionResponses": [{"index": 0, "errorCode": 0}]}
        asked, found = {"acks": -1, "topicData": [parts]}, {"responses": [answered], "throttleTimeMs": waits}
        return Request("PRODUCE", 0, 13, asked, found)
    parts = {**named, "partitions": [{"partitionIndex": 0, "errorCode": 0, "recordsSizeInBytes": size}]}
    found = {"throttleTimeMs": waits, "errorCode": 0, "responses": [parts]}
    return Request("FETCH", 1, 17, {"topics": [{**named, "partitions": [{"partition": 0}]}]}, found)


# -- the story: invented changes and clients of the clusters -----------------------------------------------------------

HOURS = 24
"""The length of the day in hours."""
POLL_EVERY = timedelta(hours=1)
HOSTS = {"alice": "10.1.0.17", "bob": "10.1.0.23", "ci": "10.9.4.2", "oncall": "10.1.0.66"}
"""User -> the address from which the user connects."""


@dataclass(frozen=True, slots=True)
class StoryChange:
    """A change of the story. ago: time between the change and the end of the day. with_kac: whether the user makes it
    with kac, so that the journal has it.
    """

    cluster: str
    ago: timedelta
    who: str
    edits: tuple[plan_edits.Edit, ...]
    with_kac: bool = False


@dataclass(frozen=True, slots=True)
class Client:
    """A client that produces or fetches the whole day.

    rate: bytes/s that it needs on its broker. limit: bytes/s of its quota; None if it has none. busy: start and end, as
    times before the day's end, of a period in which it needs four times the rate.
    """

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
    type_ = codes.AclResourceType.parse("TOPIC")
    return plan_edits.AddAcl(
        Acl(type_, topic, authorizer.LITERAL, principal, "*", codes.AclOperation.parse(operation), authorizer.ALLOW)
    )


def _limit(user: str, client: str, bytes_per_second: float) -> plan_edits.SetQuota:
    return plan_edits.SetQuota(
        QuotaEntity.of({"user": user, "client-id": client}), "producer_byte_rate", bytes_per_second
    )


_ORDERS, _PAYMENTS = config.topic_resource("checkout.orders"), config.topic_resource("checkout.payments")
_CAROL = ScramUser("carol", codes.ScramMechanism.parse("SCRAM-SHA-512"))
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
    _change("production", "ci", _ago(14, 3), plan_edits.UpsertScram(_CAROL, 8192, secret.Secret("carol-in-a-demo"))),
    _change("staging", "bob", _ago(13, 20), plan_edits.AppendConfig(_ORDERS, "cleanup.policy", "compact")),
    _change(
        "production",
        "oncall",
        _ago(12, 41),
        plan_edits.SetConfig(config.broker_resource(3), "log.retention.ms", str(DAY)),
        with_kac=True,
    ),
    _change("production", "alice", _ago(9, 7), plan_edits.GrowTopic("checkout.refunds", 12)),
    # Two users make the same change within two milliseconds: the metadata log has it once, so its author is ambiguous.
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
"""Cluster -> start and end, as times before the day's end, of the periods without polls. The lake has no metadata log
of these clusters.
"""


def polled_at(cluster: str) -> list[datetime]:
    """Return the times at which a cluster was polled."""
    since, until = NOT_POLLED.get(cluster, (timedelta(), timedelta()))
    times = [DAY_END - POLL_EVERY * hours for hours in range(HOURS, -1, -1)]
    return [at for at in times if not DAY_END - since < at < DAY_END - until]


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


if __name__ == "__main__":
    main()
