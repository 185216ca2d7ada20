"""Connections that answer from a flight record instead of brokers, so that all layers above work as with a live
cluster.

`RecordedConnections` replaces `Connections` in a link. `InstantLoop` replaces the client's event loop: waiting for a
missing response, or before a retry, takes no time on it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, cast

from console.admin import errors
from console.admin.connections import Connections
from console.admin.errors import AdminError, BrokerError, Unreachable
from console.admin.settings import Address, ConnectionSettings
from console.flight.answer import CONNECTED, SERVICES, Problem
from console.flight.tape import Tape
from console.model.failure import Failure
from console.wire.aiokafka_request import AiokafkaRequest, RawResponse
from console.wire.fields import Asked
from console.wire.frames import decode_body, encode_payload
from console.wire.schemas import api_key, response_type, version_range

if TYPE_CHECKING:
    from kio.static.protocol import RequestPayload

    from console.model.identity import Node

NOT_RECORDED = "NOT_RECORDED"


class NotRecorded(BrokerError):
    """The record has no answer to this request up to its present time."""

    def __init__(self, api: str) -> None:
        super().__init__(
            Failure(
                NOT_RECORDED,
                f"not in the record: it has no answer to {api} by this time",
                "A record has what was asked while it was made; a later time may have more.",
            )
        )


class RecordedConnection:
    """A connection to one broker of the record, or to any broker. It has those methods of `Connection` that `Link`
    calls.
    """

    is_open = is_idle = True

    def __init__(self, tape: Tape, address: Address | None) -> None:
        self._tape = tape
        self._address = address
        self.host, self.port = address or tape.in_use() or ("the record", 0)
        self._prepared: tuple[AiokafkaRequest, bytes | Problem] | None = None

    @cached_property
    def versions(self) -> Mapping[int, tuple[int, int]]:
        """API key -> (lowest, highest version) of the broker, as of the first use of this attribute; empty if the
        record does not have them.
        """
        return _versions(self._tape, self._address)

    def version(self, api: str) -> int | None:
        """Return the version in which the record has requests of this API; if it has none, the highest that both sides
        support; None if they have no version in common.
        """
        key = api_key(api)
        lowest, highest = version_range(api)
        recorded = [each for each in self._tape.versions(key) if lowest <= each <= highest]
        if recorded:
            return max(recorded)
        if not self.versions:
            return highest
        theirs = self.versions.get(key, (0, -1))
        chosen = min(highest, theirs[1])
        return chosen if chosen >= max(lowest, theirs[0]) else None

    def proposes(self, api: str, version: int) -> bool:
        """Return whether the record has requests of this API in this version, which a proposal defines."""
        return version > version_range(api)[1] and version in self._tape.versions(api_key(api))

    def prepare(self, api: str, version: int, asked: Asked) -> AiokafkaRequest:
        """Encode a request in this version. Raises NotRecorded, and any error that the function in `asked` raises."""
        request = AiokafkaRequest(api, version, asked, encode=_encode)
        found = self._found(request)
        if found is None:
            raise NotRecorded(api)
        self._prepared = request, found
        return request

    async def send(self, request: AiokafkaRequest) -> RawResponse:
        """Return the recorded response. If no response came in time when the record was made, wait forever. Raises
        ConnectionError if the connection was lost then.
        """
        prepared, self._prepared = self._prepared, None
        is_known = prepared is not None and prepared[0] is request
        found = prepared[1] if is_known and prepared is not None else self._found(request)
        if isinstance(found, bytes):
            return RawResponse(request.api, request.version, found)
        if found is not None and found.kind == errors.RequestTimedOut.__name__:
            await asyncio.get_running_loop().create_future()
        raise ConnectionError(found.message if found is not None else NOT_RECORDED)

    def _found(self, request: AiokafkaRequest) -> bytes | Problem | None:
        found = self._tape.answer(api_key(request.api), request.version, request.encode(), self._address)
        return None if isinstance(found, Problem) and found.name == NOT_RECORDED else found

    async def close(self, wait: float = 0.0) -> None:
        """Do nothing: no connection is open."""


def _encode(payload: RequestPayload) -> bytes:
    """Encode a payload, with a cache: polls repeat the same requests, and encoding a long list takes much longer than
    hashing it.
    """
    return _encoded(cast("Hashable", payload))


@lru_cache(256)
def _encoded(payload: Hashable) -> bytes:
    return encode_payload(cast("RequestPayload", payload))


def _versions(tape: Tape, address: Address | None) -> Mapping[int, tuple[int, int]]:
    """Return API key -> (lowest, highest version) of the broker at `address`, or of any broker if `address` is None;
    empty if the record does not have them.
    """
    greeting = tape.greeting(address)
    return _versions_in(greeting) if greeting is not None else {}


@lru_cache(64)  # cached, as each request has a connection of its own
def _versions_in(greeting: bytes) -> Mapping[int, tuple[int, int]]:
    """Return API key -> (lowest, highest version) in the body of an ApiVersions response; empty if it is damaged."""
    from console.wire.bounds_check import MalformedFrame

    try:
        response = decode_body(response_type("api_versions", CONNECTED), greeting)
    except MalformedFrame:
        return {}
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


class RecordedConnections(Connections):
    """The connections to a record's brokers. No network connection is ever opened."""

    def __init__(self, settings: ConnectionSettings, tape: Tape) -> None:
        super().__init__(settings)
        self._tape = tape

    async def to(self, address: Address, meant: Node | None = None) -> Any:  # noqa: ARG002
        """Return the connection to this address. Raises the AdminError with which connecting failed in the record."""
        problem = self._tape.refusal(address)
        if problem is not None:
            raise error_of(problem)
        return RecordedConnection(self._tape, address)

    async def any_of(self, addresses: Iterable[Address]) -> Any:
        """Return a connection to any broker of the record that answers. Raises AdminError if all connections failed in
        the record.
        """
        asked = tuple(addresses)
        problems = [problem for each in asked if (problem := self._tape.refusal(each)) is not None]
        if asked and len(problems) == len(asked):
            raise error_of(problems[0])
        return RecordedConnection(self._tape, None)

    async def try_anew(self, address: Address) -> float:
        """Return the seconds that the last new connection to this address took in the record. Raises the AdminError
        with which it failed there.
        """
        await self.to(address)
        return self._tape.connect_ms(address) / 1000

    open_apart = to

    def service_recorded(self, key: int) -> bytes:
        """Return the last recorded answer of an HTTP service. Raises NotRecorded without one, and the AdminError with
        which it failed in the record.
        """
        found = self._tape.service(key)
        if found is None:
            raise NotRecorded(SERVICES[key])
        if found.problem is not None:
            raise error_of(found.problem)
        return found.body

    def now_ms(self) -> int:
        """Return the record's present time, milliseconds since 1970."""
        return self._tape.now()

    def retire(self, connection: Any, longest: float | None = None) -> None:
        """Do nothing: no connection is open."""


def error_of(problem: Problem) -> AdminError:
    """Return the AdminError that a recorded problem describes; an `Unreachable` if the problem's class is unknown, or
    can't be made from a failure.
    """
    kind = getattr(errors, problem.kind, Unreachable)
    found = Failure(problem.name, problem.message, problem.remedy)
    if not (isinstance(kind, type) and issubclass(kind, AdminError)) or kind in (errors.ReadOnly, errors.Unsupported):
        kind = Unreachable
    return kind(found)


class _Impatient(selectors.DefaultSelector):
    """A selector that skips timeouts. skipped: the total seconds skipped."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the events that are ready. Don't wait for the timeout: if nothing is ready, add it to `skipped`. If
        the timeout is None, wait for an event, as usual.
        """
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        found = super().select(0)
        if not found:
            self.skipped += timeout
        return found


class InstantLoop(asyncio.SelectorEventLoop):
    """An event loop on which waiting takes no time: if only timers are left, its clock advances to the next one."""

    def __init__(self) -> None:
        self._impatient = _Impatient()
        super().__init__(self._impatient)

    def time(self) -> float:
        """Return the loop's time in seconds, which includes the skipped waits."""
        return super().time() + self._impatient.skipped
