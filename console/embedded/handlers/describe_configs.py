"""DescribeConfigs (32), v1-4: the configs of resources, with their sources (KIP-133, KIP-226).

Needs DESCRIBE_CONFIGS on the topic or group, for other types on the cluster. What a topic inherits is what the broker
that answers has.

Version notes:
- v1: sources and synonyms (KIP-226).
- v3: types and documentation (KIP-569).
- v4: flexible.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import error_answer
from console.embedded.config_changes import MALFORMED, ConfigProblem, authorization_problem
from console.embedded.config_describe import DescribedBytes, describable_types, described_entries
from console.embedded.context import RequestContext
from console.model.codes import TOPIC, ResourceType
from console.model.config import ConfigResource
from console.wire.frames import EncodedBody
from console.wire.schemas import messages

_DESCRIBE_CONFIGS = 32


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the configs or an error for each resource. An unknown resource type fails the whole request."""
    known = describable_types(context.cluster.release.name)
    if any(item.resource_type not in known for item in request.resources):
        found = messages(_DESCRIBE_CONFIGS, context.version)
        assert found is not None
        return error_answer(request, found, ErrorCode.invalid_request, MALFORMED)
    results = DescribedBytes(context, request)
    refused = []
    for item in request.resources:
        resource = ConfigResource(ResourceType(item.resource_type), item.resource_name)
        keys = item.configuration_keys or None
        problem: ConfigProblem = authorization_problem(resource)
        if not context.allowed("DESCRIBE_CONFIGS", *authorization_problem(resource).resource):
            refused.append((resource, problem))
            continue
        try:
            if resource.type == TOPIC:
                results.add_topic(resource, keys)
            else:
                results.add(resource, described_entries(context.cluster, context.broker_id, resource), keys)
        except ConfigProblem as wrong:
            results.add_problem(resource, wrong)
    # Kafka appends the refused resources after the described ones, whatever order the request had.
    for resource, problem in refused:
        results.add_problem(resource, problem)
    return EncodedBody(results.body())
