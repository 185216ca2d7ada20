"""ListConfigResources (74), v0-1: the resources that can have configs (KIP-1142).

Needs DESCRIBE_CONFIGS on the cluster.

Version notes:
- v0: ListClientMetricsResources, of one type only (KIP-1000).
- v1: any types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.model.entity_types import BY_NUMBER, Lister

_KNOWN = tuple(sorted(BY_NUMBER, reverse=True))
_FIRST = tuple(number for number, each in BY_NUMBER.items() if each.listed is not None and each.listed.version == 0)


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the resources of the requested types. No types are all; an unknown one fails the request."""
    asked = request.resource_types if context.version >= 1 else _FIRST
    if not context.allowed("DESCRIBE_CONFIGS"):
        return _answer(context, ErrorCode.cluster_authorization_failed, ())
    if any(type_ not in _KNOWN for type_ in asked):
        return _answer(context, ErrorCode.unsupported_version, ())
    return _answer(context, 0, tuple(_resources(context, tuple(asked) or _KNOWN)))


def _resources(context: RequestContext, types: tuple[int, ...]) -> Iterator[Any]:
    resource, view = context.schema.ConfigResource, context.view
    for type_ in _KNOWN:
        if type_ not in types:
            continue
        lister = BY_NUMBER[type_].lister
        if lister is Lister.TOPICS:
            names = list(view.topics)
        elif lister is Lister.BROKERS:
            names = [str(broker.id) for broker in view.brokers.values() if broker.alive]
        else:
            names = [known.name for known in view.configs if known.type == type_]
        for name in names:
            yield resource(resource_name=name, resource_type=type_) if context.version else resource(resource_name=name)


def _answer(context: RequestContext, code: int, resources: tuple[Any, ...]) -> Any:
    return context.answer(error_code=code, config_resources=resources)
