"""Groups: the columns of groups, of one group's lag by partition, of its members and its topology; and a group as
lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest
from typing import NamedTuple, TypeVar

from console.model import cluster
from console.model.grouping import grouped
from console.model.lag_trend import LagTrend, PartitionTrend, direction, time_left
from console.model.numbers import Data, known_number
from console.model.time_lag import NOT_BEHIND, UNSEEN, Behind
from console.plan.amounts import Unit
from console.present import columns
from console.present.names import NOTHING, plural
from console.present.text import Cell, Line, clean, in_columns

R = TypeVar("R")

_TROUBLED = frozenset({"DEAD", "UNKNOWN"})
_REBALANCING = frozenset({"PREPARINGREBALANCE", "COMPLETINGREBALANCE", "ASSIGNING", "RECONCILING", "NOTREADY"})


def count(value: int) -> str:
    """Return a count as text; ``–`` for a negative number, which means unknown."""
    return NOTHING if value < 0 else f"{value:,}"


def state_meaning(state: str) -> str:
    """Return the meaning of the colour of a group's state: ``failed`` for trouble, ``changed`` for a rebalance,
    ``muted`` for an empty group.
    """
    word = state.upper().replace("_", "")
    if word in _TROUBLED:
        return "failed"
    if word in _REBALANCING:
        return "changed"
    return "muted" if word == "EMPTY" else ""


def lag_total(lag: cluster.GroupLag | None) -> str:
    """Return a group's lag in records as text: ``–`` if it is unknown; with a ``?`` if it is unknown for some
    partitions.
    """
    return "".join(text for text, _ in _lag_spans(lag))


def _lag_spans(lag: cluster.GroupLag | None) -> Line:
    if lag is None or lag.is_unknown:
        return [(NOTHING, "")]
    return [(f"{lag.total:,}", ""), *([(" ?", "failed")] if lag.is_part else [])]


STILL_AFTER = 10.0
"""Seconds after which a member that commits no progress counts as stalled: more than the default of
auto.commit.interval.ms.
"""
_TREND_MEANINGS = {"grows": "danger", "shrinks": "ok", "stalled": "danger", "stuck": "failed"}


def rate_text(rate: float | None) -> str:
    """Return the growth of a lag in records/s, with its sign: ``+1,204``, ``-83``, ``0``; ``·`` if it is unknown, as
    before the second poll.
    """
    value = columns.rate_value(rate)
    return "·" if value is None else f"{value:+,}" if value else "0"


def _seconds(value: float | None) -> Data:
    return None if value is None else round(value)


def _left(seconds: float | None) -> Data:
    """Return the seconds until a lag is 0, rounded, but at least 1, because 0 would mean that there is no lag. None if
    unknown.
    """
    return None if seconds is None else max(1, round(seconds))


def behind_column(get: Callable[[R], Behind], views: frozenset[columns.View]) -> columns.Column[R]:
    """Return the column of the time for which the next record has waited."""
    return columns.Column(
        "lag_seconds",
        views,
        lambda row: _seconds(get(row).seconds),
        "number",
        Unit.SECONDS,
        part=lambda row: get(row).least,
        unknown=True,
        cell=lambda row: columns.behind_text(get(row)),
        order=lambda row: columns.highest_first(get(row).seconds),
        layout=columns.on_screen((7, 11), "Behind", priority=88, sort_key="B"),
    )


def _rate_column(get: Callable[[R], float | None], views: frozenset[columns.View], priority: int) -> columns.Column[R]:
    """Return the column of a lag's growth in records/s. priority: the priority on a narrow screen: the higher, the
    longer the column stays.
    """
    return columns.Column(
        "rate",
        views,
        lambda row: columns.rate_value(get(row)),
        "number",
        unknown=True,
        cell=lambda row: rate_text(get(row)),
        order=lambda row: columns.highest_first(get(row)),
        layout=columns.on_screen((6, 12), "Rate/s", priority=priority, sort_key="R"),
    )


def _left_column(get: Callable[[R], float | None], views: frozenset[columns.View], priority: int) -> columns.Column[R]:
    """Return the column of the seconds until a lag is 0. priority: as for `_rate_column`."""
    return columns.Column(
        "catch_up",
        views,
        lambda row: _left(get(row)),
        "number",
        Unit.SECONDS,
        cell=lambda row: columns.time_text(get(row)),
        layout=columns.on_screen((5, 9), "Left", priority=priority),
    )


def _trend_cell(word: str | None) -> tuple[str, str]:
    return ("·", "") if word is None else (word, _TREND_MEANINGS.get(word, ""))


class GroupRow(NamedTuple):
    """A group, its lag, and the trend of the lag; lag and trend are None if they were not read."""

    group: cluster.Group
    lag: cluster.GroupLag | None = None
    trend: LagTrend | None = None

    @property
    def rate(self) -> float | None:
        """The growth of the group's lag in records/s; None if unknown."""
        return None if self.trend is None else self.trend.rate

    @property
    def behind(self) -> Behind:
        """The time for which the next record of a partition has waited for the group: the longest of all its
        partitions.
        """
        return UNSEEN if self.trend is None else self.trend.longest_behind

    @property
    def stuck(self) -> int | None:
        """The number of stuck partitions, whose members have committed no progress for a long time
        (`console.model.lag_trend`); None if unknown.
        """
        return None if self.trend is None else len(self.trend.stuck)


def _topics_read(row: GroupRow) -> list[Data] | None:
    """Return the topics that a group reads: those with committed offsets or assigned partitions; None if both are
    unknown.
    """
    # With only one of the two known the list is incomplete, but a filter may still match a topic in it.
    if row.lag is None and row.group.members is None:
        return None
    committed = {each.topic for each in row.lag.partitions} if row.lag is not None else set()
    return [*sorted(committed | {topic for each in row.group.members or () for topic, _ in each.assignment})]


GROUPS: columns.Columns[GroupRow] = columns.Columns(
    columns.Column(
        "name",
        columns.EVERYWHERE,
        get=lambda row: row.group.name,
        layout=columns.on_screen((20, 80), "Group", flex=1, sort_key="N"),
    ),
    columns.Column(
        "state",
        get=lambda row: row.group.state,
        type="word",
        cell=lambda row: (clean(row.group.state), state_meaning(row.group.state)),
        layout=columns.on_screen((8, 20), priority=80, sort_key="S"),
    ),
    columns.Column(
        "type",
        get=lambda row: row.group.type,
        type="word",
        layout=columns.on_screen((8, 12), priority=40, sort_key="T"),
    ),
    columns.Column("protocol", columns.LISTED | columns.DETAIL, lambda row: row.group.protocol),
    columns.Column("topic", columns.FILTER, _topics_read, "names", unknown=True),
    columns.Column("assignor", columns.DETAIL, lambda row: _assignor(row.group) or columns.ABSENT),
    columns.Column(
        "members",
        columns.SCREEN,
        lambda row: None if row.group.members is None else len(row.group.members),
        "number",
        cell=lambda row: "·" if row.group.members is None else str(len(row.group.members)),
        order=lambda row: -len(row.group.members or ()),
        layout=columns.on_screen(6, "Memb", priority=60, sort_key="M"),
    ),
    columns.Column(
        "lag",
        get=lambda row: None if row.lag is None else row.lag.known_total,
        type="number",
        part=lambda row: row.lag is not None and row.lag.is_part,
        unknown=True,
        cell=lambda row: "·" if row.lag is None else _lag_spans(row.lag),
        text=lambda row: lag_total(row.lag),
        layout=columns.on_screen((8, 16), priority=90, sort_key="L"),
    ),
    behind_column(lambda row: row.behind, columns.EVERYWHERE | columns.DETAIL),
    columns.Column(
        "trend",
        columns.DATA | columns.SCREEN | columns.DETAIL,
        lambda row: direction(row.rate),
        "word",
        unknown=True,
        cell=lambda row: _trend_cell(direction(row.rate)),
        layout=columns.on_screen(7, priority=70),
    ),
    _rate_column(lambda row: row.rate, columns.OVER_POLLS | columns.DETAIL, 65),
    _left_column(
        lambda row: None if row.trend is None else row.trend.catch_up, columns.OVER_POLLS | columns.DETAIL, 35
    ),
    columns.Column(
        "stuck",
        columns.DATA | columns.SCREEN | columns.DETAIL,
        type="number",
        unknown=True,
        cell=lambda row: (f"{row.stuck:,}", "failed") if row.stuck else "",
        layout=columns.on_screen((5, 7), priority=85, sort_key="K"),
    ),
    columns.Column(
        "coordinator",
        get=lambda row: known_number(row.group.coordinator),
        type="number",
        title="Coordinator",
        text=lambda row: "" if row.group.coordinator < 0 else str(row.group.coordinator),
        layout=columns.on_screen(5, "Coord", priority=30),
    ),
    orders={"detail": ("state", "type", "protocol", "coordinator", "lag")},
    tie=lambda row: row.group.name,
    views=columns.EVERYWHERE | columns.DETAIL,
)
"""The columns of groups. On the screen, a dot marks a column that was not read yet. Trend, rate (records per second)
and the seconds to catch up need two polls; a single command has one. lag_seconds: the time for which the next
record of a partition has waited, the longest of all partitions; data report it as partial if it may be longer.
"""


class PartitionRow(NamedTuple):
    """A group's offsets in a partition, the trend of its lag there, and the members to which the partition is
    assigned.
    """

    at: cluster.PartitionLag
    trend: PartitionTrend | None = None
    owners: Sequence[cluster.GroupMember] = ()
    wanted: Sequence[cluster.GroupMember] | None = None
    """The members to which the target assignment gives the partition; None if the group's protocol has no target
    assignment.
    """
    behind: Behind = UNSEEN
    """The time for which the partition's next record has waited."""

    @property
    def rate(self) -> float | None:
        """The growth of the lag in the partition in records/s; None if unknown."""
        return None if self.trend is None else self.trend.rate

    @property
    def word(self) -> str | None:
        """The trend of the lag as a word, such as ``stalled``; None until it is known."""
        if self.trend is None:
            return None
        if self.trend.stuck:
            return "stuck"
        # Wait a while: between two commits of a healthy consumer, the offset does not move either.
        still = self.trend.still >= STILL_AFTER and bool(self.at.member) and (self.rate or 0) >= 0
        return "stalled" if still else direction(self.rate)

    @property
    def target(self) -> str | None:
        """The clients to which the target assignment gives the partition, if they are not its present owners; ``no
        member`` if the target assignment gives it to no member. None if target and owners are equal, or the group
        has no target assignment.
        """
        # Show the target only if it differs, as during a rebalance; otherwise it would repeat the owners.
        if self.wanted is None or {m.member_id for m in self.wanted} == {m.member_id for m in self.owners}:
            return None
        return clients(self.wanted) or "no member"


def clients(members: Sequence[cluster.GroupMember]) -> str:
    """Return the first of these members as ``billing-1@10.0.3.10``, with the number of the others (``+2``); ``""`` if
    there are no members.
    """
    if not members:
        return ""
    first = members[0]
    more = f" +{len(members) - 1}" if len(members) > 1 else ""
    return f"{first.client_id}@{first.host.removeprefix('/')}{more}"


def partition_rows(
    group: cluster.Group | None, trend: LagTrend | None
) -> Callable[[cluster.PartitionLag], PartitionRow]:
    """Return a function that creates the row of a partition. It is called only for rows that are shown.

    Args:
        group: the group with its members; None if it was not described.
        trend: the trend of the group's lag; None before the first poll.
    """
    # Group the members once for all rows: a group may read 10,000 partitions.
    members = (group and group.members) or ()
    owners = _by_place((member, member.assignment) for member in members)
    # A classic group has no targets: its partitions must not look as if they lost their members.
    targets = [(member, member.target) for member in members if member.target is not None]
    wanted = _by_place(targets)

    def row(at: cluster.PartitionLag) -> PartitionRow:
        place = at.topic, at.partition
        target = wanted.get(place, ()) if targets else None
        if trend is None:
            return PartitionRow(at, None, owners.get(place, ()), target)
        behind = trend.behind.get(place, NOT_BEHIND if at.lag == 0 else UNSEEN)
        return PartitionRow(at, trend.partitions.get(place), owners.get(place, ()), target, behind)

    return row


def _by_place(
    held: Iterable[tuple[cluster.GroupMember, cluster.Places]],
) -> dict[tuple[str, int], list[cluster.GroupMember]]:
    return grouped((place, member) for member, places in held for place in places)


LAGS: columns.Columns[PartitionRow] = columns.Columns(
    columns.Column("topic", get=lambda row: row.at.topic, layout=columns.on_screen((20, 80), flex=1, sort_key="N")),
    columns.Column(
        "partition",
        get=lambda row: row.at.partition,
        type="number",
        title="Partition",
        layout=columns.on_screen(5, "Part", priority=90),
    ),
    columns.Column(
        "committed",
        get=lambda row: known_number(row.at.committed),
        type="number",
        text=lambda row: count(row.at.committed),
        layout=columns.on_screen((9, 20), priority=60),
    ),
    columns.Column(
        "end",
        get=lambda row: known_number(row.at.end),
        type="number",
        text=lambda row: count(row.at.end),
        layout=columns.on_screen((9, 20), priority=50),
    ),
    columns.Column(
        "lag",
        get=lambda row: known_number(row.at.lag),
        type="number",
        cell=lambda row: (count(row.at.lag), "strong") if row.at.lag > 0 else count(row.at.lag),
        layout=columns.on_screen((6, 20), priority=95, sort_key="L"),
    ),
    behind_column(lambda row: row.behind, columns.OVER_POLLS),
    columns.Column("lag_seconds_unknown", columns.DATA, lambda row: row.behind.why or None),
    columns.Column(
        "trend",
        columns.DATA | columns.SCREEN,
        lambda row: row.word,
        "word",
        cell=lambda row: _trend_cell(row.word),
        layout=columns.on_screen((7, 12), priority=80),
    ),
    _rate_column(lambda row: row.rate, columns.OVER_POLLS, 70),
    _left_column(lambda row: time_left(row.at.lag, row.rate), columns.OVER_POLLS, 30),
    columns.Column(
        "still",
        columns.DATA | columns.SCREEN,
        lambda row: None if row.trend is None else round(row.trend.still),
        "number",
        Unit.SECONDS,
        cell=lambda row: columns.time_text((row.trend and row.trend.still) or None),
        layout=columns.on_screen((5, 9), priority=35),
    ),
    columns.Column("member", columns.LISTED, lambda row: row.at.member or None),
    columns.Column(
        "client",
        columns.DATA | columns.SCREEN,
        lambda row: clients(row.owners) or None,
        cell=lambda row: clean(clients(row.owners), 120),
        layout=columns.on_screen((10, 40), "Member", priority=40, sort_key="M"),
    ),
    columns.Column(
        "target",
        cell=lambda row: (clean(row.target or "", 120), "changed"),
        layout=columns.on_screen((6, 40), priority=20),
    ),
    tie=lambda row: (row.at.topic, row.at.partition),
)
"""The columns of the partitions that a group reads; offsets in records, rates in records per second. still: seconds
for which the committed offset has not moved while records wait. lag_seconds: the time for which the next record
has waited; lag_seconds_unknown: the reason why that record's timestamp does not show the time. target: the client
to which the target assignment gives the partition, if another client has it.
"""


def _objects(places: cluster.Places | None, name: str = "topic") -> Data:
    return None if places is None else [{name: where, "partition": number} for where, number in places]


def _tasks_object(tasks: cluster.StreamsTasks | None) -> Data:
    if tasks is None:
        return None
    return {role: _objects(of_role, "subtopology") for role, of_role in zip(tasks._fields, tasks, strict=True)}


def _tasks_text(tasks: cluster.StreamsTasks | None) -> str:
    if tasks is None:
        return ""
    roles = zip(("active", "standby", "warm-up"), tasks, strict=True)
    return ", ".join(f"{len(of_role)} {role}" for role, of_role in roles if of_role) or "none"


def to_take(member: cluster.GroupMember) -> str:
    """Return the numbers of partitions, or tasks, that a member must still take and release to have its target
    assignment, as ``+3 -1``; ``""`` if the member has its target assignment.
    """
    if member.has_target:
        return ""
    if member.tasks is not None and member.target_tasks is not None:
        # Compare by role: a standby task that becomes active is both released and taken.
        pairs = list(zip(member.tasks, member.target_tasks, strict=True))
    else:
        pairs = [(member.assignment, member.target or ())]
    more = sum(len(set(wanted) - set(has)) for has, wanted in pairs)
    less = sum(len(set(has) - set(wanted)) for has, wanted in pairs)
    return " ".join(text for text in (f"+{more}" if more else "", f"-{less}" if less else "") if text)


def subscribed(member: cluster.GroupMember) -> str:
    """Return the subscription of a member: its topics, and its regular expression between slashes."""
    named = (f"/{member.regex}/" if member.regex else "", _names(member.topics))
    return ", ".join(text for text in named if text)


MEMBERS: columns.Columns[cluster.GroupMember] = columns.Columns(
    columns.Column("client_id", columns.LISTED, title="Client"),
    columns.Column("host", columns.LISTED),
    columns.Column("member_id", columns.LISTED, title="Member"),
    columns.Column("instance_id", columns.DATA),
    columns.Column("protocol", columns.DATA, lambda row: row.protocol or None),
    columns.Column("epoch", columns.DATA, lambda row: known_number(row.epoch), "number"),
    columns.Column("topics", columns.DATA, lambda row: list(row.topics), "object"),
    columns.Column("regex", columns.DATA, lambda row: row.regex or None),
    columns.Column("assignment", columns.DATA, lambda row: _objects(row.assignment), "object"),
    columns.Column("target", columns.DATA, lambda row: _objects(row.target), "object"),
    columns.Column("tasks", columns.DATA, lambda row: _tasks_object(row.tasks), "object"),
    columns.Column("target_tasks", columns.DATA, lambda row: _tasks_object(row.target_tasks), "object"),
    columns.Column("partitions", columns.LIST, lambda row: len(row.assignment), "number"),
    columns.Column("by", columns.LIST, title="Protocol", text=lambda row: row.protocol),
    columns.Column("reached", columns.LIST, title="Epoch", text=lambda row: str(row.epoch) if row.epoch >= 0 else ""),
    columns.Column("subscribed", columns.LIST, text=subscribed),
    columns.Column("roles", columns.LIST, title="Tasks", text=lambda row: _tasks_text(row.tasks)),
    columns.Column("to_take", columns.LIST, text=to_take),
    orders={"data": ("member_id",)},
)
"""The columns of one group's members. To take: the numbers of partitions or tasks that a member must still take and
release to have its target assignment.
"""


def member_columns(group: cluster.Group) -> columns.Columns[cluster.GroupMember]:
    """Return the columns of a group's members, without those that are empty for all or repeat a value of the group."""
    members = group.members or ()
    empty = {
        "roles": all(member.tasks is None for member in members),
        "to_take": all(member.has_target for member in members),
        "by": all(member.protocol in ("", group.type) for member in members),
        "reached": not group.behind,
        "subscribed": not any(map(subscribed, members)),
    }
    return MEMBERS.without({name for name, is_empty in empty.items() if is_empty})


def _names_column(name: str, title: str, of: Callable[[R], Sequence[str]]) -> columns.Column[R]:
    """Return a column whose values are lists of names: topics, stores or nodes."""
    return columns.Column(
        name, columns.LISTED, lambda row: list(of(row)), "object", title=title, text=lambda row: _names(of(row))
    )


SUBTOPOLOGIES: columns.Columns[cluster.Subtopology] = columns.Columns(
    columns.Column("subtopology", columns.LISTED, lambda row: row.id),
    _names_column("source_topics", "Reads", lambda row: row.sources),
    _names_column("repartition_source_topics", "Reads between", lambda row: row.repartition_sources),
    _names_column("repartition_sink_topics", "Writes between", lambda row: row.repartition_sinks),
    _names_column("state_changelog_topics", "Changelogs", lambda row: row.changelogs),
)
"""The columns of a streams group's subtopologies, with the topics that each reads and writes. Between: topics between
subtopologies.
"""


NODES: columns.Columns[cluster.StreamsNode] = columns.Columns(
    columns.Column("subtopology", columns.LISTED, lambda row: row.subtopology or None),
    columns.Column("node", columns.LISTED, lambda row: row.name),
    columns.Column("role", columns.LISTED),
    _names_column("topics", "Topics", lambda row: row.topics),
    _names_column("stores", "Stores", lambda row: row.stores),
    _names_column("after", "Goes to", lambda row: row.after),
)
"""The columns of the processing nodes in a streams group's topology."""


def _names(names: Sequence[str]) -> str:
    return ", ".join(names)


def subtopology_columns(topology: Iterable[cluster.Subtopology]) -> columns.Columns[cluster.Subtopology]:
    """Return the columns of a topology, without those that are empty for all of its subtopologies."""
    parts = tuple(topology)
    values = {"repartition_source_topics": "repartition_sources", "repartition_sink_topics": "repartition_sinks"}
    values["state_changelog_topics"] = "changelogs"
    return SUBTOPOLOGIES.without({name for name, at in values.items() if not any(getattr(part, at) for part in parts)})


def task_lines(group: cluster.Group | None, topic: str, partition: int) -> list[Line]:
    """Return lines about the task that reads a partition in a streams group: the subtopology, the topics that it
    writes, and the members that have the task, by role. The first line is the title.

    Returns:
        Empty if the group is no streams group, or does not read the topic.
    """
    lines: list[Line] = []
    for part in (group and group.topology) or ():
        if topic not in part.sources and topic not in part.repartition_sources:
            continue
        if not lines:
            lines.append([(f"task {part.id}_{partition}", "")])
        lines.append([(f"subtopology {clean(part.id)}", "strong"), (" reads ", "muted"), (_topics(part), "")])
        if part.repartition_sinks:
            lines.append([("writes ", "muted"), (clean(_names(part.repartition_sinks), MOST_TEXT), "")])
        if part.changelogs:
            lines.append([("keeps its stores in ", "muted"), (clean(_names(part.changelogs), MOST_TEXT), "")])
        lines += _task_owners(group, (part.id, partition))
    return lines


MOST_TEXT = 400
"""Maximum characters of topic names in one line of details."""


def _topics(part: cluster.Subtopology) -> str:
    return clean(_names((*part.sources, *part.repartition_sources)), MOST_TEXT)


def _task_owners(group: cluster.Group | None, task: tuple[str, int]) -> list[Line]:
    """Return lines with the members that have a task, and those that must still take it, by role."""
    lines: list[Line] = []
    members = (group and group.members) or ()
    for place, role in enumerate(("active", "standby", "warm-up")):
        has = [member for member in members if member.tasks is not None and task in member.tasks[place]]
        to_have = [m for m in members if m.target_tasks is not None and task in m.target_tasks[place]]
        late = [member for member in to_have if member not in has]
        if has:
            lines.append([(f"{role} ", "muted"), (clean(", ".join(map(_client, has)), MOST_TEXT), "")])
        if late:
            lines.append(
                [(f"{role}, to be taken by ", "changed"), (clean(", ".join(map(_client, late)), MOST_TEXT), "")]
            )
    return lines


def _client(member: cluster.GroupMember) -> str:
    return clients((member,))


def group_line(group: cluster.Group | None, lag: cluster.GroupLag | None, trend: LagTrend | None = None) -> Line:
    """Return a line with the state, members, protocol and lag of a group, and the failures of its reads.

    Args:
        group: the group; None if it could not be described.
        lag: the lag; None if it was not read.
        trend: the trend of the lag; None before the first poll.
    """
    line: Line = []
    if group is not None:
        line.append((clean(group.state), state_meaning(group.state)))
        if group.members is not None:
            line.append((f"  {len(group.members):,} member{'' if len(group.members) == 1 else 's'}", ""))
        if late := group.late_members:
            line.append((f"  {late:,} not at the target", "changed"))
        if behind := len(group.behind):
            line.append((f"  {behind:,} behind the epoch", "changed"))
        if classic := sum(group.type != each.protocol == "classic" for each in group.members or ()):
            line.append((f"  {classic:,} classic", ""))
    if lag is not None:
        total, *part = _lag_spans(lag)
        line += [(f"  lag {total[0]}", "strong"), *part]
        if trend is not None and trend.longest_behind.seconds:
            line.append((f"  {columns.behind_text(trend.longest_behind)} behind", ""))
        if trend is not None and trend.rate:
            line.append((f"  {rate_text(trend.rate)}/s", _TREND_MEANINGS[direction(trend.rate) or ""]))
        if trend is not None and trend.stuck:
            line.append((f"  {len(trend.stuck):,} stuck", "failed"))
        if lag.failures:
            line.append((f"  not all read: {clean(str(lag.failures[0]), 120)}", "failed"))
    if group is not None:
        if group.protocol:
            line.append((f"  {clean(group.protocol)}", "muted"))
        if assignor := _assignor(group):
            line.append((f"  assignor {clean(assignor, 80)}", "muted"))
        line += _epochs(group)
        if group.coordinator >= 0:
            line.append((f"  coordinator {group.coordinator}", "muted"))
    return line


def group_lines(group: cluster.Group, lag: cluster.GroupLag | None, trend: LagTrend | None, most: int) -> list[Line]:
    """Return the summary of a group, and its partitions by descending lag. Waiting times are left out, because they
    change with the clock alone.

    Args:
        group: the group.
        lag: the lag; None if it was not read.
        trend: the trend of the lag; None before the first poll.
        most: the number of partitions to list; a last line has the number of the others.
    """
    lines = [group_line(group, lag, trend)]
    if lag is None:
        return lines
    row_of = partition_rows(group, trend)
    rows = [row_of(each) for each in nlargest(most, lag.partitions, key=lambda each: each.lag)]
    cells: list[list[Cell]] = [
        [
            clean(f"{row.at.topic}/{row.at.partition}"),
            count(row.at.lag),
            _trend_cell(row.word),
            clean(clients(row.owners), 120),
        ]
        for row in rows
    ]
    lines += [[], *in_columns(cells, right={1})] if rows else []
    if more := len(lag.partitions) - len(rows):
        lines.append([(f"and {plural(more, 'more partition')}", "muted")])
    return lines


def _assignor(group: cluster.Group) -> str:
    """Return the name of the task assignor of a streams group, which brokers report from 4.4 on; ``""`` if there is
    none.
    """
    return group.assignor if group.type == "streams" else ""


def _epochs(group: cluster.Group) -> Line:
    """Return the group's epoch, and the epoch of its target assignment if that is older than the group's; empty if
    the group's epoch is unknown.
    """
    if group.epoch < 0:
        return []
    topology = f"  topology {group.topology_epoch}" if group.topology_epoch >= 0 else ""
    line: Line = [(f"  epoch {group.epoch}{topology}", "muted")]
    if 0 <= group.assignment_epoch < group.epoch:
        line.append((f"  target of epoch {group.assignment_epoch}", "changed"))
    return line
