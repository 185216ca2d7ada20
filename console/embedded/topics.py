"""Topics: the checks of names, creation, waiting for leaders, and the quota for partition changes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import cache
from uuid import UUID

from kio.schema.errors import ErrorCode
from msgspec import Struct, field

from console.embedded.clock import Clock, event_or_time
from console.embedded.config_definitions import BrokerLayers, release_configs
from console.embedded.config_rules import inherited_configs, topic_config_error
from console.embedded.context import Cluster, RequestContext
from console.embedded.group_coordinator import INTERNAL_TOPICS
from console.embedded.refusals import Refusal
from console.embedded.replicas import Replicas, new_topic, new_topic_refusal, place_replicas
from console.embedded.state import ClusterState
from console.embedded.tables import NO_LEADER, Change, unified
from console.model.config import topic_resource

METADATA_TOPIC = "__cluster_metadata"
"""The topic of KRaft's metadata log, which clients can name only in DescribeQuorum."""
MAX_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def is_legal(name: str) -> bool:
    """Return whether a topic name is valid: 1 to 249 of the characters ``a-zA-Z0-9._-``, and not ``.`` or ``..``
    (org.apache.kafka.common.internals.Topic).
    """
    return name not in (".", "..") and len(name) <= MAX_LENGTH and _LEGAL.fullmatch(name) is not None


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.invalid_topic_exception, message)


def name_refusal(name: str, state: ClusterState) -> Refusal | None:
    """Return the reason why a new topic can't have this name; None if it can (Topic.validate). An existing topic is a
    reason only if its name differs from this one in ``.`` and ``_`` alone.
    """
    if not name:
        return _invalid("Topic name is invalid: the empty string is not allowed")
    if name in (".", ".."):
        return _invalid(f"Topic name is invalid: '{name}' is not allowed")
    if len(name) > MAX_LENGTH:
        return _invalid(
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"
        )
    if not is_legal(name):
        return _invalid(
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' "
            "and '-'",
        )
    # Names of metrics replace both characters with the same one, so two such topics would share their metrics.
    other = state.topics.like(name) if "_" in unified(name) else None
    if other is not None and other != name:
        return _invalid(f"Topic '{name}' collides with existing topic: {other}")
    return None


DEFAULT = -1


class WantedTopic(Struct, frozen=True):
    """A topic that a client wants to create."""

    name: str
    partitions: int = DEFAULT
    """The number of partitions; `DEFAULT` for the cluster's default."""
    replication: int = DEFAULT
    """The replication factor; `DEFAULT` for the cluster's default."""
    assignments: tuple[tuple[int, Replicas], ...] = ()
    """Pairs of partition number and broker ids of its replicas, which replace `partitions` and `replication`; empty if
    the cluster shall place the replicas.
    """
    configs: Mapping[str, str | None] = field(default_factory=dict)

    def partition_count(self, default: int) -> int:
        """Return the number of partitions to create, before any validation. default: the cluster's default number."""
        if self.assignments:
            return len(self.assignments)
        return default if self.partitions == DEFAULT else max(self.partitions, 0)


class PlannedTopic(Struct, frozen=True):
    """A topic that passed validation, with the replicas of its partitions."""

    name: str
    replicas: tuple[Replicas, ...]
    """The broker ids of the replicas of each partition, in the order of the partition numbers."""
    configs: Mapping[str, str]

    @property
    def records(self) -> int:
        """The number of metadata records that the topic needs: one for itself, each partition and each config."""
        return 1 + len(self.replicas) + len(self.configs)


class Planner:
    """A validator of the topics in one request, which makes its checks in the order of the release's brokers. It
    changes nothing.

    See ReplicationControlManager.createTopics.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._state = cluster.state
        self._inherited = cache(self._of_controller)

    def plan(self, wanted: WantedTopic) -> PlannedTopic | Refusal:
        """Return the topic as it would be created, or the refusal because of the first error."""
        # Check in the order of Kafka's ReplicationControlManager, which decides which error a client gets if there are
        # several.
        refusal = self.refusal(wanted) or self._both(wanted)
        if refusal is not None:
            return refusal
        if wanted.assignments:
            return new_topic_refusal(wanted.assignments, self._state) or self.assigned(wanted)
        return self._replication(wanted) or self._partitions(wanted) or self.counted(wanted)

    def refusal(self, wanted: WantedTopic) -> Refusal | None:
        """Return the refusal because of the first error that does not depend on the placement of replicas; None if
        there is none.
        """
        return self._existing(wanted) or name_refusal(wanted.name, self._state) or self._config_refusal(wanted)

    def _existing(self, wanted: WantedTopic) -> Refusal | None:
        if wanted.name not in self._state.topics:
            return None
        return Refusal(ErrorCode.topic_already_exists, f"Topic '{wanted.name}' already exists.")

    def _both(self, wanted: WantedTopic) -> Refusal | None:
        if not wanted.assignments:
            return None
        if wanted.replication != DEFAULT:
            return Refusal(
                ErrorCode.invalid_request,
                "A manual partition assignment was specified, but replication factor was not set to -1.",
            )
        if wanted.partitions != DEFAULT:
            return Refusal(
                ErrorCode.invalid_request,
                "A manual partition assignment was specified, but numPartitions was not set to -1.",
            )
        return None

    def _replication(self, wanted: WantedTopic) -> Refusal | None:
        if wanted.replication > 0 or wanted.replication == DEFAULT:
            return None
        return Refusal(
            ErrorCode.invalid_replication_factor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )

    def _partitions(self, wanted: WantedTopic) -> Refusal | None:
        if wanted.partitions > 0 or wanted.partitions == DEFAULT:
            return None
        return Refusal(ErrorCode.invalid_partitions, "Number of partitions was set to an invalid non-positive value.")

    def _config_refusal(self, wanted: WantedTopic) -> Refusal | None:
        if not wanted.configs:
            return None
        error = topic_config_error(self._cluster.release, wanted.configs, self._inherited())
        return None if error is None else Refusal(ErrorCode.invalid_config, error)

    def _of_controller(self) -> Mapping[str, str]:
        cluster, configs = self._cluster, release_configs(self._cluster.release.name)
        layers = BrokerLayers.of(configs, self._state.view, self._state.controller_id, cluster.spec.static_configs)
        return inherited_configs(configs, layers)

    def assigned(self, wanted: WantedTopic) -> PlannedTopic:
        """Return the topic with the replicas in the request, which the caller has validated."""
        parts = dict(wanted.assignments)
        return PlannedTopic(wanted.name, tuple(parts[number] for number in sorted(parts)), _set(wanted))

    def counted(self, wanted: WantedTopic) -> PlannedTopic | Refusal:
        """Return the topic with replicas that the cluster places, or the refusal because there are too few brokers."""
        partitions, replication = self._cluster.topic_defaults
        partitions = partitions if wanted.partitions == DEFAULT else wanted.partitions
        replication = replication if wanted.replication == DEFAULT else wanted.replication
        # Place the first replica of each topic on another broker, as broker 1 would otherwise lead all small topics.
        begun = len(self._state.tables.topics.own)
        replicas = place_replicas(self._state, partitions, replication, begun)
        return replicas if isinstance(replicas, Refusal) else PlannedTopic(wanted.name, replicas, _set(wanted))


def _set(wanted: WantedTopic) -> dict[str, str]:
    return {key: value for key, value in wanted.configs.items() if value is not None}


def create(state: ClusterState, planned: PlannedTopic, topic_id: UUID | None = None) -> int:
    """Create a topic with its configs, and return the offset of the last change in the change log. topic_id: the id;
    None for a random one.
    """
    internal = planned.name in INTERNAL_TOPICS
    topic = new_topic(planned.name, planned.replicas, state.alive(), internal=internal, topic_id=topic_id)
    offset = state.put_topic(topic)
    if planned.configs:
        offset = state.replace_config(topic_resource(planned.name), planned.configs)
    return offset


def has_leaders(state: ClusterState, name: str) -> bool:
    """Return whether the topic exists and all its partitions have a leader."""
    topic = state.topics.get(name)
    return topic is not None and all(partition.leader != NO_LEADER for partition in topic.partitions)


async def wait_for_leaders(state: ClusterState, clock: Clock, names: Collection[str], within: float) -> set[str]:
    """Wait until all partitions of these topics have a leader (KIP-4).

    Args:
        within: the maximum seconds to wait.

    Returns:
        The names of the topics whose partitions all have one.
    """
    settled = asyncio.Event()

    def check(_change: Change | None = None) -> None:
        if all(has_leaders(state, name) for name in names):
            settled.set()

    unsubscribe = state.subscribe(check)
    try:
        check()
        if not settled.is_set() and within > 0:
            await event_or_time(settled, clock, clock.time() + within)
    finally:
        unsubscribe()
    return {name for name in names if has_leaders(state, name)}


class MutationQuota:
    """The count of the partition changes of one request for the client's quota (controller_mutation_rate, KIP-599).

    In versions of an API that have THROTTLING_QUOTA_EXCEEDED, the controller refuses changes above the quota. In older
    versions it makes them, and throttles the client (StrictControllerMutationQuota, PermissiveControllerMutationQuota).
    """

    def __init__(self, context: RequestContext, strict_from: int) -> None:
        self._context = context
        self._strict = context.version >= strict_from
        self._wait = 0.0

    def take(self, partitions: int) -> Refusal | None:
        """Count a change of this many partitions; return None. If the change exceeds the quota and has to be refused,
        return the refusal without counting it.
        """
        throttling = self._context.cluster.throttling
        # Refuse the change before it is counted, so that retries do not lengthen the wait.
        if self._strict:
            wait = throttling.mutations_allowed(self._context.requester)
            if wait > 0:
                self._wait = wait
                return Refusal(ErrorCode.throttling_quota_exceeded)
        counted = throttling.count_mutations(self._context.requester, partitions)
        if not self._strict:
            self._wait = counted
        return None

    def hold_back(self) -> timedelta:
        """Throttle the client until it meets its quota again; return the length of that time."""
        session = self._context.session
        session.mute = max(session.mute, self._wait)
        return timedelta(milliseconds=round(self._wait * 1000))
