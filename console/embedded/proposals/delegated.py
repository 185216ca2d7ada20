"""Topics' and brokers' configs through the handlers of Kafka's own requests: one set of rules for both.

The proposals have their own rights, checked before; so these requests go with all rights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from console.embedded.configs.describe import described as describe
from console.embedded.context import RequestContext
from console.embedded.registry import handler
from console.model.acl import CLUSTER_NAME
from console.model.codes import BROKER, SET, AlterOp
from console.model.config import ConfigEntry, ConfigResource

REPLACE_VERSION = 2
INCREMENTAL_VERSION = 1


@dataclass(frozen=True, slots=True)
class _AllRights(RequestContext):
    def allowed(
        self,
        operation: str,  # noqa: ARG002
        resource: str = "CLUSTER",  # noqa: ARG002
        name: str = CLUSTER_NAME,  # noqa: ARG002
    ) -> bool:
        """Yes: the proposal's own right was checked."""
        return True


def _context(context: RequestContext, api: str, version: int, resource: ConfigResource) -> _AllRights:
    """Of the broker that the resource names, where it names one: these requests may go to any."""
    values = {part.name: getattr(context, part.name) for part in fields(RequestContext)}
    values |= {"version": version, "schema": import_module(f"kio.schema.{api}.v{version}.response")}
    if resource.type == BROKER:
        values["broker_id"] = int(resource.name)
    return _AllRights(**values)


def described(resource: ConfigResource, keys: Sequence[str] | None, context: RequestContext) -> list[ConfigEntry]:
    """A resource's entries, those of the keys where they are named. Raises ConfigProblem."""
    broker_id = int(resource.name) if resource.type == BROKER else context.broker_id
    entries = describe(context.cluster, broker_id, resource)
    return entries if keys is None else [entry for entry in entries if entry.name in keys]


async def replaced(
    resource: ConfigResource, configs: Mapping[str, str], context: RequestContext, *, validate_only: bool
) -> Any:
    """kio's result of AlterConfigs: these configs in the place of all that the resource has."""
    kio = import_module(f"kio.schema.alter_configs.v{REPLACE_VERSION}.request")
    request = kio.AlterConfigsRequest(
        resources=(
            kio.AlterConfigsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=tuple(kio.AlterableConfig(name=key, value=value) for key, value in configs.items()),
            ),
        ),
        validate_only=validate_only,
    )
    response = await handler("alter_configs", False)(
        request, _context(context, "alter_configs", REPLACE_VERSION, resource)
    )
    return response.responses[0]


async def altered(
    resource: ConfigResource, added: Mapping[str, str], deleted: Iterable[str], context: RequestContext
) -> Any:
    """kio's result of IncrementalAlterConfigs."""
    kio = import_module(f"kio.schema.incremental_alter_configs.v{INCREMENTAL_VERSION}.request")
    operations: list[tuple[str, AlterOp, str | None]] = [(key, SET, value) for key, value in added.items()]
    operations += [(key, AlterOp.parse("DELETE"), None) for key in deleted]
    request = kio.IncrementalAlterConfigsRequest(
        resources=(
            kio.AlterConfigsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=tuple(
                    kio.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in operations
                ),
            ),
        ),
        validate_only=False,
    )
    inner = _context(context, "incremental_alter_configs", INCREMENTAL_VERSION, resource)
    response = await handler("incremental_alter_configs", False)(request, inner)
    return response.responses[0]
