"""ListConfigs v0 and v1, and AlterConfigs v0, as KIP-133 proposed them.

ListConfigs v0 always returns all keys of a resource. In v1 the request names the wanted keys of each resource, null for
all keys; the response is the same.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from console.wire.message_bases import Part, Request, Response
from console.wire.proposals import kip4, kip248_quotas
from console.wire.proposals.formats import ALTER_CONFIGS, LIST_CONFIGS


class ResourceType(IntEnum):
    """The types of resources that have configs. The proposal's list has more types, which only ACLs use."""

    TOPIC = 2
    BROKER = 5
    CLIENT = 6
    USER = 7


Resource = kip4.Resource
"""A resource: a topic, broker, client or user."""
Config = kip248_quotas.ConfigEntry
"""A config key and its value; the value is empty if it is sensitive."""
AlteredConfig = kip248_quotas.QuotaConfig
"""A config key and its new value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigsRequest(Request, key=LIST_CONFIGS):
    """A request for all configs of each resource. A resource that it names twice has one result in the response."""

    resources: tuple[Resource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedConfigs(Resource, version=1):
    """A resource and the names of its wanted config keys; null for all keys."""

    config_names: tuple[str, ...] | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigsRequestV1(Request, key=LIST_CONFIGS, version=1):
    """A request for the named configs of each resource."""

    resources: tuple[NamedConfigs, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceConfigs(Part):
    """The configs of a resource, or its error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    resource_type: int = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    configs: tuple[Config, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigsResponse(Response, key=LIST_CONFIGS):
    """The configs of each resource. error_code: the error of the whole request; 0 without an error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    entities: tuple[ResourceConfigs, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigsResponseV1(ListConfigsResponse, version=1):
    """The response of v1, with the same fields as that of v0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredResource(Resource):
    """A resource and the configs to set on it."""

    configs: tuple[AlteredConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsRequest(Request, key=ALTER_CONFIGS):
    """A request to set configs. It may have each resource only once."""

    resources: tuple[AlteredResource, ...]
    validate_only: bool = field(metadata={"kafka_type": "bool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceError(Resource):
    """The result of the change of one resource. error_message is ``""`` without an error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsResponse(Response, key=ALTER_CONFIGS):
    """A result for each resource."""

    responses: tuple[ResourceError, ...]
