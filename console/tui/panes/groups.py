"""The groups pane, and the lag of one group by partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.language.quoting import quote
from console.language.verbs.records import Bound, Records
from console.model.cluster import Group, GroupLag, PartitionLag
from console.model.codes import GROUP
from console.model.config import ConfigResource
from console.model.derived import Derived
from console.model.name_order import in_order, next_names
from console.model.parts import Part
from console.present import groups
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.panes.details import FEW, DetailsView
from console.tui.places import Place, records_in
from console.tui.tools import Tools

if TYPE_CHECKING:
    from console.model.half_hour import Kind

MOST_NAMED = 10
"""Maximum number of clients of a share group that the filter searches for one partition."""
LEAST_GROWTH = 1.0
"""Growth of a lag, in records/s, from which on it counts as trouble, as in triage."""
OTHERS_AT_ONCE = 100
"""Number of groups outside of the screen that one `read_more` polls: with 10,000 groups, a hundred calls poll each
group once.
"""
TIMES_AT_ONCE = 100
"""Number of the group's partitions for which kac reads the timestamp of the next record in each read."""


class GroupsView(DetailsView[Group]):
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
        self._swept: datetime | None = None
        self._turn = ""

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the groups, their lags, and the samples of the graphs."""
        return self.snapshot.groups, self.snapshot.lags, self.own_samples()

    def subject(self) -> tuple[Kind, str] | None:
        """Return the group under the cursor as kind and name; None without rows."""
        group = self.row()
        return ("group", group.name) if group is not None else None

    async def read_more(self) -> None:
        """Read members and lag of the groups on the screen, and of the next `OTHERS_AT_ONCE` other groups.

        With many thousand groups, reading all of them at once would take minutes.
        """
        at = datetime.now(UTC)
        shown = [row.name for row in self.visible_rows()]
        # Poll the groups on the screen first: the others may take long.
        await self.session.poll_groups(shown)
        self._swept = at
        self.tell_where()
        named = next_names(in_order(self.snapshot.groups), self._turn, OTHERS_AT_ONCE + len(shown))
        others = [name for name in named if name not in set(shown)][:OTHERS_AT_ONCE]
        self._turn = others[-1] if others else ""
        await self.session.poll_groups(others)

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the age of the lags, the number of stuck partitions, and the number
        of groups.
        """
        stuck = sum(len(trend.stuck) for trend in self.snapshot.lag_trends.values())
        return [
            *self.age("lag", self._swept),
            *([(f"{stuck:,} stuck  ", "failed")] if stuck else []),
            *super().status(),
        ]

    def rows(self) -> list[Group]:
        """Return the groups in order of name."""
        groups = self.snapshot.groups
        return [groups[name] for name in in_order(groups)]

    def key(self, row: Group) -> Hashable:
        """Return the row's key: the group's name."""
        return row.name

    def words(self, row: Group) -> str:
        """Return the text that the filter searches: the group's name, state and type."""
        return f"{row.name} {row.state} {row.type}"

    def shown(self) -> Callable[[Group], groups.GroupRow]:
        """Return the function that adds to a group its lag and the lag's trend."""
        lags, trends = self.snapshot.lags, self.snapshot.lag_trends
        return lambda group: groups.GroupRow(group, lags.get(group.name), trends.get(group.name))

    def details(self, row: Group) -> list[Line]:
        """Return the group as title, then its state and problems, and its partitions with the highest lag."""
        lag, trend = self.snapshot.lags.get(row.name), self.snapshot.lag_trends.get(row.name)
        return [[(clean(row.name), "")], *groups.group_lines(row, lag, trend, self.app.size.height)]

    def target_of(self, row: Group) -> ConfigResource:
        """Return the config resource of the group."""
        return ConfigResource(GROUP, row.name)

    def do_reset(self) -> None:
        """Open the command bar with the command that sets the group's committed offsets."""
        self.begin_command(lambda row: f"reset group {quote(row.name)} to ")

    def do_delete_group(self) -> None:
        """Open the command bar with the command that deletes the group."""
        self.begin_command(lambda row: f"delete group {quote(row.name)}")

    def copied_of(self, row: Group) -> str:
        """Return the text that `y` copies: the group's name."""
        return row.name

    async def enter(self, row: Group) -> None:
        """Show the group's lag by partition."""
        await self._navigator.goto(Place(keymap.GROUP, self.place.pane, row.name))


class GroupView(DetailsView[PartitionLag]):
    """One row for each partition that the group reads, with its committed offset; for a streams group, also the task
    that reads it.
    """

    NAME = keymap.GROUP
    MARKS = False
    ROWS_ARE_PARTS = True
    NOUN = groups.LAGS
    TAKES = FEW
    DETAILS_AFTER = 0.0
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
        """The group's lag; None if it has not been read."""
        return self.snapshot.lags.get(self.group)

    def known(self) -> bool:
        """Return whether the group's lag has been read."""
        return self.lag is not None

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the group, its lag and the samples of its graphs."""
        return self.group, self.lag, self.snapshot.groups.get(self.group), self.own_samples()

    def subject(self) -> tuple[Kind, str] | None:
        """Return the group as kind and name, for the graphs."""
        return "group", self.group

    async def read(self) -> None:
        """Read members and lag of the group; if the lag has been read before, also the timestamps of the next records.
        Raises AdminError.
        """
        await self.session.poll_groups([self.group], times=TIMES_AT_ONCE if self.known() else 0)

    def rows(self) -> Sequence[PartitionLag]:
        """Return the partitions in order of topic and partition number."""
        return self.lag.partitions if self.lag else ()

    def shown(self) -> Callable[[PartitionLag], groups.PartitionRow]:
        """Return the function that adds to a partition the trend of its lag and the members that read it."""
        made_of = self.snapshot.groups.get(self.group), self.snapshot.lag_trends.get(self.group)
        return self._row_maker.of(made_of, lambda: groups.partition_rows(*made_of))

    def key(self, row: PartitionLag) -> Hashable:
        """Return the row's key: topic and partition number."""
        return row.topic, row.partition

    def words(self, row: PartitionLag) -> str:
        """Return the text that the filter searches: topic, partition, member, the first `MOST_NAMED` clients, and
        trend.
        """
        shown = self.shown()(row)
        owners = " ".join(f"{member.client_id}@{member.host}" for member in shown.owners[:MOST_NAMED])
        return f"{row.topic} {row.partition} {row.member} {owners} {shown.word or ''}"

    def in_trouble(self, row: PartitionLag) -> bool:
        """Return whether triage finds a symptom of the partition, or its lag grows by `LEAST_GROWTH` records/s or
        more.
        """
        rate = self.shown()(row).rate
        grows = rate is not None and rate >= LEAST_GROWTH
        return grows or (self.group, row.topic, row.partition) in self.trouble.found.group_partitions

    def details(self, row: PartitionLag) -> list[Line]:
        """Return the partition as title; for a streams group, also the task that reads the partition."""
        task = groups.task_lines(self.snapshot.groups.get(self.group), row.topic, row.partition)
        return task or [[(f"{clean(row.topic)}-{row.partition}", "")]]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the group's state, number of members and total lag in records."""
        group = self.snapshot.groups.get(self.group)
        return groups.group_line(group, self.lag, self.snapshot.lag_trends.get(self.group))

    def target(self) -> ConfigResource | None:
        """Return the config resource of the group."""
        return ConfigResource(GROUP, self.group)

    async def do_records(self) -> None:
        """Show the partition's records from the group's committed offset on; if it has none, the last records."""
        row = self.row()
        if row is not None:
            start = Bound("group", self.group) if row.committed >= 0 else None
            await self._navigator.goto(records_in(self.place, Records((row.topic,), row.partition, start)))

    def do_reset(self) -> None:
        """Open the command bar with the command that sets the group's committed offset of the partition."""
        if place := self._place():
            self._editing.begin(f"reset {place} to ")

    def do_skip(self) -> None:
        """Open the command bar with the command that moves the committed offset past the next record."""
        if place := self._place():
            self._editing.begin(f"skip {place}")

    def do_delete_group(self) -> None:
        """Open the command bar with the command that deletes the group's committed offset of the partition."""
        if place := self._place():
            self._editing.begin(f"delete {place}")

    def _place(self) -> str:
        """Return the group and the partition under the cursor in the syntax of commands; ``""`` if there are no
        rows.
        """
        row = self.row()
        if row is None:
            return ""
        return f"group {quote(self.group)} topic {quote(row.topic)} partition {row.partition}"

    def copied_of(self, row: PartitionLag) -> str:
        """Return the text that `y` copies: ``topic-partition``."""
        return f"{row.topic}-{row.partition}"
