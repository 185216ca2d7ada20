"""The schema of kac's files, for msgspec; and a check that finds all errors, each with its line and the most similar
valid key.

Values of configs are texts here; their units are parsed later.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct, field, inspect

from console.model.built_types import built
from console.model.entity_types import EntityType, in_sections
from console.model.numbers import natural_number
from console.model.yaml_places import Document, FileProblem, Path, unknown_key

# The schema of files. Values of configs stay texts here: their units are parsed later.


class _Part(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A mapping whose keys are exactly the fields of the class, written with dashes."""


class SecretSet(_Part, frozen=True):
    """``{secret: set}``: the override of a key whose value must not be in the file."""

    secret: Literal["set"]


ConfigValue = str | SecretSet
Configs = dict[str, ConfigValue]
Entities = dict[str, Configs | None]


class Count:
    """A number of partitions or replicas in a file. number: None for the text -1, which means the broker's default."""

    def __init__(self, text: str, most: int) -> None:
        """Parse a number.

        Raises:
            ValueError: it is neither -1 nor a number from 1 to `most`.
        """
        self.number = None if text == "-1" else natural_number(text)
        if self.number is not None and not 1 <= self.number <= most:
            raise ValueError(f"write a number from 1 to {most:,}, or -1 for the broker's default")


class Partitions(Count):
    """The number of partitions of a topic."""

    def __init__(self, text: str) -> None:
        super().__init__(text, 1_000_000)


class Replication(Count):
    """The replication factor of a topic."""

    def __init__(self, text: str) -> None:
        super().__init__(text, 10_000)


class TopicPart(_Part, frozen=True):
    """The part of a file about one topic."""

    partitions: Partitions | None = None
    replication: Replication | None = None
    configs: Configs | None = None


class NamePart(_Part, frozen=True):
    """An entity with a name that would otherwise mean the default entity: ``{name: "<default>"}``."""

    name: str


class AsIs(_Part, frozen=True):
    """``{as-is: nan}``: an existing limit that no new quota may have, such as the limit of a key that only newer
    releases know, or a number that brokers should not have accepted.
    """

    as_is: str


class QuotaPart(_Part, frozen=True, kw_only=True):
    """A quota entity and its limits, as numbers or with units (``10MB/s``)."""

    user: str | NamePart | None = None
    client_id: str | NamePart | None = None
    ip: str | None = None
    limits: dict[str, str | AsIs]


class AclPart(_Part, frozen=True, kw_only=True):
    """The part of a file about the ACLs of one principal on one resource."""

    allow: str | None = None
    deny: str | None = None
    permission: str | None = None
    """The permission of an ACL that neither allows nor denies, which a newer release of Kafka may have; used with
    `principal`. None for other ACLs.
    """
    principal: str | None = None
    operations: Annotated[list[str], Meta(min_length=1)] | str
    """The operations, as a list or a text with commas."""
    topic: str | None = None
    group: str | None = None
    cluster: str | None = None
    transactional_id: str | None = None
    delegation_token: str | None = None
    user: str | None = None
    type: str | None = None
    """The type of a resource for which this class has no field; used with `name`. None for other resources."""
    name: str | None = None
    pattern: str = "literal"
    host: str = "*"


class ConnectorPart(_Part, frozen=True, kw_only=True):
    """The part of a file about one connector of Kafka Connect."""

    state: Literal["running", "paused", "stopped"] | None = None
    config: Configs


class SubjectPart(_Part, frozen=True, kw_only=True):
    """The part of a file about one subject of the schema registry."""

    type: Literal["AVRO", "PROTOBUF", "JSON"] | None = None
    schema: str | None = None
    file: str | None = None
    """The path of the file with the schema, relative to the folder of this file and inside it; None if the schema is
    not in a file.
    """
    references: list[str] = field(default_factory=list)
    """The schema's references as ``NAME:SUBJECT:VERSION``, in the order in which the registry returns them."""
    earlier: list[str] = field(default_factory=list)
    """The paths of the files with earlier versions, relative to the folder of this file and inside it."""
    compatibility: str | None = None
    mode: str | None = None


class LintPart(_Part, frozen=True, kw_only=True):
    """The acceptance of lint findings: a rule, a glob for the texts of subjects, and the reason."""

    rule: str
    subject: str
    reason: str


class _Head(_Part, frozen=True):
    version: Literal["1"]
    topics: dict[str, TopicPart | None] = field(default_factory=dict)


def _name(type_: EntityType) -> str:
    return type_.word.replace("-", "_")


if TYPE_CHECKING:
    _Sections = _Head
else:
    _Sections = msgspec.defstruct(
        "_Sections",
        [(_name(each), Entities, field(default_factory=dict, name=each.section)) for each in in_sections()],
        bases=(_Head,),
        frozen=True,
    )


class FilePart(_Sections, frozen=True):
    """A complete file, with a section for each type of entity."""

    quotas: list[QuotaPart] = field(default_factory=list)
    acls: list[AclPart] = field(default_factory=list)
    connectors: dict[str, ConnectorPart] = field(default_factory=dict)
    schemas: dict[str, SubjectPart | None] = field(default_factory=dict)
    lint: list[LintPart] = field(default_factory=list)

    def section(self, type_: EntityType) -> Entities:
        """Return the contents of the section for a type of entity."""
        found: Entities = getattr(self, _name(type_))
        return found


def checked(document: Document) -> FilePart:
    """Return the contents of a document as a value of the schema.

    Raises:
        msgspec.ValidationError: the document does not match the schema; `wrong_in` returns all errors.
    """
    return msgspec.convert(document.data, built(FilePart), dec_hook=_count)


def _count(form: type[Any], value: object) -> Any:
    if not isinstance(value, str):
        raise ValueError("write a number")
    return form(value)


# -- all errors, because msgspec reports only the first one ------------------------------------------------------------


class _Wrong(NamedTuple):
    path: Path
    what: str
    hint: str = ""


def wrong_in(document: Document) -> list[FileProblem]:
    """Return all errors of a document against the schema, in the order of its lines."""
    found = [
        FileProblem(document.source, document.line(each.path), each.what, each.hint)
        for each in _wrong(document.data, _form(), ())
    ]
    return sorted(found, key=lambda problem: problem.line or 0)


@cache
def _form() -> inspect.Type:
    return inspect.type_info(FilePart)


_VERSION = "a file says its version", "write version: 1 at its top"


def _wrong(value: Any, form: inspect.Type, path: Path) -> Iterator[_Wrong]:
    """Yield the errors of a value and of the values in it. form: the type that the schema requires."""
    forms = form.types if isinstance(form, inspect.UnionType) else (form,)
    if value is None:
        if not any(isinstance(each, inspect.NoneType) for each in forms):
            yield _nothing(path)
        return
    fitting = [each for each in forms if isinstance(value, _SHAPES.get(type(each), ()))]
    if not fitting:
        expected = " or ".join(dict.fromkeys(_NAMES[type(each)] for each in forms if type(each) in _NAMES))
        yield _Wrong(path, *_VERSION) if not path else _Wrong(path, f"{path[-1]}: {expected} is expected here")
        return
    match fitting[0]:
        case inspect.StructType(fields=fields):
            yield from _wrong_keys(value, {each.encode_name: each for each in fields}, path)
        case inspect.DictType(value_type=of):
            for key, each in value.items():
                yield from _wrong(each, of, (*path, key))
        case inspect.ListType(item_type=of, min_length=least):
            if len(value) < (least or 0):
                yield _Wrong(path, f"{path[-1]}: an empty list", "list something, or leave the key out")
            for number, each in enumerate(value):
                yield from _wrong(each, of, (*path, number))
        case inspect.LiteralType(values=values) if value not in values:
            what = _VERSION if path == ("version",) else (f"{path[-1]}: {' or '.join(map(str, values))} is expected",)
            yield _Wrong(path, *what)
        case inspect.CustomType(cls=count):
            try:
                count(value)
            except ValueError as error:
                yield _Wrong(path, f"{path[-1]}: {error}")


def _wrong_keys(value: dict[str, Any], fields: dict[str, inspect.Field], path: Path) -> Iterator[_Wrong]:
    for key, each in value.items():
        if key in fields:
            yield from _wrong(each, fields[key].type, (*path, key))
        else:
            yield _Wrong((*path, key), *unknown_key(key, list(fields)))
    for name in (name for name, each in fields.items() if each.required and name not in value):
        yield _Wrong(path, *_VERSION) if name == "version" else _Wrong(path, f"{name} is missing", "add it")


def _nothing(path: Path) -> _Wrong:
    if path in ((), ("version",)):
        return _Wrong(path, *_VERSION)
    return _Wrong(path, f"{path[-1]} has no value", 'leave the key out to inherit, or write "" for the empty value')


_SHAPES: dict[type, type] = {
    inspect.StructType: dict,
    inspect.DictType: dict,
    inspect.ListType: list,
    inspect.StrType: str,
    inspect.LiteralType: str,
    inspect.CustomType: str,
}
_NAMES: dict[type, str] = {
    inspect.StructType: "a mapping of keys to values",
    inspect.DictType: "a mapping of keys to values",
    inspect.ListType: "a list",
    inspect.StrType: "a text or a number",
    inspect.LiteralType: "a text",
    inspect.CustomType: "a number",
}
