"""The subjects of a schema registry: their versions, references and configs, the topics that use them; and the requests
that change them.

The compatibility level by which a new version is checked (``compatibility``), and whether a subject accepts new
versions (``mode``), are configs of a subject. The default of all subjects is the config resource without a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from msgspec import Struct, field

from console.model.changes import ChangeRequest, ConfigOp, OwnTarget
from console.model.codes import SCHEMA
from console.model.config import ConfigResource, ConfigSet, entry_in
from console.model.failure import Failure
from console.model.numbers import is_natural
from console.model.parts import Part

COMPATIBILITY, MODE = "compatibility", "mode"
BACKWARD, FORWARD, FULL, NONE = "BACKWARD", "FORWARD", "FULL", "NONE"
TRANSITIVE = "_TRANSITIVE"

_CONTEXT = re.compile(r"^:\.[^:]*:")
"""Matches the prefix of a subject in a context of the registry."""
_PARTS = ("-value", "-key")
DEEPEST_REFERENCE = 20


class SchemaReference(NamedTuple):
    """A reference of a schema: the name by which its text uses it, and the version that has this name."""

    name: str
    subject: str
    version: int

    @property
    def text(self) -> str:
        """The reference as ``NAME:SUBJECT:VERSION``."""
        return f"{self.name}:{self.subject}:{self.version}"


def parsed_reference(text: str) -> SchemaReference:
    """Return the reference of a text ``NAME:SUBJECT:VERSION``. Raises ValueError for another form."""
    name, _, rest = text.partition(":")
    subject, colon, version = rest.rpartition(":")
    if not (name and subject and colon and is_natural(version)):
        raise ValueError(f"'{text[:80]}' is no reference: write NAME:SUBJECT:VERSION")
    return SchemaReference(name, subject, int(version))


class SchemaVersion(Struct, frozen=True):
    """A version of a subject.

    Attributes:
        id: the id of the schema, which several subjects may share; 0 if it was not read.
        kind: AVRO, PROTOBUF, JSON, or another word of the registry's; ``""`` if it was not read.
        record: the full name of an Avro record; ``""`` for others.
        is_deleted: whether it is soft-deleted: records are still decoded by its id.
    """

    number: int
    id: int = 0
    kind: str = ""
    record: str = ""
    references: tuple[SchemaReference, ...] = ()
    is_deleted: bool = False


class Subject(Struct, frozen=True):
    """A subject with its versions, the oldest first."""

    name: str
    versions: tuple[SchemaVersion, ...] = ()

    @property
    def live(self) -> tuple[SchemaVersion, ...]:
        """The versions that are not deleted."""
        return tuple(each for each in self.versions if not each.is_deleted)

    @property
    def newest(self) -> SchemaVersion | None:
        """The newest version that is not deleted; None if all versions are deleted."""
        return next(reversed(self.live), None)

    @property
    def kind(self) -> str:
        """The kind of the subject's newest version, also of a deleted one."""
        newest = self.newest or (self.versions[-1] if self.versions else None)
        return "" if newest is None else newest.kind

    @property
    def is_deleted(self) -> bool:
        """Whether the subject is soft-deleted as a whole."""
        return self.newest is None

    def version(self, number: int) -> SchemaVersion | None:
        """Return a version, also a deleted one; None if there is no such version."""
        return next((each for each in self.versions if each.number == number), None)


class SchemaListing(NamedTuple):
    """The registry's answers: the subjects, the configs of subjects and of the default, and subject -> the reason why
    it was not read.
    """

    subjects: Mapping[str, Subject] = {}
    configs: Mapping[ConfigResource, ConfigSet] = {}
    failures: Mapping[str, Failure] = {}


class SchemaSource(Struct, frozen=True):
    """A schema as text, to register or to compare."""

    kind: str
    text: str
    references: tuple[SchemaReference, ...] = ()
    """The references, in the order of the registry."""


def subject_resource(subject: str) -> ConfigResource:
    """Return the config resource of a subject; ``""`` for the default of all subjects."""
    return ConfigResource(SCHEMA, subject)


def level_of(configs: Mapping[ConfigResource, ConfigSet], subject: str) -> str:
    """Return the effective compatibility level of a subject; ``""`` if it was not read."""
    for name in (subject, ""):
        entry = entry_in(configs, subject_resource(name), COMPATIBILITY)
        if entry is not None:
            return entry.value or ""
    return ""


def users_of(subjects: Mapping[str, Subject], name: str) -> Iterator[tuple[str, SchemaVersion, SchemaReference]]:
    """Yield the versions that refer to a subject, including soft-deleted ones, each with its subject and
    the reference.
    """
    for other in subjects.values():
        for version in other.versions:
            yield from ((other.name, version, each) for each in version.references if each.subject == name)


class TopicUse(NamedTuple):
    """A topic that uses a subject, for its keys or values."""

    topic: str
    part: str
    why: str
    """The naming strategy by which the topic uses the subject."""
    is_sure: bool
    """Whether the name alone proves the use; the name of a record does not name the topics with such records."""


def topics_of(subject: Subject, topics: Iterable[str]) -> list[TopicUse]:
    """Return the topics that use a subject by its name, the longest name first.

    Serializers name a subject by the topic (``orders-value``, TopicNameStrategy), by topic and record
    (``orders-shop.Order``, TopicRecordNameStrategy), or by the record alone (RecordNameStrategy), which names no topic.
    """
    name = _CONTEXT.sub("", subject.name)
    for ending in _PARTS:
        if name.endswith(ending) and name.removesuffix(ending) in topics:
            return [TopicUse(name.removesuffix(ending), ending[1:], "TopicNameStrategy", is_sure=True)]
    # A topic's name may have dashes: only the names of the subject's records show where the topic's name ends.
    records = {each.record for each in subject.versions if each.record}
    found = []
    for record in records:
        topic = name.removesuffix(f"-{record}")
        if topic != name and topic in topics:
            found.append(TopicUse(topic, "record", "TopicRecordNameStrategy", is_sure=True))
    if not found and name in topics:
        found.append(TopicUse(name, "value", "its name is the topic's", is_sure=False))
    return found


def named_topic(subject: str) -> str:
    """Return the topic that a subject's name means by the usual strategy; ``""`` for another name."""
    name = _CONTEXT.sub("", subject)
    return next((name.removesuffix(ending) for ending in _PARTS if name.endswith(ending)), "")


def is_by_record(subject: Subject) -> bool:
    """Return whether a subject has the name of its record (RecordNameStrategy), so that any topic may use it."""
    name = _CONTEXT.sub("", subject.name)
    return any(each.record == name for each in subject.versions)


# -- changes -----------------------------------------------------------------------------------------------------------


class SubjectTarget(OwnTarget, frozen=True):
    """A subject, or one of its versions; not its configs."""

    part: ClassVar[Part | None] = Part.SCHEMAS

    name: str
    version: int | None = None
    """The version; None for the whole subject, 0 for a new version."""

    @property
    def title(self) -> str:
        """The subject and the version."""
        version = "" if self.version is None else f" version {self.version}" if self.version else " (new version)"
        return f"schema {self.name}{version}"

    @property
    def resource(self) -> ConfigResource:
        """The subject's config resource, by which files list it."""
        return subject_resource(self.name)


class AlterSchemaConfigs(ChangeRequest, frozen=True):
    """Changes of compatibility levels and modes: PUT or DELETE for each key."""

    sender: ClassVar[str] = "schemas"
    kafka_name: ClassVar[str] = "PUT /config, PUT /mode"
    counted: ClassVar[tuple[str, ...]] = ("ops", "subject")

    ops: Mapping[ConfigResource, tuple[ConfigOp, ...]]


class RegisterSchema(ChangeRequest, frozen=True):
    """POST /subjects/NAME/versions: registers a schema."""

    sender: ClassVar[str] = "schemas"
    kafka_name: ClassVar[str] = "POST /subjects/NAME/versions"
    about: ClassVar[str] = "schema {0.name}"

    name: str
    schema: SchemaSource | None = None
    """The schema; None if `undeletes`, the number of a soft-deleted version, refers to it."""
    undeletes: int = 0


class DeleteSchema(ChangeRequest, frozen=True):
    """DELETE /subjects/NAME, or one version of it: softly."""

    sender: ClassVar[str] = "schemas"
    kafka_name: ClassVar[str] = "DELETE /subjects/NAME"
    about: ClassVar[str] = "schema {0.name}"
    is_loss: ClassVar[bool] = True

    name: str
    version: int | None = None
    """The version; None for the whole subject."""


class SchemaTexts(Struct, frozen=True):
    """The texts of versions that were read."""

    texts: Mapping[tuple[str, int], SchemaSource] = field(default_factory=dict)
    """Subject and version -> the schema."""
    failures: Mapping[tuple[str, int], Failure] = field(default_factory=dict)
    """Subject and version -> the reason why it was not read."""
