"""ListConfigs v0 and v1 and AlterConfigs v0 by KIP-133.

ListConfigs v0 always returns all keys of a resource. v1 differs only in its request: each resource has the names of the
requested keys, null for all.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from console.wire.message_bases import Part, Request, Response
from console.wire.proposals import kip4, kip248_quotas
from console.wire.proposals.formats import ALTER_CONFIGS, LIST_CONFIGS


class ResourceType(IntEnum):
    """Types of resources with configs. The proposal's list also has others, for ACLs."""

    TOPIC = 2
    BROKER = 5
    CLIENT = 6
    USER = 7


Resource = kip4.Resource
"""A topic, broker, client or user."""
Config = kip248_quotas.ConfigEntry
"""A key and its value, which is empty if it is sensitive."""
AlteredConfig = kip248_quotas.QuotaConfig
"""A key and its new value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigsRequest(Request, key=LIST_CONFIGS):
    """Lists configs. If it names a resource twice, the response has one result for it."""

    resources: tuple[Resource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedConfigs(Resource, version=1):
    """A resource and the requested keys, null for all."""

    config_names: tuple[str, ...] | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigsRequestV1(Request, key=LIST_CONFIGS, version=1):
    """Lists configs as v0, with names of keys."""

    resources: tuple[NamedConfigs, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceConfigs(Part):
    """A resource's configs, or its error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    resource_type: int = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    configs: tuple[Config, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigsResponse(Response, key=LIST_CONFIGS):
    """The configs by resource. error_code: error of the whole request."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    entities: tuple[ResourceConfigs, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigsResponseV1(ListConfigsResponse, version=1):
    """The response of v1, which is the same as that of v0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredResource(Resource):
    """The new overrides of a resource."""

    configs: tuple[AlteredConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsRequest(Request, key=ALTER_CONFIGS):
    """Alters configs. Each resource may appear once."""

    resources: tuple[AlteredResource, ...]
    validate_only: bool = field(metadata={"kafka_type": "bool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceError(Resource):
    """The result of one resource's change. error_message is empty without an error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsResponse(Response, key=ALTER_CONFIGS):
    """A result for each resource."""

    responses: tuple[ResourceError, ...]
