"""A verdict as rows of the screen, and what is to know of a cause: for the screen and the terminal alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from console.present.columns import SHOWN, Column, Columns, clock
from console.present.names import partition, plural
from console.present.text import Line, clean
from console.triage.cause import Claim, Next, Severity
from console.triage.course import Course
from console.triage.diagnosis import Named, Verdict
from console.triage.symptoms import Subject
from widgets.row_source import Column as ScreenColumn

WORDS = {Severity.CRITICAL: "CRIT", Severity.HIGH: "HIGH", Severity.WARNING: "WARN", Severity.INFO: "info"}
_MEANINGS = {Severity.CRITICAL: "danger", Severity.HIGH: "failed", Severity.WARNING: "pending", Severity.INFO: "muted"}
AT_FIRST = "start"
"""Stands for the time of what was there at the first look."""
MOST_STEPS = 3


def subject_text(subject: Subject) -> str:
    """What a cause is about, in a few words; ``""`` for the whole cluster."""
    if subject.group is not None:
        where = f" {partition(subject.topic, subject.partition or 0)}" if subject.topic is not None else ""
        return f"group {clean(subject.group)}{where}"
    if subject.topic is not None:
        topic = clean(subject.topic)
        return f"topic {topic}" if subject.partition is None else partition(topic, subject.partition)
    if subject.rack is not None:
        return f"rack {clean(subject.rack)}"
    if subject.listener is not None:
        return f"broker {subject.broker} {clean(subject.listener)}"
    if subject.broker is not None:
        return f"broker {subject.broker}" + (f" {clean(subject.dir)}" if subject.dir is not None else "")
    return ""


def since_text(claim: Claim) -> str:
    """Since when, and how often."""
    since = f"since {clock(claim.since)}" if claim.since is not None else "since before the first look"
    return f"{since}, {claim.times} times" if claim.times > 1 else since


def facts(named: Named) -> Iterator[tuple[str, str]]:
    """Label and text: the evidence, and what the cause explains."""
    for fact, source in named.claim.evidence:
        yield "evidence", f"{clean(fact, 300)} ({source})"
    if named.explains:
        yield "explains", ", ".join(f"{count:,} {name}" for name, count in named.explains.items())


CAUSES: Columns[Named] = Columns(
    Column(
        "severity",
        SHOWN,
        cell=lambda row: (WORDS[row.claim.severity], _MEANINGS[row.claim.severity]),
        layout=ScreenColumn("severity", "Sev", width=4, priority=95),
    ),
    Column(
        "since",
        SHOWN,
        cell=lambda row: clock(row.claim.since) or (AT_FIRST, "muted"),
        layout=ScreenColumn("since", "Since", width=8, priority=60),
    ),
    Column(
        "what",
        SHOWN,
        cell=lambda row: clean(row.claim.title, 200),
        layout=ScreenColumn("what", "What", flex=1, min_width=20, priority=100),
    ),
    Column(
        "times",
        SHOWN,
        cell=lambda row: str(row.claim.times) if row.claim.times > 1 else "",
        layout=ScreenColumn("times", "Times", width=5, align="right", priority=70),
    ),
)


def details(named: Named, verdict: Verdict, command: Callable[[Next], str]) -> list[Line]:
    """What is to know of a cause: the title first. command: the statement of a step, ``""`` for one outside of
    Kafka."""
    claim = named.claim
    lines: list[Line] = [[(clean(claim.title, 200), "")]]
    lines.append([(f"{claim.certainty.value}, {since_text(claim)}", "muted")])
    lines += [_labelled(label, text) for label, text in facts(named)]
    lines += [_step(step, command(step)) for step in claim.next[:MOST_STEPS]]
    if len(claim.next) > MOST_STEPS:
        lines.append(_labelled("", f"and {len(claim.next) - MOST_STEPS} more"))
    lines += [_labelled("ruled out", f"{each.cause}: {clean(each.why, 200)}") for each in verdict.ruled_out]
    return lines


def _labelled(label: str, text: str) -> Line:
    return [(f"{label:<10} ", "muted"), (text, "")]


def _step(step: Next, command: str) -> Line:
    line = _labelled("F stages" if command else "next", clean(step.text, 200))
    return [*line, (f": {command}", "strong")] if command else line


def status(verdict: Verdict, course: Course) -> Line:
    """How many troubles, and for how long the cluster has been watched."""
    count = len(verdict.causes) + len(verdict.unexplained)
    critical = sum(each.claim.severity is Severity.CRITICAL for each in verdict.causes)
    seconds = round(course.watched.total_seconds())
    watched = f"watched for {seconds // 60} min" if seconds >= 60 else f"watched for {seconds} s"
    line: Line = [(plural(count, "trouble"), "strong" if count else "muted")] if count else []
    if critical:
        line.append((f"  {critical} critical", "danger"))
    for each in verdict.unexplained:
        line.append((f"  unexplained: {each.count:,} {each.symptom}", "pending"))
    return [*line, (f"  {watched}", "muted")]


def healthy_text(course: Course) -> str:
    """One line for a cluster without trouble: what was looked at."""
    snapshot = course.last.snapshot
    parts = [plural(len(snapshot.cluster.brokers), "broker"), plural(len(snapshot.topics), "topic")]
    parts.append(plural(len(snapshot.groups), "group"))
    return f"healthy: {', '.join(parts)}, the quorum, disks, moves and throttles were looked at"
