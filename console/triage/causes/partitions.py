"""Causes in partitions: a min ISR that can't be met, no leader, throttles that were left over, reassignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from console.model import cluster as model_cluster
from console.model import config
from console.model.numbers import LONG_MAX, long_number, plural, time_of_day
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan.edits import CancelMove
from console.plan.topic_risks import ISR
from console.triage import cause
from console.triage import symptoms as triage_symptoms
from console.triage.moves import STALLS, Copy, raised_throttle
from console.triage.observations import Observations, earliest

STOPPED = 15.0
"""Seconds without a new record after which writes to a topic count as stopped: three polls of its logs."""


def _min_isr(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    for symptom in observations.of(triage_symptoms.MIN_ISR_ABOVE_REPLICATION):
        topic = symptom.subject.topic
        if topic is None:
            continue
        wanted, replication = config.min_isr(snapshot.configs, topic), snapshot.topics[topic].replication
        entry = snapshot.configs[config.topic_resource(topic)].get(ISR)
        since = observations.since(symptom)
        yield cause.Claim(
            cause="min-isr-impossible",
            subject=symptom.subject,
            severity=Severity.CRITICAL if _writes_stopped(observations, topic, since) else Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"{topic}: min ISR {wanted}, {_replicas(replication)}: {_what_passes(snapshot.topics[topic])}",
            since=since,
            evidence=(
                cause.Evidence(f"{ISR}={wanted}{_from(entry)}", "DescribeConfigs"),
                cause.Evidence(f"the topic has {_replicas(replication)}", "Metadata"),
                *_no_writes(observations, topic, since),
            ),
            predicted=cause.predict(
                triage_symptoms.MIN_ISR_ABOVE_REPLICATION, triage_symptoms.UNDER_MIN_ISR, topic=topic
            ),
            next=(
                cause.Next(
                    "a min ISR that can be met; or more replicas",
                    # With two replicas, 1 would acknowledge records that only one broker has.
                    f"set topic {topic} {ISR}={min(replication, max(2, replication - 1))}",
                ),
            ),
        )
    yield from _min_isr_of_all(observations)


def _what_passes(topic: model_cluster.Topic) -> str:
    """Return, as text, the effect on writes with acks=all to a topic whose min ISR is above its replication factor:
    brokers require all replicas (Partition.effectiveMinIsr); before 3.7 they required the configured number.
    """
    if topic.replication == 1:
        return "brokers before Kafka 3.7 refuse each acks=all write"
    if any(each.under_replicated for each in topic.partitions):
        return "no acks=all write passes"
    return "acks=all writes fail as soon as one is not in sync, before Kafka 3.7 always"


def _min_isr_of_all(observations: Observations) -> Iterator[cause.Claim]:
    """Yield one claim for all topics whose min ISR equals their number of replicas, two or more, and that have a
    partition below min ISR because a replica's broker is down. It is listed next to the claim about the broker.
    """
    snapshot = observations.last.snapshot
    away = triage_symptoms.gone(snapshot) | observations.last.silent
    hit: dict[str, list[triage_symptoms.Symptom]] = {}
    for symptom in observations.of(triage_symptoms.UNDER_MIN_ISR):
        topic = snapshot.topics.get(symptom.subject.topic or "")
        partition = model_cluster.partition_in(topic, symptom.subject.partition or 0)
        if (
            topic is None
            or partition is None
            or not 1 < len(partition.replicas) == config.min_isr(snapshot.configs, topic.name)
        ):
            continue
        if away.intersection(partition.replicas) or partition.offline:
            hit.setdefault(topic.name, []).append(symptom)
    if not hit:
        return
    first, *more = sorted(hit)
    under = [each for symptoms in hit.values() for each in symptoms]
    since = earliest(map(observations.since, under))
    stopped = [topic for topic in hit if _writes_stopped(observations, topic, since)]
    what = f"{first} and {plural(len(more), 'more topic')}" if more else first
    wanted = snapshot.topics[first].replication
    yield cause.Claim(
        cause="min-isr-impossible",
        subject=triage_symptoms.Subject(key=ISR) if more else triage_symptoms.Subject(topic=first),
        severity=Severity.CRITICAL if stopped else Severity.HIGH,
        certainty=Certainty.CERTAIN,
        title=f"{what}: min ISR is the number of replicas, and not all are alive: no acks=all write passes",
        since=since,
        evidence=(
            cause.Evidence(
                f"{first} has {_replicas(wanted)} and {ISR}={wanted}"
                f"{_from(snapshot.configs[config.topic_resource(first)].get('min.insync.replicas'))}",
                "DescribeConfigs, Metadata",
            ),
            *(each for topic in stopped[:1] for each in _no_writes(observations, topic, since)),
        ),
        predicted=cause.predict_each((each.subject for each in under), triage_symptoms.UNDER_MIN_ISR),
        next=(
            cause.Next("bring the broker back; or until then ask for fewer", f"set topic {first} {ISR}={wanted - 1}")
            if wanted > 2
            else cause.Next(
                f"bring the broker back, or raise the number of replicas of {first}: with {ISR}=1 writes pass "
                "until then, and a record that is acknowledged may be on one broker only"
            ),
        ),
        beside=True,
    )


def _replicas(number: int) -> str:
    return f"{number} replica{'s' if number > 1 else ''}"


def _writes_stopped(observations: Observations, topic: str, since: datetime | None) -> bool:
    """Return whether writes to a topic stopped: the last write that kac saw was at most `STOPPED` (15 s) after
    `since` (UTC), and more than 15 s before the last reading of the logs. False if kac saw no write, or if
    `since` is None.
    """
    return (
        since is not None
        and (grew := _grew_at(observations, topic)) is not None
        and grew <= since.timestamp() + STOPPED
    )


def _grew_at(observations: Observations, topic: str) -> float | None:
    """Return the time at which a topic's logs last grew, in Unix seconds, if that is more than `STOPPED` (15 s) ago;
    else None.
    """
    known = observations.last.snapshot.topics.get(topic)
    places = [(topic, each.number) for each in known.partitions] if known is not None else []
    logs = [observations.last.facts.logs.logs.get(place) for place in places]
    grown = [log.grew_at for log in logs if log is not None and log.grew_at is not None]
    if not grown or max(grown) > observations.last.facts.logs.at - STOPPED:
        return None
    return max(grown)


def _no_writes(observations: Observations, topic: str, since: datetime | None) -> Iterator[cause.Evidence]:
    grew = _grew_at(observations, topic)
    if grew is not None and _writes_stopped(observations, topic, since):
        at = time_of_day(datetime.fromtimestamp(grew, UTC))
        yield cause.Evidence(f"{topic} was written to, and has no new record since {at}", "ListOffsets")


def _from(entry: config.ConfigEntry | None) -> str:
    return f", from {entry.source.name.lower().replace('_', ' ')}" if entry is not None else ""


GIVEN_UP = timedelta(minutes=30)
"""The time for which a partition has to be without a leader before kac offers an unclean election, unless the brokers
of its ISR were unregistered: after a crash, a broker may read its segments for that long.
"""


def _leaderless(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for partitions without a leader that the absence of a single broker does not explain: replicas are
    alive, or all brokers of the last ISR are away.
    """
    cluster = observations.last.snapshot.cluster
    listed = {each.id for each in cluster.brokers}
    for symptom in observations.of(triage_symptoms.LEADERLESS):
        topic, number = symptom.subject.topic, symptom.subject.partition
        if topic is None or number is None:
            continue
        partition = model_cluster.partition_in(observations.last.snapshot.topics[topic], number)
        if partition is None:
            continue
        alive = [broker for broker in partition.replicas if broker not in partition.offline]
        isr = ", ".join(map(str, partition.isr)) or "empty"
        unclean, since = f"elect unclean topic {topic} partition {number}", observations.since(symptom)
        is_unregistered = cluster.shows_fenced and bool(partition.isr) and listed.isdisjoint(partition.isr)
        is_given_up = is_unregistered or observations.last.at - (since or observations.began) >= GIVEN_UP
        yield cause.Claim(
            cause="leaderless",
            subject=symptom.subject,
            severity=Severity.CRITICAL,
            certainty=Certainty.CERTAIN,
            title=f"{topic}/{number} has no leader",
            since=since,
            times=observations.times((symptom.name, symptom.subject)),
            evidence=(
                cause.Evidence(f"replicas {_list(partition.replicas)}, ISR {isr}, alive {_list(alive)}", "Metadata"),
                *_held_by_replicas(observations.last.snapshot.replica_logs.get((topic, number))),
            ),
            predicted=cause.predict(*triage_symptoms.OF_REPLICAS, subject=symptom.subject),
            next=cause.given(
                cause.Next(f"bring back broker {_list(partition.isr) or _list(partition.replicas)}"),
                None
                if not alive
                else cause.Next("accept the loss of records", unclean)
                if is_given_up
                else cause.Next(f"if it does not come back within minutes, accept the loss of records ({unclean})"),
            ),
        )


def _held_by_replicas(logs: model_cluster.ReplicaLogs | None) -> Iterator[cause.Evidence]:
    """Yield, as evidence, the replicas that may lead, and the log ranges of those that answer. logs: None if they were
    not read.
    """
    if logs is None:
        return
    if logs.eligible or logs.last_known:
        text = f"eligible {_list(logs.eligible or ())}, last known {_list(logs.last_known or ())}"
        yield cause.Evidence(text, "DescribeTopicPartitions")
    if logs.ends:
        ends = ", ".join(f"broker {broker} to {end:,}" for broker, end in sorted(logs.ends.items()))
        yield cause.Evidence(f"what their logs hold: {ends}", "ListOffsets of each replica")


def _unclean(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each partition whose leader was elected from outside the ISR: records that only the ISR had are
    lost. A lower end of the log is a further proof. Of several elections of a partition only the last is named, with
    its time: a user who muted an earlier election does not know of it.
    """
    times = Counter(each.place for each in observations.past.unclean)
    falls = {(each.topic, each.partition): each for each in observations.last.facts.logs.falls}
    for led in {each.place: each for each in observations.past.unclean}.values():
        topic, number = led.topic, led.was.number
        subject = triage_symptoms.Subject(topic=topic, partition=number)
        fall = falls.get((topic, number))
        # `past` has possible unclean elections too; a symptom exists only for proven ones.
        if (triage_symptoms.UNCLEAN_LEADER, subject) not in observations.seen:
            continue
        could = f"{_list(led.could)} could lead it, all down" if led.could else "no replica could lead it"
        if not led.could and not led.sure:
            could = "it had no leader"
        jump = f"leader epoch {led.was.leader_epoch} became {led.epoch}"
        yield cause.Claim(
            cause="unclean-election",
            subject=subject,
            severity=Severity.CRITICAL,
            certainty=Certainty.CERTAIN,
            title=f"{topic}/{number}: broker {led.leader} was elected from outside of the ISR, and records are lost",
            since=led.at,
            latest=led.at,
            times=times[led.place],
            evidence=cause.given(
                cause.Evidence(f"{could}; broker {led.leader} leads now, {jump}", "Metadata, DescribeTopicPartitions"),
                cause.Evidence(f"its end was {fall.was:,}, and is {fall.end:,}", "ListOffsets") if fall else None,
                cause.Evidence(
                    f"a group stands at {led.read[0]:,} since, and its end was {led.read[1]:,}",
                    "OffsetFetch, ListOffsets",
                )
                if led.read is not None
                else None,
            ),
            predicted=cause.predict(triage_symptoms.UNCLEAN_LEADER, subject=subject),
            next=(
                cause.Next(
                    f"records that broker {led.leader} did not have are lost: tell who writes and reads {topic}"
                ),
                cause.Next("refuse it from now on", f"set topic {topic} unclean.leader.election.enable=false"),
            ),
        )


def _list(brokers: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"


def _moves(observations: Observations, *, stalled: bool) -> Iterator[cause.Claim]:
    for move in observations.last.snapshot.reassignments:
        claim = _move(observations, move)
        # Stalled moves have a cause of their own, because muting running moves must not hide stalled ones.
        if (claim.cause == "reassignment-stalled") is stalled:
            yield claim


def _move(observations: Observations, move: model_cluster.Reassignment) -> cause.Claim:
    """Return the claim about a running reassignment. It is stalled if a broker that it adds is not alive, so that no
    byte can arrive; if no byte has arrived for a while although some are missing; or if everything is copied, and a
    replica that stays is not in sync.
    """
    subject = triage_symptoms.Subject(topic=move.topic, partition=move.partition)
    snapshot = observations.last.snapshot
    alive = {broker.id for broker in snapshot.cluster.brokers if not broker.fenced}
    dead = [broker for broker in move.adding if broker not in alive]
    copies = {
        broker: copy
        for broker in move.adding
        if (copy := observations.copies.get((move.topic, move.partition, broker))) is not None
    }
    still = [broker for broker, copy in copies.items() if copy.rests >= STALLS]
    waits = _waited_for(observations, move, alive)
    name = f"{move.topic}/{move.partition}"
    to = f"to {_list(move.adding)}, from {_list(move.removing)}"
    title = f"{name} moves {to}"
    if dead:
        title = f"{name} moves to {_list(dead)}, which is down"
    elif waits:
        title = f"{name}: all is copied, its move waits for broker {_list(waits)}, which stays and is not in sync"
    elif still:
        title = f"{name} moves to {_list(still)}, and no byte arrives"
    stalled = dead or waits or still
    isr = partition.isr if (partition := _partition(snapshot, move)) is not None else ()
    return cause.Claim(
        cause="reassignment-stalled" if stalled else "reassignment-running",
        subject=subject,
        severity=Severity.HIGH if stalled else Severity.INFO,
        certainty=Certainty.LIKELY if still and not dead and not waits else Certainty.CERTAIN,
        title=title,
        since=observations.since(triage_symptoms.Symptom(triage_symptoms.MOVING, subject)),
        evidence=cause.given(
            cause.Evidence(f"moves {to}", "ListPartitionReassignments"),
            cause.Evidence(f"broker {_list(dead)} is not alive", "DescribeCluster") if dead else None,
            cause.Evidence(
                f"it is to be on {_list(model_cluster.destination(move))}; in sync are {_list(isr)}", "Metadata"
            )
            if waits
            else None,
            *(cause.Evidence(_copied(broker, copy), "DescribeLogDirs") for broker, copy in copies.items()),
            *_limits(observations, still),
        ),
        predicted=(
            *cause.predict(triage_symptoms.MOVING, subject=subject),
            *cause.predict(
                triage_symptoms.UNDER_REPLICATED, subject=subject, brokers=frozenset((*move.adding, *waits)), only=True
            ),
        ),
        next=tuple(_steps_of(observations, move, dead, waits, still)) if stalled else (),
    )


def _partition(snapshot: Snapshot, move: model_cluster.Reassignment) -> model_cluster.Partition | None:
    return model_cluster.partition_in(snapshot.topics.get(move.topic), move.partition)


SETTLED = timedelta(seconds=10)
"""The time for which a replica has to be out of sync to count, because moves and topics are read at different times."""


def _waited_for(observations: Observations, move: model_cluster.Reassignment, alive: Collection[int]) -> list[int]:
    """Return the brokers whose replicas stay and are not in sync, once all added replicas are in sync: without them
    brokers before 4.3 complete no move, and no broker completes a move whose staying replicas are all out of sync.
    """
    partition = _partition(observations.last.snapshot, move)
    if partition is None or not set(move.adding) <= set(partition.isr):
        return []
    out = [broker for broker in model_cluster.destination(move) if broker not in partition.isr]
    subject = triage_symptoms.Subject(topic=move.topic, partition=move.partition)
    lasts = observations.lasts(triage_symptoms.UNDER_REPLICATED, subject, SETTLED)
    return out if lasts or any(broker not in alive for broker in out) else []


def _steps_of(
    observations: Observations, move: model_cluster.Reassignment, dead: list[int], waits: list[int], still: list[int]
) -> Iterator[cause.Next]:
    """Yield the remedies for a stalled move, in the order in which to try them."""
    from console.plan.kinds.moves import is_unclean_to_cancel  # imported late, with the texts about such changes

    back = model_cluster.original(move)
    # Cancelling removes the added replicas: if only they are in sync, their records are lost.
    if is_unclean_to_cancel(move, observations.last.snapshot):
        down = sorted({*dead, *waits, *back})
        yield cause.Next(
            f"bring back broker {' or '.join(map(str, down))}: cancelling it would lose what only the others have"
        )
        return
    if waits:
        ids = _list(waits)
        yield cause.Next(f"bring broker {ids} back into sync: look at its process, host, disk, network")
        text = f"cancel it, and move to brokers without {ids}"
    else:
        text = "cancel it"
    # A throttle does not matter while the broker is down.
    if not dead:
        yield from _raises(observations, still)
    yield cause.Next(text, edits=(CancelMove(move.topic, move.partition),))


def _copied(broker: int, copy: Copy) -> str:
    text = f"broker {broker} has {copy.size:,} of {copy.whole:,} bytes"
    if copy.rests >= STALLS:
        return f"{text}, and none more for {copy.rests:.0f} s"
    return f"{text}, {copy.rate:,.0f} a second, {copy.left:,.0f} s left" if copy.rate and copy.left else text


def _limits(observations: Observations, brokers: Sequence[int]) -> Iterator[cause.Evidence]:
    """Yield, as evidence, the throttles of brokers to which no bytes arrive."""
    for broker, rate in _rates(observations, brokers):
        yield cause.Evidence(f"follower.replication.throttled.rate of broker {broker} is {rate}", "DescribeConfigs")


def _raises(observations: Observations, brokers: Sequence[int]) -> Iterator[cause.Next]:
    for broker, rate in _rates(observations, brokers):
        yield cause.Next(f"raise the throttle of broker {broker}", raised_throttle(broker, rate))


def _rates(observations: Observations, brokers: Sequence[int]) -> Iterator[tuple[int, int]]:
    for broker in brokers:
        entry = config.entry_in(
            observations.last.snapshot.configs, config.broker_resource(broker), "follower.replication.throttled.rate"
        )
        rate = long_number(entry.value) if entry is not None else None
        if rate is not None and rate != LONG_MAX:
            yield broker, rate


CAUSES = (
    cause.CauseRule(
        "min-isr-impossible",
        _min_isr,
        reads="DescribeConfigs, Metadata",
        takes=(
            "certain: min ISR is above the number of replicas of a topic with several replicas, or equal to it while "
            "one is away. Critical if writes stopped"
        ),
    ),
    cause.CauseRule(
        "leaderless",
        _leaderless,
        reads="Metadata; eligible leader replicas (3.7); the ends of the replicas' logs",
        takes="certain: a partition has no leader",
    ),
    cause.CauseRule(
        "unclean-election",
        _unclean,
        reads="Metadata and ListOffsets over time",
        takes=(
            "certain: the new leader was not in the ISR while all replicas of the ISR were away, the end of the log "
            "went back, or a group stands beyond it since"
        ),
    ),
    cause.CauseRule(
        "reassignment-stalled",
        lambda observations: _moves(observations, stalled=True),
        reads="ListPartitionReassignments, DescribeLogDirs",
        takes=(
            "certain: the move waits for a broker that is down, or for a replica that stays and is not in sync; "
            "likely: no bytes arrived for a minute"
        ),
    ),
    cause.CauseRule(
        "reassignment-running",
        lambda observations: _moves(observations, stalled=False),
        reads="ListPartitionReassignments, DescribeLogDirs",
        takes="information, with the rate and the time left",
    ),
)
