"""Interprets the description of the KRaft quorum: which replicas follow the leader, which nodes were formatted again,
and who the voters are. Pure.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime
from typing import NamedTuple

from console.model.cluster import ClusterInfo, Quorum, QuorumReplica
from console.model.config import broker_resource, entry_in
from console.model.numbers import long_number, time_of_day
from console.model.parts import Part
from console.model.snapshot import Snapshot

FOLLOWS_MS = 10_000
"""Milliseconds without a fetch, or without catching up, after which a replica counts as not following. This is much
longer than the time between two fetches, and half of the timeouts after which a leader resigns
(controller.quorum.fetch.timeout.ms and related keys).
"""
KRAFT_VERSION = "kraft.version"
"""The feature that, from level 1 on, gives voters directory ids and allows adding and removing voters (KIP-853)."""


def leaders_clock(quorum: Quorum | None) -> int | None:
    """Return the time of the response by the leader's clock, ms since 1970: a leader returns it as its own caught-up
    time (LeaderState.describeQuorum). None if the quorum is unknown, or the leader reports no time.
    """
    # Don't use this host's clock: it may differ from the leader's by more than `FOLLOWS_MS`.
    told = [voter.last_caught_up_ms for voter in quorum.voters if voter.id == quorum.leader_id] if quorum else []
    return told[0] if told and told[0] > 0 else None


def fetches(quorum: Quorum, replica: QuorumReplica) -> bool:
    """Return whether a replica fetched the log within the last 10 s (`FOLLOWS_MS`) by the leader's clock. True for the
    leader itself, and for every replica if the leader reports no times (before Kafka 3.3).
    """
    now = leaders_clock(quorum)
    return replica.id == quorum.leader_id or now is None or replica.last_fetch_ms >= now - FOLLOWS_MS


def follows(quorum: Quorum, replica: QuorumReplica) -> bool:
    """Return whether a replica had the whole log within the last 10 s (`FOLLOWS_MS`) by the leader's clock, so that it
    would help to commit a record. True for the leader itself. If the leader reports no times (before Kafka 3.3), return
    whether the replica has no lag.
    """
    now = leaders_clock(quorum)
    # Compare the leader's times, not the lag: in a busy quorum, some records are always on their way. DescribeQuorum
    # has times since version 1 (KIP-836, Kafka 3.3); with version 0, only the lag is known.
    if replica.id == quorum.leader_id or now is None:
        return replica.id == quorum.leader_id or replica.lag == 0
    return replica.last_caught_up_ms >= now - FOLLOWS_MS


class KnownVoters(NamedTuple):
    """The voters of a quorum whose leader can't be reached, as far as kac knows them."""

    ids: tuple[int, ...]
    source: str
    """The source of the voters: a request, or a config and its node."""
    at: datetime | None = None
    """The time of the leader's last response, UTC; None if the voters come from a node's configs."""


_STATIC, _SERVERS = "controller.quorum.voters", "controller.quorum.bootstrap.servers"


def known_voters(snapshot: Snapshot) -> KnownVoters | None:
    """Return the voters from the last response of a leader, else from the config ``controller.quorum.voters`` of a
    node; None if neither is known. The nodes of a dynamic quorum do not have that config, because its voters are
    in the metadata log only.
    """
    if snapshot.quorum is not None:
        return KnownVoters(
            tuple(sorted(each.id for each in snapshot.quorum.voters)),
            "DescribeQuorum",
            snapshot.read_at.get(Part.QUORUM),
        )
    word = "controller" if snapshot.cluster.controllers else "broker"
    for node in snapshot.cluster.controllers or snapshot.cluster.brokers:
        ids = [long_number(each.partition("@")[0]) for each in _configured(snapshot, node.id, _STATIC)]
        if found := sorted({each for each in ids if each is not None}):
            return KnownVoters(tuple(found), f"{_STATIC} of {word} {node.id}")
    return None


def controllers_addresses(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the addresses of the controllers, as ``host:port``, from the configs of the first broker that has them
    and is not a controller itself; empty if there is no such broker. The configs of brokers that are also
    controllers are not used, because kac can ask these controllers without another address.
    """
    for node in snapshot.cluster.brokers:
        roles = _configured(snapshot, node.id, "process.roles")
        found = _configured(snapshot, node.id, _STATIC) or _configured(snapshot, node.id, _SERVERS)
        if found and "controller" not in roles:
            return tuple(each.rpartition("@")[2] for each in found)
    return ()


def _configured(snapshot: Snapshot, node: int, key: str) -> tuple[str, ...]:
    """Return the items of a list in a node's configs; empty if the config is missing or was not read."""
    entry = entry_in(snapshot.configs, broker_resource(node), key)
    items = (each.strip() for each in (entry.value or "").split(",")) if entry is not None else ()
    return tuple(filter(None, items))


def is_unanswered(snapshot: Snapshot) -> bool:
    """Return whether kac is connected to controllers and its last request for the quorum failed, so that the known
    quorum is outdated.
    """
    return bool(snapshot.cluster.controllers) and any(each.part == Part.QUORUM for each in snapshot.failures)


def voters_text(known: KnownVoters | None) -> str:
    """Return a clause that names the known voters and their source; for None, a clause that says that the voters are
    unknown.
    """
    if known is None:
        return "who votes is not known: only a leader says it"
    ids = ", ".join(map(str, known.ids))
    if known.at is None:
        return f"voters are {ids} by {known.source}"
    return f"voters were {ids} when a leader said so last, at {time_of_day(known.at)}"


def voters_in_short(known: KnownVoters | None) -> str:
    """Return the clause of `voters_text` in a shorter form, of at most 40 cells for a usual quorum."""
    if known is None or known.at is None:
        return voters_text(known)
    return f"as of {time_of_day(known.at)} voters {', '.join(map(str, known.ids))}"


def majority(voters: int) -> int:
    """Return the number of voters that can elect a leader and commit a record, of `voters` voters."""
    return voters // 2 + 1


def formatted_again(quorum: Quorum, voter: QuorumReplica) -> QuorumReplica | None:
    """Return the observer that has a voter's id and another directory id, and fetches: the node's storage was formatted
    again, so the node is no longer that voter. None if the voter itself fetches, or there is no such observer.
    """
    if fetches(quorum, voter) or not voter.directory_id:
        return None
    others = [each for each in quorum.observers if each.id == voter.id and each.directory_id != voter.directory_id]
    return next((each for each in others if fetches(quorum, each)), None)


def observing_controllers(snapshot: Snapshot) -> tuple[QuorumReplica, ...]:
    """Return the controllers that replicate the metadata log and are not voters; empty if it is unknown which observers
    are controllers.
    """
    quorum, cluster = snapshot.quorum, snapshot.cluster
    if quorum is None:
        return ()
    # Compare id and directory: a node that was formatted again is an observer under the id of its former voter
    # (KIP-853).
    voters = {(each.id, each.directory_id) for each in quorum.voters}
    return tuple(
        each
        for each in quorum.observers
        if (each.id, each.directory_id) not in voters and _is_controller(cluster, each.id)
    )


def _is_controller(cluster: ClusterInfo, node: int) -> bool:
    if cluster.controllers:
        return node in {each.id for each in cluster.controllers}
    # Brokers report all brokers, since Kafka 4.0 including those that are down, but not the controllers.
    return cluster.shows_fenced and node not in {each.id for each in cluster.brokers}


def observing_brokers(snapshot: Snapshot) -> tuple[QuorumReplica, ...]:
    """Return the observers that are brokers; empty if it is unknown which observers are brokers."""
    quorum, cluster = snapshot.quorum, snapshot.cluster
    if quorum is None or not (cluster.controllers or cluster.brokers):
        return ()
    controllers = {each.id for each in cluster.controllers} | {each.id for each in quorum.voters}
    brokers = {each.id for each in cluster.brokers}
    # Controllers report no brokers (KIP-919): if none is known, all observers that are no controllers are brokers.
    return tuple(
        each for each in quorum.observers if each.id not in controllers and (each.id in brokers or not brokers)
    )


def has_no_broker(snapshot: Snapshot, silent: Set[int] = frozenset()) -> bool:
    """Return whether only controllers replicate the metadata log, and all controllers that respond are known to have no
    broker role; False if the quorum has no leader.

    Args:
        silent: the controllers that do not respond.
    """
    quorum = snapshot.quorum
    if quorum is None or quorum.leader_id < 0 or observing_brokers(snapshot):
        return False
    asked = [each for each in snapshot.cluster.controllers if each.id not in silent]
    roles = [
        entry.value
        for each in asked
        if (configs := snapshot.configs.get(broker_resource(each.id))) is not None
        and (entry := configs.get("process.roles")) is not None
    ]
    return bool(roles) and len(roles) == len(asked) and set(roles) == {"controller"}
