"""What an id stands for: a broker, or a controller that is not one as well. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.model.cluster import Broker
from console.model.snapshot import Snapshot

ITS_OWN = "What is a controller's own, its configs and loggers, is read and set with --bootstrap-controller HOST:PORT."
"""What to do instead, for a controller that is named as a broker."""


def is_broker(snapshot: Snapshot, name: str) -> bool:
    """Return whether an id is that of a registered broker, or may be: no brokers were read. Where controllers are
    asked, it is that of one of them.

    Args:
        name: the id in digits.
    """
    cluster = snapshot.cluster
    ids = {node.id for node in cluster.brokers or cluster.controllers}
    return not ids or int(name) in ids


def controller_named(snapshot: Snapshot, name: str) -> str:
    """Return what is wrong with naming this node as a broker; ``""`` unless it is known to be a controller and no
    broker. Before Kafka 4.0 a broker that is down is not described, and a controller may be one."""
    if int(name) not in controllers(snapshot):
        return ""
    cluster = snapshot.cluster
    of_all = cluster.shows_fenced or not cluster.brokers
    return f"node {name} is a controller" + (" and no broker" if of_all else ", and no broker that is up")


def holds_nothing(snapshot: Snapshot, node: int) -> str:
    """Return what is wrong with moving replicas to or from this node; ``""`` unless it is known to be a controller that
    is no broker. One that is in a list of replicas was a broker, before Kafka 4.0 perhaps still is."""
    what = controller_named(snapshot, str(node))
    was = what and any(node in each.replicas for topic in snapshot.topics.values() for each in topic.partitions)
    return "" if was or not what else f"{what}: it holds no replicas"


def no_such(snapshot: Snapshot, name: str) -> tuple[str, str]:
    """Return that there is no broker of this id, and which there are; of controllers where these are asked."""
    cluster = snapshot.cluster
    word = "controller" if cluster.controllers and not cluster.brokers else "broker"
    ids = sorted(node.id for node in cluster.brokers or cluster.controllers)
    return f"there is no {word} {name}", f"{word}s: {', '.join(map(str, ids))}"


def controllers(snapshot: Snapshot) -> frozenset[int]:
    """Return the ids of the controllers that are known and are not brokers as well."""
    quorum, features = snapshot.quorum, snapshot.features
    found = {each.id for each in quorum.voters} if quorum is not None else set()
    found |= {each.id for each in features.nodes if each.controller} if features is not None else set()
    found |= {each.id for each in snapshot.cluster.controllers}
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


def controller_at(snapshot: Snapshot, controller: int) -> str:
    """Return a controller with the address at which it listens, where that is known."""
    found = next((each for each in snapshot.cluster.controllers if each.id == controller), None)
    return f"{controller} ({found.host}:{found.port})" if found is not None else str(controller)
