"""Topics by their ids, and by names that only ``.`` and ``_`` tell apart: metric names would be the same for both."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from console.embedded.state.values import Topic


def unified(name: str) -> str:
    """The name as metrics have it (Topic.unifyCollisionChars)."""
    return name.replace(".", "_")


class TopicIndex:
    """Finds the topics that were put into it."""

    def __init__(self) -> None:
        self._names: dict[UUID, str] = {}
        self._alike: dict[str, dict[str, None]] = {}

    def add(self, topic: Topic) -> None:
        """Find it from now on."""
        self._names[topic.id] = topic.name
        if "_" in unified(topic.name):
            self._alike.setdefault(unified(topic.name), {})[topic.name] = None

    def remove(self, topic: Topic) -> None:
        """Find it no longer."""
        self._names.pop(topic.id, None)
        alike = self._alike.get(unified(topic.name), {})
        alike.pop(topic.name, None)
        if not alike:
            self._alike.pop(unified(topic.name), None)

    def replace(self, topics: Iterable[Topic]) -> None:
        """Find these instead."""
        self._names.clear()
        self._alike.clear()
        for topic in topics:
            self.add(topic)

    def name_of(self, topic_id: UUID) -> str | None:
        """The name of the topic with this id."""
        return self._names.get(topic_id)

    def alike(self, name: str) -> str | None:
        """The first topic whose name differs from this one in ``.`` and ``_`` at most."""
        return next(iter(self._alike.get(unified(name), ())), None)
