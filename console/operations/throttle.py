"""The edits that limit what moves copy: rates on the brokers, and on the topics the replicas that they hold for. Pure.

As ReassignPartitionsCommand sets them: the replicas that are read are those before a move, those that copy are new.
"""

from __future__ import annotations

from collections.abc import Iterable

from console.model.config import broker_resource, topic_resource
from console.operations.planner import Relocation
from console.plan.edits import SetConfig
from console.plan.stale_throttles import LISTS, RATES


def throttle_edits(moves: Iterable[Relocation], rate: int) -> tuple[SetConfig, ...]:
    """An edit for each topic and side, then for each broker that copies or is read. rate: bytes per second of a broker
    on each side."""
    read: dict[str, list[str]] = {}
    copied: dict[str, list[str]] = {}
    brokers: set[int] = set()
    for move in moves:
        if not move.added:
            continue
        brokers.update(move.before, move.added)
        read.setdefault(move.topic, []).extend(f"{move.number}:{broker}" for broker in move.before)
        copied.setdefault(move.topic, []).extend(f"{move.number}:{broker}" for broker in move.added)
    lists = (
        SetConfig(topic_resource(topic), key, ",".join(places))
        for key, side in zip(LISTS, (read, copied), strict=True)
        for topic, places in side.items()
    )
    rates = (SetConfig(broker_resource(broker), key, str(rate)) for broker in sorted(brokers) for key in RATES)
    return (*lists, *rates)
