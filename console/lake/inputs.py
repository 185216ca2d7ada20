"""The inputs of a lake, and the cluster that each belongs to. Needs no Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from console.lake.entities import id_problem
from console.lake.files import LakeError
from console.lake.kraft import log_files


class _Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class MetadataLog(_Input, frozen=True):
    """A folder ``__cluster_metadata-0`` of a controller, with segments and snapshots."""

    path: str
    cluster_id: str | None = None
    """The id of the cluster; None to read it from ``meta.properties`` in the parent folder."""


class LogOfBroker(_Input, frozen=True):
    """The log files of one broker's logger."""

    paths: tuple[str, ...]
    """Paths of files, or shell patterns of them, also of rotated and gzip files."""
    cluster_id: str
    broker_id: int
    time_zone: str = "UTC"
    """The time zone of the log's lines, as ``Europe/Berlin``; the lines themselves do not name it."""


class RequestLog(LogOfBroker, frozen=True):
    """The request log of one broker (kafka.request.logger)."""


class AuthorizerLog(LogOfBroker, frozen=True):
    """The log of one broker's authorizer (kafka.authorizer.logger)."""


class Journals(_Input, frozen=True):
    """A folder with journals of kac, or one journal: ``CLUSTER-ID.jsonl``."""

    path: str


class Controllers(_Input, frozen=True):
    """The controllers of a cluster, from which the metadata log is fetched, at the addresses of their listener."""

    cluster_id: str
    addresses: tuple[str, ...]
    context: str | None = None
    """The context whose settings the connection uses; None for the current one."""


class RequestTopic(_Input, frozen=True):
    """A topic that request logs are shipped to. Each record has one line; the record's key is the id of the broker
    that wrote the line.
    """

    topic: str
    cluster_id: str
    context: str | None = None
    """The context of the cluster that has the topic, which may be another cluster; None for the default context."""
    time_zone: str = "UTC"


class Topic(NamedTuple):
    """A topic with request logs, in the form that Spark's Kafka source needs."""

    topic: str
    options: Mapping[str, str]
    """The options of Spark's Kafka source, without secrets."""
    cluster_id: str
    """The id of the cluster whose brokers wrote the topic's lines."""
    zone: str
    """The time zone of the topic's lines, as ``Europe/Berlin``."""

    @property
    def stream(self) -> str:
        """The name of the topic's stream, and of the stream's folder among the checkpoints."""
        return f"request_topic-{hashlib.sha256(f'{self.cluster_id}/{self.topic}'.encode()).hexdigest()[:12]}"


class Inputs(_Input, frozen=True):
    """All inputs of a lake, except for deliveries."""

    metadata_logs: tuple[MetadataLog, ...] = ()
    request_logs: tuple[RequestLog, ...] = ()
    journals: tuple[Journals, ...] = ()
    controllers: tuple[Controllers, ...] = ()
    request_topics: tuple[RequestTopic, ...] = ()
    authorizer_logs: tuple[AuthorizerLog, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths and patterns of all logs and journals, except for those that are read through a context."""
        of_brokers = (path for log in (*self.request_logs, *self.authorizer_logs) for path in log.paths)
        return (*(log.path for log in self.metadata_logs), *of_brokers, *(journal.path for journal in self.journals))


# The clusters of metadata logs and of brokers' logs.


class UnreadableInput(LakeError):
    """An input is invalid; the text has the reason and a remedy."""


def folders_of(logs: Sequence[MetadataLog]) -> dict[str, list[str]]:
    """Return cluster id -> the folders that have its metadata log.

    Raises:
        NoMetadataLogError: a folder has no metadata log, or its cluster id is unknown.
        UnreadableInput: the meta.properties of two folders have the same cluster id, as after a controller was cloned,
            and sources.yaml does not give the ids of both.
        OSError: a folder can't be read.
    """
    made: dict[str, list[MetadataLog]] = {}
    for log in logs:
        for cluster_id in dict.fromkeys(file.cluster_id for file in log_files([log.path], log.cluster_id)):
            made.setdefault(cluster_id, []).append(log)
    for cluster_id, folders in made.items():
        if len({each.path for each in folders}) > 1 and any(each.cluster_id is None for each in folders):
            paths = " and ".join(dict.fromkeys(each.path for each in folders))
            raise UnreadableInput(
                f"{paths} both say that they are of the cluster {cluster_id}, and one of them may be wrong. If they "
                f"are controllers of one cluster, name it: id: {cluster_id} in "
                "sources.yaml. If not, one was formatted with the other's id: leave it out."
            )
    return {cluster_id: [each.path for each in folders] for cluster_id, folders in made.items()}


Log = TypeVar("Log", RequestLog, AuthorizerLog)


def owned(logs: Sequence[Log], noun: str, metadata_logs: Sequence[MetadataLog]) -> list[Log]:
    """Return brokers' logs, each with the id of its cluster; a log without one gets the cluster of the only metadata
    log.

    Args:
        noun: the name of this kind of log in messages, as `request log`.

    Raises:
        UnreadableInput: a log names no cluster, and the metadata logs are not of exactly one cluster; or an id is
            refused.
    """
    for log in logs:
        if log.cluster_id and (problem := id_problem(log.cluster_id)):
            raise UnreadableInput(f"The {noun} of broker {log.broker_id}: {problem}.")
    if all(log.cluster_id for log in logs):
        return list(logs)
    clusters = list(folders_of(metadata_logs))
    if len(clusters) != 1:
        of = next(log.broker_id for log in logs if not log.cluster_id)
        raise UnreadableInput(
            f"The {noun} of broker {of} does not say whose it is: name its cluster's id, lines do not have it."
        )
    return [msgspec.structs.replace(log, cluster_id=log.cluster_id or clusters[0]) for log in logs]
