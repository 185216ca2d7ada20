"""`kac lake collect`: polls clusters and delivers the changes since the last poll to a lake.

`collect(lake, contexts, progress)` polls once, several clusters at a time; `keep_collecting` repeats that until it is
stopped. A cluster that does not answer is named in the report and delays no other cluster. A cluster that answers with
the id of another cluster is refused: `refused_claims`. Needs no Spark: the results are written into the lake's folder
`landing/`.
"""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import structs

from console import event_loop
from console.admin.client import AdminClient
from console.admin.errors import AdminError, BadAnswer, Disconnected, RequestTimedOut
from console.admin.topics import describe_topics
from console.contexts import Context
from console.lake import entities
from console.lake.entities import scram_value as scram_text
from console.lake.files import LakeBusy, new_run_id, this_process
from console.lake.lake import Lake
from console.lake.landing import Landed, deliver
from console.lake.redact import is_secret
from console.model import codes, config
from console.model.failure import Failure
from console.model.foreign_json import json_as, json_of
from console.model.numbers import EPOCH, json_text
from console.model.parts import Part
from console.model.snapshot import GONE, Snapshot, settled_topics
from console.plan.stale_throttles import THROTTLES, owned_by_moves
from console.present.connectors import connector_rows, tasks_text
from console.session.parts import is_had
from console.session.reading import limits_copies
from console.session.session import Session
from console.session.snapshot_reader import Client, Refused

IN_FLIGHT = 16
"""Maximum number of clusters that are polled at the same time."""
TIMEOUT = 120.0
"""Timeout for the poll of one cluster, in seconds."""
KEPT_POLLS = 12
"""Maximum number of polls that are kept while the lake can't be written to; the oldest are dropped."""
_NOT_THERE = ("UNSUPPORTED", "SECURITY_DISABLED")
"""Beginnings of errors which mean that a cluster lacks a feature; such errors are not in the report."""


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """The result of the poll of one cluster, as the report shows it."""

    context: str
    cluster_id: str | None
    """The id of the cluster; None if the cluster did not answer and was never polled before."""
    resources: int = 0
    """The number of resources that the poll found."""
    changed: int = 0
    """The number of resources that changed since the last poll."""
    gone: int = 0
    """The number of resources that were deleted since the last poll."""
    refused: tuple[str, ...] = ()
    """The parts of the cluster that could not be read, each a line with its error; without features that the cluster
    lacks.
    """
    failure: Failure | None = None
    """The error because of which nothing was read or nothing was written; None if the poll succeeded."""
    seconds: float = 0.0
    """The duration of the poll in seconds."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one round of polls."""

    run_id: str
    """The id of the run; ``""`` if nothing was delivered to the lake."""
    clusters: tuple[ClusterReport, ...]
    rows: int = 0
    """The number of rows delivered to the lake."""

    @property
    def complete(self) -> bool:
        """Whether every cluster was polled without an error, and every part of it could be read."""
        return all(each.failure is None and not each.refused for each in self.clusters)

    @property
    def message(self) -> str | None:
        """The errors and refusals as one text for the table of runs; None if there are no errors."""
        lines = [f"{each.context}: {each.failure}" for each in self.clusters if each.failure is not None]
        lines += [f"{each.context}: {line}" for each in self.clusters for line in each.refused]
        return "; ".join(lines) or None


Progress = Callable[[str, int, int], None]
"""A function that is called after the poll of each cluster, with a text (its context and result), the number of
clusters done, and their total.
"""


@dataclass(frozen=True, slots=True)
class PollResult:
    """The result of the poll of one context. at: the time of the last answer or of the error; seconds: the duration of
    the poll.
    """

    context: Context
    seen: Observation | Failure
    """The observation, or the error if the cluster could not be polled."""
    at: datetime
    seconds: float = 0.0


def collect(
    lake: Lake,
    contexts: Sequence[Context],
    progress: Progress = lambda *_: None,
    *,
    timeout: float = TIMEOUT,
    names: Collection[str] | None = None,
) -> Report:
    """Poll the clusters of these contexts, deliver the results to the lake, and return the report. Raises as
    `write_down`.

    Args:
        timeout: the maximum time for each cluster, in seconds.
        names: the names of all configured contexts, as for `refused_claims`; None if unknown.
    """
    states = LastStates(lake)
    return write_down(poll_all(states, contexts, progress, timeout), states, names)


def keep_collecting(
    lake: Lake,
    contexts: Callable[[], Sequence[Context]],
    every: float,
    told: Callable[[Report], None],
    stop: threading.Event,
    progress: Progress = lambda *_: None,
    *,
    names: Callable[[], Collection[str] | None] = lambda: None,
) -> None:
    """Poll at an interval until `stop` is set. While the lake can't be written, or another process delivers, keep the
    last `KEPT_POLLS` (12) polls of each cluster, and deliver them with the next poll. Raises LakeError: another
    problem of the lake.

    Args:
        contexts, names: functions that are called for each poll, so that changes of the configuration take effect; see
        `collect`.
        every: the interval in seconds.
        told: called with the report of each poll; if the poll could not be delivered, the report has this error for
            every cluster.
    """
    waiting: list[PollResult] = []
    states = LastStates(lake)
    begun = time.monotonic()
    while not stop.is_set():
        chosen = contexts()
        waiting += poll_all(states, chosen, progress)
        try:
            report = write_down(waiting, states, names())
            waiting = []
        except (LakeBusy, OSError) as wrong:
            waiting = waiting[-KEPT_POLLS * max(1, len(chosen)) :]
            said = Failure("LAKE_BUSY", str(wrong), "The polls are kept and delivered with the next.")
            report = Report("", tuple(ClusterReport(c.name, None, failure=said) for c in chosen))
        told(report)
        passed = time.monotonic() - begun
        stop.wait(every - passed % every)


def poll_all(
    states: LastStates, contexts: Sequence[Context], progress: Progress, timeout: float = TIMEOUT
) -> list[PollResult]:
    """Poll the clusters of these contexts, and return the results in the order of the contexts. Writes nothing to the
    lake. timeout: the maximum time for each cluster, in seconds.
    """
    owners = states.owners()

    def topics_of(context: Context, cluster_id: str) -> list[str]:
        owner = owners.get(cluster_id)
        if owner is None or (owner.context != context.name and context.cluster_id != cluster_id):
            return []  # a cluster that claims another cluster's id must not learn the names of its topics
        return [key for entity_type, key in states.of(cluster_id) if entity_type == "topic"]

    async def all_of_them() -> list[PollResult]:
        free = asyncio.Semaphore(IN_FLIGHT)
        done = 0

        async def one(context: Context) -> PollResult:
            nonlocal done
            async with free:
                taken = await poll_context(context, partial(topics_of, context), timeout)
            done += 1
            seen = taken.seen
            said = str(seen) if isinstance(seen, Failure) else f"{len(seen.state):,} resources"
            progress(f"{context.name}: {said}", done, len(contexts))
            return taken

        return await asyncio.gather(*map(one, contexts))

    return event_loop.run(all_of_them())


async def poll_context(
    context: Context,
    topics_of: Callable[[str], Collection[str]] = lambda _: (),
    timeout: float = TIMEOUT,  # noqa: ASYNC109
) -> PollResult:
    """Poll the cluster of a context and return the result. An error, also a timeout, becomes the result and is not
    raised.

    Args:
        topics_of: a function that takes a cluster id and returns the names of the topics that the cluster's last poll
            found.
        timeout: the maximum time for the poll, in seconds.
    """
    seen: Observation | Failure
    begun = time.monotonic()
    client = AdminClient(structs.replace(context.settings, read_only=True))
    client.start()
    try:
        async with asyncio.timeout(timeout):
            seen = await poll_cluster(Session(client, context, "collect"), topics_of)
    except (AdminError, Refused) as error:
        seen = error.failure
    except TimeoutError:
        seen = Failure("TIMED_OUT", f"it did not answer everything within {timeout:g} s")
    finally:
        await asyncio.to_thread(client.close)
    if isinstance(seen, Observation) and (problem := entities.id_problem(seen.cluster_id)):
        unwritten = "The lake keeps clusters by their ids; nothing of this one was written."
        seen = Failure("NO_CLUSTER_ID", problem, unwritten)
    at = datetime.now(UTC) if isinstance(seen, Failure) else seen.at
    return PollResult(context, seen, at, time.monotonic() - begun)


class Claim(NamedTuple):
    """The cluster id with which the cluster of a context answered."""

    context: str
    cluster_id: str
    declares: bool
    """Whether the configuration of the context has this cluster id."""
    addresses: frozenset[tuple[str, int]]


def refused_claims(
    owners: Mapping[str, Owner], claims: Sequence[Claim], names: Collection[str] | None = None
) -> dict[str, Failure]:
    """Return context -> error for each context whose poll is not written, because its cluster answered with an id that
    belongs to another context. Pure.

    Several contexts may poll one cluster if each of them declares its id, or if they have the same addresses and one
    run polls them. If a cluster id is new, it belongs to a context that declares it. If no context declares a new id,
    and the contexts have different addresses, all of them are refused, since nothing shows which one is right. A
    context that declares the id replaces an owner that is no longer configured.

    Args:
        owners: cluster id -> the context of its last poll.
        claims: the answers of this round of polls.
        names: the configured contexts; None if unknown.
    """
    refused: dict[str, Failure] = {}
    for cluster_id in dict.fromkeys(each.cluster_id for each in claims):
        here = {each.context: each for each in claims if each.cluster_id == cluster_id}
        owner = owners.get(cluster_id)
        if owner is not None and owner.context not in here and names is not None and owner.context not in names:
            owner = Owner(owner.context, True)  # the context is gone, so it can't declare the id any more
        if owner is None:
            owner = next((Owner(each.context, True) for each in here.values() if each.declares), None)
        first = None if owner is None else here.get(owner.context)
        for name, claim in here.items():
            is_same = first is not None and first.addresses == claim.addresses
            if owner is None:
                others = [each.context for each in here.values() if each.addresses != claim.addresses]
            elif is_same or (claim.declares and (first or owner).declares):
                others = []
            else:
                others = [owner.context]
            if others:
                refused[name] = _taken_id(claim, others)
    return refused


def _taken_id(claim: Claim, others: Sequence[str]) -> Failure:
    names = " and ".join(others)
    return Failure(
        "CLUSTER_ID_TAKEN",
        f"the cluster of context {claim.context} answers with the id {claim.cluster_id}, which is the id of the "
        f"cluster of context {names}; nothing of {claim.context} was written",
        f'If all of them are one cluster, set cluster_id = "{claim.cluster_id}" in each of these contexts; else one '
        "of the clusters was formatted with the other's id, or its address leads to another cluster.",
    )


def write_down(taken: Sequence[PollResult], states: LastStates, names: Collection[str] | None = None) -> Report:
    """Deliver the results of polls as one file, which the lake's streams read, and return the report; write no file if
    there is nothing to deliver. A failed poll becomes a row if the cluster's id is known.

    Args:
        names: see `refused_claims`.

    Raises:
        LakeBusy: another process delivers.
        LakeError, OSError: the lake can't be written, for example because the disk is full.
    """
    lake, run_id = states.lake, new_run_id()
    with lake.files.lock(lake.path("collect/lock"), this_process(run_id, "collect")):
        polls, reports, kept = _polls(states, taken, names)
        report = Report(run_id if polls else "", tuple(reports), sum(len(each.rows) for each in polls))
        if polls:
            deliver(lake, polls, run_id)
        states.keep(kept)
    return report


def _polls(
    states: LastStates, taken: Sequence[PollResult], names: Collection[str] | None
) -> tuple[list[Landed], Iterable[ClusterReport], Mapping[str, tuple[Owner, State]]]:
    """Return the polls to deliver, the reports in the order of `taken`, and for each cluster id whose answer is
    delivered its owner and new state.
    """
    owners = states.owners()
    known = {owner.context: cluster_id for cluster_id, owner in owners.items()}
    answers = [(each.context, each.seen.cluster_id) for each in taken if not isinstance(each.seen, Failure)]
    claims = [Claim(of.name, id_, of.cluster_id == id_, frozenset(of.settings.bootstrap)) for of, id_ in answers]
    refused = refused_claims(owners, claims, names)
    # If several contexts are for the same cluster, deliver the poll of only one of them: its owner, if it is polled,
    # else the first one.
    owned = [each for each in claims if each.cluster_id in owners and owners[each.cluster_id].context == each.context]
    first = {each.cluster_id: each.context for each in owned}
    now: dict[str, tuple[Owner, State]] = {}
    polls: list[Landed] = []
    reports: dict[int, ClusterReport] = {}
    for place, each in sorted(enumerate(taken), key=lambda placed: placed[1].at):
        name, seen = each.context.name, each.seen
        if isinstance(seen, Failure):
            cluster_id = each.context.cluster_id or known.get(name)
            if cluster_id is not None:
                polls.append(landed([Row("failed", "cluster", name, value=str(seen))], cluster_id, each.at))
            reports[place] = ClusterReport(name, cluster_id, failure=seen, seconds=each.seconds)
        elif name in refused:
            reports[place] = ClusterReport(name, seen.cluster_id, failure=refused[name], seconds=each.seconds)
        elif first.setdefault(seen.cluster_id, name) != name:
            reports[place] = ClusterReport(name, seen.cluster_id, len(seen.state), seconds=each.seconds)
        else:
            last = now[seen.cluster_id][1] if seen.cluster_id in now else states.of(seen.cluster_id)
            rows, state = changed_rows(last, seen)
            polls.append(landed([*status_rows(seen), *rows], seen.cluster_id, seen.at))
            now[seen.cluster_id] = Owner(name, each.context.cluster_id == seen.cluster_id), state
            reports[place] = _report(each, seen, rows)
    return polls, (reports[place] for place in sorted(reports)), now


def _report(taken: PollResult, seen: Observation, rows: Sequence[Row]) -> ClusterReport:
    refused = [
        f"{entity_type}{f' {key}' if key else 's'}: {why}"
        for (entity_type, key), why in seen.failed.items()
        if not why.startswith(_NOT_THERE)
    ]
    return ClusterReport(
        taken.context.name,
        seen.cluster_id,
        len(seen.state),
        len({(row.entity_type, row.entity_key) for row in rows if row.kind == "state"}),
        sum(row.kind == "absent" for row in rows),
        tuple(refused),
        seconds=taken.seconds,
    )


# -- one poll: everything that the lake keeps of a cluster is read once ------------------------------------------------

BY_NAME = 1_000
"""Maximum number of topics in one request that names topics."""
_LISTS_GROUPS = 1
"""The version of ListConfigResources from which on brokers list resources other than client metrics (KIP-1142)."""


async def poll_cluster(session: Session, known_topics: Callable[[str], Collection[str]]) -> Observation:
    """Read the state of a session's cluster.

    `failed` of the result has the parts that the cluster refuses. It also has the topics that the last poll found and
    that are no longer listed, unless the brokers report them as unknown: only such a report proves that a topic was
    deleted.

    Args:
        known_topics: a function that takes a cluster id and returns the names of the topics that the cluster's last
            poll found.

    Raises:
        AdminError: the cluster can't be reached, or the connection is lost.
        Refused: the cluster is not the one that the context declares.
    """
    failed: dict[tuple[str, str | None], Failure] = {}
    await session.read_cluster()
    await session.read_topics()
    # Read one part after the other: a broker answers the requests of a connection in order, and one of them may take
    # long.
    for part in (Part.VERSIONS, Part.QUOTAS, Part.SCRAM, Part.ACLS, Part.CONNECT):
        try:
            await session.read_whole(part)
        except (RequestTimedOut, Disconnected, BadAnswer) as error:
            failed[_PARTS.get(part, part), None] = error.failure
    unlisted = _unlisted(await session.client.run(lambda link: link.version("list_config_resources")))
    wanted = [type_ for type_ in (codes.GROUP, codes.CLIENT_METRICS) if type_ not in unlisted]
    named = await session.list_resources(wanted) if wanted else ()
    refused = next((each.failure for each in session.snapshot.failures if each.part == Part.RESOURCES), None)
    if refused is not None:
        unlisted |= dict.fromkeys(wanted, refused)
    failed |= {(entities.CONFIG_TYPES[type_], None): failure for type_, failure in unlisted.items()}
    snapshot = session.snapshot
    brokers = [config.broker_resource(broker.id) for broker in snapshot.cluster.brokers]
    topics = [config.topic_resource(name) for name in snapshot.topics]
    await session.read_configs([*topics, *brokers, config.CLUSTER_DEFAULT, *named], at_once=True)
    with suppress(RequestTimedOut, Disconnected, BadAnswer):  # without the moves, replicas that they add are counted
        await session.read_whole(Part.REASSIGNMENTS)
        if limits_copies(session.snapshot):
            await session.read_log_dirs()
    missing = set(known_topics(snapshot.cluster.cluster_id or "")) - snapshot.topics.keys()
    failed |= {("topic", name): failure for name, failure in (await _unsure(session.client, sorted(missing))).items()}
    unasked = frozenset() if is_had(Part.CONNECT, session.context.settings) else frozenset(OF_SERVICES)
    return replace(observation(session.snapshot, datetime.now(UTC), failed), unasked=unasked)


def _unlisted(version: int | None) -> dict[codes.ResourceType, Failure]:
    def why(what: str, since: str) -> Failure:
        return Failure("UNSUPPORTED", f"brokers before Kafka {since} do not list the {what} that have configs")

    if version is None:
        return {codes.GROUP: why("groups", "4.1"), codes.CLIENT_METRICS: why("client metrics", "3.7")}
    return {codes.GROUP: why("groups", "4.1")} if version < _LISTS_GROUPS else {}


async def _unsure(client: Client, names: list[str]) -> dict[str, Failure]:
    """Return topic -> failure for those topics that are not certainly deleted: a listing omits topics that the
    principal may not describe, and a topic may have been created since the listing.

    Args:
        names: the topics that the last poll found and the present listing lacks.
    """
    unsure: dict[str, Failure] = {}
    for start in range(0, len(names), BY_NAME):
        asked = names[start : start + BY_NAME]
        listing = await client.run(describe_topics, asked)
        unsure |= {name: failure for name, failure in listing.failures.items() if failure.name not in GONE}
        unsure |= dict.fromkeys(listing.topics, Failure("CHANGED", "it was created during the poll"))
    return unsure


# -- resources with their own values, as rows of `snapshot` ------------------------------------------------------------

# The own values of a topic or group are its overrides. Those of a broker are the values that were set on it at run
# time, else the values in its file. The common defaults of brokers belong to `broker <default>`. Polls omit inherited
# values, because the value that a topic inherits depends on the broker that answers.

TYPES = ("topic", "broker", "group", "client-metrics", "quota", "acl", "scram", "feature")
"""The entity types that a poll reads from every cluster."""
OF_SERVICES = ("connector",)
"""The entity types that a poll reads from services next to the brokers, if the context configures the service."""
_PARTS: Mapping[str, str] = {
    Part.QUOTAS: "quota",
    Part.ACLS: "acl",
    Part.VERSIONS: "feature",
    Part.CONNECT: "connector",
}
"""Part of a snapshot that one request reads as a whole -> its entity type."""


class Resource(NamedTuple):
    """A resource of a cluster: entity type and key in the spelling of `console.lake.entities`."""

    entity_type: str
    entity_key: str


class Value(NamedTuple):
    """A value of one attribute of a resource."""

    attr: str
    value: str | None
    """The value; None if it is sensitive."""
    source: str | None = None
    """Kafka's name of the source of a config's value; None for a value that is not a config."""
    is_sensitive: bool = False


State = Mapping[Resource, tuple[Value, ...]]
"""The state of a cluster: resource -> its values, sorted by attribute; at least one value for each."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of a cluster at one poll, with the parts that could not be read."""

    cluster_id: str
    at: datetime
    """The time of the last answer."""
    state: State
    failed: Mapping[tuple[str, str | None], str] = field(default_factory=dict)
    """(Entity type, key) -> error; the key None means all entities of the type. If a resource is in both `failed` and
    `state`, its configs could not be read, but its attributes that begin with a colon are known.
    """
    owned: Mapping[Resource, frozenset[str]] = field(default_factory=dict)
    """Resource -> the keys of the throttles that belong to running partition moves. Moves set and remove them, so they
    are not in `state`.
    """
    unasked: frozenset[str] = frozenset(OF_SERVICES)
    """The entity types of services that the context does not configure, so that they were not read."""


class Row(NamedTuple):
    """A row of the lake's table `snapshot` (`schema.SNAPSHOT` documents its columns), without the columns that all rows
    of a poll share. None stands for an empty column.
    """

    kind: str
    entity_type: str
    entity_key: str | None = None
    attr: str | None = None
    value: str | None = None
    source: str | None = None
    is_sensitive: bool = False


def observation(snapshot: Snapshot, at: datetime, unread: Mapping[tuple[str, str | None], Failure]) -> Observation:
    """Return the result of a poll from the snapshot that it read.

    Args:
        at: the time of the last answer.
        unread: errors that are not among the snapshot's own failures.
    """
    failed: dict[tuple[str, str | None], str] = {}
    for each in snapshot.failures:
        if each.part == Part.SCRAM:
            failed["scram", each.entity or None] = str(each.failure)
        elif each.part in _PARTS:
            failed[_PARTS[each.part], None] = str(each.failure)
        elif each.part == Part.TOPICS:
            failed["topic", each.entity or None] = str(each.failure)
        elif each.part == Part.CONFIGS:
            type_, _, key = each.entity.partition(" ")
            failed[type_.replace("_", "-"), key] = str(each.failure)
    failed |= {what: str(failure) for what, failure in unread.items()}
    if not snapshot.versions:
        failed.setdefault(("feature", None), "no broker reported its features")
    owned = _owned(snapshot)
    found = {
        entity: tuple(sorted(each for each in values if each.attr not in owned.get(entity, ())))
        for entity, values in _values(snapshot, failed).items()
    }
    state = {entity: values for entity, values in found.items() if values}
    return Observation(snapshot.cluster.cluster_id or "", at, state, failed, owned)


def _owned(snapshot: Snapshot) -> Mapping[Resource, frozenset[str]]:
    """Return resource -> the keys of its throttles that belong to running moves; if the moves could not be read, the
    keys of all throttles that may belong to one.
    """
    found: dict[Resource, set[str]] = defaultdict(set)
    for resource, key in owned_by_moves(snapshot):
        if key in THROTTLES:
            type_ = entities.CONFIG_TYPES[resource.type]
            found[Resource(type_, entities.config_key(type_, resource.name))].add(key)
    return {entity: frozenset(keys) for entity, keys in found.items()}


def _values(snapshot: Snapshot, failed: Collection[tuple[str, str | None]]) -> dict[Resource, list[Value]]:
    found: dict[Resource, list[Value]] = defaultdict(list)
    for name, topic in settled_topics(snapshot):
        # A topic that was listed, but not described although there was no error, was deleted in between.
        if config.topic_resource(name) in snapshot.configs or ("topic", name) in failed:
            found[Resource("topic", name)] = [
                Value(":partitions", str(len(topic.partitions))),
                Value(":replication", str(topic.replication)),
                *((Value(":topic_id", topic.topic_id),) if topic.topic_id else ()),
            ]
    for broker in snapshot.cluster.brokers:
        found[Resource("broker", str(broker.id))] = [
            # The endpoint of the listener that the client uses (*measured*, 3.9 and 4.3): always poll a cluster through
            # the same listener.
            Value(":endpoints", f"{broker.host}:{broker.port}"),
            Value(":fenced", str(broker.fenced).lower()),
            *((Value(":rack", broker.rack),) if broker.rack else ()),
        ]
    known: dict[tuple[str, bool, int], list[Value]] = {}
    for resource, configs in snapshot.configs.items():
        if resource.type in (codes.TOPIC, codes.BROKER, codes.GROUP, codes.CLIENT_METRICS, codes.CONNECTOR):
            type_ = entities.CONFIG_TYPES[resource.type]
            # Equal sets of configs are one object, so the id identifies a set.
            key = type_, resource.is_cluster_default, id(configs)
            if key not in known:
                known[key] = list(_own_values(type_, resource, configs))
            found[Resource(type_, entities.config_key(type_, resource.name))] += known[key]
    for row in connector_rows(snapshot):
        states = (Value(":state", row.connector.state), Value(":tasks", tasks_text(row.connector.tasks)))
        found[Resource("connector", row.name)] += states
    for entity, limits in snapshot.quotas.items():
        values = (Value(key, entities.quota_value(float(limit))) for key, limit in limits.items())
        found[Resource("quota", entities.quota_key(entity.as_dict()))] += values
    for acl in snapshot.acls:
        upon = entities.acl_key(acl.resource_type.name, acl.pattern_type.name, acl.resource_name)
        attr = entities.acl_attr(acl.permission.name, acl.operation.name, acl.principal, acl.host)
        found[Resource("acl", upon)].append(Value(attr, entities.ACL_SET))
    for user, credentials in snapshot.scram.items():
        if ("scram", user) in failed:
            continue  # the known credentials are outdated
        found[Resource("scram", user)] += (Value(c.mechanism.label, scram_text(c.iterations)) for c in credentials)
    # All brokers get the levels from the controller, so if a broker lags, the highest level counts.
    levels = sorted(level for version in snapshot.versions.values() for level in version.finalized_features.items())
    for feature, level in levels:
        found[Resource("feature", feature)] = [Value(":level", str(level))]
    return found


_OF_A_BROKER = (config.own_source(config.broker_resource(0)), codes.STATIC_BROKER_CONFIG)


def _own_values(entity_type: str, resource: config.ConfigResource, configs: config.ConfigSet) -> Iterator[Value]:
    """Yield the values that are set on a resource itself. For a broker these are the values set on it at run time, else
    those in its file, even if the default for all brokers overrides them. If a config has a synonym with another
    name (log.retention.hours for log.retention.ms), only values under its own name count.
    """
    on_broker = resource.type == codes.BROKER and not resource.is_cluster_default
    for entry in configs if on_broker else configs.overrides(resource):
        own: Sequence[config.ConfigEntry | config.Synonym] = [entry]
        if on_broker:
            there = entry.synonyms or (entry,)
            own = [each for each in there if each.name == entry.name and each.source in _OF_A_BROKER]
        if own:
            hidden = entry.sensitive or is_secret(entity_type, entry.name)
            yield Value(entry.name, None if hidden else own[0].value, own[0].source.name, hidden)


def state_rows(state: State) -> list[Row]:
    """Return a row for each value of a state."""
    return [Row("state", type_, key, *value) for (type_, key), values in state.items() for value in values]


def status_rows(seen: Observation) -> list[Row]:
    """Return a row of kind failed for each error, and one row of kind heartbeat, whose `entity_type` is the list of
    the types that were read completely, separated by commas. The heartbeat is missing if no type was read
    completely.
    """
    incomplete = {*(entity_type for entity_type, _ in seen.failed), *seen.unasked}
    complete = [each for each in (*TYPES, *OF_SERVICES) if each not in incomplete]
    failures = [Row("failed", entity_type, key, value=why) for (entity_type, key), why in seen.failed.items()]
    return [*([Row("heartbeat", ",".join(complete))] if complete else ()), *failures]


def landed(rows: Sequence[Row], cluster_id: str, at: datetime) -> Landed:
    """Return the rows of a poll in the form in which they are delivered to a lake."""
    return Landed(cluster_id, (at - EPOCH) // timedelta(microseconds=1), [*rows])


# -- the rows of one poll ----------------------------------------------------------------------------------------------


def changed_rows(last: State, seen: Observation) -> tuple[list[Row], State]:
    """Return the rows for changed and deleted resources, and the new state.

    A resource of the last state that was not found counts as deleted only if all resources of its type were listed. If
    the listing failed, or if this resource could not be read, its last state remains. Values that belong to a running
    move remain as they were before the move.

    Args:
        last: the state after the last poll.
        seen: the result of the new poll.
    """
    now = dict(seen.state)
    for entity, keys in seen.owned.items():
        if before := [value for value in last.get(entity, ()) if value.attr in keys]:
            now[entity] = tuple(sorted((*now.get(entity, ()), *before)))
    for entity in now.keys() & seen.failed.keys():
        configs = (value for value in last.get(entity, ()) if not value.attr.startswith(":"))
        now[entity] = tuple(sorted((*now[entity], *configs)))
    changed = {entity: values for entity, values in now.items() if last.get(entity) != values}
    gone: list[Row] = []
    for entity in last.keys() - now.keys():
        is_listed = entity.entity_type not in seen.unasked and (entity.entity_type, None) not in seen.failed
        if is_listed and entity not in seen.failed:
            gone.append(Row("absent", *entity))
        else:
            now[entity] = last[entity]
    return [*state_rows(changed), *gone], now


# -- the last states, and the context of each cluster's last poll ------------------------------------------------------

# With a last state, a poll delivers only the changed rows. Without one, it delivers the whole cluster again, which adds
# no change to the history.

OWNERS = "collect/owners.json"


class Owner(NamedTuple):
    """The context of a cluster's last poll."""

    context: str
    declares: bool
    """Whether the context's configuration has the cluster's id."""


class LastStates:
    """The state of each cluster of a lake at its last poll: read from the lake at the first use, then cached."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._known: dict[str, State] = {}

    def of(self, cluster_id: str) -> State:
        """Return the last state of a cluster; empty if it was never polled, or if its file in the lake is damaged."""
        if cluster_id not in self._known:
            self._known[cluster_id] = self._read(cluster_id)
        return self._known[cluster_id]

    def owners(self) -> Mapping[str, Owner]:
        """Return cluster id -> the context of its last poll; empty if the lake's file of them is missing or invalid."""
        text = self.lake.own_file(OWNERS)
        with suppress(ValueError, TypeError):
            return {of: Owner(*owner) for of, owner in json_of(text or "{}").items()}
        return {}

    def keep(self, states: Mapping[str, tuple[Owner, State]]) -> None:
        """Write into the lake, for each cluster that was just polled, its owner and its new state. Raises OSError,
        LakeError.
        """
        for cluster_id, (_, state) in states.items():
            if self.of(cluster_id) != state:
                rows = [(*entity, values) for entity, values in state.items()]
                self.lake.files.replace(self._path(cluster_id), gzip.compress(msgspec.json.encode(rows)))
                self._known[cluster_id] = state
        before = self.owners()
        now = {**before, **{cluster_id: owner for cluster_id, (owner, _) in states.items()}}
        if now != before:
            self.lake.files.replace(self.lake.path(OWNERS), json_text(now).encode())

    def _path(self, cluster_id: str) -> str:
        return self.lake.path(f"collect/{entities.folder_of(cluster_id)}.json.gz")

    def _read(self, cluster_id: str) -> State:
        text = self.lake.own_file(f"collect/{entities.folder_of(cluster_id)}.json.gz")
        if text is None:
            return {}
        try:
            rows = json_as(gzip.decompress(text), list[tuple[str, str, tuple[Value, ...]]])
        except (OSError, EOFError, zlib.error, ValueError):
            return {}  # start without a state; the next poll writes the file again
        return {Resource(type_, key): values for type_, key, values in rows}
