"""Commands of Kafka's own tools that change groups: kafka-consumer-groups and kafka-share-groups of Kafka 4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from console.model.cluster import GroupOffset
from console.model.grouping import grouped
from console.plan.edits import CommitOffset, DeleteOffset
from console.plan.group_forecast import is_of_share_group
from console.plan.kafka_tools import STDIN, Command, option
from console.plan.staged import Staged

SINGLY = 5
"""Maximum number of offsets for which there is one command each; more offsets are in one command that reads them from a
file (--from-file), here its standard input.
"""


def _tool(share: bool, action: str, group: str) -> tuple[str, ...]:
    return "kafka-share-groups" if share else "kafka-consumer-groups", action, *option("--group", group)


def _is_share(some: Iterable[Staged]) -> bool:
    return any(map(is_of_share_group, some))


def reset_commands(group: str, staged: Sequence[Staged]) -> Iterator[Command]:
    """Yield the commands that reset a group's offsets: one for each topic and offset or, if there are more than
    `SINGLY`, one that reads all offsets from a file.
    """
    # Share groups have their own tool, with other options.
    if _is_share(staged):
        yield from _share_commands(group, staged)
        return
    begin = _tool(False, "--reset-offsets", group)
    edits = [each.edit for each in staged if isinstance(each.edit, CommitOffset)]
    note = "kafka-consumer-groups keeps no metadata of an offset" if any(edit.metadata for edit in edits) else ""
    places = grouped(((edit.topic, edit.offset), edit.partition) for edit in edits)
    if len(places) > SINGLY:
        lines = "".join(f"{edit.topic},{edit.partition},{edit.offset}\n" for edit in edits)
        yield Command((*begin, "--from-file", STDIN, "--execute"), lines, note)
        return
    for (topic, offset), numbers in places.items():
        words = (*begin, *option("--topic", _partitions(topic, numbers)), "--to-offset", str(offset), "--execute")
        yield Command(words, note=note)


def _partitions(topic: str, numbers: Iterable[int]) -> str:
    return f"{topic}:{','.join(map(str, numbers))}"


def _share_commands(group: str, staged: Iterable[Staged]) -> Iterator[Command]:
    """Yield commands of kafka-share-groups, which can reset only to the start or the end of a log. For any other offset
    a note is yielded in place of a command.
    """
    begin = _tool(True, "--reset-offsets", group)
    places: dict[tuple[str, str], list[int]] = {}
    for each in staged:
        edit, log = each.edit, each.was.log if isinstance(each.was, GroupOffset) else None
        assert isinstance(edit, CommitOffset)
        if log is not None and edit.offset in log:
            to = "--to-earliest" if edit.offset == log.start else "--to-latest"
            places.setdefault((edit.topic, to), []).append(edit.partition)
        else:
            note = f"kafka-share-groups can't set {edit.topic}/{edit.partition} of {group} to offset {edit.offset}"
            yield Command((), note=note)
    for (topic, to), numbers in places.items():
        yield Command((*begin, *option("--topic", _partitions(topic, numbers)), to, "--execute"))


def delete_offset_commands(group: str, staged: Sequence[Staged]) -> Iterator[Command]:
    """Yield one command that deletes offsets of a group."""
    share = _is_share(staged)
    topics: dict[str, list[int]] = {}
    for each in staged:
        assert isinstance(each.edit, DeleteOffset)
        topics.setdefault(each.edit.topic, []).append(each.edit.partition)
    words = [*_tool(share, "--delete-offsets", group)]
    for topic, numbers in topics.items():
        words += option("--topic", topic if share else _partitions(topic, numbers))
    yield Command(tuple(words))


def delete_group_command(group: str, *, share: bool) -> Command:
    """Return the command that deletes a group with its offsets. share: whether it is a share group."""
    return Command(_tool(share, "--delete", group))
