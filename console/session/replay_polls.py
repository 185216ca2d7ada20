"""The polls of a record: a part of the cluster is read if its requests were answered since the last poll, so that each
diagnosis equals the live one.

A live poll chooses its requests by earlier results, by its clock and by delays. A replay instead repeats the requests
that the record has.
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
"""Maximum number of topics in a request for configs that counts as a separate request about a symptom, and not as part
of a read of all configs.
"""
ENDS_WITHIN_MS = 3000
"""Maximum milliseconds by which the answer with the log end offsets may follow the one with the committed offsets of
the same read of a lag.
"""
OF_ALL = frozenset({flight_tape.METADATA, flight_tape.API_VERSIONS, flight_tape.DESCRIBE_CLUSTER})
"""APIs that nearly every operation calls. A new answer to one of these does not show that a part was read again."""


class OffsetsAsked(NamedTuple):
    """The content of a ListOffsets request."""

    node: int
    stable: bool
    """Whether the request's isolation level is read_committed."""
    timestamp: int
    """The requested time, milliseconds since 1970, or one of Kafka's special values: `LATEST`, `EARLIEST`,
    `MAX_TIMESTAMP` …
    """
    places: tuple[Place, ...]


@lru_cache(4096)
def offsets_asked(asked: Asked) -> OffsetsAsked | None:
    """Decode a ListOffsets request; return None if it can't be decoded or has several timestamps."""
    places: list[Place] = []
    kinds: set[tuple[bool, int]] = set()
    for part in asked_parts(asked.api_key, asked.version, asked.request) or ():
        flags, topic, each = cast("tuple[tuple[int, int], str, Any]", part)
        isolation = flags[1]
        places.append((topic, int(each.partition_index)))
        kinds.add((bool(isolation), int(each.timestamp)))
    return OffsetsAsked(asked.node, *kinds.pop(), tuple(places)) if len(kinds) == 1 else None


class RecordedSlowPolls(slow_polls.SlowPolls):
    """The reads for triage whose results are not in the snapshot, repeated with the requests of the recorded
    console.
    """

    def __init__(self, session: Session, tape: flight_tape.Tape) -> None:
        super().__init__(session)
        self._tape = tape
        self._logs_ms = self._newest_ms = self._configs_ms = 0
        self._taken: dict[OffsetsAsked, int] = {}
        self._pieces: dict[OffsetsAsked, flight_tape.Track] = {}
        self._timed: dict[tuple[int, tuple[Place, ...]], list[int]] = {}

    def has_news(self, part: str) -> bool:
        """Return whether the record has answers that the last read of a part did not use. This is checked for the logs,
        the newest records and the open transactions only; for other parts return True.
        """
        if part == Part.LOGS:
            return bool(self._tape.answered_since(LIST_OFFSETS, self._logs_ms))
        if part == Part.NEWEST:
            return bool(self._tape.answered_since(LIST_OFFSETS, self._newest_ms))
        if part == Part.OPEN_TRANSACTIONS:
            return self.facts.logs.at != self._stood_at
        return True

    async def _read_logs(self) -> None:
        """Read the offsets of the logs for which the record has answers with start and end offsets."""
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
        """Read the former end offsets of the logs for which the record has requests at each of the times in
        `FORMER`.
        """
        from console.admin import partitions

        for (node, places), times in [*self._timed.items()]:
            now_ms = max(times) + 1000 * min(slow_polls.FORMER)
            if {round(now_ms - 1000 * each) for each in slow_polls.FORMER} <= {*times}:
                del self._timed[node, places]
                found = await self._session.client.run(partitions.offsets_at, {node: places}, sorted(times))
                self.facts = slow_polls.with_former(self.facts, places, now_ms / 1000, found)

    def _is_whole(self, end: OffsetsAsked) -> bool | None:
        """Return whether last stable offsets were read together with these end offsets; False if none were read.
        Return None in two cases: the end offsets do not belong to a read of logs (a read of a group's lag has end
        offsets, too), or they are not newer than the last read that was used.
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
        """Read the configs that the record has from requests about few topics, so that a change of retention is known
        together with the records that it deleted.
        """
        since, self._configs_ms = self._configs_ms, self._tape.at_ms
        for track in self._tape.answered_since(DESCRIBE_CONFIGS, since):
            if resources := _topics_named(track.asked):
                await self._session.read_configs(list(resources))

    async def read_share_groups(self) -> None:
        """Do nothing: `_read_named_configs` reads configs of single groups as soon as they arrive."""

    async def _read_newest(self) -> None:
        """Read the timestamp of the newest record of each partition for which the flight record has a ListOffsets
        request with MAX_TIMESTAMP.
        """
        from console.admin import partitions

        since, self._newest_ms = self._newest_ms, self._tape.at_ms
        for asked, _ in self._asked_since(since):
            if asked.timestamp == MAX_TIMESTAMP:
                led = {asked.node: asked.places}
                self.keep_newest(await self._session.client.run(partitions.newest_records, led))

    async def _read_transactions(self) -> None:
        """Read the transactions of partitions whose last stable offset does not advance. If there are such partitions,
        wait with this until the record has an answer to ListTransactions that is later than the last read of the
        logs.
        """
        read_ms = round(self.facts.logs.at * 1000)
        if self.facts.logs.standing(slow_polls.STANDS) and not self._tape.answered_since(LIST_TRANSACTIONS, read_ms):
            return
        await super()._read_transactions()

    async def _read_certificates(self) -> None:
        """Set the certificates to those that listeners of the cluster's brokers and voters presented recently. If no
        new handshake was recorded, keep the certificates known before.
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
    """Return the resources of a request for all configs of at most `MOST_NAMED` (50) topics or groups; empty for any
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
    """Decode a recorded TLS handshake; return None if it can't be decoded."""
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
    """The arrival times of these answers, milliseconds since 1970."""
    arrived: tuple[int, ...]
    """For each API that shows a new read of the part: the number of its answers that had arrived at the time of that
    read.
    """
    at_ms: int
    """The time of the poll, milliseconds since 1970."""


_BY_WHAT_WAS_ASKED: Collection[str] = frozenset({Part.LOGS, Part.OPEN_TRANSACTIONS, Part.NEWEST, Part.CERTIFICATES})


class RecordedPoller(Poller):
    """A poller on a record, which reads one part after another. A part is read if the record has new answers to its
    requests.
    """

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
        """Return the poll at the tape's time. whole: has no effect, because reads of a record take no time.

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
                # At this time the record has only a part of the read's answers: drop its result.
                self._session.learn(lambda *_, known=before[0]: known)
                _, self._slow.facts, self._turns, self.problems = before
            if not is_torn:
                self._parts_seen[part.name] = _Seen(used, self._times(used), self._arrived(used), self._tape.at_ms)
        await self._compare_views()
        self._at_ms = self._tape.at_ms
        return self._seen(_utc(self._tape.at_ms))

    def late(self) -> tuple[str, ...]:
        """Return an empty tuple: no part counts as late, since a record has pauses and an end."""
        return ()

    async def _compare_views(self) -> None:
        """Compare the topics as described by different brokers, from the requests since the last poll."""
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
        """Return whether the record has new answers to a part's requests. A part that reads its entities in turns sends
        other requests each time: it is due after its interval (`every`, in seconds) if any such answers arrived.
        """
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
        """Return whether the answers are only a half of a read: the record has the committed offsets, but not yet the
        end offsets that the same read requested next. False once the committed offsets are older than
        `ENDS_WITHIN_MS` (3 s).
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
    """Return the API keys whose answers show that a part was read again: the keys that the read used, without
    `OF_ALL` and CLOCK; if none are left, all keys that it used.
    """
    return (used.keys - OF_ALL - {flight_tape.CLOCK}) or used.keys
