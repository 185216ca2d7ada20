"""The parts of a file that no edit can achieve, and the comparison of a value with a file's."""

from __future__ import annotations

from typing import NamedTuple

from console.language.quoting import quote_beside_equals
from console.model.changes import Target
from console.model.config import ConfigEntry, ConfigResource
from console.plan.values import as_compared


class Obstacle(NamedTuple):
    """A part of a file that no edit can achieve."""

    target: Target
    """The entity; a problem shows its line."""
    key: str
    """The key; a problem shows its line if the file has one."""
    message: str
    secret: bool = False
    """Whether the obstacle is a secret value, which no file may contain; an operator has to set it by hand, and the
    rest can be applied without it."""


def is_that(entry: ConfigEntry | None, value: str) -> bool:
    """Return whether the value that a broker describes is the value in a file; False for a missing or hidden value."""
    if entry is None or entry.value is None:
        return False
    mine = as_compared(entry.name, entry.type, entry.value)
    return mine == value or mine == as_compared(entry.name, entry.type, value)


def secret_not_set(resource: ConfigResource, key: str) -> Obstacle:
    """Return the obstacle of a secret value that is not set."""
    why = f"{key} is secret and not set; set it by hand, as {quote_beside_equals(key)}=?"
    return Obstacle(resource, key, why, secret=True)
