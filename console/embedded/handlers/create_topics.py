"""CreateTopics (19), v2-7: creates topics (ControllerApis).

Needs CREATE on the cluster or on the topic's name.

Version notes:
- v4: -1 partitions or replicas are the brokers' default (KIP-464).
- v5: flexible; the answer has the topic's configs, partitions and replicas (KIP-525).
- v6: THROTTLING_QUOTA_EXCEEDED for a topic beyond controller_mutation_rate (KIP-599).
- v7: the answer has the topic's id (KIP-516).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from kio.schema.errors import ErrorCode

from console.embedded import topics
from console.embedded.config_definitions import BrokerLayers, ConfigDefinition, release_configs
from console.embedded.context import NO_TIME, Cluster, RequestContext
from console.embedded.refusals import EXPIRED, Refusal
from console.embedded.state import MAX_RECORDS
from console.model.codes import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    STATIC_BROKER_CONFIG,
)
from console.wire.fields import for_version

_CONFIGS_FROM, _STRICT_FROM = 5, 6
Results = dict[str, topics.PlannedTopic | Refusal]


async def handle(request: Any, context: RequestContext) -> Any:
    """Create the topics of the request as one change of the controller, of limited size. Answer when it has written
    them."""
    wanted = [_wanted(item) for item in request.topics]
    answer = _Answer(context, wanted)
    # The controller's deadline has passed before it begins, so nothing is created (KIP-4 says that it starts).
    if request.timeout.total_seconds() <= 0:
        return answer.of_all(EXPIRED)
    default, _ = context.cluster.topic_defaults
    results = _unacceptable(context, wanted)
    sound = [topic for topic in wanted if topic.name not in results]
    # Two limits, as in ReplicationControlManager: partitions before they are placed, which is expensive, and then all
    # records, configs included.
    if sum(topic.partition_count(default) for topic in sound) > MAX_RECORDS:
        return answer.of_all(Refusal(ErrorCode.policy_violation, "Excessively large number of partitions per request."))
    planner, quota = topics.Planner(context.cluster), topics.MutationQuota(context, _STRICT_FROM)
    for topic in sound:
        plan = planner.plan(topic)
        refusal = quota.take(len(plan.replicas)) if isinstance(plan, topics.PlannedTopic) else None
        results[topic.name] = refusal or plan
    planned = [result for result in results.values() if isinstance(result, topics.PlannedTopic)]
    if sum(plan.records for plan in planned) > MAX_RECORDS:
        return answer.of_all(
            Refusal(ErrorCode.policy_violation, "Unable to perform excessively large batch operation.")
        )
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
    """Return the topics that are refused before the controller sees them."""
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
    """Builds the response to one request."""

    def __init__(self, context: RequestContext, wanted: Sequence[topics.WantedTopic]) -> None:
        self._context = context
        self._schema = context.schema
        self._names = [topic.name for topic in wanted]
        self._new_configs = NewTopicConfigs(context.cluster) if context.version >= _CONFIGS_FROM else None

    def of_all(self, refusal: Refusal) -> Any:
        """Return the same error for every topic."""
        return self.of(dict.fromkeys(self._names, refusal), {})

    def of(self, results: Results, ids: Mapping[str, UUID], throttle: timedelta = NO_TIME) -> Any:
        """Return the response, with one result for a repeated name.

        Args:
            ids: of the topics that were or would be created.
            throttle: how long the client is to wait for its mutation quota.
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
                    self._schema.CreatableTopicConfigs(
                        name=config.name,
                        value=config.value,
                        read_only=False,
                        config_source=config.source,
                        is_sensitive=False,
                    )
                    for config in self._new_configs.of(result.configs)
                )
        return for_version(
            self._schema.CreatableTopicResult,
            name=name,
            topic_id=topic_id,
            error_code=error.code,
            error_message=error.message,
            **fields,
        )


class NewTopicConfig(NamedTuple):
    """One config of a new topic in the response. source: as in DescribeConfigs."""

    name: str
    value: str | None
    source: int


class NewTopicConfigs:
    """The configs of new topics in the response (ConfigurationControlManager). Inherited ones are computed once per
    request."""

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
        """Return every config of a topic with these overrides, which are as the client wrote them."""
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
