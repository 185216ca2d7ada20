"""ListQuotas v1, DescribeQuotas v1 and AlterQuotas v0 as KIP-248 has them."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

from kio.static.primitive import i16

from console.wire.proposals.formats import ALTER_QUOTAS, DESCRIBE_QUOTAS, LIST_QUOTAS, Part, Request, Response

DEFAULT_NAME = "<default>"
"""The resource name of the default of a type."""


class ResourceType(IntEnum):
    """The proposal's own numbers. UNKNOWN with a null name means no child."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    BROKER = 4
    USER = 5
    CLIENT = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaConfigResource(Part):
    """A user or a client."""

    type: int = field(metadata={"kafka_type": "int8"})
    name: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuotasRequest(Request):
    """A null name: all resources of that type. A name: that resource's children."""

    __version__: ClassVar[i16] = i16(1)
    __api_key__: ClassVar[i16] = i16(LIST_QUOTAS)
    quota_config_resource: QuotaConfigResource


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuotasResponse(Response):
    """Names of resources of the requested type, or of the children."""

    __version__: ClassVar[i16] = i16(1)
    __api_key__: ClassVar[i16] = i16(LIST_QUOTAS)
    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    quota_config_entity_names: tuple[str, ...] = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedQuotas(Part):
    """The resource to describe, and the wanted keys, null for all."""

    quota_config_resource: QuotaConfigResource
    child_quota_config_resource: QuotaConfigResource
    config_names: tuple[str, ...] | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuotasRequest(Request):
    """Which resources to describe."""

    __version__: ClassVar[i16] = i16(1)
    __api_key__: ClassVar[i16] = i16(DESCRIBE_QUOTAS)
    resources: tuple[WantedQuotas, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry(Part):
    """A quota and its value."""

    config_name: str = field(metadata={"kafka_type": "string"})
    config_value: str = field(metadata={"kafka_type": "string"})
    read_only: bool = field(metadata={"kafka_type": "bool"})
    is_default: bool = field(metadata={"kafka_type": "bool"})
    is_sensitive: bool = field(metadata={"kafka_type": "bool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfig(Part):
    """Entries, or an error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    config_entries: tuple[ConfigEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedQuotas(Part):
    """The quotas of one resource."""

    quota_config_resource: QuotaConfigResource
    child_quota_config_resource: QuotaConfigResource
    configs: tuple[DescribedConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuotasResponse(Response):
    """A result for each resource."""

    __version__: ClassVar[i16] = i16(1)
    __api_key__: ClassVar[i16] = i16(DESCRIBE_QUOTAS)
    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    resources: tuple[DescribedQuotas, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaConfig(Part):
    """A quota and its new value."""

    config_name: str = field(metadata={"kafka_type": "string"})
    config_value: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredQuotas(Part):
    """The quotas to set on one resource."""

    quota_config_resource: QuotaConfigResource
    child_quota_config_resource: QuotaConfigResource
    configs: tuple[QuotaConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterQuotasRequest(Request):
    """validate_only comes first."""

    __api_key__: ClassVar[i16] = i16(ALTER_QUOTAS)
    validate_only: bool = field(metadata={"kafka_type": "bool"})
    resources: tuple[AlteredQuotas, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaResult(Part):
    """The result of one key."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    config_name: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredQuotasResult(Part):
    """The results of one resource's keys."""

    quota_config_resource: QuotaConfigResource
    child_quota_config_resource: QuotaConfigResource
    configs: tuple[QuotaResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterQuotasResponse(Response):
    """A result for each key of each resource."""

    __api_key__: ClassVar[i16] = i16(ALTER_QUOTAS)
    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    resources: tuple[AlteredQuotasResult, ...]
