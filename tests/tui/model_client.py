"""A client that answers a session's operations at once, from a model cluster without brokers."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from console.admin.errors import AdminError
from console.model import cluster as model_cluster
from console.model.acl import AclFilter, filter_for
from console.model.changes import ChangeRequest, Outcome, Status
from console.model.codes import CLIENT_METRICS, GROUP, TOPIC
from console.model.config import ConfigListing, ConfigResource
from console.model.failure import Failure
from console.model.quota import QuotaEntity, QuotaFilter
from console.model.snapshot import Snapshot
from console.model.topic_readers import TopicReaders
from tests.support.model_cluster import ModelCluster

DOCUMENTATION = "<p>How long a <code>log</code> is kept &amp; what then.</p>"


@dataclass
class ModelClient:
    """Answers the operations of `console.admin` from a `ModelCluster`.

    Args:
        lost: an error that all operations raise; None for no error.
        silent: ids of brokers that do not answer.
        refused: config key or name of a target -> the reason with which a check or a change of it fails.
        partitions: topic -> its partitions, if they are not the default ones.
        groups: group -> its lags.
        described: group -> its description, if it is not the default one.
        asked: the names of the operations so far, in their order.
    """

    cluster: ModelCluster
    lost: AdminError | None = None
    refused: dict[str, Failure] = field(default_factory=dict)
    partitions: dict[str, tuple[model_cluster.Partition, ...]] = field(default_factory=dict)
    internal: set[str] = field(default_factory=set)
    denied: dict[str, Failure] = field(default_factory=dict)
    racks: dict[int, str] = field(default_factory=dict)
    groups: dict[str, model_cluster.GroupLag] = field(default_factory=dict)
    described: dict[str, model_cluster.Group] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    sent: list[tuple[ChangeRequest, bool]] = field(default_factory=list)

    async def run(self, operation: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """Note the operation, and return the model's answer to it. Raises `lost` if it is set. Operations on the
        client's own counts of throttling are not noted, because they need no request.
        """
        name = operation.__name__
        if name in ("count_throttled", "throttled_ms"):
            return 0  # no request to a broker
        self.asked.append(name)
        if self.lost is not None:
            raise self.lost
        answer: Any = getattr(self, f"_{name.lstrip('_')}")
        return answer(*args, **options)

    @property
    def _snapshot(self) -> Snapshot:
        return self.cluster.describe()

    def _describe_cluster(self) -> model_cluster.ClusterInfo:
        brokers = tuple(
            model_cluster.Broker(id_, "localhost", 9092 + id_, self.racks.get(id_)) for id_ in self.cluster.static
        )
        return model_cluster.ClusterInfo("model-cluster", 1, brokers)

    def _describe_quorum(self) -> model_cluster.Quorum:
        return model_cluster.Quorum(
            2, 7, 100, (model_cluster.QuorumReplica(1, 98, 2), model_cluster.QuorumReplica(2, 100, 0)), ()
        )

    def _describe_versions(self) -> dict[int, model_cluster.BrokerVersion]:
        return {id_: model_cluster.BrokerVersion("4.3", {}) for id_ in self.cluster.static}

    def _silent_brokers(self, _within: float) -> frozenset[int]:
        return frozenset(self.silent)

    def _silence(self, _within: float) -> model_cluster.Silence:
        return model_cluster.Silence(frozenset(self.silent))

    def _reconnect(self) -> None:
        pass

    def _topic(self, name: str) -> model_cluster.Topic:
        plain = tuple(model_cluster.Partition(n, 1 + n % 2, (1, 2), (1, 2)) for n in range(self.cluster.topics[name]))
        return model_cluster.Topic(name, self.partitions.get(name, plain), internal=name in self.internal)

    def _describe_topics(self, names: list[str] | None = None) -> model_cluster.TopicListing:
        wanted = list(self.cluster.topics) if names is None else names
        there = {name: self._topic(name) for name in wanted if name in self.cluster.topics and name not in self.denied}
        gone = {name: Failure("UNKNOWN_TOPIC_OR_PARTITION") for name in wanted if name not in self.cluster.topics}
        return model_cluster.TopicListing(there, {**gone, **self.denied} if names is None else gone)

    def _describe_configs(
        self,
        resources: list[ConfigResource],
        *,
        documentation: bool = False,
        on_chunk: Callable[[ConfigListing], None] | None = None,
        **_: Any,
    ) -> ConfigListing:
        known = self._snapshot.configs
        sets = {}
        for resource in resources:
            if resource in known:
                entries = known[resource].entries
                if documentation:
                    entries = tuple(replace(entry, documentation=DOCUMENTATION) for entry in entries)
                sets[resource] = type(known[resource])(entries)
        failures = {r: Failure("UNKNOWN_TOPIC_OR_PARTITION") for r in resources if r not in known and r.type == TOPIC}
        listing = ConfigListing(sets, failures, described_by=1)
        if on_chunk is not None:
            on_chunk(listing)
        return listing

    def _list_config_resources(self, types: tuple[int, ...]) -> tuple[ConfigResource, ...]:
        return tuple(r for r in self._snapshot.configs if int(r.type) in types and r.type in (GROUP, CLIENT_METRICS))

    def _describe_quotas(self, wanted: QuotaFilter | None = None) -> Any:
        everything = self._snapshot.quotas
        if wanted is None:
            return everything
        assert wanted.strict, "the console asks for exactly one entity, or for all"
        entity = QuotaEntity.of({part.type: part.name for part in wanted.components})
        return {entity: everything[entity]} if entity in everything else {}

    def _describe_acls(self, wanted: AclFilter | None = None) -> Any:
        return tuple(acl for acl in self._snapshot.acls if wanted is None or filter_for(acl) == wanted)

    def _describe_quotas_of(self, filters: list[QuotaFilter], *, batched: bool = True) -> Any:
        known = self._snapshot.quotas
        return [{entity: values for entity, values in known.items() if wanted.finds(entity)} for wanted in filters]

    def _describe_acls_of(self, filters: list[AclFilter]) -> Any:
        return [tuple(acl for acl in self._snapshot.acls if acl.principal == f.principal) for f in filters]

    def _describe_scram(self, users: list[str] | None = None) -> Any:
        known = self._snapshot.scram.items()
        return model_cluster.ScramListing({user: each for user, each in known if users is None or user in users})

    def _describe_log_dirs(
        self, brokers: list[int] | None = None, topics: dict[str, list[int]] | None = None
    ) -> model_cluster.LogDirListing:
        named = self.cluster.topics if topics is None else topics
        replicas = model_cluster.ReplicaSizes(model_cluster.ReplicaSize(name, 0, 5 << 20, 0, False) for name in named)
        asked = [id_ for id_ in self.cluster.static if brokers is None or id_ in brokers]
        return model_cluster.LogDirListing(
            {id_: (model_cluster.LogDir("/d", replicas, 100 << 30, 40 << 30),) for id_ in asked}
        )

    def _ends_at_leaders(self, leaders: Mapping[int, list[tuple[str, int]]]) -> dict[tuple[str, int], int]:
        return {place: 1_000 for places in leaders.values() for place in places}

    def _log_spans(self, since: dict[tuple[str, int], int], began: dict[tuple[str, int], int]) -> Any:
        return {place: model_cluster.LogSpan(0, 1_000, 1_000) for place in since}, []

    def _list_groups(self) -> model_cluster.GroupListing:
        plain = {name: model_cluster.Group(name, "Stable", "classic", coordinator=1) for name in self.groups}
        listed = {name: replace(group, members=None) for name, group in self.described.items()}
        return model_cluster.GroupListing({**plain, **listed})

    def _poll_groups(self, names: list[str], _types: Mapping[str, str] | None = None) -> model_cluster.GroupPolls:
        member = model_cluster.GroupMember("m-1", "client", "/127.0.0.1")
        there = [name for name in names if name in self.groups]
        gone = {name: Failure("GROUP_ID_NOT_FOUND") for name in names if name not in self.groups}
        plain = {name: model_cluster.Group(name, "Stable", "classic", "range", 1, (member,)) for name in there}
        groups = {name: self.described.get(name, group) for name, group in plain.items()}
        return model_cluster.GroupPolls(groups, {name: self.groups[name] for name in there}, gone, gone)

    def _topic_readers(self, topics: Iterable[str], _most: int) -> dict[str, TopicReaders]:
        many = len(self.groups)
        return {topic: TopicReaders({}, many, many) for topic in topics}

    def _newest_batches(self, _led: Mapping[int, object]) -> dict[str, object]:
        return {}

    def _offsets_at(self, _led: Mapping[int, object], _times: object) -> dict[tuple[str, int], dict[int, int]]:
        return {}

    def _newest_records(self, _led: Mapping[int, object]) -> dict[tuple[str, int], object]:
        return {}

    def _probe(self, named: frozenset[int]) -> tuple[frozenset[int], bool]:
        return named, True

    def _send(self, request: ChangeRequest, *, validate_only: bool, on_progress: Any = None) -> tuple[Outcome, ...]:
        self.sent.append((request, validate_only))
        scratch = self.cluster if not validate_only else _copy(self.cluster)
        outcomes = scratch.apply(request)
        status = Status.VALID if validate_only else Status.APPLIED
        return tuple(self._judged(Outcome(outcome.target, status), request) for outcome in outcomes)

    def _judged(self, outcome: Outcome, request: ChangeRequest) -> Outcome:
        """Return the outcome, or a failure in its place if a key or the name of its target is in `refused`."""
        keys = [op.key for op in getattr(request, "ops", {}).get(outcome.target, ()) if hasattr(op, "key")]
        why = next(
            (self.refused[key] for key in (*keys, str(getattr(outcome.target, "name", ""))) if key in self.refused),
            None,
        )
        return outcome if why is None else Outcome(outcome.target, Status.FAILED, why)


def _copy(cluster: ModelCluster) -> ModelCluster:
    from copy import deepcopy

    return deepcopy(cluster)


def lag(topic: str, *lags: int) -> model_cluster.GroupLag:
    """Return the lag of a group in a topic. lags: the records that it is behind in partition 0, 1 and so on."""
    return model_cluster.GroupLag(
        tuple(model_cluster.PartitionLag(topic, n, 100, 100 + behind, behind, "m-1") for n, behind in enumerate(lags))
    )
