"""What an id stands for: a broker, or a controller that is not one as well. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.model.cluster import Broker
from console.model.snapshot import Snapshot

ITS_OWN = "What is a controller's own, its configs and loggers, kafka-configs --bootstrap-controller reads and sets."
"""What to do instead, for a controller that is named as a broker."""


def is_broker(snapshot: Snapshot, name: str) -> bool:
    """Return whether an id is that of a registered broker, or may be: no brokers were read.

    Args:
        name: the id in digits.
    """
    ids = {broker.id for broker in snapshot.cluster.brokers}
    return not ids or int(name) in ids


def controller_named(snapshot: Snapshot, name: str) -> str:
    """Return what is wrong with naming this node as a broker; ``""`` unless it is known to be a controller and no
    broker."""
    return f"node {name} is a controller and no broker" if int(name) in controllers(snapshot) else ""


def controllers(snapshot: Snapshot) -> frozenset[int]:
    """Return the ids of the controllers that are known and are not brokers as well."""
    quorum, features = snapshot.quorum, snapshot.features
    found = {each.id for each in quorum.voters} if quorum is not None else set()
    found |= {each.id for each in features.nodes if each.controller} if features is not None else set()
    return frozenset(found - {broker.id for broker in snapshot.cluster.brokers})


def address_of(broker: Broker) -> str:
    """Return the advertised address of a broker as ``host:port``."""
    return f"[{broker.host}]:{broker.port}" if ":" in broker.host else f"{broker.host}:{broker.port}"


def shared_addresses(brokers: Iterable[Broker]) -> Mapping[str, tuple[int, ...]]:
    """Return the addresses that several live brokers advertise, each with the ids of these brokers."""
    found: dict[str, list[int]] = {}
    for broker in brokers:
        if not broker.fenced:
            found.setdefault(address_of(broker), []).append(broker.id)
    return {address: tuple(sorted(ids)) for address, ids in found.items() if len(ids) > 1}
