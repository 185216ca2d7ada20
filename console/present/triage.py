"""A verdict as rows of the screen, and what is to know of a cause: for the screen and the terminal alike.

It is imported for the first rows of the screen, long before there is a verdict: triage itself is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.model.parts import Part, about
from console.present.columns import SHOWN, Column, Columns, clock
from console.present.names import partition, plural
from console.present.text import Line, clean
from widgets.cells import cell_width
from widgets.row_source import Column as ScreenColumn

if TYPE_CHECKING:
    from console.model.snapshot import Snapshot
    from console.triage.cause import Claim
    from console.triage.diagnosis import Named, Unexplained, Verdict
    from console.triage.observations import Observations
    from console.triage.symptoms import Subject

CRITICAL, INFO = "critical", "info"
WORDS = {CRITICAL: "CRIT", "high": "HIGH", "warning": "WARN", INFO: "info"}
_ALARMING = frozenset({CRITICAL, "high"})
_MEANINGS = {CRITICAL: "danger", "high": "failed", "warning": "pending", INFO: "muted"}
_COUNTED = {CRITICAL: "critical", "high": "high", "warning": "warning"}
"""Severities that count as trouble; information does not."""
MUTED = "  mute"
MUTED_FOR = timedelta(hours=1)
"""How long a cause is muted at a time."""
AT_FIRST = "start"
"""Stands for the unknown time of what was there at the first poll already."""
MOST_OTHERS = 2
MOST_FACTS, MOST_RULED_OUT, MOST_UNKNOWN, MOST_LEFT_OVER = 2, 4, 3, 3


class CauseRow(NamedTuple):
    """A row of the causes. muted: until when it is not counted, None where it is. first: when it was first seen."""

    named: Named
    muted: datetime | None = None
    first: datetime | None = None

    @property
    def claim(self) -> Claim:
        """What it claims."""
        return self.named.claim


def cause_rows(
    verdict: Verdict, muted: Mapping[str, datetime], seen: Mapping[str, datetime] = MappingProxyType({})
) -> list[CauseRow]:
    """Return the rows of a verdict, symptoms without a cause among them.

    Args:
        muted: until when a cause is muted, by `cause_id`.
        seen: when a cause was first seen, by `cause_id`, UTC.

    Returns:
        The worst first, and all that are muted last.
    """
    from console.triage.cause import Severity

    all_of_it = (
        [*verdict.causes, *map(_unexplained_row, verdict.unexplained)] if verdict.unexplained else verdict.causes
    )
    rows = [CauseRow(named, _muted_until(named.claim, muted), seen.get(cause_id(named.claim))) for named in all_of_it]
    order = tuple(Severity)
    # What is only told stands below what is counted, and what is muted below that.
    return sorted(rows, key=lambda row: (row.muted is not None, order.index(row.claim.severity)))


UNEXPLAINED = "unexplained"
"""The name of a row for symptoms without a cause begins with it."""


def _unexplained_row(each: Unexplained) -> Named:
    """Return symptoms of one name without a cause as a row of their own: each trouble that is counted has a row."""
    from console.triage.cause import Certainty, Claim, Evidence, Next, Severity
    from console.triage.diagnosis import Named
    from console.triage.symptoms import CLUSTER

    subject = each.examples[0] if each.count == 1 else CLUSTER
    where = [text for text in map(subject_text, each.examples) if text]
    more = f" and {each.count - len(where):,} more" if each.count > len(where) else ""
    about = f" {where[0]}" if each.count == 1 and where else ""
    return Named(
        Claim(
            cause=f"{UNEXPLAINED}-{each.symptom}",
            subject=subject,
            severity=Severity.WARNING,
            certainty=Certainty.POSSIBLE,
            evidence=(Evidence(f"no cause that is known here explains it: {', '.join(where)}{more}", "symptoms"),),
            predicted=(),
            title=f"unexplained: {each.count:,} {each.symptom}{about}",
            next=(Next("look at the brokers' logs"),),
        ),
        {},
        each.examples,
    )


def _muted_until(claim: Claim, muted: Mapping[str, datetime]) -> datetime | None:
    """Return until when a cause is muted; None where something came to it after it was muted, which ends the mute."""
    until = muted.get(cause_id(claim))
    return None if until is None or (claim.latest is not None and claim.latest > until - MUTED_FOR) else until


def cause_id(claim: Claim) -> str:
    """Return the id of a cause, made of its name and subject: it is the same in every verdict, and no other cause has
    it."""
    subject = claim.subject
    rest = (clean(each) for each in (subject.entity, subject.key, subject.change) if each is not None)
    return ":".join(filter(None, (claim.cause, subject_text(subject), *rest))).replace(" ", ":")


def alarms(verdict: Verdict, muted: Mapping[str, datetime]) -> int:
    """Return the number of troubles that are not muted: causes, and symptoms without one. Each has a row."""
    return sum(row.muted is None and row.claim.severity in _COUNTED for row in cause_rows(verdict, muted))


def subject_text(subject: Subject) -> str:
    """Return the subject of a cause in a few words; ``""`` for the whole cluster."""
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
    """Return since when a cause has been there, and how often it was."""
    since = f"since {clock(claim.since)}" if claim.since is not None else "since before the first look"
    return f"{since}, {claim.times} times" if claim.times > 1 else since


def facts(named: Named) -> Iterator[tuple[str, str]]:
    """Yield a label and a text for each piece of evidence, and for what the cause explains."""
    for fact, source in named.claim.evidence:
        yield "evidence", f"{clean(fact, 300)} ({source})"
    if named.explains:
        yield "explains", explained(named)


def explained(named: Named) -> str:
    """Return how many of which symptoms a cause explains, with examples other than the cause's own subject."""
    counts = ", ".join(f"{count:,} {name}" for name, count in named.explains.items())
    others = [subject_text(each) for each in named.examples if each != named.claim.subject]
    return f"{counts}, as {', '.join(others[:2])}" if others else counts


def _severity(severity: str) -> tuple[str, str]:
    return ("! " if severity in _ALARMING else "  ") + WORDS[severity], _MEANINGS[severity]


CAUSES: Columns[CauseRow] = Columns(
    Column(
        "severity",
        SHOWN,
        title="",
        cell=lambda row: (MUTED, "muted") if row.muted else _severity(row.claim.severity),
        layout=ScreenColumn("severity", "  Sev", width=6, priority=95),
    ),
    Column(
        "since",
        SHOWN,
        title="",
        cell=lambda row: (
            clock(row.claim.since or row.first) or AT_FIRST,
            "muted" if row.muted or not row.claim.since else "",
        ),
        layout=ScreenColumn("since", "Since", width=8, priority=60),
    ),
    Column(
        "what",
        SHOWN,
        title="",
        cell=lambda row: (clean(row.claim.title, 200), "muted" if row.muted else ""),
        layout=ScreenColumn("what", "What", flex=1, min_width=20, priority=100),
    ),
    Column(
        "times",
        SHOWN,
        title="",
        cell=lambda row: str(row.claim.times) if row.claim.times > 1 else "",
        layout=ScreenColumn("times", "Times", width=5, align="right", priority=70),
    ),
)


class Staging(NamedTuple):
    """What a key stages of a cause. command: its statements; is_change: False where they only show something, in the
    command bar; risks: what they risk, each in a line. others: what may be done instead, or after it."""

    text: str
    command: str
    is_change: bool
    risks: Sequence[str] = ()
    others: Sequence[str] = ()


def details(row: CauseRow, verdict: Verdict, staging: Staging | None, width: int) -> list[Line]:
    """Return all about a cause, its title first.

    Args:
        verdict: has other causes, what was ruled out and what can't be known.
        staging: what a key stages of it, None for nothing.
        width: of the lines, in cells.
    """
    claim = row.claim
    first, *rest = claim.evidence
    sure = claim.certainty.value
    fact = clean(first.fact, 300)
    gap = " " * max(2, width - cell_width(sure) - cell_width(fact))
    lines: list[Line] = [[(clean(claim.title, 200), "")], [(fact, ""), (gap, ""), (sure, "strong")]]
    lines += [[(clean(each.fact, 300), "")] for each in rest[:MOST_FACTS]]
    if len(rest) > MOST_FACTS:
        lines.append([(f"and {len(rest) - MOST_FACTS} more: y copies them all", "muted")])
    if row.named.explains:
        lines.append(_labelled("Explains", explained(row.named)))
    left = left_over(row.named, verdict)
    lines += [_labelled("Left over", clean(each, 200)) for each in left[:MOST_LEFT_OVER]]
    if staging is not None:
        word = "F stages" if staging.is_change else "F opens"
        lines.append([*_labelled(word, clean(staging.text, 200)), (f": {staging.command}", "strong")])
        lines += [[(" " * 11, ""), ("risk: ", "failed"), (clean(risk, 200), "")] for risk in staging.risks]
        lines += [_labelled("Or", clean(each, 200)) for each in staging.others[:MOST_OTHERS]]
    if claim.since is None and row.first is not None:
        lines.append(_labelled("Since", f"unknown: first seen {clock(row.first)}"))
    outside = "; ".join(step.text for step in claim.next if not step.command and not step.edits)
    if outside:
        lines.append(_labelled("Look at", clean(outside.removeprefix("look at "), 300)))
    if row.muted is not None:
        lines.append(_labelled("Muted", f"until {clock(row.muted)}; m counts it again"))
    if verdict.ruled_out:
        some = verdict.ruled_out[:MOST_RULED_OUT]
        lines.append(_labelled("Ruled out", "; ".join(f"{each.cause} ({clean(each.why, 120)})" for each in some)))
    lines += [_labelled("Unknowable", clean(each.what, 200)) for each in verdict.unknowable[:MOST_UNKNOWN]]
    return lines


def left_over(named: Named, verdict: Verdict) -> list[str]:
    """Return the titles of other causes on the same broker, topic or group: they may stay when this one is repaired."""
    mine = named.claim.subject
    return [
        each.claim.title
        for each in verdict.causes
        if each is not named
        and any(
            value is not None and value == getattr(each.claim.subject, name)
            for name, value in (("broker", mine.broker), ("topic", mine.topic), ("group", mine.group))
        )
    ]


def _labelled(label: str, text: str) -> Line:
    return [(f"{label:<10} ", "muted"), (text, "")]


def counts(verdict: Verdict, muted: Mapping[str, datetime]) -> Line:
    """Return a line on how many troubles there are, by severity, and how many are muted.

    Args:
        muted: until when a cause is muted, by `cause_id`.
    """
    rows = cause_rows(verdict, muted)
    total = alarms(verdict, muted)
    line: Line = [(plural(total, "trouble"), "strong") if total else ("no trouble", "muted")]
    if verdict.blind:
        line = [(f"{part_names(verdict.blind)} unknown", "failed")] + ([(f"  {line[0][0]}", "strong")] if total else [])
    for severity, word in _COUNTED.items():
        if count := sum(row.muted is None and row.claim.severity == severity for row in rows):
            line.append((f"  {count} {word}", _MEANINGS[severity]))
    if count := sum(row.muted is not None for row in rows):
        line.append((f"  {count} muted", "muted"))
    return line


def watched(observations: Observations) -> Line:
    """Return a line on since when the cluster is watched: a time and no age, so that at rest nothing is drawn."""
    return [(f"watched since {clock(observations.began)}", "muted")]


def part_names(parts: Sequence[str]) -> str:
    """Return the names of parts of a snapshot for people."""
    return ", ".join(about(part).noun for part in parts)


def polling_text(snapshot: Snapshot) -> str:
    """Return the text before the first verdict: what is known, and what is being read."""
    if Part.CLUSTER not in snapshot.read_at:
        return "looking at the cluster…"
    if snapshot.cluster.controllers:
        return f"{plural(len(snapshot.cluster.controllers), 'controller')}; looking at what stands still…"
    known = [plural(len(snapshot.cluster.brokers), "broker")]
    known += [plural(len(snapshot.topics), "topic")] if Part.TOPICS in snapshot.read_at else []
    return f"{', '.join(known)}; looking at what is wrong with them…"


def healthy_text(observations: Observations) -> str:
    """Return the text for a cluster without trouble: what was read, what is still being read, and what can't be, with
    why."""
    from console.triage.unread import unread_parts, vital_parts

    snapshot, unread = observations.last.snapshot, observations.last.unread
    failed = unread_parts(observations.last).difference(unread)
    counted = {Part.CLUSTER: snapshot.cluster.brokers, Part.TOPICS: snapshot.topics, Part.GROUPS: snapshot.groups}
    names = {part: plural(len(members), part.about.entity) for part, members in counted.items()}
    named: tuple[Part, ...] = (Part.QUORUM, Part.LOG_DIRS, Part.REASSIGNMENTS, Part.CONFIGS)
    if snapshot.cluster.controllers:  # they know nothing else
        names, named = {Part.CLUSTER: plural(len(snapshot.cluster.controllers), "controller")}, (Part.QUORUM,)
    names |= {part: part.noun for part in named}
    read = [name for part, name in names.items() if part not in failed and part not in unread]
    if unread:
        text = f"nothing wrong so far with {', '.join(read)}; still looking at {part_names(unread)}"
    else:
        *most, last = read or ["nothing"]
        calm = f"{', '.join(most)} and {last} were looked at" if most else f"{last} was looked at"
        text = calm if failed.intersection(vital_parts(observations.last)) else f"healthy: {calm}"
    return "\n".join([text, *(_unread_line(snapshot, part) for part in names if part in failed)])


def _unread_line(snapshot: Snapshot, part: str) -> str:
    """Return a line on a part that could not be read: ``unknown topics: …``, with why."""
    why = next((str(each.failure) for each in snapshot.failures if each.part == part), "not answered")
    return f"unknown {part_names((part,)).removeprefix('the ')}: {clean(why, 300)}"
