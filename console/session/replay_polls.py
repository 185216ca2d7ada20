"""The polls of a record: a part is read if its requests were answered since the last poll, so that each verdict equals
the live one.

The next requests of a live poll depend on its former ones, on its clock and on delays. A replay repeats the requests of
the record instead.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec.structs import replace

from console.flight import tape as flight_tape
from console.flight.answer import HANDSHAKE, Answer, Asked, Shown
from console.model.certificates import Certificate, Listener
from console.model.cluster import Topic
from console.model.codes import GROUP, TOPIC, ResourceType
from console.model.config import ConfigResource
from console.model.foreign_json import json_as
from console.model.observed_logs import LogOffsets, Place
from console.model.parts import Part
from console.session import slow_polls
from console.session.triage_polls import Poller
from console.wire.answer_parts import asked_parts

if TYPE_CHECKING:
    from console.session.session import Session
    from console.triage.symptoms import Poll

LIST_OFFSETS, OFFSET_FETCH, DESCRIBE_CONFIGS, LIST_TRANSACTIONS = 2, 9, 32, 66
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
MOST_NAMED = 50
"""Maximum number of topics in a request for configs that counts as a separate one, like the request after a
deletion."""
ENDS_WITHIN_MS = 3000
"""Maximum milliseconds for which committed offsets wait for the ends that were read for the same lag."""
OF_ALL = frozenset({flight_tape.METADATA, flight_tape.API_VERSIONS, flight_tape.DESCRIBE_CLUSTER})
"""APIs that nearly every read calls: a new answer to one of them does not show that a part was read again."""


class OffsetsAsked(NamedTuple):
    """The contents of a ListOffsets request."""

    node: int
    stable: bool
    """Whether the isolation level is read_committed."""
    timestamp: int
    """A time in milliseconds since 1970, or a special one: `LATEST`, `EARLIEST`, `MAX_TIMESTAMP` …"""
    places: tuple[Place, ...]


@lru_cache(4096)
def offsets_asked(asked: Asked) -> OffsetsAsked | None:
    """Return the contents of a ListOffsets request; None if it can't be read or has several timestamps."""
    places: list[Place] = []
    kinds: set[tuple[bool, int]] = set()
    for part in asked_parts(asked.api_key, asked.version, asked.request) or ():
        flags, topic, each = cast("tuple[tuple[int, int], str, Any]", part)
        isolation = flags[1]
        places.append((topic, int(each.partition_index)))
        kinds.add((bool(isolation), int(each.timestamp)))
    return OffsetsAsked(asked.node, *kinds.pop(), tuple(places)) if len(kinds) == 1 else None


class RecordedSlowPolls(slow_polls.SlowPolls):
    """The reads outside the snapshot, as the recorded console made them."""

    def __init__(self, session: Session, tape: flight_tape.Tape) -> None:
        super().__init__(session)
        self._tape = tape
        self._logs_ms = self._newest_ms = self._configs_ms = 0
        self._taken: dict[OffsetsAsked, int] = {}
        self._pieces: dict[OffsetsAsked, flight_tape.Track] = {}
        self._timed: dict[tuple[int, tuple[Place, ...]], list[int]] = {}

    def has_news(self, part: str) -> bool:
        """Return whether answers arrived that a part has not used yet. True for parts other than the logs, the newest
        records and the open transactions.
        """
        if part == Part.LOGS:
            return bool(self._tape.answered_since(LIST_OFFSETS, self._logs_ms))
        if part == Part.NEWEST:
            return bool(self._tape.answered_since(LIST_OFFSETS, self._newest_ms))
        if part == Part.OPEN_TRANSACTIONS:
            return self.facts.logs.at != self._stood_at
        return True

    async def _read_logs(self) -> None:
        """Read the offsets of the logs whose start and end offsets were answered."""
        from console.admin import partitions

        ends = []
        for asked, track in self._asked_since(self._logs_ms):
            self._pieces[asked] = track
            if asked.timestamp == LATEST and not asked.stable:
                ends.append(asked)
            elif asked.timestamp >= 0:
                self._timed.setdefault((asked.node, asked.places), []).append(asked.timestamp)
        self._logs_ms = self._tape.at_ms
        offsets: dict[Place, LogOffsets] = {}
        for end in ends:
            if (stable := self._is_whole(end)) is not None:
                self._taken[end] = self._tape.at_ms
                # Repeat the recorded request: combining parts of other answers into one takes a hundred times as long.
                led = {end.node: end.places}
                offsets |= await self._session.client.run(partitions.log_offsets, led, stable=stable)
        if offsets:
            self.keep_logs(offsets)
        await self._read_former()
        await self._read_named_configs()

    async def _read_former(self) -> None:
        """Read the former ends of the logs that were asked for at all of the times before a moment."""
        from console.admin import partitions

        for (node, places), times in [*self._timed.items()]:
            now_ms = max(times) + 1000 * min(slow_polls.FORMER)
            if {round(now_ms - 1000 * each) for each in slow_polls.FORMER} <= {*times}:
                del self._timed[node, places]
                found = await self._session.client.run(partitions.offsets_at, {node: places}, sorted(times))
                self.facts = slow_polls.with_former(self.facts, places, now_ms / 1000, found)

    def _is_whole(self, end: OffsetsAsked) -> bool | None:
        """Return whether the last stable offsets belong to a read with this end: False if none were read. None if the
        end belongs to no such read, since reading a group's lag also reads ends, or if the offsets are older than the
        last read that was used.
        """
        taken = self._taken.get(end, -1)
        start = self._pieces.get(end._replace(timestamp=EARLIEST))
        held = self._pieces.get(end._replace(stable=True))
        if start is None or start.time(self._tape.at_ms) <= taken:
            return None
        if held is None:
            return False
        return True if held.time(self._tape.at_ms) > taken else None

    async def _read_named_configs(self) -> None:
        """Read the configs of topics from separate requests, so that a change of their retention is known together with
        the records that it deleted."""
        since, self._configs_ms = self._configs_ms, self._tape.at_ms
        for track in self._tape.answered_since(DESCRIBE_CONFIGS, since):
            if resources := _topics_named(track.asked):
                await self._session.read_configs(list(resources))

    async def read_share_groups(self) -> None:
        """Read nothing: answers about single groups are read as soon as they arrive."""

    async def _read_newest(self) -> None:
        """Read the timestamps of the newest records of the requested logs."""
        from console.admin import partitions

        since, self._newest_ms = self._newest_ms, self._tape.at_ms
        for asked, _ in self._asked_since(since):
            if asked.timestamp == MAX_TIMESTAMP:
                led = {asked.node: asked.places}
                self.keep_newest(await self._session.client.run(partitions.newest_records, led))

    async def _read_transactions(self) -> None:
        """Read the transactions of partitions whose last stable offset stands still. If there are any, do nothing until
        the record has an answer to ListTransactions from after the last read of the logs.
        """
        read_ms = round(self.facts.logs.at * 1000)
        if self.facts.logs.standing(slow_polls.STANDS) and not self._tape.answered_since(LIST_TRANSACTIONS, read_ms):
            return
        await super()._read_transactions()

    async def _read_certificates(self) -> None:
        """Keep the certificates that listeners of the cluster's brokers and voters presented lately; if no handshake
        arrived, the former ones stay.
        """
        arrived = self._tape.arrivals(HANDSHAKE)
        snapshot = self._session.snapshot
        nodes = {each.id for each in snapshot.cluster.brokers}
        nodes |= {each.id for each in snapshot.quorum.voters} if snapshot.quorum is not None else set()
        if not arrived:
            return
        # A listener that was not seen for longer than a live poll waits is gone, or kac had stopped reading it.
        oldest = self._tape.at_ms - round((slow_polls.CERTIFICATES_AGAIN + slow_polls.UNREACHED_AGAIN) * 1000)
        shown = [each for each in self._tape.handshakes() if each.node in nodes and each.at_ms > oldest]
        read = [_certificate(each) for each in shown if each.problem is None]
        certificates = tuple(each for each in read if each is not None)
        if certificates != self.facts.certificates:
            self.facts = replace(self.facts, certificates=certificates)

    def _asked_since(self, since_ms: int) -> Iterator[tuple[OffsetsAsked, flight_tape.Track]]:
        for track in self._tape.answered_since(LIST_OFFSETS, since_ms):
            if track.asked.node >= 0 and (asked := offsets_asked(track.asked)) is not None:
                yield asked, track


@lru_cache(4096)
def _topics_named(asked: Asked) -> tuple[ConfigResource, ...]:
    """Return the resources of a request for all configs of at most 50 topics or groups (`MOST_NAMED`); empty for any
    other request.
    """
    parts = asked_parts(asked.api_key, asked.version, asked.request) or ()
    items = [part[1] for part in parts if isinstance(part, tuple)]
    if len(items) > MOST_NAMED or any(
        each.resource_type not in (TOPIC, GROUP) or each.configuration_keys for each in items
    ):
        return ()
    return tuple(ConfigResource(ResourceType(each.resource_type), each.resource_name) for each in items)


def _certificate(answer: Answer) -> Certificate | None:
    """Return the certificate that a listener presented; None if the answer can't be read."""
    name = answer.request.decode("utf-8", "replace")
    listener = Listener(answer.node, answer.host, answer.port, name)
    try:
        shown = json_as(answer.body, Shown)
        return Certificate(listener, shown.subject, shown.issuer, _utc(shown.begins_ms), _utc(shown.ends_ms))
    except (ValueError, OverflowError, OSError):  # datetime raises the last two for an invalid time
        return None


def _utc(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


class _Seen(NamedTuple):
    """The answers that the last read of a part used."""

    used: flight_tape.Used
    times: tuple[int, ...]
    """The times at which the used answers arrived."""
    arrived: tuple[int, ...]
    """The number of answers to each of the part's requests."""
    at_ms: int
    """The time of the poll."""


_BY_WHAT_WAS_ASKED: Collection[str] = frozenset({Part.LOGS, Part.OPEN_TRANSACTIONS, Part.NEWEST, Part.CERTIFICATES})


class RecordedPoller(Poller):
    """A poller of a record, one part after the other. A part is read if its requests were answered again."""

    def __init__(self, session: Session, tape: flight_tape.Tape) -> None:
        slow = RecordedSlowPolls(session, tape)
        super().__init__(session, slow=slow)
        self._recorded = slow
        self._tape = tape
        self._parts_seen: dict[str, _Seen] = {}
        self._compared: dict[tuple[flight_tape.Address, tuple[str, ...]], tuple[int, list[Topic]]] = {}
        self._at_ms = 0
        self.parts = tuple(each for each in self.parts if each.name != Part.VIEWS)

    async def poll(self, *, whole: bool = True) -> Poll:  # noqa: ARG002 - it waits for nothing
        """Return the poll at the tape's time. whole: ignored, as a record is never slow.

        Raises:
            Refused: another cluster answered than before.
            AdminError: no broker answered.
        """
        for part in self.parts:
            if not self.was_read(*part.after) or not self._is_due(part.name, part.pace.every):
                continue
            used = flight_tape.Used(set(), set())
            token = flight_tape.USED.set(used)
            before = self._session.snapshot, self._slow.facts, dict(self._turns), dict(self.problems)
            try:
                # Read without pausing between parts: the times of the record decide.
                await self.read_part(part)
            finally:
                flight_tape.USED.reset(token)
            is_torn = part.name == Part.LAGS and self._is_torn(used)
            if is_torn or flight_tape.LATER in used.keys:
                # The read was still under way at this time: drop its result.
                self._session.learn(lambda *_, known=before[0]: known)
                _, self._slow.facts, self._turns, self.problems = before
            if not is_torn:
                self._parts_seen[part.name] = _Seen(used, self._times(used), self._arrived(used), self._tape.at_ms)
        await self._compare_views()
        self._at_ms = self._tape.at_ms
        return self._seen(_utc(self._tape.at_ms))

    def late(self) -> tuple[str, ...]:
        """Return an empty tuple: in a record, answers stop at its end and during its pauses, which does not mean that a
        part is late.
        """
        return ()

    async def _compare_views(self) -> None:
        """Compare the brokers' views of the topics in requests since the last poll."""
        snapshot = self._session.snapshot
        brokers = {(each.host, each.port): each.id for each in snapshot.cluster.brokers}
        for address, names, changes in self._tape.topics_asked(self._at_ms):
            topics = [snapshot.topics[name] for name in names if name in snapshot.topics]
            if address in brokers and len(topics) == len(names):
                broker, compared = brokers[address], (changes, topics)
                known = self._compared.get((address, names))
                is_same = known is not None and known[0] == changes and all(map(operator.is_, known[1], topics))
                if not is_same or self._slow.facts.views.late.get(broker):
                    self._compared[address, names] = compared
                    await self._slow.compare_view(broker, topics)

    def _is_due(self, name: str, every: float) -> bool:
        """Return whether a part was answered again. Parts that read in turn send other requests next time: these are
        due once their interval has passed and other answers arrived."""
        if name in _BY_WHAT_WAS_ASKED:
            return self._recorded.has_news(name)
        seen = self._parts_seen.get(name)
        if seen is None or not seen.used.keys or flight_tape.LATER in seen.used.keys:
            return True
        if name == Part.LAGS and OFFSET_FETCH in seen.used.keys:
            return bool(self._tape.answered_since(OFFSET_FETCH, seen.at_ms))
        if seen.times != self._times(seen.used):
            return True
        return self._tape.at_ms - seen.at_ms >= every * 1000 and seen.arrived != self._arrived(seen.used)

    def _is_torn(self, used: flight_tape.Used) -> bool:
        """Return whether a lag would be one that no poll has seen: the record has the answer with its committed
        offsets, but not yet the one with the ends that the same read requested next. False once the commits are more
        than 3 s old (`ENDS_WITHIN_MS`).
        """
        now, seen = self._tape.at_ms, self._parts_seen.get(Part.LAGS)
        commits = _tracks(used, OFFSET_FETCH)
        committed = max((each.time(now) for each in commits), default=0)
        since = seen.at_ms if seen is not None else 0
        unread = [at for each in commits if (at := each.time_after(since)) is not None]
        # Give up after a while: the ends may never come, for example those of a broker that is down.
        return now - min((committed, *unread)) <= ENDS_WITHIN_MS and any(
            each.time(now) < committed
            for each in _tracks(used, LIST_OFFSETS)
            if (asked := offsets_asked(each.asked)) is not None and asked.timestamp == LATEST
        )

    def _times(self, used: flight_tape.Used) -> tuple[int, ...]:
        own = _own(used)
        return tuple(sorted(track.time(self._tape.at_ms) for track in used.tracks if track.asked.api_key in own))

    def _arrived(self, used: flight_tape.Used) -> tuple[int, ...]:
        return tuple(self._tape.arrivals(key) for key in sorted(_own(used)))


def _tracks(used: flight_tape.Used, api_key: int) -> list[flight_tape.Track]:
    return [each for each in used.tracks if each.asked.api_key == api_key]


def _own(used: flight_tape.Used) -> set[int]:
    """Return the keys of the APIs whose answers show that a part was read again."""
    return (used.keys - OF_ALL - {flight_tape.CLOCK}) or used.keys
