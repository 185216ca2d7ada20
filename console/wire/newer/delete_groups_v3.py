"""DeleteGroups (42), v3.

Written from Kafka 4.4's definitions by ``python -m tests.support.record_newer_messages``.
"""

from dataclasses import dataclass, field

from kio.schema.errors import ErrorCode
from kio.schema.types import GroupId
from kio.static.primitive import i32Timedelta

from console.wire.message_bases import FlexiblePart, FlexibleRequest, FlexibleResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest(FlexibleRequest, key=42, version=3):
    """The request."""

    groups_names: tuple[GroupId, ...] = field(metadata={"kafka_type": "string"}, default=())
    """The group names to delete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletableGroupResult(FlexiblePart, version=3):
    """The deletion results."""

    group_id: GroupId = field(metadata={"kafka_type": "string"})
    """The group id."""
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    """The deletion error, or 0 if the deletion succeeded."""
    error_message: str | None = field(metadata={"kafka_type": "string"}, default=None)
    """The error message, or null if there was no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse(FlexibleResponse, key=42, version=3):
    """The response."""

    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    """The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the
    request did not violate any quota."""
    results: tuple[DeletableGroupResult, ...]
    """The deletion results."""
