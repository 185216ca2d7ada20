"""DescribeAcls v4 and DescribeClientQuotas v2, by a proposal: many filters in one request. The response has one result
for each filter, in the order of the filters.
"""

from dataclasses import dataclass, field

from console.wire.message_bases import FlexiblePart, FlexibleRequest, FlexibleResponse
from console.wire.proposals.formats import DESCRIBE_ACLS, DESCRIBE_CLIENT_QUOTAS

# DescribeAcls v4.


class _AclsPart(FlexiblePart, version=4):
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsFilter(_AclsPart):
    """A filter, with the fields that the request of v3 has for its only filter. A null field matches any value."""

    resource_type_filter: int = field(metadata={"kafka_type": "int8"})
    resource_name_filter: str | None = field(metadata={"kafka_type": "string"})
    pattern_type_filter: int = field(metadata={"kafka_type": "int8"}, default=3)
    principal_filter: str | None = field(metadata={"kafka_type": "string"})
    host_filter: str | None = field(metadata={"kafka_type": "string"})
    operation: int = field(metadata={"kafka_type": "int8"})
    permission_type: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsRequest(FlexibleRequest, key=DESCRIBE_ACLS, version=4):
    """A request for the ACLs that match any of the filters. v4 keeps the fields of v3, which the broker ignores,
    before the new field `filters`.
    """

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
    """The ACLs that match one filter, or the error for this filter."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    resources: tuple[DescribeAclsResource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsResponse(FlexibleResponse, key=DESCRIBE_ACLS, version=4):
    """The results by filter: filter_results[i] belongs to the request's filters[i]."""

    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    filter_results: tuple[DescribeAclsFilterResult, ...]


# DescribeClientQuotas v2; strict applies to all filters of a request.


class _QuotasPart(FlexiblePart, version=2):
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentData(_QuotasPart):
    """A condition on one component of an entity, such as its user. match_type: 0 this name, 1 the default entity, 2 any
    name.
    """

    entity_type: str = field(metadata={"kafka_type": "string"})
    match_type: int = field(metadata={"kafka_type": "int8"})
    match: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasFilter(_QuotasPart):
    """A filter: the conditions that the components of a quota's entity must meet."""

    components: tuple[ComponentData, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasRequest(FlexibleRequest, key=DESCRIBE_CLIENT_QUOTAS, version=2):
    """A request for the quotas of the entities that match any of the filters. strict: whether entities with further
    components, beyond those in the filter, are excluded.
    """

    strict: bool = field(metadata={"kafka_type": "bool"})
    filters: tuple[DescribeClientQuotasFilter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityData(_QuotasPart):
    """A component of an entity, such as a user; null as the name means the default entity of this type."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueData(_QuotasPart):
    """A quota's key, such as producer_byte_rate, and its value."""

    key: str = field(metadata={"kafka_type": "string"})
    value: float = field(metadata={"kafka_type": "float64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryData(_QuotasPart):
    """An entity and its quotas."""

    entity: tuple[EntityData, ...]
    values: tuple[ValueData, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasFilterResult(_QuotasPart):
    """The entities that match one filter, with their quotas, or the error for this filter; `entries` is then null."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    entries: tuple[EntryData, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasResponse(FlexibleResponse, key=DESCRIBE_CLIENT_QUOTAS, version=2):
    """The results by filter: filter_results[i] belongs to the request's filters[i]."""

    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    filter_results: tuple[DescribeClientQuotasFilterResult, ...]
