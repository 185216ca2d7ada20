"""An agent's queries of a cluster; the answers are those of kac's own commands, as JSON.

Each query reads what it needs again, in a new session, and has no plan.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from console.admin.errors import AdminError
from console.answers.results import Detail, Result, Table, to_data
from console.language.errors import CommandError
from console.language.grammar import parse
from console.language.needs import needs_of_script
from console.language.quoting import quote
from console.language.statements import QueryStatement, Statement
from console.language.verbs.effective import EffectiveQuota
from console.language.verbs.explain import Explain
from console.language.verbs.listing import List
from console.language.verbs.show import Show
from console.model.config import ConfigResource, broker_resource
from console.model.numbers import Data
from console.model.parts import FOR_EVENTS, Part
from console.model.time_lag import Spot
from console.plan.amounts import moment
from console.present.names import target
from console.present.text import clean
from console.session.reading import read_needs
from console.session.session import Session

if TYPE_CHECKING:
    from console.contexts import Context
    from console.language.statements import Entity
    from console.session.snapshot_reader import Client
    from console.triage.events import Event

FRONT_END = "mcp"
NEWEST_WITHIN = 20.0
"""Seconds within which the times of a topic's newest records are read; a time that is not read by then is null."""


class Answered(NamedTuple):
    """An answer: the JSON that kac's command prints, and remarks that are not in the JSON."""

    data: Mapping[str, Data]
    notes: tuple[str, ...] = ()


class Queries:
    """Queries of one cluster.

    pinned: the id that the cluster reported first; an answer from a cluster with another id is refused.

    Methods raise LanguageError for an invalid question, Refused for another cluster, AdminError if the connection to
    the cluster is lost.
    """

    def __init__(self, client: Client, context: Context) -> None:
        """Create queries. client: a client that refuses to send changes."""
        self.client = client
        self.context = context
        self.pinned = context.cluster_id

    def session(self) -> Session:
        """Return a new session that accepts only the pinned cluster."""
        return Session(self.client, replace(self.context, cluster_id=self.pinned), FRONT_END)

    def pin(self, cluster_id: str | None) -> None:
        """Remember the cluster id that a session has read, unless one is pinned already."""
        self.pinned = self.pinned or cluster_id

    async def _with_cluster(self) -> Session:
        """Return a new session that has read the cluster's brokers. Raises AdminError: no broker responds."""
        session = self.session()
        await session.read_cluster()
        self.pin(session.snapshot.cluster.cluster_id)
        return session

    async def list_(self, kind: str, filters: str) -> Answered:
        """Return the entities of a kind. filters: the filters of the statement `list`, as text."""
        return await self._queried(f"list {kind} {filters}", List)

    async def describe(self, entity: str, keys: Sequence[str]) -> Answered:
        """Return everything about an entity, or only some of its keys. entity: the words that follow `describe` in a
        statement.
        """
        return await self._queried(" ".join(["describe", entity, *map(quote, keys)]), Show)

    async def effective_quota(self, user: str, client: str, key: str | None) -> Answered:
        """Return the quota that applies to a user and a client id. key: the only key to return; None for all keys."""
        named = quote(key) if key is not None else ""
        return await self._queried(f"effective user {quote(user)} client {quote(client)} {named}", EffectiveQuota)

    async def explain(self, principal: str, operations: str, resource: str, host: str | None) -> Answered:
        """Return whether ACLs allow operations, and which ACLs decide. operations, resource: the words of the statement
        `explain`. host: the client's address; None for any.
        """
        origin = f"from {quote(host)}" if host is not None else ""
        return await self._queried(f"explain {quote(principal)} {operations} on {resource} {origin}", Explain)

    async def _queried(self, text: str, kind: type[QueryStatement]) -> Answered:
        """Return the answer to a query.

        Args:
            text: a statement of the language, which includes the agent's input.
            kind: the expected query. If the text is any other statement, it is refused before anything is read.
        """
        from console.answers.queries import answer

        query = one_statement(text, kind)
        session = self.session()
        await read_needs(session, needs_of_script([query]))
        self.pin(session.snapshot.cluster.cluster_id)
        result = answer(query, session.snapshot)
        return Answered(to_data(result), notes_of(result))

    async def verdict(self, seconds: float, expected: Sequence[int]) -> Answered:
        """Watch the cluster for `seconds`, and return its problems and their causes.

        Args:
            expected: the ids of brokers whose outage is planned.
        """
        from console.answers.triage import verdict_data
        from console.session.triage_polls import Poller
        from console.triage.diagnosis import diagnose
        from console.triage.observations import after, begin
        from console.triage.symptoms import Subject

        began = time.monotonic()
        session = self.session()
        async with Poller(session) as poller:
            observations = begin(await poller.poll(whole=seconds == 0))
            self.pin(session.snapshot.cluster.cluster_id)
            while time.monotonic() - began < seconds:
                await poller.rest()
                try:
                    observations = after(observations, await poller.poll())
                except AdminError:
                    # Continue, as brokers may respond again before the end of the time.
                    if time.monotonic() - began >= seconds:
                        raise
        verdict = await asyncio.to_thread(diagnose, observations, [Subject(broker=number) for number in expected])
        return Answered(verdict_data(verdict))

    async def lint(self, names: Sequence[str]) -> Answered:
        """Return the findings of the rules of lint, and the rules that could not run. names: the names of the rules;
        empty for all. Raises CommandError: there is no such rule.
        """
        from console.answers.lint import did_you_mean, report_data
        from console.lint.report import lint, partly
        from console.lint.rules import BY_NAME, RULES
        from console.session.lint_reading import read_for_lint

        for name in names:
            if name not in BY_NAME:
                hint = did_you_mean(name).lstrip("; ") or "without rules, all of them look"
                raise CommandError(f"there is no rule '{clean(name, 100)}'", hint)
        rules = [rule for rule in RULES if rule.name in names or not names]
        session = self.session()
        seen = await read_for_lint(session, rules)
        self.pin(session.snapshot.cluster.cluster_id)
        report = await asyncio.to_thread(lint, seen, target, rules)
        return Answered(report_data(report, [*partly(seen)], lambda _found: ""))

    async def events(self, seconds: float) -> Answered:
        """Watch the cluster for `seconds`, and return the changes in it and the parts that are not watched."""
        from console.present.events import EVENTS
        from console.session.event_feed import EventFeed, run_for
        from console.session.event_reads import EventReads, gaps, unseen_since

        session = await self._with_cluster()
        found: list[Event] = []
        feed, reads = EventFeed(session, found.extend), EventReads(session, FOR_EVENTS)
        await run_for(seconds, (feed.run(), reads.run()))
        now = datetime.now(UTC)
        unwatched = [f"not watched: {each}" for each in gaps(session.snapshot, session.context.settings, now)]
        if since := unseen_since(session.snapshot, now):
            unwatched.append(f"not watched: some configs since {since.isoformat(timespec='seconds')}")
        unknown = [f"who made a change is not known: {feed.problem}"] if feed.problem else []
        return Answered({"events": [EVENTS.data(each) for each in found]}, (*unwatched, *unknown))

    async def offsets(self, topic: str, at: str | None) -> Answered:
        """Return the offsets of a topic's partitions, and the time of each partition's newest record; no contents of
        records.

        Args:
            at: a time, as ``2h`` or ``2026-11-20T14:05``. The answer then also has each partition's first offset at or
                after that time, null if there is none. None to leave these offsets out.

        Raises:
            CommandError: there is no such topic, or the time is invalid.
        """
        from console.admin import partitions
        from console.admin.record_times import record_times

        try:
            then = None if at is None else moment(at, datetime.now(UTC))
        except ValueError as error:
            raise CommandError(str(error)) from None
        session = await self._with_cluster()
        await session.read_topics([topic])
        known = session.snapshot.topics.get(topic)
        if known is None:
            raise CommandError(f"there is no topic '{clean(topic, 200)}'", "the tool list has their names")
        places = [(topic, each.number) for each in known.partitions]
        ranges, failures = await self.client.run(partitions.log_ranges, places)
        newest = [Spot(*place, found.end - 1) for place, found in ranges.items() if found.end > found.start]
        times = await self.client.run(record_times, newest, session.snapshot.topics, NEWEST_WITHIN)
        written = {(spot.topic, spot.partition): _time(each.timestamp) for spot, each in times.items()}
        first: Mapping[tuple[str, int], int] = {}
        if then is not None:
            first, more = await self.client.run(
                partitions.list_offsets, dict.fromkeys(places, int(then.timestamp() * 1000))
            )
            failures = [*failures, *more]
        rows: list[Data] = []
        for place in places:
            found = ranges.get(place)
            row: dict[str, Data] = {"partition": place[1], "newest": written.get(place)}
            row |= {} if found is None else {"start": found.start, "end": found.end, "offsets": found.end - found.start}
            # A time after the last record has no offset: return null.
            row |= {} if then is None else {"at": None if first.get(place, -1) < 0 else first[place]}
            rows.append(row)
        last = max((each for each in written.values() if each is not None), default=None)
        return Answered({"topic": topic, "newest": last, "partitions": rows}, tuple(str(each) for each in failures))

    async def moves(self) -> Answered:
        """Return the partitions that are moving between brokers now."""
        from console.present.moves import MOVES, running_rows

        session = await self._with_cluster()
        await session.read_whole(Part.REASSIGNMENTS)
        await session.read_log_dirs()
        failures = [str(each.failure) for each in session.snapshot.failures if each.part == Part.REASSIGNMENTS]
        return Answered({"moves": [MOVES.data(each) for each in running_rows(session.snapshot, ())]}, tuple(failures))

    async def history(self, entity: str | None, text: str, since: str | None, until: str | None) -> Answered:
        """Return the changes from this host in its journal, the latest first.

        Args:
            entity: the only entity whose changes to return, written as for the statement `describe`; None for all.
            text: a text that the returned changes have; empty for all.
            since: start time, inclusive, as ``2h``, ``14:05`` or ``2026-11-20T14:05``; None for no limit.
            until: end time, exclusive, in the same forms; None for no limit.

        Raises:
            CommandError: a time or the entity is invalid.
        """
        from console.session.journal_changes import read_history_table

        now = datetime.now(UTC)
        try:
            from_, to = (None if each is None else moment(each, now) for each in (since, until))
        except ValueError as error:
            raise CommandError(str(error)) from None
        of = named_entity(entity) if entity is not None else None
        session = self.session()
        journal = await session.journal()
        self.pin(session.snapshot.cluster.cluster_id)
        table = await read_history_table(journal, of, text, between=(from_, to))
        return Answered(to_data(table), table.notes)

    async def compare_entities(self, left: str, right: str) -> Answered:
        """Return the config keys that differ between two entities. left, right: the entities as words that follow
        `describe` in a statement. Raises CommandError: the configs of one could not be read.
        """
        from console.files.compare import entity_table

        resources = [_with_configs(left), _with_configs(right)]
        session = await self._with_cluster()
        await session.read_configs(resources)
        known = session.snapshot.configs
        for resource, name in zip(resources, (left, right), strict=True):
            if resource not in known:
                why = [str(each.failure) for each in session.snapshot.failures if each.part == Part.CONFIGS]
                raise CommandError(f"{name} can't be compared: {'; '.join(why) or 'it is not there'}")
        table = entity_table(known[resources[0]], known[resources[1]], left, right)
        return Answered(to_data(table), table.notes)

    async def compare_brokers(self, every: bool) -> Answered:
        """Return the config keys that differ between brokers, each with the brokers whose values differ from the
        majority's.

        Args:
            every: whether to include keys that differ between brokers by nature.
        """
        from console.files.compare import broker_table
        from console.model.broker_matrix import broker_matrix

        session = await self._with_cluster()
        cluster = session.snapshot.cluster
        ids = sorted(node.id for node in cluster.brokers or cluster.controllers)
        await session.read_configs([broker_resource(number) for number in ids])
        known = session.snapshot.configs
        sets = {number: known[broker_resource(number)] for number in ids if broker_resource(number) in known}
        table = broker_table(broker_matrix(sets, every=every), sorted(sets))
        unread = tuple(f"broker {number} could not be read" for number in ids if number not in sets)
        return Answered(to_data(table), (*table.notes, *unread))


def _time(milliseconds: int) -> str | None:
    if milliseconds < 0:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def one_statement(text: str, kind: type[QueryStatement]) -> QueryStatement:
    """Return the query if the text is exactly one query of this kind.

    Raises:
        LanguageError: the text is invalid, is another statement, or has several statements.
    """
    found: tuple[Statement, ...] = parse(text)
    if len(found) == 1 and isinstance(only := found[0], kind):
        return only
    hint = "give the names and filters alone; a name with blanks or ; stands in quotes"
    asked = clean(text, 200)
    raise CommandError(f"one question at a time: '{asked}' reads as another command, or several", hint)


def named_entity(text: str) -> Entity:
    """Return the entity that a text like ``topic orders`` names.

    Raises:
        LanguageError: the text names no entity.
    """
    query = one_statement(f"describe {text}", Show)
    assert isinstance(query, Show)
    if query.entity is None or query.keys:
        raise CommandError(f"'{text}' is no entity", "they look like topic orders, broker 2, user alice client app")
    return query.entity


def _with_configs(text: str) -> ConfigResource:
    found = named_entity(text).subject
    if not isinstance(found, ConfigResource):
        raise CommandError(f"'{text}' has quotas, not configs", "compare topics, groups, or brokers")
    return found


def notes_of(result: Result) -> tuple[str, ...]:
    """Return the remarks that the text output has below the rows of a result, and its JSON does not have."""
    if isinstance(result, Table):
        return result.notes
    return tuple(note for part in (result.parts or {}).values() for each in _parts(part) for note in notes_of(each))


def _parts(part: Table | tuple[Detail, ...]) -> Sequence[Result]:
    return (part,) if isinstance(part, Table) else part
