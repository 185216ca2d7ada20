"""The partitions of one topic."""

from __future__ import annotations

from collections.abc import Hashable

from console.language.quoting import quote
from console.model.cluster import Partition, Topic
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.present.names import plural
from console.present.text import Cell, Line
from console.present.topics import min_isr, partition_cells, trouble
from console.tui import keymap
from console.tui.panes.view import TableView, bindings
from widgets.columns import Column


class PartitionsView(TableView[Partition]):
    """One row for each partition: leader, replicas, ISR."""

    NAME = keymap.TOPIC
    MARKS = False
    PARTS = frozenset({"topics"})
    BINDINGS = bindings(keymap.TOPIC)
    COLUMNS = (
        Column("state", width=2, gutter=True),
        Column("number", "Partition", width=9, align="right"),
        Column("leader", "Leader", width=6, align="right", priority=95),
        Column("replicas", "Replicas", min_width=8, max_width=30, priority=90),
        Column("isr", "ISR", min_width=5, max_width=30, priority=92),
        Column("offline", "Offline", min_width=7, max_width=20, priority=40),
        Column("note", "", flex=1, min_width=10, priority=60),
    )
    EMPTY = "no such topic any more"

    @property
    def topic(self) -> Topic | None:
        """The topic, None where it is gone or was not read."""
        return self.snapshot.topics.get(self.place.topic or "")

    def inputs(self) -> tuple[object, ...]:
        """The topic."""
        return (self.topic,)

    async def read(self) -> None:
        """The topic."""
        if self.place.topic is not None:
            await self.console.session.read_topics([self.place.topic])

    def rows(self) -> list[Partition]:
        """By number."""
        return list(self.topic.partitions) if self.topic is not None else []

    def key(self, row: Partition) -> Hashable:
        """The number."""
        return row.number

    def words(self, row: Partition) -> str:
        """The number, the brokers."""
        return f"{row.number} leader={row.leader} {' '.join(map(str, row.replicas))}"

    def cells(self, row: Partition) -> list[Cell]:
        """A row."""
        return partition_cells(row)

    def status(self) -> Line:
        """How many, and the replication factor."""
        topic = self.topic
        return [(f"{plural(len(topic.partitions), 'partition')} × {topic.replication}", "muted")] if topic else []

    def note(self) -> Line:
        """What is wrong with the topic."""
        topic = self.topic
        return (trouble(topic, min_isr(self.snapshot, topic.name)) if topic else []) or super().note()

    def target(self) -> ConfigResource | None:
        """The topic."""
        about = self.place.about
        return about if isinstance(about, ConfigResource) else None

    def targets(self) -> list[ConfigResource | QuotaEntity]:
        """The entity, whatever is marked."""
        target = self.target()
        return [] if target is None else [target]

    def copied(self) -> str:
        """Topic and partition."""
        row = self.row()
        return f"{self.place.topic}-{row.number}" if row is not None else ""

    def do_grow(self) -> None:
        """Give the topic more partitions, in the command bar."""
        self.console.prefill(f"grow topic {quote(self.place.topic or '')} partitions=")
