"""A verdict as rows of the screen, and the details of a cause, for the screen and the terminal.

The first rows of the screen need this module long before a verdict exists, so it imports triage itself only on use.
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
"""The duration of one mute of a cause."""
AT_FIRST = "start"
"""Stands for the unknown time of a cause that the first poll already found."""
MOST_OTHERS = 2
MOST_FACTS, MOST_RULED_OUT, MOST_UNKNOWN, MOST_LEFT_OVER = 2, 4, 3, 3


class CauseRow(NamedTuple):
    """A row of the causes. muted: the end of its mute; None if it counts. first: when it was first seen."""

    named: Named
    muted: datetime | None = None
    first: datetime | None = None

    @property
    def claim(self) -> Claim:
        """The claim of its cause."""
        return self.named.claim


def cause_rows(
    verdict: Verdict, muted: Mapping[str, datetime], seen: Mapping[str, datetime] = MappingProxyType({})
) -> list[CauseRow]:
    """Return the rows of a verdict, including symptoms without a cause.

    Args:
        muted: cause id -> the end of its mute.
        seen: cause id -> when it was first seen, UTC.

    Returns:
        The worst first, and all muted ones last.
    """
    from console.model.severity import Severity

    all_of_it = (
        [*verdict.causes, *map(_unexplained_row, verdict.unexplained)] if verdict.unexplained else verdict.causes
    )
    rows = [CauseRow(named, _muted_until(named.claim, muted), seen.get(cause_id(named.claim))) for named in all_of_it]
    order = tuple(Severity)
    # Information stands below the causes that count, and muted causes below that.
    return sorted(rows, key=lambda row: (row.muted is not None, order.index(row.claim.severity)))


LINT_ROW = "lint"
"""The name of the row that counts what lint finds: no cause, and no trouble."""
UNEXPLAINED = "unexplained"
"""Prefix of the name of a row for symptoms without a cause."""


def _unexplained_row(each: Unexplained) -> Named:
    """Return unexplained symptoms of one name as a row, so that each counted trouble has a row."""
    from console.model.severity import Certainty, Severity
    from console.triage.cause import Claim, Evidence, Next
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
    """Return the end of a cause's mute; None if it has evidence from after the beginning of the mute, which ends it."""
    until = muted.get(cause_id(claim))
    return None if until is None or (claim.latest is not None and claim.latest > until - MUTED_FOR) else until


def cause_id(claim: Claim) -> str:
    """Return the id of a cause, from its name and subject: the same in every verdict, and unique."""
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
    """Return the beginning of a cause, and how often it occurred."""
    since = f"since {clock(claim.since)}" if claim.since is not None else "since before the first look"
    return f"{since}, {claim.times} times" if claim.times > 1 else since


def facts(named: Named) -> Iterator[tuple[str, str]]:
    """Yield a label and a text for each piece of evidence, and for the explained symptoms."""
    for fact, source in named.claim.evidence:
        yield "evidence", f"{clean(fact, 300)} ({source})"
    if named.explains:
        yield "explains", explained(named)


def explained(named: Named) -> str:
    """Return the number of symptoms of each name that a cause explains, with examples other than its own subject."""
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
    """The effect of a cause's key. command: its statements; is_change: False if they only show something, in the
    command bar; risks: one line each. others: alternatives, and later steps."""

    text: str
    command: str
    is_change: bool
    risks: Sequence[str] = ()
    others: Sequence[str] = ()


def details(row: CauseRow, verdict: Verdict, staging: Staging | None, width: int) -> list[Line]:
    """Return the details of a cause, its title first.

    Args:
        verdict: has other causes, the causes ruled out, and the unknowable.
        staging: the effect of the cause's key; None without one.
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
    """Return the titles of other causes on the same broker, topic or group: they may remain after its repair."""
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
    """Return a line with the number of troubles by severity, and of the muted ones.

    Args:
        muted: cause id -> the end of its mute.
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
    """Return a line with the start of watching: a time, not an age, so that an idle screen stays unchanged."""
    return [(f"watched since {clock(observations.began)}", "muted")]


def part_names(parts: Sequence[str]) -> str:
    """Return the names of parts of a snapshot for people."""
    return ", ".join(about(part).noun for part in parts)


def polling_text(snapshot: Snapshot) -> str:
    """Return the text before the first verdict: the known numbers, and the current read."""
    if Part.CLUSTER not in snapshot.read_at:
        return "looking at the cluster…"
    if snapshot.cluster.controllers:
        return f"{plural(len(snapshot.cluster.controllers), 'controller')}; looking at what stands still…"
    known = [plural(len(snapshot.cluster.brokers), "broker")]
    known += [plural(len(snapshot.topics), "topic")] if Part.TOPICS in snapshot.read_at else []
    return f"{', '.join(known)}; looking at what is wrong with them…"


def healthy_text(observations: Observations) -> str:
    """Return the text for a cluster without trouble: the parts that were read, those still being read, and those that
    can't be, with the reason."""
    from console.triage.unread import unread_parts, vital_parts

    snapshot, unread = observations.last.snapshot, observations.last.unread
    failed = unread_parts(observations.last).difference(unread)
    counted = {Part.CLUSTER: snapshot.cluster.brokers, Part.TOPICS: snapshot.topics, Part.GROUPS: snapshot.groups}
    names = {part: plural(len(members), part.about.entity) for part, members in counted.items()}
    named: tuple[Part, ...] = (Part.QUORUM, Part.LOG_DIRS, Part.REASSIGNMENTS, Part.CONFIGS)
    if snapshot.cluster.controllers:  # controllers know nothing else
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
    """Return a line on a part that could not be read, with the reason: ``unknown topics: …``."""
    why = next((str(each.failure) for each in snapshot.failures if each.part == part), "not answered")
    return f"unknown {part_names((part,)).removeprefix('the ')}: {clean(why, 300)}"
