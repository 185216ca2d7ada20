"""Lines of request logs as Kafka 4.3.0 and 3.9.1 write them, made from requests and responses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

TOPIC_ID = "P1f9caSbSwenu8Sh8M4B-A"
KEYS = {
    "PRODUCE": 0,
    "FETCH": 1,
    "METADATA": 3,
    "CREATE_TOPICS": 19,
    "DELETE_TOPICS": 20,
    "CREATE_ACLS": 30,
    "DELETE_ACLS": 31,
    "ALTER_CONFIGS": 33,
    "CREATE_PARTITIONS": 37,
    "INCREMENTAL_ALTER_CONFIGS": 44,
    "ALTER_PARTITION_REASSIGNMENTS": 45,
    "ALTER_CLIENT_QUOTAS": 49,
    "ALTER_USER_SCRAM_CREDENTIALS": 51,
    "UPDATE_FEATURES": 57,
    "UNREGISTER_BROKER": 64,
}

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Logged:
    """A request with its response, as a broker logs them. at: the time on the log's clock, without a time zone.
    response: its JSON; "" if the broker sent no response.
    """

    api: str
    request: Body
    response: Body | str
    at: datetime = datetime(2026, 11, 21, 10, 0, 0, 123000)
    version: int = 13
    client_id: str = "app"
    principal: str = "User:alice"
    forwarded: bool = False
    correlation_id: int = 7
    local_ms: float = 1.5
    total_ms: float = 4.25
    throttle_ms: int = 0
    connection: str = "10.0.0.1:9092-10.0.0.7:40652-3-0"

    @property
    def text(self) -> str:
        """The JSON of the line, with its fields in the order in which Kafka writes them."""
        return json.dumps(
            {
                "isForwarded": self.forwarded,
                "requestHeader": {
                    "requestApiKey": KEYS[self.api],
                    "requestApiVersion": self.version,
                    "correlationId": self.correlation_id,
                    "clientId": self.client_id,
                    "requestApiKeyName": self.api,
                },
                "request": self.request,
                "response": self.response,
                "connection": self.connection,
                "totalTimeMs": self.total_ms,
                "requestQueueTimeMs": 0.112,
                "localTimeMs": self.local_ms,
                "remoteTimeMs": 0.0,
                "throttleTimeMs": self.throttle_ms,
                "responseQueueTimeMs": 0.088,
                "sendTimeMs": 0.167,
                "securityProtocol": "SASL_SSL",
                "principal": self.principal,
                "listener": "CONTROLLER" if self.forwarded else "EXTERNAL",
                "clientInformation": {"softwareName": "apache-kafka-java", "softwareVersion": "4.3.0"},
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )

    @property
    def line(self) -> str:
        """The line of the log, with its line break."""
        clock = self.at.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        return f"[{clock}] DEBUG Completed request:{self.text} (kafka.request.logger)\n"

    def later(self, seconds: float) -> Logged:
        """Return the same request with a time that is `seconds` seconds later."""
        return replace(self, at=self.at + timedelta(seconds=seconds))


def produce(*sizes: int, error: int = 0, **more: Any) -> Logged:
    """Return a Produce request that has a topic for each of `sizes`, with so many bytes of records. error: the error
    code in its response.
    """
    request = {
        "transactionalId": None,
        "acks": -1,
        "timeoutMs": 30000,
        "topicData": [
            {"topicId": TOPIC_ID, "partitionData": [{"index": 0, "recordsSizeInBytes": size}]} for size in sizes
        ],
    }
    answer: dict[str, Any] = {
        "index": 0,
        "errorCode": error,
        "baseOffset": 64,
        "logAppendTimeMs": -1,
        "logStartOffset": 0,
    }
    answer |= {"recordErrors": [], "errorMessage": None}
    response = {
        "responses": [{"topicId": TOPIC_ID, "partitionResponses": [answer]} for _ in sizes],
        "throttleTimeMs": more.get("throttle_ms", 0),
    }
    return Logged("PRODUCE", request, more.pop("response", response), **more)


def fetch(*sizes: int, replica: int | None = None, old: bool = False, error: int = 0, **more: Any) -> Logged:
    """Return a Fetch request that has a topic of two partitions for each of `sizes`. sizes: bytes of the topics'
    records in the response.

    replica: the id of a broker that fetches as a follower; None for a client. old: whether the request has the form
    before version 15, in which every client sends a replica id.
    """
    state: dict[str, Any] = {} if replica is None else {"replicaState": {"replicaId": replica, "replicaEpoch": 11}}
    if old:
        state = {"replicaId": -1 if replica is None else replica}
    asked = {"currentLeaderEpoch": 0, "fetchOffset": 0, "logStartOffset": -1, "partitionMaxBytes": 1048576}
    request = state | {
        "maxWaitMs": 500,
        "minBytes": 1,
        "topics": [{"topicId": TOPIC_ID, "partitions": [{"partition": 0, **asked}]} for _ in sizes],
        "forgottenTopicsData": [],
        "rackId": "",
    }

    def answer(index: int, size: int) -> Body:
        offsets = {"highWatermark": 64, "lastStableOffset": 64, "logStartOffset": 0, "abortedTransactions": []}
        return {"partitionIndex": index, "errorCode": error, **offsets, "recordsSizeInBytes": size}

    response = {
        "throttleTimeMs": more.get("throttle_ms", 0),
        "errorCode": 0,
        "sessionId": 199204228,
        "responses": [{"topicId": TOPIC_ID, "partitions": [answer(0, size), answer(1, 0)]} for size in sizes],
    }
    return Logged("FETCH", request, response, **({"version": 12 if old else 17} | more))


def metadata(error: int = 0, **more: Any) -> Logged:
    """Return a Metadata request. error: the error code of the topic in its response."""
    topic = {"errorCode": error, "name": 'odd "errorCode":9', "topicId": TOPIC_ID, "partitions": []}
    return Logged("METADATA", {"topics": None}, {"throttleTimeMs": 0, "topics": [topic]}, **more)


def alter_configs(
    configs: Sequence[tuple[str, int, str | None]], *, resource: tuple[int, str] = (2, "orders"), **more: Any
) -> Logged:
    """Return an IncrementalAlterConfigs request for one resource. configs: (key, Kafka's number of the operation,
    value).
    """
    type_, name = resource
    asked = [{"name": key, "configOperation": op, "value": value} for key, op, value in configs]
    request = {
        "resources": [{"resourceType": type_, "resourceName": name, "configs": asked}],
        "validateOnly": more.pop("validate_only", False),
    }
    answer = {"errorCode": more.pop("error", 0), "errorMessage": None, "resourceType": type_, "resourceName": name}
    return Logged("INCREMENTAL_ALTER_CONFIGS", request, {"throttleTimeMs": 0, "responses": [answer]}, **more)


def alter_scram(user: str, salt: str, salted: str, **more: Any) -> Logged:
    """Return an AlterUserScramCredentials request. The log shows all secrets in it."""
    credential = {"name": user, "mechanism": 1, "iterations": 8192, "salt": salt, "saltedPassword": salted}
    result = {"user": user, "errorCode": 0, "errorMessage": None}
    request = {"deletions": [], "upsertions": [credential]}
    return Logged("ALTER_USER_SCRAM_CREDENTIALS", request, {"throttleTimeMs": 0, "results": [result]}, **more)


def log_of(requests: Sequence[Logged]) -> bytes:
    """Return the bytes of a log file that has these requests."""
    return "".join(each.line for each in requests).encode()
