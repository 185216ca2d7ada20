"""For each rule of lint, a cluster on which the rule has a finding, and a similar cluster on which it has no finding.

Each is made by changes from the description of a healthy embedded cluster with three brokers in three racks.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from console.embedded.brokers import run_in_thread
from console.embedded.spec import RACKS, ClusterSpec
from console.lint.rule import Seen
from console.lint.rules import RULES
from console.model import certificates, codes, connect, subjects, tokens, topic_analysis
from console.model import cluster as model_cluster
from console.model.acl import Acl
from console.model.config import (
    ConfigEntry,
    ConfigResource,
    ConfigSet,
    Synonym,
    broker_resource,
    topic_resource,
)
from console.model.failure import Failure
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.schema_samples import SchemaSample
from console.session.lint_reading import read_for_lint
from tests.support import connectors, worlds
from tests.support.samples import acl

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
_NOW_MS = round(NOW.timestamp() * 1000)
FILE = {
    "auto.create.topics.enable": "false",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "log.dirs": "/data",
}
"""Key -> value in server.properties of all brokers, with which no rule has a finding."""


@cache
def healthy() -> Seen:
    """Return what lint reads of a healthy cluster: three brokers in three racks, and topics with three replicas, one of
    them compacted.
    """
    spec = ClusterSpec(brokers=3, racks=RACKS, static_configs=FILE)
    with run_in_thread(spec) as made:
        for name in ("orders", "carts", "__consumer_offsets"):
            made.call(worlds.topic(name, 6, 3, internal=name.startswith("__")))
        with worlds.session_on(made) as session:
            seen = asyncio.run(read_for_lint(session, RULES))
    # The connection has no login, so it can't read tokens.
    read_at = dict.fromkeys((*seen.snapshot.read_at, Part.TOKENS), NOW)
    known = replace(seen.snapshot, failures=(), read_at=read_at)
    return replace(seen, snapshot=known, at=NOW)


# -- changes of a cluster ----------------------------------------------------------------------------------------------

Make = Callable[[Seen], Seen]


def with_parts(seen: Seen, **parts: object) -> Seen:
    """Return a cluster description in which these fields of the snapshot are replaced."""
    return replace(seen, snapshot=replace(seen.snapshot, **parts))


def with_config(
    seen: Seen,
    resource: ConfigResource,
    key: str,
    value: str,
    source: codes.ConfigSource | None = None,
    *,
    sensitive: bool = False,
) -> Seen:
    """Return a cluster description in which a resource's config key has this value.

    source: where the value is set; None for a value that the resource itself overrides.
    """
    own = codes.ConfigSource(
        codes.DYNAMIC_DEFAULT_BROKER_CONFIG if resource.is_cluster_default else resource.type.entity.own_source
    )
    at = source or own
    known = {each.name: each for each in seen.snapshot.configs.get(resource, ConfigSet(()))}
    was = known.get(key, ConfigEntry(key, None, at))
    below = tuple(each for each in was.synonyms if each.source > at) if source is None else ()
    entry = replace(was, value=value, source=at, sensitive=sensitive, synonyms=(Synonym(key, value, at), *below))
    entries = ConfigSet(tuple(sorted({**known, key: entry}.values(), key=lambda each: each.name)))
    return with_parts(seen, configs={**seen.snapshot.configs, resource: entries})


def topic(key: str, value: str, name: str = "orders") -> Make:
    """Return a change that overrides a config of a topic."""
    return lambda seen: with_config(seen, topic_resource(name), key, value)


def brokers(key: str, value: str, *ids: int) -> Make:
    """Return a change that sets a config in the server.properties of brokers. ids: the brokers' ids; empty for all
    brokers.
    """

    def make(seen: Seen) -> Seen:
        for broker in ids or (1, 2, 3):
            seen = with_config(seen, broker_resource(broker), key, value, codes.STATIC_BROKER_CONFIG)
        return seen

    return make


def both(*makes: Make) -> Make:
    """Return a change that makes all of these, one after another."""

    def make(seen: Seen) -> Seen:
        for each in makes:
            seen = each(seen)
        return seen

    return make


def placed(*replicas: tuple[int, ...], name: str = "orders", leader: int | None = None) -> Make:
    """Return a change that gives a topic one partition for each tuple of replicas (broker ids).

    leader: broker id of the leader of all partitions; None for the first replica of each.
    """
    partitions = tuple(
        model_cluster.Partition(number, each[0] if leader is None else leader, each, each)
        for number, each in enumerate(replicas)
    )

    def make(seen: Seen) -> Seen:
        was = seen.snapshot.topics.get(name, model_cluster.Topic(name, ()))
        return with_parts(seen, topics={**seen.snapshot.topics, name: replace(was, partitions=partitions)})

    return make


def racks(*names: str | None) -> Make:
    """Return a change that sets the racks of all brokers, in the snapshot's order; None for a broker without a
    rack.
    """

    def make(seen: Seen) -> Seen:
        known = seen.snapshot.cluster
        changed = tuple(replace(b, rack=rack) for b, rack in zip(known.brokers, names, strict=True))
        return with_parts(seen, cluster=replace(known, brokers=changed))

    return make


def acls(*found: Acl) -> Make:
    """Return a change that replaces the cluster's ACLs by these."""
    return lambda seen: with_parts(seen, acls=found)


def quota(key: str, value: float) -> Make:
    """Return a change that replaces the cluster's quotas by one quota of user alice."""
    return lambda seen: with_parts(seen, quotas={QuotaEntity.of({"user": "alice"}): {key: value}})


def voters(count: int) -> Make:
    """Return a change that sets the number of voters of the controller quorum."""
    found = tuple(model_cluster.QuorumReplica(1 + each, 10, 0) for each in range(count))
    return lambda seen: with_parts(seen, quorum=model_cluster.Quorum(1, 1, 10, found, ()))


def features(finalized: Mapping[str, int], **supported: tuple[int, int]) -> Make:
    """Return a change that sets the finalized feature levels, and the levels that every node supports.

    supported: name, with _ for dots, -> lowest and highest level.
    """
    named = {name.replace("_", "."): levels for name, levels in supported.items()}
    nodes = tuple(model_cluster.NodeFeatures(each, supported=named) for each in (1, 2, 3))
    return lambda seen: with_parts(seen, features=model_cluster.ClusterFeatures(finalized, nodes))


def log_dirs(*dirs: model_cluster.LogDir, broker: int = 1) -> Make:
    """Return a change that sets a broker's log directories."""
    return lambda seen: with_parts(seen, log_dirs={**seen.snapshot.log_dirs, broker: dirs})


def log_dir(path: str, *sizes: tuple[str, int], failure: Failure | None = None) -> model_cluster.LogDir:
    """Return a log directory with replicas of partition 0 of topics. sizes: topic and bytes of each replica."""
    replicas = model_cluster.ReplicaSizes((name, 0, size, 0, False) for name, size in sizes)
    return model_cluster.LogDir(path, replicas, 10**12, 10**11, failure)


_CORDONED = model_cluster.LogDir("/data", model_cluster.ReplicaSizes(()), 10**12, 10**11, cordoned=True)


def groups(*found: model_cluster.Group) -> Make:
    """Return a change that replaces the cluster's groups by these."""
    return lambda seen: with_parts(seen, groups={each.name: each for each in found})


def members(count: int, host: str = "/10.0.0.5", *protocols: str) -> tuple[model_cluster.GroupMember, ...]:
    """Return `count` group members on a host that support these assignors."""
    kinds = [*protocols, *[""] * (count - len(protocols))]
    return tuple(model_cluster.GroupMember(f"m{n}", "c", host, protocol=kind) for n, kind in enumerate(kinds))


def versions(*levels: int) -> Make:
    """Return a change that sets the brokers' releases, given as the highest metadata.version level that each
    supports.
    """

    def make(seen: Seen) -> Seen:
        found = {
            broker: model_cluster.BrokerVersion("", {18: (0, 4)}, {"metadata.version": (1, level)})
            for broker, level in enumerate(levels, 1)
        }
        return with_parts(seen, versions=found)

    return make


def token(left_hours: float, last_hours: float = 48, age_hours: float = 23) -> Make:
    """Return a change that adds a delegation token. left_hours: until it expires. last_hours: until its maximum
    lifetime ends. age_hours: since it was issued.
    """
    hour = 3_600_000
    issued = _NOW_MS - round(age_hours * hour)
    ends, last = _NOW_MS + round(left_hours * hour), _NOW_MS + round(last_hours * hour)
    made = tokens.DelegationToken("t1", "User:alice", "User:alice", issued, ends, last)
    return lambda seen: with_parts(seen, tokens={"t1": made})


def schema(subject: str, *texts: str, level: str = "") -> Make:
    """Return a change that adds a subject with a version for each text. level: the subject's own compatibility level;
    ``""`` if it has none.
    """

    def make(seen: Seen) -> Seen:
        versions = tuple(subjects.SchemaVersion(number, number, "AVRO") for number, _ in enumerate(texts, 1))
        found = {(subject, number): subjects.SchemaSource("AVRO", text) for number, text in enumerate(texts, 1)}
        seen = with_parts(seen, schemas={subject: subjects.Subject(subject, versions)}, schema_texts=found)
        return with_config(seen, subjects.subject_resource(subject), subjects.COMPATIBILITY, level) if level else seen

    return make


def with_samples(sample: SchemaSample) -> Make:
    """Return a change that adds a subject for topic orders, and a sample of schemas in the topic's newest records."""
    make = schema("orders-value", '"int"')
    return lambda seen: with_parts(make(seen), schema_samples={"orders": sample})


def certificate(left: timedelta) -> Make:
    """Return a change that adds a broker's certificate, valid for a year in total, of which this time is left."""
    ends = NOW + left
    shown = certificates.Certificate(
        certificates.Listener(1, "b1", 9093, "SSL"), "CN=b1", "CN=ca", ends - timedelta(days=365), ends
    )
    return lambda seen: replace(seen, certificates=(shown,))


def _scram(iterations: int) -> Make:
    credential = model_cluster.ScramCredential(codes.ScramMechanism.parse("SCRAM_SHA_256"), iterations)
    return lambda seen: with_parts(seen, scram={"alice": (credential,)})


_OF_LISTENER = "listener.name.sasl_plaintext.sasl.enabled.mechanisms"


def _share_group(key_value: str) -> Make:
    resource = ConfigResource(codes.GROUP, "shares")
    group = model_cluster.Group("shares", "Stable", "share", members=())
    with_group = both(groups(group), features({"share.version": 2, "metadata.version": 31}))
    return lambda seen: with_config(with_group(seen), resource, "errors.deadletterqueue.topic.name", key_value)


def _listeners(listeners: str, protocols: str) -> Make:
    return both(brokers("listeners", listeners), brokers("listener.security.protocol.map", protocols))


def _advertised(port: int, other: int, *ids: int) -> Make:
    return brokers("advertised.listeners", f"A://kafka.example:{port},B://kafka.example:{other}", *ids)


def connect_cluster(*found: connect.ConnectCluster, **changed: str) -> Make:
    """Return a change that sets the Connect clusters; their sinks write dead letters to a topic. changed: keys of the
    sinks' config; underscores stand for dots.
    """
    configs = {"main/orders-sink": connectors.config(**changed)}

    def make(seen: Seen) -> Seen:
        known = connectors.with_connect(seen.snapshot, *found, configs=configs)
        return replace(seen, snapshot=replace(known, read_at={**known.read_at, Part.CONNECT: NOW}), absent=frozenset())

    return make


def sink(**changed: str) -> Make:
    """Return a change that adds a Connect cluster with one sink connector. changed: keys of its config; underscores
    stand for dots.
    """
    return connect_cluster(connectors.cluster(), **changed)


def topics(*names: str) -> Make:
    """Return a change that adds healthy topics of three partitions."""
    return both(*(placed((1, 2, 3), (2, 3, 1), (3, 1, 2), name=name) for name in names))


_ALONE = connectors.connector(tasks=[connectors.task(0), connectors.task(1)])
_MIRROR = "org.apache.kafka.connect.mirror.Mirror"
_IDLE = connectors.cluster(replace(connectors.connector(), tasks=()))
_GIB = 1 << 30
_SMALL = log_dirs(log_dir("/data", ("orders", 10**6)))


def analyzed(**facts: object) -> Make:
    """Return a change that adds the session's analysis of topic orders, with 2,000 records. facts: other values of the
    analysis.
    """
    found = replace(topic_analysis.TopicAnalysis("orders", NOW, records=2_000), **facts)
    return lambda seen: with_parts(seen, analyses={found.topic: found})


_HEAVY = topic_analysis.HeavyKey(7, topic_analysis.Estimate(1_200, 1_190, 1_200), 2)
_FOUR = tuple(topic_analysis.PartitionCount(number, 500, 5_000, 0) for number in range(4))


class Case(NamedTuple):
    """The clusters of a rule: on `bad` the rule has a finding about `subject`, on `good` it has no finding."""

    bad: Make
    good: Make
    subject: str


CASES: Mapping[str, Case] = {
    "single-replica": Case(placed((1,), (2,)), placed((1, 2), (2, 3)), "topic orders"),
    "coordinator-single-replica": Case(
        placed((1,), (2,), name="__consumer_offsets"),
        placed((1, 2, 3), name="__consumer_offsets"),
        "topic __consumer_offsets",
    ),
    "single-replica-default": Case(
        brokers("default.replication.factor", "1"), brokers("default.replication.factor", "2"), "broker <default>"
    ),
    "coordinator-unavailable": Case(
        brokers("transaction.state.log.replication.factor", "5"),
        both(brokers("transaction.state.log.replication.factor", "5"), placed((1, 2, 3), name="__transaction_state")),
        "topic __transaction_state",
    ),
    "replicas-unequal": Case(placed((1, 2, 3), (1, 2)), placed((1, 2), (2, 3)), "topic orders"),
    "min-isr-impossible": Case(
        topic("min.insync.replicas", "4"), both(placed((1,)), topic("min.insync.replicas", "2")), "topic orders"
    ),
    "min-isr-equals-factor": Case(
        topic("min.insync.replicas", "3"), both(placed((1,)), topic("min.insync.replicas", "1")), "topic orders"
    ),
    "min-isr-one": Case(
        topic("min.insync.replicas", "1"),
        both(placed((1, 2), (2, 3)), topic("min.insync.replicas", "1")),
        "topic orders",
    ),
    "unclean-election": Case(
        topic("unclean.leader.election.enable", "true"),
        both(placed((1,)), topic("unclean.leader.election.enable", "true")),
        "topic orders",
    ),
    "replica-without-broker": Case(placed((1, 2, 9)), placed((3, 2, 1)), "topic orders"),
    "one-rack": Case(
        both(racks("a", "a", "b"), placed((1, 2), (2, 3))), both(racks("a", "a", "a"), placed((1, 2))), "topic orders"
    ),
    "rack-missing": Case(racks("a", "b", None), racks(None, None, None), "broker 3"),
    "broker-empty": Case(
        both(*(placed(*[(1, 2)] * 4, name=name) for name in ("orders", "carts", "__consumer_offsets"))),
        both(*(placed((1,), name=name) for name in ("orders", "carts")), placed(name="__consumer_offsets")),
        "broker 3",
    ),
    "cordons-refuse-topics": Case(
        both(placed((1, 2, 3)), log_dirs(_CORDONED, broker=3)),
        both(placed((1, 2, 3)), log_dirs(_CORDONED, log_dir("/b"), broker=3)),
        "broker 3",
    ),
    "leaders-uneven": Case(
        placed(*[(1, 2, 3)] * 90, (2, 3, 1)), placed(*[(1, 2, 3), (2, 3, 1), (3, 1, 2)] * 30), "broker 1"
    ),
    "retention-behind-segment": Case(
        both(topic("retention.ms", "3600000"), _SMALL),
        both(topic("retention.ms", "3600000"), log_dirs(log_dir("/data", ("orders", 5 * _GIB)))),
        "topic orders",
    ),
    "retention-below-segment": Case(
        topic("retention.bytes", str(10**8)), topic("retention.bytes", str(2 * _GIB)), "topic orders"
    ),
    "retention-without-delete": Case(
        both(topic("cleanup.policy", "compact"), topic("retention.ms", "86400000")),
        both(topic("cleanup.policy", "compact,delete"), topic("retention.ms", "86400000")),
        "topic orders",
    ),
    "retention-tiny": Case(
        topic("retention.ms", "1000"),
        both(topic("retention.ms", "1000"), topic("cleanup.policy", "compact")),
        "topic orders",
    ),
    "retention-in-seconds": Case(topic("retention.ms", "604800"), topic("retention.ms", "600000"), "topic orders"),
    "hot-key": Case(
        analyzed(heaviest=(_HEAVY,), partitions=_FOUR),
        analyzed(heaviest=(_HEAVY,), partitions=_FOUR[:1]),
        "topic orders",
    ),
    "keyless-under-compaction": Case(
        both(topic("cleanup.policy", "compact"), analyzed(keyless=3)), analyzed(keyless=3), "topic orders"
    ),
    "times-ahead": Case(
        analyzed(times=topic_analysis.Times(ahead=2, furthest_ms=86_400_000)),
        both(topic("retention.ms", "-1"), analyzed(times=topic_analysis.Times(ahead=2, furthest_ms=86_400_000))),
        "topic orders",
    ),
    "compaction-never": Case(
        both(topic("cleanup.policy", "compact"), topic("min.cleanable.dirty.ratio", "1.0")),
        both(
            topic("cleanup.policy", "compact"),
            topic("min.cleanable.dirty.ratio", "1.0"),
            topic("max.compaction.lag.ms", "86400000"),
        ),
        "topic orders",
    ),
    "compaction-after-retention": Case(
        both(topic("cleanup.policy", "compact,delete"), topic("min.compaction.lag.ms", "604800000")),
        both(topic("cleanup.policy", "compact"), topic("min.compaction.lag.ms", "604800000")),
        "topic orders",
    ),
    "segments-tiny": Case(topic("segment.bytes", "1024"), topic("segment.bytes", "1048576"), "topic orders"),
    "flush-each-batch": Case(topic("flush.messages", "1"), topic("flush.messages", "10000"), "topic orders"),
    "batch-above-request": Case(
        topic("max.message.bytes", "209715200"), topic("max.message.bytes", "10485760"), "topic orders"
    ),
    "remote-without-storage": Case(
        both(topic("remote.storage.enable", "true"), brokers("remote.log.storage.system.enable", "false")),
        both(topic("remote.storage.enable", "true"), brokers("remote.log.storage.system.enable", "true")),
        "topic orders",
    ),
    "system-topic-policy": Case(
        topic("cleanup.policy", "compact,delete", "__consumer_offsets"),
        both(
            placed((1, 2, 3), name="app-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog"),
            topic("cleanup.policy", "compact,delete", "app-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog"),
        ),
        "topic __consumer_offsets",
    ),
    "auto-create": Case(
        brokers("auto.create.topics.enable", "true"), brokers("auto.create.topics.enable", "false"), "broker <default>"
    ),
    "cleaner-off": Case(
        brokers("log.cleaner.enable", "false"), brokers("log.cleaner.enable", "true"), "broker <default>"
    ),
    "controlled-shutdown-off": Case(
        brokers("controlled.shutdown.enable", "false", 2), brokers("controlled.shutdown.enable", "true"), "broker 2"
    ),
    "transactions-unverified": Case(
        brokers("transaction.partition.verification.enable", "false"),
        brokers("transaction.partition.verification.enable", "true"),
        "broker <default>",
    ),
    "settings-contradict": Case(
        brokers("replica.lag.time.max.ms", "1000", 1), brokers("replica.lag.time.max.ms", "10000"), "broker 1"
    ),
    "limit-below-usual": Case(topic("max.message.bytes", "2000"), topic("max.message.bytes", "20000"), "topic orders"),
    "log-dir-in-tmp": Case(brokers("log.dirs", "/tmp/logs", 2), brokers("log.dirs", "/tmpfs/logs"), "broker 2"),
    "plaintext-next-to-sasl": Case(
        _listeners("A://:9092,B://:9093,C://:9094", "A:PLAINTEXT,B:SASL_SSL,C:SSL"),
        both(
            _listeners("C://:9092,B://:9093", "C:PLAINTEXT,B:SASL_SSL,D:PLAINTEXT"),
            brokers("controller.listener.names", "C"),
        ),
        "broker 1",
    ),
    "advertised-port-odd": Case(
        both(brokers("listeners", "A://:9092,B://:9093"), _advertised(9092, 9093), _advertised(9092, 9095, 2)),
        both(brokers("listeners", "A://:9092,B://:9093"), _advertised(30_001, 30_002)),
        "broker 2",
    ),
    "login-without-authorizer": Case(
        both(_listeners("B://:9093", "B:SASL_SSL"), brokers("authorizer.class.name", "")),
        both(_listeners("B://:9093", "B:SSL"), brokers("authorizer.class.name", "")),
        "broker <default>",
    ),
    "broker-differs": Case(
        brokers("num.replica.fetchers", "4", 3),
        both(brokers("num.replica.fetchers", "4", 3), versions(29, 30, 30)),
        "broker 3",
    ),
    "topic-default-differs": Case(
        brokers("message.max.bytes", "20000", 3), brokers("num.replica.fetchers", "4", 3), "broker 3"
    ),
    "releases-differ": Case(versions(29, 30, 30), versions(30, 30, 30), "broker <default>"),
    "log-dir-offline": Case(
        log_dirs(log_dir("/data", failure=Failure("KAFKA_STORAGE_ERROR", "disk"))),
        log_dirs(log_dir("/data")),
        "broker 1",
    ),
    "log-dirs-uneven": Case(
        log_dirs(log_dir("/a", ("orders", 50 * _GIB)), log_dir("/b", ("carts", _GIB))),
        log_dirs(log_dir("/a", ("orders", 5 * _GIB)), log_dir("/b", ("carts", 1000))),
        "broker 1",
    ),
    "replication-throttled": Case(
        lambda seen: with_config(seen, broker_resource(1), "leader.replication.throttled.rate", "1000"),
        lambda seen: with_parts(
            with_config(seen, broker_resource(1), "leader.replication.throttled.rate", "1000"),
            reassignments=(model_cluster.Reassignment("orders", 0, (1, 2, 3), (3,), ()),),
        ),
        "broker 1",
    ),
    "voters-few": Case(voters(1), voters(3), "the quorum"),
    "voters-even": Case(voters(4), voters(5), "the quorum"),
    "metadata-version-behind": Case(
        features({"metadata.version": 26}, metadata_version=(7, 30)),
        features({"metadata.version": 28}, metadata_version=(7, 29)),
        "feature metadata.version",
    ),
    "feature-behind": Case(
        features({"metadata.version": 30}, metadata_version=(7, 30), group_version=(0, 1)),
        features({"metadata.version": 21}, metadata_version=(7, 30), group_version=(0, 1)),
        "feature group.version",
    ),
    "acl-matches-nothing": Case(
        acls(acl(name="orders-*")),
        both(
            acls(acl(name="orders-", pattern="PREFIXED"), acl("User:CN=*.example.com,O=shop"), acl(name="carts.")),
            topics("orders-eu"),
        ),
        "allow User:alice READ on topic orders-*",
    ),
    "acl-without-type": Case(acls(acl("alice")), acls(acl("User:alice")), "allow alice READ on topic orders"),
    "acl-for-everybody": Case(
        acls(acl("User:*", "*", "ALL")), acls(acl("User:*", "news", "WRITE")), "allow User:* ALL on topic *"
    ),
    "acl-denied": Case(
        acls(acl(), acl("User:*", operation="ALL", permission="DENY")),
        acls(acl(), acl("User:*", operation="WRITE", permission="DENY")),
        "allow User:alice READ on topic orders",
    ),
    "principals-alike": Case(
        acls(acl(), acl("User:Alice")), acls(acl(), acl("User:bob")), "allow User:alice READ on topic orders"
    ),
    "scram-iterations": Case(_scram(1000), _scram(4096), "scram alice SCRAM-SHA-256"),
    "scram-mechanism-off": Case(
        both(_scram(4096), brokers("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-512")),
        both(_scram(4096), brokers("sasl.enabled.mechanisms", "PLAIN"), brokers(_OF_LISTENER, "SCRAM-SHA-256", 2)),
        "scram alice SCRAM-SHA-256",
    ),
    "token-expiring": Case(token(0.5), token(20, age_hours=4), "token t1"),
    "schema-unchecked": Case(
        schema("orders-value", '"int"', level="NONE"),
        schema("orders-value", '"int"', level="FULL"),
        "schema orders-value",
    ),
    "schema-unused": Case(schema("gone-value", '"int"'), schema("orders-value", '"int"'), "schema gone-value"),
    "records-without-schema": Case(
        with_samples(SchemaSample(50, 3)), with_samples(SchemaSample(50, 0)), "topic orders"
    ),
    "schema-refused": Case(
        schema("orders-value", '"int"', '"string"', level="FULL"),
        schema("orders-value", '"int"', '"string"', level="NONE"),
        "schema orders-value",
    ),
    "schema-versions-break": Case(
        schema("orders-value", '"int"', '"string"'), schema("orders-value", '"int"', '"int"'), "schema orders-value"
    ),
    "certificate-expiring": Case(certificate(timedelta(days=9)), certificate(timedelta(days=99)), "broker 1"),
    "quota-near-zero": Case(quota("producer_byte_rate", 1.0), quota("producer_byte_rate", 1e6), "user alice"),
    "quota-without-effect": Case(quota("request_percentage", 5000.0), quota("request_percentage", 200.0), "user alice"),
    "connections-below-members": Case(
        both(
            brokers("max.connections.per.ip", "5"),
            groups(model_cluster.Group("g", "Stable", "classic", coordinator=1, members=members(9))),
        ),
        both(
            brokers("max.connections.per.ip", "5"),
            groups(
                model_cluster.Group(
                    "g", "Stable", "classic", coordinator=1, members=(*members(5), *members(4, "/10.0.0.6"))
                ),
                model_cluster.Group("h", "Stable", "classic", coordinator=2, members=members(5)),
            ),
        ),
        "broker <default>",
    ),
    "clients-forgotten": Case(
        brokers("offsets.retention.minutes", "30", 2), brokers("offsets.retention.minutes", "1440"), "broker 2"
    ),
    "group-half-moved": Case(
        groups(
            model_cluster.Group("g", "Stable", "consumer", members=members(3, "/h", "classic", "consumer", "consumer"))
        ),
        groups(model_cluster.Group("g", "Stable", "consumer", members=members(2, "/h", "consumer", "consumer"))),
        "group g",
    ),
    "share-group-without-dead-letters": Case(_share_group(""), _share_group("dlq"), "group shares"),
    "names-collide": Case(
        both(placed((1, 2, 3), name="a.b"), placed((1, 2, 3), name="a_b")),
        both(placed((1, 2, 3), name="a.b"), placed((1, 2, 3), name="a-b")),
        "topic a.b",
    ),
    "mirror-loop": Case(
        both(*(placed((1, 2, 3), name="eu.1." * copies + "news") for copies in range(5))),
        both(*(placed((1, 2, 3), name=name) for name in ("news", "us.news", "eu.us.news", "eu.eu.news"))),
        "topic news",
    ),
    "sink-drops-records": Case(
        sink(errors_deadletterqueue_topic_name=""), both(topics("dlq"), sink()), "connector main/orders-sink"
    ),
    "connector-without-tasks": Case(
        both(topics("dlq"), connect_cluster(_IDLE)),
        both(
            topics("dlq"),
            connect_cluster(_IDLE, connector_class=f"{_MIRROR}SourceConnector"),
        ),
        "connector main/orders-sink",
    ),
    "sink-tasks-idle": Case(
        sink(errors_tolerance="none", tasks_max="7"),
        both(topics("dlq"), sink(tasks_max="6")),
        "connector main/orders-sink",
    ),
    "dead-letter-topic-missing": Case(sink(), both(topics("dlq"), sink()), "connector main/orders-sink"),
    "connector-secret-in-clear": Case(
        sink(errors_tolerance="none", database_password="hunter22"),
        both(topics("dlq"), sink(database_password="${file:/run/secrets:password}")),
        "connector main/orders-sink",
    ),
    "connect-one-worker": Case(
        connect_cluster(connectors.cluster(_ALONE, workers=(connectors.worker(),))),
        connect_cluster(connectors.cluster(workers=(connectors.worker(),))),
        "Connect main",
    ),
    "connect-versions-differ": Case(
        connect_cluster(
            connectors.cluster(workers=(connectors.worker(), connectors.worker(connectors.W2, version="4.2.1")))
        ),
        connect_cluster(
            connectors.cluster(workers=(connectors.worker(), connectors.worker(connectors.W2, gone=True))),
        ),
        "Connect main",
    ),
}
"""Rule -> its case."""


def made(makes: Iterable[Make]) -> Seen:
    """Return the healthy cluster after these changes, made one after another."""
    return both(*makes)(healthy())
