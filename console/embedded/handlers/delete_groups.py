"""DeleteGroups (42), v0-3: deletes groups without members, with their offsets (KIP-229).

Needs DELETE on the group. The group's coordinator answers.

Version notes:
- v2: flexible.
- v3: an error message for each group, which brokers leave out where the code says enough.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import group_error


async def handle(request: Any, context: RequestContext) -> Any:
    """Delete groups of any type, and return the error code of each."""
    schema = context.schema
    return context.answer(
        results=tuple(
            schema.DeletableGroupResult(group_id=group_id, error_code=_delete(context, group_id))
            for group_id in request.groups_names
        )
    )


def _delete(context: RequestContext, group_id: str) -> int:
    code = group_error(context, group_id, "DELETE", may_be_empty=True)
    if code:
        return code
    group = context.state.groups.get(group_id)
    if group is None:
        return ErrorCode.group_id_not_found
    if group.has_members:
        return ErrorCode.non_empty_group
    del context.state.groups[group_id]
    context.state.touch()
    return 0
