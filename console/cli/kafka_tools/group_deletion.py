"""Carries out --delete and --delete-offsets of `kac groups`, `share-groups` and `streams-groups`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from console.cli.kafka_tools import group_lines
from console.cli.kafka_tools.aligned import safe
from console.cli.kafka_tools.group_command import chosen_groups
from console.cli.kafka_tools.group_tools import CONSUMERS, SHARE, STREAMS, GroupTool
from console.cli.kafka_tools.java_errors import error_text, exception
from console.cli.kafka_tools.reset_offsets import Place, topic_arguments
from console.cli.noun import Change, Changed, OptionsError, Running
from console.language.quoting import quote
from console.model.changes import GroupOffsetTarget, GroupTarget, Outcome
from console.model.cluster import GroupPosition
from console.model.failure import Failure

if TYPE_CHECKING:
    from console.contexts import Context
    from console.session.snapshot_reader import Client

DONE, FAILED = 0, 1
_NOT_EMPTY = Failure("NON_EMPTY_GROUP", "", "")
_NO_GROUP = Failure("GROUP_ID_NOT_FOUND", "", "")
_NO_TOPIC = Failure("UNKNOWN_TOPIC_OR_PARTITION", "", "")


async def delete_groups(
    command: Running, client: Client, context: Context, tool: GroupTool = CONSUMERS
) -> int | Change:
    """Delete groups with their offsets.

    With --output kafka, groups that can't be deleted are left, as Kafka's tools leave them; in kac's own forms
    one such group keeps all from being deleted.
    """
    names = await chosen_groups(command, client, context, tool)
    if not command.is_kafka:
        await _check_kinds(client, names, tool)
        return Change(tuple(map(_deletion, names)), ask=True)
    problems = {name: await _why_not(client, name, tool) for name in names}
    if free := [name for name, problem in problems.items() if not problem]:
        return Change(tuple(map(_deletion, free)), then=partial(_deleted, command, problems, tool))
    return _show_deleted(command, problems, tool)


async def _check_kinds(client: Client, names: Sequence[str], tool: GroupTool) -> None:
    """Raise OptionsError where a group is of another kind than the command is for."""
    for name in names if tool is not CONSUMERS else ():
        group = (await _position(client, name)).group
        if group is not None and not tool.knows(group):
            raise OptionsError(f"group '{name}' is no {tool.kind} group: it is of type {group.type}")


async def _deleted(command: Running, problems: Mapping[str, str], tool: GroupTool, changed: Changed) -> int:
    if command.given.validate_only or not changed.outcomes:
        return changed.code
    of_these = {
        each.target.name: "" if (problem := _problem(each)) is None else exception(problem)
        for each in changed.outcomes
        if isinstance(each.target, GroupTarget)
    }
    return _show_deleted(command, {**problems, **of_these}, tool)


def _show_deleted(command: Running, problems: Mapping[str, str], tool: GroupTool) -> int:
    command.lines(group_lines.deleted_lines(problems, tool.kind))
    return FAILED if any(problems.values()) else DONE


def _deletion(name: str) -> str:
    return f"delete group {quote(name)}"


def _problem(outcome: Outcome) -> Failure | None:
    if outcome.ok:
        return None
    return outcome.failure or Failure(outcome.status.value.upper(), "", "")


_ILLEGAL = "java.lang.IllegalArgumentException"
_NOT_KNOWN = {SHARE.kind: "is not a share group.", STREAMS.kind: "does not exist or is not a streams group."}


async def _why_not(client: Client, name: str, tool: GroupTool) -> str:
    """Return why a group can't be deleted, as Kafka's tool says it; ``""`` where it can."""
    group = (await _position(client, name)).group
    if tool is CONSUMERS:
        return exception(_NO_GROUP) if group is None else exception(_NOT_EMPTY) if group.members else ""
    if group is None or not tool.knows(group):
        return f"{_ILLEGAL}: Group '{safe(name)}' {_NOT_KNOWN[tool.kind]}"
    full = f"{tool.title} group '{safe(name)}' is not EMPTY."
    return exception(Failure(_NOT_EMPTY.name, full, ""), own_text=True) if group.members else ""


async def _position(client: Client, name: str) -> GroupPosition:
    from console.admin.groups import group_position

    return await client.run(group_position, name)


async def delete_offsets(
    command: Running, client: Client, _context: Context, tool: GroupTool = CONSUMERS
) -> int | Change:
    """Delete a group's offsets of topics, or of some partitions."""
    from console.admin.topics import describe_topics

    name = command.given.group[-1]
    topics, places = topic_arguments(command.given.topic)
    if not command.is_kafka:
        await _check_kinds(client, [name], tool)
        texts = [f"delete group {quote(name)} topic {quote(topic)}" for topic in topics]
        texts += [f"delete group {quote(name)} topic {quote(t)} partition {number}" for t, number in places]
        return Change(tuple(texts), ask=True)
    position = await _position(client, name)
    problems: dict[Place, Failure | None] = dict.fromkeys(places)
    known = (await client.run(describe_topics, list(topics))).topics if topics else {}
    for topic in topics:
        found = known.get(topic)
        problems |= {(topic, -1): _NO_TOPIC} if found is None else {(topic, p.number): None for p in found.partitions}
    if position.group is None or SHARE.knows(position.group):  # of which OffsetDelete knows nothing
        return _show_offsets(command, name, dict.fromkeys(problems, _NO_GROUP), whole=_NO_GROUP)
    mine = [place for place in problems if place in position.committed]
    if mine:
        texts = [f"delete group {quote(name)} topic {quote(topic)} partition {number}" for topic, number in mine]
        return Change(tuple(texts), then=partial(_offsets_deleted, command, name, problems))
    return _show_offsets(command, name, problems)


async def _offsets_deleted(
    command: Running, name: str, problems: Mapping[Place, Failure | None], changed: Changed
) -> int:
    if command.given.validate_only or not changed.outcomes:
        return changed.code
    targets = [(each, each.target) for each in changed.outcomes]
    of_these = {
        (target.topic, target.number): _problem(each)
        for each, target in targets
        if isinstance(target, GroupOffsetTarget)
    }
    return _show_offsets(command, name, {**problems, **of_these})


def _show_offsets(
    command: Running, name: str, problems: Mapping[Place, Failure | None], whole: Failure | None = None
) -> int:
    shown = {place: "" if problem is None else exception(problem) for place, problem in problems.items()}
    command.lines(group_lines.deleted_offset_lines(name, shown, error_text(whole.name) if whole is not None else ""))
    return FAILED if any(shown.values()) else DONE
