"""Brokers that were shut down in order: unlike one that fails, they hand their leaders over before they go. Pure.

Source: ReplicationControlManager.handleBrokerInControlledShutdown; the controller moves the leaders of a failed broker
only after broker.session.timeout.ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from console.triage import symptoms
from console.triage.observations import Observations
from console.triage.remembered import remembered

AWAY, BACK = timedelta(minutes=3), timedelta(minutes=2)
"""The usual times of a restart: until the broker answers again, and until its replicas are in sync after that."""


def restarting(observations: Observations) -> Mapping[int, datetime]:
    """Return broker -> when it handed its leaders over, for brokers whose restart takes no longer than usual and costs
    no partition its leader or its least replicas in sync.
    """
    now = observations.last.at
    found = {}
    for broker, at in observations.handed_over.items():
        back = back_since(observations, broker, at)
        if now - at <= AWAY if back is None else now - back <= BACK:
            found[broker] = at
    if not found:
        return found
    hurt = _hurt(observations.seen)
    return {broker: at for broker, at in found.items() if broker not in hurt}


def back_since(observations: Observations, broker: int, at: datetime) -> datetime | None:
    """Return when a broker answered again after a time; None if it did not go yet, or is still away."""
    subject = symptoms.Subject(broker=broker)
    mine = [
        each
        for name in (symptoms.BROKER_GONE, symptoms.BROKER_SILENT)
        for each in observations.intervals.get((name, subject), ())
        if each.ended is None or each.ended > at
    ]
    ends = [each.ended for each in mine]
    return max((end for end in ends if end is not None), default=None) if None not in ends else None


@remembered
def _hurt(seen: Mapping[symptoms.Key, symptoms.Symptom]) -> frozenset[int]:
    """Return the brokers that partitions without a leader, or below their min ISR, miss."""
    bad = (symptoms.LEADERLESS, symptoms.COORDINATOR_LEADERLESS, symptoms.UNDER_MIN_ISR)
    return frozenset(broker for each in seen.values() if each.name in bad for broker in each.brokers)
