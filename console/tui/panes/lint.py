"""The pane of lint's findings: states that are wrong before they do harm."""

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
    """A row for each finding, the worst first; Enter goes to its subject, F stages its remedy."""

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
        """Return the report and the plan; before the first report, the parts that have been read."""
        watch = self.cluster.lint
        return watch.report, watch.problem, self.plan, watch.progress()[0] if watch.report is None else None

    def known(self) -> bool:
        """Return whether the rules have run."""
        return self.cluster.lint.report is not None

    async def read(self) -> None:
        """Read the data that rules need, if it is old, and apply the rules: in a worker, since many parts take longer
        than a poll.
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
        """Return the rule, the subject and its key."""
        return row.key

    def words(self, row: lint_rows.LintRow) -> str:
        """Return the rule, the subject, the wrong state, and the remedy."""
        rule, found, _ = row.finding
        words = rule.name, row.finding.severity.value, target(found.subject), found.key, found.what, found.advice
        return " ".join((*words, *(step.command for step in row.next)))

    def in_trouble(self, row: lint_rows.LintRow) -> bool:
        """Return whether the finding is not accepted and more severe than information."""
        return not row.accepted and row.finding.severity is not Severity.INFO

    def crumbs(self) -> Line:
        """Return the parts of the pane."""
        return [("now", "muted"), ("  lint", "strong")]

    def status(self) -> Line:
        """Return the number of findings, and of the rules that ran."""
        report = self.cluster.lint.report
        return lint_rows.lint_counts(report) if report is not None else []

    def note(self) -> Line:
        """Return a line on members of parts that could not be read."""
        missing = self.cluster.lint.missing
        more = f"; and {len(missing) - 1} more" if len(missing) > 1 else ""
        return [(clean(f"{missing[0]}{more}", 400), "failed")] if missing else super().note()

    def nothing_yet(self) -> str:
        """Return the number of parts that have been read for the rules, or the reason why the cluster can't be read."""
        if not self.cluster.contact.is_current:
            return super().nothing_yet()
        if (problem := self.cluster.lint.problem) is not None:
            return wrapped(str(problem), self.app.size.width)
        read, of = self.cluster.lint.progress()
        rules = plural(len(self.cluster.lint.readable()), "rule")
        return f"reading what {rules} look at: {read} of {of} parts so far…"

    def empty_text(self) -> str:
        """Return the number of rules that ran, and the rules that could not run."""
        report = self.cluster.lint.report
        if report is None or self.filter_text:
            return super().empty_text()
        return wrapped(lint_rows.nothing_found(report, self.cluster.lint.missing), self.app.size.width)

    def details(self, row: lint_rows.LintRow) -> list[Line]:
        """Return the finding's reason and remedy, the effect of the key that stages the remedy, and the rules that
        could not run; empty before the first report.
        """
        report = self.cluster.lint.report
        if report is None:
            return []
        return lint_rows.lint_details(row, report, None if row.accepted else self._steps.staging(row.next))

    def target_of(self, row: lint_rows.LintRow) -> ConfigResource | QuotaEntity | None:
        """Return the entity of the finding if it has configs or quotas, else None."""
        subject: Target = row.finding.found.subject
        return subject if isinstance(subject, ConfigResource | QuotaEntity) else None

    async def enter(self, row: lint_rows.LintRow) -> None:
        """Show the subject of the finding."""
        subject = row.finding.found.subject
        if isinstance(subject, ScramUser):  # no pane shows SCRAM users
            self._editing.begin("list scram")
        else:
            self._navigator.open_target(subject)

    async def do_lint(self) -> None:
        """Show the causes again."""
        await self._navigator.goto(pane_named(keymap.NOW))

    def do_fix(self) -> None:
        """Stage the remedy of the finding, or begin it in the command bar."""
        row = self.row()
        if row is not None:
            self._steps.take(row.next, self.app)

    def copied_of(self, row: lint_rows.LintRow) -> str:
        """Return the statements that mend the finding, else the finding as a line."""
        found = row.finding.found
        statements = "\n".join(remedy(found))
        return statements or f"{row.finding.rule.name}: {target(found.subject)}: {found.what}"
