"""Topics: creation, growth and deletion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from kio.schema.errors import ErrorCode

from console.embedded import topics
from console.embedded.config_definitions import BrokerLayers, ConfigDefinition, release_configs
from console.embedded.context import NO_TIME, Cluster, RequestContext
from console.embedded.controllers import is_not_active
from console.embedded.refusals import DONE, EXPIRED, TOO_MANY_CHANGES, Refusal
from console.embedded.replicas import Replicas, more_partitions_refusal, new_partition, place_replicas
from console.embedded.state import MAX_RECORDS, ClusterState
from console.embedded.topics import MutationQuota
from console.model.codes import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    STATIC_BROKER_CONFIG,
)

_CONFIGS_FROM, _CREATES_STRICTLY_FROM = 5, 6
Results = dict[str, topics.PlannedTopic | Refusal]


async def create_topics(request: Any, context: RequestContext) -> Any:
    """CreateTopics (19), v2-7: creates topics (ControllerApis).

    Create all topics that are not refused, as one change of the controller. Create none of them if that change needs
    more than `MAX_RECORDS` records. Respond when the controller has made the change.

    Needs CREATE on the cluster or on the topic's name.

    Version notes:
    - v4: -1 partitions or replicas are the brokers' default (KIP-464).
    - v5: flexible; the response has the topic's configs, partitions and replicas (KIP-525).
    - v6: THROTTLING_QUOTA_EXCEEDED for a topic above controller_mutation_rate (KIP-599).
    - v7: the response has the topic's id (KIP-516).
    """
    wanted = [_wanted(item) for item in request.topics]
    answer = _Answer(context, wanted)
    # Kafka's controller sees that the deadline has passed before it begins, so no topic is created (KIP-4 says that
    # creation starts).
    if request.timeout.total_seconds() <= 0:
        return answer.of_all(EXPIRED)
    default, _ = context.cluster.topic_defaults
    results = _unacceptable(context, wanted)
    sound = [topic for topic in wanted if topic.name not in results]
    # Like ReplicationControlManager, apply two limits: one to the partitions before their placement, which is
    # expensive, and then one to all records, including configs.
    if sum(topic.partition_count(default) for topic in sound) > MAX_RECORDS:
        return answer.of_all(Refusal(ErrorCode.policy_violation, "Excessively large number of partitions per request."))
    planner, quota = topics.Planner(context.cluster), topics.MutationQuota(context, _CREATES_STRICTLY_FROM)
    for topic in sound:
        plan = planner.plan(topic)
        refusal = quota.take(len(plan.replicas)) if isinstance(plan, topics.PlannedTopic) else None
        results[topic.name] = refusal or plan
    planned = [result for result in results.values() if isinstance(result, topics.PlannedTopic)]
    if sum(plan.records for plan in planned) > MAX_RECORDS:
        return answer.of_all(Refusal(ErrorCode.policy_violation, TOO_MANY_CHANGES))
    ids = {plan.name: uuid4() for plan in planned}
    if not request.validate_only:
        for plan in planned:
            topics.create(context.state, plan, ids[plan.name])
    return answer.of(results, ids, throttle=quota.hold_back())


def _wanted(item: Any) -> topics.WantedTopic:
    return topics.WantedTopic(
        item.name,
        item.num_partitions,
        item.replication_factor,
        tuple((part.partition_index, tuple(part.broker_ids)) for part in item.assignments),
        {config.name: config.value for config in item.configs},
    )


def _unacceptable(context: RequestContext, wanted: Sequence[topics.WantedTopic]) -> Results:
    """Return the results for the topics that a broker refuses before it forwards the request to the controller."""
    everything = context.allowed("CREATE")
    results: Results = {}
    for name, count in Counter(topic.name for topic in wanted).items():
        if count > 1:
            results[name] = Refusal(ErrorCode.invalid_request, "Duplicate topic name.")
        elif name == topics.METADATA_TOPIC:
            results[name] = Refusal(ErrorCode.invalid_request, f"Creation of internal topic {name} is prohibited.")
        elif not everything and not context.allowed("CREATE", "TOPIC", name):
            results[name] = Refusal(ErrorCode.topic_authorization_failed, "Authorization failed.")
    return results


class _Answer:
    """A builder of the response to one request."""

    def __init__(self, context: RequestContext, wanted: Sequence[topics.WantedTopic]) -> None:
        self._context = context
        self._names = [topic.name for topic in wanted]
        self._new_configs = NewTopicConfigs(context.cluster) if context.version >= _CONFIGS_FROM else None

    def of_all(self, refusal: Refusal) -> Any:
        """Return the response with this refusal for each topic."""
        return self.of(dict.fromkeys(self._names, refusal), {})

    def of(self, results: Results, ids: Mapping[str, UUID], throttle: timedelta = NO_TIME) -> Any:
        """Return the response; a name that the request repeats has one result.

        Args:
            results: topic -> its result.
            ids: topic -> the id of the topic that was created, or would be by a request that only validates.
            throttle: the time for which the client is throttled because of its mutation quota.
        """
        return self._context.answer(
            throttle_time=throttle,
            topics=tuple(self._topic(name, results[name], ids.get(name)) for name in dict.fromkeys(self._names)),
        )

    def _topic(self, name: str, result: topics.PlannedTopic | Refusal, topic_id: UUID | None) -> Any:
        error = result if isinstance(result, Refusal) else Refusal(0)
        fields: dict[str, Any] = {"num_partitions": -1, "replication_factor": -1, "configs": ()}
        if self._new_configs is not None and isinstance(result, topics.PlannedTopic):
            if not self._context.allowed("DESCRIBE_CONFIGS", "TOPIC", name):
                fields["topic_config_error_code"] = ErrorCode.topic_authorization_failed
            else:
                fields["num_partitions"] = len(result.replicas)
                fields["replication_factor"] = len(result.replicas[0])
                fields["configs"] = tuple(
                    {
                        "name": config.name,
                        "value": config.value,
                        "read_only": False,
                        "config_source": config.source,
                        "is_sensitive": False,
                    }
                    for config in self._new_configs.of(result.configs)
                )
        return {"name": name, "topic_id": topic_id, "error_code": error.code, "error_message": error.message, **fields}


class NewTopicConfig(NamedTuple):
    """A config of a new topic in the response."""

    name: str
    value: str | None
    source: int
    """Kafka's number of the source of the value, as in DescribeConfigs."""


class NewTopicConfigs:
    """The configs of new topics in the response (ConfigurationControlManager). The inherited configs are computed only
    once.
    """

    def __init__(self, cluster: Cluster) -> None:
        state, configs = cluster.state, release_configs(cluster.release.name)
        self._layers = BrokerLayers.of(configs, state.view, state.controller_id, cluster.spec.static_configs)
        self._synonyms = configs.topic_synonyms
        self._inherited = {
            name: NewTopicConfig(name, self._layers.inherited(definition), self._source(definition))
            for name, definition in sorted(configs.topic.items())
            if not definition.internal
        }

    def of(self, own: Mapping[str, str]) -> tuple[NewTopicConfig, ...]:
        """Return all configs of a topic. own: the topic's overrides, as the client wrote them."""
        return tuple(
            NewTopicConfig(name, own[name], DYNAMIC_TOPIC_CONFIG) if name in own else inherited
            for name, inherited in self._inherited.items()
        )

    def _source(self, definition: ConfigDefinition) -> int:
        key = self._synonyms.get(definition.name)
        for source, values in (
            (DYNAMIC_BROKER_CONFIG, self._layers.own),
            (DYNAMIC_DEFAULT_BROKER_CONFIG, self._layers.cluster_default),
            (STATIC_BROKER_CONFIG, self._layers.static),
        ):
            if key is not None and any(name in values for name in self._layers.names(key)):
                return source
        return DEFAULT_CONFIG


_GROWS_STRICTLY_FROM = 3


async def create_partitions(request: Any, context: RequestContext) -> Any:
    """CreatePartitions (37), v0-3: adds partitions to topics (ControllerApis).

    Respond when the controller has made the change. If the change needs more records than a controller may write at
    once, nothing is changed, and the response has UNKNOWN_SERVER_ERROR, as in Kafka.

    Needs ALTER on each topic.

    Version notes:
    - v2: flexible.
    - v3: THROTTLING_QUOTA_EXCEEDED for a topic above controller_mutation_rate (KIP-599).
    """
    names = list(dict.fromkeys(topic.name for topic in request.topics))
    if request.timeout.total_seconds() <= 0:
        return _grown(context, dict.fromkeys(names, EXPIRED))
    # The controller builds all records before it checks their number, and the exception that it raises has no error
    # code.
    if _records(request, context) > MAX_RECORDS:
        return _grown(context, dict.fromkeys(names, Refusal(ErrorCode.unknown_server_error)))
    quota = MutationQuota(context, _GROWS_STRICTLY_FROM)
    plans = _plans(request, context)
    for name, plan in plans.items():
        # Requests that only validate also count against the quota.
        if not isinstance(plan, Refusal):
            plans[name] = quota.take(len(plan)) or plan
    growths = {name: plan for name, plan in plans.items() if not isinstance(plan, Refusal)}
    results = {name: plan if isinstance(plan, Refusal) else DONE for name, plan in plans.items()}
    throttle = quota.hold_back()
    if request.validate_only:
        return _grown(context, results, throttle)
    for name, growth in growths.items():
        grow(context.state, name, growth)
    return _grown(context, results, throttle)


def _records(request: Any, context: RequestContext) -> int:
    """Return how many partitions the request would add, before any validation. Each is a metadata record, of which a
    change may have at most `MAX_RECORDS`.
    """
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


def _grown(context: RequestContext, results: dict[str, Refusal], throttle: timedelta = NO_TIME) -> Any:
    return context.answer(
        throttle_time=throttle,
        results=tuple(
            {"name": name, "error_code": refusal.code, "error_message": refusal.message}
            for name, refusal in results.items()
        ),
    )


Growth = tuple[Replicas, ...]
"""The broker ids of the replicas, for each partition to add."""


def planned_growth(state: ClusterState, name: str, count: int, given: Sequence[Replicas] | None) -> Growth | Refusal:
    """Return the partitions to add to a topic, or the reason why they can't be added.

    Args:
        name: the topic.
        count: the number of its partitions after the change.
        given: the replicas of each new partition, from the client; None if the cluster shall place them
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
    """Add partitions to a topic, and return the offset of the change in the change log."""
    topic, alive = state.topics[name], state.alive()
    more = tuple(new_partition(replicas, alive) for replicas in growth)
    return state.put_topic(replace(topic, partitions=topic.partitions + more))


_DISABLED_FROM, _DELETES_STRICTLY_FROM = 3, 5
_NEITHER = Refusal(ErrorCode.invalid_request, "Neither topic name nor id were specified.")
_BOTH = Refusal(ErrorCode.invalid_request, "You may not specify both topic name and topic id.")
_NAME_TWICE = Refusal(ErrorCode.invalid_request, "Duplicate topic name.")
_ID_TWICE = Refusal(ErrorCode.invalid_request, "Duplicate topic id.")
_NAME_OF_GIVEN_ID = Refusal(
    ErrorCode.invalid_request, "The provided topic name maps to an ID that was already supplied."
)
_UNKNOWN_NAME = Refusal(ErrorCode.unknown_topic_or_partition, "This server does not host this topic-partition.")
_UNKNOWN_ID = Refusal(ErrorCode.unknown_topic_id, "This server does not host this topic ID.")
_REFUSED = Refusal(ErrorCode.topic_authorization_failed, "Topic authorization failed.")
_NOT_ACTIVE = Refusal(ErrorCode.not_controller)
"""The result for each topic in a request to a controller that is not the active one, if at least one of the topics
could be deleted.
"""


class _Asked(NamedTuple):
    """A topic that is named by its name, its id or both, in a request or a response."""

    name: str | None
    id: UUID | None


class _Result(NamedTuple):
    topic: _Asked
    refusal: Refusal


async def delete_topics(request: Any, context: RequestContext) -> Any:
    """DeleteTopics (20), v1-6: deletes topics by name or id (ControllerApis).

    Delete topics. A repeated topic is an error, even if one item has its name and the other its id.

    Needs DELETE on the cluster or on the topic.

    Version notes:
    - v3: TOPIC_DELETION_DISABLED; before, INVALID_REQUEST.
    - v4: flexible.
    - v5: error messages; THROTTLING_QUOTA_EXCEEDED for a topic above controller_mutation_rate (KIP-599).
    - v6: topics by id (KIP-516).
    """
    asked = _asked(request)
    if context.cluster.spec.static_configs.get("delete.topic.enable", "true") == "false":
        code = ErrorCode.topic_deletion_disabled if context.version >= _DISABLED_FROM else ErrorCode.invalid_request
        return _deleted(context, [_Result(topic, Refusal(code)) for topic in asked])
    if request.timeout.total_seconds() <= 0:
        return _deleted(context, [_Result(topic, EXPIRED) for topic in asked])
    quota = MutationQuota(context, _DELETES_STRICTLY_FROM)
    results = _results(asked, context, quota)
    return _deleted(context, results, quota.hold_back())


def _asked(request: Any) -> list[_Asked]:
    if hasattr(request, "topic_names"):
        return [_Asked(name, None) for name in request.topic_names]
    return [_Asked(topic.name, topic.topic_id or None) for topic in request.topics]


def _results(asked: Sequence[_Asked], context: RequestContext, quota: MutationQuota) -> list[_Result]:
    state = context.state
    all_topics = context.allowed("DELETE")

    def may(operation: str, name: str) -> bool:
        return all_topics or context.allowed(operation, "TOPIC", name)

    results = [
        _Result(topic, _NEITHER if topic.id is None else _BOTH)
        for topic in asked
        if (topic.name is None) == (topic.id is None)
    ]
    named = [topic.name for topic in asked if topic.name is not None and topic.id is None]
    given = [topic.id for topic in asked if topic.name is None and topic.id is not None]
    once, twice = _split(named)
    results += [_Result(_Asked(name, None), _NAME_TWICE) for name in twice]
    ids, ids_twice = _split(given)
    results += [_Result(_Asked(None, each), _ID_TWICE) for each in ids_twice]
    chosen: dict[UUID, str] = {}
    for topic_id in ids:
        name = state.topics.name_of(topic_id)
        if name is None:
            results.append(_Result(_Asked(None, topic_id), _UNKNOWN_ID))
        elif not may("DELETE", name):
            # If the client may not DESCRIBE the topic, the response must not disclose the name behind an id.
            shown = name if may("DESCRIBE", name) else None
            results.append(_Result(_Asked(shown, topic_id), _REFUSED))
        else:
            chosen[topic_id] = name
    for name in once:
        topic, deletable = state.topics.get(name), may("DELETE", name)
        # Without DESCRIBE, a missing topic looks like a forbidden one, so that names can't be probed.
        if not deletable and (topic is not None or not may("DESCRIBE", name)):
            results.append(_Result(_Asked(name, None), _REFUSED))
        elif topic is None:
            results.append(_Result(_Asked(name, None), _UNKNOWN_NAME))
        elif topic.id in chosen or topic.id in ids_twice:
            chosen.pop(topic.id, None)
            results.append(_Result(_Asked(name, topic.id), _NAME_OF_GIVEN_ID))
        else:
            chosen[topic.id] = name
    if chosen and is_not_active(context):
        return [_Result(topic, _NOT_ACTIVE) for topic in asked]
    for topic_id, name in chosen.items():
        results.append(_Result(_Asked(name, topic_id), _removed(name, context, quota)))
    return results


def _removed(name: str, context: RequestContext, quota: MutationQuota) -> Refusal:
    refusal = quota.take(len(context.state.topics[name].partitions))
    if refusal is None:
        context.state.remove_topic(name)
    return refusal or DONE


def _split(items: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Return the items that occur once, and the items that occur several times, which are refused."""
    counts = Counter(items)
    return [item for item, count in counts.items() if count == 1], [item for item, count in counts.items() if count > 1]


def _deleted(context: RequestContext, results: Iterable[_Result], throttle: timedelta = NO_TIME) -> Any:
    return context.answer(
        throttle_time=throttle,
        responses=tuple(
            {
                "name": result.topic.name,
                "topic_id": result.topic.id,
                "error_code": result.refusal.code,
                "error_message": result.refusal.message,
            }
            for result in results
        ),
    )
