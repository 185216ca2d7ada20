"""Causes that are records: a transaction that does not end, records deleted before their time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from msgspec.structs import replace

from console.model.cluster import Topic
from console.model.coordinators import OFFSETS, TRANSACTIONS, partition_of
from console.model.numbers import plural, time_of, time_of_day
from console.model.observed_logs import Place
from console.model.transactions import (
    DECIDED,
    KEPT_FIRST,
    NAMED_PLACES,
    OpenTransaction,
    Standing,
    Verdict,
    minutes,
    verdict,
)
from console.triage.cause import CauseRule, Certainty, Claim, Evidence, Next, Prediction, Severity, given, predict
from console.triage.config_undo import changed_place, undo
from console.triage.observations import Observations
from console.triage.past import ConfigChange, Loss, is_mended, losses_by_change
from console.triage.symptoms import (
    CLUSTER,
    COMMIT_STANDS_STILL,
    FUTURE_TIMESTAMP,
    LAG_GROWS,
    LSO_STANDS_STILL,
    RECORDS_LOST,
    UNDER_MIN_ISR,
    Subject,
    Symptom,
    ahead,
    cluster_time,
    held_by,
    readings,
)
from console.triage.waiting import Wait, waits

NAMED_GROUPS = 3
QUIET_MS = 60_000
"""Milliseconds without a record, after which a producer with an open transaction may be gone."""

# -- transactions ------------------------------------------------------------------------------------------------------


def _hanging(observations: Observations) -> Iterator[Claim]:
    by_place: dict[tuple[str, int], list[tuple[OpenTransaction, Verdict]]] = {}
    for each, judged in held_by(observations.last.facts):
        if judged.standing is Standing.UNDELIVERED:
            continue
        by_place.setdefault(each.place, []).append((each, judged))
    for (topic, number), held in sorted(by_place.items()):
        subject = Subject(topic=topic, partition=number)
        if (LSO_STANDS_STILL, subject) in observations.seen:
            yield _held(observations, subject, topic, number, held)


_CERTAINTY = {
    Standing.HANGS: Certainty.CERTAIN,
    Standing.YOUNG: Certainty.LIKELY,
    Standing.SLOW: Certainty.LIKELY,
    Standing.POSSIBLE: Certainty.POSSIBLE,
}
"""SLOW: its coordinator would end it, and has not by its timeout."""


def _held(
    observations: Observations, subject: Subject, topic: str, number: int, held: list[tuple[OpenTransaction, Verdict]]
) -> Claim:
    # The surest one first: it gives the claim its certainty and its evidence.
    held = sorted(held, key=lambda each: list(_CERTAINTY).index(each[1].standing))
    first, judged = held[0]
    wait = _waits(observations).get((topic, number))
    seen = observations.last.facts.transactions
    offsets = seen.offsets.get((topic, number))
    waiting = f", {offsets.waiting:,} records wait behind it" if offsets is not None else ""
    return Claim(
        cause="transaction-hanging",
        subject=subject,
        severity=Severity.HIGH,
        certainty=_CERTAINTY[judged.standing],
        title=f"{topic}/{number}: a transaction of producer {first.producer.id} does not end",
        since=observations.since(Symptom(LSO_STANDS_STILL, subject)),
        evidence=(
            *_who_waits(wait),
            Evidence(f"the last stable offset stands still{waiting}", "ListOffsets"),
            *(Evidence(_open_one(each, seen.at_ms), "DescribeProducers") for each, _ in held[:3]),
            Evidence(judged.why, "ListTransactions, DescribeTransactions"),
        ),
        predicted=(
            *predict(LSO_STANDS_STILL, subject=subject),
            *predict(COMMIT_STANDS_STILL, topic=topic),
            *(_predictions_of_waiting(wait) if wait is not None else ()),
        ),
        next=tuple(step for each, how in held[:3] for step in _steps(each, how)),
    )


def _steps(each: OpenTransaction, how: Verdict) -> Iterator[Next]:
    if how.standing is not Standing.HANGS:
        yield Next(how.remedy or "look at its producer")
        return
    if how.was_committed:
        yield Next(KEPT_FIRST)
    topic, number = each.place
    yield Next("abort it", f"abort transaction topic {topic} partition {number} producer {each.producer.id}")


def _open_one(each: OpenTransaction, at_ms: int) -> str:
    last = each.producer.last_timestamp
    age = f", its last record is {minutes(at_ms - last)} old" if 0 <= last <= at_ms else ""
    return f"producer {each.producer.id} has had one open from offset {each.producer.start_offset:,}{age}"


# -- transactions whose markers do not arrive --------------------------------------------------------------------------


def _undelivered(observations: Observations) -> Iterator[Claim]:
    """Yield the transactions whose end is decided and not written: one claim for all partitions of each."""
    by_id: dict[str, list[tuple[OpenTransaction, Verdict]]] = {}
    for each, judged in held_by(observations.last.facts):
        if judged.standing is Standing.UNDELIVERED:
            by_id.setdefault(judged.transactional_id, []).append((each, judged))
    for held in by_id.values():
        subjects = [Subject(topic=topic, partition=number) for topic, number in sorted(each.place for each, _ in held)]
        standing = [each for each in subjects if (LSO_STANDS_STILL, each) in observations.seen]
        if standing:
            yield _without_markers(observations, standing, *held[0])


def _without_markers(
    observations: Observations, subjects: list[Subject], held: OpenTransaction, judged: Verdict
) -> Claim:
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
        if (UNDER_MIN_ISR, Subject(topic=name, partition=number)) in observations.seen
    ]
    return Claim(
        cause="transaction-undelivered",
        subject=subject,
        severity=Severity.HIGH,
        certainty=_AS_LATE[verdict(held, seen).standing is Standing.UNDELIVERED],
        title=f"{subject.topic}/{subject.partition}: transaction {known.id} is to be {DECIDED[known.state]}, and its "
        "markers do not arrive",
        since=observations.since(Symptom(LSO_STANDS_STILL, subject)),
        evidence=(
            Evidence(judged.why, "ListTransactions, DescribeTransactions"),
            Evidence(f"the marker waits for {_led(sorted(known.partitions or ()), topics)}", "Metadata"),
            *_short_evidence(short),
            Evidence(f"its coordinator is broker {known.coordinator}, which leads {of}", "FindCoordinator"),
            *(each for wait in waiting for each in _who_waits(wait)),
        ),
        predicted=(
            *(each for one in subjects for each in predict(LSO_STANDS_STILL, subject=one)),
            *(each for one in subjects for each in predict(COMMIT_STANDS_STILL, topic=one.topic)),
            *(each for wait in waiting if wait is not None for each in _predictions_of_waiting(wait)),
        ),
        next=(
            (
                Next(
                    f"bring the missing replicas of {', '.join(short[:NAMED_PLACES])} back: the coordinator sends the "
                    "markers until they are written"
                ),
            )
            if short
            else (
                Next("look at these leaders' logs and load: the coordinator sends the markers until they are written"),
                Next(f"restart broker {known.coordinator}, or elect another leader of {of}: it sends them again"),
            )
        ),
    )


def _short_evidence(short: list[str]) -> Iterator[Evidence]:
    """Yield why partitions take no marker: it is written as producers write with acks=all."""
    if short:
        some = ", ".join(short[:NAMED_PLACES])
        verb = "has" if len(short) == 1 else "have"
        more = f" and {len(short) - NAMED_PLACES:,} more" if short[NAMED_PLACES:] else ""
        yield Evidence(f"{some}{more} {verb} fewer replicas in sync than a marker needs", "Metadata, DescribeConfigs")


_AS_LATE = {True: Certainty.CERTAIN, False: Certainty.LIKELY}
"""Whether the transaction's own timeout has passed, too: two polls alone may be close to each other."""


def _led(places: list[Place], topics: Mapping[str, Topic]) -> str:
    """Return partitions with the brokers that lead them."""

    def leader(topic: str, number: int) -> str:
        found = topics.get(topic)
        led = next((each.leader for each in found.partitions if each.number == number), -1) if found else -1
        return f"broker {led}" if led >= 0 else "no leader"

    some = ", ".join(f"{topic}/{number} ({leader(topic, number)})" for topic, number in places[:NAMED_PLACES])
    more = f" and {len(places) - NAMED_PLACES:,} more" if places[NAMED_PLACES:] else ""
    return some + more if places else "partitions that the coordinator no longer names"


# -- transactions that their coordinators end ----------------------------------------------------------------------


def _waits(observations: Observations) -> Mapping[Place, Wait]:
    poll = observations.last
    return waits(poll.facts, readings(poll.snapshot), poll.snapshot.topics)


def _who_waits(wait: Wait | None) -> Iterator[Evidence]:
    if wait is None or not wait.groups:
        return
    topic, number = wait.place
    some = ", ".join(wait.groups[:NAMED_GROUPS])
    more = f" and {len(wait.groups) - NAMED_GROUPS:,} more" if wait.groups[NAMED_GROUPS:] else ""
    if topic == OFFSETS:
        text = f"groups with their offsets in {topic}/{number}: {some}{more}; those in the transaction can't be read"
        yield Evidence(text, "ListGroups, the hash of their names")
    else:
        yield Evidence(f"groups that stand at it: {some}{more}", "OffsetFetch")


def _predictions_of_waiting(wait: Wait) -> Iterator[Prediction]:
    topic, number = wait.place
    for group in wait.groups:
        if topic == OFFSETS:
            yield from predict(COMMIT_STANDS_STILL, LAG_GROWS, group=group)
        else:
            yield from predict(COMMIT_STANDS_STILL, subject=Subject(group=group, topic=topic, partition=number))
            yield from predict(LAG_GROWS, group=group)


def _open(observations: Observations) -> Iterator[Claim]:
    """Yield what readers wait for, of transactions that do not hang: their coordinators end them."""
    hang = {each.place for each, _ in held_by(observations.last.facts)}
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
        subject=CLUSTER,
        title=f"{len(running):,} transactions are open: readers with read_committed wait for them",
        evidence=(*(each.evidence[0] for each in running[:NAMED_GROUPS]),),
        predicted=tuple(each for claim in running for each in claim.predicted),
        since=None,
    )


def _open_one_of(observations: Observations, mine: list[Wait]) -> Claim:
    """Return the claim of one transaction, in the partitions that it holds."""
    # Who reads the topic waits for sure; of the groups with offsets in it those in the transaction alone.
    first = max(mine, key=lambda each: (each.place[0] != OFFSETS, len(each.groups)))
    topic, number = first.place
    more = f" and {plural(len(mine) - 1, 'more partition')}" if mine[1:] else ""
    at_ms = observations.last.facts.transactions.at_ms
    name, lasts = _described(first, at_ms)
    quiet = first.holder is not None and at_ms - first.holder.producer.last_timestamp > QUIET_MS
    stand = any(
        (COMMIT_STANDS_STILL, Subject(group=g, topic=topic, partition=number)) in observations.seen
        for g in first.groups
    )
    readers = "groups" if topic == OFFSETS else "readers"
    return Claim(
        cause="transaction-open",
        subject=Subject(topic=topic, partition=number),
        severity=Severity.WARNING if quiet and stand else Severity.INFO,
        certainty=Certainty.CERTAIN if first.holder is not None else Certainty.LIKELY,
        title=f"read_committed {readers} of {topic}/{number}{more} wait for {name}{lasts}",
        evidence=given(
            Evidence(
                f"{topic}/{number} is stable up to {first.offsets.stable:,}, and ends at {first.offsets.end:,}",
                "ListOffsets",
            ),
            Evidence(_open_one(first.holder, at_ms), "DescribeProducers") if first.holder is not None else None,
            *_who_waits(first),
        ),
        # Applications that read and write have one open where their offsets are, nearly always.
        predicted=tuple(each for wait in mine if wait.place[0] != OFFSETS for each in _predictions_of_waiting(wait)),
        next=(
            Next("look again in a minute: its end is decided, and its markers take moments")
            if first.known is not None and first.known.state in DECIDED
            else Next("look at its producer: it commits or aborts; else its coordinator does, at its timeout"),
        ),
    )


def _described(wait: Wait, at_ms: int) -> tuple[str, str]:
    """Return the name of what is waited for, and how long it still lasts."""
    if wait.holder is None:
        return "an open transaction", ""
    known = wait.known
    if known is None:
        return f"the open transaction of producer {wait.holder.producer.id}", ""
    if known.start_ms < 0:
        return f"transaction {known.id}", f", which is {known.state}"
    lasted = f", open for {minutes(at_ms - known.start_ms)}"
    if known.timeout_ms <= 0 or known.state != "Ongoing":
        return f"transaction {known.id}", f"{lasted}, which is {known.state}"
    ends = time_of(known.start_ms + known.timeout_ms)
    return f"transaction {known.id}", lasted if ends is None else f"{lasted}; it ends by itself at {time_of_day(ends)}"


def _none_hangs(observations: Observations) -> str:
    logs = observations.last.facts.logs
    return "no last stable offset stands still" if logs.logs and not logs.standing(0) else ""


# -- deleted records ---------------------------------------------------------------------------------------------------


def _deleted(observations: Observations) -> Iterator[Claim]:
    for cause, losses in losses_by_change(observations.past).items():
        if isinstance(cause, str):
            yield _unexplained_loss(cause, losses)
        else:
            is_past = is_mended(cause, losses, observations.past, observations.last.snapshot)
            yield _loss_by_change(cause, losses, is_past=is_past)


def _unexplained_loss(topic: str, losses: tuple[Loss, ...]) -> Claim:
    worst = max(losses, key=lambda each: each.jump.start - each.jump.was)
    return _loss(
        Subject(topic=topic),
        losses,
        title=f"{topic}: {_lost(losses):,} offsets were deleted before their time",
        evidence=(_most_lost(losses), Evidence(worst.why, "ListOffsets")),
        next=(Next("look for who deleted them: brokers' request logs have DeleteRecords with its principal"),),
    )


def _loss_by_change(change: ConfigChange, losses: tuple[Loss, ...], *, is_past: bool) -> Claim:
    """Return the claim of what one change deleted. is_past: it was changed again: what is lost stays so, and nothing is
    left to restore.
    """
    subject, name = changed_place(change.resource, change.key)
    topics = sorted({each.jump.topic for each in losses})
    first = min(losses, key=lambda each: each.jump.at)
    title = f"{_list(topics)}: {_lost(losses):,} offsets were deleted before their time"
    if subject.topic is None:
        title += f" by {change.key} of {name}"
    return _loss(
        replace(subject, change=time_of_day(change.at)),
        losses,
        title=f"{title}; {change.key} was changed again since" if is_past else title,
        evidence=(
            _most_lost(losses),
            Evidence(first.why, "DescribeConfigs"),
            Evidence(f"changed between {time_of_day(change.after)} and {time_of_day(change.at)}", "DescribeConfigs"),
        ),
        severity=Severity.INFO if is_past else Severity.HIGH,
        beside=True,  # of two changes that cut the same logs each is named
        next=() if is_past else (Next("put the retention back before more is deleted", edits=(undo(change),)),),
    )


def _loss(
    subject: Subject,
    losses: tuple[Loss, ...],
    *,
    title: str,
    evidence: tuple[Evidence, ...],
    next: tuple[Next, ...],
    severity: Severity = Severity.HIGH,
    beside: bool = False,
) -> Claim:
    moments = sorted({each.jump.at for each in losses})
    places = sorted({(each.jump.topic, each.jump.partition) for each in losses})
    return Claim(
        cause="records-deleted",
        subject=subject,
        severity=severity,
        certainty=Certainty.CERTAIN,
        title=title,
        since=datetime.fromtimestamp(moments[0], UTC),
        latest=datetime.fromtimestamp(moments[-1], UTC),
        times=len(moments),
        evidence=evidence,
        predicted=tuple(
            each
            for topic, number in places
            for each in predict(RECORDS_LOST, subject=Subject(topic=topic, partition=number))
        ),
        next=next,
        beside=beside,
    )


def _lost(losses: tuple[Loss, ...]) -> int:
    return sum(each.jump.start - each.jump.was for each in losses)


def _most_lost(losses: tuple[Loss, ...]) -> Evidence:
    """Return the partition that lost most records as evidence."""
    jump = max(losses, key=lambda each: each.jump.start - each.jump.was).jump
    partitions = len({(each.jump.topic, each.jump.partition) for each in losses})
    more = f"; {partitions} partitions in all" if partitions > 1 else ""
    return Evidence(
        f"{jump.topic}/{jump.partition} begins at {jump.start:,}, and began at {jump.was:,}{more}", "ListOffsets"
    )


def _list(topics: list[str]) -> str:
    more = f" and {len(topics) - 3} more" if len(topics) > 3 else ""
    return ", ".join(topics[:3]) + more


# -- timestamps --------------------------------------------------------------------------------------------------------


def _future(observations: Observations) -> Iterator[Claim]:
    poll = observations.last
    for topic, (number, newest) in ahead(poll).items():
        subject = Subject(topic=topic, partition=number)
        # Producers write any 64-bit number.
        at = time_of(newest.timestamp)
        early = minutes(newest.timestamp - int(cluster_time(poll).timestamp() * 1000))
        when = f"of {at:%Y-%m-%d %H:%M} UTC, {early} ahead" if at is not None else _no_date(newest.timestamp)
        yield Claim(
            cause="future-records",
            subject=Subject(topic=topic),
            severity=Severity.WARNING,
            certainty=Certainty.CERTAIN,
            title=f"{topic} has records from the future, which its retention does not delete until then",
            since=observations.since(Symptom(FUTURE_TIMESTAMP, subject)),
            evidence=(
                Evidence(
                    f"record {newest.offset:,} of partition {number} is {when}",
                    "ListOffsets, the highest timestamp",
                ),
            ),
            predicted=predict(FUTURE_TIMESTAMP, topic=topic),
            next=(
                Next("look at the clock of its producers"),
                Next("refuse such records", f"set topic {topic} message.timestamp.after.max.ms=3600000"),
            ),
        )


def _no_date(timestamp: int) -> str:
    """Return what a timestamp says that no date can hold, with the unit that its producer may have meant."""
    units = (("microseconds", time_of(timestamp // 1000)), ("nanoseconds", time_of(timestamp // 1_000_000)))
    meant = next(
        (f"; in {unit} it would be {at:%Y-%m-%d %H:%M} UTC" for unit, at in units if at is not None and at.year < 2100),
        "",
    )
    return f"of a time after the year 9999{meant}"


CAUSES = (
    CauseRule("transaction-hanging", _hanging, _none_hangs),
    CauseRule("transaction-undelivered", _undelivered),
    CauseRule("transaction-open", _open),
    CauseRule("records-deleted", _deleted),
    CauseRule("future-records", _future),
)
