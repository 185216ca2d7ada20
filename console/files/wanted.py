"""What a cluster is wanted to be: topics, overrides, quotas and ACLs. What is inherited is no part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from console.model.acl import Acl
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity


class Hidden(Enum):
    """The type of `HIDDEN`."""

    HIDDEN = "hidden"


HIDDEN: Final = Hidden.HIDDEN
"""An override whose value is secret: that it is set is all that is said of it."""

Value = str | Hidden


@dataclass(frozen=True, slots=True)
class WantedTopic:
    """A topic. partitions, replication: None where the file leaves them open. configs: None where it says nothing of
    them; else all of the topic's overrides."""

    partitions: int | None = None
    replication: int | None = None
    configs: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A wanted state. configs: brokers, groups and client metrics, with all overrides of each that is listed; quotas:
    all limits of each entity that is listed."""

    topics: Mapping[str, WantedTopic] = field(default_factory=dict)
    configs: Mapping[ConfigResource, Mapping[str, Value]] = field(default_factory=dict)
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    acls: frozenset[Acl] = frozenset()
