"""What an id stands for: a broker, or a controller that is not one as well. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.model.cluster import Broker
from console.model.snapshot import Snapshot

ITS_OWN = "What is a controller's own, its configs and loggers, kafka-configs --bootstrap-controller reads and sets."
"""What to do instead, for a controller that is named as a broker."""


def is_broker(snapshot: Snapshot, name: str) -> bool:
    """Whether this is a broker that is up, or may be one: brokers were not read. name: digits."""
    ids = {broker.id for broker in snapshot.cluster.brokers}
    return not ids or int(name) in ids


def controller_named(snapshot: Snapshot, name: str) -> str:
    """What is wrong with naming this node as a broker; ``""`` unless it is known to be a controller alone."""
    return f"node {name} is a controller and no broker" if int(name) in controllers(snapshot) else ""


def controllers(snapshot: Snapshot) -> frozenset[int]:
    """The nodes that are controllers, as far as that was read, and not brokers as well."""
    quorum, features = snapshot.quorum, snapshot.features
    found = {each.id for each in quorum.voters} if quorum is not None else set()
    found |= {each.id for each in features.nodes if each.controller} if features is not None else set()
    return frozenset(found - {broker.id for broker in snapshot.cluster.brokers})


def address_of(broker: Broker) -> str:
    """Where a broker says that it is."""
    return f"[{broker.host}]:{broker.port}" if ":" in broker.host else f"{broker.host}:{broker.port}"


def shared_addresses(brokers: Iterable[Broker]) -> Mapping[str, tuple[int, ...]]:
    """Address -> the brokers that advertise it, of addresses that more than one does that is up."""
    found: dict[str, list[int]] = {}
    for broker in brokers:
        if not broker.fenced:
            found.setdefault(address_of(broker), []).append(broker.id)
    return {address: tuple(sorted(ids)) for address, ids in found.items() if len(ids) > 1}
