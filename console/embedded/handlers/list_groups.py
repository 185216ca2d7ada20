"""ListGroups (16), v0-5: the groups that this broker coordinates.

A client asks every broker and merges the answers.

Version notes:
- v3: flexible.
- v4: states, also as a filter (KIP-518).
- v5: types, also as a filter (KIP-848).
"""

from __future__ import annotations

from typing import Any

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import coordinator_of, visible_group
from console.wire.fields import for_version


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the groups that match the filters. Without DESCRIBE on the cluster, only those that may be described."""
    schema, topics = context.schema, context.view.topics
    states = {state.lower() for state in getattr(request, "states_filter", ())}
    types = {type_.lower() for type_ in getattr(request, "types_filter", ())}
    everything = context.allowed("DESCRIBE")
    return context.answer(
        error_code=0,
        groups=tuple(
            for_version(
                schema.ListedGroup,
                group_id=group.id,
                protocol_type=group.protocol_type or "",
                group_state=group.shown_state,
                group_type=group.type,
            )
            for group in context.state.groups.values()
            if coordinator_of(topics, group.id) == context.broker_id
            and visible_group(context, group.id) is not None
            and (not states or group.shown_state.lower() in states)
            and (not types or group.type in types)
            and (everything or context.allowed("DESCRIBE", "GROUP", group.id))
        ),
    )
