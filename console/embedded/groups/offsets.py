"""Topics in requests about offsets: by name, and since KIP-1102's versions by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kio.schema.errors import ErrorCode

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster
    from console.embedded.context import RequestContext
    from console.embedded.state.change_log import Change


def topic_named(context: RequestContext, item: Any) -> str | None:
    """The name of the topic that a request's item means; None for an id that no topic has."""
    if not hasattr(item, "topic_id"):
        name: str = item.name
        return name
    found = context.state.topic_name(item.topic_id) if item.topic_id is not None else None
    return found if found in context.view.topics else None


def refused_topic(context: RequestContext, name: str | None, operation: str) -> int:
    """Why nothing is done with a topic's offsets; 0 where something is."""
    if name is None:
        return ErrorCode.unknown_topic_id
    if not context.allowed(operation, "TOPIC", name):
        return ErrorCode.topic_authorization_failed
    return 0 if name in context.view.topics else ErrorCode.unknown_topic_or_partition


def forget_topics(cluster: EmbeddedCluster) -> None:
    """From now on, a deleted topic's offsets go from all groups (GroupCoordinator.onPartitionsDeleted)."""
    from console.embedded.state.table import ABSENT

    def changed(change: Change) -> None:
        if change.table == "topics" and change.after is ABSENT:
            for group in cluster.state.groups.values():
                group.offsets = {key: value for key, value in group.offsets.items() if key[0] != change.key}

    cluster.state.subscribe(changed)
