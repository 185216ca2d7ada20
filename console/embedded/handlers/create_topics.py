"""CreateTopics (19), v2-7: creates topics (ControllerApis; with ZooKeeper KafkaApis.handleCreateTopicsRequest).

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

from console.embedded.answers import NO_TIME
from console.embedded.config_definitions import BrokerLayers, ConfigDefinition, canonical_value, release_configs
from console.embedded.context import Cluster, RequestContext
from console.embedded.refusals import EXPIRED, Refusal, topic_messages
from console.embedded.state import MAX_RECORDS
from console.embedded.topics import (
    METADATA_TOPIC,
    MutationQuota,
    PlannedTopic,
    Planner,
    WantedTopic,
    create,
    wait_for_leaders,
)
from console.model.codes import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    STATIC_BROKER_CONFIG,
)
from console.wire.schemas import for_version

_CONFIGS_FROM, _STRICT_FROM = 5, 6
Results = dict[str, PlannedTopic | Refusal]


async def handle(request: Any, context: RequestContext) -> Any:
    """Create topics. Answer when the controller has written them; with ZooKeeper when they have leaders, or at the
    timeout."""
    wanted = [_wanted(item) for item in request.topics]
    if context.cluster.release.kraft:
        return _with_kraft(request, wanted, context)
    return await _with_zookeeper(request, wanted, context)


def _with_kraft(request: Any, wanted: Sequence[WantedTopic], context: RequestContext) -> Any:
    """Create the topics of the request as one change of the controller, of limited size."""
    answer = _Answer(context, wanted)
    # The controller's deadline has passed before it begins, so nothing is created (KIP-4 says that it starts).
    if request.timeout.total_seconds() <= 0:
        return answer.of_all(EXPIRED)
    texts, (default, _) = topic_messages(context.cluster.release), context.cluster.topic_defaults
    results = _unacceptable(context, wanted)
    sound = [topic for topic in wanted if topic.name not in results]
    # Two limits, as in ReplicationControlManager: partitions before they are placed, which is expensive, and then all
    # records, configs included.
    if sum(topic.partition_count(default) for topic in sound) > MAX_RECORDS:
        return answer.of_all(Refusal(ErrorCode.policy_violation, texts.too_many_partitions))
    planner, quota = Planner(context.cluster), MutationQuota(context, _STRICT_FROM)
    for topic in sound:
        plan = planner.plan(topic)
        refusal = quota.take(len(plan.replicas)) if isinstance(plan, PlannedTopic) else None
        results[topic.name] = refusal or plan
    planned = [result for result in results.values() if isinstance(result, PlannedTopic)]
    if sum(plan.records for plan in planned) > MAX_RECORDS:
        return answer.of_all(Refusal(ErrorCode.policy_violation, texts.too_many_records))
    ids = {plan.name: uuid4() for plan in planned}
    if not request.validate_only:
        for plan in planned:
            create(context.state, plan, ids[plan.name])
    return answer.of(results, ids, throttle=quota.hold_back())


async def _with_zookeeper(request: Any, wanted: Sequence[WantedTopic], context: RequestContext) -> Any:
    """Create topics one by one. One without leaders in time, or that was not waited for, has REQUEST_TIMED_OUT."""
    state, timeout = context.state, request.timeout.total_seconds()
    results = _unacceptable(context, wanted)
    early = frozenset(results)
    planner, quota = Planner(context.cluster), MutationQuota(context, _STRICT_FROM)
    ids: dict[str, UUID] = {}
    for topic in wanted:
        if topic.name in early:
            continue
        plan = results[topic.name] = planner.plan(topic)
        if request.validate_only or not isinstance(plan, PlannedTopic):
            continue
        if refusal := quota.take(len(plan.replicas)):
            results[topic.name] = refusal
            continue
        ids[topic.name] = uuid4()
        create(state, plan, ids[topic.name])
    leading = await wait_for_leaders(state, context.clock, ids, timeout) if timeout > 0 else set()
    results |= {name: EXPIRED for name in ids if name not in leading}
    return _Answer(context, wanted).of(results, ids, early, quota.hold_back())


def _wanted(item: Any) -> WantedTopic:
    return WantedTopic(
        item.name,
        item.num_partitions,
        item.replication_factor,
        tuple((part.partition_index, tuple(part.broker_ids)) for part in item.assignments),
        {config.name: config.value for config in item.configs},
    )


def _unacceptable(context: RequestContext, wanted: Sequence[WantedTopic]) -> Results:
    """Return the topics that are refused before the controller sees them."""
    texts, kraft = topic_messages(context.cluster.release), context.cluster.release.kraft
    everything = context.allowed("CREATE")
    results: Results = {}
    for name, count in Counter(topic.name for topic in wanted).items():
        if count > 1:
            results[name] = Refusal(ErrorCode.invalid_request, texts.twice)
        # With ZooKeeper the name of the metadata log is an ordinary topic.
        elif name == METADATA_TOPIC and kraft:
            results[name] = Refusal(texts.metadata_topic_code, texts.metadata_topic.format(name=name))
        elif not everything and not context.allowed("CREATE", "TOPIC", name):
            results[name] = Refusal(ErrorCode.topic_authorization_failed, texts.create_refused)
    return results


class _Answer:
    """Builds the response to one request."""

    def __init__(self, context: RequestContext, wanted: Sequence[WantedTopic]) -> None:
        self._context = context
        self._schema = context.schema
        self._names = [topic.name for topic in wanted]
        self._kraft = context.cluster.release.kraft
        self._new_configs = NewTopicConfigs(context.cluster) if context.version >= _CONFIGS_FROM else None

    def of_all(self, refusal: Refusal) -> Any:
        """Return the same error for every topic."""
        return self.of(dict.fromkeys(self._names, refusal), {})

    def of(
        self,
        results: Results,
        ids: Mapping[str, UUID],
        early: frozenset[str] = frozenset(),
        throttle: timedelta = NO_TIME,
    ) -> Any:
        """Return the response. KRaft has one result for a repeated name, ZooKeeper as many as there are.

        Args:
            ids: of the topics that were or would be created.
            early: topics that were refused before their configs were checked.
            throttle: how long the client is to wait for its mutation quota.
        """
        names = dict.fromkeys(self._names) if self._kraft else self._names
        return for_version(
            self._schema.CreateTopicsResponse,
            throttle_time=throttle,
            topics=tuple(self._topic(name, results[name], ids.get(name), early) for name in names),
        )

    def _topic(self, name: str, result: PlannedTopic | Refusal, topic_id: UUID | None, early: frozenset[str]) -> Any:
        error = result if isinstance(result, Refusal) else Refusal(0)
        fields: dict[str, Any] = {"num_partitions": -1, "replication_factor": -1, "configs": ()}
        if self._new_configs is not None and (name in early or isinstance(result, PlannedTopic)):
            if not self._context.allowed("DESCRIBE_CONFIGS", "TOPIC", name):
                fields["topic_config_error_code"] = ErrorCode.topic_authorization_failed
            elif isinstance(result, PlannedTopic):
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
        self._definitions, self._synonyms = configs.topic, configs.topic_synonyms
        self._kraft = cluster.release.kraft
        self._inherited = {
            name: NewTopicConfig(name, self._layers.inherited(definition), self._source(definition))
            for name, definition in sorted(configs.topic.items())
            if not definition.internal
        }

    def of(self, own: Mapping[str, str]) -> tuple[NewTopicConfig, ...]:
        """Return every config of a topic with these overrides."""
        return tuple(
            NewTopicConfig(name, self._own(name, own[name]), DYNAMIC_TOPIC_CONFIG) if name in own else inherited
            for name, inherited in self._inherited.items()
        )

    def _own(self, name: str, text: str) -> str:
        """Return an override as the answer has it: KRaft's controller returns the value as the client wrote it."""
        return text if self._kraft else canonical_value(self._definitions[name], text)

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
