"""The rows that the console showed during a night or its twin, collected from the verdicts of all polls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from console.admin.errors import AdminError
from console.answers.triage import step_command
from console.model.failure import sentences
from console.model.severity import Certainty, Severity
from console.present.triage import CauseRow, cause_rows, facts, part_names, subject_text
from console.session.snapshot_reader import Refused
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict

INFO, POSSIBLE = Severity.INFO.value, Certainty.POSSIBLE.value
NIGHT, TWIN = "night", "twin"
LONGEST = 1200
"""Maximum number of characters stored of a row."""
MOST_PROPOSALS = 12
MOST_LINES = 100
_NUMBER = re.compile(r"\d[\d.,:]*")


class Proposal(Struct, frozen=True, array_like=True):
    """A step that a row proposes. statement: kac's statement that the key F, or a later key, stages or shows; ``""``
    for a step outside of Kafka.
    """

    text: str
    statement: str

    def __str__(self) -> str:
        return f"{self.text}: {self.statement}" if self.statement else self.text


class Row(Struct, frozen=True, kw_only=True):
    """A row of the verdict, as the console shows it.

    Attributes:
        text: title, subject and evidence, as in the last poll with the row.
        first, last: seconds from the call of `Begin` to the first and the last poll with the row. If only numbers
        change, or the row explains more symptoms, it stays the same row; with another severity, certainty, evidence or
        step it is a new row.
        polls: the number of polls with the row.
    """

    severity: str
    certainty: str
    subject: str
    text: str
    proposals: tuple[Proposal, ...]
    first: float
    last: float
    polls: int = 1

    @property
    def title(self) -> str:
        """The first line of the text."""
        return self.text.partition("\n")[0]

    @property
    def whole(self) -> str:
        """The text followed by the row's advice and statements."""
        return "\n".join([self.text, *map(str, self.proposals)])

    @property
    def is_trouble(self) -> bool:
        """Whether the row's severity is above info, so that it counts for the score."""
        return self.severity != INFO

    @property
    def is_sure(self) -> bool:
        """Whether the row's certainty is above possible."""
        return self.certainty != POSSIBLE


class Line(Struct, frozen=True, kw_only=True):
    """A line of the verdict about a fact that can't be known or could not be read, with the place to look. first, last:
    as in `Row`.
    """

    text: str
    first: float
    last: float


class Half(Struct, frozen=True, kw_only=True):
    """The rows and lines that the console showed during a night or its twin.

    Attributes:
        slug: name of the night's module. half: ``night`` or ``twin``. version: of the brokers, such as ``4.3.0``.
        until: seconds from the call of `Begin` to the last poll. begun: seconds from the call of `Begin` to its return.
        began_ms: the time of the call of `Begin`, in ms since 1970.
        load: the load average at the end. commit: of the rules.
    """

    slug: str
    half: str
    version: str
    rows: tuple[Row, ...]
    lines: tuple[Line, ...]
    until: float
    begun: float
    began_ms: int
    load: float = 0.0
    commit: str = ""

    def standing(self) -> Iterator[Row]:
        """Yield the rows of the last poll."""
        return (row for row in self.rows if row.last >= self.until)

    def standing_lines(self) -> Iterator[str]:
        """Yield the texts of the lines of the last poll."""
        return (line.text for line in self.lines if line.last >= self.until)


class Said:
    """Collects the rows and lines of verdicts. Their times are seconds since 1970 here; `half` makes them relative."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, ...], Row] = {}
        self._lines: dict[str, Line] = {}
        self.until = 0.0

    def add(self, verdict: Verdict, _observations: Any = None) -> None:
        """Add the rows and lines of a verdict."""
        at = self.until = verdict.at.timestamp()
        for row in cause_rows(verdict, {}):
            self._add_row(_written(row, at), row.claim)
        for hidden in verdict.unknowable:
            self._add_line(sentences(hidden.what, hidden.where), at)
        if verdict.blind:
            self._add_line(f"unknown: {part_names(verdict.blind)} could not be read", at)

    def lose(self, error: AdminError | Refused, at: float) -> None:
        """Add the row that the console shows if no broker answers. at: seconds since 1970."""
        self.until = at
        text = f"no broker answers\n{error.failure}"
        certain, critical = Certainty.CERTAIN.value, Severity.CRITICAL.value
        advice = (Proposal(error.failure.remedy, ""),) if error.failure.remedy else ()
        row = Row(severity=critical, certainty=certain, subject="", text=text, proposals=advice, first=at, last=at)
        self._add_row(row, None)

    def half(self, began_ms: int, **more: Any) -> Half:
        """Return the collected rows and lines, with times as seconds from `began_ms` (ms since 1970). more: the other
        attributes of a `Half`.
        """
        began = began_ms / 1000

        def shifted(each: Any) -> Any:
            return replace(each, first=round(each.first - began, 1), last=round(each.last - began, 1))

        return Half(
            rows=tuple(map(shifted, self._rows.values())),
            lines=tuple(map(shifted, self._lines.values())),
            until=round(self.until - began, 1),
            began_ms=began_ms,
            **more,
        )

    def _add_row(self, row: Row, claim: Claim | None) -> None:
        facts_of_it = " ".join(each.fact for each in claim.evidence) if claim is not None else ""
        steps = " ".join(each.text + each.statement for each in row.proposals)
        told = _NUMBER.sub("#", f"{row.title} {facts_of_it} {steps}")
        key = (row.severity, row.certainty, row.subject, told)
        known = self._rows.get(key)
        self._rows[key] = row if known is None else replace(row, first=known.first, polls=known.polls + 1)

    def _add_line(self, text: str, at: float) -> None:
        first = self._lines[text].first if text in self._lines else at
        if text in self._lines or len(self._lines) < MOST_LINES:
            self._lines[text] = Line(text=text, first=first, last=at)


def _written(row: CauseRow, at: float) -> Row:
    claim = row.claim
    subject = subject_text(claim.subject)
    text = "\n".join([claim.title, *([subject] if subject else []), *(fact for _, fact in facts(row.named))])
    return Row(
        severity=claim.severity.value,
        certainty=claim.certainty.value,
        subject=subject,
        text=text[:LONGEST],
        proposals=tuple(Proposal(step.text, step_command(step)) for step in claim.next[:MOST_PROPOSALS]),
        first=at,
        last=at,
    )
