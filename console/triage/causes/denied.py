"""Causes in requests of kac that brokers refuse: a broker that decides differently from the others, and rights that kac
lacks. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from console.model.config import broker_resource
from console.model.numbers import first_few, plural
from console.model.observers import not_in_sync
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.triage import cause
from console.triage import symptoms as triage_symptoms
from console.triage.causes.brokers import added_replicas, not_there
from console.triage.observations import Observations, earliest
from console.triage.restarts import restarting

CAME = timedelta(seconds=20)
"""The time after a broker's return within which it may refuse requests because it has not read all ACLs yet."""
ROLLS = timedelta(minutes=30)
"""The time after the return of other brokers within which a broker that was not restarted may only be waiting for its
turn in a rolling restart that changes all files.
"""
_OWN = frozenset({Part.LOG_DIRS, Part.CONFIGS})
"""The parts for which each broker itself decides about the access."""


def _refusing(observations: Observations) -> dict[int, tuple[str, ...]]:
    """Return broker -> its errors, for brokers that refuse kac both their log directories and their configs, while a
    majority of the brokers allows both.
    """
    snapshot = observations.last.snapshot
    refused: dict[str, dict[str, str]] = {}
    for each in snapshot.failures:
        if each.part in _OWN:
            refused.setdefault(each.entity, {})[each.part] = each.failure.name
    if not refused:
        return {}
    up = [each for each in snapshot.cluster.brokers if not each.fenced]
    names = {each.id: f"broker {each.id}" for each in up}
    found = {
        id_: tuple(sorted(set(errors.values())))
        for id_, name in names.items()
        if len(errors := refused.get(name, {})) == len(_OWN) and all(map(_is_refusal, errors.values()))
    }
    allowing = [
        id_
        for id_, name in names.items()
        if name not in refused and id_ in snapshot.log_dirs and broker_resource(id_) in snapshot.configs
    ]
    return found if len(found) < len(allowing) else {}


def _is_refusal(name: str) -> bool:
    return name.endswith("AUTHORIZATION_FAILED")


def _apart(observations: Observations) -> dict[int, tuple[str, ...]]:
    """Return broker -> its errors, for those of `_refusing` whose decisions have differed for long: they are up, have
    the newest metadata with the ACLs, and do not wait for their turn in a rolling restart.
    """
    refusing, poll = _refusing(observations), observations.last
    if not refusing:
        return {}
    away = poll.silent | triage_symptoms.gone(poll.snapshot) | restarting(observations).keys()
    back = {each.id for each in poll.snapshot.cluster.brokers if observations.came_back(each.id, ROLLS) is not None}
    found = {}
    for broker, errors in refusing.items():
        subject = triage_symptoms.Subject(broker=broker)
        behind = (triage_symptoms.VIEWS_DISAGREE, triage_symptoms.OBSERVER_STOPPED)
        is_behind = any((name, subject) in observations.seen for name in behind)
        waits = bool(back) and broker not in back
        if broker not in away and not is_behind and not waits and observations.came_back(broker, CAME) is None:
            found[broker] = errors
    return found


def _otherwise(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for brokers that refuse what the others allow: each broker's own file has the lists that decide."""
    poll = observations.last
    refusing = _apart(observations)
    if not refusing:
        return
    away, added = not_there(observations), added_replicas(observations)
    for broker, errors in refusing.items():
        alone = [
            triage_symptoms.Subject(topic=topic, partition=partition.number)
            for topic, partition in triage_symptoms.out_of_sync(poll.snapshot.topics)
            if partition.isr == (broker,)
            and any(
                each not in away and each not in partition.offline and (topic, partition.number, each) not in added
                for each in not_in_sync(partition)
            )
        ]
        title = f"broker {broker} refuses this console what the others allow: it decides about access otherwise"
        if alone:
            title += f", and no other broker follows {plural(len(alone), 'partition')} that it leads"
        since = (observations.since(triage_symptoms.Symptom(triage_symptoms.UNDER_REPLICATED, each)) for each in alone)
        yield cause.Claim(
            cause="broker-denies",
            subject=triage_symptoms.Subject(broker=broker),
            severity=Severity.HIGH if alone else Severity.WARNING,
            certainty=Certainty.LIKELY if alone else Certainty.CERTAIN,
            title=title,
            since=earliest(since) if alone else None,
            evidence=cause.given(
                cause.Evidence(
                    f"it answers {first_few(errors)}: more of the brokers answer the same requests",
                    "DescribeLogDirs, DescribeConfigs",
                ),
                cause.Evidence(
                    "super.users, allow.everyone.if.no.acl.found and authorizer.class.name are in each broker's own "
                    "file; semicolons separate the names in super.users",
                    "the settings of brokers",
                ),
                cause.Evidence("the other replicas are on brokers that are up: it may refuse their fetches", "Metadata")
                if alone
                else None,
            ),
            predicted=cause.predict_each(alone, triage_symptoms.UNDER_REPLICATED, triage_symptoms.UNDER_MIN_ISR),
            next=(
                cause.Next(
                    f"compare super.users and the authorizer's other lines in server.properties of broker {broker} "
                    "with the others' files, correct them, and restart it; if they are equal, look at ACLs with a host "
                    "(this console may have another address there) and ssl.principal.mapping.rules"
                ),
            ),
        )


def _denied(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for requests that brokers deny to kac. It is not a problem of the cluster, but limits the
    diagnosis.
    """
    parts: dict[str, list[str]] = {}
    remedies: dict[str, str] = {}
    told = {f"broker {each}" for each in _apart(observations)}
    for each in observations.last.snapshot.failures:
        if _is_refusal(each.failure.name) and not (each.part in _OWN and each.entity in told):
            parts.setdefault(each.failure.name, []).append(each.part)
            remedies.setdefault(each.failure.name, each.failure.remedy)
    for name, mine in sorted(parts.items()):
        what = ", ".join(dict.fromkeys(mine))
        resource = name.removesuffix("_AUTHORIZATION_FAILED").lower().replace("_", " ")
        yield cause.Claim(
            cause="access-denied",
            subject=triage_symptoms.Subject(entity=f"this console: {resource}"),
            severity=Severity.INFO,
            certainty=Certainty.CERTAIN,
            title=f"brokers refuse this console: {what}",
            evidence=(cause.Evidence(f"{name} for {what}", "the brokers' answers"),),
            next=(cause.Next(remedies[name] or "ask for the right; explain says what the ACLs decide"),),
        )


CAUSES = (
    cause.CauseRule(
        "broker-denies",
        _otherwise,
        reads="refusals of DescribeLogDirs and DescribeConfigs by each broker; Metadata",
        takes=(
            "certain: a broker refuses this console its configs and its log directories, and more of the brokers allow "
            "both; likely as the reason why no broker follows the partitions that it leads"
        ),
    ),
    cause.CauseRule(
        "access-denied",
        _denied,
        reads="refusals to this console",
        takes="information: brokers denied a request of this console",
    ),
)
