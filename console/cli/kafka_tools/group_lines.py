"""Groups in kafka-consumer-groups' own lines (ConsumerGroupCommand, 4.3). Rows are sorted; Kafka has them in the order
of Java's hash tables. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from console.cli.kafka_tools.aligned import MISSING, columns, safe, widest
from console.cli.kafka_tools.group_tools import CONSUMERS, GroupTool
from console.cli.kafka_tools.reset_offsets import Place
from console.model.cluster import Broker, CommittedOffset, Group, GroupMember
from console.model.failure import Failure

EMPTY = "Empty"
_REBALANCING = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


class Lines(NamedTuple):
    """Lines to print: results for standard output, remarks for standard error."""

    out: tuple[str, ...]
    err: tuple[str, ...] = ()


def listed(groups: Iterable[Group], *, types: bool, states: bool) -> list[str]:
    """Return the lines of --list, with --type and --state as a table."""
    found = list(groups)
    if not (types or states):
        return [safe(group.name) for group in found]
    header = ["GROUP", *(["TYPE"] if types else []), *(["STATE"] if states else [])]
    rows = [
        [
            safe(group.name),
            *([group_type(group)] if types else []),
            *([safe(group.state) or "Unknown"] if states else []),
        ]
        for group in found
    ]
    widths = [widest(15, (row[0] for row in rows)) + 10, *([20] * (len(header) - 1))]
    return [columns(widths, row) for row in (header, *rows)]


def group_type(group: Group) -> str:
    """Return a group's type as ``Classic`` or ``Consumer``."""
    return safe(group.type).capitalize() or "Unknown"


def not_described(name: str, failure: Failure | None) -> str:
    """Return the line for a group that can't be described, or that does not exist (None)."""
    if failure is None:
        return f"\nError: Consumer group '{safe(name)}' does not exist."
    return f"\nError: Executing consumer group command failed due to {safe(failure.message or failure.name)}"


def _remark(group: Group) -> tuple[str, ...]:
    if group.state == EMPTY:
        return (f"\nConsumer group '{safe(group.name)}' has no active members.",)
    if group.state in _REBALANCING:
        return (f"\nWarning: Consumer group '{safe(group.name)}' is rebalancing.",)
    return ()


# -- offsets -----------------------------------------------------------------------------------------------------------

_OFFSETS = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
_EPOCH = "LEADER-EPOCH"


def offset_lines(
    group: Group, committed: Mapping[Place, CommittedOffset], ends: Mapping[Place, int], *, verbose: bool
) -> Lines:
    """Return the lines of --describe: the members' partitions first, members with more partitions before others.

    Args:
        ends: partition -> its log's end offset; a partition without one is shown with ``-``.
    """
    rows: list[list[str]] = []
    members = sorted(group.members or (), key=lambda member: -len(member.assignment))
    assigned = {place for member in members for place in member.assignment}
    for member in members:
        who = (safe(member.member_id), safe(member.host), safe(member.client_id))
        rows += [_offset_row(group, place, committed, ends, who) for place in sorted(member.assignment)]
    left = sorted(committed.keys() - assigned)
    rows += [_offset_row(group, place, committed, ends, (MISSING, MISSING, MISSING)) for place in left]
    if not rows:
        return Lines((), _remark(group))
    header = list(_OFFSETS)
    widths = [widest(15, [safe(group.name)]), widest(15, (row[1] for row in rows)), 10]
    widths += [15] * (4 if verbose else 3)
    widths += [widest(15, (row[-3] for row in rows)), widest(15, (row[-2] for row in rows))]
    header.insert(3, _EPOCH)
    shown = [header, *rows] if verbose else [[*row[:3], *row[4:]] for row in (header, *rows)]
    return Lines(("", *(columns(widths, row) for row in shown)), _remark(group))


def _offset_row(
    group: Group,
    place: Place,
    committed: Mapping[Place, CommittedOffset],
    ends: Mapping[Place, int],
    who: tuple[str, str, str],
) -> list[str]:
    at, end = committed.get(place), ends.get(place)
    lag = MISSING if at is None or end is None else str(end - at.offset)
    return [
        safe(group.name),
        safe(place[0]),
        str(place[1]),
        MISSING if at is None or at.leader_epoch < 0 else str(at.leader_epoch),
        MISSING if at is None else str(at.offset),
        MISSING if end is None else str(end),
        lag,
        *who,
    ]


# -- members and state -------------------------------------------------------------------------------------------------


def member_lines(group: Group, *, verbose: bool) -> Lines:
    """Return the lines of --describe --members."""
    members = group.members or ()
    rows = [_member_row(group, member) for member in members]
    header = ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    more = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
    least = (15, 15, 17, 15, 15)
    widths = [*(widest(low, (row[at] for row in rows)) for at, low in enumerate(least)), 15]
    wide = [15, widest(20, (row[7] for row in rows)), 15, widest(20, (row[9] for row in rows))]
    shown = [0, 1, 2, 3, 4, 5] if any(member.instance_id for member in members) else [0, 1, 3, 4, 5]
    lines = [""]
    for row in ([*header, *more], *rows):
        line = columns([widths[at] for at in shown], [row[at] for at in shown]) + " "
        lines.append(line + columns(wide, row[6:]) if verbose else line)
    return Lines(tuple(lines), _remark(group))


def _member_row(group: Group, member: GroupMember) -> list[str]:
    return [
        safe(group.name),
        safe(member.member_id),
        safe(member.instance_id or ""),
        safe(member.host),
        safe(member.client_id),
        str(len(member.assignment)),
        _known(member.epoch),
        _assignment(member.assignment),
        _known(group.assignment_epoch),
        _assignment(member.target or ()),
    ]


def _known(number: int) -> str:
    return MISSING if number < 0 else str(number)


def _assignment(places: Sequence[Place]) -> str:
    """Return an assignment as ``a:0,1;b:0``."""
    if not places:
        return MISSING
    topics = groupby(sorted(places), key=lambda place: place[0])
    return ";".join(sorted(f"{safe(topic)}:{','.join(str(number) for _, number in mine)}" for topic, mine in topics))


def state_lines(group: Group, coordinator: Broker | None, *, verbose: bool) -> Lines:
    """Return the lines of --describe --state."""
    at = f"{safe(coordinator.host)}:{coordinator.port}" if coordinator is not None else MISSING
    where = f"{at}  ({group.coordinator})"
    row = [safe(group.name), where, safe(group.assignor) or MISSING, safe(group.state)]
    header = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    widths = [widest(15, [row[0]]), widest(25, [where]), 20, 20]
    if verbose:
        row += [_known(group.epoch), _known(group.assignment_epoch)]
        header += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        widths += [15, 25]
    members = len(group.members or ())
    return Lines(("", columns(widths, [*header, "#MEMBERS"]), columns(widths, [*row, str(members)])), _remark(group))


# -- changes -----------------------------------------------------------------------------------------------------------


def reset_lines(offsets: Mapping[str, Mapping[Place, int]], tool: GroupTool = CONSUMERS) -> list[str]:
    """Return the new offsets by group, as the tool's --reset-offsets prints them."""
    least = tool.least
    widths = [
        widest(least, map(safe, offsets)),
        widest(least, (safe(topic) for places in offsets.values() for topic, _ in places)),
        10,
        *tool.last,
    ]
    lines = ["", columns(widths, ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"])] if offsets else [""]
    for group, places in offsets.items():
        lines += [columns(widths, [safe(group), safe(t), str(n), str(new)]) for (t, n), new in places.items()]
    return lines


def deleted_lines(outcomes: Mapping[str, str], kind: str = CONSUMERS.kind) -> list[str]:
    """Return the lines that --delete prints.

    Args:
        outcomes: group -> why it was not deleted, ``""`` where it was.
        kind: of the tool's groups.
    """
    deleted = ", ".join(f"'{safe(name)}'" for name, why in outcomes.items() if not why)
    failed = {name: why for name, why in outcomes.items() if why}
    if not failed:
        return [f"Deletion of requested {kind} groups ({deleted}) was successful."]
    lines = ["", f"Error: Deletion of some {kind} groups failed:"]
    lines += [f"* Group '{safe(name)}' could not be deleted due to: {safe(why)}" for name, why in failed.items()]
    if deleted:
        # kafka-streams-groups ends this line with a dot.
        lines += ["", f"These {kind} groups were deleted successfully: {deleted}{'.' if kind == 'streams' else ''}"]
    return lines


def deleted_offset_lines(group: str, outcomes: Mapping[Place, str], whole: str = "") -> list[str]:
    """Return the lines that --delete-offsets prints.

    Args:
        outcomes: (topic, partition) -> why its offset was not deleted, ``""`` where it was. The partition of an unknown
            topic is -1, which Kafka does not count as an error.
        whole: why none was deleted, where the reason is the group's.
    """
    if whole:
        lines = ["", f"Error: {safe(whole)}"]
    elif any(why for (_, number), why in outcomes.items() if number >= 0):
        lines = ["", "Error: Encountered some partition-level error, see the follow-up details."]
    else:
        lines = [f"Request succeeded for deleting offsets from group {safe(group)}."]
    widths = [widest(15, (safe(topic) for topic, _ in outcomes)), 10, 15]
    lines += ["", columns(widths, ["TOPIC", "PARTITION", "STATUS"])]
    for (topic, number), why in sorted(outcomes.items()):
        status = f"Error: {safe(why)}" if why else "Successful"
        lines.append(columns(widths, [safe(topic), str(number) if number >= 0 else MISSING, status]))
    return lines
