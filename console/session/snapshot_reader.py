"""Read a cluster into a snapshot, and notify listeners when the snapshot changes.

A snapshot is never modified but replaced. All methods run on the caller's event loop and thread; the client has a loop
and a thread of its own (console.admin.client).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from console.admin.errors import AdminError, BrokerError, Unsupported
from console.model import quota
from console.model import snapshot as refresh
from console.model.acl import Acl, AclFilter
from console.model.cluster import ClusterInfo, LogRange, Topic, TopicListing, partition_in
from console.model.config import ConfigListing, ConfigResource, broker_resource, is_tiered, topic_resource
from console.model.coordinators import unlisted
from console.model.failure import Failure
from console.model.identity import not_expected, not_the_one_before
from console.model.name_order import in_order
from console.model.observers import placements_to_read
from console.model.parts import LISTED, Part
from console.model.quorum import known_voters, voters_text
from console.model.rates import with_dirs
from console.model.snapshot import Snapshot, TopicPartition
from console.session.parts import SERVICES, is_had

if TYPE_CHECKING:
    from console.contexts import Context
    from console.model.lag_trend import LagTrend
    from console.model.time_lag import Spot, Written

T = TypeVar("T")
log = logging.getLogger(__name__)

PUBLISH_EVERY = 0.25
"""Minimum seconds between two replacements of the snapshot during a long read. With 100,000 topics, one for each chunk
would mean 1,000 copies.
"""


MANY = 5_000
"""Number of topics, ACLs or quotas above which a loop over all of them runs in a thread, since it would delay key
presses.
"""


MOST_NAMED = 1_000
"""Maximum number of known topics missing from a listing that are described by name, to see whether they exist. If more
are missing, as after a plan that deletes many, all of them count as deleted.
"""


GROUPS_AT_ONCE = 5_000
"""Maximum number of groups that are described before the snapshot gets the result."""


TIMES_WITHIN = 3.0
"""Maximum seconds to wait for the timestamps of records; after that, the known values are used."""


SINGLE_QUOTAS = tuple(
    quota.QuotaFilter((quota.QuotaMatch(type_, quota.Match.ANY_NAME),), strict=True)
    for type_ in (quota.USER, quota.CLIENT_ID, quota.IP)
)
"""The filters that match users, client ids and addresses that have quotas of their own."""


class SnapshotChanged(Struct, frozen=True):
    """The event that the snapshot was replaced."""

    old: Snapshot
    new: Snapshot


class PlanChanged(Struct, frozen=True):
    """The event that the plan was replaced, because edits were staged, discarded, checked or applied."""


class Progress(Struct, frozen=True):
    """The event that long work has progressed."""

    what: str
    """The name of the work."""
    done: int
    """The number of finished items."""
    total: int
    """The number of all items; 0 if unknown."""


SessionEvent = SnapshotChanged | PlanChanged | Progress


class Client(Protocol):
    """A client that runs operations of `console.admin`."""

    def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> Awaitable[T]:
        """Run `operation(link, *args, **options)` on the client's loop and return an awaitable of its result.
        Cancelling the awaitable cancels a read.
        """


class Refused(Exception):
    """The session refuses an operation. failure: the reason, and an alternative."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Clock(NamedTuple):
    """The source of the present time: this host's clock, or a replayed record."""

    now: Callable[[], datetime]
    """Returns the present time, UTC."""
    monotonic: Callable[[], float]
    """Returns the seconds of a clock that never goes back."""


WALL = Clock(lambda: datetime.now(UTC), time.monotonic)

Learned = Callable[[Snapshot, datetime], Snapshot]
"""Function of (present snapshot, time of the answer) that returns the snapshot with the answer entered."""


async def _with_hidden(client: Client, known: Iterable[str], listing: TopicListing) -> TopicListing:
    """Return a listing of topics to which the known topics that it lacks are added: each is described by name, and is
    added with its description or its failure. A listing silently omits topics that the principal may not describe;
    only a request by name gets the refusal. Return the listing unchanged if no topic is missing, or more than
    `MOST_NAMED`.
    """
    from console.admin import topics

    lacking = [name for name in known if name not in listing.topics]
    if not 0 < len(lacking) <= MOST_NAMED:
        return listing
    named = await client.run(topics.describe_topics, lacking)
    return TopicListing({**listing.topics, **named.topics}, {**named.failures, **listing.failures})


class SnapshotReader:
    """A reader of a cluster into a snapshot, part by part.

    Methods that read raise AdminError if the connection to the cluster is lost. If brokers refuse a read, this becomes
    a failure in the snapshot and is not raised, unless the method's docstring says so under `Raises`.
    """

    def __init__(self, client: Client, context: Context, clock: Clock = WALL) -> None:
        self.client = client
        self.context = context
        self.clock = clock
        self.snapshot = Snapshot()
        self._listeners: list[Callable[[SessionEvent], None]] = []

    def subscribe(self, listener: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Have a listener called for each event, on the thread that changes the snapshot.

        Args:
            listener: function that must not raise. The snapshot is already the new one when it is called.

        Returns:
            A function that removes the listener.
        """
        self._listeners.append(listener)

        def unsubscribe() -> None:
            self._listeners.remove(listener)

        return unsubscribe

    def notify(self, event: SessionEvent) -> None:
        """Call all listeners with an event, in the order in which they were added."""
        for listener in tuple(self._listeners):
            listener(event)

    def learn(self, update: Learned) -> None:
        """Enter the result of a read into the snapshot. If this changes the snapshot, notify the listeners.

        Args:
            update: function that enters the result into the present snapshot, which other reads may have replaced
                meanwhile.
        """
        self._learn(update(self.snapshot, self.clock.now()))

    async def keep(self, read: Awaitable[Learned]) -> None:
        """Await one of this module's reads, and enter its result into the snapshot."""
        self.learn(await read)

    def _learn(self, snapshot: Snapshot) -> None:
        # Updates return the same object if nothing changed: an unchanged cluster causes no redraw.
        if snapshot is not self.snapshot:
            old, self.snapshot = self.snapshot, snapshot
            self.notify(SnapshotChanged(old, snapshot))

    async def read_whole(self, part: Part) -> None:
        """Read a whole part into the snapshot; do nothing for a part of an HTTP service that the settings do not name.
        Raises AdminError and Refused as the method for this part does.
        """
        if part in SERVICES and not is_had(part, self.context.settings):
            return
        if part in LISTED:
            try:
                await self.keep(read_listed(self.client, part))
            except BrokerError as error:
                if not LISTED[part].may_be_refused:
                    raise
                self._fail(part, [("", error.failure)])
            return
        own: dict[Part, Callable[[], Awaitable[None]]] = {
            Part.CLUSTER: self.read_cluster,
            Part.QUORUM: self.read_quorum,
            Part.TOPICS: self.read_topics,
            Part.GROUPS: self.read_groups,
            Part.QUOTAS: self.read_quotas,
            Part.ACLS: self.read_acls,
            Part.LOG_DIRS: self.read_log_dirs,
            Part.MIRRORS: lambda: self.keep(read_mirrors(self.client, self.context, self.snapshot)),
        }
        await own[part]()

    async def read_cluster(self) -> None:
        """Read the brokers, the controller and the cluster id into the snapshot.

        Raises:
            Refused: the cluster is not the one that the context expects, or not that of earlier reads.
            AdminError: no broker answers.
        """
        # Check the cluster before anything is kept: no edit may be staged on the answer of another cluster.
        info = await describe_same_cluster(self.client, self.context, self.snapshot)
        self._learn(refresh.with_cluster(self.snapshot, info, self.clock.now()))

    async def read_quorum(self) -> None:
        """Read the KRaft quorum into the snapshot. It becomes None if the brokers lack the API, and unknown if they
        refuse to describe it; it stays unchanged if no answer comes.
        """
        from console.admin import cluster

        self._learn(refresh.asking_quorum(self.snapshot, self.clock.now()))
        try:
            quorum = await self.client.run(cluster.describe_quorum)
        except AdminError as error:
            self._fail(Part.QUORUM, [(Part.QUORUM, await self._with_voters(error.failure))])
            if isinstance(error, Unsupported):
                if Part.VERSIONS not in self.snapshot.read_at:
                    await self.read_whole(Part.VERSIONS)  # versions show whether the cluster uses ZooKeeper
                self._learn(refresh.with_quorum(self.snapshot, None, self.clock.now()))
            # Brokers that refuse leave the known quorum out of date from now on. A lost answer proves nothing.
            elif isinstance(error, BrokerError):
                self._learn(refresh.without_quorum(self.snapshot))
        else:
            self._fail(Part.QUORUM, [])
            self._learn(refresh.with_quorum(self.snapshot, quorum, self.clock.now()))

    async def _with_voters(self, failure: Failure) -> Failure:
        """Return the failure of DescribeQuorum with the voters added to its message, as far as they are known
        without a leader. Return it unchanged if no controllers are known.
        """
        from console.admin.errors import AdminError

        nodes = [broker_resource(each.id) for each in self.snapshot.cluster.controllers]
        if not nodes:
            return failure
        if self.snapshot.quorum is None and self.snapshot.configs.keys().isdisjoint(nodes):
            with suppress(AdminError):
                await self.read_configs(nodes, at_once=True)
        text = voters_text(known_voters(self.snapshot))
        return Failure(failure.name, f"{failure.message}; {text}", failure.remedy)

    async def read_topics(self, names: Sequence[str] | None = None) -> None:
        """Read topics into the snapshot, with their partitions, leaders and replicas.

        Args:
            names: the names of the only topics to read; the others stay unchanged. None to read all, and to remove
                topics that the brokers no longer list.

        Raises:
            AdminError: the connection is lost, or the brokers refuse the whole request.
        """
        from console.admin import topics

        listing = await self.client.run(topics.describe_topics, names)
        # Brokers leave out topics that the principal may not describe, without an error: an empty list may mean missing
        # rights. The log directories show whether topics exist.
        if names is None and not listing.topics and not listing.failures:
            from console.model.visibility import unseen_topics

            await self.read_log_dirs()
            if (unseen := unseen_topics(self.snapshot, self.context.kafka_principal)) is not None:
                listing = replace(listing, failures={"": unseen})
        elif names is None:
            listing = await _with_hidden(self.client, self.snapshot.topics, listing)
        if len(listing.topics) > MANY:
            listing = replace(listing, topics=await asyncio.to_thread(_shared, self.snapshot.topics, listing.topics))
        self._learn(refresh.with_topics(self.snapshot, listing, whole=names is None, at=self.clock.now()))

    async def read_placements(self) -> None:
        """Read the configs that show whether replicas missing from an ISR are observers by design. If a config can't be
        read, such a replica counts as out of sync.
        """
        from console.admin import configs

        asked: set[str] = set()
        while names := placements_to_read(self.snapshot.topics, self.snapshot.configs, asked):
            asked.update(names)
            try:
                described = await self.client.run(configs.describe_configs, [*map(topic_resource, names)])
            except AdminError:
                return
            if not described.sets:
                return  # the principal may not see topic configs: reading further topics would return nothing
            listing, at = replace(described, failures={}), self.clock.now()
            known = refresh.with_configs(self.snapshot, listing, at, described_by=described.described_by)
            self._learn(known)

    async def read_configs(
        self, resources: Sequence[ConfigResource], documentation: bool = False, *, at_once: bool = False
    ) -> None:
        """Read the configs of resources into the snapshot, as they arrive.

        Args:
            documentation: whether to request Kafka's text about each config, which makes responses much larger.
            at_once: whether to replace the snapshot only once, at the end.

        Raises:
            AdminError: the connection to the cluster is lost.
        """
        from console.admin import configs

        if not resources:
            return
        loop = asyncio.get_running_loop()
        pending: list[ConfigListing] = []
        state = {"done": 0, "last": loop.time()}

        def publish() -> None:
            if not pending:
                return
            listing = ConfigListing(
                {r: s for part in pending for r, s in part.sets.items()},
                {r: f for part in pending for r, f in part.failures.items()},
                described_by=pending[-1].described_by,
            )
            pending.clear()
            at = self.clock.now()
            known = refresh.with_configs(self.snapshot, listing, at, described_by=listing.described_by)
            self._learn(known)
            self.notify(Progress(Part.CONFIGS, int(state["done"]), len(resources)))

        def arrived(part: ConfigListing) -> None:
            pending.append(part)
            state["done"] += len(part.sets) + len(part.failures)
            if not at_once and loop.time() - state["last"] >= PUBLISH_EVERY:
                state["last"] = loop.time()
                publish()

        await self.client.run(
            configs.describe_configs,
            resources,
            documentation=documentation,
            on_chunk=lambda part: loop.call_soon_threadsafe(arrived, part),
        )
        # The chunks were queued on this loop before the result; one turn delivers the last of them.
        await asyncio.sleep(0)
        publish()

    async def read_quotas(self) -> None:
        """Read the quotas of all entities into the snapshot."""
        from console.admin import quotas

        listed = await self._part(Part.QUOTAS, self.client.run(quotas.describe_quotas))
        if listed is not None:
            self._learn(refresh.with_quotas(self.snapshot, listed, self.clock.now()))

    async def poll_quotas(self, filters: Sequence[quota.QuotaFilter] = ()) -> None:
        """Read quotas into the snapshot, repeatedly for a screen. The first call reads the quotas of single users,
        client ids and addresses. If these are at most `MANY_QUOTAS` (20,000), each call reads all quotas; otherwise
        those that the filters match.
        """
        if Part.QUOTAS not in self.snapshot.read_at and not await self.survey_quotas():
            return
        if not self.snapshot.quotas_sparse:
            await self.read_quotas()
        elif filters:
            await self.keep(read_quotas_of(self.client, filters))

    async def survey_quotas(self) -> bool:
        """Read the quotas of single users, client ids and addresses. If they are more than `MANY_QUOTAS` (20,000),
        enter them into the snapshot; otherwise drop them, because the caller then reads all quotas.

        Returns:
            Whether they were read; False if the brokers refuse.
        """
        from console.admin import quotas

        parts = await self._part(Part.QUOTAS, self.client.run(quotas.describe_quotas_of, SINGLE_QUOTAS, batched=False))
        if parts is None:
            return False
        found = [part for part in parts if not isinstance(part, Failure)]
        if sum(map(len, found)) > refresh.MANY_QUOTAS:
            at = self.clock.now()
            known = await asyncio.to_thread(
                lambda: refresh.with_quota_survey(self.snapshot, {e: v for part in found for e, v in part.items()}, at)
            )
            read_at = {**self.snapshot.read_at, Part.QUOTAS: at}  # other parts may have been read meanwhile
            self._learn(replace(self.snapshot, quotas=known.quotas, quotas_sparse=True, read_at=read_at))
        return True

    async def read_acls(self) -> None:
        """Read all ACLs into the snapshot."""
        from console.admin import acls

        listed = await self._part(Part.ACLS, self.client.run(acls.describe_acls))
        if listed is not None:
            await self.keep(all_acls(self.snapshot, listed))

    async def read_groups(self) -> None:
        """Read the names and states of all groups into the snapshot."""
        from console.admin import groups

        listing = await self._part(Part.GROUPS, self.client.run(groups.list_groups))
        if listing is not None:
            listed = {**unlisted(self.snapshot.groups, listing), **listing.groups}
            failures = listing.failures
            if not listed and not failures and (failures := await self.why_no_groups()):
                listed = dict(self.snapshot.groups)
            known = refresh.with_groups(self.snapshot, listed, whole=True, at=self.clock.now())
            self._learn(refresh.with_failures(known, Part.GROUPS, failures.items()))

    async def why_no_groups(self) -> Mapping[str, Failure]:
        """Return ``""`` -> the failure that explains why the list of groups is empty; an empty mapping if the principal
        sees all groups.
        """
        from console.model.visibility import unseen_groups

        if Part.CLUSTER not in self.snapshot.read_at:
            await self.read_cluster()  # the response includes the authorized operations
        unseen = unseen_groups(self.snapshot, self.context.kafka_principal)
        return {"": unseen} if unseen is not None else {}

    async def poll_groups(self, names: Sequence[str], *, times: int = 0) -> None:
        """Read the members and the lag of groups into the snapshot, GROUPS_AT_ONCE groups at a time.

        Args:
            times: the maximum number of timestamps of records to read. They are those of the next records of the groups
                with the largest lags, if the polls so far do not show how long such a record has waited.
        """
        from console.admin import groups

        for start in range(0, len(names), GROUPS_AT_ONCE):
            some = names[start : start + GROUPS_AT_ONCE]
            known = self.snapshot.groups
            # Each type of group has its own API; for a group of unknown type, all APIs are tried.
            types = {name: known[name].type for name in some if name in known}
            polls = await self._part(Part.LAGS, self.client.run(groups.poll_groups, some, types))
            if polls is None:
                continue
            at = self.clock.now()
            if sum(len(lag.partitions) for lag in polls.lags.values()) > MANY:
                trends = await asyncio.to_thread(refresh.trends_of_polls, self.snapshot, polls, at)
            else:
                trends = refresh.trends_of_polls(self.snapshot, polls, at)
            if times:
                from console.model.lag_trend import with_times

                read_times = await _record_times(self.client, self.context, self.snapshot, trends.values(), times)
                times -= len(read_times)
                trends = with_times(trends, read_times)
            self._learn(refresh.with_group_polls(self.snapshot, polls, trends, at))

    async def read_tiered(self, *names: str) -> None:
        """Read the offsets of topics on disk and in remote storage into the snapshot; remove those of topics whose
        configs do not enable tiered storage.
        """
        from console.admin import partitions

        unread = [each for name in names if (each := topic_resource(name)) not in self.snapshot.configs]
        if unread:
            await self.read_configs(unread)
        places = [
            (name, each.number)
            for name in names
            if (topic := self.snapshot.topics.get(name)) is not None and is_tiered(self.snapshot.configs, name)
            for each in topic.partitions
            if each.leader >= 0
        ]
        if not places:
            self._learn(refresh.with_tiered(self.snapshot, names, {}))
            return
        found, failures = await self.client.run(partitions.tiered_offsets, places)
        known = refresh.with_tiered(self.snapshot, names, found)
        of = names[0] if len(names) == 1 else ""
        self._learn(refresh.with_failures(known, Part.TIERED, [(of, failure) for failure in failures]))

    async def read_log_dirs(self, broker: int | None = None) -> None:
        """Read the log directories of brokers into the snapshot. A broker that does not answer keeps its known sizes,
        and has a failure.

        Args:
            broker: the id of the only broker to ask, while the others stay unchanged; None for all.
        """
        from console.admin import cluster as log_dirs

        asked = None if broker is None else (broker,)
        listing = await self._part(Part.LOG_DIRS, self.client.run(log_dirs.describe_log_dirs, asked))
        if listing is None:
            return
        at, before, known = self.clock.now(), self.snapshot.rates, self.snapshot.log_dirs
        # A broker that does not answer keeps its last sizes; a broker that left the cluster is dropped.
        kept = known if broker is not None else {id_: dirs for id_, dirs in known.items() if id_ in listing.failures}
        dirs = await asyncio.to_thread(refresh.share, known, {**kept, **listing.dirs})
        after = await asyncio.to_thread(with_dirs, before, self.snapshot.topics, listing.dirs, at)
        now = self.snapshot.rates
        if now is not before:  # offsets were read meanwhile
            after = replace(after, ends=now.ends)
        failures = [(f"broker {id_}", failure) for id_, failure in listing.failures.items()]
        if broker is not None:
            others = (each for each in self.snapshot.failures if each.part == Part.LOG_DIRS)
            failures += [(each.entity, each.failure) for each in others if each.entity != f"broker {broker}"]
        learned = refresh.with_log_dirs(self.snapshot, dirs, after, at)
        self._learn(refresh.with_failures(learned, Part.LOG_DIRS, failures))

    async def list_resources(self, types: Iterable[int]) -> tuple[ConfigResource, ...]:
        """Return the resources of these types that have configs and that no other API lists, and groups with configs.
        Empty if the brokers refuse.

        Args:
            types: Kafka's numbers of the types (ConfigResource.Type).
        """
        from console.admin.configs import list_config_resources

        listed = await self._part(Part.RESOURCES, self.client.run(list_config_resources, tuple(types)))
        return listed or ()

    async def _part(self, part: str, read: Awaitable[T]) -> T | None:
        """Return the result of a read of a part. If the brokers refuse it, enter the failure into the snapshot and
        return None. Raises other AdminErrors.
        """
        try:
            result = await read
        except BrokerError as error:
            self._fail(part, [("", error.failure)])
            return None
        self._fail(part, [])
        return result

    def _fail(self, part: str, failures: list[tuple[str, Failure]]) -> None:
        self._learn(refresh.with_failures(self.snapshot, part, failures))


def _shared(known: Mapping[str, Topic], listed: Mapping[str, Topic]) -> Mapping[str, Topic]:
    """Return the listed topics, in which each topic that equals the known one is the same object; and cache their
    order.
    """
    topics = refresh.share(known, listed)
    in_order(topics)
    return topics


async def describe_same_cluster(client: Client, context: Context, known: Snapshot) -> ClusterInfo:
    """Return the brokers, the controller and the cluster id.

    Args:
        known: the snapshot of earlier reads.

    Raises:
        Refused: the cluster is not the one that the context expects, or not that of earlier reads.
        AdminError: no broker answers.
    """
    from console.admin import cluster

    info = await client.run(cluster.describe_cluster)
    other = not_expected(context.name, context.cluster_id, info.cluster_id) if context.cluster_id else None
    # If the context has no cluster_id, the first answer decides: addresses may lead elsewhere later.
    if other is None and Part.CLUSTER in known.read_at:
        other = not_the_one_before(known.cluster.cluster_id, info.cluster_id)
    if other is not None:
        raise Refused(other)
    return info


def _once(results: Iterable[object]) -> list[tuple[str, Failure]]:
    """Return the failures among the results, each without an entity. Equal ones, such as a missing right, are returned
    once.
    """
    return [("", failure) for failure in dict.fromkeys(each for each in results if isinstance(each, Failure))]


# -- reads of a part's members, for `SnapshotReader.keep`: they need a client, but no reader ---------------------------


async def _read(read: Awaitable[T]) -> tuple[T | None, list[tuple[str, Failure]]]:
    """Return the result of a read and an empty list; or None and the failure, if the brokers refuse. Raises other
    AdminErrors.
    """
    try:
        return await read, []
    except BrokerError as error:
        return None, [("", error.failure)]


async def read_quotas_of(client: Client, filters: Sequence[quota.QuotaFilter]) -> Learned:
    """Read the quotas that match filters, in one request if the brokers support that, otherwise in one for each filter.
    Quotas of a filter that failed stay unchanged in the snapshot.
    """
    from console.admin import quotas

    found, failures = await _read(client.run(quotas.describe_quotas_of, filters))
    if found is None:
        return lambda known, _at: refresh.with_failures(known, Part.QUOTAS, failures)
    answered = [(each, part) for each, part in zip(filters, found, strict=True) if not isinstance(part, Failure)]
    matched = [each for each, _ in answered]
    entities = {entity: values for _, part in answered for entity, values in part.items()}
    failed = _once(found)
    return lambda known, _at: refresh.with_failures(
        refresh.with_quotas_of(known, matched, entities), Part.QUOTAS, failed
    )


async def all_acls(known: Snapshot, listed: Sequence[Acl]) -> Learned:
    """Return the function that enters these ACLs, which are all of the cluster, into a snapshot. known: the present
    snapshot.
    """
    # Sort and compare in a thread: a hundred thousand ACLs would delay key presses. An equal list is replaced by the
    # known one.
    acls = (await asyncio.to_thread(refresh.with_acls, known, listed, datetime.now(UTC))).acls
    return lambda snapshot, at: refresh.with_acls(replace(snapshot, acls=acls), acls, at)


async def read_acls_of(client: Client, principals: Sequence[str]) -> Learned:
    """Read the ACLs of principals, in one request if the brokers support that, otherwise in one for each principal.

    Args:
        principals: the principals with their type, such as ``User:NAME``.
    """
    from console.admin import acls

    found, failures = await _read(client.run(acls.describe_acls_of, [AclFilter(principal=each) for each in principals]))
    if found is None:
        return lambda known, _at: refresh.with_failures(known, Part.ACLS, failures)
    answered = [(who, part) for who, part in zip(principals, found, strict=True) if not isinstance(part, Failure)]
    names, bindings = {who for who, _ in answered}, [acl for _, part in answered for acl in part]
    failed = _once(found)
    return lambda known, _at: refresh.with_failures(refresh.with_acls_of(known, names, bindings), Part.ACLS, failed)


async def read_group_positions(client: Client, names: Sequence[str]) -> Learned:
    """Read the members and the committed offsets of groups. A group that does not exist is removed from the
    snapshot.
    """
    from console.admin import groups

    found, failures = await client.run(groups.group_positions, names)
    part = [(name, each) for name, position in found.items() for each in position.failures]
    failed = [*failures.items(), *part]
    return lambda known, at: refresh.with_failures(
        refresh.with_group_positions(known, names, found, at), Part.GROUP_POSITIONS, failed
    )


async def read_log_ranges(client: Client, places: Sequence[TopicPartition]) -> Learned:
    """Read the start and end offsets of partitions. Offsets that can't be read become unknown.

    Args:
        places: the partitions, as (topic, partition).
    """
    from console.admin import partitions

    # Name each partition once: brokers answer a ListOffsets request that names one twice with INVALID_REQUEST.
    asked = tuple(dict.fromkeys(places))
    found, failures = await client.run(partitions.log_ranges, asked)
    return _with_ranges(asked, found, failures)


async def read_log_starts(client: Client, ends: Mapping[TopicPartition, int]) -> Learned:
    """Read the start offsets of partitions whose end offsets were just read. Offsets that can't be read become unknown.

    Args:
        ends: (topic, partition) -> its end offset.
    """
    from console.admin import partitions

    first, failures = await client.run(partitions.list_offsets, dict.fromkeys(ends, partitions.EARLIEST))
    ranges = {place: LogRange(start, ends[place]) for place, start in first.items()}
    return _with_ranges(ends, ranges, failures)


def _with_ranges(
    asked: Iterable[TopicPartition], found: Mapping[TopicPartition, LogRange], failures: Iterable[Failure]
) -> Learned:
    """Return the function that enters start and end offsets into a snapshot, and the failures of the partitions in
    `asked` that have none.
    """
    failed = [("", failure) for failure in failures]
    return lambda known, _at: refresh.with_failures(
        refresh.with_log_ranges(known, asked, found), Part.LOG_RANGES, failed
    )


async def read_offsets_at(client: Client, places: Sequence[TopicPartition], at: int) -> Learned:
    """Read the offsets of the first records at or after a time.

    Args:
        places: the partitions, as (topic, partition).
        at: the time in milliseconds since 1970, UTC, which is compared with the records' timestamps.
    """
    from console.admin import partitions

    first, failures = await client.run(partitions.list_offsets, dict.fromkeys(places, at))
    offsets = {(*place, at): offset for place, offset in first.items()}
    failed = [("", failure) for failure in failures]
    return lambda known, _now: refresh.with_failures(refresh.with_offsets_at(known, offsets), Part.OFFSETS_AT, failed)


async def read_end_offsets(client: Client, leaders: Mapping[int, Sequence[TopicPartition]]) -> Learned:
    """Read the end offsets of partitions from their leaders, for the rates. If a leader does not answer, its
    partitions' end offsets become unknown.

    Args:
        leaders: broker id -> the partitions that it leads.
    """
    from console.admin import partitions

    ends = await client.run(partitions.ends_at_leaders, leaders)
    asked = [place for places in leaders.values() for place in places]
    return lambda known, at: refresh.with_end_offsets(known, asked, ends, at)


async def read_replica_logs(client: Client, snapshot: Snapshot, places: Iterable[TopicPartition]) -> Learned:
    """Read the logs of the replicas of partitions. Replicas whose brokers don't return them are missing in the result.

    Args:
        snapshot: a snapshot that has the partitions' replicas.
        places: the partitions, as (topic, partition).
    """
    from console.admin.replicas import replica_logs

    replicas: dict[TopicPartition, tuple[int, ...]] = {}
    for topic, number in places:
        partition = partition_in(snapshot.topics.get(topic), number)
        replicas[topic, number] = partition.replicas if partition is not None else ()
    logs = await client.run(replica_logs, replicas) if replicas else {}
    return partial(refresh.with_replica_logs, replicas, logs)


async def read_transactions(client: Client, places: Sequence[TopicPartition]) -> Learned:
    """Read the open transactions of partitions, and the facts that show whether these transactions hang. If brokers
    refuse, the transactions become unknown.

    Args:
        places: the partitions, as (topic, partition).
    """
    from console.admin.transactions import poll_transactions

    poll, failures = await _read(client.run(poll_transactions, places))
    return lambda known, at: refresh.with_failures(
        refresh.with_transactions(known, places, poll, at), Part.TRANSACTIONS, failures
    )


async def read_mirrors(client: Client, context: Context, snapshot: Snapshot) -> Learned:
    """Read the records of MirrorMaker about what it copies to this cluster. If the context forbids reading records,
    only what the names of topics show is known.

    Args:
        snapshot: a snapshot that has the topics.
    """
    from console.contexts.context import NEVER
    from console.model.mirror import Followed, MirrorListing, mirror_topics

    asked = [snapshot.topics[name] for name in mirror_topics(snapshot.topics)]
    listing = MirrorListing({each.name: Followed() for each in asked}, {})
    if asked and context.records != NEVER:
        from console.admin import mirror

        listing = await client.run(mirror.describe_mirrors, asked)
    return lambda known, at: refresh.with_mirrors(known, listing, at)


async def read_listed(client: Client, part: Part) -> Learned:
    """Read one of the parts in `LISTED`. Raises AdminError, also if the brokers refuse."""
    listed = LISTED[part]
    found = await client.run(getattr(import_module(f"console.admin.{listed.module}"), listed.operation))
    return partial(refresh.with_part, part, found)


async def _record_times(
    client: Client, context: Context, snapshot: Snapshot, trends: Iterable[LagTrend], most: int
) -> Mapping[Spot, Written]:
    """Return place of a record -> the time at which it was written, for at most `most` records. Only records that
    groups read next are looked up, and only if the polls so far do not show how long these records have waited.
    Empty if the context forbids reading records, or if the read fails.
    """
    from console.admin.record_times import record_times
    from console.contexts.context import NEVER
    from console.model.lag_trend import times_to_read

    asked = times_to_read(trends, most) if context.records != NEVER else []
    if not asked:
        return {}
    try:
        return await client.run(record_times, asked, snapshot.topics, TIMES_WITHIN)
    except AdminError as error:  # the lag in records was read, and is shown without times
        log.info("times of records: %s", error.failure)
        return {}
