"""The subjects of a schema registry: their versions, references and configs, the topics that use them; and the requests
that change them.

A subject has two configs: ``compatibility``, the level by which a new version is checked, and ``mode``, whether the
subject accepts new versions. The config resource without a name is the default of all subjects.
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
"""Matches the prefix of a subject that is in a context of the registry: ``:.context:``."""
_PARTS = ("-value", "-key")
DEEPEST_REFERENCE = 20


class SchemaReference(NamedTuple):
    """A reference from one schema to another: the name that the text of the schema uses, and the subject and version to
    which this name refers.
    """

    name: str
    subject: str
    version: int

    @property
    def text(self) -> str:
        """The reference as ``NAME:SUBJECT:VERSION``."""
        return f"{self.name}:{self.subject}:{self.version}"


def parsed_reference(text: str) -> SchemaReference:
    """Parse a reference ``NAME:SUBJECT:VERSION``. Raises ValueError for a text in another form."""
    name, _, rest = text.partition(":")
    subject, colon, version = rest.rpartition(":")
    if not (name and subject and colon and is_natural(version)):
        raise ValueError(f"'{text[:80]}' is no reference: write NAME:SUBJECT:VERSION")
    return SchemaReference(name, subject, int(version))


class SchemaVersion(Struct, frozen=True):
    """A version of a subject.

    Attributes:
        id: the id of the schema, which several subjects may share; 0 if it was not read.
        kind: AVRO, PROTOBUF, JSON, or another word that the registry uses; ``""`` if it was not read.
        record: the full name of an Avro record; ``""`` for other schemas.
        is_deleted: whether it is soft-deleted: it is no longer listed, but consumers still decode records by its id.
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
        """The versions that are not soft-deleted, the oldest first."""
        return tuple(each for each in self.versions if not each.is_deleted)

    @property
    def newest(self) -> SchemaVersion | None:
        """The newest version that is not soft-deleted; None if all versions are soft-deleted."""
        return next(reversed(self.live), None)

    @property
    def kind(self) -> str:
        """The kind of the subject's newest version, which may be a soft-deleted one; ``""`` if the subject has no
        versions.
        """
        newest = self.newest or (self.versions[-1] if self.versions else None)
        return "" if newest is None else newest.kind

    @property
    def is_deleted(self) -> bool:
        """Whether the subject is soft-deleted as a whole."""
        return self.newest is None

    def version(self, number: int) -> SchemaVersion | None:
        """Return a version by its number, also a soft-deleted one; None if there is no such version."""
        return next((each for each in self.versions if each.number == number), None)


class SchemaListing(NamedTuple):
    """The result of reading a registry: the subjects, the configs of subjects and of the default, and subject -> the
    failure to read it.
    """

    subjects: Mapping[str, Subject] = {}
    configs: Mapping[ConfigResource, ConfigSet] = {}
    failures: Mapping[str, Failure] = {}


class SchemaSource(Struct, frozen=True):
    """A schema as text, to be registered or compared."""

    kind: str
    text: str
    references: tuple[SchemaReference, ...] = ()
    """Its references, in the order in which the registry returns them."""


def subject_resource(subject: str) -> ConfigResource:
    """Return the config resource of a subject; ``""`` for the default of all subjects."""
    return ConfigResource(SCHEMA, subject)


def level_of(configs: Mapping[ConfigResource, ConfigSet], subject: str) -> str:
    """Return the effective compatibility level of a subject; ``""`` if its configs were not read."""
    for name in (subject, ""):
        entry = entry_in(configs, subject_resource(name), COMPATIBILITY)
        if entry is not None:
            return entry.value or ""
    return ""


def users_of(subjects: Mapping[str, Subject], name: str) -> Iterator[tuple[str, SchemaVersion, SchemaReference]]:
    """Yield the versions that refer to any version of a subject: the name of their subject, the version, and the
    reference. Soft-deleted versions are included.
    """
    for other in subjects.values():
        for version in other.versions:
            yield from ((other.name, version, each) for each in version.references if each.subject == name)


class TopicUse(NamedTuple):
    """A topic whose keys or values use a subject."""

    topic: str
    part: str
    why: str
    """The naming strategy that links the topic to the subject, such as TopicNameStrategy."""
    is_sure: bool
    """Whether the subject's name alone proves the use; False if the name is only that of a record, which any topic
    may contain.
    """


def topics_of(subject: Subject, topics: Iterable[str]) -> list[TopicUse]:
    """Return the topics that use a subject according to the subject's name, the longest name first; empty if there are
    none.

    Serializers name a subject by the topic (``orders-value``, TopicNameStrategy), by topic and record
    (``orders-shop.Order``, TopicRecordNameStrategy), or by the record alone (RecordNameStrategy). A name of the last
    form shows no topic.
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
    """Return the topic that a subject's name contains by TopicNameStrategy (``TOPIC-key``, ``TOPIC-value``); ``""`` for
    another name.
    """
    name = _CONTEXT.sub("", subject)
    return next((name.removesuffix(ending) for ending in _PARTS if name.endswith(ending)), "")


def is_by_record(subject: Subject) -> bool:
    """Return whether a subject has the name of its record (RecordNameStrategy), so that any topic may use it."""
    name = _CONTEXT.sub("", subject.name)
    return any(each.record == name for each in subject.versions)


# -- changes -----------------------------------------------------------------------------------------------------------


class SubjectTarget(OwnTarget, frozen=True):
    """The target of a change: a subject as a whole, or one of its versions; not the subject's configs."""

    part: ClassVar[Part | None] = Part.SCHEMAS

    name: str
    version: int | None = None
    """The number of the version; None for the whole subject, 0 for a version that is to be registered."""

    @property
    def title(self) -> str:
        """The subject, followed by the version unless the target is the whole subject."""
        version = "" if self.version is None else f" version {self.version}" if self.version else " (new version)"
        return f"schema {self.name}{version}"

    @property
    def resource(self) -> ConfigResource:
        """The config resource of the subject."""
        return subject_resource(self.name)


class AlterSchemaConfigs(ChangeRequest, frozen=True):
    """Changes of compatibility levels and modes: PUT or DELETE for each key."""

    sender: ClassVar[str] = "schemas"
    kafka_name: ClassVar[str] = "PUT /config, PUT /mode"
    counted: ClassVar[tuple[str, ...]] = ("ops", "subject")

    ops: Mapping[ConfigResource, tuple[ConfigOp, ...]]


class RegisterSchema(ChangeRequest, frozen=True):
    """POST /subjects/NAME/versions: registers a schema as a new version."""

    sender: ClassVar[str] = "schemas"
    kafka_name: ClassVar[str] = "POST /subjects/NAME/versions"
    about: ClassVar[str] = "schema {0.name}"

    name: str
    schema: SchemaSource | None = None
    """The schema; None if `undeletes` is set: then the schema of the soft-deleted version with this number is
    registered again.
    """
    undeletes: int = 0


class DeleteSchema(ChangeRequest, frozen=True):
    """A soft deletion of a subject (DELETE /subjects/NAME), or of one of its versions."""

    sender: ClassVar[str] = "schemas"
    kafka_name: ClassVar[str] = "DELETE /subjects/NAME"
    about: ClassVar[str] = "schema {0.name}"
    is_loss: ClassVar[bool] = True

    name: str
    version: int | None = None
    """The number of the version; None for the whole subject."""


class SchemaTexts(Struct, frozen=True):
    """The schemas of versions that were requested, and the failures."""

    texts: Mapping[tuple[str, int], SchemaSource] = field(default_factory=dict)
    """(subject, version) -> the schema."""
    failures: Mapping[tuple[str, int], Failure] = field(default_factory=dict)
    """(subject, version) -> the reason why it could not be read."""
