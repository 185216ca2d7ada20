"""Change notifications as KIP-21 defines them (ZooKeeper nodes config_change_N), derived from an embedded cluster's
metadata log.
"""

from collections.abc import Iterator
from typing import NamedTuple

from console.embedded.state import ClusterState
from console.embedded.tables import RETENTION, Change
from console.model import codes, config
from console.model.quota import CLIENT_ID, USER, QuotaEntity

NOTIFICATION_VERSION = 1
_NOTIFIED_TYPES = {codes.TOPIC: "topic", codes.BROKER: "broker"}


class Notification(NamedTuple):
    """A notification that the configs of an entity changed.

    sequence: offset in the metadata log, increasing with gaps. version: of the notification's format. at: seconds since
    1970.
    """

    sequence: int
    version: int
    at: float
    entity_type: str
    entity_name: str


def notifications(state: ClusterState, after: int = 0) -> Iterator[Notification]:
    """Yield the notifications of the last 15 minutes with a sequence higher than `after`, oldest first.

    They are read from the metadata log, which each broker applies in order (`Propagation`).
    """
    oldest = state.clock.time() - RETENTION
    for change in state.log.after(after):
        entity = _changed_entity(change)
        if entity is not None and change.at >= oldest:
            yield Notification(change.offset, NOTIFICATION_VERSION, change.at, *entity)


def missed(state: ClusterState, applied: int) -> tuple[Notification, ...]:
    """Return the notifications of the last 15 minutes that a broker has not applied. applied: the offset up to which it
    has applied the metadata log.
    """
    return tuple(notifications(state, applied))


def _changed_entity(change: Change) -> tuple[str, str] | None:
    """Return type and name of the entity that a change concerns; None if KIP-21 defines no notification for it."""
    key = change.key
    if change.table == "configs" and isinstance(key, config.ConfigResource) and key.type in _NOTIFIED_TYPES:
        return _NOTIFIED_TYPES[key.type], key.name
    if change.table == "quotas" and isinstance(key, QuotaEntity) and key.has(CLIENT_ID) and not key.has(USER):
        return "client", key.name_of(CLIENT_ID) or "<default>"
    return None
