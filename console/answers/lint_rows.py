"""The findings of lint as rows of a pane, and as a single row in the pane *Now*, which lists causes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from console.answers.lint import in_vain, mended_by, remedy
from console.lint.report import Finding, Report
from console.lint.rule import Rule
from console.model.changes import Target
from console.model.severity import Certainty, Severity
from console.present import triage as present_triage
from console.present.columns import SHOWN, Column, Columns, on_screen
from console.present.names import plural, target
from console.present.text import Cell, Line, clean
from console.triage.cause import Claim, Evidence, Next
from console.triage.diagnosis import Named
from console.triage.symptoms import CLUSTER

_KAFKA = "kafka.apache.org/documentation/#"
MOST_BLIND = 3
"""The details of a finding list at most this many reasons why rules could not run."""


class LintRow(NamedTuple):
    """A finding of lint as a row of a pane."""

    finding: Finding
    number: int = 0
    """The number of the finding among the findings of its rule with the same subject and key, since a broker may have
    several directories.
    """

    @property
    def key(self) -> tuple[str, Target, str, int]:
        """The identity of the finding; it is the same in each run of lint."""
        found = self.finding.found
        return self.finding.rule.name, found.subject, found.key, self.number

    @property
    def accepted(self) -> bool:
        """Whether an operator has accepted the finding."""
        return self.finding.accepted is not None

    @property
    def next(self) -> tuple[Next, ...]:
        """The remedy as steps whose edits a key of the screen stages; empty if there is none."""
        found = self.finding.found
        command = remedy(found)[0] if found.command else ""
        text = found.advice if found.advice and not (found.edits or command) else "mend it"
        return (Next(text, command, found.edits),)


def lint_rows(report: Report) -> list[LintRow]:
    """Return the findings that are not accepted, the most severe first, followed by the accepted ones."""
    counts: Counter[tuple[str, Target, str]] = Counter()
    rows: list[LintRow] = []
    for each in report.findings:
        place = each.rule.name, each.found.subject, each.found.key
        rows.append(LintRow(each, counts[place]))
        counts[place] += 1
    return sorted(rows, key=lambda row: row.accepted)


def _colour(row: LintRow, otherwise: str = "") -> str:
    return "muted" if row.accepted or row.finding.rule.certainty is Certainty.POSSIBLE else otherwise


def _severity(row: LintRow) -> Cell:
    if row.accepted:
        return "  ok", "muted"
    severity = row.finding.severity
    sign = "! " if severity in (Severity.CRITICAL, Severity.HIGH) else "  "
    meaning = {Severity.CRITICAL: "danger", Severity.HIGH: "failed", Severity.WARNING: "pending"}.get(severity, "muted")
    return f"{sign}{present_triage.WORDS[severity]}", _colour(row, meaning)


LINT: Columns[LintRow] = Columns(
    Column("severity", title="", cell=_severity, layout=on_screen(6, "  Sev", priority=95)),
    Column("sure", cell=lambda row: (row.finding.rule.certainty.value, _colour(row)), layout=on_screen(8, priority=60)),
    Column(
        "subject",
        cell=lambda row: (clean(target(row.finding.found.subject), 200), _colour(row, "strong")),
        layout=on_screen((20, 34), priority=98),
    ),
    Column(
        "what",
        cell=lambda row: (clean(row.finding.found.what, 300), _colour(row)),
        layout=on_screen((24, None), flex=3, priority=100),
    ),
    Column(
        "remedy",
        cell=lambda row: (clean(_answer(row.finding), 300), _colour(row)),
        layout=on_screen((30, None), "To mend it", flex=2, priority=50),
    ),
    views=SHOWN,
)


def _answer(finding: Finding) -> str:
    by = finding.accepted
    return mended_by(finding.found) if by is None else f"accepted: {by.reason}"


def lint_details(row: LintRow, report: Report, staging: present_triage.Staging | None) -> list[Line]:
    """Return the details of a finding, its title first, and the rules that could not run.

    Args:
        report: the report that contains the finding.
        staging: the edits that the key for the remedy would stage; None if there is no remedy.
    """
    rule, found, by = row.finding
    lines: list[Line] = [[(f"{rule.name}: {rule.title}", "")], [(clean(found.what, 400), "")]]
    if by is not None:
        lines.append(_labelled("Accepted", f"{by.reason}{f' ({by.place})' if by.place else ''}"))
    if staging is not None:
        lines += present_triage.staging_lines(staging)
    if found.advice:
        lines.append(_labelled("Or" if staging is not None else "To mend it", found.advice))
    lines.append(_labelled("Why", rule.why))
    lines.append(_labelled("Source", source_text(rule)))
    return [*lines, *_blind_lines(report)]


def source_text(rule: Rule) -> str:
    """Return a text with the place in Kafka's documentation or code on which a rule is based, and the release of Kafka
    from which on it applies.
    """
    # The source is an anchor in Kafka's documentation, a KIP, or a name in Kafka's source code.
    is_anchor = not rule.source.startswith("KIP-") and not rule.source[0].isupper()
    return f"{_KAFKA if is_anchor else ''}{rule.source}{f'; from Kafka {rule.since} on' if rule.since else ''}"


def _blind_lines(report: Report) -> Iterator[Line]:
    for each in report.blind[:MOST_BLIND]:
        yield _labelled("No look by", f"{', '.join(each.rules)}: {each.why}")
    if more := report.blind[MOST_BLIND:]:
        yield _labelled("", f"and {plural(sum(len(each.rules) for each in more), 'rule')} more")


def _labelled(label: str, text: str) -> Line:
    return [(f"{label:<{present_triage.LABEL}}", "muted"), (clean(text, 600), "")]


def lint_counts(report: Report) -> Line:
    """Return the numbers of findings by severity, of accepted findings, and of the rules that ran, as a line."""
    line: Line = []
    for severity, count in report.counts:
        meaning = {Severity.CRITICAL: "danger", Severity.HIGH: "failed", Severity.WARNING: "pending"}
        line.append((f"{count:,} {severity.value}  ", meaning.get(severity, "muted")))
    if accepted := len(report.findings) - len(report.open):
        line.append((f"{accepted:,} accepted  ", "muted"))
    looked = f"{report.looked} of {len(report.rules)} rules looked"
    return [*line, (looked, "pending" if report.blind else "muted")]


def nothing_found(report: Report, missing: Sequence[str]) -> str:
    """Return the text of a pane without findings: how many rules ran, and which could not run.

    Args:
        missing: lines on entities that were not read (`report.partly`).
    """
    blind = [f"{', '.join(each.rules)} ({each.why})" for each in report.blind]
    lines = [f"{plural(report.looked, 'rule')} looked, none found anything"]
    if blind:
        lines.append(f"{len(report.rules) - report.looked} could not look: {'; '.join(blind)}")
    return "\n".join([*lines, *missing, *map(in_vain, report.unused)])


def now_row(report: Report, muted: Mapping[str, datetime]) -> present_triage.CauseRow | None:
    """Return the row of the pane *Now* with the number of findings, without those that the pane shows as causes; None
    if no findings are left.

    Args:
        muted: cause id -> the end of its mute.
    """
    open_ = [each for each in report.open if not each.rule.stands(each.found)]
    if not open_:
        return None
    info = f"{plural(len(open_), 'finding')}"
    counts = Counter(each.severity for each in open_)
    serious = ", ".join(f"{counts[each]:,} {each.value}" for each in Severity if counts[each] and each != Severity.INFO)
    rules = Counter(each.rule.name for each in open_)
    some = ", ".join(f"{name} ({count:,})" if count > 1 else name for name, count in rules.items())
    blind = len(report.rules) - report.looked
    unseen = f"; {plural(blind, 'rule')} could not look" if blind else ""
    claim = Claim(
        cause=present_triage.LINT_ROW,
        subject=CLUSTER,
        severity=Severity.INFO,
        certainty=Certainty.CERTAIN,
        title=f"lint: {info}, {serious}" if serious else f"lint: {info}",
        evidence=(Evidence(f"{some}{unseen}", "kac lint"),),
    )
    return present_triage.CauseRow(Named(claim, {}), muted.get(present_triage.cause_id(claim)))
