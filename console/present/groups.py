"""Rows of the groups table, and the lag of one group by partition."""

from __future__ import annotations

from console.model.cluster import Group, GroupLag, PartitionLag
from console.present.names import NOTHING
from console.present.text import Cell, Line, clean

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


def group_cells(group: Group, lag: GroupLag | None) -> list[Cell]:
    """Name, state, type, members, lag in total, coordinator; a dot where a column has not been read yet."""
    total: Cell = "·" if lag is None else _lag_spans(lag)
    return [
        clean(group.name),
        (clean(group.state), state_meaning(group.state)),
        clean(group.type),
        "·" if group.members is None else str(len(group.members)),
        total,
        "" if group.coordinator < 0 else str(group.coordinator),
    ]


def lag_cells(lag: PartitionLag) -> list[Cell]:
    """Topic, partition, committed, end, lag, member."""
    return [
        clean(lag.topic),
        str(lag.partition),
        count(lag.committed),
        count(lag.end),
        (count(lag.lag), "strong") if lag.lag > 0 else count(lag.lag),
        clean(lag.member, 120),
    ]


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
