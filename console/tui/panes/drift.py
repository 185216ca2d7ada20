"""The pane of drift: config keys whose values differ between brokers, between clusters, or from the baseline. The data
come from the lake.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from console.lake import entities
from console.lake.reader import SCOPES, Drifted, Tables, drift
from console.model.codes import BROKER
from console.model.config import ConfigResource
from console.model.derived import same
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.present import lake_rows
from console.present.columns import clock
from console.present.drift_now import brokers_now, since_start
from console.present.failures import nothing_text
from console.present.text import Cell, Line, clean
from console.session import lake_staging
from console.tui import keymap
from console.tui.panes.lake_view import LakeAnswer, LakeView
from console.tui.tools import Tools
from widgets.row_source import ListRows

_TITLES = {"broker": "Brokers", "cluster": "Clusters", "baseline": "Baseline"}
MANY_PEERS = 12
"""Number of brokers above which the first columns are those of brokers that differ, since not all columns fit."""
_NAMED = {"broker": "brokers", "cluster": "clusters", "baseline": "the baseline"}


class DriftView(LakeView[lake_rows.DriftRow]):
    """One row for each config key whose value differs; Enter stages the edits that make the values equal."""

    NAME = keymap.DRIFT
    TABLE = "drift"
    ENTER = "align"
    COLUMNS = lake_rows.drift_columns("broker", ()).layout
    EMPTY = "nothing differs"
    ADDS = "no lake: `kac lake collect` adds other clusters, a baseline, and since when"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._journal = tools.journal
        self._scope = SCOPES[0]
        self._peers: tuple[str, ...] = ()
        self._drawn: tuple[str, tuple[str, ...]] = (self._scope, self._peers)
        self._columns = lake_rows.drift_columns(*self._drawn)
        self._made_of: tuple[object, ...] = ()

    def question(self) -> Hashable:
        """Return the parameter of the query: the scope of the comparison (brokers, clusters or the baseline)."""
        return self._scope

    def find(self, tables: Tables) -> Sequence[lake_rows.DriftRow]:
        """Return the differences in the lake: if the scope is clusters, those of all clusters, else those of this
        cluster. Raises LakeError.
        """
        cluster = None if self._scope == "cluster" else self.cluster_id
        return lake_rows.drift_rows(drift(tables, cluster, self._scope), self._scope)

    async def without(self) -> None:
        """Show, without a lake, the present differences between brokers; in the scope of the baseline, the changes
        since the console began. No-op while the data are the same as in the last call.
        """
        record = self._journal.events.record
        of = (self._scope, self.snapshot.configs, self.snapshot.cluster, record, self.is_without)
        # Without a lake there are no versions of tables: compare the inputs.
        if same(of, self._made_of):
            return
        found: Sequence[Drifted] = ()
        if self._scope == "broker":
            found = brokers_now(self.snapshot)
        elif self._scope == "baseline" and record is not None:
            found = since_start(record, self.cluster_id)
        self._made_of = of
        self.take(LakeAnswer(lake_rows.drift_rows(found, self._scope), None, (), ()), "")

    def rows(self) -> Sequence[lake_rows.DriftRow]:
        """Return the differences that were found last."""
        rows: Sequence[lake_rows.DriftRow] = self._answer.rows  # type: ignore[assignment]
        return rows

    def draw(self) -> None:
        """Set a column for each peer (broker, cluster or baseline), then draw the rows."""
        self._peers = self._names()
        scope = lake_rows.START if self._scope == "baseline" and self.is_without else self._scope
        if (scope, self._peers) != self._drawn:
            self._drawn = (scope, self._peers)
            self._columns = lake_rows.drift_columns(*self._drawn)
            self.table.set_columns(self._columns.layout, ListRows((), self.key, self.cells))
        super().draw()

    def _names(self) -> tuple[str, ...]:
        """Return the names of the peers; each has a column.

        Returns:
            In the scope of brokers, all brokers; those that differ come first if there are more than `MANY_PEERS`. In
            the scope of the baseline, this cluster. In the scope of clusters, all clusters of the lake, this one first.
        """
        odd = {name for row in self.rows() for name in row.odd}
        if self._scope == "broker":
            known = {str(broker.id) for broker in self.snapshot.cluster.brokers}
            # A screen has columns for a dozen brokers: with more of them, those that differ come first.
            last = frozenset[str]() if len(known) <= MANY_PEERS else known - odd
            return tuple(sorted(odd | known, key=lambda name: (name in last, not name.isdigit(), name.zfill(12))))
        if self._scope == "baseline":
            return (self.cluster_id,)
        return tuple(sorted(odd | set(self._answer.clusters), key=lambda name: (name != self.cluster_id, name)))

    def key(self, row: lake_rows.DriftRow) -> Hashable:
        """Return the row's key: the entity and the config key."""
        return row.entity, row.attr

    def words(self, row: lake_rows.DriftRow) -> str:
        """Return the text that the filter searches: the key, its values and the peers that differ."""
        return " ".join(
            (lake_rows.row_name(row), row.majority, *row.odd, *(each.this_value or "" for each in row.odd.values()))
        )

    def in_trouble(self, _row: lake_rows.DriftRow) -> bool:
        """Return True: in each row, values differ."""
        return True

    def cells(self, row: lake_rows.DriftRow) -> list[Cell]:
        """Return the cells of a row."""
        return self._columns.cells(row)

    def sort_key(self, column: str) -> Callable[[lake_rows.DriftRow], Any]:
        """Return the function that gives a row's sort key for a column, by the column's id."""
        return self._columns.sort_key(column)

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the three scopes, with the current one highlighted."""
        line: Line = [("drift", "strong")]
        for scope in SCOPES:
            title = "Since start" if scope == "baseline" and self.is_without else _TITLES[scope]
            line += [("  ", ""), (title, "strong" if scope == self._scope else "muted")]
        return line

    def empty_text(self) -> str:
        """Return the text of a table without rows: that nothing differs in this scope, or why that is unknown."""
        text = super().empty_text()
        if text != self.EMPTY:
            return text
        if not self.is_without or self._scope == "broker":
            unread = self.is_without and not any(r.type == BROKER and r.name for r in self.snapshot.configs)
            if unread:
                return nothing_text(self.snapshot, Part.CONFIGS, "reading…", self.app.size.width)
            return f"nothing differs from {_NAMED[self._scope]}"
        if self._scope == "cluster":
            return "a lake compares clusters; `kac compare` compares two as they are now"
        return f"no config, quota or ACL has another value than at {self._start()}"

    def _start(self) -> str:
        record = self._journal.events.record
        return clock(record.began) if record is not None else "the start"

    def details(self, row: lake_rows.DriftRow) -> list[Line]:
        """Return the key as title, then each peer that differs, and the edits that Enter stages."""
        texts = [lake_staging.edit_text(wish.edit) for wish in self._wishes(row)]
        more = f"  (+{len(texts) - 1})" if len(texts) > 1 else ""
        does: list[Line] = [[("⏎ ", "strong"), (texts[0] + more, "muted")]] if texts else []
        if self.is_without:
            return [
                [(lake_rows.row_name(row), "")],
                *lake_rows.drift_lines(row, f"at {self._start()} it was ", "as they are now"),
                *does,
            ]
        return [[(lake_rows.row_name(row), "")], *lake_rows.drift_lines(row), *does]

    def _wishes(self, row: lake_rows.DriftRow) -> list[lake_staging.Wish]:
        """Return the wanted edit for each peer that differs; for a peer that is another cluster, in place of the
        edit, a note that the edit can't be staged from this context.
        """
        return [self._wish(each) for each in row.odd.values()]

    def _wish(self, odd: Drifted) -> lake_staging.Wish:
        if odd.cluster_id != self.cluster_id:
            return lake_staging.Wish(
                lake_staging.NoEdit(f"cluster {clean(odd.cluster_id, 60)} is changed from its own context (:ctx NAME)")
            )
        source = "as it was read" if self.is_without else lake_staging.AS_THE_LAKE_SAYS
        return lake_staging.Wish(
            lake_staging.align(odd, self.session.snapshot),
            odd.this_value,
            effective=odd.scope == "broker",
            source=source,
        )

    async def enter(self, row: lake_rows.DriftRow) -> None:  # noqa: ARG002
        """Stage the edits that align the marked rows, or the row under the cursor."""
        self.stage([wish for row in self.rows_meant() for wish in self._wishes(row)], self.left_out())
        self.table.set_marks(())

    def target_of(self, row: lake_rows.DriftRow) -> ConfigResource | QuotaEntity | None:
        """Return the entity of the row's key; None if several brokers differ, or the entity has neither configs nor
        quotas.
        """
        odd = next(iter(row.odd.values()), None)
        if odd is None or (self._scope == "broker" and len(row.odd) > 1):
            return None
        type_, name = odd.entity
        if type_ == "quota":
            return QuotaEntity.of(entities.quota_parts(name))
        return lake_staging.config_resource(type_, name) if type_ in lake_staging.CONFIG_TYPES else None

    def do_scope(self) -> None:
        """Switch to the next scope: brokers, clusters, or this cluster and the baseline."""
        self._scope = SCOPES[(SCOPES.index(self._scope) + 1) % len(SCOPES)]
        self.table.set_marks(())
        self._asked = None
        self.ask_again()
        self.tell_where()

    def copied_of(self, row: lake_rows.DriftRow) -> str:
        """Return the text that `y` copies: the row as one line."""
        return self.words(row)
