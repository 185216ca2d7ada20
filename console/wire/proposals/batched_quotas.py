"""DescribeClientQuotas v2: many filters in one request, a result for each by position; strict is for all of them."""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.primitive import i16

from console.wire.proposals.api_keys import DESCRIBE_CLIENT_QUOTAS
from console.wire.proposals.entity import FlexiblePart, FlexibleRequest, FlexibleResponse


class _Part(FlexiblePart):
    __slots__ = ()
    __version__: ClassVar[i16] = i16(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentData(_Part):
    """match_type: 0 exact, 1 default, 2 any."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    match_type: int = field(metadata={"kafka_type": "int8"})
    match: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasFilter(_Part):
    """What an entity must have."""

    components: tuple[ComponentData, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasRequest(FlexibleRequest):
    """strict: entities with other components than a filter's are not found by it."""

    __version__: ClassVar[i16] = i16(2)
    __api_key__: ClassVar[i16] = i16(DESCRIBE_CLIENT_QUOTAS)
    strict: bool = field(metadata={"kafka_type": "bool"})
    filters: tuple[DescribeClientQuotasFilter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityData(_Part):
    """A component of an entity; a null name is the default."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueData(_Part):
    """A quota."""

    key: str = field(metadata={"kafka_type": "string"})
    value: float = field(metadata={"kafka_type": "float64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryData(_Part):
    """An entity and its quotas."""

    entity: tuple[EntityData, ...]
    values: tuple[ValueData, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasFilterResult(_Part):
    """What one filter found, or its error; entries are null after an error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    entries: tuple[EntryData, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasResponse(FlexibleResponse):
    """filter_results[i] belongs to filters[i]."""

    __version__: ClassVar[i16] = i16(2)
    __api_key__: ClassVar[i16] = i16(DESCRIBE_CLIENT_QUOTAS)
    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    filter_results: tuple[DescribeClientQuotasFilterResult, ...]
