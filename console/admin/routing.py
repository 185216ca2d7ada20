"""Which broker a request goes to."""

from __future__ import annotations

from collections.abc import Container
from enum import Enum, auto
from typing import NamedTuple


class Where(Enum):
    """The kinds of destination."""

    ANY = auto()
    CONTROLLER = auto()
    BROKER = auto()


class Route(NamedTuple):
    """A destination; `broker_id` counts with BROKER only."""

    where: Where
    broker_id: int = -1


ANY = Route(Where.ANY)
CONTROLLER = Route(Where.CONTROLLER)


def broker(broker_id: int) -> Route:
    """The route to one broker and no other."""
    return Route(Where.BROKER, broker_id)


KRAFT_ONLY = (55, 64)
"""DescribeQuorum and UnregisterBroker: only brokers in KRaft mode list them (ApiMessageType.ListenerType)."""


def forwards_to_controller(api_keys: Container[int]) -> bool:
    """Whether a broker with these APIs forwards what is for the controller (KIP-500: every one in KRaft mode does)."""
    return any(key in api_keys for key in KRAFT_ONLY)
