"""What a file may contain, checked by pydantic, and its errors with the line and the nearest valid key.

Values of configs are texts: units are parsed later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from console.model.entity_types import EntityType, in_sections
from console.model.numbers import natural_number
from console.model.yaml_places import Document, FileProblem, Path, unknown_key

# What may stand in a file, as pydantic checks it. Values of configs are texts: units are understood later.


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SecretSet(_Part):
    """``{secret: set}``: an override whose value is not in the file."""

    secret: Literal["set"]


ConfigValue = str | SecretSet
Configs = dict[str, ConfigValue]
Entities = dict[str, Configs | None]


def _count(value: object) -> object:
    """Return a count; None for -1, which stands in CreateTopics for the broker's default."""
    if value in ("-1", -1):
        return None
    return natural_number(value) if isinstance(value, str) else value


class TopicPart(_Part):
    """A topic."""

    partitions: Annotated[Annotated[int, Field(ge=1, le=1_000_000)] | None, BeforeValidator(_count)] = None
    replication: Annotated[Annotated[int, Field(ge=1, le=10_000)] | None, BeforeValidator(_count)] = None
    configs: Configs | None = None


class NamePart(_Part):
    """A name that would otherwise be read as the default entity: ``{name: "<default>"}``."""

    name: str


class AsIs(_Part):
    """``{as-is: nan}``: a limit that exists already and that no new one may have: of a key of a newer release, or a
    number that brokers accepted all the same.
    """

    as_is: Annotated[str, Field(alias="as-is")]


class QuotaPart(_Part):
    """An entity and its limits, in numbers or with units (``10MB/s``)."""

    user: str | NamePart | None = None
    client_id: Annotated[str | NamePart | None, Field(alias="client-id")] = None
    ip: str | None = None
    limits: dict[str, str | AsIs]


def _listed(value: Any) -> Any:
    return [word.strip() for word in value.split(",")] if isinstance(value, str) else value


class AclPart(_Part):
    """Bindings of one principal on one resource. type, name: of a resource whose type has no key of its own;
    permission, principal: of a binding that neither allows nor denies, as newer releases may have.
    """

    allow: str | None = None
    deny: str | None = None
    permission: str | None = None
    principal: str | None = None
    operations: Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)]
    topic: str | None = None
    group: str | None = None
    cluster: str | None = None
    transactional_id: Annotated[str | None, Field(alias="transactional-id")] = None
    delegation_token: Annotated[str | None, Field(alias="delegation-token")] = None
    user: str | None = None
    type: str | None = None
    name: str | None = None
    pattern: str = "literal"
    host: str = "*"


class _Head(_Part):
    version: Literal["1"]
    topics: dict[str, TopicPart | None] = Field(default_factory=dict)


if TYPE_CHECKING:
    _Sections = _Head
else:
    _Sections = create_model(
        "_Sections",
        __base__=_Head,
        **{each.word: (Entities, Field(default_factory=dict, alias=each.section)) for each in in_sections()},
    )


class FilePart(_Sections):
    """A whole file, with a section for each type of entity."""

    quotas: list[QuotaPart] = Field(default_factory=list)
    acls: list[AclPart] = Field(default_factory=list)

    def section(self, type_: EntityType) -> Entities:
        """Return the contents of the section of a type."""
        found: Entities = getattr(self, type_.word)
        return found


# -- errors of pydantic, with the line and the nearest legal key


def schema_problems(error: ValidationError, document: Document) -> Iterator[FileProblem]:
    """Yield one problem for each location in a document."""
    told: set[Path] = set()
    for each in error.errors(include_url=False, include_context=True):
        path = _real_path(each["loc"], document.data)
        if path in told:
            continue  # one of several things that might have stood there was told already
        told.add(path)
        missing = str(each["loc"][-1]) if each["loc"] else ""
        message, hint = _words(each["type"], each["msg"], path, _at(document.data, path), missing)
        yield FileProblem(document.source, document.line(path), message, hint)


def _real_path(loc: tuple[str | int, ...], data: Any) -> Path:
    """Return the path without the names of models, which pydantic puts between its steps."""
    path: list[str | int] = []
    for step in loc:
        inside = (isinstance(data, dict) and step in data) or (isinstance(data, list) and isinstance(step, int))
        if inside and not (isinstance(data, list) and isinstance(step, int) and step >= len(data)):
            path.append(step)
            data = data[step]
    return tuple(path)


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _words(kind: str, message: str, path: Path, value: Any, missing: str) -> tuple[str, str]:
    name = ".".join(map(str, path[-1:]))
    if kind == "extra_forbidden":
        return unknown_key(name, _legal(path[:-1]))
    if kind == "missing" and missing != "version":
        return f"{missing} is missing", "add it"
    if path == ("version",) or not path:
        return "a file says its version", "write version: 1 at its top"
    if value is None:
        return f"{name} has no value", 'leave the key out to inherit, or write "" for the empty value'
    return f"{name}: {message[:1].lower()}{message[1:]}", ""


def _legal(path: Path) -> list[str]:
    models: dict[tuple[str, ...], type[BaseModel]] = {
        (): FilePart,
        ("topics",): TopicPart,
        ("quotas",): QuotaPart,
        ("acls",): AclPart,
    }
    model = models.get(tuple(str(step) for step in path[:1]) if len(path) >= 2 else ())
    if model is None:
        return ["secret"]
    return [info.alias or name for name, info in model.model_fields.items()]
