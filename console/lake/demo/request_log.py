"""Writes request logs as brokers do (`kafka.request.logger` at DEBUG): changes, and what is produced and fetched.

Lines and bodies have the format of a real 4.3.0 broker (*measured*); times are UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from console.admin.topics import topic_id_text
from console.lake.demo.story import HOSTS, Client
from console.model.acl import Acl
from console.model.config import ConfigResource
from console.model.numbers import json_text
from console.model.secret import Secret
from console.plan.edits import (
    AddAcl,
    AppendConfig,
    ConfigEdit,
    CreateTopic,
    DeleteTopic,
    Edit,
    GrowTopic,
    QuotaEdit,
    RemoveAcl,
    SetConfig,
    SetQuota,
    SubtractConfig,
    UnsetConfig,
    UpsertScram,
)

HIDDEN = "[hidden]"
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


def requests_of(edits: Sequence[Edit], topic_id: Callable[[str], UUID | None]) -> list[Request]:
    """The requests that make these edits, one for each kind. topic_id: returns the id of a topic that exists or
    existed."""
    made = []
    configs = [edit for edit in edits if isinstance(edit, ConfigEdit)]
    if configs:
        made.append(_configs(configs))
    quotas = [edit for edit in edits if isinstance(edit, QuotaEdit)]
    if quotas:
        made.append(_quotas(quotas))
    for edit in edits:
        if isinstance(edit, AddAcl | RemoveAcl):
            made.append(_acl(edit))
        elif isinstance(edit, CreateTopic | DeleteTopic | GrowTopic):
            made.append(_topic(edit, topic_id))
        elif isinstance(edit, UpsertScram):
            made.append(_scram(edit))
    return made


_CONFIG_OPS: Mapping[type, int] = {SetConfig: 0, UnsetConfig: 1, AppendConfig: 2, SubtractConfig: 3}


def _configs(edits: Sequence[ConfigEdit]) -> Request:
    by_resource: dict[ConfigResource, list[Json]] = {}
    for edit in edits:
        value = None if isinstance(edit, UnsetConfig) else edit.value
        shown = HIDDEN if isinstance(value, Secret) else value
        op = {"name": edit.key, "configOperation": _CONFIG_OPS[type(edit)], "value": shown}
        by_resource.setdefault(edit.resource, []).append(op)
    resources = [
        {"resourceType": int(resource.type), "resourceName": resource.name, "configs": ops}
        for resource, ops in by_resource.items()
    ]
    answers = [
        {"errorCode": 0, "errorMessage": None, "resourceType": int(each.type), "resourceName": each.name}
        for each in by_resource
    ]
    return Request(
        "INCREMENTAL_ALTER_CONFIGS",
        44,
        1,
        {"resources": resources, "validateOnly": False},
        {"throttleTimeMs": 0, "responses": answers},
    )


def _quotas(edits: Sequence[QuotaEdit]) -> Request:
    entries, answers = [], []
    for edit in edits:
        entity = [{"entityType": part.type, "entityName": part.name} for part in edit.entity]
        value = edit.value if isinstance(edit, SetQuota) else 0.0
        entries.append(
            {"entity": entity, "ops": [{"key": edit.key, "value": value, "remove": not isinstance(edit, SetQuota)}]}
        )
        answers.append({"errorCode": 0, "errorMessage": None, "entity": entity})
    return Request(
        "ALTER_CLIENT_QUOTAS",
        49,
        1,
        {"entries": entries, "validateOnly": False},
        {"throttleTimeMs": 0, "entries": answers},
    )


def _acl(edit: AddAcl | RemoveAcl) -> Request:
    acl = edit.acl
    if isinstance(edit, AddAcl):
        creation = _binding(acl, "resourceType", "resourceName", "resourcePatternType", "principal", "host")
        return Request(
            "CREATE_ACLS",
            30,
            3,
            {"creations": [creation]},
            {"throttleTimeMs": 0, "results": [{"errorCode": 0, "errorMessage": None}]},
        )
    wanted = _binding(
        acl, "resourceTypeFilter", "resourceNameFilter", "patternTypeFilter", "principalFilter", "hostFilter"
    )
    found = _binding(acl, "resourceType", "resourceName", "patternType", "principal", "host")
    matching = [{"errorCode": 0, "errorMessage": None, **found}]
    return Request(
        "DELETE_ACLS",
        31,
        3,
        {"filters": [wanted]},
        {"throttleTimeMs": 0, "filterResults": [{"errorCode": 0, "errorMessage": None, "matchingAcls": matching}]},
    )


def _binding(acl: Acl, *names: str) -> Json:
    values = (int(acl.resource_type), acl.resource_name, int(acl.pattern_type), acl.principal, acl.host)
    return dict(zip(names, values, strict=True)) | {
        "operation": int(acl.operation),
        "permissionType": int(acl.permission),
    }


def _topic(edit: CreateTopic | DeleteTopic | GrowTopic, topic_id: Callable[[str], UUID | None]) -> Request:
    fine = {"errorCode": 0, "errorMessage": None}
    if isinstance(edit, GrowTopic):
        return Request(
            "CREATE_PARTITIONS",
            37,
            3,
            {
                "topics": [{"name": edit.name, "count": edit.partitions, "assignments": None}],
                "timeoutMs": 30000,
                "validateOnly": False,
            },
            {"throttleTimeMs": 0, "results": [{"name": edit.name, **fine}]},
        )
    name = edit.name if isinstance(edit, DeleteTopic) else edit.topic.name
    found = topic_id(name)
    id_ = topic_id_text(found) if found is not None else "AAAAAAAAAAAAAAAAAAAAAA"
    if isinstance(edit, DeleteTopic):
        return Request(
            "DELETE_TOPICS",
            20,
            6,
            {"topics": [{"name": name, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}], "timeoutMs": 30000},
            {"throttleTimeMs": 0, "responses": [{"name": name, "topicId": id_, **fine}]},
        )
    topic = edit.topic
    configs = [{"name": key, "value": value} for key, value in topic.configs.items() if isinstance(value, str)]
    sizes = {"numPartitions": topic.partitions, "replicationFactor": topic.replication}
    return Request(
        "CREATE_TOPICS",
        19,
        7,
        {
            "topics": [{"name": name, **sizes, "assignments": [], "configs": configs}],
            "timeoutMs": 30000,
            "validateOnly": False,
        },
        {"throttleTimeMs": 0, "topics": [{"name": name, "topicId": id_, **fine, **sizes, "configs": []}]},
    )


def _scram(edit: UpsertScram) -> Request:
    """Brokers log the salted password, which suffices to log in: readers of such a log have to leave it out."""
    upsertion = {
        "name": edit.user.user,
        "mechanism": int(edit.user.mechanism),
        "iterations": edit.iterations,
        "salt": "ZGVtbyBzYWx0",
        "saltedPassword": "bm90IGEgcGFzc3dvcmQsIGEgZGVtbw==",
    }
    return Request(
        "ALTER_USER_SCRAM_CREDENTIALS",
        51,
        0,
        {"deletions": [], "upsertions": [upsertion]},
        {"throttleTimeMs": 0, "results": [{"user": edit.user.user, "errorCode": 0, "errorMessage": None}]},
    )


class RequestLogs:
    """The logs of a cluster's brokers, in memory until they are saved. controller: the broker that is the
    controller."""

    def __init__(self, brokers: Sequence[int], controller: int | None) -> None:
        self._lines: dict[int, list[tuple[datetime, str]]] = {broker: [] for broker in brokers}
        self._controller = controller
        self._correlation = 0
        self._random = Random(7)  # noqa: S311 - to be the same each time

    def change(self, broker: int, who: str, client_id: str, at: datetime, request: Request) -> None:
        """Logs a change at a time: on the broker that was asked, and on the controller."""
        took = 0.004 + self._random.random() * 0.02
        head = (who, HOSTS.get(who, "10.2.0.9"), client_id)
        if self._controller is not None:
            self._add(self._controller, at + timedelta(seconds=took / 2), request, head, took * 700, forwarded=True)
        self._add(broker, at + timedelta(seconds=took), request, head, took * 1500, forwarded=False)

    def traffic(self, client: Client, start: datetime, end: datetime, topic_id: str | None) -> None:
        """Logs what a client produces or fetches from start to end, in bursts; throttled if it would exceed its
        limit."""
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
                moved = _produced if client.produces else _fetched
                request = moved(client.topic, topic_id, round(wanted * BETWEEN), waits)
                self._add(client.broker, at, request, head, 1.0 + 4.0 * self._random.random(), throttled=waits)
                at += timedelta(seconds=BETWEEN)
            burst += BURST_EVERY

    def save(self, folder: Path) -> dict[int, Path]:
        """Writes the logs, each in the order of time; returns the file of each broker."""
        files = {}
        for broker, lines in self._lines.items():
            file = folder / f"broker-{broker}" / "kafka-request.log"
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("w", encoding="utf-8") as out:
                out.writelines(line for _, line in sorted(lines))
            files[broker] = file
        return files

    def _add(
        self,
        broker: int,
        ended: datetime,
        request: Request,
        head: tuple[str, str, str],
        took_ms: float,
        *,
        forwarded: bool = False,
        throttled: int = 0,
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
            "totalTimeMs": round(took_ms, 3),
            "requestQueueTimeMs": 0.05,
            "localTimeMs": round(took_ms * 0.6, 3),
            "remoteTimeMs": round(took_ms * 0.3, 3),
            "throttleTimeMs": throttled,
            "responseQueueTimeMs": 0.04,
            "sendTimeMs": 0.11,
            "securityProtocol": "SASL_PLAINTEXT",
            "principal": f"User:{who}",
            "listener": "SASL_PLAINTEXT",
            "clientInformation": {"softwareName": "apache-kafka-java", "softwareVersion": "4.1.0"},
        }
        stamp = f"{ended:%Y-%m-%d %H:%M:%S},{ended.microsecond // 1000:03d}"
        text = json_text(logged, separators=(",", ":"))
        self._lines[broker].append((ended, f"[{stamp}] DEBUG Completed request:{text} (kafka.request.logger)\n"))


def _produced(topic: str, topic_id: str | None, size: int, waits: int) -> Request:
    named = {"topicId": topic_id} if topic_id else {"name": topic}
    answer = {
        "index": 0,
        "errorCode": 0,
        "baseOffset": 1,
        "logAppendTimeMs": -1,
        "logStartOffset": 0,
        "recordErrors": [],
        "errorMessage": None,
    }
    return Request(
        "PRODUCE",
        0,
        13 if topic_id else 9,
        {
            "transactionalId": None,
            "acks": -1,
            "timeoutMs": 30000,
            "topicData": [{**named, "partitionData": [{"index": 0, "recordsSizeInBytes": size}]}],
        },
        {"responses": [{**named, "partitionResponses": [answer]}], "throttleTimeMs": waits},
    )


def _fetched(topic: str, topic_id: str | None, size: int, waits: int) -> Request:
    named = {"topicId": topic_id} if topic_id else {"topic": topic}
    asked = {
        "partition": 0,
        "currentLeaderEpoch": 0,
        "fetchOffset": 1,
        "lastFetchedEpoch": -1,
        "logStartOffset": -1,
        "partitionMaxBytes": 1048576,
    }
    answer = {
        "partitionIndex": 0,
        "errorCode": 0,
        "highWatermark": 9,
        "lastStableOffset": 9,
        "logStartOffset": 0,
        "abortedTransactions": None,
        "preferredReadReplica": -1,
        "recordsSizeInBytes": size,
    }
    of_no_replica = {} if topic_id else {"replicaId": -1}
    return Request(
        "FETCH",
        1,
        17 if topic_id else 12,
        {
            **of_no_replica,
            "maxWaitMs": 500,
            "minBytes": 1,
            "maxBytes": 52428800,
            "isolationLevel": 0,
            "sessionId": 0,
            "sessionEpoch": 0,
            "topics": [{**named, "partitions": [asked]}],
            "forgottenTopicsData": [],
            "rackId": "",
        },
        {
            "throttleTimeMs": waits,
            "errorCode": 0,
            "sessionId": 0,
            "responses": [{**named, "partitions": [answer]}],
        },
    )
