"""A schema registry in memory, without sockets, which answers as Confluent's documentation says: subjects, versions,
references, soft deletion, compatibility and modes. Only Avro schemas are tested for compatibility; other kinds
always count as compatible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID, uuid5

from msgspec import Struct, field

from console.model.avro_compatibility import AvroSchema, NotAvro, avro_schema, breaks
from console.model.entity_types import BY_WORD
from console.model.foreign_json import json_as
from console.model.schemas import AVRO, JSON_SCHEMA, PROTOBUF
from console.model.subjects import COMPATIBILITY, MODE, TRANSITIVE, SchemaReference, SchemaSource

KINDS = (JSON_SCHEMA, PROTOBUF, AVRO)
_VALUES = {key.name: key.values for key in BY_WORD["schema"].keys}
_ERRORS = {COMPATIBILITY: 40408, MODE: 40409}
"""Config key of a subject -> the error code if the subject does not set the key itself."""


class Reply(NamedTuple):
    """An HTTP response: its status and the content of its JSON."""

    status: int
    body: Any


class _Refused(Exception):
    """The registry refuses a request. code: the API's error code, whose first three digits are the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Reference(Struct, frozen=True):
    name: str
    subject: str
    version: int


class _Given(Struct, frozen=True):
    """The body of a request to register, look up or check a schema."""

    schema: str
    schemaType: str = AVRO  # noqa: N815 the API's own name
    references: Sequence[_Reference] = ()

    @property
    def source(self) -> SchemaSource:
        """The schema."""
        references = tuple(SchemaReference(each.name, each.subject, each.version) for each in self.references)
        return SchemaSource(self.schemaType, self.schema, references)


class _Version(Struct):
    number: int
    id: int
    is_deleted: bool = False


class Registry(Struct):
    """The state of a registry.

    Attributes:
        schemas: the schemas in the order of their ids, which begin with 1.
        subjects: name -> the subject's versions, the oldest first.
        values: (subject, config key) -> the value that the subject sets; subject ``""`` means the default of all
            subjects.
    """

    schemas: list[SchemaSource] = field(default_factory=list)
    subjects: dict[str, list[_Version]] = field(default_factory=dict)
    values: dict[tuple[str, str], str] = field(
        default_factory=lambda: {("", COMPATIBILITY): "BACKWARD", ("", MODE): "READWRITE"}
    )

    def answer(self, method: str, target: str, body: bytes = b"") -> Reply:
        """Return the response to a request. target: the path and the query of its URL."""
        split = urlsplit(target)
        parts = tuple(unquote(part) for part in split.path.strip("/").split("/"))
        query = {name: values[-1] == "true" for name, values in parse_qs(split.query).items()}
        try:
            return Reply(200, self._route(method, parts, query, body))
        except _Refused as refused:
            return Reply(int(str(refused.code)[:3]), {"error_code": refused.code, "message": str(refused)})

    def _route(self, method: str, parts: tuple[str, ...], query: Mapping[str, bool], body: bytes) -> Any:
        match method, parts:
            case "GET", ("schemas", "types"):
                return list(KINDS)
            case "GET", ("schemas", "ids", number, *rest):
                return self._by_id(number, rest)
            case "GET", ("schemas", "guids", guid):
                return self._by_guid(guid)
            case "GET", ("subjects",):
                return [name for name in self.subjects if self._live(name) or query.get("deleted")]
            case "POST", ("compatibility", "subjects", subject, "versions", *which):
                return self._check(subject, which, _parsed(body), query)
            case _, ("config" | "mode" as what, *subject):
                return self._value(method, what, "".join(subject), body, query)
            case _, ("subjects", subject, *rest):
                return self._of_subject(method, subject, rest, query, body)
        raise _Refused(404, "HTTP 404 Not Found")

    # -- schemas by id -------------------------------------------------------------------------------------------------

    def _by_id(self, number: str, rest: Sequence[str]) -> Any:
        if not number.isdecimal() or not 0 < int(number) <= len(self.schemas):
            raise _Refused(40403, "Schema not found")
        if rest == ["versions"]:
            return [
                {"subject": name, "version": each.number}
                for name in self.subjects
                for each in self._live(name)
                if each.id == int(number)
            ]
        return self._schema(int(number))

    def _by_guid(self, guid: str) -> Any:
        for number in range(1, len(self.schemas) + 1):
            if guid_of(number) == guid:
                return {**self._schema(number), "guid": guid}
        raise _Refused(40403, "Schema not found")

    def _schema(self, number: int) -> dict[str, Any]:
        source = self.schemas[number - 1]
        found: dict[str, Any] = {"schema": source.text}
        if source.kind != AVRO:
            found["schemaType"] = source.kind
        if source.references:
            found["references"] = [each._asdict() for each in source.references]
        return found

    # -- subjects ------------------------------------------------------------------------------------------------------

    def _live(self, subject: str) -> list[_Version]:
        return [each for each in self.subjects.get(subject, ()) if not each.is_deleted]

    def _of_subject(
        self, method: str, subject: str, rest: Sequence[str], query: Mapping[str, bool], body: bytes
    ) -> Any:
        with_deleted = query.get("deleted", False)
        match method, rest:
            case "POST", []:
                return self._found(subject, _parsed(body).source, with_deleted)
            case "POST", ["versions"]:
                return self._registered(subject, _parsed(body).source)
            case "DELETE", []:
                return self._delete(subject, self._known(subject, query), query)
            case "GET", ["versions"]:
                known = [each for each in self.subjects.get(subject, ()) if with_deleted or not each.is_deleted]
                if not known:
                    raise _Refused(40401, f"Subject '{subject}' not found.")
                return [each.number for each in known]
            case "GET", ["versions", number]:
                return self._described(subject, self._version(subject, number, with_deleted))
            case "GET", ["versions", number, "referencedby"]:
                return self._users(subject, self._version(subject, number, True).number)
            case "DELETE", ["versions", number]:
                version = self._version(subject, number, query.get("permanent", False))
                return self._delete(subject, [version], query)[0]
        raise _Refused(405, "HTTP 405 Method Not Allowed")

    def _known(self, subject: str, query: Mapping[str, bool]) -> list[_Version]:
        found = self.subjects.get(subject, []) if query.get("permanent") else self._live(subject)
        if not found:
            raise _Refused(40401, f"Subject '{subject}' not found.")
        return list(found)

    def _version(self, subject: str, number: str, with_deleted: bool) -> _Version:
        known = self.subjects.get(subject, []) if with_deleted else self._live(subject)
        if not known:
            raise _Refused(40401, f"Subject '{subject}' not found.")
        for each in known:
            if number == str(each.number):
                return each
        if number in ("latest", "-1"):
            return known[-1]
        raise _Refused(40402, f"Version {number} not found.")

    def _described(self, subject: str, version: _Version) -> dict[str, Any]:
        number = version.id
        return {
            "subject": subject, "version": version.number, "id": number, "guid": guid_of(number), **self._schema(number)
        }  # fmt: skip

    def _users(self, subject: str, number: int) -> list[int]:
        """Return the ids of the schemas that reference this version of a subject."""
        return [
            id_
            for id_, source in enumerate(self.schemas, start=1)
            if any((each.subject, each.version) == (subject, number) for each in source.references)
            and any(version.id == id_ for name in self.subjects for version in self._live(name))
        ]

    def _found(self, subject: str, source: SchemaSource, with_deleted: bool) -> Any:
        if not self.subjects.get(subject):
            raise _Refused(40401, f"Subject '{subject}' not found.")
        for each in self.subjects[subject]:
            if self.schemas[each.id - 1] == source and (with_deleted or not each.is_deleted):
                return self._described(subject, each)
        raise _Refused(40403, "Schema not found")

    # -- changes -------------------------------------------------------------------------------------------------------

    def register(self, subject: str, source: SchemaSource) -> _Version:
        """Register a schema under a subject without a compatibility test, and return its version; if the subject has
        the schema already, return that version.
        """
        if source not in self.schemas:
            self.schemas.append(source)
        number = self.schemas.index(source) + 1
        for each in self._live(subject):
            if each.id == number:
                return each
        versions = self.subjects.setdefault(subject, [])
        made = _Version(max((each.number for each in versions), default=0) + 1, number)
        versions.append(made)
        return made

    def _registered(self, subject: str, source: SchemaSource) -> Any:
        self._require_writable(subject)
        new = self._compiled(source)
        if not any(self.schemas[each.id - 1] == source for each in self._live(subject)):
            level = self._effective(subject, COMPATIBILITY)
            if messages := self._incompatible(new, level, self._live(subject)):
                what = "Schema being registered is incompatible with an earlier schema for subject"
                raise _Refused(409, f'{what} "{subject}", details: [{", ".join(messages)}]')
        version = self.register(subject, source)
        return {"id": version.id, "version": version.number, "guid": guid_of(version.id), **self._schema(version.id)}

    def _delete(self, subject: str, versions: Sequence[_Version], query: Mapping[str, bool]) -> list[int]:
        self._require_writable(subject)
        for each in versions:
            if self._users(subject, each.number):
                raise _Refused(42206, f"One or more references exist to the schema {subject} version {each.number}")
            if query.get("permanent") and not each.is_deleted:
                raise _Refused(40407, f"Version {each.number} of '{subject}' was not deleted before")
        for each in versions:
            each.is_deleted = True
            if query.get("permanent"):
                self.subjects[subject].remove(each)
        if not self.subjects[subject]:
            del self.subjects[subject]
        return [each.number for each in versions]

    def _require_writable(self, subject: str) -> None:
        mode = self._effective(subject, MODE)
        if mode.startswith("READONLY"):
            raise _Refused(42205, f"Subject {subject} is in {mode} mode")

    # -- compatibility and modes ---------------------------------------------------------------------------------------

    def _effective(self, subject: str, key: str) -> str:
        return self.values.get((subject, key), "") or self.values["", key]

    def _compiled(self, source: SchemaSource) -> AvroSchema | None:
        """Parse an Avro schema; return None for a schema of another kind. Raises _Refused for an unknown kind, a
        missing reference, or an invalid schema.
        """
        if source.kind not in KINDS:
            raise _Refused(42201, f"Invalid schema type {source.kind}")
        texts: dict[tuple[str, int], str] = {}

        def enter(references: Sequence[SchemaReference]) -> None:
            for each in references:
                try:
                    version = self._version(each.subject, str(each.version), False)
                except _Refused:
                    what = f'No schema reference found for subject "{each.subject}" and version {each.version}'
                    raise _Refused(42201, f"Invalid schema, details: {what}") from None
                referred = self.schemas[version.id - 1]
                enter(referred.references)
                texts.setdefault((each.subject, each.version), referred.text)

        enter(source.references)
        if source.kind != AVRO:
            return None
        try:
            return avro_schema(source.text, texts.values())
        except NotAvro as error:
            raise _Refused(42201, f"Invalid schema, details: {error}") from None

    def _incompatible(self, new: AvroSchema | None, level: str, versions: Sequence[_Version]) -> list[str]:
        """Return the reasons why a schema is incompatible with these versions at this compatibility level. Empty if
        it is compatible, or if `new` is None, which stands for a schema that is not Avro. An Avro schema is
        incompatible if there are versions but all of them have schemas of other kinds.
        """
        sources = [(each.number, self.schemas[each.id - 1]) for each in versions]
        if new is None:
            return []
        old = [(number, made) for number, each in sources if (made := self._compiled(each)) is not None]
        return [str(each) for each in breaks(level, new, old)] if old or not sources else ["another type of schema"]

    def _check(self, subject: str, which: Sequence[str], given: _Given, query: Mapping[str, bool]) -> Any:
        versions = self._live(subject)
        if which:
            versions = [self._version(subject, which[0], False)]
        level = self._effective(subject, COMPATIBILITY)
        if not which and not level.endswith(TRANSITIVE):
            versions = versions[-1:]
        found = self._incompatible(self._compiled(given.source), level, versions)
        return {"is_compatible": not found, **({"messages": found} if query.get("verbose") else {})}

    def _value(self, method: str, what: str, subject: str, body: bytes, query: Mapping[str, bool]) -> Any:
        key = MODE if what == "mode" else COMPATIBILITY
        read: Callable[[str], dict[str, str]] = lambda value: {  # noqa: E731 used twice below
            "mode" if key == MODE else "compatibilityLevel": value
        }
        match method:
            case "GET":
                own = self.values.get((subject, key))
                if own is None and not query.get("defaultToGlobal"):
                    what = "compatibility" if key == COMPATIBILITY else "mode"
                    raise _Refused(_ERRORS[key], f"Subject '{subject}' does not have subject-level {what} configured")
                return read(own or self.values["", key])
            case "PUT":
                value = json_as(body, dict[str, str]).get(key, "")
                if value not in _VALUES[key]:
                    raise _Refused(42203 if key == COMPATIBILITY else 42204, f"Invalid {key}: one of {_VALUES[key]}")
                self.values[subject, key] = value
                return {key: value}
            case "DELETE":
                was = self.values.pop((subject, key), "")
                self.values.setdefault(("", key), _FIRST[key])
                return read(was)
        raise _Refused(405, "HTTP 405 Method Not Allowed")


_FIRST = {COMPATIBILITY: "BACKWARD", MODE: "READWRITE"}


def _parsed(body: bytes) -> _Given:
    try:
        return json_as(body, _Given)
    except ValueError:
        raise _Refused(422, "the request has another form") from None


def guid_of(number: int) -> str:
    """Return the GUID of the schema with this id."""
    return str(uuid5(UUID(int=0), str(number)))
