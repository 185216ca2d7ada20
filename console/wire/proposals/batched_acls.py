"""DescribeAcls v4: many filters in one request, a result for each by position."""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.primitive import i16

from console.wire.proposals.api_keys import DESCRIBE_ACLS
from console.wire.proposals.entity import FlexiblePart, FlexibleRequest, FlexibleResponse


class _Part(FlexiblePart):
    __slots__ = ()
    __version__: ClassVar[i16] = i16(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsFilter(_Part):
    """As the one filter of v3; null matches any."""

    resource_type_filter: int = field(metadata={"kafka_type": "int8"})
    resource_name_filter: str | None = field(metadata={"kafka_type": "string"})
    pattern_type_filter: int = field(metadata={"kafka_type": "int8"}, default=3)
    principal_filter: str | None = field(metadata={"kafka_type": "string"})
    host_filter: str | None = field(metadata={"kafka_type": "string"})
    operation: int = field(metadata={"kafka_type": "int8"})
    permission_type: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsRequest(FlexibleRequest):
    """The proposal adds `filters` behind the fields of v3, which it leaves in place; nobody looks at those in v4."""

    __version__: ClassVar[i16] = i16(4)
    __api_key__: ClassVar[i16] = i16(DESCRIBE_ACLS)
    resource_type_filter: int = field(metadata={"kafka_type": "int8"}, default=1)
    resource_name_filter: str | None = field(metadata={"kafka_type": "string"}, default=None)
    pattern_type_filter: int = field(metadata={"kafka_type": "int8"}, default=1)
    principal_filter: str | None = field(metadata={"kafka_type": "string"}, default=None)
    host_filter: str | None = field(metadata={"kafka_type": "string"}, default=None)
    operation: int = field(metadata={"kafka_type": "int8"}, default=1)
    permission_type: int = field(metadata={"kafka_type": "int8"}, default=1)
    filters: tuple[DescribeAclsFilter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclDescription(_Part):
    """Who may, or may not, do what from where."""

    principal: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    operation: int = field(metadata={"kafka_type": "int8"})
    permission_type: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsResource(_Part):
    """The ACLs of one resource pattern."""

    resource_type: int = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    pattern_type: int = field(metadata={"kafka_type": "int8"}, default=3)
    acls: tuple[AclDescription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsFilterResult(_Part):
    """What one filter found, or its error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    resources: tuple[DescribeAclsResource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsResponse(FlexibleResponse):
    """filter_results[i] belongs to filters[i]."""

    __version__: ClassVar[i16] = i16(4)
    __api_key__: ClassVar[i16] = i16(DESCRIBE_ACLS)
    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    filter_results: tuple[DescribeAclsFilterResult, ...]
