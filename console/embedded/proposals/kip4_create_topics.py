"""CreateTopics v0 (KIP-4)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.proposals.common import finished, is_misrouted, repeated
from console.embedded.topics.creating import PlannedTopic, Planner, WantedTopic, create
from console.embedded.topics.leaders import wait_for_leaders
from console.embedded.topics.refusal import Refusal
from console.wire.proposals.kip4 import (
    NOT_GIVEN,
    CreateTopicRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    TopicErrorCode,
)


async def handle(request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    """Creates what it can, and waits until all live brokers know it and it has leaders, or for the timeout.

    A valid topic that was not waited for, or not for long enough, is told as REQUEST_TIMED_OUT: it is under way.
    """
    twice = repeated(request.create_topic_requests, lambda item: item.topic)
    planner = Planner(context.cluster)
    results: dict[str, int] = {}
    created: dict[str, int] = {}
    for item in request.create_topic_requests:
        if item.topic in results:
            continue
        planned = ErrorCode.invalid_request if item.topic in twice else _planned(item, context, planner)
        if isinstance(planned, PlannedTopic):
            created[item.topic] = create(context.state, planned)
        results[item.topic] = ErrorCode.none if isinstance(planned, PlannedTopic) else planned
    deadline = context.clock.time() + request.timeout / 1000
    complete = await finished(context, list(created.values()), request.timeout)
    known = [name for name, done in zip(created, complete, strict=True) if done]
    leading = await wait_for_leaders(context.state, context.clock, known, deadline - context.clock.time())
    results |= {name: ErrorCode.none if name in leading else ErrorCode.request_timed_out for name in created}
    return CreateTopicsResponse(
        topic_error_codes=tuple(TopicErrorCode(topic=name, error_code=code) for name, code in results.items())
    )


def _planned(item: CreateTopicRequest, context: RequestContext, planner: Planner) -> PlannedTopic | int:
    """The topic as it is made, or the error of one that can't be."""
    if is_misrouted(context):
        return ErrorCode.not_controller
    if not context.allowed("CREATE"):
        return ErrorCode.cluster_authorization_failed
    wanted = WantedTopic(
        item.topic,
        item.num_partitions,
        item.replication_factor,
        tuple((part.partition_id, tuple(part.replicas)) for part in item.replica_assignment),
        {config.config_key: config.config_value for config in item.configs},
    )
    refusal = planner.refusal(wanted)
    if refusal is not None:
        return refusal.code
    code = _placement_refusal(item, context)
    if code:
        return code
    planned = planner.assigned(wanted) if wanted.assignments else planner.counted(wanted)
    return planned.code if isinstance(planned, Refusal) else planned


def _placement_refusal(item: CreateTopicRequest, context: RequestContext) -> int:
    """Counts or an assignment, never both and never neither; brokers that are down may be assigned to."""
    counted = (item.num_partitions, item.replication_factor) != (NOT_GIVEN, NOT_GIVEN)
    if counted == bool(item.replica_assignment):
        return ErrorCode.invalid_request
    if not counted:
        return ErrorCode.none if _is_assignment(item, context) else ErrorCode.invalid_replica_assignment
    if item.num_partitions <= 0:
        return ErrorCode.invalid_partitions
    return ErrorCode.none if item.replication_factor > 0 else ErrorCode.invalid_replication_factor


def _is_assignment(item: CreateTopicRequest, context: RequestContext) -> bool:
    """Partitions from 0 on, each once; as many replicas for each, all of them brokers, none twice."""
    partitions = sorted(part.partition_id for part in item.replica_assignment)
    replicas = [part.replicas for part in item.replica_assignment]
    return (
        partitions == list(range(len(partitions)))
        and len({len(brokers) for brokers in replicas}) == 1
        and all(brokers and len(set(brokers)) == len(brokers) for brokers in replicas)
        and all(broker in context.state.brokers for brokers in replicas for broker in brokers)
    )
