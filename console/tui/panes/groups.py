"""The groups, and the lag of one of them by partition."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

from console.language.quoting import quote
from console.language.verbs.records import Records
from console.model.cluster import Group, GroupLag, PartitionLag
from console.model.codes import GROUP
from console.model.config import ConfigResource
from console.model.derived import Derived
from console.model.parts import Part
from console.present import groups
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.panes.details import BesideView, DetailsView
from console.tui.panes.own_lines import OwnLinesView
from console.tui.places import Place, records_in
from console.tui.reading import Swept
from console.tui.tools import Tools

if TYPE_CHECKING:
    from console.model.half_hour import Kind

MOST_NAMED = 10
"""Members of one partition, of a share group, whose names the filter looks at."""
LEAST_GROWTH = 1.0
"""Records a second by which a lag grows that is in trouble, as for triage."""
OTHERS_AT_ONCE = 100
"""Groups beside those on the screen that are polled in a turn: 10,000 take a hundred turns."""
TIMES_AT_ONCE = 100
"""Partitions of the group whose next record's timestamp is read in a turn."""


class GroupsView(BesideView[Group]):
    """One row for each group; Enter shows its lag by partition."""

    NAME = keymap.GROUPS
    PARTS = frozenset({Part.GROUPS, Part.LAGS})
    NEEDS = Part.GROUPS
    TROUBLED = "groups"
    ENTER = "lag"
    NOUN = groups.GROUPS
    EMPTY = "no groups"
    MORE_EVERY = 1

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._swept: Swept | None = None
        self._turn = ""

    def inputs(self) -> tuple[object, ...]:
        """Return the groups and their lag."""
        return self.snapshot.groups, self.snapshot.lags

    async def read_more(self) -> None:
        """Read members and lag: of the groups on the screen each time, of `OTHERS_AT_ONCE` others in turn.

        In a cluster of many thousand groups, those of all of them at once would take minutes.
        """
        began, at = monotonic(), datetime.now(UTC)
        shown = [row.name for row in self.visible_rows()]
        # First what is seen: the others may take long.
        await self.session.poll_groups(shown)
        self._swept = Swept(at, monotonic() - began)
        self.tell_where()
        await self.session.poll_groups(self._next_others(frozenset(shown)))

    def _next_others(self, shown: frozenset[str]) -> list[str]:
        """Return the next groups in turn, by name, that are not on the screen."""
        others = sorted(self.snapshot.groups.keys() - shown)
        start = bisect_right(others, self._turn)
        chosen = (others[start:] + others[:start])[:OTHERS_AT_ONCE]
        self._turn = chosen[-1] if chosen else ""
        return chosen

    def status(self) -> Line:
        """Return the age of the lag, the number of stuck partitions and of groups."""
        stuck = sum(len(trend.stuck) for trend in self.snapshot.lag_trends.values())
        return [
            *self.age("lag", self._swept),
            *([(f"{stuck:,} stuck  ", "failed")] if stuck else []),
            *super().status(),
        ]

    def rows(self) -> list[Group]:
        """Return the groups by name."""
        return sorted(self.snapshot.groups.values(), key=lambda group: group.name)

    def key(self, row: Group) -> Hashable:
        """Return the name."""
        return row.name

    def words(self, row: Group) -> str:
        """Return name, state and type."""
        return f"{row.name} {row.state} {row.type}"

    def shown(self) -> Callable[[Group], groups.GroupRow]:
        """Return the function that adds to a group its lag and trend."""
        lags, trends = self.snapshot.lags, self.snapshot.lag_trends
        return lambda group: groups.GroupRow(group, lags.get(group.name), trends.get(group.name))

    def details(self, row: Group) -> list[Line]:
        """Return how the group does, and its partitions of the highest lag."""
        lag, trend = self.snapshot.lags.get(row.name), self.snapshot.lag_trends.get(row.name)
        return [[(clean(row.name), "")], *groups.group_lines(row, lag, trend, self.app.size.height)]

    def target_of(self, row: Group) -> ConfigResource:
        """Return the resource of the group's configs."""
        return ConfigResource(GROUP, row.name)

    def do_reset(self) -> None:
        """Begin the command that sets the group's offsets."""
        self.begin_command(lambda row: f"reset group {quote(row.name)} to ")

    def do_delete_group(self) -> None:
        """Begin the command that deletes the group."""
        self.begin_command(lambda row: f"delete group {quote(row.name)}")

    def copied_of(self, row: Group) -> str:
        """Return the name."""
        return row.name

    async def enter(self, row: Group) -> None:
        """Show the lag by partition."""
        await self._navigator.goto(Place(keymap.GROUP, self.place.pane, row.name))


class GroupView(DetailsView[PartitionLag], OwnLinesView[PartitionLag]):
    """One row for each partition that the group reads, with the group's committed offset; below it, of a streams group,
    the task that reads the partition."""

    NAME = keymap.GROUP
    MARKS = False
    ROWS_ARE_PARTS = True
    NOUN = groups.LAGS
    EMPTY = "the group has committed nothing and reads nothing"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._row_maker: Derived[Callable[[PartitionLag], groups.PartitionRow]] = Derived(groups.PartitionRow)

    @property
    def group(self) -> str:
        """The group's name."""
        return str(self.place.about)

    @property
    def lag(self) -> GroupLag | None:
        """The group's lag, None if it was not read."""
        return self.snapshot.lags.get(self.group)

    def known(self) -> bool:
        """Return whether the group's lag was read."""
        return self.lag is not None

    def inputs(self) -> tuple[object, ...]:
        """Return the group and its lag."""
        return self.group, self.lag, self.snapshot.groups.get(self.group), self.own_samples()

    def subject(self) -> tuple[Kind, str] | None:
        """Return the group; beside the details of a streams group there is no room."""
        return None if self.below.display and self.has_class("wide") else ("group", self.group)

    async def read(self) -> None:
        """Read members and lag, and once the lag is shown, when the records were written that wait. Raises
        AdminError."""
        await self.session.poll_groups([self.group], times=TIMES_AT_ONCE if self.known() else 0)

    def rows(self) -> Sequence[PartitionLag]:
        """Return the partitions, by topic and number."""
        return self.lag.partitions if self.lag else ()

    def shown(self) -> Callable[[PartitionLag], groups.PartitionRow]:
        """Return the function that adds to a partition its trend and its members."""
        made_of = self.snapshot.groups.get(self.group), self.snapshot.lag_trends.get(self.group)
        return self._row_maker.of(made_of, lambda: groups.partition_rows(*made_of))

    def key(self, row: PartitionLag) -> Hashable:
        """Return topic and partition."""
        return row.topic, row.partition

    def words(self, row: PartitionLag) -> str:
        """Return topic, partition, the member and its client, and the trend."""
        shown = self.shown()(row)
        owners = " ".join(f"{member.client_id}@{member.host}" for member in shown.owners[:MOST_NAMED])
        return f"{row.topic} {row.partition} {row.member} {owners} {shown.word or ''}"

    def in_trouble(self, row: PartitionLag) -> bool:
        """Return whether the partition has a symptom, or its lag grows by `LEAST_GROWTH`."""
        rate = self.shown()(row).rate
        grows = rate is not None and rate >= LEAST_GROWTH
        return grows or (self.group, row.topic, row.partition) in self.trouble.found.group_partitions

    def draw(self) -> None:
        """Draw the table, and the details of a group that has some: the table of others has the room."""
        group = self.snapshot.groups.get(self.group)
        self.below.display = group is not None and group.topology is not None
        super().draw()

    def details(self, row: PartitionLag) -> list[Line]:
        """Return the task that reads the partition, of a streams group."""
        return groups.task_lines(self.snapshot.groups.get(self.group), row.topic, row.partition)

    def status(self) -> Line:
        """Return state, members and total lag."""
        group = self.snapshot.groups.get(self.group)
        return groups.group_line(group, self.lag, self.snapshot.lag_trends.get(self.group))

    def target(self) -> ConfigResource | None:
        """Return the resource of the group's configs."""
        return ConfigResource(GROUP, self.group)

    async def do_records(self) -> None:
        """Show the records from the group's committed offset on; without one the last records."""
        row = self.row()
        if row is not None:
            start = ("group", self.group) if row.committed >= 0 else ("last", "")
            await self._navigator.goto(records_in(self.place, Records(row.topic, row.partition, *start)))

    def do_reset(self) -> None:
        """Begin the command that sets the group's offset of the partition."""
        if place := self._place():
            self._editing.begin(f"reset {place} to ")

    def do_skip(self) -> None:
        """Begin the command that skips the record at the committed offset."""
        if place := self._place():
            self._editing.begin(f"skip {place}")

    def do_delete_group(self) -> None:
        """Begin the command that deletes the group's offset of the partition."""
        if place := self._place():
            self._editing.begin(f"delete {place}")

    def _place(self) -> str:
        """Return the group's partition as commands write it, ``""`` without a row."""
        row = self.row()
        if row is None:
            return ""
        return f"group {quote(self.group)} topic {quote(row.topic)} partition {row.partition}"

    def copied_of(self, row: PartitionLag) -> str:
        """Return ``topic-partition``."""
        return f"{row.topic}-{row.partition}"
