"""Which broker a request goes to, and when it is sent again: exponential backoff with full jitter."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Container, Iterator
from enum import Enum, auto
from typing import Any, NamedTuple, TypeVar


class Destination(Enum):
    """The kinds of destination."""

    ANY = auto()
    CONTROLLER = auto()
    BROKER = auto()


class Route(NamedTuple):
    """A destination. broker_id: for BROKER only."""

    where: Destination
    broker_id: int = -1


ANY = Route(Destination.ANY)
CONTROLLER = Route(Destination.CONTROLLER)


def broker(broker_id: int) -> Route:
    """Return the route to one broker."""
    return Route(Destination.BROKER, broker_id)


KRAFT_ONLY = (55, 64)
"""DescribeQuorum and UnregisterBroker: only brokers in KRaft mode have them (ApiMessageType.ListenerType)."""


def forwards_to_controller(api_keys: Container[int]) -> bool:
    """Return whether a broker with these APIs forwards requests to the controller, as all in KRaft mode do
    (KIP-590)."""
    return any(key in api_keys for key in KRAFT_ONLY)


FORWARDED = frozenset(
    {
        "alter_client_quotas",
        "alter_configs",
        "alter_partition_reassignments",
        "alter_user_scram_credentials",
        "create_acls",
        "create_partitions",
        "create_topics",
        "delete_acls",
        "delete_topics",
        "describe_quorum",
        "elect_leaders",
        "incremental_alter_configs",
        "list_partition_reassignments",
        "unregister_broker",
        "update_features",
    }
)
"""APIs that brokers in KRaft mode hand on to the active controller (KafkaApis.forwardToController). While that one
hangs they stay unanswered for half a minute, and so does all that comes after them on the same connection: a broker
answers the requests of a connection one after another."""


def refused_by_non_controller(response: Any) -> bool:
    """Return whether the request as a whole, or each item, was refused with NOT_CONTROLLER: nothing was applied.

    Kafka 2.8 refuses each partition of an election so, with 0 as the error of the whole.
    """
    from kio.schema.errors import ErrorCode

    if getattr(response, "error_code", 0) == ErrorCode.not_controller:
        return True
    codes = list(_codes_of_items(response))
    return bool(codes) and all(code == ErrorCode.not_controller for code in codes)


def _codes_of_items(entity: Any) -> Iterator[int]:
    for name in type(entity).__dataclass_fields__:
        part = getattr(entity, name)
        if not isinstance(part, tuple) or not part or not hasattr(part[0], "__dataclass_fields__"):
            continue
        for item in part:
            if hasattr(item, "error_code"):
                yield item.error_code
            else:
                yield from _codes_of_items(item)


# Retries.

T = TypeVar("T")

FIRST_DELAY = 0.1
LONGEST_DELAY = 2.0
ATTEMPTS = 5


def delays(
    first: float = FIRST_DELAY, longest: float = LONGEST_DELAY, jitter: Callable[[], float] = random.random
) -> Iterator[float]:
    """Yield seconds to wait before each retry: from 0 to a bound that doubles up to `longest`."""
    bound = first
    while True:
        yield bound * jitter()
        bound = min(bound * 2, longest)


async def until_settled(
    read: Callable[[], Awaitable[T]],
    unsettled: Callable[[T], bool],
    *,
    within: float,
    attempts: int = ATTEMPTS,
    waits: Iterator[float] | None = None,
) -> T:
    """Read until the answer is not `unsettled` (a retriable error code). Returns the last answer in any case.

    within: seconds after which there is no further retry. waits: seconds before each retry, else `delays`.
    For reads, and for changes that were refused; never for changes that may have been applied.
    """
    deadline = asyncio.get_running_loop().time() + within
    waits = waits or delays()
    answer = await read()
    for _ in range(attempts - 1):
        wait = next(waits)
        if not unsettled(answer) or asyncio.get_running_loop().time() + wait > deadline:
            break
        await asyncio.sleep(wait)
        answer = await read()
    return answer
