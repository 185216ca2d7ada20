"""Reads for triage whose results are not in the snapshot, with their intervals: the offsets of logs, and reads that
depend on these. Each read has a limited size.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.admin.errors import AdminError, BrokerError, Unsupported
from console.admin.recorded import NOT_RECORDED
from console.model.certificates import Listener, advertised_with_tls, speaks_tls
from console.model.cluster import TieredOffsets, Topic, is_gone
from console.model.config import CLUSTER_DEFAULT, broker_resource, is_tiered, topic_resource
from console.model.coordinators import OFFSETS, partition_of
from console.model.coordinators import TRANSACTIONS as TRANSACTIONS_TOPIC
from console.model.differing import differing
from console.model.elections import by_leader
from console.model.metadata_views import views_after, views_of
from console.model.name_order import in_order
from console.model.observed_logs import LogOffsets, Newest, Place, logs_after, without_logs
from console.model.parts import PACES, Part
from console.model.snapshot import with_acls, with_tiered
from console.session.request_log_tail import RequestLogTails
from console.session.snapshot_reader import all_acls, read_listed, read_replica_logs
from console.triage.connectors import failed
from console.triage.facts import Facts, Former, opened
from console.triage.share_beginnings import SHARE, share_group_config
from console.triage.symptoms import grows, out_of_sync

if TYPE_CHECKING:
    from console.contexts import Context
    from console.model.changes import Target
    from console.model.snapshot import Snapshot
    from console.session.session import Session

_INTERNAL = attrgetter("internal")

log = logging.getLogger(__name__)

LOGS_AT_ONCE, LOGS_IN_TURN, LOGS_FIRST = 4_000, 3_000, 1_000
"""Maximum number of partitions whose offsets are all read each time. If there are more: the number that is read in
turn, and the maximum numbers of stalled partitions and of partitions of groups that are read each time."""
STANDS = 4.0
"""Seconds, the time of two reads, for which a last stable offset must not have advanced before the partition's
producers are read.
"""
TRANSACTIONS_AT_ONCE = 200
NEWEST_AT_ONCE, NEWEST_AGAIN = 2_000, 3_600.0
"""Maximum number of partitions whose newest records are read at once, and the seconds until one is read again."""
UNTRIMMED_AGAIN = 60.0
"""Seconds between two reads of the newest record in a log that still has records of an age at which the other logs of
its topic have deleted theirs.
"""
SHARES_AT_ONCE = 50
"""Maximum number of share groups whose configs are read at once."""
LOOKED_AT_ONCE = 20_000
"""Number of logs after which a loop yields to the event loop, so that key presses and responses are handled."""
CERTIFICATES_AGAIN, UNREACHED_AGAIN = 3_600.0, 60.0
"""Seconds until a certificate is read again, and until an unreachable listener is tried again."""
LEADERLESS_AT_ONCE = 200
"""Maximum number of partitions without a leader whose replicas are read at once."""
JUMPED_AT_ONCE = 50
"""Maximum number of topics with an advanced log start whose configs are read at once. The configs of at most as many
leaders of the topics' partitions are read, too, because topics may inherit the brokers' values.
"""
AUTHORS = 500
"""Maximum number of changes for which the author is remembered."""
RESTARTS_EVERY = 2.0
"""Seconds between two searches of the journal for restarts of failed connectors."""
TIERED = 200
"""Maximum number of topics with tiered storage whose offsets are read."""
BROKERS_AT_ONCE = 3
"""Number of brokers from which the metadata of topics is read at once, to compare them."""
VIEW_SECONDS = 3.0
TOPICS_OF_VIEW, PARTITIONS_OF_VIEW, CHANGED_SECONDS = 50, 1_000, 60.0
"""Maximum number of topics in one request for a broker's view; the maximum number of their partitions, unless it is one
topic; and the seconds for which changed topics are also requested."""


LAGGING, LAGGING_PLACES = 20, 200
"""Maximum number of groups whose lag grows, and of their partitions, whose former ends are read."""
FORMER = (600, 300, 120, 60, 45, 30, 20)
"""Seconds before the present: for these times, the former end offsets of logs are read, by the timestamps of records.
"""


class SlowPolls:
    """The reads that only triage needs and whose results are not in the snapshot.

    Attributes:
        facts: the results so far.
        reads: name of a part -> its read.
    """

    def __init__(self, session: Session, request_logs: Sequence[Path] = ()) -> None:
        self._session = session
        self._settings: Snapshot | None = None
        self._tails = RequestLogTails(request_logs)
        self._next_log: Place = ("", -1)
        self._logs_of: Mapping[str, Topic] = {}
        self._stood_at = 0.0
        self._newest_at: dict[Place, float] = {}
        self._next_broker = 0
        rare = {part for part, paces in PACES.items() if paces.is_rare}
        self._refused: set[Part] = set() if self._has_own_login() else {*rare}
        self._next_topic = ""
        self._restarts_due = float("-inf")
        self._known: Mapping[str, Topic] = {}
        self._replaced: dict[tuple[Target, str], str | None] = {}
        self._changed_at: dict[str, float] = {}
        self._shown_at: dict[Listener, float] = {}
        self._unread_tiers: frozenset[Place] = frozenset()
        self._lagging: Sequence[str] = ()
        self.facts = Facts()
        self.reads: dict[Part, Callable[[], Awaitable[None]]] = {
            Part.LOGS: self._read_logs,
            Part.OPEN_TRANSACTIONS: self._read_transactions,
            Part.NEWEST: self._read_newest,
            Part.CERTIFICATES: self._read_certificates,
            Part.REPLICA_LOGS: self._read_leaderless,
            Part.TIERED: self._read_tiered,
            Part.QUOTAS: session.poll_quotas,
            Part.ACLS: self._read_acls,
            Part.SCRAM: partial(self._read_quietly, Part.SCRAM),
            **{part: partial(self._read_quietly, part) for part in rare},
            Part.VIEWS: self._read_views,
            Part.AUTHORS: self._read_authors,
        }
        if request_logs:
            self.reads[Part.REQUEST_LOGS] = self._read_request_logs

    async def _read_tiered(self) -> None:
        """Read the offsets up to which the first `TIERED` topics with tiered storage are copied to remote storage;
        forget topics that are no longer tiered. A partition that can't be read keeps its known offsets.
        """
        before = self._session.snapshot
        names = {*islice((name for name in before.topics if is_tiered(before.configs, name)), TIERED)}
        left = {name for name, _ in before.tiered if not is_tiered(before.configs, name)}
        if not names and not left:
            return
        await self._session.read_tiered(*sorted(names | left))
        now = self._session.snapshot
        missed = {
            place: each
            for place, each in before.tiered.items()
            if place[0] in names
            and place[0] in now.topics
            and is_tiered(now.configs, place[0])
            and _is_less(now.tiered.get(place), each)
        }
        kept = {place: each for place, each in missed.items() if place not in self._unread_tiers}
        self._unread_tiers = frozenset(missed)
        if kept:
            self._session.learn(lambda snapshot, _: with_tiered(snapshot, (), kept))

    async def _read_acls(self) -> None:
        """Read the ACLs, to find changes. If brokers refuse (no authorizer, no right), only log it, since the views of
        ACLs show it.
        """
        from console.admin import acls

        try:
            bindings = await self._session.client.run(acls.describe_acls)
        except AdminError as error:
            log.info("ACLs: %s", error.failure)
            return
        await self._session.keep(all_acls(self._session.snapshot, bindings))
        before, known = self._settings or self._session.snapshot, self._session.snapshot
        if Part.ACLS not in before.read_at:  # the first read of ACLs finds no changes
            self._settings = with_acls(before, known.acls, known.read_at[Part.ACLS])

    def _has_own_login(self) -> bool:
        settings = self._session.context.settings
        if settings.sasl is not None:
            return "tokenauth" not in settings.sasl.options
        return settings.tls is not None and settings.tls.key_store is not None

    async def _read_quietly(self, part: Part) -> None:
        """Read a part that is empty on most clusters. If brokers refuse, read it no more, and report nothing, since the
        part's own view shows the failure. A record may have the part at a later time.
        """
        if part in self._refused:
            return
        try:
            await self._session.keep(read_listed(self._session.client, part))
        except AdminError as error:
            log.info("%s: %s", part, error.failure)
            if isinstance(error, BrokerError | Unsupported) and error.failure.name != NOT_RECORDED:
                self._refused.add(part)

    async def _read_authors(self) -> None:
        """Search the journal, if the context has one, for the authors of changes that were noticed in the cluster."""
        from console.triage import events
        from console.triage.begun_moves import begun_moves

        # Take the snapshot before the first await: later changes belong to the next comparison.
        old, new = self._settings or self._session.snapshot, self._session.snapshot
        self._settings = new
        if not self._session.context.journal:
            return
        await self._read_restarts(new)
        moves = islice(begun_moves(old, new), AUTHORS)
        differing = [*moves, *events.changes_by_clients(old, new)]
        differing += [*events.offset_differences(old, new), *events.pauses(old, new)]
        if not differing:
            return
        from console.session.event_authors import authors
        from console.session.journal_changes import read_latest

        at = datetime.now(UTC)
        known = await read_latest(
            await self._session.journal(), lambda latest: authors(differing, latest, old, new, at, {})
        )
        latest = {**self.facts.authors}
        taken_back = set(self.facts.taken_back)
        for each in differing:
            about, place_key = each.place.about, each.place.key
            key = (about, place_key, each.became)
            # If the same change was made again, the former author may not have done it. The replicas of a move change
            # once more when it is done.
            if each.place.kind is not events.Kind.REPLICAS:
                latest.pop(key, None)
            taken_back.discard(key)
            author = known.get(each.place)
            if author is None:
                self._replaced[about, place_key] = each.was
                continue
            latest[key] = author
            # The change restores what another client had changed, reverts a change, or removes a value.
            restores = self._replaced.get((about, place_key), each.was) == each.became
            if author.reverts or restores or each.became is None:
                taken_back.add((about, place_key, each.was))
        latest = dict(list(latest.items())[-AUTHORS:])
        self._replaced = dict(list(self._replaced.items())[-AUTHORS:])
        if latest != self.facts.authors or taken_back != self.facts.taken_back:
            self.facts = replace(self.facts, authors=latest, taken_back=frozenset(taken_back))

    async def _read_restarts(self, snapshot: Snapshot) -> None:
        """Search the journal for the last restarts of the failed connectors in the snapshot. Without this, a connector
        that failed again right after a restart would look as if it had not been restarted.
        """
        names, now = frozenset(each.connector for each in failed(snapshot.connect)), self._session.clock.monotonic()
        if now < self._restarts_due or not (names or self.facts.restarts):
            return
        self._restarts_due = now + RESTARTS_EVERY
        from console.session.event_authors import restarts
        from console.session.journal_changes import read_latest

        at = datetime.now(UTC)
        found = await read_latest(await self._session.journal(), lambda latest: restarts(latest, names, at))
        if found != self.facts.restarts:
            self.facts = replace(self.facts, restarts=found)

    async def _read_request_logs(self) -> None:
        """Read the lines that were added to the brokers' request logs on this host."""
        seen = await asyncio.to_thread(self._tails.read)
        self.facts = replace(self.facts, request_logs=seen)

    # -- logs ----------------------------------------------------------------------------------------------------------

    async def _read_logs(self) -> None:
        """Read the start and end offsets of logs, and, if the cluster has transactions, their last stable offsets: of
        logs that groups read, of logs whose last stable offset does not advance, and of some others in turn.
        """
        from console.admin import partitions

        topics = self._session.snapshot.topics
        places = self._next_logs()
        # Without transactions the last stable offset is the end offset: not requesting it saves a third of the
        # requests. A principal that sees no internal topic can't know, so it requests both.
        stable = TRANSACTIONS_TOPIC in topics or not any(map(_INTERNAL, topics.values()))
        offsets = await self._session.client.run(partitions.log_offsets, self._led(places), stable=stable)
        self.keep_logs(offsets)
        jumped = {(each.topic, each.partition) for each in self.facts.logs.jumps if each.at == self.facts.logs.at}
        if jumped:
            # Read the retention together with the jump, also the brokers' values that a topic may inherit: a change of
            # it may be the cause.
            names = sorted({name for name, _ in jumped})[:JUMPED_AT_ONCE]
            leaders = sorted(self._led(jumped))[:JUMPED_AT_ONCE]
            inherited = [CLUSTER_DEFAULT, *map(broker_resource, leaders)]
            await self._session.read_configs([*map(topic_resource, names), *inherited])
        await self._read_former()

    def keep_logs(self, logs: Mapping[Place, LogOffsets]) -> None:
        """Enter the offsets of logs that were read into the facts, and pass their end offsets to the rates."""
        self._session.rates.take_ends({place: each.end for place, each in logs.items()})
        known, topics = self.facts.logs, self._session.snapshot.topics
        known = without_logs(known, {name for name, *both in differing(self._logs_of, topics) if is_gone(*both)})
        self._logs_of = topics
        self.facts = replace(self.facts, logs=logs_after(known, logs, self._session.clock.now().timestamp()))

    async def _read_former(self) -> None:
        """Read how logs grew before the lag of the groups that read them grew, by the timestamps of records; once for
        each log. Logs with records in remote storage are left out, since finding a time there may need an index from
        remote storage.
        """
        from console.admin import partitions

        snapshot, logs = self._session.snapshot, self.facts.logs.logs
        growing = (name for name, trend in snapshot.lag_trends.items() if (trend.rate or 0) > 0 and grows(trend))
        self._lagging = (*islice(growing, LAGGING),)
        lags = (snapshot.lags[name] for name in self._lagging if name in snapshot.lags)
        read = dict.fromkeys((p.topic, p.partition) for lag in lags for p in lag.partitions if p.committed >= 0)
        wanted = [each for each in read if each in logs and not is_tiered(snapshot.configs, each[0])][:LAGGING_PLACES]
        if any(place not in read for place in self.facts.former):
            known = {place: former for place, former in self.facts.former.items() if place in read}
            self.facts = replace(self.facts, former=known)
        if new := [place for place in wanted if place not in self.facts.former]:
            now = self._session.clock.now().timestamp()
            times = [round((now - each) * 1000) for each in FORMER]
            found = await self._session.client.run(partitions.offsets_at, self._led(new), times)
            self.facts = with_former(self.facts, new, now, found)

    def _next_logs(self) -> list[Place]:
        """Return the partitions whose offsets are read next: all of them, or, if there are too many, the most important
        ones and some others in turn.
        """
        topics = self._session.snapshot.topics
        if sum(len(topic.partitions) for topic in topics.values()) <= LOGS_AT_ONCE:
            return [(name, each.number) for name, topic in topics.items() for each in topic.partitions]
        # Read a log that stands still at each poll, often enough to detect that.
        first = dict.fromkeys(self.facts.logs.standing(0)[:LOGS_FIRST])
        first |= dict.fromkeys(_group_places(self._session.snapshot, LOGS_FIRST))
        if (offsets := topics.get(OFFSETS)) is not None and offsets.partitions:
            first |= dict.fromkeys((OFFSETS, partition_of(name, len(offsets.partitions))) for name in self._lagging)
        # Take the same lists each time, so that the requests of a flight record repeat.
        turn = places_after(topics, self._next_log, LOGS_IN_TURN) or places_after(topics, ("", -1), LOGS_IN_TURN)
        self._next_log = turn[-1]
        return list(dict.fromkeys((*first, *turn)))

    def _led(self, places: Iterable[Place]) -> dict[int, list[Place]]:
        """Return broker id -> those of the partitions that it leads; partitions without a leader are left out."""
        return by_leader(self._session.snapshot.topics, places)

    async def _read_leaderless(self) -> None:
        """Read, for the first `LEADERLESS_AT_ONCE` partitions without a leader, which replicas may become leader, and
        the ends of their logs.
        """
        # Search in a thread: the first pass over a million partitions would block the screen.
        out = await asyncio.to_thread(out_of_sync, self._session.snapshot.topics)
        places = [(name, each.number) for name, each in out if each.leader < 0]
        if places:
            some, session = places[:LEADERLESS_AT_ONCE], self._session
            await session.keep(read_replica_logs(session.client, session.snapshot, some))

    # -- transactions --------------------------------------------------------------------------------------------------

    async def _read_transactions(self) -> None:
        """Read the transactions of the partitions whose last stable offset has not advanced for `STANDS` seconds, once
        after each read of that offset.
        """
        from console.model.transactions import NOTHING_SEEN

        read_at = self.facts.logs.at
        if read_at == self._stood_at:
            return
        places = self.facts.logs.standing(STANDS)[:TRANSACTIONS_AT_ONCE]
        seen = NOTHING_SEEN
        if places:
            from console.admin import transactions

            try:
                seen = await self._session.client.run(transactions.poll_transactions, places)
            except AdminError as error:
                seen = replace(NOTHING_SEEN, failures=dict.fromkeys(places, error.failure))
        self.facts = replace(self.facts, transactions=seen, open_before=opened(self.facts.transactions))
        self._stood_at = read_at

    async def read_share_groups(self) -> None:
        """Read the configs of the first `SHARES_AT_ONCE` share groups: they say at which offset a new group begins."""
        shares = [name for name, each in self._session.snapshot.groups.items() if each.type == SHARE]
        await self._session.read_configs([*map(share_group_config, shares[:SHARES_AT_ONCE])], at_once=True)

    # -- newest records ------------------------------------------------------------------------------------------------

    async def _read_newest(self) -> None:
        """Read the timestamps of the newest records in logs that are not empty: of each log once an hour, but once a
        minute (`UNTRIMMED_AGAIN`) while retention seems to wait for one of its records.
        """
        from console.admin import partitions

        now, logs = self._session.clock.monotonic(), self.facts.logs.logs
        again = now - NEWEST_AGAIN
        topics = self._session.snapshot.topics
        for place in self.facts.logs.untrimmed(lambda name: _numbers(topics.get(name))):
            if self._newest_at.get(place, now) <= now - UNTRIMMED_AGAIN:
                del self._newest_at[place]
        self._newest_at = {place: at for place, at in self._newest_at.items() if at > again and place in logs}
        due: list[Place] = []
        left = iter(logs.items())
        while len(due) < NEWEST_AT_ONCE and (some := [*islice(left, LOOKED_AT_ONCE)]):
            due += [place for place, log in some if place not in self._newest_at and log.last.end > log.last.start]
            await asyncio.sleep(0)  # lets key presses and responses be handled
        due = due[:NEWEST_AT_ONCE]
        if not due:
            return
        newest = await self._session.client.run(partitions.newest_records, self._led(due))
        self._newest_at |= dict.fromkeys(due, now)
        self.keep_newest(newest)

    def keep_newest(self, records: Mapping[Place, Newest]) -> None:
        """Enter the timestamps of the newest records of logs into the facts."""
        kept = {place: newest for place, newest in self.facts.newest.items() if place in self.facts.logs.logs}
        self.facts = replace(self.facts, newest={**kept, **records})

    # -- certificates --------------------------------------------------------------------------------------------------

    def forget_certificates(self, brokers: Collection[int]) -> None:
        """Make the certificates of these brokers due again soon, because a broker may come back with another
        certificate.
        """
        self._shown_at = {each: at for each, at in self._shown_at.items() if each.broker not in brokers}

    async def _read_certificates(self) -> None:
        """Read the certificates of those listeners whose certificate was not read within the last hour."""
        from console.admin import certificates

        now = self._session.clock.monotonic()
        listeners = tls_listeners(self._session.snapshot, self._session.context)
        again = now - CERTIFICATES_AGAIN
        self._shown_at = {each: at for each, at in self._shown_at.items() if at > again and each in listeners}
        due = [each for each in listeners if each not in self._shown_at]
        if not due:
            return
        # Set the times before the read: after a failure, these listeners are due again in a minute, not in an hour or
        # at once.
        self._shown_at |= dict.fromkeys(due, again + UNREACHED_AGAIN)
        shown = await self._session.client.run(certificates.shown_certificates, due)
        self._shown_at |= {each.listener: now for each in shown}
        kept = [each for each in self.facts.certificates if each.listener in listeners and each.listener not in due]
        self.facts = replace(self.facts, certificates=(*kept, *shown))

    # -- brokers' views ------------------------------------------------------------------------------------------------

    async def _read_views(self) -> None:
        """Read topics from the next brokers, and compare them with the snapshot: topics that changed, topics of which a
        broker had an outdated state, and others in turn.
        """
        topics = self._session.snapshot.topics
        self._note_changes(topics)
        brokers = [each.id for each in self._session.snapshot.cluster.brokers if not each.fenced]
        # A single broker answered the request for the snapshot, so its view can't differ.
        if len(brokers) < 2:
            return
        views = views_of(self.facts.views, brokers)
        self.facts = replace(self.facts, views=views)
        start = self._next_broker % len(brokers)
        chosen = (brokers[start:] + brokers[:start])[:BROKERS_AT_ONCE]
        self._next_broker = start + len(chosen)
        turn = self._next_topics(topics)
        await asyncio.gather(*(self._read_view(broker, topics, turn) for broker in chosen))

    async def _read_view(self, broker_id: int, topics: Mapping[str, Topic], turn: Sequence[str]) -> None:
        late = [each.topic for each in self.facts.views.late.get(broker_id, ())][:TOPICS_OF_VIEW]
        lately = [name for name in reversed(self._changed_at) if name in topics]
        changed = dict.fromkeys((*late, *reversed(_few(topics, lately))))
        # Request the topics whose turn it is, and the changed topics, in separate lists: the requests of a flight
        # record then repeat, instead of differing after each change.
        for names in (turn, changed):
            if asked := [topics[name] for name in names if name in topics]:
                await self.compare_view(broker_id, asked)

    async def compare_view(self, broker_id: int, asked: Sequence[Topic]) -> None:
        """Read topics from a broker, and store where its answer differs from the snapshot. Store nothing if it does not
        answer.
        """
        from console.admin.link import broker
        from console.admin.topics import describe_topics

        try:
            answer = await self._session.client.run(
                describe_topics, [each.name for each in asked], to=broker(broker_id), within=VIEW_SECONDS
            )
        except AdminError:
            return  # the part for silent brokers reports it
        views = views_after(self.facts.views, broker_id, asked, answer, self._session.clock.now().timestamp())
        self.facts = replace(self.facts, views=views)

    def _note_changes(self, topics: Mapping[str, Topic]) -> None:
        """Remember the names of the topics that changed within the last `CHANGED_SECONDS` (a minute)."""
        now, known = self._session.clock.monotonic(), self._known
        if topics is not known:
            if known:
                changed = (name for name, _, after in differing(known, topics) if after is not None)
                self._changed_at |= dict.fromkeys(changed, now)
            self._known = topics
        self._changed_at = {name: at for name, at in self._changed_at.items() if at > now - CHANGED_SECONDS}

    def _next_topics(self, topics: Mapping[str, Topic]) -> list[str]:
        """Return the names of the topics whose turn it is. The lists are the same in each round as long as the set of
        topics is the same.
        """
        names = in_order(topics)
        first = bisect_right(names, self._next_topic)
        turn = _few(topics, names[first : first + TOPICS_OF_VIEW] or names[:TOPICS_OF_VIEW])
        self._next_topic = turn[-1] if turn else ""
        return turn


def _few(topics: Mapping[str, Topic], names: Sequence[str]) -> list[str]:
    """Return the first of these topics, as many as one request to a broker may name."""
    chosen: list[str] = []
    partitions = 0
    for name in names[:TOPICS_OF_VIEW]:
        partitions += len(topics[name].partitions)
        if chosen and partitions > PARTITIONS_OF_VIEW:
            break
        chosen.append(name)
    return chosen


def _numbers(topic: Topic | None) -> Iterable[int]:
    return (each.number for each in topic.partitions) if topic is not None else ()


def with_former(facts: Facts, places: Iterable[Place], at: float, found: Mapping[Place, Mapping[int, int]]) -> Facts:
    """Return the facts with the former end offsets of logs.

    Args:
        places: the logs in the request, as (topic, partition).
        at: the time of the request, in seconds since 1970.
        found: the result of `partitions.offsets_at`.
    """
    logs = facts.logs.logs
    new = {place: former_of(logs[place].last, at, found.get(place, {})) for place in places if place in logs}
    return replace(facts, former={**facts.former, **new})


def former_of(log: LogOffsets, at: float, offsets: Mapping[int, int]) -> Former:
    """Return the former end offsets of a log.

    Args:
        log: its present offsets.
        at: the present time, in seconds since 1970.
        offsets: time in milliseconds since 1970 -> the offset of the first record at or after it; -1 if there is none.
    """
    ends = ((when / 1000, log.end if offset < 0 else offset) for when, offset in sorted(offsets.items()))
    # What was before the first record is unknown: retention may have deleted it.
    is_empty = log.start == log.end
    return Former(at, log.end, tuple((when, end) for when, end in ends if is_empty or end > log.start))


def _is_less(found: TieredOffsets | None, known: TieredOffsets) -> bool:
    """Return whether a read found fewer of a partition's tiered offsets than are known, because one of its requests
    failed. found: None if nothing was found.
    """
    return found is None or (found.tiered_to is None and known.tiered_to is not None)


def tls_listeners(snapshot: Snapshot, context: Context) -> list[Listener]:
    """Return the listeners with TLS: those that brokers advertise, those of the voters, and, if the context's
    connections use TLS, the address of each broker to which kac connects.
    """
    listeners: dict[str, Listener] = {}
    for broker in snapshot.cluster.brokers:
        configs = snapshot.configs.get(broker_resource(broker.id))
        if configs is not None:
            listeners |= {each.address: each for each in advertised_with_tls(broker.id, configs)}
            endpoints = snapshot.quorum.endpoints if snapshot.quorum is not None else ()
            for voter in endpoints:
                if speaks_tls(configs, voter.listener):
                    listener = Listener(voter.id, voter.host, voter.port, voter.listener)
                    listeners.setdefault(listener.address, listener)
        if context.settings.security_protocol.endswith("SSL"):
            listener = Listener(broker.id, broker.host, broker.port)
            listeners.setdefault(listener.address, listener)
    return list(listeners.values())


def _group_places(snapshot: Snapshot, most: int) -> list[Place]:
    """Return the first partitions in which groups have committed offsets, at most `most`."""
    found: dict[Place, None] = {}
    for lag in snapshot.lags.values():
        found |= dict.fromkeys((each.topic, each.partition) for each in lag.partitions)
        if len(found) >= most:
            break
    return [*found][:most]


def places_after(topics: Mapping[str, Topic], last: Place, most: int) -> list[Place]:
    """Return the first `most` partitions after a given one, in the order of topic and number. Only these are visited,
    even if the cluster has 300,000.

    Args:
        last: the partition before them, which need not exist.
        most: the maximum number of partitions.
    """
    names = in_order(topics)
    later = (
        (name, each.number)
        for name in islice(names, bisect_left(names, last[0]), None)
        for each in topics[name].partitions
    )
    return list(islice((place for place in later if place > last), most))
