"""A request's way from its frame to its answer: decoding, faults, forwarding, its handler, quotas, counting."""

from __future__ import annotations

import logging
import pkgutil
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import fields, replace
from datetime import timedelta
from functools import cache
from importlib import import_module
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map

from console.embedded import handlers
from console.embedded.answers import CONTROLLER_APIS, answer_partly, error_answer, not_controller
from console.embedded.context import CloseConnection, RequestContext, Session
from console.embedded.faults import (
    BrokerDown,
    Cut,
    Delay,
    Effect,
    Fail,
    FailSome,
    Garbage,
    HalfFrame,
    Meanwhile,
    Moment,
    MoveController,
    Throttle,
)
from console.embedded.spec import Range, Release
from console.embedded.throttling import Timed
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import (
    EncodedBody,
    decode_body,
    decode_request,
    encode_body,
    is_flexible,
    read_client_id,
    read_head,
    response_frame,
)
from console.wire.schemas import Messages, api_name, messages, readable_versions

if TYPE_CHECKING:
    from console.embedded.brokers import EmbeddedCluster


# How many requests and bytes there were, by API, broker and client.

MAX_CLIENTS = 1000
OTHERS = "…others"


class CountedKey(NamedTuple):
    """What is counted apart. api: kio's name; client: the client id."""

    api: str
    broker: int
    client: str


class Count(NamedTuple):
    """Requests, and bytes with lengths and headers."""

    requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class Counters:
    """Counts since the start or the last `reset`. Clients choose their ids, so the rarest beyond 1,000 are one."""

    def __init__(self) -> None:
        self._counts: dict[CountedKey, Count] = {}
        self._clients: set[str] = set()

    def add(self, api: str, broker: int, client: str, bytes_in: int, bytes_out: int) -> None:
        """Count one request and its answer; bytes_out is 0 where there was none."""
        if client not in self._clients:
            if len(self._clients) < MAX_CLIENTS:
                self._clients.add(client)
            else:
                client = OTHERS
        key = CountedKey(api, broker, client)
        was = self._counts.get(key, Count())
        self._counts[key] = Count(was.requests + 1, was.bytes_in + bytes_in, was.bytes_out + bytes_out)

    def total(self, api: str | None = None, broker: int | None = None, client: str | None = None) -> Count:
        """The sum over everything that matches; None matches all."""
        requests = bytes_in = bytes_out = 0
        for key, count in self._counts.items():
            if api in (None, key.api) and broker in (None, key.broker) and client in (None, key.client):
                requests += count.requests
                bytes_in += count.bytes_in
                bytes_out += count.bytes_out
        return Count(requests, bytes_in, bytes_out)

    def by_api(self, client: str | None = None) -> Counter[str]:
        """Requests by API, of one client or of all."""
        result: Counter[str] = Counter()
        for key, count in self._counts.items():
            if client in (None, key.client):
                result[key.api] += count.requests
        return result

    def __iter__(self) -> Iterator[tuple[CountedKey, Count]]:
        return iter(tuple(self._counts.items()))

    def reset(self) -> None:
        """Start from nothing."""
        self._counts.clear()
        self._clients.clear()


# Which APIs the cluster answers: a module for each, found by its name.

_PRODUCE = 0
_TOLD_FROM_THE_FIRST = frozenset({_PRODUCE})
"""Whose lowest versions are told though they are not answered, as Kafka 4 does: librdkafka compresses only where it
sees Produce v0 (KAFKA-18659)."""

Handle = Callable[[Any, RequestContext], Awaitable[Any]]


@cache
def handled_apis() -> frozenset[str]:
    """kio's names of the APIs that have a handler."""
    modules = {module.name for module in pkgutil.iter_modules(handlers.__path__)}
    return frozenset(modules & set(api_key_map.values()))


@cache
def handler(api: str, proposed: bool) -> Handle:
    """The function that answers an API: `handle` of the API's module, or the function of a proposal's module."""
    module, function = f"handlers.{api}", "handle"
    if proposed:
        proposal, _, rest = api.partition("_")
        own = proposal.startswith("kip")
        module, function = ("proposals." + proposal, rest) if own else ("proposals.batched_describes", api)
    handle: Handle = getattr(import_module(f"console.embedded.{module}"), function)
    return handle


def handler_of(messages: Messages) -> Handle:
    """The function that answers requests of these messages."""
    return handler(messages.api, messages.proposed)


def advertised(release: Release, *, proposals: bool) -> dict[int, Range]:
    """The APIs and versions to tell of: the release's, as far as they are answered here, and the proposals' own."""
    result: dict[int, Range] = {}
    for key, (low, high) in release.apis.items():
        readable = readable_versions(key)
        if readable is not None and api_key_map[key] in handled_apis():
            first, high = max(low, readable[0]), min(high, readable[1])
            if first <= high:
                result[key] = (low if key in _TOLD_FROM_THE_FIRST else first, high)
    if proposals:
        from console.wire.proposals.table import PROPOSED

        for key, version in PROPOSED:
            low, high = result.get(key, (version, version))
            result[key] = (min(low, version), max(high, version))
    return result


# From the bytes of a request to the bytes of its answer.

log = logging.getLogger("console.embedded")

API_VERSIONS = 18
_SASL_HANDSHAKE, _SASL_AUTHENTICATE = 17, 36
_TO_BEGIN_WITH = (API_VERSIONS, _SASL_HANDSHAKE)


class Dispatcher:
    """Answers the requests of one broker's connections."""

    def __init__(self, cluster: EmbeddedCluster, broker_id: int) -> None:
        self._cluster = cluster
        self._broker_id = broker_id
        self.clock = cluster.clock

    async def answer(self, session: Session, frame: bytes) -> bytes | None:
        """The response frame, None where the request wants none. Raises CloseConnection."""
        if session.raw_tokens:
            return self._raw_token(session, frame)
        try:
            head = read_head(frame)
            if head.key == API_VERSIONS and not self._tells_versions_in(head.version):
                return await self._unknown_api_versions(head.correlation_id, frame)
            found = self._known(head.key, head.version)
            if not session.authenticated and session.mechanism is None and head.key not in _TO_BEGIN_WITH:
                raise CloseConnection(f"{found.api} came before authentication")
            client_id, offset = read_client_id(frame, flexible=is_flexible(found.request))
            request = decode_request(found.request, frame[offset:])
        except MalformedFrame as error:
            raise CloseConnection(f"can't read a request: {error}") from error
        context = self._context(session, client_id, found)
        return await self._cluster.gate.answer(request, context, found, frame, head.correlation_id, self._handled)

    def _tells_versions_in(self, version: int) -> bool:
        low, high = self._cluster.advertised[API_VERSIONS]
        return low <= version <= high

    def _known(self, key: int, version: int) -> Messages:
        versions = self._cluster.advertised.get(key)
        if versions is None:
            raise CloseConnection(f"API key {key} ({api_name(key) or 'unknown'}) is not served")
        found = messages(key, version) if versions[0] <= version <= versions[1] else None
        if found is None:
            low, high = versions
            raise CloseConnection(f"{api_name(key) or key} version {version} is not served, {low} to {high} are")
        return found

    def _context(self, session: Session, client_id: str, found: Messages) -> RequestContext:
        return RequestContext(
            self._broker_id,
            session.principal or "",
            client_id,
            session.host,
            self._cluster.listener_name,
            found.version,
            found.schema,
            session,
            self._cluster,
        )

    async def _handled(self, request: Any, context: RequestContext, found: Messages) -> Any:
        """The handler's response; a handler that fails is the cluster's own fault, and told as Kafka tells its own."""
        session = context.session
        if not session.authenticated and session.mechanism is not None and found.key != _SASL_AUTHENTICATE:
            session.ending = f"{found.api} came in the middle of authentication"
            return error_answer(request, found, ErrorCode.illegal_sasl_state)
        try:
            return await handler_of(found)(request, context)
        except CloseConnection:
            raise
        except Exception:
            log.exception("broker %d failed to answer %s v%d", self._broker_id, found.api, found.version)
            answer = error_answer(request, found, ErrorCode.unknown_server_error)
            if answer is None:
                raise CloseConnection(f"no answer to {found.api}") from None
            return answer

    async def _unknown_api_versions(self, correlation_id: int, frame: bytes) -> bytes:
        """A version that this release does not have: version 0 says so, and which versions there are (KIP-511)."""
        found = messages(API_VERSIONS, 0)
        assert found is not None
        low, high = self._cluster.advertised[API_VERSIONS]
        own = found.schema.ApiVersion(api_key=API_VERSIONS, min_version=low, max_version=high)
        response = found.response(error_code=ErrorCode.unsupported_version, api_keys=(own,))
        data = response_frame(found.response, correlation_id, encode_body(found.response, response))
        self._cluster.counters.add("api_versions", self._broker_id, "", len(frame) + 4, len(data))
        return data

    def _raw_token(self, session: Session, frame: bytes) -> bytes:
        """A SASL token without a header, answered alike (SaslHandshake v0)."""
        from console.embedded.sasl import SaslFailure, step

        try:
            token: bytes = step(self._cluster.view_of(self._broker_id), session, frame)
        except SaslFailure as failure:
            raise CloseConnection(f"authentication failed: {failure}") from failure
        session.raw_tokens = not session.authenticated
        return len(token).to_bytes(4, "big") + token


# What every request passes on its way to its handler and back: faults, forwarding, quotas, counting, recording.

_BY_A_FAULT = "a declared fault"
_HEADER = 8
_THROTTLE_TIMES = ("throttle_time", "throttle_time_ms")

Handled = Callable[[Any, RequestContext, Messages], Awaitable[Any]]


class RequestPipeline:
    """Lets requests through to their handlers."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster
        self._random = Random(cluster.faults.seed)  # noqa: S311 - garbage that can be repeated

    async def answer(
        self,
        request: Any,
        context: RequestContext,
        found: Messages,
        frame: bytes,
        correlation_id: int,
        handled: Handled,
    ) -> bytes | None:
        """The response frame, None where the request wants none. Raises CloseConnection."""
        effects = self._cluster.faults.meet(found.api, context.broker_id, context.client_id)
        data = None
        try:
            payload = await self._payload(request, context, found, frame, handled, effects)
            if payload is not None:
                body = encode_body(found.response, payload)
                data = self._spoiled(response_frame(found.response, correlation_id, body), context, effects)
            return data
        finally:
            self._cluster.counters.add(
                found.api, context.broker_id, context.client_id, len(frame) + 4, len(data or b"")
            )
            if self._cluster.recording is not None:
                self._cluster.recording.add(context, found, frame, data)

    async def _payload(
        self,
        request: Any,
        context: RequestContext,
        found: Messages,
        frame: bytes,
        handled: Handled,
        effects: tuple[Effect, ...],
    ) -> Any:
        for effect in effects:
            await self._before(effect, context)
        answering = Timed(self._answered(request, context, found, handled, effects))
        payload = await answering
        payload, wait = self._cluster.throttling.charge(context, found.api, len(frame) + 4, payload, answering.seconds)
        if wait:
            context.session.mute = max(wait, context.session.mute)
            payload = payload if payload is None else _throttled(payload, found, wait)
        for effect in effects:
            if effect == Cut(Moment.AFTER):
                raise CloseConnection(_BY_A_FAULT)
            if isinstance(effect, Throttle):
                context.session.mute = effect.seconds
                payload = _throttled(payload, found, effect.seconds)
        return payload

    async def _answered(
        self, request: Any, context: RequestContext, found: Messages, handled: Handled, effects: tuple[Effect, ...]
    ) -> Any:
        for effect in effects:
            if isinstance(effect, Fail):
                return _failed(request, found, effect.code, effect.message)
        cluster = self._cluster
        if not cluster.forwarding and found.api in CONTROLLER_APIS and context.broker_id != cluster.state.controller_id:
            return not_controller(request, found)

        async def opened(rest: Any) -> Any:
            return _opened(await handled(rest, context, found), found)

        for effect in effects:
            if isinstance(effect, FailSome):
                return await answer_partly(request, found, effect, opened)
        return await handled(request, context, found)

    async def _before(self, effect: Effect, context: RequestContext) -> None:
        cluster = self._cluster
        match effect:
            case Delay(seconds):
                await cluster.clock.sleep(seconds)
            case Cut(Moment.BEFORE):
                raise CloseConnection(_BY_A_FAULT)
            case Meanwhile(change):
                change(cluster.state)
            case MoveController(to):
                alive = cluster.state.alive()
                following = [broker for broker in alive if broker > cluster.state.controller_id] or list(alive)
                cluster.state.move_controller(to if to is not None else following[0])
            case BrokerDown(broker, seconds):
                gone = context.broker_id if broker is None else broker
                if gone == context.broker_id:
                    cluster.down_for(gone, seconds)
                    raise CloseConnection(_BY_A_FAULT)
                await cluster.broker_down(gone)
                cluster.down_for(gone, seconds)

    def _spoiled(self, data: bytes, context: RequestContext, effects: tuple[Effect, ...]) -> bytes:
        for effect in effects:
            if isinstance(effect, HalfFrame):
                context.session.ending = _BY_A_FAULT
                return data[: max(len(data) // 2, 1)]
            if isinstance(effect, Garbage):
                kept = 0 if effect.whole_frame else _HEADER
                return data[:kept] + self._random.randbytes(max(len(data) - kept, 1))
        return data


def _failed(request: Any, found: Messages, code: int, message: str | None = None) -> Any:
    answer = error_answer(request, found, code, message)
    if answer is None:
        raise CloseConnection(f"{found.api} has no answer with an error in it")
    return answer


def _opened(payload: Any, found: Messages) -> Any:
    """The response as kio's, where the handler gave bytes."""
    return decode_body(found.response, payload.data) if isinstance(payload, EncodedBody) else payload


def _throttled(payload: Any, found: Messages, seconds: float) -> Any:
    first = fields(found.response)[0].name
    if isinstance(payload, EncodedBody) and first in _THROTTLE_TIMES:  # opening a long answer takes a minute
        return EncodedBody(struct.pack(">i", int(seconds * 1000)) + payload.data[4:])
    payload = _opened(payload, found)
    names = {field.name: field for field in fields(payload)} if hasattr(payload, "__dataclass_fields__") else {}
    if "throttle_time" in names:
        return replace(payload, throttle_time=timedelta(seconds=seconds))
    if "throttle_time_ms" in names:
        return replace(payload, throttle_time_ms=int(seconds * 1000))
    return payload
