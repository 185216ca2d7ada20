"""The groups, and the lag of one of them by partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from console.language.statements import Records
from console.model.cluster import Group, GroupLag, PartitionLag
from console.model.codes import GROUP
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.present.groups import GROUPS, LAGS, GroupRow, group_line
from console.present.text import Cell, Line
from console.tui import keymap
from console.tui.panes.view import PaneHost, TableView, bindings, show_records
from console.tui.places import Place
from console.tui.reading import Swept
from widgets.row_table import RowTable


class GroupsView(TableView[Group]):
    """One row for each group; Enter shows its lag by partition."""

    NAME = keymap.GROUPS
    PARTS = frozenset({"groups"})
    NEEDS = "groups"
    ENTER = "lag"
    BINDINGS = bindings(keymap.GROUPS)
    COLUMNS = GROUPS.layout
    EMPTY = "no groups"
    MORE_EVERY = 1

    def __init__(self, host: PaneHost) -> None:
        super().__init__(host)
        self._swept: Swept | None = None

    def inputs(self) -> tuple[object, ...]:
        """The groups and their lag."""
        return self.snapshot.groups, self.snapshot.lags

    async def read(self) -> None:
        """Names and states."""
        await self.host.session.read_groups()

    async def read_more(self) -> None:
        """Members and lag of the groups on the screen; what is there is read in turn, so the first is the oldest."""
        began, at = monotonic(), datetime.now(UTC)
        for row in self.visible_rows():
            await self.host.session.read_group(row.name)
        self._swept = Swept(at, monotonic() - began)
        self.tell_where()

    def status(self) -> Line:
        """How old the lag is, where it is older than a tick; how many groups there are."""
        return [*self.age("lag", self._swept), *super().status()]

    def rows(self) -> list[Group]:
        """By name."""
        return sorted(self.snapshot.groups.values(), key=lambda group: group.name)

    def key(self, row: Group) -> Hashable:
        """The name."""
        return row.name

    def words(self, row: Group) -> str:
        """Name, state and type."""
        return f"{row.name} {row.state} {row.type}"

    def cells(self, row: Group) -> list[Cell]:
        """A row."""
        return GROUPS.cells(GroupRow(row, self.snapshot.lags.get(row.name)))

    def sort_key(self, column: str) -> Callable[[Group], Any]:
        """Most lag and members first; the rest by their words."""
        lags = self.snapshot.lags
        keys: dict[str, Callable[[Group], Any]] = {
            "name": lambda group: group.name,
            "state": lambda group: (group.state, group.name),
            "type": lambda group: (group.type, group.name),
            "members": lambda group: (-len(group.members or ()), group.name),
            "lag": lambda group: (-_known(lags.get(group.name)), group.name),
        }
        return keys[column]

    def target_of(self, row: Group) -> ConfigResource:
        """The group's configs."""
        return ConfigResource(GROUP, row.name)

    def copied(self) -> str:
        """The name."""
        row = self.row()
        return row.name if row else ""

    async def on_line_view_selected(self, message: RowTable.Selected) -> None:
        """Show the lag by partition."""
        message.stop()
        await self.host.navigator.goto(Place(keymap.GROUP, self.place.pane, str(message.key)))


def _known(lag: GroupLag | None) -> int:
    """A group's lag, of one that is unknown less than none: it comes last."""
    total = lag.known_total if lag is not None else None
    return -1 if total is None else total


class GroupView(TableView[PartitionLag]):
    """One row for each partition that the group reads."""

    NAME = keymap.GROUP
    MARKS = False
    BINDINGS = bindings(keymap.GROUP)
    COLUMNS = LAGS.layout
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
        await self.host.session.read_group(self.group)

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
        return LAGS.cells(row)

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

    async def do_records(self) -> None:
        """The record that the group stands on, and those after it."""
        row = self.row()
        if row is not None:
            start = ("group", self.group) if row.committed >= 0 else ("last", "")
            await show_records(self.host, self.place, Records(row.topic, row.partition, *start))

    def copied(self) -> str:
        """Topic and partition."""
        row = self.row()
        return f"{row.topic}-{row.partition}" if row else ""
