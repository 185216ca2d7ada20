"""Obstacles, which are parts of a file that no edit can achieve; and the comparison of a described value with a
file's.
"""

from __future__ import annotations

from typing import NamedTuple

from console.language.quoting import quote_beside_equals
from console.model.changes import Target
from console.model.config import ConfigEntry, ConfigResource
from console.plan.values import as_compared


class Obstacle(NamedTuple):
    """A part of a file that no edit can achieve, with the reason."""

    target: Target
    """The entity. Messages give its line in the file."""
    key: str
    """The key. Messages give its line if the file lists the key; ``""`` for the whole entity."""
    message: str
    secret: bool = False
    """Whether the obstacle is a secret value, which no file may contain. An operator has to set it by hand; the rest of
    the file can be applied without it.
    """


def is_that(entry: ConfigEntry | None, value: str) -> bool:
    """Return whether the value that a broker describes equals the value in a file; False if it is missing or hidden."""
    if entry is None or entry.value is None:
        return False
    mine = as_compared(entry.name, entry.type, entry.value)
    return mine == value or mine == as_compared(entry.name, entry.type, value)


def secret_not_set(resource: ConfigResource, key: str) -> Obstacle:
    """Return the obstacle for a secret that the file wants to be set and that is not set in the cluster."""
    why = f"{key} is secret and not set; set it by hand, as {quote_beside_equals(key)}=?"
    return Obstacle(resource, key, why, secret=True)
