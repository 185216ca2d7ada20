"""Everything that has configs: choose one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from console.model.codes import BROKER_LOGGER, CLIENT_METRICS, GROUP
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.present.configs import own_count
from console.present.names import DEFAULT, resource_word
from console.present.sanitize import clean
from console.present.spans import Cell, Line
from console.present.topics import clock
from console.tui import keymap
from console.tui.panes.view import TableView, bindings
from widgets.columns import Column
from widgets.row_table import RowTable

if TYPE_CHECKING:
    from console.tui.reading import Swept


class EntityRow(NamedTuple):
    """An entity and how many configs it sets itself; None where that was not read."""

    resource: ConfigResource
    overrides: int | None
    staged: int


class EntitiesView(TableView[EntityRow]):
    """One row for each entity with configs; Enter opens them."""

    NAME = keymap.ENTITIES
    PARTS = frozenset({"configs", "resources", "topics"})
    NEEDS = "topics"
    ENTER = "configs"
    BINDINGS = bindings(keymap.ENTITIES)
    COLUMNS = (
        Column("staged", width=2, gutter=True),
        Column("kind", "Kind", width=14),
        Column("name", "Name", flex=1, min_width=20, max_width=90, sort_key="N", priority=95),
        Column("over", "Over", width=5, align="right", priority=80, sort_key="O"),
        Column("changed", "Changed", width=8, priority=30, sort_key="C"),
    )
    EMPTY = "nothing here sets anything: `o` shows all"

    def __init__(self) -> None:
        super().__init__()
        self._listed: tuple[ConfigResource, ...] = ()
        self._only_overrides = False
        self._swept: Swept | None = None

    def inputs(self) -> tuple[object, ...]:
        """Brokers, topics, what is listed, their configs, the plan."""
        known = self.snapshot
        return (
            known.cluster,
            known.topics,
            known.configs,
            self._listed,
            self.plan.staged,
            self.console.changed.version,
        )

    async def read(self) -> None:
        """The names, and the configs of what is on the screen."""
        session = self.console.session
        await self.console.reading.all_topics()
        listed = tuple(sorted(await session.list_resources((CLIENT_METRICS, GROUP))))
        if listed != self._listed:
            self._listed = listed
            self.update()
        await session.read_configs([row.resource for row in self.visible_rows()])

    async def read_more(self) -> None:
        """The configs of all."""
        self._swept = await self.console.reading.sweep([row.resource for row in self._everything()])
        self.tell_where()

    def _everything(self) -> list[EntityRow]:
        known = self.snapshot
        brokers = sorted(broker.id for broker in known.cluster.brokers)
        resources = [
            CLUSTER_DEFAULT,
            *(broker_resource(broker) for broker in brokers),
            *(ConfigResource(BROKER_LOGGER, str(broker)) for broker in brokers),
            *self._listed,
            *(topic_resource(name) for name in sorted(known.topics)),
        ]
        staged: dict[object, int] = {}
        for item in self.plan.staged:
            staged[item.edit.target] = staged.get(item.edit.target, 0) + 1
        there = set(resources)
        resources += [target for target in staged if isinstance(target, ConfigResource) and target not in there]
        return [EntityRow(resource, self._overrides(resource), staged.get(resource, 0)) for resource in resources]

    def _overrides(self, resource: ConfigResource) -> int | None:
        entries = self.snapshot.configs.get(resource)
        return None if entries is None else own_count(entries, resource)

    def rows(self) -> list[EntityRow]:
        """All entities, or those that set something."""
        rows = self._everything()
        return [row for row in rows if row.overrides or row.staged] if self._only_overrides else rows

    def key(self, row: EntityRow) -> Hashable:
        """The resource."""
        return row.resource

    def words(self, row: EntityRow) -> str:
        """Kind and name."""
        return f"{resource_word(row.resource.type)} {row.resource.name or DEFAULT}"

    def cells(self, row: EntityRow) -> list[Cell]:
        """A row."""
        resource = row.resource
        changed = self.console.changed.when(resource)
        overrides: Cell = "·" if row.overrides is None else ""
        return [
            ("*", "pending") if row.staged else "",
            (resource_word(resource.type), "muted"),
            DEFAULT if resource.is_cluster_default else clean(resource.name),
            (str(row.overrides), "override") if row.overrides else overrides,
            (clock(changed), "changed") if changed else "",
        ]

    def sort_key(self, column: str) -> Callable[[EntityRow], Any]:
        """By name; most, or latest, first."""
        if column == "name":
            return lambda row: (row.resource.name, row.resource.type)
        if column == "over":
            return lambda row: -(row.overrides or 0)
        return lambda row: -(at.timestamp() if (at := self.console.changed.when(row.resource)) else 0)

    def status(self) -> Line:
        """Whether all are shown."""
        only: Line = [("only those that set something  ", "pending")] if self._only_overrides else []
        return [*self.age("overrides", self._swept), *only, *super().status()]

    def target_of(self, row: EntityRow) -> ConfigResource:
        """The entity."""
        return row.resource

    def copied(self) -> str:
        """The name."""
        row = self.row()
        return row.resource.name or DEFAULT if row else ""

    def on_line_view_selected(self, message: RowTable.Selected) -> None:
        """Open the configs."""
        message.stop()
        row = self.row()
        if row is not None:
            self.console.going.open_resource(row.resource)

    def do_overrides(self) -> None:
        """Show all, or those that set something."""
        self._only_overrides = not self._only_overrides
        self.redraw()

    def do_edit(self) -> None:
        """Set a config of the entities meant, in the command bar."""
        self.console.edit_entities(self.targets())
