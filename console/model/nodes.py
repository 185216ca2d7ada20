"""Says whether a node id means a broker, or a controller without the broker role. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.model.certificates import advertised
from console.model.cluster import Broker, address_text
from console.model.config import ConfigResource, ConfigSet, broker_resource
from console.model.loopback import binds_loopback, is_loopback
from console.model.snapshot import Snapshot

ITS_OWN = "What is a controller's own, its configs and loggers, is read and set with --bootstrap-controller HOST:PORT."
"""The remedy for a request that names a controller in place of a broker."""


def is_broker(snapshot: Snapshot, name: str) -> bool:
    """Return whether an id is that of a registered broker or, if kac is connected to controllers, of a registered
    controller. True if the registered nodes were not read.

    Args:
        name: the id of a node, in digits.
    """
    cluster = snapshot.cluster
    ids = {node.id for node in cluster.brokers or cluster.controllers}
    return not ids or int(name) in ids


def controller_named(snapshot: Snapshot, name: str) -> str:
    """Return the reason why a node id can't be used as a broker's; ``""`` unless the node is known to be a controller
    and not a broker. Before Kafka 4.0 brokers do not describe brokers that are down, so such a controller may also be a
    broker that is down; the text says so.

    Args:
        name: the id of a node, in digits.
    """
    if int(name) not in controllers(snapshot):
        return ""
    cluster = snapshot.cluster
    of_all = cluster.shows_fenced or not cluster.brokers
    return f"node {name} is a controller" + (" and no broker" if of_all else ", and no broker that is up")


def holds_nothing(snapshot: Snapshot, node: int) -> str:
    """Return the reason why no replica can move to or from a node; ``""`` unless the node is known to be a
    controller and not a broker. ``""`` also if a partition has a replica on the node: the node then was a broker,
    and before Kafka 4.0 may still be one.
    """
    what = controller_named(snapshot, str(node))
    was = what and any(node in each.replicas for topic in snapshot.topics.values() for each in topic.partitions)
    return "" if was or not what else f"{what}: it holds no replicas"


def no_such(snapshot: Snapshot, name: str) -> tuple[str, str]:
    """Return the message about an unknown broker id, and a hint with the known ids; about an unknown controller if kac
    is connected to controllers.
    """
    cluster = snapshot.cluster
    word = "controller" if cluster.controllers and not cluster.brokers else "broker"
    ids = sorted(node.id for node in cluster.brokers or cluster.controllers)
    return f"there is no {word} {name}", f"{word}s: {', '.join(map(str, ids))}"


def controllers(snapshot: Snapshot) -> frozenset[int]:
    """Return the ids of the known controllers that are not also brokers."""
    quorum, features = snapshot.quorum, snapshot.features
    found = {each.id for each in quorum.voters} if quorum is not None else set()
    found |= {each.id for each in features.nodes if each.controller} if features is not None else set()
    found |= {each.id for each in snapshot.cluster.controllers}
    return frozenset(found - {broker.id for broker in snapshot.cluster.brokers})


def address_of(broker: Broker) -> str:
    """Return the advertised address of a broker as ``host:port``."""
    return address_text(broker.host, broker.port)


def shared_addresses(
    brokers: Iterable[Broker], configs: Mapping[ConfigResource, ConfigSet]
) -> Mapping[str, tuple[int, ...]]:
    """Return address -> the ids of the live brokers that advertise it on any listener, for the addresses that several
    brokers advertise.

    The configs of a broker are used if they contain the address that the broker advertises to kac; otherwise they are
    older than its last start. A loopback address in configs may be a listener for the broker's own host. So such an
    address counts only if kac reaches all brokers at loopback addresses, and at least one broker does not advertise the
    address.

    Args:
        brokers: the brokers with the addresses that they advertise to kac.
        configs: the configs that were read; they have the addresses of the other listeners.
    """
    live = [broker for broker in brokers if not broker.fenced]
    on_one_host = all(is_loopback(broker.host) for broker in live)
    found: dict[str, set[int]] = {}
    of_hosts: set[str] = set()
    for broker in live:
        own = configs.get(broker_resource(broker.id))
        listeners = {
            listener.address: listener.host for listener in (advertised(broker.id, own) if own is not None else ())
        }
        of_configs = listeners if address_of(broker) in listeners else {}
        of_hosts |= {address for address, host in of_configs.items() if binds_loopback(host)} - {address_of(broker)}
        for address in {address_of(broker), *of_configs}:
            found.setdefault(address, set()).add(broker.id)

    def counts(address: str) -> bool:
        return address not in of_hosts or (on_one_host and len(found[address]) < len(live))

    return {address: tuple(sorted(ids)) for address, ids in found.items() if len(ids) > 1 and counts(address)}


def controller_at(snapshot: Snapshot, controller: int) -> str:
    """Return a controller's id as text, with the address at which it listens in parentheses if the address is known."""
    found = next((each for each in snapshot.cluster.controllers if each.id == controller), None)
    return f"{controller} ({found.host}:{found.port})" if found is not None else str(controller)
