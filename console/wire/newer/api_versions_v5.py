"""ApiVersions (18), v5.

Written from Kafka 4.4's definitions by ``python -m tests.support.record_newer_messages``.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.api_versions.v4 import response as before
from kio.schema.errors import ErrorCode
from kio.schema.response_header.v0.header import ResponseHeader
from kio.static.primitive import i32, i32Timedelta, i64

from console.wire.message_bases import FlexibleRequest, FlexibleResponse

ApiVersion = before.ApiVersion
SupportedFeatureKey = before.SupportedFeatureKey
FinalizedFeatureKey = before.FinalizedFeatureKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest(FlexibleRequest, key=18, version=5):
    """The request."""

    client_software_name: str = field(metadata={"kafka_type": "string"})
    """The name of the client."""
    client_software_version: str = field(metadata={"kafka_type": "string"})
    """The version of the client."""
    cluster_id: str | None = field(metadata={"kafka_type": "string"}, default=None)
    """The cluster ID the client intends to connect to. Provide both ClusterId and NodeId, if known."""
    node_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The node ID the client intends to connect to. Provide both ClusterId and NodeId, if known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse(FlexibleResponse, key=18, version=5):
    """The response."""

    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    """The top-level error code."""
    api_keys: tuple[ApiVersion, ...]
    """The APIs supported by the broker."""
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    """The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the
    request did not violate any quota."""
    supported_features: tuple[SupportedFeatureKey, ...] = field(metadata={"tag": 0}, default=())
    """Features supported by the broker. Note: in v0-v3, features with MinSupportedVersion = 0 are omitted."""
    finalized_features_epoch: i64 = field(metadata={"kafka_type": "int64", "tag": 1}, default=i64(-1))
    """The monotonically increasing epoch for the finalized features information. Valid values are >= 0. A value of -1
    is special and represents unknown epoch."""
    finalized_features: tuple[FinalizedFeatureKey, ...] = field(metadata={"tag": 2}, default=())
    """List of cluster-wide finalized features. The information is valid only if FinalizedFeaturesEpoch >= 0."""
    zk_migration_ready: bool = field(metadata={"kafka_type": "bool", "tag": 3}, default=False)
    """Set by a KRaft controller if the required configurations for ZK migration are present."""
