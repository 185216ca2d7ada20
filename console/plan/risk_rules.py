"""What a warning is judged by: what has to be read before, what was found, and the cluster before and after. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from console.model.config import ConfigResource
from console.model.snapshot import Snapshot
from console.plan.plan import Plan
from console.plan.predict import predict
from console.plan.staged import Staged

READ_TOPICS = 2_000
"""Topics whose configs are read to find out whether they inherit a default; with more the texts say so."""
READ_PARTITIONS = 10_000
"""Partitions whose size is read; topics beyond it count as topics with data."""


class RiskNeeds(Struct, frozen=True):
    """What has to be read before an edit can be judged.

    topics: these, with their own configs. every_topic: all topics, and the configs of those that may inherit (at most
    `READ_TOPICS`). sizes: the bytes that those topics hold. acls: all bindings. a_broker: the configs of one broker.
    """

    topics: frozenset[str] = frozenset()
    every_topic: bool = False
    sizes: bool = False
    acls: bool = False
    a_broker: bool = False

    def __or__(self, other: RiskNeeds) -> RiskNeeds:
        return RiskNeeds(*(getattr(self, name) | getattr(other, name) for name in RiskNeeds.__struct_fields__))


NOTHING = RiskNeeds()


class RiskFacts(Struct, frozen=True):
    """What was read for the warnings alone.

    sizes: bytes of all replicas by topic; a topic whose size could not be read is missing. principal: who the brokers
    take us for (``User:admin``), ``""`` if unknown.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    principal: str = ""


class Judged(Struct, frozen=True, dict=True):
    """A plan on a cluster. before: as it was read; staged: the edits."""

    before: Snapshot
    staged: tuple[Staged, ...]
    facts: RiskFacts

    @cached_property
    def after(self) -> Snapshot:
        """The cluster once all edits are applied."""
        return predict(self.before, Plan(self.staged))

    def own(self, resource: ConfigResource, key: str) -> str | None:
        """What a resource has for a key before, inherited or not; None if that is unknown."""
        return _value(self.before, resource, key)

    def then(self, resource: ConfigResource, key: str) -> str | None:
        """What a resource has for a key after, inherited or not; None if that is unknown."""
        return _value(self.after, resource, key)

    def may_hold_data(self, topic: str) -> bool:
        """False only for a topic that is known to be empty."""
        return self.facts.sizes.get(topic) != 0


def _value(snapshot: Snapshot, resource: ConfigResource, key: str) -> str | None:
    configs = snapshot.configs.get(resource)
    entry = configs.get(key) if configs is not None else None
    return None if entry is None else entry.value
