"""Answers without names: known APIs are decoded, names are replaced by stable pseudonyms, and the rest is dropped.

These stay: numbers, ids of brokers and partitions, offsets, times, Kafka's own words, and config values that are
numbers, booleans or such words. A pseudonym is a keyed hash, so that a name has the same one everywhere in a record,
and another one in another record; the key is stored nowhere.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace as replaced

from console.flight import answer as flight_answer
from console.flight import connect_answer
from console.flight.kafka_words import CONFIG_WORDS, VALUES
from console.flight.recorder import Sink
from console.model.connect import ConnectCluster, Connector, Worker, full_name, split_name
from console.model.failure import Failure
from console.model.foreign_json import json_as
from console.model.transactions import NO_ONES
from console.wire.assignments import assignment_bytes, consumer_assignment
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import Unencodable, decode_body, decode_request, encode_body, encode_payload
from console.wire.schemas import Messages, messages

_API_VERSIONS = 18
_CACHED = 16 << 20
_BROKER, _BROKER_LOGGER = 4, 8
_NUMBERS = frozenset({1, 3, 4, 5, 6})
"""Types of configs (ConfigType): BOOLEAN, INT, SHORT, LONG, DOUBLE."""
_DROPPED = frozenset({"error_message", "documentation", "metadata"})
"""Free-text fields that no rule reads."""

_LISTENER = re.compile(r"(listener\.name\.)([^.]+)(\..*)?", re.DOTALL)
_WORD_ENDS = re.compile(r"[._-]")
_THROTTLED = re.compile(r"[\d:,*]*")


class Pseudonyms:
    """A map of names to pseudonyms. Equal names get equal pseudonyms."""

    def __init__(self, key: bytes | None = None) -> None:
        """Use this key for the hashes; None: a new key."""
        self._key = secrets.token_bytes(32) if key is None else key

    def _hash(self, name: bytes, size: int) -> bytes:
        return hashlib.blake2b(name, digest_size=size, key=self._key).digest()

    def header(self, header: flight_answer.Header) -> flight_answer.Header:
        """Return a record's header with a pseudonym for the cluster id, and without the context's name."""
        return replaced(header, cluster_id=self.name(header.cluster_id), context="anonymous", anonymous=True)

    def name(self, name: str) -> str:
        """Return the pseudonym of a name; the empty name and Kafka's own words stay."""
        if not name or name in VALUES:
            return name
        if other := next((each for each in NO_ONES if name.endswith(each)), None):  # names that triage itself requests
            return self.name(name.removesuffix(other)) + other
        before, colon, after = name.partition(":")
        if colon and before in ("User", "Group") and after:  # a principal
            return f"{before}:{self.name(after)}"
        return "n" + self._hash(name.encode("utf-8", "surrogatepass"), 6).hex()

    def id(self, id_: UUID | None) -> UUID | None:
        """Return a keyed hash of an id, in the form of an id; None and the zero id stay."""
        return id_ if id_ is None or not id_.int else UUID(bytes=self._hash(id_.bytes, 16))

    def config_key(self, name: str) -> str:
        """Return a config's name, with pseudonyms for a listener's name in it, and for a name with words other than
        Kafka's.
        """
        if found := _LISTENER.fullmatch(name):
            before, listener, after = found.groups()
            return f"{before}{self.name(listener)}{self.config_key(after) if after else ''}"
        known = all(word in CONFIG_WORDS or not word for word in _WORD_ENDS.split(name))
        return name if known else self.name(name)

    def config_value(self, key: str, value: str | None, type_: int) -> str | None:
        """Return a config's value. Numbers, booleans and Kafka's own words stay; each other item of a list gets a
        pseudonym.
        """
        if not value:
            return value
        if type_ in _NUMBERS and _is_number(value):
            return value
        if key.endswith("throttled.replicas") and _THROTTLED.fullmatch(value):
            return value
        return ",".join(self.name(each) for each in value.split(","))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("true", "false")
    return True


class Anonymous:
    """A sink that removes the names from answers before it passes them to another sink.

    dropped: count of answers that could not be decoded, and are not recorded.
    """

    def __init__(self, sink: Sink, names: Pseudonyms) -> None:
        self._sink = sink
        self._names = names
        self._done: OrderedDict[tuple[int, int, bool, bytes], bytes] = OrderedDict()
        self._size = 0
        self.dropped = 0

    def add(self, answer: flight_answer.Answer) -> None:
        """Pass an answer without names to the other sink; drop one that can't be decoded. Raises OSError."""
        if answer.api_key == flight_answer.HANDSHAKE:
            try:
                self._sink.add(self._handshake(answer))
            except (msgspec.DecodeError, RecursionError):
                self.dropped += 1
            return
        if answer.api_key == flight_answer.CONNECT:
            try:
                self._sink.add(self._connect(answer))
            except ValueError:
                self.dropped += 1
            return
        # An API without a schema may have a name in any field.
        kafka = messages(answer.api_key, answer.version)
        if kafka is None or kafka.proposed:
            self.dropped += 1
            return
        # A connection is recorded without a request, so there is nothing to decode.
        is_connection = (answer.api_key, answer.version) == (_API_VERSIONS, flight_answer.CONNECTED)
        try:
            request = b"" if is_connection else self._without_names(kafka, answer.request, is_request=True)
            body = b"" if answer.problem is not None else self._without_names(kafka, answer.body, is_request=False)
        except (MalformedFrame, Unencodable, ValueError, TypeError):
            self.dropped += 1
            return
        # Brokers' messages contain names in their text; the error's own name is enough for triage.
        problem = answer.problem and flight_answer.Problem(answer.problem.kind, answer.problem.name, "", "")
        host = self._names.name(answer.host)
        self._sink.add(answer._replace(host=host, request=request, body=body, problem=problem))

    def flush_changed(self) -> None:
        """Flush the changed answers of the other sink. Raises OSError."""
        self._sink.flush_changed()

    def close(self) -> None:
        """Close the other sink. Raises OSError."""
        self._sink.close()

    def _handshake(self, answer: flight_answer.Answer) -> flight_answer.Answer:
        """Return a handshake with pseudonyms for host, listener, subject and issuer; the certificate's times stay."""
        body = answer.body
        if answer.problem is None:
            shown = json_as(body, flight_answer.Shown)
            body = msgspec.json.encode(
                shown._replace(subject=self._names.name(shown.subject), issuer=self._names.name(shown.issuer))
            )
        request = self._names.name(answer.request.decode("utf-8", "replace")).encode()
        return answer._replace(host=self._names.name(answer.host), request=request, body=body)

    def _connect(self, answer: flight_answer.Answer) -> flight_answer.Answer:
        """Return an answer of Connect's clusters with pseudonyms. Raises ValueError: it can't be decoded."""
        if answer.problem is not None:
            problem = flight_answer.Problem(answer.problem.kind, answer.problem.name, "", "")
            return answer._replace(problem=problem)
        found = connect_answer.read(answer.body)
        return answer._replace(body=connect_answer.body_of(_connect_answer(found, self._names)))

    def _without_names(self, kafka: Messages, data: bytes, *, is_request: bool) -> bytes:
        """Decode a message and encode it again without names; the last results are cached. Raises MalformedFrame,
        Unencodable, and the errors of kio.
        """
        # A cluster sends the same answers every two seconds: without the cache, this would take most of the time.
        known = kafka.key, kafka.version, is_request, data
        made = self._done.pop(known, None)
        if made is None:
            if is_request:
                made = encode_payload(_changed(decode_request(kafka.request, data), self._names))
            else:
                made = encode_body(kafka.response, _changed(decode_body(kafka.response, data), self._names))
            self._size += len(data) + len(made)
        self._done[known] = made
        while self._size > _CACHED and len(self._done) > 1:
            (*_, old), gone = self._done.popitem(last=False)
            self._size -= len(old) + len(gone)
        return made


def _changed(entity: Any, names: Pseudonyms) -> Any:
    """Return a message, or a part of one, with pseudonyms for its names."""
    kind: Any = type(entity)
    plan = _plan(kind)
    if not plan:
        return entity
    special = _SPECIAL.get(type(entity).__name__)
    changes = {name: _value(name, kind, getattr(entity, name), names) for name, kind in plan}
    if special is not None:
        changes |= special(entity, names)
    return replace(entity, **changes)


def _value(name: str, kind: str, value: Any, names: Pseudonyms) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_value(name, kind, each, names) for each in value)
    if kind == "string":
        return "" if name in _DROPPED else names.name(value)
    if kind == "uuid":
        return names.id(value)
    return b"" if kind == "bytes" else _changed(value, names)


@cache
def _plan(entity: Any) -> tuple[tuple[str, str], ...]:
    """Return the fields that may contain names, each with its type: string, uuid, bytes, or "" for a nested
    structure.
    """
    kinds = {"string": "string", "uuid": "uuid", "bytes": "bytes", "records": "bytes", None: ""}
    found = ((each.name, each.metadata.get("kafka_type")) for each in fields(entity))
    return tuple((name, kinds[kind]) for name, kind in found if kind in kinds)


def _resource_fields(entity: Any, names: Pseudonyms) -> dict[str, Any]:
    """Return the changed fields of a resource of DescribeConfigs. Names of brokers are their ids there, and stay."""
    changes: dict[str, Any] = {}
    name = entity.resource_name
    if entity.resource_type in (_BROKER, _BROKER_LOGGER) and name.isascii() and name.isdigit():
        changes["resource_name"] = name
    keys = getattr(entity, "configuration_keys", None)
    if keys is not None:
        changes["configuration_keys"] = tuple(map(names.config_key, keys))
    if configs := getattr(entity, "configs", None):
        changes["configs"] = tuple(_config(config, names) for config in configs)
    return changes


def _config(entity: Any, names: Pseudonyms) -> Any:
    """Return a config and its synonyms with pseudonyms, and without documentation."""
    type_ = getattr(entity, "config_type", 0)
    changes = {
        "name": names.config_key(entity.name),
        "value": names.config_value(entity.name, entity.value, type_),
        "synonyms": tuple(
            replace(
                each,
                name=names.config_key(each.name),
                value=names.config_value(each.name, each.value, type_),
            )
            for each in entity.synonyms
        ),
    }
    if getattr(entity, "documentation", None) is not None:
        changes["documentation"] = None
    return replace(entity, **changes)


def _member(entity: Any, names: Pseudonyms) -> Any:
    """Return the changed fields of a member of a classic group. Its assignment keeps pseudonyms of topics."""
    partitions: dict[str, list[int]] = {}
    for topic, number in consumer_assignment(entity.member_assignment):
        partitions.setdefault(names.name(topic), []).append(number)
    return {"member_assignment": assignment_bytes(partitions) if partitions else b""}


_SPECIAL: dict[str, Callable[[Any, Pseudonyms], dict[str, Any]]] = {
    "DescribeConfigsResource": _resource_fields,
    "DescribeConfigsResult": _resource_fields,
    "DescribedGroupMember": _member,
}


# -- Connect -----------------------------------------------------------------------------------------------------------

_EXCEPTION = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)*([\w$]+(?:Exception|Error))(?=:|$)", re.MULTILINE)
"""A line of a stack trace that names an exception, and no place in code."""
GROUP = "consumer.override.group.id"


def _connect_answer(answer: connect_answer.Recorded, names: Pseudonyms) -> connect_answer.Recorded:
    """Return an answer with pseudonyms: states, numbers and the kinds of exceptions stay."""
    configs = {}
    for name, entries in answer.configs.items():
        cluster, connector = split_name(name)
        own = [
            connect_answer.Entry(
                names.config_key(each.key), names.config_value(each.key, each.value, each.type), each.type
            )
            for each in entries
            if each.key != GROUP
        ]
        # The name of its group has the connector's own in it, and would have another pseudonym.
        group = next((each.value for each in entries if each.key == GROUP and each.value), f"connect-{connector}")
        own.append(connect_answer.Entry(GROUP, names.name(group)))
        configs[full_name(names.name(cluster), names.name(connector))] = tuple(own)
    clusters = {names.name(name): _connect_cluster(each, names) for name, each in answer.clusters.items()}
    failures = {names.name(name): Failure(each.name, "", "") for name, each in answer.failures.items()}
    return connect_answer.Recorded(clusters, configs, failures)


def _connect_cluster(cluster: ConnectCluster, names: Pseudonyms) -> ConnectCluster:
    workers = tuple(
        Worker(
            f"http://{names.name(_host(each.address))}",
            each.version,
            "",
            names.name(each.kafka_cluster_id),
            each.failure and Failure(each.failure.name, "", ""),
        )
        for each in cluster.workers
    )
    connectors = {}
    for each in cluster.connectors.values():
        tasks = tuple(
            replaced(task, worker=names.name(task.worker), trace=_kinds(task.trace), state=_word(task.state))
            for task in each.tasks
        )
        name = names.name(each.name)
        connectors[name] = Connector(
            name,
            _word(each.kind),
            _word(each.state),
            names.name(each.worker),
            _kinds(each.trace),
            tasks,
            tuple(map(names.name, each.topics)),
        )
    plugins = tuple(replaced(each, class_name=names.name(each.class_name)) for each in cluster.plugins)
    return ConnectCluster(names.name(cluster.name), workers, connectors, plugins)


def _host(address: str) -> str:
    return address.partition("//")[2].partition("/")[0]


def _word(text: str) -> str:
    """Return a word of Connect's, and no other text."""
    return text if text.isalpha() else ""


def _kinds(trace: str) -> str:
    """Return the exceptions of a trace without their packages and messages, each with ``Caused by:`` but the first."""
    return "\nCaused by: ".join(_EXCEPTION.findall(trace))
