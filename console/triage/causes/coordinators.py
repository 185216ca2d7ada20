"""Causes in the coordinators' topics: partitions without a leader. That such a topic can't be created is a finding of
lint.
"""

from __future__ import annotations

from collections.abc import Iterator

from console.model.coordinators import OFFSETS, SHARES, TRANSACTIONS
from console.model.severity import Certainty, Severity
from console.triage import cause, symptoms
from console.triage.folding import FEW
from console.triage.observations import Observations, earliest


def _coordinators(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each partition of a coordinators' topic without a leader; one for the topic if it has more than
    `FEW` such partitions. The absence of a single broker does not explain the effect: groups and transactions on
    other brokers are stuck, too.
    """
    by_topic: dict[str, list[symptoms.Symptom]] = {}
    for symptom in observations.of(symptoms.COORDINATOR_LEADERLESS):
        if symptom.subject.topic is not None:
            by_topic.setdefault(symptom.subject.topic, []).append(symptom)
    for topic, some in by_topic.items():
        if len(some) <= FEW:
            yield from (_coordinator(observations, [symptom], symptom.subject) for symptom in some)
        else:
            yield _coordinator(observations, some, symptoms.Subject(topic=topic))


_UNABLE = {
    OFFSETS: "its groups can't commit",
    TRANSACTIONS: "its transactional producers can't begin or end a transaction",
    SHARES: "its share groups can't read",
}
"""Coordinators' topic -> the effect on clients, as text, if it is not available."""


def _coordinator(observations: Observations, some: list[symptoms.Symptom], subject: symptoms.Subject) -> cause.Claim:
    place = f"{subject.topic}/{subject.partition}" if subject.partition is not None else subject.topic
    what = f"{place} has no leader" if len(some) == 1 else f"{len(some)} partitions of {place} have no leader"
    replicas = sorted({broker for symptom in some for broker in symptom.brokers})
    return cause.Claim(
        cause="coordinator-unavailable",
        subject=subject,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN,
        title=f"{what}: {_UNABLE.get(subject.topic or '', _UNABLE[OFFSETS])}",
        since=earliest(map(observations.since, some)),
        evidence=(cause.Evidence(f"{what}; replicas on {', '.join(map(str, replicas))}", "Metadata"),),
        predicted=(
            *cause.predict_each(
                (each.subject for each in some),
                symptoms.COORDINATOR_LEADERLESS,
                symptoms.UNDER_REPLICATED,
                symptoms.UNDER_MIN_ISR,
            ),
            *cause.predict(symptoms.REBALANCING),
        ),
        next=(cause.Next("bring back a replica of it"),),
    )


CAUSES = (
    cause.CauseRule(
        "coordinator-unavailable",
        _coordinators,
        reads="Metadata",
        takes="certain: a coordinators' topic has no leader",
    ),
)
