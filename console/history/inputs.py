"""What a lake reads, from where, and which parts of request logs are new; without Spark."""

from __future__ import annotations

import hashlib
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from glob import glob
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from console.history.entities import id_problem
from console.history.errors import LakeError
from console.history.kraft.metadata_log import log_files
from console.history.requests.files import (
    BrokerLog,
    CutInPlaceError,
    LogChangedError,
    Plan,
    Progress,
    Span,
    plan,
    zone_problem,
)
from console.history.requests.lines import clocks


class _Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class MetadataLog(_Input, frozen=True):
    """A folder ``__cluster_metadata-0`` of a controller, with segments and snapshots. cluster_id: None: that of the
    ``meta.properties`` in the folder above."""

    path: str
    cluster_id: str | None = None


class RequestLog(_Input, frozen=True):
    """The request log of one broker. paths: files or patterns as of a shell, rotated and gzip ones too. time_zone: of
    the times in its lines, as ``Europe/Berlin``; lines do not say."""

    paths: tuple[str, ...]
    cluster_id: str
    broker_id: int
    time_zone: str = "UTC"


class Journals(_Input, frozen=True):
    """A folder with journals of kac, or one of them: ``CLUSTER-ID.jsonl``."""

    path: str


class Controllers(_Input, frozen=True):
    """The controllers' listener of a cluster. context: by whose settings it is reached; None: the current one."""

    cluster_id: str
    addresses: tuple[str, ...]
    context: str | None = None


class RequestTopic(_Input, frozen=True):
    """A topic that request logs are shipped to: a line a record, its key the id of the broker that wrote it. context:
    of the cluster that the topic is on, which may be another."""

    topic: str
    cluster_id: str
    context: str | None = None
    time_zone: str = "UTC"


class Topic(NamedTuple):
    """A topic. options: of Spark's Kafka source, no secret among them. cluster_id, zone: whose lines they are, and of
    the times in them."""

    topic: str
    options: Mapping[str, str]
    cluster_id: str
    zone: str

    @property
    def stream(self) -> str:
        """The name of its stream: a folder of the checkpoints."""
        return f"request_topic-{hashlib.sha256(f'{self.cluster_id}/{self.topic}'.encode()).hexdigest()[:12]}"


class Inputs(_Input, frozen=True):
    """All that a lake reads, beside what is delivered to it."""

    metadata_logs: tuple[MetadataLog, ...] = ()
    request_logs: tuple[RequestLog, ...] = ()
    journals: tuple[Journals, ...] = ()
    controllers: tuple[Controllers, ...] = ()
    request_topics: tuple[RequestTopic, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path and pattern."""
        requests = (path for log in self.request_logs for path in log.paths)
        return (*(log.path for log in self.metadata_logs), *requests, *(journal.path for journal in self.journals))


# Whose metadata logs are.


class UnreadableInput(LakeError):
    """An input is not what it should be: what, and what to do."""


def folders_of(logs: Sequence[MetadataLog]) -> dict[str, list[str]]:
    """The folders by cluster. NoMetadataLogError, OSError; UnreadableInput: a folder says for itself that it is of a
    cluster that another folder has, too, as a controller that was cloned does."""
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


# What is new in request logs, and whose it is.

REMEMBERED = "request_log:"
REMEMBERED_DAYS = 30
"""How long a file is remembered that is not there any more. One that comes back later would be counted again."""
OVERLAP = timedelta(minutes=1)
"""How long two files of one broker may be written to at the same time: around a rotation it is less than a second."""
_BROKERS_ADDRESS = re.compile(rb'"connection\\{0,9}":\\{0,9}"([^"\\]{1,200}?:\d+)-')


class PlannedLogs(NamedTuple):
    """What to read, and what to remember once it is read."""

    logs: tuple[BrokerLog, ...]
    remember: Mapping[str, Any]


def plan_request_logs(inputs: Mapping[str, Any], logs: Sequence[RequestLog]) -> PlannedLogs:
    """inputs: what the last run remembered. UnreadableInput: no file is found, a file is cut or of two brokers, a zone
    is unknown. LogChangedError: a file was deleted just now; OSError."""
    brokers: list[BrokerLog] = []
    remember: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for log in logs:
        owner = f"{log.cluster_id}/{log.broker_id}"
        key = f"{REMEMBERED}{owner}"
        known = {**inputs.get(key, {}), **remember.get(key, {})}
        found = _plan(log, known, owner)
        if problem := zone_problem(log.time_zone):
            raise UnreadableInput(f"The request log of broker {log.broker_id}: {problem}.")
        for place, path in found.places.items():
            if owners.setdefault(place, owner) != owner:
                raise UnreadableInput(
                    f"{path} is given as the request log of {owners[place]} and of {owner} (cluster/broker): its "
                    "requests would count twice. Name files of each broker that no other one has."
                )
        remember[key] = _still_known(found, remember.get(key, {}))
        if found.spans:
            brokers.append(BrokerLog(log.cluster_id, log.broker_id, found.spans, log.time_zone, log.paths))
    _refuse_two_brokers(brokers)
    return PlannedLogs(tuple(brokers), remember)


def _plan(log: RequestLog, known: Progress, owner: str) -> Plan:
    try:
        return plan(_found(log), known, owner=owner)
    except EOFError as wrong:
        raise UnreadableInput(f"A packed request log is cut: {wrong}. Wait until it is whole.") from wrong
    except CutInPlaceError as wrong:
        raise UnreadableInput(f"{wrong}.") from wrong
    except FileNotFoundError as gone:
        raise LogChangedError.of(str(gone.filename or gone), "is not there any more") from gone


def _still_known(found: Plan, before: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What is remembered of files, less those that are long gone. before: of the same broker's other files, from this
    run. seen: the last day they were there, since 1970."""
    today = int(time.time()) // 86_400
    dated = {
        identity: {
            **each,
            "seen": today if identity in found.there else before.get(identity, {}).get("seen", each.get("seen", today)),
        }
        for identity, each in found.progress.items()
    }
    return {identity: each for identity, each in dated.items() if today - each["seen"] <= REMEMBERED_DAYS}


def _refuse_two_brokers(brokers: Iterable[BrokerLog]) -> None:
    """UnreadableInput: two files are given as one broker's, and were written by two. Their lines are of the same time,
    and the addresses that clients were connected to have nothing in common."""
    files: dict[tuple[str, int], list[tuple[Span, datetime, datetime, set[bytes]]]] = defaultdict(list)
    for broker in brokers:
        for span in broker.spans:
            times = [at.replace(tzinfo=None) for sample in (span.head, span.tail) for _, at in clocks(0, sample)]
            addresses = {*_BROKERS_ADDRESS.findall(span.head), *_BROKERS_ADDRESS.findall(span.tail)}
            if times and addresses:
                files[broker.cluster_id, broker.broker_id].append((span, min(times), max(times), addresses))
    for (cluster_id, broker_id), found in files.items():
        for (one, first, last, addresses), (other, its_first, its_last, its_addresses) in combinations(found, 2):
            if not addresses & its_addresses and min(last, its_last) - max(first, its_first) > OVERLAP:
                of_two = b" and ".join((min(addresses), min(its_addresses))).decode("utf-8", "replace")
                raise UnreadableInput(
                    f"{one.path} and {other.path} are both given as the request log of broker {broker_id} of "
                    f"{cluster_id}, but have lines of the same time from two brokers ({of_two}). Name each broker's "
                    "own files."
                )


def _found(log: RequestLog) -> list[str]:
    """Files of this machine by pattern; a URI names one file."""
    found = [path for pattern in log.paths for path in ([pattern] if "://" in pattern else glob(pattern))]  # noqa: PTH207 - absolute patterns, which Path.glob takes not
    if not found:
        raise UnreadableInput(f"No request log of broker {log.broker_id} is at {', '.join(log.paths)}.")
    return sorted(set(found))


def owned(inputs: Inputs) -> list[RequestLog]:
    """The request logs, each with its cluster: one that names none is of the cluster whose metadata log is read.
    UnreadableInput: there is none, or more than one; an id can't be kept."""
    for log in inputs.request_logs:
        if log.cluster_id and (problem := id_problem(log.cluster_id)):
            raise UnreadableInput(f"The request log of broker {log.broker_id}: {problem}.")
    if all(log.cluster_id for log in inputs.request_logs):
        return list(inputs.request_logs)
    clusters = list(folders_of(inputs.metadata_logs))
    if len(clusters) != 1:
        raise UnreadableInput("A request log does not say whose it is: name its cluster's id, lines do not have it.")
    return [msgspec.structs.replace(log, cluster_id=log.cluster_id or clusters[0]) for log in inputs.request_logs]
