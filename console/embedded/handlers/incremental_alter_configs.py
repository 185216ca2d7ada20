"""IncrementalAlterConfigs (44), v0-1: sets, deletes, appends and subtracts configs (KIP-339).

Needs ALTER_CONFIGS on the topic or group, for other types on the cluster. All or nothing within a resource; resources
are independent of each other.

Version notes:
- v1: flexible.
"""

from __future__ import annotations

from typing import Any

from console.embedded.config_alter import altered_results
from console.embedded.config_changes import ConfigChange, Operation
from console.embedded.context import RequestContext
from console.model.codes import AlterOp, ResourceType
from console.model.config import ConfigResource


async def handle(request: Any, context: RequestContext) -> Any:
    """Apply the operations, and return a result for each resource."""
    changes = [
        ConfigChange(
            ConfigResource(ResourceType(item.resource_type), item.resource_name),
            tuple(Operation(config.name, AlterOp(config.config_operation), config.value) for config in item.configs),
        )
        for item in request.resources
    ]
    return context.answer(responses=altered_results(context, changes, validate_only=request.validate_only))
