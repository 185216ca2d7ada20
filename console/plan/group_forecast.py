"""Forecasts which records a group reads again, or never, after a change of its offsets; and names members that prevent
the change. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.model.cluster import Group, GroupOffset, GroupPosition
from console.model.numbers import first_few, plural
from console.plan.edits import CommitOffset, DeleteOffset
from console.plan.staged import Staged

SHARE, STREAMS = "share", "streams"
NAMED = 3
"""Maximum number of members and topics that a message names."""


def is_of_share_group(staged: Staged) -> bool:
    """Return whether the group of an edit is a share group, or will be created as one by the edit."""
    if isinstance(staged.was, GroupOffset) and staged.was.type:
        return staged.was.type == SHARE
    return isinstance(staged.edit, CommitOffset) and staged.edit.share


def members_of(group: Group) -> tuple[str, ...]:
    """Return the members of a group as texts for messages: client id and host."""
    return tuple(f"{each.client_id} at {each.host.removeprefix('/')}" for each in group.members or ())


def nothing_committed(name: str, position: GroupPosition) -> str:
    """Return the reason why a group has no committed offsets that could be reset; ``""`` if it has some."""
    if position.committed:
        return ""
    return f"there is no group {name}" if position.group is None else f"group {name} has no offsets"


def has_members(group: str, members: Sequence[str]) -> str:
    """Return a text with the number and the names of a group's members, which is the reason why the group's offsets
    can't be changed; ``""`` if there are no members.
    """
    if not members:
        return ""
    count = "a member" if len(members) == 1 else f"{len(members)} members"
    return f"group {group} has {count}: {first_few(members, NAMED)}"


def forecast(was: GroupOffset, offset: int) -> tuple[int, int]:
    """Return how many of a partition's offsets are read again, and how many are never read, if the group continues at
    `offset` instead of at its committed offset; (0, 0) if it has no committed offset.

    Both numbers are upper bounds for records: compacted records and transaction markers also have offsets.
    """
    if was.committed is None:
        return 0, 0
    at = was.committed.offset
    if was.log is not None:  # there are no records outside the log
        at = min(max(at, was.log.start), was.log.end)
    return max(0, at - offset), max(0, offset - at)


def _records(count: int, what: str) -> str:
    return f"up to {count:,} {'record is' if count == 1 else 'records are'} {what}"


def forecast_text(again: int, never: int) -> str:
    """Return a forecast as text, such as ``up to 12 records are read again``; ``""`` if both numbers are 0."""
    texts = [_records(again, "read again")] if again else []
    texts += [_records(never, "never read")] if never else []
    return ", ".join(texts)


def effects_of_all(group: str, staged: Sequence[Staged]) -> tuple[str, ...]:
    """Return lines on the effects that all edits of a group's offsets have together."""
    again: dict[str, int] = {}
    never: dict[str, int] = {}
    types: set[str] = set()
    for each in staged:
        if not isinstance(each.was, GroupOffset):
            continue
        types.add(each.was.type)
        if isinstance(each.edit, CommitOffset):
            more, less = forecast(each.was, each.edit.offset)
            again[each.edit.topic] = again.get(each.edit.topic, 0) + more
            never[each.edit.topic] = never.get(each.edit.topic, 0) + less
    # With a single edit, its own line has the effect.
    lines = [_by_topic(again, "read again"), _by_topic(never, "never read")] if len(staged) > 1 else []
    if any(isinstance(each.edit, DeleteOffset) for each in staged):
        lines.append("where no offset is left, readers begin as their auto.offset.reset says")
    if "" in types:
        lines.append(f"there is no group {group} yet: this creates it")
    if SHARE in types:
        lines.append("records in flight are not restored: they begin again at the offset, with new delivery counts")
    if STREAMS in types:
        lines.append("the application's changelog and repartition topics stay as they are")
    lines.append("consumers that assign() partitions are no members: nothing shows whether one runs")
    return tuple(line for line in lines if line)


def _by_topic(counts: Mapping[str, int], what: str) -> str:
    some = {topic: count for topic, count in counts.items() if count}
    if not some:
        return ""
    largest = sorted(some, key=lambda topic: -some[topic])[:NAMED]
    named = ", ".join(f"{some[topic]:,} of {topic}" for topic in largest)
    more = f" and {plural(len(some) - NAMED, 'more topic')}" if len(some) > NAMED else ""
    text = _records(sum(some.values()), what)
    return f"{text}: {named}{more}" if len(some) > 1 else f"{text}, of {largest[0]}"
