"""What groups hold: where a group stands, its offsets committed and deleted (KIP-496), those of share groups (KIP-932),
and groups deleted (KIP-229)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.admin.delivery import Answer, T, deliver, refused
from console.admin.errors import BrokerError, error_name
from console.admin.group_lag import ABSENT, SHARE, SHARE_OFFSETS_SINCE, committed_offsets, share_group_offsets
from console.admin.groups import COORDINATOR_MOVES, SETTLE_SECONDS, dead_group, describe_groups, find_coordinators
from console.admin.link import Link
from console.admin.partitions import by_topic
from console.admin.routing import broker, until_settled
from console.admin.topics import describe_topics, topic_id_of
from console.model.changes import (
    AlterShareGroupOffsets,
    CommitOffsets,
    DeleteGroups,
    DeleteOffsets,
    DeleteShareGroupOffsets,
    GroupOffsetTarget,
    GroupTarget,
    Outcome,
    Status,
)
from console.model.cluster import CommittedOffset, GroupPosition
from console.model.failure import Failure
from console.model.snapshot import TopicPartition

log = logging.getLogger(__name__)

_AT_ONCE = 16
"""Groups whose offsets are read at the same time."""
_JOINED = frozenset(
    {
        ErrorCode.unknown_member_id,
        ErrorCode.non_empty_group,
        ErrorCode.rebalance_in_progress,
        ErrorCode.illegal_generation,
        ErrorCode.stale_member_epoch,
    }
)
"""What coordinators answer to a change of a group that has members."""


# -- where a group stands ----------------------------------------------------------------------------------------------


async def group_position(link: Link, name: str) -> GroupPosition:
    """Read one group. Raises BrokerError if the brokers refuse it, and other AdminErrors."""
    found, failures = await group_positions(link, [name])
    if name in failures:
        raise BrokerError(failures[name])
    return found[name]


async def group_positions(link: Link, names: Iterable[str]) -> tuple[dict[str, GroupPosition], dict[str, Failure]]:
    """Return groups with their members and offsets, and why others could not be read. Raises AdminError."""
    wanted = tuple(dict.fromkeys(names))
    coordinators, failures = await find_coordinators(link, wanted)
    listing = await describe_groups(link, list(coordinators))
    few = asyncio.Semaphore(_AT_ONCE)
    found: dict[str, GroupPosition] = {}

    async def dead(name: str) -> GroupPosition:
        """Return a group that its coordinator does not know is there all the same where it has offsets."""
        try:
            async with few:
                committed, problems = await committed_offsets(link, name, coordinators[name])
        except BrokerError as error:
            log.info("offsets of group %s, which there is not: %s", name, error.failure)
            return GroupPosition(None, {})
        if not committed:
            return GroupPosition(None, {})
        return GroupPosition(dead_group(name, coordinators[name]), dict(sorted(committed.items())), tuple(problems))

    async def read(name: str) -> None:
        group = listing.groups.get(name)
        if group is None:
            why = listing.failures[name]
            if why.name == ABSENT:
                found[name] = await dead(name)
            else:
                failures[name] = why
            return
        offsets = share_group_offsets if group.type == SHARE else committed_offsets
        try:
            async with few:
                committed, problems = await offsets(link, name, coordinators[name])
        except BrokerError as error:
            failures[name] = error.failure
        else:
            found[name] = GroupPosition(group, dict(sorted(committed.items())), tuple(problems))

    await asyncio.gather(*map(read, coordinators))
    return found, failures


# -- changes -----------------------------------------------------------------------------------------------------------
# None of these APIs has a validate-only form.


async def commit_offsets(link: Link, request: CommitOffsets, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each partition. The brokers refuse it while the group has members: it is sent without a
    member id and generation. Raises AdminError if nothing was sent."""
    if validate_only:
        return _unchecked(request.offsets)
    ids = await _topic_ids(link, request)
    outcomes = {
        target: refused(target, "UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {target.topic}", "Check the name.")
        for target in request.offsets
        if target.topic not in ids
    }

    async def send(targets: Sequence[GroupOffsetTarget]) -> Mapping[GroupOffsetTarget, Answer]:
        def build(kio: ModuleType) -> Any:
            from console.wire.schemas import for_version

            def partition(target: GroupOffsetTarget) -> Any:
                offset = request.offsets[target]
                return for_version(
                    kio.OffsetCommitRequestPartition,
                    partition_index=target.number,
                    committed_offset=offset.offset,
                    committed_leader_epoch=offset.leader_epoch,
                    committed_metadata=offset.metadata,
                )

            return for_version(
                kio.OffsetCommitRequest,
                group_id=request.group,
                generation_id_or_member_epoch=-1,
                member_id="",
                topics=tuple(
                    for_version(
                        kio.OffsetCommitRequestTopic,
                        name=topic,
                        topic_id=ids[topic],
                        partitions=tuple(map(partition, mine)),
                    )
                    for topic, mine in _targets_by_topic(targets).items()
                ),
            )

        names = {each: topic for topic, each in ids.items()}
        response = await _at_coordinator(link, "offset_commit", request.group, build, _partition_codes)
        return {
            GroupOffsetTarget(
                request.group,
                names.get(topic.topic_id, "") if hasattr(topic, "topic_id") else topic.name,
                each.partition_index,
            ): _explained(request.group, each.error_code)
            for topic in response.topics
            for each in topic.partitions
        }

    async def describe_again(targets: Sequence[GroupOffsetTarget]) -> Mapping[GroupOffsetTarget, Status]:
        known = await _offsets_of(link, request.group, committed_offsets)
        return {target: _status(offset_at(known, target, request.offsets[target])) for target in targets}

    sound = [target for target in request.offsets if target not in outcomes]
    outcomes |= await deliver(link.settings, sound, send, describe_again, validate_only=False)
    return tuple(outcomes[target] for target in request.offsets)


async def delete_offsets(link: Link, request: DeleteOffsets, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each partition. Raises Unsupported before Kafka 2.4, and AdminError if nothing was
    sent."""
    if validate_only:
        return _unchecked(request.targets)

    async def send(targets: Sequence[GroupOffsetTarget]) -> Mapping[GroupOffsetTarget, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.OffsetDeleteRequest(
                group_id=request.group,
                topics=tuple(
                    kio.OffsetDeleteRequestTopic(
                        name=topic,
                        partitions=tuple(kio.OffsetDeleteRequestPartition(partition_index=each) for each in numbers),
                    )
                    for topic, numbers in by_topic((target.topic, target.number) for target in targets).items()
                ),
            )

        response = await _at_coordinator(link, "offset_delete", request.group, build, _top_codes, since="2.4")
        if response.error_code:
            return dict.fromkeys(targets, _explained(request.group, response.error_code))
        return {
            GroupOffsetTarget(request.group, topic.name, each.partition_index): _explained(
                request.group, each.error_code
            )
            for topic in response.topics
            for each in topic.partitions
        }

    async def describe_again(targets: Sequence[GroupOffsetTarget]) -> Mapping[GroupOffsetTarget, Status]:
        known = await _offsets_of(link, request.group, committed_offsets)
        return {target: _status((target.topic, target.number) not in known) for target in targets}

    outcomes = await deliver(link.settings, request.targets, send, describe_again, validate_only=False)
    return tuple(outcomes[target] for target in request.targets)


async def alter_share_group_offsets(
    link: Link, request: AlterShareGroupOffsets, *, validate_only: bool
) -> tuple[Outcome, ...]:
    """Return one outcome for each partition. Brokers begin its records in flight again at the offset, with their
    delivery counts. Raises Unsupported before Kafka 4.1, and AdminError if nothing was sent."""
    if validate_only:
        return _unchecked(request.offsets)

    async def send(targets: Sequence[GroupOffsetTarget]) -> Mapping[GroupOffsetTarget, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.AlterShareGroupOffsetsRequest(
                group_id=request.group,
                topics=tuple(
                    kio.AlterShareGroupOffsetsRequestTopic(
                        topic_name=topic,
                        partitions=tuple(
                            kio.AlterShareGroupOffsetsRequestPartition(
                                partition_index=target.number, start_offset=request.offsets[target]
                            )
                            for target in mine
                        ),
                    )
                    for topic, mine in _targets_by_topic(targets).items()
                ),
            )

        response = await _at_coordinator(
            link, "alter_share_group_offsets", request.group, build, _top_codes, since=SHARE_OFFSETS_SINCE
        )
        if response.error_code:
            answer = _explained(request.group, response.error_code, response.error_message)
            return dict.fromkeys(targets, answer)
        return {
            GroupOffsetTarget(request.group, topic.topic_name, each.partition_index): _explained(
                request.group, each.error_code, each.error_message
            )
            for topic in response.responses
            for each in topic.partitions
        }

    async def describe_again(targets: Sequence[GroupOffsetTarget]) -> Mapping[GroupOffsetTarget, Status]:
        known = await _offsets_of(link, request.group, share_group_offsets)
        wanted = {target: CommittedOffset(request.offsets[target]) for target in targets}
        return {target: _status(offset_at(known, target, wanted[target])) for target in targets}

    outcomes = await deliver(link.settings, request.offsets, send, describe_again, validate_only=False)
    return tuple(outcomes[target] for target in request.offsets)


async def delete_share_group_offsets(
    link: Link, request: DeleteShareGroupOffsets, *, validate_only: bool
) -> tuple[Outcome, ...]:
    """Return one outcome for each partition. A topic of which the group has an offset that is not named is refused:
    brokers delete those of whole topics. Raises Unsupported before Kafka 4.1, and AdminError if nothing was sent."""
    if validate_only:
        return _unchecked(request.targets)
    known = await _offsets_of(link, request.group, share_group_offsets)
    named = {(target.topic, target.number) for target in request.targets}
    in_part = {topic for topic, number in known if (topic, number) not in named}
    message = "brokers delete a share group's offsets of a whole topic, and this names a part of it"
    remedy = "Delete those of the topic, or reset each to where it should begin."
    outcomes = {
        target: refused(target, "WHOLE_TOPICS_ONLY", message, remedy)
        for target in request.targets
        if target.topic in in_part
    }

    async def send(targets: Sequence[GroupOffsetTarget]) -> Mapping[GroupOffsetTarget, Answer]:
        topics = dict.fromkeys(target.topic for target in targets)

        def build(kio: ModuleType) -> Any:
            return kio.DeleteShareGroupOffsetsRequest(
                group_id=request.group,
                topics=tuple(kio.DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics),
            )

        response = await _at_coordinator(
            link, "delete_share_group_offsets", request.group, build, _top_codes, since=SHARE_OFFSETS_SINCE
        )
        if response.error_code:
            answer = _explained(request.group, response.error_code, response.error_message)
            return dict.fromkeys(targets, answer)
        of_topic = {
            each.topic_name: _explained(request.group, each.error_code, each.error_message)
            for each in response.responses
        }
        return {target: of_topic[target.topic] for target in targets if target.topic in of_topic}

    async def describe_again(targets: Sequence[GroupOffsetTarget]) -> Mapping[GroupOffsetTarget, Status]:
        now = await _offsets_of(link, request.group, share_group_offsets)
        return {target: _status((target.topic, target.number) not in now) for target in targets}

    sound = [target for target in request.targets if target not in outcomes]
    outcomes |= await deliver(link.settings, sound, send, describe_again, validate_only=False)
    return tuple(outcomes[target] for target in request.targets)


async def delete_groups(link: Link, request: DeleteGroups, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each group, of all kinds. One request to each coordinator. Raises AdminError if nothing
    was sent."""
    targets = [GroupTarget(name) for name in dict.fromkeys(request.names)]
    if validate_only:
        return _unchecked(targets)
    coordinators, failures = await find_coordinators(link, request.names)
    outcomes = {GroupTarget(name): Outcome(GroupTarget(name), Status.FAILED, why) for name, why in failures.items()}
    by_broker: dict[int, list[GroupTarget]] = {}
    for target in targets:
        if target.name in coordinators:
            by_broker.setdefault(coordinators[target.name], []).append(target)
    parts = await asyncio.gather(*(_delete_at(link, mine) for mine in by_broker.values()))
    for part in parts:
        outcomes |= part
    return tuple(outcomes[target] for target in targets)


async def _delete_at(link: Link, targets: Sequence[GroupTarget]) -> dict[GroupTarget, Outcome]:
    """Delete groups of one coordinator; if they move meanwhile, all of them as the first one."""

    async def send(some: Sequence[GroupTarget]) -> Mapping[GroupTarget, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.DeleteGroupsRequest(groups_names=tuple(target.name for target in some))

        def codes(response: Any) -> Iterable[int]:
            return (each.error_code for each in response.results)

        response = await _at_coordinator(link, "delete_groups", some[0].name, build, codes, since="1.1")
        return {GroupTarget(each.group_id): _explained(each.group_id, each.error_code) for each in response.results}

    async def describe_again(some: Sequence[GroupTarget]) -> Mapping[GroupTarget, Status]:
        positions, _ = await group_positions(link, [target.name for target in some])
        return {target: _status(positions[target.name].group is None) for target in some if target.name in positions}

    return await deliver(link.settings, targets, send, describe_again, validate_only=False)


def offset_at(
    known: Mapping[TopicPartition, CommittedOffset], target: GroupOffsetTarget, wanted: CommittedOffset
) -> bool:
    """Return whether a group has this offset with this text; an epoch that was not committed may have been added."""
    there = known.get((target.topic, target.number))
    return there is not None and (there.offset, there.metadata) == (wanted.offset, wanted.metadata)


def _unchecked(targets: Iterable[T]) -> tuple[Outcome, ...]:
    return tuple(Outcome(target, Status.UNCHECKED) for target in dict.fromkeys(targets))


def _status(is_so: bool) -> Status:
    return Status.APPLIED if is_so else Status.NOT_APPLIED


def _explained(group: str, code: int, message: str | None = None) -> Answer:
    """Return a coordinator's answer; where it refuses a group with members, and says no more than a code, with
    words."""
    if code in _JOINED:
        return ErrorCode.non_empty_group, f"group {group} has members now ({error_name(code)}): one has joined"
    return code, message


def _targets_by_topic(targets: Iterable[GroupOffsetTarget]) -> dict[str, list[GroupOffsetTarget]]:
    found: dict[str, list[GroupOffsetTarget]] = {}
    for target in targets:
        found.setdefault(target.topic, []).append(target)
    return found


def _top_codes(response: Any) -> Iterable[int]:
    return (response.error_code,)


def _partition_codes(response: Any) -> Iterable[int]:
    return (each.error_code for topic in response.topics for each in topic.partitions)


async def _at_coordinator(
    link: Link,
    api: str,
    group: str,
    build: Callable[[ModuleType], Any],
    codes: Callable[[Any], Iterable[int]],
    *,
    since: str = "",
) -> Any:
    """Return the answer of the group's coordinator to a change. One that refuses all of it because the group has moved
    has applied nothing, so that it is sent to the next coordinator."""

    async def once() -> Any:
        coordinators, failures = await find_coordinators(link, [group])
        if group not in coordinators:
            raise BrokerError(failures[group])
        to = broker(coordinators[group])
        await link.require(api, 0, since, to)
        return await link.call(api, build, to=to, change=True)

    def moved(response: Any) -> bool:
        found = set(codes(response))
        return bool(found) and found <= COORDINATOR_MOVES

    return await until_settled(once, moved, within=SETTLE_SECONDS)


async def _offsets_of(
    link: Link,
    group: str,
    read: Callable[[Link, str, int], Awaitable[tuple[dict[TopicPartition, CommittedOffset], list[Failure]]]],
) -> dict[TopicPartition, CommittedOffset]:
    """Return what a group holds now. Raises BrokerError if some of it can't be read: what is missing may be there."""
    coordinators, failures = await find_coordinators(link, [group])
    if group not in coordinators:
        raise BrokerError(failures[group])
    found, problems = await read(link, group, coordinators[group])
    if problems:
        raise BrokerError(problems[0])
    return found


async def _topic_ids(link: Link, request: CommitOffsets) -> dict[str, UUID | None]:
    """Return topic -> its id, by which OffsetCommit names it since version 10 (KIP-848); None where brokers have none.
    Topics that do not exist are missing."""
    known: dict[str, UUID | None] = {name: topic_id_of(text) for name, text in request.topic_ids.items()}
    unknown = list(dict.fromkeys(target.topic for target in request.offsets if target.topic not in known))
    listing = await describe_topics(link, unknown)
    for name, topic in listing.topics.items():
        known[name] = topic_id_of(topic.topic_id) if topic.topic_id is not None else None
    return known
