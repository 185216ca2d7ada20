"""Carries out what `kac groups` does as kafka-consumer-groups: lists and descriptions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from console.cli.kafka_tools import group_lines
from console.cli.kafka_tools.cluster_command import read_cluster
from console.cli.kafka_tools.consumer_groups import (
    chosen_states,
    chosen_types,
)
from console.cli.kafka_tools.group_lines import Lines
from console.cli.kafka_tools.group_tools import CONSUMERS, GroupTool, is_consumers
from console.cli.noun import Answers, OptionsError, Running
from console.model.cluster import Broker, Group
from console.model.failure import Failure

if TYPE_CHECKING:
    from console.contexts import Context
    from console.session.snapshot_reader import Client

DONE, FAILED = 0, 1
_AT_ONCE = 8
T = TypeVar("T")


async def list_(command: Running, client: Client, context: Context) -> int:
    """Print the groups of consumers as kafka-consumer-groups --list; return the exit code."""
    given = command.given
    groups, failures = await listed_groups(client, context, CONSUMERS)
    states, types = chosen_states(given, CONSUMERS), {type_.lower() for type_ in chosen_types(given)}
    found = [
        group
        for group in groups
        if (not states or group.state in states) and (not types or group.type.lower() in types)
    ]
    command.lines(group_lines.listed(found, types=given.type is not None, states=given.state is not None))
    return complained(command, failures)


async def listed_groups(client: Client, context: Context, tool: GroupTool) -> tuple[list[Group], Mapping[str, Failure]]:
    """Return the groups that a tool knows, and why some are missing."""
    from console.admin.groups import list_groups
    from console.session.snapshot_reader import SnapshotReader

    listing = await client.run(list_groups)
    failures = listing.failures
    if not listing.groups and not failures:
        failures = await SnapshotReader(client, context).why_no_groups()
    return [group for group in listing.groups.values() if tool.knows(group)], failures


def complained(command: Running, failures: Mapping[str, Failure]) -> int:
    """Print what could not be listed; return the exit code."""
    from console.present.failures import failure_text

    for what, failure in failures.items():
        command.complain(f"{what or 'groups'}: {failure_text(failure)}")
    return FAILED if failures else DONE


async def chosen_groups(
    command: Running, client: Client, context: Context, tool: GroupTool = CONSUMERS
) -> tuple[str, ...]:
    """Return the sorted names of the groups that are meant. Raises OptionsError where --all-groups can't list all."""
    if not command.given.all_groups:
        return tuple(sorted(dict.fromkeys(command.given.group)))
    groups, failures = await listed_groups(client, context, tool)
    if complained(command, failures):
        raise OptionsError("not all groups are known: nothing was done")
    return tuple(group.name for group in groups)


async def for_each(names: Iterable[str], read: Callable[[str], Awaitable[T]]) -> list[T]:
    """Read some groups at the same time, each by its name."""
    few = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str) -> T:
        async with few:
            return await read(name)

    return await asyncio.gather(*map(one, names))


# -- describe ----------------------------------------------------------------------------------------------------------


async def describe(command: Running, client: Client, context: Context) -> int | Answers:
    """Print offsets, members or states as kafka-consumer-groups --describe; return the exit code.

    With --all-groups it has kac's own forms, too.
    """
    names = await chosen_groups(command, client, context)
    if not command.is_kafka:
        return in_own_form(names)
    brokers = (await read_cluster(client, context)).brokers if command.given.state is not None else ()
    code = DONE
    for lines, failed in await for_each(names, lambda name: _described(command, client, brokers, name)):
        command.lines(lines.out, lines.err)
        code = FAILED if failed else code
    return code


async def _described(command: Running, client: Client, brokers: Sequence[Broker], name: str) -> tuple[Lines, bool]:
    from console.admin.errors import AdminError
    from console.admin.groups import group_position
    from console.admin.partitions import LATEST, list_offsets

    given = command.given
    try:
        position = await client.run(group_position, name)
    except AdminError as error:
        return Lines((group_lines.not_described(name, error.failure),)), True
    group = position.group
    if group is None or not is_consumers(group):
        return Lines((group_lines.not_described(name, None),)), True
    if given.members:
        return group_lines.member_lines(group, verbose=given.verbose), False
    if given.state is not None:
        at = next((each for each in brokers if each.id == group.coordinator), None)
        return group_lines.state_lines(group, at, verbose=given.verbose), False
    places = {*position.committed, *(place for member in group.members or () for place in member.assignment)}
    ends, failures = await client.run(list_offsets, dict.fromkeys(sorted(places), LATEST))
    problems = (*position.failures, *failures)
    for problem in problems:
        command.complain(f"{name}: {problem}")
    return group_lines.offset_lines(group, position.committed, ends, verbose=given.verbose), bool(problems)


def in_own_form(names: Sequence[str]) -> Answers:
    """Return the descriptions of groups in kac's own forms."""
    from console.language.grammar import parse
    from console.language.quoting import quote

    return Answers(parse("\n".join(f"describe group {quote(name)}" for name in names)))
