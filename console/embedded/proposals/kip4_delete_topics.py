"""DeleteTopics v0 (KIP-4)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.proposals.common import finished, is_misrouted
from console.wire.proposals.kip4 import DeleteTopicsRequest, DeleteTopicsResponse, TopicErrorCode


async def handle(request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    """Deletes what it can, and waits until no live broker knows it any more, or for the timeout.

    A name given twice counts once. One that others are deleting already is waited for too.
    """
    results: dict[str, int] = {}
    started: dict[str, int] = {}
    for name in dict.fromkeys(request.topics):
        results[name] = _refusal(name, context)
        if not results[name]:
            present = name in context.state.topics
            started[name] = context.state.remove_topic(name) if present else _removed_at(name, context)
    complete = await finished(context, list(started.values()), request.timeout)
    for name, done in zip(started, complete, strict=True):
        results[name] = ErrorCode.none if done else ErrorCode.request_timed_out
    return DeleteTopicsResponse(
        topic_error_codes=tuple(TopicErrorCode(topic=name, error_code=code) for name, code in results.items())
    )


def _refusal(name: str, context: RequestContext) -> int:
    """The error of a topic that can't be deleted; one that may not even be described is as if it were not there."""
    if is_misrouted(context):
        return ErrorCode.not_controller
    if not context.allowed("DELETE", "TOPIC", name):
        return (
            ErrorCode.topic_authorization_failed
            if context.allowed("DESCRIBE", "TOPIC", name)
            else ErrorCode.invalid_topic_exception
        )
    return (
        ErrorCode.none
        if name in context.state.topics or _is_being_deleted(name, context)
        else ErrorCode.invalid_topic_exception
    )


def _is_being_deleted(name: str, context: RequestContext) -> bool:
    """Whether the controller has let go of the topic and another live broker still has it."""
    return any(name in context.cluster.view_of(broker).topics for broker in context.state.alive())


def _removed_at(name: str, context: RequestContext) -> int:
    """The offset of the log at which a topic was removed."""
    log = context.state.log
    return max(
        (change.offset for change in log.after(0) if (change.table, change.key) == ("topics", name)), default=log.end
    )
