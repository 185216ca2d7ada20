"""The pane of ACLs, by principal or by resource: all ACLs, or those that affect one topic."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from functools import partial

from console.model.acl import Acl
from console.model.config import ConfigResource
from console.model.derived import Derived
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import RemoveAcl
from console.present.acls import ACLS, AclRow, By, acl_rows, search_text, touches_topic
from console.present.failures import left_out_text
from console.present.names import acl as acl_text
from console.present.names import plural
from console.present.text import Cell, Line, clean
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.reading import start
from console.tui.text_lines import wrap_all
from console.tui.tools import Tools

LABEL = 18
"""Width in cells of the column of labels, to the left of the lines of an explanation."""
MOST = 2_000
"""Maximum characters of a line of an explanation."""


class AclsView(DetailsView[AclRow]):
    """A table with one row for each ACL."""

    NAME = keymap.ACLS
    NEEDS = Part.ACLS
    ROWS_ARE_PARTS = True
    COLUMNS = ACLS["principal"].layout
    EMPTY = "no ACLs: `a` adds one"
    CALM = "ACLs are never in trouble: they say who may do what"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._by: By = "principal"
        self._rows: Derived[list[AclRow]] = Derived([])
        self._explanation: tuple[object, Sequence[Line]] = (None, ())

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: ACLs, staged edits, topic, order, and marks of changes."""
        return self.snapshot.acls, self.plan.staged, self.place.about, self._by, self.cluster.changed.version

    async def read(self) -> None:
        """Read all ACLs. Raises AdminError."""
        await self.cluster.reading.whole(Part.ACLS)

    def rows(self) -> list[AclRow]:
        """Return all ACLs, or, in a topic's section, those that affect the topic."""
        topic = self.place.topic

        def make() -> list[AclRow]:
            rows = acl_rows(self.snapshot.acls, self.plan, self._by)
            return rows if topic is None else [row for row in rows if touches_topic(row.acl, topic)]

        return self._rows.of((self.snapshot.acls, self.plan.staged, self._by, topic), make)

    def empty_text(self) -> str:
        """Return the text of a table without rows."""
        text = super().empty_text()
        if text == self.EMPTY and self.place.topic is not None:
            return "no ACL touches this topic: whether anybody may use it, the brokers' settings say"
        return text

    def key(self, row: AclRow) -> Hashable:
        """Return the row's key: the ACL itself."""
        return row.acl

    def key_text(self, key: Hashable) -> str:
        """Return the ACL in the syntax of commands."""
        return acl_text(key) if isinstance(key, Acl) else super().key_text(key)

    def words(self, row: AclRow) -> str:
        """Return the text that the filter searches: the ACL as text."""
        return search_text(row.acl)

    def cells(self, row: AclRow) -> list[Cell]:
        """Return the cells of a row."""
        return ACLS[self._by].cells(row)

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the order and the number of ACLs."""
        return [(f"by {self._by}  ", "muted"), *super().status()]

    def target(self) -> ConfigResource | None:
        """Return the topic whose ACLs are shown; None if those of the whole cluster are shown."""
        about = self.place.about
        return about if isinstance(about, ConfigResource) else None

    def copied_of(self, row: AclRow) -> str:
        """Return the text that `y` copies: the ACL in the syntax of commands."""
        return acl_text(row.acl)

    def do_grouping(self) -> None:
        """Switch the order of the rows between principal and resource."""
        self._by = "resource" if self._by == "principal" else "principal"
        self.table.set_columns(ACLS[self._by].layout, self.table.rows)
        self.redraw()

    def do_add(self) -> None:
        """Open the command bar with the beginning of an ``allow`` command."""
        self._editing.begin("allow User:")

    def do_explain(self) -> None:
        """Show which operations the ACL under the cursor allows or denies, taking all other ACLs into account."""
        row = self.row()
        if row is not None:
            start(self.app, partial(self._explain, row.acl), group="command", name="command")

    async def _explain(self, binding: Acl) -> None:
        lines = await asyncio.to_thread(_explained, binding, self.snapshot)
        self.show_text(acl_text(binding), lambda width: wrap_all(lines, width, LABEL))

    def details(self, row: AclRow) -> list[Line]:
        """Return the operations that the ACL allows or denies; until a thread has computed them, only the ACL as a
        title.
        """
        about, lines = self._explanation
        if about != (row.acl, self.snapshot.acls):
            start(self, partial(self._learn, row.acl), group="explanation", name="explanation", exclusive=True)
            lines = ()
        width = self.text_width
        return [[(acl_text(row.acl), "")], *wrap_all(lines, width, LABEL)]

    async def _learn(self, binding: Acl) -> None:
        snapshot = self.snapshot
        self._explanation = ((binding, snapshot.acls), await asyncio.to_thread(_explained, binding, snapshot))
        self._show_details()

    def do_revoke(self) -> None:
        """Stage the deletion of the marked ACLs, or of the one under the cursor. If at least one of them has a
        staged edit, discard their staged edits instead.
        """
        rows, hidden = self.rows_meant(), self.left_out()
        staged = [row for row in rows if row.staged]
        for row in staged:
            self.session.discard(row.acl)
        if staged:
            self._message.say(f"taken out of the plan: {plural(len(staged), 'ACL')}{left_out_text(hidden)}")
        else:
            self._editing.stage([RemoveAcl(row.acl) for row in rows], left_out=hidden)
        self.table.set_marks(())


def _explained(binding: Acl, snapshot: Snapshot) -> Sequence[Line]:
    from console.answers.explain_acl import explain_acl, explained_lines

    said = [*explained_lines(explain_acl(binding, snapshot))]
    return [
        # Show a label only on its first line.
        [(f"{label if label != before else '':<{LABEL}}", "muted"), (clean(text, MOST), "")]
        for (label, text), (before, _) in zip(said, [("", ""), *said], strict=False)
    ]
