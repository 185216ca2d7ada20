"""What a topic may be called, and in which words the brokers of a release refuse (Topic.validate)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.topic_index import unified
from console.embedded.state.topic_names import MAX_LENGTH, is_legal
from console.embedded.topics.messages import topic_messages
from console.embedded.topics.refusal import Refusal


def name_refusal(name: str, state: ClusterState) -> Refusal | None:
    """Why no topic may have this name; None for a good one, which may be taken."""
    said = topic_messages(state.release)
    if not name:
        return Refusal(ErrorCode.invalid_topic_exception, said.name_empty)
    if name in (".", ".."):
        return Refusal(ErrorCode.invalid_topic_exception, said.name_dots.format(name=name))
    if len(name) > MAX_LENGTH:
        return Refusal(ErrorCode.invalid_topic_exception, said.name_long.format(name=name, most=MAX_LENGTH))
    if not is_legal(name):
        return Refusal(ErrorCode.invalid_topic_exception, said.name_illegal.format(name=name))
    other = state.topic_like(name) if "_" in unified(name) else None
    if other is not None and other != name:
        return Refusal(ErrorCode.invalid_topic_exception, said.collides.format(name=name, other=other))
    return None
