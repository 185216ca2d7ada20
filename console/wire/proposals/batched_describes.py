"""DescribeAcls v4 and DescribeClientQuotas v2: many filters in one request, with a result for each by position."""

from dataclasses import dataclass, field

from console.wire.message_bases import FlexiblePart, FlexibleRequest, FlexibleResponse
from console.wire.proposals.formats import DESCRIBE_ACLS, DESCRIBE_CLIENT_QUOTAS

# DescribeAcls v4.


class _AclsPart(FlexiblePart, version=4):
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsFilter(_AclsPart):
    """A filter, like the only one of v3. Null matches any value."""

    resource_type_filter: int = field(metadata={"kafka_type": "int8"})
    resource_name_filter: str | None = field(metadata={"kafka_type": "string"})
    pattern_type_filter: int = field(metadata={"kafka_type": "int8"}, default=3)
    principal_filter: str | None = field(metadata={"kafka_type": "string"})
    host_filter: str | None = field(metadata={"kafka_type": "string"})
    operation: int = field(metadata={"kafka_type": "int8"})
    permission_type: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsRequest(FlexibleRequest, key=DESCRIBE_ACLS, version=4):
    """Describes ACLs. The proposal adds `filters` after the fields of v3, which v4 keeps but ignores."""

    resource_type_filter: int = field(metadata={"kafka_type": "int8"}, default=1)
    resource_name_filter: str | None = field(metadata={"kafka_type": "string"}, default=None)
    pattern_type_filter: int = field(metadata={"kafka_type": "int8"}, default=1)
    principal_filter: str | None = field(metadata={"kafka_type": "string"}, default=None)
    host_filter: str | None = field(metadata={"kafka_type": "string"}, default=None)
    operation: int = field(metadata={"kafka_type": "int8"}, default=1)
    permission_type: int = field(metadata={"kafka_type": "int8"}, default=1)
    filters: tuple[DescribeAclsFilter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclDescription(_AclsPart):
    """An ACL of a resource pattern."""

    principal: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    operation: int = field(metadata={"kafka_type": "int8"})
    permission_type: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsResource(_AclsPart):
    """The ACLs of one resource pattern."""

    resource_type: int = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    pattern_type: int = field(metadata={"kafka_type": "int8"}, default=3)
    acls: tuple[AclDescription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsFilterResult(_AclsPart):
    """The matches of one filter, or its error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    resources: tuple[DescribeAclsResource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsResponse(FlexibleResponse, key=DESCRIBE_ACLS, version=4):
    """The matches by filter: filter_results[i] belongs to filters[i]."""

    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    filter_results: tuple[DescribeAclsFilterResult, ...]


# DescribeClientQuotas v2; strict applies to all filters of a request.


class _QuotasPart(FlexiblePart, version=2):
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentData(_QuotasPart):
    """The match for one component. match_type: 0 exact, 1 default, 2 any."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    match_type: int = field(metadata={"kafka_type": "int8"})
    match: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasFilter(_QuotasPart):
    """The components that an entity must have."""

    components: tuple[ComponentData, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasRequest(FlexibleRequest, key=DESCRIBE_CLIENT_QUOTAS, version=2):
    """Describes quotas. strict: whether a filter excludes entities with further components."""

    strict: bool = field(metadata={"kafka_type": "bool"})
    filters: tuple[DescribeClientQuotasFilter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityData(_QuotasPart):
    """A component of an entity; a null name is the default."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueData(_QuotasPart):
    """A key of a quota and its value."""

    key: str = field(metadata={"kafka_type": "string"})
    value: float = field(metadata={"kafka_type": "float64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryData(_QuotasPart):
    """An entity and its quotas."""

    entity: tuple[EntityData, ...]
    values: tuple[ValueData, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasFilterResult(_QuotasPart):
    """The matches of one filter, or its error; entries are null after an error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    entries: tuple[EntryData, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasResponse(FlexibleResponse, key=DESCRIBE_CLIENT_QUOTAS, version=2):
    """The matches by filter: filter_results[i] belongs to filters[i]."""

    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    filter_results: tuple[DescribeClientQuotasFilterResult, ...]
