"""The parts of a cluster that come from services next to the brokers, and whether a context's peers have a part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from console.model.parts import Part

if TYPE_CHECKING:
    from console.admin.settings import ConnectionSettings

SERVICES: Mapping[Part, Callable[[ConnectionSettings], object]] = {
    Part.CONNECT: lambda settings: settings.connect,
    Part.SCHEMAS: lambda settings: settings.schemas,
}
"""The parts of services next to the brokers: nothing reads one if the settings do not name its service."""


def is_had(part: Part, settings: ConnectionSettings) -> bool:
    """Return whether the peers of a context have a part: controllers have few parts, and services have to be in the
    settings.
    """
    if settings.controllers and not part.about.at_controllers:
        return False
    return part not in SERVICES or bool(SERVICES[part](settings))
