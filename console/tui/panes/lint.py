"""The pane of lint's findings: faults in the present state that may cause trouble later."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from textual.worker import Worker

from console.answers import lint_rows
from console.answers.lint import remedy
from console.model.changes import ScramUser, Target
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.severity import Severity
from console.present.failures import wrapped
from console.present.names import plural, target
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.next_steps import NextSteps
from console.tui.panes.details import EVIDENCE, DetailsView
from console.tui.places import pane_named
from console.tui.reading import start
from console.tui.tools import Tools


class LintView(DetailsView[lint_rows.LintRow]):
    """One row for each finding, the worst first; Enter shows the entity that it is about, F stages its remedy."""

    NAME = keymap.LINT
    ENTER = "go to it"
    MARKS = False
    TAKES = EVIDENCE
    DETAILS_AFTER = 0.0
    NOUN = lint_rows.LINT
    CALM = "no finding is more than information"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._steps = NextSteps(tools)
        self._looking: Worker[None] | None = None
        self._rows: tuple[object, Sequence[lint_rows.LintRow]] = (None, ())

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the report and the plan; before the first report, the parts of
        the snapshot that have been read.
        """
        watch = self.cluster.lint
        return watch.report, watch.problem, self.plan, watch.progress()[0] if watch.report is None else None

    def known(self) -> bool:
        """Return whether the rules have run."""
        return self.cluster.lint.report is not None

    async def read(self) -> None:
        """Start a worker that reads the data that the rules need, if they are old, and then applies the rules. A
        worker, because reading many parts takes longer than a poll.
        """
        self.cluster.triage.begin()
        if self._looking is None or self._looking.is_finished:
            self._looking = start(self, self.cluster.lint.read, group="lint", name="lint")

    def rows(self) -> Sequence[lint_rows.LintRow]:
        """Return the findings, the accepted ones last; empty before the first report."""
        report = self.cluster.lint.report
        if report is None:
            return ()
        if self._rows[0] is not report:
            self._rows = (report, lint_rows.lint_rows(report))
        return self._rows[1]

    def key(self, row: lint_rows.LintRow) -> Hashable:
        """Return the row's key: the rule, the entity, and the config key of the finding."""
        return row.key

    def words(self, row: lint_rows.LintRow) -> str:
        """Return the text that the filter searches: the rule, the entity, the fault, and the remedy."""
        rule, found, _ = row.finding
        words = rule.name, row.finding.severity.value, target(found.subject), found.key, found.what, found.advice
        return " ".join((*words, *(step.command for step in row.next)))

    def in_trouble(self, row: lint_rows.LintRow) -> bool:
        """Return whether the operator has not accepted the finding, and it is more severe than information."""
        return not row.accepted and row.finding.severity is not Severity.INFO

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the sections of the pane."""
        return [("now", "muted"), ("  lint", "strong")]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of findings, and of the rules that ran."""
        report = self.cluster.lint.report
        return lint_rows.lint_counts(report) if report is not None else []

    def note(self) -> Line:
        """Return the text for the message line: the first of the entities that could not be read, and the number of
        further ones; empty if all were read.
        """
        missing = self.cluster.lint.missing
        more = f"; and {len(missing) - 1} more" if len(missing) > 1 else ""
        return [(clean(f"{missing[0]}{more}", 400), "failed")] if missing else super().note()

    def nothing_yet(self) -> str:
        """Return the text before the first report: how many of the needed parts of the snapshot have been read, or why
        the cluster can't be read.
        """
        if not self.cluster.contact.is_current:
            return super().nothing_yet()
        if (problem := self.cluster.lint.problem) is not None:
            return wrapped(str(problem), self.app.size.width)
        read, of = self.cluster.lint.progress()
        rules = plural(len(self.cluster.lint.readable()), "rule")
        return f"reading what {rules} look at: {read} of {of} parts so far…"

    def empty_text(self) -> str:
        """Return the text of a table without rows: the number of rules that ran, and the rules that could not run."""
        report = self.cluster.lint.report
        if report is None or self.filter_text:
            return super().empty_text()
        return wrapped(lint_rows.nothing_found(report, self.cluster.lint.missing), self.app.size.width)

    def details(self, row: lint_rows.LintRow) -> list[Line]:
        """Return the finding as title, then its reason and remedy, the effect of the key that stages the remedy, and
        the rules that could not run; empty before the first report.
        """
        report = self.cluster.lint.report
        if report is None:
            return []
        return lint_rows.lint_details(row, report, None if row.accepted else self._steps.staging(row.next))

    def target_of(self, row: lint_rows.LintRow) -> ConfigResource | QuotaEntity | None:
        """Return the entity of the finding if it has configs or quotas; else None."""
        subject: Target = row.finding.found.subject
        return subject if isinstance(subject, ConfigResource | QuotaEntity) else None

    async def enter(self, row: lint_rows.LintRow) -> None:
        """Show the entity that the finding is about."""
        subject = row.finding.found.subject
        if isinstance(subject, ScramUser):  # no pane shows SCRAM users
            self._editing.begin("list scram")
        else:
            self._navigator.open_target(subject)

    async def do_lint(self) -> None:
        """Go back to the pane Now, which shows the causes of trouble."""
        await self._navigator.goto(pane_named(keymap.NOW))

    def do_fix(self) -> None:
        """Stage the remedy of the finding; if it has only a command that can't be staged at once, open the command bar
        with it.
        """
        row = self.row()
        if row is not None:
            self._steps.take(row.next, self.app)

    def copied_of(self, row: lint_rows.LintRow) -> str:
        """Return the text that `y` copies: the statements of the remedy; the finding as a line if it has none."""
        found = row.finding.found
        statements = "\n".join(remedy(found))
        return statements or f"{row.finding.rule.name}: {target(found.subject)}: {found.what}"
