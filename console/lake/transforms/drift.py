"""Rows of `drift`: values that differ now. A broker's value is compared with the other brokers of its cluster, a
cluster's value with the other clusters of the lake, and all values with a baseline.

The majority is the most frequent value. If several values are equally frequent, one that is inherited wins ("not set"
counts as inherited); in any other tie, and between only two clusters, no value counts as different. A hidden value
equals any other hidden value, and differs from "not set". Lists that brokers treat as sets are compared as sets.

- broker: the effective value of each broker, its own or the cluster's default; without values that differ by nature:
  ids, addresses, folders, racks, the broker's own key and certificate.
- cluster: topics among the clusters that have a topic of that name; quotas among the clusters that have quotas of that
  entity; the brokers' defaults, and the quotas of default entities, among all clusters. Throttles are left out, because
  they belong to partition moves.
- baseline: the values of a file (`console.lake.policy_files`).

Pure; times are microseconds since 1970.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

from console.lake.entities import DEFAULT, POLL_SOURCES, UNOBSERVED
from console.lake.policy_files import Wanted
from console.lake.redact import HIDDEN
from console.lake.schema import DRIFT, ENTITY
from console.lake.transforms.rows import Row, rows_of, table_of
from console.model.drift_rules import is_of_each_broker, is_of_moves, severity_of
from console.model.unordered import as_it_counts, differ


class Peer(NamedTuple):
    """A value of one entity, to be compared with the values of other entities."""

    cluster_id: str
    entity_type: str
    entity_key: str
    attr: str
    own: str | None
    """The value set on the entity itself, which the operator can change; None if no value is set on it."""
    since: int | None
    """The time at which the own value was set; None if it was set before the first poll or record."""
    holds: str | None
    """The effective value: the own or an inherited one; None if neither is set."""


def _row(
    peer: Peer, scope: str, wanted: str | None, counts: tuple[int, int], since: int | None, severity: str | None = None
) -> Row:
    """Return a row of `drift`. counts: the number of peers, and the number of peers that differ."""
    key = f"{peer.entity_type}:{peer.entity_key}"
    severity = severity or severity_of(peer.entity_type, peer.attr)
    return (peer.cluster_id, scope, key, peer.attr, wanted, peer.own, *counts, since, severity)


# -- outliers --------------------------------------------------------------------------------------------------------


def outliers(peers: Sequence[Peer], scope: str) -> Iterator[Row]:
    """Yield a row for each peer whose value differs from the majority's. If several values are equally frequent, one
    that a peer inherits ("not set" counts as inherited) counts as the majority's; if this does not leave a single
    value, yield no row.

    Args:
        peers: all compared peers, also those without a value.
    """
    alike: dict[str | None, list[Peer]] = defaultdict(list)
    for peer in peers:
        alike[peer.holds and as_it_counts(peer.attr, peer.holds)].append(peer)
    # Among equally frequent values, one that a peer inherits wins.
    scores = {holds: (len(each), any(peer.own is None for peer in each)) for holds, each in alike.items()}
    top = max(scores.values())
    winners = [holds for holds, score in scores.items() if score == top]
    if len(winners) > 1:
        return
    winner = alike[winners[0]]
    # If a peer of the majority inherits the value, the others may inherit it too.
    shown = None if top[1] else max(peer.own or "" for peer in winner)
    times = [peer.since for peer in winner if peer.since is not None]
    majority_since = min(times) if len(times) == len(winner) else None  # one unknown time makes the majority's unknown
    for holds, each in alike.items():
        for peer in each if holds != winners[0] else ():
            # The peer has differed since its own value or the majority's was set, whichever was later.
            since = max((at for at in (peer.since, majority_since) if at is not None), default=None)
            yield _row(peer, scope, shown, (len(peers), len(peers) - len(winner)), since)


# -- baseline --------------------------------------------------------------------------------------------------------


def from_baseline(values: Sequence[Peer], baseline: Sequence[Wanted]) -> Iterator[Row]:
    """Yield a row for each value that differs from the baseline. values: the values of the entities to which the
    baseline may apply.
    """
    by_entity: dict[tuple[str, str, str], dict[str, Peer]] = defaultdict(dict)
    for peer in values:
        by_entity[peer[:3]][peer.attr] = peer
    there = {entity for entity, of in by_entity.items() if any(peer.holds is not None for peer in of.values())}
    clusters = {peer.cluster_id for peer in values}
    there |= {
        (each, wanted.entity_type, name) for each in clusters for wanted in baseline for name in wanted.always_judged
    }
    patterns = [(re.compile(each.names.pattern), re.compile(each.clusters.pattern)) for each in baseline]
    compared: dict[tuple[str, str, str, int], list[Peer]] = defaultdict(list)
    for entity in there:
        last: dict[str, int] = {}  # the last matching rule counts, attribute by attribute
        for place, (wanted, (names, of_clusters)) in enumerate(zip(baseline, patterns, strict=True)):
            if wanted.entity_type == entity[1] and names.search(entity[2]) and of_clusters.search(entity[0]):
                last[wanted.attr] = place
        for attr, place in last.items():
            peer = by_entity.get(entity, {}).get(attr) or Peer(*entity, attr, None, None, None)
            compared[entity[0], entity[1], attr, place].append(peer)
    for (*_, place), peers in compared.items():
        wanted = baseline[place]
        differing = [peer for peer in peers if differ(peer.attr, peer.holds, wanted.value)]
        for peer in differing:
            yield _row(peer, "baseline", wanted.value, (len(peers), len(differing)), peer.since, wanted.severity)


# -- the table -------------------------------------------------------------------------------------------------------

A_PAIR = 2
"""Number of clusters among which there is no majority: if two differ, neither is the outlier."""
_OF_EACH_CLUSTER = (":topic_id", UNOBSERVED)
_STATIC = "STATIC_BROKER_CONFIG"


def drift_within(current: pa.Table, seen: pa.Table, baseline: Sequence[Wanted] = ()) -> pa.Table:
    """Return the rows of DRIFT within each cluster: brokers that differ from the other brokers, and differences from
    the baseline.

    Args:
        current: the current rows of `history` of the clusters' brokers (with a baseline: of all entities), with
            `first_poll`: the time at which a poll, or a snapshot of the log, first showed the cluster.
        seen: the rows of `snapshot` with the state of the brokers.
    """
    now = list(_now(current))
    brokers = list(_brokers([peer for peer in now if peer.entity_type == "broker"], seen))
    of_brokers = (peers for peers in _grouped(brokers, "cluster_id", "attr") if not is_of_each_broker(peers[0].attr))
    odd = [outliers(peers, "broker") for peers in of_brokers]
    if baseline:
        others = (peer for peer in now if peer.entity_type != "broker" or peer.entity_key == DEFAULT)
        odd.append(from_baseline([*others, *brokers], baseline))
    return table_of(DRIFT, chain.from_iterable(odd))


def drift_between(current: pa.Table, everywhere: Collection[str]) -> pa.Table:
    """Return the rows of DRIFT between clusters, for entities that more than `A_PAIR` (2) clusters have.

    Args:
        current: current rows of `history`, as for `drift_within`; all rows of each entity that is in it.
        everywhere: the ids of the lake's clusters.
    """
    odd = (outliers(peers, "cluster") for peers in _clusters(list(_now(current)), everywhere) if len(peers) > A_PAIR)
    return table_of(DRIFT, chain.from_iterable(odd))


def _grouped(peers: Iterable[Peer], *names: str) -> Iterable[list[Peer]]:
    found: dict[tuple[str, ...], list[Peer]] = defaultdict(list)
    for peer in peers:
        found[tuple(getattr(peer, name) for name in names)].append(peer)
    return found.values()


def _now(current: pa.Table) -> Iterator[Peer]:
    """Yield each current value as a peer, without inherited values."""
    names = ("attr", "new_value", "is_deleted", "source", "valid_from", "first_poll")
    for cluster_id, type_, key, attr, value, is_deleted, source, since, first_poll in rows_of(current, *ENTITY, *names):
        own = None if is_deleted else HIDDEN if value is None else value
        before = source in POLL_SOURCES and since == first_poll
        yield Peer(cluster_id, type_, key, attr, own, None if before else since, own)


def _brokers(rows: Sequence[Peer], seen: pa.Table) -> Iterator[Peer]:
    """Yield each broker with each attribute that any broker of its cluster has or inherits. `holds` is the effective
    value: the broker's own value set at run time, else the cluster's default, else the value in the broker's file.
    """
    members: dict[str, set[str]] = defaultdict(set)
    for peer in rows:
        if peer.entity_key != DEFAULT and peer.own is not None:
            members[peer.cluster_id].add(peer.entity_key)
    in_files = _in_files(seen)
    for of_attr in _grouped(rows, "cluster_id", "attr"):
        cluster_id, _, _, attr, *_ = of_attr[0]
        said = {peer.entity_key: peer for peer in of_attr}
        inherited = said[DEFAULT].own if DEFAULT in said else None
        for key in members[cluster_id]:
            mine = said.get(key) or Peer(cluster_id, "broker", key, attr, None, None, None)
            in_file = inherited is not None and (cluster_id, key, attr) in in_files
            yield mine._replace(holds=inherited if in_file or mine.own is None else mine.own)


def _in_files(seen: pa.Table) -> set[Row]:
    """Return (cluster, broker, attribute) of each value that the last poll found in the broker's server.properties."""
    names = ("cluster_id", "entity_key", "attr", "source")
    last = {row[:3]: row[3] for row in rows_of(seen.sort_by("observed_ts"), *names)}
    return {key for key, source in last.items() if source == _STATIC}


def _clusters(now: Sequence[Peer], everywhere: Collection[str]) -> Iterator[list[Peer]]:
    """Yield, for each attribute of each entity, the values of all clusters that are compared; a cluster without the
    attribute has a value of None.
    """
    rows = [peer for peer in now if peer.entity_type in ("topic", "quota") or _is_default(peer)]
    having: dict[tuple[str, str], set[str]] = defaultdict(set)
    for peer in rows:
        if peer.own is not None:
            having[peer.entity_type, peer.entity_key].add(peer.cluster_id)
    for of_attr in _grouped(rows, "entity_type", "entity_key", "attr"):
        first = of_attr[0]
        if first.attr not in _OF_EACH_CLUSTER and not is_of_moves(first.attr):
            said = {peer.cluster_id: peer for peer in of_attr}
            compared = everywhere if _is_default(first) else having[first.entity_type, first.entity_key]
            absent = first._replace(own=None, since=None, holds=None)
            yield [said.get(each) or absent._replace(cluster_id=each) for each in sorted(compared)]


def _is_default(peer: Peer) -> bool:
    """Return whether a value belongs to the brokers' common default, or to a quota of only default entities."""
    if peer.entity_type == "quota":
        return "=" not in peer.entity_key.replace(f"={DEFAULT}", "")
    return peer.entity_type == "broker" and peer.entity_key == DEFAULT
