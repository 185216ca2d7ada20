"""Finds brokers that restart: they were stopped in order and are away, or they are back and catch up. Pure.

A broker that is stopped in order hands its leaders over and leaves all ISRs while it still answers
(ReplicationControlManager.handleBrokerInControlledShutdown). Then it is fenced, and then it refuses connections. If a
broker fails, the controller moves its leaders only after broker.session.timeout.ms, 9 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from console.model.parts import Part
from console.model.snapshot import held_sizes
from console.triage import symptoms
from console.triage.observations import FLAPS, PROVED, QUICK, Observations
from console.triage.remembered import remembered

LEAVES = timedelta(seconds=30)
"""Maximum time from the moment a broker has handed its leaders over to the end of its process: it closes its logs, and
a busy host is slow.
"""
CATCHES_UP, SOON, LITTLE = timedelta(minutes=5), timedelta(minutes=1), 256 << 20
"""Maximum time in which the next replica of a broker that is back joins an ISR; the shorter time if it lacks at most
LITTLE bytes."""


class Restart(Struct, frozen=True):
    """A restart of a broker, as far as it has come."""

    handed_over: datetime | None
    """The time at which the broker's leaders were seen on other brokers while it was still up, UTC; None if it failed
    instead.
    """
    back: datetime | None
    """The time at which the broker answered again, UTC; None while it is away or still stopping."""


@remembered
def restarting(observations: Observations) -> Mapping[int, Restart]:
    """Return broker id -> its restart, for brokers that are being stopped, are away, or catch up. Brokers whose process
    comes and goes again and again are left out.
    """
    behind: dict[int, datetime] = {}  # broker -> since when the first of its replicas is out of sync
    for each in observations.of(symptoms.UNDER_REPLICATED):
        since = observations.since(each) or observations.began
        behind.update({broker: min(since, behind.get(broker, since)) for broker in each.brokers})
    found = {}
    cluster = observations.last.snapshot.cluster
    described = observations.last.snapshot.read_at.get(Part.CLUSTER, observations.began)
    listed = {each.id for each in cluster.brokers}
    for broker in sorted(behind.keys() | symptoms.gone(observations.last.snapshot) | observations.last.silent):
        if cluster.shows_fenced and broker not in listed:
            continue  # the broker was unregistered and does not come back
        stop = observations.handed_over.get(broker)
        # Topics that show the broker back may be newer than the listing that shows it fenced.
        is_open = stop is not None and (stop.over is None or stop.over > described)
        at = stop.at if stop is not None and is_open else None
        back = observations.back_since(broker, at)
        if len(observations.intervals.get((symptoms.BROKER_GONE, symptoms.Subject(broker=broker)), ())) >= FLAPS:
            continue
        if back is not None:
            # A replica that left its ISR after the broker came back is not catching up.
            left = behind.get(broker, observations.last.at)
            joined = _last_joined(observations, broker, back)
            if left <= back + QUICK and observations.last.at - joined <= _catches_up(observations, broker):
                found[broker] = Restart(at, back)
        elif stop is not None and at is not None and not stop.unheard and _leaves(observations, broker, at):
            found[broker] = Restart(at, None)
    return found


def _catches_up(observations: Observations, broker: int) -> timedelta:
    """Return the maximum time in which a broker that is back should bring its next replica into an ISR: a short one if
    the replicas lack few bytes.
    """
    places = [
        (each.subject.topic, each.subject.partition or 0)
        for each in observations.of(symptoms.UNDER_REPLICATED)
        if broker in each.brokers and each.subject.topic is not None
    ]
    held = held_sizes(observations.last.snapshot, places)
    lacks = [max(sizes.values()) - sizes[broker] for sizes in held.values() if broker in sizes]
    return SOON if len(lacks) == len(places) and sum(lacks) <= LITTLE else CATCHES_UP


def _leaves(observations: Observations, broker: int, at: datetime) -> bool:
    """Return whether a broker that handed its leaders over is ending its process, or has ended it: until 30 s later
    (`LEAVES`) it may be ending; after that, only if it refuses connections, is fenced, or is not listed.

    Args:
        at: the time at which the broker handed its leaders over, UTC.
    """
    poll = observations.last
    ended = broker in poll.refusing | symptoms.gone(poll.snapshot)
    return ended or poll.at - at <= LEAVES


def _last_joined(observations: Observations, broker: int, back: datetime) -> datetime:
    """Return the latest time at which a partition with a replica on the broker had all replicas in sync again, UTC.
    `back` if no such partition was out of sync since.

    Args:
        back: the time at which the broker answered again, UTC.
    """
    topics = observations.last.snapshot.topics
    ended = [
        intervals[-1].ended
        for (name, subject), intervals in observations.intervals.items()
        if name == symptoms.UNDER_REPLICATED
        and (topic := topics.get(subject.topic or "")) is not None
        and (number := subject.partition or 0) < len(topic.partitions)
        and broker in topic.partitions[number].replicas
    ]
    return max((each for each in ended if each is not None and each > back), default=back)


@remembered
def undecided(observations: Observations) -> frozenset[int]:
    """Return the ids of the brokers that began to refuse connections so recently that it is not known yet whether they
    handed their leaders over. This is known once the cluster is described a second later, after 3 s at most.
    """
    poll, found = observations.last, set()
    described = min(poll.snapshot.read_at.get(part, observations.began) for part in (Part.CLUSTER, Part.TOPICS))
    for broker in poll.refusing | poll.closing:
        silent = observations.seen.get((symptoms.BROKER_SILENT, symptoms.Subject(broker=broker)))
        since = observations.since(silent) if silent is not None else None
        if since is not None and poll.at - since <= QUICK and described < since + PROVED:
            found.add(broker)
    return frozenset(found)


def hurt(observations: Observations, broker: int) -> frozenset[str]:
    """Return the names of the symptoms that partitions have because the broker is missing: no leader, or fewer replicas
    in sync than min.insync.replicas. Empty if there is none.
    """
    bad = (symptoms.LEADERLESS, symptoms.COORDINATOR_LEADERLESS, symptoms.UNDER_MIN_ISR)
    return frozenset(name for name in bad if any(broker in each.brokers for each in observations.of(name)))
