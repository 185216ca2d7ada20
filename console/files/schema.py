"""What may stand in a file, as pydantic checks it. Values of configs are texts: units are understood later."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from console.model.numbers import natural_number


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SecretSet(_Part):
    """``{secret: set}``: an override whose value is not in the file."""

    secret: Literal["set"]


ConfigValue = str | SecretSet
Configs = dict[str, ConfigValue]
Entities = dict[str, Configs | None]


def _natural(value: object) -> object:
    return natural_number(value) if isinstance(value, str) else value


class TopicPart(_Part):
    """A topic."""

    partitions: Annotated[int, BeforeValidator(_natural), Field(ge=1, le=1_000_000)] | None = None
    replication: Annotated[int, BeforeValidator(_natural), Field(ge=1, le=10_000)] | None = None
    configs: Configs | None = None


class NamePart(_Part):
    """A name that could be taken for something else: ``{name: "<default>"}``."""

    name: str


class QuotaPart(_Part):
    """An entity and its limits, in numbers or with units (``10MB/s``)."""

    user: str | NamePart | None = None
    client_id: Annotated[str | NamePart | None, Field(alias="client-id")] = None
    ip: str | None = None
    limits: dict[str, str]


def _listed(value: Any) -> Any:
    return [word.strip() for word in value.split(",")] if isinstance(value, str) else value


class AclPart(_Part):
    """Bindings of one principal on one resource."""

    allow: str | None = None
    deny: str | None = None
    operations: Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)]
    topic: str | None = None
    group: str | None = None
    cluster: str | None = None
    transactional_id: Annotated[str | None, Field(alias="transactional-id")] = None
    delegation_token: Annotated[str | None, Field(alias="delegation-token")] = None
    user: str | None = None
    pattern: Literal["literal", "prefixed"] = "literal"
    host: str = "*"


class FilePart(_Part):
    """A whole file."""

    version: Literal["1"]
    topics: dict[str, TopicPart | None] = Field(default_factory=dict)
    brokers: Entities = Field(default_factory=dict)
    groups: Entities = Field(default_factory=dict)
    client_metrics: Annotated[Entities, Field(alias="client-metrics")] = Field(default_factory=dict)
    quotas: list[QuotaPart] = Field(default_factory=list)
    acls: list[AclPart] = Field(default_factory=list)
