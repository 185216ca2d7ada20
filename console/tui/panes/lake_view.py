"""The base class of the panes about the past: a table of rows from the lake, read in the background, with the age of
the lake's data.
"""

from __future__ import annotations

import asyncio
import logging
import textwrap
from collections.abc import Hashable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from textual.worker import Worker

from console.admin.errors import AdminError
from console.answers.lake_tables import LakeFilter, lake_filter
from console.lake.files import LakeError
from console.lake.schema import TABLES
from console.log_file import INTERNAL
from console.present.failures import failure_text, left_out_text
from console.present.lake import fresh_text, gap_text
from console.present.names import plural
from console.present.text import Line, clean
from console.session.snapshot_reader import Refused
from console.tui.panes.details import DETAILED, DetailsView
from console.tui.reading import start
from console.tui.tools import Tools
from widgets.cells import cell_width
from widgets.row_table import BadQuery, parse_query

if TYPE_CHECKING:
    from console.lake.reader import Freshness, Gap, Tables
    from console.session.lake_staging import Wish


CHECK_EVERY = 1.0
"""Seconds between two checks for a newer version of a table."""
Row = TypeVar("Row")
log = logging.getLogger(__name__)


class LakeAnswer(NamedTuple):
    """The result of a query to the lake: rows, age and gaps of the data."""

    rows: Sequence[object]
    fresh: Freshness | None
    gaps: Sequence[Gap]
    clusters: Sequence[str]
    """The ids of all clusters in the lake."""


NO_ANSWER = LakeAnswer((), None, (), ())


class LakeView(DetailsView[Row]):
    """A table of rows from the lake, with the details of the row under the cursor below it.

    The view queries the lake again if the tables have newer versions, or if `question` changed. Subclasses override
    `question`, `find` and `without`.
    """

    TABLE: ClassVar[str] = ""
    """The name of the lake's table that the view shows."""
    ADDS: ClassVar[str] = ""
    """The text, shown if there is no lake, about the rows that a lake would add."""
    OF_CLUSTER = False
    TAKES = DETAILED
    DETAILS_AFTER = 0.0

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._lake = tools.lake
        self._answer = NO_ANSWER
        self._asked: object = None
        self._problem = ""
        self._is_known = False
        self._asking: Worker[None] | None = None

    # -- methods of each pane ------------------------------------------------------------------------------------------

    def question(self) -> Hashable:
        """Return the parameters of the query, apart from the lake and the cluster. The view queries again if they
        differ (`!=`) from those of the last query.
        """
        raise NotImplementedError

    def find(self, tables: Tables) -> Sequence[Row]:
        """Query the lake, and return the rows. Called on another thread: it may take long, and must not touch widgets.

        Raises:
            LakeError: a table is missing or can't be read.
        """
        raise NotImplementedError

    async def without(self) -> None:
        """Show the data that are available without the lake. Called if the lake is missing or can't be read."""
        raise NotImplementedError

    @property
    def is_without(self) -> bool:
        """Whether the lake is missing or can't be read."""
        return self._is_known and bool(self._lake.problem)

    def note(self) -> Line:
        """Return the text for the message line: the rows that a lake would add, if there is no lake; why the lake can't
        be read; else the usual note.
        """
        if not self.is_without:
            return super().note()
        lake = self._lake
        return [(self.ADDS, "muted")] if lake.is_missing else [(clean(lake.problem, 400), "failed")]

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def cluster_id(self) -> str:
        """The cluster's id: as read, else as recorded in the context; ``""`` if unknown."""
        return self.snapshot.cluster.cluster_id or self.session.context.cluster_id or ""

    def known(self) -> bool:
        """Return whether a query of the lake has ended, or there is no lake."""
        return self._is_known

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the rows from the lake, the failure of the query, and the
        staged edits.
        """
        return self._answer, self._problem, self.plan.staged

    async def read(self) -> None:
        """Query the lake in a worker, so that the reads of the cluster do not wait for it.

        Raises:
            AdminError: the cluster's id is unknown and could not be read.
        """
        if not self.cluster_id:
            await self.session.read_cluster()
        if self._asking is None or self._asking.is_finished:
            self.ask_again()

    def ask_again(self) -> None:
        """Query the lake in a worker. A query that is still running is cancelled."""
        self._asking = start(self, self._ask, group="lake", name="lake", exclusive=True)

    def on_mount(self) -> None:
        """Check every `CHECK_EVERY` seconds whether the tables have newer versions; that reads the metadata of one
        file.
        """
        super().on_mount()
        self.set_interval(CHECK_EVERY, self._ask_if_idle)

    def _ask_if_idle(self) -> None:
        idle = self._asking is None or self._asking.is_finished
        if self.display and self._asked is not None and idle and not self.cluster.reading.paused:
            self.ask_again()

    async def _ask(self) -> None:
        try:
            await self.ask()
        except Exception:  # the screen has to continue after any error
            log.exception("asking the lake for %s", self.NAME)
            self.take(NO_ANSWER, INTERNAL)

    async def ask(self) -> None:
        """Query the lake; no-op if the versions of the tables and `question` are the same as in the last query."""

        tables = await self._lake.tables()
        if tables is None:
            self._asked = None
            await self.without()
            return
        question = (tables, self.cluster_id, self.question())
        if question == self._asked:
            return
        try:
            answer = await asyncio.to_thread(self._ask_lake, tables, self.cluster_id)
        except LakeError as error:
            self._asked = None
            self.take(NO_ANSWER, str(error))
            return
        if question[1:] == (self.cluster_id, self.question()):
            self._asked = question
            self.take(answer, "")

    def _ask_lake(self, tables: Tables, cluster: str) -> LakeAnswer:
        from console.lake.reader import SHOWN, freshness, gaps

        (fresh,) = freshness(tables, cluster, of=(TABLES[self.TABLE],))
        rows = self.find(tables)
        try:
            unobserved = gaps(tables, cluster)
        except LakeError as error:  # an error in one table must not affect the others
            log.warning("coverage gaps are not known: %s", error)
            unobserved = []
        return LakeAnswer(rows, fresh, unobserved, tables.clusters(*SHOWN))

    def take(self, answer: LakeAnswer, problem: str) -> None:
        """Show the result of a query.

        Args:
            answer: the rows, with the age of the data.
            problem: the reason why the query failed; ``""`` if it succeeded.
        """
        self._answer, self._problem, self._is_known = answer, problem, True
        self.update()

    # -- drawing -------------------------------------------------------------------------------------------------------

    def empty_text(self) -> str:
        """Return the text of a table without rows: why the query failed, that the lake has no data of this cluster, or
        that no row matches.
        """
        if not self.known():
            return self.nothing_yet()
        if self._problem:
            return self.wrapped(self._problem)
        fresh = self._answer.fresh
        if fresh is not None and fresh.built is None:
            others = ", ".join(clean(each, 40) for each in self._answer.clusters[:5])
            text = f"The lake at {clean(self._lake.where, 200)} has nothing of this cluster ({self.cluster_id})"
            text += f"; it has {others}." if others else "."
            text += " `kac lake collect` reads it, `kac lake update` takes that and its logs, and makes the tables."
            return self.wrapped(text)
        return super().empty_text()

    def wrapped(self, text: str) -> str:
        """Return a text, folded to the width of the empty table."""
        return "\n".join(textwrap.wrap(clean(text, 900), max(20, self.app.size.width - 6)))

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the age of the lake's data, gaps in them, and the number of rows,
        in as much detail as fits.
        """

        now, unobserved, fresh = datetime.now(UTC), self._answer.gaps, self._answer.fresh
        rest = super().status()
        gaps = full = ""
        if unobserved:
            more = f" +{len(unobserved) - 1}" if len(unobserved) > 1 else ""
            gaps, full = f"{plural(len(unobserved), 'gap')}  ", f"{gap_text(unobserved[0], now)}{more}  "
        age = short = ""
        if fresh is not None:
            age, short = (f"{fresh_text(each, now)}  " for each in (fresh, fresh._replace(run=None)))
        used = sum(cell_width(text) for text, _ in (*self.crumbs(), *rest)) + cell_width(self.filter_text) + 8
        wanted = ((full, age), (full, short), (gaps, short))
        room = self.app.size.width - used
        gap, when = next((each for each in wanted if cell_width("".join(each)) <= room), wanted[-1])
        return [*([(gap, "pending")] if gap else []), *([(when, "muted")] if when else []), *rest]

    @staticmethod
    def parsed(text: str) -> LakeFilter:
        """Parse a filter into the terms that the lake applies, and the remaining text. Raises BadQuery."""
        try:
            wanted = lake_filter(text, datetime.now(UTC))
        except ValueError as error:
            raise BadQuery(str(error)) from None
        parse_query(wanted.text)
        return wanted

    # -- staging -------------------------------------------------------------------------------------------------------

    def stage(self, wishes: Iterable[Wish], left_out: Sequence[str]) -> None:
        """Compute edits against the cluster's present state and stage them, in a worker; report on the message line.

        Args:
            wishes: the wanted edits, each with the value that the lake has for it.
            left_out: names of marked rows that are hidden, and so not edited.
        """
        start(self, partial(self._stage, tuple(wishes), left_out), group="command", name="command")

    async def _stage(self, wishes: Sequence[Wish], left_out: Sequence[str]) -> None:
        from console.session.lake_staging import said, stage_wishes

        try:
            text, meaning = said(await stage_wishes(self.session, wishes))
        except (AdminError, Refused) as error:
            text, meaning = failure_text(error.failure), "failed"
        self._message.say(text + left_out_text(left_out), meaning)
