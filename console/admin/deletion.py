"""Records of partitions: deleting those before an offset (KIP-107)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any

from kio.schema.errors import ErrorCode

from console.admin.delivery import Answer, deliver
from console.admin.errors import AdminError, failure
from console.admin.link import Link
from console.admin.partitions import EARLIEST, by_topic, leaders_of, list_offsets
from console.admin.routing import broker
from console.admin.topics import ANSWER_SECONDS
from console.model.changes import DeleteRecords, LogTarget, Outcome, Status

_LEADER_MOVED = frozenset({ErrorCode.leader_not_available, ErrorCode.not_leader_or_follower})


async def delete_records(link: Link, request: DeleteRecords, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each partition; a check is UNCHECKED. One request to each leader, at once.

    A leader waits until its followers have deleted them too. Raises Unsupported before Kafka 0.11, and AdminError if
    nothing was sent.
    """
    if validate_only:
        return tuple(Outcome(target, Status.UNCHECKED) for target in request.before)
    outcomes: dict[LogTarget, Outcome] = {}
    left = tuple(request.before)
    for last in (False, True):  # those that a broker does not lead are sent once more, to the new leader
        if not left:
            break
        leaders, leaderless = await leaders_of(link, [(target.topic, target.number) for target in left])
        led = {leader: [LogTarget(*place) for place in places] for leader, places in leaders.items()}
        answers = await asyncio.gather(*(_at_leader(link, leader, mine, request) for leader, mine in led.items()))
        found = {target: outcome for answer in answers for target, outcome in answer.items()}
        moved = tuple(target for target, outcome in found.items() if not last and _is_moved(outcome))
        outcomes |= found
        outcomes |= {
            LogTarget(*place): Outcome(LogTarget(*place), Status.FAILED, why) for place, why in leaderless.items()
        }
        left = moved
    return tuple(outcomes[target] for target in request.before)


def _is_moved(outcome: Outcome) -> bool:
    """Return whether a broker refused it that does not lead the partition."""
    names = {failure(code).name for code in _LEADER_MOVED}
    return outcome.status is Status.FAILED and outcome.failure is not None and outcome.failure.name in names


async def _at_leader(
    link: Link, leader: int, targets: Sequence[LogTarget], request: DeleteRecords
) -> dict[LogTarget, Outcome]:
    async def send(some: Sequence[LogTarget]) -> Mapping[LogTarget, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.DeleteRecordsRequest(
                topics=tuple(
                    kio.DeleteRecordsTopic(
                        name=topic,
                        partitions=tuple(
                            kio.DeleteRecordsPartition(
                                partition_index=number, offset=request.before[LogTarget(topic, number)]
                            )
                            for number in numbers
                        ),
                    )
                    for topic, numbers in by_topic((target.topic, target.number) for target in some).items()
                ),
                timeout=timedelta(milliseconds=request.timeout_ms),
            )

        timeout = max(link.settings.request_timeout, request.timeout_ms / 1000 + ANSWER_SECONDS)
        response = await link.call("delete_records", build, to=broker(leader), timeout=timeout, change=True)
        return {
            LogTarget(topic.name, part.partition_index): (part.error_code, _explained(topic.name, part.error_code))
            for topic in response.topics
            for part in topic.partitions
        }

    async def describe_again(some: Sequence[LogTarget]) -> Mapping[LogTarget, Status]:
        starts, _ = await list_offsets(link, dict.fromkeys(((each.topic, each.number) for each in some), EARLIEST))
        return {each: deleted(request.before[each], starts.get((each.topic, each.number))) for each in some}

    try:
        return await deliver(link.settings, targets, send, describe_again, validate_only=False)
    except AdminError as error:  # not sent to this leader; others may have theirs
        return {target: Outcome(target, Status.FAILED, error.failure) for target in targets}


def _explained(topic: str, code: int) -> str | None:
    """Return what brokers leave out: their answers have no texts."""
    if code == ErrorCode.topic_authorization_failed:
        return f"deleting records needs DELETE on topic {topic}"
    if code == ErrorCode.policy_violation:
        return f"cleanup.policy of {topic} has no delete in it"
    return None


def deleted(before: int, start: int | None) -> Status:
    """Return whether a log begins at the wanted offset or later, None for an unknown beginning."""
    if start is None:
        return Status.UNKNOWN
    return Status.APPLIED if start >= before else Status.NOT_APPLIED
