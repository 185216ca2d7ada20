"""Kafka's tools for groups, as records: of which groups each is, in which words it says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from console.model.cluster import Group

ASSIGNABLE = ("Empty", "Dead")
"""The states in which offsets can be set."""


def is_consumers(group: Group) -> bool:
    """Return whether kafka-consumer-groups knows a group: groups of consumers, and those that only hold offsets."""
    return group.type == "consumer" or (group.type == "classic" and group.protocol in ("", "consumer"))


class GroupTool(NamedTuple):
    """A tool of Kafka's for groups.

    Attributes:
        kind: of its groups, as its messages name it.
        knows: whether a group is one of them.
        states: in which its groups can be (GroupState.groupStatesForType).
        least: the width of the first columns of new offsets, in characters.
        last: the width of their last column, where it has one.
        topic: its option for a topic.
    """

    kind: str
    knows: Callable[[Group], bool]
    states: tuple[str, ...]
    least: int = 15
    last: tuple[int, ...] = ()
    topic: str = "topic"

    @property
    def title(self) -> str:
        """Its kind at the beginning of a sentence."""
        return self.kind.capitalize()


CONSUMERS = GroupTool(
    "consumer",
    is_consumers,
    ("Assigning", "Dead", "Reconciling", "CompletingRebalance", "PreparingRebalance", "Stable", "Empty"),
)
SHARE = GroupTool("share", lambda group: group.type == "share", ("Empty", "Stable", "Dead"))
STREAMS = GroupTool(
    "streams",
    lambda group: group.type == "streams",
    ("Empty", "Stable", "Dead", "NotReady", "Assigning", "Reconciling"),
    least=30,
    last=(15,),
    topic="input-topic",
)
