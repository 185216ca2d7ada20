"""The pane of quota usage: the pairs of user and client id that are nearest to their quotas, from the lake."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from functools import partial

from console.answers.lake_tables import LakeFilter
from console.lake.reader import Tables, Usage, Window, hottest, minutes
from console.model.parts import Part
from console.model.quota import CLIENT_ID, USER, QuotaEntity, QuotaValues
from console.plan.edits import Edit
from console.present.failures import nothing_text
from console.present.lake import level_text, pair_text
from console.present.lake_rows import USAGE, plot, quotas_now, usage_lines
from console.present.text import Line
from console.session.lake_staging import UNKNOWN, Wish, edit_text, suggested
from console.session.snapshot_reader import MANY
from console.tui import keymap
from console.tui.panes.lake_view import LakeAnswer, LakeView
from console.tui.reading import start
from console.tui.tools import Tools

PLOT_HEIGHT = 14


AT_LIMIT = 0.95
"""Usage as a share of the quota, 0 to 1, from which on it counts as at the limit."""


class UsageView(LakeView[Usage]):
    """One row for each pair of user and client id and each of its quotas, the nearest to its limit first; Enter stages
    the suggested quota.
    """

    NAME = keymap.USAGE
    TABLE = "quota_usage"
    ENTER = "set suggested"
    NOUN = USAGE
    EMPTY = "nothing was used in this window"
    ADDS = "no lake: `kac lake update` with request logs adds who uses how much of it"
    CALM = "nothing sits at its limit"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._wanted = LakeFilter()
        self._quotas: Mapping[QuotaEntity, QuotaValues] | None = None
        self._entities: Mapping[Usage, QuotaEntity] = {}

    def question(self) -> Hashable:
        """Return the parameters of the query: the window of time, and the other terms of the filter that the lake
        applies.
        """
        return self._wanted._replace(text="")

    def find(self, tables: Tables) -> Sequence[Usage]:
        """Return from the lake the pairs that are nearest to their quotas. Raises LakeError."""
        return hottest(tables, self._window())

    async def without(self) -> None:
        """Show, without a lake, the quotas of users and client ids; their usage is unknown."""
        if Part.QUOTAS not in self.snapshot.read_at:
            await self.session.poll_quotas()
        if self._quotas is not self.snapshot.quotas or not self.is_without:
            self._quotas = self.snapshot.quotas
            if len(self._quotas) > MANY:
                self._entities = await asyncio.to_thread(quotas_now, self._quotas, self.cluster_id)
            else:
                self._entities = quotas_now(self._quotas, self.cluster_id)
            self.take(LakeAnswer(tuple(self._entities), None, (), ()), "")

    def empty_text(self) -> str:
        """Return the text of a table without rows. Without a lake: that no quotas exist, or why they are unknown."""
        text = super().empty_text()
        if not self.is_without or text != self.EMPTY:
            return text
        none = "no user and no client has a quota of bytes/s or time"
        return nothing_text(self.snapshot, Part.QUOTAS, none, self.app.size.width)

    def _window(self) -> Window:
        asked = self._wanted
        return Window(self.cluster_id, asked.since, asked.until, asked.key, asked.principal)

    def rows(self) -> Sequence[Usage]:
        """Return the rows that were found last."""
        rows: Sequence[Usage] = self._answer.rows  # type: ignore[assignment]
        return rows

    def key(self, row: Usage) -> Hashable:
        """Return the row's key: the pair of user and client id, and the quota."""
        return row.pair

    def words(self, row: Usage) -> str:
        """Return the text that the filter searches: the pair, the quota, and the entity on which it is set."""
        return f"{pair_text(row.pair)} {row.pair.quota_key} {level_text(row.level)}"

    def in_trouble(self, row: Usage) -> bool:
        """Return whether brokers throttled the pair, or its usage is at least the share `AT_LIMIT` of its quota."""
        return row.throttle_ms > 0 or (row.utilisation is not None and row.utilisation >= AT_LIMIT)

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the title, and that usage is estimated or, without a lake, unknown."""
        if self.is_without:
            return [("usage", "strong"), ("  quotas now; their use is not known", "muted")]
        asked = self._wanted
        when = "last day" if asked.since is None and asked.until is None else "window"
        return [("usage", "strong"), (f"  {when}, estimated", "muted")]

    def details(self, row: Usage) -> list[Line]:
        """Return the pair as title, then its quota, its usage, and the edit that Enter stages."""
        if self.is_without:
            return [[(pair_text(row.pair), "")], *usage_lines(row)]
        does: Line = [("⏎ ", "strong"), (edit_text(suggested(row)), "muted"), ("   d ", "strong"), ("plot", "muted")]
        return [[(pair_text(row.pair), "")], *usage_lines(row), does]

    def take_filter(self, text: str) -> None:
        """Show only pairs that match a filter.

        Args:
            text: words, and terms such as ``since=2h by=alice``, which the lake applies.

        Raises:
            BadQuery: the filter is invalid.
        """
        wanted = self.parsed(text)
        before, self._wanted = self._wanted, wanted
        super().take_filter(text)
        if before._replace(text="") != wanted._replace(text="") and self.is_attached:
            self.ask_again()

    def _sift(self) -> None:
        """Show the rows that match the words of the filter; the lake has already applied its other terms."""
        # Pass only the words on: the table would search for the lake's terms as words.
        shown, self.filter_text = self.filter_text, self._wanted.text
        super()._sift()
        self.filter_text = shown

    async def enter(self, row: Usage) -> None:  # noqa: ARG002
        """Stage the suggested quotas of the marked pairs, or of the pair under the cursor. Without a lake, only show a
        message.
        """
        if self.is_without:
            self._message.say("what to suggest is not known without a lake; 4 edits quotas", "muted")
            return
        self.stage([_wish(row) for row in self.rows_meant()], self.left_out())
        self.table.set_marks(())

    def do_plot(self) -> None:
        """Plot the pair's usage over time, from the lake; if there is no lake, show a message."""
        row = self.row()
        if self.is_without:
            self._message.say("no rates over time are known without a lake", "muted")
        elif row is not None:
            start(self, partial(self._plot, row), group="command", name="command")

    async def _plot(self, row: Usage) -> None:
        from console.lake.files import LakeError

        tables = await self._lake.tables()
        if tables is None:
            self._message.say(self._lake.problem, "failed")
            return
        try:
            rates = await asyncio.to_thread(minutes, tables, self._window(), row.pair)
        except LakeError as error:
            self._message.say(str(error), "failed")
            return
        height = max(4, min(PLOT_HEIGHT, self.app.size.height - 12))
        title = f"{pair_text(row.pair)} {row.pair.quota_key}"
        self.show_text(title, lambda width: [*plot(row, rates, width, height), [], *usage_lines(row)])

    def target_of(self, row: Usage) -> QuotaEntity | None:
        """Return the entity whose quota a command would set: without a lake, the entity that has the shown quota; else
        the pair itself, even if no quota is set on it. None if the pair has neither a user nor a client id.
        """
        if self.is_without:
            return self._entities.get(row)
        edit = suggested(row._replace(suggested_value=1.0))
        target = edit.target if isinstance(edit, Edit) else None
        return target if isinstance(target, QuotaEntity) else None

    def copied_of(self, row: Usage) -> str:
        """Return the text that `y` copies: the user and the client id."""
        return pair_text(row.pair)


def _wish(row: Usage) -> Wish:
    """Return the edit that sets the suggested quota of the pair itself. It carries the value that the lake has for
    that quota.
    """
    pair = row.pair
    own = {1: {USER, CLIENT_ID}, 3: {USER}, 7: {CLIENT_ID}}.get(row.level or 0)
    named = {part for part, name in ((USER, pair.scope_user), (CLIENT_ID, pair.scope_client)) if name is not None}
    lake = str(row.quota_value) if own == named and row.quota_value is not None else UNKNOWN
    return Wish(suggested(row), lake)
