"""Some items of a batch fail, the others go to the handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from console.embedded.faults.effects import FailSome
from console.embedded.server.error_answers import error_answer, error_items
from console.wire.schemas import Messages

_NAMES = ("name", "resource_name", "topic", "group_id", "key", "entity_name")


async def answer_partly(
    request: Any, messages: Messages, effect: FailSome, handled: Callable[[Any], Awaitable[Any]]
) -> Any:
    """The response with errors at some items' places. A request without items is answered as if nothing were wrong."""
    arrays = error_items(request, messages)
    if arrays is None:
        return await handled(request)
    answered, asked = arrays
    items = tuple(getattr(request, asked))
    failing = [_fails(item, number, effect) for number, item in enumerate(items, 1)]
    failed = tuple(item for item, fails in zip(items, failing, strict=True) if fails)
    done = tuple(item for item, fails in zip(items, failing, strict=True) if not fails)
    if not failed:
        return await handled(request)
    refused = error_answer(replace(request, **{asked: failed}), messages, effect.code, effect.message)
    if not done:
        return refused
    answer = await handled(replace(request, **{asked: done}))
    merged = _merged(failing, getattr(refused, answered), getattr(answer, answered))
    return replace(answer, **{answered: merged})


def _fails(item: Any, number: int, effect: FailSome) -> bool:
    if effect.names:
        name = item if isinstance(item, str) else next((getattr(item, n) for n in _NAMES if hasattr(item, n)), None)
        return name in effect.names
    return number % effect.every == 0


def _merged(failing: list[bool], refused: tuple[Any, ...], answered: tuple[Any, ...]) -> tuple[Any, ...]:
    """In the request's order, as far as the handler kept to it."""
    if len(refused) + len(answered) != len(failing):
        return (*answered, *refused)
    first, second = iter(refused), iter(answered)
    return tuple(next(first if fails else second) for fails in failing)
