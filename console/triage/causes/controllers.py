"""Causes that only controllers show while brokers are down: the stopped brokers, the one to start first, and a voter
whose storage was formatted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from console.model.cluster import QuorumReplica
from console.model.nodes import controller_at
from console.model.numbers import time_of, time_of_day
from console.model.quorum import formatted_again, majority, observing_brokers
from console.model.severity import Certainty, Severity
from console.triage import cause, symptoms
from console.triage.observations import Observations

TOGETHER_MS = 2_000
"""Maximum milliseconds between the last fetches of brokers that count as stopped together."""


def _controller_down(observations: Observations) -> Iterator[cause.Claim]:
    snapshot, refusing = observations.last.snapshot, observations.last.refusing
    voters = {each.id for each in snapshot.quorum.voters} if snapshot.quorum is not None else set()
    for symptom in observations.of(symptoms.CONTROLLER_SILENT):
        node = symptom.subject.broker
        if node is None:
            continue
        refuses = node in refusing
        votes = node in voters
        yield cause.Claim(
            cause="controller-down",
            subject=symptom.subject,
            severity=Severity.HIGH if votes or not voters else Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"controller {node} {'is down' if refuses else 'does not answer'}",
            since=observations.since(symptom),
            times=observations.times((symptom.name, symptom.subject)),
            evidence=cause.given(
                cause.Evidence(
                    f"{controller_at(snapshot, node)} {'refuses connections' if refuses else 'did not answer in time'}",
                    "ApiVersions",
                ),
                cause.Evidence(_votes(len(voters)), "DescribeQuorum") if votes else None,
            ),
            predicted=(
                *cause.predict(symptoms.CONTROLLER_SILENT, subject=symptom.subject),
                *cause.predict(symptoms.VOTER_BEHIND, brokers=frozenset({node})),
            ),
            next=(cause.Next(f"start controller {controller_at(snapshot, node)}, or look at its log"),),
        )


def _votes(voters: int) -> str:
    return f"it is one of {voters} voters, of which {majority(voters)} are needed"


def _stopped(observations: Observations) -> tuple[list[QuorumReplica], bool]:
    """Return the brokers that do not follow the metadata log any more, and whether no broker follows it."""
    snapshot = observations.last.snapshot
    quorum = snapshot.quorum
    if quorum is None or not snapshot.cluster.controllers:
        return [], False
    brokers = observing_brokers(snapshot)
    stopped = [
        each for each in brokers if (symptoms.OBSERVER_STOPPED, symptoms.Subject(broker=each.id)) in observations.seen
    ]
    return stopped, (symptoms.NO_BROKER, symptoms.CLUSTER) in observations.seen or (
        bool(stopped) and len(stopped) == len(brokers)
    )


def _brokers_stopped(observations: Observations) -> Iterator[cause.Claim]:
    stopped, are_all = _stopped(observations)
    if are_all:
        yield _all_stopped(observations, stopped)


def _broker_stopped(observations: Observations) -> Iterator[cause.Claim]:
    stopped, are_all = _stopped(observations)
    for each in () if are_all else stopped:
        symptom = symptoms.Symptom(symptoms.OBSERVER_STOPPED, symptoms.Subject(broker=each.id), (each.id,))
        yield cause.Claim(
            cause="broker-stopped",
            subject=symptom.subject,
            severity=Severity.CRITICAL,
            certainty=Certainty.LIKELY,
            title=f"broker {each.id} follows the metadata log no more",
            since=_fetched_last(each),
            evidence=(cause.Evidence(_last(each), "DescribeQuorum"),),
            predicted=cause.predict(symptoms.OBSERVER_STOPPED, subject=symptom.subject),
            next=(cause.Next(f"start broker {each.id}, or look at its way to the controllers"),),
        )


def _fetched_last(replica: QuorumReplica) -> datetime | None:
    """Return the time of a replica's last fetch by the leader's clock, UTC; None if the time is outside the
    calendar.
    """
    return time_of(replica.last_fetch_ms)


def _last(replica: QuorumReplica) -> str:
    last = _fetched_last(replica)
    at = f" at {time_of_day(last)}" if last is not None else " long ago"
    return f"broker {replica.id} fetched last{at}, and is {replica.lag:,} records behind"


def _all_stopped(observations: Observations, stopped: list[QuorumReplica]) -> cause.Claim:
    """Return the claim that no broker runs. It recommends to start first the broker that stopped last, which is in most
    ISRs.
    """
    latest = sorted(stopped, key=lambda each: each.last_fetch_ms, reverse=True)
    ids = [each.id for each in latest]
    together = [each.id for each in latest if each.last_fetch_ms > latest[0].last_fetch_ms - TOGETHER_MS]
    if not latest:
        first = "start the brokers, the one that stopped last first: it is in most ISRs"
    elif len(together) == len(latest):
        first = f"start {_named(ids)}" + (", which stopped together" if len(ids) > 1 else "")
    else:
        they = "they fetched last, so they are" if len(together) > 1 else "it fetched last, so it is"
        first = f"start {_named(together)} first: {they} in most ISRs; then {_named(ids[len(together) :])}"
    return cause.Claim(
        cause="brokers-stopped",
        subject=symptoms.CLUSTER,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN,
        title="no broker runs: nothing is served",
        since=_fetched_last(latest[0])
        if latest
        else observations.since(symptoms.Symptom(symptoms.NO_BROKER, symptoms.CLUSTER)),
        evidence=cause.given(
            *(cause.Evidence(_last(each), "DescribeQuorum") for each in latest[:3]),
            None
            if ids
            else cause.Evidence("controllers follow the metadata log, and nothing else does", "DescribeQuorum"),
        ),
        predicted=cause.predict(symptoms.OBSERVER_STOPPED, symptoms.NO_BROKER),
        next=(cause.Next(first),),
    )


def _named(brokers: Sequence[int]) -> str:
    return f"{'broker' if len(brokers) == 1 else 'brokers'} {', '.join(map(str, sorted(brokers)))}"


def _formatted(observations: Observations) -> Iterator[cause.Claim]:
    quorum = observations.last.snapshot.quorum
    for symptom in observations.of(symptoms.VOTER_FORMATTED):
        node = symptom.subject.broker
        voter = next((each for each in quorum.voters if each.id == node), None) if quorum is not None else None
        if quorum is None or voter is None or (again := formatted_again(quorum, voter)) is None:
            continue
        yield cause.Claim(
            cause="voter-formatted",
            subject=symptom.subject,
            severity=Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"voter {node} was formatted again, and votes no more",
            since=observations.since(symptom),
            evidence=(
                cause.Evidence(
                    f"the quorum has it with directory {voter.directory_id}, which fetches nothing", "DescribeQuorum"
                ),
                cause.Evidence(f"it runs with directory {again.directory_id}, as an observer", "DescribeQuorum"),
            ),
            predicted=(
                *cause.predict(symptoms.VOTER_FORMATTED, subject=symptom.subject),
                *cause.predict(symptoms.VOTER_BEHIND, brokers=frozenset({voter.id})),
            ),
            next=(
                cause.Next(
                    "let the new directory vote in the old one's place",
                    f"remove voter {node} directory={voter.directory_id}; "
                    f"add voter {node} directory={again.directory_id}",
                ),
            ),
        )


CAUSES = (
    cause.CauseRule(
        "brokers-stopped",
        _brokers_stopped,
        reads="DescribeQuorum from a controller",
        takes="certain: no broker fetches",
        since="3.7",
    ),
    cause.CauseRule(
        "broker-stopped",
        _broker_stopped,
        reads="DescribeQuorum from a controller",
        takes="likely: one broker does not fetch",
        since="3.7",
    ),
    cause.CauseRule(
        "controller-down",
        _controller_down,
        reads="DescribeQuorum; whether each controller answers",
        takes="likely: a controller refuses connections, or does not answer in time",
        since="3.7",
    ),
    cause.CauseRule(
        "voter-formatted",
        _formatted,
        reads="DescribeQuorum",
        takes="certain: a voter's directory fetches nothing, and the node follows with another directory",
        since="3.9",
    ),
)
