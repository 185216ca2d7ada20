"""One group: how far it is behind, by partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from console.model.cluster import GroupLag, PartitionLag
from console.model.codes import GROUP
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.present.groups import group_line, lag_cells
from console.present.text import Cell, Line
from console.tui import keymap
from console.tui.panes.view import TableView, bindings
from widgets.columns import Column


class GroupView(TableView[PartitionLag]):
    """One row for each partition that the group reads."""

    NAME = keymap.GROUP
    MARKS = False
    BINDINGS = bindings(keymap.GROUP)
    COLUMNS = (
        Column("topic", "Topic", flex=1, min_width=20, max_width=80, sort_key="N"),
        Column("partition", "Part", width=5, align="right", priority=90),
        Column("committed", "Committed", min_width=9, max_width=20, align="right", priority=60),
        Column("end", "End", min_width=9, max_width=20, align="right", priority=50),
        Column("lag", "Lag", min_width=6, max_width=20, align="right", priority=95, sort_key="L"),
        Column("member", "Member", min_width=10, max_width=40, priority=40, sort_key="M"),
    )
    EMPTY = "the group has committed nothing and reads nothing"

    @property
    def group(self) -> str:
        """The group's name."""
        return str(self.place.about)

    @property
    def lag(self) -> GroupLag | None:
        """What is known of its lag."""
        return self.snapshot.lags.get(self.group)

    def known(self) -> bool:
        """Whether its lag was read."""
        return self.lag is not None

    def inputs(self) -> tuple[object, ...]:
        """The group and its lag."""
        return self.group, self.lag, self.snapshot.groups.get(self.group)

    async def read(self) -> None:
        """Members and lag."""
        await self.console.session.read_group(self.group)

    def rows(self) -> list[PartitionLag]:
        """By topic and partition."""
        return sorted(self.lag.partitions if self.lag else ())

    def key(self, row: PartitionLag) -> Hashable:
        """Topic and partition."""
        return row.topic, row.partition

    def words(self, row: PartitionLag) -> str:
        """Topic, partition, member."""
        return f"{row.topic} {row.partition} {row.member}"

    def cells(self, row: PartitionLag) -> list[Cell]:
        """A row."""
        return lag_cells(row)

    def sort_key(self, column: str) -> Callable[[PartitionLag], Any]:
        """Most lag first; the rest by their words."""
        if column == "lag":
            return lambda row: (-row.lag, row.topic, row.partition)
        return lambda row: (row.member if column == "member" else row.topic, row.topic, row.partition)

    def status(self) -> Line:
        """State, members, total."""
        return group_line(self.snapshot.groups.get(self.group), self.lag)

    def target(self) -> ConfigResource | None:
        """The group's configs."""
        return ConfigResource(GROUP, self.group)

    def targets(self) -> list[ConfigResource | QuotaEntity]:
        """The entity, whatever is marked."""
        target = self.target()
        return [] if target is None else [target]

    def copied(self) -> str:
        """Topic and partition."""
        row = self.row()
        return f"{row.topic}-{row.partition}" if row else ""
