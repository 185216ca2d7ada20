"""Groups: the columns of groups, of one group's lag by partition and of its members; a group in one line."""

from __future__ import annotations

from typing import NamedTuple

from console.model.cluster import Group, GroupLag, GroupMember, PartitionLag
from console.present.columns import DATA, DETAIL, EVERYWHERE, LIST, LISTED, SCREEN, Column, Columns
from console.present.names import NOTHING
from console.present.text import Line, clean
from widgets.row_source import Column as ScreenColumn

_TROUBLED = frozenset({"DEAD", "UNKNOWN"})
_REBALANCING = frozenset({"PREPARINGREBALANCE", "COMPLETINGREBALANCE", "ASSIGNING", "RECONCILING"})


def count(value: int) -> str:
    """A count, ``–`` where it is not known."""
    return NOTHING if value < 0 else f"{value:,}"


def state_meaning(state: str) -> str:
    """How a group's state is shown: trouble as failed, a rebalance as changed, an empty group muted."""
    word = state.upper().replace("_", "")
    if word in _TROUBLED:
        return "failed"
    if word in _REBALANCING:
        return "changed"
    return "muted" if word == "EMPTY" else ""


def lag_total(lag: GroupLag | None) -> str:
    """A group's lag in records, ``–`` if it is unknown; with a ``?`` if a part of it is."""
    return "".join(text for text, _ in _lag_spans(lag))


def _lag_spans(lag: GroupLag | None) -> Line:
    if lag is None or lag.known_total is None:
        return [(NOTHING, "")]
    is_part = bool(lag.failures) or any(p.lag < 0 for p in lag.partitions)
    return [(f"{lag.known_total:,}", ""), *([(" ?", "failed")] if is_part else [])]


class GroupRow(NamedTuple):
    """A group and its lag, None where that was not read."""

    group: Group
    lag: GroupLag | None = None


GROUPS: Columns[GroupRow] = Columns(
    Column(
        "name",
        EVERYWHERE,
        lambda row: row.group.name,
        title="Group",
        cell=lambda row: clean(row.group.name),
        layout=ScreenColumn("name", "Group", flex=1, min_width=20, max_width=80, sort_key="N"),
    ),
    Column(
        "state",
        EVERYWHERE | DETAIL,
        lambda row: row.group.state,
        "word",
        title="State",
        cell=lambda row: (clean(row.group.state), state_meaning(row.group.state)),
        layout=ScreenColumn("state", "State", min_width=8, max_width=20, priority=80, sort_key="S"),
    ),
    Column(
        "type",
        EVERYWHERE | DETAIL,
        lambda row: row.group.type,
        "word",
        title="Type",
        cell=lambda row: clean(row.group.type),
        layout=ScreenColumn("type", "Type", min_width=8, max_width=12, priority=40, sort_key="T"),
    ),
    Column("protocol", LISTED | DETAIL, lambda row: row.group.protocol, title="Protocol"),
    Column(
        "members",
        SCREEN,
        lambda row: None if row.group.members is None else len(row.group.members),
        "number",
        cell=lambda row: "·" if row.group.members is None else str(len(row.group.members)),
        layout=ScreenColumn("members", "Memb", width=6, align="right", priority=60, sort_key="M"),
    ),
    Column(
        "lag",
        EVERYWHERE | DETAIL,
        lambda row: None if row.lag is None else row.lag.known_total,
        "number",
        title="Lag",
        cell=lambda row: "·" if row.lag is None else _lag_spans(row.lag),
        text=lambda row: lag_total(row.lag),
        layout=ScreenColumn("lag", "Lag", min_width=8, max_width=16, align="right", priority=90, sort_key="L"),
    ),
    Column(
        "coordinator",
        EVERYWHERE | DETAIL,
        lambda row: row.group.coordinator,
        "number",
        title="Coordinator",
        text=lambda row: "" if row.group.coordinator < 0 else str(row.group.coordinator),
        layout=ScreenColumn("coordinator", "Coord", width=5, align="right", priority=30),
    ),
    detail_order=("state", "type", "protocol", "coordinator", "lag"),
)
"""A dot on the screen where a column has not been read yet."""

LAGS: Columns[PartitionLag] = Columns(
    Column(
        "topic",
        EVERYWHERE,
        lambda row: row.topic,
        title="Topic",
        cell=lambda row: clean(row.topic),
        layout=ScreenColumn("topic", "Topic", flex=1, min_width=20, max_width=80, sort_key="N"),
    ),
    Column(
        "partition",
        EVERYWHERE,
        lambda row: row.partition,
        "number",
        title="Partition",
        layout=ScreenColumn("partition", "Part", width=5, align="right", priority=90),
    ),
    Column(
        "committed",
        EVERYWHERE,
        lambda row: row.committed,
        "number",
        title="Committed",
        text=lambda row: count(row.committed),
        layout=ScreenColumn("committed", "Committed", min_width=9, max_width=20, align="right", priority=60),
    ),
    Column(
        "end",
        EVERYWHERE,
        lambda row: row.end,
        "number",
        title="End",
        text=lambda row: count(row.end),
        layout=ScreenColumn("end", "End", min_width=9, max_width=20, align="right", priority=50),
    ),
    Column(
        "lag",
        EVERYWHERE,
        lambda row: row.lag,
        "number",
        title="Lag",
        cell=lambda row: (count(row.lag), "strong") if row.lag > 0 else count(row.lag),
        layout=ScreenColumn("lag", "Lag", min_width=6, max_width=20, align="right", priority=95, sort_key="L"),
    ),
    Column(
        "member",
        EVERYWHERE,
        lambda row: row.member or None,
        title="Member",
        cell=lambda row: clean(row.member, 120),
        layout=ScreenColumn("member", "Member", min_width=10, max_width=40, priority=40, sort_key="M"),
    ),
)
"""The partitions that a group reads; offsets in records."""

MEMBERS: Columns[GroupMember] = Columns(
    Column("client_id", LISTED, lambda row: row.client_id, title="Client"),
    Column("host", LISTED, lambda row: row.host, title="Host"),
    Column("member_id", LISTED, lambda row: row.member_id, title="Member"),
    Column("instance_id", DATA, lambda row: row.instance_id),
    Column(
        "assignment",
        DATA,
        lambda row: [{"topic": topic, "partition": number} for topic, number in row.assignment],
        "object",
    ),
    Column("partitions", LIST, lambda row: len(row.assignment), "number", title="Partitions"),
    data_order=("member_id", "client_id", "host", "instance_id", "assignment"),
)
"""The members of one group."""


def group_line(group: Group | None, lag: GroupLag | None) -> Line:
    """State, members, protocol and lag of a group in a line, and what could not be read."""
    line: Line = []
    if group is not None:
        line.append((clean(group.state), state_meaning(group.state)))
        if group.members is not None:
            line.append((f"  {len(group.members)} member{'' if len(group.members) == 1 else 's'}", ""))
        if group.protocol:
            line.append((f"  {clean(group.protocol)}", "muted"))
        if group.coordinator >= 0:
            line.append((f"  coordinator {group.coordinator}", "muted"))
    if lag is not None:
        total, *part = _lag_spans(lag)
        line += [(f"  lag {total[0]}", "strong"), *part]
        if lag.failures:
            line.append((f"  not all read: {clean(str(lag.failures[0]), 120)}", "failed"))
    return line
