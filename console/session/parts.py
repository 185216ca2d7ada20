"""The parts of a cluster that come from HTTP services next to the brokers, and whether the servers of a context have a
given part.
"""

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
"""Part of an HTTP service -> function that returns the setting for the service. A part is not read if this setting is
missing.
"""


def is_had(part: Part, settings: ConnectionSettings) -> bool:
    """Return whether the servers that a context names have this part. Controllers have few parts; a service's part
    needs the service in the settings.
    """
    if settings.controllers and not part.about.at_controllers:
        return False
    return part not in SERVICES or bool(SERVICES[part](settings))
