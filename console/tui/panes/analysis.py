"""The pane of a topic's analysis (counts over its records), while it runs and after it, as lines with bars."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from console.language.unparse import unparse
from console.language.verbs.analyze import Analyze
from console.model.config import ConfigResource, topic_resource
from console.present.failures import failure_text, wrapped
from console.present.records import masking_note, progress_text
from console.present.text import Line, clean
from console.present.topic_analysis import analysis_lines, stopped_line
from console.session.record_reading import is_masked
from console.tui import keymap
from console.tui.panes.hidden import HiddenContents
from console.tui.panes.view import View
from console.tui.places import Place, analysis_of
from console.tui.screens import TextView
from console.tui.tools import Tools
from console.tui.topic_analyses import AnalysisRun


class AnalysisView(View):
    """The last analysis of a topic. The analysis continues in the background while other views are shown."""

    NAME = keymap.ANALYSIS

    def __init__(self, tools: Tools) -> None:
        self._text = TextView(self._lines)
        super().__init__(tools.cluster, self._text)
        self._navigator, self._editing, self._message = tools.navigator, tools.editing, tools.message
        self._hidden = HiddenContents(self, tools.message)
        self.receivers = (*self.receivers, self._hidden)

    def compose(self) -> ComposeResult:
        """Yield the breadcrumbs and the widget of the lines."""
        yield self.where
        yield self.lines

    @property
    def topic(self) -> str:
        """The name of the topic; ``""`` if the place is about no topic."""
        about = self.place.about
        return about.topic if isinstance(about, Analyze) else ""

    @property
    def run(self) -> AnalysisRun | None:
        """The last analysis of the topic; None if there was none."""
        return self.cluster.analyses().of(self.topic)

    @property
    def masked(self) -> bool:
        """Whether record keys and header names are hidden."""
        run = self.run
        return run is not None and not self._hidden.are_shown and is_masked(self.session.context, run.statement)

    def begin(self) -> None:
        """Hide record contents again. Called when the place is about another topic."""
        self._hidden.are_shown = False

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the analysis, and whether it runs."""
        run = self.run
        return run, run and run.found, run and run.problem, run is not None and run.is_running, self.masked

    def draw(self) -> None:
        """Draw the lines of the analysis, and its progress."""
        self._text.remake()
        self._message.write()

    def _lines(self, width: int) -> Sequence[Line]:
        run = self.run
        if run is None:
            return [[("not analyzed in this session: z begins", "muted")]]
        if run.problem is not None:
            return [[(each, "failed")] for each in wrapped(failure_text(run.problem), width).split("\n")]
        if run.found is None:
            return [[("reading the first records…", "muted")]]
        return analysis_lines(run.found, width, masked=self.masked)

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the analysis's statement; the topic before the first analysis."""
        run = self.run
        return [(clean(unparse(run.statement) if run is not None else self.topic, 200), "strong")]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the time of the analysis, and whether contents are hidden; empty
        before the analysis.
        """
        run = self.run
        if run is None or run.found is None:
            return []
        line: Line = [(f"at {run.found.facts.at:%H:%M:%S} UTC", "muted")]
        return [*line, *masking_note(masked=self.masked, has_mask=bool(self.session.context.mask))]

    def note(self) -> Line:
        """Return the text for the message line: the progress while the analysis runs."""
        run = self.run
        if run is None or run.found is None or run.problem is not None:
            return super().note()
        progress = run.found.facts.progress
        if run.is_running:
            return [(f"{progress_text(progress, finds=False)}; Esc stops", "pending")]
        return [(stopped_line(run.found.facts), "pending")] if progress.stopped else super().note()

    def target(self) -> ConfigResource | None:
        """Return the config resource of the topic; None if the place is about no topic."""
        return topic_resource(self.topic) if self.topic else None

    def copied(self) -> str:
        """Return the text that `y` copies: the shown lines."""
        return self._text.text

    async def do_back(self) -> None:
        """Stop the running analysis, and keep its counts. If none runs, go back to the previous place."""
        run = self.run
        if run is None or not run.stop():
            await self._navigator.do_back()

    def do_refresh(self) -> None:
        """Begin the analysis again, with the same statement."""
        run = self.run
        self.cluster.analyses().begin(run.statement if run is not None else Analyze(self.topic))
        self.redraw()

    def do_analyze_again(self) -> None:
        """Open the command bar with the statement of the analysis, to change it."""
        run = self.run
        self._editing.begin(f"{unparse(run.statement if run is not None else Analyze(self.topic))} ")


async def show_analysis(tools: Tools, place: Place, topic: str) -> None:
    """Show the last analysis of a topic. If there is none, open the command bar with the command that begins one: it
    may read a large topic, so the operator has to enter it.
    """
    if tools.cluster.analyses().of(topic) is not None:
        await tools.navigator.goto(analysis_of(place, topic))
    else:
        tools.editing.begin(f"{unparse(Analyze(topic))} ")
