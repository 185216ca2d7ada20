"""Warnings about limits of brokers that are below the present use, or contradict another config. Pure.

`contradictions` and `used_connections` judge a cluster as it stands, also for lint; the warnings name only the problems
that an edit adds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from console.model.cluster import Group, Topic, partition_in
from console.model.codes import BROKER, TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource, ConfigSet, broker_resource
from console.model.numbers import first_few, long_number, plural
from console.model.snapshot import Snapshot
from console.plan import edits
from console.plan.amounts import measured_time
from console.plan.risk_rules import NOTHING, Judged, RiskNeeds
from console.plan.topic_risks import SEGMENT, value_of

# -- settings that contradict each other, or the usual values of clients -----------------------------------------------

LAG_TIME, FETCH_WAIT = "replica.lag.time.max.ms", "replica.fetch.wait.max.ms"
FETCHES = 5
"""Number of late fetches. kac warns about configs by which a replica leaves the ISR after fewer late fetches than
this.
"""
LEAST_SESSION, LONGEST_SESSION = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
USUAL_SESSION = 45_000
"""The default of session.timeout.ms in milliseconds, in Java's consumers since 3.0 and in librdkafka."""
_USUAL_LAG_TIME, _USUAL_LONGEST = 30_000, 1_800_000
"""Kafka's defaults of `LAG_TIME` and `LONGEST_SESSION`."""
_MESSAGES, _SEGMENTS = ("max.message.bytes", "message.max.bytes"), (SEGMENT, "log.segment.bytes")


class Contradiction(NamedTuple):
    """Values that contradict each other, or that clients with usual values can't work with."""

    text: str
    key: str
    """The key to change."""
    wanted: int
    """A value of the key without a contradiction."""
    of_clients: bool = False
    """Whether the value is a problem only for clients with the usual values. Then it may be intended, if no client
    of the cluster has these.
    """


def is_lag_time_short(lag: int, wait: int) -> bool:
    """Return whether a replica of a partition without writes leaves the ISR after fewer than `FETCHES` late fetches.
    lag, wait: the values of `LAG_TIME` and `FETCH_WAIT` in milliseconds.
    """
    return lag < FETCHES * wait


def _lag_time(values: Mapping[str, int]) -> Contradiction | None:
    lag, wait = values.get(LAG_TIME), values.get(FETCH_WAIT)
    if lag is None or wait is None or not is_lag_time_short(lag, wait):
        return None
    text = (
        f"a follower that waits for records fetches every {wait:,} ms ({FETCH_WAIT}), and is out of sync after {lag:,} "
        f"ms ({LAG_TIME}): fetches that are a little late take replicas of quiet partitions out of the ISR"
    )
    if is_lag_time_short(_USUAL_LAG_TIME, wait):
        return Contradiction(text, FETCH_WAIT, 500)
    return Contradiction(text, LAG_TIME, _USUAL_LAG_TIME)


def _sessions(values: Mapping[str, int]) -> Contradiction | None:
    least, longest = values.get(LEAST_SESSION), values.get(LONGEST_SESSION)
    if least is not None and longest is not None and least > longest:
        text = f"no session timeout is allowed: {LEAST_SESSION} is {least:,} and {LONGEST_SESSION} {longest:,}"
        if least > _USUAL_LONGEST:
            return Contradiction(text, LEAST_SESSION, 6_000)
        return Contradiction(text, LONGEST_SESSION, _USUAL_LONGEST)
    text = f"consumers with the usual session timeout of {USUAL_SESSION:,} ms are refused when they join: "
    if longest is not None and longest < USUAL_SESSION:
        return Contradiction(
            f"{text}{LONGEST_SESSION} is {longest:,}", LONGEST_SESSION, _USUAL_LONGEST, of_clients=True
        )
    if least is not None and least > USUAL_SESSION:
        return Contradiction(f"{text}{LEAST_SESSION} is {least:,}", LEAST_SESSION, 6_000, of_clients=True)
    return None


def _segments(values: Mapping[str, int]) -> Contradiction | None:
    for batch, segment in zip(_MESSAGES, _SEGMENTS, strict=True):
        largest, size = values.get(batch), values.get(segment)
        # Ignore small differences: Kafka's own minimum for a segment is 12 bytes below the default size of a batch, and
        # no producer comes that near.
        if largest is not None and size is not None and largest - size > size // 100:
            text = f"a batch that {batch}={largest:,} allows is refused above {segment}={size:,}"
            return Contradiction(text, segment, largest)
    return None


class _Usual(NamedTuple):
    """A limit of producers.

    Attributes:
        least: the lowest value with which a producer with its defaults works.
        default: the default of Kafka.
        text: the effect of a lower value.
    """

    least: int
    default: int
    text: str


_USUAL: Mapping[str, _Usual] = {
    "transaction.max.timeout.ms": _Usual(
        60_000, 900_000, "producers with the usual transaction.timeout.ms of 60,000 ms are refused when they start"
    ),
    "socket.request.max.bytes": _Usual(
        1_048_576, 104_857_600, "brokers close the connection at a request that usual producers may send (1 MiB)"
    ),
    **dict.fromkeys(
        _MESSAGES, _Usual(16_384, 1_048_588, "a full batch of usual producers (batch.size of 16,384 bytes) is refused")
    ),
}


def _below_usual(key: str, values: Mapping[str, int]) -> Contradiction | None:
    usual, value = _USUAL[key], values.get(key)
    if value is None or value >= usual.least:
        return None
    return Contradiction(f"{usual.text}: {key} is {value:,}", key, usual.default, of_clients=True)


class _Pair(NamedTuple):
    """Settings that may contradict each other, or a usual value of clients."""

    keys: frozenset[str]
    judged: Callable[[Mapping[str, int]], Contradiction | None]


_PAIRS = (
    _Pair(frozenset({LAG_TIME, FETCH_WAIT}), _lag_time),
    _Pair(frozenset({LEAST_SESSION, LONGEST_SESSION}), _sessions),
    _Pair(frozenset((*_MESSAGES, *_SEGMENTS)), _segments),
    *(_Pair(frozenset({key}), partial(_below_usual, key)) for key in _USUAL),
)
KEYS = frozenset().union(*(pair.keys for pair in _PAIRS))
"""The keys of topics and brokers that `contradictions` judges."""


def contradictions(configs: ConfigSet, keys: Iterable[str] = KEYS) -> Iterator[Contradiction]:
    """Yield the contradictions between the values of a topic or a broker, inherited or not.

    Args:
        keys: the keys to check; a pair with none of these keys is left out.
    """
    wanted = frozenset(keys)
    for pair in _PAIRS:
        if wanted.isdisjoint(pair.keys):
            continue
        read = ((key, configs.get(key)) for key in pair.keys)
        values = {key: long_number(entry.value) for key, entry in read if entry is not None}
        if found := pair.judged({key: value for key, value in values.items() if value is not None}):
            yield found


def _said(snapshot: Snapshot, resource: ConfigResource, key: str) -> Iterator[str]:
    """Yield the contradictions with a key of a resource as texts; none if its configs were not read."""
    configs = snapshot.configs.get(resource)
    for each in contradictions(configs, (key,)) if configs is not None else ():
        if not (each.of_clients and key in _MESSAGES):  # the risk of a lower message size names those
            yield each.text


def contradiction_needs(edit: edits.ConfigEdit) -> RiskNeeds:
    """Return the facts that `contradiction` needs; empty for keys and resources that it does not check."""
    if edit.key not in KEYS or edit.resource.type not in (TOPIC, BROKER):
        return NOTHING
    if edit.resource.type == TOPIC:
        return RiskNeeds(topics=frozenset({edit.resource.name}))
    return RiskNeeds(a_broker=True)


def contradiction(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield texts on the contradictions that an edit adds. An edit of the cluster default is checked with the values
    of the first broker.
    """
    if edit.key not in KEYS or edit.resource.type not in (TOPIC, BROKER):
        return
    resource = edit.resource
    if resource.is_cluster_default:
        first = next(iter(judged.before.cluster.brokers), None)
        resource = broker_resource(first.id) if first is not None else CLUSTER_DEFAULT
    before = frozenset(_said(judged.before, resource, edit.key))
    yield from (text for text in _said(judged.after, resource, edit.key) if text not in before)


# -- connections -------------------------------------------------------------------------------------------------------

IN_ALL, BY_ADDRESS = "max.connections", "max.connections.per.ip"


def used_connections(topics: Mapping[str, Topic], groups: Iterable[Group]) -> Mapping[int, Counter[str]]:
    """Return broker -> address -> the minimum number of connections from that address: one for each group member
    there if the broker coordinates the member's group or leads one of the member's partitions. Connections of
    producers and tools are not counted.
    """
    found: dict[int, Counter[str]] = {}
    for group in groups:
        for member in group.members or ():
            read = (partition_in(topics.get(name), number) for name, number in member.assignment)
            at = {each.leader for each in read if each is not None} | {group.coordinator}
            for broker in at - {-1}:
                found.setdefault(broker, Counter())[member.host.removeprefix("/")] += 1
    return found


def connection_needs(edit: edits.SetConfig) -> RiskNeeds:
    """Return the facts that `connections` needs: all topics with their leaders, and the members of groups; empty for
    another key.
    """
    return RiskNeeds(every_topic=True, groups=True) if _limits_connections(edit) else NOTHING


def _limits_connections(edit: edits.SetConfig) -> bool:
    return edit.resource.type == BROKER and edit.key in (IN_ALL, BY_ADDRESS)


def connections(edit: edits.SetConfig, judged: Judged) -> Iterator[str]:
    """Yield a warning if the connections of group members already exceed a new limit; it names the broker with the most
    connections.
    """
    limit = long_number(value_of(edit)) if _limits_connections(edit) else None
    if limit is None:
        return
    most, where = 0, ""
    for broker, hosts in used_connections(judged.before.topics, judged.facts.groups.values()).items():
        if not edit.resource.is_cluster_default and edit.resource.name != str(broker):
            continue
        address, count = max(hosts.items(), key=lambda each: each[1])
        if edit.key == IN_ALL:
            address, count = "", hosts.total()
        if count > most:
            most, where = count, f"to broker {broker}" + (f" from {address}" if address else "")
    if most > limit:
        each = " of one address" if edit.key == BY_ADDRESS else ""
        yield (
            f"{most:,} members of groups are connected {where}, and it takes {limit:,} connections{each}: the others "
            "are turned away when they connect again"
        )


# -- commits that expire -----------------------------------------------------------------------------------------------

OFFSETS_KEPT = "offsets.retention.minutes"
_NAMED = 3


def expiry_needs(edit: edits.SetConfig) -> RiskNeeds:
    """Return the facts that `expiry` needs; empty for another key."""
    if edit.resource.type != BROKER or edit.key != OFFSETS_KEPT:
        return NOTHING
    return RiskNeeds(a_broker=True, groups=True)


def expiry(edit: edits.SetConfig, judged: Judged) -> Iterator[str]:
    """Yield a warning about groups without members if an edit shortens the time for which commits are kept."""
    if edit.resource.type != BROKER or edit.key != OFFSETS_KEPT:
        return
    first = next(iter(judged.before.cluster.brokers), None)
    at = edit.resource if not edit.resource.is_cluster_default or first is None else broker_resource(first.id)
    old, new = long_number(judged.own(at, edit.key)), long_number(value_of(edit))
    vacant = sorted(name for name, group in judged.facts.groups.items() if group.is_vacant)
    if new is None or (old is not None and new >= old) or not vacant:
        return
    yield (
        f"{plural(len(vacant), 'group')} without members ({first_few(vacant, _NAMED)}): what they committed goes once "
        f"they have had none for {measured_time(60.0 * new)}, and they begin as auto.offset.reset says"
    )
