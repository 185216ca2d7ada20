"""Causes in the addresses that brokers advertise: two brokers have the same one, or another node answers there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from console.model.failure import WRONG_BROKER, WRONG_CLUSTER
from console.model.nodes import address_of, shared_addresses
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage import cause
from console.triage.observations import Observations
from console.triage.remembered import remembered
from console.triage.symptoms import Subject

_ANSWERS = {WRONG_BROKER: "another broker", WRONG_CLUSTER: "a broker of another cluster"}
_NEXT = (cause.Next("correct advertised.listeners of the broker that is not there: clients can't reach what it leads"),)
_shared = remembered(shared_addresses)


def _claims(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    shared = _shared(snapshot.cluster.brokers, snapshot.configs)
    to_kac = set(map(address_of, snapshot.cluster.brokers))
    for address, brokers in shared.items():
        named = ", ".join(map(str, brokers))
        yield _claim(
            brokers[-1],
            address,
            f"brokers {named} advertise one address, {address}: clients reach only the one that listens there",
            cause.Evidence(
                f"brokers {named} advertise {address}", "DescribeCluster" if address in to_kac else "DescribeConfigs"
            ),
        )
    shown = (brokers for address, brokers in shared.items() if address in to_kac)
    yield from _answers_of_another(snapshot, frozenset(chain.from_iterable(shown)))


def is_of_another(broker: int, observations: Observations) -> bool:
    """Return whether another broker has the address that a broker advertises, or answers there."""
    return any(broker == each.subject.broker for each in _claims(observations))


def _answers_of_another(snapshot: Snapshot, shared: frozenset[int]) -> Iterator[cause.Claim]:
    places = {f"broker {each.id}": each for each in snapshot.cluster.brokers}
    met: set[int] = set()
    for failed in snapshot.failures:  # any part that a broker failed to report
        broker = places.get(failed.entity)
        who = _ANSWERS.get(failed.failure.name)
        if who is None or broker is None or broker.id in shared | met:
            continue
        met.add(broker.id)
        address = address_of(broker)
        yield _claim(
            broker.id,
            address,
            f"{who} answers at {address}, which broker {broker.id} advertises",
            cause.Evidence(failed.failure.message, "DescribeConfigs"),
        )


def _claim(broker: int, address: str, title: str, evidence: cause.Evidence) -> cause.Claim:
    return cause.Claim(
        cause="address-of-another",
        subject=Subject(broker=broker, listener=address),
        severity=Severity.HIGH,
        certainty=Certainty.CERTAIN,
        title=title,
        evidence=(evidence,),
        next=_NEXT,
    )


CAUSES = (
    cause.CauseRule(
        "address-of-another",
        _claims,
        reads="DescribeCluster, DescribeConfigs",
        takes="certain: two brokers advertise one address, or another broker answers at an address",
    ),
)
