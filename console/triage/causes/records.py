"""Causes in records: a transaction that does not end, records that were deleted too early, timestamps that are
wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice

from msgspec.structs import replace

from console.model import numbers, transactions
from console.model.broker_keys import TOPIC_SYNONYMS
from console.model.cluster import Partition, Topic, partition_in
from console.model.config import broker_resource, topic_resource
from console.model.coordinators import OFFSETS, TRANSACTIONS, partition_of
from console.model.numbers import LONG_MAX, first_few, plural, time_of, time_of_day
from console.model.observed_logs import Fall, Place
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.model.system_topics import COMPACT
from console.plan import topic_risks
from console.plan.amounts import measured_time
from console.plan.edits import SetConfig
from console.triage import cause as triage_cause
from console.triage import past, shorter_logs, symptoms
from console.triage.changed_places import changed_place, undo
from console.triage.observations import Observations
from console.triage.waiting import Wait, waits

NAMED_GROUPS = 3
LONGER = 2
"""Factor by which a proposed retention exceeds a retention that is too short for a group."""
SHORTEST_MS, FORESEEN = 300_000, 100
"""The shortest retention in milliseconds for which a growing lag is a warning, and the maximum number of lagging groups
that are looked at."""
QUIET_MS, WRITES_MS = 60_000, 10_000
"""Milliseconds without a record, after which a producer with an open transaction may be gone; and within which it
writes."""
WAITED, CYCLES, FIRST_CYCLE = 60.0, 3, 900.0
"""Seconds for which readers wait for a transaction until that is a trouble; the minimum of that time as a multiple of
the usual wait before, because some applications commit only at checkpoints; and the seconds after which it is certain
although kac saw no whole wait: the default of transaction.max.timeout.ms."""

# -- transactions ------------------------------------------------------------------------------------------------------


def _hanging(observations: Observations) -> Iterator[triage_cause.Claim]:
    by_place: dict[tuple[str, int], list[tuple[transactions.OpenTransaction, transactions.Verdict]]] = {}
    for each, judged in symptoms.held_by(observations.last.facts):
        if judged.standing is transactions.Standing.UNDELIVERED:
            continue
        by_place.setdefault(each.place, []).append((each, judged))
    for (topic, number), held in sorted(by_place.items()):
        subject = symptoms.Subject(topic=topic, partition=number)
        if (symptoms.LSO_STANDS_STILL, subject) in observations.seen:
            yield _held(observations, subject, topic, number, held)


_CERTAINTY = {
    transactions.Standing.HANGS: Certainty.CERTAIN,
    transactions.Standing.YOUNG: Certainty.LIKELY,
    transactions.Standing.SLOW: Certainty.LIKELY,
    transactions.Standing.POSSIBLE: Certainty.POSSIBLE,
}
"""Verdict on a transaction -> the certainty of the cause. SLOW: the coordinator should have ended the transaction at
its timeout, but has not.
"""


def _held(
    observations: Observations,
    subject: symptoms.Subject,
    topic: str,
    number: int,
    held: list[tuple[transactions.OpenTransaction, transactions.Verdict]],
) -> triage_cause.Claim:
    # The most certain transaction comes first: it determines the claim's certainty and evidence.
    held = sorted(held, key=lambda each: list(_CERTAINTY).index(each[1].standing))
    first, judged = held[0]
    wait = _waits(observations).get((topic, number))
    seen = observations.last.facts.transactions
    offsets = seen.offsets.get((topic, number))
    waiting = f", {offsets.waiting:,} records wait behind it" if offsets is not None else ""
    return triage_cause.Claim(
        cause="transaction-hanging",
        subject=subject,
        severity=Severity.HIGH,
        certainty=_CERTAINTY[judged.standing],
        title=f"{topic}/{number}: a transaction of producer {first.producer.id} does not end",
        since=observations.since(symptoms.Symptom(symptoms.LSO_STANDS_STILL, subject)),
        evidence=(
            *_who_waits(wait),
            triage_cause.Evidence(f"the last stable offset stands still{waiting}", "ListOffsets"),
            *(triage_cause.Evidence(_open_one(each, seen.at_ms), "DescribeProducers") for each, _ in held[:3]),
            triage_cause.Evidence(judged.why, "ListTransactions, DescribeTransactions"),
        ),
        predicted=(
            *triage_cause.predict(symptoms.LSO_STANDS_STILL, subject=subject),
            *triage_cause.predict(symptoms.COMMIT_STANDS_STILL, topic=topic),
            *(_predictions_of_waiting(wait) if wait is not None else ()),
        ),
        next=tuple(step for each, how in held[:3] for step in _steps(each, how)),
    )


def _steps(each: transactions.OpenTransaction, how: transactions.Verdict) -> Iterator[triage_cause.Next]:
    if how.standing is not transactions.Standing.HANGS:
        yield triage_cause.Next(how.remedy or "look at its producer")
        return
    if how.was_committed:
        yield triage_cause.Next(transactions.KEPT_FIRST)
    topic, number = each.place
    yield triage_cause.Next(
        "abort it", f"abort transaction topic {topic} partition {number} producer {each.producer.id}"
    )


def _open_one(each: transactions.OpenTransaction, at_ms: int) -> str:
    last = each.producer.last_timestamp
    age = f", its last record is {transactions.minutes(at_ms - last)} old" if 0 <= last <= at_ms else ""
    return f"producer {each.producer.id} has had one open from offset {each.producer.start_offset:,}{age}"


# -- transactions whose markers do not arrive --------------------------------------------------------------------------


def _undelivered(observations: Observations) -> Iterator[triage_cause.Claim]:
    """Yield a claim for each transaction whose end is decided but not written to all of its partitions."""
    by_id: dict[str, list[tuple[transactions.OpenTransaction, transactions.Verdict]]] = {}
    for each, judged in symptoms.held_by(observations.last.facts):
        if judged.standing is transactions.Standing.UNDELIVERED:
            by_id.setdefault(judged.transactional_id, []).append((each, judged))
    for held in by_id.values():
        subjects = [
            symptoms.Subject(topic=topic, partition=number) for topic, number in sorted(each.place for each, _ in held)
        ]
        standing = [each for each in subjects if (symptoms.LSO_STANDS_STILL, each) in observations.seen]
        if standing:
            yield _without_markers(observations, standing, *held[0])


def _without_markers(
    observations: Observations,
    subjects: list[symptoms.Subject],
    held: transactions.OpenTransaction,
    judged: transactions.Verdict,
) -> triage_cause.Claim:
    poll = observations.last
    seen, topics = poll.facts.transactions, poll.snapshot.topics
    known = seen.by_producer[held.producer.id]
    where = [subject for subject in subjects if (subject.topic, subject.partition) in (known.partitions or ())]
    subject = (where or subjects)[0]
    waits_here = _waits(observations)
    waiting = [waits_here.get((each.topic or "", each.partition or 0)) for each in subjects]
    topic = topics.get(TRANSACTIONS)
    of = f"{TRANSACTIONS}/{partition_of(known.id, len(topic.partitions))}" if topic is not None else TRANSACTIONS
    short = [
        f"{name}/{number}"
        for name, number in sorted(known.partitions or ())
        if (symptoms.UNDER_MIN_ISR, symptoms.Subject(topic=name, partition=number)) in observations.seen
    ]
    return triage_cause.Claim(
        cause="transaction-undelivered",
        subject=subject,
        severity=Severity.HIGH,
        certainty=_AS_LATE[transactions.verdict(held, seen).standing is transactions.Standing.UNDELIVERED],
        title=f"{subject.topic}/{subject.partition}: transaction {known.id} is to be "
        f"{transactions.DECIDED[known.state]}, and its markers do not arrive",
        since=observations.since(symptoms.Symptom(symptoms.LSO_STANDS_STILL, subject)),
        evidence=(
            triage_cause.Evidence(judged.why, "ListTransactions, DescribeTransactions"),
            triage_cause.Evidence(f"the marker waits for {_led(sorted(known.partitions or ()), topics)}", "Metadata"),
            *_short_evidence(short),
            triage_cause.Evidence(
                f"its coordinator is broker {known.coordinator}, which leads {of}", "FindCoordinator"
            ),
            *(each for wait in waiting for each in _who_waits(wait)),
        ),
        predicted=(
            *triage_cause.predict_each(subjects, symptoms.LSO_STANDS_STILL),
            *(each for one in subjects for each in triage_cause.predict(symptoms.COMMIT_STANDS_STILL, topic=one.topic)),
            *(each for wait in waiting if wait is not None for each in _predictions_of_waiting(wait)),
        ),
        next=(
            (
                triage_cause.Next(
                    f"bring the missing replicas of {', '.join(short[: transactions.NAMED_PLACES])} back: the "
                    "coordinator sends the markers until they are written"
                ),
            )
            if short
            else (
                triage_cause.Next(
                    "look at these leaders' logs and load: the coordinator sends the markers until they are written"
                ),
                triage_cause.Next(
                    f"restart broker {known.coordinator}, or elect another leader of {of}: it sends them again"
                ),
            )
        ),
    )


def _short_evidence(short: list[str]) -> Iterator[triage_cause.Evidence]:
    """Yield, as evidence, the reason why no end marker can be written to partitions: brokers write it as producers do
    with acks=all. short: the partitions below min ISR.
    """
    if short:
        some = first_few(short, transactions.NAMED_PLACES)
        verb = "has" if len(short) == 1 else "have"
        text = f"{some} {verb} fewer replicas in sync than a marker needs"
        yield triage_cause.Evidence(text, "Metadata, DescribeConfigs")


_AS_LATE = {True: Certainty.CERTAIN, False: Certainty.LIKELY}
"""Whether the timeout of the transaction has also passed -> the certainty: two polls alone may be close to
each other.
"""


def _led(places: list[Place], topics: Mapping[str, Topic]) -> str:
    """Return partitions with their leaders as text."""

    def leader(topic: str, number: int) -> str:
        found = topics.get(topic)
        led = next((each.leader for each in found.partitions if each.number == number), -1) if found else -1
        return f"broker {led}" if led >= 0 else "no leader"

    led = [f"{topic}/{number} ({leader(topic, number)})" for topic, number in places]
    return first_few(led, transactions.NAMED_PLACES) or "partitions that the coordinator no longer names"


# -- transactions that their coordinators end ----------------------------------------------------------------------


def _waits(observations: Observations) -> Mapping[Place, Wait]:
    poll = observations.last
    return waits(poll.facts, symptoms.readings(poll.snapshot), poll.snapshot.topics)


def _who_waits(wait: Wait | None) -> Iterator[triage_cause.Evidence]:
    if wait is None or not wait.groups:
        return
    topic, number = wait.place
    some = first_few(wait.groups, NAMED_GROUPS)
    if topic == OFFSETS:
        text = f"groups with their offsets in {topic}/{number}: {some}; those in the transaction can't be read"
        yield triage_cause.Evidence(text, "ListGroups, the hash of their names")
    else:
        yield triage_cause.Evidence(f"groups that stand at it: {some}", "OffsetFetch")


def _predictions_of_waiting(wait: Wait) -> Iterator[triage_cause.Prediction]:
    topic, number = wait.place
    for group in wait.groups:
        if topic == OFFSETS:
            yield from triage_cause.predict(symptoms.COMMIT_STANDS_STILL, symptoms.LAG_GROWS, group=group)
        else:
            yield from triage_cause.predict(
                symptoms.COMMIT_STANDS_STILL, subject=symptoms.Subject(group=group, topic=topic, partition=number)
            )
            yield from triage_cause.predict(symptoms.LAG_GROWS, group=group)


def _open(observations: Observations) -> Iterator[triage_cause.Claim]:
    """Yield a claim for each transaction for which readers wait and that does not hang: its coordinator will end it."""
    hang = {each.place for each, _ in symptoms.held_by(observations.last.facts)}
    by_holder: dict[object, list[Wait]] = {}
    for place, wait in _waits(observations).items():
        if place not in hang and (wait.holder is not None or wait.groups):
            by_holder.setdefault(wait.holder.producer.id if wait.holder is not None else place, []).append(wait)
    claims = [_open_one_of(observations, mine) for mine in by_holder.values()]
    running = [claim for claim in claims if claim.severity is Severity.INFO]
    yield from (claim for claim in claims if claim.severity is not Severity.INFO)
    if len(running) <= NAMED_GROUPS:
        yield from running
        return
    first = running[0]
    yield replace(
        first,
        subject=symptoms.CLUSTER,
        title=f"{len(running):,} transactions are open: readers with read_committed wait for them",
        evidence=(*(each.evidence[0] for each in running[:NAMED_GROUPS]),),
        predicted=tuple(each for claim in running for each in claim.predicted),
        since=None,
    )


def _open_one_of(observations: Observations, mine: list[Wait]) -> triage_cause.Claim:
    """Return the claim about one open transaction. mine: the partitions in which readers wait for it."""
    # Prefer a partition of a topic to one of committed offsets: readers of the topic certainly wait, but of the groups
    # with offsets there only those in the transaction.
    first = max(mine, key=lambda each: (each.place[0] != OFFSETS, len(each.groups)))
    topic, number = first.place
    more = f" and {plural(len(mine) - 1, 'more partition')}" if mine[1:] else ""
    at_ms = observations.last.facts.transactions.at_ms
    name, lasts = _described(first, at_ms)
    age = at_ms - first.holder.producer.last_timestamp if first.holder is not None else 0
    long = _waited_long(observations, mine, first, is_quiet=age > QUIET_MS)
    severity, certainty = long if long is not None else (Severity.INFO, Certainty.CERTAIN)
    grew_at = observations.last.facts.logs.logs[first.place].grew_at or 0.0
    is_writing = abs(age) <= WRITES_MS and at_ms - 1000 * grew_at <= WRITES_MS
    writes = (
        "; its producer still writes"
        if is_writing
        else f"; its last record is {transactions.minutes(age)} old"
        if age > 0
        else ""
    )
    readers = "groups" if topic == OFFSETS else "readers"
    return triage_cause.Claim(
        cause="transaction-open",
        subject=symptoms.Subject(topic=topic, partition=number),
        severity=severity,
        certainty=certainty if first.holder is not None else Certainty.LIKELY,
        title=f"read_committed {readers} of {topic}/{number}{more} wait for {name}{lasts}{writes if long else ''}",
        evidence=triage_cause.given(
            triage_cause.Evidence(
                f"{topic}/{number} is stable up to {first.offsets.stable:,}, and ends at {first.offsets.end:,}",
                "ListOffsets",
            ),
            triage_cause.Evidence(_open_one(first.holder, at_ms), "DescribeProducers")
            if first.holder is not None
            else None,
            *_who_waits(first),
        ),
        alone=True,  # the wait was seen, also if no group has a symptom of it yet
        # Leave out the partitions of committed offsets: an application that reads and writes nearly always has an open
        # transaction there.
        predicted=tuple(each for wait in mine if wait.place[0] != OFFSETS for each in _predictions_of_waiting(wait)),
        next=(
            triage_cause.Next("look again in a minute: its end is decided, and its markers take moments")
            if first.known is not None and first.known.state in transactions.DECIDED
            else _SHORTER
            if long is not None and is_writing
            else triage_cause.Next(
                "look at its producer: it commits or aborts. If it is gone, start one with its transactional.id, which "
                "aborts the transaction; else its coordinator does so at its timeout"
            ),
        ),
    )


_SHORTER = triage_cause.Next(
    "look at the job that writes: it is alive, and commits at its next checkpoint. Shorten that interval "
    "(execution.checkpointing.interval of Flink, commit.interval.ms of Kafka Streams), or let these readers wait; an "
    "abort loses what the transaction wrote"
)


def _waited_long(
    observations: Observations, mine: list[Wait], first: Wait, *, is_quiet: bool
) -> tuple[Severity, Certainty] | None:
    """Return the severity and the certainty if groups wait for a transaction for longer than they did before; else
    None.

    Args:
        mine: the partitions in which readers wait for the transaction.
        first: the partition that the claim names.
        is_quiet: whether its producer has written nothing for long.
    """
    poll = observations.last
    logs = [poll.facts.logs.logs[each.place] for each in mine]
    stood = max(0.0, poll.facts.logs.stood(first.place))
    if is_quiet and first.known is not None and first.known.start_ms >= 0:
        stood = max(stood, (poll.facts.transactions.at_ms - first.known.start_ms) / 1000)
    usual = max(each.held for each in logs)
    shortest = max(WAITED, min(CYCLES * usual, FIRST_CYCLE) if is_quiet else CYCLES * usual)
    # Of the groups with committed offsets in a partition, few may wait for a transaction there.
    if not first.groups or first.holder is None or (first.place[0] == OFFSETS and not is_quiet):
        return None
    # The coordinator ends a transaction with a short timeout within seconds after the wait became long.
    is_over = first.known is not None and 0 < first.known.timeout_ms <= WAITED * 1000 and first.known.state == "Ongoing"
    if stood < shortest or is_over:
        return None
    return Severity.WARNING, Certainty.CERTAIN if usual > 0 or stood >= FIRST_CYCLE else Certainty.POSSIBLE


def _described(wait: Wait, at_ms: int) -> tuple[str, str]:
    """Return the name of the transaction for which readers wait, and the time until its timeout, as texts. at_ms: the
    time of the poll, ms since 1970.
    """
    if wait.holder is None:
        return "an open transaction", ""
    known = wait.known
    if known is None:
        return f"the open transaction of producer {wait.holder.producer.id}", ""
    if known.start_ms < 0:
        return f"transaction {known.id}", f", which is {known.state}"
    lasted = f", open for {transactions.minutes(at_ms - known.start_ms)}"
    if known.timeout_ms <= 0 or known.state != "Ongoing":
        return f"transaction {known.id}", f"{lasted}, which is {known.state}"
    ends = time_of(known.start_ms + known.timeout_ms)
    if ends is None:
        return f"transaction {known.id}", lasted
    when = f"at {time_of_day(ends)}" if known.start_ms + known.timeout_ms > at_ms else "within seconds"
    return f"transaction {known.id}", f"{lasted}; it ends by itself {when}"


def _none_hangs(observations: Observations) -> str:
    logs = observations.last.facts.logs
    return "no last stable offset stands still" if logs.logs and not logs.standing(0) else ""


# -- deleted records ---------------------------------------------------------------------------------------------------


def _deleted(observations: Observations) -> Iterator[triage_cause.Claim]:
    for reason, losses in past.losses_by_reason(observations.past).items():
        if isinstance(reason, str):
            yield _unexplained_loss(reason, losses)
        elif isinstance(reason, past.LeadersLimit):
            yield _loss_by_leader(observations, reason, losses)
        else:
            is_past = past.is_mended(reason, losses, observations.past, observations.last.snapshot)
            yield _loss_by_change(observations, reason, losses, is_past=is_past)


def _overtaken(observations: Observations) -> Iterator[triage_cause.Claim]:
    """Yield a claim for each group and topic whose retention deletes records before the group reads them, or
    soon will.
    """
    yield from _nearly_overtaken(observations)
    for (group, topic), losses in past.losses_by_group(observations.past).items():
        count = sum((each.unread or {})[group] for each in losses)
        latest = max(losses, key=lambda each: each.jump.at)
        is_old = any(each.is_old for each in losses)
        moments = sorted({each.jump.at for each in losses})
        places = sorted({each.jump.partition for each in losses})
        yield triage_cause.Claim(
            cause="records-overtaken",
            subject=symptoms.Subject(group=group, topic=topic),
            severity=Severity.HIGH,
            certainty=Certainty.CERTAIN if is_old else Certainty.LIKELY,
            title=f"group {group}: {plural(count, 'record')} of {topic} were deleted before it read them",
            since=datetime.fromtimestamp(moments[0], UTC),
            latest=datetime.fromtimestamp(moments[-1], UTC),
            times=len(moments),
            evidence=(
                triage_cause.Evidence(
                    f"{topic}/{latest.jump.partition} begins at {latest.jump.start:,}, and began at "
                    f"{latest.jump.was:,}; the group had yet to read {(latest.unread or {})[group]:,} of these records",
                    "ListOffsets, OffsetFetch",
                ),
                triage_cause.Evidence(
                    f"{latest.why}: it may delete them; a request (DeleteRecords) is the other possibility"
                    + ("" if is_old else "; kac does not know that they had reached the limit"),
                    "DescribeConfigs",
                ),
            ),
            predicted=(
                *triage_cause.predict_each(
                    [symptoms.Subject(topic=topic, partition=each) for each in places], symptoms.RECORDS_LOST
                ),
                *triage_cause.predict_each(
                    [symptoms.Subject(group=group, topic=topic, partition=each) for each in places],
                    symptoms.OFFSET_OUT_OF_RANGE,
                ),
            ),
            next=(
                _keep_longer(observations, topic)
                if is_old
                else triage_cause.Next(
                    "look for who deleted them: brokers' request logs have DeleteRecords with its principal; if no one "
                    f"did, raise the limit of {topic}, {_limits_of(topic, observations.last.snapshot)}"
                ),
                triage_cause.Next("then let it read faster: more members or partitions, or less work on a record"),
            ),
        )


def _nearly_overtaken(observations: Observations) -> Iterator[triage_cause.Claim]:
    """Yield a claim for each group whose next record is nearly as old as the retention of its topic allows."""
    snapshot = observations.last.snapshot
    lost = past.losses_by_group(observations.past)
    for name in islice(observations.of_groups(symptoms.LAG_GROWS), FORESEEN):
        group, trend = snapshot.groups.get(name), snapshot.lag_trends.get(name)
        if group is None or group.is_vacant or trend is None:
            continue
        late = sorted(
            (limit - behind.seconds, topic, number, behind.seconds)
            for (topic, number), behind in trend.behind.items()
            if behind.seconds is not None and behind.seconds >= past.NEARLY * SHORTEST_MS / 1000
            if (limit := past.retention_of(topic, snapshot).get(past.RETENTION[0], 0) / 1000) >= SHORTEST_MS / 1000
            if behind.seconds >= past.NEARLY * limit and past.is_used(name, (topic, number), snapshot)
        )
        if not late or (name, late[0][1]) in lost:
            continue
        left, topic, number, waits_for = late[0]
        when = f"before it reads them, in {measured_time(left)}" if left > 0 else "at any time, before it reads them"
        yield triage_cause.Claim(
            cause="records-overtaken",
            subject=symptoms.Subject(group=name, topic=topic),
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"group {name}: records of {topic} may be deleted {when}",
            evidence=(
                triage_cause.Evidence(
                    f"the next record of {topic}/{number} waits for {measured_time(waits_for)}, and the lag grows",
                    "OffsetFetch, ListOffsets",
                ),
                triage_cause.Evidence(
                    f"{past.retention_text(past.retention_of(topic, snapshot))}; brokers delete whole segments, "
                    "so that it may take longer",
                    "DescribeConfigs",
                ),
            ),
            next=(_keep_longer(observations, topic),),
        )


def _keep_longer(observations: Observations, topic: str) -> triage_cause.Next:
    """Return the step that keeps a topic's records for longer; it has an edit only if just one limit can be
    the reason.
    """
    limits = [(key, limit) for key, limit in past.retention_of(topic, observations.last.snapshot).items() if limit]
    full = nearly_full(observations, frozenset({topic}))
    if full is not None:
        return triage_cause.Next(
            f"make space for more records first: {full.dir} of broker {full.broker} is or was nearly full; until then "
            "records that it does not read in time are lost"
        )
    if len(limits) != 1 or LONGER * limits[0][1] > LONG_MAX:
        return triage_cause.Next(
            f"keep the records of {topic} for longer until it has caught up: raise the limit that deleted them, "
            f"{_limits_of(topic, observations.last.snapshot)}"
        )
    ((key, limit),) = limits
    edit = SetConfig(topic_resource(topic), key, str(LONGER * limit))
    return triage_cause.Next("keep the records for longer until it has caught up", edits=(edit,))


def _limits_of(topic: str, snapshot: Snapshot) -> str:
    """Return the names of the configs that limit how long a topic's records are kept, as text."""
    return " or ".join(key for key, limit in past.retention_of(topic, snapshot).items() if limit) or "of its retention"


def _unexplained_loss(topic: str, losses: tuple[past.Loss, ...]) -> triage_cause.Claim:
    worst = max(losses, key=lambda each: each.jump.start - each.jump.was)
    return _loss(
        symptoms.Subject(topic=topic),
        losses,
        title=f"{topic}: {_lost(losses):,} offsets were deleted before their time",
        evidence=(triage_cause.Evidence(worst.why, "ListOffsets"),),
        next=(
            triage_cause.Next("look for who deleted them: brokers' request logs have DeleteRecords with its principal"),
        ),
    )


def _loss_by_leader(
    observations: Observations, limit: past.LeadersLimit, losses: tuple[past.Loss, ...]
) -> triage_cause.Claim:
    topics = sorted({each.jump.topic for each in losses})
    is_past = not past.stands(limit, observations.last.snapshot)
    title = f"{first_few(topics)}: {_lost(losses):,} offsets were deleted by {limit.key} of broker {limit.broker}"
    is_missed = _is_missed(losses, observations.last.snapshot)
    return _loss(
        symptoms.Subject(broker=limit.broker, entity=limit.key),
        losses,
        title=f"{title}; it was changed since" if is_past else title,
        evidence=(
            triage_cause.Evidence(losses[0].why, "DescribeConfigs"),
            triage_cause.Evidence("a request (DeleteRecords) is the other possibility", "brokers' request logs"),
        ),
        severity=Severity.INFO if is_past else Severity.HIGH if is_missed else Severity.WARNING,
        certainty=Certainty.LIKELY,
        next=() if is_past else (_as_others(limit, nearly_full(observations, frozenset(topics))),),
    )


def _as_others(limit: past.LeadersLimit, full: symptoms.Subject | None) -> triage_cause.Next:
    """Return the step that gives a broker the retention of the other brokers. full: a log directory that is nearly
    full, which may be the reason for the short retention; None if there is none.
    """
    if full is not None:
        return triage_cause.Next(
            f"make space first: {full.dir} of broker {full.broker} is or was nearly full, and the shorter retention "
            "frees it"
        )
    text, value = "give the broker the retention of the others", limit.usual
    if limit.is_dynamic and value is not None:
        return triage_cause.Next(text, edits=(SetConfig(broker_resource(limit.broker), limit.key, value),))
    what = f"{limit.key}={value}" if value is not None else f"{limit.topic_key} of topics is {limit.others} there"
    return triage_cause.Next(f"{text}: {what}" + ("" if limit.is_dynamic else " in its file, and restart it"))


_TIMES = frozenset(
    {past.RETENTION[0], *(each.name for each in TOPIC_SYNONYMS[past.RETENTION[0]] if each.name.endswith(".ms"))}
)
_POLICIES = frozenset({past.RETENTION[2], *(each.name for each in TOPIC_SYNONYMS[past.RETENTION[2]])})
_KEYS_LOST = triage_cause.Evidence(
    "the topic was compacted: keys without a newer record are gone for readers that start again from its beginning",
    "DescribeConfigs",
)


def _loss_by_change(
    observations: Observations, change: past.ConfigChange, losses: tuple[past.Loss, ...], *, is_past: bool
) -> triage_cause.Claim:
    """Return the claim about records that were deleted because of one change. is_past: whether the config was changed
    again, so that there is no value to restore, although the records are lost.
    """
    subject, name = changed_place(change.resource, change.key)
    topics = sorted({each.jump.topic for each in losses})
    first = min(losses, key=lambda each: each.jump.at)
    title = f"{first_few(topics)}: {_lost(losses):,} offsets were deleted before their time"
    # If all groups had read the records, probably an operator or a program deleted them on purpose; so too if only
    # groups had not that no client was seen to use. Readers that commit nothing are unknown. Readers of a compacted
    # topic start again from its beginning, as a table: they miss keys although they had read them once.
    is_table = change.key in _POLICIES and COMPACT in (change.held or "") and COMPACT not in (change.holds or "")
    was_read = not is_table and all(each.unread == {} for each in losses)
    is_tiny = any(each.is_tiny for each in losses)
    # A number of days in seconds is no purpose.
    limit = numbers.long_number(change.holds or "") if change.key in _TIMES else None
    in_seconds = (_unit_mistaken(limit),) if limit is not None and topic_risks.days_in_seconds(limit) else ()
    was_meant = was_read and not in_seconds
    is_sure = is_past or was_read or is_tiny or is_table or _is_missed(losses, observations.last.snapshot)
    if subject.topic is None:
        title += f" by {change.key} of {name}"
    if in_seconds:
        title += f"; {change.key} seems to be in seconds"
    full = nearly_full(observations, frozenset(topics))
    return _loss(
        replace(subject, change=time_of_day(change.at)),
        losses,
        title=f"{title}; {change.key} was changed again since" if is_past else title,
        evidence=(
            *((_KEYS_LOST,) if is_table else ()),
            *in_seconds,
            triage_cause.Evidence(first.why, "DescribeConfigs"),
            triage_cause.Evidence(
                f"changed between {time_of_day(change.after)} and {time_of_day(change.at)}", "DescribeConfigs"
            ),
        ),
        severity=Severity.INFO
        if is_past or was_meant
        else Severity.HIGH
        if is_sure and not was_read
        else Severity.WARNING,
        certainty=Certainty.CERTAIN if is_sure else Certainty.POSSIBLE,
        beside=True,  # two changes that truncate the same logs are both named
        next=()
        if is_past
        else (
            triage_cause.Next(
                f"leave the retention while the disk is short of space: {full.dir} of broker {full.broker} was nearly "
                "full, and the shorter retention frees it; tell who reads these records"
            )
            if full is not None
            else triage_cause.Next("put the retention back before more is deleted", edits=(undo(change),)),
        ),
    )


def _unit_mistaken(limit: int) -> triage_cause.Evidence:
    text = f"{past.RETENTION[0]} seems to be in seconds: {topic_risks.seconds_text(limit)}"
    return triage_cause.Evidence(text, "DescribeConfigs")


def _is_missed(losses: tuple[past.Loss, ...], snapshot: Snapshot) -> bool:
    """Return whether a group that clients use had not read all of the deleted records."""
    return any(
        past.is_used(group, (each.jump.topic, each.jump.partition), snapshot)
        for each in losses
        for group in each.unread or ()
    )


def nearly_full(observations: Observations, topics: frozenset[str]) -> symptoms.Subject | None:
    """Return the subject of a log directory that is or was nearly full, on a broker with replicas of these topics; None
    if there is none.
    """
    found = observations.intervals_of(symptoms.DIR_NEARLY_FULL)
    brokers = brokers_with(topics, observations.last.snapshot) if found else ()
    return next((each for each in found if each.broker in brokers), None)


def brokers_with(topics: frozenset[str], snapshot: Snapshot) -> Collection[int]:
    """Return the brokers with replicas of these topics."""
    known = (snapshot.topics.get(each) for each in topics)
    return {broker for topic in known if topic is not None for each in topic.partitions for broker in each.replicas}


def _loss(
    subject: symptoms.Subject,
    losses: tuple[past.Loss, ...],
    *,
    title: str,
    evidence: tuple[triage_cause.Evidence, ...],
    next: tuple[triage_cause.Next, ...],
    severity: Severity = Severity.HIGH,
    certainty: Certainty = Certainty.CERTAIN,
    beside: bool = False,
) -> triage_cause.Claim:
    """Return the claim that records were deleted. evidence: the reason, which follows the number of deleted records and
    the groups that had not read them.
    """
    moments = sorted({each.jump.at for each in losses})
    places = sorted({symptoms.Subject(topic=each.jump.topic, partition=each.jump.partition) for each in losses})
    return triage_cause.Claim(
        cause="records-deleted",
        subject=subject,
        severity=severity,
        certainty=certainty,
        title=title,
        since=datetime.fromtimestamp(moments[0], UTC),
        latest=datetime.fromtimestamp(moments[-1], UTC),
        times=len(moments),
        evidence=(_most_lost(losses), *_not_read(losses), *evidence),
        predicted=(
            *triage_cause.predict_each(places, symptoms.RECORDS_LOST),
            *(
                prediction
                for each in losses
                for group in each.unread or ()
                for prediction in triage_cause.predict(
                    symptoms.OFFSET_OUT_OF_RANGE,
                    subject=symptoms.Subject(group=group, topic=each.jump.topic, partition=each.jump.partition),
                )
            ),
        ),
        next=next,
        beside=beside,
    )


def _not_read(losses: tuple[past.Loss, ...]) -> Iterator[triage_cause.Evidence]:
    """Yield, as evidence, the groups that had not read all of the deleted records, or that all groups had read them."""
    unread = Counter[str]()
    for each in losses:
        unread.update(each.unread or {})
    for group, count in unread.most_common(NAMED_GROUPS):
        yield triage_cause.Evidence(f"group {group} had not read {count:,} of them", "OffsetFetch, ListOffsets")
    if all(each.unread == {} for each in losses):
        yield triage_cause.Evidence("the groups that commit there had read all of them", "OffsetFetch, ListOffsets")


def _lost(losses: tuple[past.Loss, ...]) -> int:
    return sum(each.jump.start - each.jump.was for each in losses)


def _most_lost(losses: tuple[past.Loss, ...]) -> triage_cause.Evidence:
    """Return, as evidence, the partition that lost most records."""
    jump = max(losses, key=lambda each: each.jump.start - each.jump.was).jump
    partitions = len({(each.jump.topic, each.jump.partition) for each in losses})
    more = f"; {partitions} partitions in all" if partitions > 1 else ""
    return triage_cause.Evidence(
        f"{jump.topic}/{jump.partition} begins at {jump.start:,}, and began at {jump.was:,}{more}", "ListOffsets"
    )


# -- logs that became shorter ------------------------------------------------------------------------------------------


def _shorter(observations: Observations) -> Iterator[triage_cause.Claim]:
    """Yield a claim for each partition whose log lost records that brokers had confirmed to producers."""
    falls = shorter_logs.shorter(observations)
    begun = shorter_logs.begun_again(observations.past.judged, falls)
    for place, fall in falls.items():
        partition = partition_in(observations.last.snapshot.topics.get(fall.topic), fall.partition)
        if partition is not None:
            yield _cut_short(observations, fall, partition, begun.get(place, ()))


def _cut_short(
    observations: Observations, fall: Fall, partition: Partition, begun: Sequence[shorter_logs.Begun]
) -> triage_cause.Claim:
    since = datetime.fromtimestamp(fall.at, UTC)
    back = observations.back_since(partition.leader)
    alone = len(partition.replicas) == 1
    return triage_cause.Claim(
        cause="log-shortened",
        subject=symptoms.Subject(topic=fall.topic, partition=fall.partition),
        severity=Severity.HIGH,
        certainty=Certainty.CERTAIN,
        title=f"{fall.topic}/{fall.partition} lost {plural(fall.was - fall.end, 'record')}: its end went back",
        since=since,
        evidence=triage_cause.given(
            triage_cause.Evidence(
                f"its end was {fall.was:,}, and {fall.end:,} at {time_of_day(since)}; new records have offsets "
                "that others had before",
                "ListOffsets, two looks",
            ),
            triage_cause.Evidence(
                f"its new records passed the former end at {time_of_day(datetime.fromtimestamp(fall.again_at, UTC))}",
                "ListOffsets",
            )
            if fall.again_at is not None
            else None,
            triage_cause.Evidence(
                f"broker {partition.leader}, which leads it, was away until {time_of_day(back)}", "Metadata"
            )
            if back is not None
            else None,
            triage_cause.Evidence("it has one replica: no other broker has the records", "Metadata") if alone else None,
            *(
                triage_cause.Evidence(
                    f"group {group} began again at {offset:,}: its offset {was:,} was beyond the new end",
                    "OffsetFetch, two looks",
                )
                for group, was, offset in begun[:NAMED_GROUPS]
            ),
        ),
        predicted=(
            *triage_cause.predict(symptoms.OFFSET_OUT_OF_RANGE, topic=fall.topic),
            *triage_cause.predict(symptoms.COMMIT_STANDS_STILL, topic=fall.topic),
        ),
        next=(
            triage_cause.Next(
                f"look at the disk and the log of broker {partition.leader}: an older volume, or a disk that lost "
                "writes; keep the former volume, if there is one, until its records are copied"
            ),
            triage_cause.Next(
                "tell who reads it: what a group has committed is of the former records"
                + (". More replicas keep such records" if alone else "")
            ),
        ),
    )


# -- timestamps --------------------------------------------------------------------------------------------------------


def _future(observations: Observations) -> Iterator[triage_cause.Claim]:
    poll = observations.last
    for topic, (number, newest) in symptoms.ahead(poll).items():
        subject = symptoms.Subject(topic=topic, partition=number)
        # Producers may write any 64-bit number as a timestamp.
        at = time_of(newest.timestamp)
        early = transactions.minutes(newest.timestamp - int(symptoms.cluster_time(poll).timestamp() * 1000))
        when = f"of {at:%Y-%m-%d %H:%M} UTC, {early} ahead" if at is not None else _no_date(newest.timestamp)
        yield triage_cause.Claim(
            cause="future-records",
            subject=symptoms.Subject(topic=topic),
            severity=Severity.WARNING,
            certainty=Certainty.CERTAIN,
            title=f"{topic} has records from the future, which its retention does not delete until then",
            since=observations.since(symptoms.Symptom(symptoms.FUTURE_TIMESTAMP, subject)),
            evidence=(
                triage_cause.Evidence(
                    f"record {newest.offset:,} of partition {number} is {when}",
                    "ListOffsets, the highest timestamp",
                ),
            ),
            predicted=triage_cause.predict(symptoms.FUTURE_TIMESTAMP, topic=topic),
            next=(
                triage_cause.Next("look at the clock of its producers"),
                triage_cause.Next("refuse such records", f"set topic {topic} message.timestamp.after.max.ms=3600000"),
            ),
        )


def _in_seconds(observations: Observations) -> Iterator[triage_cause.Claim]:
    for topic, (number, newest) in symptoms.in_seconds(observations.last).items():
        stamped, meant = time_of(newest.timestamp), time_of(newest.timestamp * 1000)
        yield triage_cause.Claim(
            cause="timestamps-in-seconds",
            subject=symptoms.Subject(topic=topic),
            severity=Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"{topic} has records stamped {stamped:%Y-%m-%d}: retention deletes new ones at its next check",
            evidence=(
                triage_cause.Evidence(
                    f"record {newest.offset:,} of partition {number} has the timestamp {newest.timestamp:,}, which is "
                    f"{stamped:%Y-%m-%d %H:%M} UTC in milliseconds, and {meant:%Y-%m-%d %H:%M} UTC in seconds",
                    "ListOffsets, the highest timestamp",
                ),
            ),
            predicted=triage_cause.predict(symptoms.RECORDS_LOST, symptoms.OFFSET_OUT_OF_RANGE, topic=topic),
            next=(
                triage_cause.Next("let its producers send milliseconds"),
                triage_cause.Next(
                    "until then let brokers stamp its records",
                    f"set topic {topic} message.timestamp.type=LogAppendTime",
                ),
            ),
        )


def _no_date(timestamp: int) -> str:
    """Return a timestamp that is no valid date as text, with the unit in which its producer probably wrote it."""
    units = (("microseconds", time_of(timestamp // 1000)), ("nanoseconds", time_of(timestamp // 1_000_000)))
    meant = next(
        (f"; in {unit} it would be {at:%Y-%m-%d %H:%M} UTC" for unit, at in units if at is not None and at.year < 2100),
        "",
    )
    return f"of a time after the year 9999{meant}"


CAUSES = (
    triage_cause.CauseRule(
        "transaction-hanging",
        _hanging,
        _none_hangs,
        reads="ListOffsets, DescribeProducers, ListTransactions, DescribeTransactions",
        takes=(
            "certain if the transaction is older than a transaction may be, and no coordinator knows it; likely after "
            "two polls; possible if missing rights may hide transactional ids"
        ),
        since="3.0",
    ),
    triage_cause.CauseRule(
        "transaction-undelivered",
        _undelivered,
        reads="ListOffsets, DescribeProducers, ListTransactions, DescribeTransactions",
        takes=(
            "certain a minute after the transaction's timeout; likely after two polls. Partitions wait for the "
            "markers of a decided transaction"
        ),
        since="3.0",
    ),
    triage_cause.CauseRule(
        "transaction-open",
        _open,
        reads="ListOffsets, DescribeProducers, ListTransactions, DescribeTransactions",
        takes=(
            "certain; likely if kac can't describe the transaction. A warning if a group waits for 60 s, and for 3 "
            "times as long as the usual wait before: possible until 15 minutes if kac saw no whole wait"
        ),
        since="3.0",
    ),
    triage_cause.CauseRule(
        "records-deleted",
        _deleted,
        reads="ListOffsets, DescribeConfigs",
        takes=(
            "certain: the first offset rose although the retention keeps the records, or right after the retention "
            "was shortened. After a shorter retention no trouble if all groups had read the records; possible if only "
            "groups that no client uses had not, or no group commits there"
        ),
    ),
    triage_cause.CauseRule(
        "records-overtaken",
        _overtaken,
        reads="ListOffsets, OffsetFetch, DescribeConfigs",
        takes=(
            "certain: the first offset of a partition rose beyond the offset of a group at work, whose next record had "
            "waited for 80 % of the retention; likely if that is unknown. Likely, as a warning, once a growing lag is "
            "80 % of the retention"
        ),
    ),
    triage_cause.CauseRule(
        "log-shortened",
        _shorter,
        reads="ListOffsets over time, Metadata",
        takes=(
            "certain: for 5 s the end of a log is lower than before, without an unclean election. It stays for 30 "
            "minutes if new records, in several steps, pass the former end"
        ),
    ),
    triage_cause.CauseRule(
        "future-records",
        _future,
        reads="ListOffsets: highest timestamps, hourly",
        takes=(
            "certain: a timestamp is an hour ahead of two clocks, in a topic that deletes records by producers' times"
        ),
        since="3.0",
    ),
    triage_cause.CauseRule(
        "timestamps-in-seconds",
        _in_seconds,
        reads="ListOffsets: highest timestamps, hourly",
        takes="certain: a timestamp is before March 1973, in a topic that deletes records by producers' times",
        since="3.0",
    ),
)
