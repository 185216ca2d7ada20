"""Error codes, and what the handlers of several proposals decide alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from console.embedded.context import RequestContext

T = TypeVar("T")


REFUSED = "Cluster authorization failed."


def is_misrouted(context: RequestContext) -> bool:
    """Whether this broker must answer NOT_CONTROLLER: it is not the controller, and does not forward to it."""
    return not context.cluster.forwarding and context.broker_id != context.state.controller_id


def repeated(items: Iterable[T], key: Callable[[T], Hashable]) -> set[Hashable]:
    """The keys that more than one item has."""
    seen: set[Hashable] = set()
    return {k for k in map(key, items) if k in seen or seen.add(k)}  # type: ignore[func-returns-value]


async def finished(context: RequestContext, offsets: Sequence[int], timeout_ms: int) -> list[bool]:
    """For each offset of the log, whether all live brokers know it before the timeout.

    0 ms and less wait for nothing: then none of them counts as finished (KIP-4), though all are under way.
    """
    if timeout_ms <= 0:
        return [False] * len(offsets)
    return list(await asyncio.gather(*(_known(context, offset, timeout_ms / 1000) for offset in offsets)))


async def _known(context: RequestContext, offset: int, within: float) -> bool:
    """Looked at once more at the timeout: the offset may be older than this request."""
    cluster = context.cluster
    return await cluster.visible(offset, within) or all(
        cluster.propagation.applied(broker) >= offset for broker in cluster.state.alive()
    )
