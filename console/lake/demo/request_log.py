"""Writes request logs as brokers do (`kafka.request.logger` at DEBUG): changes as the embedded brokers answer them, and
what is produced and fetched, with the fields that readers of such logs take. Times are UTC."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from console.admin.topics import topic_id_text
from console.lake.demo.story import HOSTS, Client
from console.model.numbers import json_text
from console.wire.frames import decode_body, decode_request, is_flexible, read_client_id, split_response
from console.wire.schemas import Messages

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
    """A request and its answer, as they were on the wire."""
    _, start = read_client_id(frame, flexible=is_flexible(messages.request))
    request = decode_request(messages.request, frame[start:])
    _, body = split_response(messages.response, answer[4:])
    response = decode_body(messages.response, body)
    return Request(messages.api.upper(), messages.key, messages.version, _json(request), _json(response))


def _json(value: Any) -> Any:
    """A value of kio's as brokers log it: fields by Kafka's names, salts and salted passwords too."""
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
        """Logs a change at a time: on the broker that was asked, and on the controller."""
        took = 0.004 + self._random.random() * 0.02
        head = (who, HOSTS[who], client_id)
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
                request = _moved(client, topic_id, round(wanted * BETWEEN), waits)
                self._add(client.broker, at, request, head, 1.0 + 4.0 * self._random.random(), forwarded=False)
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
