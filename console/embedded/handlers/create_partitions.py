"""CreatePartitions (37), v0-3: adds partitions to topics (ControllerApis).

Needs ALTER on each topic. The answer comes once the controller has written the change.

Version notes:
- v2: flexible.
- v3: THROTTLING_QUOTA_EXCEEDED for a topic beyond controller_mutation_rate (KIP-599).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import NO_TIME, RequestContext
from console.embedded.refusals import DONE, EXPIRED, Refusal
from console.embedded.replicas import (
    Replicas,
    more_partitions_refusal,
    new_partition,
    place_replicas,
)
from console.embedded.state import MAX_RECORDS, ClusterState
from console.embedded.topics import MutationQuota
from console.wire.fields import for_version

_STRICT_FROM = 3


async def handle(request: Any, context: RequestContext) -> Any:
    """Add partitions to each topic, and return its result.

    More records than a controller writes in one change are UNKNOWN_SERVER_ERROR, as in Kafka, and change nothing.
    """
    names = list(dict.fromkeys(topic.name for topic in request.topics))
    if request.timeout.total_seconds() <= 0:
        return _answer(context, dict.fromkeys(names, EXPIRED))
    # The controller builds all records before it checks their number, and its exception has no error code of its own.
    if _records(request, context) > MAX_RECORDS:
        return _answer(context, dict.fromkeys(names, Refusal(ErrorCode.unknown_server_error)))
    quota = MutationQuota(context, _STRICT_FROM)
    plans = _plans(request, context)
    for name, plan in plans.items():
        # A validation is charged, too.
        if not isinstance(plan, Refusal):
            plans[name] = quota.take(len(plan)) or plan
    growths = {name: plan for name, plan in plans.items() if not isinstance(plan, Refusal)}
    results = {name: plan if isinstance(plan, Refusal) else DONE for name, plan in plans.items()}
    throttle = quota.hold_back()
    if request.validate_only:
        return _answer(context, results, throttle)
    for name, growth in growths.items():
        grow(context.state, name, growth)
    return _answer(context, results, throttle)


def _records(request: Any, context: RequestContext) -> int:
    """Return the number of partitions to add, before any check."""
    topics = ((topic.count, context.state.topics.get(topic.name)) for topic in request.topics)
    return sum(max(count - len(topic.partitions), 0) for count, topic in topics if topic is not None)


def _plans(request: Any, context: RequestContext) -> dict[str, Growth | Refusal]:
    counts = Counter(topic.name for topic in request.topics)
    plans: dict[str, Growth | Refusal] = {}
    for topic in request.topics:
        if counts[topic.name] > 1:
            plans[topic.name] = Refusal(ErrorCode.invalid_request, "Duplicate topic name.")
        elif not context.allowed("ALTER", "TOPIC", topic.name):
            plans[topic.name] = Refusal(ErrorCode.topic_authorization_failed)
        else:
            given = topic.assignments
            replicas = None if given is None else [tuple(each.broker_ids) for each in given]
            plans[topic.name] = planned_growth(context.state, topic.name, topic.count, replicas)
    return plans


def _answer(context: RequestContext, results: dict[str, Refusal], throttle: timedelta = NO_TIME) -> Any:
    schema = context.schema
    return context.answer(
        throttle_time=throttle,
        results=tuple(
            for_version(
                schema.CreatePartitionsTopicResult,
                name=name,
                error_code=refusal.code,
                error_message=refusal.message,
            )
            for name, refusal in results.items()
        ),
    )


Growth = tuple[Replicas, ...]
"""The replicas of each added partition."""


def planned_growth(state: ClusterState, name: str, count: int, given: Sequence[Replicas] | None) -> Growth | Refusal:
    """Return the partitions to add so that a topic has `count`, or why they can't be added.

    Args:
        count: partitions that the topic is to have afterwards.
        given: replicas of each new partition from the client, None to let the cluster place them
            (ReplicationControlManager.createPartitions).
    """
    topic = state.topics.get(name)
    if topic is None:
        return Refusal(ErrorCode.unknown_topic_or_partition)
    now = len(topic.partitions)
    if count == now:
        return Refusal(ErrorCode.invalid_partitions, f"Topic already has {now} partition(s).")
    if count < now:
        return Refusal(
            ErrorCode.invalid_partitions,
            f"The topic {name} currently has {now} partition(s); {count} would not be an increase.",
        )
    replication = len(topic.partitions[0].replicas)
    if given is None:
        return place_replicas(state, count - now, replication, now)
    if len(given) != count - now:
        return Refusal(
            ErrorCode.invalid_replica_assignment,
            f"Attempted to add {count - now} additional partition(s), but only {len(given)} assignment(s) were "
            "specified.",
        )
    return more_partitions_refusal(given, now, replication, state) or tuple(given)


def grow(state: ClusterState, name: str, growth: Growth) -> int:
    """Add the partitions to a topic, and return the change's offset in the log."""
    topic, alive = state.topics[name], state.alive()
    more = tuple(new_partition(replicas, alive) for replicas in growth)
    return state.put_topic(replace(topic, partitions=topic.partitions + more))
