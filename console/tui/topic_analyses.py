"""The analyses of topics (counts over their records). Each runs in the background, whatever view is visible; the last
result of each topic is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from console.tui.reading import start

if TYPE_CHECKING:
    from textual.app import App

    from console.admin.record_search import Halt
    from console.language.verbs.analyze import Analyze
    from console.model.failure import Failure
    from console.model.topic_analysis import Analysed
    from console.session.record_reading import RecordReader
    from console.session.snapshot_reader import Learned


class AnalysisRun:
    """One analysis of a topic, under way or ended.

    Attributes:
        statement: the statement that began the analysis.
        found: the counts so far, with record keys masked if the context hides them; None before the first records.
        problem: the reason why the analysis failed; None if it did not.
        is_running: whether it still reads records.
    """

    def __init__(self, statement: Analyze) -> None:
        from console.admin.record_search import Halt

        self.statement = statement
        self.found: Analysed | None = None
        self.problem: Failure | None = None
        self.is_running = True
        self.halt: Halt = Halt()

    def stop(self) -> bool:
        """Request the end of the analysis, which then keeps its counts. Return whether it was under way."""
        if not self.is_running:
            return False
        self.halt.ask()
        return True


class TopicAnalyses:
    """The last analysis of each topic in this session."""

    def __init__(
        self,
        app: App[Any],
        reader: Callable[[], RecordReader],
        learn: Callable[[Learned], None],
        redraw: Callable[[], None],
        tell: Callable[[str, str], None],
    ) -> None:
        """Create the runner of analyses.

        Args:
            app: the app, which runs the workers.
            reader: returns the session's reader of records.
            learn: stores the counts in the session's snapshot.
            redraw: redraws the visible view.
            tell: shows a message, given with the meaning of its colour.
        """
        self._app, self._reader, self._learn, self._redraw, self._tell = app, reader, learn, redraw, tell
        self._runs: dict[str, AnalysisRun] = {}

    def of(self, topic: str) -> AnalysisRun | None:
        """Return the last analysis of a topic, under way or ended; None if there was none."""
        return self._runs.get(topic)

    def begin(self, statement: Analyze) -> None:
        """Begin an analysis in a worker; stop an analysis of the same topic that is under way."""
        if (before := self._runs.get(statement.topic)) is not None:
            before.stop()
        run = self._runs[statement.topic] = AnalysisRun(statement)
        start(self._app, partial(self._run, run), group="analyses", name="analyze")

    async def _run(self, run: AnalysisRun) -> None:
        from console.admin.errors import AdminError
        from console.present.text import clean
        from console.present.topic_analysis import whole_text
        from console.session.snapshot_reader import WALL, Refused
        from console.session.topic_analyzing import analyze, kept, with_shown_keys

        reader, topic = self._reader(), run.statement.topic
        try:
            async with aclosing(analyze(reader, run.statement, WALL, run.halt)) as results:
                async for found in results:
                    run.found = await with_shown_keys(reader, found)
                    self._redraw()
        except (AdminError, Refused) as error:
            run.problem = error.failure
        finally:
            run.is_running = False
        if self._runs[topic] is not run:
            return  # a later analysis of the topic replaced this one
        if run.found is not None and run.found.facts.records:
            self._learn(kept(run.found))
        self._redraw()
        if run.problem is None and run.found is not None:
            self._tell(f"analysis of {clean(topic, 80)}: {whole_text(run.found.facts)}", "")
