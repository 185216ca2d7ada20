"""Share and streams groups in the lines of kafka-share-groups and kafka-streams-groups (ShareGroupCommand,
StreamsGroupCommand, 4.3). Rows are sorted; Kafka has them in the order of Java's hash tables. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from console.cli.kafka_tools.aligned import MISSING, columns, safe, widest
from console.cli.kafka_tools.group_lines import Lines
from console.cli.kafka_tools.group_tools import GroupTool
from console.cli.kafka_tools.reset_offsets import Place
from console.model.cluster import Broker, CommittedOffset, Group, GroupMember, Places


class GroupAt(NamedTuple):
    """A group with where it is.

    Attributes:
        committed: its offsets, of a share group the start offsets.
        starts: where the logs begin, of the partitions that are shown though the group has no offset of them.
        ends: where the logs end.
        lags: records that it has to read, as far as its coordinator says it.
    """

    group: Group
    committed: Mapping[Place, CommittedOffset]
    starts: Mapping[Place, int] = {}
    ends: Mapping[Place, int] = {}
    lags: Mapping[Place, int] = {}


def listed(groups: Iterable[Group], *, states: bool) -> list[str]:
    """Return the lines of --list, with --state as a table."""
    found = list(groups)
    if not states:
        return [safe(group.name) for group in found]
    width = widest(15, (safe(group.name) for group in found))
    rows = [("GROUP", "STATE"), *((safe(group.name), safe(group.state) or "Unknown") for group in found)]
    return [columns([width], row) for row in rows]


def not_described(name: str, group: Group | None, tool: GroupTool) -> str:
    """Return the line for a group that does not exist, or that is of another kind."""
    what = f"Group {safe(name)} not found." if group is None else f"Group {safe(name)} is not a {tool.kind} group."
    why = f"org.apache.kafka.common.errors.GroupIdNotFoundException: {what}"
    return f"\nError: Executing {tool.kind} group command failed due to {why}"


# Share groups.


def _share_remark(group: Group) -> tuple[str, ...]:
    return (f"\nShare group '{safe(group.name)}' has no active members.",) if group.state == "Empty" else ()


def share_offsets(at: GroupAt, *, verbose: bool) -> Lines:
    """Return the lines of --describe of a share group: its start offsets."""
    name = safe(at.group.name)
    if not (at.committed or at.starts):
        return Lines((f"\nShare group '{name}' has no offset information.",))
    header = ["GROUP", "TOPIC", "PARTITION", *(["LEADER-EPOCH"] if verbose else []), "START-OFFSET", "LAG"]
    widths = [widest(15, [name]), widest(15, (safe(topic) for topic, _ in (*at.committed, *at.starts))), 10, 13]
    rows = []
    for topic, number in sorted(at.committed.keys() | at.starts.keys()):
        offset = at.committed.get((topic, number))
        epoch = [MISSING if offset is None or offset.leader_epoch < 0 else str(offset.leader_epoch)] if verbose else []
        lag = str(at.lags[topic, number]) if (topic, number) in at.lags else MISSING
        rows.append([name, safe(topic), str(number), *epoch, MISSING if offset is None else str(offset.offset), lag])
    return _table([*widths, *([13] if verbose else [])], header, rows)


def share_members(group: Group, *, verbose: bool) -> Lines:
    """Return the lines of --describe --members of a share group."""
    members = group.members or ()
    if not members:
        return Lines((), _share_remark(group))
    header = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", *(["MEMBER-EPOCH"] if verbose else [])]
    rows = [
        [
            safe(group.name),
            safe(member.member_id),
            safe(member.host),
            safe(member.client_id),
            str(len(member.assignment)),
            *([str(member.epoch)] if verbose else []),
            _assigned(member.assignment),
        ]
        for member in members
    ]
    widths = [*(widest(15, (row[place] for row in rows)) for place in range(4)), 12, *([13] if verbose else [])]
    return _table(widths, [*header, "ASSIGNMENT"], rows)


def _assigned(places: Places) -> str:
    topics = groupby(sorted(places), key=lambda place: place[0])
    return ";".join(f"{safe(topic)}:{','.join(str(number) for _, number in mine)}" for topic, mine in topics)


def share_state(group: Group, coordinator: Broker | None, *, verbose: bool) -> Lines:
    """Return the lines of --describe --state of a share group."""
    where = f"{_address(coordinator)}  ({group.coordinator})"
    header = ["GROUP", "COORDINATOR (ID)", "STATE", *(["GROUP-EPOCH", "ASSIGNMENT-EPOCH"] if verbose else [])]
    epochs = [str(group.epoch), str(group.assignment_epoch)] if verbose else []
    row = [safe(group.name), where, safe(group.state), *epochs, str(len(group.members or ()))]
    widths = [widest(15, row[:1]), widest(25, [where]), 15, *([12, 17] if verbose else [])]
    return _table(widths, [*header, "#MEMBERS"], [row], _share_remark(group))


def _address(coordinator: Broker | None) -> str:
    return f"{safe(coordinator.host)}:{coordinator.port}" if coordinator is not None else MISSING


def _table(
    widths: Sequence[int], header: Sequence[str], rows: Iterable[Sequence[str]], err: tuple[str, ...] = ()
) -> Lines:
    return Lines(("", *(columns(widths, row) for row in (header, *rows))), err)


def share_deleted_offsets(outcomes: Mapping[str, str], whole: str = "") -> list[str]:
    """Return the lines of --delete-offsets of a share group.

    Args:
        outcomes: topic -> why its offsets were not deleted, ``""`` where they were.
        whole: why none was deleted, where the reason is the group's.
    """
    lines = ["", f"Error: {safe(whole)}"] if whole else []
    lines += ["", columns([width := widest(15, map(safe, outcomes))], ["TOPIC", "STATUS"])]
    for topic, why in sorted(outcomes.items()):
        lines.append(columns([width], [safe(topic), f"Error: {safe(why)}" if why else "Successful"]))
    return lines


# Streams groups.


def _streams_state_error(group: Group) -> list[str]:
    """Return what the tool prints before the state of a group without members."""
    text = {"Dead": "does not exist.", "Empty": "has no active members."}.get(group.state)
    return [] if text is None else ["", f"Error: Streams group '{safe(group.name)}' {text}"]


def streams_offsets(at: GroupAt, *, verbose: bool) -> Lines:
    """Return the lines of --describe of a streams group: what its active tasks read. Nothing of a group without
    members."""
    if not at.group.members:
        return Lines(())
    places = sorted({place for member in at.group.members for place in member.assignment})
    header = ["GROUP", "TOPIC", "PARTITION", *(_VERBOSE if verbose else []), "OFFSET-LAG"]
    widths = [widest(15, [safe(at.group.name)]), widest(15, (safe(topic) for topic, _ in places)), 10]
    lines = [header]
    for place in places:
        committed, end, start = at.committed.get(place), at.ends.get(place), at.starts.get(place)
        begin = start if committed is None else committed.offset
        lag = MISSING if end is None or begin is None else str(end - begin)
        more = [
            MISSING if committed is None else str(committed.offset),
            MISSING if committed is None or committed.leader_epoch < 0 else str(committed.leader_epoch),
            MISSING if end is None else str(end),
        ]
        lines.append([safe(at.group.name), safe(place[0]), str(place[1]), *(more if verbose else []), lag])
    return Lines(tuple(columns([*widths, *([15] * 4 if verbose else [])], line) for line in lines))


_VERBOSE = ["CURRENT-OFFSET", "LEADER-EPOCH", "LOG-END-OFFSET"]


def streams_members(group: Group, *, verbose: bool) -> Lines:
    """Return the lines of --describe --members of a streams group; none without members."""
    members = group.members or ()
    if not members:
        return Lines(())
    names = [[safe(group.name), *map(safe, (each.member_id, each.process, each.client_id))] for each in members]
    group_width, member, process, client = (widest(15, (row[place] for row in names)) for place in range(4))
    if not verbose:
        widths = [group_width, member, process, client]
        rows = [(*row, _tasks(each, target=False)) for row, each in zip(names, members, strict=True)]
        header = ("GROUP", "MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS")
        return Lines(tuple(columns(widths, row) for row in (header, *rows)))
    # Kafka has no space before the member.
    lines = [("GROUP", "TARGET-ASSIGNMENT-EPOCH", "TOPOLOGY-EPOCH", "MEMBER", *_MEMBER, "PROCESS", "CLIENT-ID", _LAST)]
    for (name, id_, process_id, client_id), each in zip(names, members, strict=True):
        epochs = str(group.assignment_epoch), str(group.topology_epoch)
        lines.append((name, *epochs, id_, "streams", str(each.epoch), process_id, client_id, _tasks(each, target=True)))
    return Lines(
        tuple(
            columns([group_width, 25, 15], line[:3]) + columns([member, 15, 15, process, client], line[3:])
            for line in lines
        )
    )


_MEMBER, _LAST = ("MEMBER-PROTOCOL", "MEMBER-EPOCH"), "ASSIGNMENTS"


def _tasks(member: GroupMember, *, target: bool) -> str:
    """Return a member's tasks as ``ACTIVE: 0:[0,1]; ``, and with `target` those that it is to have."""
    text = _roles(member.tasks or (), "")
    return text + _roles(member.target_tasks or (), "TARGET-") if target else text


def _roles(tasks: Sequence[Places], begin: str) -> str:
    text = ""
    for role, of_role in zip(("ACTIVE", "STANDBY", "WARMUP"), tasks, strict=False):
        parts = groupby(of_role, key=lambda task: task[0])
        found = "".join(f"{safe(part)}:[{','.join(str(number) for _, number in mine)}]; " for part, mine in parts)
        text += f"{begin}{role}: {found}" if found else ""
    return text


def streams_state(group: Group, coordinator: Broker | None, *, verbose: bool) -> Lines:
    """Return the lines of --describe --state of a streams group."""
    where = f"{_address(coordinator)} ({group.coordinator})"
    epochs = [str(group.epoch), str(group.assignment_epoch)] if verbose else []
    row = [safe(group.name), where, safe(group.state), *epochs, str(len(group.members or ()))]
    more = ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"] if verbose else []
    widths = [widest(15, row[:1]), widest(25, [where]), 25, *([15, 25] if verbose else [])]
    header = ["GROUP", "COORDINATOR (ID)", "STATE", *more, "#MEMBERS"]
    return Lines((*_streams_state_error(group), *(columns(widths, line) for line in (header, row))))
