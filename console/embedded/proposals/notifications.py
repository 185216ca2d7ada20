"""KIP-21's change notifications: which entity's configs changed, in order.

They are the metadata log itself, seen as the proposal tells it: each broker applies the log in order
(`Propagation`), and one that was down goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from console.embedded.state.change_log import RETENTION, Change
from console.embedded.state.cluster_state import ClusterState
from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigResource
from console.model.quota import CLIENT_ID, USER, QuotaEntity

VERSION = 1
_TYPES = {TOPIC: "topic", BROKER: "broker"}


class Notification(NamedTuple):
    """One entry. sequence: ever higher, with gaps; version: of the entry's form; at: Unix seconds."""

    sequence: int
    version: int
    at: float
    entity_type: str
    entity_name: str


def notifications(state: ClusterState, after: int = 0) -> Iterator[Notification]:
    """The entries with a higher sequence, oldest first. Those older than 15 minutes are gone."""
    oldest = state.clock.time() - RETENTION
    for change in state.log.after(after):
        entity = _entity(change)
        if entity is not None and change.at >= oldest:
            yield Notification(change.offset, VERSION, change.at, *entity)


def missed(state: ClusterState, applied: int) -> tuple[Notification, ...]:
    """What a broker that has applied the log up to an offset has yet to apply."""
    return tuple(notifications(state, applied))


def _entity(change: Change) -> tuple[str, str] | None:
    """Whose configs changed; None where it was something else, or an entity that the proposal does not know."""
    key = change.key
    if change.table == "configs" and isinstance(key, ConfigResource) and key.type in _TYPES:
        return _TYPES[key.type], key.name
    if change.table == "quotas" and isinstance(key, QuotaEntity) and key.has(CLIENT_ID) and not key.has(USER):
        return "client", key.name_of(CLIENT_ID) or "<default>"
    return None
