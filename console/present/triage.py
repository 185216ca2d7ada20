"""The verdict of triage (its causes of trouble) as rows, and the details of a cause, for the screen and the terminal.

The first rows of the screen need this module long before a verdict exists, so it imports triage itself only on use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.model.parts import Part, about
from console.present.columns import SHOWN, Column, Columns, clock, on_screen
from console.present.names import partition, plural
from console.present.text import Line, clean, fit
from widgets.cells import cell_width

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
"""Severity that counts as trouble -> its name; information is no trouble."""
MUTED = "  mute"
MUTED_FOR = timedelta(hours=1)
"""The time for which the key mutes a cause."""
AT_FIRST = "start"
"""Text in place of the unknown beginning of a cause that the first poll found."""
MOST_OTHERS = 2
MOST_FACTS, MOST_LEFT_OVER = 2, 3
FEW_PARTS = 2
"""Maximum number of unread parts of the snapshot that the line above the causes names."""
LABEL = 11
"""Width in cells of a label and the blank after it, in the details of a cause."""


class CauseRow(NamedTuple):
    """A cause of the verdict as a row."""

    named: Named
    muted: datetime | None = None
    """The end of the cause's mute, UTC; None if it is not muted."""
    first: datetime | None = None
    """The time at which kac first saw the cause, UTC; None if unknown."""

    @property
    def claim(self) -> Claim:
        """The claim that names the cause, with its subject, certainty and evidence."""
        return self.named.claim

    @property
    def counts(self) -> bool:
        """Whether the cause counts as trouble: it is certain, not muted, and more severe than information."""
        return self.muted is None and self.claim.counts


def cause_rows(
    verdict: Verdict, muted: Mapping[str, datetime], seen: Mapping[str, datetime] = MappingProxyType({})
) -> list[CauseRow]:
    """Return the rows of a verdict: its causes, and symptoms that no cause explains.

    Args:
        muted: id of a cause -> the end of its mute, UTC.
        seen: id of a cause -> when it was first seen, UTC.

    Returns:
        Certain causes, possible causes, information, muted causes, in this order; the worst of each first.
    """
    from console.model.severity import Severity

    all_of_it = (
        [*verdict.causes, *map(_unexplained_row, verdict.unexplained)] if verdict.unexplained else verdict.causes
    )
    rows = [CauseRow(named, _muted_until(named.claim, muted), seen.get(cause_id(named.claim))) for named in all_of_it]
    order = tuple(Severity)
    return sorted(
        rows,
        key=lambda row: (
            row.muted is not None,
            row.claim.severity is Severity.INFO,
            row.claim.is_guess,
            order.index(row.claim.severity),
        ),
    )


LINT_ROW = "lint"
"""The name of the row with the number of lint's findings. It is no cause, and does not count as trouble."""
UNEXPLAINED = "unexplained"
"""Prefix of the names of rows for symptoms that no cause explains."""


def _unexplained_row(each: Unexplained) -> Named:
    """Return a row for the unexplained symptoms of one name."""
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
            certainty=Certainty.CERTAIN,  # the symptom itself is certain
            evidence=(
                Evidence(f"no cause that is known here explains it: {', '.join(where)}{more}", "symptoms"),
                *each.leads.evidence,
            ),
            predicted=(),
            title=f"unexplained: {each.count:,} {each.symptom}{about}",
            next=(Next("look at the brokers' logs"), *each.leads.next),
        ),
        {},
        each.examples,
    )


def _muted_until(claim: Claim, muted: Mapping[str, datetime]) -> datetime | None:
    """Return the end of a cause's mute, UTC; None if the cause is not muted, or if it has an event from after the
    beginning of the mute, which ends the mute. A row with several members is muted until the first of their mutes
    ends; it is not muted unless all of them are.
    """
    if not muted:
        return None
    if claim.members:
        ends = [_muted_until(each, muted) for each in claim.members]
        known = [each for each in ends if each is not None]
        return min(known) if len(known) == len(ends) else None
    until = muted.get(cause_id(claim))
    # The file has only the end of a mute; all mutes have the same length, which gives the beginning.
    return None if until is None or (claim.latest is not None and claim.latest > until - MUTED_FOR) else until


def cause_id(claim: Claim) -> str:
    """Return the id of a cause, made of its name and its subject: the same in every verdict, and different for each
    subject. For a row with `members` it is only the name, since another member may be the worst later.

    Colons separate the words of an id, so spaces, colons and ``%`` in names are quoted as in a URL.
    """
    from msgspec.structs import replace

    if claim.members:
        return claim.cause
    given = claim.subject
    names = {name: _quoted(value) for name in _NAMES if (value := getattr(given, name)) is not None}
    subject = replace(given, **names)
    rest = (clean(each) for each in (subject.entity, subject.key, subject.change) if each is not None)
    return ":".join(filter(None, (claim.cause, subject_text(subject), *rest))).replace(" ", ":")


def member_ids(claim: Claim) -> frozenset[str]:
    """Return the ids that a mute of a cause covers: those of its present members. A member that is added later is not
    muted.
    """
    return frozenset(map(cause_id, claim.members or (claim,)))


_NAMES = ("topic", "group", "rack", "dir", "listener", "connector", "entity", "key")
"""The fields of a subject whose texts are names that users gave."""
_QUOTED = re.compile(r"[\s:%]")


def _quoted(name: str) -> str:
    return _QUOTED.sub(lambda match: f"%{ord(match[0]):02X}", name)


def alarms(verdict: Verdict, muted: Mapping[str, datetime]) -> int:
    """Return the number of rows that count as trouble: certain causes, and symptoms without a cause, that are not
    muted.
    """
    return sum(row.counts for row in cause_rows(verdict, muted))


def subject_text(subject: Subject) -> str:
    """Return the entity that a cause is about, in a few words; ``""`` for the whole cluster."""
    if subject.group is not None:
        where = f" {_topic_text(subject)}" if subject.topic is not None else ""
        return f"group {clean(subject.group)}{where}"
    if subject.connector is not None:
        task = f" task {subject.task}" if subject.task is not None else ""
        return f"connector {clean(subject.connector)}{task}"
    if subject.topic is not None:
        return _topic_text(subject)
    if subject.rack is not None:
        return f"rack {clean(subject.rack)}"
    if subject.listener is not None:
        return f"broker {subject.broker} {clean(subject.listener)}"
    if subject.broker is not None:
        return f"broker {subject.broker}" + (f" {clean(subject.dir)}" if subject.dir is not None else "")
    return ""


def _topic_text(subject: Subject) -> str:
    topic = clean(subject.topic or "")
    return f"topic {topic}" if subject.partition is None else partition(topic, subject.partition)


def since_text(claim: Claim) -> str:
    """Return since when a cause exists, and how often it occurred if more than once."""
    since = f"since {clock(claim.since)}" if claim.since is not None else "since before the first look"
    return f"{since}, {claim.times} times" if claim.times > 1 else since


def facts(named: Named) -> Iterator[tuple[str, str]]:
    """Yield (label, text) for each piece of evidence of a cause, and for the symptoms that it explains."""
    for fact, source in named.claim.evidence:
        yield "evidence", f"{clean(fact, 300)} ({source})"
    if named.explains:
        yield "explains", explained(named)


def explained(named: Named) -> str:
    """Return the number of symptoms of each name that a cause explains, and at most two examples of entities that
    have such symptoms, other than the subject of the cause.
    """
    counts = ", ".join(f"{count:,} {name}" for name, count in named.explains.items())
    others = [text for each in named.examples if each != named.claim.subject and (text := subject_text(each))]
    return f"{counts}, as {', '.join(others[:2])}" if others else counts


def sureness(claim: Claim) -> str:
    """Return the certainty of a cause as a word; ``seen`` for a symptom without a cause."""
    return "seen" if claim.cause.startswith(UNEXPLAINED) else claim.certainty.value


def _severity(claim: Claim) -> tuple[str, str]:
    severity = claim.severity
    if claim.is_guess:
        return f"  {WORDS[severity]}", "muted"
    return ("! " if severity in _ALARMING else "  ") + WORDS[severity], _MEANINGS[severity]


CAUSES: Columns[CauseRow] = Columns(
    Column(
        "severity",
        title="",
        cell=lambda row: (MUTED, "muted") if row.muted else _severity(row.claim),
        layout=on_screen(6, "  Sev", priority=95),
    ),
    Column(
        "since",
        title="",
        cell=lambda row: (
            clock(row.claim.since or row.first) or AT_FIRST,
            "muted" if row.muted or not row.claim.since else "",
        ),
        layout=on_screen(8, priority=60),
    ),
    Column(
        "sure",
        title="",
        cell=lambda row: (sureness(row.claim), "muted" if row.muted or row.claim.is_guess else ""),
        layout=on_screen(8, priority=93),
    ),
    Column(
        "what",
        title="",
        cell=lambda row: (clean(row.claim.title, 200), "muted" if row.muted or row.claim.is_guess else ""),
        layout=on_screen((20, None), flex=1, priority=100),
    ),
    Column(
        "times",
        title="",
        cell=lambda row: str(row.claim.times) if row.claim.times > 1 else "",
        layout=on_screen(5, align="right", priority=70),
    ),
    views=SHOWN,
)


class Staging(NamedTuple):
    """The effect of the key that stages the next step of a cause."""

    text: str
    command: str
    """The statements that the key stages, or opens the command bar with."""
    is_change: bool
    """Whether the key stages the statements of `command`. If it is False, the statements only show something, and
    the key opens the command bar with them.
    """
    risks: Sequence[str] = ()
    """The risks of the edits, one text each."""
    others: Sequence[str] = ()
    """Texts about alternatives, and about later steps."""
    refused: str = ""
    """The reason why the plan would refuse the edits now; ``""`` if it would not."""


def details(row: CauseRow, verdict: Verdict, staging: Staging | None, width: int, most_lines: int = 1) -> list[Line]:
    """Return the details of a cause: its title, the next steps, the evidence, and lines about ruled-out and unknowable
    causes.

    Args:
        row: the cause.
        verdict: has the other causes, those ruled out, and those that can't be known.
        staging: the effect of the key that stages a step; None if no step can be staged.
        width: the width of the lines, in cells.
        most_lines: the maximum number of lines about ruled-out causes, and of those about unknowable ones.
    """
    claim = row.claim
    lines: list[Line] = [[(clean(claim.title, 200), "")], *_step_lines(claim, staging)]
    first, *rest = claim.evidence
    sure, fact = sureness(claim), clean(first.fact, 300)
    gap = " " * max(2, width - cell_width(sure) - cell_width(fact))
    lines.append([(fact, ""), (gap, ""), (sure, "strong")])
    lines += [[(clean(each.fact, 300), "")] for each in rest[:MOST_FACTS]]
    if len(rest) > MOST_FACTS:
        lines.append([(f"and {len(rest) - MOST_FACTS} more: y copies them all", "muted")])
    if row.named.explains:
        lines.append(_labelled("Explains", explained(row.named)))
    left = left_over(row.named, verdict)
    lines += [_labelled("Left over", clean(each, 200)) for each in left[:MOST_LEFT_OVER]]
    if claim.since is None and row.first is not None:
        lines.append(_labelled("Since", f"unknown: first seen {clock(row.first)}"))
    if row.muted is not None:
        lines.append(_labelled("Muted", f"until {clock(row.muted)}; m counts it again"))
    room = max(20, most_lines * width - LABEL)
    if verdict.ruled_out:
        ruled = "; ".join(f"{each.cause} ({clean(each.why, 120)})" for each in verdict.ruled_out)
        lines.append(_labelled("Ruled out", fit(ruled, room)))
    if verdict.unknowable:
        lines.append(
            _labelled("Unknowable", fit("; ".join(clean(each.what, 200) for each in verdict.unknowable), room))
        )
    return lines


def _step_lines(claim: Claim, staging: Staging | None) -> Iterator[Line]:
    """Yield lines about the step that the key stages (`staging_lines`), and a line with the steps outside of Kafka."""
    if staging is not None:
        yield from staging_lines(staging)
    outside = "; ".join(step.text for step in claim.next if not step.command and not step.edits)
    if outside:
        yield _labelled("Look at", clean(outside.removeprefix("look at "), 300))


def staging_lines(staging: Staging) -> Iterator[Line]:
    """Yield lines about the effect of the key that stages a step: the commands, why they would be refused, their risks,
    and the other steps.
    """
    word = "F stages" if staging.is_change else "F opens"
    yield [*_labelled(word, clean(staging.text, 200)), (f": {staging.command}", "strong")]
    if staging.refused:
        yield [(" " * LABEL, ""), ("refused: ", "failed"), (clean(staging.refused, 300), "")]
    for risk in staging.risks:
        yield [(" " * LABEL, ""), ("risk: ", "failed"), (clean(risk, 200), "")]
    yield from (_labelled("Or", clean(each, 200)) for each in staging.others[:MOST_OTHERS])


def left_over(named: Named, verdict: Verdict) -> list[str]:
    """Return the titles of other causes on the same broker, topic or group: they may remain after this cause is
    fixed.
    """
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
    return [(f"{label:<{LABEL}}", "muted"), (text, "")]


def counts(verdict: Verdict, muted: Mapping[str, datetime]) -> Line:
    """Return a line with the number of troubles, in total and by severity, the numbers of possible and of muted ones,
    and the parts of the snapshot that were not read.

    Args:
        muted: id of a cause -> the end of its mute, UTC.
    """
    rows = cause_rows(verdict, muted)
    total = sum(row.counts for row in rows)
    guesses = sum(row.muted is None and row.claim.is_guess for row in rows)
    text = plural(total, "trouble") if total else "no trouble"
    if guesses:
        text = f"{total or 'none'} sure, {guesses} possible"
    line: Line = [(text, "strong" if total or guesses else "muted")]
    if verdict.blind:
        line = [(f"{part_names(verdict.blind)} unknown", "failed")] + (
            [(f"  {text}", "strong")] if total or guesses else []
        )
    elif verdict.unread:
        few = len(verdict.unread) <= FEW_PARTS
        parts = part_names(verdict.unread) if few else plural(len(verdict.unread), "part")
        line.append((f"  {parts} unknown", "pending"))
    for severity, word in _COUNTED.items():
        if count := sum(row.counts and row.claim.severity == severity for row in rows):
            line.append((f"  {count} {word}", _MEANINGS[severity]))
    if count := sum(row.muted is not None for row in rows):
        line.append((f"  {count} muted", "muted"))
    return line


def watched(observations: Observations) -> Line:
    """Return a line with the time at which observation began. It is a time, not an age, so that an idle screen stays
    unchanged.
    """
    return [(f"watched since {clock(observations.began)}", "muted")]


def part_names(parts: Sequence[str]) -> str:
    """Return the names of parts of a snapshot as text for people."""
    return ", ".join(about(part).noun for part in parts)


def polling_text(snapshot: Snapshot) -> str:
    """Return the text before the first verdict: the counts that are known, and the read under way."""
    if Part.CLUSTER not in snapshot.read_at:
        return "looking at the cluster…"
    if snapshot.cluster.controllers:
        return f"{plural(len(snapshot.cluster.controllers), 'controller')}; looking at what stands still…"
    known = [plural(len(snapshot.cluster.brokers), "broker")]
    known += [plural(_own_topics(snapshot), "topic")] if Part.TOPICS in snapshot.read_at else []
    return f"{', '.join(known)}; looking at what is wrong with them…"


def _own_topics(snapshot: Snapshot) -> int:
    """Return the number of topics without internal ones; the header shows the same number."""
    return sum(not topic.internal for topic in snapshot.topics.values())


def healthy_text(observations: Observations) -> str:
    """Return the text for a cluster without trouble: the parts of the snapshot that were read, those still being read,
    and those that can't be read, with the reason.
    """
    from console.triage.unread import UNSUPPORTED, unread_parts

    snapshot, unread = observations.last.snapshot, observations.last.unread
    gaps = unread_parts(observations.last).difference(unread)
    failed = gaps.union(each.part for each in snapshot.failures if each.failure.name == UNSUPPORTED)
    counted = {
        Part.CLUSTER: len(snapshot.cluster.brokers),
        Part.TOPICS: _own_topics(snapshot),
        Part.GROUPS: len(snapshot.groups),
    }
    names = {part: plural(count, part.about.entity) for part, count in counted.items()}
    named: tuple[Part, ...] = (Part.QUORUM, Part.LOG_DIRS, Part.REASSIGNMENTS, Part.CONFIGS)
    if snapshot.cluster.controllers:  # controllers know only themselves and the quorum
        names, named = {Part.CLUSTER: plural(len(snapshot.cluster.controllers), "controller")}, (Part.QUORUM,)
    names |= {part: part.noun for part in named}
    read = [name for part, name in names.items() if part not in failed and part not in unread]
    if unread:
        text = f"nothing wrong so far with {', '.join(read)}; still looking at {part_names(unread)}"
    else:
        *most, last = read or ["nothing"]
        calm = f"{', '.join(most)} and {last} were looked at" if most else f"{last} was looked at"
        text = calm if gaps else f"healthy: {calm}"
    return "\n".join([text, *(_unread_line(snapshot, part) for part in names if part in failed)])


def _unread_line(snapshot: Snapshot, part: str) -> str:
    """Return a line about a part of the snapshot that could not be read, with the reason: ``unknown topics: …``."""
    why = next((str(each.failure) for each in snapshot.failures if each.part == part), "not answered")
    return f"unknown {part_names((part,)).removeprefix('the ')}: {clean(why, 300)}"
