"""The pane of schemas: the subjects of the registry, the topics that use them, and whether readers can read each
version.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from console.language.quoting import quote
from console.model.parts import Part
from console.model.schema_use import candidates
from console.model.subjects import SubjectTarget, subject_resource
from console.plan.kinds.schemas import DropSchema
from console.present import schemas
from console.present.columns import clock
from console.present.failures import wrapped
from console.present.names import plural
from console.present.text import Cell, Line, clean
from console.session.schema_reads import read_schema_samples, read_schema_texts
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.text_lines import wrap_all


class SchemasView(DetailsView[schemas.SchemaRow]):
    """One row for each subject. kac reads the registry only while the view is visible or events are recorded."""

    NAME = keymap.SCHEMAS
    TITLE = "schemas"
    NEEDS = Part.SCHEMAS
    ENTER = "what its newest version changes"
    CALM = "every subject is checked"
    NOUN = schemas.SCHEMAS
    EMPTY = "no subjects: `schema SUBJECT @FILE` registers a schema"

    @property
    def is_named(self) -> bool:
        """Whether the context names a schema registry."""
        return self.session.context.schemas is not None

    def known(self) -> bool:
        """Return whether the registry was read; True also if the context names none."""
        return super().known() or not self.is_named

    def empty_text(self) -> str:
        """Return the text of a table without rows: if the context names no schema registry, how to name one; else
        the usual text.
        """
        return super().empty_text() if self.is_named else wrapped(schemas.NOT_NAMED, self.app.size.width)

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the subjects, their configs, the topics and the plan."""
        seen = self.snapshot
        return seen.schemas, seen.configs, seen.topics, seen.lag_trends, self.plan.staged

    def rows(self) -> list[schemas.SchemaRow]:
        """Return the subjects in order of name."""
        return list(schemas.schema_rows(self.snapshot))

    def key(self, row: schemas.SchemaRow) -> Hashable:
        """Return the row's key: the subject's name."""
        return row.name

    def cells(self, row: schemas.SchemaRow) -> Sequence[Cell]:
        """Return the cells of a row; the subject is coloured if edits of it are staged."""
        cells = super().cells(row)
        if any(_is_about(each.edit.target, row.name) for each in self.plan.staged):
            return [(clean(row.name, 200), "pending"), *cells[1:]]
        return cells

    def words(self, row: schemas.SchemaRow) -> str:
        """Return the text that the filter searches: the subject, its type, its record names and its topics."""
        records = {each.record for each in row.subject.versions}
        return " ".join((row.name, row.subject.kind, *records, *(each.topic for each in row.topics)))

    def in_trouble(self, row: schemas.SchemaRow) -> bool:
        """Return whether the registry would accept any new version of the subject, compatible or not."""
        return row.nothing_checked

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of subjects without a compatibility check, the number of
        subjects, and the time of the read; empty before the first read.
        """
        if not self.known():
            return []
        unchecked = sum(map(self.in_trouble, self.rows()))
        line: Line = [(f"{plural(unchecked, 'subject')} not checked  ", "changed")] if unchecked else []
        at = self.snapshot.read_at.get(Part.SCHEMAS)
        return [*line, *super().status(), (f"  at {clock(at)}" if at is not None else "", "muted")]

    def copied_of(self, row: schemas.SchemaRow) -> str:
        """Return the text that `y` copies: the name of the subject."""
        return row.name

    def do_schema_level(self) -> None:
        """Open the command bar with the command that sets the compatibility level of the subject."""
        self.begin_command(lambda row: f"set schema {quote(row.name)} compatibility=")

    def do_register_schema(self) -> None:
        """Open the command bar with the command that registers a new version of the subject."""
        self.begin_command(lambda row: f"schema {quote(row.name)} @")

    def do_delete_schema(self) -> None:
        """Stage the soft deletion of the marked subjects, or of the subject under the cursor: the registry keeps the
        schemas for their ids.
        """
        self._editing.stage([DropSchema(row.name) for row in self.rows_meant()])

    def details(self, row: schemas.SchemaRow) -> list[Line]:
        """Return the subject as title, then its details and its versions."""
        return [[(_title(row), "")], *schemas.schema_lines(self.snapshot, row), *schemas.version_lines(row.subject)]

    async def enter(self, row: schemas.SchemaRow) -> None:
        """Show the newest two versions side by side on a screen above the panes, with the topics and the readers of the
        subject.
        """
        session = self.session
        await session.keep(read_schema_texts(session.client, session.snapshot, [row.name]))
        topics = candidates(session.snapshot, row.name)
        await session.keep(read_schema_samples(session.client, session.context, session.snapshot, topics))
        snapshot = session.snapshot
        diff = schemas.version_diff(snapshot, row.name, whole=True)

        def lines(width: int) -> list[Line]:
            about = wrap_all([*schemas.schema_lines(snapshot, row), *schemas.version_lines(row.subject)], width, 2)
            return [*about, [], *wrap_all(schemas.diff_lines(snapshot, row.subject, diff, width), width, 2)]

        self.show_text(_title(row), lines)


def _is_about(target: object, subject: str) -> bool:
    return target == subject_resource(subject) or (isinstance(target, SubjectTarget) and target.name == subject)


def _title(row: schemas.SchemaRow) -> str:
    return f"schema {clean(row.name, 80)}"
