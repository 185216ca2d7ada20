"""The pane of all entities with configs."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from console.model.codes import BROKER_LOGGER, IN_RESOURCE_LISTS
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.derived import Derived
from console.model.name_order import in_order
from console.model.parts import Part
from console.present import configs
from console.present.connectors import connector_resources
from console.present.names import DEFAULT, resource, resource_word
from console.present.text import Line
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.tools import Tools


class EntitiesView(DetailsView[ConfigResource]):
    """One row for each entity with configs; Enter opens its configs."""

    NAME = keymap.ENTITIES
    PARTS = frozenset({Part.CONFIGS, Part.RESOURCES, Part.TOPICS})
    NEEDS = Part.TOPICS
    TROUBLED = "configs"
    ENTER = "configs"
    NOUN = configs.ENTITIES
    EMPTY = "nothing here sets anything: `o` shows all"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._listed: tuple[ConfigResource, ...] = ()
        self._only_overrides = False
        self._staged: frozenset[ConfigResource] = frozenset()
        self._rows: Derived[list[ConfigResource]] = Derived([])

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: brokers, topics, connectors, the listed resources, their
        configs, the staged edits, and the marks of changes.
        """
        known = self.snapshot
        return (
            known.cluster,
            known.topics,
            known.connect,
            known.configs,
            self._listed,
            self.plan.staged,
            self.cluster.changed.version,
        )

    async def read(self) -> None:
        """Read the names of all entities, and the configs of the rows on the screen. Raises AdminError."""
        session = self.session
        await self.cluster.reading.whole(Part.TOPICS)
        listed = tuple(sorted(await session.list_resources(IN_RESOURCE_LISTS)))
        if listed != self._listed:
            self._listed = listed
            self.update()
        # Read the entities that will be visible before the first draw.
        await session.read_configs(self.visible_rows() or self._everything()[: self.app.size.height])

    async def read_more(self) -> None:
        """Read the levels of the brokers' loggers. Another reader polls the configs of all other entities."""
        await self.session.read_configs([ConfigResource(BROKER_LOGGER, str(each)) for each in self.cluster.answering()])

    def _everything(self) -> list[ConfigResource]:
        """Return all entities with configs, in order of kind; the same list object until an entity is added or
        removed.
        """
        known = self.snapshot
        return self._rows.of(
            (known.cluster, known.topics, known.connect, self._listed, self.plan.staged), self._all_of_them
        )

    def _all_of_them(self) -> list[ConfigResource]:
        known = self.snapshot
        brokers = sorted(broker.id for broker in known.cluster.brokers)
        rows = [
            CLUSTER_DEFAULT,
            *(broker_resource(broker) for broker in brokers),
            *(ConfigResource(BROKER_LOGGER, str(broker)) for broker in brokers),
            *self._listed,
            *connector_resources(known),
            *map(topic_resource, in_order(known.topics)),
        ]
        self._staged = frozenset(
            t for staged in self.plan.staged if isinstance(t := staged.edit.target, ConfigResource)
        )
        there = frozenset(rows) if self._staged else frozenset()
        return rows + sorted(self._staged - there)

    def _overrides(self, resource: ConfigResource) -> int | None:
        """Return the number of config keys that an entity overrides; None if its configs have not been read."""
        entries = self.snapshot.configs.get(resource)
        return None if entries is None else configs.own_count(entries, resource)

    def rows(self) -> list[ConfigResource]:
        """Return all entities; or, after `do_overrides`, only those with overrides or staged edits."""
        rows = self._everything()
        return [row for row in rows if self._overrides(row) or row in self._staged] if self._only_overrides else rows

    def key(self, row: ConfigResource) -> Hashable:
        """Return the row's key: the resource itself."""
        return row

    def key_text(self, key: Hashable) -> str:
        """Return a row's key as text for messages: the entity's kind and name."""
        return resource(key) if isinstance(key, ConfigResource) else super().key_text(key)

    def words(self, row: ConfigResource) -> str:
        """Return the text that the filter searches: the entity's kind and name."""
        return f"{resource_word(row.type)} {row.name or DEFAULT}"

    def shown(self) -> Callable[[ConfigResource], configs.EntityRow]:
        """Return the function that adds to an entity its number of overrides, its mark of a change and whether edits
        are staged.
        """
        facts = configs.EntityFacts(self._overrides, self.cluster.changed.when, self._staged)
        return lambda row: configs.EntityRow(row, facts)

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the age of the overrides, whether only entities with overrides are
        shown, and the number of entities.
        """
        only: Line = [("only those that set something  ", "pending")] if self._only_overrides else []
        return [*self.configs_age(), *only, *super().status()]

    def target_of(self, row: ConfigResource) -> ConfigResource:
        """Return the entity."""
        return row

    def copied_of(self, row: ConfigResource) -> str:
        """Return the text that `y` copies: the entity's name; `DEFAULT` for a cluster default."""
        return row.name or DEFAULT

    def details(self, row: ConfigResource) -> list[Line]:
        """Return the entity as title, then its overrides, including staged ones."""
        staged = configs.staged_lines(row, self.plan, self.snapshot)
        return [[(resource(row), "")], *configs.set_lines(row, self.snapshot, staged)]

    async def enter(self, row: ConfigResource) -> None:
        """Open the entity's configs."""
        self._navigator.open_resource(row)

    def do_overrides(self) -> None:
        """Switch between all entities and only those with overrides."""
        self._only_overrides = not self._only_overrides
        self.redraw()
