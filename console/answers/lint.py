"""A report of lint as text for a terminal, as JSON, and as JUnit's XML for continuous integration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING

from console.answers.results import Column, Detail, Row, Table
from console.language.interpret import command_of
from console.language.quoting import as_typed
from console.lint.acceptance import Acceptance
from console.lint.report import Finding, Report
from console.lint.rule import Found
from console.lint.rules import BY_NAME, SUBJECTS
from console.model.grouping import grouped
from console.model.numbers import Data
from console.model.severity import Severity
from console.present import names
from console.present.text import clean

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PAGE = "docs/lint.md"
_ANCHORS = {rule.name: subject.lower().replace(" ", "-") for subject, rules in SUBJECTS for rule in rules}
MOST = 10
"""Maximum number of findings that the text shows for each rule, unless it is about a single rule."""
_LONGEST = 400
_COLUMNS = tuple(map(Column, ("Where", "What", "To mend it")))


def remedy(found: Found) -> tuple[str, ...]:
    """Return the statements of kac's language that correct a finding, each for `kac run -e`; empty if there are
    none.
    """
    if found.command:
        return (" ".join(map(as_typed, found.command)),)
    return tuple(command_of(edit) for edit in found.edits)


def mended_by(found: Found) -> str:
    """Return the remedy of a finding as one line: the first statement and the number of further ones; the rule's
    advice if the remedy has no statement.
    """
    first, *more = remedy(found) or (found.advice,)
    return f"{first}; and {len(more)} more" if more else first


# -- text --------------------------------------------------------------------------------------------------------------


Where = Callable[[Found], str]
"""A function from a finding to the file and line of its subject; ``""`` if no file lists the subject."""


def report_detail(report: Report, missing: Sequence[str], where: Where, *, whole: bool) -> Detail:
    """Return the report for a terminal: a table for each rule that has findings.

    Args:
        missing: lines on entities that were not read.
        where: a function from a finding to its place in files.
        whole: whether all findings are listed; else the first `MOST` of each rule.
    """
    parts = {name: _table([*found], where, whole=whole) for name, found in _by_rule(report)}
    lines = [
        *(f"did not look: {', '.join(each.rules)} ({each.why})" for each in report.blind),
        *missing,
        *map(in_vain, report.unused),
    ]
    return Detail(heading(report), {}, tuple(lines), parts)


def heading(report: Report) -> str:
    """Return a line with the numbers of findings by severity, of accepted findings, and of the rules that could run."""
    by_severity = ", ".join(f"{count:,} {severity.value}" for severity, count in report.counts)
    total = f"{names.plural(len(report.open), 'finding')}: {by_severity}" if by_severity else "no finding"
    accepted = len(report.findings) - len(report.open)
    some = f"; {accepted:,} accepted" if accepted else ""
    return f"{total}{some}; {report.looked} of {names.plural(len(report.rules), 'rule')} looked"


def _by_rule(report: Report) -> Iterator[tuple[str, Iterator[Finding]]]:
    yield from groupby(report.findings, key=lambda each: each.rule.name)


def in_vain(acceptance: Acceptance) -> str:
    """Return a line that says that an acceptance matches no finding."""
    what = f"{acceptance.rule} on {acceptance.subject} ({acceptance.place})"
    if acceptance.rule not in BY_NAME:
        return f"accepted in vain: {what}: there is no such rule{did_you_mean(acceptance.rule)}"
    return f"accepted in vain: {what}: nothing is found there any more; it stood because: {acceptance.reason}"


def did_you_mean(name: str) -> str:
    """Return a text that suggests the rule with a similar name; ``""`` if no name is similar."""
    near = get_close_matches(name, BY_NAME, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _subject(found: Found, where: Where) -> str:
    at = where(found)
    return names.target(found.subject) + (f" ({at})" if at else "")


def _table(findings: Sequence[Finding], where: Where, *, whole: bool) -> Table:
    rule = findings[0].rule
    shown = findings if whole else findings[:MOST]
    rows = tuple(Row((_subject(each.found, where), each.found.what, _answer(each)), {}) for each in shown)
    left = len(findings) - len(shown)
    notes = (f"and {left:,} more: --rule {rule.name} lists them all",) if left else ()
    worst = min((each.severity for each in findings), key=[*Severity].index)
    title = f"{worst.value.upper()} {rule.name} ({rule.certainty.value}): {rule.why}"
    return Table(rule.name, _COLUMNS, rows, title, notes=notes)


def _answer(finding: Finding) -> str:
    if finding.accepted is not None:
        return f"accepted: {finding.accepted.reason}"
    return mended_by(finding.found)


# -- JSON --------------------------------------------------------------------------------------------------------------


def report_data(report: Report, missing: Sequence[str], where: Where) -> dict[str, Data]:
    """Return the report as a JSON object. missing: lines on entities that were not read."""
    return {
        "findings": [{**finding_data(each), "place": where(each.found) or None} for each in report.findings],
        "did_not_look": [{"rules": list(each.rules), "why": each.why} for each in report.blind],
        "not_read": list(missing),
        "accepted_in_vain": [
            {"rule": each.rule, "subject": each.subject, "reason": each.reason, "place": each.place}
            for each in report.unused
        ],
        "rules": [rule.name for rule in report.rules],
    }


def finding_data(finding: Finding) -> dict[str, Data]:
    """Return a finding as a JSON object."""
    rule, found, by = finding
    return {
        "rule": rule.name,
        "severity": finding.severity.value,
        "certainty": rule.certainty.value,
        "subject": names.target(found.subject),
        "key": found.key or None,
        "what": found.what,
        "why": rule.why,
        "remedy": list(remedy(found)),
        "advice": found.advice or None,
        "since": rule.since or None,
        "docs": f"{PAGE}#{_ANCHORS[rule.name]}",
        "source": rule.source,
        "accepted": None if by is None else {"reason": by.reason, "place": by.place},
    }


# -- JUnit -------------------------------------------------------------------------------------------------------------


def junit_text(report: Report, missing: Sequence[str], where: Where, cluster: str) -> str:
    """Return the report as JUnit's XML: one suite, a test case for each rule, a failure for each finding that is not
    accepted.

    A test case has the accepted findings as its output. A rule that could not run is reported as skipped.

    Args:
        missing: lines on entities that were not read.
        where: a function from a finding to its place in files.
        cluster: the id of the cluster.
    """
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    blind = {name: each.why for each in report.blind for name in each.rules}
    found = grouped((each.rule.name, each) for each in report.findings)
    suites = Element("testsuites")
    counts = {"tests": len(report.rules), "failures": len(report.open), "errors": 0, "skipped": len(blind)}
    suite = SubElement(suites, "testsuite", _texts(name=f"kac lint {cluster}", **counts, time=0))
    for rule in report.rules:
        case = SubElement(suite, "testcase", _texts(name=rule.name, classname="kac.lint", time=0))
        if rule.name in blind:
            SubElement(case, "skipped", _texts(message=blind[rule.name]))
        mine = found.get(rule.name, [])
        for each in mine:
            if each.accepted is None:
                _failure(case, each, _subject(each.found, where))
        accepted = [f"{_subject(e.found, where)}: {e.accepted.reason}" for e in mine if e.accepted is not None]
        if accepted:
            SubElement(case, "system-out").text = _text(f"accepted: {each}" for each in accepted)
    notes = [*missing, *map(in_vain, report.unused)]
    if notes:
        SubElement(suite, "system-out").text = _text(notes)
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _failure(case: Element, finding: Finding, subject: str) -> None:
    from xml.etree.ElementTree import SubElement

    rule, found, _ = finding
    message = f"{subject}: {found.what}"
    kind = f"{finding.severity.value} {rule.certainty.value}"
    made = SubElement(case, "failure", _texts(type=kind, message=message))
    made.text = _text(filter(None, (message, f"{rule.why}.", *remedy(found), found.advice)))


def _texts(**attributes: object) -> dict[str, str]:
    return {name: clean(str(value), _LONGEST) for name, value in attributes.items()}


def _text(lines: Iterable[str]) -> str:
    """Return lines as one text without the characters that XML forbids; line ends within a line are replaced."""
    return "\n".join(clean(line, 10 * _LONGEST) for line in lines)
