"""Flight records without names: kac decodes the responses of known APIs and replaces names by stable pseudonyms. It
drops free text, and responses that it can't decode.

It keeps numbers, ids of brokers and partitions, offsets, times, words that belong to Kafka, and config values that are
numbers, booleans or such words.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any

import msgspec

from console.flight import answer as flight_answer
from console.flight import connect_answer
from console.flight.pseudonyms import Pseudonyms
from console.flight.recorder import Sink
from console.model.foreign_json import json_as
from console.model.grouping import grouped
from console.wire.assignments import assignment_bytes, consumer_assignment
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import Unencodable, decode_body, decode_request, encode_body, encode_payload
from console.wire.schemas import Messages, messages

_API_VERSIONS = 18
_CACHED = 16 << 20
_BROKER, _BROKER_LOGGER = 4, 8
_DROPPED = frozenset({"error_message", "documentation", "metadata"})
"""Names of fields with free text, whose content is removed. Triage needs none of them."""


class Anonymous:
    """A sink for responses that replaces the names in each response by pseudonyms and passes it to another sink.

    dropped: the number of responses that `add` did not pass on.
    """

    def __init__(self, sink: Sink, names: Pseudonyms) -> None:
        self._sink = sink
        self._names = names
        self._done: OrderedDict[tuple[int, int, bool, bytes], bytes] = OrderedDict()
        self._size = 0
        self.dropped = 0

    def add(self, answer: flight_answer.Answer) -> None:
        """Replace the names in a response by pseudonyms and pass it to the other sink. Drop a response that can't be
        decoded, or whose API version is unknown or exists only in a proposal (KIP). Raises OSError if the other
        sink does.
        """
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
        # A field of an API without a schema may contain a name, so the answer is dropped.
        kafka = messages(answer.api_key, answer.version)
        if kafka is None or kafka.proposed:
            self.dropped += 1
            return
        # The record of a new connection has no request to decode.
        is_connection = (answer.api_key, answer.version) == (_API_VERSIONS, flight_answer.CONNECTED)
        try:
            request = b"" if is_connection else self._without_names(kafka, answer.request, is_request=True)
            body = b"" if answer.problem is not None else self._without_names(kafka, answer.body, is_request=False)
        except (MalformedFrame, Unencodable, ValueError, TypeError):
            self.dropped += 1
            return
        # The messages of brokers' errors contain names; triage only needs the name of the error.
        problem = answer.problem and flight_answer.Problem(answer.problem.kind, answer.problem.name, "", "")
        host = self._names.name(answer.host)
        self._sink.add(answer._replace(host=host, request=request, body=body, problem=problem))

    def flush_changed(self) -> None:
        """Call `flush_changed` of the other sink. Raises OSError if that does."""
        self._sink.flush_changed()

    def close(self) -> None:
        """Close the other sink. Raises OSError if that fails."""
        self._sink.close()

    def _handshake(self, answer: flight_answer.Answer) -> flight_answer.Answer:
        """Return a record of a TLS handshake with pseudonyms for host, listener, subject and issuer. The certificate's
        validity stays.
        """
        body = answer.body
        if answer.problem is None:
            shown = json_as(body, flight_answer.Shown)
            body = msgspec.json.encode(
                shown._replace(subject=self._names.name(shown.subject), issuer=self._names.name(shown.issuer))
            )
        request = self._names.name(answer.request.decode("utf-8", "replace")).encode()
        return answer._replace(host=self._names.name(answer.host), request=request, body=body)

    def _connect(self, answer: flight_answer.Answer) -> flight_answer.Answer:
        """Return a recorded response of the Connect clusters with pseudonyms. Raises ValueError if it can't be
        decoded.
        """
        if answer.problem is not None:
            problem = flight_answer.Problem(answer.problem.kind, answer.problem.name, "", "")
            return answer._replace(problem=problem)
        return answer._replace(body=connect_answer.without_names(answer.body, self._names))

    def _without_names(self, kafka: Messages, data: bytes, *, is_request: bool) -> bytes:
        """Decode a request or response body, replace its names, and encode it again. The latest results are cached.
        Raises MalformedFrame, Unencodable, or an error of kio's for a body that can't be decoded or encoded.
        """
        # A cluster sends the same answers every two seconds, and decoding them again would take most of the time.
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
    """Return a message, or a structure in one, with pseudonyms for its names."""
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
    """Return the fields of a structure that may contain names, as pairs of name and type. The type is string, uuid,
    bytes or records; ``""`` for a nested structure.
    """
    kinds = {"string": "string", "uuid": "uuid", "bytes": "bytes", "records": "bytes", None: ""}
    found = ((each.name, each.metadata.get("kafka_type")) for each in fields(entity))
    return tuple((name, kinds[kind]) for name, kind in found if kind in kinds)


def _resource_fields(entity: Any, names: Pseudonyms) -> dict[str, Any]:
    """Return the fields of a DescribeConfigs resource that change, with their new values. A broker's name is its id
    there, and stays.
    """
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
    """Return a config of a DescribeConfigs response, and its synonyms, with pseudonyms and without documentation."""
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
    """Return the fields of a classic group's member that change, with their new values. Its assignment stays decodable,
    with pseudonyms of the topics.
    """
    partitions = grouped((names.name(topic), number) for topic, number in consumer_assignment(entity.member_assignment))
    return {"member_assignment": assignment_bytes(partitions) if partitions else b""}


_SPECIAL: dict[str, Callable[[Any, Pseudonyms], dict[str, Any]]] = {
    "DescribeConfigsResource": _resource_fields,
    "DescribeConfigsResult": _resource_fields,
    "DescribedGroupMember": _member,
}
