"""A verdict of triage as text for a terminal, and as the JSON of ``kac triage --output json``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from console.language.interpret import command_of
from console.model.failure import sentences
from console.model.grouping import grouped
from console.model.numbers import Data
from console.present.names import plural
from console.present.text import clean
from console.present.triage import cause_id, facts, part_names, since_text, subject_text
from console.triage.cause import Next
from console.triage.diagnosis import Named, Verdict
from console.triage.symptoms import Subject

MOST_COMMANDS = 8
"""Maximum number of next steps that the text lists for a cause."""
LINE = 80
"""Maximum width in cells of a line that contains both a step and its command."""
HEALTHY, UNKNOWN, NAMED, UNEXPLAINED = 0, 1, 4, 5
"""Exit codes: no symptoms; no symptoms, but parts that could hide some were not read; every symptom has a cause; some
symptoms have no cause."""


def exit_code(verdict: Verdict) -> int:
    """Return the exit code of ``kac triage``: `UNEXPLAINED` if a symptom has no cause; else `NAMED` if there are
    causes; else `UNKNOWN` if a part was not read; else `HEALTHY`.
    """
    if verdict.unexplained:
        return UNEXPLAINED
    if not verdict.is_calm:
        return NAMED
    return UNKNOWN if verdict.unread else HEALTHY


# -- text --------------------------------------------------------------------------------------------------------------


def text_lines(verdict: Verdict, watched: float) -> Iterator[str]:
    """Yield the lines of the verdict for a terminal. watched: seconds from the first to the last poll."""
    if verdict.unread:
        yield f"unknown: {part_names(verdict.unread)} could not be read"
    # Only without blind parts does the absence of symptoms prove anything.
    if verdict.is_calm and not verdict.blind:
        nothing = f"no {'trouble' if verdict.causes else 'symptom'} in {plural(round(watched), 'second')}"
        yield f"{'in what was read' if verdict.unread else 'healthy'}: {nothing}"
    for named in verdict.causes:
        yield from _cause_lines(named)
    for each in verdict.unexplained:
        yield f"UNEXPLAINED  {each.symptom}: {each.count:,} ({_subjects(each.examples)})"
        yield from (f"  {'evidence':<10} {clean(f'{one.fact} ({one.source})', 400)}" for one in each.leads.evidence)
        yield from (f"  next       {clean(one.text, 200)}" for one in each.leads.next)
    for ruled in verdict.ruled_out:
        yield f"ruled out    {ruled.cause}: {ruled.why}"
    by_place = grouped((hidden.where, clean(hidden.what, 300)) for hidden in verdict.unknowable)
    for where, what in by_place.items():
        yield f"unknown      {sentences('; '.join(what), clean(where, 200))}"


def _cause_lines(named: Named) -> Iterator[str]:
    claim = named.claim
    yield f"{claim.severity.value.upper():<12} {clean(claim.title, 200)}"
    yield f"  {claim.cause}, {claim.certainty.value}, {since_text(claim)}"
    for label, text in facts(named):
        yield f"  {label:<10} {text}"
    commands = [line for step in claim.next for line in _next_lines(step)]
    yield from commands[:MOST_COMMANDS]
    if len(commands) > MOST_COMMANDS:
        yield f"             and {len(commands) - MOST_COMMANDS} more"


def _next_lines(step: Next) -> Iterator[str]:
    """Yield a line for the step, and one line for each of its edits after the first."""
    first, *more = [clean(step.command, 400)] if step.command else [command_of(each) for each in step.edits] or [""]
    line = f"  next       {clean(step.text, 200)}"
    # A command is to be copied: if both do not fit into one line, put the command on its own line below the step.
    if first and len(line) + len(first) + 2 <= LINE:
        line, first = f"{line}: {first}", ""
    yield f"{line}:" if first else line
    yield from (f"             {each}" for each in (first, *more) if each)


def step_command(step: Next) -> str:
    """Return the statements of a step as text; ``""`` for a step that is not done in Kafka."""
    return clean(step.command, 400) if step.command else "; ".join(command_of(edit) for edit in step.edits)


def step_in_short(step: Next) -> str:
    """Return a step's statements for one line of the screen: the first of several edits, and the number of others."""
    if len(step.edits) < 2:
        return step_command(step)
    return f"{command_of(step.edits[0])}; and {len(step.edits) - 1} more"


def _subjects(subjects: tuple[Subject, ...]) -> str:
    return ", ".join(subject_text(each) for each in subjects)


def markdown(verdict: Verdict, watched: float) -> str:
    """Return the verdict as a report in Markdown: the same lines as `text_lines` yields, under headings. watched:
    seconds from the first to the last poll.
    """
    lines = [f"# Kafka: {_heading(verdict)}, {moment(verdict.at)}", ""]
    lines += (
        f"- {line.strip()}" if line.startswith(" ") else f"\n## {' '.join(line.split())}\n"
        for line in text_lines(verdict, watched)
    )
    return "\n".join(lines) + "\n"


def _heading(verdict: Verdict) -> str:
    if verdict.is_healthy:
        return "healthy"
    return "unknown" if verdict.is_calm else "what is wrong"


# -- JSON --------------------------------------------------------------------------------------------------------------


def verdict_data(verdict: Verdict, lost: str = "", now: datetime | None = None) -> dict[str, Data]:
    """Return the JSON object of a verdict. Its fields are a contract with users: their meanings never change.

    Args:
        lost: the reason why no broker has responded since the verdict; ``""`` if brokers respond.
        now: the time that the object gives, UTC; None for the time of the verdict.
    """
    at = moment(verdict.at)
    return {
        "v": 1,
        "at": at if now is None else moment(now),
        "healthy": verdict.is_healthy and not lost,
        "lost": lost or None,
        "unread": list(verdict.unread),
        "causes": [cause_data(named, at) for named in verdict.causes],
        "unexplained": [
            {
                "symptom": each.symptom,
                "count": each.count,
                "examples": [_subject(one) for one in each.examples],
                "evidence": [{"fact": one.fact, "source": one.source, "at": at} for one in each.leads.evidence],
                "next": [{"text": one.text, "command": step_command(one)} for one in each.leads.next],
            }
            for each in verdict.unexplained
        ],
        "ruled_out": [{"cause": each.cause, "why": each.why} for each in verdict.ruled_out],
        "unknowable": [{"what": each.what, "where": each.where} for each in verdict.unknowable],
    }


def cause_data(named: Named, at: str) -> dict[str, Data]:
    """Return the JSON object of a cause. at: the time of the poll, as text."""
    claim = named.claim
    return {
        "id": cause_id(claim),
        "cause": claim.cause,
        "subject": _subject(claim.subject),
        "severity": claim.severity.value,
        "certainty": claim.certainty.value,
        "since": moment(claim.since) if claim.since is not None else None,
        "times": claim.times,
        "evidence": [{"fact": each.fact, "source": each.source, "at": at} for each in claim.evidence],
        "explains": dict(named.explains),
        "examples": [_subject(each) for each in named.examples],
        "next": [{"text": each.text, "command": step_command(each)} for each in claim.next],
    }


def _subject(subject: Subject) -> dict[str, Data]:
    found: dict[str, Data] = msgspec.to_builtins(subject)
    return found


def moment(at: datetime) -> str:
    """Return a time as text in the form of the JSON output, in UTC."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
