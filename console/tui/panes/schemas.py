"""Schemas: the subjects of the registry, their users, and the effects of their versions on readers."""

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
    """One row for each subject. kac polls the registry only while the view is visible, or events are watched."""

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
        """Return whether the registry was read, or there is nothing to read."""
        return super().known() or not self.is_named

    def empty_text(self) -> str:
        """Return the way to name a registry, if the context names none."""
        return super().empty_text() if self.is_named else wrapped(schemas.NOT_NAMED, self.app.size.width)

    def inputs(self) -> tuple[object, ...]:
        """Return the subjects, their configs, the topics and the plan."""
        seen = self.snapshot
        return seen.schemas, seen.configs, seen.topics, seen.lag_trends, self.plan.staged

    def rows(self) -> list[schemas.SchemaRow]:
        """Return the subjects, by name."""
        return list(schemas.schema_rows(self.snapshot))

    def key(self, row: schemas.SchemaRow) -> Hashable:
        """Return the subject's name."""
        return row.name

    def cells(self, row: schemas.SchemaRow) -> Sequence[Cell]:
        """Return the cells; the subject is coloured if staged edits are about it."""
        cells = super().cells(row)
        if any(_is_about(each.edit.target, row.name) for each in self.plan.staged):
            return [(clean(row.name, 200), "pending"), *cells[1:]]
        return cells

    def words(self, row: schemas.SchemaRow) -> str:
        """Return the subject, its type, its records and topics."""
        records = {each.record for each in row.subject.versions}
        return " ".join((row.name, row.subject.kind, *records, *(each.topic for each in row.topics)))

    def in_trouble(self, row: schemas.SchemaRow) -> bool:
        """Return whether the registry accepts any new version."""
        return row.nothing_checked

    def status(self) -> Line:
        """Return the number of unchecked subjects, the number of rows, and the time of the read; empty before the first
        read.
        """
        if not self.known():
            return []
        unchecked = sum(map(self.in_trouble, self.rows()))
        line: Line = [(f"{plural(unchecked, 'subject')} not checked  ", "changed")] if unchecked else []
        at = self.snapshot.read_at.get(Part.SCHEMAS)
        return [*line, *super().status(), (f"  at {clock(at)}" if at is not None else "", "muted")]

    def copied_of(self, row: schemas.SchemaRow) -> str:
        """Return the name of the subject."""
        return row.name

    def do_schema_level(self) -> None:
        """Begin the command that sets the compatibility of the subject."""
        self.begin_command(lambda row: f"set schema {quote(row.name)} compatibility=")

    def do_register_schema(self) -> None:
        """Begin the command that registers a version."""
        self.begin_command(lambda row: f"schema {quote(row.name)} @")

    def do_delete_schema(self) -> None:
        """Stage the soft deletion of the marked subjects, or of the subject under the cursor."""
        self._editing.stage([DropSchema(row.name) for row in self.rows_meant()])

    def details(self, row: schemas.SchemaRow) -> list[Line]:
        """Return the details of the subject, with its versions."""
        return [[(_title(row), "")], *schemas.schema_lines(self.snapshot, row), *schemas.version_lines(row.subject)]

    async def enter(self, row: schemas.SchemaRow) -> None:
        """Show the newest two versions side by side, with the topics and readers of the subject."""
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
