"""The pane of the configs of one entity."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from console.language.quoting import quote
from console.language.statements import subject_text
from console.model.codes import TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource
from console.model.inheritance import differing
from console.model.parts import Part
from console.model.snapshot import ReadFailure, config_label
from console.plan.edits import UnsetConfig
from console.present import configs as present_configs
from console.present.failures import left_out_text
from console.present.names import HIDDEN, plural
from console.present.text import Line, clean
from console.present.topics import topic_marks
from console.tui import keymap
from console.tui.panes.details import DETAILED, DetailsView
from console.tui.text_lines import wrap_all
from console.tui.tools import Tools


class ConfigsView(DetailsView[present_configs.ConfigRow]):
    """A table with one row for each config key; the details of the key under the cursor are below it."""

    NAME = keymap.CONFIGS
    PARTS = frozenset({Part.CONFIGS})
    ENTER = "details"
    ROWS_ARE_PARTS = True
    NOUN = present_configs.CONFIGS
    EMPTY = "nothing is set here: `o` shows all keys"
    TAKES = DETAILED

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._only_overrides = False
        self._documented: ConfigResource | None = None

    @property
    def resource(self) -> ConfigResource:
        """The resource whose configs are shown; the cluster default of brokers if the place names none."""
        about = self.place.about
        return about if isinstance(about, ConfigResource) else CLUSTER_DEFAULT

    def known(self) -> bool:
        """Return whether the entity's configs have been read."""
        return self.resource in self.snapshot.configs

    def concerns(self, failure: ReadFailure) -> bool:
        """Return whether a read failure affects this entity: it is about the entity, or about all configs."""
        return failure.entity in ("", config_label(self.resource))

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the entity's configs, their documentation, the plan, the marks
        of changes, and the brokers' configs.
        """
        known = self.snapshot
        return (
            self.resource,
            known.configs.get(self.resource),
            known.documentation,
            self.plan,
            self.cluster.changed.version,
            known.configs_from,
        )

    async def read(self) -> None:
        """Read the entity's configs; also their documentation, if it was not read yet. Raises AdminError."""
        resource, known = self.resource, self.snapshot
        entries = known.configs.get(resource)
        documented = entries is not None and all(
            (int(resource.type), entry.name) in known.documentation for entry in entries
        )
        asks = not documented and resource != self._documented
        if asks:  # request documentation once for each entity: some keys have none
            self._documented = resource
        await self.session.read_configs([resource], documentation=asks)

    async def read_more(self) -> None:
        """Read the brokers' configs, from which a topic inherits. No-op for other entities."""
        if self.resource.type == TOPIC:
            await self.session.read_configs([*map(broker_resource, self.cluster.answering())])

    def rows(self) -> list[present_configs.ConfigRow]:
        """Return the configs, overrides first."""
        resource = self.resource
        lines = present_configs.staged_lines(resource, self.plan, self.snapshot)
        entries = self.snapshot.configs.get(resource)
        return present_configs.config_rows(resource, entries, lines, self.plan, overrides_only=self._only_overrides)

    def key(self, row: present_configs.ConfigRow) -> Hashable:
        """Return the row's key: the config key."""
        return row.key

    def words(self, row: present_configs.ConfigRow) -> str:
        """Return the text that the filter searches: the config key and its value."""
        return f"{row.key} {row.entry.value or '' if row.entry else ''}"

    def in_trouble(self, row: present_configs.ConfigRow) -> bool:
        """Return whether triage names the config in a cause, or brokers refused its staged edit."""
        return row.key in self.trouble.found.configs.get(self.resource, ()) or (
            row.outcome is not None and not row.outcome.ok
        )

    def shown(self) -> Callable[[present_configs.ConfigRow], present_configs.ConfigLine]:
        """Return the function that adds to a row the broker whose value it inherits, and whether the value changed."""
        resource, when = self.resource, self.cluster.changed.when
        broker = present_configs.described_by(resource, self.snapshot)
        return lambda row: present_configs.ConfigLine(row, broker, when(resource, row.key) is not None)

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: ``3 overrides of 33``; for loggers only their number."""
        entries = self.snapshot.configs.get(self.resource)
        if entries is None:
            return []
        if self.resource.type.entity.has_levels:
            return [(plural(len(entries), "logger"), "muted")]
        own = present_configs.own_count(entries, self.resource)
        only: Line = [("only overrides  ", "pending")] if self._only_overrides else []
        count: Line = [(f"{plural(own, 'override')} of {len(entries)}", "muted")]
        if self.resource.type == TOPIC and self.resource.name in topic_marks(self.plan).deleted:
            count = [("to be deleted  ", "danger"), *count]
        return [*only, *count]

    # -- details -------------------------------------------------------------------------------------------------------

    def details(self, row: present_configs.ConfigRow) -> list[Line]:
        """Return the key as title, then its value, source and documentation."""
        return [[(clean(row.key), "")], *self._details(row, self.text_width)]

    def _details(self, row: present_configs.ConfigRow, width: int) -> list[Line]:
        """Return the details of a key, with its documentation folded to `width` cells."""
        resource, known = self.resource, self.snapshot
        inherits = resource.type == TOPIC and row.entry is not None
        return present_configs.details(resource, row, known, differing(known, row.key) if inherits else {}, width)

    async def enter(self, row: present_configs.ConfigRow) -> None:  # noqa: ARG002
        """Show all details of the key on a screen above the panes."""
        self.do_details()

    def do_details(self) -> None:
        """Show all details of the key on a screen above the panes."""
        row = self.row()
        if row is not None:
            self.show_text(
                row.key,
                lambda width: wrap_all(self._details(row, width), width, 2),
            )

    # -- actions -------------------------------------------------------------------------------------------------------

    def target(self) -> ConfigResource | None:
        """Return the entity whose configs are shown."""
        return self.resource

    def on_list_key(self) -> bool:
        """Return whether the config under the cursor has a list value."""
        row = self.row()
        return row is not None and row.list_type

    def copied_of(self, row: present_configs.ConfigRow) -> str:
        """Return the text that `y` copies: ``key=value``; the key alone if the value is hidden."""
        value = row.entry.value if row.entry is not None else None
        return row.key if value is None or value == HIDDEN else f"{row.key}={value}"

    def do_overrides(self) -> None:
        """Switch between all keys and only those with an override."""
        self._only_overrides = not self._only_overrides
        self.redraw()

    def do_edit(self) -> None:
        """Open the command bar with the command that sets the key. For a sensitive key its value is ``?``, which
        prompts for the secret.
        """
        row = self.row()
        if row is not None:
            secret = "?" if row.entry is not None and row.entry.sensitive else ""
            self._editing.begin(f"set {subject_text(self.resource)} {quote(row.key)}={secret}")

    def do_append(self) -> None:
        """Open the command bar with the command that appends items to the list value."""
        self.begin_command(lambda row: f"append {subject_text(self.resource)} {quote(row.key)}=")

    def do_unset(self) -> None:
        """Discard the staged edits of the marked keys, or of the key under the cursor. If none of these keys has a
        staged edit, stage the deletion of their overrides.
        """
        rows, hidden = self.rows_meant(), self.left_out()
        staged = [row for row in rows if row.line is not None]
        own = [row for row in rows if row.line is None and row.override]
        if staged:
            for row in staged:
                self.session.discard(self.resource, row.key)
            names = ", ".join(clean(row.key, 120) for row in staged)
            self._message.say(f"taken out of the plan: {names}{left_out_text(hidden)}")
        elif own:
            self._editing.stage([UnsetConfig(self.resource, row.key) for row in own], left_out=hidden)
        else:
            self._message.say(f"not set here, so there is nothing to delete{left_out_text(hidden)}", "muted")
        self.table.set_marks(())
