"""A record's state at a point in time: the newest answer to each question.

A request that the record does not have is answered by parts of recorded answers, if they contain all of it, for example
one topic of a list. Missing answers are never guessed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextvars import ContextVar
from copy import copy
from typing import NamedTuple

from console.flight import answer as flight_answer
from console.wire import answer_parts
from console.wire.bounds_check import MalformedFrame

Address = tuple[str, int]
API_VERSIONS = 18
CLOCK = -1
LATER = -2
"""Pseudo keys next to the API keys in `Used`: CLOCK means the tape's time itself; LATER means an answer that the record
has only after the tape's time.
"""
MOST_TAKEN_APART = 128
"""Maximum number of answers in the cache of decoded answers."""
METADATA, DESCRIBE_CLUSTER = 3, 60
_OF_ANY_BROKER = (DESCRIBE_CLUSTER, METADATA)
"""The keys of APIs that any broker can answer. The broker that gave the last such answer is the one that the client
used.
"""


class Entry(NamedTuple):
    """An answer in a record, and a function that reads its body."""

    asked: flight_answer.Asked
    """The question: the request and its broker."""
    at_ms: int
    """The time of arrival, milliseconds since 1970, UTC."""
    new: bool
    """Whether the answer differs from the previous one to the same question."""
    read: Callable[[], flight_answer.Answer]
    """Decodes and returns the whole answer."""


class Used(NamedTuple):
    """The recorded answers on which the result of an operation depends. `changes` shows later whether they are still
    the same.

    Attributes:
        keys: the keys of the APIs that were read. LATER means that an answer exists only after the tape's time, CLOCK
            that the result depends on the time itself.
        tracks: the sequences of answers from which the results came.
    """

    keys: set[int]
    tracks: set[Track]


USED: ContextVar[Used] = ContextVar("used")
"""The dependencies that the operation in progress has noted so far."""


class Track:
    """All answers from one address to one request, in the order of time."""

    def __init__(self, asked: flight_answer.Asked) -> None:
        self.asked = asked
        self.address: Address = (asked.host, asked.port)
        self._times: list[int] = []
        self._entries: list[Entry] = []
        self._changes: list[int] = []

    def add(self, entry: Entry) -> None:
        """Append an answer, which must be later than those before it."""
        self._times.append(entry.at_ms)
        self._entries.append(entry)
        self._changes.append((self._changes[-1] if self._changes else 0) + entry.new)

    def newest(self, at_ms: int) -> flight_answer.Answer | None:
        """Return the last answer that arrived up to `at_ms` (ms since 1970); None if none had arrived."""
        place = bisect_right(self._times, at_ms)
        return self._entries[place - 1].read() if place else None

    def time(self, at_ms: int) -> int:
        """Return the arrival of the last answer up to `at_ms`, both in milliseconds since 1970; 0 if none had
        arrived.
        """
        place = bisect_right(self._times, at_ms)
        return self._times[place - 1] if place else 0

    def time_after(self, at_ms: int) -> int | None:
        """Return the arrival of the first answer after `at_ms`, both in milliseconds since 1970; None if there is no
        later answer.
        """
        place = bisect_right(self._times, at_ms)
        return self._times[place] if place < len(self._times) else None

    def changes(self, at_ms: int) -> int:
        """Return the number of answers up to `at_ms` (ms since 1970) that differ from their predecessors; the first one
        counts.
        """
        place = bisect_right(self._times, at_ms)
        return self._changes[place - 1] if place else 0

    def well(self, at_ms: int) -> flight_answer.Answer | None:
        """Return the last answer without a problem up to `at_ms` (ms since 1970). If there is none, return the first
        later answer without a problem; None if all answers have a problem.
        """
        place = bisect_right(self._times, at_ms)
        found = (each.read() for each in (*reversed(self._entries[:place]), *self._entries[place:]))
        return next((answer for answer in found if answer.problem is None), None)


class Tape:
    """A record's answers as they were at `at_ms`, milliseconds since 1970; assign to it to move to another time. The
    constructor needs the entries in the order of their times.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.at_ms = 0
        self._exact: dict[tuple[int, int, bytes], dict[Address, Track]] = {}
        self._unsorted: list[Track] = []
        self._of_any: dict[int, list[Track]] = {}
        self._alike: dict[Hashable, list[Track]] = {}
        self._contacts: dict[Address, Track] = {}
        self._versions: dict[int, set[int]] = {}
        self._holding: dict[tuple[int, int, answer_parts.Part], list[Track]] = {}
        self._whole: dict[tuple[int, int], list[Track]] = {}
        self._named_topics: list[tuple[Track, tuple[str, ...]]] = []
        self._changes: dict[int, list[int]] = {}
        self._arrivals: dict[int, list[int]] = {}
        self._arrived: dict[int, list[Track]] = {}
        self._handshakes: list[Track] = []
        self._services: dict[int, Track] = {}
        self._apart: OrderedDict[tuple[flight_answer.Asked, bytes], answer_parts.Answered | None] = OrderedDict()
        tracks: dict[flight_answer.Asked, Track] = {}
        for entry in entries:
            if entry.asked not in tracks:
                tracks[entry.asked] = self._track(entry.asked)
            tracks[entry.asked].add(entry)
            self._arrivals.setdefault(entry.asked.api_key, []).append(entry.at_ms)
            self._arrived.setdefault(entry.asked.api_key, []).append(tracks[entry.asked])
            if entry.new:
                self._changes.setdefault(entry.asked.api_key, []).append(entry.at_ms)

    def _track(self, asked: flight_answer.Asked) -> Track:
        made = Track(asked)
        if (asked.api_key, asked.version) == (API_VERSIONS, flight_answer.CONNECTED):
            return self._contacts.setdefault(made.address, made)
        if asked.api_key == flight_answer.HANDSHAKE:
            self._handshakes.append(made)
            return made
        if asked.api_key in flight_answer.SERVICES:
            return self._services.setdefault(asked.api_key, made)
        # Identify a broker by its address, as it may have had several ids, or none yet.
        known = self._exact.setdefault((asked.api_key, asked.version, asked.request), {})
        if made.address in known:
            return known[made.address]
        known[made.address] = made
        self._unsorted.append(made)
        self._versions.setdefault(asked.api_key, set()).add(asked.version)
        if asked.api_key == METADATA and (names := answer_parts.named_topics(asked.version, asked.request)):
            self._named_topics.append((made, names))
        if asked.api_key in _OF_ANY_BROKER:
            self._of_any.setdefault(asked.api_key, []).append(made)
        return made

    def _sort(self) -> None:
        """Index the requests that are not indexed yet by their parts. This takes long for large requests, so it is done
        only when a request has no exact match, or another thread needs the index.
        """
        for track in self._unsorted:
            key = track.asked.api_key, track.asked.version
            self._alike.setdefault(answer_parts.likeness(*key, track.asked.request), []).append(track)
            parts = answer_parts.asked_parts(*key, track.asked.request)
            for part in parts or ():
                self._holding.setdefault((*key, part), []).append(track)
            if parts is None:
                self._whole.setdefault(key, []).append(track)
        self._unsorted.clear()

    def beside(self) -> Tape:
        """Return another tape over the same record, with a time of its own, for use on another thread."""
        # The index is shared, so complete it before another thread reads it.
        self._sort()
        made = copy(self)
        made._apart = OrderedDict()
        return made

    def addresses(self) -> list[Address]:
        """Return the addresses in the record, each once: first those with a recorded connection, then those with
        requests only.
        """
        asked = (address for known in self._exact.values() for address in known)
        return list(dict.fromkeys((*self._contacts, *asked)))

    def now(self) -> int:
        """Return the tape's time in milliseconds since 1970, and note that the operation in progress depends on it."""
        _note(CLOCK)
        return self.at_ms

    def changes(self, api_key: int) -> int:
        """Return the number of changed answers of an API up to the tape's time. While this number stays the same, so do
        the answers. For CLOCK, return the tape's time instead.
        """
        if api_key == CLOCK:
            return self.at_ms
        return bisect_right(self._changes.get(api_key, ()), self.at_ms)

    def arrivals(self, api_key: int) -> int:
        """Return the number of answers of an API up to the tape's time, including repeated ones."""
        return bisect_right(self._arrivals.get(api_key, ()), self.at_ms)

    def answered_since(self, api_key: int, since_ms: int) -> list[Track]:
        """Return the tracks of an API that have an answer after `since_ms` (ms since 1970) and up to the tape's time,
        in the order of these answers, each once.
        """
        times = self._arrivals.get(api_key, ())
        first, last = bisect_right(times, since_ms), bisect_right(times, self.at_ms)
        return list(dict.fromkeys(self._arrived[api_key][first:last])) if first < last else []

    def handshakes(self) -> list[flight_answer.Answer]:
        """Return the last record of a TLS handshake with each listener, up to the tape's time."""
        found = (track.newest(self.at_ms) for track in self._handshakes)
        return [answer for answer in found if answer is not None]

    def service(self, key: int) -> flight_answer.Answer | None:
        """Return the last answer of an HTTP service up to the tape's time; None if there is no such answer. key: the
        service's pseudo API key.
        """
        found = self._services.get(key)
        _note(key, found)
        return found.newest(self.at_ms) if found is not None else None

    def service_at_all(self, key: int) -> flight_answer.Answer | None:
        """Return the last answer without a problem of an HTTP service up to the tape's time. If there is none, return
        the first later answer without a problem; None if no answer is without a problem. key: the service's pseudo
        API key.
        """
        found = self._services.get(key)
        return found.well(self.at_ms) if found is not None else None

    def versions(self, api_key: int) -> Iterable[int]:
        """Return the versions of an API that the record's requests have; empty if it has no request of this API."""
        return self._versions.get(api_key, ())

    def topics_asked(self, since_ms: int) -> list[tuple[Address, tuple[str, ...], int]]:
        """Return the Metadata requests for named topics whose last answer up to the tape's time is later than
        `since_ms` (ms since 1970). For each: the broker's address, the topics, and the number of changed answers up
        to the tape's time.
        """
        asked = ((track, names, track.time(self.at_ms)) for track, names in self._named_topics)
        return [(track.address, names, track.changes(at)) for track, names, at in asked if since_ms < at]

    def refusal(self, address: Address) -> flight_answer.Problem | None:
        """Return the problem of the last connection to an address, up to the tape's time; None if it succeeded, or if
        the record has no connection to the address by then.
        """
        found = self._contact(address)
        return found.problem if found is not None else None

    def connect_ms(self, address: Address) -> int:
        """Return the milliseconds that the last connection to an address took, up to the tape's time; 0 if there was no
        connection or it failed. Note that the operation in progress depends on the tape's time.
        """
        _note(CLOCK)
        found = self._contact(address)
        return found.took_ms if found is not None and found.problem is None else 0

    def greeting(self, address: Address | None = None) -> bytes | None:
        """Return the body of an ApiVersions response: of the broker at the address; of any broker, if the record has no
        such response from there, or if `address` is None. Return None if the record has no such response at all.
        """
        # Take the response even from a later time: a client without an ApiVersions response sends no request, and
        # versions change only by an upgrade.
        mine = [self._contacts[address]] if address in self._contacts else []
        found = (track.well(self.at_ms) for track in (*mine, *self._contacts.values()))
        return next((answer.body for answer in found if answer is not None), None)

    def answer(
        self, key: int, version: int, request: bytes, address: Address | None
    ) -> bytes | flight_answer.Problem | None:
        """Return the answer to a request at the tape's time: the body of the best recorded answer (`_best`), or the
        problem that it has. If the record has no answer to this request, assemble a body from parts of other
        answers; return None if that is not possible.

        Args:
            key: Kafka's number of the API.
            request: the body of the request, without header.
            address: the address of the broker that must have answered; None for any broker.
        """
        _note(key)
        same: Iterable[Track] = self._exact.get((key, version, request), {}).values()
        if not same:
            # The client may have sent the same names in another order, for example from a set.
            self._sort()
            same = self._alike.get(answer_parts.likeness(key, version, request), ())
        tracks = [track for track in same if address is None or track.address == address]
        found = self._best(tracks)
        if found is not None:
            return found.problem or found.body
        whole = self._from_parts(key, version, request, address)
        if whole is None and tracks:
            _note(LATER)
        return whole

    def in_use(self) -> Address | None:
        """Return the address of the broker that the client used, up to the tape's time, for requests that any broker
        can answer; None if no broker had answered one.
        """
        for key in _OF_ANY_BROKER:
            found = self._best(self._of_any.get(key, ()))
            if found is not None and found.problem is None:
                return found.host, found.port
        return None

    def _contact(self, address: Address) -> flight_answer.Answer | None:
        track = self._contacts.get(address)
        return track.newest(self.at_ms) if track is not None else None

    def _is_gone(self, answer: flight_answer.Answer) -> bool:
        """Return whether a connection to the answer's address failed at or after the time of the answer, without a
        later success.
        """
        contact = self._contact((answer.host, answer.port))
        return contact is not None and contact.problem is not None and contact.at_ms >= answer.at_ms

    def _best(self, tracks: Iterable[Track]) -> flight_answer.Answer | None:
        """Return the best of the tracks' answers at the tape's time; None if they have no answer by then. An answer
        without a problem is better than one with a problem; then one of a broker that is still connected; then a
        newer one.
        """
        answers = [(answer, track) for track in tracks if (answer := track.newest(self.at_ms)) is not None]
        if not answers:
            return None
        best, track = max(
            answers, key=lambda each: (each[0].problem is None, not self._is_gone(each[0]), each[0].at_ms)
        )
        _note(best.api_key, track)
        return best

    # -- answers from parts of others ------------------------------------------------------------------------------

    def _from_parts(self, key: int, version: int, request: bytes, address: Address | None) -> bytes | None:
        wanted = answer_parts.asked_parts(key, version, request)
        if wanted is None:
            return None
        self._sort()
        found = []
        envelope: flight_answer.Answer | None = None
        around: answer_parts.Answered | None = None
        for part in wanted:
            held = next(self._holders(key, version, part, address), None)
            if held is None:
                if any(address in (None, each.address) for each in self._holding.get((key, version, part), ())):
                    _note(LATER)
                return None
            answer, apart = held
            # Take the fields outside of the parts, such as the controller's id, from the newest answer.
            if envelope is None or answer.at_ms > envelope.at_ms:
                envelope, around = answer, apart
            found.append(apart.parts[part])
        return answer_parts.put_together(key, version, around.response, found) if around is not None else None

    def _holders(
        self, key: int, version: int, part: answer_parts.Part, address: Address | None
    ) -> Iterator[tuple[flight_answer.Answer, answer_parts.Answered]]:
        """Yield the answers up to the tape's time that contain this part, whole and split into parts, the newest
        first.
        """
        tracks = (*self._holding.get((key, version, part), ()), *self._whole.get((key, version), ()))
        mine = [track for track in tracks if address is None or track.address == address]
        for track in sorted(mine, key=lambda each: -each.time(self.at_ms)):
            answer = track.newest(self.at_ms)
            apart = self._taken_apart(answer) if answer is not None and answer.problem is None else None
            if answer is not None and apart is not None and part in apart.parts:
                _note(key, track)
                yield answer, apart

    def _taken_apart(self, answer: flight_answer.Answer) -> answer_parts.Answered | None:
        known = answer.asked, answer.body
        if known in self._apart:
            self._apart.move_to_end(known)
            return self._apart[known]
        try:
            found = answer_parts.answered_parts(answer.api_key, answer.version, answer.request, answer.body)
        except MalformedFrame:
            found = None
        self._apart[known] = found
        if len(self._apart) > MOST_TAKEN_APART:
            self._apart.popitem(last=False)
        return found


def _note(key: int, track: Track | None = None) -> None:
    """Note that the operation in progress depends on the answers of an API, and on a track, if one is given."""
    used = USED.get(None)
    if used is not None:
        used.keys.add(key)
        if track is not None:
            used.tracks.add(track)
