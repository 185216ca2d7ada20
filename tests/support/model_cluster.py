"""A cluster as plain dictionaries that applies change requests and returns a snapshot as Kafka's brokers would.

Written from Kafka's own rules (ConfigurationControlManager, ConfigHelper, ClientQuotaControlManager) without code of
console.plan, so that it does not repeat that code's mistakes. It stores raw values, and computes every description from
them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from console.model import acl, broker_keys, changes, codes, quota, secret, snapshot
from console.model.cluster import Broker, ClusterInfo, Partition, ScramCredential, Topic
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, Synonym
from console.model.failure import Failure

LIMIT = 10_000


class Key(NamedTuple):
    """A config key that the model's brokers have. default: None if Kafka has no default (``log.retention.ms``)."""

    type: str
    default: str | None
    dynamic: bool = True
    sensitive: bool = False


BROKER_KEYS = {
    "compression.type": Key("STRING", "producer"),
    "group.consumer.session.timeout.ms": Key("INT", "45000", dynamic=False),
    "group.consumer.assignment.interval.ms": Key("INT", "1000"),
    "log.cleaner.min.cleanable.ratio": Key("DOUBLE", "0.5"),
    "log.cleanup.policy": Key("LIST", "delete"),
    "log.dirs": Key("STRING", None, dynamic=False),
    "log.flush.interval.ms": Key("LONG", None),
    "log.flush.scheduler.interval.ms": Key("LONG", "9223372036854775807", dynamic=False),
    "log.preallocate": Key("BOOLEAN", "false"),
    "log.retention.hours": Key("INT", "168", dynamic=False),
    "log.retention.minutes": Key("INT", None, dynamic=False),
    "log.retention.ms": Key("LONG", None),
    "max.connections": Key("INT", "2147483647"),
    "num.partitions": Key("INT", "1", dynamic=False),
    "ssl.keystore.password": Key("PASSWORD", None, sensitive=True),
}
"""Broker config key -> its definition: the subset of Kafka's keys that the rules of this model need."""

TOPIC_KEYS = {
    "cleanup.policy": ("LIST", "log.cleanup.policy"),
    "compression.type": ("STRING", "compression.type"),
    "flush.ms": ("LONG", "log.flush.interval.ms"),
    "leader.replication.throttled.replicas": ("LIST", None),
    "min.cleanable.dirty.ratio": ("DOUBLE", "log.cleaner.min.cleanable.ratio"),
    "preallocate": ("BOOLEAN", "log.preallocate"),
    "retention.ms": ("LONG", "log.retention.ms"),
}
"""Topic config key -> its type and the broker config that it first inherits from."""

GROUP_KEYS = {
    "consumer.session.timeout.ms": ("INT", "group.consumer.session.timeout.ms"),
    "consumer.assignment.interval.ms": ("INT", "group.consumer.assignment.interval.ms"),
}
CLIENT_METRICS_KEYS = {"interval.ms": ("INT", "300000"), "match": ("LIST", ""), "metrics": ("LIST", "")}
LOGGERS = ("kafka.server", "root")

_TYPES = {name: codes.ConfigType(number) for number, name in codes.ConfigType.NAMES.items()}
_IN_MS = {"log.retention.hours": 3_600_000, "log.retention.minutes": 60_000}


def same_key(name: str) -> list[str]:
    """Return the names under which a broker looks up one of its config keys, strongest first."""
    if name.startswith("log.retention.") and name != "log.retention.bytes":
        return ["log.retention.ms", "log.retention.minutes", "log.retention.hours"]
    if name == "log.flush.interval.ms":
        return [name, "log.flush.scheduler.interval.ms"]
    return [name, name.split(".", 3)[3]] if name.startswith("listener.name.") else [name]


def as_read(resource: ConfigResource, entries: Iterable[ConfigEntry]) -> ConfigSet:
    """Return the config set of a resource as kac's client reads it from these entries."""
    found = ConfigSet(tuple(entries))
    return broker_keys.as_altered(found) if resource.type == codes.BROKER else found


@dataclass
class ModelCluster:
    """The stored state of the model. static: broker id -> key -> value of its server.properties. requests: number of
    requests applied.
    """

    static: dict[int, dict[str, str]] = field(default_factory=lambda: {1: {}, 2: {}})
    configs: dict[ConfigResource, dict[str, str]] = field(default_factory=dict)
    levels: dict[tuple[str, str], str] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    quotas: dict[quota.QuotaEntity, dict[str, float]] = field(default_factory=dict)
    acls: set[acl.Acl] = field(default_factory=set)
    scram: dict[tuple[str, int], int] = field(default_factory=dict)
    requests: int = 0

    # -- changing --------------------------------------------------------------------------------------------------

    def apply(self, request: changes.ChangeRequest) -> tuple[changes.Outcome, ...]:
        """Apply a change request as a broker would; return the outcome of each target. Raises AssertionError if the
        request breaks a rule of the protocol, such as the controller's limit of records in one change.
        """
        self.requests += 1
        match request:
            case changes.AlterConfigs():
                return self._alter_configs(request)
            case changes.AlterQuotas(ops=quota_ops):
                assert sum(map(len, quota_ops.values())) <= LIMIT
                for entity, values in quota_ops.items():
                    mine = self.quotas.setdefault(entity, {})
                    for key, value in values.items():
                        if value is None:
                            mine.pop(key, None)
                        else:
                            assert value > 0
                            mine[key] = value
                    if not mine:
                        del self.quotas[entity]
                return applied(*quota_ops)
            case changes.CreateTopics(topics=new):
                assert sum(1 + max(len(t.assignments), t.partitions, 1) + len(t.configs) for t in new) <= LIMIT
                for topic in new:
                    assert topic.name not in self.topics
                    self.topics[topic.name] = max(len(topic.assignments), topic.partitions, 1)
                    self.configs[ConfigResource(codes.TOPIC, topic.name)] = {
                        k: text(v) for k, v in topic.configs.items()
                    }
                return applied(*(changes.TopicTarget(topic.name) for topic in new))
            case changes.CreatePartitions(counts=counts):
                assert sum(count - self.topics[name] for name, count in counts.items()) <= LIMIT
                for name, count in counts.items():
                    assert count > self.topics[name]
                    self.topics[name] = count
                return applied(*map(changes.TopicTarget, counts))
            case changes.DeleteTopics(names=names):
                assert len(names) == len(set(names)) <= LIMIT
                for name in names:
                    del self.topics[name]
                    self.configs.pop(ConfigResource(codes.TOPIC, name), None)
                return applied(*map(changes.TopicTarget, names))
            case changes.CreateAcls(acls=acls):
                assert len(acls) == len(set(acls)) <= LIMIT
                self.acls |= set(acls)
                return applied(*acls)
            case changes.DeleteAcls(acls=acls):
                assert len(acls) == len(set(acls)) <= LIMIT
                self.acls -= set(acls)
                return applied(*acls)
            case changes.AlterScram(upserts=upserts, deletions=deletions):
                users = [who.user for who in (*upserts, *deletions)]
                assert len(users) == len(set(users)), "a user credential cannot be altered twice in the same request"
                assert not (upserts and deletions), "brokers may lose what is set while others are deleted"
                for who, (iterations, _) in upserts.items():
                    self.scram[who.user, int(who.mechanism)] = iterations
                for who in deletions:
                    del self.scram[who.user, int(who.mechanism)]
                return applied(*upserts, *deletions)
        raise AssertionError(f"no plan makes {request}")

    def _alter_configs(self, request: changes.AlterConfigs) -> tuple[changes.Outcome, ...]:
        outcomes = []
        assert sum(len(ops) for r, ops in request.ops.items() if r.type != codes.BROKER_LOGGER) <= LIMIT
        for resource, ops in request.ops.items():
            assert len({op.key for op in ops}) == len(ops) > 0
            if resource.type in (codes.BROKER, codes.BROKER_LOGGER) and resource.name:
                assert request.broker == int(resource.name), "sent to another broker"
            if resource.type == codes.TOPIC and resource.name not in self.topics:
                failure = Failure("UNKNOWN_TOPIC_OR_PARTITION")
                outcomes.append(changes.Outcome(resource, changes.Status.FAILED, failure))
                continue
            for op in ops:
                self._alter(resource, op)
            outcomes.append(changes.Outcome(resource, changes.Status.APPLIED))
        return tuple(outcomes)

    def _alter(self, resource: ConfigResource, op: changes.ConfigOp) -> None:
        if resource.type == codes.BROKER_LOGGER:
            assert op.op.name in ("SET", "DELETE")
            if op.op.name == "SET":
                self.levels[resource.name, op.key] = text(op.value)
            else:
                assert op.key != "root"
                self.levels.pop((resource.name, op.key), None)
            return
        mine = self.configs.setdefault(resource, {})
        if op.op.name == "SET":
            mine[op.key] = text(op.value)
        elif op.op.name == "DELETE":
            assert op.value is None
            mine.pop(op.key, None)
        else:
            assert self._type(resource, op.key) == "LIST"
            items = [part for part in mine.get(op.key, self._kafka_default(resource, op.key)).split(",") if part]
            for item in text(op.value).split(","):
                if op.op.name == "APPEND" and item not in items:
                    items.append(item)
                elif op.op.name == "SUBTRACT" and item in items:
                    items.remove(item)
            mine[op.key] = ",".join(items)

    def _type(self, resource: ConfigResource, key: str) -> str:
        if resource.type == codes.TOPIC:
            return TOPIC_KEYS[key][0]
        if resource.type == codes.CLIENT_METRICS:
            return CLIENT_METRICS_KEYS[key][0]
        return GROUP_KEYS[key][0] if resource.type == codes.GROUP else BROKER_KEYS[key].type

    def _kafka_default(self, resource: ConfigResource, key: str) -> str:
        if resource.type == codes.CLIENT_METRICS:
            return CLIENT_METRICS_KEYS[key][1]
        if resource.type == codes.TOPIC:
            first = TOPIC_KEYS[key][1]
            return BROKER_KEYS[first].default or "" if first else ""
        return BROKER_KEYS[key].default or ""

    # -- describing ------------------------------------------------------------------------------------------------

    def describe(self, seen_by: int = 1) -> snapshot.Snapshot:
        """Return a snapshot of everything, with the configs of topics and groups as broker `seen_by` sees them."""
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return snapshot.Snapshot(
            cluster=ClusterInfo("model", 1, tuple(Broker(id_, "localhost", 9092 + id_) for id_ in self.static)),
            topics={
                name: Topic(name, tuple(Partition(number, -1, (), ()) for number in range(count)))
                for name, count in self.topics.items()
            },
            configs={resource: as_read(resource, entries) for resource, entries in self._described(seen_by)},
            configs_from=seen_by,
            quotas={entity: dict(values) for entity, values in self.quotas.items()},
            acls=tuple(sorted(self.acls)),
            scram=self._credentials(),
            read_at=dict.fromkeys(("cluster", "topics", "configs", "quotas", "acls", "scram"), at),
        )

    def _credentials(self) -> dict[str, tuple[ScramCredential, ...]]:
        from console.model.codes import ScramMechanism

        found: dict[str, tuple[ScramCredential, ...]] = {}
        for (user, mechanism), iterations in sorted(self.scram.items()):
            found[user] = (*found.get(user, ()), ScramCredential(ScramMechanism(mechanism), iterations))
        return found

    def _described(self, seen_by: int) -> Iterator[tuple[ConfigResource, list[ConfigEntry]]]:
        yield ConfigResource(codes.BROKER, ""), self._cluster_default()
        for id_ in self.static:
            yield ConfigResource(codes.BROKER, str(id_)), self._broker(id_)
            yield (
                ConfigResource(codes.BROKER_LOGGER, str(id_)),
                [ConfigEntry(name, self._level(id_, name), codes.ConfigSource(6)) for name in LOGGERS],
            )
        for name in self.topics:
            yield self._inheriting(ConfigResource(codes.TOPIC, name), TOPIC_KEYS, seen_by, codes.ConfigSource(1))
        for name in ("g1", "g2"):
            yield self._inheriting(ConfigResource(codes.GROUP, name), GROUP_KEYS, seen_by, codes.ConfigSource(8))
        for name in ("m1", "m2"):
            resource = ConfigResource(codes.CLIENT_METRICS, name)
            mine = self.configs.get(resource, {})
            entries = []
            for key, (type_, default) in sorted(CLIENT_METRICS_KEYS.items()):
                source = codes.ConfigSource(7 if key in mine else 5)
                value = written(type_, mine.get(key, default))
                synonyms = (Synonym(key, value, source),) if key in mine else ()
                entries.append(ConfigEntry(key, value, source, type=_TYPES[type_], synonyms=synonyms))
            yield resource, entries

    def _level(self, broker: int, logger: str) -> str:
        return self.levels.get((str(broker), logger)) or self.levels.get((str(broker), "root"), "INFO")

    def _cluster_default(self) -> list[ConfigEntry]:
        entries = []
        for key, raw in sorted(self.configs.get(ConfigResource(codes.BROKER, ""), {}).items()):
            known = self._known(key)
            value = None if known.sensitive else raw
            synonym = Synonym(key, value, codes.ConfigSource(3))
            entries.append(self._entry(key, value, synonym.source, (synonym,)))
        return entries

    @staticmethod
    def _known(key: str) -> Key:
        """Return the definition of a broker config; an unknown key counts as sensitive."""
        return BROKER_KEYS.get(same_key(key)[-1] if key.startswith("listener.") else key, Key("", None, sensitive=True))

    def _entry(
        self, key: str, value: str | None, source: codes.ConfigSource, synonyms: tuple[Synonym, ...]
    ) -> ConfigEntry:
        known = self._known(key)
        read_only = key not in BROKER_KEYS or not known.dynamic
        type_ = _TYPES[known.type] if known.type else codes.ConfigType(0)
        return ConfigEntry(key, value, source, read_only, known.sensitive, type_, synonyms)

    def _synonyms(self, key: str, broker: int) -> list[Synonym]:
        """Return a key's synonyms in the order of ConfigHelper.configSynonyms: all names at the strongest source, then
        at the next, beginning with the key's own name.
        """
        stores = (
            (2, self.configs.get(ConfigResource(codes.BROKER, str(broker)), {})),
            (3, self.configs.get(ConfigResource(codes.BROKER, ""), {})),
            (4, self.static[broker]),
            (5, {name: known.default for name, known in BROKER_KEYS.items() if known.default is not None}),
        )
        found = []
        for source, store in stores:
            for name in same_key(key):
                if name in store:
                    value = None if self._known(key).sensitive else store[name]
                    found.append(Synonym(name, value, codes.ConfigSource(source)))
        while found and found[0].name != key:
            found.pop(0)
        return found

    def _broker(self, broker: int) -> list[ConfigEntry]:
        own = self.configs.get(ConfigResource(codes.BROKER, str(broker)), {})
        default = self.configs.get(ConfigResource(codes.BROKER, ""), {})
        entries = []
        for key in sorted({*BROKER_KEYS, *own, *default}):
            synonyms = self._synonyms(key, broker)
            source = synonyms[0].source if synonyms else codes.ConfigSource(5)
            value = None
            if synonyms and synonyms[0].value is not None:
                value = written(self._known(key).type, synonyms[0].value)
            entries.append(self._entry(key, value, source, tuple(synonyms)))
        return entries

    def _inheriting(
        self, resource: ConfigResource, keys: Mapping[str, tuple[str, str | None]], broker: int, own: codes.ConfigSource
    ) -> tuple[ConfigResource, list[ConfigEntry]]:
        mine = self.configs.get(resource, {})
        entries = []
        for key, (type_, first) in sorted(keys.items()):
            synonyms = self._synonyms(first, broker) if first else []
            if key in mine:
                synonyms.insert(0, Synonym(key, written(type_, mine[key]), own))
            source = synonyms[0].source if synonyms else codes.ConfigSource(5)
            value = written(type_, mine[key] if key in mine else self._inherited(first, broker))
            entries.append(ConfigEntry(key, value, source, type=_TYPES[type_], synonyms=tuple(synonyms)))
        return resource, entries

    def _inherited(self, first: str | None, broker: int) -> str:
        """Return the value that a key inherits on a broker; ``""`` if it inherits none. first: the first name under
        which the broker looks for the value; None if the key inherits nothing.

        It is the value of the first name that has one, in milliseconds if the name is of another unit of time, as
        KafkaConfig converts it.
        """
        for name in same_key(first) if first else []:
            values = [synonym for synonym in self._synonyms(name, broker) if synonym.name == name]
            if values and values[0].value is not None:
                return str(int(values[0].value) * _IN_MS[name]) if name in _IN_MS else values[0].value
        return ""


def text(value: str | secret.Secret | None) -> str:
    """Return a config value as text; a secret is revealed. Raises AssertionError for None."""
    assert value is not None
    return value.reveal() if isinstance(value, secret.Secret) else value


def written(type_: str, raw: str) -> str:
    """Return raw text in the form in which Kafka writes a value of this type (ConfigDef.parseType, then
    convertToString).
    """
    if type_ == "LIST":
        return ",".join(part.strip() for part in raw.split(",")) if raw.strip() else ""
    if type_ == "BOOLEAN":
        return raw.strip().lower()
    if type_ in ("INT", "LONG"):
        return str(int(raw))
    return str(float(raw)) if type_ == "DOUBLE" else raw.strip()


def applied(*targets: changes.Target) -> tuple[changes.Outcome, ...]:
    """Return an outcome APPLIED for each target."""
    return tuple(changes.Outcome(target, changes.Status.APPLIED) for target in targets)
