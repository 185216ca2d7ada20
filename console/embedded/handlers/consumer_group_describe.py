"""ConsumerGroupDescribe: groups of the newer protocol (KIP-848). This cluster has none."""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_OPERATIONS, NO_TIME
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import group_error
from console.wire.schemas import for_version

_ENABLED_FROM = (4, 0)


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-1. The error lets clients ask DescribeGroups. Before 4.0 the protocol is disabled."""
    return context.schema.ConsumerGroupDescribeResponse(
        throttle_time=NO_TIME, groups=tuple(_group(context, group_id) for group_id in request.group_ids)
    )


def _group(context: RequestContext, group_id: str) -> Any:
    code, message = group_error(context, group_id, "DESCRIBE"), None
    if context.cluster.release.number < _ENABLED_FROM:
        code = ErrorCode.unsupported_version
    elif code in (0, ErrorCode.invalid_group_id):
        code = ErrorCode.group_id_not_found
        known = group_id in context.state.groups
        message = f"Group {group_id} is not a consumer group." if known else f"Group {group_id} not found."
    return for_version(
        context.schema.DescribedGroup,
        error_code=code,
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=(),
        authorized_operations=NO_OPERATIONS,
    )
