"""The processing of a request from its frame to the response's frame: decoding, faults, forwarding, the handler, quotas
and counts.
"""

from __future__ import annotations

import logging
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from functools import cache
from importlib import import_module
from random import Random
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map

from console.embedded import faults as embedded_faults
from console.embedded.answers import answer_partly, error_answer, not_controller
from console.embedded.apis import APIS, Served
from console.embedded.context import CONTROLLER_LISTENER, CloseConnection, Cluster, RequestContext, Session
from console.embedded.controllers import (
    FORWARDING_SECONDS,
    refused_by_controller,
    waits_for_controller,
)
from console.embedded.sasl import SaslFailure
from console.embedded.spec import Profile, Range, Release
from console.embedded.state import answering
from console.embedded.throttling import Timed
from console.wire import frames
from console.wire.bounds_check import MalformedFrame
from console.wire.schemas import Messages, api_key, api_name, messages, version_range

log = logging.getLogger("console.embedded")

MAX_CLIENTS = 1000
OTHERS = "…others"
"""The client id under which the requests of further clients are counted. Clients choose their ids, so there may be any
number.
"""
API_VERSIONS = 18
_PRODUCE, _SASL_HANDSHAKE, _SASL_AUTHENTICATE = 0, 17, 36
_BEFORE_AUTHENTICATION = (API_VERSIONS, _SASL_HANDSHAKE)
_OLDEST_ADVERTISED = frozenset({_PRODUCE})
"""APIs whose lowest versions are in the ApiVersions response but are not served, as in Kafka 4: librdkafka compresses
only if it sees Produce v0 there (KAFKA-18659).
"""
_BY_A_FAULT = "a declared fault"
_HEADER = 8
"""Number of bytes at the beginning of a response frame that are its length and the correlation id."""
_THROTTLE_TIMES = ("throttle_time", "throttle_time_ms")

Handle = Callable[[Any, RequestContext], Awaitable[Any]]
"""A handler: function of (request, context) that returns the response (see `handlers`)."""
Handled = Callable[[Any, RequestContext, Messages], Awaitable[Any]]
"""Function of (request, context, messages) that calls the handler of any API; an error of the handler becomes a
response.
"""


class CountedKey(NamedTuple):
    """The attributes of requests that are counted together."""

    api: str
    """kio's name of the API."""
    broker: int
    client: str
    """The client id."""


class Count(NamedTuple):
    """A number of requests, and the bytes of requests and responses with lengths and headers."""

    requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class Counters:
    """Counts of requests since the start or the last `reset`. The client ids after the first 1,000 are counted
    together.
    """

    def __init__(self) -> None:
        self._counts: dict[CountedKey, Count] = {}
        self._clients: set[str] = set()

    def add(self, api: str, broker: int, client: str, bytes_in: int, bytes_out: int) -> None:
        """Count a request and its response, with their sizes in bytes. bytes_out: 0 for a request without a
        response.
        """
        if client not in self._clients:
            # Limit the number of clients: a client that sends another id with each request must not fill the memory.
            if len(self._clients) < MAX_CLIENTS:
                self._clients.add(client)
            else:
                client = OTHERS
        key = CountedKey(api, broker, client)
        was = self._counts.get(key, Count())
        self._counts[key] = Count(was.requests + 1, was.bytes_in + bytes_in, was.bytes_out + bytes_out)

    def total(self, api: str | None = None, broker: int | None = None, client: str | None = None) -> Count:
        """Return the sum of the counts for these attributes; None means any."""
        requests = bytes_in = bytes_out = 0
        for key, count in self._counts.items():
            if api in (None, key.api) and broker in (None, key.broker) and client in (None, key.client):
                requests += count.requests
                bytes_in += count.bytes_in
                bytes_out += count.bytes_out
        return Count(requests, bytes_in, bytes_out)

    def by_api(self, client: str | None = None) -> Counter[str]:
        """Return kio's name of an API -> the number of requests, of one client or (None) of all."""
        result: Counter[str] = Counter()
        for key, count in self._counts.items():
            if client in (None, key.client):
                result[key.api] += count.requests
        return result

    def __iter__(self) -> Iterator[tuple[CountedKey, Count]]:
        return iter(tuple(self._counts.items()))

    def reset(self) -> None:
        """Set all counts to zero."""
        self._counts.clear()
        self._clients.clear()


@cache
def handled_apis() -> frozenset[str]:
    """Return kio's names of the APIs that have a handler."""
    return frozenset(APIS.keys() & set(api_key_map.values()))


@cache
def handler(api: str, proposed: bool) -> Handle:
    """Return the handler of an API. proposed: whether to return the handler of the proposal's version of it."""
    handle: Handle
    if not proposed:
        handle = getattr(import_module(f"console.embedded.handlers.{APIS[api].module}"), api)
        return handle
    module, name = ("batched_describes", api) if api in handled_apis() else (APIS[api].module, api.partition("_")[2])
    handle = getattr(import_module(f"console.embedded.proposals.{module}"), name)
    return handle


def handler_of(messages: Messages) -> Handle:
    """Return the handler for requests of this API and version."""
    return handler(messages.api, messages.proposed)


def advertised(release: Release, *, proposals: bool, only: Mapping[str, Range] | None = None) -> dict[int, Range]:
    """Return API key -> the versions for the ApiVersions response: those that the release has and this cluster
    implements, and the proposals' own.

    Args:
        only: kio's name of an API -> the versions of a server other than Kafka, to which the result is limited; None
            for no limit.
    """
    result: dict[int, Range] = {}
    for key, (low, high) in release.apis.items():
        if (api := api_key_map.get(key)) in handled_apis() and api is not None:
            readable = version_range(api)
            first, high = max(low, readable[0]), min(high, readable[1])
            if first <= high:
                result[key] = (low if key in _OLDEST_ADVERTISED else first, high)
    if only is not None:
        theirs = {api_key(api): versions for api, versions in only.items()}
        common = {
            key: (max(low, theirs[key][0]), min(high, theirs[key][1]))
            for key, (low, high) in result.items()
            if key in theirs
        }
        result = {key: (low, high) for key, (low, high) in common.items() if low <= high}
    if proposals:
        from console.wire.proposals.table import PROPOSED

        for key, version in PROPOSED:
            low, high = result.get(key, (version, version))
            result[key] = (min(low, version), max(high, version))
    return result


def of_controllers(apis: Mapping[int, Range]) -> dict[int, Range]:
    """Return API key -> the versions for the ApiVersions response of a separate controller.

    Args:
        apis: API key -> the versions of a broker of the same release.
    """
    return {key: versions for key, versions in apis.items() if Served.AT_CONTROLLERS in APIS[api_key_map[key]].served}


class RequestPipeline:
    """The steps around the handler of each request: faults, forwarding, quotas and counts."""

    def __init__(
        self, cluster: Cluster, faults: embedded_faults.Faults, counters: Counters, profile: Profile | None = None
    ) -> None:
        self._profile = profile
        self._cluster = cluster
        self._faults = faults
        self._counters = counters
        self._random = Random(faults.seed)  # noqa: S311 - the same garbage in every run

    async def answer(
        self,
        request: Any,
        context: RequestContext,
        found: Messages,
        frame: bytes,
        correlation_id: int,
        handled: Handled,
    ) -> bytes | None:
        """Return the response frame to a request, after applying faults, quotas and counts; None for a request without
        a response.

        Args:
            frame: the request as received, without its length.
            handled: function that calls the handler.

        Raises:
            CloseConnection: a fault or the handler closes the connection.
        """
        # Call `meet` once per request, so that a fault that happens n times counts requests, and not stages of a
        # request.
        effects = self._faults.meet(found.api, context.broker_id, context.client_id)
        data = None
        try:
            payload = await self._payload(request, context, found, frame, handled, effects)
            if payload is not None:
                body = frames.encode_body(found.response, payload)
                data = self._damaged(frames.response_frame(found.response, correlation_id, body), context, effects)
            return data
        finally:
            # Count the request even if the handler failed or a fault closed the connection, as the broker did the work.
            self._counters.add(found.api, context.broker_id, context.client_id, len(frame) + 4, len(data or b""))

    def count(self, api: str, broker_id: int, client_id: str, bytes_in: int, bytes_out: int) -> None:
        """Count a request that gets no handler, with the sizes of request and response in bytes."""
        self._counters.add(api, broker_id, client_id, bytes_in, bytes_out)

    async def _payload(
        self,
        request: Any,
        context: RequestContext,
        found: Messages,
        frame: bytes,
        handled: Handled,
        effects: tuple[embedded_faults.Effect, ...],
    ) -> Any:
        for effect in effects:
            await self._before(effect, context)
        answering = Timed(self._answered(request, context, found, handled, effects))
        payload = await answering
        payload, wait = self._cluster.throttling.charge(
            context.requester, found.api, len(frame) + 4, payload, answering.seconds
        )
        if wait:
            # Mute the connection after the response, so that the client reads the throttle time first (KIP-219).
            context.session.mute = max(wait, context.session.mute)
            payload = payload if payload is None else _throttled(payload, found, wait)
        for effect in effects:
            if effect == embedded_faults.Cut(embedded_faults.Moment.AFTER):
                raise CloseConnection(_BY_A_FAULT)
            if isinstance(effect, embedded_faults.Throttle):
                context.session.mute = effect.seconds
                payload = _throttled(payload, found, effect.seconds)
        return payload

    async def _answered(
        self,
        request: Any,
        context: RequestContext,
        found: Messages,
        handled: Handled,
        effects: tuple[embedded_faults.Effect, ...],
    ) -> Any:
        for effect in effects:
            if isinstance(effect, embedded_faults.Fail):
                return _error(request, found, effect.code, effect.message)
            if isinstance(effect, embedded_faults.FailFor) and not effect.names.isdisjoint(_texts(request)):
                return _error(request, found, effect.code, effect.message)
        cluster = self._cluster
        # Check this before the handler runs, which changes the controller's state on whichever broker it runs.
        is_refused = not cluster.forwarding and Served.UNFORWARDED in APIS[found.api].served
        if is_refused and context.broker_id != cluster.state.controller_id:
            return not_controller(request, found)
        if (refused := refused_by_controller(request, context, found)) is not None:
            return refused
        if waits_for_controller(context, found.api):
            await cluster.clock.sleep(FORWARDING_SECONDS)
            return _error(request, found, ErrorCode.request_timed_out)

        async def decoded(rest: Any) -> Any:
            return _decoded(await handled(rest, context, found), found)

        for effect in effects:
            if isinstance(effect, embedded_faults.FailSome):
                return await answer_partly(request, found, effect, decoded)
        profile = self._profile
        if profile is not None and found.api in profile.refused:
            return _error(request, found, profile.refused[found.api])
        if profile is not None and found.api in profile.answers:
            return profile.answers[found.api](await decoded(request))
        return await handled(request, context, found)

    async def _before(self, effect: embedded_faults.Effect, context: RequestContext) -> None:
        cluster = self._cluster
        match effect:
            case embedded_faults.Delay(seconds):
                await cluster.clock.sleep(seconds)
            case embedded_faults.Cut(embedded_faults.Moment.BEFORE):
                raise CloseConnection(_BY_A_FAULT)
            case embedded_faults.Meanwhile(change):
                change(cluster.state)
            case embedded_faults.MoveController(to):
                alive = answering(cluster.state)
                following = [broker for broker in alive if broker > cluster.state.controller_id] or list(alive)
                cluster.state.move_controller(to if to is not None else following[0])
            case embedded_faults.BrokerDown(broker, seconds):
                gone = context.broker_id if broker is None else broker
                if gone == context.broker_id:
                    cluster.down_for(gone, seconds)
                    raise CloseConnection(_BY_A_FAULT)
                await cluster.broker_killed(gone)
                cluster.down_for(gone, seconds)

    def _damaged(self, data: bytes, context: RequestContext, effects: tuple[embedded_faults.Effect, ...]) -> bytes:
        for effect in effects:
            if isinstance(effect, embedded_faults.HalfFrame):
                context.session.ending = _BY_A_FAULT
                return data[: max(len(data) // 2, 1)]
            if isinstance(effect, embedded_faults.Garbage):
                # Keep the length and the correlation id, so that the client reads the body as the response to its
                # request.
                kept = 0 if effect.whole_frame else _HEADER
                return data[:kept] + self._random.randbytes(max(len(data) - kept, 1))
        return data


def _error(request: Any, found: Messages, code: int, message: str | None = None) -> Any:
    answer = error_answer(request, found, code, message)
    if answer is None:
        raise CloseConnection(f"{found.api} has no response with an error code")
    return answer


def _texts(part: Any) -> Iterator[str]:
    """Yield all texts in a request, at any depth, in which a `FailFor` fault looks for its names."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _texts(each)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _texts(getattr(part, field.name))


def _decoded(payload: Any, found: Messages) -> Any:
    """Return the response as a kio entity; decode it if the handler returned bytes."""
    return frames.decode_body(found.response, payload.data) if isinstance(payload, frames.EncodedBody) else payload


def _throttled(payload: Any, found: Messages, seconds: float) -> Any:
    first = fields(found.response)[0].name
    if isinstance(payload, frames.EncodedBody) and first in _THROTTLE_TIMES:  # decoding it may take a minute
        return frames.EncodedBody(struct.pack(">i", int(seconds * 1000)) + payload.data[4:])
    payload = _decoded(payload, found)
    names = {field.name: field for field in fields(payload)} if hasattr(payload, "__dataclass_fields__") else {}
    if "throttle_time" in names:
        return replace(payload, throttle_time=timedelta(seconds=seconds))
    if "throttle_time_ms" in names:
        return replace(payload, throttle_time_ms=int(seconds * 1000))
    return payload


class Dispatcher:
    """The dispatcher of one node: it decodes frames and has the pipeline answer the requests."""

    def __init__(self, cluster: Cluster, pipeline: RequestPipeline, broker_id: int) -> None:
        self._cluster = cluster
        self._pipeline = pipeline
        self._broker_id = broker_id
        self.clock = cluster.clock

    async def answer(self, session: Session, frame: bytes) -> bytes | None:
        """Decode a frame, and return the response frame; None for a request without a response.

        Raises:
            CloseConnection: the frame can't be decoded, or the node does not serve the API or its version.
        """
        # After SaslHandshake v0, frames have no headers, so the whole frame is a SASL token.
        if session.raw_tokens:
            return self._raw_token(session, frame)
        try:
            head = frames.read_head(frame)
            if head.key == API_VERSIONS and not self._answers_api_versions(head.version):
                return await self._unknown_api_versions(head.correlation_id, frame)
            found = self._known(head.key, head.version)
            # Like Kafka, close the connection without a response if the client has not authenticated.
            if not session.authenticated and session.mechanism is None and head.key not in _BEFORE_AUTHENTICATION:
                raise CloseConnection(f"{found.api} came before authentication")
            client_id, offset = frames.read_client_id(frame, flexible=frames.is_flexible(found.request))
            request = frames.decode_request(found.request, frame[offset:])
        except MalformedFrame as error:
            raise CloseConnection(f"can't read a request: {error}") from error
        context = self._context(session, client_id, found)
        return await self._pipeline.answer(request, context, found, frame, head.correlation_id, self._handled)

    def _answers_api_versions(self, version: int) -> bool:
        low, high = self._cluster.served_by(self._broker_id)[API_VERSIONS]
        return low <= version <= high

    def _known(self, key: int, version: int) -> Messages:
        versions = self._cluster.served_by(self._broker_id).get(key)
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
            CONTROLLER_LISTENER if self._broker_id in self._cluster.state.controllers else self._cluster.listener_name,
            found,
            session,
            self._cluster,
        )

    async def _handled(self, request: Any, context: RequestContext, found: Messages) -> Any:
        """Call the handler and return its response. If the handler raises an error, return UNKNOWN_SERVER_ERROR, as
        Kafka does.
        """
        session = context.session
        if not session.authenticated and session.mechanism is not None and found.key != _SASL_AUTHENTICATE:
            session.ending = f"{found.api} came during authentication"
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
        """Return the response to an unsupported version of ApiVersions: version 0, with the supported versions
        (KIP-511).
        """
        found = messages(API_VERSIONS, 0)
        assert found is not None
        low, high = self._cluster.served_by(self._broker_id)[API_VERSIONS]
        own = found.schema.ApiVersion(api_key=API_VERSIONS, min_version=low, max_version=high)
        response = found.response(error_code=ErrorCode.unsupported_version, api_keys=(own,))
        data = frames.response_frame(found.response, correlation_id, frames.encode_body(found.response, response))
        self._pipeline.count("api_versions", self._broker_id, "", len(frame) + 4, len(data))
        return data

    def _raw_token(self, session: Session, frame: bytes) -> bytes:
        """Process a SASL token that has no request header (SaslHandshake v0), and return the broker's token in the same
        form. Raises CloseConnection if the login fails.
        """
        try:
            token = session.authenticate(self._cluster.view_of(self._broker_id), frame)
        except SaslFailure as failure:
            raise CloseConnection(f"authentication failed: {failure}") from failure
        session.raw_tokens = not session.authenticated
        return len(token).to_bytes(4, "big") + token
