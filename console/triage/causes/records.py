"""Causes that are records: a transaction that does not end, records deleted before their time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from console.model.transactions import OpenTransaction, Standing, Verdict, minutes
from console.triage.cause import CauseRule, Certainty, Claim, Evidence, Next, Severity, of
from console.triage.course import Course
from console.triage.past import Loss, lost_places
from console.triage.symptoms import (
    COMMIT_STANDS_STILL,
    LSO_STANDS_STILL,
    OFFSET_OUT_OF_RANGE,
    RECORDS_LOST,
    Subject,
    Symptom,
    held_by,
)

_PLAIN = re.compile(r"[A-Za-z0-9._-]+")
"""Names that a statement takes as they are."""

# -- transactions ------------------------------------------------------------------------------------------------------


def _hanging(course: Course) -> Iterator[Claim]:
    by_place: dict[tuple[str, int], list[tuple[OpenTransaction, Verdict]]] = {}
    for each, judged in held_by(course.last.facts):
        by_place.setdefault(each.place, []).append((each, judged))
    for (topic, number), held in sorted(by_place.items()):
        subject = Subject(topic=topic, partition=number)
        if (LSO_STANDS_STILL, subject) in course.seen:
            yield _held(course, subject, topic, number, held)


_CERTAINTY = {
    Standing.HANGS: Certainty.CERTAIN,
    Standing.YOUNG: Certainty.LIKELY,
    Standing.SLOW: Certainty.LIKELY,
    Standing.POSSIBLE: Certainty.POSSIBLE,
}
"""SLOW: its coordinator would end it, and has not by its timeout."""


def _held(
    course: Course, subject: Subject, topic: str, number: int, held: list[tuple[OpenTransaction, Verdict]]
) -> Claim:
    held = sorted(held, key=lambda each: list(_CERTAINTY).index(each[1].standing))
    first, judged = held[0]
    seen = course.last.facts.transactions
    offsets = seen.offsets.get((topic, number))
    waiting = f", {offsets.waiting:,} records wait behind it" if offsets is not None else ""
    return Claim(
        cause="transaction-hanging",
        subject=subject,
        severity=Severity.HIGH,
        certainty=_CERTAINTY[judged.standing],
        title=f"{topic}/{number}: a transaction of producer {first.producer.id} does not end",
        since=course.since(Symptom(LSO_STANDS_STILL, subject)),
        evidence=(
            Evidence(f"the last stable offset stands still{waiting}", "ListOffsets"),
            *(Evidence(_open_one(each, seen.at_ms), "DescribeProducers") for each, _ in held[:3]),
            Evidence(judged.why, "ListTransactions, DescribeTransactions"),
        ),
        predicted=(
            *of(LSO_STANDS_STILL, subject=subject),
            *of(COMMIT_STANDS_STILL, topic=topic),
        ),
        next=tuple(
            Next("abort it", f"abort transaction topic {topic} partition {number} producer {each.producer.id}")
            if how.standing is Standing.HANGS
            else Next(how.remedy or "look at its producer", f"transactions {topic}")
            for each, how in held[:3]
        ),
    )


def _open_one(each: OpenTransaction, at_ms: int) -> str:
    last = each.producer.last_timestamp
    age = f", its last record is {minutes(at_ms - last)} old" if 0 <= last <= at_ms else ""
    return f"producer {each.producer.id} has had one open from offset {each.producer.start_offset:,}{age}"


def _none_hangs(course: Course) -> str:
    logs = course.last.facts.logs
    return "no last stable offset stands still" if logs.logs and not logs.standing(0) else ""


# -- deleted records ---------------------------------------------------------------------------------------------------


def _deleted(course: Course) -> Iterator[Claim]:
    for topic, losses in lost_places(course.past).items():
        yield _deletion(course, topic, losses)


def _deletion(course: Course, topic: str, losses: tuple[Loss, ...]) -> Claim:
    first = min(losses, key=lambda each: each.jump.at)
    worst = max(losses, key=lambda each: each.jump.start - each.jump.was)
    change = next((each.change for each in losses if each.change is not None), None)
    partitions = len({each.jump.partition for each in losses})
    records = sum(each.jump.start - each.jump.was for each in losses)
    # Groups that stand before the new beginning lost what they had not read.
    groups = sorted(
        {
            subject.group
            for name, subject in course.seen
            if name == OFFSET_OUT_OF_RANGE and subject.topic == topic and subject.group is not None
        }
    )
    jump = worst.jump
    return Claim(
        cause="records-deleted",
        subject=Subject(topic=topic),
        severity=Severity.HIGH,
        certainty=Certainty.CERTAIN,
        title=f"{topic}: {records:,} offsets were deleted before their time",
        since=datetime.fromtimestamp(first.jump.at, UTC),
        times=len({each.jump.at for each in losses}),
        evidence=(
            Evidence(
                f"{topic}/{jump.partition} begins at {jump.start:,}, and began at {jump.was:,}"
                + (f"; {partitions} partitions in all" if partitions > 1 else ""),
                "ListOffsets",
            ),
            Evidence(
                worst.why if change is None else first.why, "ListOffsets" if change is None else "DescribeConfigs"
            ),
            *(
                (Evidence(f"changed between {change.after:%H:%M:%S} and {change.at:%H:%M:%S}", "DescribeConfigs"),)
                if change
                else ()
            ),
        ),
        predicted=(
            *of(RECORDS_LOST, topic=topic),
            *of(OFFSET_OUT_OF_RANGE, COMMIT_STANDS_STILL, topic=topic),
        ),
        next=(
            *(
                (
                    Next(
                        "put the retention back before more is deleted",
                        f"set topic {topic} {change.key}={change.was}",
                    ),
                )
                if change is not None
                else (Next("look for who deleted them: a request of DeleteRecords is in the brokers' request logs"),)
            ),
            *(
                Next("let the group go on where the log begins", f"reset group {group} topic {topic} to earliest")
                for group in groups[:3]
                if _PLAIN.fullmatch(group)
            ),
        ),
    )


CAUSES = (
    CauseRule("transaction-hanging", _hanging, _none_hangs),
    CauseRule("records-deleted", _deleted),
)
