"""CreateTopics v0 (KIP-4)."""

from __future__ import annotations

from console.embedded.context import RequestContext
from console.embedded.proposals.common import (
    CLUSTER_AUTHORIZATION_FAILED,
    INVALID_PARTITIONS,
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REPLICATION_FACTOR,
    INVALID_REQUEST,
    INVALID_TOPIC,
    NONE,
    NOT_CONTROLLER,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    finished,
    is_misrouted,
    repeated,
)
from console.embedded.state.placement import new_topic, striped
from console.embedded.state.topic_names import is_legal
from console.embedded.topics.leaders import wait_for_leaders
from console.model.codes import TOPIC
from console.model.config import ConfigResource
from console.wire.proposals.kip4_topics import (
    NOT_GIVEN,
    CreateTopicRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    TopicErrorCode,
)

Assignments = tuple[tuple[int, ...], ...]


async def handle(request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    """Creates what it can, and waits until all live brokers know it and it has leaders, or for the timeout.

    A valid topic that was not waited for, or not for long enough, is told as REQUEST_TIMED_OUT: it is under way.
    """
    twice = repeated(request.create_topic_requests, lambda item: item.topic)
    results: dict[str, int] = {}
    created: dict[str, int] = {}
    for item in request.create_topic_requests:
        if item.topic not in results:
            results[item.topic] = INVALID_REQUEST if item.topic in twice else _refusal(item, context)
            if not results[item.topic]:
                created[item.topic] = _create(item, context)
    deadline = context.clock.time() + request.timeout / 1000
    complete = await finished(context, list(created.values()), request.timeout)
    known = [name for name, done in zip(created, complete, strict=True) if done]
    leading = await wait_for_leaders(context.state, context.clock, known, deadline - context.clock.time())
    results |= {name: NONE if name in leading else REQUEST_TIMED_OUT for name in created}
    return CreateTopicsResponse(
        topic_error_codes=tuple(TopicErrorCode(topic=name, error_code=code) for name, code in results.items())
    )


def _refusal(item: CreateTopicRequest, context: RequestContext) -> int:
    """The error of a topic that can't be created, 0 for one that can."""
    if is_misrouted(context):
        return NOT_CONTROLLER
    if not context.allowed("CREATE"):
        return CLUSTER_AUTHORIZATION_FAILED
    if not is_legal(item.topic):
        return INVALID_TOPIC
    if item.topic in context.state.topics:
        return TOPIC_ALREADY_EXISTS
    return _placement_refusal(item, context)


def _placement_refusal(item: CreateTopicRequest, context: RequestContext) -> int:
    counted = (item.num_partitions, item.replication_factor) != (NOT_GIVEN, NOT_GIVEN)
    if counted == bool(item.replica_assignment):
        return INVALID_REQUEST
    if not counted:
        return NONE if _is_assignment(item, context) else INVALID_REPLICA_ASSIGNMENT
    if item.num_partitions <= 0:
        return INVALID_PARTITIONS
    if not 0 < item.replication_factor <= len(context.state.alive()):
        return INVALID_REPLICATION_FACTOR
    return NONE


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


def _create(item: CreateTopicRequest, context: RequestContext) -> int:
    """The offset in the log at which the topic is there, its configs too."""
    state = context.state
    alive = state.alive()
    assignments: Assignments
    if item.replica_assignment:
        parts = sorted(item.replica_assignment, key=lambda part: part.partition_id)
        assignments = tuple(tuple(part.replicas) for part in parts)
    else:
        assignments = striped(alive, item.num_partitions, item.replication_factor, len(state.topics))
    offset = state.put_topic(new_topic(item.topic, assignments, alive))
    if item.configs:
        configs = {config.config_key: config.config_value for config in item.configs}
        offset = state.replace_config(ConfigResource(TOPIC, item.topic), configs)
    return offset
