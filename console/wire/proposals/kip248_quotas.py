"""ListQuotas v1, DescribeQuotas v1 and AlterQuotas v0 as KIP-248 proposed them."""

from dataclasses import dataclass, field
from enum import IntEnum

from console.wire.message_bases import Part, Request, Response
from console.wire.proposals.formats import ALTER_QUOTAS, DESCRIBE_QUOTAS, LIST_QUOTAS

DEFAULT_NAME = "<default>"
"""The name that stands for the default resource of a type."""


class ResourceType(IntEnum):
    """The types of resources, with the proposal's own numbers. A child of type UNKNOWN with a null name means that
    there is no child.
    """

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    BROKER = 4
    USER = 5
    CLIENT = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaConfigResource(Part):
    """A user or a client, identified by type and name. A client may be the child of a user."""

    type: int = field(metadata={"kafka_type": "int8"})
    name: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuotasRequest(Request, key=LIST_QUOTAS, version=1):
    """A request for names of resources. A resource with a null name requests all resources of its type; one with a name
    requests its children.
    """

    quota_config_resource: QuotaConfigResource


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuotasResponse(Response, key=LIST_QUOTAS, version=1):
    """The names of the requested resources or children."""

    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    quota_config_entity_names: tuple[str, ...] = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfResource(Part):
    """The fields that identify a resource and its child."""

    quota_config_resource: QuotaConfigResource
    child_quota_config_resource: QuotaConfigResource


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedQuotas(_OfResource):
    """A resource to describe, and the wanted quota keys; null for all keys."""

    config_names: tuple[str, ...] | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuotasRequest(Request, key=DESCRIBE_QUOTAS, version=1):
    """A request for the quotas of these resources."""

    resources: tuple[WantedQuotas, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry(Part):
    """A quota's key and its value."""

    config_name: str = field(metadata={"kafka_type": "string"})
    config_value: str = field(metadata={"kafka_type": "string"})
    read_only: bool = field(metadata={"kafka_type": "bool"})
    is_default: bool = field(metadata={"kafka_type": "bool"})
    is_sensitive: bool = field(metadata={"kafka_type": "bool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfig(Part):
    """The quotas of a resource, or an error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    config_entries: tuple[ConfigEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedQuotas(_OfResource):
    """The quotas of one resource."""

    configs: tuple[DescribedConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuotasResponse(Response, key=DESCRIBE_QUOTAS, version=1):
    """A result for each resource."""

    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    resources: tuple[DescribedQuotas, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaConfig(Part):
    """A quota's key and its new value."""

    config_name: str = field(metadata={"kafka_type": "string"})
    config_value: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredQuotas(_OfResource):
    """The quotas to set on one resource."""

    configs: tuple[QuotaConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterQuotasRequest(Request, key=ALTER_QUOTAS):
    """A request to set quotas. Unlike in other requests, validate_only is the first field."""

    validate_only: bool = field(metadata={"kafka_type": "bool"})
    resources: tuple[AlteredQuotas, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaResult(Part):
    """The result of the change of one quota key."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    config_name: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredQuotasResult(_OfResource):
    """The results of the changed quota keys of one resource."""

    configs: tuple[QuotaResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterQuotasResponse(Response, key=ALTER_QUOTAS):
    """A result for each key of each resource."""

    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    resources: tuple[AlteredQuotasResult, ...]
