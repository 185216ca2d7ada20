"""Polls a cluster: reads everything that the lake keeps of it once, as resources with values, and those as rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from console.history.entities import ACL_SET, CONFIG_TYPES, acl_attr, acl_key, config_key, quota_key, quota_value
from console.history.entities import scram_value as scram_text
from console.history.redact import is_secret
from console.model.codes import BROKER, CLIENT_METRICS, DEFAULT_CONFIG, GROUP, STATIC_BROKER_CONFIG, TOPIC, ResourceType
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigEntry,
    ConfigResource,
    ConfigSet,
    Synonym,
    broker_resource,
    own_source,
    topic_resource,
)
from console.model.failure import Failure
from console.model.snapshot import GONE, Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from console.history.schema import Table
    from console.session.session import Session


BY_NAME = 1_000
"""Topics in one request by name."""
_LISTS_GROUPS = 1
"""The version of ListConfigResources from which on brokers list more than client metrics (KIP-1142)."""


Failed = Mapping[tuple[str, str | None], str]
"""What could not be read: (entity type, key, or None for all of the type) -> the error."""


@dataclass(frozen=True, slots=True)
class Poll:
    """What a cluster answered.

    at: the time of the last answer. failed: what is not in the snapshot without being among its failures. So are topics
    that existed at the last poll and are not listed any more, though the brokers do not call them unknown.
    """

    snapshot: Snapshot
    at: datetime
    failed: Failed = field(default_factory=dict)


async def poll_cluster(session: Session, known_topics: Callable[[str], Collection[str]] = lambda _: ()) -> Poll:
    """Reads a cluster. known_topics: returns the topics of a cluster id at the last poll.

    Parts that the cluster refuses are in the snapshot's failures. Raises AdminError if the cluster can't be reached or
    the connection is lost, Refused if it is not the context's cluster.
    """
    await session.read_cluster()
    await session.read_topics()
    parts = {
        "versions": session.read_versions,
        "quotas": session.read_quotas,
        "scram": session.read_scram,
        "acls": session.read_acls,
    }
    # One after the other: a broker answers a connection's requests in their order, and one may take very long.
    lost = {part: failure for part, read in parts.items() if (failure := await _failure_of(read())) is not None}
    unlisted = _unlisted(await session.client.run(lambda link: link.version("list_config_resources")))
    wanted = [type_ for type_ in (GROUP, CLIENT_METRICS) if type_ not in unlisted]
    named = await session.list_resources(wanted) if wanted else ()
    refused = next((each.failure for each in session.snapshot.failures if each.part == "resources"), None)
    if refused is not None:
        unlisted |= dict.fromkeys(wanted, refused)
    snapshot = session.snapshot
    brokers = [broker_resource(broker.id) for broker in snapshot.cluster.brokers]
    topics = [topic_resource(name) for name in snapshot.topics]
    await session.read_configs([*topics, *brokers, CLUSTER_DEFAULT, *named], at_once=True)
    missing = set(known_topics(snapshot.cluster.cluster_id or "")) - snapshot.topics.keys()
    unsure = await _unsure(session, sorted(missing))
    failures = (
        *((("topic", name), failure) for name, failure in unsure.items()),
        *(((CONFIG_TYPES[type_], None), failure) for type_, failure in unlisted.items()),
        *(((_PARTS[part], None), failure) for part, failure in lost.items()),
    )
    return Poll(session.snapshot, datetime.now(UTC), {what: str(failure) for what, failure in failures})


async def _failure_of(read: Awaitable[None]) -> Failure | None:
    """Reads a part; returns why it was not answered. Raises Unreachable if the cluster is."""
    from console.admin.errors import BadAnswer, Disconnected, RequestTimedOut

    try:
        await read
    except (RequestTimedOut, Disconnected, BadAnswer) as error:
        return error.failure
    return None


def _unlisted(version: int | None) -> dict[ResourceType, Failure]:
    def why(what: str, since: str) -> Failure:
        return Failure("UNSUPPORTED", f"brokers before Kafka {since} do not list the {what} that have configs")

    if version is None:
        return {GROUP: why("groups", "4.1"), CLIENT_METRICS: why("client metrics", "3.7")}
    return {GROUP: why("groups", "4.1")} if version < _LISTS_GROUPS else {}


async def _unsure(session: Session, names: list[str]) -> dict[str, Failure]:
    """The missing topics that brokers do not call unknown: a listing silently omits topics without the right to see
    them."""
    from console.admin import topics

    unsure: dict[str, Failure] = {}
    for start in range(0, len(names), BY_NAME):
        asked = names[start : start + BY_NAME]
        listing = await session.client.run(topics.describe_topics, asked)
        unsure |= {name: failure for name, failure in listing.failures.items() if failure.name not in GONE}
        unsure |= dict.fromkeys(listing.topics, Failure("CHANGED", "it was created during the poll"))
    return unsure


# -- as resources with values, and those as rows of `snapshot`. A resource has what is set on itself: a topic or group
# its own overrides; a broker what is set on it at run time, else in its file; brokers' common defaults belong to
# `broker <default>`. Inherited values are left out: a topic's depend on the broker that is asked. `:endpoints` is what
# brokers report through the listener that they are asked by (*measured*, 3.9 and 4.3): poll a cluster through one
# listener, not by turns through two.

TYPES = ("topic", "broker", "group", "client-metrics", "quota", "acl", "scram", "feature")
"""The entity types that a poll reads."""
_PARTS = {"quotas": "quota", "acls": "acl", "scram": "scram", "versions": "feature"}
"""Parts of a snapshot that are read in one request, and their entity types."""


class Resource(NamedTuple):
    """A resource, as `console.history.entities` spells it."""

    entity_type: str
    entity_key: str


class Value(NamedTuple):
    """One value of a resource. value: None if it is sensitive. source: Kafka's name of where a config is set."""

    attr: str
    value: str | None
    source: str | None = None
    is_sensitive: bool = False


State = Mapping[Resource, tuple[Value, ...]]
"""The state of a cluster: each resource with its values, sorted by attribute. Every resource has at least one."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of one poll.

    partial: resources whose configs could not be read; attributes with a colon are known. listed: the types whose
    resources are all included.
    """

    cluster_id: str
    at: datetime
    state: State
    listed: frozenset[str]
    partial: frozenset[Resource] = frozenset()
    failed: Failed = field(default_factory=dict)


class Row(NamedTuple):
    """A row of the table, without the columns that all rows of a poll have in common."""

    kind: str
    entity_type: str
    entity_key: str | None = None
    attr: str | None = None
    value: str | None = None
    source: str | None = None
    is_sensitive: bool = False


def observation(poll: Poll) -> Observation:
    """The result of a poll."""
    snapshot = poll.snapshot
    state: dict[Resource, tuple[Value, ...]] = {}
    failed: dict[tuple[str, str | None], str] = {}
    partial: set[Resource] = set()
    own = _OwnValues()
    for each in snapshot.failures:
        if each.part in _PARTS:
            failed[_PARTS[each.part], None] = str(each.failure)
        elif each.part == "topics":
            failed["topic", each.entity or None] = str(each.failure)
        elif each.part == "configs":
            named = _labelled(each.entity)
            failed[named] = str(each.failure)
            partial.add(named)
    failed |= poll.failed
    if not snapshot.versions:
        failed.setdefault(("feature", None), "no broker reported its features")
    for name, topic in snapshot.topics.items():
        facts = (
            Value(":partitions", str(len(topic.partitions))),
            Value(":replication", str(topic.replication)),
            *((Value(":topic_id", topic.topic_id),) if topic.topic_id else ()),
        )
        state[Resource("topic", name)] = facts
    for broker in snapshot.cluster.brokers:
        facts = (
            Value(":endpoints", f"{broker.host}:{broker.port}"),
            Value(":fenced", str(broker.fenced).lower()),
            *((Value(":rack", broker.rack),) if broker.rack else ()),
        )
        state[Resource("broker", str(broker.id))] = facts
    for resource, configs in snapshot.configs.items():
        if resource.type not in (TOPIC, BROKER, GROUP, CLIENT_METRICS):
            continue
        entity = _entity(resource)
        state[entity] = (*state.get(entity, ()), *own.of(resource, configs))
    # Listed and not described, without an error: it was deleted in between.
    for entity in [each for each in state if each.entity_type == "topic" and each not in partial]:
        if ConfigResource(TOPIC, entity.entity_key) not in snapshot.configs:
            del state[entity]
    state |= _quotas(poll) | _acls(poll) | _scram(poll) | _features(poll)
    listed = {each for each in TYPES if (each, None) not in failed}
    return Observation(
        snapshot.cluster.cluster_id or "",
        poll.at,
        {entity: tuple(sorted(values)) for entity, values in state.items() if values},
        frozenset(listed),
        frozenset(partial),
        failed,
    )


def _quotas(poll: Poll) -> dict[Resource, tuple[Value, ...]]:
    return {
        Resource("quota", quota_key(entity.as_dict())): tuple(
            Value(k, quota_value(float(v))) for k, v in values.items()
        )
        for entity, values in poll.snapshot.quotas.items()
    }


def _acls(poll: Poll) -> dict[Resource, tuple[Value, ...]]:
    found: dict[Resource, tuple[Value, ...]] = {}
    for acl in poll.snapshot.acls:
        upon = Resource("acl", acl_key(acl.resource_type.name, acl.pattern_type.name, acl.resource_name))
        attr = acl_attr(acl.permission.name, acl.operation.name, acl.principal, acl.host)
        found[upon] = (*found.get(upon, ()), Value(attr, ACL_SET))
    return found


def _scram(poll: Poll) -> dict[Resource, tuple[Value, ...]]:
    return {
        Resource("scram", user): tuple(Value(c.mechanism.label, scram_text(c.iterations)) for c in credentials)
        for user, credentials in poll.snapshot.scram.items()
    }


def _features(poll: Poll) -> dict[Resource, tuple[Value, ...]]:
    """The levels that the brokers have from the controller; the highest, if a broker lags."""
    levels: dict[str, int] = {}
    for version in poll.snapshot.versions.values():
        for name, level in version.finalized_features.items():
            levels[name] = max(level, levels.get(name, level))
    return {Resource("feature", name): (Value(":level", str(level)),) for name, level in levels.items()}


class _OwnValues:
    """The values that resources set themselves; equal sets are one object and processed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool, int], tuple[Value, ...]] = {}

    def of(self, resource: ConfigResource, configs: ConfigSet) -> tuple[Value, ...]:
        type_ = CONFIG_TYPES[resource.type]
        key = type_, resource.is_cluster_default, id(configs)
        if key not in self._known:
            own: Iterable[tuple[ConfigEntry, ConfigEntry | Synonym | None]]
            if resource.type == BROKER and not resource.is_cluster_default:
                own = ((entry, _on_broker(entry)) for entry in configs)
            else:
                own = ((entry, entry) for entry in configs.overrides(resource))
            self._known[key] = tuple(_value(type_, entry, there) for entry, there in own if there is not None)
        return self._known[key]


_OF_A_BROKER = (own_source(broker_resource(0)), STATIC_BROKER_CONFIG)


def _on_broker(entry: ConfigEntry) -> ConfigEntry | Synonym | None:
    """The value that is set on the broker at run time, else in its file, even if the default for all brokers overrides
    it.

    A synonym of another name (log.retention.hours below log.retention.ms) is an entry of its own.
    """
    if entry.source == DEFAULT_CONFIG:
        return None  # the last of its synonyms: nothing is set
    for each in entry.synonyms or (entry,):
        if each.name == entry.name and each.source in _OF_A_BROKER:
            return each
    return None


def _value(entity_type: str, entry: ConfigEntry, own: ConfigEntry | Synonym) -> Value:
    hidden = entry.sensitive or is_secret(entity_type, entry.name)
    return Value(entry.name, None if hidden else own.value, own.source.name, hidden)


def _entity(resource: ConfigResource) -> Resource:
    type_ = CONFIG_TYPES[resource.type]
    return Resource(type_, config_key(type_, resource.name))


def _labelled(text: str) -> Resource:
    """The resource of a failure, from its text in `console.model.snapshot`."""
    type_, _, key = text.partition(" ")
    return Resource(type_.replace("_", "-"), key)


def state_rows(state: State) -> list[Row]:
    """The rows of all values."""
    return [
        Row("state", entity.entity_type, entity.entity_key, *value)
        for entity, values in state.items()
        for value in values
    ]


def status_rows(seen: Observation) -> list[Row]:
    """One heartbeat with the types that were read completely, by commas, and a row for each error."""
    incomplete = {entity_type for entity_type, _ in seen.failed}
    complete = [each for each in TYPES if each in seen.listed and each not in incomplete]
    failures = [Row("failed", entity_type, key, value=why) for (entity_type, key), why in seen.failed.items()]
    return [*([Row("heartbeat", ",".join(complete))] if complete else ()), *failures]


def failed_row(cluster: str, failure: Failure) -> Row:
    """The row of a cluster that did not answer. cluster: its name."""
    return Row("failed", "cluster", cluster, value=str(failure))


def rows_table(table: Table, rows: Iterable[Row], cluster_id: str, at: datetime) -> pa.Table:
    """The rows in the columns of `snapshot` or `poll`, but for `run_id`."""
    import pyarrow as pa

    from console.history.schema import arrow_schema

    columns = list(zip(*rows, strict=True)) or [()] * len(Row._fields)
    count = len(columns[0])
    of_all = {"cluster_id": [cluster_id] * count, "observed_ts": [at] * count}
    data = dict(zip(Row._fields, columns, strict=True)) | of_all
    schema = pa.schema([column for column in arrow_schema(table) if column.name != "run_id"])
    return pa.table([pa.array(data[column.name], column.type) for column in schema], schema=schema)
