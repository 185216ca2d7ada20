"""What every request passes on its way to its handler and back: faults, forwarding, quotas, counting, recording."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from console.embedded.context import RequestContext
from console.embedded.faults.effects import (
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
from console.embedded.faults.partial import answer_partly
from console.embedded.server.closing import CloseConnection
from console.embedded.server.error_answers import error_answer
from console.embedded.server.not_controller import CONTROLLER_APIS, not_controller
from console.embedded.throttling.run_time import Timed
from console.wire.frames import EncodedBody, decode_body, encode_body, response_frame
from console.wire.schemas import Messages

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

_BY_A_FAULT = "a declared fault"
_HEADER = 8
_THROTTLE_TIMES = ("throttle_time", "throttle_time_ms")

Handled = Callable[[Any, RequestContext, Messages], Awaitable[Any]]


class Gate:
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
