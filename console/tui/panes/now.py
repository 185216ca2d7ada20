"""What is wrong now, and why: the causes, the worst first."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from console.answers.triage import markdown, step_command
from console.model.config import ConfigResource, topic_resource
from console.present.text import Cell, Line
from console.present.triage import CAUSES, details, healthy_text, status, subject_text
from console.triage.diagnosis import Named
from console.triage.symptoms import Subject
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.panes.view import PaneHost, bindings
from console.tui.places import Place, pane_named
from widgets.row_table import RowTable


class NowView(DetailsView[Named]):
    """One row for each cause. Enter shows what it is about."""

    NAME = keymap.NOW
    ENTER = "look"
    MARKS = False
    BINDINGS = bindings(keymap.NOW)
    COLUMNS = CAUSES.layout

    def __init__(self, host: PaneHost) -> None:
        super().__init__(host)
        self._rows: tuple[object, Sequence[Named]] = (None, ())

    def inputs(self) -> tuple[object, ...]:
        """The verdict, without its time."""
        verdict = self.host.triage.verdict
        if verdict is None:
            return (None,)
        return verdict.causes, verdict.unexplained, verdict.ruled_out, verdict.unknowable

    def known(self) -> bool:
        """Whether there is a verdict."""
        return self.host.triage.verdict is not None

    async def read(self) -> None:
        """Watch; it goes on when another view is shown."""
        self.host.triage.begin()

    def rows(self) -> Sequence[Named]:
        """The causes."""
        verdict = self.host.triage.verdict
        return verdict.causes if verdict is not None else ()

    def key(self, row: Named) -> Hashable:
        """The cause and its subject."""
        return row.claim.cause, row.claim.subject

    def words(self, row: Named) -> str:
        """What it is, and what it is about."""
        return f"{row.claim.cause} {row.claim.title} {subject_text(row.claim.subject)}"

    def cells(self, row: Named) -> list[Cell]:
        """A row."""
        return CAUSES.cells(row)

    def empty_text(self) -> str:
        """That nothing is wrong, and what was looked at."""
        course = self.host.triage.course
        if course is None or self.filter_text:
            return super().empty_text()
        return healthy_text(course)

    def crumbs(self) -> Line:
        """What this is."""
        return [("now", "strong")]

    def status(self) -> Line:
        """How many troubles, and how long was watched."""
        verdict, course = self.host.triage.verdict, self.host.triage.course
        return status(verdict, course) if verdict is not None and course is not None else []

    def details(self, row: Named) -> list[Line]:
        """Evidence, what it explains, what to do."""
        verdict = self.host.triage.verdict
        return details(row, verdict, step_command) if verdict is not None else [[("", "")]]

    def target(self) -> ConfigResource | None:
        """The topic that a cause is about."""
        row = self.row()
        topic = row.claim.subject.topic if row is not None else None
        return topic_resource(topic) if topic is not None else None

    def copied(self) -> str:
        """The report, as Markdown."""
        verdict, course = self.host.triage.verdict, self.host.triage.course
        return markdown(verdict, course.watched.total_seconds()) if verdict is not None and course is not None else ""

    def do_fix(self) -> None:
        """Stage the next step of the cause, or put its command into the bar."""
        row = self.row()
        steps = [step for step in row.claim.next if step.edits or step.command] if row is not None else []
        edits = [edit for step in steps for edit in step.edits]
        if edits:
            self.host.stage(edits)
        elif steps:
            self.host.prefill(steps[0].command)
        else:
            self.host.say("what to do about it is outside of Kafka: the details say where to look", "muted")

    async def on_line_view_selected(self, message: RowTable.Selected) -> None:
        """Show what the cause is about."""
        message.stop()
        row = self.row()
        if row is not None:
            await self.host.navigator.goto(place_of(row.claim.subject))


def place_of(subject: Subject) -> Place:
    """Where the evidence about a subject is."""
    if subject.group is not None:
        return Place(keymap.GROUP, pane_named(keymap.GROUPS).pane, subject.group)
    if subject.topic is not None:
        return Place(keymap.TOPIC, pane_named(keymap.TOPICS).pane, topic_resource(subject.topic))
    return pane_named(keymap.BROKERS)
