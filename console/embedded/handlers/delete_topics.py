"""DeleteTopics (20), v1-6: deletes topics by name or id (ControllerApis).

Needs DELETE on the cluster or on the topic.

Version notes:
- v3: TOPIC_DELETION_DISABLED, INVALID_REQUEST before.
- v4: flexible.
- v5: error messages; THROTTLING_QUOTA_EXCEEDED for a topic beyond controller_mutation_rate (KIP-599).
- v6: topics by id (KIP-516).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.embedded.context import NO_TIME, RequestContext
from console.embedded.controllers import is_not_active
from console.embedded.refusals import DONE, EXPIRED, Refusal
from console.embedded.topics import MutationQuota
from console.wire.fields import for_version

_DISABLED_FROM, _STRICT_FROM = 3, 5
_NEITHER = Refusal(ErrorCode.invalid_request, "Neither topic name nor id were specified.")
_BOTH = Refusal(ErrorCode.invalid_request, "You may not specify both topic name and topic id.")
_NAME_TWICE = Refusal(ErrorCode.invalid_request, "Duplicate topic name.")
_ID_TWICE = Refusal(ErrorCode.invalid_request, "Duplicate topic id.")
_NAME_OF_GIVEN_ID = Refusal(
    ErrorCode.invalid_request, "The provided topic name maps to an ID that was already supplied."
)
_UNKNOWN_NAME = Refusal(ErrorCode.unknown_topic_or_partition, "This server does not host this topic-partition.")
_UNKNOWN_ID = Refusal(ErrorCode.unknown_topic_id, "This server does not host this topic ID.")
_REFUSED = Refusal(ErrorCode.topic_authorization_failed, "Topic authorization failed.")
_NOT_ACTIVE = Refusal(ErrorCode.not_controller)
"""Of all topics of the request, where one of them is there to be deleted."""


class _Asked(NamedTuple):
    """A topic as the request names it, and as the response does."""

    name: str | None
    id: UUID | None


class _Result(NamedTuple):
    topic: _Asked
    refusal: Refusal


async def handle(request: Any, context: RequestContext) -> Any:
    """Delete topics. A repeated topic is an error, also by name and id."""
    asked = _asked(request)
    if context.cluster.spec.static_configs.get("delete.topic.enable", "true") == "false":
        code = ErrorCode.topic_deletion_disabled if context.version >= _DISABLED_FROM else ErrorCode.invalid_request
        return _answer(context, [_Result(topic, Refusal(code)) for topic in asked])
    if request.timeout.total_seconds() <= 0:
        return _answer(context, [_Result(topic, EXPIRED) for topic in asked])
    quota = MutationQuota(context, _STRICT_FROM)
    results = _results(asked, context, quota)
    return _answer(context, results, quota.hold_back())


def _asked(request: Any) -> list[_Asked]:
    if hasattr(request, "topic_names"):
        return [_Asked(name, None) for name in request.topic_names]
    return [_Asked(topic.name, topic.topic_id or None) for topic in request.topics]


def _results(asked: Sequence[_Asked], context: RequestContext, quota: MutationQuota) -> list[_Result]:
    state = context.state
    all_topics = context.allowed("DELETE")

    def may(operation: str, name: str) -> bool:
        return all_topics or context.allowed(operation, "TOPIC", name)

    results = [
        _Result(topic, _NEITHER if topic.id is None else _BOTH)
        for topic in asked
        if (topic.name is None) == (topic.id is None)
    ]
    named = [topic.name for topic in asked if topic.name is not None and topic.id is None]
    given = [topic.id for topic in asked if topic.name is None and topic.id is not None]
    once, twice = _split(named)
    results += [_Result(_Asked(name, None), _NAME_TWICE) for name in twice]
    ids, ids_twice = _split(given)
    results += [_Result(_Asked(None, each), _ID_TWICE) for each in ids_twice]
    chosen: dict[UUID, str] = {}
    for topic_id in ids:
        name = state.topics.name_of(topic_id)
        if name is None:
            results.append(_Result(_Asked(None, topic_id), _UNKNOWN_ID))
        elif not may("DELETE", name):
            # The answer must not disclose the name behind an id to a client that may not describe the topic.
            shown = name if may("DESCRIBE", name) else None
            results.append(_Result(_Asked(shown, topic_id), _REFUSED))
        else:
            chosen[topic_id] = name
    for name in once:
        topic, deletable = state.topics.get(name), may("DELETE", name)
        # Without DESCRIBE a missing topic looks like a forbidden one, so that names can't be probed.
        if not deletable and (topic is not None or not may("DESCRIBE", name)):
            results.append(_Result(_Asked(name, None), _REFUSED))
        elif topic is None:
            results.append(_Result(_Asked(name, None), _UNKNOWN_NAME))
        elif topic.id in chosen or topic.id in ids_twice:
            chosen.pop(topic.id, None)
            results.append(_Result(_Asked(name, topic.id), _NAME_OF_GIVEN_ID))
        else:
            chosen[topic.id] = name
    if chosen and is_not_active(context):
        return [_Result(topic, _NOT_ACTIVE) for topic in asked]
    for topic_id, name in chosen.items():
        results.append(_Result(_Asked(name, topic_id), _removed(name, context, quota)))
    return results


def _removed(name: str, context: RequestContext, quota: MutationQuota) -> Refusal:
    refusal = quota.take(len(context.state.topics[name].partitions))
    if refusal is None:
        context.state.remove_topic(name)
    return refusal or DONE


def _split(items: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Return the items that occur once, and those that occur more often."""
    counts = Counter(items)
    return [item for item, count in counts.items() if count == 1], [item for item, count in counts.items() if count > 1]


def _answer(context: RequestContext, results: Iterable[_Result], throttle: timedelta = NO_TIME) -> Any:
    schema = context.schema
    return context.answer(
        throttle_time=throttle,
        responses=tuple(
            for_version(
                schema.DeletableTopicResult,
                name=result.topic.name,
                topic_id=result.topic.id,
                error_code=result.refusal.code,
                error_message=result.refusal.message,
            )
            for result in results
        ),
    )
